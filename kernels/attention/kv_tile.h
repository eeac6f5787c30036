// A tile of keys and values on its way from memory into LDS.
//
// Keys lie in LDS as rows. Values lie there transposed, so that a lane finds neighbouring keys of an
// element side by side: a thread loads an element of 4 keys each and writes them together. Values of
// a packed cache are transposed in memory.
#pragma once

#include "attention/attention_shape.h"
#include "blocks/attention_products.h"
#include "blocks/kv_source.h"

#include <numeric>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Pieces of a tile that are dealt to the threads of a block.
class DealtPieces {
public:
  DealtPieces(int count, int threads) : count_(count), threads_(threads) {}
  int rounds() const { return (count_ + threads_ - 1) / threads_; }
  /// The thread's piece of a round; threads that have none in the last round repeat the last one.
  Int32 piece(int round) const {
    const Int32 own = thread_idx().x + round * threads_;
    return whole(round) ? own : Int32(min(own, count_ - 1));
  }
  /// Runs `body` where the thread has a piece in the round.
  void where(int round, const std::function<void()> &body) const {
    if (whole(round))
      body();
    else
      if_(thread_idx().x + round * threads_ < count_, body);
  }

private:
  bool whole(int round) const { return (round + 1) * threads_ <= count_; }
  int count_, threads_;
};

class KvTile {
public:
  KvTile(const AttentionShape &shape, const KvSource &source)
      : shape_(shape), source_(source),
        keys_(shared_.tensor(shape.form.a, tileInRuns(shape.form, shape.tileK, shape.head,
                                                      shape.keyRow(), 8 * shape.keyRow()))),
        values_(shared_.tensor(shape.form.a, tileInRuns(shape.form, shape.headV, shape.tileK,
                                                        shape.valueRow(), shape.valueRows8()))),
        dealtKeys_(shape.tileK * shape.head / kPiece, shape.threads),
        dealtValues_(shape.tileK * shape.headV / (inRows() ? kQuad * piece() : kPiece),
                     shape.threads) {
    const auto make = [&](std::vector<Var<Vector>> &all, int count, int size) {
      for (int i = 0; i < count; ++i)
        all.emplace_back(Vector::splat(0.0f, size, shape.form.a));
    };
    make(fetchedKeys_, dealtKeys_.rounds(), kPiece);
    make(fetchedValues_, dealtValues_.rounds() * (inRows() ? kQuad : 1),
         inRows() ? piece() : kPiece);
  }

  /// The tile in LDS, in runs: keys (tileK, head), and values transposed (headV, tileK).
  const Tensor &keys() const { return keys_; }
  const Tensor &values() const { return values_; }

  /// Loads the tile that starts at key `first` of `count`; keys behind the last one are as the last
  /// one.
  void fetch(const Int32 &first, const Int32 &count) const {
    const Int32 last = count - 1 - first;
    for (int round = 0; round < dealtKeys_.rounds(); ++round) {
      const Key key = keyOf(round);
      const KvPlace place = source_.place(first, min(key.row, last));
      fetchedKeys_[std::size_t(round)] = load(source_.key(place, key.element), kPiece);
    }
    if (inRows())
      fetchRows(first, last);
    else
      fetchColumns(first, last);
  }
  /// Writes what was loaded to LDS.
  void store() const {
    for (int round = 0; round < dealtKeys_.rounds(); ++round)
      dealtKeys_.where(round, [&] {
        const Key key = keyOf(round);
        put(keys_, key.row * shape_.keyRow() + key.element, fetchedKeys_[std::size_t(round)]);
      });
    for (int round = 0; round < dealtValues_.rounds(); ++round)
      dealtValues_.where(round, [&] {
        if (inRows())
          storeQuad(round);
        else
          storeRun(round);
      });
  }

private:
  static constexpr int kPiece = 8; ///< elements of 16 bytes
  static constexpr int kQuad = 4;  ///< keys whose values a thread transposes

  bool inRows() const { return source_.layout().valuesInRows(); }
  /// The elements of a value that a thread loads of each of its keys: fewer if there would not be
  /// work for all threads.
  int piece() const {
    return shape_.tileK / kQuad * (shape_.headV / kPiece) >= shape_.threads ? kPiece : kPiece / 2;
  }

  struct Key {
    Int32 row, element;
  };
  Key keyOf(int round) const {
    const int pieces = shape_.head / kPiece;
    const Int32 piece = dealtKeys_.piece(round);
    return {piece / pieces, piece % pieces * kPiece};
  }

  /// The place of a thread's values: neighbouring threads have neighbouring elements, eight of them
  /// in different banks of LDS, then neighbouring keys.
  struct Values {
    Int32 key, element;
  };
  Values quadOf(int round) const {
    const int pieces = shape_.headV / piece(), together = std::gcd(pieces, 8),
              quads = shape_.tileK / kQuad;
    const Int32 at = dealtValues_.piece(round), of = at / together;
    return {of % quads * kQuad, (of / quads * together + at % together) * piece()};
  }
  void fetchRows(const Int32 &first, const Int32 &last) const {
    for (int round = 0; round < dealtValues_.rounds(); ++round) {
      const Values values = quadOf(round);
      for (int k = 0; k < kQuad; ++k) {
        const KvPlace place = source_.place(first, min(values.key + k, last));
        fetchedValues_[std::size_t(round * kQuad + k)] =
            load(source_.value(place, values.element), piece());
      }
    }
  }
  void storeQuad(int round) const {
    const Values values = quadOf(round);
    const Int32 start = values.element / 8 * shape_.valueRows8() +
                        values.element % 8 * shape_.valueRow() + values.key;
    std::vector<Vector> rows;
    for (int k = 0; k < kQuad; ++k)
      rows.push_back(fetchedValues_[std::size_t(round * kQuad + k)]);
    for (int e = 0; e < piece(); ++e)
      put(values_, start + e * shape_.valueRow(),
          Vector::of({rows[0].at(e), rows[1].at(e), rows[2].at(e), rows[3].at(e)}));
  }

  /// Eight keys of an element, in the order of a packed cache.
  Values runOf(int round) const {
    const int together = std::min(source_.layout().v_pack, shape_.tileK) / kPiece;
    const Int32 at = dealtValues_.piece(round), of = at / together;
    return {(of / shape_.headV * together + at % together) * kPiece, of % shape_.headV};
  }
  void fetchColumns(const Int32 &first, const Int32 &last) const {
    for (int round = 0; round < dealtValues_.rounds(); ++round) {
      const Values values = runOf(round);
      const KvPlace place = source_.place(first, min(values.key, last / kPiece * kPiece));
      fetchedValues_[std::size_t(round)] = load(source_.value(place, values.element), kPiece);
    }
    // Tokens behind the last key are whatever the page holds, and 0 times a NaN would be one.
    if_(last < shape_.tileK - 1, [&] {
      for (int round = 0; round < dealtValues_.rounds(); ++round) {
        const Int32 left = last - runOf(round).key;
        const Var<Vector> &values = fetchedValues_[std::size_t(round)];
        const auto kept = [&](int k) { return select(left >= k, values.get().at(k), 0); };
        values =
            Vector::of({kept(0), kept(1), kept(2), kept(3), kept(4), kept(5), kept(6), kept(7)});
      }
    });
  }
  void storeRun(int round) const {
    const Values values = runOf(round);
    put(values_,
        values.element / 8 * shape_.valueRows8() + values.element % 8 * shape_.valueRow() +
            values.key,
        fetchedValues_[std::size_t(round)]);
  }

  Vector load(const Numeric &address, int size) const {
    return Pointer::from_address(address, shape_.form.a, AddressSpace::global,
                                 size * shape_.form.bytes())
        .load(size);
  }
  void put(const Tensor &tile, const Numeric &element, const Vector &values) const {
    const int bytes = shape_.form.bytes(), size = static_cast<int>(values.size());
    Pointer::from_address(tile.iter().address() + element * bytes, shape_.form.a,
                          AddressSpace::shared, size * bytes)
        .store(values);
  }

  AttentionShape shape_;
  KvSource source_;
  SharedAllocator shared_;
  Tensor keys_, values_;
  DealtPieces dealtKeys_, dealtValues_;
  std::vector<Var<Vector>> fetchedKeys_, fetchedValues_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
