#include "replay.h"

#include "sq_trace.h"
#include "wave_test.h"

#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>

namespace flyemu::test {

namespace {

std::vector<uint8_t> readData(const std::string &name) {
  std::ifstream file(std::string(TRACES "/") + name, std::ios::binary);
  INFO(name);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Instructions without a stamp in streams. On CDNA these are all that no unit executes.
bool isStamped(const Program &program, size_t at) {
  const std::string text = program.text(at);
  const auto is = [&](std::string_view name) { return text.starts_with(name); };
  if (program.target->encoding == Encoding::Gfx9)
    return !is("s_waitcnt") && !is("s_nop") && !is("s_endpgm");
  return !is("s_delay_alu") && !is("s_wait_alu") && !is("s_barrier_wait") && !is("s_endpgm");
}

/// The stamps of a trace's wave. The code is followed to each of them.
std::vector<Stamped> ofSilicon(const Program &program, const std::vector<SqStamp> &trace,
                               unsigned simd, unsigned slot) {
  const bool isCdna = program.target->encoding == Encoding::Gfx9;
  const unsigned unit = 0; // the one whose instructions are traced
  std::vector<Stamped> steps;
  bool isRunning = false;
  size_t at = 0;
  for (const SqStamp &stamp : trace) {
    if (stamp.wave != slot)
      continue;
    const bool isItsLife = stamp.simd == simd && stamp.unit == unit;
    if (stamp.event == SqEvent::WaveStart)
      isRunning |= isItsLife;
    else if (stamp.event == SqEvent::WaveEnd)
      isRunning &= !isItsLife;
    else if (isRunning && (!isCdna || stamp.simd == simd)) {
      while (program.insts[at].dwords && !isStamped(program, at) &&
             !program.text(at).starts_with("s_endpgm"))
        at += program.insts[at].dwords;
      if (program.text(at).starts_with("s_endpgm"))
        break;
      steps.push_back({at, stamp.time});
      const Inst &inst = program.insts[at];
      at += inst.dwords;
      if (stamp.isTakenJump) // to an offset from the next instruction, in dwords
        at += static_cast<size_t>(static_cast<int64_t>(inst.offset));
    }
  }
  return steps;
}

/// The same of the emulator's wave. A wait's stamp is that of its end, as the hardware's.
std::vector<Stamped> ofEmulator(const Program &program, const std::vector<TimelineEvent> &timeline,
                                unsigned wave) {
  std::vector<Stamped> steps;
  for (const TimelineEvent &event : timeline) {
    if (event.wave != wave || event.group != 0)
      continue;
    switch (event.activity) {
    case Activity::Vector:
    case Activity::Matrix:
    case Activity::Scalar:
    case Activity::Memory:
    case Activity::Lds:
      if (isStamped(program, event.inst) && !program.text(event.inst).starts_with("s_endpgm"))
        steps.push_back({event.inst, event.start});
      break;
    case Activity::Wait:
      if (!steps.empty() && steps.back().inst == event.inst)
        steps.back().time = event.end - 1;
      break;
    default:
      break;
    }
  }
  return steps;
}

std::vector<TimelineEvent> run(const TracedKernel &traced, KernelCode &kernel) {
  std::vector<uint8_t> memory(1 << 16);
  const uint64_t buffers = reinterpret_cast<uint64_t>(memory.data()) + 4096;
  for (unsigned i = 0; i < 3; ++i) {
    const uint64_t buffer = buffers + i * 16384;
    std::memcpy(memory.data() + 8 * i, &buffer, 8);
  }
  TestMemory map;
  map.add(memory.data(), memory.size());
  kernel.descriptor.properties = 1 << 3;              // the kernarg pointer in s[0:1]
  kernel.descriptor.rsrc2 = 2 << 1 | 1 << 7 | 1 << 8; // and the workgroup's x and y
  if (kernel.program->target->processor->waveSize == 32)
    kernel.descriptor.properties |= 1 << 10;
  kernel.descriptor.groupSegmentFixedSize = traced.lds;
  Dispatch launch;
  launch.kernel = &kernel;
  launch.grid = {1, 1, 1};
  launch.block = {traced.threads, 1, 1};
  launch.kernarg = reinterpret_cast<uint64_t>(memory.data());
  launch.kernargSize = 24;
  Options options;
  options.timelineGroups = 1;
  options.counters = true;
  options.threads = 1;
  const DispatchResult result = runDispatch(launch, map, options);
  INFO(result.fault.message);
  REQUIRE(result.ok);
  return result.timeline;
}

} // namespace

std::vector<Step> stepsOf(const TracedKernel &traced, unsigned simd, unsigned slot,
                          unsigned emulatedWave) {
  const std::vector<uint8_t> code = readData(traced.name + ".code");
  std::vector<uint32_t> words(code.size() / 4);
  std::memcpy(words.data(), code.data(), words.size() * 4);
  KernelCode kernel;
  kernel.name = traced.name;
  kernel.program = decodeProgram(traced.target, words.data(), words.size() * 4);
  kernel.entry = reinterpret_cast<uint64_t>(words.data());
  const Program &program = *kernel.program;
  const std::vector<Stamped> silicon =
      ofSilicon(program, readSqTrace(readData(traced.name + ".sqtt")), simd, slot);
  const std::vector<Stamped> emulated = ofEmulator(program, run(traced, kernel), emulatedWave);
  REQUIRE(silicon.size() == emulated.size());
  std::vector<Step> steps;
  for (size_t i = 0; i < silicon.size(); ++i) {
    REQUIRE(silicon[i].inst == emulated[i].inst);
    steps.push_back({program.text(silicon[i].inst), silicon[i].time, emulated[i].time});
  }
  return steps;
}

} // namespace flyemu::test
