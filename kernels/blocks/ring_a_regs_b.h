// The main loop of products with few rows of A and preshuffled weights B: A goes through a ring of
// two tiles in shared memory, from which all waves read it, and each wave loads its own columns of B
// straight into registers.
//
// A step multiplies a tile of `tileK` columns, in parts. The tile of B is fetched one step ahead and
// the tile of A two steps ahead; the latter spends the second step in registers until its place in
// shared memory is free. The fragments of A of a part are read from shared memory during the
// multiplications of the part before it, so that nothing waits for them. The barrier stands before
// the last part, so that it has multiplications on both sides.
//
// The number of steps is known while tracing. The last step may be shorter than the others: parts
// past the end of K are left out.
#pragma once

#include "blocks/lds_layout.h"
#include "blocks/product_sources.h"
#include "blocks/product_sums.h"
#include "blocks/schedule.h"

#include <flydsl/flydsl.h>

#include <cstdint>
#include <functional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Runs the loop.
template <class SourceA, class SourceB> class RingARegsB {
public:
  RingARegsB(const LoopShape &shape, const TiledMma &mma, const SourceA &a, const SourceB &b,
             const Sums &sums)
      : shape_(shape), a_(a), b_(b), sums_(sums), ring_(ring(shape)),
        write_(a.tiledCopy().get_slice(thread_idx().x).partition_D(ring_)),
        fetchedA_(make_fragment_like(write_(_, _, _, 0))),
        atom_(make_copy_atom(UniversalCopy128b(), shape.form.a)),
        slice_(make_tiled_copy_B(atom_, mma).get_slice(thread_idx().x)),
        read_(slice_.partition_S(ring_)), fragmentsA_(partsOfA(shape, mma, 2)),
        fragmentsB_(partsOfB(shape, mma, 2 * shape.parts())) {}

  /// Adds all products to the sums.
  void run() const {
    const int steps = shape_.steps();
    if (steps == 1)
      a_.fetchLast(fetchedA_);
    else
      a_.fetch(0, fetchedA_);
    fetchB(0, 0, shape_.partsOf(0));
    sums_.start();
    copy(atom_, fetchedA_, write_(_, _, _, 0));
    if (steps > 1)
      fetchA(1);
    gpu::barrier();
    read(0, 0);
    // The loop runs pairs of steps that fetch whole tiles; the remaining steps follow.
    const int whole = shape_.k % shape_.tileK ? steps - 3 : steps - 2;
    const int looped = whole > 1 ? whole / 2 * 2 : 0;
    if (looped)
      for (Int32 k : range(0, looped, 2)) {
        step(k, 0, shape_.parts(), shape_.parts(), [&] { a_.fetch(k + 2, fetchedA_); });
        step(k + 1, 1, shape_.parts(), shape_.parts(), [&] { a_.fetch(k + 3, fetchedA_); });
      }
    for (int k = looped; k < steps; ++k) {
      const int following = k + 1 < steps ? shape_.partsOf(k + 1) : 0;
      if (k + 2 < steps)
        step(k, k % 2, shape_.partsOf(k), following, [&] { fetchA(k + 2); });
      else
        step(k, k % 2, shape_.partsOf(k), following);
    }
  }

private:
  static Tensor ring(const LoopShape &shape) {
    const DType dtype = shape.form.a;
    const XorSwizzle swizzle = xorSwizzle(shape.form.bytes(), shape.rowBytes(), ldsBanks(target()));
    return make_view(
        SharedAllocator().allocate(shape.ringBytes(), kPieceBytes).recast(dtype),
        make_composed_layout(swizzle.swizzle(),
                             make_ordered_layout({shape.tileM, shape.tileK, 2}, {1, 0, 2})));
    // (tileM, tileK, 2)
  }
  /// The two fragments of A take turns from part to part, over the steps too.
  const Tensor &fragmentA(int stage, int part) const {
    return fragmentsA_[static_cast<std::size_t>((stage * shape_.parts() + part) % 2)];
  }
  const Tensor &fragmentB(int stage, int part, int half) const {
    return fragmentsB_[static_cast<std::size_t>((stage * shape_.parts() + part) * shape_.halves +
                                                half)];
  }
  void fetchA(int step) const {
    if (step == shape_.steps() - 1)
      a_.fetchLast(fetchedA_);
    else
      a_.fetch(step, fetchedA_);
  }
  void fetchB(const Int32 &step, int stage, int parts) const {
    for (int part = 0; part < parts; ++part)
      for (int half = 0; half < shape_.halves; ++half)
        b_.fetch(step, part, half, fragmentB(stage, part, half));
    sums_.fetch(step, stage, parts, false);
  }
  void read(int stage, int part) const {
    copy(atom_, read_(_, _, part, stage), slice_.retile(fragmentA(stage, part))(_, _, 0));
  }
  void multiply(int stage, int part, int parts) const {
    for (int half = 0; half < shape_.halves; ++half)
      sums_.add(half, stage, part, parts, fragmentB(stage, part, half), fragmentA(stage, part));
  }

  /// One step of `parts` parts; the step after it has `following` parts, or 0 if there is none.
  /// `ahead` fetches the tile of A of the step after that, if there is one.
  void step(const Int32 &k, int stage, int parts, int following,
            const std::function<void()> &ahead = nullptr) const {
    using Kind = Interleave::Kind;
    const int next = stage ^ 1;
    std::vector<Interleave> orders;
    if (following)
      fetchB(k + 1, next, following);
    for (int part = 0; part < parts; ++part) {
      Interleave order;
      if (part == 0 && following)
        order.add(Kind::vectorMemory, following * shape_.loadsB() + sums_.loads(following));
      if (part + 1 < parts) {
        read(stage, part + 1);
        order.add(Kind::ldsRead, shape_.reads());
      } else if (following) {
        copy(atom_, fetchedA_, write_(_, _, _, next));
        order.add(Kind::ldsWrite, shape_.loadsA());
        if (ahead) {
          ahead();
          order.add(Kind::vectorMemory, shape_.loadsA());
        }
        gpu::barrier();
        read(next, 0);
        order.then().add(Kind::ldsRead, shape_.reads());
      }
      multiply(stage, part, parts);
      orders.push_back(order);
    }
    for (const Interleave &order : orders)
      order.say(shape_.products());
    rocdl::sched_barrier(0);
  }

  LoopShape shape_;
  const SourceA &a_;
  const SourceB &b_;
  const Sums &sums_;
  Tensor ring_;     // (tileM, tileK, 2)
  Tensor write_;    // (V, m, k, 2)
  Tensor fetchedA_; // (V, m, k)
  CopyAtom atom_;
  ThrCopy slice_;
  Tensor read_; // (V, m, parts, 2)
  std::vector<Tensor> fragmentsA_, fragmentsB_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
