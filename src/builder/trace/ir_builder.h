// Operations on their way into the kernel: each by its C++ class, at the user's place, verified.
#pragma once

#include "builder/trace/diagnostics.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/OpDefinition.h"

#include "llvm/ADT/DenseMap.h"

namespace flydsl::builder {

/// The attributes of an operation, as a struct of its class.
template <class Op> using PropertiesOf = typename Op::template InferredProperties<Op>;

/// Creates the operations of one kernel.
class IrBuilder {
public:
  /// Operations go to the end of `body`, the kernel's only block so far.
  IrBuilder(mlir::MLIRContext &context, mlir::Block *body, Diagnostics &diagnostics);

  mlir::MLIRContext *context() const { return builder_.getContext(); }
  mlir::OpBuilder &builder() { return builder_; }
  mlir::StringAttr string(llvm::StringRef text) { return builder_.getStringAttr(text); }

  mlir::Location location(Loc loc);
  /// `loc`, or the place of the operation before where it is unknown.
  Loc place(Loc loc) const { return loc.line() ? loc : last_; }

  /// LLVM's fast-math flags (fx::FastMath) of the operations to come; gives those until now.
  unsigned setFastMath(unsigned flags);
  unsigned fastMath() const { return fastMath_; }

  /// Creates an operation at the insertion point; the arguments are those of a `build` of its class
  /// that can't fail. What the verifier refuses is a TraceError at `loc`.
  template <class Op, class... Args> Op create(Loc loc, Args &&...args) {
    mlir::OperationState state = begin(loc, Op::getOperationName());
    Op::build(builder_, state, std::forward<Args>(args)...);
    return mlir::cast<Op>(insertVerified(state, loc));
  }

  /// The result types that inference gives; a TraceError where it refuses. No operation is made.
  template <class Op>
  llvm::SmallVector<mlir::Type, 2> infer(Loc loc, mlir::ValueRange operands,
                                         PropertiesOf<Op> properties = {}) {
    const mlir::OperationName name(Op::getOperationName(), context());
    Op::populateDefaultProperties(name, properties);
    mlir::OpaqueProperties opaque(nullptr);
    if constexpr (Op::hasProperties())
      opaque = mlir::OpaqueProperties(&properties);
    llvm::SmallVector<mlir::Type, 2> types;
    if (mlir::failed(Op::inferReturnTypes(context(), location(loc), operands,
                                          mlir::DictionaryAttr(), opaque, {}, types)))
      failOn(Op::getOperationName(), operands, loc);
    return types;
  }
  /// Creates an operation whose result types are what `infer` gave.
  template <class Op>
  Op emitAs(Loc loc, mlir::TypeRange types, mlir::ValueRange operands,
            const PropertiesOf<Op> &properties = {}) {
    mlir::OperationState state = begin(loc, Op::getOperationName());
    if constexpr (Op::hasProperties())
      Op::build(builder_, state, types, operands, properties);
    else
      Op::build(builder_, state, types, operands);
    return mlir::cast<Op>(insert(state));
  }
  /// Creates an operation; its result types are inferred. What inference refuses is a TraceError.
  template <class Op>
  Op emit(Loc loc, mlir::ValueRange operands, const PropertiesOf<Op> &properties = {}) {
    throwDeferred();
    return emitAs<Op>(loc, infer<Op>(loc, operands, properties), operands, properties);
  }

  /// An operation at the top of the kernel, before all that is not.
  template <class Op, class... Args> Op prologue(Loc loc, Args &&...args) {
    mlir::OpBuilder::InsertionGuard guard(builder_);
    toPrologue();
    Op op = create<Op>(loc, std::forward<Args>(args)...);
    lastPrologue_ = op;
    return op;
  }

  /// A constant of an element type, at the top of the kernel.
  mlir::Value constant(mlir::TypedAttr value, Loc loc);
  mlir::Value constant(std::int64_t value, DType type, Loc loc);

  /// An operation that a table of instructions names. Its attributes are by name for the same
  /// reason.
  mlir::Operation *createNamed(llvm::StringRef name, mlir::TypeRange types,
                               mlir::ValueRange operands,
                               llvm::ArrayRef<mlir::NamedAttribute> attributes, Loc loc);

private:
  mlir::OperationState begin(Loc loc, llvm::StringRef name);
  mlir::Operation *insert(mlir::OperationState &state);
  mlir::Operation *insertVerified(mlir::OperationState &state, Loc loc);
  void toPrologue();
  void throwDeferred() { diagnostics_.throwDeferred(); }
  [[noreturn]] void failOn(llvm::StringRef name, mlir::ValueRange operands, Loc loc);

  mlir::OpBuilder builder_;
  mlir::Block *body_;
  Diagnostics &diagnostics_;
  mlir::Operation *lastPrologue_ = nullptr;
  unsigned fastMath_ = 0;
  Loc last_;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants_;
  llvm::DenseMap<const char *, mlir::StringAttr> files_;
};

} // namespace flydsl::builder
