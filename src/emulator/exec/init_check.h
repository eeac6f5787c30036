// Follows values that nobody has written through a workgroup's vector registers, scratch and LDS.
#pragma once

#include "emulator/exec/group.h"
#include "emulator/exec/probe.h"

#include <functional>
#include <string>
#include <vector>

namespace flyemu {

/// A register's undefined lanes move with it: through arithmetic and scratch. They matter where
/// they become an address or data in memory that others see.
class InitCheck {
public:
  /// Told what is wrong, and the lanes in which it is.
  using Report = std::function<void(const std::string &what, uint64_t lanes)>;

  void beginGroup(const Group &group);
  /// Before the instruction runs.
  void before(const Wave &wave, const Inst &inst, const Report &report);
  /// One lane's access, before it happens.
  void access(const Wave &wave, const Inst &inst, unsigned lane, Space space, uint64_t address,
              unsigned bytes, bool write, bool atomic, const Report &report);

private:
  struct WaveState {
    std::vector<uint64_t> undefined; ///< of each row: lanes without a value
    std::vector<uint64_t> scratch;   ///< likewise of each dword of scratch
  };
  void arithmetic(const Wave &wave, const Inst &inst, WaveState &state);
  void memory(const Wave &wave, const Inst &inst, WaveState &state, const Report &report);

  std::vector<WaveState> waves_;
  std::vector<bool> lds_; ///< bytes that somebody has written
};

} // namespace flyemu
