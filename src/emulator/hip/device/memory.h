// The address space that all devices share: a device address is a host address, and a sorted table
// knows every allocation. Host calls check their pointers against it, and running waves theirs.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/core/written_bytes.h"
#include "emulator/hip/device/shared_memory.h"

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <vector>

namespace flyemu::hip {

enum class MemoryKind {
  Device,     ///< hipMalloc
  Managed,    ///< hipMallocManaged
  Host,       ///< hipHostMalloc: pinned, every device sees it
  Registered, ///< hipHostRegister: the caller's own memory
  Image,      ///< a loaded code object's segment
  KernelHeap, ///< what malloc in kernels stands on
  Imported,   ///< hipIpcOpenMemHandle: memory of another process's device
};

struct Allocation {
  uint64_t base = 0;
  uint64_t size = 0; ///< bytes asked for
  MemoryKind kind = MemoryKind::Device;
  int device = 0; ///< the owner, or the device that was current
  unsigned flags = 0;
  bool writable = true;
  uint64_t serial = 0;                   ///< counts allocations, for messages
  std::shared_ptr<WrittenBytes> written; ///< where the init check is on, of device memory
  std::shared_ptr<SharedMemory> shared;  ///< where other processes can have the memory, too
};

class DeviceMemory {
public:
  /// \p capacity: bytes of one device's memory. \p poison: fill new and freed memory with a
  /// pattern, and keep freed blocks unused for as long as the quarantine's size allows.
  /// \p trackWrites: remember which bytes of device memory somebody has written.
  DeviceMemory(int devices, uint64_t capacity, bool poison, bool trackWrites = false);
  DeviceMemory(const DeviceMemory &) = delete;
  ~DeviceMemory();

  /// Allocates \p size > 0 bytes, 256-byte aligned (page-aligned from a page on), or to
  /// \p alignment, a power of two, where that is more. Returns 0 when the device's memory or the
  /// host's does not suffice.
  uint64_t allocate(MemoryKind kind, int device, uint64_t size, unsigned flags,
                    uint64_t alignment = 0);
  /// Frees what allocate() gave, if \p address is its base and the kind matches; else returns
  /// false.
  bool release(uint64_t address, std::initializer_list<MemoryKind> kinds);
  /// Frees all memory of \p device but the heap of its kernels, which modules may point into.
  void releaseAll(int device);

  /// Adds memory that somebody else owns; false when it overlaps something known.
  bool add(const Allocation &allocation);
  /// Forgets memory that was added by add().
  bool remove(uint64_t base, MemoryKind kind);

  /// Makes memory of hipMalloc such that other processes can have it, and returns what they ask for
  /// it by; null if none begins at \p address. No operation may be under way. What other processes
  /// write is not seen here, so from then on all of its bytes count as written.
  std::shared_ptr<SharedMemory> share(uint64_t address);
  /// Memory of another process as memory of \p device. Returns where it is, which is the same place
  /// if it is here already; release it as often by closeImport().
  uint64_t import(std::shared_ptr<SharedMemory> shared, int device);
  /// Returns false if no imported memory begins at \p address.
  bool closeImport(uint64_t address);

  std::optional<Allocation> find(uint64_t address) const;
  /// Whether [address, address + size) lies in one allocation.
  bool covers(uint64_t address, uint64_t size) const;
  /// A sentence on what is at or near an address.
  std::string describe(uint64_t address) const;

  /// Calls visit() for each allocation, also a freed one whose memory is kept, that overlaps
  /// [from, to).
  template <class F> void eachIn(uint64_t from, uint64_t to, F visit) const {
    std::shared_lock lock(mutex_);
    auto it = table_.lower_bound(from);
    if (it != table_.begin() && std::prev(it)->second.base + std::prev(it)->second.size > from)
      --it;
    for (; it != table_.end() && it->first < to; ++it)
      visit(it->second);
    for (const Block &block : quarantine_)
      if (block.allocation.base < to && block.allocation.base + block.allocation.size > from)
        visit(block.allocation);
  }
  /// Notes that a program's own allocator gave out [base, base + size) of an allocation. From then on
  /// kernels may touch of that allocation what it gave out, and no more. Returns false if no
  /// allocation holds the bytes, or some of them are given out already.
  bool addSuballocation(uint64_t base, uint64_t size);
  /// Takes back what begins at \p base. Its bytes count as unwritten again. Returns false if nothing
  /// that was given out begins there.
  bool removeSuballocation(uint64_t base);
  /// What kernels may touch around an address of \p allocation: the allocation or, if a program has
  /// divided it, the part that holds the address. Returns false if it lies between the parts.
  bool rangeAt(const Allocation &allocation, uint64_t address, MemoryRange &range) const;

  /// The host wrote [address, address + bytes).
  void noteWritten(uint64_t address, uint64_t bytes) const;
  /// The host copied bytes between two places. Bytes that were not written stay unwritten in the
  /// copy.
  void noteCopied(uint64_t target, uint64_t source, uint64_t bytes) const;

  uint64_t capacity() const { return capacity_; }
  uint64_t used(int device) const;

  /// Allows the kernels of \p device to touch memory of \p peer; false when that is already so.
  bool enablePeer(int device, int peer);
  bool disablePeer(int device, int peer);
  bool canAccess(int device, const Allocation &allocation) const;

  /// Is called with the memory of each new allocation. Set once, before there is any.
  std::function<void(uint64_t base, uint64_t bytes)> onAllocation;

  /// While a launch runs, freed blocks stay mapped.
  void beginLaunch();
  void endLaunch();

private:
  struct Block {
    void *memory;
    uint64_t bytes;
    Allocation allocation;
  };
  using Table = std::map<uint64_t, Allocation>;
  using Parts = std::map<uint64_t, uint64_t>; ///< sizes of suballocations, by where they begin

  /// Where an address lies among the parts of its allocation, if they do not hold it.
  static std::string describeGap(const Parts &parts, uint64_t address);
  Table::const_iterator holder(uint64_t address) const;
  /// Puts an allocation into the table, under the next serial number, and tells of it.
  const Allocation &enter(Allocation allocation);
  void retire(Block block);
  void forgetImport(uint64_t base);
  void trimQuarantine();

  mutable std::shared_mutex mutex_;
  Table table_;
  std::map<uint64_t, Block> blocks_;     ///< by base, for what allocate() made
  std::map<uint64_t, Parts> divided_;    ///< by base, of the allocations that programs have divided
  std::map<uint64_t, unsigned> imports_; ///< how often each was opened, by base
  std::deque<Block> quarantine_;
  uint64_t quarantineBytes_ = 0;
  std::vector<uint64_t> used_;
  std::vector<std::vector<bool>> peers_;
  uint64_t capacity_;
  bool poison_;
  bool trackWrites_;
  uint64_t serial_ = 0;
  unsigned launches_ = 0;
};

/// What one launch on a device may touch: the device's view of the address space, and ranges that
/// live for the launch alone (its kernarg segment).
class LaunchMemory : public MemoryMap {
public:
  LaunchMemory(DeviceMemory &space, int device);
  ~LaunchMemory() override;
  void addRange(const MemoryRange &range) { own_.push_back(range); }
  /// Declares addresses that nobody may touch. \p text ends the sentence of a message about one of
  /// them.
  void addHole(uint64_t base, uint64_t size, std::string text) {
    holes_.push_back({base, size, std::move(text)});
  }

  bool find(uint64_t address, MemoryRange &range) const override;
  std::string describe(uint64_t address) const override;
  std::shared_ptr<WrittenBytes> written(uint64_t address) const override;

private:
  DeviceMemory &space_;
  int device_;
  struct Hole {
    uint64_t base, size;
    std::string text;
  };
  std::vector<MemoryRange> own_;
  std::vector<Hole> holes_;
};

} // namespace flyemu::hip
