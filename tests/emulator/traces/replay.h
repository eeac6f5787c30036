// A traced kernel, run by the emulator, and the stamps of both for each instruction of a wave.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace flyemu::test {

/// A kernel whose trace is kept in data/: NAME.code has its instructions, NAME.sqtt its trace.
struct TracedKernel {
  std::string name;
  std::string target;
  unsigned threads; ///< of a workgroup, as the emulator runs it
  uint32_t lds = 0; ///< bytes
};

/// An instruction that both have a stamp of.
struct Step {
  std::string text;
  uint64_t silicon = 0, emulated = 0; ///< cycles
};

/// The steps of a wave, as the trace names it: its slot on a SIMD, whose emulated counterpart is a wave
/// of a workgroup. Fails the test where the emulator takes another path through the code.
std::vector<Step> stepsOf(const TracedKernel &kernel, unsigned simd, unsigned slot,
                          unsigned emulatedWave);

/// The stamps that a trace has of a wave, by the index of the instruction that each belongs to.
struct Stamped {
  size_t inst = 0;
  uint64_t time = 0;
};

} // namespace flyemu::test
