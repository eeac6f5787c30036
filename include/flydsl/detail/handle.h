// The opaque handle behind every value of the eDSL.
#pragma once

#include <flydsl/detail/arg_type.h>

#include <cstdint>
#include <source_location>
#include <string>

FLYDSL_NAMESPACE_BEGIN

// A function that is there to be refused by the compiler, with the way out. (`= delete` has no
// room for a text before C++26; compilers without the attribute delete.)
#if defined(__has_attribute)
#if __has_attribute(unavailable)
#define FLYDSL_REFUSED(reason, ...) __attribute__((unavailable(reason))) __VA_ARGS__
#endif
#endif
#ifndef FLYDSL_REFUSED
#define FLYDSL_REFUSED(reason, ...) __VA_ARGS__ = delete
#endif
#define FLYDSL_NOT_ASSIGNED                                                                        \
  "a value of a kernel stands for one thing for ever; fx::Var holds what changes"

/// Where the user made a call. Every function that traces takes it as its last, defaulted
/// parameter.
using Loc = std::source_location;

namespace detail {

class Node;

/// Where a call can't say its place (a conversion operator): the place of the operation before it.
inline Loc unknownPlace() { return Loc(); }

/// A counted reference to what a value is: a host constant, a value of the kernel being traced, or
/// a tuple of both. Copies share it; it is never reseated, except by its owner's move.
class FLYDSL_API Handle {
public:
  Handle() noexcept = default;
  /// Takes over one reference.
  explicit Handle(Node *owned) noexcept : node_(owned) {}
  Handle(const Handle &other) noexcept;
  Handle(Handle &&other) noexcept : node_(other.node_) { other.node_ = nullptr; }
  Handle &operator=(Handle other) noexcept {
    Node *held = node_;
    node_ = other.node_;
    other.node_ = held;
    return *this;
  }
  ~Handle();

  Node *node() const noexcept { return node_; }
  explicit operator bool() const noexcept { return node_ != nullptr; }

private:
  Node *node_ = nullptr;
};

/// The value of a kernel parameter, as ArgTraits hands it to the kernel's body.
FLYDSL_API Handle wrapParam(const ParamHandle &param);

/// What a static value (a Layout, a TiledCopy, ...) is as a kernel argument. The handle keeps the
/// object.
FLYDSL_API StaticArg staticArg(const Handle &handle, Loc loc);

/// What C++'s `if` asks of a value of a kernel. It compiles nowhere: the number is not known while
/// C++ runs.
template <class Asked> constexpr bool conditionOfCpp() {
  static_assert(!sizeof(Asked *),
                "a value of a kernel is not known while C++ runs: in place of if, ?:, while, for, "
                "std::max and std::min use fx::if_, fx::select, fx::while_, fx::range, fx::max and "
                "fx::min");
  return false;
}

} // namespace detail

/// Base of all values of the eDSL. A value stands for one thing for ever: it can be copied and
/// passed on, not assigned to (`Var` can), and it is no C++ `bool`: `if` on a run-time condition
/// does not compile.
class FLYDSL_API Value {
public:
  explicit Value(detail::Handle handle) noexcept
      : handle_(static_cast<detail::Handle &&>(handle)) {}
  Value(const Value &) = default;
  Value(Value &&) = default;
  FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, Value &operator=(const Value &));
  template <class Asked = void> explicit operator bool() const {
    return detail::conditionOfCpp<Asked>();
  }

  const detail::Handle &handle() const { return handle_; }
  /// Static values print as layouts are written ("(8,16):(1,8)"); traced ones as their IR type.
  std::string str() const;
  /// Whether the whole content is known while tracing.
  bool is_static(Loc loc = Loc::current()) const;

protected:
  detail::Handle handle_;
};

namespace detail {
/// Makes a class of values one that kernels take as static parameters.
template <class Self> struct StaticParam {
  static constexpr ArgType::Kind param_kind = ArgType::Kind::staticValue;
  static Self from_param(const ParamHandle &param) { return Self(wrapParam(param)); }
  /// The value as an argument of a launch. TraceError where it is not static.
  StaticArg static_arg(Loc loc = Loc::current()) const {
    return staticArg(static_cast<const Self *>(this)->handle(), loc);
  }
};
} // namespace detail

FLYDSL_NAMESPACE_END
