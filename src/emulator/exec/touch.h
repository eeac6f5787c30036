// Who touched a place, and when: what the race checks remember.
#pragma once

#include <cstdint>

namespace flyemu {

/// One access, in 16 bytes.
struct Touch {
  uint32_t inst = 0;  ///< index into the program
  uint32_t group = 0; ///< number of the workgroup, from 1; 0: nobody
  uint32_t time =
      0; ///< LDS: barriers passed; global memory: the launch's count of synchronizations
  uint8_t wave = 0, lane = 0;
  bool atomic = false;
};

/// Whether two accesses that nothing orders are a race: one of them writes, and not by an atomic
/// operation while the other is atomic, too, or a read. (Compilers begin compare-and-swap loops
/// with a plain read.)
inline bool races(const Touch &before, bool wrote, const Touch &now, bool writes) {
  return wrote && writes ? !(before.atomic && now.atomic)
         : wrote         ? !before.atomic
                         : writes && !now.atomic;
}

/// The last write, and the last reads of two different owners (waves for LDS, workgroups for global
/// memory), of one place.
struct History {
  Touch write, read, otherRead;

  void note(const Touch &now, bool writes, bool sameOwner) {
    if (writes) {
      write = now;
    } else {
      if (read.group && !sameOwner)
        otherRead = read;
      read = now;
    }
  }
};

} // namespace flyemu
