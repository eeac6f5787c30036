// One trace in progress.
#pragma once

#include "builder/trace/arrivals.h"
#include "builder/trace/early_exits.h"
#include "builder/trace/ir_builder.h"
#include "builder/trace/kernel_facts.h"
#include "builder/trace/shared_bytes.h"
#include "builder/trace/split_barriers.h"
#include "builder/trace/values.h"
#include "builder/trace/view.h"

namespace flydsl::builder {

/// The parts that trace one kernel. Below the eDSL's entry points a tracer is passed explicitly.
class Tracer {
public:
  /// Operations go to the end of `body`, the kernel's only block so far.
  Tracer(mlir::MLIRContext &context, mlir::Block *body, KernelFacts facts, unsigned fastMath);
  ~Tracer();
  Tracer(const Tracer &) = delete;

  /// The trace that runs on this thread, or null.
  static Tracer *current();
  /// The same; a TraceError that names `what` if there is none.
  static Tracer &require(const char *what, Loc loc);
  /// The same, for what users know as the operation `Op`.
  template <class Op> static Tracer &requireFor(Loc loc) {
    Tracer *running = current();
    return running ? *running : require(userName(Op::getOperationName()).c_str(), loc);
  }

private:
  std::uint64_t id_;
  Tracer *outer_;

public:
  Diagnostics diagnostics;
  KernelFacts kernel;
  IrBuilder ir;
  Values values;
  EarlyExits exits;
  Arrivals arrivals{ir, kernel, exits};
  SharedBytes shared{kernel};
  SplitBarriers barriers;

  /// A range of the kernel's timeline that is pushed and not popped yet.
  struct OpenRange {
    std::string name;
    Loc loc;
    mlir::Block *block; ///< in which it was pushed
  };
  std::vector<OpenRange> openRanges;
  unsigned eventCount = 0; ///< operations of the timeline that were emitted

  // What nearly every function of the eDSL does.
  mlir::MLIRContext *context() const { return ir.context(); }
  mlir::OpBuilder &builder() { return ir.builder(); }
  mlir::Value use(const Handle &handle, Loc loc) { return values.use(handle, loc); }
  Handle wrap(mlir::Value value, DType dtype, Loc loc) const {
    return values.wrap(value, dtype, loc);
  }
  template <class Op, class... Args> Op create(Loc loc, Args &&...args) {
    return ir.create<Op>(loc, std::forward<Args>(args)...);
  }
  template <class Op>
  Op emit(Loc loc, mlir::ValueRange operands, const PropertiesOf<Op> &properties = {}) {
    return ir.emit<Op>(loc, operands, properties);
  }
};

} // namespace flydsl::builder
