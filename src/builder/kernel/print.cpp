#include <flydsl/kernel/print.h>

#include "builder/trace/tracer.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

FLYDSL_NAMESPACE_BEGIN

using builder::Tracer;

namespace detail {

void print(const Format &format, std::initializer_list<Handle> values) {
  Tracer &t = Tracer::require("printf", format.loc);
  std::size_t places = 0;
  for (const char *c = format.text; *c; ++c)
    places += c[0] == '{' && c[1] == '}';
  if (places != values.size())
    throw TraceError("printf: " + std::to_string(places) + " places for " +
                         std::to_string(values.size()) + " values in \"" + format.text + "\"",
                     format.loc);
  llvm::SmallVector<mlir::Value, 4> operands;
  for (const Handle &value : values)
    operands.push_back(t.use(hostAs<HostNumber>(value)
                                 ? expectScalar(value, dtypeOf(value, format.loc), format.loc)
                                 : value,
                             format.loc));
  // The operation ends its line by itself.
  llvm::StringRef text(format.text);
  text.consume_back("\n");
  t.create<mlir::fly::PrintOp>(format.loc, t.ir.string(text), operands);
}

} // namespace detail

void assume(const Boolean &condition, Loc loc) {
  Tracer &t = Tracer::require("assume", loc);
  t.create<mlir::LLVM::AssumeOp>(loc, t.use(condition.handle(), loc));
}

FLYDSL_NAMESPACE_END
