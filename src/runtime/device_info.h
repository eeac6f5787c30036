// What does not change about a device, asked once.
#pragma once

#include "runtime/driver/driver.h"

namespace flydsl::runtime {

/// Throws RuntimeError for an ordinal that does not exist. The reference lives as long as the
/// process.
const DeviceInfo &deviceInfo(int ordinal);

/// How often a device was reset. A reset destroys what was made on the device before. Zero for an
/// ordinal past any device.
unsigned resetsOf(int device);

/// Makes a device current while in scope.
class DeviceScope {
public:
  explicit DeviceScope(int ordinal);
  ~DeviceScope();
  DeviceScope(const DeviceScope &) = delete;
  DeviceScope &operator=(const DeviceScope &) = delete;

private:
  int before_ = 0;
  bool changed_ = false;
};

} // namespace flydsl::runtime
