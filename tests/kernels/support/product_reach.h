// A host's model of a product's kernel: what each wave of each part reads of the operands, as
// numbers, and whether each element of K is multiplied once.
//
// The model runs the functions by which the kernel itself decides: its loops (loop_schedule.h), the
// places of its blocks (tile_scheduler.h), and how much of them exists (operand_reach.h). What the
// kernel does in a fetch is stated here in a line each.
#pragma once

#include "blocks/products/loop_schedule.h"
#include "blocks/products/operand_reach.h"
#include "blocks/products/tile_scheduler.h"
#include "blocks/products/views.h"
#include "gemm/gemm_shape.h"
#include "support/structure.h"

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace kernel_tests {

namespace fi = fk::impl;

/// Collects the first mistake.
class Mistake {
public:
  void unless(bool right, const char *what, std::int64_t found = 0, std::int64_t limit = 0) {
    if (!right && text_.empty())
      text_ = std::string(what) + ": " + std::to_string(found) + ", of " + std::to_string(limit);
  }
  const std::string &text() const { return text_; }

private:
  std::string text_;
};

/// What the loops below share.
class LoopModel {
public:
  LoopModel(const fk::GemmProblem &problem, const fi::LoopShape &shape, Mistake &mistake)
      : shape_(shape), prepared_(problem.b_layout == fk::OperandLayout::prepared),
        scaled_(fi::hasBlockScales(problem)),
        columnsOfB_(fi::paddedPart(shape, fi::weightsOf(problem))), mistake_(mistake),
        seen_(std::size_t((shape.k + shape.form.part() - 1) / shape.form.part())) {}

  /// Each element of K was multiplied once.
  void end() {
    for (std::size_t at = 0; at < seen_.size(); ++at)
      mistake_.unless(seen_[at] == 1, "times that a part of K is multiplied, at its column",
                      seen_[at], std::int64_t(at) * shape_.form.part());
  }
  template <class Body> void turns(int end, int stride, const Body &body) {
    for (std::int64_t first = 0; first < end; first += stride)
      body(first);
  }

protected:
  /// The columns of a and b that a wave fetches of a part of a step; `inRound` is its place among
  /// the waves that share a round.
  void fetchPart(bool guarded, std::int64_t step, int part, std::int64_t inRound, bool a) {
    const std::int64_t first = fi::firstOfPart<std::int64_t>(shape_, step, part, inRound),
                       end = first + shape_.form.part();
    const auto fetched = [&](std::int64_t columns) {
      const bool inside = !guarded || fi::testedOfPart<std::int64_t>(shape_, columns, step, part,
                                                                     inRound) < columns;
      mistake_.unless(inside || first >= columns, "columns that are not read", first, columns);
      return inside;
    };
    // Where K ends inside of a part, each piece of a has a test of its own.
    const bool byPieces = guarded && shape_.k % shape_.form.part() != 0;
    if (a && !byPieces && fetched(shape_.k))
      mistake_.unless(end <= shape_.k, "end of the columns read of a", end, shape_.k);
    if (prepared_ && fetched(columnsOfB_))
      mistake_.unless(end <= columnsOfB_, "end of the columns read of b", end, columnsOfB_);
  }
  void fetchScales(std::int64_t step, int parts, bool guarded) {
    const std::int64_t end = step * (shape_.tileK / fi::kScaleBlock) + shape_.blocksOf(parts);
    if (scaled_)
      mistake_.unless(guarded || end <= shape_.scaleBlocks(), "end of the scales read", end,
                      shape_.scaleBlocks());
  }
  /// A tile of a step whose columns all exist.
  void wholeTile(std::int64_t step) {
    mistake_.unless((step + 1) * shape_.tileK <= shape_.k, "end of the columns of a whole tile",
                    (step + 1) * shape_.tileK, shape_.k);
  }
  void multiplyPart(std::int64_t first) {
    mistake_.unless(first >= 0, "columns that were not fetched", first);
    if (first >= 0 && first < shape_.k) // past the end, zeros are multiplied
      ++seen_[std::size_t(first / shape_.form.part())];
  }
  const fi::LoopShape &shape() const { return shape_; }
  bool prepared() const { return prepared_; }
  Mistake &mistake() { return mistake_; }

private:
  fi::LoopShape shape_;
  bool prepared_, scaled_;
  std::int64_t columnsOfB_;
  Mistake &mistake_;
  std::vector<int> seen_; // of each part of K
};

/// GemmLoop::registers and GemmLoop::vector: the waves run one after another.
class RoundsModel : public LoopModel {
public:
  using LoopModel::LoopModel;
  void run() {
    for (wave_ = 0; wave_ < shape().wavesK; ++wave_) {
      steps_ = {-1, -1};
      fi::runRounds<std::int64_t>(shape(), *this);
    }
    end();
  }
  void fetch(std::int64_t round, int stage, bool guarded) {
    const std::int64_t step = round * shape().wavesK + wave_;
    steps_[std::size_t(stage)] = step;
    // Vectors of rows: where it is guarded, each lane tests its own piece.
    if (!prepared()) {
      if (!guarded)
        wholeTile(step);
      return;
    }
    for (int part = 0; part < shape().parts(); ++part)
      fetchPart(guarded, step, part, 0, true);
    fetchScales(step, shape().parts(), guarded);
  }
  void multiply(int stage) {
    const std::int64_t step = std::exchange(steps_[std::size_t(stage)], -1);
    mistake().unless(step >= 0, "stage that nothing was fetched into", stage);
    for (int part = 0; part < shape().parts(); ++part)
      multiplyPart(fi::firstOfPart<std::int64_t>(shape(), step, part, 0));
  }

private:
  int wave_ = 0;
  std::array<std::int64_t, 2> steps_{}; // in the registers' stages
};

/// GemmLoop::ring.
class RingModel : public LoopModel {
public:
  using LoopModel::LoopModel;
  void run() {
    fi::runRing<std::int64_t>(shape(), *this);
    mistake().unless(done_ == shape().steps(), "steps that were multiplied", done_,
                     shape().steps());
    end();
  }
  void fetchTile(std::int64_t step, int stage) {
    wholeTile(step);
    arrive(step, stage);
  }
  void fetchLast(int stage) { arrive(shape().steps() - 1, stage); }
  void fetchB(std::int64_t step, int set, int parts, bool guarded) {
    sets_[std::size_t(set)] = step;
    for (int part = 0; part < parts; ++part)
      for (int slice = 0; slice < shape().slices(); ++slice)
        if (prepared())
          fetchPart(guarded, step, part, slice * shape().form.part(), false);
    fetchScales(step, parts, false);
  }
  void tilesFetched() {}
  void start() { write(0); }
  void meetFirst() {}
  void step(std::int64_t number, const fi::RingStep &now, const std::function<void()> &ahead) {
    const int set = now.number % 2;
    mistake().unless(number == done_, "step that is out of turn", number, done_);
    ++done_;
    mistake().unless(stages_[std::size_t(now.stage)] == number, "step of a stage",
                     stages_[std::size_t(now.stage)], number);
    mistake().unless(sets_[std::size_t(set)] == number, "step of the registers of b",
                     sets_[std::size_t(set)], number);
    if (now.following)
      fetchB(number + 1, set ^ 1, now.following, now.guarded);
    for (int part = 0; part < now.parts; ++part)
      for (int slice = 0; slice < shape().slices(); ++slice)
        multiplyPart(first(number, part, slice));
    if (now.following)
      write((now.stage + 1) % shape().stages);
    if (ahead)
      ahead();
  }

private:
  std::int64_t first(std::int64_t step, int part, int slice) const {
    return fi::firstOfPart<std::int64_t>(shape(), step, part, slice * shape().form.part());
  }
  /// LDS's own loads write the stage; others go there when the registers are written.
  void arrive(std::int64_t step, int stage) {
    (shape().dma ? stages_[std::size_t(stage)] : registers_) = step;
  }
  void write(int stage) {
    if (!shape().dma)
      stages_[std::size_t(stage)] = registers_;
  }
  std::int64_t registers_ = -1, done_ = 0;
  std::array<std::int64_t, 8> stages_{-1, -1, -1, -1, -1, -1, -1, -1}; // the most that there are
  std::array<std::int64_t, 2> sets_{-1, -1};
};

/// GemmLoop::groups.
class HalvesModel : public LoopModel {
public:
  using LoopModel::LoopModel;
  void run() {
    for (auto &half : places_)
      half = {-1, -1};
    fi::runGroups<std::int64_t>(shape(), *this);
    mistake().unless(phases_ == kHalves * shape().steps(), "phases", phases_,
                     kHalves * shape().steps());
    LoopModel::end();
  }
  void fetchNumber(int step, int number) {
    if (step < shape().steps() - 1)
      wholeTile(step);
    place(number % kHalves, step, step % 2);
  }
  void fetch(int half, std::int64_t step, int stage) {
    wholeTile(step);
    place(half, step, stage);
  }
  void firstFetched(int) { read(0, 0, 0); }
  void turn(const fi::HalfPhase &now) {
    const std::int64_t step = phases_ / kHalves;
    mistake().unless(phases_ % kHalves == now.phase, "phase", now.phase, phases_ % kHalves);
    // The halves are b0, a0, b1, a1; a phase reads a0, b1, a1, and b0 of the next step.
    if (now.phase < 3)
      read(now.phase + 1, step, now.stage);
    else if (now.more)
      read(0, step + 1, 1 - now.stage);
    if (now.phase == 3)
      for (int part = 0; part < shape().parts(); ++part)
        multiplyPart(fi::firstOfPart<std::int64_t>(shape(), step, part, 0));
    ++phases_;
  }
  void end() {}

private:
  static constexpr int kHalves = fi::HalfTilesOfStep::kHalfTiles;
  void place(int half, std::int64_t step, int stage) {
    places_[std::size_t(half)][std::size_t(stage)] = step;
  }
  void read(int half, std::int64_t step, int stage) {
    const std::int64_t found = places_[std::size_t(half)][std::size_t(stage)];
    mistake().unless(found == step, "step of a half's place", found, step);
  }
  std::int64_t phases_ = 0;
  std::array<std::array<std::int64_t, 2>, kHalves> places_{};
};

/// What is wrong with the loop of each part of K; nothing if all is right.
inline std::string mistakeOfLoop(const fk::GemmProblem &problem, const fk::GemmConfig &config,
                                 const fi::LoopShape &shape) {
  Mistake mistake;
  mistake.unless(shape.k * config.split_k == problem.k, "elements of K in all parts",
                 shape.k * config.split_k, problem.k);
  switch (config.loop) {
  case fk::GemmLoop::registers:
  case fk::GemmLoop::vector:
    RoundsModel(problem, shape, mistake).run();
    break;
  case fk::GemmLoop::ring:
    RingModel(problem, shape, mistake).run();
    break;
  case fk::GemmLoop::groups:
    HalvesModel(problem, shape, mistake).run();
    break;
  }
  return mistake.text();
}

/// The elements from the first to the last of a part with these extents and strides, as the
/// kernel's views give them.
inline std::int64_t spanOf(std::initializer_list<std::array<std::int64_t, 2>> modes) {
  std::int64_t last = 0;
  for (const auto &[extent, stride] : modes)
    last += (extent - 1) * stride;
  return last + 1;
}

/// What is wrong with the buffers of the blocks at the corners of c, in the first and the last part
/// of K; nothing if each lies inside of its operand.
inline std::string mistakeOfBuffers(const fk::GemmProblem &problem, const fk::GemmConfig &config,
                                    const fi::LoopShape &shape, std::int64_t m) {
  const fi::TileScheduler<std::int64_t> tiles(fi::tileGrid(problem, config), m);
  Mistake mistake;
  const std::int64_t n = problem.n, k = problem.k, bytes = shape.form.bytes(),
                     tilesM = fi::quotientUp(m, config.tile_m),
                     tilesN = fi::tilesAcross(problem, config);
  const fi::Preshuffled weights = fi::weightsOf(problem);
  const fi::PartsShape parts = fi::partsShape(problem, config);
  const auto within = [&](const char *what, std::int64_t end, std::int64_t size) {
    mistake.unless(end >= 0 && end <= size, what, end, size);
  };
  // Offsets have 32 bits, and one past the end of a buffer stands for what does not exist.
  const auto near = [&](const char *what, std::int64_t span) {
    within(what, span, fi::kPastTheEnd);
  };
  const auto matrix = [&](const char *what, fk::OperandLayout layout, std::int64_t rows,
                          std::int64_t row, std::int64_t exist, int tile, std::int64_t firstK,
                          bool far) {
    const bool byRows = layout == fk::OperandLayout::rows;
    const std::int64_t stride = byRows ? k : (rows + 7) / 8 * 8,
                       size = byRows ? (rows - 1) * stride + k : (k - 1) * stride + rows,
                       rowStride = byRows ? stride : 1, alongK = byRows ? 1 : stride;
    // By columns, a tile has all rows from its first one on.
    within(what,
           row * rowStride + firstK * alongK +
               spanOf({{byRows ? std::min<std::int64_t>(exist, tile) : exist, rowStride},
                       {shape.k, alongK}}),
           size);
    const std::int64_t lines = byRows ? tile : far ? shape.tileK : shape.k + shape.tileK;
    near("bytes of a tile", lines * stride * bytes);
  };
  const auto corners = [](std::int64_t count) {
    std::vector<std::int64_t> all{0};
    for (std::int64_t one : {count / 2, count - 2, count - 1})
      if (one > all.back())
        all.push_back(one);
    return all;
  };
  for (std::int64_t tileM : corners(tilesM))
    for (std::int64_t tileN : corners(tilesN))
      for (std::int64_t part : corners(config.split_k)) {
        const fi::WorkTile<std::int64_t> at = tiles.tile(0, tileM, tileN, part);
        mistake.unless(at.rows >= 1, "rows of a tile", at.rows, config.tile_m);
        within("end of a tile's rows", at.row + at.rows, m);
        mistake.unless(at.column < n, "first column of a tile", at.column, n);
        const std::int64_t firstK = at.part * shape.k;
        matrix("end of the buffer of a", problem.a_layout, m, at.row, at.rows, config.tile_m,
               firstK, false);
        for (int half = 0; half < shape.halves; ++half) {
          if (problem.b_layout == fk::OperandLayout::prepared) {
            // Blocks of 16 rows one after another, from the first one of a half on.
            const std::int64_t left = fi::blocksOfWeightsLeft<std::int64_t>(weights, shape, tileN),
                               ofTile = shape.tileOfHalf() / fi::Preshuffled::kRows,
                               first = fi::firstBlockOfWeights<std::int64_t>(shape, tileN) +
                                       half * (weights.blocksN() / shape.halves),
                               span = spanOf({{std::min(left, ofTile), weights.rowOfBlocks()},
                                              {fi::paddedPart(shape, weights) / weights.blockK(),
                                               weights.block()},
                                              {weights.block(), 1}});
            mistake.unless(firstK % weights.blockK() == 0, "first element of K of a part", firstK);
            within("end of the buffer of b",
                   first * weights.rowOfBlocks() + firstK / weights.blockK() * weights.block() +
                       span,
                   weights.size());
            near("bytes of the buffer of b", span * bytes);
          } else
            matrix("end of the buffer of b", problem.b_layout, n, at.column,
                   std::min<std::int64_t>(n - at.column, config.tile_n), config.tile_n, firstK,
                   fi::hasFarColumns(problem, config));
          if (fi::hasBlockScales(problem)) {
            const std::int64_t across = fi::scaleBlocks(k), first = firstK / fi::kScaleBlock,
                               rows = fi::scaleBlocks(problem.columns()),
                               row = fi::rowOfScalesB<std::int64_t>(problem, at.column, half);
            mistake.unless(firstK % fi::kScaleBlock == 0, "first element of K of a part", firstK);
            within("end of the buffer of scale_a",
                   at.row * across + first + spanOf({{at.rows, across}, {shape.scaleBlocks(), 1}}),
                   m * across);
            within("end of the buffer of scale_b",
                   row * across + first + spanOf({{rows - row, across}, {shape.scaleBlocks(), 1}}),
                   rows * across);
          }
          if (config.split_k > 1) {
            const std::int64_t columns = fi::columnsOfParts(problem, config);
            within("end of the buffer of sums",
                   (part * m + at.row) * parts.columns() + at.column + half * n +
                       spanOf({{at.rows, parts.columns()}, {columns - at.column, 1}}),
                   std::int64_t(parts.bytes(m)) / parts.acc.bytes());
          }
        }
        within("end of the buffer of c",
               at.row * n + at.column + spanOf({{at.rows, n}, {n - at.column, 1}}), m * n);
      }
  return mistake.text();
}

} // namespace kernel_tests
