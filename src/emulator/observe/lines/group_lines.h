// The distinct cache lines that one workgroup at a time has touched, and when they were there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace flyemu {

/// The times at which lines arrive, emptied for each workgroup: a table of open addressing, whose
/// entries belong to the workgroup that they are marked with.
class GroupLines {
public:
  GroupLines() : entries_(kLeast) {}

  /// Forgets all lines.
  void clear() {
    size_ = 0;
    if (++mark_ == kMarks) { // those that are left must not be taken for new
      entries_.assign(entries_.size(), {});
      mark_ = 1;
    }
  }

  /// When a line arrives, to be set; the latest time of all for a line that was not touched before.
  /// Valid until the next call.
  uint64_t &arrival(uint64_t line) {
    if (size_ * 2 >= entries_.size())
      grow();
    Entry &entry = place(line);
    if (entry.key != keyOf(line)) {
      entry = {.key = keyOf(line), .arrives = std::numeric_limits<uint64_t>::max()};
      ++size_;
    }
    return entry.arrives;
  }
  /// The same of a line that the workgroup does not keep: none is added.
  uint64_t arrivalIfKept(uint64_t line) {
    const Entry &entry = place(line);
    return entry.key == keyOf(line) ? entry.arrives : std::numeric_limits<uint64_t>::max();
  }

  size_t size() const { return size_; }

private:
  static constexpr size_t kLeast = 1024; ///< a power of 2

  /// Addresses have 57 bits at most (x86-64's five levels of pages), and numbers of lines 50. What is left
  /// tells so many workgroups apart that the table is emptied for good too seldom to cost anything.
  static constexpr unsigned kMarkBits = 14;
  static constexpr uint64_t kMarks = uint64_t(1) << kMarkBits;

  struct Entry {
    uint64_t key = 0, arrives = 0;
  };

  uint64_t keyOf(uint64_t line) const { return line << kMarkBits | mark_; }

  /// The line's entry, or the free one that it may take.
  Entry &place(uint64_t line) {
    const size_t mask = entries_.size() - 1;
    const uint64_t key = keyOf(line);
    // Eight lines that follow one another, as most do, get entries that follow one another. Rows of a matrix
    // have strides that are powers of two, so that which eight is spread by a product (Fibonacci hashing).
    const uint64_t eight = (line >> 3) * 0x9e3779b97f4a7c15u >> 32;
    for (size_t i = (eight << 3 | (line & 7)) & mask;; i = (i + 1) & mask)
      if (Entry &entry = entries_[i]; entry.key == key || entry.key % kMarks != mark_)
        return entry;
  }

  void grow() {
    std::vector<Entry> old(entries_.size() * 2);
    old.swap(entries_);
    for (const Entry &entry : old)
      if (entry.key % kMarks == mark_)
        place(entry.key >> kMarkBits) = entry;
  }

  std::vector<Entry> entries_;
  size_t size_ = 0;
  uint64_t mark_ = 1;
};

} // namespace flyemu
