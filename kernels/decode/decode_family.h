// Attention over a paged cache, between its host file and its kernels.
#pragma once

#include "blocks/head_rules.h"
#include "blocks/matrix_form.h"
#include "frame/family.h"

#include <flydsl/kernels/decode.h>

#include <array>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The numbers that the kernels take.
enum DecodeNumber : std::size_t {
  // The address, and the distances of tokens and of heads.
  kDecodeQ,
  kDecodeY = kDecodeQ + 3,
  // The address, and the distances of blocks, of places in a block and of heads.
  kDecodeK = kDecodeY + 3,
  kDecodeV = kDecodeK + 4,
  kDecodeKScale = kDecodeV + 4,
  kDecodeVScale = kDecodeKScale + 4,
  // The address, and the distance of rows.
  kDecodeTables = kDecodeVScale + 4,
  kDecodeContexts = kDecodeTables + 2,
  kDecodeBefore,
  kDecodeLse,
  kDecodePartValues, ///< of the workspace
  kDecodePartLse,
  kDecodeWorklist,
  kDecodeTokens, ///< m
  kDecodeNumbers,
};
using DecodeNumbers = std::array<std::int64_t, kDecodeNumbers>;
inline constexpr KernelName<DecodeNumbers> kDecodeWorklistKernel{"decode_worklist"},
    kDecode{"decode"}, kDecodeCombine{"decode_combine"};

/// The threads of a block that combines parts, and the elements that each takes.
inline constexpr int kCombineThreads = 256, kCombineElements = 4;
/// The threads of the block that makes a worklist.
inline constexpr int kWorklistThreads = 256;

/// Rows of a sequence that share keys: the queries of a group of heads. Row r is query
/// r / group, head r % group.
inline int groupOf(const DecodeProblem &problem) { return problem.q_heads / problem.kv_heads; }
inline int rowsOf(const DecodeProblem &problem) { return groupOf(problem) * problem.queries; }
/// Elements of a value.
inline int valueOf(const DecodeProblem &problem) {
  return problem.latent ? problem.latent : problem.head;
}
/// Latent attention: waves that have the same rows, and elements of the values each.
inline int valueShares(const DecodeConfig &config, int wave) {
  return config.block / wave / (config.rows / 16);
}
/// Blocks that share the rows of a group of heads.
inline int rowBlocks(const DecodeProblem &problem, const DecodeConfig &config) {
  return (rowsOf(problem) + config.rows - 1) / config.rows;
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
  return matrixForm(target, problem.q, problem.q, 32, 32);
}
/// Neighbouring elements of a key that a lane loads: 16 bytes of the cache where the head has room
/// for them, and what an instruction takes at least.
inline int keyPiece(const DecodeProblem &problem, const MatrixForm &form) {
  int piece = kPieceBytes / problem.kv.bytes();
  while (piece > form.perLane() && problem.head % (piece * form.across))
    piece /= 2;
  return std::max(piece, form.perLane());
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
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
