// Places of accesses to LDS.
#pragma once

#include "emulator/ops/memory/memory_ops.h"

#include <algorithm>

namespace flyemu {

/// The place of an access, or null beyond the workgroup's allocation (reads give 0, writes vanish).
/// Address and instruction offset add up in 32 bits: compilers pass negative addresses under a
/// positive offset.
inline uint8_t *ldsPlace(Wave &w, const Inst &i, unsigned lane, uint64_t sum, unsigned bytes,
                         bool write, bool atomic = false) {
  uint64_t offset = static_cast<uint32_t>(sum);
  if (__builtin_expect(w.probe != nullptr, 0))
    w.probe->access(w, i, lane, Space::Lds, offset, bytes, write, atomic);
  return offset + bytes <= w.ldsSize ? w.lds + offset : nullptr;
}
/// The host addresses of all lanes, if every active lane's access lies inside the allocation.
inline bool ldsBulk(Wave &w, uint64_t exec, const uint32_t *address, uint32_t offset,
                    uint32_t bytes, uint64_t *at) {
  if (!exec || w.ldsSize < bytes)
    return false;
  const uint64_t base = reinterpret_cast<uint64_t>(w.lds);
  const uint32_t last = w.ldsSize - bytes;
  for (unsigned lane = 0; lane < w.lanes; ++lane)
    at[lane] = base + (address[lane] + offset);
  uint32_t highest = 0;
  if (exec == w.fullMask())
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      highest = std::max(highest, address[lane] + offset);
  else
    for (unsigned lane = 0; lane < w.lanes; ++lane)
      highest = std::max(highest, exec >> lane & 1 ? address[lane] + offset : 0);
  return highest <= last;
}
inline void ldsReport(Wave &w, const Inst &i, const uint64_t *at, uint32_t bytes, bool write,
                      bool atomic = false) {
  reportLanes(w, i, Space::Lds, at, reinterpret_cast<uint64_t>(w.lds), bytes, write, atomic);
}
/// Reports two accesses of every lane.
inline void ldsReport(Wave &w, const Inst &i, const uint64_t *first, const uint64_t *second,
                      uint32_t bytes, bool write) {
  if (__builtin_expect(w.probe == nullptr, 1))
    return;
  const uint64_t origin = reinterpret_cast<uint64_t>(w.lds);
  w.probe->accessLanes(w, i, w.exec(), Space::Lds, first, origin, bytes, write, false);
  w.probe->accessLanes(w, i, w.exec(), Space::Lds, second, origin, bytes, write, false);
  w.probe->accessesDone(w, i);
}
inline void ldsDone(Wave &w, const Inst &i) {
  if (w.probe)
    w.probe->accessesDone(w, i);
}

} // namespace flyemu
