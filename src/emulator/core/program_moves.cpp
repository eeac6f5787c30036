#include "emulator/core/program_moves.h"

#include <cstring>

namespace flyemu {

void moveForProgram(uint8_t *to, const uint8_t *from, uint64_t bytes) {
  std::memmove(to, from, bytes);
}

void fillForProgram(uint8_t *to, uint32_t value, uint64_t elementSize, uint64_t count) {
  if (elementSize == 1)
    std::memset(to, static_cast<int>(value), count);
  else
    for (uint64_t i = 0; i < count; ++i)
      std::memcpy(to + i * elementSize, &value, elementSize);
}

} // namespace flyemu
