// The loop over tiles of keys of gfx950, in which the waves of a block are two groups that take
// turns at the matrix units.
//
// A block has eight waves, two on each SIMD, one of each group. What a wave does with a tile has two
// phases. Each ends at a barrier:
//
//   softmax    the probabilities of its scores; its values are read from LDS
//   products   of its values and probabilities, then of the next tile's keys and the queries: those
//              are the scores of the next tile
//
// The second group is a barrier later than the first, so that on each SIMD one wave multiplies while the
// other computes the softmax:
//
//   first     | products | softmax  | products | softmax  | ...
//   second    |          | products | softmax  | products | ...
//
// Keys and values go from memory to LDS without a way through registers. LDS has two stages for keys
// and two for values. All waves fetch the same tile between the same two barriers, keys and values in
// turn, as soon as the last reads of its stage have ended: each reader has waited for its own
// (`lgkmcnt`) before the barrier. So what one group fetches in its products, the other fetches in its
// softmax:
//
//   first     | keys i+1 | values i+1 | keys i+2   | values i+2 | ...
//   second    | keys i+1 | values i+1 | keys i+2   | values i+2 | ...
//
// Loads end in their order: at each barrier a wave waits until all but the newest tile have landed, a
// phase before any wave reads them. The loop is two tiles long, so that each knows its stage while it
// is traced: the compiler then sees that what is written is not what is read.
#pragma once

#include "attention/dma_tile.h"
#include "attention/wave_queries.h"
#include "blocks/common/as_index.h"
#include "blocks/products/wave_groups.h"

#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// How many loads of a wave may still be under way at a barrier: those of the newest tile, of keys or of
/// values. All loads before these have landed.
///
///   barrier             fetched last                        landed, so that any wave may read it
///   first               values 0                            keys 0
///   second              keys 1                              values 0; the second group falls back here
///   softmax, products   keys or values of a later tile      what the next phase of either group reads
struct GroupWaits {
  int first = 0;    ///< the loads of a wave for a tile of values
  int second = 0;   ///< the loads of a wave for a tile of keys
  int softmax = 0;  ///< the smaller of both, at the end of a softmax
  int products = 0; ///< the smaller of both, at the end of a phase of products

  /// The last two barriers are the same code for tiles of keys and of values, so that the smaller number
  /// stands there.
  static GroupWaits of(const AttentionShape &shape) {
    const int keys = shape.keyTile().loads(shape.threads),
              values = shape.valueTile().loads(shape.threads), newest = std::min(keys, values);
    return {.first = values, .second = keys, .softmax = newest, .products = newest};
  }
};

class GroupLoop {
public:
  GroupLoop(const AttentionShape &shape, const KvSource &source, const Int32 &keys,
            WaveQueries &queries)
      : GroupLoop(shape, source, keys, queries, GroupWaits::of(shape)) {}
  /// The loop with other waits, for tests.
  GroupLoop(const AttentionShape &shape, const KvSource &source, const Int32 &keys,
            WaveQueries &queries, const GroupWaits &waits)
      : shape_(shape), source_(source), keys_(keys), queries_(queries), waits_(waits),
        scoresAtom_(unscaledAtom(shape.form)), valuesAtom_(unscaledAtom(shape.second)),
        load_(make_copy_atom(CopyToShared(8 * DmaTile::kPiece), shape.form.b)),
        read_(make_copy_atom(UniversalCopy128b(), shape.form.b)),
        transpose_(make_copy_atom(TransposedCopyFromShared(8 * bytes(), 64), shape.form.b)),
        inSecondGroup_(gpu::uniform(thread_idx().x / (shape.threads / 2)) == 1),
        thread_(threadOf(shape, shape.keep.acrossTiles)),
        ones_(held(Vector::splat(1.0f, shape.second.perLane(), shape.second.b))) {
    SharedAllocator shared;
    const auto stageOf = [&](const DmaTile &tile) {
      return shared.tensor(shape.form.b, make_layout(tile.bytes() / bytes()), 256); // (elements)
    };
    for (int stage = 0; stage < 2; ++stage) {
      keyStages_.push_back(stageOf(shape.keyTile()));
      valueStages_.push_back(stageOf(shape.valueTile()));
    }
    for (int r = 0; r < shape.repeats(); ++r) {
      scores_.push_back(make_rmem_tensor(IntTuple({sums(), shape.tileK / 16}), f32)); // (V, keys)
      results_.push_back(
          make_rmem_tensor(IntTuple({sums(), shape.headV / 16}), f32));    // (V, elements)
      probabilitySums_.push_back(make_rmem_tensor(IntTuple(sums()), f32)); // (V)
    }
  }

  /// Goes over the keys: all of them or, if `isSplit`, the block's part of them.
  void run(bool isSplit) {
    const TilesOfBlock tiles = queries_.tiles(isSplit);
    for (const std::vector<Tensor> &all : {results_, probabilitySums_})
      for (const Tensor &sums : all)
        sums.fill(0);
    loadQueries();
    if_(tiles.begin < tiles.end, [&] {
      fetchKeys(tiles.begin, 0, tiles);
      fetchValues(tiles.begin, 0, tiles);
      meetGroups(waits_.first);
      if_(inSecondGroup_, [&] {
        fetchKeys(Int32(tiles.begin + 1), 1, tiles);
        meetGroups(waits_.second);
      });
      byGroup([&] { fetchKeys(Int32(tiles.begin + 1), 1, tiles); },
              [&] { fetchValues(Int32(tiles.begin + 1), 1, tiles); });
      for (int band = 0; band < bands(); ++band)
        multiplyKeys(readKeys(0, band), band);
      meetGroups(waits_.products);
      for (Int32 tile : range(tiles.begin, tiles.end - 1, 2)) {
        step(tile, 0, tiles);
        step(Int32(tile + 1), 1, tiles);
      }
      if_((tiles.end - tiles.begin) % 2 == 1, [&] {
        // No register holds addresses of the last tile while the loop runs.
        threadOfLastTile_.emplace(threadOf(shape_, shape_.keep.acrossTiles));
        step(Int32(tiles.end - 1), 0, tiles);
        threadOfLastTile_.reset();
      });
      if_(!inSecondGroup_, [&] { meetGroups(); });
      gpu::wait_for({.loads = 0}); // The last loads end before the block gives LDS back.
    });
  }
  /// Writes the results; see WaveQueries::store.
  void store(bool isSplit) const {
    const Int32 group = lane().group;
    queries_.store(
        [&](int r, int from, int count) {
          return make_view(results_[asIndex(r)].iter() + from, make_layout(count))
              .load(); // (count)
        },
        {sums(), [&](int i) { return Int32(group + i / sums() * (16 / sums())); }}, isSplit,
        [&](int r) { return Numeric(probabilitySums_[asIndex(r)](0)); });
  }

private:
  using Operands = std::vector<Tensor>;

  int bytes() const { return shape_.form.bytes(); }
  int sums() const { return shape_.form.sums(); }
  /// The bands of a tile's keys, which are read from LDS and multiplied together, and the tiles of 16 keys of
  /// a band.
  int bands() const { return std::min(4, shape_.tileK / 16); }
  int tilesOfBand() const { return shape_.tileK / 16 / bands(); }
  // Keys and queries are multiplied in chunks of the head's elements. A lane reads whole pieces: several
  // for an instruction, or one for several.
  int chunks() const { return shape_.head / shape_.form.part(); }
  /// The elements of a lane's row in a chunk. An instruction takes perLane() of them.
  int elementsOfChunk() const { return shape_.form.part() / shape_.form.across; }
  int piecesOfChunk() const { return elementsOfChunk() / shape_.form.piece(); }
  Int32 thread() const {
    if (!shape_.keep.addresses)
      return threadOf(shape_, false);
    return threadOfLastTile_ ? *threadOfLastTile_ : thread_;
  }
  /// A lane's row in matrix instructions, and the number of its group of 16 lanes.
  struct Lane {
    Int32 row, group;
  };
  Lane lane() const {
    const Int32 thread = this->thread();
    return {thread % 16, thread % shape_.form.lanes / 16};
  }
  /// The number in its row of the lane's piece `i` of a chunk.
  Int32 pieceNumber(const Lane &lane, int chunk, int i) const {
    return lane.group + (chunk * piecesOfChunk() + i) * shape_.form.across;
  }
  /// The elements of a chunk that instruction `product` of it takes.
  Tensor ofProduct(const Tensor &elements, int product) const {
    const int perLane = shape_.form.perLane();
    return make_view(elements.iter() + product * perLane, make_layout(perLane)); // (perLane)
  }
  // Values and probabilities are multiplied in steps of keys. A lane has runs of 8 of them.
  int valueSteps() const { return shape_.tileK / shape_.second.k; }

  /// Starts the loads of tile `number` of keys or of values `into` a stage. Keys after the last one of the
  /// block's tiles are the last one again.
  template <class Swizzle, class Rows>
  void fetch(const DmaTile &tile, const Tensor &into, const Int32 &number,
             const TilesOfBlock &tiles, Swizzle swizzle, Rows rows) const {
    const int elements = DmaTile::kPiece / bytes();
    const Int32 end = min(keys_, tiles.end * shape_.tileK),
                first = min(number * shape_.tileK, end - 1), last = end - 1 - first;
    assume(last >= 0);                                    // there is a key
    const Tensor places = logical_divide(into, elements); // (piece, places)
    const Int32 thread = threadOf(shape_, shape_.keep.loadAddresses);
    for (int i = 0; i < tile.loads(shape_.threads); ++i) {
      const Int32 place = thread + i * shape_.threads, row = place / tile.pieces(),
                  piece = place % tile.pieces() ^ swizzle(row);
      const Tensor from = rows(source_.place(first, min(row, last))); // (elements)
      copy(load_, pieceOf(from, piece, elements), places(_, place));  // (piece)
    }
  }
  void fetchKeys(const Int32 &tile, int stage, const TilesOfBlock &tiles) const {
    const DmaTile rows = shape_.keyTile();
    fetch(
        rows, keyStages_[asIndex(stage)], tile, tiles,
        [&](const Int32 &row) { return rows.ofKeys(row); },
        [&](const KvPlace &place) { return source_.key(place); });
  }
  void fetchValues(const Int32 &tile, int stage, const TilesOfBlock &tiles) const {
    const DmaTile rows = shape_.valueTile();
    fetch(
        rows, valueStages_[asIndex(stage)], tile, tiles,
        [&](const Int32 &row) { return rows.ofValues(row); },
        [&](const KvPlace &place) { return source_.value(place); });
  }

  /// Loads the lane's elements of its queries, for each repeat and chunk.
  void loadQueries() {
    const int size = shape_.form.piece();
    const Lane own = lane();
    for (int r = 0; r < shape_.repeats(); ++r)
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        operandsQ_.push_back(
            make_rmem_tensor(IntTuple({size, piecesOfChunk()}), shape_.form.a)); // (piece, pieces)
        for (int i = 0; i < piecesOfChunk(); ++i)
          operandsQ_.back()(_, i).store(queries_.piece(r, own.group, chunk * piecesOfChunk() + i)
                                            .to(shape_.form.a)); // (piece)
      }
  }
  /// Values in registers, as a tensor.
  static Tensor held(const Vector &values) {
    const Tensor registers = make_rmem_tensor(IntTuple(int(values.size())), values.dtype()); // (V)
    registers.store(values);
    return registers;
  }
  /// `count` elements of a tile from element `offset + more` on, where `more` is a constant. The compiler sees
  /// that they are elements of this tile, and so which loads may write them.
  static Tensor inTile(const Tensor &tile, const Int32 &offset, int more, int count) {
    return make_view(tile.iter() + offset + more, make_layout(count)); // (count)
  }

  /// The operands of a band of the keys: for each chunk of elements and each 16 rows of an instruction, which
  /// are dealt to the lanes in runs of 8 keys.
  Operands readKeys(int stage, int band) const {
    const DmaTile rows = shape_.keyTile();
    const Lane own = lane();
    // (row of the instruction, tile of 16) -> row of the tile in LDS: ((4,4),(2,tileK/32)):((1,8),(4,32)).
    // The tiles of 16 add 4 and 32 to a row, which do not change the number that its pieces are xored with.
    const Layout order = group(group(rowsInRuns(shape_.form, shape_.tileK, 1, 8), 2, 4), 0, 2);
    const Int32 first = own.row % 4 + own.row / 4 * 8; // order(own.row, 0)
    const int size = shape_.form.piece();
    Operands operands;
    for (int chunk = 0; chunk < chunks(); ++chunk)
      for (int tile = band * tilesOfBand(); tile < (band + 1) * tilesOfBand(); ++tile) {
        const int more = static_cast<int>(order(0, tile).value());
        operands.push_back(
            make_rmem_tensor(IntTuple({size, piecesOfChunk()}), shape_.form.b)); // (piece, pieces)
        for (int i = 0; i < piecesOfChunk(); ++i) {
          const Int32 piece = pieceNumber(own, chunk, i) ^ rows.ofKeys(first);
          copy_atom_call(read_,
                         inTile(keyStages_[asIndex(stage)], first * shape_.head + piece * size,
                                more * shape_.head, size),
                         operands.back()(_, i)); // (piece)
        }
      }
    return operands;
  }
  /// The operands of the values for a step of keys: for each 16 elements. A read gives a lane an element of
  /// `keys` neighbouring keys, 8 bytes; the addresses of several neighbours of its 16 lanes are in one key.
  Operands readValues(int stage, int step) const {
    constexpr int kRun = RunsOfEight::kRun;
    const DmaTile rows = shape_.valueTile();
    const int keys = 8 / bytes(), neighbours = 16 / keys, size = shape_.form.piece(),
              runs = shape_.second.perLane() / kRun;
    // (read of a run, run of a lane, step) -> the first key, from the lane's first key on
    const Layout order = make_layout({kRun / keys, runs, valueSteps()},
                                     {keys, kRun * shape_.second.across, shape_.second.k});
    const Lane own = lane();
    const Int32 first = own.group * kRun + own.row / neighbours,
                inRow = own.row % neighbours * keys;
    Operands operands;
    for (int tile = 0; tile < shape_.headV / 16; ++tile) {
      const Int32 piece = (inRow / size + tile * 16 / size) ^ rows.ofValues(first);
      const Int32 offset = first * shape_.headV + piece * size + inRow % size;
      const Tensor operand = make_rmem_tensor(IntTuple({keys, runs * kRun / keys}),
                                              shape_.second.b); // (keys, runs * 8 / keys)
      for (int run = 0; run < runs; ++run)
        for (int i = 0; i < kRun / keys; ++i)
          copy_atom_call(transpose_,
                         inTile(valueStages_[asIndex(stage)], offset,
                                static_cast<int>(order(i, run, step).value()) * shape_.headV, keys),
                         operand(_, run * (kRun / keys) + i));                 // (keys)
      operands.push_back(make_view(operand.iter(), make_layout(runs * kRun))); // (runs * 8)
    }
    return operands;
  }

  /// S^T = K * Q^T for a band of the keys.
  void multiplyKeys(const Operands &keys, int band) const {
    const int tiles = tilesOfBand();
    for (int tile = 0; tile < tiles; ++tile)
      for (const Tensor &scores : scores_)
        scores(_, band * tiles + tile).fill(0); // (V)
    for (int chunk = 0; chunk < chunks(); ++chunk)
      for (int product = 0; product < shape_.form.products(); ++product)
        for (int tile = 0; tile < tiles; ++tile)
          for (int r = 0; r < shape_.repeats(); ++r) {
            const Tensor sums = scores_[asIndex(r)](_, band * tiles + tile); // (V)
            mma_atom_call(scoresAtom_, sums,
                          ofProduct(keys[asIndex(chunk * tiles + tile)], product),
                          ofProduct(operandsQ_[asIndex(r * chunks() + chunk)], product), sums);
          }
  }
  /// O^T += V^T * P^T for a half of the elements, and with the first half the sums of the probabilities, as
  /// their product with values of 1.
  void multiplyValues(const std::vector<Operands> &values,
                      const std::vector<Operands> &probabilities, int half) const {
    const int tiles = shape_.headV / 32;
    for (int step = 0; step < valueSteps(); ++step) {
      const Operands &operands = probabilities[asIndex(step)];
      for (int r = 0; r < shape_.repeats() && half == 0; ++r)
        mma_atom_call(valuesAtom_, probabilitySums_[asIndex(r)], ones_, operands[asIndex(r)],
                      probabilitySums_[asIndex(r)]);
      for (int tile = half * tiles; tile < (half + 1) * tiles; ++tile)
        for (int r = 0; r < shape_.repeats(); ++r) {
          const Tensor sums = results_[asIndex(r)](_, tile); // (V)
          mma_atom_call(valuesAtom_, sums, values[asIndex(step)][asIndex(tile)],
                        operands[asIndex(r)], sums);
        }
    }
  }
  /// The operands of the probabilities: for each step of keys and repeat.
  std::vector<Operands> operandsOf(const std::vector<Vector> &probabilities) const {
    const int perLane = shape_.second.perLane();
    std::vector<Operands> operands;
    for (int step = 0; step < valueSteps(); ++step) {
      operands.emplace_back();
      for (const Vector &ofQuery : probabilities)
        operands.back().push_back(held(inRegisters(part(ofQuery, step * perLane, perLane))));
    }
    return operands;
  }
  /// The same values, computed here. The compiler would otherwise round them where they are used: until then
  /// their f32 would take twice the registers.
  Vector inRegisters(const Vector &values) const {
    return materialised(values.bitcast(i32)).bitcast(values.dtype());
  }
  /// Runs `body` with priority over the other group's wave of the same SIMD.
  template <class Body> static void withPriority(Body body) {
    gpu::wave_priority(1);
    body();
    gpu::wave_priority(0);
  }

  /// Runs `first` in the waves of the first group and `second` in those of the second. No instruction moves
  /// across it.
  template <class First, class Second> void byGroup(First first, Second second) const {
    gpu::schedule_fence();
    if_(inSecondGroup_, second, first);
    gpu::schedule_fence();
  }

  /// The phases of a tile whose scores are there, and whose values are in stage `stage`. The next tile's keys
  /// are in the other stage. In the last tile, its last key is fetched and multiplied as the next tile, so that
  /// all steps are the same: without these products the compiler spills registers.
  void step(const Int32 &tile, int stage, const TilesOfBlock &tiles) {
    const Int32 next = tile + 1, afterNext = tile + 2;
    byGroup([&] { fetchValues(next, 1 - stage, tiles); },
            [&] { fetchKeys(afterNext, stage, tiles); });
    const std::vector<Operands> probabilities = operandsOf(
        queries_.probabilities(scores_, tile, tiles.seen, [&](int r, const Numeric &factor) {
          for (const Tensor &sums : {results_[asIndex(r)], probabilitySums_[asIndex(r)]})
            sums.store(sums.load() * factor);
        }));
    gpu::schedule_fence(); // The scores' registers are free for the values.
    std::vector<Operands> values;
    for (int step = 0; step < valueSteps(); ++step)
      values.push_back(readValues(stage, step));
    meetGroups(waits_.softmax);

    byGroup([&] { fetchKeys(afterNext, stage, tiles); },
            [&] { fetchValues(afterNext, stage, tiles); });
    withPriority([&] {
      multiplyValues(values, probabilities, 0);
      gpu::schedule_fence(); // The registers of these values are free for keys.
      std::vector<Operands> keys{readKeys(1 - stage, 0)};
      multiplyValues(values, probabilities, 1);
      gpu::schedule_fence();
      for (int band = 0; band < bands(); ++band) {
        if (band + 1 < bands())
          keys.push_back(readKeys(1 - stage, band + 1));
        multiplyKeys(keys[asIndex(band)], band);
      }
    });
    meetGroups(waits_.products);
  }

  AttentionShape shape_;
  KvSource source_;
  Int32 keys_;
  WaveQueries &queries_;
  GroupWaits waits_;
  MmaAtom scoresAtom_, valuesAtom_;
  CopyAtom load_, read_, transpose_;
  Boolean inSecondGroup_;
  Int32 thread_;
  std::optional<Int32> threadOfLastTile_;       // see Keep::acrossTiles
  std::vector<Tensor> keyStages_, valueStages_; // (elements of a tile), of each stage
  std::vector<Tensor> operandsQ_;               // (piece, pieces), of each repeat and chunk
  std::vector<Tensor> scores_, results_;        // (V, tiles of 16), of each repeat
  std::vector<Tensor> probabilitySums_;         // (V), of each repeat; all V are the same
  Tensor ones_;                                 // (V), an operand
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
