// flydsl/kernel/argument.h.
#include <flydsl/kernel/argument.h>

#include "builder/trace/tracer.h"
#include "builder/vendors/vendors.h"

#include <flydsl/error.h>

#include "mlir/Interfaces/FunctionInterfaces.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

Numeric readAgain(const Numeric &argument, Loc loc) {
  const auto &instructions = builder::instructionsFor("read_again", loc);
  const auto own = mlir::dyn_cast<mlir::BlockArgument>(
      builder::Tracer::require("read_again", loc).use(argument.handle(), loc));
  if (!own || !mlir::isa<mlir::FunctionOpInterface>(own.getOwner()->getParentOp()))
    throw TraceError("read_again takes arguments of the kernel as they were passed, not a number "
                     "that was computed; compute it again of the arguments that this gives",
                     loc);
  const int bits = argument.dtype(loc).bits();
  return bits == 32 || bits == 64 ? instructions.argumentAgain(argument, loc) : argument;
}

} // namespace detail
FLYDSL_NAMESPACE_END
