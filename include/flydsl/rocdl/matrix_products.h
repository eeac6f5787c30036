// The matrix instructions of a target as numbers: shapes, registers, and which lane holds what. A
// program asks on the host, too, and needs no compiler for it.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/target.h>

#include <array>
#include <string_view>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

/// Which element of an operand each lane of a wave holds as each of its values: a thread-value
/// layout in numbers. The operand is a column-major tile, M x K of A, N x K of B, M x N of C and D,
/// so that element `row + rows * column` is meant. In the modes of lanes and of values the first
/// runs fastest.
struct ThreadValues {
  /// A mode of lanes or values: how many there are, and how many elements lie from one to the next.
  struct Mode {
    int size, stride;
  };
  std::array<Mode, 2> lanes{};
  std::array<Mode, 3> values{};
  int value_modes = 0; ///< of `values`, how many count; 0: the layout is not published

  /// Whether the layout is published.
  constexpr bool is_known() const { return value_modes != 0; }
  /// The lanes of the wave.
  constexpr int lane_count() const { return lanes[0].size * lanes[1].size; }
  /// The elements that a lane holds; 0 if the layout is not known.
  constexpr int value_count() const {
    int count = is_known() ? 1 : 0;
    for (int i = 0; i < value_modes; ++i)
      count *= values[static_cast<std::size_t>(i)].size;
    return count;
  }
  /// The element that a lane holds as a value of a known layout.
  constexpr int operator()(int lane, int value) const {
    int element = lane % lanes[0].size * lanes[0].stride +
                  lane / lanes[0].size % lanes[1].size * lanes[1].stride;
    for (int i = 0; i < value_modes; ++i) {
      const Mode &mode = values[static_cast<std::size_t>(i)];
      element += value % mode.size * mode.stride;
      value /= mode.size;
    }
    return element;
  }
  /// The lanes that hold each element: 1, or more if lanes hold copies.
  constexpr int copies() const {
    int count = 1;
    for (const Mode &mode : lanes)
      count *= mode.stride == 0 ? mode.size : 1;
    return count;
  }
  /// The first values of a lane that lie `stride` elements from one another; at least 1. With stride
  /// 1 these are neighbouring rows of the operand.
  constexpr int run(int stride) const {
    int count = 1;
    for (int i = 0; i < value_modes; ++i) {
      const Mode &mode = values[static_cast<std::size_t>(i)];
      if (mode.size > 1 && mode.stride != stride * count)
        break;
      count *= mode.size;
    }
    return count;
  }
};

/// A matrix instruction of a target, D = A B + C, as an atom has it: A is M x K, B is K x N, and of
/// an instruction of several blocks N counts the columns of all.
struct MatrixProduct {
  Target target;
  /// LLVM's intrinsic without "llvm.amdgcn.": "mfma.f32.16x16x16f16".
  std::string_view name;
  Feature feature = Feature::mfma; ///< a feature of all processors that have it
  int m = 0, n = 0, k = 0;
  DType a, b, acc;
  int scale_block = 0; ///< elements of K that share a scale; 0: the instruction takes no scales
  int lanes = 0;       ///< of the wave that runs it
  /// Vector registers of 32 bits that a lane gives for A, for B, and for C or D.
  int registers_a = 0, registers_b = 0, registers_c = 0;
  ThreadValues layout_a, layout_b, layout_c;

  /// Whether the instruction takes scales of blocks of K.
  constexpr bool is_scaled() const { return scale_block != 0; }
  /// The lanes that share a row of A: each holds k / lanes_of_row() of its elements. It is 1 where
  /// every lane of a row holds all of it (RDNA3); 0 if the layout is not known.
  constexpr int lanes_of_row() const {
    return layout_a.is_known() ? layout_a.lane_count() / layout_a.copies() / m : 0;
  }
};

/// The matrix instructions of a target for elements `a` and `b`, those with the largest k first;
/// none if there are none. Integers are i8 and i4, whatever sign WmmaOptions gives them. The
/// instructions with scales are among them. Throws CompileError for an empty target.
/// `rocdl::Mma` makes an atom's instruction of each. Source: the library's table, which its tests
/// compare with LLVM's assembler and intrinsics; src/target/matrix_table.cpp names the sources of
/// the layouts.
FLYDSL_API std::vector<MatrixProduct> matrix_products(const Target &target, DType a, DType b);

} // namespace rocdl
FLYDSL_NAMESPACE_END
