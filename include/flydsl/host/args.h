// A call's arguments become a signature, which selects the code, and an argument buffer, which
// holds the data.
//
// Both are written in one pass into one object on the caller's stack; nothing is allocated. The
// signature is a row of 64-bit words that states everything that the traced code depends on: two
// calls with equal words run the same code. The argument buffer has the layout of the kernel's ABI:
// a tensor is a pointer and a packed struct of its dynamic leaves, a scalar stands at its natural
// alignment, and static values and constants take no space.
#pragma once

#include <flydsl/detail/arg_type.h>
#include <flydsl/host/host_float.h>
#include <flydsl/host/host_tensor.h>

#include <array>
#include <concepts>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// The signature and the argument buffer of one call.
class ArgPack {
public:
  static constexpr std::size_t maxWords = 384;
  static constexpr std::size_t maxBytes = 2048;
  static constexpr std::size_t maxStatics = 32;
  static constexpr std::size_t maxParameters = 256;
  static constexpr unsigned maxDepth = 4; // structs inside of structs, as far as messages name them

  ArgPack() {} // the arrays stay uninitialised; a call writes only the part that it uses
  ArgPack(const ArgPack &) = delete;
  ArgPack &operator=(const ArgPack &) = delete;

  void beginArgument() { ++argument_; }
  /// A parameter of a kernel begins; `parameterStarts` tells later which words are its own.
  void beginParameter() {
    beginArgument();
    start_[argument_] = static_cast<std::uint16_t>(words_);
  }
  /// What is packed until `endField` belongs to this field of a struct; messages name it.
  void beginField(std::string_view name) {
    if (depth_ < maxDepth)
      field_[depth_] = {name.data(), name.size()};
    ++depth_;
  }
  void endField() { --depth_; }
  // These functions are inlined and store the counts last. The counts are then passed from argument
  // to argument in registers; otherwise the stores to the buffer in between would force them
  // through memory.
  [[gnu::always_inline]] void tensor(const TensorArg &t) {
    const std::size_t word = words_, count = t.wordCount_, at = aligned(bytes_, sizeof(void *)),
                      end = at + sizeof(void *) + t.dynamicBytes_;
    if (word + count > maxWords || end > maxBytes) [[unlikely]]
      return fail("too many arguments");
    if (!t.data_ && !t.mayBeNull_) [[unlikely]]
      failNull("the tensor's pointer is null");
    copyRounded<16>(word_ + word, t.words_, count * 8);
    std::memcpy(byte_ + at, &t.data_, sizeof(void *));
    copyRounded<32>(byte_ + at + sizeof(void *), t.dynamic_, t.dynamicBytes_);
    words_ = word + count;
    bytes_ = end;
  }
  /// A run-time number. `value` has the size and the representation of `dtype`.
  template <class T> [[gnu::always_inline]] void scalar(DType::Kind dtype, const T &value) {
    passed(scalarTag | static_cast<std::uint64_t>(dtype) << 4, value);
  }
  /// An address in global memory, and the type of the elements there.
  void pointer(DType type, const void *address) {
    const auto bits = reinterpret_cast<std::uint64_t>(address);
    const std::uint64_t bytes = static_cast<std::uint64_t>(type.memory_bits()) / 8;
    if (!bytes) [[unlikely]]
      fail("a pointer's elements take whole bytes: the type is none, or narrower than 8 bits");
    else if (!address) [[unlikely]]
      failNull("the pointer is null");
    else if (bits % bytes) [[unlikely]]
      fail("the pointer is not aligned to its elements");
    passed(pointerTag | static_cast<std::uint64_t>(type.kind()) << 4, bits);
  }
  void staticValue(const StaticArg &value) {
    if (statics_ == maxStatics)
      return fail("too many static arguments");
    static_[statics_++] = value.object;
    addWord(staticTag);
    addWord(value.digest[0]);
    addWord(value.digest[1]);
  }
  void constant(std::uint64_t bits) {
    addWord(constantTag);
    addWord(bits);
  }
  /// Whether an argument that a call may leave out is there: a constant of the code.
  [[gnu::always_inline]] void presence(bool isThere) {
    addWord(constantTag | presenceBit);
    addWord(isThere);
  }
  void constant(std::string_view text) {
    addWord(textTag | static_cast<std::uint64_t>(text.size()) << 4);
    for (std::size_t at = 0; at < text.size(); at += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, text.data() + at, std::min<std::size_t>(8, text.size() - at));
      addWord(word);
    }
  }
  /// Records an error in the current argument; the launch throws it with the user's source
  /// location.
  [[gnu::noinline]] void fail(const char *what) {
    if (error_ && !nullOnly_) // a compile alone forgives a null pointer, nothing else
      return;
    error_ = depth_ ? inField(what) : what;
    errorArgument_ = argument_;
    nullOnly_ = false;
  }
  /// Takes an error that names the field, of a pack of the struct alone, in the place of the last one.
  [[gnu::noinline]] void nameError(const ArgPack &named) {
    if (!named.error_)
      return;
    errorText_[std::string_view(named.error_).copy(errorText_, sizeof errorText_ - 1)] = 0;
    error_ = depth_ ? inField(errorText_) : errorText_;
  }
  std::size_t words() const { return words_; }
  const std::uint64_t *word() const { return word_; }
  const std::byte *bytes() const { return byte_; }
  std::size_t byteCount() const { return bytes_; }
  const char *error() const { return error_; }
  int errorArgument() const { return errorArgument_; }
  /// The number of arguments of the call; a struct or an array is one.
  int argumentCount() const { return argument_ + 1; }
  /// Where the words of each parameter begin, of a call that packed them by `packAll`.
  std::span<const std::uint16_t> parameterStarts() const {
    return {start_, static_cast<std::size_t>(argumentCount())};
  }
  /// True if the only error is a null pointer of a tensor.
  bool nullOnly() const { return nullOnly_; }

  /// True if these are the words of the types. Both begin with a word for the workgroup size, which
  /// is not compared. The comparison goes word by word, because a wider load would wait until the
  /// stores of the words are done.
  bool sameTypes(const std::uint64_t *words, std::size_t count) const {
    if (count != words_)
      return false;
    for (std::size_t i = 1; i < count; ++i)
      if (words[i] != word_[i])
        return false;
    return true;
  }

  /// Sets the first word, which belongs to the launch: its workgroup size.
  void setBlock(std::uint64_t packed) { word_[0] = packed; }
  std::uint64_t block() const { return word_[0]; }

  /// The meaning of the words, for the tracer. Tensors, scalars and constants are decoded from the
  /// words alone.
  FLYDSL_API std::vector<ArgType> types() const;

  // Tags, in the low four bits of an argument's first word.
  static constexpr std::uint64_t tensorTag = 1, scalarTag = 2, staticTag = 3, constantTag = 4,
                                 textTag = 5, pointerTag = 6;
  static constexpr std::uint64_t presenceBit = 16; ///< in the head of a constant

private:
  /// "field b.scale: " and the error.
  FLYDSL_API const char *inField(const char *what);
  [[gnu::noinline]] void failNull(const char *what) {
    if (error_)
      return;
    fail(what);
    nullOnly_ = true;
  }
  /// Copies `size` bytes, or the whole first `Block` bytes if `size` is not larger, because a copy
  /// of a fixed size is a few vector moves. Source and destination must have room for a block.
  template <std::size_t Block>
  static void copyRounded(void *to, const void *from, std::size_t size) {
    std::memcpy(to, from, Block);
    if (size > Block) [[unlikely]]
      copyRest(static_cast<char *>(to) + Block, static_cast<const char *>(from) + Block,
               size - Block);
  }
  [[gnu::noinline]] static void copyRest(char *to, const char *from, std::size_t size) {
    std::memcpy(to, from, size);
  }
  /// A value of one word of type and `sizeof value` bytes of data.
  template <class T> [[gnu::always_inline]] void passed(std::uint64_t head, const T &value) {
    const std::size_t word = words_, at = aligned(bytes_, sizeof(T)), end = at + sizeof(T);
    if (word == maxWords || end > maxBytes) [[unlikely]]
      return fail("too many arguments");
    word_[word] = head;
    std::memcpy(byte_ + at, &value, sizeof(T));
    words_ = word + 1;
    bytes_ = end;
  }
  void addWord(std::uint64_t word) {
    if (words_ == maxWords)
      return fail("too many arguments");
    word_[words_++] = word;
  }
  static constexpr std::size_t aligned(std::size_t at, std::size_t to) {
    return (at + to - 1) & ~(to - 1);
  }

  std::size_t words_ = 1, bytes_ = 0;
  bool nullOnly_ = false;
  const char *error_ = nullptr;
  int argument_ = -1, errorArgument_ = 0;
  unsigned statics_ = 0;
  std::uint64_t word_[maxWords + 8];
  const void *static_[maxStatics];
  alignas(16) std::byte byte_[maxBytes + 32];
  // What was added after 0.1.0 stands at the end, for programs that were linked with that.
  struct FieldName { // a std::string_view would be set to null by each call
    const char *text;
    std::size_t size;
  };
  unsigned depth_ = 0;
  FieldName field_[maxDepth];
  char errorText_[256];
  std::uint16_t start_[maxParameters];
};

template <class P>
concept TracedParam = requires(const ParamHandle &h) {
  { P::from_param(h) } -> std::convertible_to<P>;
  { P::param_kind } -> std::convertible_to<ArgType::Kind>;
};

/// The C++ type that stores a scalar argument of a dtype in the buffer.
template <DType::Kind K> struct ScalarStorage {};
// clang-format off
template <> struct ScalarStorage<DType::Kind::boolean> { using type = std::uint8_t; };
template <> struct ScalarStorage<DType::Kind::i8> { using type = std::int8_t; };
template <> struct ScalarStorage<DType::Kind::i16> { using type = std::int16_t; };
template <> struct ScalarStorage<DType::Kind::i32> { using type = std::int32_t; };
template <> struct ScalarStorage<DType::Kind::i64> { using type = std::int64_t; };
template <> struct ScalarStorage<DType::Kind::u8> { using type = std::uint8_t; };
template <> struct ScalarStorage<DType::Kind::u16> { using type = std::uint16_t; };
template <> struct ScalarStorage<DType::Kind::u32> { using type = std::uint32_t; };
template <> struct ScalarStorage<DType::Kind::u64> { using type = std::uint64_t; };
template <DType::Kind K> requires(isHostFloatKind(K))
struct ScalarStorage<K> { using type = HostFloat<K>; };
template <> struct ScalarStorage<DType::Kind::f32> { using type = float; };
template <> struct ScalarStorage<DType::Kind::f64> { using type = double; };
// clang-format on

/// Whether a finite number was too large for the type that it was stored in.
constexpr bool becameInfinite(double number, double stored) {
  constexpr double most = std::numeric_limits<double>::max();
  return (stored > most || stored < -most) && number <= most && number >= -most;
}

template <DType::Kind K, class Host>
[[gnu::always_inline]] inline void packScalar(ArgPack &pack, const Host &host) {
  using Stored = typename ScalarStorage<K>::type;
  if constexpr (K == DType::Kind::boolean) {
    static_assert(std::is_convertible_v<Host, bool>, "a Boolean parameter takes a bool");
    pack.scalar(K, static_cast<Stored>(static_cast<bool>(host)));
  } else if constexpr (std::is_integral_v<Stored>) {
    static_assert(std::is_integral_v<Host> || std::is_enum_v<Host>,
                  "an integer parameter takes an integer");
    using Wide = std::conditional_t<std::is_enum_v<Host>, std::int64_t, Host>;
    const auto wide = static_cast<Wide>(host);
    const auto stored = static_cast<Stored>(wide);
    if (static_cast<Wide>(stored) != wide || (stored < Stored{}) != (wide < Wide{}))
      pack.fail("the integer is out of the parameter's range");
    pack.scalar(K, stored);
  } else {
    static_assert(std::is_arithmetic_v<Host> || isHostFloat<Host>,
                  "a floating-point parameter takes a number");
    if constexpr (std::is_same_v<Host, Stored>) {
      pack.scalar(K, host);
    } else {
      const auto stored = [&] {
        if constexpr (std::is_arithmetic_v<Stored>)
          return static_cast<Stored>(host);
        else
          return Stored(static_cast<double>(host));
      }();
      if (becameInfinite(static_cast<double>(host), static_cast<double>(stored))) [[unlikely]]
        pack.fail("the number is out of the parameter's range: it would become infinite");
      pack.scalar(K, stored);
    }
  }
}

} // namespace detail

using detail::ArgPack;
using detail::ParamReader;

/// Defines how a host argument becomes a kernel parameter of type P; it is the counterpart of
/// FlyDSL's JitArgumentRegistry. A plain struct needs nothing (flydsl/params.h). Specialise it for
/// another type of your own, or for a host type whose fields have other names:
///
///   template <> struct flydsl::ArgTraits<Params> {
///     static void pack(ArgPack &to, const HostParams &h) { // every member, in order
///       ArgTraits<Tensor>::pack(to, h.weights);
///       ArgTraits<Int32>::pack(to, h.count);
///     }
///     static Params make(ParamReader &from) { // the same members in the same order
///       Tensor weights = ArgTraits<Tensor>::make(from);
///       return {weights, ArgTraits<Int32>::make(from)};
///     }
///   };
template <class P> struct ArgTraits {
  static_assert(
      detail::TracedParam<P>,
      "a kernel's parameter is a Tensor, a scalar value, a Constexpr, a static value such as a "
      "TiledCopy or a Layout, a plain struct of such, or a type with an ArgTraits of its own");

  /// Writes the host's argument into the launch's signature and buffer.
  template <class Host> [[gnu::always_inline]] static void pack(ArgPack &to, const Host &host) {
    using Kind = detail::ArgType::Kind;
    if constexpr (P::param_kind == Kind::tensor) {
      static_assert(std::is_convertible_v<const Host &, const TensorArg &>,
                    "a Tensor parameter takes a DeviceArray or fx::tensor(pointer, shape)");
      if constexpr (requires { host.gone(); })
        if (const char *why = host.gone()) [[unlikely]]
          return to.fail(why);
      to.tensor(host);
    } else if constexpr (P::param_kind == Kind::scalar) {
      detail::packScalar<P::param_dtype.kind()>(to, host);
    } else {
      static_assert(std::is_convertible_v<const Host &, const P &>,
                    "the argument is not the static value that the parameter asks for");
      to.staticValue(static_cast<const P &>(host).static_arg());
    }
  }
  /// Makes the parameter in the traced kernel.
  static P make(ParamReader &from) { return P::from_param(from.next()); }
};

namespace detail {
/// N results of `next`, called in order; P need not be constructible otherwise.
template <class P, std::size_t N, class F> std::array<P, N> arrayOf(F next) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<P, N>{(static_cast<void>(I), next())...};
  }(std::make_index_sequence<N>{});
}
} // namespace detail

/// Several parameters of one type: the buffers of all devices, the weights of all experts.
template <class P, std::size_t N> struct ArgTraits<std::array<P, N>> {
  template <class Host>
  [[gnu::always_inline]] static void pack(ArgPack &to, const std::array<Host, N> &hosts) {
    for (const Host &host : hosts)
      ArgTraits<P>::pack(to, host);
  }
  static std::array<P, N> make(ParamReader &from) {
    return detail::arrayOf<P, N>([&] { return ArgTraits<P>::make(from); });
  }
};

FLYDSL_NAMESPACE_END
