// The fragments of B, as main loops take them: through shared memory (ring.h), or prepared weights
// that each wave loads straight into registers, as they are or as narrow weights
// (narrow_weights.h).
#pragma once

#include "blocks/products/register_operand.h"

#include <flydsl/flydsl.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Where the loop finds the fragments of B.
class FragmentsOfB {
public:
  explicit FragmentsOfB(const ReadOnce &once = {}) : once_(once) {}
  virtual ~FragmentsOfB() = default;
  FragmentsOfB(const FragmentsOfB &) = delete;
  /// Traces `loop` once for each cache policy that B's loads may have in this launch: twice, under a branch,
  /// if B may be read once (ReadOnce), otherwise once.
  template <class Loop> void forEachPolicy(const Loop &loop) {
    once_([&](CachePolicy cache) {
      loadBy(cache);
      loop();
    });
  }
  /// Loads what a part of a step needs straight into registers, into one of two sets of them. Calls go
  /// over the parts of a step in their order. `guarded`: what lies past the end of K is zeros.
  virtual void fetchPart(const Int32 &step, int set, int part, bool guarded) const = 0;
  /// Loads of each thread for so many parts.
  virtual int loads(int parts) const = 0;
  /// Reads of shared memory for a part.
  virtual int reads() const = 0;
  /// The fragment of a part of the step that has a stage of the ring and a set of registers.
  virtual Tensor fragment(int stage, int set, int part, int half) const = 0;

private:
  /// The policy of the loads from here on.
  virtual void loadBy(CachePolicy cache) = 0;

  ReadOnce once_;
};

/// B is prepared: each wave loads its own columns.
class FragmentsOfWeights final : public FragmentsOfB {
public:
  FragmentsOfWeights(const LoopShape &shape, const TiledMma &mma,
                     std::unique_ptr<WeightsInRegisters> weights, const ReadOnce &once)
      : FragmentsOfB(once), shape_(shape), weights_(std::move(weights)),
        fragments_(partsOfB(shape, mma, 2 * shape.parts())) {}
  void fetchPart(const Int32 &step, int set, int part, bool guarded) const override {
    for (int half = 0; half < shape_.halves; ++half)
      weights_->fetch(step, part, half, fragment(0, set, part, half), guarded);
  }
  int loads(int parts) const override { return parts * shape_.loadsB(); }
  int reads() const override { return 0; }
  Tensor fragment(int, int set, int part, int half) const override {
    return fragments_[static_cast<std::size_t>((set * shape_.parts() + part) * shape_.halves +
                                               half)];
  }

private:
  void loadBy(CachePolicy cache) override { weights_->loadBy(cache); }

  LoopShape shape_;
  std::unique_ptr<WeightsInRegisters> weights_;
  std::vector<Tensor> fragments_; // (V, n, 1), of (set, part, half)
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
