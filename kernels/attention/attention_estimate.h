// How long a call takes by a tile and a number of parts of the keys, relative to others: what `choose` compares.
#pragma once

#include "attention/attention_shape.h"
#include "blocks/facts/gpu_size.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The time in keys: those that a wave of 16 queries with a SIMD of its own takes in it, of heads of 128 elements.
/// The constants were fitted to estimates of calls of 16 to 256 queries over 4,096 keys on gfx942 and gfx1201
/// (bench/kernels/README.md, "Few queries over many keys").
class AttentionEstimate {
public:
  /// Of `m` queries of a sequence over so many keys.
  AttentionEstimate(const AttentionProblem &problem, const AttentionShape &shape, std::int64_t m,
                    std::int64_t keys, const Target &target)
      : problem_(problem), shape_(shape), m_(m), keys_(keys) {
    constexpr int kSimds = 4; // of a compute unit of CDNA, of a work-group processor of RDNA
    const bool pairs = !target.has(Feature::mfma);
    units_ = gpuSize(target)->computeUnits / (pairs ? 2 : 1);
    const std::int64_t lds = std::int64_t(target.lds_bytes()) * (pairs ? 2 : 1),
                       byLds = std::max<std::int64_t>(1, lds / shape.ldsBytes()),
                       byRegisters =
                           std::max(1, kSimds * wavesByRegisters(shape, target) / shape.waves());
    atOnce_ = std::min(byLds, byRegisters);
    wavesOfSimd_ = double(shape.waves()) / kSimds;
  }

  /// The time with so many parts of the keys.
  double with(int splits) const {
    const std::int64_t tiles = (m_ + shape_.tileQ - 1) / shape_.tileQ,
                       blocks = tiles * problem_.q_heads * valueParts(problem_) * splits,
                       each = (blocks + units_ - 1) / units_, rounds = each / atOnce_,
                       last = each % atOnce_;
    const double work =
        double(rounds) * ofRound(atOnce_, splits) + (last ? ofRound(last, splits) : 0);
    return work + (splits > 1 ? kCombine / width() + ofParts(splits) : 0);
  }

private:
  /// The waves of a SIMD whose lanes have the registers that the kernels are made for.
  static int wavesByRegisters(const AttentionShape &shape, const Target &target) {
    int waves = 1;
    while (registers_of_lane(target, 4 * (waves + 1)) >= shape.registers())
      ++waves;
    return waves;
  }
  /// Of a block's beginning and end, and of the second kernel.
  static constexpr double kBlock = 100, kCombine = 120;
  /// What two groups of waves that take turns take of the time of as many that meet at each tile, as the emulator
  /// estimates it without a mask. Silicon prefers groups by more: with 64 heads and 8,192 tokens, FlyDSL's kernel of
  /// such groups reaches 1,184 TFLOPS on MI355X (its CI), and its kernel of 128 queries and four waves 708 (aiter's
  /// fmha_perf_compare).
  static constexpr double kGroups = 0.83;
  /// What a key takes more whose scores are masked one by one.
  static constexpr double kMasked = 1.1;
  /// Bytes of parts' results that a unit stores and loads in the time of a key.
  static constexpr double kBytesOfKey = 256;

  /// The elements of a key and its value, of those of heads of 128.
  double width() const { return double(shape_.head + shape_.headV) / 256; }
  /// The time of so many blocks at a time on a unit.
  double ofRound(std::int64_t blocks, int splits) const {
    const std::int64_t all = (keys_ + shape_.tileK - 1) / shape_.tileK,
                       tiles = (all + splits - 1) / splits;
    // Repeats of a wave's instructions share its keys. Waves of a SIMD hide one another's waits, and each block
    // fetches its own keys.
    const double repeats = (0.5 + shape_.repeats()) / 1.5, waves = double(blocks) * wavesOfSimd_,
                 shared = std::max(1.0, 0.6 + 0.4 * waves) + 0.05 * double(blocks - 1),
                 turns = shape_.loop == AttentionLoop::groups ? kGroups : 1;
    return kBlock / width() +
           (double(tiles * shape_.tileK) + masked()) * ofTile() * repeats * shared * turns;
  }
  /// The time of a tile over that of its keys alone: it begins with what instructions of more elements hide less of.
  double ofTile() const { return 1 + shape_.form.k / (2 * width() * shape_.tileK); }
  /// The time of the masks of keys at the sides of what queries see.
  double masked() const {
    const int sides = problem_.window ? 2 : problem_.causal ? 1 : 0;
    return kMasked * sides * std::max(shape_.tileQ, shape_.tileK);
  }
  double ofParts(int splits) const {
    const double bytes = 8.0 * double(m_) * problem_.q_heads * headV(problem_) * splits;
    return bytes / (double(units_) * kBytesOfKey) / width();
  }

  const AttentionProblem &problem_;
  const AttentionShape &shape_;
  std::int64_t m_, keys_, units_, atOnce_;
  double wavesOfSimd_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
