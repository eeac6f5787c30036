// Global memory as the caches of a GPU show it: each keeps what it has read, and some keep what was
// written, until an instruction says otherwise.
//
// The model is LLVM's (AMDGPUUsage, "Memory Model GFX90A", "GFX942", "GFX10-GFX11", "GFX12"; CDNA3
// ISA, tables of BUFFER_WBL2 and BUFFER_INV), with one cache for each workgroup's place:
//
// - gfx942 and gfx950: the L2 of an accelerator die. Loads and stores without device scope go
//   through it; it writes back at BUFFER_WBL2 and forgets at BUFFER_INV, both with SC1.
// - Others: the vector cache of a compute unit. Stores go on to memory; loads without device scope
//   read what is kept, until an invalidation.
//
// Atomic operations, and loads and stores of device or system scope, are done in memory. All
// caches write back when the launch ends. What is not modelled: that a line may leave a cache at any
// time, that several levels of caches stand behind each other, and scalar caches, which kernels use
// for what does not change.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/core/program.h"

#include <array>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace flyemu {

/// The caches of one launch, whose workgroups all run on one thread.
class WeakMemory {
public:
  explicit WeakMemory(const Program &program);
  ~WeakMemory();

  /// The cache of a workgroup. Workgroups are dealt to the dies in turns, as hardware does.
  unsigned cacheOf(uint64_t workgroup) const { return static_cast<unsigned>(workgroup % kCaches); }
  /// Where `inst` finds [address, address + bytes) of `range`. What it writes there counts as
  /// written at once.
  uint8_t *place(unsigned cache, const MemoryRange &range, uint64_t address, uint32_t bytes,
                 bool write, const Inst &inst);
  /// An instruction that writes back, invalidates, or both.
  void control(unsigned cache, const Inst &inst);
  /// All caches write back.
  void end();

private:
  static constexpr unsigned kCaches = 8;
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
  struct Cache {
    std::map<uint64_t, std::unique_ptr<Copy>> copies; ///< by the allocation's address
    std::unordered_map<uint64_t, Line> lines;         ///< by address
  };

  static void writeBack(uint64_t address, Line &line);
  static void fetch(uint64_t address, const Line &line);

  const Program &program_;
  const bool keepsWrites_; ///< the caches write back
  const bool scoped_;      ///< cache control says by a scope what it reaches
  std::array<Cache, kCaches> caches_;
};

} // namespace flyemu
