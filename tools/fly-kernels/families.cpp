#include "family.h"

#include "frame/all_families.h"
#include "host/sampled_memory.h"
#include "support/env_variables.h"
#include "timed_memory.h"

#include <algorithm>
#include <cmath>

namespace fly_kernels {
namespace {

namespace reference = fk::reference;

/// Bytes around what a kernel writes, by which stray writes are found on any device.
constexpr std::int64_t kAround = 256;

/// The least number that rounds to infinity in a type of results; infinity for types that have none, or that
/// kernels limit to their largest number.
double roundsToInfinity(fx::DType type) {
  return type == fx::f16    ? 65520
         : type == fx::bf16 ? 0x1.ffp127
         : type == fx::f32  ? 0x1.ffffffp127
                            : HUGE_VAL;
}

namespace env = flydsl::support::env;

/// Whether the emulator leaves out matrix products, so that results say nothing.
bool isWithoutProducts() {
  return env::kEmulatorMatrix.get() == env::EmulatorMatrix::none &&
         fx::Device::current().is_emulator();
}

template <class P> class FamilyOf final : public LibraryFamily {
  using C = fk::ConfigOf<P>;
  static P problemOf(const fx::Config &problem) { return fx::from_config<P>(problem); }

public:
  std::string name() const override { return std::string(fk::FamilyOf<P>::name); }
  fx::Config defaults() const override { return fx::to_config(P{}); }
  const Enumerations &problemEnumerations() const override {
    static const Enumerations all = enumerationsOf<P>();
    return all;
  }
  const Enumerations &configEnumerations() const override {
    static const Enumerations all = enumerationsOf<C>();
    return all;
  }
  fk::Support supported(const fx::Config &problem, const fx::Target &target) const override {
    return fk::supported(problemOf(problem), target);
  }
  fk::Support supported(const fx::Config &problem, const fx::Config &config,
                        const fx::Target &target) const override {
    return fk::supported(problemOf(problem), fx::from_config<C>(config), target);
  }
  std::vector<fx::Config> configs(const fx::Config &problem, std::int64_t m,
                                  const fx::Target &target) const override {
    std::vector<fx::Config> all;
    for (const C &config : fk::configs(problemOf(problem), m, target))
      all.push_back(fx::to_config(config));
    return all;
  }
  std::vector<fx::Executable> code(const fx::Config &problem, const fx::Config &config,
                                   const fx::Target &target) const override {
    return fk::Plan<P>(problemOf(problem), fx::from_config<C>(config), target).executables();
  }
  RunReport run(const fx::Config &problem, const std::optional<fx::Config> &config, std::int64_t m,
                Against against) const override {
    return call(problem, config, m, against,
                [](const auto &launch, const fx::Stream &stream, RunReport &report) {
                  report.microseconds = time(launch, stream, report.call.launches);
                });
  }
  RunReport check(const fx::Config &problem, const std::optional<fx::Config> &config,
                  std::int64_t m) const override {
    return call(problem, config, m, Against::reference,
                [](const auto &launch, const fx::Stream &stream, RunReport &) {
                  launch();
                  stream.synchronize();
                });
  }
  std::int64_t bytes(const fx::Config &named, std::int64_t m,
                     const fx::Target &target) const override {
    const P problem = problemOf(named);
    double sum = 0; // which no extents overflow
    const fk::Sampler counts = [&](const char *, fx::DType dtype, fx::TensorArg::Dims shape,
                                   fk::Role) {
      double bytes = dtype.memory_bits() / 8.;
      for (const std::int64_t extent : shape)
        bytes *= double(extent);
      sum += bytes;
      // Nothing is read or written: an address of any alignment.
      return fx::tensor(reinterpret_cast<void *>(std::uintptr_t(1) << 30), dtype, shape);
    };
    (void)fk::make_args(problem, fk::choose(problem, m, target), m, counts);
    return static_cast<std::int64_t>(std::min(sum, 0x1p62));
  }
  fx::AutotuneResult tune(const fx::Config &problem, std::int64_t m,
                          const fx::AutotuneOptions &options) const override {
    return fk::tune(problemOf(problem), m, options).details;
  }
  void add(fk::ExportList &list, const fx::Config &problem, std::int64_t m) const override {
    list.add(problemOf(problem), {m});
  }

private:
  /// A call with random operands, which `launch(call, stream, report)` carries out.
  template <class F>
  static RunReport call(const fx::Config &named, const std::optional<fx::Config> &given,
                        std::int64_t m, Against against, F launch) {
    const P problem = problemOf(named);
    const C config = given ? fx::from_config<C>(*given) : fk::choose(problem, m);
    const fk::Plan<P> plan(problem, config);
    RunReport report{.config = fx::to_config(config)};
    const auto launched = [&](const fk::ArgsOf<P> &args) {
      const fx::Stream stream;
      launch([&] { plan(args, stream); }, stream, report);
      report.call.code = plan.executables();
    };
    if (against == Against::reference)
      expectProducts();
    // A check of the emulator would report reads of operands that are not filled.
    if (against == Against::nothing && isWithoutProducts() && !env::kEmulatorCheck.given()) {
      TimedMemory memory(kAround);
      launched(fk::make_args(problem, config, m, memory.sampler()));
      return report;
    }
    fk::host::SampledMemory memory(kAround);
    const auto args = fk::make_args(problem, config, m, memory.sampler());
    const reference::Inputs inputs =
        against == Against::nothing ? reference::Inputs() : memory.inputs();
    launched(args);
    if (against == Against::nothing)
      return report;
    if (const std::string operand = memory.writtenAround(); !operand.empty())
      throw fx::Error("a kernel wrote outside of " + operand);
    if (m == 0) // no row has a result; what is of all rows, such as a scale, is left as it was
      return report;
    if constexpr (requires { reference::expected(problem, config, m, inputs); })
      for (const auto &[output, expected] : reference::expected(problem, config, m, inputs))
        compare(report, output, typeOf(memory, output), memory.values(output), expected);
    return report;
  }
  template <class F>
  static double time(F launch, const fx::Stream &stream,
                     std::vector<fx::LaunchCounters> &launches) {
    if (fx::Device::current().is_emulator()) {
      launches = fx::Device::current().count_launches([&] {
        launch();
        stream.synchronize();
      });
      double sum = 0;
      for (const fx::LaunchCounters &one : launches)
        sum += one.estimate.microseconds;
      return sum;
    }
    constexpr int kRuns = 20;
    fx::Event start, end;
    launch(); // loads the code
    start.record(stream);
    for (int i = 0; i < kRuns; ++i)
      launch();
    end.record(stream);
    end.synchronize();
    return double(end.milliseconds_since(start)) * 1000 / kRuns;
  }
  static fx::DType typeOf(const fk::host::SampledMemory &memory, const std::string &name) {
    for (const fk::host::SampledMemory::Operand &operand : memory.operands())
      if (operand.name == name)
        return operand.dtype;
    return {};
  }
  static void compare(RunReport &report, const std::string &output, fx::DType type,
                      const std::vector<double> &got, const reference::Expected &expected) {
    if (got.size() != expected.values.size())
      throw fx::Error("the reference of " + output + " has another size than the output");
    for (std::size_t i = 0; i < got.size(); ++i) {
      // Infinities are equal to themselves, and to what the type has no number for.
      const double bound = expected.bound[i];
      const bool isPast = std::isinf(got[i]) && got[i] * expected.values[i] > 0 &&
                          std::fabs(expected.values[i]) + bound >= roundsToInfinity(type);
      const double off =
          got[i] == expected.values[i] || isPast ? 0 : std::fabs(got[i] - expected.values[i]);
      const double part = off == 0 || std::isinf(bound)   ? 0
                          : bound == 0 || std::isnan(off) ? HUGE_VAL
                                                          : off / bound;
      if (!report.worst || part > *report.worst) {
        report.worst = part;
        report.worstOutput = output + "[" + std::to_string(i) + "]";
      }
    }
  }
};

} // namespace

void expectProducts() {
  if (isWithoutProducts())
    throw fx::Error(std::string(env::kEmulatorMatrix.name()) +
                    "=none leaves matrix products out, and results are to be compared with a "
                    "reference; unset it");
}

std::vector<std::unique_ptr<LibraryFamily>> families() {
  std::vector<std::unique_ptr<LibraryFamily>> all;
  fk::impl::SingleProblems::each(
      [&]<class P>(std::type_identity<P>) { all.push_back(std::make_unique<FamilyOf<P>>()); });
  return all;
}

} // namespace fly_kernels
