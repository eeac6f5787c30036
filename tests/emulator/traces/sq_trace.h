// A reader of SQ thread traces, the streams in which AMD's shader engines say when each wave of a SIMD
// issued which kind of instruction.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace flyemu::test {

/// What a trace says happened.
enum class SqEvent : uint8_t {
  WaveStart,
  WaveEnd,
  Issue,     ///< an instruction that has a kind of its own in the stream
  Immediate, ///< one that no unit executes, a wait or a no-op, once it has been passed
};

/// One stamp of a trace.
struct SqStamp {
  uint64_t time = 0; ///< cycles of the shader clock; multiples of 4 on CDNA
  SqEvent event = SqEvent::Issue;
  unsigned simd = 0; ///< of starts and ends, and on CDNA of all; RDNA traces instructions of one SIMD
  unsigned unit = 0; ///< of starts and ends: the work-group processor or compute unit
  unsigned wave = 0; ///< the wave's slot on its SIMD
  bool isTakenJump = false;
};

/// The stamps of a shader engine's stream in their order. Throws std::runtime_error for a stream that
/// begins with no header.
std::vector<SqStamp> readSqTrace(std::span<const uint8_t> stream);

} // namespace flyemu::test
