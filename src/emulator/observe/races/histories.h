// What a race check of global memory remembers of each place.
#pragma once

#include "emulator/observe/races/touch.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace flyemu {

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

  explicit Histories(uint64_t bytes = 0)
      : lines_((bytes + kLine - 1) / kLine), memory_(lines_.size() * sizeof(Line)) {}
  /// What packed() has written, of a piece of so many bytes.
  Histories(uint64_t bytes, const std::vector<std::byte> &packed);

  /// The bytes of the host's memory that they take.
  size_t memory() const { return memory_; }
  /// The histories in few bytes, a fiftieth and less for places in a row that are touched alike.
  std::vector<std::byte> packed() const;

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

  static size_t partsOf(unsigned shift) { return shift < kLineShift ? kLine >> shift : 0; }
  /// Calls visit(history) for each place.
  template <class Lines, class F> static void eachPlace(Lines &lines, F visit) {
    for (auto &line : lines)
      if (!line.parts)
        visit(line.whole);
      else
        for (size_t part = 0; part < partsOf(line.shift); ++part)
          visit(line.parts[part]);
  }

  void split(Line &line, unsigned shift) {
    if (line.shift > shift)
      splitAnew(line, shift);
  }
  void splitAnew(Line &line, unsigned shift) {
    auto parts = std::make_unique<History[]>(partsOf(shift));
    memory_ += (partsOf(shift) - partsOf(line.shift)) * sizeof(History);
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
  size_t memory_;
};

} // namespace flyemu
