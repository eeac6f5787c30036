// Which bytes of an allocation somebody has written: what the init check knows of global memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

namespace flyemu {

/// Safe to use from many threads.
class WrittenBytes {
public:
  WrittenBytes(uint64_t base, uint64_t size)
      : base_(base), size_(size), words_(new std::atomic<uint64_t>[size / 64 + 1]()) {}

  bool contains(uint64_t address) const { return address - base_ < size_; }

  void mark(uint64_t address, uint64_t bytes) {
    each(address, bytes, [&](uint64_t word, uint64_t bits) {
      if ((words_[word].load(std::memory_order_relaxed) & bits) != bits)
        words_[word].fetch_or(bits, std::memory_order_relaxed);
      return true;
    });
  }
  void unmark(uint64_t address, uint64_t bytes) {
    each(address, bytes, [&](uint64_t word, uint64_t bits) {
      words_[word].fetch_and(~bits, std::memory_order_relaxed);
      return true;
    });
  }
  /// Marks [at[k], at[k] + bytes), of 1 to 64 bytes, for each of `count` places.
  void mark(const uint64_t *at, unsigned count, uint64_t bytes) {
    const uint64_t some = (uint64_t(2) << (bytes - 1)) - 1;
    for (unsigned k = 0; k < count; ++k) {
      const uint64_t offset = at[k] - base_, bit = offset % 64;
      if (offset >= size_ || bit + bytes > 64) {
        mark(at[k], bytes);
        continue;
      }
      std::atomic<uint64_t> &word = words_[offset / 64];
      if (~word.load(std::memory_order_relaxed) >> bit & some)
        word.fetch_or(some << bit, std::memory_order_relaxed);
    }
  }
  /// Whether all of these is written; what lies outside counts as written.
  bool all(const uint64_t *at, unsigned count, uint64_t bytes) const {
    uint64_t missing = 0;
    for (unsigned k = 0; k < count; ++k) {
      const uint64_t offset = at[k] - base_, bit = offset % 64;
      if (offset >= size_ || bit + bytes > 64)
        missing |= all(at[k], bytes) ? 0 : 1;
      else
        missing |= ~(words_[offset / 64].load(std::memory_order_relaxed) >> bit);
    }
    return !(missing & ((uint64_t(2) << (bytes - 1)) - 1));
  }
  /// Whether all of [address, address + bytes) is written; what lies outside counts as written.
  bool all(uint64_t address, uint64_t bytes) const {
    bool result = true;
    each(address, bytes, [&](uint64_t word, uint64_t bits) {
      result = (words_[word].load(std::memory_order_relaxed) & bits) == bits;
      return result;
    });
    return result;
  }

private:
  /// visit(word, bits) for each word that holds some of the range, until it returns false.
  template <class F> void each(uint64_t address, uint64_t bytes, F visit) const {
    if (!contains(address))
      return;
    uint64_t at = address - base_;
    const uint64_t end = bytes > size_ - at ? size_ : at + bytes;
    while (at < end) {
      const uint64_t count = end - at < 64 - at % 64 ? end - at : 64 - at % 64;
      const uint64_t bits = (count == 64 ? ~uint64_t(0) : (uint64_t(1) << count) - 1) << (at % 64);
      if (!visit(at / 64, bits))
        return;
      at += count;
    }
  }

  uint64_t base_, size_;
  std::unique_ptr<std::atomic<uint64_t>[]> words_;
};

} // namespace flyemu
