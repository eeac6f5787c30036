// How many workgroups did something to each cache line of a launch.
#pragma once

#include "emulator/core/line_set.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace flyemu {

/// A count of workgroups for each line number, in arrays of 1 MiB of memory each. A worker has one of its own,
/// because it runs one workgroup at a time.
class LineGroups {
public:
  /// What is added from now on is of another workgroup.
  void nextGroup() { ++group_; }
  /// The workgroup did it to this line, once or several times.
  void add(uint64_t line) {
    Entry &entry = chunks_[line / kLines][line % kLines];
    if (entry.last != group_)
      entry = {.groups = entry.groups + 1, .last = group_};
  }
  /// Adds the workgroups of another worker.
  void add(const LineGroups &o) {
    for (const auto &[chunk, entries] : o.chunks_) {
      Entries &mine = chunks_[chunk];
      for (size_t i = 0; i < entries.size(); ++i)
        mine[i].groups += entries[i].groups;
    }
  }
  /// The count of the line that has the most.
  uint64_t most() const {
    uint32_t most = 0;
    for (const auto &[chunk, entries] : chunks_)
      for (const Entry &entry : entries)
        most = std::max(most, entry.groups);
    return most;
  }

private:
  static constexpr uint64_t kLines = (uint64_t(1) << 20) / kLine;
  struct Entry {
    uint32_t groups = 0, last = 0; ///< last: the workgroup that was counted last
  };
  using Entries = std::array<Entry, kLines>;
  std::unordered_map<uint64_t, Entries> chunks_;
  uint32_t group_ = 0;
};

} // namespace flyemu
