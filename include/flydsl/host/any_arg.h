// An argument whose type the compiler of the host does not know: what functions and kernels take
// that were read from IR. Their own types say, at the call, whether it fits.
#pragma once

#include <flydsl/host/args.h>
#include <flydsl/host/stream.h>
#include <flydsl/pointer_arg.h>

#include <concepts>
#include <cstdint>
#include <source_location>

FLYDSL_NAMESPACE_BEGIN

/// One argument of a call: a tensor, an address, a number or a stream. It is made from what a call
/// passes, and refers to a tensor without owning it: use it in the expression that makes it.
class AnyArg {
public:
  /// The kinds of arguments.
  enum class Kind : std::uint8_t { tensor, pointer, integer, floating, stream };

  /// A tensor; it must outlive this.
  AnyArg(const TensorArg &tensor) : kind_(Kind::tensor), tensor_(&tensor) {}
  /// A DeviceArray, and whatever else is passed as a tensor. One whose memory is gone is kept as
  /// that, for the call to refuse.
  template <class T>
    requires(!std::same_as<T, TensorArg> && std::convertible_to<const T &, const TensorArg &>)
  AnyArg(const T &array) : kind_(Kind::tensor) {
    if constexpr (requires { array.gone(); })
      gone_ = array.gone();
    if (!gone_)
      tensor_ = &static_cast<const TensorArg &>(array);
  }
  /// An address with the type of its elements.
  AnyArg(const PointerArg &pointer) : kind_(Kind::pointer), pointer_(pointer) {}
  /// An address of float, std::int32_t, fx::bfloat16_t: whatever a DeviceArray may hold.
  template <class T>
    requires requires { DTypeOf<std::remove_const_t<T>>::value; }
  AnyArg(T *address) : AnyArg(PointerArg(address)) {}
  /// A number.
  template <std::integral T>
  AnyArg(T value)
      : kind_(Kind::integer), negative_(value < T{}), integer_(static_cast<std::uint64_t>(value)) {}
  /// A floating-point number, of 16 and 8 bits too.
  template <class T>
    requires(std::floating_point<T> || detail::isHostFloat<T>)
  AnyArg(T value) : kind_(Kind::floating), floating_(static_cast<double>(value)) {}
  /// An fx::Stream, its native handle, or nullptr for the default stream. Throws RuntimeError with
  /// the place where this is made for a Stream that was moved from or whose device was reset.
  template <class S>
    requires std::convertible_to<const S &, StreamRef>
  AnyArg(const S &stream, std::source_location where = std::source_location::current())
      : kind_(Kind::stream), stream_(streamRef(stream, where)) {}
  /// The same for what may be any argument, of a call at `where`.
  template <class T> static AnyArg of(const T &argument, const std::source_location &where) {
    if constexpr (std::convertible_to<const T &, StreamRef>)
      return AnyArg(argument, where);
    else
      return AnyArg(argument);
  }

  /// What it is.
  Kind kind() const { return kind_; }
  /// The reason why a tensor's memory can't be used any more; null if it can.
  const char *gone() const { return gone_; }
  /// The argument, of its kind alone; a tensor's only where it is not gone.
  const TensorArg &tensor() const { return *tensor_; }
  const PointerArg &pointer() const { return pointer_; }
  /// An integer's 64 bits, in two's complement where it is negative.
  std::uint64_t integer() const { return integer_; }
  /// Whether the integer is below 0.
  bool negative() const { return negative_; }
  /// A floating-point number, and a stream.
  double floating() const { return floating_; }
  StreamRef stream() const { return stream_; }

private:
  template <class S>
  static StreamRef streamRef(const S &stream, const std::source_location &where) {
    if constexpr (std::convertible_to<const S &, const Stream &>)
      return StreamRef(stream, where);
    else
      return stream;
  }

  Kind kind_;
  bool negative_ = false;
  const char *gone_ = nullptr;
  const TensorArg *tensor_ = nullptr;
  PointerArg pointer_{nullptr, DType()};
  std::uint64_t integer_ = 0;
  double floating_ = 0;
  StreamRef stream_;
};

FLYDSL_NAMESPACE_END
