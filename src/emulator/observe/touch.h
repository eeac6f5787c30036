// Who touched a place, and when: what the race checks remember.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace flyemu {

/// One access, in 16 bytes: of a lane, or of several lanes to bytes behind one another.
struct Touch {
  uint32_t inst = 0;  ///< index into the program
  uint32_t group = 0; ///< number of the workgroup, from 1; 0: nobody
  uint32_t time =
      0; ///< LDS: barriers passed; global memory: the launch's count of synchronizations
  /// Bits: the wave 0-7, the lane that touched the place's first byte 8-15, its kind 16-17,
  /// and from 24 on the shift: each lane has touched 1 << shift bytes, one behind the other.
  uint32_t who = 0;
  static constexpr unsigned kOneLane = 63;

  /// Atomic operations, and accesses of a wide scope.
  static constexpr uint32_t kAtomic = 1u << 16;
  /// Loads of a wide scope that may see the store of one: nothing can be told of them.
  static constexpr uint32_t kExpectsWrites = 1u << 17;

  static uint32_t of(unsigned wave, unsigned lane, uint32_t kind, unsigned shift) {
    return wave | lane << 8 | kind | shift << 24;
  }
  unsigned wave() const { return who & 0xff; }
  /// The wave among all of the launch. (A launch of 2^24 workgroups uses numbers again, so that a race
  /// may be missed.)
  uint32_t owner() const { return group << 8 | wave(); }
  unsigned lane() const { return who >> 8 & 0xff; }
  bool atomic() const { return who & kAtomic; }
  bool expectsWrites() const { return who & kExpectsWrites; }
  unsigned shift() const { return who >> 24; }

  /// Becomes the access `t`, of the place that begins so many bytes later. (Field by field, because
  /// a copy in one piece waits until fields that were just written are in the cache.)
  void set(const Touch &t, uint64_t bytes) {
    inst = t.inst;
    group = t.group;
    time = t.time;
    who = t.who + (static_cast<uint32_t>(bytes >> t.shift()) << 8);
  }
  Touch later(uint64_t bytes) const {
    Touch t;
    t.set(*this, bytes);
    return t;
  }
};

/// Returns true if two unordered accesses are a race. Two writes are one unless both are atomic; a
/// write and a read are one unless the write is atomic, or the read expects it. (Compilers begin
/// compare-and-swap loops with a plain read.)
inline bool races(const Touch &before, bool wrote, const Touch &now, bool writes) {
  return wrote && writes ? !(before.atomic() && now.atomic())
         : wrote         ? !before.atomic() && !now.expectsWrites()
                         : writes && !now.atomic() && !before.expectsWrites();
}

/// The last write, and the last reads of two different waves, of one place of global memory.
struct History {
  Touch write, read, otherRead;
  /// Touch::owner() of the wave that alone has touched the place; 0: none has, kSeveral: more than
  /// one.
  uint32_t owner = 0;
  static constexpr uint32_t kSeveral = ~0u;

  /// Notes an access whose first byte is so many bytes before the place.
  void note(const Touch &now, uint64_t before, bool writes) {
    if (writes) {
      write.set(now, before);
    } else {
      // A read by another workgroup is worth more than one by another wave of this workgroup, which
      // the next barrier orders.
      const bool keepsOther = read.group == now.group && otherRead.group != now.group;
      if (read.group && read.owner() != now.owner() && !(keepsOther && otherRead.group))
        otherRead = read;
      read.set(now, before);
    }
    owner = owner == 0 || owner == now.owner() ? now.owner() : kSeveral;
  }
};

/// The histories of a piece of memory: of its lines as long as accesses cover them wholly, else of
/// parts of a line, of 16 bytes or as many fewer as accesses have asked for.
class Histories {
public:
  static constexpr uint64_t kLine = 128; ///< bytes

  explicit Histories(uint64_t bytes = 0) : lines_((bytes + kLine - 1) / kLine), bytes_(bytes) {}

  uint64_t size() const { return bytes_; }
  /// Calls visit(history, offset, bytes) for each place that overlaps [from, to).
  template <class F> void each(uint64_t from, uint64_t to, F visit) {
    for (uint64_t start = from / kLine * kLine; start < to; start += kLine) {
      Line &line = lines_[start / kLine];
      const uint64_t first = from > start ? from - start : 0,
                     last = to < start + kLine ? to - start : kLine;
      if (!line.parts && first == 0 && last == kLine) {
        visit(line.whole, start, kLine);
        continue;
      }
      // The largest parts that end where the access does. Of a dword, bytes are noted.
      const auto ends = static_cast<unsigned>(std::countr_zero(first | last | 16));
      split(line, ends < 2 ? 0 : ends);
      for (uint64_t part = first >> line.shift; part << line.shift < last; ++part)
        visit(line.parts[part], start + (part << line.shift), uint64_t(1) << line.shift);
    }
  }

  /// Places in a row, of 1 << shift bytes each.
  struct Pieces {
    History *first;
    unsigned shift;
  };
  /// The places of [from, from + bytes), where bytes is a power of two up to 16, and `from` is
  /// a multiple of it.
  Pieces pieces(uint64_t from, unsigned bytes) {
    Line &line = lines_[from / kLine];
    split(line, static_cast<unsigned>(std::countr_zero(bytes)));
    return {line.parts.get() + (from % kLine >> line.shift), line.shift};
  }

  /// The place of [from, from + (1 << shift)), if there is such a place and the wave `owner` alone
  /// has touched it; else null.
  History *placeOf(uint32_t owner, uint64_t from, unsigned shift) {
    Line &line = lines_[from / kLine];
    if (line.shift != shift)
      return nullptr;
    History &h = line.parts[from % kLine >> shift];
    return h.owner == owner ? &h : nullptr;
  }

private:
  static constexpr unsigned kLineShift = std::countr_zero(kLine);
  /// As large as a line of the host's cache.
  struct Line {
    std::unique_ptr<History[]> parts; ///< null as long as `whole` is that of each of them
    History whole;
    unsigned shift = kLineShift; ///< the parts have 1 << shift bytes
  };

  static void split(Line &line, unsigned shift) {
    if (line.shift > shift)
      splitAnew(line, shift);
  }
  static void splitAnew(Line &line, unsigned shift) {
    auto parts = std::make_unique<History[]>(kLine >> shift);
    for (uint64_t at = 0; at < kLine; at += uint64_t(1) << shift) {
      const History &h = !line.parts ? line.whole : line.parts[at >> line.shift];
      const uint64_t inside = at & ((uint64_t(1) << line.shift) - 1);
      parts[at >> shift] = {h.write.later(inside), h.read.later(inside), h.otherRead.later(inside),
                            h.owner};
    }
    line.parts = std::move(parts);
    line.shift = shift;
  }

  std::vector<Line> lines_;
  uint64_t bytes_;
};

} // namespace flyemu
