#include "scratch.h"

#include <algorithm>
#include <source_location>

namespace flydsl_ggml {

void *Scratch::take(std::size_t bytes) {
  constexpr std::size_t alignment = 256, least = std::size_t{1} << 20;
  const auto here = std::source_location::current();
  const std::size_t padded = (bytes + alignment - 1) / alignment * alignment;
  if (pieces_.empty() || used_ + padded > pieces_.back().bytes) {
    // What the op took before stays where it is, in the piece before. The next time, this piece has all
    // of it.
    const std::size_t size =
        std::max({taken_ + padded, least, pieces_.empty() ? 0 : 2 * pieces_.back().bytes});
    pieces_.push_back({fx::detail::DeviceMemory(size, here), size});
    used_ = 0;
  }
  void *const taken = static_cast<char *>(pieces_.back().memory.data(here)) + used_;
  used_ += padded;
  taken_ += padded;
  return taken;
}

} // namespace flydsl_ggml
