// The part of the frame that needs no compiler: the questions about problems, and launches. A
// family's host file includes it, defines Family<P>, and ends in FLYDSL_KERNEL_FAMILY(P).
#pragma once

#include "frame/enumerators.h"
#include "frame/launches.h"
#include "frame/memory_checks.h"
#include "frame/tuned.h"

#include <flydsl/constexpr.h>
#include <flydsl/kernels/operands.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class P> class Compiler; // frame/compile.h
template <class P> struct Call;

/// What a family's author writes, as static functions of Family<P>, which derives from
/// FamilyDefaults:
///
///   Support supported(const P &, const Target &);
///   Support supported(const P &, const Config &, const Target &);  // the problem is supported
///   Config choose(const P &, std::int64_t m, const Target &);      // the problem is supported
///   std::vector<Config> candidates(const P &, std::int64_t m, const Target &);  // to be filtered
///   KernelNames kernels(const P &, const Config &);                // in the order of launches
///   void launch(const Call<P> &call);                              // checks the arguments
///   Args args(const P &, const Config &, std::int64_t m, const Sampler &);  // for make_args
///   void compile(const Compiler<P> &);                             // in the file of the kernels
///
/// and, where the defaults do not hold:
///
///   std::size_t workspaceBytes(const P &, const Config &, std::int64_t m);
///   std::int64_t rows(const Args &);                               // m of a call
///   std::vector<IndexRow> indexRows(const P &, const Config &);    // indices that kernels read
template <class P> struct Family;

/// The base of families: names for their types, and what most of them answer alike. `Rows` is the
/// member of Args whose first extent is the number of rows.
template <Problem Of, auto Rows = nullptr> struct FamilyDefaults {
  using P = Of;
  using C = ConfigOf<Of>;
  using A = ArgsOf<Of>;
  using KernelNames = std::vector<const AnyKernelOf *>;
  using IndexRow = IndexRowOf<P, A>;
  static std::vector<IndexRow> indexRows(const P &, const C &) { return {}; }
  static std::size_t workspaceBytes(const P &, const C &, std::int64_t) { return 0; }
  static std::int64_t rows(const A &args) { return (args.*Rows).shape()[0]; }
};

/// A problem and its configuration: the constant that each of a family's kernels is traced with.
template <class P> struct Spec {
  P problem;
  ConfigOf<P> config;
};

/// A family whose kernels are those of plans of others, see frame/parts.h.
template <class P>
concept OfParts = requires(const P &problem, const ConfigOf<P> &config) {
  Family<P>::eachPart(problem, config, [](const auto &, const auto &) {});
};

/// A family's kernel that checks indices: "check_decode".
template <class P> struct IndexCheckOf {
  static constexpr auto kText = [] {
    std::array<char, 64> text{};
    char *end = text.data();
    for (std::string_view part : {std::string_view("check_"), FamilyOf<P>::name})
      end = std::copy(part.begin(), part.end(), end);
    return text;
  }();
  static constexpr KernelOf<IndexCheckParams> kKernel{kText.data()};
};

/// Whether a plan has a check: it is asked for, and the family's kernels read indices.
template <class P> bool checksIndices(const Spec<P> &spec, const PlanOptions &options) {
  return options.check_indices && !Family<P>::indexRows(spec.problem, spec.config).empty();
}
/// What the rows of a plan are in its code.
template <class P> std::vector<IndexRule> indexRules(const Spec<P> &spec) {
  std::vector<IndexRule> rules;
  for (const auto &row : Family<P>::indexRows(spec.problem, spec.config))
    rules.push_back(row.rule);
  return rules;
}
/// The name of a variant in a file. The kernels of a checked plan are variants of their own.
template <class P> std::string variantOf(const Spec<P> &spec, bool checked) {
  return checked ? variant_name(spec, std::string_view(kCheckedVariant)) : variant_name(spec);
}

template <class P> struct PlanState {
  PlanState(const Spec<P> &spec, Launches launches, bool checked, bool checksMemory)
      : spec(spec), launches(std::move(launches)), checksMemory(checksMemory),
        isChecked(checked || checksMemory) {
    if (!checked)
      return;
    rows = Family<P>::indexRows(spec.problem, spec.config);
    checks = std::make_unique<IndexChecks>(FamilyOf<P>::name, indexRules(spec));
  }
  Spec<P> spec;
  Launches launches;
  bool checksMemory; ///< PlanOptions::check_memory
  bool isChecked;    ///< anything is looked at before a call's own checks
  /// Of a checked plan, whose last kernel is the check.
  std::vector<typename Family<P>::IndexRow> rows = {};
  std::unique_ptr<IndexChecks> checks = {};
};

/// One call of a plan, as a family launches it.
template <class P> struct Call {
  const P &problem;
  const ConfigOf<P> &config;
  const ArgsOf<P> &args;
  CallLaunches launches;
  StreamRef stream;
  const std::source_location &where;

  /// The parameters of a launch of `blocks` blocks.
  LaunchConfig on(Dim3 blocks, Dim3 block) const {
    return {.grid = blocks, .block = block, .stream = stream};
  }
  /// The same for `items` items; each block of `block` threads takes `each` of them.
  LaunchConfig over(std::int64_t items, std::int64_t each, int block) const {
    return on((items + each - 1) / each, block);
  }
};

/// The check of one call of a checked plan.
template <class P> class PendingCheckOf final : public PendingCheck {
public:
  PendingCheckOf(const PlanState<P> &state, const ArgsOf<P> &args, StreamRef stream,
                 const std::source_location &where)
      : state_(state), args_(args), stream_(stream), where_(where) {}

private:
  IndexTicket start() override {
    IndexCheckParams<OnHost> params{};
    const IndexTicket ticket = state_.checks->begin(stream_, params, where_);
    for (std::size_t row = 0; row < state_.rows.size(); ++row)
      params.rows[row] = state_.rows[row].values(state_.spec.problem, args_);
    const std::size_t last = state_.launches.all().size() - 1;
    state_.launches.at(last, IndexCheckOf<P>::kKernel)(
        {.grid = 1, .block = kIndexThreads, .stream = stream_}, where_, nullptr, params);
    return ticket;
  }

  const PlanState<P> &state_;
  const ArgsOf<P> &args_;
  StreamRef stream_;
  const std::source_location &where_;
};

/// The first answer that is no, or yes.
inline Support firstRefusal(std::initializer_list<Support> answers) {
  for (const Support &answer : answers)
    if (!answer)
      return answer;
  return {};
}

/// "head is 3"
inline std::string is(std::string_view name, std::int64_t value) {
  return std::string(name) + " is " + std::to_string(value);
}
/// Whether a number is from `least` to `most`.
inline Support rangeSupported(std::string_view name, std::int64_t value, std::int64_t least,
                              std::int64_t most) {
  if (value >= least && value <= most)
    return {};
  return Support::no(is(name, value) + "; it is " + std::to_string(least) + " to " +
                     std::to_string(most));
}
/// Whether blocks may have so many threads: a number of waves.
inline Support blockSupported(int block, const Target &target) {
  const int wave = target.wave_size(), most = target.max_block_size();
  if (block >= wave && block % wave == 0 && block <= most)
    return {};
  return Support::no(is("block", block) + "; it is a multiple of " + std::to_string(wave) +
                     " up to " + std::to_string(most));
}

/// An operand that `sampler` makes if the problem has it.
inline std::optional<TensorArg> sampleIf(bool has, const Sampler &sampler, const char *name,
                                         DType dtype, const Extents &shape,
                                         Role role = Role::input) {
  if (!has)
    return std::nullopt;
  return sampler(name, dtype, shape, role);
}

/// Throws Error if the problem or the configuration is not supported.
template <class P>
void expectSupported(const P &problem, const ConfigOf<P> *config, const Target &target) {
  const Support answer = config ? supported(problem, *config, target) : supported(problem, target);
  if (!answer)
    throw Error(std::string(FamilyOf<P>::name) + " on " + target.name() + ": " + answer.why);
}

/// The most rows of a call: 32 bits with a sign count them.
inline constexpr std::int64_t kMostRowsOfCall = 0x7fffffff;

/// Throws Error for a number of rows that no call has.
template <class P> void expectRows(std::int64_t m) {
  if (m < 0 || m > kMostRowsOfCall)
    throw Error(std::string(FamilyOf<P>::name) + ": " + is("m", m) + "; a call has 0 to " +
                std::to_string(kMostRowsOfCall) + " rows");
}

template <class P> Support Questions<P>::supported(const P &problem, const Target &target) {
  const Support held = enumeratorsHeld("", problem);
  return held ? Family<P>::supported(problem, target) : held;
}
template <class P>
Support Questions<P>::supported(const P &problem, const ConfigOf<P> &config, const Target &target) {
  const Support answer = firstRefusal({supported(problem, target), enumeratorsHeld("", config)});
  return answer ? Family<P>::supported(problem, config, target) : answer;
}
template <class P>
ConfigOf<P> Questions<P>::choose(const P &problem, std::int64_t m, const Target &target) {
  expectRows<P>(m);
  expectSupported<P>(problem, nullptr, target);
  if (std::optional<ConfigOf<P>> tuned = tunedFor(problem, m, target))
    return *tuned;
  return Family<P>::choose(problem, m, target);
}
template <class P>
std::vector<ConfigOf<P>> Questions<P>::configs(const P &problem, std::int64_t m,
                                               const Target &target) {
  std::vector<ConfigOf<P>> found{choose(problem, m, target)};
  const auto add = [&](const ConfigOf<P> &config) {
    if (std::find(found.begin(), found.end(), config) == found.end())
      found.push_back(config);
  };
  add(Family<P>::choose(problem, m, target)); // another one, if the chosen one was tuned
  for (const ConfigOf<P> &config : Family<P>::candidates(problem, m, target))
    if (Family<P>::supported(problem, config, target))
      add(config);
  return found;
}
template <class P>
std::size_t Questions<P>::workspaceBytes(const P &problem, const ConfigOf<P> &config,
                                         std::int64_t m) {
  expectRows<P>(m);
  return Family<P>::workspaceBytes(problem, config, m);
}
template <class P>
ArgsOf<P> ArgsMaker<P>::make(const P &problem, const ConfigOf<P> &config, std::int64_t m,
                             const Sampler &sampler) {
  expectRows<P>(m);
  return Family<P>::args(problem, config, m, sampler);
}

} // namespace kernels::impl

namespace kernels {

template <Problem P>
Plan<P> Plan<P>::load(const AotModule &module, const P &problem, const Config &config,
                      std::source_location where) {
  return load(module, problem, config, PlanOptions(), where);
}
template <Problem P>
Plan<P> Plan<P>::load(const AotModule &module, const P &problem, const Config &config,
                      const PlanOptions &options, std::source_location where) {
  const impl::Spec<P> spec{problem, config};
  const bool checked = impl::checksIndices(spec, options);
  std::vector<std::unique_ptr<impl::AnyLaunch>> launches;
  const auto add = [&]<class Q>(const Q &part, const ConfigOf<Q> &ofPart) {
    const std::string variant = impl::variantOf(impl::Spec<Q>{part, ofPart}, checked);
    for (const impl::AnyKernelOf *kernel : impl::Family<Q>::kernels(part, ofPart))
      launches.push_back(kernel->load(module, variant, where));
  };
  if constexpr (impl::OfParts<P>)
    impl::Family<P>::eachPart(problem, config, add);
  else
    add(problem, config);
  if (checked)
    launches.push_back(
        impl::IndexCheckOf<P>::kKernel.load(module, impl::variantOf(spec, false), where));
  return Plan(std::make_shared<const impl::PlanState<P>>(spec, impl::Launches(std::move(launches)),
                                                         checked, options.check_memory));
}
template <Problem P>
void Plan<P>::operator()(const Args &args, StreamRef stream, std::source_location where) const {
  const impl::PlanState<P> &state = *state_;
  const auto launch = [&](impl::PendingCheck *check) {
    impl::Family<P>::launch({state.spec.problem, state.spec.config, args,
                             impl::CallLaunches(state.launches, check), stream, where});
  };
  if (!state.isChecked) [[likely]]
    return launch(nullptr);
  if (state.checksMemory)
    impl::checkMemory(FamilyOf<P>::name, args, where);
  if (!state.checks)
    return launch(nullptr);
  state.checks->expectNone(where);
  impl::PendingCheckOf<P> check(state, args, stream, where);
  launch(&check);
}
template <Problem P> void Plan<P>::check(StreamRef stream, std::source_location where) const {
  Event end(where);
  end.record(stream, where);
  end.synchronize(where);
  if (state_->checks)
    state_->checks->expectNone(where);
}
template <Problem P> bool Plan<P>::checks_indices() const { return state_->checks != nullptr; }
template <Problem P> const P &Plan<P>::problem() const { return state_->spec.problem; }
template <Problem P> const ConfigOf<P> &Plan<P>::config() const { return state_->spec.config; }

} // namespace kernels
FLYDSL_NAMESPACE_END

/// Puts into the library what needs no compiler. It stands at the end of a family's host file, in
/// namespace flydsl::kernels.
#define FLYDSL_KERNEL_FAMILY(P)                                                                    \
  template struct FLYDSL_API impl::Questions<P>;                                                   \
  template struct FLYDSL_API impl::ArgsMaker<P>;                                                   \
  template FLYDSL_API Plan<P> Plan<P>::load(const AotModule &, const P &, const ConfigOf<P> &,     \
                                            std::source_location);                                 \
  template FLYDSL_API Plan<P> Plan<P>::load(const AotModule &, const P &, const ConfigOf<P> &,     \
                                            const PlanOptions &, std::source_location);            \
  template FLYDSL_API void Plan<P>::operator()(const ArgsOf<P> &, StreamRef, std::source_location) \
      const;                                                                                       \
  template FLYDSL_API void Plan<P>::check(StreamRef, std::source_location) const;                  \
  template FLYDSL_API bool Plan<P>::checks_indices() const;                                        \
  template FLYDSL_API const P &Plan<P>::problem() const;                                           \
  template FLYDSL_API const ConfigOf<P> &Plan<P>::config() const;
