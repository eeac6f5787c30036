// Copies in the order of a stream.
#include "runtime/current_driver.h"

#include <flydsl/host/copy.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

void copy_async(void *to, const void *from, std::size_t bytes, StreamRef stream,
                std::source_location where) {
  if (bytes)
    check(driver().copyInStream(to, from, bytes, stream.native()),
          "copying " + std::to_string(bytes) + " bytes in a stream", where);
}

FLYDSL_NAMESPACE_END
