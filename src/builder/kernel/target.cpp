// What a kernel may ask of its target.
#include <flydsl/target.h>

#include "builder/trace/facade.h"

FLYDSL_NAMESPACE_BEGIN

Target target(std::source_location where) {
  if (!detail::running())
    throw TraceError(
        "fx::target() is the target of the kernel that is being traced, and none is; on "
        "the host, fx::Device::current().target() is the device's",
        where);
  return detail::running()->kernel.targetFor("fx::target()", where);
}

FLYDSL_NAMESPACE_END
