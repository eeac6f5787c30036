// Raw matrix instructions: what each takes, and where it is.
#include <flydsl/rocdl_intrinsics.h>

#include "builder/intrinsic.h"
#include "builder/operand.h"
#include "builder/types.h"

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;

namespace rocdl {
namespace {

/// Processors that have an instruction.
enum : unsigned { gfx90a = 1, gfx942 = 2, gfx950 = 4, gfx11 = 8, gfx12 = 16, gfx1250 = 32 };
constexpr unsigned cdna = gfx90a | gfx942 | gfx950, cdna3 = gfx942 | gfx950;
constexpr std::pair<unsigned, const char *> processors[] = {
    {gfx90a, "gfx90a"}, {gfx942, "gfx942"}, {gfx950, "gfx950"},
    {gfx11, "gfx11"},   {gfx12, "gfx120"},  {gfx1250, "gfx1250"}};

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
  bool isInteger = false; ///< of WMMA: takes signs
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

// gfx11 gives each half of a wave all of A and B; gfx12 does not. A fragment of gfx11 is twice as
// long.
constexpr Instruction wmmas[] = {
    {"f32_16x16x16_f16", gfx11, {f16, 16}, {f32, 8}},
    {"f32_16x16x16_f16", gfx12, {f16, 8}, {f32, 8}},
    {"f32_16x16x16_bf16", gfx11, {i16, 16}, {f32, 8}},
    {"f32_16x16x16_bf16", gfx12, {i16, 8}, {f32, 8}},
    {"i32_16x16x16_iu8", gfx11, {i32, 4}, {i32, 8}, true},
    {"i32_16x16x16_iu8", gfx12, {i32, 2}, {i32, 8}, true},
    {"i32_16x16x16_iu4", gfx11, {i32, 2}, {i32, 8}, true},
    {"i32_16x16x16_iu4", gfx12, {i32, 0}, {i32, 8}, true},
    {"i32_16x16x32_iu4", gfx12, {i32, 2}, {i32, 8}, true},
    {"f32_16x16x16_fp8_fp8", gfx12, {i32, 2}, {f32, 8}},
    {"f32_16x16x16_fp8_bf8", gfx12, {i32, 2}, {f32, 8}},
    {"f32_16x16x16_bf8_fp8", gfx12, {i32, 2}, {f32, 8}},
    {"f32_16x16x16_bf8_bf8", gfx12, {i32, 2}, {f32, 8}},
    {"f32_16x16x64_fp8_fp8", gfx1250, {i32, 8}, {f32, 8}},
    {"f32_16x16x128_fp8_fp8", gfx1250, {i32, 16}, {f32, 8}},
};

unsigned processorOf(llvm::StringRef target) {
  for (auto [bit, name] : processors)
    if (target.starts_with(name) && !(bit == gfx12 && target.starts_with("gfx1250")))
      return bit;
  return 0;
}

template <std::size_t N>
const Instruction &find(const Instruction (&table)[N], const char *family, const char *name,
                        Tracer &t, Loc loc) {
  const std::string target = t.target(name, loc).name();
  const unsigned here = processorOf(target);
  std::string offered, others;
  for (const Instruction &i : table) {
    const bool isNamed = std::string_view(i.name) == name;
    if (isNamed && (i.where & here))
      return i;
    if (i.where & here)
      offered += (offered.empty() ? "" : ", ") + std::string(i.name);
    if (isNamed)
      for (auto [bit, processor] : processors)
        if (i.where & bit)
          others += (others.empty() ? "" : ", ") + std::string(processor);
  }
  throw TraceError("there is no " + std::string(family) + " " + name + " on " + target +
                       (others.empty() ? "" : "; " + others + " have it") + "; " + target +
                       (offered.empty() ? " has none" : " has " + offered),
                   loc);
}

mlir::Value fitted(Tracer &t, const Vector &value, const Operand &operand, const char *name,
                   Loc loc) {
  mlir::Value v = t.use(value.handle(), loc);
  if (value.size(loc) * value.dtype(loc).bits() != operand.bits())
    throw TraceError(std::string(name) + " takes " + builder::typeText(operand.in(t.context())) +
                         " or as many bits of another type, not " + builder::typeText(v.getType()),
                     loc);
  const auto whole = mlir::VectorType::get(std::max(operand.size, 1),
                                           builder::elementType(operand.type, t.context()));
  if (v.getType() != whole)
    v = t.emit("vector.bitcast", v, loc, {}, whole);
  if (operand.size)
    return v;
  return t.emit("vector.extract", v, loc,
                {t.named("static_position", t.builder().getDenseI64ArrayAttr(0))},
                whole.getElementType());
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
    v = t.emit("vector.broadcast", v, loc, {}, mlir::VectorType::get(1, v.getType()));
  return Vector(t.wrap(v, acc.type, loc));
}

} // namespace

Vector mfma(const char *name, const Vector &a, const Vector &b, const Vector &c,
            const MfmaModifiers &m, Loc loc) {
  Tracer &t = Tracer::require("mfma", loc);
  const Instruction &i = find(mfmas, "MFMA", name, t, loc);
  mlir::Value operands[] = {fitted(t, a, i.ab, name, loc),  fitted(t, b, i.ab, name, loc),
                            fitted(t, c, i.acc, name, loc), t.constant(m.cbsz, i32, loc),
                            t.constant(m.abid, i32, loc),   t.constant(m.blgp, i32, loc)};
  return result(t,
                builder::callIntrinsic(t, intrinsicName("llvm.amdgcn.mfma.", name), operands,
                                       i.acc.in(t.context()), loc),
                i.acc, loc);
}

Vector mfma_scale(const char *name, const ScaledOperand &a, const ScaledOperand &b, const Vector &c,
                  Loc loc) {
  Tracer &t = Tracer::require("mfma_scale", loc);
  t.targetWith(Feature::mfma_scale, "scaled MFMA", loc);
  const std::string_view text(name);
  if (text != "f32_16x16x128_f8f6f4" && text != "f32_32x32x64_f8f6f4")
    throw TraceError("there is no scaled MFMA " + std::string(name) +
                         "; there are f32_16x16x128_f8f6f4 and f32_32x32x64_f8f6f4",
                     loc);
  const Operand acc{f32, text.starts_with("f32_16") ? 4 : 16};
  auto packed = [&](const ScaledOperand &o) {
    if (o.format < 0 || o.format > 4)
      throw TraceError("formats of scaled MFMA are 0 to 4, not " + std::to_string(o.format), loc);
    return fitted(t, o.values, {i32, o.format < 2 ? 8 : o.format < 4 ? 6 : 4}, name, loc);
  };
  mlir::Value operands[] = {packed(a),
                            packed(b),
                            fitted(t, c, acc, name, loc),
                            t.constant(a.format, i32, loc),
                            t.constant(b.format, i32, loc),
                            t.constant(a.opsel, i32, loc),
                            detail::operand(t, a.scale.handle(), loc).value,
                            t.constant(b.opsel, i32, loc),
                            detail::operand(t, b.scale.handle(), loc).value};
  return result(t,
                builder::callIntrinsic(t, intrinsicName("llvm.amdgcn.mfma.scale.", name), operands,
                                       acc.in(t.context()), loc),
                acc, loc);
}

Vector wmma(const char *name, const Vector &a, const Vector &b, const Vector &c,
            const WmmaOptions &options, Loc loc) {
  Tracer &t = Tracer::require("wmma", loc);
  const Instruction &i = find(wmmas, "WMMA", name, t, loc);
  llvm::SmallVector<mlir::Value, 6> operands;
  auto flag = [&](bool value) {
    return t.constant(mlir::cast<mlir::TypedAttr>(mlir::Attribute(t.builder().getBoolAttr(value))),
                      loc);
  };
  mlir::Value x = fitted(t, a, i.ab, name, loc), y = fitted(t, b, i.ab, name, loc),
              z = fitted(t, c, i.acc, name, loc);
  if (i.isInteger)
    operands = {flag(options.sign_a.value_or(false)),
                x,
                flag(options.sign_b.value_or(false)),
                y,
                z,
                flag(options.clamp)};
  else if (i.where & gfx1250)
    operands = {x, y, t.constant(0, i16, loc), z, flag(false), flag(false)};
  else
    operands = {x, y, z};
  return result(t,
                builder::callIntrinsic(t, intrinsicName("llvm.amdgcn.wmma.", name), operands,
                                       i.acc.in(t.context()), loc),
                i.acc, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
