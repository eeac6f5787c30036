// Who touched a place, and when: what the race checks remember.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace flyemu {

/// One access, in 16 bytes.
struct Touch {
  uint32_t inst = 0;  ///< index into the program
  uint32_t group = 0; ///< number of the workgroup, from 1; 0: nobody
  uint32_t time =
      0; ///< LDS: barriers passed; global memory: the launch's count of synchronizations
  uint8_t wave = 0, lane = 0;
  bool atomic = false;
};

/// Returns true if two unordered accesses are a race. Two writes are one unless both are atomic; a
/// write and a read are one unless the write is atomic. (Compilers begin compare-and-swap loops
/// with a plain read.)
inline bool races(const Touch &before, bool wrote, const Touch &now, bool writes) {
  return wrote && writes ? !(before.atomic && now.atomic)
         : wrote         ? !before.atomic
                         : writes && !now.atomic;
}

/// The last write, and the last reads of two different owners (waves for LDS, workgroups for global
/// memory), of one place.
struct History {
  Touch write, read, otherRead;

  void note(const Touch &now, bool writes, bool sameOwner) {
    if (writes) {
      write = now;
    } else {
      if (read.group && !sameOwner)
        otherRead = read;
      read = now;
    }
  }
};

/// The histories of a piece of memory: of its dwords, or of its bytes once somebody has touched a
/// part of a dword.
class Histories {
public:
  explicit Histories(uint64_t bytes = 0) : places_((bytes + 3) / 4), bytes_(bytes) {}

  uint64_t size() const { return bytes_; }
  /// Calls visit(history, offset) for each place that overlaps [from, to).
  template <class F> void each(uint64_t from, uint64_t to, F visit) {
    if (unit_ == 4 && (from % 4 || to % 4))
      split();
    for (uint64_t at = from; at < to; at += unit_)
      visit(places_[at / unit_], at);
  }

private:
  void split() {
    std::vector<History> bytes(places_.size() * 4);
    for (std::size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = places_[i / 4];
    places_ = std::move(bytes);
    unit_ = 1;
  }

  std::vector<History> places_;
  uint64_t bytes_;
  unsigned unit_ = 4;
};

} // namespace flyemu
