// Raw matrix instructions: what each takes, and where it is.
#include <flydsl/rocdl_intrinsics.h>

#include "builder/rocdl/immediate.h"
#include "builder/rocdl/intrinsic.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
namespace fly_rocdl = mlir::fly_rocdl;
namespace vector = mlir::vector;

namespace rocdl {
namespace {

/// Processors that have an instruction.
enum : unsigned { gfx90a = 1, gfx942 = 2, gfx950 = 4 };
constexpr unsigned cdna = gfx90a | gfx942 | gfx950, cdna3 = gfx942 | gfx950;
constexpr std::pair<unsigned, const char *> processors[] = {
    {gfx90a, "gfx90a"}, {gfx942, "gfx942"}, {gfx950, "gfx950"}};

/// An operand's elements; 0: a scalar.
struct Operand {
  DType type;
  int size;
  int bits() const { return type.bits() * std::max(size, 1); }
  mlir::Type in(mlir::MLIRContext *context) const {
    mlir::Type element = builder::elementType(type, context);
    return size ? mlir::VectorType::get(size, element) : element;
  }
};

struct Instruction {
  const char *name;
  unsigned where;
  Operand ab, acc;
};

// A, B and C of a lane as LLVM's intrinsics take them (IntrinsicsAMDGPU.td).
constexpr Instruction mfmas[] = {
    {"f32_32x32x1f32", cdna, {f32, 0}, {f32, 32}},
    {"f32_16x16x1f32", cdna, {f32, 0}, {f32, 16}},
    {"f32_4x4x1f32", cdna, {f32, 0}, {f32, 4}},
    {"f32_32x32x2f32", cdna, {f32, 0}, {f32, 16}},
    {"f32_16x16x4f32", cdna, {f32, 0}, {f32, 4}},
    {"f32_32x32x4f16", cdna, {f16, 4}, {f32, 32}},
    {"f32_16x16x4f16", cdna, {f16, 4}, {f32, 16}},
    {"f32_4x4x4f16", cdna, {f16, 4}, {f32, 4}},
    {"f32_32x32x8f16", cdna, {f16, 4}, {f32, 16}},
    {"f32_16x16x16f16", cdna, {f16, 4}, {f32, 4}},
    {"f32_32x32x4bf16_1k", cdna, {i16, 4}, {f32, 32}},
    {"f32_16x16x4bf16_1k", cdna, {i16, 4}, {f32, 16}},
    {"f32_4x4x4bf16_1k", cdna, {i16, 4}, {f32, 4}},
    {"f32_32x32x8bf16_1k", cdna, {i16, 4}, {f32, 16}},
    {"f32_16x16x16bf16_1k", cdna, {i16, 4}, {f32, 4}},
    {"f32_32x32x2bf16", gfx90a, {i16, 2}, {f32, 32}},
    {"f32_16x16x2bf16", gfx90a, {i16, 2}, {f32, 16}},
    {"f32_4x4x2bf16", gfx90a, {i16, 2}, {f32, 4}},
    {"f32_32x32x4bf16", gfx90a, {i16, 2}, {f32, 16}},
    {"f32_16x16x8bf16", gfx90a, {i16, 2}, {f32, 4}},
    {"i32_32x32x4i8", cdna, {i32, 0}, {i32, 32}},
    {"i32_16x16x4i8", cdna, {i32, 0}, {i32, 16}},
    {"i32_4x4x4i8", cdna, {i32, 0}, {i32, 4}},
    {"i32_32x32x8i8", gfx90a, {i32, 0}, {i32, 16}},
    {"i32_16x16x16i8", gfx90a, {i32, 0}, {i32, 4}},
    {"i32_32x32x16_i8", cdna3, {i64, 0}, {i32, 16}},
    {"i32_16x16x32_i8", cdna3, {i64, 0}, {i32, 4}},
    {"f64_16x16x4f64", cdna, {f64, 0}, {f64, 4}},
    {"f64_4x4x4f64", cdna, {f64, 0}, {f64, 0}},
    {"f32_16x16x8_xf32", gfx942, {f32, 2}, {f32, 4}},
    {"f32_32x32x4_xf32", gfx942, {f32, 2}, {f32, 16}},
    {"f32_16x16x32_fp8_fp8", cdna3, {i64, 0}, {f32, 4}},
    {"f32_16x16x32_fp8_bf8", cdna3, {i64, 0}, {f32, 4}},
    {"f32_16x16x32_bf8_fp8", cdna3, {i64, 0}, {f32, 4}},
    {"f32_16x16x32_bf8_bf8", cdna3, {i64, 0}, {f32, 4}},
    {"f32_32x32x16_fp8_fp8", cdna3, {i64, 0}, {f32, 16}},
    {"f32_32x32x16_fp8_bf8", cdna3, {i64, 0}, {f32, 16}},
    {"f32_32x32x16_bf8_fp8", cdna3, {i64, 0}, {f32, 16}},
    {"f32_32x32x16_bf8_bf8", cdna3, {i64, 0}, {f32, 16}},
    {"f32_16x16x32_f16", gfx950, {f16, 8}, {f32, 4}},
    {"f32_32x32x16_f16", gfx950, {f16, 8}, {f32, 16}},
    {"f32_16x16x32_bf16", gfx950, {bf16, 8}, {f32, 4}},
    {"f32_32x32x16_bf16", gfx950, {bf16, 8}, {f32, 16}},
    {"i32_16x16x64_i8", gfx950, {i32, 4}, {i32, 4}},
    {"i32_32x32x32_i8", gfx950, {i32, 4}, {i32, 16}},
};

unsigned processorOf(llvm::StringRef target) {
  for (auto [bit, name] : processors)
    if (target == name)
      return bit;
  return 0;
}

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

/// What is said where a target has no instruction of that name: who has it, and what it has.
[[noreturn]] void refuse(const char *family, const char *name, const std::string &target,
                         const std::vector<std::string> &others,
                         const std::vector<std::string> &offered, Loc loc) {
  throw TraceError("there is no " + std::string(family) + " " + name + " on " + target +
                       (others.empty() ? "" : "; " + joined(others) + " have it") + "; " + target +
                       (offered.empty() ? " has none" : " has " + joined(offered)),
                   loc);
}

const Instruction &findMfma(const char *name, Tracer &t, Loc loc) {
  const std::string target = t.kernel.targetFor(name, loc).name();
  const unsigned here = processorOf(target);
  std::vector<std::string> offered, others;
  for (const Instruction &i : mfmas) {
    const bool isNamed = std::string_view(i.name) == name;
    if (isNamed && (i.where & here))
      return i;
    if (i.where & here)
      offered.push_back(i.name);
    if (isNamed)
      for (auto [bit, processor] : processors)
        if (i.where & bit)
          others.push_back(processor);
  }
  refuse("MFMA", name, target, others, offered, loc);
}

/// A vector as the operand of that type: as many bits, a scalar out of a vector of one.
mlir::Value fitted(Tracer &t, const Vector &value, mlir::Type type, const char *name, Loc loc) {
  mlir::Value v = t.use(value.handle(), loc);
  auto vector = mlir::dyn_cast<mlir::VectorType>(type);
  const auto whole = vector ? vector : mlir::VectorType::get(1, type);
  if (value.size(loc) * value.dtype(loc).bits() !=
      whole.getNumElements() * whole.getElementTypeBitWidth())
    throw TraceError(std::string(name) + " takes " + builder::typeText(type) +
                         " or as many bits of another type, not " + builder::typeText(v.getType()),
                     loc);
  if (v.getType() != whole)
    v = t.create<vector::BitCastOp>(loc, whole, v);
  if (vector)
    return v;
  return t.create<vector::ExtractOp>(loc, whole.getElementType(), v, mlir::ValueRange(), 0);
}
mlir::Value fitted(Tracer &t, const Vector &value, const Operand &operand, const char *name,
                   Loc loc) {
  return fitted(t, value, operand.in(t.context()), name, loc);
}

std::string intrinsicName(const char *prefix, const char *name) {
  std::string text = prefix;
  for (const char *c = name; *c; ++c)
    text += *c == '_' ? '.' : *c;
  return text;
}

/// The accumulator as the vector that C was.
Vector result(Tracer &t, mlir::Value v, const Operand &acc, Loc loc) {
  if (!acc.size)
    v = t.create<vector::BroadcastOp>(loc, mlir::VectorType::get(1, v.getType()), v);
  return Vector(t.wrap(v, acc.type, loc));
}

} // namespace

Vector mfma(const char *name, const Vector &a, const Vector &b, const Vector &c,
            const MfmaModifiers &m, Loc loc) {
  Tracer &t = Tracer::require("mfma", loc);
  const Instruction &i = findMfma(name, t, loc);
  builder::immediate("cbsz of an MFMA", m.cbsz, 7, loc);
  builder::immediate("abid of an MFMA", m.abid, 15, loc);
  builder::immediate("blgp of an MFMA", m.blgp, 7, loc);
  mlir::Value operands[] = {fitted(t, a, i.ab, name, loc),   fitted(t, b, i.ab, name, loc),
                            fitted(t, c, i.acc, name, loc),  t.ir.constant(m.cbsz, i32, loc),
                            t.ir.constant(m.abid, i32, loc), t.ir.constant(m.blgp, i32, loc)};
  return result(t,
                builder::callIntrinsic(t, intrinsicName("llvm.amdgcn.mfma.", name), operands,
                                       i.acc.in(t.context()), loc),
                i.acc, loc);
}

Vector mfma_scale(const char *name, const ScaledOperand &a, const ScaledOperand &b, const Vector &c,
                  Loc loc) {
  Tracer &t = Tracer::require("mfma_scale", loc);
  t.kernel.targetWith(Feature::mfma_scale, "scaled MFMA", loc);
  const std::string_view text(name);
  if (text != "f32_16x16x128_f8f6f4" && text != "f32_32x32x64_f8f6f4")
    throw TraceError("there is no scaled MFMA " + std::string(name) +
                         "; there are f32_16x16x128_f8f6f4 and f32_32x32x64_f8f6f4",
                     loc);
  const Operand acc{f32, text.starts_with("f32_16") ? 4 : 16};
  auto packed = [&](const ScaledOperand &o) {
    if (o.format < 0 || o.format > 4)
      throw TraceError("formats of scaled MFMA are 0 to 4, not " + std::to_string(o.format), loc);
    builder::immediate("opsel of a scaled MFMA", o.opsel, 3, loc);
    return fitted(t, o.values, {i32, o.format < 2 ? 8 : o.format < 4 ? 6 : 4}, name, loc);
  };
  mlir::Value operands[] = {packed(a),
                            packed(b),
                            fitted(t, c, acc, name, loc),
                            t.ir.constant(a.format, i32, loc),
                            t.ir.constant(b.format, i32, loc),
                            t.ir.constant(a.opsel, i32, loc),
                            detail::operand(t, a.scale.handle(), loc).value,
                            t.ir.constant(b.opsel, i32, loc),
                            detail::operand(t, b.scale.handle(), loc).value};
  return result(t,
                builder::callIntrinsic(t, intrinsicName("llvm.amdgcn.mfma.scale.", name), operands,
                                       acc.in(t.context()), loc),
                acc, loc);
}

Vector wmma(const char *name, const Vector &a, const Vector &b, const Vector &c,
            const WmmaOptions &options, Loc loc) {
  Tracer &t = Tracer::require("wmma", loc);
  const Target &target = t.kernel.targetFor(name, loc);
  const fly_rocdl::MatrixInstruction *row = fly_rocdl::findWmma(name, target);
  if (!row)
    refuse("WMMA", name, target.name(), fly_rocdl::wmmaTargets(name), fly_rocdl::wmmaNames(target),
           loc);
  const fly_rocdl::WmmaRegisters made = fly_rocdl::wmmaRegisters(*row, t.context());
  mlir::Value operands[] = {fitted(t, a, made.a, name, loc), fitted(t, b, made.b, name, loc),
                            fitted(t, c, made.acc, name, loc)};
  const bool isInteger = row->a[0] == 'i';
  if (!isInteger && (options.sign_a || options.sign_b || options.clamp))
    throw TraceError(std::string(name) + " multiplies floats; sign_a, sign_b and clamp are of "
                                         "integers",
                     loc);
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes;
  if (isInteger)
    for (auto [attribute, value] :
         {std::pair("signA", options.sign_a.value_or(false)),
          std::pair("signB", options.sign_b.value_or(false)), std::pair("clamp", options.clamp)})
      attributes.push_back(t.builder().getNamedAttr(attribute, t.builder().getBoolAttr(value)));
  mlir::Value v =
      t.ir.createNamed("rocdl." + row->name, made.acc, operands, attributes, loc)->getResult(0);
  const mlir::Type element = mlir::cast<mlir::VectorType>(made.acc).getElementType();
  const DType type = row->acc == "bf16" ? bf16 : builder::dtypeOfElement(element);
  if (mlir::Type wanted = builder::elementType(type, t.context()); wanted != element)
    v = t.create<vector::BitCastOp>(
        loc, mlir::VectorType::get(mlir::cast<mlir::VectorType>(made.acc).getShape(), wanted), v);
  return Vector(t.wrap(v, type, loc));
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
