// The sizes of a configuration's tiles, and the memory and registers that they take: for the host and for
// the kernels.
#pragma once

#include "attention/dma_tile.h"
#include "blocks/attention/head_rules.h"
#include "blocks/facts/lds_layout.h"
#include "blocks/facts/matrix_form.h"

#include <flydsl/kernels/attention.h>

#include <algorithm>
#include <array>
#include <span>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

inline int headV(const AttentionProblem &problem) {
  return problem.head_v ? problem.head_v : problem.head;
}
/// Whether an operand of a type has a scale.
inline bool isFloat8(DType type) { return matrixKind(type) == MatrixKind::float8; }
/// Whether q has a scale, and whether k and v have scales that all tokens of a head share.
inline bool scalesQueries(const AttentionProblem &problem) {
  return isFloat8(problem.q) && problem.scales != KvScales::none;
}
inline bool scalesKeys(const AttentionProblem &problem) {
  return isFloat8(problem.kv) &&
         (problem.scales == KvScales::tensor || problem.scales == KvScales::head);
}
/// Neighbours of a head that are moved together, of q, k, v or o in a type; strides are multiples of it.
inline int elementsTogether(const AttentionProblem &problem, DType type) {
  return problem.float8_products && isFloat8(type) ? 16 : 8;
}
/// The type to which probabilities are rounded.
inline DType probabilityType(const AttentionProblem &problem) {
  if (!problem.float8_products)
    return problem.type_of_products();
  const bool fnuz = problem.kv == f8E4M3FNUZ || problem.kv == f8E5M2FNUZ;
  return fnuz ? f8E4M3FNUZ : f8E4M3FN;
}
/// The most elements of a value that a block has. Larger values are cut into parts. Each part has a block of its
/// own, and all of these blocks compute the same scores.
inline constexpr int kValuesOfBlock = 256;
/// Into how many parts head_v is cut.
inline int valueParts(const AttentionProblem &problem) {
  return (headV(problem) + kValuesOfBlock - 1) / kValuesOfBlock;
}
/// The elements of a key in a tile, and of a block's part of a value: whole instructions and runs of both
/// products. The elements past those in memory are zeros, which change no sum.
inline int keyInTile(const AttentionProblem &problem, const Target &target) {
  const int fewest = problem.float8_products ? fewestOfK(target, problem.q, problem.kv) : 0;
  return roundedUp(problem.head, std::max(32, fewest));
}
inline int valueInTile(const AttentionProblem &problem) {
  const int parts = valueParts(problem);
  return roundedUp((headV(problem) + parts - 1) / parts, 32);
}
/// The instruction for keys and queries.
inline std::optional<MatrixForm> scoresForm(const AttentionProblem &problem, const Target &target) {
  const bool bytes = problem.float8_products;
  const int head = keyInTile(problem, target);
  const DType wide = problem.type_of_products();
  return matrixForm(target, bytes ? problem.q : wide, bytes ? problem.kv : wide, head, head);
}
inline double scaleOf(const AttentionProblem &problem) {
  return scaleOr(problem.scale, problem.head);
}

/// What the code keeps in registers from one use to the next. What it does not keep, it computes or loads
/// again: fewer registers, the same results. See docs/kernels/attention.md, "Nothing goes to scratch memory".
struct Keep {
  /// Addresses from one tile of queries to the next. Groups of waves: to the last tile of keys, too.
  bool acrossTiles = true;
  /// The kernel's arguments for the results while the loop runs. Otherwise they are read again after the loop.
  bool arguments = true;
  /// Groups of waves: the addresses of the tiles that they load, from one tile of keys to the next.
  bool loadAddresses = true;
  /// All other addresses from one tile of keys to the next. Without them, a few scores are finished at a time.
  bool addresses = true;
  /// The operands of two phases of a tile (scores, softmax, values): the scheduler may begin a phase before
  /// the one before it has ended.
  bool phasesOverlap = true;
  /// The next tile of keys and values: all of it is loaded while a tile is worked on.
  bool nextTile = true;
  /// The queries from one tile of keys to the next.
  bool queries = true;
};

/// Rows in order of preference: a kernel is compiled by the first row by which it spills no registers.
/// `choose` estimates by the first row. Each row keeps less than the row before it.
inline constexpr std::array<Keep, 6> kKeeps = [] {
  std::array<Keep, 6> rows{};
  const auto without = [&](std::size_t first, auto... fields) {
    for (std::size_t row = first; row < rows.size(); ++row)
      ((rows[row].*fields = false), ...);
  };
  without(1, &Keep::acrossTiles, &Keep::arguments);
  without(2, &Keep::loadAddresses);
  without(3, &Keep::addresses, &Keep::phasesOverlap);
  without(4, &Keep::nextTile);
  without(5, &Keep::queries);
  return rows;
}();

/// A block's tiles, and the memory that they take.
struct AttentionShape {
  MatrixForm form;   ///< the instruction for keys and queries
  MatrixForm second; ///< the instruction for values and probabilities
  DType kv;          ///< the type of keys and values in memory
  int head, headV;   ///< elements of a key, and of a block's part of a value, in the tiles
  int keyElements, valueElements; ///< elements of a key and of a value in memory
  int tileQ, tileK, threads;
  int banks; ///< the banks of LDS
  AttentionLoop loop;
  bool changesScores; ///< whether scores have terms besides the products, or a cap
  bool pages, packed; ///< whether keys and values come from KvCache::pages, or ::packed
  Keep keep;

  /// None if the target has no instructions for the problem or for the keys of a tile.
  static std::optional<AttentionShape> of(const AttentionProblem &problem,
                                          const AttentionConfig &config, const Target &target,
                                          const Keep &keep = {}) {
    const auto form = scoresForm(problem, target);
    const auto second = matrixForm(target, probabilityType(problem), form ? form->b : problem.kv,
                                   config.tile_k, config.tile_k);
    if (!form || !second)
      return std::nullopt;
    return AttentionShape{*form,
                          *second,
                          problem.kv,
                          keyInTile(problem, target),
                          valueInTile(problem),
                          problem.head,
                          impl::headV(problem),
                          config.tile_q,
                          config.tile_k,
                          config.threads,
                          lds_banks(target),
                          config.loop,
                          problem.bias || problem.alibi || problem.mask || problem.soft_cap > 0,
                          problem.cache == KvCache::pages,
                          problem.cache == KvCache::packed,
                          keep};
  }

  /// Whether tiles have more elements than there are in memory.
  bool padsKeys() const { return head > keyElements; }
  bool padsValues() const { return valueElements % headV != 0; }
  /// Into how many parts a value is cut; each has a block of its own.
  int valueParts() const { return (valueElements + headV - 1) / headV; }
  /// Whether keys and values are widened on their way to LDS.
  bool widens() const { return kv.bytes() < form.bytes(); }
  int waves() const { return threads / form.lanes; }
  /// The queries that all waves take by one instruction each, 16 a wave; and the repeats: how many times 16
  /// queries a wave has.
  int queriesAtOnce() const { return 16 * waves(); }
  int repeats() const { return tileQ / queriesAtOnce(); }

  // Tiles in LDS: keys as rows, and values transposed, elements of values as rows. An instruction's
  // row 4 b + a is row 8 b + a of the tile (rowsInRuns). See lds_layout.h for what is read together.
  // Of 32 banks, which have room for 8 pieces of 16 bytes, the rows of a group of 8 begin at even
  // pieces; those that are read with them are in the next column, at odd ones. Of 64 banks they begin
  // at multiples of 4 pieces, and group b at 2 b: groups 0 and 3 at 0 and 2, groups 1 and 2, in the
  // next column, at 3 and 1. RDNA4 has the rows in order: there a row is one piece longer.
  int piece() const { return form.piece(); } ///< elements of 16 bytes
  int rowOf(int elements) const {
    const int pieces = elements / piece(); // a multiple of 4
    if (form.sumRun == 8)
      return elements + piece();
    return elements + piece() * (banks == 64 ? (pieces + 4) % 8 : 2);
  }
  int keyRow() const { return rowOf(head); }
  int keyRows8() const { return 8 * keyRow() + betweenGroups(); }
  int valueRow() const { return rowOf(tileK); }
  /// The elements from a group of 8 rows of values to the next. If values have 8 bits, a lane reads the 8 bytes
  /// of a run, and LDS serves twice as many neighbouring lanes at a time: if these are 16 rows, half a piece is
  /// between groups, otherwise a piece.
  int valueRows8() const {
    if (form.bytes() == 1)
      return 8 * valueRow() + (banks == 32 ? piece() / 2 : piece());
    return 8 * valueRow() + betweenGroups();
  }
  /// Whether an instruction deals its rows to the lanes in groups of four (CDNA).
  bool dealsFours() const { return form.sumRun == 4; }
  /// The elements between groups of 8 rows. If the instruction deals fours, lanes with neighbouring keys of
  /// neighbouring groups write values, too (KvTile): a gap of 2 pieces puts these in different banks.
  int betweenGroups() const { return dealsFours() ? 2 * piece() : piece(); }
  // With AttentionLoop::groups: a tile's rows of keys, and of values. LDS holds two tiles of each.
  DmaTile keyTile() const { return {tileK, head * form.bytes(), form.bytes()}; }
  DmaTile valueTile() const { return {tileK, headV * form.bytes(), form.bytes()}; }
  int ldsBytes() const {
    if (loop == AttentionLoop::groups)
      return 2 * (keyTile().bytes() + valueTile().bytes());
    return form.bytes() * (tileK / 8 * keyRows8() + headV / 8 * valueRows8());
  }

  // The vector registers of a lane.
  /// Registers of the scores, and of scores and results: 16 rows take `sums()` for each 16 queries.
  int scoreRegisters() const { return repeats() * tileK / 16 * form.sums(); }
  int accumulators() const { return repeats() * (tileK + headV) / 16 * form.sums(); }
  /// Registers of the queries: `across` lanes share a query and have an equal part of its elements each.
  int queryRegisters() const { return repeats() * head / form.across * form.bytes() / 4; }
  /// Registers of a tile of keys and values on its way to LDS.
  int fetchRegisters() const { return tileK * (head + headV) * kv.bytes() / 4 / threads; }
  /// Registers of all else at that time: probabilities, operands, addresses, and bytes of values that are put
  /// together.
  int otherRegisters() const {
    return repeats() * tileK / 16 * form.sums() * second.bytes() / 4 +
           (second.bytes() == 1 ? 72 : 48);
  }
  int fewestRegisters() const { return accumulators() + otherRegisters(); }
  /// The registers that a tile may take on its way to LDS if it moves before its scores are computed: those
  /// of the scores, and all free ones.
  int moveRegisters() const {
    const int taken = fewestRegisters() + queryRegisters() + besideRegisters();
    return scoreRegisters() + std::max(0, registers() - taken);
  }
  /// The registers of a lane for which kernels are made: two waves share a SIMD.
  int registers() const { return registers_of_lane(form.instruction.target, 8); }
  /// An estimate of the further registers that a problem takes on RDNA, whose lanes have no registers for sums
  /// alone: found by compiling what is chosen. The rows of Keep make up for what the estimate misses.
  int besideRegisters() const {
    if (form.accumulates())
      return 0;
    return (widens() ? 40 : 0) + (changesScores ? 32 : 0) + (packed ? 24 : 0);
  }
  /// Whether the queries stay in registers; otherwise each tile of keys reads them again. On RDNA a
  /// few are left for what the compiler moves about, and all values of 8 bits of a product are loaded
  /// first, 4 registers for 16 elements.
  bool keepsQueries() const {
    if (!keep.queries)
      return false;
    const int values = second.bytes() == 1 ? headV / 16 * 4 : 0,
              spare = form.accumulates() ? 0 : 8 + values;
    return fewestRegisters() + queryRegisters() + besideRegisters() + spare <= registers();
  }
  /// Whether a tile is loaded while the one before is worked on.
  bool fetchesAhead() const {
    if (!keep.nextTile)
      return false;
    return fewestRegisters() + queryRegisters() + fetchRegisters() + besideRegisters() <=
           registers();
  }
  /// The rows of kKeeps that are tried. Keys and values of pages wait for the table of the pages. On RDNA4 the
  /// estimated time is a tenth shorter if their addresses are not kept and leave room for loads on their way.
  std::span<const Keep> keeps() const {
    const bool rdna4 = !form.accumulates() && !form.replicated();
    const auto first =
        rdna4 && pages ? std::ranges::find(kKeeps, false, &Keep::addresses) : kKeeps.begin();
    return {first, kKeeps.end()};
  }
};

/// The workspace of keys that are shared among blocks: for each part and row (a token and a head of
/// q) the result in f32, and after all of them the logarithms.
struct PartialRows {
  int parts;
  std::int64_t heads, headV;

  std::int64_t rows(std::int64_t tokens) const { return tokens * heads; }
  std::int64_t bytesOfValues(std::int64_t tokens) const { return parts * rows(tokens) * headV * 4; }
  std::size_t bytes(std::int64_t tokens) const {
    return parts > 1 ? static_cast<std::size_t>(bytesOfValues(tokens) + parts * rows(tokens) * 4)
                     : 0;
  }
};
inline PartialRows partialRows(const AttentionProblem &problem, const AttentionConfig &config) {
  return {config.splits, problem.q_heads, headV(problem)};
}

/// The neighbours of a row that a thread combines, and the blocks that share a tile of queries while parts are
/// combined. There are as many blocks as give each thread one such run, because a thread that has several waits
/// for the parts of each.
inline constexpr int kCombinedTogether = 4;
inline int combineBlocks(const AttentionProblem &problem, const AttentionConfig &config) {
  const int threads = config.tile_q * (headV(problem) / kCombinedTogether);
  return (threads + config.threads - 1) / config.threads;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
