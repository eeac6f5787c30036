// A piece of a launch's timeline.
#pragma once

#include <cstdint>

namespace flyemu {

/// What a wave is doing.
enum class Activity : uint8_t {
  Vector,     ///< vector arithmetic issues
  Matrix,     ///< a matrix instruction issues
  Scalar,     ///< anything else issues
  Memory,     ///< a vector memory instruction issues
  Lds,        ///< an LDS instruction issues
  Wait,       ///< at a wait instruction, for operations under way
  Barrier,    ///< for the other waves of the workgroup
  Contention, ///< for a unit of the SIMD, which another wave or a matrix instruction of its own has
  MemoryUnderWay, ///< from the issue of a memory operation to its end, besides what the wave does
  LdsUnderWay,
  MatrixUnderWay, ///< the matrix unit computes
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
