// The rows follow MLIR's ROCDLOps.td (as FlyDSL 0.4.2's MLIR prints it) and LLVM's
// IntrinsicsAMDGPU.td, whose order of arguments they have.
#include "dialect/FlyROCDL/Text/LaterRocdl.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringSwitch.h"

namespace mlir::fly_rocdl {

namespace {

using Argument = IntrinsicArgument;

constexpr Argument kValue{Argument::Operand};
constexpr Argument kLiteral1{Argument::Literal, 1}, kLiteral16{Argument::Literal, 16},
    kLiteral32{Argument::Literal, 32};
constexpr Argument kClamp{Argument::Attribute, 1, "clamp"}, kSignA{Argument::Attribute, 1, "signA"},
    kSignB{Argument::Attribute, 1, "signB"}, kReuseA{Argument::Attribute, 1, "reuseA"},
    kReuseB{Argument::Attribute, 1, "reuseB"};

constexpr Argument kCount[] = {kLiteral16};
constexpr Argument kOne[] = {kValue};
constexpr Argument kDot[] = {kValue, kValue, kValue},
                   kClampedDot[] = {kValue, kValue, kValue, kClamp},
                   kSignedDot[] = {kSignA, kValue, kSignB, kValue, kValue, kClamp};
constexpr Argument kPermute[] = {kValue, kValue, kValue, kLiteral1, kLiteral1};
constexpr Argument kSparse[] = {kValue, kValue, kValue, kValue};
constexpr Argument kSparseSigned[] = {kSignA, kValue, kSignB, kValue, kValue, kValue, kClamp};
constexpr Argument kSparseReused[] = {kValue, kValue, kValue, kValue, kReuseA, kReuseB};
constexpr Argument kSparseMods[] = {kSignA, kValue, kSignB,  kValue,
                                    kValue, kValue, kReuseA, kReuseB};
constexpr Argument kSparseModsClamped[] = {kSignA, kValue,  kSignB,  kValue, kValue,
                                           kValue, kReuseA, kReuseB, kClamp};
constexpr Argument kLoadToLds[] = {kValue, kValue, kLiteral32, kLiteral32, kLiteral32};
constexpr Argument kBufferToLds[] = {kValue, kValue, kValue, kValue, kValue, kValue, kLiteral32};
constexpr Argument kStoreFromLds[] = {kValue, kValue, kLiteral32, kLiteral32};
constexpr Argument kScalarLoad[] = {kValue, kValue, kLiteral32};
constexpr Argument kTensor[] = {kValue, kValue, kValue, kValue, kValue, kLiteral32};

constexpr llvm::StringLiteral kTensorTypes =
    "vector<4xi32>, vector<8xi32>, vector<4xi32>, vector<4xi32>, vector<8xi32>";

constexpr LaterIntrinsic kRows[] = {
    {"asyncmark", {}, TypesText::None},
    {"wait.asyncmark", kCount, TypesText::None},
    {"wave.barrier", {}, TypesText::None},
    {"wave.id", {}, TypesText::Result},
    {"cluster.workgroup.id.x", {}, TypesText::Result},
    {"cluster.workgroup.id.y", {}, TypesText::Result},
    {"cluster.workgroup.id.z", {}, TypesText::Result},
    {"load.async.to.lds", kLoadToLds, TypesText::Operands},
    {"global.load.async.lds", kLoadToLds, TypesText::Operands},
    {"raw.ptr.buffer.load.async.lds", kBufferToLds, TypesText::None,
     "!llvm.ptr<8>, !llvm.ptr<3>, i32, i32, i32, i32"},
    {"ptr.s.buffer.load", kScalarLoad, TypesText::Result, "!llvm.ptr<8>, i32"},
    {"global.store.async.from.lds.b8", kStoreFromLds, TypesText::Operands},
    {"global.store.async.from.lds.b32", kStoreFromLds, TypesText::Operands},
    {"global.store.async.from.lds.b64", kStoreFromLds, TypesText::Operands},
    {"global.store.async.from.lds.b128", kStoreFromLds, TypesText::Operands},
    {"tensor.load.to.lds", kTensor, TypesText::None, kTensorTypes},
    {"tensor.store.from.lds", kTensor, TypesText::None, kTensorTypes},
    {"permlane16.var", kPermute, TypesText::Function},
    {"permlanex16.var", kPermute, TypesText::Function},
    {"rsq", kOne, TypesText::Function},
    {"dot4.f32.bf8.bf8", kDot, TypesText::Function},
    {"dot4.f32.bf8.fp8", kDot, TypesText::Function},
    {"dot4.f32.fp8.bf8", kDot, TypesText::Function},
    {"dot4.f32.fp8.fp8", kDot, TypesText::Function},
    {"fdot2", kClampedDot, TypesText::Function},
    {"fdot2.f32.bf16", kClampedDot, TypesText::Function},
    {"fdot2.f16.f16", kDot, TypesText::Function},
    {"fdot2.bf16.bf16", kDot, TypesText::Function},
    {"sdot2", kClampedDot, TypesText::Function},
    {"sdot4", kClampedDot, TypesText::Function},
    {"sdot8", kClampedDot, TypesText::Function},
    {"udot2", kClampedDot, TypesText::Function},
    {"udot4", kClampedDot, TypesText::Function},
    {"udot8", kClampedDot, TypesText::Function},
    {"sudot4", kSignedDot, TypesText::Function},
    {"sudot8", kSignedDot, TypesText::Function},
    {"swmmac.f32.16x16x32.f16", kSparse, TypesText::Function},
    {"swmmac.f32.16x16x32.bf16", kSparse, TypesText::Function},
    {"swmmac.f16.16x16x32.f16", kSparse, TypesText::Function},
    {"swmmac.bf16.16x16x32.bf16", kSparse, TypesText::Function},
    {"swmmac.f32.16x16x32.fp8.fp8", kSparse, TypesText::Function},
    {"swmmac.f32.16x16x32.fp8.bf8", kSparse, TypesText::Function},
    {"swmmac.f32.16x16x32.bf8.fp8", kSparse, TypesText::Function},
    {"swmmac.f32.16x16x32.bf8.bf8", kSparse, TypesText::Function},
    {"swmmac.i32.16x16x32.iu8", kSparseSigned, TypesText::Function},
    {"swmmac.i32.16x16x32.iu4", kSparseSigned, TypesText::Function},
    {"swmmac.i32.16x16x64.iu4", kSparseSigned, TypesText::Function},
    {"swmmac.f32.16x16x64.f16", kSparseMods, TypesText::Function},
    {"swmmac.f32.16x16x64.bf16", kSparseMods, TypesText::Function},
    {"swmmac.f16.16x16x64.f16", kSparseMods, TypesText::Function},
    {"swmmac.bf16.16x16x64.bf16", kSparseMods, TypesText::Function},
    {"swmmac.bf16f32.16x16x64.bf16", kSparseMods, TypesText::Function},
    {"swmmac.f32.16x16x128.fp8.fp8", kSparseReused, TypesText::Function},
    {"swmmac.f32.16x16x128.fp8.bf8", kSparseReused, TypesText::Function},
    {"swmmac.f32.16x16x128.bf8.fp8", kSparseReused, TypesText::Function},
    {"swmmac.f32.16x16x128.bf8.bf8", kSparseReused, TypesText::Function},
    {"swmmac.f16.16x16x128.fp8.fp8", kSparseReused, TypesText::Function},
    {"swmmac.f16.16x16x128.fp8.bf8", kSparseReused, TypesText::Function},
    {"swmmac.f16.16x16x128.bf8.fp8", kSparseReused, TypesText::Function},
    {"swmmac.f16.16x16x128.bf8.bf8", kSparseReused, TypesText::Function},
    {"swmmac.i32.16x16x128.iu8", kSparseModsClamped, TypesText::Function},
};

/// The bits of llvm.amdgcn.sched.barrier's mask (LLVM, AMDGPUUsage).
std::optional<unsigned> schedMask(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<unsigned>>(name)
      .Case("none", 0)
      .Case("non_mem_non_sideeffect", 0x1)
      .Case("valu", 0x2)
      .Case("salu", 0x4)
      .Case("mfma_wmma", 0x8)
      .Case("all_vmem", 0x10)
      .Case("vmem_read", 0x20)
      .Case("vmem_write", 0x40)
      .Case("all_ds", 0x80)
      .Case("ds_read", 0x100)
      .Case("ds_write", 0x200)
      .Case("transcendental", 0x400)
      .Case("ldsdma", 0x800)
      .Case("all", 0xfff)
      .Default(std::nullopt);
}

} // namespace

const LaterIntrinsic *findLaterIntrinsic(llvm::StringRef operation) {
  if (!operation.consume_front("rocdl."))
    return nullptr;
  const auto *row =
      llvm::find_if(kRows, [&](const LaterIntrinsic &row) { return row.name == operation; });
  return row == std::end(kRows) ? nullptr : row;
}

std::optional<unsigned> schedMasks(llvm::StringRef names) {
  llvm::SmallVector<llvm::StringRef, 4> parts;
  names.split(parts, '|');
  unsigned mask = 0;
  for (llvm::StringRef part : parts) {
    std::optional<unsigned> bits = schedMask(part.trim());
    if (!bits)
      return std::nullopt;
    mask |= *bits;
  }
  return mask;
}

std::optional<int64_t> immediateNumber(llvm::StringRef token) {
  int64_t number;
  if (!token.getAsInteger(10, number))
    return number;
  return llvm::StringSwitch<std::optional<int64_t>>(token)
      .Case("false", 0)
      .Case("true", 1)
      // Formats of operands of scaled products.
      .Case("fp8_e4m3", 0)
      .Case("fp8_e5m2", 1)
      .Case("fp6_e2m3", 2)
      .Case("fp6_e3m2", 3)
      .Case("fp4_e2m1", 4)
      // Permutations of B.
      .Case("none", 0)
      .Case("bcast_first_32", 1)
      .Case("bcast_second_32", 2)
      .Case("rotate_16_right", 3)
      .Case("bcast_first_16", 4)
      .Case("bcast_second_16", 5)
      .Case("bcast_third_16", 6)
      .Case("bcast_fourth_16", 7)
      // Modifiers of C, which share `none`.
      .Case("neg", 1)
      .Case("abs", 2)
      .Case("neg_abs", 3)
      // Which half of the wave has the scales, and the scales' format.
      .Case("row0", 0)
      .Case("row1", 1)
      .Case("e8", 0)
      .Case("e5m3", 1)
      .Case("e4m3", 2)
      .Default(std::nullopt);
}

} // namespace mlir::fly_rocdl
