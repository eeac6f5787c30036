// The main loop of a product: a block's tile of sums over its part of K.
//
// A loop is an object of one of these types, which are made of views of the operands:
//
//   GemmLoop   type           class that works  schedule   header          the operands
//   ring       RingLoop       Ring              runRing    ring.h          tiles of A through a ring in shared
//                                                                          memory; B too, unless it is prepared
//   groups     GroupsLoop     HalfTiles         runGroups  half_tiles.h    both through shared memory in half
//                                                                          tiles; two groups of waves take turns
//   registers  RegistersLoop  RegistersAB       runRounds  registers_ab.h  both straight into registers
//   vector     none           VectorRows        runRounds  vector_rows.h   both straight into registers
//
// GemmLoop::vector is no Mainloop: gemm_kernels.cpp runs VectorRows itself, because it has no fragments.
// Attention has loops of its own; its GroupLoop lets two groups of waves take turns as HalfTiles does.
//
// Each is a loop over steps of K (loop_schedule.h), which fetches operands ahead, reads fragments of
// a part of a step, and adds their products to the sums (product_sums.h).
#pragma once

#include "blocks/products/half_tiles.h"
#include "blocks/products/narrow_weights.h"
#include "blocks/products/registers_ab.h"
#include "blocks/products/ring.h"
#include "blocks/products/slice_k.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>

#include <functional>
#include <memory>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class Mainloop {
public:
  Mainloop(const LoopShape &shape, const TiledMma &mma, std::unique_ptr<Sums> sums)
      : shape_(shape), mma_(mma), sums_(std::move(sums)) {}
  virtual ~Mainloop() = default;
  Mainloop(const Mainloop &) = delete;

  /// Sums up the tile, then runs `finish` in the waves that hold the sums.
  virtual void run(const std::function<void(const Sums &)> &finish) = 0;

protected:
  const LoopShape &shape() const { return shape_; }
  const TiledMma &mma() const { return mma_; }
  const Sums &sums() const { return *sums_; }
  /// The number of a thread among those of the waves that multiply the same elements of K.
  const Int32 &thread() const { return thread_; }
  /// The number of the wave among those that share K. The compiler must see that its lanes agree on
  /// their step, or their part of it.
  const Int32 &wave() const { return wave_; }
  /// Shared memory for the sums of waves that share K.
  Pointer memoryOfSums(SharedAllocator &from) const {
    return from.allocate(shape_.slicesBytes(), kPieceBytes);
  }
  /// Runs `finish` in the waves that hold the total of those that share K.
  void finishTotal(const Pointer &memory, const std::function<void(const Sums &)> &finish) const {
    withTotal(shape_, *sums_, memory, wave_, thread_, [&] { finish(*sums_); });
  }
  bool sharesK() const { return shape_.wavesK > 1; }

private:
  LoopShape shape_;
  TiledMma mma_;
  std::unique_ptr<Sums> sums_;
  Int32 thread_ = shape_.wavesK > 1 ? Int32(thread_idx().x % shape_.threads()) : thread_idx().x,
        wave_ = shape_.wavesK > 1 ? Int32(gpu::uniform(thread_idx().x / shape_.threads()))
                                  : Int32(0);
};

/// The fragments of prepared weights. `thread` counts those of the waves that share a step.
inline std::unique_ptr<FragmentsOfB> fragmentsOfWeights(const LoopShape &shape, const TiledMma &mma,
                                                        const PreparedTile &b,
                                                        const Int32 &thread) {
  if (b.narrow)
    return std::make_unique<NarrowFragments>(shape, mma, b, thread);
  const LoopShape &shapeB = b.shapeB ? *b.shapeB : shape;
  const TiledMma mmaB =
      b.shapeB ? weightsFirst(shapeB.form, shapeB.waves, shapeB.wavesM, shapeB.slices()) : mma;
  auto weights = std::make_unique<WeightsInRegisters>(shapeB, b.weights, mmaB, thread, b.halves,
                                                      b.validBlocks);
  return std::make_unique<FragmentsOfWeights>(shapeB, mmaB, std::move(weights), b.once);
}

/// Whether no other block reads a tile of B: tiles of a family's own do not say it.
template <class Tile> ReadOnce onceOf(const Tile &) { return {}; }
inline ReadOnce onceOf(const OperandTile &tile) { return tile.once; }

/// A is an OperandTile or a GatheredTile, B an OperandTile or a PreparedTile; or either is a tile of a
/// family's own, from which `ringOperand` makes an operand of the ring.
template <class A, class B> class RingLoop final : public Mainloop {
public:
  RingLoop(const LoopShape &shape, const TiledMma &mma, std::unique_ptr<Sums> sums, const A &a,
           const B &b)
      : Mainloop(shape, mma, std::move(sums)), a_(a), b_(b) {}

  void run(const std::function<void(const Sums &)> &finish) override {
    SharedAllocator shared;
    const auto ring = [&](SharedAllocator &from) { return makeRing(b_, from); };
    if (!sharesK()) {
      ring(shared)->run();
      return finish(sums());
    }
    // The compiler would wait for each load to a tile that may be what it reads.
    if (shape().dma) {
      ring(shared)->run();
      return finishTotal(memoryOfSums(shared), finish);
    }
    // The sums of waves that share K take the place of the tiles.
    const auto [loop, memory] =
        shared.overlay(ring, [&](SharedAllocator &from) { return memoryOfSums(from); });
    loop->run();
    gpu::barrier(AddressSpace::shared);
    finishTotal(memory, finish);
  }

private:
  using Operands = std::vector<std::unique_ptr<RingOperand>>;
  template <class Tile> std::unique_ptr<Ring> makeRing(const Tile &b, SharedAllocator &from) const {
    Operands operands;
    operands.push_back(ringOperandA(shape(), mma(), a_, from));
    operands.push_back(ringOperandB(shape(), mma(), b, from));
    auto fragments = std::make_unique<FragmentsOfRing>(shape(), *operands[1], onceOf(b));
    return std::make_unique<Ring>(shape(), std::move(operands), std::move(fragments), sums());
  }
  std::unique_ptr<Ring> makeRing(const PreparedTile &b, SharedAllocator &from) const {
    auto fragments = fragmentsOfWeights(shape(), mma(), b, Int32(thread_idx().x));
    Operands operands;
    operands.push_back(ringOperandA(shape(), mma(), a_, from));
    return std::make_unique<Ring>(shape(), std::move(operands), std::move(fragments), sums());
  }

  A a_;
  B b_;
};

/// B is an OperandTile or a PreparedTile.
template <class B> class GroupsLoop final : public Mainloop {
public:
  GroupsLoop(const LoopShape &shape, const TiledMma &mma, std::unique_ptr<Sums> sums,
             const RowsOfA &a, const B &b)
      : Mainloop(shape, mma, std::move(sums)), a_(a), b_(b) {}

  void run(const std::function<void(const Sums &)> &finish) override {
    SharedAllocator shared;
    std::visit([&](const auto &a) { HalfTiles(shape(), mma(), a, b_, shared, sums()).run(); }, a_);
    finish(sums());
  }

private:
  RowsOfA a_;
  B b_;
};

class RegistersLoop final : public Mainloop {
public:
  RegistersLoop(const LoopShape &shape, const TiledMma &mma, std::unique_ptr<Sums> sums,
                const RowsOfA &a, const PreparedTile &b)
      : Mainloop(shape, mma, std::move(sums)), a_(a), b_(b) {}

  void run(const std::function<void(const Sums &)> &finish) override {
    const auto weights = fragmentsOfWeights(shape(), mma(), b_, thread());
    const RowsInRegisters rows(shape(), mma(), a_, thread());
    RegistersAB(shape(), mma(), wave(), rows, *weights, sums()).run();
    if (!sharesK())
      return finish(sums());
    SharedAllocator shared;
    finishTotal(memoryOfSums(shared), finish);
  }

private:
  RowsOfA a_;
  PreparedTile b_;
};

/// The loop of a configuration. `preparedB` makes the tile of B if B is prepared, `tileB` if it is not.
template <class PreparedB, class TileB>
std::unique_ptr<Mainloop> makeMainloop(GemmLoop loop, const LoopShape &shape, const TiledMma &mma,
                                       std::unique_ptr<Sums> sums, const RowsOfA &a,
                                       const PreparedB &preparedB, const TileB &tileB) {
  const auto ring = [&](const auto &rows) -> std::unique_ptr<Mainloop> {
    using A = std::remove_cvref_t<decltype(rows)>;
    if (shape.ringB)
      return std::make_unique<RingLoop<A, OperandTile>>(shape, mma, std::move(sums), rows, tileB());
    return std::make_unique<RingLoop<A, PreparedTile>>(shape, mma, std::move(sums), rows,
                                                       preparedB());
  };
  switch (loop) {
  case GemmLoop::registers:
    return std::make_unique<RegistersLoop>(shape, mma, std::move(sums), a, preparedB());
  case GemmLoop::groups:
    if (shape.preparedB)
      return std::make_unique<GroupsLoop<PreparedTile>>(shape, mma, std::move(sums), a,
                                                        preparedB());
    return std::make_unique<GroupsLoop<OperandTile>>(shape, mma, std::move(sums), a, tileB());
  case GemmLoop::ring:
    return std::visit(ring, a);
  case GemmLoop::vector: // VectorRows
    throw Error("a loop without matrix instructions has no sums of one");
  }
  throw Error("a loop of no kind");
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
