#include "builder/trace/view.h"

#include "builder/trace/dialects.h"
#include "builder/trace/facade.h"
#include "builder/trace/tracer.h"
#include "builder/trace/types.h"

namespace flydsl::builder {

std::string originOf(const Node &node) {
  if (const detail::TracedContent *traced = node.traced(); traced && !traced->parameter.empty())
    return ", " + traced->parameter;
  if (!node.where.line())
    return "";
  return ", made at " + std::string(node.where.file_name()) + ":" +
         std::to_string(node.where.line());
}

mlir::Type tracedType(const Tracer *running, const Handle &handle, Loc loc) {
  const Node &node = *handle.node();
  const detail::TracedContent &traced = *node.traced();
  if (running && running->values.isOwn(traced))
    return traced.value.getType();
  const std::string origin = originOf(node);
  throw TraceError("a value" + origin + (origin.empty() ? "" : ",") +
                       " is used outside of the kernel that made it",
                   loc);
}

detail::HostValue hostView(const Tracer *running, const Handle &handle, Loc loc) {
  if (!handle)
    throw TraceError("a value that was moved from is used", loc);
  const Node &node = *handle.node();
  if (node.traced())
    return valueOfStaticType(tracedType(running, handle, loc));
  const detail::HostContent &host = *node.host();
  return host.leaves.empty() ? host.value : detail::HostValue();
}

std::string describe(const Tracer *running, const Handle &handle) {
  if (!handle)
    return "(moved from)";
  const Node &node = *handle.node();
  if (const detail::TracedContent *traced = node.traced()) {
    return running && running->values.isOwn(*traced) ? typeText(traced->value.getType())
                                                     : "(a value of a finished kernel)";
  }
  return std::visit(
      []<class T>(const T &v) -> std::string {
        if constexpr (requires { v.str(); })
          return v.str();
        else if constexpr (std::is_same_v<T, detail::HostNumber>)
          return v.kind == detail::HostNumber::Kind::floating ? std::to_string(v.floating)
                                                              : std::to_string(v.integer);
        else if constexpr (std::is_same_v<T, detail::AtomSpec>)
          return typeText(staticType(v, &hostContext()));
        else
          return "(empty)";
      },
      node.host()->value);
}

} // namespace flydsl::builder

FLYDSL_NAMESPACE_BEGIN

std::string Value::str() const { return detail::describe(handle_); }

bool Value::is_static(Loc loc) const {
  return !std::holds_alternative<std::monostate>(detail::hostView(handle_, loc)) &&
         !detail::hostAs<detail::LazyIndex>(handle_);
}

FLYDSL_NAMESPACE_END
