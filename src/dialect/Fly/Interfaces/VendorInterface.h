// What tracing and compiling ask of the dialects of a vendor, which they do not know by name.
#pragma once

#include <flydsl/target.h>

#include "mlir/IR/Attributes.h"
#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/Types.h"

#include <cstdint>
#include <string>

namespace mlir::fly {

/// Which threads have the same result of an operation of a vendor's.
enum class VendorResult : std::uint8_t {
  of_operands, ///< those whose operands are the same, if it is pure
  lane_number, ///< no two of a wave: each lane has its own number
  wave_number, ///< those of a wave: it is the wave's number in its block
  first_lane,  ///< those of a wave: it is what the first of its lanes has
  of_wave,     ///< those of a wave: it is made of what its lanes have
  of_block,    ///< those of a block
  memory,      ///< not known: it comes from memory
};

/// What an operation of a vendor's does for the lane that executes it. An operation whose dialect
/// says nothing of it does none of this.
struct VendorOperation {
  bool isOfOneLane = false; ///< a lane does it by itself, whatever the other lanes do
  bool onlyReads = false;   ///< it writes no memory
  VendorResult result = VendorResult::of_operands;
};

/// A dialect with instructions of a vendor's implements this; another one may have it added, as
/// MLIR's dialects have.
class VendorInterface : public DialectInterface::Base<VendorInterface> {
public:
  explicit VendorInterface(Dialect *dialect) : Base(dialect) {}

  virtual VendorOperation describe(Operation *) const { return {}; }
  /// Why the instruction of an atom of this dialect is not on a target; empty where it is there, and
  /// for types of this dialect that are no instruction. `byName`: of a module that another program
  /// wrote; an instruction counts as there if the target has one of its name.
  virtual std::string missingOn(Type, const flydsl::Target &, bool byName) const {
    static_cast<void>(byName);
    return {};
  }
  /// How a kernel gets memory in an address space of this dialect, as the end of a sentence; empty
  /// where there is nothing to say.
  virtual std::string originOf(Attribute) const { return {}; }

  /// The interface of an operation's, a type's or an attribute's dialect; null where it has none.
  template <class T> static const VendorInterface *of(T &&object) {
    Dialect *dialect = dialectOf(object);
    return dialect ? dialect->getRegisteredInterface<VendorInterface>() : nullptr;
  }

private:
  static Dialect *dialectOf(Operation *op) { return op->getDialect(); }
  static Dialect *dialectOf(Type type) { return &type.getDialect(); }
  static Dialect *dialectOf(Attribute attribute) { return &attribute.getDialect(); }
};

/// What a vendor's dialect says of the operation.
inline VendorOperation vendorOperation(Operation *op) {
  const VendorInterface *vendor = VendorInterface::of(op);
  return vendor ? vendor->describe(op) : VendorOperation();
}

} // namespace mlir::fly
