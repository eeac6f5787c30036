// The main loop of products whose tiles go through a ring in shared memory, from which all waves
// read them: those of A, and those of B unless it is prepared. Of prepared weights each wave loads
// its own columns straight into registers.
//
// A step multiplies a tile of `tileK` columns, in parts. What it needs is fetched ahead:
//
//   operand                   fetched               until it is used, it is in
//   prepared B                1 step ahead          the other set of registers
//   a tile, by registers      2 steps ahead         registers, until its stage is free; then its stage
//   a tile, by dma or mover   `stages` steps ahead  its stage
//
// A ring by registers has two stages. By dma or by a mover, tiles are on their way to all stages but the
// one that is read.
//
// The fragments of a part are read from shared memory during the multiplications of the part before
// it, so that nothing waits for them. The waves meet before the last part of a step, so that the meeting has
// multiplications on both sides.
//
// Waves may share the K of a step (slices): each multiplies its part of each
// round of parts, so that it reads fewer fragments for as many products. Their
// sums are added at the end, see slice_k.h.
//
// The number of steps is known while tracing. The last step may be shorter than the others: parts
// past the end of K are left out.
#pragma once

#include "blocks/products/fragments_of_b.h"
#include "blocks/products/loop_schedule.h"
#include "blocks/products/moved_rows.h"
#include "blocks/products/product_sums.h"
#include "blocks/products/ring_operand.h"
#include "blocks/products/schedule.h"
#include "blocks/products/turns.h"

#include <flydsl/flydsl.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// B goes through the ring, as A does. The ring loads and reads it.
class FragmentsOfRing final : public FragmentsOfB {
public:
  FragmentsOfRing(const LoopShape &shape, RingOperand &operand, const ReadOnce &once = {})
      : FragmentsOfB(once), shape_(shape), operand_(operand) {}
  void fetchPart(const Int32 &, int, int, bool) const override {}
  int loads(int) const override { return 0; }
  int reads() const override { return shape_.loadsB(); }
  Tensor fragment(int stage, int, int part, int) const override {
    return operand_.fragment(stage, part);
  }

private:
  void loadBy(CachePolicy cache) override { operand_.loadBy(cache); }

  LoopShape shape_;
  RingOperand &operand_;
};

/// Loads or moves by which each wait for a tile is weaker than it has to be, for tests of checks.
struct RingWaits {
  int first = 0, later = 0;
};

/// Runs the loop over the operands of the ring; A comes first.
class Ring {
public:
  Ring(const LoopShape &shape, std::vector<std::unique_ptr<RingOperand>> operands,
       std::unique_ptr<FragmentsOfB> b, const Sums &sums, const RingWaits &weaker = {})
      : shape_(shape), operands_(std::move(operands)), b_(std::move(b)), sums_(sums),
        weaker_(weaker) {}

  /// Adds all products to the sums.
  void run() const {
    b_->forEachPolicy([&] { runRing<Int32>(shape_, *this); });
  }

  // What runRing calls.
  void fetchTile(const Int32 &step, int stage) const {
    for (const auto &operand : operands_)
      operand->fetch(step, stage);
  }
  void fetchLast(int stage) const {
    for (const auto &operand : operands_)
      operand->fetchLast(stage);
  }
  void fetchB(const Int32 &step, int set, int parts, bool guarded) const {
    for (int part = 0; part < parts; ++part)
      b_->fetchPart(step, set, part, guarded);
    sums_.fetch(step, set, parts, false);
  }
  // The counts of loads that may be under way rely on their order.
  static void tilesFetched() { gpu::schedule_fence(); }
  void start() const {
    sums_.start();
    write(0);
  }
  void meetFirst() const {
    meet({std::min(shape_.stages, shape_.steps()) - 1, otherLoads(shape_.partsOf(0))},
         weaker_.first);
    read(0, 0);
  }
  template <class Body> static void turns(int end, int stride, const Body &body) {
    impl::turns(end, stride, body);
  }
  /// One step, `number` of all. `ahead` fetches the tiles of the step whose stage this one frees, if
  /// there is such a step.
  void step(const Int32 &number, const RingStep &step, const std::function<void()> &ahead) const {
    using Kind = Interleave::Kind;
    const int stage = step.stage, next = (stage + 1) % shape_.stages, set = step.number % 2,
              parts = step.parts, following = step.following;
    // The tile of step s + 1 was fetched in step s + 1 - stages. After it, fetches straight into registers
    // were those for steps s + 3 - stages to s + 1, `stages - 1` of them. If the tile was fetched before
    // the loop, they were those for steps 0 to s + 1. The smaller number is never too large.
    const int fetches = std::min(shape_.stages - 1, step.number + 2);
    const UnderWay underWay{step.later,
                            (fetches - 1) * otherLoads(shape_.parts()) + otherLoads(following)};
    std::vector<Interleave> orders;
    if (following)
      fetchB(Int32(number + 1), set ^ 1, following, step.guarded);
    for (int part = 0; part < parts; ++part) {
      Interleave order;
      if (part == 0 && following)
        order.add(Kind::vectorMemory, otherLoads(following));
      if (part + 1 < parts) {
        read(stage, part + 1);
        order.add(Kind::ldsRead, reads());
      } else if (following) {
        // Registers are free for the next tile once they are written; LDS is once all have met.
        write(next);
        if (shape_.dma)
          meet(underWay, weaker_.later);
        else
          order.add(Kind::ldsWrite, ringLoads());
        if (ahead) {
          ahead();
          if (!shape_.mover)
            order.add(Kind::vectorMemory, ringLoads());
        }
        if (!shape_.dma)
          meet(underWay, weaker_.later);
        read(next, 0);
        order.nextSection().add(Kind::ldsRead, reads());
      }
      multiply(stage, set, part, parts);
      orders.push_back(order);
    }
    for (const Interleave &order : orders)
      order.emit(shape_.products());
    gpu::schedule_fence(); // It keeps the order of loads, too.
  }

private:
  /// What may go on when the next stage is filled: later tiles of the ring, and loads of a thread
  /// straight into registers.
  struct UnderWay {
    int tiles, loads;
  };
  void write(int stage) const {
    for (const auto &operand : operands_)
      operand->write(stage);
  }
  /// Loads of a thread for a tile of the ring (or moves of a wave), and for what is fetched straight
  /// into registers.
  int ringLoads() const {
    int sum = 0;
    for (const auto &operand : operands_)
      sum += operand->loads();
    return sum;
  }
  int otherLoads(int parts) const { return b_->loads(parts) + sums_.loads(parts); }
  int reads() const { return shape_.reads() + b_->reads(); }
  void read(int stage, int part) const {
    for (const auto &operand : operands_)
      operand->read(stage, part);
  }
  void multiply(int stage, int set, int part, int parts) const {
    for (int half = 0; half < shape_.halves; ++half)
      sums_.add(half, set, part, parts, b_->fragment(stage, set, part, half),
                operands_[0]->fragment(stage, part));
  }
  /// Waits, then meets the other waves. After it every wave may read the next stage and overwrite this
  /// one. Loads that write LDS, and a mover's moves, end in their order: those of `left`, which were started
  /// after the tile that is waited for, may go on. Tiles by registers need no count: a wave writes only what
  /// has arrived. gpu::barrier() of all memory would wait for all loads on RDNA, whose waves of a block may
  /// have two caches.
  void meet(const UnderWay &left, int weaker) const {
    const int moves = left.tiles * ringLoads() + weaker, loads = moves + left.loads;
    if (shape_.mover)
      return MovedRows::meet(moves);
    gpu::wait_for({.loads = shape_.dma ? std::optional(loads) : std::nullopt, .reads = 0});
    gpu::meet();
  }

  LoopShape shape_;
  std::vector<std::unique_ptr<RingOperand>> operands_;
  std::unique_ptr<FragmentsOfB> b_;
  const Sums &sums_;
  RingWaits weaker_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
