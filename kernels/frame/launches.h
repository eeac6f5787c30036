// The kernels of a plan, wherever their code comes from.
#pragma once

#include "frame/index_checks.h"

#include <flydsl/aot.h>

#include <memory>
#include <source_location>
#include <string>
#include <type_traits>
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

/// A kernel whose run-time arguments are these numbers, or std::array of them. Addresses of global
/// memory are 64-bit integers, so that neither shapes nor strides are part of a signature, and a
/// missing operand is 0.
template <class... Numbers> class Launch : public AnyLaunch {
public:
  /// `ticket`: of a checked plan's call; null for other plans.
  virtual void operator()(const LaunchConfig &config, const std::source_location &where,
                          const IndexTicket *ticket, Numbers... numbers) const = 0;
};

/// Makes a Launch of a variant of a kernel in a file.
class AnyKernelName {
public:
  virtual std::unique_ptr<AnyLaunch> load(const AotModule &module, const std::string &variant,
                                          const std::source_location &where) const = 0;

protected:
  constexpr ~AnyKernelName() = default;
};

/// The name of a kernel, as profilers show it, and the types of its run-time arguments.
template <class... Numbers> class KernelName final : public AnyKernelName {
public:
  explicit constexpr KernelName(const char *name) : name_(name) {}
  constexpr const char *name() const { return name_; }
  std::unique_ptr<AnyLaunch> load(const AotModule &module, const std::string &variant,
                                  const std::source_location &where) const override {
    class Loaded final : public Launch<Numbers...> {
    public:
      explicit Loaded(AotKernel kernel) : kernel_(std::move(kernel)) {}
      void operator()(const LaunchConfig &config, const std::source_location &where,
                      const IndexTicket *ticket, Numbers... numbers) const override {
        if (ticket)
          kernel_(numbers..., ticket->lane, ticket->ticket).launch(config, where);
        else
          kernel_(numbers...).launch(config, where);
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
  template <class... Numbers>
  const Launch<Numbers...> &at(std::size_t place, const KernelName<Numbers...> &) const {
    return static_cast<const Launch<Numbers...> &>(*launches_[place]);
  }
  const std::vector<std::unique_ptr<AnyLaunch>> &all() const { return launches_; }

private:
  std::vector<std::unique_ptr<AnyLaunch>> launches_;
};

/// The kernels of a plan in one call. In a checked one, the first launch is the check's.
class CallLaunches {
public:
  CallLaunches(const Launches &launches, PendingCheck *check)
      : launches_(launches), check_(check) {}

  /// A kernel in this call.
  template <class... Numbers> class Bound {
  public:
    Bound(const Launch<Numbers...> &launch, PendingCheck *check) : launch_(launch), check_(check) {}
    void operator()(const LaunchConfig &config, const std::source_location &where,
                    const std::type_identity_t<Numbers> &...numbers) const {
      launch_(config, where, check_ ? &check_->started() : nullptr, numbers...);
    }

  private:
    const Launch<Numbers...> &launch_;
    PendingCheck *check_;
  };
  /// The kernel at a place, which the family knows to have this name.
  template <class... Numbers>
  Bound<Numbers...> at(std::size_t place, const KernelName<Numbers...> &name) const {
    return {launches_.at(place, name), check_};
  }

private:
  const Launches &launches_;
  PendingCheck *check_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
