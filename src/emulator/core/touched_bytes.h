// Which bytes of global memory a launch, a copy or a fill reads and writes: what the check of
// streams compares.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace flyemu {

enum class TouchKind : uint8_t {
  Read,
  Write,
  AtomicRead,  ///< a load whose scope is wider than a workgroup
  AtomicWrite, ///< an atomic operation, or a store of such a scope
};
constexpr unsigned kTouchKinds = 4;

/// The bytes of one page of memory, one bit each, and by which instruction they were touched.
class TouchedPage {
public:
  static constexpr uint64_t kBytes = 65536;
  static constexpr unsigned kWords = kBytes / 64;
  /// So many bytes share one note of an instruction.
  static constexpr uint64_t kGranule = 128;
  static constexpr uint32_t kNone = ~0u;

  TouchedPage() { first_.fill(kNone); }

  /// Marks the bytes [from, to), touched by the instruction of index `inst`. Safe to use from many
  /// threads, in whose order the result does not depend.
  void mark(uint64_t from, uint64_t to, uint32_t inst) {
    for (uint64_t at = from; at < to;) {
      const uint64_t stop = to < (at | 63) + 1 ? to : (at | 63) + 1;
      const uint64_t bits = ~uint64_t(0) >> (64 - (stop - at)) << at % 64;
      std::atomic_ref<uint64_t> word(words_[at / 64]);
      if (~word.load(std::memory_order_relaxed) & bits)
        word.fetch_or(bits, std::memory_order_relaxed);
      at = stop;
    }
    for (uint64_t g = from / kGranule; g <= (to - 1) / kGranule; ++g) {
      std::atomic_ref<uint32_t> first(first_[g]);
      for (uint32_t seen = first.load(std::memory_order_relaxed);
           inst < seen && !first.compare_exchange_weak(seen, inst, std::memory_order_relaxed);)
        ;
    }
  }

  uint64_t &word(unsigned index) { return words_[index]; }
  uint64_t word(unsigned index) const { return words_[index]; }
  /// The first of the program's instructions that touch the granule of a byte; kNone: none does.
  uint32_t instructionAt(uint64_t offset) const { return first_[offset / kGranule]; }

private:
  std::array<uint64_t, kWords> words_ = {};
  std::array<uint32_t, kBytes / kGranule> first_;
};

/// What one operation touches. Pages that it touches wholly and by no instruction (copies, fills)
/// take no memory.
class TouchedBytes {
public:
  static constexpr uint64_t kPage = TouchedPage::kBytes;
  struct Page {
    /// By kind: null where none is touched. All bytes of a page are, where `whole` has its bit.
    std::array<std::unique_ptr<TouchedPage>, kTouchKinds> kinds;
    uint8_t whole = 0;

    bool touches(unsigned kind) const { return kinds[kind] || whole >> kind & 1; }
    uint64_t word(unsigned kind, unsigned index) const {
      return whole >> kind & 1 ? ~uint64_t(0) : kinds[kind] ? kinds[kind]->word(index) : 0;
    }
  };

  /// The page of a kind that holds an address, to be marked. Safe to use from many threads.
  TouchedPage *page(uint64_t address, TouchKind kind) {
    std::lock_guard lock(mutex_);
    auto &made = pages_[address / kPage].kinds[static_cast<unsigned>(kind)];
    if (!made) {
      made = std::make_unique<TouchedPage>();
      if (onPage)
        onPage(address, kind);
    }
    return made.get();
  }

  /// Adds [address, address + bytes), touched by no instruction.
  void add(uint64_t address, uint64_t bytes, TouchKind kind) {
    for (const uint64_t end = address + bytes; address < end;) {
      const uint64_t from = address % kPage,
                     to = end - address < kPage - from ? from + (end - address) : kPage;
      if (to - from == kPage)
        pages_[address / kPage].whole |= static_cast<uint8_t>(1u << static_cast<unsigned>(kind));
      else
        page(address, kind)->mark(from, to, TouchedPage::kNone);
      address += to - from;
    }
  }

  /// Is called before the first access of a kind to a page, with its address. May be empty.
  std::function<void(uint64_t address, TouchKind kind)> onPage;

  /// By number: the address / kPage.
  std::map<uint64_t, Page> &pages() { return pages_; }

private:
  std::mutex mutex_;
  std::map<uint64_t, Page> pages_;
};

/// Marks what one thread of a launch touches. Keeps the pages that it was given last.
class TouchMarker {
public:
  explicit TouchMarker(TouchedBytes *all) : all_(all) {}
  explicit operator bool() const { return all_; }

  void mark(uint64_t address, uint64_t bytes, TouchKind kind, uint32_t inst) {
    while (bytes) {
      const uint64_t from = address % TouchedPage::kBytes,
                     count = std::min(bytes, TouchedPage::kBytes - from);
      pageOf(address, kind).mark(from, from + count, inst);
      address += count;
      bytes -= count;
    }
  }

private:
  TouchedPage &pageOf(uint64_t address, TouchKind kind) {
    const uint64_t number = address / TouchedPage::kBytes;
    Slot &slot = slots_[static_cast<unsigned>(kind)][number % kSlots];
    if (slot.number != number)
      slot = {number, all_->page(address, kind)};
    return *slot.page;
  }

  static constexpr unsigned kSlots = 8;
  struct Slot {
    uint64_t number = ~uint64_t(0);
    TouchedPage *page = nullptr;
  };
  TouchedBytes *all_;
  std::array<std::array<Slot, kSlots>, kTouchKinds> slots_ = {};
};

} // namespace flyemu
