// Permutes, between their host file and their kernel.
#pragma once

#include "blocks/facts/cache_line.h"
#include "frame/family.h"

#include <flydsl/kernels/rows/permute.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Tensors of elements that are seen as rows of pieces of `access` elements. Where the last mode of x
/// is another one than that of y, x is (B0, B1, B2, J, I) and y (B0, B1, B2, I, J), and rows of both
/// are whole pieces. Where it is the same, both are (B0, B1, B2, J, I).
template <class Side> struct PermuteParams {
  Strided<Side, 4> x, y;
  Param<Side, Int32> b0, b1, b2, j, i; // I in pieces; J in pieces, or rows where they stay rows
};
inline constexpr KernelOf<PermuteParams> kPermute{"permute"};

/// The tiles of a kernel.
struct PermuteTiles {
  static constexpr int kSideBytes = kCacheLine; ///< of a tile

  PermuteTiles(const PermuteProblem &problem, const PermuteConfig &config)
      : bytes(problem.type.memory_bits() / 8), access(problem.row_align), side(kSideBytes / bytes),
        pieces(side / access), tiles(std::max(1, config.block / (pieces * pieces))),
        turns(std::max(1, pieces * pieces / config.block)), block(config.block) {}
  int bytes;  ///< of an element
  int access; ///< elements that are read and written together: a piece
  int side;   ///< elements of a side of a tile
  int pieces; ///< of a side
  int tiles;  ///< of a block, side by side along the rows of x
  int turns;  ///< squares of access by access elements of a thread
  int block;
  /// Bytes of shared memory.
  int shared() const { return tiles * side * side * bytes; }
};
/// Pieces that a thread moves where rows stay rows.
inline constexpr int kPiecesOfRows = 4;

/// Whether the last mode of y is another one of x.
inline bool isTurned(const PermuteProblem &problem) {
  return problem.order[static_cast<std::size_t>(problem.rank - 1)] != problem.rank - 1;
}

template <> struct Family<PermuteProblem> : FamilyDefaults<PermuteProblem> {
  static std::int64_t rows(const A &args);
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kPermute}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
