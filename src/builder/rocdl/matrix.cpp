// Raw matrix instructions: what each takes, and where it is.
#include <flydsl/rocdl/intrinsics.h>

#include "builder/rocdl/immediate.h"
#include "builder/rocdl/intrinsic.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"
#include "support/text.h"

#include "mlir/Dialect/Vector/IR/VectorOps.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
namespace fly_rocdl = mlir::fly_rocdl;
namespace vector = mlir::vector;
using fly_rocdl::MatrixInstruction;
using fly_rocdl::Registers;

namespace rocdl {
namespace {

/// What is said where a target has no instruction of that name: who has it, and what it has.
[[noreturn]] void refuse(const char *family, const char *name, const std::string &target,
                         const std::vector<std::string> &others,
                         const std::vector<std::string> &offered, Loc loc) {
  throw TraceError("there is no " + std::string(family) + " " + name + " on " + target +
                       (others.empty() ? "" : "; " + support::joined(others) + " have it") + "; " +
                       target +
                       (offered.empty() ? " has none" : " has " + support::joined(offered)),
                   loc);
}

/// The instruction of that name, which the traced target has. `kind` is that of messages.
const MatrixInstruction &find(const char *kind, Feature feature, const char *name, Tracer &t,
                              Loc loc) {
  const Target &target = t.kernel.targetFor(name, loc);
  if (target.has(feature))
    if (const MatrixInstruction *row = detail::findRaw(name, target))
      return *row;
  refuse(kind, name, target.name(), detail::processorsWithRaw(name, feature),
         target.has(feature) ? detail::rawNames(target) : std::vector<std::string>(), loc);
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
mlir::Value fitted(Tracer &t, const Vector &value, const Registers &registers, const char *name,
                   Loc loc) {
  return fitted(t, value, fly_rocdl::registerType(registers, t.context()), name, loc);
}

/// Calls LLVM's intrinsic. The result is the vector that C was.
Vector call(Tracer &t, const MatrixInstruction &row, mlir::ValueRange operands, Loc loc) {
  const mlir::Type type = fly_rocdl::registerType(row.registersC, t.context());
  mlir::Value v =
      builder::callIntrinsic(t, "llvm.amdgcn." + std::string(row.name), operands, type, loc);
  if (row.registersC.count == 1)
    v = t.create<vector::BroadcastOp>(loc, mlir::VectorType::get(1, type), v);
  return Vector(t.wrap(v, row.acc, loc));
}

} // namespace

Vector mfma(const char *name, const Vector &a, const Vector &b, const Vector &c,
            const MfmaModifiers &m, Loc loc) {
  Tracer &t = Tracer::require("mfma", loc);
  const MatrixInstruction &row = find("MFMA", Feature::mfma, name, t, loc);
  builder::immediate("cbsz of an MFMA", m.cbsz, 7, loc);
  builder::immediate("abid of an MFMA", m.abid, 15, loc);
  builder::immediate("blgp of an MFMA", m.blgp, 7, loc);
  mlir::Value operands[] = {
      fitted(t, a, row.registersA, name, loc), fitted(t, b, row.registersB, name, loc),
      fitted(t, c, row.registersC, name, loc), t.ir.constant(m.cbsz, i32, loc),
      t.ir.constant(m.abid, i32, loc),         t.ir.constant(m.blgp, i32, loc)};
  return call(t, row, operands, loc);
}

/// The format by the number that the instruction has for it.
static DType formatOf(const ScaledOperand &o, Loc loc) {
  if (o.format < 0 || o.format >= static_cast<int>(detail::kMxFormats.size()))
    throw TraceError("formats of scaled MFMA are 0 to 4, not " + std::to_string(o.format), loc);
  return detail::kMxFormats[static_cast<std::size_t>(o.format)];
}

Vector mfma_scale(const char *name, const ScaledOperand &a, const ScaledOperand &b, const Vector &c,
                  Loc loc) {
  Tracer &t = Tracer::require("mfma_scale", loc);
  t.kernel.targetWith(Feature::mfma_scale, "scaled MFMA", loc);
  const DType formatA = formatOf(a, loc), formatB = formatOf(b, loc);
  const MatrixInstruction *row = detail::findRawScaled(name, formatA, formatB);
  if (!row)
    throw TraceError("there is no scaled MFMA " + std::string(name) +
                         "; there are f32_16x16x128_f8f6f4 and f32_32x32x64_f8f6f4",
                     loc);
  for (const ScaledOperand *o : {&a, &b})
    builder::immediate("opsel of a scaled MFMA", o->opsel, 3, loc);
  mlir::Value operands[] = {fitted(t, a.values, row->registersA, name, loc),
                            fitted(t, b.values, row->registersB, name, loc),
                            fitted(t, c, row->registersC, name, loc),
                            t.ir.constant(a.format, i32, loc),
                            t.ir.constant(b.format, i32, loc),
                            t.ir.constant(a.opsel, i32, loc),
                            detail::operand(t, a.scale.handle(), loc).value,
                            t.ir.constant(b.opsel, i32, loc),
                            detail::operand(t, b.scale.handle(), loc).value};
  return call(t, *row, operands, loc);
}

Vector wmma(const char *name, const Vector &a, const Vector &b, const Vector &c,
            const WmmaOptions &options, Loc loc) {
  Tracer &t = Tracer::require("wmma", loc);
  const MatrixInstruction &row = find("WMMA", Feature::wmma, name, t, loc);
  mlir::Value operands[] = {fitted(t, a, row.registersA, name, loc),
                            fitted(t, b, row.registersB, name, loc),
                            fitted(t, c, row.registersC, name, loc)};
  if (!row.a.is_integer() && (options.sign_a || options.sign_b || options.clamp))
    throw TraceError(std::string(name) + " multiplies floats; sign_a, sign_b and clamp are of "
                                         "integers",
                     loc);
  llvm::SmallVector<mlir::NamedAttribute, 3> attributes;
  if (row.a.is_integer())
    for (auto [attribute, value] :
         {std::pair("signA", options.sign_a.value_or(false)),
          std::pair("signB", options.sign_b.value_or(false)), std::pair("clamp", options.clamp)})
      attributes.push_back(t.builder().getNamedAttr(attribute, t.builder().getBoolAttr(value)));
  mlir::Value v = t.ir.createNamed("rocdl." + std::string(row.name),
                                   fly_rocdl::registerType(row.registersC, t.context()), operands,
                                   attributes, loc)
                      ->getResult(0);
  if (row.registersC.element != row.acc)
    v = t.create<vector::BitCastOp>(
        loc, fly_rocdl::registerType({row.acc, row.registersC.count}, t.context()), v);
  return Vector(t.wrap(v, row.acc, loc));
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
