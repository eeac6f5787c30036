// Products of matrices: C = activation(scale_a * scale_b * (A * B^T) + bias).
#pragma once

#include <flydsl/kernels/activation.h>
#include <flydsl/kernels/plan.h>
#include <flydsl/kernels/tile_order.h>
#include <flydsl/kernels/weight.h>

#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// Factors in f32 by which an operand's elements are multiplied.
enum class Scales : std::uint8_t {
  none,
  per_row, ///< one for each row of A (a token) or of B (an output channel)
  /// One for each 128 elements of a row of A, and for each 128 rows by 128 elements of B, as models
  /// ship them whose weights are 8-bit floats. Both operands have them, or none.
  per_block,
  per_tensor, ///< one number; of experts' weights one for each expert
  /// One for each 32 elements of a row of A and of a row of B, of type f8E8M0FNU: OCP's
  /// microscaling formats (MXFP4, MXFP8), as quantise makes them (ScaleOf::block). Both operands
  /// have them.
  mx,
};

/// How an operand's rows along k lie in memory.
enum class OperandLayout : std::uint8_t {
  prepared, ///< b alone: see WeightProblem
  rows,     ///< row after row, each contiguous
  columns,  ///< column after column, each contiguous: the matrix (k, m) or (k, n) row after row
};

/// How c is rounded to its type.
enum class Rounding : std::uint8_t {
  nearest,
  /// Up or down as random bits say, so that the mean over many seeds is exact; see
  /// random::round_stochastic. The bits of c[i, j] are word j % 4 of
  /// random::randint4x(seed, i * ceil(n / 4) + j / 4), whatever the configuration.
  stochastic,
};

/// Scales of the groups of `size` neighbours along k of a row of narrow weights.
struct FLYDSL_API ScaleGroups {
  int size = 0;       ///< 32, 64 or 128; 0: there are none
  DType scale = f32;  ///< f32, f16, bf16, or f8E8M0FNU, powers of two
  bool zeros = false; ///< each group has a zero point, too. Of weights of type u4 or u8
  friend bool operator==(const ScaleGroups &, const ScaleGroups &) = default;
};

/// c[i, j] = act(scale_a[i] * scale_b[j] * sum_k a[i, k] * b[j, k] + bias[j]), summed in f32, or
/// exactly in i32 if a and b are i8. The weights b are prepared, see WeightProblem, or as they are.
///
/// Scales of blocks are inside of the sum: sum_k scale_a[i, k / 128] * scale_b[j / 128, k / 128] *
/// a[i, k] * b[j, k].
///
/// Scales::mx are inside of the sum, too: sum_k scale_a[i, k / 32] * scale_b[j, k / 32] * a[i, k] *
/// b[j, k], on targets whose matrix instructions take them (gfx950, gfx1250). A NaN among the scales of a
/// row makes all of its sums NaN.
///
/// Narrow weights: a is f16 or bf16, and b has 4 or 8 bits; or a is i8 or an 8-bit float, and b is u4 or
/// i4 (W4A8). The numbers that b stands for are multiplied as numbers of a's type, which has them all. With
/// groups, sum_k a[i, k] * b[j, k] is
///
///   sum_g scales[g, j] * sum_{k of g} a[i, k] * (b[j, k] - zeros[g, j])
///
/// whose inner sums and scales are in f32. AWQ, GPTQ and MXFP4 have weights of this kind.
///
/// c of 4 or 8 bits is what the above gives over scale_c, rounded to nearest and limited to the type's
/// numbers, as quantise does it. The scale is one number that is read, or each 128 elements of a row
/// have a scale that is written: their largest magnitude over the type's. With Scales::mx each 32
/// elements have one, a power of two, the least that is not below that (BlockScale::ceil).
///
/// Gated: b has 2 n rows, those of n gates and then those of n ups, and so have scale_b and bias.
/// With x[i, j] as c above without its activation, c[i, j] = act(x[i, j]) * x[i, n + j].
///
/// With a residual, beta * residual[i, j] is added before the activation, in f32: BLAS's beta * C,
/// or the residual of a layer.
///
/// Batched: so many products of the same sizes in one launch, each of matrices of its own. Latent
/// attention (MLA) has one for each head where it absorbs its projections.
struct FLYDSL_API GemmProblem {
  /// f16, bf16, i8, or one of the target's 8-bit floats; f32 on CDNA and gfx1250, by instructions that
  /// round no operand: routers have such products. With Scales::mx f8E4M3FN, f8E5M2 or f4E2M1FN. Two elements of f4E2M1FN share a byte; the first has the low bits.
  DType a = f16;
  /// As a, or another 8-bit float if a is one, or f4E2M1FN with Scales::mx. Narrow weights, with a
  /// of 16 bits: u4, i4, u8, i8, f4E2M1FN, which has groups, or an 8-bit float.
  DType b = f16;
  DType c = f16; ///< f32, f16 or bf16; with scale_c i8, a float of 8 bits or f4E2M1FN
  OperandLayout a_layout = OperandLayout::rows;     ///< columns: of f16 and bf16
  OperandLayout b_layout = OperandLayout::prepared; ///< columns: of f16 and bf16
  std::int64_t n = 0; ///< columns of c; rows of b (gated pairs have twice as many)
  /// Columns of a and b; a row of them is a multiple of 16 bytes. With Scales::mx a multiple of 32,
  /// of 128 if b has 8 bits.
  std::int64_t k = 0;
  Scales scale_a = Scales::none, scale_b = Scales::none;
  /// Of c of 8 bits: per_tensor, or per_block of floats, where n is a multiple of 128. Of floats of
  /// 4 and 8 bits: mx, where n is a multiple of 32.
  Scales scale_c = Scales::none;
  /// Of scales of blocks: f32, or f8E8M0FNU, powers of two. Of Scales::mx: f8E8M0FNU.
  DType scale = f32;
  /// Of Scales::mx: rows, or prepared (PreparedScales) on gfx950, which takes a fraction of the loads' time.
  OperandLayout scale_a_layout = OperandLayout::rows, scale_b_layout = OperandLayout::rows;
  ScaleGroups b_groups = {}; ///< of narrow weights
  bool bias = false;         ///< a vector, one element for each row of b, is added
  DType bias_type = {};      ///< f32, f16 or bf16; none: the type of c
  Activation activation = Activation::none;
  /// The n gates, then the n ups; n is a multiple of 16, of 128 with scales of blocks. Gates and ups that
  /// alternate are those of a grouped product with one expert (GatedPairs::interleaved).
  bool gated = false;
  Rounding rounding = Rounding::nearest; ///< stochastic: c is f16 or bf16
  /// The caller promises that a workspace is as PartsSum::last_block asks for: zero before the first
  /// call. `choose` then takes this form, whose products of few tiles are up to twice as fast, because
  /// there is one launch; without the promise it never does.
  bool zeroed_workspace = false;
  bool residual = false;    ///< a matrix (m, n) is added; not of gated pairs
  DType residual_type = {}; ///< f32, f16 or bf16; none: the type of c
  float beta = 1;           ///< by which the residual is multiplied
  /// Not 0: a batched product. Its operands have a mode more, which stands before the others and
  /// counts the matrices. A call may have any number of them, 0 to 65,535; `choose` and tools go by
  /// this one.
  std::int64_t batch = 0;
  /// The number of rows is in device memory, and m is an upper bound: later rows of c are not written,
  /// whatever a holds there, and tiles that have none of the others end at once. A captured graph
  /// computes the rows that there are when it runs.
  bool rows = false;
  /// Of Rounding::stochastic: the seed is in device memory, so that each replay of a graph may have
  /// its own.
  bool seed_in_memory = false;
  /// Rows of b.
  std::int64_t columns() const { return gated ? 2 * n : n; }
  /// Whether b is narrow weights.
  bool narrow() const { return is_narrow(a, b); }
  /// The type of the bias.
  DType type_of_bias() const { return bias_type ? bias_type : c; }
  /// The type of the residual.
  DType type_of_residual() const { return residual_type ? residual_type : c; }
  /// The weights b, if they are prepared.
  WeightProblem weight() const { return weights_under(a, b, columns(), k); }
  /// Those of so many matrices of a batch: the rows of one after those of another.
  WeightProblem weights(std::int64_t matrices) const {
    return weights_under(a, b, matrices * columns(), k);
  }
  friend bool operator==(const GemmProblem &, const GemmProblem &) = default;
};

/// How operands come to the matrix instructions.
enum class GemmLoop : std::uint8_t {
  ring,      ///< a, and b unless it is prepared, through a ring of `stages` tiles in shared memory
  registers, ///< both straight into registers: for few rows, where reading b is all the work
  /// Both through shared memory by its own loads, in halves of tiles; two groups of waves take
  /// turns at the matrix units. On gfx950, for operands without scales of blocks; not for narrow weights.
  groups,
  /// No matrix unit: lanes multiply pieces of rows of both operands in f32, or of i8 in i32, and a wave
  /// adds their sums. For 1 to 4 rows of a, where reading b is all the work, and b lies by rows.
  vector,
};

/// What adds the sums of the parts of K, always in the same order.
enum class PartsSum : std::uint8_t {
  kernel, ///< a second kernel
  /// The last block of a tile to arrive, in the same launch. Blocks count
  /// themselves by flags in the last bytes of the workspace, which are zero before
  /// the first call; each call leaves them so.
  last_block,
};

/// How a product is shared among blocks and waves.
struct FLYDSL_API GemmConfig {
  int tile_m = 128, tile_n = 128; ///< rows of a and rows of b of a block
  int tile_k = 64;   ///< elements of k of a tile in the ring, or that a wave loads together
  int threads = 256; ///< of a block
  GemmLoop loop = GemmLoop::ring;
  /// Waves of a block that share k: with GemmLoop::ring the k of each tile,
  /// with GemmLoop::registers and GemmLoop::vector the tiles in turn. Their sums are added in
  /// shared memory, always in the same order.
  int waves_k = 1;
  /// Rows of waves along m, with GemmLoop::ring, and the two groups of GemmLoop::groups. The other
  /// waves lie side by side along n.
  int waves_m = 1;
  int stages = 2; ///< tiles of the ring: 2, or with dma 2 to 8
  /// Tiles of the ring come to LDS without a way through registers: on gfx950 by LDS's own loads, on
  /// gfx1250 by its tensor data mover, for operands that lie by rows.
  bool dma = false;
  /// Blocks that share K for a tile of c. If there are several, sums go through a workspace, where
  /// `parts_sum` adds them. K is a multiple of split_k * tile_k then.
  int split_k = 1;
  PartsSum parts_sum = PartsSum::kernel;
  TileOrder order = {};
  friend bool operator==(const GemmConfig &, const GemmConfig &) = default;
};

/// The tensors of a call; those that the problem does not have are left out. Rows of a start at
/// multiples of 16 bytes; rows of c at multiples of 4 elements, or of 2 or 1 if no more divide n.
/// Where pairs are gated, b, scale_b and bias have 2 n rows instead of n, and groups 2 n columns.
///
/// Of a batched product every tensor but the workspace has one more mode, the number of the matrix,
/// before those below, at a stride of its own: a may be (batch, m, k) of a tensor (m, batch, k), and
/// a stride of 0 gives all matrices the same operand. Prepared weights are those of
/// problem.weights(batch), and numbers of groups are contiguous.
struct FLYDSL_API GemmArgs {
  TensorArg a; ///< (m, k), contiguous rows or columns as a_layout says
  /// A PreparedWeight of problem.weight(), if b_layout is prepared; otherwise a tensor (n, k), as
  /// b_layout says.
  WeightArg b;
  TensorArg c; ///< (m, n), contiguous rows
  /// (m) and (n), f32; of tensors (1) each. Of blocks: (m, k / 128), which may lie in any order, and
  /// (n / 128, k / 128) with contiguous rows; quotients are rounded up. Of Scales::mx: (m, k / 32)
  /// and (n, k / 32), contiguous; prepared ones have the shape of PreparedScales.
  std::optional<TensorArg> scale_a = {}, scale_b = {};
  /// (1), f32, read; or of blocks (m, n / 128), of Scales::mx (m, n / 32), of type scale, written, in
  /// any order.
  std::optional<TensorArg> scale_c = {};
  /// (k / size, n) of the groups of b, contiguous: of type b_groups.scale, and of type u8.
  std::optional<TensorArg> group_scales = {}, group_zeros = {};
  std::optional<TensorArg> bias = {}; ///< (n), of problem.type_of_bias()
  /// (m, n), contiguous rows at the same multiples as those of c, of problem.type_of_residual(). It
  /// may be c itself.
  std::optional<TensorArg> residual = {};
  std::optional<TensorArg> rows = {}; ///< (1), i32: 0 to m; of a batch, of each of its matrices
  std::int64_t seed = 0;              ///< of Rounding::stochastic, unless it is in device memory
  std::optional<TensorArg> seed_memory = {}; ///< (1), i64
  /// At least plan.workspace_bytes(m) bytes of type u8, if these are not 0. With
  /// PartsSum::last_block all of it is set to zero once, before the first call, and again after a
  /// call that failed or that gave a part of it alone; a kernel that finds flags that are not zero
  /// traps. Plans whose calls do not overlap may share it, if each gets all of it.
  std::optional<TensorArg> workspace = {};
};

template <> struct FamilyOf<GemmProblem> {
  using Config = GemmConfig;
  using Args = GemmArgs;
  static constexpr std::string_view name = "gemm";
};
using GemmPlan = Plan<GemmProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
