// The loop over tiles of keys of gfx950, in which the waves of a block are two groups that take
// turns at the matrix units.
//
// A block has eight waves, two on each SIMD, one of each group. What a wave does with a tile has two
// phases. Each ends at a barrier:
//
//   weights    the softmax of its scores; its values are read from LDS
//   products   of its values and probabilities, then of the next tile's keys and the queries: those
//              are the scores of the next tile
//
// The second group is a barrier later than the first, so that on each SIMD one wave multiplies while the
// other computes the softmax:
//
//   first     | products | weights  | products | weights  | ...
//   second    |          | products | weights  | products | ...
//
// Keys and values go from memory to LDS without a way through registers, and have two places each
// there. All waves send for the same tile between the same two barriers, for keys and for values in
// turn, as soon as the last reads of its place have ended, as their readers' `lgkmcnt` said. So what
// one group sends for with its products, the other does with its weights:
//
//   first     | keys i+1 | values i+1 | keys i+2   | values i+2 | ...
//   second    | keys i+1 | values i+1 | keys i+2   | values i+2 | ...
//
// Loads end in their order: at each barrier a wave waits until all but the newest tile have landed, a
// phase before any wave reads them. The loop is two tiles long, so that each knows its place while it
// is traced: the compiler then sees that what is written is not what is read.
#pragma once

#include "attention/dma_tile.h"
#include "attention/wave_queries.h"
#include "blocks/products/wave_groups.h"

#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The loads of a wave that may be under way where it waits: those of the newest tile.
struct GroupWaits {
  int first = 0;    ///< before the first tile, whose keys are there then
  int second = 0;   ///< where the second group falls back by a barrier
  int weights = 0;  ///< at the end of the weights
  int products = 0; ///< at the end of the products

  static GroupWaits of(const AttentionShape &shape) {
    const int keys = shape.keyTile().loads(shape.threads),
              values = shape.valueTile().loads(shape.threads), newest = std::min(keys, values);
    return {.first = values, .second = keys, .weights = newest, .products = newest};
  }
};

class GroupLoop {
public:
  GroupLoop(const AttentionShape &shape, const KvSource &source, const Int32 &keys,
            WaveQueries &queries)
      : GroupLoop(shape, source, keys, queries, GroupWaits::of(shape)) {}
  /// With other waits, for tests.
  GroupLoop(const AttentionShape &shape, const KvSource &source, const Int32 &keys,
            WaveQueries &queries, const GroupWaits &waits)
      : shape_(shape), source_(source), keys_(keys), queries_(queries), waits_(waits),
        scoresAtom_(unscaledAtom(shape.form)), valuesAtom_(unscaledAtom(shape.second)),
        load_(make_copy_atom(CopyToShared(8 * DmaTile::kPiece), shape.form.b)),
        read_(make_copy_atom(UniversalCopy128b(), shape.form.b)),
        transpose_(make_copy_atom(TransposedCopyFromShared(8 * bytes(), 64), shape.form.b)),
        second_(gpu::uniform(thread_idx().x / (shape.threads / 2)) == 1),
        first_(threadOf(shape, shape.keep.acrossTiles)),
        ones_(held(Vector::splat(1.0f, shape.second.perLane(), shape.second.b))) {
    SharedAllocator shared;
    const auto place = [&](const DmaTile &tile) {
      return shared.tensor(shape.form.b, make_layout(tile.bytes() / bytes()), 256); // (elements)
    };
    for (int stage = 0; stage < 2; ++stage) {
      keyPlaces_.push_back(place(shape.keyTile()));
      valuePlaces_.push_back(place(shape.valueTile()));
    }
    for (int r = 0; r < shape.repeats(); ++r) {
      scores_.push_back(make_rmem_tensor(IntTuple({sums(), shape.tileK / 16}), f32)); // (V, keys)
      results_.push_back(
          make_rmem_tensor(IntTuple({sums(), shape.headV / 16}), f32)); // (V, elements)
      weightSums_.push_back(make_rmem_tensor(IntTuple(sums()), f32));   // (V)
    }
  }

  void run(bool parts) {
    const TilesOfBlock tiles = queries_.tiles(parts);
    for (const std::vector<Tensor> &all : {results_, weightSums_})
      for (const Tensor &sums : all)
        sums.fill(0);
    loadQueries();
    if_(tiles.begin < tiles.end, [&] {
      fetchKeys(tiles.begin, 0, tiles);
      fetchValues(tiles.begin, 0, tiles);
      meetGroups(waits_.first);
      if_(second_, [&] {
        fetchKeys(Int32(tiles.begin + 1), 1, tiles);
        meetGroups(waits_.second);
      });
      byGroup([&] { fetchKeys(Int32(tiles.begin + 1), 1, tiles); },
              [&] { fetchValues(Int32(tiles.begin + 1), 1, tiles); });
      for (int chunk = 0; chunk < chunks(); ++chunk)
        multiplyKeys(readKeys(0, chunk), chunk);
      meetGroups(waits_.products);
      for (Int32 tile : range(tiles.begin, tiles.end - 1, 2)) {
        step(tile, 0, tiles);
        step(Int32(tile + 1), 1, tiles);
      }
      if_((tiles.end - tiles.begin) % 2 == 1, [&] {
        // Nothing is kept for the last tile while the loop runs.
        last_.emplace(threadOf(shape_, shape_.keep.acrossTiles));
        step(Int32(tiles.end - 1), 0, tiles);
        last_.reset();
      });
      if_(!second_, [&] { meetGroups(); });
      gpu::wait_for({.loads = 0}); // What was sent for last ends before the memory is given back.
    });
  }
  /// Writes what was found; see WaveQueries.
  void store(bool parts) const {
    const Int32 group = lane().group;
    queries_.store(
        [&](int r, int from, int count) {
          return make_view(results_[at(r)].iter() + from, make_layout(count)).load(); // (count)
        },
        {sums(), [&](int i) { return Int32(group + i / sums() * (16 / sums())); }}, parts,
        [&](int r) { return Numeric(weightSums_[at(r)](0)); });
  }

private:
  using Operands = std::vector<Tensor>;

  static std::size_t at(int i) { return static_cast<std::size_t>(i); }
  int bytes() const { return shape_.form.bytes(); }
  int sums() const { return shape_.form.sums(); }
  // Keys and queries are multiplied in parts of their elements. A lane reads whole pieces: several
  // for an instruction, or one for several.
  /// The keys of a tile are read from LDS and multiplied in so many chunks, of so many times 16 keys.
  int chunks() const { return std::min(4, shape_.tileK / 16); }
  int tilesOfChunk() const { return shape_.tileK / 16 / chunks(); }
  int keyParts() const { return shape_.head / shape_.form.part(); }
  /// The elements of a lane's row in a part. An instruction takes perLane() of them.
  int elementsOfPart() const { return shape_.form.part() / shape_.form.across; }
  int piecesOfPart() const { return elementsOfPart() / shape_.form.piece(); }
  Int32 thread() const {
    if (!shape_.keep.addresses)
      return threadOf(shape_, false);
    return last_ ? *last_ : first_;
  }
  /// A lane's place in matrix instructions.
  struct Lane {
    Int32 row, group;
  };
  Lane lane() const {
    const Int32 thread = this->thread();
    return {thread % 16, thread % shape_.form.lanes / 16};
  }
  /// The number of a lane's piece of its row.
  Int32 pieceNumber(const Lane &lane, int part, int i) const {
    return lane.group + (part * piecesOfPart() + i) * shape_.form.across;
  }
  /// What an instruction of a part takes of its elements.
  Tensor ofProduct(const Tensor &elements, int product) const {
    const int perLane = shape_.form.perLane();
    return make_view(elements.iter() + product * perLane, make_layout(perLane)); // (perLane)
  }
  // Values and probabilities are multiplied in steps of keys. A lane has runs of 8 of them.
  int valueSteps() const { return shape_.tileK / shape_.second.k; }

  void wait(int loads) const { gpu::wait_for({.loads = loads, .reads = 0}); }
  // Tiles on their way to LDS. Keys after the last one of the block's tiles are as that one.
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
        rows, keyPlaces_[at(stage)], tile, tiles,
        [&](const Int32 &row) { return rows.ofKeys(row); },
        [&](const KvPlace &place) { return source_.key(place); });
  }
  void fetchValues(const Int32 &tile, int stage, const TilesOfBlock &tiles) const {
    const DmaTile rows = shape_.valueTile();
    fetch(
        rows, valuePlaces_[at(stage)], tile, tiles,
        [&](const Int32 &row) { return rows.ofValues(row); },
        [&](const KvPlace &place) { return source_.value(place); });
  }

  /// The lane's elements of its queries, for each repeat and part.
  void loadQueries() {
    const int size = shape_.form.piece();
    const Lane own = lane();
    for (int r = 0; r < shape_.repeats(); ++r)
      for (int part = 0; part < keyParts(); ++part) {
        operandsQ_.push_back(
            make_rmem_tensor(IntTuple({size, piecesOfPart()}), shape_.form.a)); // (piece, pieces)
        for (int i = 0; i < piecesOfPart(); ++i)
          operandsQ_.back()(_, i).store(
              queries_.piece(r, own.group, part * piecesOfPart() + i).to(shape_.form.a)); // (piece)
      }
  }
  static Tensor held(const Vector &values) {
    const Tensor registers = make_rmem_tensor(IntTuple(int(values.size())), values.dtype()); // (V)
    registers.store(values);
    return registers;
  }
  /// `count` elements of a tile from the one at `offset`, the constant `more` after it. That is an
  /// element of the tile for the compiler too, which so knows which loads may write it.
  static Tensor inTile(const Tensor &tile, const Int32 &offset, int more, int count) {
    return make_view(tile.iter() + offset + more, make_layout(count)); // (count)
  }

  /// The operands of a chunk of the keys: for each part and 16 rows. Rows are those of runs of 8 keys.
  Operands readKeys(int stage, int chunk) const {
    const DmaTile rows = shape_.keyTile();
    const Lane own = lane();
    const Int32 first = own.row % 4 + own.row / 4 * 8;
    const int size = shape_.form.piece();
    Operands operands;
    for (int part = 0; part < keyParts(); ++part)
      for (int tile = chunk * tilesOfChunk(); tile < (chunk + 1) * tilesOfChunk(); ++tile) {
        operands.push_back(
            make_rmem_tensor(IntTuple({size, piecesOfPart()}), shape_.form.b)); // (piece, pieces)
        for (int i = 0; i < piecesOfPart(); ++i) {
          const Int32 piece = pieceNumber(own, part, i) ^ rows.ofKeys(first);
          copy_atom_call(read_,
                         inTile(keyPlaces_[at(stage)], first * shape_.head + piece * size,
                                (tile % 2 * 4 + tile / 2 * 32) * shape_.head, size),
                         operands.back()(_, i)); // (piece)
        }
      }
    return operands;
  }
  /// The operands of the values for a step of keys: for each 16 elements. A read brings 8 bytes, of
  /// as many keys; of 16 lanes, several neighbours give it the elements of one key.
  Operands readValues(int stage, int step) const {
    constexpr int kRun = RunsOfEight::kRun;
    const DmaTile rows = shape_.valueTile();
    const int keys = 8 / bytes(), neighbours = 16 / keys, size = shape_.form.piece(),
              runs = shape_.second.perLane() / kRun;
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
          copy_atom_call(
              transpose_,
              inTile(valuePlaces_[at(stage)], offset,
                     (i * keys + run * kRun * shape_.second.across + step * shape_.second.k) *
                         shape_.headV,
                     keys),
              operand(_, run * (kRun / keys) + i));                            // (keys)
      operands.push_back(make_view(operand.iter(), make_layout(runs * kRun))); // (runs * 8)
    }
    return operands;
  }

  /// S^T = K * Q^T for a chunk of the keys.
  void multiplyKeys(const Operands &keys, int chunk) const {
    const int tiles = tilesOfChunk();
    for (int tile = 0; tile < tiles; ++tile)
      for (const Tensor &scores : scores_)
        scores(_, chunk * tiles + tile).fill(0); // (V)
    for (int part = 0; part < keyParts(); ++part)
      for (int product = 0; product < shape_.form.products(); ++product)
        for (int tile = 0; tile < tiles; ++tile)
          for (int r = 0; r < shape_.repeats(); ++r) {
            const Tensor sums = scores_[at(r)](_, chunk * tiles + tile); // (V)
            mma_atom_call(scoresAtom_, sums, ofProduct(keys[at(part * tiles + tile)], product),
                          ofProduct(operandsQ_[at(r * keyParts() + part)], product), sums);
          }
  }
  /// O^T += V^T * P^T for a half of the elements, and with the first the sums of the probabilities as
  /// the product with values of 1.
  void multiplyValues(const std::vector<Operands> &values, const std::vector<Operands> &weights,
                      int half) const {
    const int tiles = shape_.headV / 32;
    for (int step = 0; step < valueSteps(); ++step) {
      const Operands &operands = weights[at(step)];
      for (int r = 0; r < shape_.repeats() && half == 0; ++r)
        mma_atom_call(valuesAtom_, weightSums_[at(r)], ones_, operands[at(r)], weightSums_[at(r)]);
      for (int tile = half * tiles; tile < (half + 1) * tiles; ++tile)
        for (int r = 0; r < shape_.repeats(); ++r) {
          const Tensor sums = results_[at(r)](_, tile); // (V)
          mma_atom_call(valuesAtom_, sums, values[at(step)][at(tile)], operands[at(r)], sums);
        }
    }
  }
  /// The operands of the probabilities: for each step of keys and repeat.
  std::vector<Operands> operandsOf(const std::vector<Vector> &weights) const {
    const int perLane = shape_.second.perLane();
    std::vector<Operands> operands;
    for (int step = 0; step < valueSteps(); ++step) {
      operands.emplace_back();
      for (const Vector &weight : weights)
        operands.back().push_back(held(inRegisters(part(weight, step * perLane, perLane))));
    }
    return operands;
  }
  /// The values, which the compiler computes here and not where they are used, as it would to round
  /// them: until then their f32 would take twice the registers.
  Vector inRegisters(const Vector &values) const {
    return materialised(values.bitcast(i32)).bitcast(values.dtype());
  }
  /// Multiplies before the other group does.
  template <class Body> static void first(Body body) {
    gpu::wave_priority(1);
    body();
    gpu::wave_priority(0);
  }

  /// Sends for a tile.
  template <class First, class Second> void byGroup(First first, Second second) const {
    gpu::schedule_fence();
    if_(second_, second, first);
    gpu::schedule_fence();
  }

  /// The phases of a tile whose scores are there, and whose values are at place `stage`; the next
  /// tile's keys are at the other one. After the last tile, its last key is sent for and multiplied, so
  /// that all steps are the same: without its products the compiler spills registers.
  void step(const Int32 &tile, int stage, const TilesOfBlock &tiles) {
    const Int32 next = tile + 1, afterNext = tile + 2;
    byGroup([&] { fetchValues(next, 1 - stage, tiles); },
            [&] { fetchKeys(afterNext, stage, tiles); });
    const std::vector<Operands> weights =
        operandsOf(queries_.weights(scores_, tile, tiles.seen, [&](int r, const Numeric &factor) {
          for (const Tensor &sums : {results_[at(r)], weightSums_[at(r)]})
            sums.store(sums.load() * factor);
        }));
    gpu::schedule_fence(); // The scores' registers are free for the values.
    std::vector<Operands> values;
    for (int step = 0; step < valueSteps(); ++step)
      values.push_back(readValues(stage, step));
    meetGroups(waits_.weights);

    byGroup([&] { fetchKeys(afterNext, stage, tiles); },
            [&] { fetchValues(afterNext, stage, tiles); });
    first([&] {
      multiplyValues(values, weights, 0);
      gpu::schedule_fence(); // The registers of these values are free for keys.
      std::vector<Operands> keys{readKeys(1 - stage, 0)};
      multiplyValues(values, weights, 1);
      gpu::schedule_fence();
      for (int chunk = 0; chunk < chunks(); ++chunk) {
        if (chunk + 1 < chunks())
          keys.push_back(readKeys(1 - stage, chunk + 1));
        multiplyKeys(keys[at(chunk)], chunk);
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
  Boolean second_;            // of the groups
  Int32 first_;               // the thread
  std::optional<Int32> last_; // the same for the last tile
  std::vector<Tensor> keyPlaces_, valuePlaces_;
  std::vector<Tensor> operandsQ_;        // for each repeat and part: (piece, pieces)
  std::vector<Tensor> scores_, results_; // for each repeat: (sums, tiles of 16)
  std::vector<Tensor> weightSums_;       // for each repeat: (sums), all the same
  Tensor ones_;                          // an operand
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
