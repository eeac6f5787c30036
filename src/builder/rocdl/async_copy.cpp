#include <flydsl/rocdl/async_copy.h>

#include "builder/memory/address.h"
#include "builder/rocdl/intrinsic.h"
#include "builder/trace/facade.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyOps.h"

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

using builder::Tracer;
namespace fly = mlir::fly;

namespace {

/// A pointer of the memory that `space` is, as LLVM has it.
mlir::Value pointerIn(Tracer &t, const char *function, const char *memory, fly::AddressSpace space,
                      const Pointer &pointer, Loc loc) {
  auto type = mlir::dyn_cast<fly::PointerType>(detail::tracedType(pointer.handle(), loc));
  if (!type || !type.isIn(space))
    throw TraceError(std::string(function) + ": the pointer " + pointer.str() + " is not to " +
                         memory + " memory",
                     loc);
  return builder::llvmPointer(t, pointer.handle(), type, loc);
}

/// `name` is the function's, and the intrinsic's with dots for underscores.
void copy(const char *function, const std::string &intrinsic, const Pointer &global,
          const Pointer &lds, int bytes, Loc loc, const Int32 *workgroups = nullptr) {
  Tracer &t = Tracer::require(function, loc);
  t.kernel.targetWith(Feature::async_lds, function, loc);
  if (bytes != 1 && bytes != 4 && bytes != 8 && bytes != 16)
    throw TraceError(std::string(function) + " of " + std::to_string(bytes) +
                         " bytes; it copies 1, 4, 8 or 16 of each lane",
                     loc);
  const mlir::Value memory =
      pointerIn(t, function, "global", fly::AddressSpace::Global, global, loc);
  const mlir::Value place = pointerIn(t, function, "shared", fly::AddressSpace::Shared, lds, loc);
  const mlir::Value none = t.ir.constant(0, i32, loc); // no offset; no cache policy
  llvm::SmallVector<mlir::Value, 5> operands{memory, place, none, none};
  if (workgroups)
    operands.push_back(t.use(workgroups->handle(), loc));
  builder::callIntrinsic(t, "llvm.amdgcn." + intrinsic + ".b" + std::to_string(8 * bytes), operands,
                         mlir::Type(), loc);
}

} // namespace

void global_load_async_to_lds(const Pointer &global, const Pointer &lds, int bytes, Loc loc) {
  copy("global_load_async_to_lds", "global.load.async.to.lds", global, lds, bytes, loc);
}
void cluster_load_async_to_lds(const Pointer &global, const Pointer &lds, int bytes,
                               const Int32 &workgroups, Loc loc) {
  copy("cluster_load_async_to_lds", "cluster.load.async.to.lds", global, lds, bytes, loc,
       &workgroups);
}
Vector cluster_load(const Pointer &global, int count, const Int32 &workgroups, Loc loc) {
  constexpr const char *kName = "cluster_load";
  Tracer &t = Tracer::require(kName, loc);
  t.kernel.targetWith(Feature::clusters, kName, loc);
  const mlir::Value memory = pointerIn(t, kName, "global", fly::AddressSpace::Global, global, loc);
  const DType type = global.handle().node()->dtype;
  const std::int64_t bits = std::int64_t{type.memory_bits()} * count;
  if (type.bits() != type.memory_bits() || type == boolean ||
      (bits != 32 && bits != 64 && bits != 128))
    throw TraceError("cluster_load of " + std::to_string(count) + " elements of " +
                         std::string(type.name()) + "; it loads 4, 8 or 16 bytes of each lane",
                     loc);
  const std::int64_t words = bits / 32;
  const mlir::Type word = t.builder().getI32Type(),
                   all = words == 1 ? word : mlir::VectorType::get(words, word);
  const mlir::Value none = t.ir.constant(0, i32, loc); // no cache policy
  const detail::Handle loaded =
      t.wrap(builder::callIntrinsic(t, "llvm.amdgcn.cluster.load.b" + std::to_string(bits),
                                    {memory, none, t.use(workgroups.handle(), loc)}, all, loc),
             i32, loc);
  return (words == 1 ? Vector::of({Numeric(loaded)}, loc) : Vector(loaded)).bitcast(type, loc);
}
void global_store_async_from_lds(const Pointer &lds, const Pointer &global, int bytes, Loc loc) {
  copy("global_store_async_from_lds", "global.store.async.from.lds", global, lds, bytes, loc);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
