// What counters and checks see of a running launch. Plain runs have no probe, and pay one
// well-predicted branch for each memory instruction.
#pragma once

#include <bit>
#include <cstdint>

namespace flyemu {

struct Wave;
struct Inst;

enum class Space : uint8_t { Global, Lds, Scratch };

struct Probe {
  virtual ~Probe() = default;
  /// Reports one lane's access before it happens. `address` is a host address in Global, and an
  /// offset in Lds and Scratch.
  virtual void access(Wave &, const Inst &, unsigned lane, Space, uint64_t address, unsigned bytes,
                      bool write, bool atomic) = 0;
  /// Reports the accesses of all lanes of `lanes` at once; the address of each is
  /// at[lane] - origin. They lie in one allocation, or in the workgroup's LDS.
  virtual void accessLanes(Wave &w, const Inst &i, uint64_t lanes, Space space, const uint64_t *at,
                           uint64_t origin, unsigned bytes, bool write, bool atomic) {
    for (; lanes; lanes &= lanes - 1) {
      const auto lane = static_cast<unsigned>(std::countr_zero(lanes));
      access(w, i, lane, space, at[lane] - origin, bytes, write, atomic);
    }
  }
  /// All lanes of the current instruction have been reported.
  virtual void accessesDone(Wave &, const Inst &) = 0;
};

} // namespace flyemu
