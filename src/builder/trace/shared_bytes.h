// How much shared memory (LDS) the kernel uses.
#pragma once

#include <algorithm>
#include <cstdint>

namespace flydsl::builder {

class SharedBytes {
public:
  /// Bytes of a static allocation, behind those before it.
  void addStatic(std::int64_t bytes, std::int64_t alignment) {
    static_ = (static_ + alignment - 1) / alignment * alignment + bytes;
  }
  /// The launch's dynamic shared memory reaches at least to `end`.
  void reachDynamic(std::int64_t end) { dynamic_ = std::max(dynamic_, end); }

  std::size_t staticBytes() const { return static_cast<std::size_t>(static_); }
  std::size_t dynamicBytes() const { return static_cast<std::size_t>(dynamic_); }

private:
  std::int64_t static_ = 0, dynamic_ = 0;
};

} // namespace flydsl::builder
