// Few rows by matrix instructions: the lanes make numbers of their units of weights in the registers that
// are multiplied. The waves of a block share k, and add their sums in shared memory at the end, always in
// the same order; until then each works by itself, without barriers.
//
// Any order of the elements of k is right if weights and a have the same one: a lane has whole units.
#pragma once

#include "blocks/common/groups.h"
#include "blocks/products/wave_product.h"
#include "ggml/ggml_tile.h"
#include "ggml/ggml_unit.h"

#include <flydsl/kernel/wave_memory.h>

#include <algorithm>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Rows of a, which a wave brings through shared memory of its own: it loads neighbours of a row together,
/// where each lane's part of a row alone would touch a line of the cache. A lane's write and read may meet at one
/// place for all that the compiler knows, so it keeps their order, which is that of the wave's instructions; a
/// fence would hold back loads of global memory too (bench/kernels/README.md).
class WaveRows {
public:
  WaveRows(const GgmlGemmProblem &problem, const GgmlRegistersShape &shape,
           const GgmlOperands &operands, const TileRows &rows, const ProductLane &lane,
           const Pointer &memory)
      : problem_(problem), shape_(shape), format_(ggmlRow(problem.format)), lane_(lane),
        chunk_(lane.lane() % chunksOfRow()), row_(lane.lane() / chunksOfRow()),
        atom_(make_copy_atom(UniversalCopy128b(), problem.product)),
        tile_(make_view(
            memory.recast(problem.product),
            make_composed_layout(shape.swizzle().swizzle(),
                                 make_layout({16, shape.stagedOfRow()},
                                             {shape.stagedOfRow(), 1})))) { // (rows, stage)
    const Tensor a = rowsOf(problem, operands);                             // (m, k)
    for (int i = 0; i < shape.tilesM() * rounds(); ++i) {
      const Int32 row(16 * (i / rounds()) + i % rounds() * rowsOfRound() + row_);
      rowsOfA_.push_back(byUnits(a(Int32(min(rows.at(row).a, operands.m - 1)), _),
                                 format_)); // (group, groups, units)
    }
  }

  /// The lane's elements number 32 `stage` to 32 stage + 31 of its units, for which the wave's units
  /// begin at `first`.
  Tensor numbers(int tile, int stage, const Int32 &first) const {
    for (int i = 0; i < rounds(); ++i) {
      const Tensor own = make_rmem_tensor(IntTuple(kChunk), problem_.product); // (8)
      own.store(
          numbersOf(loaded(rowsOfA_[static_cast<std::size_t>(tile * rounds() + i)], stage, first)));
      copy(atom_, own, chunk(Int32(row_ + i * rowsOfRound()), chunk_));
    }
    const Tensor numbers =
        make_rmem_tensor(IntTuple(GgmlRegistersShape::kStage), problem_.product); // (stage)
    for (int c = 0; c < kChunks; ++c) {
      const Int32 first = shape_.form.replicated() ? Int32(0) : lane_.group();
      copy(atom_, chunk(lane_.row(), Int32(first + c * shape_.form.across)),
           make_view(numbers.iter() + c * kChunk, make_layout(kChunk))); // (8)
    }
    return numbers;
  }

private:
  static constexpr int kChunk = 8; ///< neighbours, which are 16 bytes of numbers
  static constexpr int kChunks = GgmlRegistersShape::kStage / kChunk; ///< of a lane

  int chunksOfRow() const { return kChunks * shape_.form.across; }
  int rowsOfRound() const { return shape_.form.lanes / chunksOfRow(); }
  int rounds() const { return 16 / rowsOfRound(); }

  /// A chunk of a row in f32 or in the type of a, whose parts past the end of the row are zeros.
  std::vector<Vector> loaded(const Tensor &row, int stage, const Int32 &first) const {
    const Int32 lane = chunk_ % shape_.form.across, ofLane = chunk_ / shape_.form.across,
                unitsFrom = first + lane * shape_.unitsOfLane;
    // A piece of 16 bits has two units of weights in f32.
    const int together = kPieceBytes / problem_.a.bytes(),
              units = std::max(1, together / format_.unitWeights());
    std::vector<Vector> pieces;
    for (int at = 0; at < kChunk; at += together) {
      const Int32 element = ofLane * kChunk + (stage * GgmlRegistersShape::kStage + at),
                  unit = unitsFrom + element / format_.unitWeights(),
                  group = element % format_.unitWeights() / format_.group;
      const Tensor own = row(_, group, shape_.inRow(unit, units)); // (group)
      const Vector values = make_view(own.iter() + element % format_.group, make_layout(together))
                                .load(); // (together)
      pieces.push_back(shape_.kept(unit, values));
    }
    return pieces;
  }
  Vector numbersOf(const std::vector<Vector> &pieces) const {
    const DType type = problem_.product;
    return pieces.size() == 1 ? pieces[0].to(type) : joined(pieces[0].to(type), pieces[1].to(type));
  }
  /// Of a row in shared memory. The lanes of a row in the instruction have chunks in turn.
  Tensor chunk(const Int32 &row, const Int32 &number) const {
    return logical_divide(tile_(row, _), kChunk)(_, number); // (8)
  }

  const GgmlGemmProblem &problem_;
  const GgmlRegistersShape &shape_;
  const GgmlRow &format_;
  const ProductLane &lane_;
  Int32 chunk_, row_; // that the lane loads, of each round
  CopyAtom atom_;
  Tensor tile_;                 // (rows, stage)
  std::vector<Tensor> rowsOfA_; // (weights of a group, groups of a unit, units)
};

/// The products of a wave's units with the rows of a tile.
class RegisterProduct {
public:
  RegisterProduct(const GgmlGemmProblem &problem, const GgmlRegistersShape &shape,
                  const GgmlOperands &operands, const TileRows &rows, const Int32 &column)
      : problem_(problem), shape_(shape), lane_(shape.form, shape.form.perLane()),
        atom_(unscaledAtom(shape.form)), wave_(gpu::uniform(thread_idx().x / shape.form.lanes)),
        memory_(SharedAllocator().allocate(shape.sharedBytes(), kPieceBytes)),
        a_(problem, shape, operands, rows, lane_, memory_ + Int32(wave_ * shape.stagedBytes())) {
    const GgmlSource b(problem.weight(), operands.b);
    std::optional<GgmlSource> up;
    if (problem.gated)
      up.emplace(problem.weight(), operands.up);
    for (int j = 0; j < shape.tilesB(); ++j) {
      const bool isUp = problem.gated && j % 2;
      const int tile = problem.gated ? j / 2 : j;
      // Past the last row of weights it is taken again, and the result is not stored.
      const Int32 own(min(column + 16 * tile + lane_.row(), problem.n - 1));
      const GgmlSource &source = isUp ? *up : b;
      sources_.push_back({source, source.row(rows.rowOfWeights(own))});
    }
    for (int i = 0; i < shape.tilesB() * shape.tilesM(); ++i) {
      sums_.push_back(make_rmem_tensor(IntTuple(shape.form.sums()), f32)); // (V)
      sums_.back().fill(0);
    }
  }

  /// Adds the products of the wave's units. If `stagesOverlap`, the scheduler may make the numbers of a stage
  /// while the one before is multiplied, and holds those of both.
  void run(bool stagesOverlap) const {
    const int ofWave = shape_.unitsOfWave();
    for (Int32 first : range(wave_ * ofWave, shape_.units, shape_.waves() * ofWave)) {
      const std::vector<Weights> weights = fetch(first);
      for (int stage = 0; stage < shape_.stages(); ++stage) {
        std::vector<Tensor> numbers; // (stage)
        for (const Weights &of : weights)
          numbers.push_back(numbersOf(of, stage));
        for (int i = 0; i < shape_.tilesM(); ++i) {
          multiply(i, numbers, a_.numbers(i, stage, first));
          if (!stagesOverlap)
            gpu::schedule_fence();
        }
      }
    }
  }

  /// Runs `finish` in as many waves as the tile of a has rows of tiles. Each has the total of one of them, by
  /// groups: those of tile j of 16 rows of weights.
  void
  withTotal(const std::function<void(const std::function<Vector(int j)> &groups)> &finish) const {
    const int quads = shape_.form.sums() / 4, lanes = shape_.form.lanes,
              tiles = shape_.tilesB() * shape_.tilesM();
    // Groups of four values of all lanes follow one another, so that lanes meet no bank twice.
    const Tensor shared =
        make_view(memory_.recast(f32),
                  make_layout({4, lanes, quads, tiles, shape_.waves()},
                              {1, 4, 4 * lanes, 4 * lanes * quads,
                               4 * lanes * quads * tiles})); // (4, lanes, quads, tiles, waves)
    gpu::barrier(AddressSpace::shared); // Sums lie where rows of a lay, of other waves too.
    for (int tile = 0; tile < tiles; ++tile)
      for (int quad = 0; quad < quads; ++quad)
        shared(_, lane_.lane(), quad, tile, wave_) // (4)
            .store(part(sums_[static_cast<std::size_t>(tile)].load(), 4 * quad, 4));
    gpu::barrier(AddressSpace::shared);
    const auto total = [&](int j) {
      const Int32 tile = wave_ * shape_.tilesB() + j;
      const auto quad = [&](int at) {
        const Var<Vector> sum(shared(_, lane_.lane(), at, tile, 0).load()); // (4)
        for (int other = 1; other < shape_.waves(); ++other)
          sum = sum.get() + shared(_, lane_.lane(), at, tile, other).load(); // (4)
        return sum.get();
      };
      const Vector sum = quads == 1 ? quad(0) : joined(quad(0), quad(1));
      return shape_.form.interleaved() ? exchangedWithOtherHalf(sum) : sum;
    };
    if_(wave_ < shape_.tilesM(), [&] { finish(total); });
  }

private:
  struct Source {
    GgmlSource source;
    GgmlSource::Row row;
  };

  /// The lane's units of a row of weights, four weights at a time in their order, f32.
  using Weights = std::vector<Vector>;

  std::vector<Weights> fetch(const Int32 &first) const {
    const Int32 own =
        shape_.form.replicated() ? first : Int32(first + lane_.group() * shape_.unitsOfLane);
    std::vector<Weights> all;
    for (const Source &from : sources_) {
      Weights weights;
      for (int u = 0; u < shape_.unitsOfLane; ++u) {
        const Int32 unit = own + u, inRow = shape_.inRow(unit);
        for (const GgmlGroup &group :
             from.source.groups(from.source.fetch(from.row, inRow, {}), inRow))
          for (std::size_t word = 0; word < group.codes.numbers.size(); ++word)
            weights.push_back(shape_.kept(unit, group.weights(word)));
      }
      all.push_back(std::move(weights));
    }
    return all;
  }
  Tensor numbersOf(const Weights &weights, int stage) const {
    constexpr int count = GgmlRegistersShape::kStage;
    const Tensor numbers = make_rmem_tensor(IntTuple(count), problem_.product); // (stage)
    for (int at = 0; at < count; at += 4)
      make_view(numbers.iter() + at, make_layout(4)) // (4)
          .store(weights[static_cast<std::size_t>(stage * count + at) / 4].to(problem_.product));
    return numbers;
  }
  void multiply(int tile, const std::vector<Tensor> &weights, const Tensor &a) const {
    const int perLane = shape_.form.perLane();
    const auto part = [&](const Tensor &numbers, int at) {
      return make_view(numbers.iter() + at, make_layout(perLane)); // (V)
    };
    for (int at = 0; at < GgmlRegistersShape::kStage; at += perLane)
      for (std::size_t j = 0; j < weights.size(); ++j) {
        const Tensor &sums = sums_[static_cast<std::size_t>(tile) * weights.size() + j]; // (V)
        mma_atom_call(atom_, sums, part(weights[j], at), part(a, at), sums);
      }
  }

  const GgmlGemmProblem &problem_;
  const GgmlRegistersShape &shape_;
  ProductLane lane_;
  MmaAtom atom_;
  Int32 wave_;
  Pointer memory_; // of each wave the rows of a, then the sums of all
  WaveRows a_;
  std::vector<Source> sources_;
  std::vector<Tensor> sums_; // (V), of each tile of a by each tile of weights
};

template <bool StagesOverlap>
void registersProduct(const GgmlGemmProblem &problem, const GgmlGemmConfig &config,
                      const GgmlOperands &operands, const TileStart &start, const TileRows &rows) {
  const GgmlRegistersShape shape = *ggmlRegistersShape(problem, config, target());
  const RegisterProduct product(problem, shape, operands, rows, start.column);
  product.run(StagesOverlap);
  product.withTotal([&](const std::function<Vector(int j)> &groups) {
    const TileOfC tile({.lanes = shape.form.lanes,
                        .tileM = shape.tileM,
                        .tileN = config.tile_n,
                        .threads = shape.tilesM() * shape.form.lanes,
                        .n = problem.n,
                        .wavesM = shape.tilesM()},
                       {.row = start.row,
                        .column = start.column,
                        .rows = rowsLeft(problem, operands, start, shape.tileM)});
    storeTile(problem, operands, rows, start, tile, [&](int, int j) { return groups(j); });
  });
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
