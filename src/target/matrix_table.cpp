// The rows of the matrix instructions. Sparse instructions have none.
//
// Sources: LLVM's definitions of the intrinsics (IntrinsicsAMDGPU.td) and of the targets' features
// (VOP3PInstructions.td); AMD's matrix instruction calculator; for gfx1250 FlyDSL's
// lib/Dialect/FlyROCDL/GFX1250. tests/dialect compares the rows with LLVM's intrinsics, with what
// LLVM compiles for each processor and with MLIR's operations.
#include "target/matrix_instructions.h"

#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

using rocdl::ThreadValues;
using Mode = ThreadValues::Mode;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

constexpr ThreadValues kUnpublished{.lanes = {}, .values = {}, .value_modes = 0};

/// A and B where the lanes form groups of as many lanes as there are rows: lane l holds row
/// l % rows, and of K the runs of `run` elements that belong to its group. The runs go to the
/// groups in turn.
constexpr ThreadValues inRuns(int rows, int groups, int k, int run) {
  const int runs = k / groups / run;
  return {.lanes = {Mode{rows, 1}, Mode{groups, rows * run}},
          .values = {Mode{run, rows}, Mode{runs, rows * run * groups}},
          .value_modes = runs > 1 ? 2 : 1};
}

/// A and B where all groups of lanes hold the same: lane l holds all of row l % rows.
constexpr ThreadValues replicated(int rows, int groups, int k) {
  return {.lanes = {Mode{rows, 1}, Mode{groups, 0}}, .values = {Mode{k, rows}}, .value_modes = 1};
}

/// A and B of MFMA have one run a lane. If the blocks share A, all lanes of a row of A may hold it.
constexpr ThreadValues mfmaOperand(int rows, int k) {
  const int groups = 64 / rows;
  return inRuns(rows, groups, k, k / groups);
}

/// C and D of MFMA: lane l holds column l % n. Its values are groups of four rows each, which go to
/// the lanes of the column in turn; those of one block precede those of the next. Blocks of four
/// columns have one group a lane, so a block is 16 times as wide as its lanes.
constexpr ThreadValues mfmaResult(int m, int n, int blocks) {
  if (n == 4)
    return {.lanes = {Mode{n * blocks, m}, Mode{1, 4}},
            .values = {Mode{4, 1}, Mode{m / 4, 4}},
            .value_modes = 2};
  const int groups = 64 / n;
  return {.lanes = {Mode{n, m}, Mode{groups, 4}},
          .values = {Mode{4, 1}, Mode{m / 4 / groups, 4 * groups}, Mode{blocks, m * n}},
          .value_modes = blocks > 1 ? 3 : 2};
}

/// C and D of 16x16 doubles: the rows of a lane have a stride of four, 4 * v + l / 16.
constexpr ThreadValues kDoubleResult{
    .lanes = {Mode{16, 16}, Mode{4, 1}}, .values = {Mode{4, 4}}, .value_modes = 1};

/// A and B of the scaled MFMA, 32 values a lane. Elements of fewer than eight bits lie in one run.
/// Those of eight bits lie in two runs of 16 bytes. Sources: Composable Kernel's test/mx_mfma_op
/// and FlyDSL's kernels/gemm/mxfp4_preshuffle.py. The blocks of 32 that share a scale are
/// neighbours in K.
constexpr ThreadValues mfmaScaledOperand(int rows, int k, DType element) {
  const int groups = 64 / rows;
  return inRuns(rows, groups, k, element.bits() < 8 ? k / groups : 16);
}

constexpr int kWmmaRows = 16;

/// A and B of RDNA4 and gfx1250: value v of lane l is at K = (v / 8) * 16 + (l / 16) * 8 + v % 8.
/// Operands of 32 bits hold one run of K / 2 in each half of the wave. Source: FlyDSL's
/// lib/Dialect/FlyROCDL/GFX1250. AMD's matrix instruction calculator names other K for RDNA4's
/// 16-bit and 4-bit operands, A's and B's alike, which changes no product.
constexpr ThreadValues wmmaOperand(int k, DType element) {
  const int perLane = k / 2;
  return inRuns(kWmmaRows, 2, k, element.bits() < 32 && perLane > 8 ? 8 : perLane);
}

/// C and D of RDNA4 and gfx1250: lane l holds column l % 16 and of it the rows (l / 16) * 8 + v.
constexpr ThreadValues kWmmaResult{
    .lanes = {Mode{16, 16}, Mode{2, 8}}, .values = {Mode{8, 1}}, .value_modes = 1};

/// C and D of RDNA3: the halves of the wave take alternate rows, 2 * v + l / 16.
constexpr ThreadValues kInterleavedResult{
    .lanes = {Mode{16, 16}, Mode{2, 1}}, .values = {Mode{8, 2}}, .value_modes = 1};

/// A and B of the scaled WMMA: runs of 16 elements of eight bits, or of 32 smaller ones. Sources:
/// FlyDSL's kernels/gemm/gemm_a8w4_mxscale_gfx1250.py and Composable Kernel
/// (include/ck_tile/core/arch/mma/scale).
constexpr ThreadValues wmmaScaledOperand(int k, DType element) {
  return inRuns(kWmmaRows, 2, k, element.bits() < 8 ? 32 : 16);
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

/// `bits` bits as words of 32 bits.
constexpr Registers words(int bits) { return {i32, bits / 32}; }

/// A and B of MFMA: bytes are packed into one integer of 32 or 64 bits or into words; bf16 is an
/// integer of 16 bits but for the instructions of gfx950.
constexpr Registers mfmaRegisters(DType element, int count) {
  if (element.bits() == 8)
    return element.bits() * count == 64 ? Registers{i64, 1} : words(8 * count);
  if (element == bf16 && count < 8)
    return {i16, count};
  return {element, count};
}

/// All operands of WMMA. `bf16AsInteger`: as before gfx1250.
constexpr Registers wmmaRegisters(DType element, int count, bool bf16AsInteger) {
  if (element.bits() < 16)
    return words(element.bits() * count);
  if (element == bf16 && bf16AsInteger)
    return {i16, count};
  return {element, count};
}

//===----------------------------------------------------------------------===//
// Makers of rows
//===----------------------------------------------------------------------===//

struct Shape {
  int m, n, k;
  int blocks = 1;
};
struct Elements {
  DType a, b, acc;
};

constexpr MatrixInstruction mfma(std::string_view name, FamilySet on, Shape s, Elements e,
                                 Feature feature = Feature::mfma) {
  // The instructions of f64 use CBSZ's bits otherwise.
  const bool sharesA = s.blocks > 1 && e.a != f64;
  const bool isAtom = s.blocks == 1 || sharesA;
  return {.family = MatrixFamily::MFMA,
          .name = name,
          .processors = on,
          .feature = feature,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .blocks = s.blocks,
          .sharesA = sharesA,
          .a = e.a,
          .b = e.b,
          .acc = e.acc,
          .scaleBlock = 0,
          .registersA = mfmaRegisters(e.a, s.m * s.k * s.blocks / 64),
          .registersB = mfmaRegisters(e.b, s.n * s.k * s.blocks / 64),
          .registersC = {e.acc, s.m * s.n * s.blocks / 64},
          .layoutA = sharesA  ? replicated(s.m, 64 / s.m, s.k)
                     : isAtom ? mfmaOperand(s.m, s.k)
                              : kUnpublished,
          .layoutB = isAtom ? mfmaOperand(s.n * s.blocks, s.k) : kUnpublished,
          .layoutC = !isAtom        ? kUnpublished
                     : e.acc == f64 ? kDoubleResult
                                    : mfmaResult(s.m, s.n, s.blocks)};
}

constexpr MatrixInstruction wmma(MatrixFamily family, std::string_view name, FamilySet on, int k,
                                 Elements e) {
  const bool isRdna3 = family == MatrixFamily::GFX11, asInteger = family != MatrixFamily::GFX1250;
  const int perLane = isRdna3 ? k : k / 2;
  const int sums = isRdna3 && e.acc.bits() == 16 ? 16 : 8;
  return {.family = family,
          .name = name,
          .processors = on,
          .feature = Feature::wmma,
          .m = 16,
          .n = 16,
          .k = k,
          .blocks = 1,
          .sharesA = false,
          .a = e.a,
          .b = e.b,
          .acc = e.acc,
          .scaleBlock = 0,
          .registersA = wmmaRegisters(e.a, perLane, asInteger),
          .registersB = wmmaRegisters(e.b, perLane, asInteger),
          .registersC = wmmaRegisters(e.acc, sums, asInteger),
          .layoutA = isRdna3 ? replicated(kWmmaRows, 2, k) : wmmaOperand(k, e.a),
          .layoutB = isRdna3 ? replicated(kWmmaRows, 2, k) : wmmaOperand(k, e.b),
          .layoutC = isRdna3 ? kInterleavedResult : kWmmaResult};
}

constexpr MatrixInstruction mfmaScale(std::string_view name, Shape s, DType a, DType b) {
  return {.family = MatrixFamily::MFMAScale,
          .name = name,
          .processors = {Family::cdna4},
          .feature = Feature::mfma_scale,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .blocks = 1,
          .sharesA = false,
          .a = a,
          .b = b,
          .acc = f32,
          .scaleBlock = 32,
          .registersA = words(s.m * s.k / 64 * a.bits()),
          .registersB = words(s.n * s.k / 64 * b.bits()),
          .registersC = {f32, s.m * s.n / 64},
          .layoutA = mfmaScaledOperand(s.m, s.k, a),
          .layoutB = mfmaScaledOperand(s.n, s.k, b),
          .layoutC = mfmaResult(s.m, s.n, 1)};
}

/// Of the form of 32 rows only the sizes of A's and C's registers are published.
constexpr MatrixInstruction wmmaScale(std::string_view name, Shape s, int scaleBlock, DType a,
                                      DType b) {
  const bool isTall = s.m == 32;
  return {.family = MatrixFamily::GFX1250Scale,
          .name = name,
          .processors = {Family::gfx1250},
          .feature = Feature::wmma_scale,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .blocks = 1,
          .sharesA = false,
          .a = a,
          .b = b,
          .acc = f32,
          .scaleBlock = scaleBlock,
          .registersA = words(s.m * s.k / 32 * a.bits()),
          .registersB = words(s.n * s.k / 32 * b.bits()),
          .registersC = {f32, s.m * s.n / 32},
          .layoutA = isTall ? kUnpublished : wmmaScaledOperand(s.k, a),
          .layoutB = wmmaScaledOperand(s.k, b),
          .layoutC = isTall ? kUnpublished : kWmmaResult};
}

//===----------------------------------------------------------------------===//
// The rows
//===----------------------------------------------------------------------===//

constexpr FamilySet kCdna = {Family::cdna2, Family::cdna3, Family::cdna4};
constexpr FamilySet kCdna2 = {Family::cdna2}, kCdna3 = {Family::cdna3}, kCdna4 = {Family::cdna4};
constexpr FamilySet kSinceCdna3 = {Family::cdna3, Family::cdna4};

// The formats of eight bits that gfx942 has, and OCP's.
constexpr DType kFnuz8 = f8E4M3FNUZ, kFnuzB8 = f8E5M2FNUZ, kFp8 = f8E4M3FN, kBf8 = f8E5M2;

// clang-format off
constexpr std::array kMfma = {
    mfma("mfma.f32.32x32x2f32", kCdna, {32, 32, 2}, {f32, f32, f32}),
    mfma("mfma.f32.16x16x4f32", kCdna, {16, 16, 4}, {f32, f32, f32}),
    // The products of f32 operands have the precision of XF32: 10 bits of mantissa.
    mfma("mfma.f32.32x32x4.xf32", kCdna3, {32, 32, 4}, {f32, f32, f32}, Feature::xf32),
    mfma("mfma.f32.16x16x8.xf32", kCdna3, {16, 16, 8}, {f32, f32, f32}, Feature::xf32),
    mfma("mfma.f64.16x16x4f64", kCdna, {16, 16, 4}, {f64, f64, f64}),
    mfma("mfma.f32.32x32x8f16", kCdna, {32, 32, 8}, {f16, f16, f32}),
    mfma("mfma.f32.16x16x16f16", kCdna, {16, 16, 16}, {f16, f16, f32}),
    mfma("mfma.f32.32x32x16.f16", kCdna4, {32, 32, 16}, {f16, f16, f32}),
    mfma("mfma.f32.16x16x32.f16", kCdna4, {16, 16, 32}, {f16, f16, f32}),
    mfma("mfma.f32.32x32x4bf16", kCdna2, {32, 32, 4}, {bf16, bf16, f32}),
    mfma("mfma.f32.16x16x8bf16", kCdna2, {16, 16, 8}, {bf16, bf16, f32}),
    mfma("mfma.f32.32x32x8bf16.1k", kCdna, {32, 32, 8}, {bf16, bf16, f32}),
    mfma("mfma.f32.16x16x16bf16.1k", kCdna, {16, 16, 16}, {bf16, bf16, f32}),
    mfma("mfma.f32.32x32x16.bf16", kCdna4, {32, 32, 16}, {bf16, bf16, f32}),
    mfma("mfma.f32.16x16x32.bf16", kCdna4, {16, 16, 32}, {bf16, bf16, f32}),
    mfma("mfma.i32.32x32x8i8", kCdna2, {32, 32, 8}, {i8, i8, i32}),
    mfma("mfma.i32.16x16x16i8", kCdna2, {16, 16, 16}, {i8, i8, i32}),
    mfma("mfma.i32.32x32x16.i8", kSinceCdna3, {32, 32, 16}, {i8, i8, i32}),
    mfma("mfma.i32.16x16x32.i8", kSinceCdna3, {16, 16, 32}, {i8, i8, i32}),
    mfma("mfma.i32.32x32x32.i8", kCdna4, {32, 32, 32}, {i8, i8, i32}),
    mfma("mfma.i32.16x16x64.i8", kCdna4, {16, 16, 64}, {i8, i8, i32}),
    mfma("mfma.f32.32x32x16.fp8.fp8", kCdna3, {32, 32, 16}, {kFnuz8, kFnuz8, f32}),
    mfma("mfma.f32.32x32x16.fp8.bf8", kCdna3, {32, 32, 16}, {kFnuz8, kFnuzB8, f32}),
    mfma("mfma.f32.32x32x16.bf8.fp8", kCdna3, {32, 32, 16}, {kFnuzB8, kFnuz8, f32}),
    mfma("mfma.f32.32x32x16.bf8.bf8", kCdna3, {32, 32, 16}, {kFnuzB8, kFnuzB8, f32}),
    mfma("mfma.f32.32x32x16.fp8.fp8", kCdna4, {32, 32, 16}, {kFp8, kFp8, f32}),
    mfma("mfma.f32.32x32x16.fp8.bf8", kCdna4, {32, 32, 16}, {kFp8, kBf8, f32}),
    mfma("mfma.f32.32x32x16.bf8.fp8", kCdna4, {32, 32, 16}, {kBf8, kFp8, f32}),
    mfma("mfma.f32.32x32x16.bf8.bf8", kCdna4, {32, 32, 16}, {kBf8, kBf8, f32}),
    mfma("mfma.f32.16x16x32.fp8.fp8", kCdna3, {16, 16, 32}, {kFnuz8, kFnuz8, f32}),
    mfma("mfma.f32.16x16x32.fp8.bf8", kCdna3, {16, 16, 32}, {kFnuz8, kFnuzB8, f32}),
    mfma("mfma.f32.16x16x32.bf8.fp8", kCdna3, {16, 16, 32}, {kFnuzB8, kFnuz8, f32}),
    mfma("mfma.f32.16x16x32.bf8.bf8", kCdna3, {16, 16, 32}, {kFnuzB8, kFnuzB8, f32}),
    mfma("mfma.f32.16x16x32.fp8.fp8", kCdna4, {16, 16, 32}, {kFp8, kFp8, f32}),
    mfma("mfma.f32.16x16x32.fp8.bf8", kCdna4, {16, 16, 32}, {kFp8, kBf8, f32}),
    mfma("mfma.f32.16x16x32.bf8.fp8", kCdna4, {16, 16, 32}, {kBf8, kFp8, f32}),
    mfma("mfma.f32.16x16x32.bf8.bf8", kCdna4, {16, 16, 32}, {kBf8, kBf8, f32}),
    // Several blocks.
    mfma("mfma.f32.32x32x1f32", kCdna, {32, 32, 1, 2}, {f32, f32, f32}),
    mfma("mfma.f32.16x16x1f32", kCdna, {16, 16, 1, 4}, {f32, f32, f32}),
    mfma("mfma.f32.4x4x1f32", kCdna, {4, 4, 1, 16}, {f32, f32, f32}),
    mfma("mfma.f64.4x4x4f64", kCdna, {4, 4, 4, 4}, {f64, f64, f64}),
    mfma("mfma.f32.32x32x4f16", kCdna, {32, 32, 4, 2}, {f16, f16, f32}),
    mfma("mfma.f32.16x16x4f16", kCdna, {16, 16, 4, 4}, {f16, f16, f32}),
    mfma("mfma.f32.4x4x4f16", kCdna, {4, 4, 4, 16}, {f16, f16, f32}),
    mfma("mfma.f32.32x32x2bf16", kCdna2, {32, 32, 2, 2}, {bf16, bf16, f32}),
    mfma("mfma.f32.16x16x2bf16", kCdna2, {16, 16, 2, 4}, {bf16, bf16, f32}),
    mfma("mfma.f32.4x4x2bf16", kCdna2, {4, 4, 2, 16}, {bf16, bf16, f32}),
    mfma("mfma.f32.32x32x4bf16.1k", kCdna, {32, 32, 4, 2}, {bf16, bf16, f32}),
    mfma("mfma.f32.16x16x4bf16.1k", kCdna, {16, 16, 4, 4}, {bf16, bf16, f32}),
    mfma("mfma.f32.4x4x4bf16.1k", kCdna, {4, 4, 4, 16}, {bf16, bf16, f32}),
    mfma("mfma.i32.32x32x4i8", kCdna, {32, 32, 4, 2}, {i8, i8, i32}),
    mfma("mfma.i32.16x16x4i8", kCdna, {16, 16, 4, 4}, {i8, i8, i32}),
    mfma("mfma.i32.4x4x4i8", kCdna, {4, 4, 4, 16}, {i8, i8, i32}),
};

constexpr MatrixInstruction wmma11(std::string_view name, int k, Elements e) {
  return wmma(MatrixFamily::GFX11, name, {Family::rdna3}, k, e);
}
constexpr std::array kGfx11 = {
    wmma11("wmma.f32.16x16x16.f16", 16, {f16, f16, f32}),
    wmma11("wmma.f32.16x16x16.bf16", 16, {bf16, bf16, f32}),
    wmma11("wmma.f16.16x16x16.f16", 16, {f16, f16, f16}),
    wmma11("wmma.bf16.16x16x16.bf16", 16, {bf16, bf16, bf16}),
    wmma11("wmma.i32.16x16x16.iu8", 16, {i8, i8, i32}),
    wmma11("wmma.i32.16x16x16.iu4", 16, {i4, i4, i32}),
};

constexpr MatrixInstruction wmma12(std::string_view name, int k, Elements e) {
  return wmma(MatrixFamily::GFX120X, name, {Family::rdna4}, k, e);
}
constexpr std::array kGfx120x = {
    wmma12("wmma.f32.16x16x16.f16", 16, {f16, f16, f32}),
    wmma12("wmma.f32.16x16x16.bf16", 16, {bf16, bf16, f32}),
    wmma12("wmma.f16.16x16x16.f16", 16, {f16, f16, f16}),
    wmma12("wmma.bf16.16x16x16.bf16", 16, {bf16, bf16, bf16}),
    wmma12("wmma.i32.16x16x16.iu8", 16, {i8, i8, i32}),
    wmma12("wmma.i32.16x16x16.iu4", 16, {i4, i4, i32}),
    wmma12("wmma.i32.16x16x32.iu4", 32, {i4, i4, i32}),
    wmma12("wmma.f32.16x16x16.fp8_fp8", 16, {kFp8, kFp8, f32}),
    wmma12("wmma.f32.16x16x16.fp8_bf8", 16, {kFp8, kBf8, f32}),
    wmma12("wmma.f32.16x16x16.bf8_fp8", 16, {kBf8, kFp8, f32}),
    wmma12("wmma.f32.16x16x16.bf8_bf8", 16, {kBf8, kBf8, f32}),
};

constexpr MatrixInstruction wmma1250(std::string_view name, int k, Elements e) {
  return wmma(MatrixFamily::GFX1250, name, {Family::gfx1250}, k, e);
}
constexpr std::array kGfx1250 = {
    wmma1250("wmma.f32.16x16x4.f32", 4, {f32, f32, f32}),
    wmma1250("wmma.f32.16x16x32.f16", 32, {f16, f16, f32}),
    wmma1250("wmma.f32.16x16x32.bf16", 32, {bf16, bf16, f32}),
    wmma1250("wmma.f16.16x16x32.f16", 32, {f16, f16, f16}),
    wmma1250("wmma.bf16.16x16x32.bf16", 32, {bf16, bf16, bf16}),
    wmma1250("wmma.i32.16x16x32.iu4", 32, {i4, i4, i32}),
    wmma1250("wmma.i32.16x16x64.iu8", 64, {i8, i8, i32}),
    wmma1250("wmma.f32.16x16x64.fp8_fp8", 64, {kFp8, kFp8, f32}),
    wmma1250("wmma.f32.16x16x64.fp8_bf8", 64, {kFp8, kBf8, f32}),
    wmma1250("wmma.f32.16x16x64.bf8_fp8", 64, {kBf8, kFp8, f32}),
    wmma1250("wmma.f32.16x16x64.bf8_bf8", 64, {kBf8, kBf8, f32}),
    wmma1250("wmma.f32.16x16x128.fp8_fp8", 128, {kFp8, kFp8, f32}),
    wmma1250("wmma.f32.16x16x128.fp8_bf8", 128, {kFp8, kBf8, f32}),
    wmma1250("wmma.f32.16x16x128.bf8_fp8", 128, {kBf8, kFp8, f32}),
    wmma1250("wmma.f32.16x16x128.bf8_bf8", 128, {kBf8, kBf8, f32}),
    wmma1250("wmma.f16.16x16x64.fp8_fp8", 64, {kFp8, kFp8, f16}),
    wmma1250("wmma.f16.16x16x64.fp8_bf8", 64, {kFp8, kBf8, f16}),
    wmma1250("wmma.f16.16x16x64.bf8_fp8", 64, {kBf8, kFp8, f16}),
    wmma1250("wmma.f16.16x16x64.bf8_bf8", 64, {kBf8, kBf8, f16}),
    wmma1250("wmma.f16.16x16x128.fp8_fp8", 128, {kFp8, kFp8, f16}),
    wmma1250("wmma.f16.16x16x128.fp8_bf8", 128, {kFp8, kBf8, f16}),
    wmma1250("wmma.f16.16x16x128.bf8_fp8", 128, {kBf8, kFp8, f16}),
    wmma1250("wmma.f16.16x16x128.bf8_bf8", 128, {kBf8, kBf8, f16}),
};
// clang-format on

/// A row for each pair of formats, which an operand of the one instruction chooses.
template <class Make> constexpr auto forAllFormats(Make make) {
  constexpr std::size_t formats = kMxFormats.size();
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array{make(kMxFormats[I / formats], kMxFormats[I % formats])...};
  }
  (std::make_index_sequence<formats * formats>());
}

constexpr auto kMfmaScale16 = forAllFormats([](DType a, DType b) {
  return mfmaScale("mfma.scale.f32.16x16x128.f8f6f4", {16, 16, 128}, a, b);
});
constexpr auto kMfmaScale32 = forAllFormats([](DType a, DType b) {
  return mfmaScale("mfma.scale.f32.32x32x64.f8f6f4", {32, 32, 64}, a, b);
});
constexpr auto kWmmaScale32 = forAllFormats([](DType a, DType b) {
  return wmmaScale("wmma.scale.f32.16x16x128.f8f6f4", {16, 16, 128}, 32, a, b);
});
constexpr auto kWmmaScale16 = forAllFormats([](DType a, DType b) {
  return wmmaScale("wmma.scale16.f32.16x16x128.f8f6f4", {16, 16, 128}, 16, a, b);
});
constexpr std::array kTallWmmaScale = {
    wmmaScale("wmma.scale.f32.32x16x128.f4", {32, 16, 128}, 32, f4E2M1FN, f4E2M1FN),
    wmmaScale("wmma.scale16.f32.32x16x128.f4", {32, 16, 128}, 16, f4E2M1FN, f4E2M1FN),
};

template <std::size_t... N>
constexpr auto joined(const std::array<MatrixInstruction, N> &...tables) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    auto at = [&](std::size_t index) {
      const MatrixInstruction *row = nullptr;
      ((index < N ? (row = row ? row : &tables[index], 0) : (index -= row ? 0 : N, 0)), ...);
      return *row;
    };
    return std::array{at(I)...};
  }
  (std::make_index_sequence<(N + ...)>());
}

constexpr auto kRows = joined(kMfma, kGfx11, kGfx120x, kGfx1250, kMfmaScale16, kMfmaScale32,
                              kWmmaScale32, kWmmaScale16, kTallWmmaScale);

//===----------------------------------------------------------------------===//
// What holds for all rows
//===----------------------------------------------------------------------===//

/// Whether a layout reaches each of `elements` elements. The lanes hold each as often as the others
/// do: modes of lanes with stride 0 hold copies.
constexpr bool covers(const ThreadValues &tv, int elements, int lanes) {
  std::array<Mode, 5> modes{tv.lanes[0], tv.lanes[1]};
  for (int i = 0; i < 3; ++i)
    modes[std::size_t(2 + i)] = i < tv.value_modes ? tv.values[std::size_t(i)] : Mode{1, 1};
  // The strides of the modes that are no copies are 1, the size of the mode of stride 1, and so on.
  int reached = 1;
  for (bool found = true; found && reached < elements;) {
    found = false;
    for (Mode &mode : modes)
      if (!found && mode.stride == reached && mode.size > 1) {
        reached *= mode.size;
        mode = {1, 0};
        found = true;
      }
  }
  bool allUsed = true;
  for (std::size_t i = 0; i < modes.size(); ++i)
    allUsed &= modes[i].size == 1 || (i < 2 && modes[i].stride == 0);
  return reached == elements && allUsed && tv.lane_count() == lanes;
}

constexpr bool fits(const ThreadValues &tv, const Registers &registers, DType element, int elements,
                    int lanes) {
  return !tv.is_known() ||
         (covers(tv, elements, lanes) && tv.value_count() * element.bits() == registers.bits());
}

constexpr bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != text.npos;
}

/// "16x16x4" of a row, which its name has to contain.
constexpr bool namesShape(const MatrixInstruction &row) {
  std::array<char, 16> text{};
  std::size_t size = 0;
  auto number = [&](int n) {
    if (n >= 100)
      text[size++] = static_cast<char>('0' + n / 100);
    if (n >= 10)
      text[size++] = static_cast<char>('0' + n / 10 % 10);
    text[size++] = static_cast<char>('0' + n % 10);
  };
  number(row.m);
  text[size++] = 'x';
  number(row.n);
  text[size++] = 'x';
  number(row.k);
  return contains(row.name, std::string_view(text.data(), size));
}

constexpr bool isSound(const MatrixInstruction &row) {
  const int lanes = row.lanes(), n = row.atomN();
  const Registers sums{row.acc, row.m * n / lanes};
  return namesShape(row) && contains(row.name, row.acc.name()) &&
         fits(row.layoutA, row.registersA, row.a, row.m * row.k, lanes) &&
         fits(row.layoutB, row.registersB, row.b, n * row.k, lanes) &&
         fits(row.layoutC, sums, row.acc, row.m * n, lanes);
}
constexpr bool allSound() {
  for (const MatrixInstruction &row : kRows)
    if (!isSound(row))
      return false;
  return true;
}
static_assert(allSound(), "a row's name, registers and layouts do not agree");

/// Whether two rows would be the same atom.
constexpr bool isSameAtom(const MatrixInstruction &x, const MatrixInstruction &y) {
  return x.family == y.family && x.isAtom() && y.isAtom() && x.m == y.m && x.atomN() == y.atomN() &&
         x.k == y.k && x.a == y.a && x.b == y.b && x.acc == y.acc && x.scaleBlock == y.scaleBlock;
}
constexpr bool areAtomsUnique() {
  for (std::size_t i = 0; i < kRows.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (isSameAtom(kRows[i], kRows[j]))
        return false;
  return true;
}
static_assert(areAtomsUnique(), "two rows are the same atom");

} // namespace

std::span<const MatrixInstruction> matrixInstructions() { return kRows; }

} // namespace detail
FLYDSL_NAMESPACE_END
