// The third source of scales, which they do not have: compilers write v0 or the constant 0 into its field.
#include "assemble.h"

#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

using namespace flyemu;
using namespace flyemu::test;

TEST_CASE("gfx1250: scales are decoded whatever the field of their third source has") {
  for (const char *source :
       {"v_wmma_scale_f32_16x16x128_f8f6f4 v[0:7], v[8:23], v[24:39], v[0:7], v1, v2",
        "v_wmma_scale16_f32_16x16x128_f8f6f4 v[0:7], v[8:15], v[16:23], v[0:7], v[32:33], v[34:35] "
        "matrix_a_fmt:MATRIX_FMT_FP4 matrix_b_fmt:MATRIX_FMT_FP4"}) {
    INFO(source);
    auto code = assemble("gfx1250", source);
    const auto textOf = [&] {
      const auto program = decodeProgram("gfx1250", code.data(), code.size() * sizeof code[0]);
      REQUIRE(program->insts[0].op);
      CHECK(program->insts[0].dwords == 4);
      return program->text(0);
    };
    const std::string expected = textOf();
    constexpr uint32_t kField = 511u << 18, kZero = 0x80u << 18, kV0 = 0x100u << 18;
    REQUIRE((code[1] & kField) == kV0); // as LLVM 22 assembles it
    for (const uint32_t field : {kZero, 0u, kField}) {
      code[1] = (code[1] & ~kField) | field;
      CHECK(textOf() == expected);
    }
  }
}
