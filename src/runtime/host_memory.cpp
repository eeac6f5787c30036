// Memory of the host that devices reach too.
#include "runtime/current_driver.h"

#include <flydsl/host/host_memory.h>

#include <cstring>
#include <string>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

HostMemory::HostMemory(std::size_t bytes, std::source_location where)
    : bytes_(bytes), made_(Device::current(where).ordinal()) {
  const Driver &used = driver();
  if (!used.allocateHost || !used.releaseHost)
    throw RuntimeError(used.name + " has no memory of the host that devices reach", 0, where);
  check(used.allocateHost(&data_, bytes),
        "allocating " + std::to_string(bytes) + " bytes of pinned memory", where);
  std::memset(data_, 0, bytes);
}

/// A reset of the device frees its memory, and the address may belong to something else since.
HostMemory::~HostMemory() {
  const Driver *used = data_ ? driverToLetGo() : nullptr;
  if (used && made_.isThere())
    (void)used->releaseHost(data_);
}

void HostMemory::refuse(const std::source_location &where) {
  throw RuntimeError(
      "pinned memory can't be used: the device that was current when it was made was reset", 0,
      where);
}

FLYDSL_NAMESPACE_END
