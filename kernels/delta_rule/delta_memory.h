// The operands of the gated delta rule as a block sees them: those of
// one sequence and one head of v.
#pragma once

#include "delta_rule/delta_rule_family.h"

#include <flydsl/flydsl.h>

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using DeltaTraced = DeltaRuleParams<OnDevice>;

/// What fla and the models' own code add to a sum of squares before its root.
inline constexpr float kNormEps = 1e-6f;

class DeltaMemory {
public:
  /// Of the sequence block_idx().z and the head block_idx().y.
  DeltaMemory(const DeltaTraced &params, const DeltaRuleProblem &problem)
      : problem_(problem), p_(params), head_(block_idx().y), sequence_(block_idx().z),
        slot_(perSequence(p_.stateSlots, i32).to(i64)) {}

  const DeltaTraced &params() const { return p_; }
  Boolean inState() const { return Boolean((slot_ >= 0) & (slot_ < p_.slots)); }
  Int32 begin() const { return perSequence(p_.starts, i32).to<Int32>(); }
  Int32 end() const { return perSequence(p_.starts, i32, 1).to<Int32>(); }
  Numeric fresh() const { return perSequence(p_.fresh, u8); }

  /// An element of the state; the others of its row follow.
  Pointer state(const Int32 &row, const Int32 &column, int align = 1) const {
    const Numeric start = slot_ * p_.state.stride[0] + head_.to(i64) * p_.state.stride[1] +
                          (row * problem_.value + column).to(i64);
    return Pointer::from_address(p_.state.address + start * 4, f32, AddressSpace::global,
                                 4 * align);
  }
  /// Elements of a token's q or k.
  Vector head(const Strided<OnDevice, 2> &of, const Int32 &token, const Int32 &first,
              int count) const {
    const Int32 keyHead = head_ / (problem_.v_heads / problem_.heads);
    return place(of, token, keyHead, first, problem_.x, count).load(count);
  }
  /// Columns of a token's v or y.
  Pointer columns(const Strided<OnDevice, 2> &of, const Int32 &token, const Int32 &first,
                  DType dtype, int count) const {
    return place(of, token, head_, first, dtype, count);
  }
  /// A column of a token's v, in f32; and the same of y, which is written.
  Numeric value(const Int32 &token, const Int32 &column) const {
    return inF32(columns(p_.v, token, column, problem_.x, 1).load());
  }
  void storeY(const Int32 &token, const Int32 &column, const Numeric &value) const {
    columns(p_.y, token, column, problem_.y, 1)
        .store(problem_.y == f32 ? value : value.to(problem_.y));
  }
  /// g or beta of a token, in f32.
  Numeric gate(const Strided<OnDevice, 1> &of, const Int32 &token) const {
    const Numeric element = token.to(i64) * of.stride[0] + head_.to(i64);
    return inF32(
        Pointer::from_address(of.address + element * problem_.gate.bytes(), problem_.gate).load());
  }

private:
  Numeric perSequence(const Strided<OnDevice, 0> &of, DType dtype, int more = 0) const {
    return Pointer::from_address(of.address + (sequence_ + more).to(i64) * dtype.bytes(), dtype)
        .load();
  }
  static Numeric inF32(const Numeric &value) {
    return value.dtype() == f32 ? value : value.to(f32);
  }
  Pointer place(const Strided<OnDevice, 2> &of, const Int32 &token, const Int32 &head,
                const Int32 &first, DType dtype, int count) const {
    const Numeric element =
        token.to(i64) * of.stride[0] + head.to(i64) * of.stride[1] + first.to(i64);
    return Pointer::from_address(of.address + element * dtype.bytes(), dtype, AddressSpace::global,
                                 count * dtype.bytes());
  }

  const DeltaRuleProblem &problem_;
  const DeltaTraced &p_;
  Int32 head_, sequence_;
  Numeric slot_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
