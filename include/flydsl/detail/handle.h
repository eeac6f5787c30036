// The opaque handle behind every value of the eDSL.
#pragma once

#include <flydsl/detail/arg_type.h>

#include <cstdint>
#include <source_location>
#include <string>

FLYDSL_NAMESPACE_BEGIN

// Declares a function so that the compiler refuses its use and names the alternative. (`= delete`
// takes no text before C++26; compilers without the attribute delete the function.)
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

// The operators that change a value. A class of values does not have them: using one is a compile
// error that names the alternative.
#define FLYDSL_CHANGE(symbol)                                                                      \
  template <class X> FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, void operator symbol(const X &) &);
#define FLYDSL_CHANGES_REFUSED                                                                     \
  FLYDSL_CHANGE(+=)                                                                                \
  FLYDSL_CHANGE(-=)                                                                                \
  FLYDSL_CHANGE(*=)                                                                                \
  FLYDSL_CHANGE(/=)                                                                                \
  FLYDSL_CHANGE(%=)                                                                                \
  FLYDSL_CHANGE(&=)                                                                                \
  FLYDSL_CHANGE(|=)                                                                                \
  FLYDSL_CHANGE(^=)                                                                                \
  FLYDSL_CHANGE(<<=)                                                                               \
  FLYDSL_CHANGE(>>=)                                                                               \
  FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, void operator++() const &);                                        \
  FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, void operator++(int) const &);                                     \
  FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, void operator--() const &);                                        \
  FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, void operator--(int) const &);

/// The source location of the user's call. Every function that traces takes it as its last,
/// defaulted parameter.
using Loc = std::source_location;

namespace detail {

class Node;

/// The location for calls that cannot have one, such as a conversion operator: it stands for the
/// location of the operation before.
inline Loc unknownPlace() { return Loc(); }

/// A counted reference to the content of a value: a host constant, a value of the kernel being
/// traced, or a tuple of both. Copies share the content. Only its owner's move changes what it
/// refers to.
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

/// The value of a kernel parameter, as ArgTraits passes it to the kernel's body.
FLYDSL_API Handle wrapParam(const ParamHandle &param);

/// The identity of a static value (a Layout, a TiledCopy, ...) as a kernel argument. The handle
/// keeps the object alive.
FLYDSL_API StaticArg staticArg(const Handle &handle, Loc loc);

/// Refuses the use of a kernel's value as the condition of a C++ `if`; instantiating it does not
/// compile, because the value is not known while C++ runs.
template <class Asked> constexpr bool conditionOfCpp() {
  static_assert(!sizeof(Asked *),
                "a value of a kernel is not known while C++ runs: in place of if, ?:, while, for, "
                "std::max and std::min use fx::if_, fx::select, fx::while_, fx::range, fx::max and "
                "fx::min");
  return false;
}

} // namespace detail

/// The base class of all values of the eDSL. A value never changes: it can be copied and passed on
/// but not assigned to (use `Var` for that). It does not convert to a C++ `bool`: `if` on a
/// run-time condition does not compile.
class FLYDSL_API Value {
public:
  explicit Value(detail::Handle handle) noexcept
      : handle_(static_cast<detail::Handle &&>(handle)) {}
  Value(const Value &) = default;
  Value(Value &&) = default;
  FLYDSL_REFUSED(FLYDSL_NOT_ASSIGNED, Value &operator=(const Value &));
  FLYDSL_CHANGES_REFUSED
  template <class Asked = void> explicit operator bool() const {
    return detail::conditionOfCpp<Asked>();
  }

  const detail::Handle &handle() const { return handle_; }
  /// The value as text: a static value as layouts are written ("(8,16):(1,8)"), a traced value as
  /// its IR type.
  std::string str() const;
  /// True if the whole content is known while tracing.
  bool is_static(Loc loc = Loc::current()) const;

protected:
  detail::Handle handle_;
};

namespace detail {
/// The base of a class of values that may be static parameters of kernels.
template <class Self> struct StaticParam {
  static constexpr ArgType::Kind param_kind = ArgType::Kind::staticValue;
  static Self from_param(const ParamHandle &param) { return Self(wrapParam(param)); }
  /// The value as an argument of a launch. Throws TraceError if it is not static.
  StaticArg static_arg(Loc loc = Loc::current()) const {
    return staticArg(static_cast<const Self *>(this)->handle(), loc);
  }
};
} // namespace detail

FLYDSL_NAMESPACE_END
