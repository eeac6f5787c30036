// An address that is added up from its terms.
#pragma once

#include "dialect/Conversion/FlyToROCDL/AddressTerms.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::fly {

/// A pointer that moves in steps of a type, by a sum.
struct AddressMove {
  Type step;
  AddressTerms by;
};

/// The bytes of a step; none for types whose size the target decides.
std::optional<int64_t> bytesOf(Type type);

/// A constant as a part that is common to accesses near by, and one that the instruction adds.
struct AddressConstant {
  int64_t common = 0, near = 0;

  /// `bits`: of the signed offset in the instruction.
  static AddressConstant of(uint64_t bytes, unsigned bits);
  /// All of it as the part that the instruction adds.
  static AddressConstant nearby(uint64_t bytes) { return {0, static_cast<int64_t>(bytes)}; }
};

/// How many loops stand around what an integer is computed from: how often it changes, whichever
/// loop its arithmetic stands in.
class Loops {
public:
  unsigned around(Value value);

private:
  llvm::DenseMap<Value, unsigned> known_;
};

/// Whether 32 bits are known to hold the sum of a lane's terms. Its low bits depend on nothing but those
/// of the terms.
bool fitsLane(ArrayRef<Value> terms);
/// Whether 32 bits without a sign hold the lane's terms in bytes because of what the kernel assumes.
/// LLVM's code generator does not know what was assumed; where they fit without that, it finds the
/// offset itself.
bool fitsByAssumptions(ArrayRef<AddressMove> moves);

/// Adds up addresses of a kernel: the terms of the wave, then those of the lane, then the constant.
/// Terms of 64 bits are added as numbers: LLVM adds each index of a pointer by itself, while a sum of
/// products is one multiply-add for each. The wave's are numbers because of pointers that differ by a
/// constant, LLVM would add the lane's offset to one and the constant to the sum, in vector registers
/// of 64 bits.
class AddressSums {
public:
  explicit AddressSums(const Uniformity &uniformity) : uniformity_(uniformity) {}
  /// The address `end` from `base`, by moves whose constants are `constant`.
  Value addUp(OpBuilder &builder, LLVM::GEPOp end, Value base, ArrayRef<AddressMove> moves,
              const AddressConstant &constant);

private:
  /// A term of a lane's sum that 32 bits do not hold, and the bytes of its step.
  struct WideTerm {
    Value value;
    int64_t bytes;
    unsigned loops; ///< around what it is computed from
    bool small;     ///< 32 bits without a sign hold its bytes, and it is no row
    size_t place;   ///< among the moves' terms
  };
  void addWide(ArrayRef<AddressMove> moves, function_ref<void(ArrayRef<WideTerm>)> add);
  static bool fitTogether(ArrayRef<WideTerm> terms);
  bool isRow(Value term) const;
  Value bytesOfTerms(OpBuilder &builder, Location loc, ArrayRef<WideTerm> terms) const;
  Value bytesOfTerm(OpBuilder &builder, Location loc, const WideTerm &term) const;

  const Uniformity &uniformity_;
  Loops loops_;
};

} // namespace mlir::fly
