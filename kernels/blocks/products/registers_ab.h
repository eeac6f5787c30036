// The main loop of products with so few rows of A that reading B is all the work: each wave loads
// its parts of both operands straight into registers, without shared memory and barriers. The waves
// of a block share K; their sums are added at the end, in shared memory, always in the same order.
//
// Wave w of W takes the steps w, w + W and so on, so that the waves together read B from front to
// back. The operands of a step are fetched while the step before it is multiplied.
#pragma once

#include "blocks/products/fragments_of_b.h"
#include "blocks/products/loop_schedule.h"
#include "blocks/products/product_sums.h"
#include "blocks/products/register_operand.h"
#include "blocks/products/turns.h"

#include <flydsl/flydsl.h>

#include <cstdint>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class RegistersAB {
public:
  /// `wave` is the number of the wave among those that share K.
  RegistersAB(const LoopShape &shape, const TiledMma &mma, const Int32 &wave,
              const RowsInRegisters &a, FragmentsOfB &b, const Sums &sums)
      : shape_(shape), wave_(wave), a_(a), b_(b), sums_(sums),
        fragmentsA_(partsOfA(shape, mma, 2 * shape.parts())) {}

  /// Adds the products of the wave's steps to its sums.
  void run() const {
    b_.forEachPolicy([&] {
      sums_.start();
      runRounds<Int32>(shape_, *this);
    });
  }

  // What runRounds calls.
  template <class Body> static void turns(int end, int stride, const Body &body) {
    impl::turns(end, stride, body);
  }
  void fetch(const Int32 &round, int set, bool guarded) const {
    const Int32 step = round * shape_.wavesK + wave_;
    for (int part = 0; part < shape_.parts(); ++part) {
      b_.fetchPart(step, set, part, guarded);
      a_.fetch(step, part, fragmentA(set, part), guarded);
    }
    sums_.fetch(step, set, shape_.parts(), guarded);
    // Otherwise the scheduler moves the loads down to where they are waited for.
    gpu::schedule_fence();
  }
  void multiply(int set) const {
    for (int part = 0; part < shape_.parts(); ++part)
      for (int half = 0; half < shape_.halves; ++half)
        sums_.add(half, set, part, shape_.parts(), b_.fragment(0, set, part, half),
                  fragmentA(set, part));
    gpu::schedule_fence();
  }

private:
  const Tensor &fragmentA(int set, int part) const {
    return fragmentsA_[static_cast<std::size_t>(set * shape_.parts() + part)];
  }

  LoopShape shape_;
  Int32 wave_;
  const RowsInRegisters &a_;
  FragmentsOfB &b_;
  const Sums &sums_;
  std::vector<Tensor> fragmentsA_; // (V, m, 1), of (set, part)
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
