// Global memory as the caches of a GPU show it: each keeps what it has read, and some keep what was
// written, until an instruction says otherwise.
//
// The model is LLVM's (AMDGPUUsage, "Memory Model GFX90A", "GFX942", "GFX10-GFX11", "GFX12"; CDNA3
// ISA, tables of BUFFER_WBL2 and BUFFER_INV), with one or two levels of caches:
//
// - The first level belongs to a workgroup's place. On gfx942 and gfx950 it is the L2 of an
//   accelerator die, which keeps what is written; elsewhere it is the vector cache of a compute
//   unit, whose stores go on. Fences of device (agent) scope reach past it.
// - The second level belongs to the device, and keeps what is read and what is written. Only what
//   has system scope reaches past it, to the memory that other devices and the host see. gfx90a and
//   gfx11 do not have it here: their loads and stores of system scope are the same instructions as
//   those of device scope, and what other devices see depends on how the memory was allocated.
//
// Atomic operations are done behind the first level, and behind the second if they have system
// scope; so are loads and stores that have a scope. All caches write back when a launch ends. What
// is not modelled: that a line may leave a cache at any time, and scalar caches, which kernels use
// for what does not change.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"

#include <array>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace flyemu {

/// One cache, before another one or before memory.
class WeakCache {
public:
  /// `behind` is null if memory is behind it.
  explicit WeakCache(WeakCache *behind) : behind_(behind) {}

  /// Where the cache keeps [address, address + bytes) of `range`, which it fetches if it must. What
  /// a caller who writes writes there counts as written at once.
  uint8_t *place(const MemoryRange &range, uint64_t address, uint64_t bytes, bool write);
  /// Gives what was written to what is behind, and goes on keeping it.
  void writeBack();
  /// Forgets what it has read, and keeps what was written.
  void forget();
  /// Writes back and forgets the lines of [address, address + bytes).
  void drop(uint64_t address, uint64_t bytes);
  /// Writes back and forgets everything.
  void clear();

private:
  static constexpr uint64_t kLine = 128;

  /// A copy of an allocation; only lines that are kept have contents.
  struct Copy {
    MemoryRange of;
    uint8_t *bytes = nullptr;
    explicit Copy(const MemoryRange &range);
    ~Copy();
    Copy(const Copy &) = delete;
  };
  struct Line {
    Copy *copy;
    std::array<bool, kLine> dirty = {};
    bool isDirty = false;
  };

  uint8_t *next(const MemoryRange &range, uint64_t address, uint64_t bytes, bool write);
  void writeBack(uint64_t address, Line &line);
  void fetch(uint64_t address, const Line &line);

  WeakCache *const behind_;
  std::map<uint64_t, std::unique_ptr<Copy>> copies_; ///< by the allocation's address
  std::unordered_map<uint64_t, Line> lines_;         ///< by address
};

/// The caches of one device. Launches that run on it at the same time take turns.
class WeakMemory {
public:
  explicit WeakMemory(const Machine &machine);

  /// While it lives, no other launch uses the caches. Who has waited longest comes next.
  class Turn {
  public:
    explicit Turn(WeakMemory &memory);
    ~Turn();
    Turn(const Turn &) = delete;

  private:
    WeakMemory &memory_;
  };

  /// The cache of a workgroup. Workgroups are dealt to the dies in turns, as hardware does.
  unsigned cacheOf(uint64_t workgroup) const { return static_cast<unsigned>(workgroup % kCaches); }
  /// Where `inst` finds [address, address + bytes) of `range`. What it writes there counts as
  /// written at once.
  uint8_t *place(unsigned cache, const MemoryRange &range, uint64_t address, uint32_t bytes,
                 bool write, const Inst &inst, bool atomic);
  /// An instruction that writes back, invalidates, or both.
  void control(unsigned cache, const Inst &inst);
  /// A launch begins: no cache has old values for it.
  void begin();
  /// A launch ends: what it has written is in memory.
  void end();

private:
  static constexpr unsigned kCaches = 8;

  /// How far what an instruction does is seen.
  enum class Scope : uint8_t { Workgroup, Device, System };
  Scope scopeOf(const Inst &inst, bool atomic) const;

  const bool keepsWrites_;       ///< caches of the first level write back
  const bool scoped_;            ///< instructions say by a scope what they reach
  const bool atomicScopeInWide_; ///< kWideScope of an atomic operation means system scope
  WeakCache device_{nullptr};
  std::vector<WeakCache> first_;
  std::mutex mutex_;
  std::condition_variable next_;
  uint64_t waiting_ = 0, served_ = 0; ///< turns that were asked for, and that are over
};

} // namespace flyemu
