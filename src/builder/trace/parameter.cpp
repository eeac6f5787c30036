// The parameters of a kernel, as its body gets them.
#include "builder/trace/facade.h"

FLYDSL_NAMESPACE_BEGIN
namespace detail {

Handle wrapParam(const ParamHandle &param) {
  if (param.value) {
    builder::Tracer &t = builder::Tracer::require("a kernel's parameter", Loc());
    auto argument = mlir::cast<mlir::BlockArgument>(mlir::Value::getFromOpaquePointer(param.value));
    t.kernel.hasLargeTensor |= param.type->large;
    if (param.type->many)
      t.kernel.uncounted.push_back(argument.getArgNumber());
    return t.values.wrapParameter(argument, param.type->dtype, param.type->large);
  }
  Node *node = const_cast<Node *>(static_cast<const Node *>(param.type->staticArg.object));
  node->retain();
  return Handle(node);
}

StaticArg staticArg(const Handle &handle, Loc loc) {
  HostValue view = detail::hostView(handle, loc);
  if (isTraced(handle) || std::holds_alternative<std::monostate>(view) ||
      std::holds_alternative<LazyIndex>(view))
    throw TraceError("a kernel's static argument must not hold values of a kernel: " +
                         detail::describe(handle),
                     loc);
  return handle.node()->digest(std::to_string(handle.node()->host()->value.index()) + " " +
                               detail::describe(handle));
}

} // namespace detail
FLYDSL_NAMESPACE_END
