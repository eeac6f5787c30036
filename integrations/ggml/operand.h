// What every kernel of the backend takes: tensors as addresses with strides in bytes, and numbers.
//
// Extents and strides are arguments of the launch. A kernel is made for the types of an op and the
// form of its memory alone, so that one kernel serves all shapes.
#pragma once

#include <flydsl/flydsl.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace flydsl_ggml {
namespace fx = flydsl;

/// A tensor of up to four dimensions; dimension 0 has the neighbours.
template <class Side> struct Operand {
  fx::Param<Side, fx::Int64> address;                ///< 0: the tensor is left out
  std::array<fx::Param<Side, fx::Int64>, 4> stride; ///< bytes; in dimension 0, those of a block
  std::array<fx::Param<Side, fx::Int32>, 4> extent; ///< elements
};
using HostOperand = Operand<fx::OnHost>;
using TracedOperand = Operand<fx::OnDevice>;

/// The most that a launch takes.
inline constexpr std::size_t kOperands = 10, kInts = 16, kFloats = 12;

/// The parameters of a kernel with N operands. The first one is the result.
template <class Side, int N> struct Params {
  std::array<Operand<Side>, N> x;
  std::array<fx::Param<Side, fx::Int32>, kInts> i;
  std::array<fx::Param<Side, fx::Float32>, kFloats> f;
  fx::Param<Side, fx::Int64> codebooks; ///< the address of codebooks(), see codebooks.h
};

/// The parameters in a kernel's body, whatever their number.
struct Traced {
  const TracedOperand *x;
  const fx::Int32 *i;
  const fx::Float32 *f;
};
using Body = std::function<void(const Traced &)>;

/// A launch: the name says all that the code depends on besides the block.
struct Launch {
  std::string name;
  std::vector<HostOperand> x;
  std::vector<std::int32_t> i = {};
  std::vector<float> f = {};
  fx::Dim3 grid = 1;
  int block = 256;
  std::int64_t codebooks = 0; ///< their address on the device; 0 where no block is read
};

} // namespace flydsl_ggml
