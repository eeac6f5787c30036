#include "emulator/core/weak_memory.h"

#include "emulator/core/wave.h"
#include "emulator/isa/op.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>

namespace flyemu {

WeakMemory::Copy::Copy(const MemoryRange &range) : of(range) {
  void *p = mmap(nullptr, range.size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED)
    throw WaveFault{"no room for a cache's copy of an allocation of " + std::to_string(range.size) +
                    " bytes"};
  bytes = static_cast<uint8_t *>(p);
}
WeakMemory::Copy::~Copy() { munmap(bytes, of.size); }

WeakMemory::WeakMemory(const Program &program)
    : program_(program), keepsWrites_(program.target->dies > 1),
      scoped_(program.target->encoding == Encoding::Gfx12 ||
              (program.target->encoding == Encoding::Gfx9 &&
               program.target->processor->family != flydsl::Family::cdna2)) {}
WeakMemory::~WeakMemory() = default;

void WeakMemory::writeBack(uint64_t address, Line &line) {
  if (!line.isDirty)
    return;
  const MemoryRange &of = line.copy->of;
  for (uint64_t k = 0; k < kLine; ++k)
    if (line.dirty[k])
      *reinterpret_cast<uint8_t *>(address + k) = line.copy->bytes[address + k - of.base];
  line.dirty = {};
  line.isDirty = false;
}

/// Reads the bytes of a line that nobody has written in the cache.
void WeakMemory::fetch(uint64_t address, const Line &line) {
  const MemoryRange &of = line.copy->of;
  for (uint64_t at = std::max(address, of.base); at < std::min(address + kLine, of.base + of.size);
       ++at)
    if (!line.dirty[at - address])
      line.copy->bytes[at - of.base] = *reinterpret_cast<const uint8_t *>(at);
}

uint8_t *WeakMemory::place(unsigned number, const MemoryRange &range, uint64_t address,
                           uint32_t bytes, bool write, const Inst &inst) {
  Cache &cache = caches_[number];
  const bool direct = inst.enc == Enc::Smem || inst.flags & kWideScope || program_.isAtomic(inst) ||
                      (write && !keepsWrites_);
  const uint64_t first = address / kLine * kLine;
  if (direct) {
    for (uint64_t at = first; at < address + bytes; at += kLine)
      if (auto line = cache.lines.find(at); line != cache.lines.end()) {
        writeBack(at, line->second);
        cache.lines.erase(line);
      }
    return reinterpret_cast<uint8_t *>(address);
  }
  std::unique_ptr<Copy> &copy = cache.copies[range.base];
  if (!copy)
    copy = std::make_unique<Copy>(range);
  for (uint64_t at = first; at < address + bytes; at += kLine) {
    auto [line, fresh] = cache.lines.try_emplace(at, Line{copy.get()});
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

void WeakMemory::control(unsigned number, const Inst &inst) {
  if (scoped_ && !(inst.flags & kWideScope))
    return; // it reaches no further than the workgroup
  Cache &cache = caches_[number];
  if (inst.op->has(kWritesBack))
    for (auto &[address, line] : cache.lines)
      writeBack(address, line);
  if (inst.op->has(kInvalidates))
    for (auto line = cache.lines.begin(); line != cache.lines.end();) {
      if (line->second.isDirty)
        fetch(line->first, line->second);
      line = line->second.isDirty ? std::next(line) : cache.lines.erase(line);
    }
}

void WeakMemory::end() {
  for (Cache &cache : caches_)
    for (auto &[address, line] : cache.lines)
      writeBack(address, line);
}

} // namespace flyemu
