// A launch whose timeline tests read.
#pragma once

#include "wave_test.h"

#include "assemble.h"

#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>

#include <functional>

namespace flyemu::test {

/// Two workgroups of so many threads, 128 unless told otherwise, that run code of gfx942 or of another target.
struct Timed {
  std::vector<uint32_t> words;
  std::vector<uint8_t> memory = std::vector<uint8_t>(4096);
  KernelCode kernel;
  DispatchResult result;

  /// `prepare` may change the launch and its options.
  explicit Timed(const std::string &code, uint64_t groups = 1, const char *target = "gfx942",
                 unsigned threads = 128,
                 const std::function<void(Dispatch &, Options &)> &prepare = {})
      : words(assemble(target, code + "s_endpgm\n")) {
    kernel.name = "timed";
    kernel.program = decodeProgram(target, words.data(), words.size() * 4);
    kernel.entry = reinterpret_cast<uint64_t>(words.data());
    kernel.source = [](uint64_t) { return std::string("some \"file\".cpp:7"); };
    kernel.descriptor.properties = 1 << 3; // the kernarg pointer in s[0:1]
    if (kernel.program->target->processor->waveSize == 32)
      kernel.descriptor.properties |= 1 << 10;
    kernel.descriptor.rsrc2 = 2 << 1;
    kernel.descriptor.privateSegmentFixedSize = 64;
    TestMemory map;
    map.add(memory.data(), memory.size());
    Dispatch launch;
    launch.kernel = &kernel;
    launch.grid = {2, 1, 1};
    launch.block = {threads, 1, 1};
    launch.dynamicLds = 4096;
    launch.kernarg = reinterpret_cast<uint64_t>(memory.data());
    launch.kernargSize = 8;
    Options options;
    options.timelineGroups = groups;
    options.threads = 1;
    options.instructionLimit = 1 << 22; // of code that does not end
    options.counters = true;
    if (prepare)
      prepare(launch, options);
    result = runDispatch(launch, map, options);
    INFO(result.fault.message);
    REQUIRE(result.ok);
  }

  std::vector<TimelineEvent> of(Activity activity, unsigned wave, uint64_t group = 0) const {
    std::vector<TimelineEvent> found;
    for (const TimelineEvent &e : result.timeline)
      if (e.activity == activity && e.wave == wave && e.group == group)
        found.push_back(e);
    return found;
  }
};

} // namespace flyemu::test
