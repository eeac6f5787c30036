// What needs the compiler: plans by the problem alone, files of compiled kernels, and tuning.
#pragma once

#include <flydsl/host/autotune.h>
#include <flydsl/kernel.h>
#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What `tune` found.
template <Problem P> struct Tuned {
  ConfigOf<P> config;
  AutotuneResult details;
};

namespace impl {
template <class P> struct FLYDSL_API Compiling {
  static void exportAot(const P &problem, const ConfigOf<P> &config, const std::string &path,
                        const AotConfig &aot, const PlanOptions &options,
                        const std::source_location &where);
  static Tuned<P> tune(const P &problem, std::int64_t m, const AutotuneOptions &options);
  static void run(const P &problem, const ArgsOf<P> &args, StreamRef stream,
                  const ConfigOf<P> *config, const std::source_location &where);
};
} // namespace impl

/// Compiles the kernels of a problem and a configuration for each target of `aot.archs`, and writes
/// or adds them to a file that Plan::load reads. The block and the variant of `aot` are the
/// library's; they stay empty. Throws Error if a target does not support the problem or the
/// configuration.
template <Problem P>
void export_aot(const P &problem, const std::type_identity_t<ConfigOf<P>> &config,
                const std::string &path, const AotConfig &aot = {},
                std::source_location where = std::source_location::current()) {
  impl::Compiling<P>::exportAot(problem, config, path, aot, PlanOptions(), where);
}
/// The same with options: the kernels of a checked plan stand in a file besides those of the plan
/// that is not checked, and Plan::load takes the ones that it is asked for.
template <Problem P>
void export_aot(const P &problem, const std::type_identity_t<ConfigOf<P>> &config,
                const std::string &path, const AotConfig &aot, const PlanOptions &options,
                std::source_location where = std::source_location::current()) {
  impl::Compiling<P>::exportAot(problem, config, path, aot, options, where);
}

/// Measures the configurations for `m` rows on the current device, with random data that it
/// allocates, and gives the fastest; see fx::autotune for what is remembered and where.
template <Problem P>
Tuned<P> tune(const P &problem, std::int64_t m, const AutotuneOptions &options = {}) {
  return impl::Compiling<P>::tune(problem, m, options);
}

/// Solves a problem by a plan that is made at the first call and kept for the process, for the
/// current device's target. Without a configuration `choose` gives one for the rows of `args`. An
/// engine that knows its problems makes plans instead.
template <Problem P>
void run(const P &problem, const std::type_identity_t<ArgsOf<P>> &args, StreamRef stream = {},
         const std::type_identity_t<ConfigOf<P>> *config = nullptr,
         std::source_location where = std::source_location::current()) {
  impl::Compiling<P>::run(problem, args, stream, config, where);
}

} // namespace kernels
FLYDSL_NAMESPACE_END
