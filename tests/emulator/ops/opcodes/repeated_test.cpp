// Words that are repeated, as the padding behind a kernel is, are
// decoded from the word before them.
#include "machine.h"

#include "emulator/isa/encodings.h"
#include "emulator/isa/op.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

#include <array>
#include <cstdint>
#include <set>

namespace flyemu::test {

TEST_CASE("repeated words are decoded as they are behind another instruction") {
  constexpr uint32_t kNop = 0xbf800000; // s_nop 0, which all targets have
  for (const char *target : kTargets) {
    const flyemu::Machine &info = *findMachine(target);
    const McTarget mc(info.name(), info.disassembler);
    std::set<uint32_t> words;
    std::set<unsigned> opcodes;
    eachEncoding(info, mc, [&](const EncodingWords &encoding, const McInstruction &i) {
      if (i.size == 4 && encoding[0] != kNop && opcodes.insert(i.opcode).second)
        words.insert(encoding[0]);
    });
    size_t branches = 0;
    for (const uint32_t word : words) {
      const std::array<uint32_t, 3> repeated{word, word, word}, alone{kNop, kNop, word};
      const auto a = decodeProgram(target, repeated.data(), sizeof repeated);
      const auto b = decodeProgram(target, alone.data(), sizeof alone);
      const Inst &x = a->insts[2], &y = b->insts[2];
      INFO(target << ": " << b->text(2));
      branches += y.op && y.op->cls == Class::Branch;
      CHECK((x.fn == y.fn && x.op == y.op && x.offset == y.offset && x.flags == y.flags &&
             x.dwords == y.dwords && x.enc == y.enc && x.noControl == y.noControl &&
             x.base == y.base && a->effects[2] == b->effects[2]));
    }
    CHECK(words.size() > 500);
    CHECK(branches > 5);
  }
}

TEST_CASE("a branch that is repeated leads out of the code where each one does") {
  // s_branch 1: the first one leads to the third word, the second one to
  // the end, the third one past it.
  const std::array<uint32_t, 3> words{0xbf820001, 0xbf820001, 0xbf820001};
  const auto program = decodeProgram("gfx942", words.data(), sizeof words);
  CHECK(program->insts[1].fn == program->insts[0].fn);
  CHECK(program->insts[2].fn != program->insts[0].fn);
}

} // namespace flyemu::test
