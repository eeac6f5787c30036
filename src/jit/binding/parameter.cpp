// Arguments are compared with a parameter leaf by leaf, and written as the lowered function takes
// them: leaves in a packed struct, shape before stride.
#include "jit/binding/parameter.h"

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

/// Binds one argument.
class Binding {
public:
  Binding(const Parameter &parameter, const AnyArg &argument, BoundArguments &into)
      : parameter_(parameter), argument_(argument), into_(into) {}

  /// Returns why the argument does not fit, or an empty text.
  std::string operator()() {
    switch (parameter_.kind) {
    case Parameter::Kind::tensor:
      return tensor();
    case Parameter::Kind::pointer:
      return pointer();
    case Parameter::Kind::scalar:
      return scalar();
    case Parameter::Kind::stream:
      if (argument_.kind() != AnyArg::Kind::stream)
        return unlike("a stream is expected (an fx::Stream, a hipStream_t, or nullptr for the "
                      "default stream)");
      into_.streams.push_back(argument_.stream());
      return {};
    case Parameter::Kind::nothing:
    case Parameter::Kind::unsupported:
      break;
    }
    return "no argument of C++ stands for this type";
  }

private:
  std::string unlike(const std::string &expected) const {
    return text(argument_) + " was given; " + expected;
  }
  void put(const void *value, std::size_t size) {
    const auto *bytes = static_cast<const std::byte *>(value);
    into_.bytes.insert(into_.bytes.end(), bytes, bytes + size);
  }

  std::string address(const void *address, DType dtype, bool mayBeNull) {
    if (parameter_.dtype && dtype.ir_name() != parameter_.dtype.ir_name())
      return unlike("elements of " + std::string(parameter_.dtype.ir_name()) + " are expected");
    if (!address && !mayBeNull)
      return "the pointer is null";
    const auto bits = reinterpret_cast<std::uint64_t>(address);
    if (bits % static_cast<std::uint64_t>(parameter_.alignment) != 0)
      return "the pointer is aligned to " +
             std::to_string(std::uint64_t(1) << std::countr_zero(bits)) +
             " bytes; the function relies on " + std::to_string(parameter_.alignment);
    put(&bits, sizeof bits);
    return {};
  }

  std::string pointer() {
    if (argument_.kind() == AnyArg::Kind::pointer)
      return address(argument_.pointer().address(), argument_.pointer().dtype(), false);
    if (argument_.kind() == AnyArg::Kind::tensor)
      return address(argument_.tensor().data(), argument_.tensor().dtype(), false);
    return unlike("a pointer is expected, or a DeviceArray, whose address is passed");
  }

  std::string leaf(const LeafType &wanted, std::int64_t given, std::size_t mode, const char *what) {
    const std::string which = std::string("its ") + what + " of mode " + std::to_string(mode) +
                              " is " + std::to_string(given) + "; ";
    if (wanted.isStatic())
      return given == wanted.value
                 ? std::string()
                 : which + "the function was traced for " + std::to_string(wanted.value);
    if (given % wanted.value != 0)
      return which + "the function was traced for multiples of " + std::to_string(wanted.value);
    if (wanted.width == 32 && given != static_cast<std::int32_t>(given))
      return which + "the function takes 32 bits";
    put(&given, static_cast<std::size_t>(wanted.width) / 8);
    return {};
  }

  std::string tensor() {
    if (argument_.kind() != AnyArg::Kind::tensor)
      return unlike("a tensor is expected: a DeviceArray, or fx::tensor(pointer, shape)");
    const TensorArg &tensor = argument_.tensor();
    const std::size_t rank = parameter_.shape.size();
    if (static_cast<std::size_t>(tensor.rank()) != rank)
      return unlike("its rank is " + std::to_string(tensor.rank()) + ", " + std::to_string(rank) +
                    " is expected; fx::tensor(pointer, shape) gives memory another shape");
    if (std::string problem = address(tensor.data(), tensor.dtype(), tensor.size() == 0);
        !problem.empty())
      return problem;
    for (std::size_t i = 0; i < rank; ++i)
      if (std::string problem = leaf(parameter_.shape[i], tensor.shape()[i], i, "extent");
          !problem.empty())
        return problem;
    for (std::size_t i = 0; i < rank; ++i) {
      // No element is a step along a mode of extent 1, so any stride is as good as the static one.
      if (parameter_.stride[i].isStatic() && tensor.shape()[i] <= 1)
        continue;
      if (std::string problem = leaf(parameter_.stride[i], tensor.strides()[i], i, "stride");
          !problem.empty())
        return problem;
    }
    return {};
  }

  std::string scalar() {
    const DType dtype = parameter_.dtype;
    const bool isInteger = argument_.kind() == AnyArg::Kind::integer;
    if (!isInteger && argument_.kind() != AnyArg::Kind::floating)
      return unlike("a number is expected");
    if (dtype.is_float())
      return floating(isInteger && argument_.negative()
                          ? static_cast<double>(static_cast<std::int64_t>(argument_.integer()))
                      : isInteger ? static_cast<double>(argument_.integer())
                                  : argument_.floating());
    if (!isInteger)
      return unlike("an integer is expected");
    // Integers of the IR have no sign: both readings of the bits are taken.
    const int bits = dtype.bits();
    const std::uint64_t value = argument_.integer();
    const bool fits = argument_.negative()
                          ? static_cast<std::int64_t>(value) >= -(std::int64_t(1) << (bits - 1))
                          : bits == 64 || value >> bits == 0;
    if (!fits)
      return unlike("it does not fit " + std::to_string(bits) + " bits");
    put(&value, static_cast<std::size_t>(dtype.bytes()));
    return {};
  }

  std::string floating(double value) {
    if (parameter_.dtype == f64) {
      put(&value, sizeof value);
    } else if (parameter_.dtype == f32) {
      const auto narrow = static_cast<float>(value);
      put(&narrow, sizeof narrow);
    } else {
      const detail::FloatFormat &format = *detail::smallFloatFormat(parameter_.dtype);
      const std::uint32_t bits =
          format.fromDouble(value, format.bits() == 16 ? detail::FloatOverflow::special
                                                       : detail::FloatOverflow::saturate);
      put(&bits, static_cast<std::size_t>(parameter_.dtype.bytes()));
    }
    return {};
  }

  const Parameter &parameter_;
  const AnyArg &argument_;
  BoundArguments &into_;
};

/// The types of the parameters that a call passes.
std::string list(std::span<const Parameter> parameters) {
  std::string all;
  for (const Parameter &parameter : parameters)
    if (parameter.isPassed())
      all += (all.empty() ? "" : ", ") + parameter.type;
  return "(" + all + ")";
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

BoundArguments bind(std::span<const Parameter> parameters, std::span<const AnyArg> arguments,
                    const std::string &who, const std::source_location &where) {
  std::size_t wanted = 0;
  for (const Parameter &parameter : parameters)
    wanted += parameter.isPassed();
  if (arguments.size() != wanted) {
    std::string message = who + ": " + std::to_string(arguments.size()) +
                          (arguments.size() == 1 ? " argument was" : " arguments were") +
                          " given; it takes " + std::to_string(wanted) + ": " + list(parameters);
    if (!parameters.empty() && parameters.back().kind == Parameter::Kind::stream &&
        arguments.size() + 1 == wanted &&
        (arguments.empty() || arguments.back().kind() != AnyArg::Kind::stream))
      message += "; the last one, the stream, is missing";
    else if (!arguments.empty() && arguments.back().kind() == AnyArg::Kind::stream &&
             arguments.size() == wanted + 1)
      message += "; the stream is too much";
    throw TraceError(message, where);
  }
  BoundArguments bound;
  bound.bytes.reserve(64 * parameters.size());
  std::size_t index = 0;
  for (const Parameter &parameter : parameters) {
    if (!parameter.isPassed())
      continue;
    if (std::string problem = Binding(parameter, arguments[index], bound)(); !problem.empty())
      throw TraceError(who + ": argument " + std::to_string(index) + " (" + parameter.type +
                           "): " + problem,
                       where);
    ++index;
  }
  return bound;
}

} // namespace flydsl::jit
