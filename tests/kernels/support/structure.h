// What must hold of every family, whatever it computes: the same bytes in another run, from a
// captured graph with other contents, and from a file; and no more traffic than there has to be.
#pragma once

#include "emulated_targets.h"
#include "hip_function.h"
#include "host/sampled_memory.h"
#include "support/message.h"
#include "support/operand.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/operands.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <unistd.h>

namespace kernel_tests {

namespace fk = flydsl::kernels;

/// The operands of one call of a family.
template <class P> class Operands {
public:
  Operands(const P &problem, const fk::ConfigOf<P> &config, std::int64_t m)
      : args_(fk::make_args(problem, config, m, memory_.sampler())) {}

  const fk::ArgsOf<P> &args() const { return args_; }
  /// New inputs for a seed, and outputs that hold nothing.
  void fill(std::uint64_t seed) { memory_.fill(seed); }
  /// The bytes of all outputs, around which nothing was written.
  std::vector<std::uint8_t> results() const {
    REQUIRE(memory_.writtenAround() == "");
    std::vector<std::uint8_t> all;
    for (const Made &made : memory_.operands())
      if (made.written()) {
        const std::vector<std::uint8_t> bytes = made.bytes();
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
    return all;
  }
  /// The bytes of all inputs and outputs: each has to be moved once.
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const Made &made : memory_.operands())
      if (made.role != fk::Role::flagged)
        sum += made.bytes().size() * ((made.role.read() ? 1u : 0u) + (made.written() ? 1u : 0u));
    return sum;
  }
  /// The bytes of the inputs that are vectors.
  std::size_t sharedBytes() const {
    std::size_t sum = 0;
    for (const Made &made : memory_.operands())
      if (made.role.read() && !made.written() && made.role != fk::Role::flagged &&
          made.shape.size() == 1)
        sum += made.bytes().size();
    return sum;
  }

private:
  using Made = SampledMemory::Operand;
  static constexpr std::int64_t kAround = 256; // bytes, which keep any alignment
  SampledMemory memory_{kAround};
  fk::ArgsOf<P> args_;
};

/// A launch that is captured once and replayed.
class Replay {
public:
  template <class F> Replay(const fx::Stream &stream, F launch) : stream_(stream) {
    REQUIRE(HIP(hipStreamBeginCapture)(stream.native(), hipStreamCaptureModeThreadLocal) ==
            hipSuccess);
    launch();
    hipGraph_t graph;
    REQUIRE(HIP(hipStreamEndCapture)(stream.native(), &graph) == hipSuccess);
    REQUIRE(HIP(hipGraphInstantiate)(&executable_, graph, nullptr, nullptr, 0) == hipSuccess);
    REQUIRE(HIP(hipGraphDestroy)(graph) == hipSuccess);
  }
  ~Replay() { (void)HIP(hipGraphExecDestroy)(executable_); }
  Replay(const Replay &) = delete;
  void operator()() const {
    REQUIRE(HIP(hipGraphLaunch)(executable_, stream_.native()) == hipSuccess);
    stream_.synchronize();
  }

private:
  const fx::Stream &stream_;
  hipGraphExec_t executable_;
};

/// A file that is removed at the end.
class ScratchFile {
public:
  ScratchFile() {
    static int number = 0;
    path_ = std::filesystem::temp_directory_path() /
            ("flydsl-kernels-" + std::to_string(getpid()) + "-" + std::to_string(number++));
  }
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
    std::filesystem::remove(path_.string() + ".lock", ignored);
  }
  std::string path() const { return path_.string(); }

private:
  std::filesystem::path path_;
};

/// Requires what must hold of every family, for one problem and configuration.
template <class P>
void expectStructure(const P &problem, const fk::ConfigOf<P> &config, std::int64_t m) {
  const fk::Plan<P> plan(problem, config);
  Operands<P> operands(problem, config, m);
  const fx::Stream stream;
  const auto results = [&](const auto &launch, std::uint64_t seed) {
    operands.fill(seed);
    launch();
    stream.synchronize();
    return operands.results();
  };
  const auto eager = [&] { plan(operands.args(), stream); };
  const std::vector<std::uint8_t> first = results(eager, 1), second = results(eager, 100);
  CHECK(first != second);
  CHECK(results(eager, 1) == first); // the same bytes in another run

  const Replay replay(stream, eager);
  CHECK(results(replay, 100) == second);
  CHECK(results(replay, 1) == first);

  // The convenience call finds the same plan.
  CHECK(results([&] { fk::run(problem, operands.args(), stream, &config); }, 100) == second);

  const ScratchFile file;
  fk::export_aot(problem, config, file.path(), {});
  const auto loaded = fk::Plan<P>::load(fx::load_aot(file.path()), problem, config);
  CHECK(results([&] { loaded(operands.args(), stream); }, 1) == first);
  CHECK(loaded.executables().empty());

  for (const fx::Executable &code : plan.executables()) {
    INFO(code.summary());
    CHECK(code.spills() == 0);
    CHECK(code.scratch_bytes() == 0);
  }
}

/// The counters of one call.
template <class P>
std::vector<fx::LaunchCounters> countersOf(const P &problem, const fk::ConfigOf<P> &config,
                                           std::int64_t m) {
  const fk::Plan<P> plan(problem, config);
  Operands<P> operands(problem, config, m);
  operands.fill(1);
  const fx::Stream stream;
  return fx::Device::current().count_launches([&] {
    plan(operands.args(), stream);
    stream.synchronize();
  });
}

/// Requires that the kernels of a call read and write no more than each operand once. Vectors that
/// all rows share come from a cache: `sharedReads` times.
template <class P>
void expectTraffic(const P &problem, const fk::ConfigOf<P> &config, std::int64_t m,
                   std::int64_t sharedReads = 1) {
  std::uint64_t moved = 0, touched = 0;
  for (const fx::LaunchCounters &counters : countersOf(problem, config, m)) {
    INFO(fx::to_config(problem).str() << "\n" << counters.str());
    moved += counters["globalBytesRead"] + counters["globalBytesWritten"];
    touched += counters["globalBytesTouched"];
    CHECK(counters["SQ_LDS_BANK_CONFLICT"] == 0);
  }
  const Operands<P> operands(problem, config, m);
  const std::size_t minimum = operands.bytes();
  INFO(fx::to_config(problem).str());
  CHECK(moved <= minimum + operands.sharedBytes() * std::size_t(sharedReads - 1));
  CHECK(double(touched) <= 1.05 * double(minimum));
}

/// The target of the device.
inline fx::Target here() { return fx::Device::current().target(); }
/// The targets that the library is for.
inline const std::vector<fx::Target> &targets() {
  static const std::vector<fx::Target> all = [] {
    std::vector<fx::Target> made;
    for (const char *name : kEmulatorTargets)
      made.push_back(fx::Target::parse(name));
    return made;
  }();
  return all;
}

/// Requires that every problem that is supported has a supported configuration for every number of
/// rows, and that `configs` gives supported ones alone.
template <class P> void expectTotal(const std::vector<P> &problems) {
  for (const fx::Target &target : targets())
    for (const P &problem : problems) {
      INFO(target.name() << ": " << fx::to_config(problem).str());
      const fk::Support answer = fk::supported(problem, target);
      if (!answer) {
        INFO(answer.why);
        FAIL("not supported");
      }
      for (std::int64_t m : {0, 1, 2, 3, 7, 16, 33, 127, 1024, 4097, 65537, 10000000}) {
        const auto config = fk::choose(problem, m, target);
        if (const fk::Support fits = fk::supported(problem, config, target); !fits) {
          INFO(fx::to_config(config).str() << ": " << fits.why);
          FAIL("the choice is not supported");
        }
      }
      for (const auto &config : fk::configs(problem, 64, target))
        if (!fk::supported(problem, config, target))
          FAIL("a configuration is not supported");
    }
  SUCCEED();
}

/// The kernels of a configuration spill no registers on a target, and take no scratch memory.
template <class P>
void expectNoSpillsWith(const P &problem, const fk::ConfigOf<P> &config, const fx::Target &target) {
  for (const fx::Executable &code : fk::Plan<P>(problem, config, target).executables()) {
    INFO(target.name() << ": " << fx::to_config(problem).str() << ", "
                       << fx::to_config(config).str() << "\n"
                       << code.summary());
    CHECK(code.spills() == 0);
    CHECK(code.scratch_bytes() == 0);
  }
}
/// What `choose` gives for m rows on a target spills no registers, if
/// the target supports the problem.
template <class P>
void expectNoSpillsOf(const P &problem, std::int64_t m, const fx::Target &target) {
  if (fk::supported(problem, target))
    expectNoSpillsWith(problem, fk::choose(problem, m, target), target);
}
/// Requires that the chosen configurations of problems fit the registers. The targets are those of
/// which a wave of a block of 1024 threads has the fewest, and one of RDNA.
template <class P> void expectNoSpills(const std::vector<P> &problems) {
  for (const char *name : {"gfx90a", "gfx942", "gfx1201"})
    for (const P &problem : problems)
      expectNoSpillsOf(problem, 1, fx::Target::parse(name));
}

/// The configuration that tuning finds: every one of `configs` is built and measured, and what is
/// chosen is one of them. What earlier runs found is not looked at.
template <class P> fk::ConfigOf<P> tunedConfig(const P &problem, std::int64_t m) {
  const auto directory = std::filesystem::temp_directory_path() /
                         ("flydsl-tuned-" + std::to_string(static_cast<long>(getpid())));
  setenv("FLYDSL_AUTOTUNE_CACHE_DIR", directory.c_str(), 1);
  std::size_t measured = 0;
  const fk::Tuned<P> tuned = fk::tune(
      problem, m,
      {.warmup = 0, .repeat = 1, .progress = [&](const fx::Trial &, std::size_t, std::size_t) {
         ++measured;
       }});
  unsetenv("FLYDSL_AUTOTUNE_CACHE_DIR");
  std::filesystem::remove_all(directory);
  CHECK(tuned.details.source == fx::AutotuneResult::Source::search);
  const auto configs = fk::configs(problem, m, fx::Device::current().target());
  CHECK(measured == configs.size());
  CHECK(std::find(configs.begin(), configs.end(), tuned.config) != configs.end());
  return tuned.config;
}

/// The lanes that hold each element of an operand of 16-bit floats: 2 on RDNA3, whose halves of a
/// wave hold the same.
inline int copiesOfOperands() {
  const fx::Target target = fx::Device::current().target();
  return fx::rocdl::matrix_products(target, fx::f16, fx::f16).front().layout_a.copies();
}

} // namespace kernel_tests
