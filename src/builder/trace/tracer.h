// One trace in progress: where operations go, and how handles become IR values.
#pragma once

#include "builder/trace/node.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/OwningOpRef.h"

#include <flydsl/error.h>
#include <flydsl/target.h>

#include "llvm/ADT/DenseMap.h"

namespace flydsl::builder {

using detail::Handle;
using detail::Node;

/// A builder of one kernel's IR. Below the eDSL's entry points it is passed explicitly.
class Tracer {
public:
  /// Operations go to the end of `body`, the kernel's only block so far.
  Tracer(mlir::MLIRContext &context, mlir::Block *body, std::string kernel,
         std::array<unsigned, 3> block, unsigned fastMath, std::optional<Target> target);
  ~Tracer();
  Tracer(const Tracer &) = delete;

  /// The trace that runs on this thread, or null.
  static Tracer *current();
  /// The same; a TraceError that names `what` where there is none.
  static Tracer &require(const char *what, Loc loc);

  mlir::MLIRContext *context() const { return context_; }
  mlir::OpBuilder &builder() { return builder_; }
  std::uint64_t id() const { return id_; }
  const std::string &kernel() const { return kernel_; }
  const std::array<unsigned, 3> &block() const { return block_; }
  /// Where the kernel object is made.
  void setOrigin(const SourceLocation &where) { origin_ = where; }
  /// "parameter 0 of kernel x, of file:line", for messages.
  std::string parameterName(unsigned index) const;
  std::size_t staticSharedBytes = 0;
  /// The end of what the body has used of dynamic shared memory.
  std::size_t dynamicSharedBytes = 0;
  /// What the trace is for; a TraceError that names `what` where that is not known.
  const Target &target(const char *what, Loc loc) const;
  /// The same, nullopt where it is not known.
  const std::optional<Target> &targetIfKnown() const { return target_; }
  /// The same, after a check that it has a feature. A TraceError that names the processors with the
  /// feature where it does not.
  const Target &targetWith(Feature feature, const char *what, Loc loc) const;

  mlir::Location location(Loc loc);
  /// `loc`, or the place of the operation before where it is unknown.
  Loc place(Loc loc) const { return loc.line() ? loc : last_; }
  /// LLVM's fast-math flags (fx::FastMath) of the operations to come; gives those until now.
  unsigned setFastMath(unsigned flags);
  unsigned fastMath() const { return fastMath_; }
  /// What a buffer's 32-bit offsets don't reach: whether a tensor of the kernel's arguments spans
  /// 4 GiB or more.
  bool hasLargeTensor = false;
  mlir::StringAttr string(llvm::StringRef text) { return builder_.getStringAttr(text); }
  /// An attribute by its text, e.g. "#gpu<dim x>".
  mlir::Attribute attribute(llvm::StringRef text);

  /// Creates an operation at the insertion point. Result types are inferred where `types` is not
  /// given. What inference or the operation's verifier refuses is a TraceError at `loc`.
  mlir::Operation *create(llvm::StringRef name, mlir::ValueRange operands, Loc loc,
                          llvm::ArrayRef<mlir::NamedAttribute> attributes = {},
                          std::optional<mlir::TypeRange> types = std::nullopt);
  /// The result types that inference gives; a TraceError where it refuses. Makes no operation.
  llvm::SmallVector<mlir::Type, 2> infer(llvm::StringRef name, mlir::ValueRange operands, Loc loc,
                                         llvm::ArrayRef<mlir::NamedAttribute> attributes);
  /// An operation of one result whose type is known to be what inference gives.
  mlir::Value emitInferred(llvm::StringRef name, mlir::ValueRange operands, Loc loc,
                           llvm::ArrayRef<mlir::NamedAttribute> attributes, mlir::Type type);
  /// The same for operations of one result.
  mlir::Value emit(llvm::StringRef name, mlir::ValueRange operands, Loc loc,
                   llvm::ArrayRef<mlir::NamedAttribute> attributes = {}, mlir::Type type = {});
  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) {
    return {string(name), value};
  }

  /// The IR value of a handle: a traced value after a check that it may be used here, a static one
  /// as a constant, a tuple with run-time leaves as a fly.make_int_tuple.
  mlir::Value use(const Handle &handle, Loc loc);
  /// The IR type that `use` would have; no operation is made.
  mlir::Type typeOf(const Handle &handle, Loc loc);
  /// A handle to a value of this trace.
  Handle wrap(mlir::Value value, DType dtype, Loc loc);
  /// Checks that a traced value belongs to this trace and is visible at the insertion point.
  void check(const Node &node, Loc loc);

  /// A constant of an element type, at the top of the kernel.
  mlir::Value constant(mlir::TypedAttr value, Loc loc);
  mlir::Value constant(std::int64_t value, DType type, Loc loc);

  /// A mistake that can be reported only later (in a destructor); the next operation throws it.
  void defer(std::string message, Loc loc);
  void throwDeferred();
  /// Throws what went to the diagnostic handler since the last call, under `message`.
  [[noreturn]] void fail(const std::string &message, Loc loc);
  /// The same for an operation that inference or its verifier refused.
  [[noreturn]] void failOn(llvm::StringRef name, mlir::ValueRange operands, Loc loc);
  std::string takeDiagnostics();
  /// Where the condition holds, the kernel is over: what is traced from here on is in a branch.
  void exitIf(mlir::Value condition, Loc loc);
  /// A TraceError where an exit_if before may have taken a part of the block's threads.
  void expectAllThreads(const char *what, Loc loc) const;
  /// Ends the kernel's body.
  void finish(mlir::Location loc);
  /// Throws what the verifier said of the whole module, at the place of the first offending
  /// operation.
  [[noreturn]] void failVerification();

  /// An operation at the top of the kernel, before all that is not.
  mlir::Value prologue(llvm::StringRef name, Loc loc,
                       llvm::ArrayRef<mlir::NamedAttribute> attributes, mlir::Type type,
                       mlir::ValueRange operands = {});

private:
  /// A branch that exit_if began, which ends with the kernel.
  struct Exit {
    mlir::Operation *rest;
    Loc loc;
    bool mayDiffer; ///< the condition comes from the thread's number
  };
  /// The block that is outside of loops and branches.
  mlir::Block *top() const {
    return exits_.empty() ? body_ : &exits_.back().rest->getRegion(0).front();
  }
  mlir::Value makeStateful(mlir::Type type, Loc loc);
  mlir::Value useLazy(const detail::LazyIndex &lazy, Loc loc);
  mlir::Value useTuple(const Node &node, const layout::IntTuple &tuple, Loc loc);
  mlir::Value leafValue(const detail::DynamicLeaf &leaf, Loc loc);

  mlir::MLIRContext *context_;
  mlir::OpBuilder builder_;
  mlir::Block *body_;
  mlir::Operation *lastPrologue_ = nullptr;
  std::vector<Exit> exits_;
  std::string kernel_;
  std::array<unsigned, 3> block_;
  std::uint64_t id_;
  Tracer *outer_;
  mlir::ScopedDiagnosticHandler diagnostics_;
  std::string collected_;
  SourceLocation firstError_;
  unsigned fastMath_ = 0;
  mlir::Attribute fastMathAttr_; // null for none
  Loc last_;
  SourceLocation origin_;
  std::optional<Target> target_;
  std::optional<TraceError> deferred_;
  llvm::DenseMap<mlir::Type, mlir::Value> statics_;
  llvm::DenseMap<mlir::Attribute, mlir::Value> constants_;
  llvm::DenseMap<std::pair<const char *, const char *>, mlir::Value> lazies_;
  llvm::DenseMap<const char *, mlir::StringAttr> files_;
};

/// What `handle` is to the algebra, without making operations: host values, and traced ones whose
/// type is static; monostate for others. A traced value of a finished trace is a TraceError.
detail::HostValue hostView(const Handle &handle, Loc loc);
/// The type of a traced value; a TraceError where its trace is not the running one.
mlir::Type tracedType(const Handle &handle, Loc loc);
/// An operation of the IR as messages name it: "fly.int_tuple_add" is "add".
std::string userName(llvm::StringRef operation);
/// `handle` for a message: "(8,16):(1,8)" or its IR type.
std::string describe(const Handle &handle);

} // namespace flydsl::builder
