// The cache lines that the workgroups of a launch have loaded, and which one was the first: what tells whether a
// workgroup that loads a line finds it in the cache in front of memory.
#pragma once

#include "emulator/core/line_set.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace flyemu {

/// The first workgroups by lines; shared by the threads of a launch.
class LaunchLines {
public:
  /// The device runs so many workgroups at a time, and the cache in front of memory has room for so many bytes.
  LaunchLines(uint64_t together, uint64_t bytes) : together_(together), most_(bytes / kLine) {}

  /// The first workgroups of the lines of 1 MiB.
  class Chunk {
  public:
    static constexpr uint64_t kLines = (uint64_t(1) << 20) / kLine;
    Chunk() { first_.fill(kNone); }

  private:
    friend class LaunchLines;
    static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
    std::array<uint32_t, kLines> first_;
  };

  /// What one thread looks in: the chunk that it was given last.
  struct Place {
    uint64_t number = std::numeric_limits<uint64_t>::max();
    Chunk *chunk = nullptr;
  };

  /// A workgroup, by its number, loads a line. Returns whether one of those that had ended when it began has
  /// loaded it, and the cache still has room for all that was loaded since the launch began. Workgroups that run at the
  /// same time wait for memory together.
  bool wasLoaded(uint64_t line, uint64_t group, Place &place) {
    if (lines_.load(std::memory_order_relaxed) > most_)
      return false;
    if (const uint64_t number = line / Chunk::kLines; number != place.number)
      place = {number, chunk(number)};
    std::atomic_ref<uint32_t> first(place.chunk->first_[line % Chunk::kLines]);
    const auto mine = static_cast<uint32_t>(std::min<uint64_t>(group, Chunk::kNone - 1));
    uint32_t seen = first.load(std::memory_order_relaxed);
    const bool isNew = seen == Chunk::kNone;
    if (isNew)
      lines_.fetch_add(1, std::memory_order_relaxed);
    const bool isThere = !isNew && seen + together_ <= group;
    while (mine < seen && !first.compare_exchange_weak(seen, mine, std::memory_order_relaxed))
      ;
    return isThere;
  }

private:
  Chunk *chunk(uint64_t number) {
    std::lock_guard lock(mutex_);
    std::unique_ptr<Chunk> &made = chunks_[number];
    if (!made)
      made = std::make_unique<Chunk>();
    return made.get();
  }

  const uint64_t together_, most_;
  std::atomic<uint64_t> lines_{0}; ///< that were loaded
  std::mutex mutex_;
  std::unordered_map<uint64_t, std::unique_ptr<Chunk>> chunks_;
};

} // namespace flyemu
