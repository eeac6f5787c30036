// Arguments by name: a kernel's parameter may be a plain struct.
//
// A struct of tensors, numbers and constants is one parameter of a kernel. Its fields are passed
// one after the other, as if each were a parameter, so that a struct costs nothing. The argument of
// the call is a plain struct whose fields have the same names in the same order; it does not
// compile otherwise, so two tensors cannot be swapped. Host and kernel can share one declaration, a
// template over the side on which it stands:
//
//   template <class Side> struct ScaleParams {
//     fx::Param<Side, fx::Tensor> x, y;
//     fx::Param<Side, std::optional<fx::Tensor>> bias = {}; // code with a bias, and code without
//     fx::Param<Side, fx::Float32> factor;
//   };
//   const fx::Kernel scale{"scale", [](ScaleParams<fx::OnDevice> p) {
//     auto i = fx::thread_idx().x;
//     auto value = p.factor * p.x(i);
//     p.y(i) = p.bias ? value + (*p.bias)(i) : value;
//   }};
//   scale({.x = x, .y = y, .factor = 0.5f}).launch({.block = 64});
#pragma once

#include <flydsl/constexpr.h>
#include <flydsl/kernel/scalars.h>
#include <flydsl/pointer_arg.h>

#include <cstddef>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN

class Pointer;
class Tensor;

/// The side of a struct of parameters that the kernel's lambda takes: its fields are traced values.
struct OnDevice {};
/// The side that a call passes: its fields are TensorArg, numbers and constants.
struct OnHost {};

namespace detail {

template <class T> struct IsOptional : std::false_type {};
template <class T> struct IsOptional<std::optional<T>> : std::true_type {};
template <class T>
concept AnOptional = IsOptional<T>::value;

/// What a call passes for a traced number of a kind.
template <DType::Kind K> struct NumberOnHost : ScalarStorage<K> {};
template <> struct NumberOnHost<DType::Kind::boolean> {
  using type = bool;
};

/// What a call passes for a parameter of a type that says itself what it is.
template <class P> struct TracedOnHost {
  using type = P; // a static value, such as a TiledCopy or a Layout
};
template <TracedParam P>
  requires(P::param_kind == ArgType::Kind::tensor)
struct TracedOnHost<P> {
  using type = TensorArg;
};
template <TracedParam P>
  requires(P::param_kind == ArgType::Kind::scalar)
struct TracedOnHost<P> : NumberOnHost<DType(P::param_dtype).kind()> {};

/// What a call passes for a parameter of type P. The traced types that most structs are made of are
/// known by their names, so that a program without the builder's headers shares these structs.
template <class P> struct HostParam : TracedOnHost<P> {};
template <> struct HostParam<Tensor> {
  using type = TensorArg;
};
template <DType::Kind K> struct HostParam<Scalar<K>> : NumberOnHost<K> {};
template <> struct HostParam<Pointer> {
  using type = PointerArg;
};
template <class T> struct HostParam<Constexpr<T>> {
  using type = T;
};
template <class P> struct HostParam<std::optional<P>> {
  using type = std::optional<typename HostParam<P>::type>;
};
template <class P, std::size_t N> struct HostParam<std::array<P, N>> {
  using type = std::array<typename HostParam<P>::type, N>;
};
template <template <class> class S> struct HostParam<S<OnDevice>> {
  using type = S<OnHost>;
};
template <template <class, int> class S, int N> struct HostParam<S<OnDevice, N>> {
  using type = S<OnHost, N>;
};

template <class Side, class P> struct ParamOn {
  static_assert(std::is_same_v<Side, OnDevice> || std::is_same_v<Side, OnHost>,
                "the side of a struct of parameters is fx::OnDevice or fx::OnHost");
  using type = P;
};
template <class P> struct ParamOn<OnHost, P> : HostParam<P> {};

/// A parameter whose call may be written in braces, because its type names the host's side.
template <class P> struct HasBothSides : std::false_type {};
template <template <class> class S> struct HasBothSides<S<OnDevice>> : std::true_type {};
template <template <class, int> class S, int N>
struct HasBothSides<S<OnDevice, N>> : std::true_type {};

/// A plain struct that is a kernel's parameter.
template <class P>
concept ParamStruct = PlainStruct<P> && !TracedParam<P> && !AnOptional<P>;

/// A struct that is packed by its fields, not by an ArgTraits of its author's.
template <class P>
concept PacksFields = requires { typename ArgTraits<P>::PackedByFields; };

/// Whether a parameter is known while tracing as a whole: a Constexpr, a static value, or an array
/// of such. A launch passes nothing for it.
template <class P> struct IsConstantParam : std::false_type {};
template <TracedParam P>
struct IsConstantParam<P> : std::bool_constant<P::param_kind == ArgType::Kind::staticValue> {};
template <class T> struct IsConstantParam<Constexpr<T>> : std::true_type {};
template <class P, std::size_t N> struct IsConstantParam<std::array<P, N>> : IsConstantParam<P> {};

/// Whether a launch passes nothing for a parameter, nor for any field of it.
template <class P> struct PassesNothing : IsConstantParam<P> {};
template <class P> struct PassesNothing<std::optional<P>> : PassesNothing<P> {};
template <class P, std::size_t N> struct PassesNothing<std::array<P, N>> : PassesNothing<P> {};
template <ParamStruct P>
struct PassesNothing<P>
    : std::bool_constant<[]<class... Field>(std::type_identity<std::tuple<const Field *...>>) {
        return (... && PassesNothing<Field>::value);
      }(std::type_identity<FieldPointers<P>>{})> {};

/// Whether two plain structs have fields of the same names in the same order.
template <class P, class H> consteval bool haveSameFields() {
  if constexpr (fieldCount<P> != fieldCount<H>) {
    return false;
  } else {
    for (std::size_t i = 0; i < fieldCount<P>; ++i)
      if (fieldNames<P>[i] != fieldNames<H>[i])
        return false;
    return true;
  }
}

} // namespace detail

/// The type of a field of a struct of parameters on one side: P itself in the kernel, and on the
/// host what a call passes for P. A Tensor is a TensorArg there, an Int32 a std::int32_t, a Pointer
/// a PointerArg, a Constexpr<T> a T; optional ones and std::array stay what they are, of those.
template <class Side, class P> using Param = typename detail::ParamOn<Side, P>::type;

/// An argument that a call may leave out: std::nullopt. Whether it is there is known while tracing,
/// so that each of the two is code of its own, and `if (p.bias)` is an `if` of C++.
template <class P> struct ArgTraits<std::optional<P>> {
  template <class Host> [[gnu::always_inline]] static void pack(ArgPack &to, const Host &host) {
    if constexpr (std::is_same_v<Host, std::nullopt_t>) {
      packPresence(to, false);
    } else if constexpr (detail::AnOptional<Host>) {
      packPresence(to, host.has_value());
      if (host)
        ArgTraits<P>::pack(to, *host);
    } else {
      packPresence(to, true);
      ArgTraits<P>::pack(to, host);
    }
  }
  static std::optional<P> make(ParamReader &from) {
    if (!from.next().type->bits)
      return std::nullopt;
    return ArgTraits<P>::make(from);
  }

private:
  /// Of an argument that no launch passes, this is a constant as its value is.
  [[gnu::always_inline]] static void packPresence(ArgPack &to, bool isThere) {
    if constexpr (detail::PassesNothing<P>::value)
      to.constant(std::uint64_t{isThere});
    else
      to.presence(isThere);
  }
};

/// A struct of parameters: its fields one after the other.
template <detail::ParamStruct P> struct ArgTraits<P> {
  using PackedByFields = P;
  /// Which field is wrong is looked for only if one is: names cost a launch nothing.
  template <class Host> [[gnu::always_inline]] static void pack(ArgPack &to, const Host &host) {
    const char *before = to.error();
    packFields<false>(to, host);
    if (to.error() != before) [[unlikely]]
      nameError(to, host);
  }
  static P make(ParamReader &from) {
    return [&]<class... Field>(std::type_identity<std::tuple<const Field *...>>) {
      return P{ArgTraits<Field>::make(from)...}; // braces: in order
    }(std::type_identity<detail::FieldPointers<P>>{});
  }

private:
  template <class> friend struct ArgTraits;

  /// `Named`: an error says in which field it is.
  template <bool Named, class Host>
  [[gnu::always_inline]] static void packFields(ArgPack &to, const Host &host) {
    static_assert(detail::PlainStruct<Host>,
                  "the parameter is a struct: pass a plain struct with fields of the same names");
    static_assert(detail::haveSameFields<P, Host>(),
                  "the fields of the argument are not those of the kernel's parameter: they have "
                  "the same names in the same order");
    packEach<Named>(to, host, std::type_identity<detail::FieldPointers<P>>{});
  }
  template <bool Named, class Host, class... Field>
  [[gnu::always_inline]] static void
  packEach(ArgPack &to, const Host &host, std::type_identity<std::tuple<const Field *...>>) {
    detail::withFields(host, [&](const auto &...value) __attribute__((always_inline)) {
      std::size_t at = 0;
      (..., packField<Named, Field>(to, detail::fieldNames<P>[at++], value));
    });
  }
  template <bool Named, class Field, class Value>
  [[gnu::always_inline]] static void packField(ArgPack &to, std::string_view name,
                                               const Value &value) {
    if constexpr (Named)
      to.beginField(name);
    if constexpr (detail::PacksFields<Field>)
      ArgTraits<Field>::template packFields<Named>(to, value);
    else
      ArgTraits<Field>::pack(to, value);
    if constexpr (Named)
      to.endField();
  }
  template <class Host> [[gnu::noinline]] static void nameError(ArgPack &to, const Host &host) {
    ArgPack named;
    packFields<true>(named, host);
    to.nameError(named);
  }
};

FLYDSL_NAMESPACE_END
