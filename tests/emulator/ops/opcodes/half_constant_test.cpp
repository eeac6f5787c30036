// The constant 0xff of a multiply-add of halves, by which LLVM 22's disassembler crashes.
#include "assemble.h"
#include "machine.h"

#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

#include <string>

namespace flyemu::test {

TEST_CASE("a multiply-add of halves by the constant 0xff is decoded as by any other one") {
  for (const char *target : kTargets) {
    const bool gfx9 = std::string(target).starts_with("gfx9");
    for (const std::string name : {"k_f16 v3, v1, ", "ak_f16 v3, v1, v2, "}) {
      const bool after = name.starts_with("ak");
      const std::string start = (gfx9 ? after ? "v_mad" : "v_madm" : after ? "v_fma" : "v_fmam") +
                                name;
      const auto textOf = [&](const char *constant) {
        const std::string source = start + constant + (after ? "" : ", v2");
        const auto code = assemble(target, source);
        const auto program = decodeProgram(target, code.data(), code.size() * sizeof code[0]);
        INFO(target << ": " << source);
        CHECK(program->insts[0].op);
        CHECK(program->insts[0].dwords == 2);
        return program->text(0);
      };
      std::string other = textOf("0xfe");
      const size_t at = other.find("0xfe");
      REQUIRE(at != std::string::npos);
      CHECK(textOf("0xff") == other.replace(at, 4, "0xff"));
    }
  }
}

} // namespace flyemu::test
