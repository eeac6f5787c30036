// Ops that go through the tokens of a sequence with a state: convolutions and scans of state-space
// models, RWKV, gated linear attention, delta rules; and triangular systems. The rows of a state are
// independent of one another, so a thread takes a row through all tokens; the state stays in the result,
// where the next call finds it. Source: the functions of these names in ggml-cpu/ops.cpp.
#include "ops/op.h"

#include <cmath>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// f32 numbers from an address on.
struct Floats {
  Int64 address;

  fx::Pointer at(const Int64 &i) const {
    return fx::Pointer::from_address(Int64(address + i * 4), fx::f32);
  }
  Numeric operator[](const Int64 &i) const { return at(i).load(); }
  void set(const Int64 &i, const Numeric &value) const { at(i).store(value); }
  Floats operator+(const Int64 &i) const { return {Int64(address + i * 4)}; }
};
Int64 wide(const Numeric &i) { return Int64(i.to(fx::i64)); }

/// Launches a thread for each of `total` rows; int 0 of the launch is their number.
void rows(const Run &run, const char *name, const ggml_tensor *op, std::int64_t total,
          std::vector<std::int32_t> own, std::vector<float> numbers,
          const std::function<void(const Traced &, const Int32 &)> &row) {
  Launch what{.name = name, .x = {operandOf(op)}};
  for (const ggml_tensor *source : op->src)
    if (source)
      what.x.push_back(operandOf(source));
  what.i = std::move(own);
  what.f = std::move(numbers);
  what.block = 64;
  run.threads(total, std::move(what), [=](const Traced &p, const fx::UInt32 &index) {
    row(p, Int32(index.to(fx::i32)));
  });
}

/// Keeps the state of `n` numbers that token `t` left in a slot before the newest one, if the result
/// has one for it: slot i is what was there i tokens before the end.
void keep(const Floats &state, const Int32 &n, const Int32 &t, const Int32 &tokens,
          const Int32 &slots, const Int64 &ofSlot) {
  const Int32 slot = tokens - 1 - t;
  fx::if_(slot > 0 && slot < slots, [&] {
    const Floats kept = state + wide(slot) * ofSlot;
    for (Int32 i : fx::range(0, n, 1))
      kept.set(wide(i), state[wide(i)]);
  });
}

//===-- State-space models ---------------------------------------------------===//

/// y[c, t, s] = sum over j of x[t + j, c, s] * w[j, c]
void runSsmConv(const Run &run, const ggml_tensor *op) {
  rows(run, "ssm_conv", op, ggml_nelements(op), {}, {}, [](const Traced &p, const Int32 &index) {
    const Place at = placeOf(fx::UInt32(index.to(fx::u32)), p.x[0].extent);
    const TracedOperand &x = p.x[1], &w = p.x[2];
    fx::Var<fx::Float32> sum(0.0f);
    for (Int32 j : fx::range(0, w.extent[0], 1))
      sum += rawAt(x, GGML_TYPE_F32, {at[1] + j, at[0], at[2], 0}) *
             rawAt(w, GGML_TYPE_F32, {j, at[0], 0, 0});
    storeAt(p.x[0], GGML_TYPE_F32, at, sum.get());
  });
}

/// state = state * exp(dt A) + B x dt, y = state . C, for each of dim * heads rows of a sequence.
void runSsmScan(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *s = op->src[0], *x = op->src[1];
  const bool scalar = op->src[3]->ne[0] == 1; // one factor for a head
  const std::int32_t snapshots = std::max(1, intParam(op, 0));
  const std::int64_t perSequence = s->ne[1] * x->ne[1];
  rows(run, scalar ? "ssm_scan_scalar" : "ssm_scan", op, perSequence * x->ne[3],
       {static_cast<std::int32_t>(ggml_nelements(x)), snapshots}, {},
       [=](const Traced &p, const Int32 &index) {
         const TracedOperand &s0 = p.x[1], &in = p.x[2], &dt = p.x[3], &a = p.x[4], &b = p.x[5],
                             &c = p.x[6];
         const Int32 n = s0.extent[0], dim = s0.extent[1], heads = in.extent[1],
                     tokens = in.extent[2], sequences = in.extent[3];
         const Int32 i1 = index % dim, h = index / dim % heads, seq = index / (dim * heads);
         const Int32 id(rawAt(p.x[7], GGML_TYPE_I32, {seq, 0, 0, 0}));
         const Int32 group = h / (heads / b.extent[1]);
         const Floats y{p.x[0].address}, states = y + wide(p.i[1]);
         const Int64 ofSlot = wide(n) * wide(dim * heads) * wide(sequences);
         const Int64 own = (wide(seq) * wide(heads * dim) + wide(h * dim + i1)) * wide(n);
         const Floats state = states + own;
         for (Int32 i : fx::range(0, n, 1))
           state.set(wide(i), rawAt(s0, GGML_TYPE_F32, {i, i1, h, id}));
         for (Int32 t : fx::range(0, tokens, 1)) {
           const Numeric raw = rawAt(dt, GGML_TYPE_F32, {h, t, seq, 0});
           const Numeric step =
               fx::select(raw > 20.0f, raw, fx::math::log(fx::math::exp(raw) + 1.0f));
           const Numeric input = rawAt(in, GGML_TYPE_F32, {i1, h, t, seq}) * step;
           fx::Var<fx::Float32> sum(0.0f);
           for (Int32 i : fx::range(0, n, 1)) {
             const Numeric decay = fx::math::exp(
                 step * rawAt(a, GGML_TYPE_F32, {scalar ? Int32(0) : i, h, 0, 0}));
             const Numeric now = state[wide(i)] * decay +
                                 rawAt(b, GGML_TYPE_F32, {i, group, t, seq}) * input;
             sum += now * rawAt(c, GGML_TYPE_F32, {i, group, t, seq});
             state.set(wide(i), now);
           }
           y.set(wide(seq) * wide(tokens * heads * dim) + wide((t * heads + h) * dim + i1),
                 sum.get());
           keep(state, n, t, tokens, p.i[2], ofSlot);
         }
       });
}

//===-- RWKV and gated linear attention --------------------------------------===//

/// The place of a row in tensors (size, heads, tokens), and of its state (size, size) of a head.
struct Head {
  Int32 j, head, sequence; ///< the row's number in its head
  Int32 size, heads, tokens;
  Floats state, before;

  /// In the result, the states of `sequences` sequences follow the rows of all tokens.
  Head(const Traced &p, const Int32 &index, const TracedOperand &like, const Int32 &sequences,
       const TracedOperand &states)
      : j(index % like.extent[0]), head(index / like.extent[0] % like.extent[1]),
        sequence(index / (like.extent[0] * like.extent[1])), size(like.extent[0]),
        heads(like.extent[1]), tokens(like.extent[2] / sequences),
        state(Floats{p.x[0].address} + wide(like.extent[2]) * wide(size * heads) + ofState()),
        before(Floats{states.address} + ofState()) {}

  Int64 ofState() const { return (wide(sequence * heads + head) * wide(size)) * wide(size); }
  /// The row of a token.
  Int64 ofToken(const Int32 &t) const {
    return wide((sequence * tokens + t) * heads + head) * wide(size);
  }
};
std::int64_t rowsOfHeads(const ggml_tensor *like, std::int64_t sequences) {
  return like->ne[0] * like->ne[1] * sequences;
}

/// WKV6: y_j = sum of r_i (k_i v_j u_i + S_ij), S_ij = S_ij w_i + k_i v_j. GLA: S first, then
/// y_j = scale * sum of q_i S_ij.
void runWkv6(const Run &run, const ggml_tensor *op) {
  const bool gla = op->op == GGML_OP_GATED_LINEAR_ATTN;
  const int decayAt = gla ? 4 : 5, stateAt = gla ? 5 : 6;
  const std::int64_t sequences = op->src[stateAt - 1]->ne[1];
  rows(run, gla ? "gla" : "wkv6", op, rowsOfHeads(op->src[1], sequences),
       {static_cast<std::int32_t>(sequences)}, {gla ? floatParam(op, 0) : 1.0f},
       [=](const Traced &p, const Int32 &index) {
         const Head at(p, index, p.x[2], p.i[1], p.x[stateAt]);
         const Floats k{p.x[1].address}, v{p.x[2].address}, r{p.x[3].address},
             bonus{p.x[4].address}, decay{p.x[decayAt].address}, y{p.x[0].address};
         const Int64 j = wide(at.j);
         for (Int32 i : fx::range(0, at.size, 1))
           at.state.set(wide(i * at.size) + j, at.before[wide(i * at.size) + j]);
         for (Int32 t : fx::range(0, at.tokens, 1)) {
           const Int64 row = at.ofToken(t);
           const Numeric value = v[row + j];
           fx::Var<fx::Float32> sum(0.0f);
           for (Int32 i : fx::range(0, at.size, 1)) {
             const Int64 of = row + wide(i), cell = wide(i * at.size) + j;
             const Numeric kv = k[of] * value, was = at.state[cell];
             const Numeric now = was * decay[of] + kv;
             sum += r[of] * (gla ? now
                                 : Numeric(kv * bonus[wide(at.head * at.size + i)] + was));
             at.state.set(cell, now);
           }
           y.set(row + j, sum.get() * p.f[0]);
         }
       });
}

/// S_ij = S_ij w_j + v_i k_j + (sum of a_j S_ij) b_j, y_i = sum of S_ij r_j
void runWkv7(const Run &run, const ggml_tensor *op) {
  const std::int64_t sequences = op->src[6]->ne[1];
  rows(run, "wkv7", op, rowsOfHeads(op->src[1], sequences),
       {static_cast<std::int32_t>(sequences)}, {}, [](const Traced &p, const Int32 &index) {
         const Head at(p, index, p.x[2], p.i[1], p.x[7]);
         const Floats r{p.x[1].address}, w{p.x[2].address}, k{p.x[3].address}, v{p.x[4].address},
             a{p.x[5].address}, b{p.x[6].address}, y{p.x[0].address};
         const Int64 first = wide(at.j * at.size);
         const Floats state = at.state + first, before = at.before + first;
         for (Int32 j : fx::range(0, at.size, 1))
           state.set(wide(j), before[wide(j)]);
         for (Int32 t : fx::range(0, at.tokens, 1)) {
           const Int64 row = at.ofToken(t);
           fx::Var<fx::Float32> along(0.0f), sum(0.0f);
           for (Int32 j : fx::range(0, at.size, 1))
             along += a[row + wide(j)] * state[wide(j)];
           const Numeric value = v[row + wide(at.j)];
           for (Int32 j : fx::range(0, at.size, 1)) {
             const Int64 of = row + wide(j);
             const Numeric now = state[wide(j)] * w[of] + value * k[of] + along.get() * b[of];
             state.set(wide(j), now);
             sum += now * r[of];
           }
           y.set(row + wide(at.j), sum.get());
         }
       });
}

//===-- Delta rule -----------------------------------------------------------===//

/// Row j of a head's state M: M_j *= exp(g), M_j += k (v_j - M_j . k) beta, y_j = M_j . q / sqrt(size).
void runDeltaNet(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *v = op->src[2];
  const bool gateOfRow = op->src[3]->ne[0] != 1; // a gate for each column, or one for all
  const std::int32_t snapshots = intParam(op, 0);
  rows(run, gateOfRow ? "delta_net_gates" : "delta_net", op, v->ne[0] * v->ne[1] * v->ne[3],
       {snapshots}, {1.0f / std::sqrt(static_cast<float>(v->ne[0]))},
       [=](const Traced &p, const Int32 &index) {
         const TracedOperand &q = p.x[1], &k = p.x[2], &x = p.x[3], &g = p.x[4], &beta = p.x[5],
                             &s = p.x[6];
         const Int32 size = x.extent[0], heads = x.extent[1], tokens = x.extent[2],
                     sequences = x.extent[3];
         const Int32 j = index % size, head = index / size % heads, seq = index / (size * heads);
         const Floats y{p.x[0].address};
         const Int64 perState = wide(size) * wide(size);
         const Int64 ofSlot = perState * wide(heads * sequences);
         const Floats state = y + wide(size * heads) * wide(tokens * sequences) +
                              wide(seq * heads + head) * perState + wide(j * size);
         const auto at = [&](const TracedOperand &of, const Int32 &i, const Int32 &t) {
           return rawAt(of, GGML_TYPE_F32,
                        {i, head % of.extent[1], t, seq / (sequences / of.extent[3])});
         };
         for (Int32 i : fx::range(0, size, 1))
           state.set(wide(i), rawAt(s, GGML_TYPE_F32, {i, j, head, seq}));
         for (Int32 t : fx::range(0, tokens, 1)) {
           fx::Var<fx::Float32> along(0.0f), sum(0.0f);
           for (Int32 i : fx::range(0, size, 1)) {
             const Numeric now =
                 state[wide(i)] * fx::math::exp(at(g, gateOfRow ? i : Int32(0), t));
             along += now * at(k, i, t);
             state.set(wide(i), now);
           }
           const Numeric delta = (at(x, j, t) - along.get()) * at(beta, 0, t);
           for (Int32 i : fx::range(0, size, 1)) {
             const Numeric now = state[wide(i)] + at(k, i, t) * delta;
             state.set(wide(i), now);
             sum += now * at(q, i, t);
           }
           y.set((wide(seq) * wide(tokens) + wide(t)) * wide(heads * size) +
                     wide(head * size + j),
                 sum.get() * p.f[0]);
           keep(state, size, t, tokens, p.i[1], ofSlot);
         }
       });
}

/// A thread solves a column: x_i = (b_i - sum over t < i of a_it x_t) / a_ii.
void runSolveTri(const Run &run, const ggml_tensor *op) {
  rows(run, "solve_tri", op, op->ne[0] * op->ne[2] * op->ne[3], {}, {},
       [](const Traced &p, const Int32 &index) {
         const TracedOperand &y = p.x[0], &a = p.x[1], &b = p.x[2];
         const Int32 column = index % y.extent[0], i2 = index / y.extent[0] % y.extent[2],
                     i3 = index / (y.extent[0] * y.extent[2]);
         for (Int32 i : fx::range(0, y.extent[1], 1)) {
           fx::Var<fx::Float32> sum(0.0f);
           for (Int32 t : fx::range(0, i, 1))
             sum += rawAt(a, GGML_TYPE_F32, {t, i, i2, i3}) *
                    rawAt(y, GGML_TYPE_F32, {column, t, i2, i3});
           storeAt(y, GGML_TYPE_F32, {column, i, i2, i3},
                   (rawAt(b, GGML_TYPE_F32, {column, i, i2, i3}) - sum.get()) /
                       rawAt(a, GGML_TYPE_F32, {i, i, i2, i3}));
         }
       });
}

bool allF32(const ggml_tensor *op) {
  for (const ggml_tensor *source : op->src)
    if (source && !isF32(source))
      return false;
  return isF32(op);
}
bool allContiguous(const ggml_tensor *op) {
  for (const ggml_tensor *source : op->src)
    if (source && !ggml_is_contiguous(source))
      return false;
  return allF32(op);
}
bool supportsScan(const ggml_tensor *op) {
  for (int i = 0; i < 6; ++i)
    if (!isF32(op->src[i]))
      return false;
  return isF32(op) && op->src[6]->type == GGML_TYPE_I32;
}

constexpr Op kOps[] = {
    {GGML_OP_SSM_CONV, allF32, runSsmConv},
    {GGML_OP_SSM_SCAN, supportsScan, runSsmScan},
    {GGML_OP_RWKV_WKV6, allContiguous, runWkv6},
    {GGML_OP_GATED_LINEAR_ATTN, allContiguous, runWkv6},
    {GGML_OP_RWKV_WKV7, allContiguous, runWkv7},
    {GGML_OP_GATED_DELTA_NET, allF32, runDeltaNet},
    {GGML_OP_SOLVE_TRI, allF32, runSolveTri},
};

} // namespace

std::span<const Op> sequenceOps() { return kOps; }

} // namespace flydsl_ggml
