// The frame of the kernel library: what every family of kernels offers, by the type of its problem.
//
// A family is four plain structs. A Problem says what the code depends on, such as types and the
// length of a row. A Config says how the work is shared among threads. Args are the tensors of one
// call. A Plan is the code for a problem and a configuration: it is launched with Args of any
// number of rows, and compiles, allocates and looks up nothing.
//
//   namespace fk = flydsl::kernels;
//   const fk::SoftmaxProblem problem{.x = fx::f16, .y = fx::f16, .n = 4096};
//   const fk::SoftmaxPlan plan(problem, fk::choose(problem, m));
//   plan({.x = x, .y = y}, stream);
//
// libflydsl_kernels has all that is declared in flydsl/kernels. libflydsl_kernels_runtime, which
// has no compiler, has this header and the families' headers without Plan's constructors: its plans
// come from Plan::load.
#pragma once

#include <flydsl/environment.h>
#include <flydsl/error.h>
#include <flydsl/host/aot.h>
#include <flydsl/host/device.h>
#include <flydsl/host/stream.h>
#include <flydsl/target.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
class Executable;

namespace kernels {

/// Whether something is supported, and the reason if it is not.
struct FLYDSL_API Support {
  bool ok = true;
  std::string why = {}; ///< "n is 0; a row has at least one element"
  /// Whether it is supported.
  explicit operator bool() const { return ok; }

  /// The answer no, with its reason.
  static Support no(std::string why) { return {false, std::move(why)}; }
};

/// How a plan is made, besides what it computes.
struct PlanOptions {
  /// Each call first looks at all indices and lengths that its kernels find memory by: whether they
  /// are inside of the tensors, starts do not fall, slots are different, a worklist is that of the
  /// lengths. A call with a wrong number reads and writes nothing else, and the plan's next call, or
  /// Plan::check, throws IndexError. The check is a small kernel before the others, in graphs and in
  /// exported plans too. Families whose kernels read no such numbers have the same code with it and
  /// without.
  bool check_indices = environment::kernels_check_indices();
  /// Each call first asks the driver how large the memory of each operand is, and is refused by a
  /// TraceError if an operand's extents and strides reach past it, or if the driver knows no such
  /// memory. It is the host's work alone, one question for each operand, and the same for plans from files
  /// and while a graph is captured. Of memory that a program's own allocator deals out in parts, the
  /// block is looked at.
  bool check_memory = environment::kernels_check_memory();
};

/// A number in device memory that a checked plan found wrong.
class FLYDSL_API IndexError : public RuntimeError {
public:
  /// Where it is: `argument` is the field of Args, `index` the coordinate in that tensor, which is
  /// empty if the error is of the plan and not of a number.
  struct Place {
    std::string argument = {};
    std::vector<std::int64_t> index = {};
    std::int64_t value = 0;
  };
  IndexError(const std::string &message, Place place, SourceLocation where = {});
  ~IndexError() override;
  /// The first wrong number of the call.
  const Place &place() const noexcept { return place_; }

private:
  Place place_;
};

/// The types of a family, by its problem; each family's header specialises it with the members
/// `Config`, `Args` and `name`.
template <class Problem> struct FamilyOf {};
/// A struct that is a family's problem.
template <class P>
concept Problem = requires {
  typename FamilyOf<P>::Config;
  typename FamilyOf<P>::Args;
  { FamilyOf<P>::name } -> std::convertible_to<std::string_view>;
};
template <Problem P> using ConfigOf = typename FamilyOf<P>::Config;
template <Problem P> using ArgsOf = typename FamilyOf<P>::Args;

namespace impl {
template <class P> struct PlanState;

/// What the library has for each family behind the functions below.
template <class P> struct FLYDSL_API Questions {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const ConfigOf<P> &config, const Target &target);
  static ConfigOf<P> choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<ConfigOf<P>> configs(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const ConfigOf<P> &config, std::int64_t m);
};
} // namespace impl

/// Whether the target can solve the problem at all. If so, `choose` has a configuration for every
/// number of rows.
template <Problem P>
Support supported(const P &problem, const Target &target = Device::current().target()) {
  return impl::Questions<P>::supported(problem, target);
}
/// Whether it can with this configuration.
template <Problem P>
Support supported(const P &problem, const std::type_identity_t<ConfigOf<P>> &config,
                  const Target &target = Device::current().target()) {
  return impl::Questions<P>::supported(problem, config, target);
}

/// The configuration for about `m` rows, from the family's table. A plan of it is right for any
/// number of rows. Throws Error with the reason if the problem is not supported.
template <Problem P>
ConfigOf<P> choose(const P &problem, std::int64_t m,
                   const Target &target = Device::current().target()) {
  return impl::Questions<P>::choose(problem, m, target);
}
/// The configurations worth measuring for about `m` rows. All of them are supported, and the one
/// that `choose` gives comes first.
template <Problem P>
std::vector<ConfigOf<P>> configs(const P &problem, std::int64_t m,
                                 const Target &target = Device::current().target()) {
  return impl::Questions<P>::configs(problem, m, target);
}
/// The bytes of workspace that a plan of this problem and configuration needs for up to `m` rows; 0 if
/// it needs none. Plan::workspace_bytes says the same of a plan that is there. Throws Error if m is
/// negative or more than a call may have.
template <Problem P>
std::size_t workspace_bytes(const P &problem, const std::type_identity_t<ConfigOf<P>> &config,
                            std::int64_t m) {
  return impl::Questions<P>::workspaceBytes(problem, config, m);
}

/// The code for a problem and a configuration. It is immutable and may be used by several threads
/// at a time; copies share the code. A call launches on the given stream and does nothing else, so
/// it may be captured into a graph.
template <Problem P> class FLYDSL_API Plan {
public:
  using Config = ConfigOf<P>;
  using Args = ArgsOf<P>;

  /// Compiles the kernels, or takes them from the cache. Throws Error with the reason if the
  /// problem or the configuration is not supported, and CompileError if compiling fails. No device
  /// is needed for a plan that is not launched.
  Plan(const P &problem, const Config &config, const Target &target = Device::current().target(),
       std::source_location where = std::source_location::current());
  /// The same with options.
  Plan(const P &problem, const Config &config, const PlanOptions &options,
       const Target &target = Device::current().target(),
       std::source_location where = std::source_location::current());
  /// Takes the kernels from a file that kernels::export_aot wrote for this problem and
  /// configuration. Throws RuntimeError if they are not in the file.
  static Plan load(const AotModule &module, const P &problem, const Config &config,
                   std::source_location where = std::source_location::current());
  /// The same with options: a checked plan is in the file if kernels::export_aot was asked for one.
  static Plan load(const AotModule &module, const P &problem, const Config &config,
                   const PlanOptions &options,
                   std::source_location where = std::source_location::current());

  /// Launches the kernels. Arguments without rows launch nothing. Throws TraceError with the
  /// caller's line if an argument does not fit the problem, and RuntimeError if the device refuses. A
  /// checked plan launches nothing and throws IndexError if an earlier call was found wrong; each
  /// error is thrown once.
  void operator()(const Args &args, StreamRef stream = {},
                  std::source_location where = std::source_location::current()) const;
  /// Waits for the stream's work, and throws IndexError if a call of the plan was found wrong, on
  /// this stream or another whose check has ended. A plan that is not checked never throws here.
  void check(StreamRef stream = {},
             std::source_location where = std::source_location::current()) const;
  /// Whether calls look at indices first: it was asked for, and the family's kernels read some.
  bool checks_indices() const;
  /// What the plan was made for.
  const P &problem() const;
  const Config &config() const;
  /// The bytes of workspace that calls of up to `m` rows bring; 0 if they need none. Rows are what
  /// `choose` counts: tokens of q for attention and decode, tokens for a mixture. One for more rows
  /// serves for fewer. Throws Error if m is negative or more than a call may have.
  std::size_t workspace_bytes(std::int64_t m) const {
    return impl::Questions<P>::workspaceBytes(problem(), config(), m);
  }
  /// The compiled kernels, in the order in which they run; empty if they were loaded from a file.
  std::vector<Executable> executables() const;

private:
  explicit Plan(std::shared_ptr<const impl::PlanState<P>> state) : state_(std::move(state)) {}
  std::shared_ptr<const impl::PlanState<P>> state_;
};

} // namespace kernels
FLYDSL_NAMESPACE_END
