// Events of a kernel's timeline. Without the hint or the variable, nothing is emitted; what is
// wrong is refused all the same.
#include <flydsl/kernel/ktrace.h>

#include "builder/trace/tracer.h"
#include "builder/trace/view.h"
#include "dialect/FlyKtrace/IR/FlyKtraceDialect.h"
#include "support/ktrace_record.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

FLYDSL_NAMESPACE_BEGIN
namespace ktrace {

using builder::Tracer;
using detail::Handle;

namespace {

namespace record = support::ktrace;

/// A payload as 64 bits, and what they are.
struct Bits {
  mlir::Value value; ///< null: there is none
  std::string_view type = record::kPayloadTypeNames[0];
};

std::string_view nameOf(record::PayloadType type) {
  return record::kPayloadTypeNames[static_cast<std::size_t>(type)];
}

/// Whether the number can be a payload; a TraceError where not.
void expectPayload(Tracer &t, const Handle &payload, Loc loc) {
  if (!payload)
    return;
  const DType type = detail::dtypeOf(payload, loc);
  if (type.bits() > 64 || !(type == boolean || type.is_integer() || type.is_float()))
    throw TraceError(
        "ktrace: a payload is a number of at most 64 bits, not " + std::string(type.name()), loc);
}

Bits bitsOf(Tracer &t, const Handle &payload, Loc loc) {
  if (!payload)
    return {};
  const DType type = detail::dtypeOf(payload, loc);
  // A number of the host takes the type that it has there.
  mlir::Value value = t.use(detail::expectScalar(payload, type, loc), loc);
  mlir::OpBuilder &b = t.ir.builder();
  mlir::Type wide = b.getI64Type();
  auto bits = [&](mlir::Type as) { return t.create<mlir::arith::BitcastOp>(loc, as, value); };
  if (type.is_float()) {
    if (type.bits() < 32)
      value = t.create<mlir::arith::ExtFOp>(loc, b.getF32Type(), value);
    if (type.bits() == 64)
      return {bits(wide), nameOf(record::PayloadType::float64)};
    value = bits(b.getI32Type());
    return {t.create<mlir::arith::ExtUIOp>(loc, wide, value), nameOf(record::PayloadType::float32)};
  }
  const bool isTruth = type == boolean, isSigned = type.is_signed() && !isTruth;
  if (type.bits() < 64)
    value = isSigned ? mlir::Value(t.create<mlir::arith::ExtSIOp>(loc, wide, value))
                     : mlir::Value(t.create<mlir::arith::ExtUIOp>(loc, wide, value));
  return {value, nameOf(isTruth    ? record::PayloadType::boolean
                        : isSigned ? record::PayloadType::int64
                                   : record::PayloadType::uint64)};
}

/// The tracer, after the checks that do not depend on whether events are recorded.
Tracer &begin(const char *what, const Name &name, const Handle &payload) {
  Tracer &t = Tracer::require(what, name.loc);
  if (name.text.empty() || name.text.find('\0') != std::string_view::npos)
    throw TraceError(std::string(what) + ": an event has a name", name.loc);
  expectPayload(t, payload, name.loc);
  return t;
}

/// Emits an event's operation, and counts it.
template <class Op, class... Args> Op event(Tracer &t, Loc loc, Args &&...args) {
  ++t.eventCount;
  return t.create<Op>(loc, std::forward<Args>(args)...);
}

mlir::StringAttr text(Tracer &t, std::string_view s) {
  return t.ir.string(llvm::StringRef(s.data(), s.size()));
}

} // namespace

bool enabled(Loc loc) { return Tracer::require("ktrace::enabled", loc).kernel.recordsEvents; }

namespace impl {

void mark(const Name &name, const Handle &payload) {
  Tracer &t = begin("ktrace::mark", name, payload);
  if (!t.kernel.recordsEvents)
    return;
  const Bits bits = bitsOf(t, payload, name.loc);
  event<mlir::fly_ktrace::MarkOp>(t, name.loc, text(t, name.text), bits.value, text(t, bits.type));
}

void push(const Name &name, const Handle &payload) {
  Tracer &t = begin("ktrace::range_push", name, payload);
  t.openRanges.push_back({std::string(name.text), name.loc, t.builder().getInsertionBlock()});
  if (!t.kernel.recordsEvents)
    return;
  const Bits bits = bitsOf(t, payload, name.loc);
  event<mlir::fly_ktrace::RangePushOp>(t, name.loc, text(t, name.text), bits.value,
                                       text(t, bits.type));
}

RangeToken start(const Name &name, const Handle &payload) {
  Tracer &t = begin("ktrace::range_start", name, payload);
  if (!t.kernel.recordsEvents)
    return RangeToken(std::string(name.text), {});
  const Bits bits = bitsOf(t, payload, name.loc);
  mlir::Type token = mlir::fly_ktrace::TokenType::get(t.ir.context());
  mlir::Value value = t.create<mlir::fly_ktrace::RangeStartOp>(name.loc, token, text(t, name.text),
                                                               bits.value, text(t, bits.type));
  return RangeToken(std::string(name.text), t.values.wrap(value, DType(), name.loc));
}

void stop(const RangeToken &token, const Handle &payload, Loc loc) {
  Tracer &t = Tracer::require("ktrace::range_stop", loc);
  expectPayload(t, payload, loc);
  if (!t.kernel.recordsEvents)
    return;
  mlir::Value open = t.use(token.handle(), loc);
  const Bits bits = bitsOf(t, payload, loc);
  event<mlir::fly_ktrace::RangeStopOp>(t, loc, open, text(t, token.name()), bits.value,
                                       text(t, bits.type));
}

} // namespace impl

void range_pop(Loc loc) {
  Tracer &t = Tracer::require("ktrace::range_pop", loc);
  if (t.openRanges.empty())
    throw TraceError("ktrace::range_pop: no range is open; each range_pop ends one range_push",
                     loc);
  if (const Tracer::OpenRange &open = t.openRanges.back();
      open.block != t.builder().getInsertionBlock())
    throw TraceError("ktrace::range_pop: the range \"" + open.name + "\", pushed in line " +
                         std::to_string(open.loc.line()) +
                         ", was pushed in another branch or loop; a range is popped where it was "
                         "pushed, and fx::ktrace::range_start begins one that ends elsewhere",
                     loc);
  t.openRanges.pop_back();
  if (t.kernel.recordsEvents)
    event<mlir::fly_ktrace::RangePopOp>(t, loc, mlir::Value(),
                                        text(t, record::kPayloadTypeNames[0]));
}

} // namespace ktrace
FLYDSL_NAMESPACE_END
