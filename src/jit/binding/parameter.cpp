// Arguments are compared with a parameter leaf by leaf, and written as the lowered function takes
// them: leaves in a packed struct, shape before stride.
#include "jit/binding/parameter.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace flydsl::jit {
namespace {

using detail::LeafType;

std::string text(TensorArg::Dims dims) {
  std::string all;
  for (std::int64_t dim : dims)
    all += (all.empty() ? "" : ",") + std::to_string(dim);
  return dims.size() == 1 ? all : "(" + all + ")";
}

std::string text(const AnyArg &argument) {
  switch (argument.kind()) {
  case AnyArg::Kind::tensor: {
    if (argument.gone())
      return "a tensor whose memory is gone";
    const TensorArg &tensor = argument.tensor();
    return "a tensor of " + std::string(tensor.dtype().name()) + ", " + text(tensor.shape()) + ":" +
           text(tensor.strides());
  }
  case AnyArg::Kind::pointer:
    return "a pointer to " + std::string(argument.pointer().dtype().name());
  case AnyArg::Kind::integer:
    return "the integer " + (argument.negative()
                                 ? std::to_string(static_cast<std::int64_t>(argument.integer()))
                                 : std::to_string(argument.integer()));
  case AnyArg::Kind::floating:
    return "the number " + std::to_string(argument.floating());
  case AnyArg::Kind::stream:
    break;
  }
  return "a stream";
}

/// Writes the bytes of the arguments of one call, argument by argument.
class Binding {
public:
  explicit Binding(std::byte *into) : at_(into) {}

  /// False, with a problem, for an argument that does not fit.
  bool operator()(const Parameter &parameter, const AnyArg &argument) {
    switch (parameter.kind) {
    case Parameter::Kind::tensor:
      return tensor(parameter, argument);
    case Parameter::Kind::pointer:
      return pointer(parameter, argument);
    case Parameter::Kind::scalar:
      return scalar(parameter, argument);
    case Parameter::Kind::stream:
      return argument.kind() == AnyArg::Kind::stream ||
             unlike(argument, "a stream is expected (an fx::Stream, a hipStream_t, or nullptr for "
                              "the default stream)");
    case Parameter::Kind::nothing:
    case Parameter::Kind::unsupported:
      break;
    }
    return refuse("no argument of C++ stands for this type");
  }

  /// Why the last argument does not fit.
  const std::string &problem() const { return problem_; }

private:
  [[gnu::cold, gnu::noinline]] bool refuse(std::string problem) {
    problem_ = std::move(problem);
    return false;
  }
  [[gnu::cold, gnu::noinline]] bool unlike(const AnyArg &given, const std::string &expected) {
    return refuse(text(given) + " was given; " + expected);
  }

  template <class T> void put(const T &value) {
    std::memcpy(at_, &value, sizeof value);
    at_ += sizeof value;
  }
  /// The low bytes of an integer. A store of all eight is faster; CallBytes has room for them.
  void put(std::uint64_t value, std::int64_t size) {
    std::memcpy(at_, &value, sizeof value);
    at_ += size;
  }

  [[gnu::always_inline]] bool address(const Parameter &parameter, const AnyArg &argument,
                                      const void *address, DType dtype, bool mayBeNull) {
    if (parameter.dtype && dtype != parameter.dtype && dtype.ir_name() != parameter.dtype.ir_name())
        [[unlikely]]
      return unlike(argument,
                    "elements of " + std::string(parameter.dtype.ir_name()) + " are expected");
    if (!address && !mayBeNull) [[unlikely]]
      return refuse("the pointer is null");
    const auto bits = reinterpret_cast<std::uint64_t>(address);
    const auto alignment = static_cast<std::uint64_t>(parameter.alignment);
    if (std::has_single_bit(alignment) ? bits & (alignment - 1) : bits % alignment) [[unlikely]]
      return refuse("the pointer is aligned to " +
                    std::to_string(std::uint64_t(1) << std::countr_zero(bits)) +
                    " bytes; the function relies on " + std::to_string(parameter.alignment));
    put(bits);
    return true;
  }

  bool pointer(const Parameter &parameter, const AnyArg &argument) {
    if (argument.kind() == AnyArg::Kind::pointer)
      return address(parameter, argument, argument.pointer().address(), argument.pointer().dtype(),
                     false);
    if (argument.kind() != AnyArg::Kind::tensor) [[unlikely]]
      return unlike(argument, "a pointer is expected, or a DeviceArray, whose address is passed");
    return isThere(argument) &&
           address(parameter, argument, argument.tensor().data(), argument.tensor().dtype(), false);
  }

  [[gnu::always_inline]] bool isThere(const AnyArg &tensor) {
    return !tensor.gone() || refuse(tensor.gone());
  }

  static bool fits(const LeafType &wanted, std::int64_t given) {
    if (wanted.isStatic())
      return given == wanted.value;
    return (wanted.value == 1 || given % wanted.value == 0) &&
           (wanted.width == 64 || given == static_cast<std::int32_t>(given));
  }
  /// `what` and `mode` say which leaf of the tensor it is.
  [[gnu::cold, gnu::noinline]] bool refuseLeaf(const LeafType &wanted, std::int64_t given,
                                               std::size_t mode, const char *what) {
    const std::string which = std::string("its ") + what + " of mode " + std::to_string(mode) +
                              " is " + std::to_string(given) + "; ";
    if (wanted.isStatic())
      return refuse(which + "the function was traced for " + std::to_string(wanted.value));
    if (given % wanted.value != 0)
      return refuse(which + "the function was traced for multiples of " +
                    std::to_string(wanted.value));
    return refuse(which + "the function takes 32 bits");
  }

  bool tensor(const Parameter &parameter, const AnyArg &argument) {
    if (argument.kind() != AnyArg::Kind::tensor) [[unlikely]]
      return unlike(argument, "a tensor is expected: a DeviceArray, or fx::tensor(pointer, shape)");
    if (!isThere(argument))
      return false;
    const TensorArg &tensor = argument.tensor();
    const std::size_t rank = parameter.shape.size();
    if (static_cast<std::size_t>(tensor.rank()) != rank) [[unlikely]]
      return unlike(argument, "its rank is " + std::to_string(tensor.rank()) + ", " +
                                  std::to_string(rank) +
                                  " is expected; fx::tensor(pointer, shape) gives memory another "
                                  "shape");
    const TensorArg::Dims shape = tensor.shape(), strides = tensor.strides();
    if (!address(parameter, argument, tensor.data(), tensor.dtype(),
                 !tensor.data() && tensor.size() == 0))
      return false;
    std::byte *at = at_; // in a register: each store through a member would wait for the last
    const auto write = [&at](const LeafType &leaf, std::int64_t value) {
      if (leaf.isStatic())
        return;
      std::memcpy(at, &value, sizeof value);
      at += static_cast<unsigned>(leaf.width) / 8;
    };
    for (std::size_t i = 0; i < rank; ++i) {
      if (!fits(parameter.shape[i], shape[i])) [[unlikely]]
        return refuseLeaf(parameter.shape[i], shape[i], i, "extent");
      write(parameter.shape[i], shape[i]);
    }
    for (std::size_t i = 0; i < rank; ++i) {
      // No element is a step along a mode of extent 1, so any stride is as good as the static one.
      if (parameter.stride[i].isStatic() && shape[i] <= 1)
        continue;
      if (!fits(parameter.stride[i], strides[i])) [[unlikely]]
        return refuseLeaf(parameter.stride[i], strides[i], i, "stride");
      write(parameter.stride[i], strides[i]);
    }
    at_ = at;
    return true;
  }

  bool scalar(const Parameter &parameter, const AnyArg &argument) {
    const DType dtype = parameter.dtype;
    const bool isInteger = argument.kind() == AnyArg::Kind::integer;
    if (!isInteger && argument.kind() != AnyArg::Kind::floating) [[unlikely]]
      return unlike(argument, "a number is expected");
    if (dtype.is_float())
      return floating(dtype, argument,
                      isInteger && argument.negative()
                          ? static_cast<double>(static_cast<std::int64_t>(argument.integer()))
                      : isInteger ? static_cast<double>(argument.integer())
                                  : argument.floating());
    if (!isInteger) [[unlikely]]
      return unlike(argument, "an integer is expected");
    // Integers of the IR have no sign: both readings of the bits are taken.
    const int bits = dtype.bits();
    const std::uint64_t value = argument.integer();
    const bool fits = argument.negative()
                          ? static_cast<std::int64_t>(value) >= -(std::int64_t(1) << (bits - 1))
                          : bits == 64 || value >> bits == 0;
    if (!fits) [[unlikely]]
      return unlike(argument, "it does not fit " + std::to_string(bits) + " bits");
    put(bits < 8 ? value & ((1u << bits) - 1) : value, dtype.bytes()); // -1 as a truth value is 1
    return true;
  }

  bool floating(DType dtype, const AnyArg &argument, double value) {
    double stored = value;
    if (dtype == f64) {
      put(value);
    } else if (dtype == f32) {
      const auto narrow = static_cast<float>(value);
      stored = narrow;
      put(narrow);
    } else {
      const detail::FloatFormat &format = *detail::smallFloatFormat(dtype);
      const std::uint32_t bits =
          format.fromDouble(value, format.bits() == 16 ? detail::FloatOverflow::special
                                                       : detail::FloatOverflow::saturate);
      stored = format.toFloat(bits);
      put(bits, dtype.bytes());
    }
    if (detail::becameInfinite(value, stored)) [[unlikely]]
      return unlike(argument, "as " + std::string(dtype.name()) + " it would become infinite");
    return true;
  }

  std::byte *at_;
  std::string problem_;
};

/// The types of the parameters that a call passes.
std::string list(std::span<const Parameter> parameters) {
  std::string all;
  for (const Parameter &parameter : parameters)
    if (parameter.isPassed())
      all += (all.empty() ? "" : ", ") + parameter.type;
  return "(" + all + ")";
}

[[noreturn, gnu::cold]] void refuseCount(const Signature &signature,
                                         std::span<const AnyArg> arguments, std::string_view who,
                                         const std::source_location &where) {
  const std::vector<Parameter> &parameters = signature.parameters;
  std::string message = std::string(who) + ": " + std::to_string(arguments.size()) +
                        (arguments.size() == 1 ? " argument was" : " arguments were") +
                        " given; it takes " + std::to_string(signature.passed) + ": " +
                        list(parameters);
  if (!parameters.empty() && parameters.back().kind == Parameter::Kind::stream &&
      arguments.size() + 1 == signature.passed &&
      (arguments.empty() || arguments.back().kind() != AnyArg::Kind::stream))
    message += "; the last one, the stream, is missing";
  else if (!arguments.empty() && arguments.back().kind() == AnyArg::Kind::stream &&
           arguments.size() == signature.passed + 1)
    message += "; the stream is too much";
  throw TraceError(message, where);
}

} // namespace

std::vector<Piece> piecesOf(const Parameter &parameter, std::size_t offset) {
  switch (parameter.kind) {
  case Parameter::Kind::tensor: {
    std::vector<Piece> pieces = {{offset, sizeof(void *)}};
    std::size_t dynamic = 0;
    for (const auto *leaves : {&parameter.shape, &parameter.stride})
      for (const LeafType &leaf : *leaves)
        dynamic += static_cast<std::size_t>(leaf.width) / 8;
    if (dynamic)
      pieces.push_back({offset + sizeof(void *), dynamic});
    return pieces;
  }
  case Parameter::Kind::pointer:
    return {{offset, sizeof(void *)}};
  case Parameter::Kind::scalar:
    return {{offset, static_cast<std::size_t>(parameter.dtype.bytes())}};
  case Parameter::Kind::stream:
  case Parameter::Kind::nothing:
  case Parameter::Kind::unsupported:
    break;
  }
  return {};
}

Signature::Signature(std::vector<Parameter> given) : parameters(std::move(given)) {
  for (const Parameter &parameter : parameters) {
    if (parameter.kind == Parameter::Kind::stream)
      streams.push_back(passed);
    passed += parameter.isPassed();
    for (const Piece &piece : piecesOf(parameter, bytes))
      bytes = piece.offset + piece.size;
  }
}

bool Signature::canBeCalled() const {
  return std::ranges::none_of(parameters, [](const Parameter &parameter) {
    return parameter.kind == Parameter::Kind::unsupported;
  });
}

void bind(const Signature &signature, std::span<const AnyArg> arguments, std::byte *into,
          std::string_view who, const std::source_location &where) {
  if (arguments.size() != signature.passed) [[unlikely]]
    refuseCount(signature, arguments, who, where);
  Binding binding(into);
  std::size_t index = 0;
  for (const Parameter &parameter : signature.parameters) {
    if (!parameter.isPassed())
      continue;
    if (!binding(parameter, arguments[index])) [[unlikely]]
      throw TraceError(std::string(who) + ": argument " + std::to_string(index) + " (" +
                           parameter.type + "): " + binding.problem(),
                       where);
    ++index;
  }
}

} // namespace flydsl::jit
