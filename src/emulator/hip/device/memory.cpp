#include "emulator/hip/device/memory.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

namespace flyemu::hip {
namespace {

// Between two allocations lie at least this many bytes that belong to neither, so that running past
// an end is seen and does not land in a neighbour.
constexpr uint64_t kRedZone = 4096;
constexpr uint64_t kPageSize = 4096;
constexpr uint64_t kSmallAlignment = 256; // HIP's
constexpr uint64_t kQuarantineLimit = uint64_t(256) << 20;
constexpr unsigned char kFreshPattern = 0xCB;
constexpr unsigned char kFreedPattern = 0xDF;

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof(text), "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

const char *kindName(MemoryKind kind) {
  switch (kind) {
  case MemoryKind::Device:
    return "device memory";
  case MemoryKind::Managed:
    return "managed memory";
  case MemoryKind::Host:
    return "pinned host memory";
  case MemoryKind::Registered:
    return "registered host memory";
  case MemoryKind::Image:
    return "a code object's segment";
  case MemoryKind::KernelHeap:
    return "memory of malloc in kernels";
  case MemoryKind::Imported:
    return "another process's memory, opened";
  }
  return "memory";
}

/// Returns true if memory of this kind belongs to the device and counts toward its size.
bool isDeviceMemory(MemoryKind kind) {
  return kind == MemoryKind::Device || kind == MemoryKind::Managed ||
         kind == MemoryKind::KernelHeap;
}

std::string describeAllocation(const Allocation &allocation) {
  return "allocation " + std::to_string(allocation.serial) + " (" + kindName(allocation.kind) +
         " of device " + std::to_string(allocation.device) + ", " +
         std::to_string(allocation.size) + " bytes at " + hex(allocation.base) + ")";
}

} // namespace

DeviceMemory::DeviceMemory(int devices, uint64_t capacity, bool poison, bool trackWrites)
    : used_(devices), peers_(devices, std::vector<bool>(devices)), capacity_(capacity),
      poison_(poison), trackWrites_(trackWrites) {}

DeviceMemory::~DeviceMemory() {
  for (const auto &[base, block] : blocks_)
    std::free(block.memory);
  for (const Block &block : quarantine_)
    std::free(block.memory);
}

uint64_t DeviceMemory::allocate(MemoryKind kind, int device, uint64_t size, unsigned flags,
                                uint64_t alignment) {
  std::unique_lock lock(mutex_);
  const bool counted = isDeviceMemory(kind);
  if (size > capacity_ || (counted && used_[device] + size > capacity_))
    return 0;
  alignment = std::max(alignment, size >= kPageSize ? kPageSize : kSmallAlignment);
  // The red zone in front is a multiple of the alignment, so that the allocation behind it has it.
  const uint64_t front = std::max(kRedZone, alignment);
  uint64_t bytes = front + (size + alignment - 1) / alignment * alignment + kRedZone;
  bytes = (bytes + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, bytes);
  if (!memory)
    return 0;
  Allocation allocation;
  allocation.base = reinterpret_cast<uint64_t>(memory) + front;
  allocation.size = size;
  allocation.kind = kind;
  allocation.device = device;
  allocation.flags = flags;
  // The host may write to the other kinds by itself.
  if (trackWrites_ && kind == MemoryKind::Device)
    allocation.written = std::make_shared<WrittenBytes>(allocation.base, size);
  if (poison_)
    std::memset(memory, kFreshPattern, bytes);
  if (counted)
    used_[device] += size;
  const uint64_t base = allocation.base;
  blocks_.emplace(base, Block{memory, bytes, enter(std::move(allocation))});
  return base;
}

const Allocation &DeviceMemory::enter(Allocation allocation) {
  allocation.serial = ++serial_;
  const uint64_t base = allocation.base;
  const Allocation &entered = table_.emplace(base, std::move(allocation)).first->second;
  if (onAllocation)
    onAllocation(base, entered.size);
  return entered;
}

bool DeviceMemory::release(uint64_t address, std::initializer_list<MemoryKind> kinds) {
  std::unique_lock lock(mutex_);
  auto it = blocks_.find(address);
  if (it == blocks_.end() ||
      std::find(kinds.begin(), kinds.end(), it->second.allocation.kind) == kinds.end())
    return false;
  Block block = it->second;
  blocks_.erase(it);
  retire(block);
  return true;
}

void DeviceMemory::releaseAll(int device) {
  std::unique_lock lock(mutex_);
  for (auto it = blocks_.begin(); it != blocks_.end();) {
    const Allocation &allocation = it->second.allocation;
    if (allocation.device != device || allocation.kind == MemoryKind::KernelHeap) {
      ++it;
      continue;
    }
    Block block = it->second;
    it = blocks_.erase(it);
    retire(block);
  }
  for (auto it = imports_.begin(); it != imports_.end();)
    if (const uint64_t base = (it++)->first; table_.at(base).device == device)
      forgetImport(base);
}

void DeviceMemory::retire(Block block) {
  const Allocation &allocation = block.allocation;
  table_.erase(allocation.base);
  divided_.erase(allocation.base);
  if (isDeviceMemory(allocation.kind))
    used_[allocation.device] -= allocation.size;
  if (allocation.shared)
    allocation.shared->withdraw();
  if (poison_ && !launches_)
    std::memset(block.memory, kFreedPattern, block.bytes);
  quarantine_.push_back(block);
  quarantineBytes_ += block.bytes;
  trimQuarantine();
}

void DeviceMemory::trimQuarantine() {
  if (launches_)
    return;
  uint64_t limit = poison_ ? kQuarantineLimit : 0;
  while (quarantineBytes_ > limit) {
    quarantineBytes_ -= quarantine_.front().bytes;
    std::free(quarantine_.front().memory);
    quarantine_.pop_front();
  }
}

bool DeviceMemory::add(const Allocation &given) {
  std::unique_lock lock(mutex_);
  auto next = table_.lower_bound(given.base);
  if (next != table_.end() && next->first < given.base + given.size)
    return false;
  if (next != table_.begin()) {
    const Allocation &before = std::prev(next)->second;
    if (before.base + before.size > given.base)
      return false;
  }
  enter(given);
  return true;
}

bool DeviceMemory::remove(uint64_t base, MemoryKind kind) {
  std::unique_lock lock(mutex_);
  auto it = table_.find(base);
  if (it == table_.end() || it->second.kind != kind)
    return false;
  table_.erase(it);
  divided_.erase(base);
  return true;
}

DeviceMemory::Table::const_iterator DeviceMemory::holder(uint64_t address) const {
  auto next = table_.upper_bound(address);
  if (next == table_.begin())
    return table_.end();
  auto it = std::prev(next);
  return address - it->second.base < it->second.size ? it : table_.end();
}

std::optional<Allocation> DeviceMemory::find(uint64_t address) const {
  std::shared_lock lock(mutex_);
  auto it = holder(address);
  if (it == table_.end())
    return std::nullopt;
  return it->second;
}

bool DeviceMemory::covers(uint64_t address, uint64_t size) const {
  std::optional<Allocation> allocation = find(address);
  return allocation && size <= allocation->size - (address - allocation->base);
}

bool DeviceMemory::addSuballocation(uint64_t base, uint64_t size) {
  std::unique_lock lock(mutex_);
  auto it = holder(base);
  if (!size || it == table_.end() || size > it->second.size - (base - it->second.base))
    return false;
  Parts &parts = divided_[it->second.base];
  auto next = parts.lower_bound(base);
  const bool overlaps =
      (next != parts.end() && next->first - base < size) ||
      (next != parts.begin() && base - std::prev(next)->first < std::prev(next)->second);
  return !overlaps && parts.emplace(base, size).second;
}

bool DeviceMemory::removeSuballocation(uint64_t base) {
  std::unique_lock lock(mutex_);
  auto it = holder(base);
  auto divided = it == table_.end() ? divided_.end() : divided_.find(it->second.base);
  if (divided == divided_.end())
    return false;
  auto part = divided->second.find(base);
  if (part == divided->second.end())
    return false;
  if (it->second.written)
    it->second.written->unmark(base, part->second);
  divided->second.erase(part);
  return true;
}

bool DeviceMemory::rangeAt(const Allocation &allocation, uint64_t address,
                           MemoryRange &range) const {
  std::shared_lock lock(mutex_);
  range = {allocation.base, allocation.size, allocation.writable};
  auto divided = divided_.find(allocation.base);
  if (divided == divided_.end())
    return true;
  auto next = divided->second.upper_bound(address);
  if (next == divided->second.begin())
    return false;
  const auto &[base, size] = *std::prev(next);
  range.base = base;
  range.size = size;
  return address - base < size;
}

std::string DeviceMemory::describeGap(const Parts &parts, uint64_t address) {
  const auto next = parts.upper_bound(address);
  auto part = [](const auto &entry) {
    return "the " + std::to_string(entry.second) + " bytes at " + hex(entry.first);
  };
  const char *given = " that the program's allocator gave out of ";
  if (next != parts.begin()) {
    const auto &before = *std::prev(next);
    if (address - before.first < before.second)
      return {};
    return std::to_string(address - before.first - before.second) + " bytes past the end of " +
           part(before) + given;
  }
  if (next != parts.end())
    return std::to_string(next->first - address) + " bytes before " + part(*next) + given;
  return "in nothing" + std::string(given);
}

void DeviceMemory::noteWritten(uint64_t address, uint64_t bytes) const {
  if (!trackWrites_)
    return;
  if (std::optional<Allocation> allocation = find(address); allocation && allocation->written)
    allocation->written->mark(address, bytes);
}

void DeviceMemory::noteCopied(uint64_t target, uint64_t source, uint64_t bytes) const {
  if (!trackWrites_)
    return;
  std::optional<Allocation> from = find(source), to = find(target);
  if (!to || !to->written)
    return;
  if (!from || !from->written || from->written->all(source, bytes))
    return to->written->mark(target, bytes);
  for (uint64_t i = 0; i < bytes; ++i)
    if (from->written->all(source + i, 1))
      to->written->mark(target + i, 1);
    else
      to->written->unmark(target + i, 1);
}

std::string DeviceMemory::describe(uint64_t address) const {
  std::shared_lock lock(mutex_);
  if (auto it = holder(address); it != table_.end()) {
    if (auto divided = divided_.find(it->second.base); divided != divided_.end())
      if (const std::string gap = describeGap(divided->second, address); !gap.empty())
        return hex(address) + " is " + gap + describeAllocation(it->second);
    return hex(address) + " is byte " + std::to_string(address - it->second.base) + " of " +
           describeAllocation(it->second);
  }
  for (auto it = quarantine_.rbegin(); it != quarantine_.rend(); ++it)
    if (address - it->allocation.base < it->allocation.size)
      return hex(address) + " is byte " + std::to_string(address - it->allocation.base) +
             " of a freed " + describeAllocation(it->allocation);
  if (address < kPageSize)
    return hex(address) + " is a null pointer's page";
  // The nearer neighbour, if it is near enough to be what was meant.
  constexpr uint64_t near = uint64_t(1) << 20;
  auto next = table_.lower_bound(address);
  std::string text;
  if (next != table_.begin()) {
    const Allocation &before = std::prev(next)->second;
    uint64_t distance = address - (before.base + before.size);
    if (distance < near)
      return hex(address) + " is " + std::to_string(distance) + " bytes past the end of " +
             describeAllocation(before);
  }
  if (next != table_.end() && next->second.base - address < near)
    return hex(address) + " is " + std::to_string(next->second.base - address) + " bytes before " +
           describeAllocation(next->second);
  return hex(address) + " is in no allocation";
}

uint64_t DeviceMemory::used(int device) const {
  std::shared_lock lock(mutex_);
  return used_[device];
}

bool DeviceMemory::enablePeer(int device, int peer) {
  std::unique_lock lock(mutex_);
  if (peers_[device][peer])
    return false;
  peers_[device][peer] = true;
  return true;
}

bool DeviceMemory::disablePeer(int device, int peer) {
  std::unique_lock lock(mutex_);
  if (!peers_[device][peer])
    return false;
  peers_[device][peer] = false;
  return true;
}

bool DeviceMemory::canAccess(int device, const Allocation &allocation) const {
  if (allocation.kind != MemoryKind::Device && allocation.kind != MemoryKind::Image &&
      allocation.kind != MemoryKind::KernelHeap && allocation.kind != MemoryKind::Imported)
    return true;
  std::shared_lock lock(mutex_);
  return allocation.device == device || peers_[device][allocation.device];
}

void DeviceMemory::beginLaunch() {
  std::unique_lock lock(mutex_);
  ++launches_;
}

void DeviceMemory::endLaunch() {
  std::unique_lock lock(mutex_);
  --launches_;
  trimQuarantine();
}

LaunchMemory::LaunchMemory(DeviceMemory &space, int device) : space_(space), device_(device) {
  space_.beginLaunch();
}

LaunchMemory::~LaunchMemory() { space_.endLaunch(); }

bool LaunchMemory::find(uint64_t address, MemoryRange &range) const {
  for (const MemoryRange &own : own_)
    if (own.contains(address, 1)) {
      range = own;
      return true;
    }
  std::optional<Allocation> allocation = space_.find(address);
  if (!allocation || !space_.canAccess(device_, *allocation))
    return false;
  if (allocation->shared && allocation->shared->isFreed())
    return false;
  return space_.rangeAt(*allocation, address, range);
}

std::shared_ptr<WrittenBytes> LaunchMemory::written(uint64_t address) const {
  std::optional<Allocation> allocation = space_.find(address);
  return allocation ? allocation->written : nullptr;
}

std::string LaunchMemory::describe(uint64_t address) const {
  std::optional<Allocation> allocation = space_.find(address);
  std::string text = space_.describe(address);
  for (const Hole &hole : holes_)
    if (address - hole.base < hole.size)
      text += (hole.base ? ": " : ", ") + hole.text;
  if (allocation && !space_.canAccess(device_, *allocation))
    text += ", and device " + std::to_string(device_) + " has no peer access to it";
  if (allocation && allocation->shared && allocation->shared->isFreed())
    text += ", and process " + std::to_string(allocation->shared->owner()) + " has freed it";
  return text;
}

} // namespace flyemu::hip
