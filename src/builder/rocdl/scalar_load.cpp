// Loads into scalar registers. They move words of 32 bits, which then become elements.
#include <flydsl/rocdl/scalar_load.h>

#include "builder/memory/address.h"
#include "builder/rocdl/intrinsic.h"
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "builder/values/operand.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

FLYDSL_NAMESPACE_BEGIN
namespace rocdl::impl {

using builder::Tracer;
using detail::Handle;
namespace fly = mlir::fly;
namespace LLVM = mlir::LLVM;

/// The words that a load moves: s_load and s_buffer_load have forms of 1, 2, 4, 8 and 16 dwords on
/// every target ("Scalar Memory" in the ISA documents of CDNA and RDNA).
static std::int64_t wordsOf(const char *what, ResultType result, Loc loc) {
  const std::int64_t bits = result.type.bits() * result.size.value_or(1);
  const bool whole = result.type && result.type.bits() % 8 == 0 && result.type != boolean;
  const bool fits = result.size
                        ? bits == 32 || bits == 64 || bits == 128 || bits == 256 || bits == 512
                        : bits == 32 || bits == 64;
  if (!whole || !fits)
    throw TraceError(
        std::string(what) + " of " +
            (result.size ? std::to_string(*result.size) + " x " : std::string()) +
            std::string(result.type.name()) +
            "; it moves values of 32 or 64 bits, or elements of 32, 64, 128, 256 or 512 "
            "bits together",
        loc);
  return bits / 32;
}

static mlir::Type wordsType(Tracer &t, std::int64_t words) {
  mlir::Type word = t.builder().getI32Type();
  return words == 1 ? word : mlir::VectorType::get(words, word);
}

/// Words as what the caller asked for; floats of 8 bits are integers until the end.
static Handle elementsOf(Tracer &t, mlir::Value words, ResultType result, Loc loc) {
  const DType held = result.type.is_float() && result.type.bits() == 8 ? u8 : result.type;
  ResultType wanted = result;
  wanted.type = held;
  const mlir::Type type = builder::typeOf(t, wanted, loc);
  if (type != words.getType())
    words = t.create<LLVM::BitcastOp>(loc, type, words);
  return detail::bitcast(t.wrap(words, held, loc), result.type, loc);
}

Handle scalarBufferLoad(const Pointer &buffer, const Numeric &offset, ResultType result,
                        const CacheControl &cache, Loc loc) {
  Tracer &t = Tracer::require("s_buffer_load", loc);
  const std::int64_t words = wordsOf("s_buffer_load", result, loc);
  auto type = mlir::dyn_cast<fly::PointerType>(detail::tracedType(buffer.handle(), loc));
  if (!type || !type.getSpace().isDescriptor())
    throw TraceError(
        "s_buffer_load takes the pointer of make_buffer_ptr or of a buffer tensor, not " +
            buffer.str() + "; s_load reads global memory",
        loc);
  if (auto *known = detail::hostAs<detail::HostNumber>(offset.handle());
      known && known->integer % 4)
    throw TraceError("s_buffer_load at offset " + std::to_string(known->integer) +
                         "; it reads words, at multiples of 4 bytes",
                     loc);
  if (offset.dtype(loc).bits() > 32)
    throw TraceError("a buffer's offset has 32 bits, not " + std::string(offset.dtype(loc).name()),
                     loc);
  // The intrinsic takes the descriptor as four words.
  mlir::Value resource = t.emit<mlir::fly_rocdl::GetBufferRsrcOp>(loc, t.use(buffer.handle(), loc));
  mlir::Value bits = t.create<LLVM::PtrToIntOp>(loc, t.builder().getIntegerType(128), resource);
  mlir::Value descriptor = t.create<LLVM::BitcastOp>(loc, wordsType(t, 4), bits);
  mlir::Value at = detail::operand(t, offset.handle(), i32, loc).value;
  mlir::Value policy = t.ir.constant(cache.auxiliary(loc), i32, loc);
  mlir::Value loaded = builder::callIntrinsic(t, "llvm.amdgcn.s.buffer.load",
                                              {descriptor, at, policy}, wordsType(t, words), loc);
  return elementsOf(t, loaded, result, loc);
}

Handle scalarLoad(const Pointer &pointer, ResultType result, Loc loc) {
  Tracer &t = Tracer::require("s_load", loc);
  const std::int64_t words = wordsOf("s_load", result, loc);
  auto type = mlir::dyn_cast<fly::PointerType>(detail::tracedType(pointer.handle(), loc));
  if (!type || !type.isIn(fly::AddressSpace::Global) || !type.getSwizzle().isTrivial())
    throw TraceError(
        "s_load reads global memory, not " + pointer.str() + "; s_buffer_load reads buffers", loc);
  // What nothing writes is constant memory, which scalar loads read.
  mlir::Value global = builder::llvmPointer(t, pointer.handle(), type, loc);
  constexpr unsigned kConstantMemory = 4; // "Address Spaces" in LLVM's AMDGPU guide
  mlir::Type constant = LLVM::LLVMPointerType::get(t.context(), kConstantMemory);
  mlir::Value address = t.create<LLVM::AddrSpaceCastOp>(loc, constant, global);
  constexpr unsigned kAlignment = 4;
  mlir::Value loaded = t.create<LLVM::LoadOp>(loc, wordsType(t, words), address, kAlignment,
                                              /*isVolatile=*/false, /*isNonTemporal=*/false,
                                              /*isInvariant=*/true);
  return elementsOf(t, loaded, result, loc);
}

} // namespace rocdl::impl
FLYDSL_NAMESPACE_END
