// The kernels of a plan, wherever their code comes from.
#pragma once

#include "frame/index_checks.h"

#include <flydsl/host/aot.h>
#include <flydsl/strided.h>

#include <memory>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
class Executable;

namespace kernels::impl {

/// One kernel with its constants, compiled or loaded.
class AnyLaunch {
public:
  virtual ~AnyLaunch() = default;
  /// The compiled code; null if the kernel was loaded from a file.
  virtual const Executable *executable() const = 0;
};

/// A kernel of a family. A launch of it is made from a variant in a file.
class AnyKernelOf {
public:
  virtual std::unique_ptr<AnyLaunch> load(const AotModule &module, const std::string &variant,
                                          const std::source_location &where) const = 0;

protected:
  constexpr ~AnyKernelOf() = default;
};

/// A kernel whose run-time arguments are a plain struct, compiled or loaded.
template <template <class> class Params> class LaunchOf : public AnyLaunch {
public:
  /// `ticket`: of a checked plan's call; null for other plans.
  virtual void operator()(const LaunchConfig &config, const std::source_location &where,
                          const IndexTicket *ticket, const Params<OnHost> &params) const = 0;
};

/// A kernel of a family: its name, as profilers show it, and the struct of its run-time arguments,
/// which its launches and its lambda share (flydsl/params.h). The struct has numbers and Strided
/// operands, so that neither shapes nor strides are part of a signature, and a missing operand has
/// the address 0.
template <template <class> class Params> class KernelOf final : public AnyKernelOf {
public:
  explicit constexpr KernelOf(const char *name) : name_(name) {}
  constexpr const char *name() const { return name_; }
  std::unique_ptr<AnyLaunch> load(const AotModule &module, const std::string &variant,
                                  const std::source_location &where) const override {
    class Loaded final : public LaunchOf<Params> {
    public:
      explicit Loaded(AotKernel kernel) : kernel_(std::move(kernel)) {}
      void operator()(const LaunchConfig &config, const std::source_location &where,
                      const IndexTicket *ticket, const Params<OnHost> &params) const override {
        kernel_(params, ticket ? std::optional(*ticket) : std::nullopt).launch(config, where);
      }
      const Executable *executable() const override { return nullptr; }

    private:
      AotKernel kernel_;
    };
    return std::make_unique<Loaded>(module.kernel(name_, variant, where));
  }

private:
  const char *name_;
};

/// The kernels of a plan, in the order in which its family names them.
class Launches {
public:
  explicit Launches(std::vector<std::unique_ptr<AnyLaunch>> launches)
      : launches_(std::move(launches)) {}
  /// The kernel at a place, which the family knows to have this name.
  template <template <class> class Params>
  const LaunchOf<Params> &at(std::size_t place, const KernelOf<Params> &) const {
    return static_cast<const LaunchOf<Params> &>(*launches_[place]);
  }
  const std::vector<std::unique_ptr<AnyLaunch>> &all() const { return launches_; }

private:
  std::vector<std::unique_ptr<AnyLaunch>> launches_;
};

/// The kernels of a plan in one call. In a checked one, the first launch is the check's.
class CallLaunches {
public:
  CallLaunches(const Launches &launches, PendingCheck *check, std::size_t first = 0)
      : launches_(launches), check_(check), first_(first) {}
  /// Those from a place on, as a part of the family counts them.
  CallLaunches from(std::size_t first) const { return {launches_, check_, first_ + first}; }

  /// A kernel in this call: `kernel(config, where, {.x = ..., .m = ...})`.
  template <template <class> class Params> class BoundOf {
  public:
    BoundOf(const LaunchOf<Params> &launch, PendingCheck *check) : launch_(launch), check_(check) {}
    void operator()(const LaunchConfig &config, const std::source_location &where,
                    const Params<OnHost> &params) const {
      launch_(config, where, check_ ? &check_->started() : nullptr, params);
    }

  private:
    const LaunchOf<Params> &launch_;
    PendingCheck *check_;
  };
  /// The kernel at a place, which the family knows to have this name.
  template <template <class> class Params>
  BoundOf<Params> at(std::size_t place, const KernelOf<Params> &name) const {
    return {launches_.at(first_ + place, name), check_};
  }

private:
  const Launches &launches_;
  PendingCheck *check_;
  std::size_t first_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
