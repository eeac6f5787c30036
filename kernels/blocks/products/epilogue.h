// What follows a product: its sums are scaled, get a bias and an activation, and are stored.
//
// The sums come as `weightsFirst` leaves them: a lane holds groups of neighbours of a row of C, 4
// of them in waves of 64 lanes and 8 in waves of 32, for each of its columns of tiles (j) and rows
// of tiles (i) of 16 x 16. A stage changes one group at a time and knows its place.
#pragma once

#include "blocks/products/activation.h"
#include "blocks/common/groups.h"
#include "blocks/facts/matrix_form.h"
#include "blocks/products/operand_reach.h"

#include <flydsl/flydsl.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A block's tile of C and a thread's place in it.
class TileOfC {
public:
  /// The waves of the block have `lanes` lanes each and lie side by side, in `wavesM` rows.
  /// The tile starts at (row, column) of a matrix of rows of n elements; `rows` rows of the tile
  /// exist. n and its tiles are known while tracing.
  TileOfC(int lanes, int tileM, int tileN, int threads, std::int64_t n, const Int32 &row,
          const Int32 &column, const Int32 &rows, int wavesM = 1)
      : group_(16 * 16 / lanes), waves_(threads / lanes / wavesM), wavesM_(wavesM),
        tilesM_(tileM / 16 / wavesM), tilesN_(tileN / 16 / waves_), n_(n), ragged_(n % tileN != 0),
        firstRow_(row), firstColumn_(column), rows_(rows), lane_(thread_idx().x % lanes),
        wave_(wavesM == 1 ? Int32(thread_idx().x / lanes) : Int32(thread_idx().x / lanes % waves_)),
        waveM_(wavesM == 1 ? Int32(0) : Int32(thread_idx().x / lanes / waves_)) {}

  std::int64_t n() const { return n_; }
  int tilesM() const { return tilesM_; }
  int tilesN() const { return tilesN_; }
  /// Neighbours along N that a lane holds.
  int group() const { return group_; }
  /// The first row and column of the tile in C, and the rows of it that exist.
  const Int32 &firstRow() const { return firstRow_; }
  const Int32 &firstColumn() const { return firstColumn_; }
  const Int32 &rows() const { return rows_; }
  /// A thread's row in tile i, counted from the start of the block's tile.
  Int32 row(int i) const { return lane_ % 16 + 16 * (waveM_ + wavesM_ * i); }
  /// The first column of a thread's group in tile j, counted likewise.
  Int32 column(int j) const { return wave_ * 16 + lane_ / 16 * group_ + 16 * waves_ * j; }
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
  /// The offset if `column` is a column of C; otherwise one that is outside of every buffer.
  Int32 inside(const Int32 &column, const Int32 &offset) const {
    return ragged_ ? Int32(select(column < columnsLeft(), offset, kPastTheEnd)) : offset;
  }

  /// Reads a group of a vector over the columns of C; what does not exist is 0.
  Vector loadColumns(const Pointer &buffer, DType dtype, int j) const {
    return loadGroup(buffer, column(j) * dtype.bytes(), dtype, group_, width(dtype));
  }
  /// Reads a group of rows that are `distance` elements apart; what is past the end of a row is 0.
  Vector load(const Pointer &buffer, DType dtype, const Numeric &distance, int i, int j) const {
    const int bytes = dtype.bytes(), size = width(dtype);
    const auto piece = [&](int at) {
      const Int32 first = column(j) + at;
      return loadGroup(buffer, inside(first, (row(i) * distance + first) * bytes), dtype, size,
                       size);
    };
    return size == group_ ? piece(0) : joined(piece(0), piece(size));
  }
  /// Writes a group, already in C's type, to rows that are `distance` elements apart.
  void store(const Pointer &buffer, const Numeric &distance, int i, int j,
             const Vector &values) const {
    const int bytes = values.dtype().bytes(), size = width(values.dtype());
    for (int at = 0; at < group_; at += size) {
      const Int32 first = column(j) + at;
      const Int32 offset = inside(first, (row(i) * distance + first) * bytes);
      if (size == 1)
        rocdl::raw_buffer_store(values.at(at), buffer, offset);
      else
        rocdl::raw_buffer_store(part(values, at, size), buffer, offset);
    }
  }

private:
  static constexpr int kPastTheEnd = 1 << 30;

  int group_, waves_, wavesM_, tilesM_, tilesN_;
  std::int64_t n_;
  bool ragged_;
  Int32 firstRow_, firstColumn_, rows_, lane_, wave_, waveM_;
};

/// A step of an epilogue: the group of tile (i, j), in f32.
using EpilogueStage = std::function<Vector(const Vector &values, int i, int j)>;

/// Multiplies each row by its own factor, of a vector of f32 with a factor for each row of C.
inline EpilogueStage scaleRows(const TileOfC &tile, const Int64 &address) {
  const Pointer buffer =
      rocdl::make_buffer_ptr(Pointer::from_address(address + tile.firstRow().to(i64) * 4, f32),
                             {.num_records_bytes = Int64(tile.rows().to(i64) * 4)});
  std::vector<Numeric> factors;
  for (int i = 0; i < tile.tilesM(); ++i)
    factors.push_back(rocdl::raw_buffer_load(buffer, tile.row(i) * 4, f32));
  return [factors](const Vector &values, int i, int) {
    return values * factors[static_cast<std::size_t>(i)];
  };
}

/// The groups of a vector over the columns of C, in f32, for each j.
inline std::vector<Vector> columnsOf(const TileOfC &tile, const Int64 &address, DType dtype) {
  const int bytes = dtype.bytes();
  const Pointer buffer =
      rocdl::make_buffer_ptr(Pointer::from_address(address + tile.firstColumn().to(i64) * bytes,
                                                   dtype, AddressSpace::global),
                             {.num_records_bytes = Int64(tile.columnsLeft().to(i64) * bytes)});
  std::vector<Vector> groups;
  for (int j = 0; j < tile.tilesN(); ++j) {
    const Vector group = tile.loadColumns(buffer, dtype, j);
    groups.push_back(dtype == f32 ? group : group.to(f32));
  }
  return groups;
}
/// Multiplies each column by its own factor.
inline EpilogueStage scaleColumns(const TileOfC &tile, const Int64 &address) {
  return [factors = columnsOf(tile, address, f32)](const Vector &values, int, int j) {
    return values * factors[static_cast<std::size_t>(j)];
  };
}
/// Adds to each column its own number.
inline EpilogueStage addToColumns(const TileOfC &tile, const Int64 &address, DType dtype) {
  return [numbers = columnsOf(tile, address, dtype)](const Vector &values, int, int j) {
    return values + numbers[static_cast<std::size_t>(j)];
  };
}
inline EpilogueStage applyActivation(Activation activation) {
  return [activation](const Vector &values, int, int) { return activate(activation, values); };
}

/// Rounds to a type as random bits say: element (i, j) of C by word j % 4 of the draw with the
/// offset i * ceil(n / 4) + j / 4.
inline EpilogueStage roundStochastically(const TileOfC &tile, DType type, const Int64 &seed) {
  return [tile, type, seed](const Vector &values, int i, int j) {
    const std::int64_t across = (tile.n() + 3) / 4;
    const auto rounded = [&](int quad) {
      const Int64 offset = (tile.firstRow() + tile.row(i)).to(i64) * across +
                           ((tile.firstColumn() + tile.column(j)) / 4 + quad).to(i64);
      const std::array words = random::randint4x(seed, offset);
      return random::round_stochastic(part(values, 4 * quad, 4),
                                      Vector::of({words[0], words[1], words[2], words[3]}), type);
    };
    return tile.group() == 4 ? rounded(0) : joined(rounded(0), rounded(1));
  };
}

/// The values in a type; none is converted that has it.
inline Vector asType(const Vector &values, DType dtype) {
  return values.dtype() == dtype ? values : values.to(dtype);
}
inline Vector applyStages(const Vector &values, std::span<const EpilogueStage> stages, int i,
                          int j) {
  return stages.empty() ? values
                        : applyStages(stages.front()(values, i, j), stages.subspan(1), i, j);
}

/// A tile of a matrix in global memory: where it starts, and how far its rows are apart.
struct TileMemory {
  Int64 address;
  DType dtype;
  Int64 distance; ///< elements
};

/// The buffer of the part of a tile that exists.
inline Pointer bufferOf(const TileOfC &tile, const TileMemory &memory) {
  const Int64 end =
      reachOfTile<Int32>(tile.rows(), memory.distance, tile.columnsLeft()) * memory.dtype.bytes();
  return rocdl::make_buffer_ptr(
      Pointer::from_address(memory.address, memory.dtype, AddressSpace::global),
      {.num_records_bytes = end});
}

/// The sum of a group of tile (i, j).
using GroupSums = std::function<Vector(int i, int j)>;
/// Makes neighbours of what RDNA3's instructions leave: the halves of a wave hold the even and the
/// odd columns of a row. Each half keeps four of its eight values and gives the others to the other
/// half, whose lane is 16 away.
inline Vector neighbours(const Vector &values) {
  constexpr int kXor16 = 0x401f; // ds_swizzle: lane ^ 16
  const Boolean high = thread_idx().x % 32 >= 16;
  std::vector<Numeric> mixed;
  for (int k = 0; k < 4; ++k) {
    const Numeric low = values.at(k), up = values.at(k + 4);
    const Numeric kept = select(high, up, low), given = select(high, low, up);
    const Numeric got = rocdl::ds_swizzle(given.bitcast(i32), kXor16).bitcast(values.dtype());
    mixed.push_back(select(high, got, kept));
    mixed.push_back(select(high, kept, got));
  }
  return Vector::of(
      {mixed[0], mixed[1], mixed[2], mixed[3], mixed[4], mixed[5], mixed[6], mixed[7]});
}
/// Those of a product (V, n, m).
inline GroupSums groupsOf(const MatrixForm &form, const Tensor &sums) {
  return [form, sums](int i, int j) {
    const Vector values = sums(_, j, i).load();
    return form.interleaved() ? neighbours(values) : values;
  };
}

/// The groups of gated pairs: activation(gate) * up, each after its own stages, in f32.
struct StagedSums {
  GroupSums sums;
  std::vector<EpilogueStage> stages;
  Vector group(int i, int j) const { return applyStages(asType(sums(i, j), f32), stages, i, j); }
};
inline GroupSums gatedPairs(Activation activation, const StagedSums &gate, const StagedSums &up) {
  return [activation, gate, up](int i, int j) {
    return activate(activation, gate.group(i, j)) * up.group(i, j);
  };
}

/// Applies the stages to all sums and stores them, in the type of the memory. Without stages, sums
/// are not converted on their way.
inline void finish(const TileOfC &tile, const GroupSums &sums,
                   const std::vector<EpilogueStage> &stages, const TileMemory &c) {
  const Pointer buffer = bufferOf(tile, c);
  const Numeric apart = c.distance.to(i32);
  for (int i = 0; i < tile.tilesM(); ++i)
    for (int j = 0; j < tile.tilesN(); ++j) {
      const Vector sum = sums(i, j);
      const Vector values = stages.empty() ? sum : applyStages(asType(sum, f32), stages, i, j);
      tile.store(buffer, apart, i, j, asType(values, c.dtype));
    }
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
