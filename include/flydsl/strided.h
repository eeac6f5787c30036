// Memory whose address and strides are numbers of the call: an operand without a type.
//
// A Tensor parameter makes code for each element type and for each rank, and knows 32-bit extents.
// A Strided is an address and strides of 64 bits alone, so that one code serves all shapes, and so
// that an operand may be left out: its address is 0. What the elements are, and how many, the
// kernel says where it makes a tensor of it:
//
//   template <class Side> struct ScaleParams {
//     fx::Strided<Side, 1> x, y; // (M, N): rows of N elements, at a stride of the call
//     fx::Param<Side, fx::Int32> m;
//   };
//   const fx::Kernel scale{"scale", [](ScaleParams<fx::OnDevice> p) {
//     auto x = p.x.view(fx::f32, {p.m, N}), y = p.y.view(fx::f32, {p.m, N}); // (M, N)
//     ...
//   }};
//   scale({.x = fx::strided<1>(x), .y = fx::strided<1>(y), .m = m}).launch({.grid = m, .block = 64});
#pragma once

#include <flydsl/host/host_tensor.h>
#include <flydsl/params.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <source_location>
#include <type_traits>

FLYDSL_NAMESPACE_BEGIN

class IntTuple;

/// Global memory at an address that the call gives. `Modes` leading modes have strides of the call,
/// in elements; those after them are packed, the last one with stride 1. A contiguous vector is a
/// Strided<Side, 0>, a matrix with rows at any stride a Strided<Side, 1>. A tensor all of whose
/// strides are the call's has as many Modes as modes.
template <class Side, int Modes> struct Strided {
  static_assert(Modes >= 0 && Modes < TensorArg::maxRank);
  Param<Side, Int64> address;                   ///< 0: the operand is left out
  std::array<Param<Side, Int64>, Modes> stride; ///< of the leading modes, in elements

  /// The tensor of elements of `type` with these extents, in a kernel: one extent for each mode,
  /// host integers or traced ones. `alignment`: the bytes that the caller promises to divide the
  /// address and each stride, a power of two; 0: the size of an element. Throws TraceError for a
  /// shape with fewer modes than strides or with nested modes, and for a type of less than a byte.
  /// Its definition is in flydsl/kernel/strided_view.h, which flydsl/flydsl.h includes.
  Tensor view(DType type, const IntTuple &shape, int alignment = 0,
              std::source_location where = std::source_location::current()) const
    requires std::is_same_v<Side, OnDevice>;
};

namespace detail {
[[noreturn]] FLYDSL_API void refuseStrided(const TensorArg &tensor, int modes,
                                           const std::source_location &where);
} // namespace detail

/// What a call passes for a tensor: its address and the strides of its leading modes, 0 for a mode
/// with at most one element. Throws TraceError for a tensor of fewer modes, and where the modes after
/// them are not packed as in a contiguous tensor.
template <int Modes>
Strided<OnHost, Modes>
strided(const TensorArg &tensor,
        const std::source_location &where = std::source_location::current()) {
  const TensorArg::Dims shape = tensor.shape(), strides = tensor.strides();
  if (tensor.rank() < Modes) [[unlikely]]
    detail::refuseStrided(tensor, Modes, where);
  std::int64_t packed = 1;
  for (auto mode = shape.size(); mode-- > Modes; packed *= shape[mode])
    if (shape[mode] > 1 && strides[mode] != packed) [[unlikely]]
      detail::refuseStrided(tensor, Modes, where);
  Strided<OnHost, Modes> result{
      .address = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data())),
      .stride = {}};
  for (std::size_t mode = 0; mode < Modes; ++mode)
    result.stride[mode] = shape[mode] > 1 ? strides[mode] : 0;
  return result;
}
/// The same of a tensor that may be left out: address and strides are 0 then.
template <int Modes, std::same_as<TensorArg> T>
Strided<OnHost, Modes>
strided(const std::optional<T> &tensor,
        const std::source_location &where = std::source_location::current()) {
  return tensor ? strided<Modes>(*tensor, where) : Strided<OnHost, Modes>{};
}

FLYDSL_NAMESPACE_END
