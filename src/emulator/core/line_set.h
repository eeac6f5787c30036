// The distinct cache lines that a launch touched.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <unordered_map>

namespace flyemu {

constexpr uint64_t kLine = 128; ///< bytes of a cache line of the L2 cache

/// A set of line numbers, as bitmaps of 1 MiB of memory each.
class LineSet {
public:
  void insert(uint64_t line) {
    const uint64_t chunk = line / kBits;
    if (chunk != lastChunk_ || !last_)
      last_ = &chunks_[lastChunk_ = chunk];
    (*last_)[line % kBits / 64] |= uint64_t(1) << (line % 64);
  }
  void insert(const LineSet &o) {
    for (const auto &[chunk, bits] : o.chunks_) {
      Bits &mine = chunks_[chunk];
      for (size_t i = 0; i < bits.size(); ++i)
        mine[i] |= bits[i];
    }
  }
  uint64_t size() const {
    uint64_t n = 0;
    for (const auto &[chunk, bits] : chunks_)
      for (uint64_t word : bits)
        n += static_cast<uint64_t>(std::popcount(word));
    return n;
  }

private:
  static constexpr uint64_t kBits = (uint64_t(1) << 20) / kLine;
  using Bits = std::array<uint64_t, kBits / 64>;
  std::unordered_map<uint64_t, Bits> chunks_;
  uint64_t lastChunk_ = 0;
  Bits *last_ = nullptr; ///< of lastChunk_; elements of the map do not move
};

} // namespace flyemu
