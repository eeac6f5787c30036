// Memory of other devices and of other processes.
#include "runtime/current_driver.h"
#include "runtime/device_info.h"
#include "runtime/graph_capture.h"

#include <flydsl/host/peers.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace {

const PeerFunctions &peerFunctions(const char *doing, const std::source_location &where) {
  const Driver &used = driver();
  if (!used.peer.canAccess)
    throw RuntimeError(std::string(doing) + ": " + used.path +
                           " lacks functions for memory of several devices",
                       0, where);
  return used.peer;
}

std::string between(const char *doing, Device device, Device peer) {
  return std::string(doing) + " of device " + std::to_string(device.ordinal()) +
         " to memory of device " + std::to_string(peer.ordinal());
}

void *dataOrRefuse(void *data, const detail::MadeOn &made, const std::source_location &where) {
  if (!made.isThere())
    throw RuntimeError("memory of several devices can't be used: the device that was current when "
                       "it was made was reset",
                       0, where);
  return data;
}

} // namespace

bool can_access(Device device, Device peer, std::source_location where) {
  if (device == peer)
    return true;
  bool can = false;
  check(peerFunctions("asking for access to a peer", where)
            .canAccess(device.ordinal(), peer.ordinal(), &can),
        between("asking for access", device, peer), where);
  return can;
}

void enable_access(Device device, Device peer, std::source_location where) {
  if (device == peer)
    return;
  if (!can_access(device, peer, where))
    throw RuntimeError(between("access", device, peer) +
                           " is not possible: the machine does not connect them",
                       0, where);
  const DeviceScope scope(device.ordinal());
  check(driver().peer.enableAccess(peer.ordinal()), between("enabling access", device, peer),
        where);
}

SharedMemory::SharedMemory(std::size_t bytes, std::source_location where)
    : bytes_(bytes), made_(Device::current(where).ordinal()) {
  const char *doing = "allocating memory for several devices";
  const PeerFunctions &peers = peerFunctions(doing, where);
  refuseInCapture(doing, "make it before the capture, and keep it for as long as the graph", where);
  if (!bytes)
    return;
  check(peers.allocate(&data_, bytes), std::string(doing) + ": " + std::to_string(bytes) + " bytes",
        where);
  try {
    check(driver().fill(data_, 0, bytes), "filling device memory", where);
    check(driver().synchronizeStream(nullptr), "filling device memory", where);
  } catch (...) {
    (void)driver().release(data_);
    throw;
  }
}

SharedMemory::~SharedMemory() {
  const Driver *used = data_ ? driverToLetGo() : nullptr;
  if (used && made_.isThere())
    (void)used->release(data_);
}

void *SharedMemory::data(std::source_location where) const {
  return dataOrRefuse(data_, made_, where);
}

MemoryHandle memory_handle(const void *pointer, std::source_location where) {
  const char *doing = "asking for a handle of device memory";
  MemoryHandle handle;
  static_assert(sizeof(handle.bytes) == kMemoryHandleBytes);
  check(peerFunctions(doing, where).exportMemory(handle.bytes.data(), const_cast<void *>(pointer)),
        doing, where);
  return handle;
}

OpenedMemory::OpenedMemory(const MemoryHandle &handle, std::source_location where)
    : made_(Device::current(where).ordinal()) {
  const char *doing = "opening memory of another process";
  check(peerFunctions(doing, where).openMemory(&data_, handle.bytes.data()), doing, where);
}

OpenedMemory::~OpenedMemory() {
  const Driver *used = data_ ? driverToLetGo() : nullptr;
  if (used && made_.isThere())
    (void)used->peer.closeMemory(data_);
}

void *OpenedMemory::data(std::source_location where) const {
  return dataOrRefuse(data_, made_, where);
}

FLYDSL_NAMESPACE_END
