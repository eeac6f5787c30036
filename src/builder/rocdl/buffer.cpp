// Buffer descriptors, and the instructions that take one.
#include <flydsl/kernel/control_flow.h>
#include <flydsl/rocdl/buffer.h>
#include <flydsl/rocdl/intrinsics.h>

#include "builder/memory/address.h"
#include "builder/memory/atomic_names.h"
#include "builder/rocdl/cache.h"
#include "builder/rocdl/intrinsic.h"
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"
#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "target/processors.h"

#include "mlir/Dialect/LLVMIR/ROCDLDialect.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;
using detail::BinaryOp;
using detail::Handle;
namespace fly = mlir::fly;
namespace fly_rocdl = mlir::fly_rocdl;
namespace ROCDL = mlir::ROCDL;

namespace rocdl {

/// The most bytes that a descriptor's bound and an instruction's offset reach: both have 32 bits.
static constexpr std::int64_t kReach = 0xffffffff;

/// Word 3 of a raw buffer's descriptor: 32-bit elements, and on RDNA the bounds check that counts
/// bytes.
static int descriptorFlags(const Target &target) {
  int flags = (7 << 12) | (4 << 15);
  if (!detail::isCdna(target.family()))
    flags |= (1 << 24) | (2 << 28);
  return flags;
}

static Handle number(std::int64_t n, Loc loc) {
  return detail::constant(detail::hostNumber(n), i64, loc);
}

/// Whether a descriptor's bound has more bits than an offset: 45 on gfx1250 (LLVM, make.buffer.rsrc).
static bool isBoundWide(const Target &target) { return target.family() == Family::gfx1250; }

static mlir::Value boundOf(Tracer &t, const BufferOptions &options, Loc loc) {
  if (!options.num_records_bytes)
    return t.ir.constant(kReach, i64, loc);
  const Handle &bytes = options.num_records_bytes->handle();
  if (auto *known = detail::hostAs<detail::HostNumber>(bytes);
      known && (known->integer < 0 || known->integer > kReach))
    throw TraceError(
        "a buffer of " + std::to_string(known->integer) + " bytes; its bound has 32 bits", loc);
  // The minimum of 64 bits would be a vector instruction there, and the descriptor in vector registers.
  if (isBoundWide(t.kernel.targetFor("a buffer", loc)))
    return t.use(detail::convert(bytes, i64, loc), loc);
  // A bound past 32 bits must not wrap to a small one.
  return t.use(detail::binary(BinaryOp::min, detail::convert(bytes, u64, loc),
                              detail::convert(number(kReach, loc), u64, loc), loc),
               loc);
}

Pointer make_buffer_ptr(const Pointer &pointer, const BufferOptions &options, Loc loc) {
  Tracer &t = Tracer::require("make_buffer_ptr", loc);
  auto type = mlir::dyn_cast<fly::PointerType>(detail::tracedType(pointer.handle(), loc));
  if (!type || !type.isIn(fly::AddressSpace::Global))
    throw TraceError("a buffer is made of a pointer to global memory, not of " + pointer.str(),
                     loc);
  auto result = fly::PointerType::get(
      type.getElemTy(), fly_rocdl::BufferDescAddressAttr::get(t.context()), type.getAlignment());
  mlir::Value base = t.use(pointer.handle(), loc), stride = t.ir.constant(0, i16, loc);
  mlir::Value bound = boundOf(t, options, loc);
  mlir::Value flags = t.ir.constant(descriptorFlags(t.kernel.targetFor("a buffer", loc)), i32, loc);
  mlir::Value v = t.create<fly::MakePtrOp>(
      loc, result, mlir::ValueRange{base, stride, bound, flags}, mlir::DictionaryAttr());
  return Pointer(t.wrap(v, pointer.dtype(loc), loc));
}

static Handle bytesOf(const Tensor &tensor, Loc loc) {
  Handle elements = detail::scalarOfTuple(cosize(tensor, loc).handle(), loc);
  const int width = tensor.dtype(loc).memory_bits();
  auto times = [&](BinaryOp op, const Handle &a, std::int64_t b) {
    return detail::binary(op, a, number(b, loc), loc);
  };
  if (width % 8 == 0)
    return times(BinaryOp::mul, elements, width / 8);
  return times(BinaryOp::div, times(BinaryOp::add, times(BinaryOp::mul, elements, width), 7), 8);
}

[[noreturn]] static void refuseLarge(const Tensor &tensor, const std::string &size, Loc loc) {
  throw TraceError("make_buffer_tensor of " + tensor.str() + ", which spans " + size +
                       ": a buffer's offsets have 32 bits and reach 4 GiB; take the block's tile "
                       "first and make the buffer of that, or use plain copies",
                   loc);
}

/// A tensor of 4 GiB and more is refused where that is known; a part of such a tensor is measured
/// when the kernel runs, which stops where the part is too large.
static void expectReachable(Tracer &t, const Tensor &tensor, Loc loc) {
  if (auto *traced = tensor.handle().node()->traced(); traced && traced->isLarge)
    refuseLarge(tensor, "4 GiB or more", loc);
  detail::HostValue view = detail::hostView(cosize(tensor, loc).handle(), loc);
  if (auto *known = std::get_if<layout::IntTuple>(&view); known && known->leaf().isStatic()) {
    const std::int64_t elements = known->leaf().value();
    if (elements / 8 > kReach / std::max(tensor.dtype(loc).memory_bits(), 1))
      refuseLarge(tensor, std::to_string(elements) + " elements", loc);
    return;
  }
  if (!t.kernel.hasLargeTensor)
    return;
  Handle tooLarge = detail::binary(BinaryOp::gt, bytesOf(tensor, loc), number(kReach, loc), loc);
  if_(Boolean(tooLarge), [&] { impl::intrinsic("llvm.trap", {}, {}, loc); }, loc);
}

Tensor make_buffer_tensor(const Tensor &tensor, const BufferOptions &options, Loc loc) {
  expectReachable(Tracer::require("make_buffer_tensor", loc), tensor, loc);
  BufferOptions within{options.num_records_bytes, options.max_size};
  if (!options.num_records_bytes && !options.max_size)
    within.num_records_bytes.emplace(Numeric(bytesOf(tensor, loc)), loc);
  Pointer pointer = make_buffer_ptr(tensor.iter(loc), within, loc);
  Handle layout = detail::algebra(detail::AlgebraOp::get_layout, {&tensor.handle()}, loc);
  return Tensor(detail::algebra(detail::AlgebraOp::make_view, {&pointer.handle(), &layout}, loc));
}

//===-- Raw instructions --------------------------------------------------===//

static mlir::Value resourceOf(Tracer &t, const Pointer &buffer, Loc loc) {
  auto type = mlir::dyn_cast<fly::PointerType>(detail::tracedType(buffer.handle(), loc));
  if (!type || !type.getSpace().isDescriptor())
    throw TraceError("a buffer instruction takes the pointer of make_buffer_ptr or of a buffer "
                     "tensor, not " +
                         buffer.str(),
                     loc);
  return t.emit<fly_rocdl::GetBufferRsrcOp>(loc, t.use(buffer.handle(), loc));
}

Vector buffer_descriptor(const Pointer &buffer, Loc loc) {
  Tracer &t = Tracer::require("buffer_descriptor", loc);
  mlir::Value whole = t.create<mlir::LLVM::PtrToIntOp>(loc, t.builder().getIntegerType(128),
                                                       resourceOf(t, buffer, loc));
  mlir::Type words = mlir::VectorType::get(4, t.builder().getI32Type());
  return Vector(t.wrap(t.create<mlir::LLVM::BitcastOp>(loc, words, whole), i32, loc));
}

static mlir::Value offsetOf(Tracer &t, const Numeric &bytes, Loc loc) {
  if (bytes.dtype(loc).bits() > 32)
    throw TraceError("a buffer's offset has 32 bits, not " + std::string(bytes.dtype(loc).name()),
                     loc);
  return detail::operand(t, bytes.handle(), i32, loc).value;
}

/// What the instruction moves: narrow floats as the bits that they are.
static DType movedType(DType type, Loc loc) {
  if (!type.is_float() || type.bits() >= 16)
    return type;
  if (type.bits() != 8)
    throw TraceError("a buffer instruction moves whole bytes, not " + std::string(type.name()) +
                         "; move them as u8 and split them",
                     loc);
  return i8;
}

/// LLVM takes the process down over a vector of one element.
static void expectSeveral(const char *what, std::int64_t elements, Loc loc) {
  if (elements < 2)
    throw TraceError(std::string(what) + " of a vector of " + std::to_string(elements) +
                         " element" + (elements == 1 ? "" : "s") +
                         "; a vector has at least 2, and one element is a scalar (" + what +
                         " without a size, or of a Numeric)",
                     loc);
}

/// The instructions have forms of a byte, two, and 1 to 4 words ("Vector Memory Buffer
/// Instructions" in the ISA documents of CDNA and RDNA).
static void expectWidth(const char *what, DType type, std::int64_t elements, Loc loc) {
  const std::int64_t bits = type.memory_bits() * elements;
  if (bits != 8 && bits != 16 && (bits % 32 || bits > 128))
    throw TraceError(std::string(what) + " of " +
                         (elements > 1 ? std::to_string(elements) + " x " : std::string()) +
                         std::string(type.name()) + ", " + std::to_string(bits) +
                         " bits together; an instruction moves 8, 16, 32, 64, 96 or 128",
                     loc);
}

static llvm::SmallVector<mlir::Value, 4>
places(Tracer &t, const Pointer &buffer, const Numeric &offset, const RawBuffer &options, Loc loc) {
  builder::expectCacheBits(&t, options.aux, loc);
  return {resourceOf(t, buffer, loc), offsetOf(t, offset, loc),
          options.soffset ? offsetOf(t, *options.soffset, loc) : t.ir.constant(0, i32, loc),
          t.ir.constant(options.aux, i32, loc)};
}

namespace impl {
Handle rawLoad(const Pointer &buffer, const Numeric &offset, ResultType result,
               const RawBuffer &options, Loc loc) {
  Tracer &t = Tracer::require("raw_buffer_load", loc);
  ResultType moved = result;
  moved.type = movedType(result.type, loc);
  if (result.size)
    expectSeveral("raw_buffer_load", *result.size, loc);
  expectWidth("raw_buffer_load", result.type, result.size.value_or(1), loc);
  mlir::Value v =
      t.create<ROCDL::RawPtrBufferLoadOp>(loc, mlir::TypeRange(builder::typeOf(t, moved, loc)),
                                          places(t, buffer, offset, options, loc));
  return detail::bitcast(t.wrap(v, moved.type, loc), result.type, loc);
}

void rawStore(const Handle &value, const Pointer &buffer, const Numeric &offset,
              const RawBuffer &options, Loc loc) {
  Tracer &t = Tracer::require("raw_buffer_store", loc);
  DType type = detail::dtypeOf(value, loc);
  Handle moved = detail::bitcast(value, movedType(type, loc), loc);
  llvm::SmallVector<mlir::Value, 5> operands{detail::operand(t, moved, loc).value};
  auto vector = mlir::dyn_cast<mlir::VectorType>(operands.front().getType());
  if (vector)
    expectSeveral("raw_buffer_store", vector.getNumElements(), loc);
  expectWidth("raw_buffer_store", type, vector ? vector.getNumElements() : 1, loc);
  llvm::append_range(operands, places(t, buffer, offset, options, loc));
  t.create<ROCDL::RawPtrBufferStoreOp>(loc, mlir::TypeRange(), operands);
}
} // namespace impl

/// What LLVM's buffer atomics are called behind their common name; null for what there is not.
static const char *intrinsicSuffix(AtomicOp op, DType type) {
  const bool isFloat = type.is_float(), isSigned = type.is_signed();
  auto ofIntegers = [&](const char *suffix) { return isFloat ? nullptr : suffix; };
  switch (op) {
  case AtomicOp::add:
    return isFloat ? "fadd" : "add";
  case AtomicOp::max:
    return isFloat ? "fmax" : isSigned ? "smax" : "umax";
  case AtomicOp::min:
    return isFloat ? "fmin" : isSigned ? "smin" : "umin";
  case AtomicOp::and_:
    return ofIntegers("and");
  case AtomicOp::or_:
    return ofIntegers("or");
  case AtomicOp::inc:
    return ofIntegers("inc");
  case AtomicOp::dec:
    return ofIntegers("dec");
  case AtomicOp::xor_:
    return ofIntegers("xor");
  case AtomicOp::exchange:
    return ofIntegers("swap");
  }
  llvm_unreachable("an atomic operation");
}

Numeric raw_buffer_atomic(AtomicOp op, const Numeric &value, const Pointer &buffer,
                          const Numeric &offset, const RawBuffer &options, Loc loc) {
  Tracer &t = Tracer::require("raw_buffer_atomic", loc);
  const DType type = value.dtype(loc);
  const char *name = intrinsicSuffix(op, type);
  if (type.bits() != 32 && type.bits() != 64)
    throw TraceError("raw_buffer_atomic of " + std::string(type.name()) +
                         "; it works on 32 and 64 bits, and fx::atomic adds pairs of 16 bits",
                     loc);
  if (!name)
    throw TraceError("there is no raw_buffer_atomic " + std::string(builder::atomicUserName(op)) +
                         " of " + std::string(type.name()) +
                         ": floats add and take minimum and maximum, integers do all",
                     loc);
  llvm::SmallVector<mlir::Value, 5> operands{detail::operand(t, value.handle(), loc).value};
  llvm::append_range(operands, places(t, buffer, offset, options, loc));
  mlir::Value old =
      builder::callIntrinsic(t, std::string("llvm.amdgcn.raw.ptr.buffer.atomic.") + name, operands,
                             operands.front().getType(), loc);
  return Numeric(t.wrap(old, type, loc));
}

void raw_buffer_load_lds(const Pointer &buffer, const Pointer &lds, int bytes,
                         const Numeric &offset, const RawBuffer &options, Loc loc) {
  Tracer &t = Tracer::require("raw_buffer_load_lds", loc);
  const Target &target = t.kernel.targetWith(Feature::buffer_to_lds, "raw_buffer_load_lds", loc);
  const bool wide = target.has(Feature::buffer_to_lds_wide);
  if (bytes != 1 && bytes != 2 && bytes != 4 && !(wide && (bytes == 12 || bytes == 16)))
    throw TraceError("raw_buffer_load_lds of " + std::to_string(bytes) + " bytes on " +
                         target.name() + "; it moves 1, 2 or 4" +
                         (wide ? ", 12 or 16"
                               : "; " + detail::processorsWith(Feature::buffer_to_lds_wide) +
                                     " moves 12 and 16 too"),
                     loc);
  auto type = mlir::dyn_cast<fly::PointerType>(detail::tracedType(lds.handle(), loc));
  if (!type || !type.isIn(fly::AddressSpace::Shared))
    throw TraceError("raw_buffer_load_lds writes shared memory, not " + lds.str(), loc);
  mlir::Value to = builder::llvmPointer(t, lds.handle(), type, loc);
  llvm::SmallVector<mlir::Value, 4> at = places(t, buffer, offset, options, loc);
  mlir::Value size = t.ir.constant(bytes, i32, loc), none = t.ir.constant(0, i32, loc);
  t.create<ROCDL::RawPtrBufferLoadLdsOp>(
      loc, mlir::TypeRange(), mlir::ValueRange{at[0], to, size, at[1], at[2], none, at[3]});
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
