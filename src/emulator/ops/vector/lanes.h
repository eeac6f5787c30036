// Lane-wise execution: turns a function of one lane's values into a handler over the lanes of a
// wave.
//
// Files that include this header are compiled once for each instruction-set level of the host
// (FLYEMU_LEVEL); all here and in lanes/ is in an anonymous namespace so that no code of one level
// can be linked into another. Lanes are processed in chunks of 32 by plain loops that compilers turn
// into vector code.
#pragma once

#include "emulator/core/wave.h"
#include "emulator/isa/op.h"
#include "emulator/ops/vector/lanes/arithmetic.h"
#include "emulator/ops/vector/lanes/extremes.h"
#include "emulator/ops/vector/lanes/halves.h"
#include "emulator/ops/vector/lanes/operands.h"

#include <immintrin.h>

#include <cstdint>
#include <cstring>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

#define FLYEMU_CONCAT2(a, b) a##b
#define FLYEMU_CONCAT(a, b) FLYEMU_CONCAT2(a, b)
/// Defines the function that hands a file's table to the registry of the level.
#define FLYEMU_EXPORT(name, ops)                                                                   \
  OpTable FLYEMU_CONCAT(table##name##_, FLYEMU_LEVEL)() { return {std::begin(ops), std::end(ops)}; }

namespace flyemu {
namespace {

template <class F, class D, class... S, size_t... K>
inline void laneChunk(const Wave &w, const Inst &inst, unsigned c, uint32_t m,
                      std::index_sequence<K...>) {
  alignas(64) uint64_t bufs[sizeof...(S)][kChunk]; // room for the widest lane type
  auto in = std::make_tuple(
      fetch<S>(w, inst.src[K], c, reinterpret_cast<typename S::type *>(bufs[K]))...);
  alignas(64) typename D::type r[kChunk];
  F f;
  FLYEMU_EACH (i)
    r[i] = static_cast<typename D::type>(f(std::get<K>(in)[i]...));
  store<D>(w, inst, c, m, r);
}

template <class... T> constexpr bool kAnyOf64 = (std::is_same_v<T, F64> || ...);
template <class... T> constexpr bool kAnyOf16 = (std::is_same_v<T, F16> || ...);

/// d[lane] = F(s0[lane], ...) for the lanes that EXEC has on.
template <class F, class D, class... S> void laneOp(Wave &w, const Inst &inst) {
  constexpr bool mixed =
      kAnyOf64<D, S...> && (std::is_same_v<D, F32> || (std::is_same_v<S, F32> || ...));
  FloatScope<kAnyOf64<D, S...>, std::is_same_v<D, F16>, mixed> scope(w);
  uint64_t exec = w.exec();
  for (unsigned c = 0; c * kChunk < w.lanes; ++c)
    if (uint32_t m = static_cast<uint32_t>(exec >> (c * kChunk)))
      laneChunk<F, D, S...>(w, inst, c, m, std::index_sequence_for<S...>());
}

template <class D, class... S> constexpr OpDef signature(const char *name, Handler fn) {
  OpDef def{name, fn, Class::Valu, D::kind, {}};
  constexpr Type kinds[] = {S::kind..., Type::None};
  for (unsigned i = 0; i < sizeof...(S); ++i)
    def.src[i] = kinds[i];
  return def;
}

/// A table line: `lane<F32, F32, F32>("v_add_f32", [](float a, float b) { return a + b; })`.
template <class D, class... S, class F> constexpr OpDef lane(const char *name, F) {
  return signature<D, S...>(name, laneOp<F, D, S...>);
}

/// As lane, but an instruction with the clamp bit computes G: integer saturation.
template <class F, class G, class D, class... S> void laneOpSaturating(Wave &w, const Inst &inst) {
  if (__builtin_expect(inst.flags & kClamp, 0))
    laneOp<G, D, S...>(w, inst);
  else
    laneOp<F, D, S...>(w, inst);
}
template <class D, class... S, class F, class G> constexpr OpDef laneSat(const char *name, F, G) {
  return signature<D, S...>(name, laneOpSaturating<F, G, D, S...>);
}

/// d = F(d, s0, s1): the multiply-accumulate forms, whose destination is the last source.
template <class F, class D, class S0, class S1> void laneAccOp(Wave &w, const Inst &inst) {
  Inst full = inst;
  full.src[2] = inst.dst;
  full.src[2].flags = inst.src[2].flags | (inst.dst.flags & kHigh);
  laneOp<F, D, S0, S1, D>(w, full);
}
template <class D, class S0, class S1, class F> constexpr OpDef laneAcc(const char *name, F) {
  return signature<D, S0, S1>(name, laneAccOp<F, D, S0, S1>);
}

/// The lanes for which p is true, as bits.
template <class P> inline uint32_t maskOf(P p) {
#if defined(__AVX512DQ__) || defined(__AVX2__)
  alignas(64) int32_t on[kChunk];
  FLYEMU_EACH (i)
    on[i] = p(i) ? -1 : 0;
#endif
  uint32_t bits = 0;
#if defined(__AVX512DQ__)
  bits = _mm512_movepi32_mask(_mm512_load_si512(on));
  bits |= static_cast<uint32_t>(_mm512_movepi32_mask(_mm512_load_si512(on + 16))) << 16;
#elif defined(__AVX2__)
  for (int i = 0; i < kChunk; i += 8)
    bits |= static_cast<uint32_t>(_mm256_movemask_ps(
                _mm256_castsi256_ps(_mm256_load_si256(reinterpret_cast<__m256i *>(on + i)))))
            << i;
#else
  for (int i = 0; i < kChunk; ++i)
    bits |= static_cast<uint32_t>(p(i)) << i;
#endif
  return bits;
}

/// As laneOp, but the function is G in IEEE mode.
template <class F, class G, class D, class... S> void laneOpModal(Wave &w, const Inst &i) {
  if (w.mode.ieee)
    laneOp<G, D, S...>(w, i);
  else
    laneOp<F, D, S...>(w, i);
}
template <class T, bool Max> constexpr OpDef minMax(const char *name) {
  using L = typename T::type;
  auto plain = [](L a, L b) { return extreme<Max, false>(a, b); };
  auto ieee = [](L a, L b) { return extreme<Max, true>(a, b); };
  return signature<T, T, T>(name, laneOpModal<decltype(plain), decltype(ieee), T, T, T>);
}
/// Second(First(a, b), c)
template <class T, bool First, bool Second> constexpr OpDef minMax3(const char *name) {
  using L = typename T::type;
  auto plain = [](L a, L b, L c) { return extreme<Second, false>(extreme<First, false>(a, b), c); };
  auto ieee = [](L a, L b, L c) { return extreme<Second, true>(extreme<First, true>(a, b), c); };
  return signature<T, T, T, T>(name, laneOpModal<decltype(plain), decltype(ieee), T, T, T, T>);
}
template <class T> constexpr OpDef median3(const char *name) {
  using L = typename T::type;
  auto plain = [](L a, L b, L c) { return median<false>(a, b, c); };
  auto ieee = [](L a, L b, L c) { return median<true>(a, b, c); };
  return signature<T, T, T, T>(name, laneOpModal<decltype(plain), decltype(ieee), T, T, T, T>);
}

} // namespace
} // namespace flyemu
