// A piece of a launch's timeline.
#pragma once

#include <cstdint>

namespace flyemu {

/// What a wave is doing.
enum class Activity : uint8_t {
  Vector,         ///< vector arithmetic issues
  Matrix,         ///< the matrix unit computes
  Scalar,         ///< anything else issues
  Memory,         ///< a vector memory instruction issues
  Lds,            ///< an LDS instruction issues
  Wait,           ///< at a wait instruction, for operations under way
  Barrier,        ///< for the other waves of the workgroup
  Contention,     ///< for the SIMD, which another wave uses
  MemoryUnderWay, ///< from the issue of a memory operation to its end, beside what the wave does
  LdsUnderWay
};

/// From one cycle of the estimate's clock to another. All workgroups begin at 0.
struct TimelineEvent {
  uint64_t start = 0, end = 0;
  uint64_t group = 0; ///< the workgroup's number
  uint32_t inst = 0;  ///< index into the program
  uint16_t wave = 0;  ///< within the workgroup
  Activity activity = Activity::Scalar;
};

} // namespace flyemu
