// What the checks of one launch have found, over all its threads.
#pragma once

#include "emulator/core/dispatch.h"
#include "emulator/core/group.h"
#include "emulator/observe/races/touch.h"

#include <mutex>
#include <set>

namespace flyemu {

/// "+0x40 ds_write_b32 v1, v2 (file.cpp:7)", of the instruction at an index of a kernel's program.
std::string placeText(const KernelCode &kernel, size_t index);

class Findings {
public:
  Findings(const KernelCode &kernel, const MemoryMap &memory) : kernel_(kernel), memory_(memory) {}

  /// The number of a workgroup that starts, from 1.
  uint32_t beginGroup(const Group &group);

  /// Notes a finding: what, the instruction, its wave, and its lanes (0: the whole wave).
  /// One is kept for each pair of instruction and kind: loops and lanes repeat it.
  void add(Check check, const std::string &what, const Wave &wave, const Inst &inst,
           uint64_t lanes);

  /// "workgroup (1, 0, 0), wave 2, lane 5, at +0x40 ds_write_b32 v1, v2 (file.cpp:7)".
  std::string who(const Touch &touch) const;
  /// "+0x40 ds_write_b32 v1, v2 (file.cpp:7)".
  std::string place(const Inst &inst) const;
  std::string place(size_t index) const;
  /// "file.cpp:7", or nothing where the code object has no line tables.
  std::string line(const Inst &inst) const;
  std::string describe(uint64_t address) const { return memory_.describe(address); }
  const Program &program() const { return *kernel_.program; }

  std::vector<Finding> take();

private:
  static constexpr size_t kMost = 64;
  const KernelCode &kernel_;
  const MemoryMap &memory_;
  mutable std::mutex mutex_;
  std::vector<std::array<uint32_t, 3>> groups_; ///< by number - 1
  std::set<std::pair<Check, const Inst *>> reported_;
  std::vector<Finding> findings_;
};

} // namespace flyemu
