// What the parts of a product are made for.
#pragma once

#include <flydsl/kernel/numeric.h>
#include <flydsl/kernels/gemm.h>

FLYDSL_NAMESPACE_BEGIN
/// Parts that make up a kernel of products: which tile a block takes (TileScheduler), its sum over K
/// (Mainloop), and what becomes of the sums (Epilogue). The kernels of GemmProblem are made of them.
namespace kernels::parts {

/// The constants of a product's kernel, a parameter `Constexpr<GemmSpec>` of it. `choose(problem,
/// m)` and `configs(problem, m)` give configurations.
///
/// Of the problem the parts take the types a and b, how both operands lie, n and k, whether pairs
/// are gated, and the type of scales of blocks, if there are any. What follows the sums is the
/// kernel's own: scales of rows, bias, activation and rounding are not looked at.
///
/// If split_k is not 1, parts_sum is PartsSum::last_block: a second kernel is GemmPlan's.
struct FLYDSL_API GemmSpec {
  GemmProblem problem;
  GemmConfig config;
  friend bool operator==(const GemmSpec &, const GemmSpec &) = default;
};

/// Whether the target has such parts; if not, why.
FLYDSL_API Support supported(const GemmSpec &spec, const Target &target);
/// The blocks of a grid for m rows of c: one for each tile and each part of K. A block has
/// config.threads threads.
FLYDSL_API std::int64_t tiles(const GemmSpec &spec, std::int64_t m);
/// The columns of the sums of a part of K, and the flags of m rows of c: see PartsOfK.
FLYDSL_API std::int64_t part_columns(const GemmSpec &spec);
FLYDSL_API std::int64_t part_flags(const GemmSpec &spec, std::int64_t m);

/// A tile of c, and where it is.
struct FLYDSL_API WorkTile {
  Int32 m, n;        ///< the tile's row and column among the tiles
  Int32 row, column; ///< the element of c at which the tile begins
  Int32 rows; ///< rows of the tile that c has, of config.tile_m; none if this is not positive
  Int32 part; ///< the number of the part of K, of config.split_k
};

/// Which tile a block computes, in a kernel.
class FLYDSL_API TileScheduler {
public:
  /// For m rows of c. Throws TraceError, with the reason, if the target has no such parts.
  TileScheduler(const GemmSpec &spec, const Int32 &m, Loc loc = Loc::current());
  /// The tile of a block of a grid of tiles(spec, m), in the order of the configuration.
  WorkTile at(const Int32 &block) const;
  /// The tile in a row and a column of tiles, and a part of K, for kernels with an order of their
  /// own: a walk, a list in memory, an expert's rows.
  WorkTile tile(const Int32 &m, const Int32 &n, const Int32 &part = 0) const;
  /// The rows of tiles, and the columns.
  Int32 down() const;
  Int32 across() const;

private:
  GemmSpec spec_;
  Int32 m_;
};

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
