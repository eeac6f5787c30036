// The harness of the tests of instructions: it runs a few instructions on one wave and reads its
// registers.
#pragma once

#include "emulator/core/dispatch.h"

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace flyemu::test {

using Lanes = std::array<uint32_t, 64>;

/// Lane i has first + i * step.
inline Lanes iota(uint32_t first, uint32_t step = 1) {
  Lanes l;
  for (unsigned i = 0; i < 64; ++i)
    l[i] = first + i * step;
  return l;
}

/// What the tested code starts from and what it leaves. Vector registers are v0 to v31; v40 and up
/// and s40 and up are the harness's.
struct WaveRun {
  explicit WaveRun(std::string cpu = "gfx942") : target(std::move(cpu)) {}

  std::string target;
  std::map<unsigned, Lanes> v;    ///< initial vector registers
  std::map<unsigned, uint32_t> s; ///< initial scalar registers, s8 to s39
  uint64_t exec = ~uint64_t(0);   ///< EXEC while the code runs
  uint64_t vcc = 0;
  uint32_t lds = 0;                   ///< bytes of LDS
  std::vector<unsigned> readV, readS; ///< registers to read afterwards
  uint32_t mode = 0xf0;               ///< FP_ROUND, FP_DENORM, and from bit 8 DX10_CLAMP and IEEE
  unsigned checks = 0;                ///< Options::checks
  bool landLate = false;              ///< Options::landLate
  Order order;
  uint32_t slice = kDefaultSlice; ///< Options::slice
  bool counters = false;
  std::array<uint32_t, 3> grid = {1, 1, 1};    ///< workgroups; all run the code
  std::array<uint32_t, 3> cluster = {1, 1, 1}; ///< workgroups of a cluster
  unsigned namedBarriers = 0;                  ///< of gfx1250; a multiple of four
  unsigned waves = 1; ///< of the workgroup; all run the code, the last one stores registers
  std::vector<uint8_t> memory; ///< mapped; its address is in s[2:3] while the code runs

  std::map<unsigned, Lanes> outV;
  std::map<unsigned, uint32_t> outS;
  uint64_t outVcc = 0, outExec = 0;
  uint32_t outScc = 0;
  DispatchResult result;

  /// Assembles and runs `text`; fails the test if the wave faults, unless `mayFault`.
  void run(const std::string &text, bool mayFault = false);
};

/// The memory of a test: the ranges that were added.
class TestMemory : public MemoryMap {
public:
  void add(const void *p, uint64_t bytes, bool writable = true) {
    ranges.push_back({reinterpret_cast<uint64_t>(p), bytes, writable});
  }
  bool find(uint64_t address, MemoryRange &range) const override {
    for (const MemoryRange &r : ranges)
      if (r.contains(address, 1)) {
        range = r;
        return true;
      }
    return false;
  }

private:
  std::vector<MemoryRange> ranges;
};

} // namespace flyemu::test
