// Operations of the ROCDL dialect that later versions of MLIR have, or write in another way.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>

namespace mlir::fly_rocdl {

/// An argument of an intrinsic, and where it stands in the text of the operation.
struct IntrinsicArgument {
  enum Kind : uint8_t {
    Operand,   ///< a value, among the operands
    Literal,   ///< a number or a truth value, among the operands
    Attribute, ///< a named attribute; what is not given is 0
  };
  Kind kind;
  uint8_t bits = 0;              ///< of an immediate
  llvm::StringLiteral name = ""; ///< of an attribute
};

/// What the types after the colon are.
enum class TypesText : uint8_t {
  None,     ///< there are none, and the operands' are `types` of the row
  Operands, ///< the operands', without results
  Result,   ///< the result's, and the operands' are `types` of the row
  Function, ///< `(operands) -> result`
};

/// An operation that this version does not have, whose intrinsic is called by name.
struct LaterIntrinsic {
  llvm::StringLiteral
      name; ///< of the operation after `rocdl.`, of the intrinsic after `llvm.amdgcn.`
  llvm::ArrayRef<IntrinsicArgument> arguments;
  TypesText text;
  llvm::StringLiteral types = ""; ///< of the operands, where they are not written
};

/// The row of an operation, by its whole name (`rocdl.wave.id`). Null for operations that this
/// version knows, and for those that no version knows.
const LaterIntrinsic *findLaterIntrinsic(llvm::StringRef operation);

/// Masks of `rocdl.sched.barrier` by name as a number: `valu|ds_read`.
std::optional<unsigned> schedMasks(llvm::StringRef names);

/// The number of an immediate: a number, a truth value, the format of an operand, a permutation, a
/// modifier.
std::optional<int64_t> immediateNumber(llvm::StringRef token);

} // namespace mlir::fly_rocdl
