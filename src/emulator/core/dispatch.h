// A launch as plain values: the kernel, its geometry and options, and what came of it.
#pragma once

#include "emulator/core/checks.h"
#include "emulator/core/counters.h"
#include "emulator/core/line_groups.h"
#include "emulator/core/line_set.h"
#include "emulator/core/memory_map.h"
#include "emulator/core/order.h"
#include "emulator/core/products.h"
#include "emulator/core/sampled_touches.h"
#include "emulator/core/timeline_event.h"
#include "emulator/core/wave.h"
#include "emulator/isa/kernel_descriptor.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace flyemu {

class TouchedBytes;
class Watch;

/// The pre-decoded instructions of one executable segment. Immutable; shared by launches and
/// threads.
class Program;

/// One kernel, ready to be launched.
struct KernelCode {
  std::string name;
  std::shared_ptr<const Program> program;
  KernelDescriptor descriptor;
  uint64_t entry = 0; ///< host address of the first instruction: descriptor's address + entryOffset
  /// Gives "file:line" of the instruction at a host address, or an empty string. Used in messages;
  /// may be null.
  std::function<std::string(uint64_t address)> source;

  /// How far an instruction is from the kernel's first one: "+0x40", or "-0x40" in a function that
  /// stands before the kernel.
  std::string offsetText(uint64_t address) const;
};

/// Workgroups that are in execution at a time where the caller sets no limit.
constexpr uint64_t kDefaultResidentGroups = 1024;

/// Instructions of a wave before its neighbours get their turn, where the caller says nothing.
constexpr uint32_t kDefaultSlice = 1 << 16;

/// One launch. All addresses are host addresses.
struct Dispatch {
  const KernelCode *kernel = nullptr;
  std::array<uint32_t, 3> grid = {1, 1, 1};  ///< workgroups along x, y, z
  std::array<uint32_t, 3> block = {1, 1, 1}; ///< work-items of a workgroup along x, y, z
  /// Workgroups of a cluster along x, y, z, by which the grid divides; more than one where the target
  /// has clusters.
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  uint32_t dynamicLds = 0;  ///< bytes beyond the descriptor's static size
  uint64_t kernarg = 0;     ///< the kernarg segment, hidden arguments filled in
  uint32_t kernargSize = 0; ///< bytes; the segment must be part of the memory map
  uint64_t dispatchPacket =
      0; ///< an hsa_kernel_dispatch_packet_t in mapped memory; 0: one is made for the launch
  uint64_t queue = 0; ///< what the kernel sees as its queue pointer; 0 if there is none
  uint64_t dispatchId = 0;
  /// The most workgroups in execution at a time; 0: kDefaultResidentGroups. Workgroups that wait
  /// for others in a loop take turns with them up to this number.
  uint64_t residentGroups = 0;
  bool cooperative = false; ///< all workgroups are in execution together and share a barrier
};

struct Options {
  unsigned threads = 0; ///< 0: as many as the machine has
  uint64_t instructionLimit = uint64_t(1)
                              << 36; ///< wave instructions of one wave before it counts as endless
  Order order;                       ///< of workgroups and waves
  uint32_t slice = kDefaultSlice; ///< instructions of a wave before its neighbours get their turn
  /// The time after which a launch counts as endless; zero: none.
  std::chrono::nanoseconds timeLimit{0};
  /// Called once, when the launch has run for `noticeAfter` or half of its limit, with a sentence
  /// that says so and where one of its waves is. May be empty.
  std::function<void(const std::string &)> notice;
  std::chrono::nanoseconds noticeAfter = std::chrono::seconds(10);
  unsigned checks = kCheckNone;
  /// Loads land where a wait instruction lets them end, not when they are issued. Until then
  /// their registers and LDS bytes hold no value (WaitCheck::kPoison).
  bool landLate = false;
  bool counters = false;
  /// Accelerator dies of the device, to which workgroups go in turn; 0: of the default product.
  unsigned dies = 0;
  /// Cycles from a load to its data in memory, for the estimate; 0: of the default product.
  unsigned memoryLatency = 0;
  /// The same, where the cache in front of memory has them, and that cache's bytes; 0: there is none.
  unsigned lastLevelLatency = 0;
  uint64_t lastLevelBytes = 0;
  uint64_t timelineGroups = 0; ///< of so many workgroups, from the first on, the timeline is kept
  /// The caches before global memory, which keep what they have read and written; launches of one
  /// device share them. They force one thread. Null: memory is coherent.
  WeakMemory *weakMemory = nullptr;
  Products products = Products::Exact; ///< of matrix instructions
  /// The memory through which waves and the host exchange the requests that `serve` answers. The
  /// device libraries synchronize it themselves, so the race check leaves it out.
  MemoryRange exchange;
  /// Gets what the launch touches of global memory, but for `exchange`, if the check of streams is
  /// on. May be null.
  TouchedBytes *touched = nullptr;
  /// Answers the requests of waves that wait for the host (printf, malloc). Each thread of the
  /// launch calls it after every turn of a workgroup, so that no wave waits for ever. It returns
  /// whether it has answered anything, and throws WaveFault to end the launch. May be empty.
  std::function<bool()> serve;
  /// Returns true if the launch shall end early, which its result then reports as a fault. Any
  /// thread calls it from time to time. May be empty.
  std::function<bool()> abandon;
  /// Called with each executed instruction's text (one line, no newline) when set; forces one
  /// thread.
  std::function<void(const std::string &)> trace;
};

/// Where and why a launch stopped.
struct Fault {
  FaultKind kind = FaultKind::Kernel;
  std::string message; ///< complete, for people: what, kernel, pc, instruction, lane, address
  std::string kernel;
  std::string instruction; ///< disassembled; empty if it could not be
  std::string source;      ///< "file:line" where debug information is there
  uint64_t pc = 0;         ///< host address of the instruction
  int lane = -1;           ///< -1: the whole wave
  uint64_t address = 0;    ///< the address that was touched, if the fault is about one
  std::array<uint32_t, 3> workgroup = {0, 0, 0};
  uint32_t wave = 0; ///< within the workgroup
};

/// What a check found without stopping the launch.
struct Finding {
  Check check = kCheckNone;
  std::string message;
};

struct DispatchResult {
  bool ok = true;
  Fault fault; ///< meaningful if !ok
  std::vector<Finding> findings;
  Counters counters; ///< meaningful if Options::counters, as are these two:
  Timing timing;
  std::vector<TimelineEvent> timeline; ///< of the workgroups that Options::timelineGroups says
  LineSet linesRead, linesWritten;     ///< the cache lines of global memory
  LineSet linesKept;                   ///< of those read: by at least one load that keeps them
  LineGroups atomics;                  ///< whose atomic instructions touched them
  TouchSample sample;                  ///< of them, for the estimate's caches
};

/// Runs a launch to its end or its first fault. Blocks; safe to call from several threads at
/// once. Never throws on a kernel's mistakes and never crashes on them: they are the result's
/// fault. Geometry that the target cannot launch (a zero, more work-items in a workgroup or more
/// LDS than the target allows) is a fault too. `watch` is null if nobody watches: then
/// Options::checks, landLate, counters and trace have no effect (runDispatch in
/// observe/run_dispatch.h makes one as they ask).
DispatchResult runLaunch(const Dispatch &dispatch, const MemoryMap &memory, const Options &options,
                         Watch *watch);

} // namespace flyemu
