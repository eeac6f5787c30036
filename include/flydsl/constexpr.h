// Parameters that are known while tracing: single values, and configurations of several.
#pragma once

#include <flydsl/detail/fields.h>
#include <flydsl/host/args.h>

#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN

/// A parameter that is known while tracing: an int, bool, float, enum, string or dtype, or a
/// configuration. Each value is a kernel of its own. A constant that is a number stands wherever a
/// host number may: `i * block + 1`, `fx::range(taps)`.
///
/// A configuration is a plain struct of such values, of layouts, tiled copies and the like, of
/// std::array of them, and of further such structs; it has at most 32 fields. Its numbers and names
/// go into the kernel's symbol, so that a profile tells configurations apart:
///
///   struct Tile { int m = 128, n = 128, k = 64; fx::DType dtype = fx::f16; };
///   fx::Kernel gemm{"gemm", [](fx::Tensor a, fx::Constexpr<Tile> tile) { ... tile->m ... }};
///
/// is the symbol gemm_128x128x64_f16.
template <class T> class Constexpr {
public:
  using constant_type = T;

  constexpr Constexpr(T value) : value_(std::move(value)) {}
  /// The constant itself.
  constexpr const T &value() const { return value_; }
  constexpr operator const T &() const { return value_; }
  /// A field of a configuration.
  constexpr const T *operator->() const
    requires detail::PlainStruct<T>
  {
    return &value_;
  }

private:
  T value_;
};

namespace detail {

template <class T>
concept TextConstant = std::is_convertible_v<const T &, std::string_view>;
template <class T>
concept NumberConstant = std::is_arithmetic_v<T> || std::is_enum_v<T> || std::is_same_v<T, DType>;

/// How a constant of type T stands in a signature, and how it is read back from it.
template <class T> struct ConstantTraits {
  static_assert(TextConstant<T> || NumberConstant<T>,
                "Constexpr holds an int, bool, float, enum, string or dtype, or a plain struct of "
                "these, of layouts and of arrays of them");

  static void pack(ArgPack &to, const T &value) {
    if constexpr (TextConstant<T>) {
      to.constant(std::string_view(value));
    } else if constexpr (std::is_same_v<T, DType>) {
      to.constant(static_cast<std::uint64_t>(value.kind()));
    } else if constexpr (std::is_floating_point_v<T>) {
      const double wide = value;
      std::uint64_t bits;
      std::memcpy(&bits, &wide, sizeof bits);
      to.constant(bits);
    } else {
      to.constant(static_cast<std::uint64_t>(value));
    }
  }
  static T make(ParamReader &from) {
    const ArgType &type = *from.next().type;
    if constexpr (TextConstant<T>) {
      return T(type.text);
    } else if constexpr (std::is_same_v<T, DType>) {
      return DType(static_cast<DType::Kind>(type.bits));
    } else if constexpr (std::is_floating_point_v<T>) {
      double wide;
      std::memcpy(&wide, &type.bits, sizeof wide);
      return static_cast<T>(wide);
    } else {
      return static_cast<T>(type.bits);
    }
  }
};

template <class T>
  requires TracedParam<T>
struct ConstantTraits<T> {
  static_assert(T::param_kind == ArgType::Kind::staticValue,
                "a configuration holds what is known while tracing: a Tensor or a traced number is "
                "a parameter of its own");
  static void pack(ArgPack &to, const T &value) { to.staticValue(value.static_arg()); }
  static T make(ParamReader &from) { return T::from_param(from.next()); }
};

template <class T, std::size_t N> struct ConstantTraits<std::array<T, N>> {
  static void pack(ArgPack &to, const std::array<T, N> &values) {
    for (const T &value : values)
      ConstantTraits<T>::pack(to, value);
  }
  static std::array<T, N> make(ParamReader &from) {
    return arrayOf<T, N>([&] { return ConstantTraits<T>::make(from); });
  }
};

/// Adds a constant to a text: a configuration by its fields. Layouts and the like, which have no
/// short text, add nothing. A flag without a name is "true" or "false".
template <class T> void addToSymbol(SymbolText &symbol, std::string_view name, const T &value) {
  if constexpr (PlainStruct<T>) {
    eachField(value, [&](std::string_view field, const auto &inner) {
      addToSymbol(symbol, field, inner);
    });
  } else if constexpr (IsStdArray<T>::value) {
    for (const auto &inner : value)
      addToSymbol(symbol, name, inner);
  } else if constexpr (std::is_same_v<T, bool>) {
    if (name.empty())
      symbol.word(value ? "true" : "false");
    else
      symbol.flag(name, value);
  } else if constexpr (std::is_floating_point_v<T>) {
    symbol.real(value);
  } else if constexpr (std::is_enum_v<T>) {
    addToSymbol(symbol, name, static_cast<std::underlying_type_t<T>>(value));
  } else if constexpr (std::is_unsigned_v<T>) {
    symbol.number(static_cast<std::uint64_t>(value));
  } else if constexpr (std::is_integral_v<T>) {
    symbol.number(static_cast<std::int64_t>(value));
  } else if constexpr (std::is_same_v<T, DType>) {
    symbol.word(value.name());
  } else if constexpr (TextConstant<T>) {
    symbol.word(value);
  }
}

template <PlainStruct T> struct ConstantTraits<T> {
  static void pack(ArgPack &to, const T &value) {
    withFields(value, [&](const auto &...field) {
      (..., ConstantTraits<std::remove_cvref_t<decltype(field)>>::pack(to, field));
    });
  }
  static T make(ParamReader &from) {
    return [&]<class... Field>(std::type_identity<std::tuple<const Field *...>>) {
      return T{ConstantTraits<Field>::make(from)...};
    }(std::type_identity<FieldPointers<T>>{});
  }
};

} // namespace detail

/// The name of the variant that `export_aot` writes for a kernel whose Constexpr parameters have
/// these values, in the order of the parameters: fx::variant_name(Tile{64, 64, 32}, 4) is
/// "64x64x32x4". Layouts and the like add nothing to it; kernels that differ in those alone need an
/// AotConfig::variant.
template <class... T> std::string variant_name(const T &...constants) {
  detail::SymbolText text;
  (..., detail::addToSymbol(text, {}, constants));
  return text.str();
}

template <class T> struct ArgTraits<Constexpr<T>> {
  template <class Host> static void pack(ArgPack &to, const Host &host) {
    static_assert(std::is_convertible_v<const Host &, T> ||
                      std::is_convertible_v<const Host &, const Constexpr<T> &>,
                  "the argument does not convert to the Constexpr's type");
    if constexpr (std::is_integral_v<T> && std::is_integral_v<Host>) {
      const T kept = static_cast<T>(host);
      if (static_cast<Host>(kept) != host || (kept < T{}) != (host < Host{}))
        to.fail("the integer is out of the constant's range");
      detail::ConstantTraits<T>::pack(to, kept);
    } else if constexpr (std::is_integral_v<T> && std::is_floating_point_v<Host>) {
      // Beyond these bounds, which are exact, the conversion itself is undefined.
      constexpr Host most = static_cast<Host>(std::numeric_limits<T>::max() / 2 + 1) * 2;
      const bool isHeld = host >= static_cast<Host>(std::numeric_limits<T>::min()) && host < most;
      const T kept = isHeld ? static_cast<T>(host) : T{};
      if (!isHeld || static_cast<Host>(kept) != host)
        to.fail("the number is no integer of the constant's range");
      detail::ConstantTraits<T>::pack(to, kept);
    } else if constexpr (std::is_floating_point_v<T> && std::is_floating_point_v<Host>) {
      const T kept = static_cast<T>(host);
      if (detail::becameInfinite(host, kept))
        to.fail("the number is out of the constant's range: it would become infinite");
      detail::ConstantTraits<T>::pack(to, kept);
    } else if constexpr (detail::TextConstant<T>) {
      to.constant(std::string_view(host));
    } else if constexpr (std::is_convertible_v<const Host &, const T &>) {
      detail::ConstantTraits<T>::pack(to, static_cast<const T &>(host));
    } else {
      detail::ConstantTraits<T>::pack(to, static_cast<T>(host));
    }
  }
  static Constexpr<T> make(ParamReader &from) {
    Constexpr<T> constant(detail::ConstantTraits<T>::make(from));
    if constexpr (detail::PlainStruct<T>)
      detail::addToSymbol(from.symbol(), {}, constant.value());
    detail::addToSymbol(from.variant(), {}, constant.value());
    return constant;
  }
};

FLYDSL_NAMESPACE_END
