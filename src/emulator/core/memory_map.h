// What the executing waves may touch: device addresses are host addresses, and every access is
// checked against the allocations of the device before it happens, so that a wild address is a
// fault and never a crash.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace flyemu {

/// One allocation, or one loaded segment, of a device's memory: the bytes [base, base + size).
struct MemoryRange {
  uint64_t base = 0;
  uint64_t size = 0;
  bool writable = true;

  bool contains(uint64_t address, uint64_t bytes) const {
    return address - base < size && bytes <= size - (address - base);
  }
};

class WrittenBytes;

/// Answers which allocation holds an address. Called from many threads at once while a launch runs;
/// executing waves keep the last ranges they were given, so calls are rare. A range handed out must
/// stay valid memory for as long as the launch runs (an allocation freed meanwhile is kept mapped
/// until the launch has ended).
class MemoryMap {
public:
  virtual ~MemoryMap() = default;

  /// Finds the allocation that holds the byte at `address`. Returns false if there is none.
  virtual bool find(uint64_t address, MemoryRange &range) const = 0;

  /// A sentence about an address for fault messages: the nearest allocation, a freed one that held
  /// it, its name. Empty if nothing is known.
  virtual std::string describe(uint64_t address) const { return {}; }

  /// Which bytes of the allocation at `address` somebody has written; null where that is not
  /// known, and all of them count as written. For the init check.
  virtual std::shared_ptr<WrittenBytes> written(uint64_t address) const { return {}; }
};

} // namespace flyemu
