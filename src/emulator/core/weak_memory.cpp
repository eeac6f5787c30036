#include "emulator/core/weak_memory.h"

#include "emulator/core/program_moves.h"
#include "emulator/core/wave.h"
#include "emulator/isa/op.h"

#include <algorithm>
#include <sys/mman.h>

namespace flyemu {

namespace {

/// Calls \p move with the first byte and the number of each run of bytes of [begin, end) of a line whose
/// \p dirty is \p value.
template <class Dirty, class Move>
void forRuns(const Dirty &dirty, bool value, uint64_t begin, uint64_t end, const Move &move) {
  const auto last = dirty.begin() + static_cast<std::ptrdiff_t>(end);
  auto from = std::find(dirty.begin() + static_cast<std::ptrdiff_t>(begin), last, value);
  while (from != last) {
    const auto to = std::find(from, last, !value);
    move(static_cast<uint64_t>(from - dirty.begin()), static_cast<uint64_t>(to - from));
    from = std::find(to, last, value);
  }
}

} // namespace

WeakCache::Copy::Copy(const MemoryRange &range) : of(range) {
  void *p = mmap(nullptr, range.size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw WaveFault{"no room for a cache's copy of an allocation of " + std::to_string(range.size) +
                    " bytes"};
  bytes = static_cast<uint8_t *>(p);
}
WeakCache::Copy::~Copy() { munmap(bytes, of.size); }

/// The same bytes behind this cache.
uint8_t *WeakCache::next(const MemoryRange &range, uint64_t address, uint64_t bytes, bool write) {
  return behind_ ? behind_->place(range, address, bytes, write)
                 : reinterpret_cast<uint8_t *>(address);
}

void WeakCache::writeBack(uint64_t address, Line &line) {
  if (!line.isDirty)
    return;
  const MemoryRange &of = line.copy->of;
  forRuns(line.dirty, true, 0, kLine, [&](uint64_t from, uint64_t bytes) {
    const uint64_t at = address + from;
    moveForProgram(next(of, at, bytes, true), line.copy->bytes + (at - of.base), bytes);
  });
  line.dirty = {};
  line.isDirty = false;
}

/// Reads the bytes of a line that was never written in the cache.
void WeakCache::fetch(uint64_t address, const Line &line) {
  const MemoryRange &of = line.copy->of;
  const uint64_t from = std::max(address, of.base),
                 to = std::min(address + kLine, of.base + of.size);
  const uint8_t *source = next(of, from, to - from, false);
  forRuns(line.dirty, false, from - address, to - address, [&](uint64_t run, uint64_t bytes) {
    const uint64_t at = address + run;
    moveForProgram(line.copy->bytes + (at - of.base), source + (at - from), bytes);
  });
}

uint8_t *WeakCache::place(const MemoryRange &range, uint64_t address, uint64_t bytes, bool write) {
  std::unique_ptr<Copy> &copy = copies_[range.base];
  if (!copy)
    copy = std::make_unique<Copy>(range);
  for (uint64_t at = address / kLine * kLine; at < address + bytes; at += kLine) {
    auto [line, fresh] = lines_.try_emplace(at, Line{copy.get()});
    if (fresh)
      fetch(at, line->second);
    if (!write)
      continue;
    line->second.isDirty = true;
    for (uint64_t k = std::max(at, address); k < std::min(at + kLine, address + bytes); ++k)
      line->second.dirty[k - at] = true;
  }
  return copy->bytes + (address - range.base);
}

void WeakCache::writeBack() {
  for (auto &[address, line] : lines_)
    writeBack(address, line);
}

void WeakCache::forget() {
  for (auto line = lines_.begin(); line != lines_.end();) {
    if (line->second.isDirty)
      fetch(line->first, line->second);
    line = line->second.isDirty ? std::next(line) : lines_.erase(line);
  }
}

void WeakCache::drop(uint64_t address, uint64_t bytes) {
  for (uint64_t at = address / kLine * kLine; at < address + bytes; at += kLine)
    if (auto line = lines_.find(at); line != lines_.end()) {
      writeBack(at, line->second);
      lines_.erase(line);
    }
}

void WeakCache::clear() {
  writeBack();
  lines_.clear();
  copies_.clear();
}

WeakMemory::Turn::Turn(WeakMemory &memory) : memory_(memory) {
  std::unique_lock lock(memory_.mutex_);
  const uint64_t own = memory_.waiting_++;
  memory_.next_.wait(lock, [&] { return memory_.served_ == own; });
}
WeakMemory::Turn::~Turn() {
  {
    std::lock_guard lock(memory_.mutex_);
    ++memory_.served_;
  }
  memory_.next_.notify_all();
}

namespace {
/// Whether system scope is told apart from device scope by the instructions.
bool hasSystemScope(const Machine &machine) {
  return machine.encoding == Encoding::Gfx12 ||
         (machine.encoding == Encoding::Gfx9 && machine.processor->family != flydsl::Family::cdna2);
}
} // namespace

WeakMemory::WeakMemory(const Machine &machine)
    : keepsWrites_(machine.product().dies > 1), scoped_(hasSystemScope(machine)),
      atomicScopeInWide_(machine.encoding == Encoding::Gfx9) {
  first_.reserve(kCaches);
  for (unsigned i = 0; i < kCaches; ++i)
    first_.emplace_back(scoped_ ? &device_ : nullptr);
}

WeakMemory::Scope WeakMemory::scopeOf(const Inst &inst, bool atomic) const {
  if (inst.enc == Enc::Smem || (!scoped_ && (atomic || inst.flags & kWideScope)))
    return Scope::System;
  if (inst.flags & kSystemScope || (atomic && atomicScopeInWide_ && inst.flags & kWideScope))
    return Scope::System;
  return atomic || inst.flags & kWideScope ? Scope::Device : Scope::Workgroup;
}

uint8_t *WeakMemory::place(unsigned number, const MemoryRange &range, uint64_t address,
                           uint32_t bytes, bool write, const Inst &inst, bool atomic) {
  const Scope scope = scopeOf(inst, atomic);
  WeakCache &cache = first_[number];
  if (scope == Scope::Workgroup && (!write || keepsWrites_))
    return cache.place(range, address, bytes, write);
  cache.drop(address, bytes);
  if (scoped_ && scope != Scope::System)
    return device_.place(range, address, bytes, write);
  device_.drop(address, bytes);
  return reinterpret_cast<uint8_t *>(address);
}

void WeakMemory::control(unsigned number, const Inst &inst) {
  if (scoped_ && !(inst.flags & kWideScope))
    return; // it reaches no further than the workgroup
  const bool system = inst.flags & kSystemScope;
  if (inst.op->has(Trait::WritesBack)) {
    first_[number].writeBack();
    if (system)
      device_.writeBack();
  }
  if (inst.op->has(Trait::Invalidates)) {
    if (system)
      device_.forget();
    first_[number].forget();
  }
}

void WeakMemory::begin() {
  const Turn turn(*this);
  device_.forget();
  for (WeakCache &cache : first_)
    cache.forget();
}

void WeakMemory::end() {
  const Turn turn(*this);
  for (WeakCache &cache : first_)
    cache.clear();
  device_.clear();
}

} // namespace flyemu
