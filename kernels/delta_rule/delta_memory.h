// The operands of linear attention as tensors of a block: those of one sequence and one head of v.
#pragma once

#include "delta_rule/delta_rule_family.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/argument.h>

#include <cmath>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

using DeltaTraced = DeltaRuleParams<OnDevice>;

/// What fla and the models' own code add to a sum of squares before its root.
inline constexpr float kNormEps = 1e-6f;

class DeltaMemory {
public:
  /// Of the sequence block_idx().z and the head block_idx().y of v. `columns`: those of the state that
  /// a lane loads together, whose places are aligned to so many.
  DeltaMemory(const DeltaTraced &params, const DeltaRuleProblem &problem, int columns)
      : problem_(problem), p_(params), columns_(columns), head_(block_idx().y),
        keyHead_(head_ / (problem.v_heads / problem.heads)), sequence_(block_idx().z),
        slot_(p_.stateSlots.view(i32, grid_dim().z)(sequence_)) {} // (n)

  Boolean inState() const { return Boolean((slot_ >= 0) & (slot_ < p_.slots)); }
  /// The sequence's tokens, and whether its state begins as zeros.
  Int32 begin() const { return starts()(sequence_).to<Int32>(); }
  Int32 end() const { return starts()(sequence_ + 1).to<Int32>(); }
  Boolean isFresh() const {
    return Boolean(p_.fresh.view(u8, grid_dim().z)(sequence_) != UInt8(0)); // (n)
  }

  Tensor q() const { return keys(p_.q); }               // (m, key)
  Tensor k() const { return keys(p_.k); }               // (m, key)
  Tensor v() const { return values(p_.v, problem_.x); } // (m, value)
  Tensor y() const { return values(p_.y, problem_.y); } // (m, value)
  /// The same by arguments that are read again.
  Tensor vReadAgain() const { return values(read_again(p_.v), problem_.x); } // (m, value)
  Tensor yReadAgain() const { return values(read_again(p_.y), problem_.y); } // (m, value)
  Tensor beta() const { return gates(p_.beta); }                             // (m)
  Tensor g() const {                                                         // (m)
    return gates({.address = p_.g.address, .stride = {p_.g.stride[0]}});
  }
  Tensor channelsOfG() const { // (m, key)
    const Tensor all = p_.g.view(problem_.gate, {p_.tokens, problem_.v_heads, problem_.key},
                                 problem_.gate.bytes() * kDeltaAlign); // (m, v_heads, key)
    return all(_, head_, _);                                           // (m, key)
  }
  /// What a head has of its own.
  Numeric a() const { return ofHead(p_.a); }
  Numeric dtBias() const { return ofHead(p_.dtBias); }
  Numeric skip() const { return ofHead(p_.skip); }
  Tensor channelsOfDtBias() const { // (key)
    const Tensor all = p_.dtBias.view(f32, {problem_.v_heads, problem_.key},
                                      f32.bytes() * kDeltaAlign); // (v_heads, key)
    return all(head_, _);                                         // (key)
  }
  /// Of a slot that there is.
  Tensor state() const { return stateOf(p_); } // (key, value)
  /// The same by arguments that are read again, for results after a long loop: no register holds them in between.
  Tensor stateReadAgain() const { return stateOf(read_again(p_)); } // (key, value)

private:
  Tensor stateOf(const DeltaTraced &p) const {
    const Tensor all = p.state.view(f32, {p.slots, problem_.v_heads, problem_.key, problem_.value},
                                    4 * columns_); // (slots, v_heads, key, value)
    return all(slot_, head_, _, _);                // (key, value)
  }
  Tensor starts() const { return p_.starts.view(i32, grid_dim().z + 1); } // (n + 1)
  Tensor keys(const Strided<OnDevice, 2> &of) const {
    const Tensor all = of.view(problem_.x, {p_.tokens, problem_.heads, problem_.key},
                               problem_.x.bytes() * kDeltaAlign); // (m, heads, key)
    return all(_, keyHead_, _);                                   // (m, key)
  }
  Tensor values(const Strided<OnDevice, 2> &of, DType type) const {
    const Tensor all = of.view(type, {p_.tokens, problem_.v_heads, problem_.value},
                               type.bytes() * columns_); // (m, v_heads, value)
    return all(_, head_, _);                             // (m, value)
  }
  Numeric ofHead(const Strided<OnDevice, 0> &of) const {
    return of.view(f32, problem_.v_heads)(head_); // (v_heads)
  }
  Tensor gates(const Strided<OnDevice, 1> &of) const {
    return of.view(problem_.gate, {p_.tokens, problem_.v_heads})(_, head_); // (tokens)
  }

  const DeltaRuleProblem &problem_;
  const DeltaTraced &p_;
  int columns_;
  Int32 head_, keyHead_, sequence_;
  Numeric slot_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
