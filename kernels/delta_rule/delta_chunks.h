// The chunked form of the gated delta rule, for many tokens of a sequence (Yang, Kautz and
// Hatamizadeh, arXiv 2412.06464, section 3.3). With the state S before a chunk, G[i] the sum of g up
// to token i of it, and i, j its tokens:
//
//   d[i] = beta[i] (v[i] - e^G[i] transposed(S) k[i]) - sum over j < i of L[i, j] d[j],
//          L[i, j] = beta[i] e^(G[i] - G[j]) k[i] . k[j]
//   y[i] = scale (e^G[i] transposed(S) q[i] + sum over j <= i of e^(G[i] - G[j]) (q[i] . k[j]) d[j])
//   S    = e^G[last] S + sum over j of e^(G[last] - G[j]) k[j] transposed(d[j])
//
// With StateUpdate::add, d[i] = beta[i] v[i], and there is no system: it is the dual form of Mamba-2's
// SSD (Dao and Gu, arXiv 2405.21060, section 6). Where each channel of k decays by itself, e^G is in the
// operands: see delta_channels.h.
//
// A block has a head of a sequence and 16 columns of the state for each of its waves. The state stays
// in a wave's registers as sums in f32; its rows are dealt to lanes as elements of values are in
// decode_wave.h, with k in the place of the values and tokens in that of keys. Operands of matrix
// instructions are rounded to x. The triangular system is solved in f32, each lane a column.
#pragma once

#include "blocks/attention/decode_wave.h"
#include "blocks/common/as_index.h"
#include "blocks/common/host_or_traced.h"
#include "blocks/common/shared_rows.h"
#include "delta_rule/chunk_shape.h"
#include "delta_rule/delta_channels.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What the waves of a block share of a chunk.
class ChunkMemory {
public:
  ChunkMemory(const DeltaRuleProblem &problem, int tokens, int waves)
      : k(heads(problem, tokens)), q(heads(problem, tokens)),
        scores(
            SharedAllocator().tensor(problem.x, rows(tokens, tokens + ChunkShape::kPadOfScores))),
        system(ofDelta(problem, rows(tokens, tokens + ChunkShape::kPadOfSystem))),
        right(ofDelta(problem, rows(waves * tokens, ChunkShape::kRowOfRight))),
        sums(SharedAllocator().tensor(f32, make_layout(tokens))),
        beta(SharedAllocator().tensor(f32, make_layout(tokens))) {
    if (!problem.by_channel)
      return;
    channels.emplace(tokens, problem.key);
    if (system)
      decayedK.emplace(heads(problem, tokens));
  }

  SharedRows k, q; ///< (tokens, key)
  Tensor scores;   ///< (tokens, tokens): what y takes of each d
  /// Of StateUpdate::delta.
  std::optional<Tensor> system; ///< (tokens, tokens): L
  std::optional<Tensor> right;  ///< (waves tokens, 16): what L's solution is for
  Tensor sums;                  ///< (tokens): G, of decays of heads
  Tensor beta;                  ///< (tokens)
  std::optional<ChannelSums> channels;
  /// Of decays of channels and StateUpdate::delta: k e^G. q becomes q e^G, and k k e^(G[last] - G).
  std::optional<SharedRows> decayedK;

  /// `count` neighbours of a row.
  static Vector load(const Tensor &matrix, const Int32 &row, const Int32 &column, int count) {
    return place(matrix, row, column).load(count);
  }

private:
  static std::optional<Tensor> ofDelta(const DeltaRuleProblem &problem, const Layout &layout) {
    if (problem.update != StateUpdate::delta)
      return std::nullopt;
    return SharedAllocator().tensor(f32, layout);
  }
  static SharedRows heads(const DeltaRuleProblem &problem, int tokens) {
    const RowPlacement placement = RowPlacement::of(target(), RowsRead::transposed);
    return {SharedAllocator().allocate(placement.bytes(tokens, problem.key, problem.x)), problem.x,
            problem.key, placement};
  }
  static Pointer place(const Tensor &matrix, const Int32 &row, const Int32 &column) {
    return matrix.iter() + (row * Int32(matrix.stride()[0]) + column);
  }
  static Layout rows(int count, int distance) {
    return make_layout({count, distance}, {distance, 1});
  }
};

class DeltaChunks {
public:
  /// `readsAgain`: the arguments of v, y and the state are read again where they are needed, so that no scalar
  /// registers hold them from one chunk to the next.
  DeltaChunks(const DeltaRuleProblem &problem, const DeltaRuleConfig &config,
              const DeltaTraced &params, const MatrixForm &form, bool readsAgain)
      : problem_(problem), config_(config), readsAgain_(readsAgain), memory_(params, problem, 1),
        lane_(form, std::max(kPiece, form.perLane()), problem.key, kPiece), product_(form),
        waves_(config.block / form.lanes), shared_(problem, lane_.keys(), waves_),
        wave_(gpu::uniform(thread_idx().x / form.lanes).to<Int32>()),
        column_((block_idx().x * waves_ + wave_) * 16 + lane_.product().row()) {}

  void run() {
    if_(memory_.inState(), [&] { sequence(); });
  }

private:
  static constexpr int kPiece = 8; ///< elements, 16 bytes

  int tokens() const { return lane_.keys(); }
  int tiles() const { return lane_.valueTiles(); }
  int sums() const { return lane_.product().sums(); }
  Boolean hasColumn() const { return Boolean(column_ < problem_.value); }

  void sequence() {
    const Int32 begin = memory_.begin(), end = memory_.end();
    std::vector<Tensor> state;
    for (int tile = 0; tile < tiles(); ++tile)
      state.push_back(product_.zeros());
    const Boolean read = problem_.fresh ? Boolean(hasColumn() & !memory_.isFresh()) : hasColumn();
    const Tensor kept = memory_.state(); // (key, value)
    if_(read, [&] {
      eachRow(
          [&](int tile, int v, const Int32 &row) { state[asIndex(tile)](v) = kept(row, column_); },
          false);
    });
    const DeltaGates gates(problem_, memory_);
    for (Int32 base : range(counted(begin), counted(end), tokens()))
      if (fewRegisters())
        DeltaChunks(*this, lane_.recomputed()).chunk(base, end, state, gates);
      else
        chunk(base, end, state, gates);
    const Tensor after = readsAgain_ ? memory_.stateReadAgain() : kept; // (key, value)
    if_(hasColumn(), [&] {
      eachRow(
          [&](int tile, int v, const Int32 &row) { after(row, column_) = state[asIndex(tile)](v); },
          fewRegisters());
    });
  }
  /// The lane's rows of the state. `again`: nothing that follows from them is kept from earlier.
  template <class Body> void eachRow(Body body, bool again) const {
    for (int tile = 0; tile < tiles(); ++tile)
      for (int v = 0; v < sums(); ++v) {
        const Int32 row = lane_.element(tile, lane_.product().sumRow(v));
        body(tile, v, again ? rematerialised(row).to<Int32>() : row);
      }
  }

  /// The same for a chunk, where registers are few: numbers that follow from the lane's would be
  /// kept for all chunks, and there are no registers for them.
  DeltaChunks(const DeltaChunks &all, const DecodeLane &lane)
      : problem_(all.problem_), config_(all.config_), readsAgain_(all.readsAgain_),
        memory_(all.memory_), lane_(lane), product_(all.product_), waves_(all.waves_),
        shared_(all.shared_), wave_(all.wave_),
        column_((block_idx().x * waves_ + wave_) * 16 + lane_.product().row()) {}

  bool solves() const { return problem_.update == StateUpdate::delta; }

  void chunk(const Int32 &base, const Int32 &end, const std::vector<Tensor> &state,
             const DeltaGates &gates) {
    gpu::barrier(AddressSpace::shared); // all waves are done with the chunk before
    bring(base, end, gates);
    gpu::barrier(AddressSpace::shared);
    pairs();
    gpu::barrier(AddressSpace::shared);
    if (shared_.channels) {
      decayRows();
      gpu::barrier(AddressSpace::shared);
    }
    std::vector<const SharedRows *> matrices{&shared_.q};
    if (solves())
      matrices.insert(matrices.begin(), shared_.decayedK ? &*shared_.decayedK : &shared_.k);
    const std::vector<std::vector<Tensor>> found = products(matrices, state);
    for (const Tensor &seen : found.back())
      seen.store(materialised(seen.load()));
    loadsStay();
    if (solves()) {
      rightSide(base, end, found.front());
      gpu::barrier(AddressSpace::shared);
    }
    const Vector delta = solves() ? solved() : added(base, end);
    results(base, end, found.back(), delta, gates.skip);
    change(state, delta);
  }

  /// A thread's piece of a round of rows of q or k, of those that the block has in shared memory.
  struct RowPiece {
    Int32 row, piece;
  };
  int rounds() const {
    const int pieces = tokens() * (problem_.key / kPiece);
    return (pieces + config_.block - 1) / config_.block;
  }
  RowPiece rowPiece(int round) const {
    const int across = problem_.key / kPiece;
    const Int32 number =
        wave_ * lane_.form().lanes + lane_.product().lane() + round * config_.block;
    return {number / across, number % across};
  }
  /// Loads a round of rows of q or k (m, key); those past the last token are the last one again.
  Vector loaded(const Tensor &of, const Int32 &base, const Int32 &end, int round) const {
    const RowPiece at = rowPiece(round);
    const Tensor row = of(min(base + at.row, end - 1), _);  // (key)
    return logical_divide(row, kPiece)(_, at.piece).load(); // (kPiece)
  }
  /// Puts them into shared memory, normed if the problem says so, and 0 past the last token.
  void store(const Vector &values, const Int32 &base, const Int32 &end, int round,
             const SharedRows &into) const {
    const RowPiece at = rowPiece(round);
    const Vector wide = values.to(f32);
    const auto scale = [&]() -> Numeric {
      if (!problem_.normalise)
        return Float32(1.0f);
      const Numeric squares = gpu::warp_reduce((wide * wide).reduce(Reduction::add), Reduction::add,
                                               problem_.key / kPiece) +
                              kNormEps;
      const FastMathScope approximate(FastMath::afn); // the argument is not subnormal
      return math::rsqrt(squares);
    }();
    // The last token may have a NaN.
    const Vector kept = wide * select(base + at.row < end, scale, 0.0f);
    into.store(at.row, at.piece * kPiece, kept.to(problem_.x));
  }
  /// Brings the rows of k and q, and the gates, into shared memory. All of them are on their way at
  /// once, unless registers are few.
  void bring(const Int32 &base, const Int32 &end, const DeltaGates &ofHead) const {
    const Tensor k = memory_.k(), q = memory_.q(); // (m, key)
    const std::pair<const Tensor &, const SharedRows &> matrices[] = {{k, shared_.k},
                                                                      {q, shared_.q}};
    if (shared_.channels)
      shared_.channels->make(memory_, ofHead, base, end, config_.block,
                             fewRegisters() ? kPiece / 2 : kPiece);
    if (fewRegisters()) {
      for (const auto &[of, into] : matrices)
        for (int round = 0; round < rounds(); ++round)
          store(loaded(of, base, end, round), base, end, round, into);
      return gates(base, end, loadedGates(base, end, ofHead));
    }
    std::vector<Vector> pieces;
    for (const auto &[of, into] : matrices)
      for (int round = 0; round < rounds(); ++round)
        pieces.push_back(loaded(of, base, end, round));
    const Gates loaded = loadedGates(base, end, ofHead);
    gpu::schedule_fence();
    std::size_t next = 0;
    for (const auto &[of, into] : matrices)
      for (int round = 0; round < rounds(); ++round)
        store(pieces[next++], base, end, round, into);
    gates(base, end, loaded);
  }
  /// The logarithm of the decay and beta of a thread's token; of threads that have none, 0.
  struct Gates {
    Numeric g, beta;
  };
  Gates loadedGates(const Int32 &base, const Int32 &end, const DeltaGates &ofHead) const {
    const Int32 i = thread_idx().x;
    const Var<Float32> g(Float32(0.0f)), beta(Float32(0.0f));
    if_(i < tokens(), [&] {
      const DeltaGates::Token token = ofHead.of(min(base + i, end - 1));
      if (token.decay)
        g = boundedDecay(*token.decay);
      beta = token.beta;
    });
    return {g.get(), beta.get()};
  }
  /// The sums of g, and beta: 0 past the last token, which then changes nothing.
  void gates(const Int32 &base, const Int32 &end, const Gates &loaded) const {
    const Int32 i = thread_idx().x;
    if_(i < tokens(), [&] {
      const Boolean inside(base + i < end);
      if (!shared_.channels)
        shared_.sums(i) =
            gpu::warp_inclusive_scan(select(inside, loaded.g, 0.0f), Reduction::add, tokens());
      shared_.beta(i) = select(inside, loaded.beta, 0.0f);
    });
  }
  static Numeric decayOf(const Numeric &exponent) { return powerOf2(Numeric(exponent * kToBase2)); }

  /// The products of the chunk's tokens with one another: the system, and what y takes of each d.
  /// The waves take tiles of 16 x 16 in turn.
  void pairs() const {
    if (shared_.channels)
      return pairsByLevel();
    int turn = 0;
    for (bool ofQ : solves() ? std::vector{false, true} : std::vector{true})
      for (int i = 0; i < lane_.keyTiles(); ++i)
        for (int j = 0; j < lane_.keyTiles(); ++j)
          if_(wave_ == turn++ % waves_, [&] { pair(ofQ, i, j); });
  }
  void pair(bool ofQ, int i, int j) const {
    const Int32 row = lane_.product().row();
    const Tensor product = product_.zeros();
    if (j <= i)
      for (int piece = 0; piece < lane_.product().pieces(problem_.key); ++piece)
        product_.add(product, pieceOf(ofQ ? shared_.q : shared_.k, row + 16 * i, piece),
                     pieceOf(shared_.k, row + 16 * j, piece));
    const Int32 second = row + 16 * j;
    const Numeric after = shared_.sums(second);
    for (int v = 0; v < sums(); ++v) {
      const Int32 first = lane_.product().sumRow(v) + 16 * i;
      const Numeric decayed = product(v) * decayOf(shared_.sums(first) - after);
      if (ofQ)
        shared_.scores(first, second) =
            select(second <= first, decayed * scaleOf(problem_), 0.0f).to(problem_.x);
      else
        (*shared_.system)(first, second) =
            select(second < first, decayed * shared_.beta(first), 0.0f);
    }
  }

  /// The same with decays of channels: the waves take the levels of pairs in turn, those of tiles on the
  /// diagonal, and the highest one, whose pairs are of two tiles.
  void pairsByLevel() const {
    constexpr int kLevelsOfTile = 5;
    const int tiles = lane_.keyTiles(), all = tiles * kLevelsOfTile;
    for (Int32 turn : range(wave_, all, waves_)) {
      const Int32 tile = turn / kLevelsOfTile;
      level(tile, tile, turn % kLevelsOfTile, true);
    }
    if (tiles == 2)
      if_(wave_ == all % waves_, [&] { level(1, 0, kLevelsOfTile, false); });
  }
  /// The pairs of a level of two tiles. The second is the first (`same`) or before it. Pairs
  /// of the other order are 0.
  void level(const Int32 &firstTile, const Int32 &secondTile, const Int32 &number,
             bool same) const {
    const ProductLane &lane = lane_.product();
    const Int32 ofFirst = lane.row() + firstTile * 16, ofSecond = lane.row() + secondTile * 16;
    const Tensor ofQ = product_.zeros(), ofK = product_.zeros();
    for (int piece = 0; piece < lane.pieces(problem_.key); ++piece) {
      loadsStay();
      const auto factors = [&](const Int32 &token) {
        return shared_.channels->factors(token, lane.element(piece), lane.piece(), number);
      };
      const auto scaled = [&](const SharedRows &rows, const Int32 &token, const Vector &by) {
        return (pieceOf(rows, token, piece).to(f32) * by).to(problem_.x);
      };
      const Vector bySecond = factors(ofSecond), byFirst = same ? bySecond : factors(ofFirst),
                   second = scaled(shared_.k, ofSecond, bySecond);
      product_.add(ofQ, scaled(shared_.q, ofFirst, byFirst), second);
      if (solves())
        product_.add(ofK, same ? second : scaled(shared_.k, ofFirst, byFirst), second);
    }
    for (int v = 0; v < sums(); ++v) {
      const Int32 first = lane.sumRow(v) + firstTile * 16;
      if_(ChannelSums::areOfLevel(first, ofSecond, number), [&] {
        put(first, ofSecond, select(ofSecond <= first, ofQ(v) * scaleOf(problem_), 0.0f),
            select(ofSecond < first, ofK(v) * shared_.beta(first), 0.0f));
        if (!same)
          put(ofSecond, first, Float32(0.0f), Float32(0.0f));
      });
    }
  }
  void put(const Int32 &first, const Int32 &second, const Numeric &score,
           const Numeric &coefficient) const {
    shared_.scores(first, second) = score.to(problem_.x);
    if (solves())
      (*shared_.system)(first, second) = coefficient;
  }
  /// Multiplies the rows of k and q by the decays of their channels.
  void decayRows() const {
    for (int round = 0; round < rounds(); ++round) {
      loadsStay();
      const RowPiece at = rowPiece(round);
      const Int32 first = at.piece * kPiece;
      const Vector sums = shared_.channels->load(at.row, first, kPiece);
      const auto read = [&](const SharedRows &rows) {
        return rows.load(at.row, at.row, first, 0, kPiece).to(f32);
      };
      const auto write = [&](const SharedRows &rows, const Vector &values) {
        rows.store(at.row, first, values.to(problem_.x));
      };
      const Vector k = read(shared_.k), decay = exponential(sums);
      write(shared_.q, read(shared_.q) * decay);
      if (solves())
        write(*shared_.decayedK, k * decay);
      write(shared_.k, k * exponential(Vector(shared_.channels->loadLast(first, kPiece) - sums)));
    }
  }

  /// Whether a lane holds all elements of its row of an operand (RDNA3), which elsewhere the lanes of
  /// a row share.
  bool holdsAll() const { return lane_.form().replicated(); }
  /// Whether the state and operands take most of the registers: on RDNA3, and on RDNA4 of long keys, of
  /// decays of channels, or where the compiler makes room for a block of more waves than a compute unit
  /// has SIMDs.
  bool fewRegisters() const {
    return holdsAll() || (!lane_.form().accumulates() &&
                          (problem_.key > 128 || waves_ > 4 || problem_.by_channel));
  }
  /// Loads that follow do not move before it, where there are no registers to hold what they bring.
  void loadsStay() const {
    if (fewRegisters())
      gpu::schedule_fence();
  }
  /// A piece of the lane's elements of a row.
  Vector pieceOf(const SharedRows &rows, const Int32 &row, int piece) const {
    const ProductLane &lane = lane_.product();
    return rows.load(row, row, lane.element(0), lane.pieceAt(piece), lane.piece());
  }

  /// Values of a lane whose rows of a block of the state make one operand: runs of 8 rows each.
  int valuesOfOperand() const { return lane_.form().runsOfEight(); }
  /// Elements of an operand that a lane has.
  int sizeOfOperand() const { return kPiece * (holdsAll() ? 2 : valuesOfOperand()); }
  /// The state as the second operand of products over its rows: for a block of 8 tiles and a lane's values
  /// from v on, the runs of 8 rows that the lane has there, and on RDNA3 those of the other half of
  /// the wave.
  Vector operandOf(const std::vector<Tensor> &state, int block, int v) const {
    const int values = valuesOfOperand();
    const Tensor own = make_rmem_tensor(IntTuple({kPiece, values}), problem_.x); // (kPiece, values)
    for (int i = 0; i < values; ++i)
      for (int e = 0; e < kPiece; ++e)
        own(e, i) = state[asIndex(block + e)](v + i).to(problem_.x);
    const Tensor operand = make_rmem_tensor(IntTuple(sizeOfOperand()), problem_.x); // (V)
    giveProbabilities(lane_.form(), own.load(), operand);
    return operand.load();
  }
  /// The columns of a matrix of tokens that belong to these rows.
  Vector columnsOfState(const SharedRows &rows, int tile, int block, int v) const {
    // A row of the state is `width` elements; those of the lanes of a group follow one another.
    const int width = lane_.width();
    const Int32 group = holdsAll() ? Int32(0) : lane_.product().sumRow(0) * width;
    return rows.load(lane_.key(tile), lane_.key(0), group,
                     lane_.elementOfTile(block) + v * (holdsAll() ? 2 : 1) * width,
                     sizeOfOperand());
  }
  /// The products of matrices of tokens with the state: for each matrix and each tile of tokens. An
  /// operand of the state is made once, and no longer needed after its products.
  std::vector<std::vector<Tensor>> products(const std::vector<const SharedRows *> &matrices,
                                            const std::vector<Tensor> &state) const {
    std::vector<std::vector<Tensor>> results(matrices.size());
    for (std::vector<Tensor> &tiles : results)
      for (int tile = 0; tile < lane_.keyTiles(); ++tile)
        tiles.push_back(product_.zeros());
    for (int block = 0; block < tiles(); block += kPiece)
      for (int v = 0; v < sums(); v += valuesOfOperand()) {
        loadsStay();
        const Vector operand = operandOf(state, block, v);
        for (std::size_t i = 0; i < matrices.size(); ++i)
          for (int tile = 0; tile < lane_.keyTiles(); ++tile)
            product_.add(results[i][asIndex(tile)], columnsOfState(*matrices[i], tile, block, v),
                         operand);
      }
    return results;
  }
  /// The token of the chunk of a value of a tile of products.
  Int32 tokenOf(int tile, int v) const {
    return Int32(lane_.scoreKey() + lane_.scoreOffset(tile * sums() + v));
  }
  /// Calls `body` with each of the lane's tokens of products: tile, value, number in the chunk.
  template <class Body> void eachToken(Body body) const {
    for (int tile = 0; tile < lane_.keyTiles(); ++tile)
      for (int v = 0; v < sums(); ++v)
        body(tile, v, tokenOf(tile, v));
  }

  /// v in the lane's column.
  Tensor columnOfV() const {                                             // (m)
    const Tensor all = readsAgain_ ? memory_.vReadAgain() : memory_.v(); // (m, value)
    return all(_, min(column_, problem_.value - 1));                     // (m)
  }
  /// That of a token of the chunk, in f32; of those past the last, that of the last.
  static Numeric valueOf(const Tensor &column, const Int32 &base, const Int32 &end,
                         const Int32 &i) {
    return column(min(base + i, end - 1)).to(f32);
  }
  /// The decay from the beginning of the chunk to a token; 1 if it is in the operands.
  Numeric decayTo(const Int32 &i) const {
    return shared_.channels ? Numeric(Float32(1.0f)) : decayOf(shared_.sums(i));
  }
  /// beta (v - e^G transposed(S) k).
  void rightSide(const Int32 &base, const Int32 &end, const std::vector<Tensor> &known) const {
    const Tensor column = columnOfV(); // (m)
    eachToken([&](int tile, int v, const Int32 &i) {
      const Numeric value = valueOf(column, base, end, i);
      (*shared_.right)(wave_ * tokens() + i, lane_.product().row()) =
          shared_.beta(i) * (value - decayTo(i) * known[asIndex(tile)](v));
    });
  }
  /// d of the lane's tokens, with StateUpdate::add.
  Vector added(const Int32 &base, const Int32 &end) const {
    const Tensor own = make_rmem_tensor(IntTuple(lane_.valueKeys()), f32), // (keys)
        column = columnOfV();                                              // (m)
    for (int k = 0; k < lane_.valueKeys(); ++k) {
      const Int32 i = lane_.valueKey(k);
      own(k) = shared_.beta(i) * valueOf(column, base, end, i);
    }
    return own.load();
  }
  /// d of the lane's tokens, with StateUpdate::delta. Each lane solves the system for its column.
  Vector solved() const {
    std::vector<Numeric> d;
    for (int i = 0; i < tokens(); ++i) {
      if (i % 4 == 0)
        loadsStay();
      std::vector<Numeric> sum{(*shared_.right)(wave_ * tokens() + i, lane_.product().row())};
      for (int j = 0; j < i; j += 4) {
        const Vector row = ChunkMemory::load(*shared_.system, Int32(i), Int32(j), 4);
        for (int k = j; k < std::min(i, j + 4); ++k)
          sum.push_back(math::fma(-row.at(k - j), d[asIndex(k)], sum.back()));
      }
      d.push_back(sum.back());
    }
    const Tensor own = make_rmem_tensor(IntTuple(lane_.valueKeys()), f32); // (keys)
    for (int k = 0; k < lane_.valueKeys(); ++k) {
      // RDNA3's lanes have all tokens.
      const int first = holdsAll() ? k : lane_.scoreOffset(k);
      std::vector<Numeric> chosen{d[asIndex(first)]};
      for (int group = 1; group < tokens() / lane_.valueKeys(); ++group)
        chosen.push_back(select(lane_.product().group() == group,
                                d[asIndex(group * kPiece + first)], chosen.back()));
      own(k) = chosen.back();
    }
    return own.load();
  }

  /// The lane's tokens of a row of a matrix.
  Vector runOf(const Tensor &matrix, const Int32 &row) const {
    const int runs = lane_.valueKeys() / kPiece;
    const Tensor all = make_rmem_tensor(IntTuple({kPiece, runs}), matrix.dtype()); // (kPiece, runs)
    for (int i = 0; i < runs; ++i)
      all(_, i).store(
          ChunkMemory::load(matrix, row, lane_.valueKey(i * kPiece), kPiece)); // (kPiece)
    return all.load();
  }
  void results(const Int32 &base, const Int32 &end, const std::vector<Tensor> &seen,
               const Vector &delta, const std::optional<Numeric> &skip) const {
    const Vector operand = delta.to(problem_.x);
    for (int tile = 0; tile < lane_.keyTiles(); ++tile)
      for (int v = 0; v < sums(); ++v) {
        const Int32 i = tokenOf(tile, v);
        seen[asIndex(tile)](v) = seen[asIndex(tile)](v) * decayTo(i) * scaleOf(problem_);
      }
    for (int tile = 0; tile < lane_.keyTiles(); ++tile)
      product_.add(seen[asIndex(tile)], runOf(shared_.scores, lane_.key(tile)), operand);
    const Tensor all = readsAgain_ ? memory_.yReadAgain() : memory_.y(); // (m, value)
    const Tensor column = all(_, column_);                               // (m)
    std::optional<Tensor> values;
    if (skip)
      values.emplace(columnOfV()); // (m)
    if_(hasColumn(), [&] {
      eachToken([&](int tile, int v, const Int32 &i) {
        if_(base + i < end, [&] {
          const Numeric y = seen[asIndex(tile)](v);
          column(base + i) = (skip ? y + *skip * valueOf(*values, base, end, i) : y).to(problem_.y);
        });
      });
    });
  }
  /// What the state takes of each of the lane's tokens, decayed to the end of the chunk unless k is.
  Vector decayedToEnd(const Vector &delta) const {
    if (shared_.channels)
      return delta.to(problem_.x);
    const Numeric last = shared_.sums(tokens() - 1);
    const Tensor weighed = make_rmem_tensor(IntTuple(lane_.valueKeys()), problem_.x); // (keys)
    for (int k = 0; k < lane_.valueKeys(); ++k)
      weighed(k) = (delta.at(k) * decayOf(last - shared_.sums(lane_.valueKey(k)))).to(problem_.x);
    return weighed.load();
  }
  /// The decays over all of the chunk of `width` tiles of the state from `tile` on: of each the lane's
  /// values.
  std::vector<Vector> decaysOf(int tile, int width) const {
    const std::size_t count = std::size_t(width);
    if (!shared_.channels)
      return {count, Vector::splat(decayOf(shared_.sums(tokens() - 1)), sums())};
    const Tensor all = make_rmem_tensor(IntTuple({width, sums()}), f32); // (width, sums)
    for (int v = 0; v < sums(); ++v)
      all(_, v).store(shared_.channels->decays(lane_.element(tile, lane_.product().sumRow(v)),
                                               width)); // (width)
    std::vector<Vector> decays;
    for (int i = 0; i < width; ++i)
      decays.push_back(all(i, _).load()); // (sums)
    return decays;
  }
  void change(const std::vector<Tensor> &state, const Vector &delta) const {
    const Vector operand = decayedToEnd(delta);
    // RDNA3's lanes have all tokens: of half as many elements each, they fit the registers.
    const int width = holdsAll() ? lane_.width() / 2 : lane_.width();
    for (int tile = 0; tile < tiles(); tile += width) {
      loadsStay();
      const Int32 column = lane_.product().row() * lane_.width();
      const ValueOperands rows = valuesOfRows(lane_, width, [&](int i) {
        const Int32 row = lane_.valueKey(i);
        return shared_.k.load(row, holdsAll() ? row : lane_.valueKey(i / kPiece * kPiece), column,
                              lane_.elementOfTile(tile), width);
      });
      const std::vector<Vector> decays = decaysOf(tile, width);
      for (std::size_t i = 0; i < rows.size(); ++i) {
        const Tensor &sum = state[asIndex(tile) + i];
        sum.store(sum.load() * decays[i]);
        product_.add(sum, rows[i], operand);
      }
    }
  }

  const DeltaRuleProblem &problem_;
  const DeltaRuleConfig &config_;
  bool readsAgain_;
  DeltaMemory memory_;
  DecodeLane lane_;
  WaveProduct product_;
  int waves_;
  ChunkMemory shared_;
  Int32 wave_, column_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
