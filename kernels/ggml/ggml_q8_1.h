// Rows of a rounded to Q8_1 in shared memory, for products of whole numbers.
//
// Q8_1 keeps 32 numbers as a scale d of type f16 and 32 x i8 q; a number is d q. Source:
// block_q8_1 of ggml-common.h and quantize_row_q8_1_ref of ggml-quants.c, where d times the sum of all
// q is kept, too. Here the sum of a group is made of its q, by formats that need it.
#pragma once

#include "blocks/quant/quant.h"
#include "ggml/ggml_gemm_family.h"
#include "ggml/ggml_unit.h"

#include <flydsl/kernel/wave_memory.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Neighbours of a row of a, which are multiplied by a group of weights.
struct Q8Group {
  Vector words;  ///< q of four numbers each, lowest byte first; u32
  Numeric scale; ///< d, in f32
};

/// Rows of a tile of a. All threads of the block make them, and come to a barrier.
class Q8Rows {
public:
  /// The rows of a, (m, k), that `rowOf` names: row i of the tile is one that a has.
  Q8Rows(const GgmlGemmProblem &problem, const GgmlGemmConfig &config, const Tensor &a,
         std::function<Int32(const Int32 &i)> rowOf)
      : format_(ggmlRow(problem.format)), a_(a), rowOf_(std::move(rowOf)), rows_(config.tile_m),
        k_(static_cast<int>(problem.k)), threads_(config.threads),
        memory_(SharedAllocator().allocate(q8Bytes(rows_, k_), kPieceBytes)),
        words_(make_view(memory_.recast(i32),
                         make_layout({rows_, k_ / 4}, {k_ / 4, 1}))), // (rows, k / 4)
        scales_(make_view(memory_.recast(f32) + rows_ * k_ / 4,
                          make_layout({rows_, blocks()}, {blocks(), 1}))) { // (rows, blocks)
    const int rounds = (pieces() + threads_ - 1) / threads_;
    if (rounds <= kTogether)
      make(Int32(0), rounds);
    else
      for (Int32 first : range(0, rounds, kTogether))
        make(first, kTogether);
    gpu::barrier(AddressSpace::shared);
  }

  Q8Group group(int row, int g, const Int32 &unit) const {
    const Tensor numbers = make_view(memory_.recast(i8) + row * k_, make_layout(k_)), // (k)
        scales = make_view(scales_(row, _).iter(),
                           make_layout(IntTuple{kQ8Numbers, blocks()}, IntTuple{0, 1})); // (k)
    const auto own = [&](const Tensor &all) {
      return byUnits(all, format_)(_, g, unit); // (group)
    };
    return {own(numbers).recast(u32).load(), own(scales)(0)};
  }

private:
  static constexpr int kPiece = 4;    ///< numbers of a that a thread rounds together
  static constexpr int kTogether = 8; ///< pieces of a thread that it loads together

  int blocks() const { return k_ / kQ8Numbers; }
  int piecesOfRow() const { return k_ / kPiece; }
  int pieces() const { return rows_ * piecesOfRow(); }

  /// The pieces of `count` rounds: each thread has one of each round, and eight neighbours have the
  /// numbers of a block.
  void make(const Int32 &round, int count) const {
    const auto numberOf = [&](int i) { return (round + i) * threads_ + thread_idx().x; };
    std::vector<Vector> values;
    for (int i = 0; i < count; ++i) // those that do not exist are not written
      values.push_back(fetch(Int32(min(numberOf(i), pieces() - 1))));
    for (int i = 0; i < count; ++i) {
      const Int32 number = numberOf(i);
      const auto [word, scale] = rounded(values[static_cast<std::size_t>(i)]);
      if_(number < pieces(), [&] {
        const Int32 row = number / piecesOfRow(), piece = number % piecesOfRow();
        words_(row, piece) = word;
        if_(piece % kLanes == 0, [&] { scales_(row, piece / kLanes) = scale; });
      });
    }
  }
  Vector fetch(const Int32 &number) const {
    const Int32 row = rowOf_(Int32(number / piecesOfRow()));
    return logical_divide(a_(row, _), kPiece)(_, number % piecesOfRow()).load().to(f32); // (kPiece)
  }

  static constexpr int kLanes = kQ8Numbers / kPiece; ///< that have a block together
  struct Rounded {
    Numeric word, scale;
  };
  /// A NaN among the numbers, an infinity, and a d that f16 does not have are a d that is no finite number.
  static Rounded rounded(const Vector &values) {
    const Numeric largest =
        gpu::warp_reduce(magnitudes(values).reduce(Reduction::max), Reduction::max, kLanes);
    const Numeric d = largest.bitcast(f32) / 127.0f, scale = d.to(f16).to(f32);
    // All q are 0 where d is, so that 1 / d is finite.
    const Numeric inverse = select(scale > 0.0f, 1.0f / d, Float32(0.0f));
    const Vector q = min(max(math::round(values * inverse), -127.0f), 127.0f).to(i8);
    return {q.bitcast(i32).at(0), scale};
  }

  const GgmlRow &format_;
  Tensor a_; // (m, k)
  std::function<Int32(const Int32 &i)> rowOf_;
  int rows_, k_, threads_;
  Pointer memory_;
  Tensor words_, scales_; // (rows, k / 4), (rows, k / 32)
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
