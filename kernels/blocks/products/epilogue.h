// What follows a product: its sums are scaled, get a bias and an activation, and are stored.
//
// The sums come as `weightsFirst` leaves them: a lane holds groups of neighbours of a row of C, 4
// of them in waves of 64 lanes and 8 in waves of 32, for each of its columns of tiles (j) and rows
// of tiles (i) of 16 x 16. A stage changes one group at a time and knows its place.
//
// A tiled copy would do for whole tiles. Groups are stored one by one because stages want a group's row and
// column, because a row may end inside of a group (`width`), and because RDNA3's groups are made of two lanes'
// values (exchangedWithOtherHalf).
#pragma once

#include "blocks/common/groups.h"
#include "blocks/facts/matrix_form.h"
#include "blocks/products/activation.h"
#include "blocks/products/views.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The sizes of a block's tile of C, and the threads that hold its sums. They are known while tracing.
struct TileOfCShape {
  int lanes;        ///< lanes of a wave
  int tileM, tileN; ///< rows and columns of the tile
  int threads;      ///< threads of the waves that hold sums
  std::int64_t n;   ///< columns of C
  int wavesM = 1;   ///< rows of these waves; the others lie side by side along N
};
/// Where a tile of C is.
struct PlaceInC {
  Int32 row, column; ///< the element of C at which the tile begins
  Int32 rows;        ///< rows of the tile that C has
};

/// A block's tile of C and a thread's place in it.
class TileOfC {
public:
  /// `thread` is the thread's number, for callers to whom it matters whether it is kept from before a loop.
  TileOfC(const TileOfCShape &shape, const PlaceInC &place, const Int32 &thread = thread_idx().x)
      : group_(16 * 16 / shape.lanes), waves_(shape.threads / shape.lanes / shape.wavesM),
        wavesM_(shape.wavesM), tilesM_(shape.tileM / 16 / shape.wavesM),
        tilesN_(shape.tileN / 16 / waves_), n_(shape.n), ragged_(shape.n % shape.tileN != 0),
        firstRow_(place.row), firstColumn_(place.column), rows_(place.rows),
        lane_(thread % shape.lanes),
        wave_(wavesM_ == 1 ? Int32(thread / shape.lanes) : Int32(thread / shape.lanes % waves_)),
        waveM_(wavesM_ == 1 ? Int32(0) : Int32(thread / shape.lanes / waves_)) {}

  std::int64_t n() const { return n_; }
  /// The tile's rows and columns, and the tiles of 16 x 16 that a wave has of it.
  IntTuple shape() const { return {16 * tilesM_ * wavesM_, columns_ * tilesN_ * waves_}; }
  int tileRows() const { return 16 * tilesM_ * wavesM_; }
  int tilesM() const { return tilesM_; }
  int tilesN() const { return tilesN_; }
  /// The waves side by side along N, the number of the thread's wave among them, and its lane.
  int waves() const { return waves_; }
  const Int32 &wave() const { return wave_; }
  const Int32 &lane() const { return lane_; }
  /// The columns of tile j that all waves side by side have together, which are neighbours.
  int columnsTogether() const { return columns_ * waves_; }
  /// Neighbours along N that a lane holds.
  int group() const { return group_; }
  /// The first row and column of the tile in C, and the rows of the tile that C has.
  const Int32 &firstRow() const { return firstRow_; }
  const Int32 &firstColumn() const { return firstColumn_; }
  const Int32 &rows() const { return rows_; }
  /// A thread's row in tile i, counted from the start of the block's tile.
  Int32 row(int i) const { return lane_ % 16 + 16 * (waveM_ + wavesM_ * i); }
  /// The first column of a thread's group in tile j, counted likewise.
  Int32 column(int j) const {
    return wave_ * columns_ + lane_ / 16 * group_ + columns_ * waves_ * j;
  }
  /// Whether columns of some tile are past the end of C.
  bool ragged() const { return ragged_; }
  /// The tile of a matrix whose elements are made of pairs of neighbours of this one: half as wide.
  TileOfC pairs() const { return {*this, 2}; }
  /// The columns of C from the start of the tile on.
  Int32 columnsLeft() const { return Int32(Int32(n_) - firstColumn_); }
  /// The elements of a group that are read or written together, at most 16 bytes: if the group does
  /// not divide n, the end of a row is in the middle of a group.
  int width(DType dtype) const {
    int width = std::min(group_, 16 / dtype.bytes());
    while (n_ % width)
      width /= 2;
    return width;
  }
  /// A tile (tileM, tileN) as the buffer of what exists of it.
  Tensor existing(const Tensor &tile) const {
    return bufferOf(tile, {rows_, columnsLeft()}); // (tileM, tileN)
  }
  /// Reads a group of a buffer (tileN); what does not exist is 0.
  Vector loadColumns(const Tensor &columns, int j) const {
    return loadNeighbours(columns.iter() + column(j), group_, width(columns.dtype()));
  }
  /// Reads a group of a buffer (tileM, tileN); what is past the end of a row is 0.
  Vector load(const Tensor &tile, int i, int j) const {
    return loadPieces(tile, i, column(j), group_, width(tile.dtype()));
  }
  /// Writes a group, already in the type of the buffer (tileM, tileN).
  void store(const Tensor &tile, int i, int j, const Vector &values) const {
    const int size = width(values.dtype());
    for (int at = 0; at < group_; at += size) {
      const Pointer to = place(tile, i, column(j) + at);
      if (size == 1)
        to.store(values.at(at));
      else
        to.store(part(values, at, size));
    }
  }

private:
  /// The tile of a matrix each of whose elements is made of `together` neighbours of this one.
  TileOfC(const TileOfC &tile, int together)
      : group_(tile.group_ / together), waves_(tile.waves_), wavesM_(tile.wavesM_),
        tilesM_(tile.tilesM_), tilesN_(tile.tilesN_), columns_(tile.columns_ / together),
        n_(tile.n_ / together), ragged_(tile.ragged_), firstRow_(tile.firstRow_),
        firstColumn_(tile.firstColumn_ / together), rows_(tile.rows_), lane_(tile.lane_),
        wave_(tile.wave_), waveM_(tile.waveM_) {}
  /// Reads `count` neighbours, `size` at a time, each from where it is.
  Vector loadPieces(const Tensor &tile, int i, const Int32 &first, int count, int size) const {
    if (count == size)
      return place(tile, i, first).load(count);
    const int half = count / 2;
    if (half == 1)
      return Vector::of({place(tile, i, first).load(), place(tile, i, Int32(first + 1)).load()});
    return joined(loadPieces(tile, i, first, half, size),
                  loadPieces(tile, i, Int32(first + half), half, size));
  }
  /// Where a column of a thread's row i is in a buffer; past its end if C does not have the column.
  Pointer place(const Tensor &tile, int i, const Int32 &column) const {
    const Int32 index(tile.layout()(row(i), column));
    return tile.iter() + (ragged_ ? insideOf(tile, column < columnsLeft(), index) : index);
  }

  int group_, waves_, wavesM_, tilesM_, tilesN_;
  int columns_ = 16; ///< columns of C in a tile of 16 x 16; 8 if they are pairs (`pairs`)
  std::int64_t n_;
  bool ragged_;
  Int32 firstRow_, firstColumn_, rows_, lane_, wave_, waveM_;
};

/// A group of a thread in tile (i, j), and its place in C.
struct Group {
  const TileOfC &tile;
  int i, j;
  Int32 row() const { return Int32(tile.firstRow() + tile.row(i)); }
  /// The column of the group's first element.
  Int32 column() const { return Int32(tile.firstColumn() + tile.column(j)); }
};
/// A step of an epilogue: what becomes of a group, in f32.
using EpilogueStage = std::function<Vector(const Vector &values, const Group &group)>;

/// Multiplies each row by its own factor, that of each of a thread's rows.
inline EpilogueStage scaleRowsBy(std::vector<Numeric> ofRows) {
  return [ofRows = std::move(ofRows)](const Vector &values, const Group &group) {
    return values * ofRows[static_cast<std::size_t>(group.i)];
  };
}
/// Makes rows zeros, of each of a thread's rows those for which `kept` is false, whatever they are.
inline EpilogueStage zeroRowsUnless(std::vector<Boolean> kept) {
  return [kept = std::move(kept)](const Vector &values, const Group &group) {
    const std::int64_t size = values.size();
    return select(Vector::splat(kept[static_cast<std::size_t>(group.i)], size), values,
                  Vector::splat(0.0f, size, f32));
  };
}
/// Multiplies each row by its own factor, of a vector (M).
inline EpilogueStage scaleRows(const TileOfC &tile, const Tensor &factors) {
  const Tensor ofTile = bufferOf(tileFrom(factors, tile.firstRow(), tile.shape()[0]),
                                 tile.rows()); // (tileM)
  std::vector<Numeric> ofRows;
  for (int i = 0; i < tile.tilesM(); ++i)
    ofRows.push_back(ofTile(tile.row(i)));
  return scaleRowsBy(std::move(ofRows));
}

/// Multiplies everything by one factor.
inline EpilogueStage scaleAllBy(const Numeric &factor) {
  return [factor](const Vector &values, const Group &) { return Vector(values * factor); };
}

/// The groups of a vector over the columns of C, in f32, for each j.
inline std::vector<Vector> columnsOf(const TileOfC &tile, const Tensor &vector) {
  const Tensor ofTile = bufferOf(tileFrom(vector, tile.firstColumn(), tile.shape()[1]),
                                 tile.columnsLeft()); // (tileN)
  std::vector<Vector> groups;
  for (int j = 0; j < tile.tilesN(); ++j)
    groups.push_back(tile.loadColumns(ofTile, j).to(f32));
  return groups;
}
/// Multiplies each column by its own factor, of a vector (N).
inline EpilogueStage scaleColumns(const TileOfC &tile, const Tensor &factors) {
  return [ofColumns = columnsOf(tile, factors)](const Vector &values, const Group &group) {
    return values * ofColumns[static_cast<std::size_t>(group.j)];
  };
}
/// Adds to each column its own number, of a vector (N).
inline EpilogueStage addToColumns(const TileOfC &tile, const Tensor &numbers) {
  return [ofColumns = columnsOf(tile, numbers)](const Vector &values, const Group &group) {
    return values + ofColumns[static_cast<std::size_t>(group.j)];
  };
}
/// Adds a matrix (M, N) times a factor.
inline EpilogueStage addMatrix(const TileOfC &tile, const Tensor &matrix, float factor) {
  const Tensor from = tile.existing(
      tileFrom(matrix, {tile.firstRow(), tile.firstColumn()}, tile.shape())); // (tileM, tileN)
  return [from, factor](const Vector &values, const Group &group) {
    const Vector added = group.tile.load(from, group.i, group.j).to(f32);
    return factor == 1 ? Vector(values + added) : Vector(values + added * Float32(factor));
  };
}
inline EpilogueStage applyActivation(Activation activation) {
  return [activation](const Vector &values, const Group &) { return activate(activation, values); };
}

/// Rounds to a type as random bits say: element (i, j) of C by word j % 4 of the draw with the
/// offset i * ceil(n / 4) + j / 4.
inline EpilogueStage roundStochastically(DType type, const Int64 &seed) {
  return [type, seed](const Vector &values, const Group &group) {
    const std::int64_t across = (group.tile.n() + 3) / 4;
    const auto rounded = [&](int quad) {
      const Int64 offset(group.row() * Int64(across) + (group.column() / 4 + quad));
      const std::array words = random::randint4x(seed, offset);
      return random::round_stochastic(part(values, 4 * quad, 4),
                                      Vector::of({words[0], words[1], words[2], words[3]}), type);
    };
    return group.tile.group() == 4 ? rounded(0) : joined(rounded(0), rounded(1));
  };
}

/// The sums of a thread in tile (i, j), a group of neighbours.
using SumsAt = std::function<Vector(int i, int j)>;
/// Makes neighbours of what RDNA3's instructions leave: the halves of a wave hold the even and the
/// odd columns of a row. Each half keeps four of its eight values and gives the others to the other
/// half, whose lane is 16 away.
inline Vector exchangedWithOtherHalf(const Vector &values) {
  const Boolean high = thread_idx().x % 32 >= 16;
  std::vector<Numeric> mixed;
  for (int k = 0; k < 4; ++k) {
    const Numeric low = values.at(k), up = values.at(k + 4);
    const Numeric kept = select(high, up, low), given = select(high, low, up);
    const Numeric got = gpu::shuffle_xor(given, 16);
    mixed.push_back(select(high, got, kept));
    mixed.push_back(select(high, kept, got));
  }
  return Vector::of(
      {mixed[0], mixed[1], mixed[2], mixed[3], mixed[4], mixed[5], mixed[6], mixed[7]});
}
/// The sums of a product (V, n, m).
inline SumsAt groupsOf(const MatrixForm &form, const Tensor &sums) {
  return [form, sums](int i, int j) {
    const Vector values = sums(_, j, i).load(); // (V)
    return form.interleaved() ? exchangedWithOtherHalf(values) : values;
  };
}

/// Makes elements of C of a group.
using Conversion = std::function<Vector(const Vector &values)>;
/// Rounds them to the type of C.
inline Conversion roundTo(DType type) {
  return [type](const Vector &values) { return values.to(type); };
}

/// What follows the sums of a tile of C: stages in f32, in their order, and the store.
class Epilogue {
public:
  explicit Epilogue(const TileOfC &tile) : tile_(tile) {}

  Epilogue &then(EpilogueStage stage) {
    stages_.push_back(std::move(stage));
    return *this;
  }
  /// A group after its stages. Without stages, sums are not converted on their way.
  Vector group(const SumsAt &sums, int i, int j) const {
    const Vector values = sums(i, j);
    return stages_.empty() ? values : after(values.to(f32), {tile_, i, j}, stages_);
  }
  /// Applies the stages to all sums, and stores them in a tile (tileM, tileN), in its type.
  void run(const SumsAt &sums, const Tensor &c) const { run(sums, c, roundTo(c.dtype())); }
  void run(const SumsAt &sums, const Tensor &c, const Conversion &convert) const {
    const Tensor to = tile_.existing(c); // (tileM, tileN)
    for (int i = 0; i < tile_.tilesM(); ++i)
      for (int j = 0; j < tile_.tilesN(); ++j)
        tile_.store(to, i, j, convert(group(sums, i, j)));
  }

private:
  static Vector after(const Vector &values, const Group &group,
                      std::span<const EpilogueStage> stages) {
    return stages.empty() ? values : after(stages.front()(values, group), group, stages.subspan(1));
  }
  TileOfC tile_;
  std::vector<EpilogueStage> stages_;
};

/// Where a row of a tile is stored, if it is a row of the result.
struct StoredRow {
  Boolean exists;
  std::function<Pointer()> start; ///< the element of the row at the tile's first column
};
/// Applies the stages to all sums, and stores each of a thread's rows i where `rowOf(i)` says, `width`
/// elements at a time, which divide the columns.
inline void storeRows(const TileOfC &tile, const Epilogue &epilogue, const SumsAt &sums,
                      const Conversion &convert, int width,
                      const std::function<StoredRow(int)> &rowOf) {
  const auto ifInside = [&](const Int32 &column, const std::function<void()> &body) {
    if (!tile.ragged())
      return body();
    if_(column < tile.columnsLeft(), body);
  };
  const bool whole = tile.n() % tile.group() == 0; // A group is inside of a row or outside.
  for (int i = 0; i < tile.tilesM(); ++i) {
    std::vector<Vector> groups;
    for (int j = 0; j < tile.tilesN(); ++j)
      groups.push_back(convert(epilogue.group(sums, i, j)));
    const StoredRow row = rowOf(i);
    if_(row.exists, [&] {
      const Pointer start = row.start();
      for (int j = 0; j < tile.tilesN(); ++j) {
        const auto store = [&](int at) {
          const Pointer to = start + tile.column(j) + at;
          const Vector &values = groups[static_cast<std::size_t>(j)];
          if (width == 1)
            to.store(values.at(at));
          else
            to.store(part(values, at, width));
        };
        const int together = whole ? tile.group() : width;
        for (int first = 0; first < tile.group(); first += together)
          ifInside(Int32(tile.column(j) + first), [&] {
            for (int at = first; at < first + together; at += width)
              store(at);
          });
      }
    });
  }
}

/// The groups of gated pairs, in f32: a gate and an up, each after its own stages.
inline SumsAt gatedPairs(const Gating &gating, const Epilogue &gate, const SumsAt &ofGate,
                         const Epilogue &up, const SumsAt &ofUp) {
  return [=](int i, int j) {
    return gatedBy(gating, gate.group(ofGate, i, j).to(f32), up.group(ofUp, i, j).to(f32));
  };
}
/// The groups of gated pairs that are neighbours, after the stages of both: groups of TileOfC::pairs.
inline SumsAt gatedNeighbours(const Gating &gating, const Epilogue &both, const SumsAt &sums) {
  return [=](int i, int j) {
    const Vector values = both.group(sums, i, j).to(f32);
    return gatedBy(gating, everyOther(values, 0), everyOther(values, 1));
  };
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
