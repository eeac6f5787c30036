// Buffers, scheduling, lanes and intrinsics of AMD's GPUs.
#include <flydsl/rocdl.h>

#include "builder/tracer.h"
#include "builder/types.h"
#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/IR/BuiltinTypes.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::Handle;
namespace fly = mlir::fly;

namespace rocdl {

//===-- Buffers
//--------------------------------------------------------------------------------------===//

/// Word 3 of a raw buffer's descriptor: 32-bit elements, and on RDNA the bounds check that counts
/// bytes.
static int descriptorFlags(llvm::StringRef target) {
  int flags = (7 << 12) | (4 << 15);
  if (!target.starts_with("gfx9"))
    flags |= (1 << 24) | (2 << 28);
  return flags;
}

Pointer make_buffer_ptr(const Pointer &pointer, const BufferOptions &options, Loc loc) {
  Tracer &t = Tracer::require("make_buffer_ptr", loc);
  auto type = mlir::dyn_cast<fly::PointerType>(builder::tracedType(pointer.handle(), loc));
  if (!type || !type.isIn(fly::AddressSpace::Global))
    throw TraceError("a buffer is made of a pointer to global memory, not of " + pointer.str(),
                     loc);
  mlir::Value bytes = options.num_records_bytes ? t.use(options.num_records_bytes->handle(), loc)
                                                : t.constant(0xffffffff, i64, loc);
  auto result = fly::PointerType::get(type.getElemTy(), t.attribute("#fly_rocdl.buffer_desc"),
                                      type.getAlignment());
  mlir::Value v = t.emit("fly.make_ptr",
                         {t.use(pointer.handle(), loc), t.constant(0, i16, loc), bytes,
                          t.constant(descriptorFlags(t.target("a buffer", loc)), i32, loc)},
                         loc, {}, result);
  return Pointer(t.wrap(v, pointer.dtype(), loc));
}

Tensor make_buffer_tensor(const Tensor &tensor, const BufferOptions &options, Loc loc) {
  BufferOptions reach{options.num_records_bytes, options.max_size};
  if (!options.num_records_bytes && !options.max_size) {
    Handle elements = detail::scalarOfTuple(cosize(tensor, loc).handle(), loc);
    auto times = [&](detail::BinaryOp op, const Handle &a, std::int64_t b) {
      return detail::binary(op, a, detail::constant(detail::hostNumber(b), i64, loc), loc);
    };
    const int width = tensor.dtype().bits();
    Handle bytes;
    if (width % 8 == 0)
      bytes = times(detail::BinaryOp::mul, elements, width / 8);
    else
      bytes =
          times(detail::BinaryOp::div,
                times(detail::BinaryOp::add, times(detail::BinaryOp::mul, elements, width), 7), 8);
    reach.num_records_bytes.emplace(Numeric(bytes), loc);
  }
  Pointer pointer = make_buffer_ptr(tensor.iter(loc), reach, loc);
  Handle layout = detail::algebra("get_layout", {&tensor.handle()}, loc);
  return Tensor(detail::algebra("make_view", {&pointer.handle(), &layout}, loc));
}

//===-- Scheduling and waiting
//-----------------------------------------------------------------------===//

static void emit(const char *op, llvm::StringRef attribute, std::int64_t value, int width,
                 Loc loc) {
  Tracer &t = Tracer::require(op, loc);
  t.create(
      op, {}, loc,
      {t.named(attribute, t.builder().getIntegerAttr(t.builder().getIntegerType(width), value))},
      mlir::TypeRange());
}

void sched_barrier(int mask, Loc loc) { emit("rocdl.sched.barrier", "mask", mask, 32, loc); }

void sched_group_barrier(int mask, int size, int group, Loc loc) {
  Tracer &t = Tracer::require("sched_group_barrier", loc);
  mlir::OpBuilder &b = t.builder();
  t.create("rocdl.sched.group.barrier", {}, loc,
           {t.named("mask", b.getI32IntegerAttr(mask)), t.named("size", b.getI32IntegerAttr(size)),
            t.named("groupId", b.getI32IntegerAttr(group))},
           mlir::TypeRange());
}

void s_setprio(int priority, Loc loc) {
  if (priority < 0 || priority > 3)
    throw TraceError("a wave's priority is 0 to 3, not " + std::to_string(priority), loc);
  emit("rocdl.s.setprio", "priority", priority, 16, loc);
}
void s_sleep(int count, Loc loc) { emit("rocdl.s.sleep", "count", count, 32, loc); }
void s_barrier(Loc loc) {
  Tracer::require("s_barrier", loc).create("rocdl.s.barrier", {}, loc, {}, mlir::TypeRange());
}

static int count(const char *name, std::optional<int> value, int most, Loc loc) {
  if (value && (*value < 0 || *value > most))
    throw TraceError(std::string(name) + " is 0 to " + std::to_string(most) + " here, not " +
                         std::to_string(*value),
                     loc);
  return value.value_or(most);
}

// Bits: gfx9 vmcnt [3:0] and [15:14], expcnt [6:4], lgkmcnt [11:8]; gfx11 and gfx120x expcnt [2:0],
// lgkmcnt [9:4], vmcnt [15:10] (AMD's ISA manuals, S_WAITCNT).
void s_waitcnt(const WaitCounts &counts, Loc loc) {
  llvm::StringRef target = Tracer::require("s_waitcnt", loc).target("s_waitcnt", loc);
  int vm = count("vmcnt", counts.vmcnt, 63, loc), exp = count("expcnt", counts.expcnt, 7, loc);
  int field;
  if (target.starts_with("gfx9"))
    field = (vm & 15) | (vm & 48) << 10 | exp << 4 | count("lgkmcnt", counts.lgkmcnt, 15, loc) << 8;
  else if (target.starts_with("gfx11") ||
           (target.starts_with("gfx120") && !target.starts_with("gfx1250")))
    field = vm << 10 | count("lgkmcnt", counts.lgkmcnt, 63, loc) << 4 | exp;
  else
    throw TraceError("there is no s_waitcnt on " + target.str(), loc);
  emit("rocdl.s.waitcnt", "bitfield", field, 32, loc);
}

//===-- Lanes and arithmetic
//-------------------------------------------------------------------------===//

static mlir::Value value(Tracer &t, const Handle &handle, Loc loc) {
  return t.use(detail::hostAs<detail::HostNumber>(handle)
                   ? detail::expectScalar(handle, detail::dtypeOf(handle), loc)
                   : handle,
               loc);
}

Numeric readfirstlane(const Numeric &x, Loc loc) {
  Tracer &t = Tracer::require("readfirstlane", loc);
  mlir::Value v = value(t, x.handle(), loc);
  return Numeric(t.wrap(t.emit("rocdl.readfirstlane", v, loc, {}, v.getType()), x.dtype(), loc));
}

Numeric readlane(const Numeric &x, const Numeric::Arg &lane) {
  Loc loc = lane.loc;
  Tracer &t = Tracer::require("readlane", loc);
  mlir::Value v = value(t, x.handle(), loc);
  mlir::Value from = t.use(detail::convert(lane.handle, i32, loc), loc);
  return Numeric(t.wrap(t.emit("rocdl.readlane", {v, from}, loc, {}, v.getType()), x.dtype(), loc));
}

Numeric ballot(const Boolean &condition, Loc loc) {
  Tracer &t = Tracer::require("ballot", loc);
  DType type = t.waveSize("ballot", loc) == 64 ? i64 : i32;
  return Numeric(t.wrap(t.emit("rocdl.ballot", value(t, condition.handle(), loc), loc, {},
                               builder::elementType(type, t.context())),
                        type, loc));
}

/// An operation on 32 bits, whatever type they are.
static Numeric on32Bits(const char *what, const Numeric &x, Loc loc,
                        llvm::function_ref<Handle(const Handle &)> fn) {
  DType type = x.dtype();
  if (type.bits() != 32)
    throw TraceError(std::string(what) + " takes 32 bits, not " + std::string(type.name()), loc);
  return Numeric(detail::bitcast(fn(detail::bitcast(x.handle(), i32, loc)), type, loc));
}

Numeric ds_bpermute(const Numeric &byte_index, const Numeric &x, Loc loc) {
  Tracer &t = Tracer::require("ds_bpermute", loc);
  return on32Bits("ds_bpermute", x, loc, [&](const Handle &bits) {
    return t.wrap(t.emit("rocdl.ds_bpermute",
                         {value(t, byte_index.handle(), loc), t.use(bits, loc)}, loc, {},
                         t.builder().getI32Type()),
                  i32, loc);
  });
}

Numeric update_dpp(const Numeric &old, const Numeric &x, int control, int row_mask, int bank_mask,
                   bool bound_control, Loc loc) {
  Tracer &t = Tracer::require("update_dpp", loc);
  if (old.dtype() != x.dtype())
    throw TraceError("update_dpp: " + std::string(old.dtype().name()) + " and " +
                         std::string(x.dtype().name()),
                     loc);
  mlir::OpBuilder &b = t.builder();
  mlir::Value v = value(t, x.handle(), loc);
  return Numeric(t.wrap(t.emit("rocdl.update.dpp", {value(t, old.handle(), loc), v}, loc,
                               {t.named("dppCtrl", b.getI32IntegerAttr(control)),
                                t.named("rowMask", b.getI32IntegerAttr(row_mask)),
                                t.named("bankMask", b.getI32IntegerAttr(bank_mask)),
                                t.named("boundCtrl", b.getBoolAttr(bound_control))},
                               v.getType()),
                        x.dtype(), loc));
}

static Numeric approximation(const char *intrinsicName, const Numeric &x, Loc loc) {
  if (!x.dtype().is_float())
    throw TraceError(
        std::string(intrinsicName) + " takes a float, not " + std::string(x.dtype().name()), loc);
  return Numeric(impl::intrinsic(intrinsicName, {x.dtype()}, {x}, loc));
}
Numeric rcp(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.rcp", x, loc); }
Numeric rsq(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.rsq", x, loc); }
Numeric exp2(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.exp2", x, loc); }
Numeric log2(const Numeric &x, Loc loc) { return approximation("llvm.amdgcn.log", x, loc); }

Int32 cvt_pk_fp8_f32(const Float32 &a, const Float32 &b, const Int32 &old, bool high, Loc loc) {
  return Int32(impl::intrinsic("llvm.amdgcn.cvt.pk.fp8.f32", {i32}, {a, b, old, high}, loc));
}
Vector cvt_pk_f32_fp8(const Int32 &x, bool high, Loc loc) {
  return Vector(impl::intrinsic("llvm.amdgcn.cvt.pk.f32.fp8", {f32, 2}, {x, high}, loc));
}

//===-- Anything else
//--------------------------------------------------------------------------------===//

namespace impl {

static mlir::Type typeOf(Tracer &t, ResultType result) {
  mlir::Type element = builder::elementType(result.type, t.context());
  return result.size ? mlir::VectorType::get(result.size, element) : element;
}

static Handle call(Tracer &t, const char *op, ResultType result,
                   std::initializer_list<IntrinsicArg> arguments,
                   llvm::SmallVector<mlir::NamedAttribute, 4> attributes, Loc loc) {
  llvm::SmallVector<mlir::Value, 8> operands;
  for (const IntrinsicArg &a : arguments)
    operands.push_back(value(t, a.handle, loc));
  if (!result.type) {
    t.create(op, operands, loc, attributes, mlir::TypeRange());
    return {};
  }
  return t.wrap(t.emit(op, operands, loc, attributes, typeOf(t, result)), result.type, loc);
}

Handle intrinsic(const char *name, ResultType result, std::initializer_list<IntrinsicArg> arguments,
                 Loc loc) {
  Tracer &t = Tracer::require(name, loc);
  mlir::OpBuilder &b = t.builder();
  return call(t, "llvm.call_intrinsic", result, arguments,
              {t.named("intrin", t.string(name)),
               t.named("op_bundle_sizes", b.getDenseI32ArrayAttr({})),
               t.named("operandSegmentSizes",
                       b.getDenseI32ArrayAttr({static_cast<int>(arguments.size()), 0}))},
              loc);
}

Handle inlineAsm(const char *text, const char *constraints, ResultType result,
                 std::initializer_list<IntrinsicArg> arguments, bool side_effects, Loc loc) {
  Tracer &t = Tracer::require("inline_asm", loc);
  llvm::SmallVector<mlir::NamedAttribute, 4> attributes{
      t.named("asm_string", t.string(text)), t.named("constraints", t.string(constraints))};
  if (side_effects)
    attributes.push_back(t.named("has_side_effects", t.builder().getUnitAttr()));
  return call(t, "llvm.inline_asm", result, arguments, attributes, loc);
}

} // namespace impl
} // namespace rocdl
FLYDSL_NAMESPACE_END
