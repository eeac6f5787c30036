// Linear attention and state-space models: a state of each head instead of a cache.
//
//   the gated delta rule   Yang, Kautz and Hatamizadeh, "Gated Delta Networks", arXiv 2412.06464
//   Kimi Delta Attention   a decay of each channel of the keys: Kimi Team, arXiv 2510.26692
//   Mamba-2's SSD          no delta: Dao and Gu, "Transformers are SSMs", arXiv 2405.21060
//
// They are one recurrence, with a state of the same shape, and differ in what a token adds to it and
// in how its gates are made. So they are one family.
#pragma once

#include <flydsl/kernels/plan.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What a token adds to a state; see DeltaRuleProblem.
enum class StateUpdate : std::uint8_t {
  delta, ///< what the state does not know of v: Qwen3-Next, Kimi Linear
  add,   ///< v: Mamba-2's SSD, gated linear attention, retention
};

/// What `g` is.
enum class DecayGate : std::uint8_t {
  given,    ///< the logarithm of the decay
  softplus, ///< of it a step dt = log(1 + exp(g + dt_bias)) is made; the logarithm is a dt
};

/// What `beta` is.
enum class UpdateStrength : std::uint8_t {
  given,   ///< the factor of what a token adds
  sigmoid, ///< the factor is 1 / (1 + exp(-beta))
  step,    ///< there is no `beta`; the factor is the dt of DecayGate::softplus
};

/// For each sequence and each head of v, the tokens t of the sequence in their order, with the
/// state S (key, value) of the head in f32:
///
///   S = exp(g[t]) S                                    the decay; g is at most 0
///   d = beta[t] (v[t] - transposed(S) k[t])            what the state does not know of v
///   S = S + k[t] transposed(d)
///   y[t] = scale transposed(S) q[t]
///
/// With StateUpdate::add, d = beta[t] v[t]. With `by_channel`, row r of S has a decay of its own,
/// exp(g[t, r]). With `skip`, skip v[t] is added to y[t].
///
/// Mamba-2's C, B, x, dt, A, dt_bias and D are q, k, v, g, a, dt_bias and skip, its groups `heads`,
/// its heads `v_heads`, its state size `key` and its head dimension `value`:
///
///   {.heads = groups, .v_heads = heads, .key = state_size, .value = head_dim,
///    .update = StateUpdate::add, .decay = DecayGate::softplus, .strength = UpdateStrength::step,
///    .skip = true}
///
/// Head h of v has head h / (v_heads / heads) of q and k. The state is f32. In the
/// recurrent form all of it is computed in f32, and y is rounded once; the chunked
/// form rounds operands of products to x.
struct FLYDSL_API DeltaRuleProblem {
  DType x = bf16;         ///< of q, k and v: f32, f16 or bf16
  DType y = bf16;         ///< f32, f16 or bf16
  DType gate = f32;       ///< of g and beta: f32, f16 or bf16
  int heads = 1;          ///< of q and k
  int v_heads = 1;        ///< of v, g, beta, the state and y: a multiple of `heads`
  int key = 128;          ///< elements of a head of q and k: 16, 32, ... 128, 160, ... 256
  int value = 128;        ///< elements of a head of v: a multiple of 16, 16 to 512
  bool normalise = false; ///< q and k are x / sqrt(sum(x^2) + 1e-6), by head
  double scale = 0;       ///< 0: 1 / sqrt(key), and with StateUpdate::add 1
  bool fresh = false;     ///< there is the argument `fresh`
  StateUpdate update = StateUpdate::delta;
  DecayGate decay = DecayGate::given;
  UpdateStrength strength = UpdateStrength::given;
  bool by_channel = false; ///< g has a number for each element of a head of k
  double dt_min = 0;       ///< of DecayGate::softplus: a smaller dt is so much
  double dt_max = 0;       ///< a larger dt is so much; 0: there is no limit
  bool skip = false;       ///< there is the argument `skip`
  /// Sequences have many tokens: `choose` takes the chunked form where there is one.
  bool prefill = false;
  friend bool operator==(const DeltaRuleProblem &, const DeltaRuleProblem &) = default;
};

/// How a head's state is shared among threads.
///
/// The recurrent form takes a token after another: `key_lanes` lanes lie along the state's rows,
/// and block / key_lanes along its columns; each of these has 4 columns.
///
/// The chunked form takes 32 tokens at a time (16 on RDNA) by matrix instructions; each wave has 16
/// columns. Types: f16 and bf16. Keys: 128 and 256 elements; with decays of channels 128. All targets
/// but gfx1250 have it; `choose` takes it where a problem says `prefill`.
struct FLYDSL_API DeltaRuleConfig {
  int key_lanes = 8;   ///< a power of two up to the wave, which divides `key`; in chunks the wave
  int block = 256;     ///< threads of a block, a multiple of the wave
  bool chunks = false; ///< the chunked form
  friend bool operator==(const DeltaRuleConfig &, const DeltaRuleConfig &) = default;
};

/// The tensors of a call with m tokens of n sequences. Tokens and heads may lie at any distance;
/// the elements of a head are contiguous.
struct FLYDSL_API DeltaRuleArgs {
  TensorArg q, k; ///< (m, heads, key)
  TensorArg v;    ///< (m, v_heads, value)
  TensorArg g;    ///< (m, v_heads), `gate`, contiguous rows; by_channel: (m, v_heads, key)
  std::optional<TensorArg> beta = {}; ///< (m, v_heads), `gate`, contiguous rows
  /// (n + 1), i32, contiguous: sequence i has the tokens from starts[i] to below starts[i + 1].
  TensorArg starts;
  /// (slots, v_heads, key, value), f32, read and written; slots and heads at any distance.
  TensorArg state;
  /// (n), i32, contiguous: the slot of each sequence. A sequence whose slot is negative or past the
  /// state is left out: nothing is read or written for it. No two have the same slot.
  TensorArg state_slots;
  /// (n), u8, contiguous: a sequence whose number is not 0 starts with a state of zeros, and the
  /// memory of its state is not read.
  std::optional<TensorArg> fresh = {};
  /// Of DecayGate::softplus: (v_heads), f32, contiguous, at most 0. Checkpoints have A_log instead;
  /// a is -exp(A_log).
  std::optional<TensorArg> a = {};
  /// Of DecayGate::softplus: (v_heads), f32, contiguous; by_channel: (v_heads, key).
  std::optional<TensorArg> dt_bias = {};
  std::optional<TensorArg> skip = {}; ///< (v_heads), f32, contiguous
  TensorArg y;                        ///< (m, v_heads, value)
};

template <> struct FamilyOf<DeltaRuleProblem> {
  using Config = DeltaRuleConfig;
  using Args = DeltaRuleArgs;
  static constexpr std::string_view name = "delta_rule";
};
using DeltaRulePlan = Plan<DeltaRuleProblem>;

} // namespace kernels
FLYDSL_NAMESPACE_END
