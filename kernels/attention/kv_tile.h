// A tile of keys and values on its way from memory into LDS.
//
// Keys lie in LDS as rows, (tileK, head). Values lie there transposed, (headV, tileK), so that a lane finds
// neighbouring keys of an element side by side: a thread loads the same elements of 4 keys (a quad), and
// writes the 4 keys of each element together. Values of a packed cache are transposed in memory already.
#pragma once

#include "attention/attention_rows.h"
#include "blocks/attention/attention_products.h"

#include <numeric>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Pieces of a tile that are dealt to the threads of a block.
class DealtPieces {
public:
  DealtPieces(int count, int threads) : count_(count), threads_(threads) {}
  int rounds() const { return (count_ + threads_ - 1) / threads_; }
  /// The number of the thread's piece in a round.
  Int32 piece(const Int32 &thread, int round) const { return thread + round * threads_; }
  /// Runs `body` where the thread has a piece in the round.
  void where(const Int32 &thread, int round, const std::function<void()> &body) const {
    if ((round + 1) * threads_ <= count_)
      body();
    else
      if_(piece(thread, round) < count_, body);
  }

private:
  int count_, threads_;
};

class KvTile {
public:
  /// `valuePart`: the number of the block's part of the values' elements, of AttentionShape::valueParts.
  KvTile(const AttentionShape &shape, const KvSource &source, const Int32 &valuePart)
      : shape_(shape), source_(source), valuePart_(valuePart),
        keys_(shared_.tensor(shape.form.b,
                             tileInRuns(shape.form, shape.tileK, shape.head, shape.keyRow(),
                                        shape.keyRows8()))), // (tileK, head)
        values_(shared_.tensor(shape.form.b,
                               tileInRuns(shape.form, shape.headV, shape.tileK, shape.valueRow(),
                                          shape.valueRows8()))), // (headV, tileK)
        keysInOrder_(inOrder(keys_, shape.tileK, shape.head, shape.keyRow(), shape.keyRows8())),
        valuesInOrder_(
            inOrder(values_, shape.headV, shape.tileK, shape.valueRow(), shape.valueRows8())),
        dealtKeys_(shape.tileK * shape.head / shape.piece(), shape.threads),
        dealtValues_(shape.tileK * shape.headV / (inRows() ? kQuad * piece() : kPiece),
                     shape.threads) {
    const auto make = [&](std::vector<Var<Vector>> &all, int count, int size) {
      for (int i = 0; i < count; ++i)
        all.emplace_back(Vector::splat(0, size * shape.kv.bytes() / 4, i32));
    };
    make(fetchedKeys_, dealtKeys_.rounds(), shape.piece());
    make(fetchedValues_, dealtValues_.rounds() * (inRows() ? kQuad : 1),
         inRows() ? piece() : kPiece);
  }

  /// The tile in LDS: keys (tileK, head), and values transposed (headV, tileK). The rows of both are in the
  /// order in which the products' instructions take them (rowsInRuns).
  const Tensor &keys() const { return keys_; }
  const Tensor &values() const { return values_; }

  /// Loads the tile that starts at key `first` of `count`. Keys after the last one are anything
  /// finite.
  void fetch(const Int32 &first, const Int32 &count) const {
    const Tile tile(*this, first, count);
    each([&](const Round &round) { fetch(round, tile); });
  }
  /// Writes what was loaded to LDS.
  void store() const {
    each([&](const Round &round) { store(round); });
  }
  /// Loads and writes some pieces at a time, as many as there are registers for: those of the scores, which
  /// are not computed yet. If registers are few, these are a round of values, or as much of keys.
  void move(const Int32 &first, const Int32 &count) const {
    const Tile tile(*this, first, count);
    std::vector<Round> together;
    const auto bring = [&] {
      for (const Round &round : together)
        fetch(round, tile);
      gpu::schedule_fence();
      for (const Round &round : together)
        store(round);
      gpu::schedule_fence();
      together.clear();
    };
    const int room = shape_.keep.nextTile ? shape_.moveRegisters() : registersOf(false);
    int taken = 0;
    each([&](const Round &round) {
      const int own = registersOf(round.keys);
      if (!together.empty() && taken + own > room) {
        bring();
        taken = 0;
      }
      together.push_back(round);
      taken += own;
    });
    bring();
  }

private:
  static constexpr int kPiece = 8; ///< elements of a value that a thread loads together
  static constexpr int kQuad = 4;  ///< keys whose values a thread transposes
  /// The registers of a round of keys, or of values.
  int registersOf(bool keys) const {
    const int elements = keys ? shape_.piece() : inRows() ? kQuad * piece() : kPiece;
    return elements * shape_.kv.bytes() / 4;
  }
  /// A round of pieces of keys or of values, and the number of the thread that takes one of them.
  struct Round {
    bool keys;
    int number;
    Int32 thread;
  };

  /// A tile in memory.
  struct Tile {
    Int32 first; ///< the number of its first key
    Int32 last;  ///< the number of the last key that there is, counted from the first one
    KvRows keys, values;

    Tile(const KvTile &to, const Int32 &number, const Int32 &count)
        : first(number), last(count - 1 - number) {
      assume(last >= 0); // there is a key
      keys = to.source_.keysFrom(first, last, to.shape_.tileK);
      if (to.inRows())
        values = to.source_.valuesFrom(first, last, to.shape_.tileK);
    }
  };

  /// A tile whose rows are in the order of the instructions, with rows in their own order.
  static Tensor inOrder(const Tensor &inRuns, int rows, int columns, int stride, int stride8) {
    return make_view(inRuns.iter(), make_layout({{8, rows / 8}, columns},
                                                {{stride, stride8}, 1})); // (rows, columns)
  }
  /// Whether values lie in memory as rows of elements; those of a packed cache do not.
  bool inRows() const { return source_.layout().valuesInRows(); }
  /// The elements of a value that a thread loads of each of its keys: fewer if there would not be
  /// work for all threads.
  int piece() const {
    return shape_.tileK / kQuad * (shape_.headV / kPiece) >= shape_.threads ? kPiece : kPiece / 2;
  }

  /// Calls `body` with the rounds of the keys, then with those of the values.
  template <class Body> void each(Body body) const {
    const Int32 thread = threadOf(shape_, shape_.keep.addresses);
    for (int round = 0; round < dealtKeys_.rounds(); ++round)
      body(Round{true, round, thread});
    for (int round = 0; round < dealtValues_.rounds(); ++round)
      body(Round{false, round, thread});
  }
  void fetch(const Round &round, const Tile &tile) const {
    (round.keys ? dealtKeys_ : dealtValues_).where(round.thread, round.number, [&] {
      if (round.keys)
        fetchKey(round, tile);
      else if (inRows())
        fetchQuad(round, tile);
      else
        fetchRun(round, tile);
    });
  }
  void store(const Round &round) const {
    (round.keys ? dealtKeys_ : dealtValues_).where(round.thread, round.number, [&] {
      if (round.keys)
        storeKey(round);
      else if (inRows())
        storeQuad(round);
      else
        storeRun(round);
    });
    // Widening takes registers of its own; the scheduler would put that of all rounds together.
    if (shape_.widens())
      gpu::schedule_fence();
  }

  /// A row of the tile, and a piece of its elements.
  struct Key {
    Int32 row, piece;
  };
  Key keyOf(const Round &round) const {
    const int pieces = shape_.head / shape_.piece();
    const Int32 piece = dealtKeys_.piece(round.thread, round.number);
    return {piece / pieces, piece % pieces};
  }

  void fetchKey(const Round &round, const Tile &tile) const {
    const Key key = keyOf(round);
    const Tensor row = tile.keys(key.row);
    fetchedKeys_[std::size_t(round.number)] =
        (shape_.padsKeys() ? pieceOrZeros(row, key.piece, shape_.piece())
                           : pieceOf(row, key.piece, shape_.piece()).load())
            .bitcast(i32);
  }
  void storeKey(const Round &round) const {
    const Key key = keyOf(round);
    put(pieceOf(keysInOrder_(key.row, _), key.piece, shape_.piece()),
        fetched(fetchedKeys_, round.number)); // (piece)
  }

  /// The values that a thread transposes: `piece()` elements of four keys.
  struct Quad {
    Int32 keys;  ///< the number of the four keys among the tile's
    Int32 piece; ///< the number of the piece of the elements
  };
  /// Neighbouring threads have pieces of different groups of 8 elements, which they write to different banks
  /// of LDS. On CDNA, where groups have a stride of two pieces, the quads of two pieces of keys come first.
  Quad quadOf(const Round &round) const {
    const int groups = shape_.headV / 8, together = std::gcd(groups, 8),
              quads = shape_.tileK / kQuad, parts = 8 / piece(),
              first = shape_.dealsFours() && shape_.form.bytes() == 2 ? std::gcd(quads, 4) : 1;
    // The number of a thread's piece is that of (quad of `first`, turn of `together`, run of quads, rest), the
    // first mode fastest. idx2crd of such a layout takes more instructions for some problems.
    const Int32 number = dealtValues_.piece(round.thread, round.number),
                runAndRest = number / (first * together), rest = runAndRest / (quads / first),
                turn = number / first % together;
    // The group of 8 elements of a turn. Of 32 banks it is (2,2,together/4):(2,1,4) of the turn, 0 2 1 3 of each
    // four: an instruction writes two rows, rows have a stride of 2 pieces as groups do, and so the second row
    // is in the banks of the group after its own.
    const Int32 group = first > 1 && shape_.banks == 32 && together % 4 == 0
                            ? Int32(turn / 4 * 4 + turn % 2 * 2 + turn / 2 % 2)
                            : turn;
    return {runAndRest % (quads / first) * first + number % first,
            (rest / parts * together + group) * parts + rest % parts};
  }
  void fetchQuad(const Round &round, const Tile &tile) const {
    const Quad quad = quadOf(round);
    const Int32 own = inMemory(quad.piece, piece());
    for (int k = 0; k < kQuad; ++k)
      fetchedValues_[std::size_t(round.number * kQuad + k)] =
          pieceOf(tile.values(quad.keys * kQuad + k), own, piece()).load().bitcast(i32);
  }
  /// The number in memory of a piece of `size` elements of the tile's values. Pieces past the last one are
  /// the last one again: they become elements of results that are not written.
  Int32 inMemory(const Int32 &piece, int size) const {
    const Int32 own =
        shape_.valueParts() > 1 ? Int32(piece + valuePart_ * (shape_.headV / size)) : piece;
    return shape_.padsValues() ? Int32(min(own, shape_.valueElements / size - 1)) : own;
  }
  void storeQuad(const Round &round) const {
    const Quad quad = quadOf(round);
    const Tensor tile = flat_divide(valuesInOrder_, make_tile(piece(), kQuad))(
        _, _, quad.piece, quad.keys); // (piece, quad)
    std::vector<Vector> rows;
    for (int k = 0; k < kQuad; ++k)
      rows.push_back(fetched(fetchedValues_, round.number * kQuad + k));
    for (int e = 0; e < piece(); ++e)
      put(tile(e, _),
          Vector::of({rows[0].at(e), rows[1].at(e), rows[2].at(e), rows[3].at(e)})); // (quad)
  }

  /// The values of a packed cache that a thread loads: eight neighbouring keys of an element.
  struct Run {
    Int32 keys; ///< the number of the eight keys among the tile's
    Int32 element;
  };
  /// Neighbouring threads have runs that are neighbours in memory.
  Run runOf(const Round &round) const {
    const int together = std::min(source_.layout().v_pack, shape_.tileK) / kPiece;
    const Int32 at = dealtValues_.piece(round.thread, round.number), of = at / together;
    return {of / shape_.headV * together + at % together, of % shape_.headV};
  }
  void fetchRun(const Round &round, const Tile &tile) const {
    const Run keys = runOf(round);
    const Int32 key = keys.keys * kPiece, &last = tile.last;
    const KvPlace place = source_.place(tile.first, min(key, last / kPiece * kPiece));
    const Tensor tokens = source_.tokens(place.page, inMemory(keys.element, 1)); // (page)
    const Var<Vector> &run = fetchedValues_[std::size_t(round.number)];
    run = pieceOf(tokens, place.token / kPiece, kPiece).load().bitcast(i32);
    // Tokens after the last key are whatever the page holds, and 0 times a NaN would be one.
    if_(last < shape_.tileK - 1, [&] {
      const Numeric zero = Vector::splat(0.0f, 1, shape_.kv).at(0);
      const auto kept = [&](int k) {
        return select(last - key >= k, fetched(fetchedValues_, round.number).at(k), zero);
      };
      run = Vector::of({kept(0), kept(1), kept(2), kept(3), kept(4), kept(5), kept(6), kept(7)})
                .bitcast(i32);
    });
  }
  void storeRun(const Round &round) const {
    const Run run = runOf(round);
    put(pieceOf(valuesInOrder_(run.element, _), run.keys, kPiece),
        fetched(fetchedValues_, round.number)); // (piece)
  }

  /// Words that were loaded, as elements.
  Vector fetched(const std::vector<Var<Vector>> &all, int i) const {
    return all[std::size_t(i)].get().bitcast(shape_.kv);
  }
  /// Writes neighbours in LDS in the type of the products.
  void put(const Tensor &to, const Vector &values) const { to.store(values.to(to.dtype())); }

  AttentionShape shape_;
  KvSource source_;
  Int32 valuePart_;
  SharedAllocator shared_;
  Tensor keys_, values_; // in the order of the instructions: (tileK, head), (headV, tileK)
  Tensor keysInOrder_, valuesInOrder_; // the same memory: (tileK, head), (headV, tileK)
  DealtPieces dealtKeys_, dealtValues_;
  /// What was loaded, as words: from one turn of the loop to the next, elements of 8 bits would take a
  /// register each.
  std::vector<Var<Vector>> fetchedKeys_, fetchedValues_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
