// Operands of v_mfma_*_f8f6f4 in the last accumulation registers, of which LLVM 22's disassembler finds none.
#include "assemble.h"
#include "machine.h"

#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

#include <string>

namespace flyemu::test {

TEST_CASE("matrix instructions of few bits take A and B from the last accumulation registers") {
  const auto range = [](unsigned first, unsigned count) {
    return "a[" + std::to_string(first) + ":" + std::to_string(first + count - 1) + "]";
  };
  // 4 registers of 4 bits (format 4), 6 of 6 bits (format 2).
  for (const unsigned count : {4u, 6u})
    for (unsigned first = 244; first + count <= 256; first += 2)
      for (const bool isB : {false, true})
        for (const bool isScaled : {false, true})
          for (const std::string form : {"16x16x128", "32x32x64"}) {
            const bool isSmall = form == "16x16x128";
            const std::string format = count == 4 ? "4" : "2";
            const std::string c = isSmall ? "v[32:35]" : "v[32:47]",
                              a = isB ? "v[0:3]" : range(first, count),
                              b = isB ? range(first, count) : "v[0:3]";
            const std::string source =
                "v_mfma_" + std::string(isScaled ? "scale_" : "") + "f32_" + form + "_f8f6f4 " + c +
                ", " + a + ", " + b + ", " + c + (isScaled ? ", v50, v51 op_sel_hi:[0,0,0]" : "") +
                " cbsz:" + (isB ? "4" : format) + " blgp:" + (isB ? format : "4");
            INFO(source);
            const auto code = assemble("gfx950", source);
            const auto program = decodeProgram("gfx950", code.data(), code.size() * sizeof code[0]);
            CHECK(program->insts[0].op);
            CHECK(program->insts[0].dwords == (isScaled ? 4 : 2));
            CHECK(program->text(0) == source);
          }
}

TEST_CASE("eight accumulation registers from a249 on are no operand") {
  auto code =
      assemble("gfx950", "v_mfma_f32_16x16x128_f8f6f4 v[32:35], a[252:255], v[0:3], v[32:35] "
                         "cbsz:4 blgp:4");
  constexpr std::uint32_t kFormatOfA = 7u << 8; // of 8 bits now
  code[0] &= ~kFormatOfA;
  CHECK(decodeProgram("gfx950", code.data(), code.size() * sizeof code[0])->text(0) == "");
}

} // namespace flyemu::test
