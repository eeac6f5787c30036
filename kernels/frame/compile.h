// The part of the frame that compiles. A family's file of kernels includes it, defines
// Family<P>::compile, and ends in FLYDSL_KERNEL_COMPILED(P).
#pragma once

#include "frame/family.h"
#include "frame/index_checks_kernel.h"
#include "host/sampled_memory.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernels/compile.h>

#include <array>
#include <mutex>
#include <shared_mutex>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The parameter of each of a family's kernels that its lambda does not see: in a checked plan, what
/// tells whether the check of the call failed.
struct CheckOfCall {};

} // namespace kernels::impl

template <> struct ArgTraits<kernels::impl::CheckOfCall> {
  using Ticket = std::optional<kernels::impl::IndexTicketParams<OnDevice>>;
  [[gnu::always_inline]] static void pack(ArgPack &to, const kernels::impl::IndexTicket *ticket) {
    ArgTraits<Ticket>::pack(to, ticket ? std::optional(*ticket) : std::nullopt);
  }
  /// It is made before the kernel's body is traced, so a checked kernel ends here if its call was
  /// found wrong: no kernel of a family can forget it, and their bodies do not know of it.
  static kernels::impl::CheckOfCall make(ParamReader &from) {
    if (const Ticket ticket = ArgTraits<Ticket>::make(from)) {
      constexpr std::string_view checked = kernels::impl::kCheckedVariant;
      detail::addToSymbol(from.symbol(), {}, checked);
      detail::addToSymbol(from.variant(), {}, checked);
      kernels::impl::exitIfMarked(ticket->lane, ticket->ticket);
    }
    return {};
  }
};

namespace kernels::impl {

/// The problem of the signature of a kernel's lambda.
template <class Signature> struct ProblemOfBody;
template <class Params, class P> struct ProblemOfBody<void(Params, Constexpr<Spec<P>>)> {
  using type = P;
};

/// A kernel of a family with its body, a lambda that takes the struct of its run-time arguments and
/// the problem and the configuration that it is traced for.
template <class P, template <class> class Params> class FamilyKernel {
public:
  template <class F>
  FamilyKernel(const KernelOf<Params> &name, F body, KernelHints hints = {},
               std::source_location where = std::source_location::current())
      : name_(&name),
        kernel_(
            name.name(),
            [body = std::move(body)](const Params<OnDevice> &params, const Constexpr<Spec<P>> &spec,
                                     CheckOfCall) { body(params, spec); },
            hints, where) {}
  const KernelOf<Params> &name() const { return *name_; }
  /// The call that is compiled. What it passes does not matter, but for the spec and whether there
  /// is a ticket.
  auto call(const Spec<P> &spec, bool checked) const {
    static constexpr IndexTicket any;
    return kernel_(Params<OnHost>{}, spec, checked ? &any : nullptr);
  }

private:
  const KernelOf<Params> *name_;
  Kernel<void(Params<OnDevice>, Constexpr<Spec<P>>, CheckOfCall)> kernel_;
};
template <template <class> class Params, class F>
FamilyKernel(const KernelOf<Params> &, F)
    -> FamilyKernel<typename ProblemOfBody<typename detail::SignatureOf<F>::type>::type, Params>;

/// A compiled kernel of a plan. Its constants are part of the code.
template <template <class> class Params> class CompiledOf final : public LaunchOf<Params> {
public:
  using Code = CompiledKernel<void(Params<OnDevice>, CheckOfCall)>;
  explicit CompiledOf(Code code) : code_(std::move(code)) {}
  void operator()(const LaunchConfig &config, const std::source_location &where,
                  const IndexTicket *ticket, const Params<OnHost> &params) const override {
    code_(params, ticket).launch(config, where);
  }
  const Executable *executable() const override { return &code_; }

private:
  Code code_;
};

/// Where the kernels of a problem and a configuration go: into a plan, or into a file.
template <class P> class Compiler {
public:
  const Spec<P> &spec() const { return spec_; }
  const P &problem() const { return spec_.problem; }
  const ConfigOf<P> &config() const { return spec_.config; }
  const Target &target() const { return target_; }

  /// Compiles a kernel for blocks of `block` threads.
  template <template <class> class Params>
  void operator()(const FamilyKernel<P, Params> &kernel, Dim3 block) const {
    add(kernel, block, checked_);
  }
  /// The code of a kernel, which does not become a part of the plan.
  template <template <class> class Params>
  Executable codeOf(const FamilyKernel<P, Params> &kernel, Dim3 block) const {
    return kernel.call(spec_, checked_).compile({.block = block, .arch = target_.id()}, where_);
  }

  /// Compiles the kernels of a plan of another family, which is a part of this one.
  template <class Q> void part(const Q &problem, const ConfigOf<Q> &config) const {
    const Spec<Q> spec{problem, config};
    Compiler<Q> part(spec, target_, checked_, where_);
    part.file_ = file_;
    part.aot_ = aot_;
    part.names_ = std::move(names_);
    part.launches_ = std::move(launches_);
    Family<Q>::compile(part);
    names_ = std::move(part.names_);
    launches_ = std::move(part.launches_);
  }

  /// Compiles the kernels for a plan.
  static Launches compile(const Spec<P> &spec, const Target &target, bool checked,
                          const std::source_location &where) {
    Compiler compiler(spec, target, checked, where);
    compiler.all();
    return Launches(std::move(compiler.launches_));
  }
  /// Adds the kernels to a file.
  static void write(const Spec<P> &spec, const Target &target, bool checked,
                    const std::string &file, const AotConfig &aot,
                    const std::source_location &where) {
    Compiler compiler(spec, target, checked, where);
    compiler.file_ = &file;
    compiler.aot_ = &aot;
    compiler.all();
  }

private:
  template <class> friend class Compiler;
  template <template <class> class Params>
  void add(const FamilyKernel<P, Params> &kernel, Dim3 block, bool checked) const {
    names_.push_back(&kernel.name());
    auto call = kernel.call(spec_, checked);
    if (file_) {
      AotConfig aot = *aot_;
      aot.block = block;
      aot.append |= names_.size() > 1; // the first kernel may begin the file
      aot.archs = {target_.id()};
      std::move(call).export_aot(*file_, aot, where_);
      return;
    }
    launches_.push_back(std::make_unique<CompiledOf<Params>>(
        std::move(call).compile({.block = block, .arch = target_.id()}, where_).bound()));
  }
  Compiler(const Spec<P> &spec, const Target &target, bool checked,
           const std::source_location &where)
      : spec_(spec), checked_(checked), target_(target), where_(where) {}
  void all() {
    expectSupported(spec_.problem, &spec_.config, target_);
    Family<P>::compile(*this);
    if (names_ != Family<P>::kernels(spec_.problem, spec_.config))
      throw Error(std::string(FamilyOf<P>::name) +
                  ": the kernels that are compiled are not those that the family names");
    if (checked_) // the check itself is not ended by what it finds
      add(checkKernel(), kIndexThreads, false);
  }
  /// The kernel that checks: the family's rows are all that it knows of the family.
  static const FamilyKernel<P, IndexCheckParams> &checkKernel() {
    static const FamilyKernel<P, IndexCheckParams> kernel{
        IndexCheckOf<P>::kKernel,
        [](const IndexCheckParams<OnDevice> &params, const Constexpr<Spec<P>> &spec) {
          traceIndexChecks(indexRules(spec.value()), params);
        }};
    return kernel;
  }

  const Spec<P> &spec_;
  const bool checked_;
  const Target &target_;
  const std::source_location &where_;
  const std::string *file_ = nullptr;
  const AotConfig *aot_ = nullptr;
  mutable std::vector<const AnyKernelOf *> names_;
  mutable std::vector<std::unique_ptr<AnyLaunch>> launches_;
};

/// The plans of `run`, which stay for the life of the process.
template <class P> class PlanCache {
public:
  const Plan<P> &find(const P &problem, const ConfigOf<P> &config, const Target &target,
                      const std::source_location &where) {
    {
      std::shared_lock lock(mutex_);
      if (const Plan<P> *plan = lookUp(problem, config, target))
        return *plan;
    }
    auto made = std::make_unique<Entry>(target, Plan<P>(problem, config, target, where));
    std::unique_lock lock(mutex_);
    if (const Plan<P> *plan = lookUp(problem, config, target))
      return *plan; // another thread made it meanwhile
    entries_.push_back(std::move(made));
    return entries_.back()->plan;
  }
  static PlanCache &instance() {
    static PlanCache *cache = new PlanCache; // outlives every thread that may launch
    return *cache;
  }

private:
  struct Entry {
    Target target;
    Plan<P> plan;
  };
  const Plan<P> *lookUp(const P &problem, const ConfigOf<P> &config, const Target &target) const {
    for (const auto &entry : entries_)
      if (entry->plan.problem() == problem && entry->plan.config() == config &&
          entry->target == target)
        return &entry->plan;
    return nullptr;
  }
  std::shared_mutex mutex_;
  std::vector<std::unique_ptr<Entry>> entries_;
};

/// The plans that a thread's last calls of `run` took, found without a lock, without asking what
/// the device's target is and what is chosen.
template <class P> class RecentPlans {
public:
  /// What a call asks for: a configuration, or the choice for so many rows.
  struct Request {
    int device;
    const P &problem;
    const ConfigOf<P> *config;
    std::int64_t rows;
    std::uint64_t tuned = tunedState(); ///< a choice is that of the tuned configurations in use
  };

  /// None if it is not among them.
  const Plan<P> *find(const Request &request) const {
    for (const Entry &entry : entries_)
      if (entry.plan && entry.device == request.device &&
          entry.rows == (request.config ? kOfConfig : request.rows) &&
          (request.config || entry.tuned == request.tuned) &&
          entry.plan->problem() == request.problem &&
          (!request.config || entry.plan->config() == *request.config))
        return entry.plan;
    return nullptr;
  }
  /// Takes the place of the oldest one.
  void add(const Request &request, const Plan<P> &plan) {
    entries_[next_] = {request.device, request.config ? kOfConfig : request.rows, request.tuned,
                       &plan};
    next_ = (next_ + 1) % entries_.size();
  }
  static RecentPlans &instance() {
    static thread_local constinit RecentPlans plans;
    return plans;
  }

private:
  static constexpr std::int64_t kOfConfig = -1; ///< for a configuration that the caller gave
  struct Entry {
    int device = 0;
    std::int64_t rows = 0;
    std::uint64_t tuned = 0;
    const Plan<P> *plan = nullptr; ///< of PlanCache, which keeps it
  };
  std::array<Entry, 8> entries_ = {};
  std::size_t next_ = 0;
};

template <class P>
void Compiling<P>::exportAot(const P &problem, const ConfigOf<P> &config, const std::string &path,
                             const AotConfig &aot, const PlanOptions &options,
                             const std::source_location &where) {
  if (aot.block != Dim3(0) || !aot.variant.empty())
    throw Error(
        "kernels::export_aot: the block and the variant are the library's; leave them empty");
  std::vector<std::string> archs = aot.archs;
  if (archs.empty())
    archs.push_back(Device::current(where).target().id());
  AotConfig each = aot;
  for (const std::string &arch : archs) {
    const Spec<P> spec{problem, config};
    Compiler<P>::write(spec, Target::parse(arch), checksIndices(spec, options), path, each, where);
    each.append = true;
  }
}

template <class P>
Tuned<P> Compiling<P>::tune(const P &problem, std::int64_t m, const AutotuneOptions &options) {
  const Target target = Device::current().target();
  std::vector<flydsl::Config> list;
  for (const ConfigOf<P> &config : configs(problem, m, target))
    list.push_back(to_config(config));
  std::vector<flydsl::Config::Entry> key = to_config(problem).entries();
  key.emplace_back("m", m);
  AutotuneResult result = autotune(
      std::string(FamilyOf<P>::name), list, flydsl::Config(std::move(key)),
      [&](const flydsl::Config &entries) -> Candidate {
        const auto config = from_config<ConfigOf<P>>(entries);
        // What is measured is the kernel, not the check of random data.
        const Plan<P> plan(problem, config, {.check_indices = false, .check_memory = false},
                           target);
        // Two sets of arguments take turns: a caller's data are not in the caches either.
        auto memory = std::make_shared<host::SampledMemory>();
        const std::array<ArgsOf<P>, 2> args{make_args(problem, config, m, memory->sampler()),
                                            make_args(problem, config, m, memory->sampler())};
        return {plan.executables().back(), [plan, args, memory](StreamRef stream, int iteration) {
                  plan(args[static_cast<std::size_t>(iteration) % 2], stream);
                }};
      },
      options);
  return {from_config<ConfigOf<P>>(result.config), std::move(result)};
}

template <class P>
void Compiling<P>::run(const P &problem, const ArgsOf<P> &args, StreamRef stream,
                       const ConfigOf<P> *config, const std::source_location &where) {
  const Device device = Device::current(where);
  const std::int64_t rows = Family<P>::rows(args);
  RecentPlans<P> &recent = RecentPlans<P>::instance();
  const typename RecentPlans<P>::Request request{device.ordinal(), problem, config, rows};
  const Plan<P> *plan = recent.find(request);
  if (!plan) [[unlikely]] {
    const Target target = device.target();
    plan = &PlanCache<P>::instance().find(problem, config ? *config : choose(problem, rows, target),
                                          target, where);
    recent.add(request, *plan);
  }
  (*plan)(args, stream, where);
}

} // namespace kernels::impl

namespace kernels {

template <Problem P>
Plan<P>::Plan(const P &problem, const Config &config, const Target &target,
              std::source_location where)
    : Plan(problem, config, PlanOptions(), target, where) {}
template <Problem P>
Plan<P>::Plan(const P &problem, const Config &config, const PlanOptions &options,
              const Target &target, std::source_location where) {
  const impl::Spec<P> spec{problem, config};
  const bool checked = impl::checksIndices(spec, options);
  state_ = std::make_shared<const impl::PlanState<P>>(
      spec, impl::Compiler<P>::compile(spec, target, checked, where), checked,
      options.check_memory);
}
template <Problem P> std::vector<Executable> Plan<P>::executables() const {
  std::vector<Executable> all;
  for (const auto &launch : state_->launches.all())
    if (const Executable *executable = launch->executable())
      all.push_back(*executable);
  return all;
}

} // namespace kernels
FLYDSL_NAMESPACE_END

/// Puts into the library what compiles. It stands at the end of a family's file of kernels, in
/// namespace flydsl::kernels.
#define FLYDSL_KERNEL_COMPILED(P)                                                                  \
  template FLYDSL_API Plan<P>::Plan(const P &, const ConfigOf<P> &, const Target &,                \
                                    std::source_location);                                         \
  template FLYDSL_API Plan<P>::Plan(const P &, const ConfigOf<P> &, const PlanOptions &,           \
                                    const Target &, std::source_location);                         \
  template FLYDSL_API std::vector<Executable> Plan<P>::executables() const;                        \
  template struct FLYDSL_API impl::Compiling<P>;
