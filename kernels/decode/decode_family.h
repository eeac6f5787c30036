// What the host file and the kernel file of decoding share: the sizes of a step, the names of the kernels and the
// functions of the family.
#pragma once

#include "blocks/attention/csr_pages.h"
#include "blocks/attention/head_rules.h"
#include "blocks/facts/matrix_form.h"
#include "blocks/facts/row_placement.h"
#include "frame/family.h"

#include <flydsl/kernels/decode.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Results of parts of the keys in the workspace, and their logarithms: of splits, (m q_heads, splits,
/// value) and (m q_heads, splits); of workers, (parts, queries q_heads, value) and (parts, queries
/// q_heads).
template <class Side> struct DecodeParts { Strided<Side, 0> values, lse; };
/// The terms of scores besides the products; see DecodeArgs.
template <class Side> struct DecodeTerms {
  Strided<Side, 2> bias;      // (q_heads, m, columns)
  Param<Side, Int64> columns; // keys of a row of the bias
  Strided<Side, 1> slopes;    // (n, q_heads)
  Strided<Side, 0> sink;      // (q_heads)
  Strided<Side, 1> mask;      // (m, words)
  Param<Side, Int64> words;   // words of a row of the mask
};
/// The arguments of all kernels of decoding.
template <class Side> struct DecodeParams {
  Strided<Side, 2> q, o; // (m, q_heads, head), (m, q_heads, value)
  /// The strides of pages, of tokens of a page, which KvCache::packed does not have, and of heads.
  Strided<Side, 3> k, v;
  // (pages, page, kv_heads); KvScales::head: (n, 1, kv_heads);
  // KvScales::tensor: the same at strides of 0.
  Strided<Side, 3> kScale, vScale;
  Strided<Side, 2> qScale;     // (n, kv_heads), the same
  Strided<Side, 1> blockTable; // (n, pages)
  Strided<Side, 0> seqLens;    // (n)
  Param<Side, Int64> windowLeft;
  Strided<Side, 0> starts; // varlen: (n + 1)
  DecodeTerms<Side> terms;
  Strided<Side, 0> lse; // (m, q_heads)
  DecodeParts<Side> parts;
  Strided<Side, 0> worklist;            // (n + 1 + workers)
  Param<Side, Int64> tokens, sequences; // m, n
  CsrPages<Side> csr;                   // replaces blockTable and seqLens
};
inline constexpr KernelOf<DecodeParams> kDecodeWorklistKernel{"decode_worklist"}, kDecode{"decode"},
    kDecodeCombine{"decode_combine"};

/// The threads of a block that combines parts, and the elements that each takes.
inline constexpr int kCombineThreads = 256, kCombineElements = 4;
/// The threads of the block that makes a worklist.
inline constexpr int kWorklistThreads = 256;

/// The type of both products' operands, and whether it has 8 bits.
inline DType operandOf(const DecodeProblem &problem) {
  return problem.float8_products ? problem.kv : problem.q;
}
inline bool narrowProducts(const DecodeProblem &problem) { return operandOf(problem).bits() == 8; }
/// Whether the kernel rounds q to the operands' type; and whether q, which is of 8 bits, has a
/// scale.
inline bool roundsQueries(const DecodeProblem &problem) { return operandOf(problem) != problem.q; }
inline bool scalesQueries(const DecodeProblem &problem) {
  return problem.q.bits() == 8 && problem.scales != KvScales::none;
}
/// Whether all keys of a sequence's head have one scale, and all its values.
inline bool scalesHeads(const DecodeProblem &problem) {
  return problem.scales == KvScales::tensor || problem.scales == KvScales::head;
}
/// Whether probabilities of 8 bits are multiplied by their values' scales before they are rounded, see
/// DecodeWave::step.
inline bool scalesProbabilities(const DecodeProblem &problem) {
  return narrowProducts(problem) && problem.scales == KvScales::token;
}
/// Rows of a sequence of `queries` that share keys: those of a group of heads. Row r is query
/// r / group, head r % group.
inline int groupOf(const DecodeProblem &problem) { return problem.q_heads / problem.kv_heads; }
inline int rowsOf(const DecodeProblem &problem) { return groupOf(problem) * problem.queries; }
/// Elements of a value.
inline int valueOf(const DecodeProblem &problem) {
  return problem.latent ? problem.latent : problem.head_v ? problem.head_v : problem.head;
}
/// The largest power of two that divides a number of elements.
inline int evenly(int elements) { return elements & -elements; }
/// Neighbouring elements of keys and of values that divide all rows of the cache and their strides,
/// up to 16 bytes; and of rows of q.
inline int cacheAlign(const DecodeProblem &problem) {
  return std::min(kPieceBytes / problem.kv.bytes(), evenly(problem.head | valueOf(problem)));
}
inline int queryAlign(const DecodeProblem &problem) {
  return std::min(kPieceBytes / problem.q.bytes(), evenly(problem.head));
}
/// Elements of a key and of a value as the products take them. Elements of keys past those in memory are zeros;
/// those of values become results that are not stored. Waves that share the values of large heads have whole
/// tiles of 16.
inline int keyInSteps(const DecodeProblem &problem, const MatrixForm &form) {
  return roundedUp(problem.head, std::max(32, form.perLane() * form.across));
}
inline int valueInSteps(const DecodeProblem &problem) {
  return roundedUp(valueOf(problem), valueOf(problem) > 256 ? 64 : 32);
}
/// The most rows of a tile of 16 that exist.
inline int rowsOfTile(const DecodeProblem &problem) {
  return problem.varlen ? 16 : std::min(16, rowsOf(problem));
}
/// Latent attention: waves that have the same rows, and elements of the values each.
inline int valueShares(const DecodeConfig &config, int wave) {
  return config.block / wave / (config.rows / 16);
}
/// Whether the queries of latent attention are in shared memory: the sums of values take the
/// registers where none are for accumulation alone. Queries of 8 bits take half of them.
inline bool latentSharesQueries(const DecodeProblem &problem, const MatrixForm &form) {
  return !form.accumulates() && !narrowProducts(problem);
}
/// Whether latent values of 8 bits are turned by the reads of shared memory (gfx950). Otherwise each wave
/// turns them in registers.
inline bool latentTransposes(const DecodeProblem &problem, const MatrixForm &form) {
  return narrowProducts(problem) && form.accumulates() &&
         form.instruction.target.has(Feature::lds_transpose_read);
}
/// How rows of keys and of queries of latent attention lie in shared memory, and the bytes of some.
inline RowPlacement latentPlacement(const DecodeProblem &problem, const MatrixForm &form) {
  return RowPlacement::of(form.instruction.target,
                          latentTransposes(problem, form) ? RowsRead::turned : RowsRead::groups);
}
inline std::int64_t latentRowBytes(const DecodeProblem &problem, int rows, const MatrixForm &form) {
  return latentPlacement(problem, form).bytes(rows, problem.head, operandOf(problem));
}
/// Keys of a step of latent attention, and the bytes of shared memory that they take.
inline int latentKeys(const MatrixForm &form) {
  return form.lanes / 16 * 8 * form.runsOfEight(); // DecodeLane::keys
}
inline std::int64_t latentKeyBytes(const DecodeProblem &problem, const MatrixForm &form) {
  return latentRowBytes(problem, latentKeys(form), form);
}
/// The most waves of a latent block.
inline constexpr int kMostLatentWaves = 8;
/// Steps of keys that are in shared memory: with two, waves wait for each other once in a step. Two are for the
/// largest blocks: a compute unit has room for one such block, with one step too. Where values are turned in
/// registers, a second step gains nothing.
inline int latentStages(const DecodeProblem &problem, const DecodeConfig &config,
                        const MatrixForm &form) {
  const bool fills = config.block / form.lanes >= kMostLatentWaves;
  return latentTransposes(problem, form) && fills &&
                 2 * latentKeyBytes(problem, form) <=
                     static_cast<std::int64_t>(form.instruction.target.lds_bytes())
             ? 2
             : 1;
}
/// Blocks that share the rows of a group of heads.
inline int rowBlocks(const DecodeProblem &problem, const DecodeConfig &config) {
  return (rowsOf(problem) + config.rows - 1) / config.rows;
}
/// The type of the parts' results in the workspace. Weights of 8 bits have errors next to which the
/// rounding of bf16 is small; a result that is not of 16 bits keeps what there is.
inline DType partOf(const DecodeProblem &problem) {
  return narrowProducts(problem) && problem.y.bits() == 16 ? DType(bf16) : DType(f32);
}
/// The bytes of the results of so many parts in the workspace; their logarithms follow.
inline std::int64_t partValueBytes(const DecodeProblem &problem, std::int64_t parts) {
  return parts * valueOf(problem) * partOf(problem).bytes();
}
/// Whether blocks leave parts in the workspace; and how many, of m tokens.
inline bool hasParts(const DecodeConfig &config) { return config.splits > 1 || config.workers; }
inline std::int64_t partsOf(const DecodeProblem &problem, const DecodeConfig &config,
                            std::int64_t m) {
  if (config.workers)
    return std::int64_t(2) * config.workers * problem.kv_heads * rowsOf(problem);
  return m * problem.q_heads * config.splits;
}
inline double scaleOf(const DecodeProblem &problem) { return scaleOr(problem.scale, problem.head); }

/// The instruction of both products; none if the target has none for the type.
inline std::optional<MatrixForm> decodeForm(const DecodeProblem &problem, const Target &target) {
  const DType type = operandOf(problem);
  const int elements = narrowProducts(problem) ? 64 : 32; // a piece of each lane of a row
  return matrixForm(target, type, type, elements, elements);
}
/// Neighbouring elements of a key that a lane loads: 16 bytes of the cache where the head has room
/// for them, and what an instruction takes at least.
inline int keyPiece(const DecodeProblem &problem, const MatrixForm &form) {
  int piece = kPieceBytes / problem.kv.bytes();
  while (piece > form.perLane() && keyInSteps(problem, form) % (piece * form.across))
    piece /= 2;
  return std::max(piece, form.perLane());
}

/// How a wave of the paged form uses its registers. A step of keys needs some for the sums, the queries,
/// the keys and the values.
struct DecodeStep {
  int shares = 1;             ///< waves that have the same keys, and elements of the values each
  int repeats = 1;            ///< how often a lane has in a step the keys of an instruction
  bool sharedQueries = false; ///< queries are read from shared memory at each step
  bool lateValues = false;    ///< values are loaded when the scores are done, not with the keys
  int width = 0;              ///< the most neighbouring elements of a value that a lane loads
  int keyPieces = 0;          ///< pieces of keys that are loaded together; 0: all of a step

  static DecodeStep of(const DecodeProblem &problem, int rows, const MatrixForm &form) {
    // In registers of 4 bytes. A lane has the share of a row of 1 / across; RDNA3's have all.
    DecodeStep step;
    const int head = keyInSteps(problem, form), value = valueInSteps(problem);
    if (!form.accumulates() && std::max(head, value) > 192)
      step.shares = std::max(head, value) > 256 ? 4 : 2;
    const int bytes = operandOf(problem).bytes(), tiles = rows / 16,
              row = head * bytes / form.across / 4,
              sums = tiles * (value / step.shares) / 16 * form.sums(), queries = tiles * row,
              keys = form.lanes / 32 * form.runsOfEight() * row,
              // With two waves on a SIMD.
        most = form.accumulates()  ? 256
               : form.replicated() ? 176
                                   : registers_of_lane(form.instruction.target, 8) - 56;
    // Queries of 8 bits leave room for the sums of all rows that are supported.
    step.sharedQueries = bytes > 1 && sums + queries + 2 * keys > most;
    const int kept = step.sharedQueries ? sums : sums + queries;
    step.lateValues = kept + 2 * keys > most;
    // Of late values, those of a load and what becomes of them by tiles are there at a time.
    const auto late = [&] {
      const int own = form.replicated() ? 16 : 8 * form.runsOfEight();
      return sums + 2 * own * step.width * bytes / 4;
    };
    // Without registers for sums alone, large keys come some pieces at a time.
    if (!form.accumulates() && std::max(head, value) > 256) {
      step.keyPieces =
          std::max(1, head / (keyPiece(problem, form) * form.across) / (form.replicated() ? 8 : 4));
      step.lateValues = true;
    }
    step.width = kPieceBytes / bytes;
    while (step.lateValues && step.width > 2 && late() > most)
      step.width /= 2;
    // With accumulation registers there is room for twice as many keys, and another wave still fits
    // the SIMD. Of tokens with scales, a lane has two of each token, and their addresses.
    const int scales = problem.scales == KvScales::token ? 8 * form.runsOfEight() * 2 * 2 * 2 : 0;
    if (form.accumulates() && kept + 4 * keys + scales <= most * 3 / 4)
      step.repeats = 2;
    return step;
  }
};

/// Bytes of shared memory for what the waves of a block found of some rows.
inline constexpr std::int64_t kPartBytes = 48 * 1024;
/// Bytes of shared memory for what so many waves with keys of their own found of so many rows.
inline std::int64_t partBytes(const DecodeProblem &problem, int waves, int rows) {
  return std::int64_t(waves) * rows * (valueInSteps(problem) + 8) * 4;
}
/// The rows of a tile of 16 whose results of all waves meet in shared memory at a time, of a block
/// with `ofBlock` rows: as many as leave a compute unit's 64 KiB to three blocks, so that registers
/// say how many there are; four at least. Sums of 64 rows of 128 leave registers for one block.
/// Without accumulation registers, where the compiler spills for more blocks, all rows do.
inline int rowsAtOnce(const DecodeProblem &problem, const MatrixForm &form, int ofBlock,
                      int waves) {
  if (!form.accumulates())
    return rowsOfTile(problem);
  const std::int64_t enough = ofBlock * valueOf(problem) < 64 * 128 ? 20 * 1024 : kPartBytes;
  int rows = rowsOfTile(problem);
  for (int fewer = 8; fewer >= 4 && partBytes(problem, waves, rows) > enough; fewer /= 2)
    rows = std::min(rows, fewer);
  return rows;
}

template <> struct Family<DecodeProblem> : FamilyDefaults<DecodeProblem, &DecodeArgs::q> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static std::size_t workspaceBytes(const P &problem, const C &config, std::int64_t m);
  static KernelNames kernels(const P &, const C &config) {
    if (config.workers)
      return {&kDecode, &kDecodeCombine, &kDecodeWorklistKernel};
    return config.splits > 1 ? KernelNames{&kDecode, &kDecodeCombine} : KernelNames{&kDecode};
  }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
