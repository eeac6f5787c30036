// Fly pointers as LLVM values: addresses, whose loads and stores are LLVM's own, and descriptors,
// which the backend of their address space lowers (DescriptorLoweringInterface).
#pragma once

#include "dialect/Fly/IR/FlyTypes.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Operation.h"

namespace mlir::fly {

/// Whether the pointer is a descriptor with an offset, not an address.
bool isDescriptor(PointerType type);

/// The element type as memory and vectors hold it.
Type storedElementType(Type elemTy);

/// Bits of an element in memory: truth values have a byte each, others lie packed.
int64_t memoryBits(Type elemTy);

/// A power of two that divides the address of every access through a pointer of this type, in
/// bytes: its alignment, no more than what a swizzle leaves of it.
int64_t accessAlignment(PointerType type);

/// x ^ ((x & mask) >> shift) on an integer; `x` itself where the swizzle is trivial.
Value swizzled(OpBuilder &builder, Location loc, const flydsl::layout::Swizzle &swizzle, Value x);

/// The address of an access: the pointer with its swizzle applied to the byte address.
Value swizzledAddress(OpBuilder &builder, Location loc, PointerType type, Value pointer);

/// The pointer `offset` elements on, which are whole bytes; `offset` is an i32 or i64.
Value offsetBy(OpBuilder &builder, Location loc, PointerType type, Value pointer, Value offset);

/// Whether `bits` bits of elements, as registers hold them, can be accessed at once: they are whole
/// bytes, and a swizzle, which moves units of 2^base bytes, does not part them. Emits an error at
/// `op` otherwise.
LogicalResult verifyAccess(Operation *op, PointerType type, int64_t bits);

/// When an access says its alignment: always, only where it is less than LLVM would assume, or
/// never, where the pointer is known to be that good.
enum class Alignment { Always, IfLess, Never };

/// A value of `type` loaded from the pointer, and stored to it. Caches need not keep what is not
/// temporal; descriptors have no such accesses.
Value emitLoad(OpBuilder &builder, Location loc, Type type, PointerType pointerTy, Value pointer,
               Alignment alignment = Alignment::Always, bool nontemporal = false);
void emitStore(OpBuilder &builder, Location loc, Value value, PointerType pointerTy, Value pointer,
               Alignment alignment = Alignment::Always, bool nontemporal = false);

/// Bits of an integer, a float, or a vector of them.
int64_t bitsOf(Type type);

/// A field of the state that a converted atom carries.
Value stateField(OpBuilder &builder, Location loc, Value atom, int64_t field);

/// An i32 constant.
Value constantI32(OpBuilder &builder, Location loc, int64_t value);

/// The type in which `bits` bits are moved where nothing else says one: an integer of at most 32
/// bits, or a vector of i32.
Type wordsType(OpBuilder &builder, int64_t bits);

/// `value` as `type` of the same size.
Value bitcastTo(OpBuilder &builder, Location loc, Value value, Type type);

} // namespace mlir::fly
