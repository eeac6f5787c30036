// Scalar execution: turns a function of scalar values into a handler. Not compiled for several host
// levels.
#pragma once

#include "emulator/core/wave.h"
#include "emulator/isa/op.h"

#include <type_traits>

namespace flyemu {

template <class T> T readScalar(const Wave &w, const Operand &o) {
  if constexpr (sizeof(T) == 8)
    return static_cast<T>(read64(w, o));
  else
    return static_cast<T>(read32(w, o));
}

template <class T> void writeScalar(Wave &w, const Operand &o, T x) {
  if constexpr (sizeof(T) == 8) {
    w.setS64(o.index, static_cast<uint64_t>(x));
    if (o.index == kExec)
      w.setExec(static_cast<uint64_t>(x));
  } else {
    w.s[o.index] = static_cast<uint32_t>(x);
  }
}

template <class T> constexpr Type scalarType() { return sizeof(T) == 8 ? Type::B64 : Type::B32; }

template <class F, class D, class A, class B> void scalarOp2(Wave &w, const Inst &i) {
  writeScalar<D>(w, i.dst,
                 static_cast<D>(F{}(w, readScalar<A>(w, i.src[0]), readScalar<B>(w, i.src[1]))));
}
/// d = F(wave, a, b); F sets SCC itself.
template <class D, class A, class B, class F> constexpr OpDef sop2(const char *name, F) {
  return {name,
          scalarOp2<F, D, A, B>,
          Class::Salu,
          scalarType<D>(),
          {scalarType<A>(), scalarType<B>(), Type::None}};
}

template <class F, class D, class A> void scalarOp1(Wave &w, const Inst &i) {
  writeScalar<D>(w, i.dst, static_cast<D>(F{}(w, readScalar<A>(w, i.src[0]))));
}
template <class D, class A, class F> constexpr OpDef sop1(const char *name, F) {
  return {name,
          scalarOp1<F, D, A>,
          Class::Salu,
          scalarType<D>(),
          {scalarType<A>(), Type::None, Type::None}};
}

template <class F, class A, class B> void scalarCompare(Wave &w, const Inst &i) {
  w.scc = F{}(readScalar<A>(w, i.src[0]), readScalar<B>(w, i.src[1]));
}
/// SCC = F(a, b)
template <class A, class B, class F> constexpr OpDef sopc(const char *name, F) {
  return {name,
          scalarCompare<F, A, B>,
          Class::Salu,
          Type::None,
          {scalarType<A>(), scalarType<B>(), Type::None}};
}

/// A handler of its own: a function, or `F(wave, inst)`.
constexpr OpDef plain(const char *name, Class cls, Handler fn, Type s0 = Type::None,
                      Type s1 = Type::None, Type d = Type::None) {
  return {name, fn, cls, d, {s0, s1, Type::None}};
}
template <class F> void plainOp(Wave &w, const Inst &i) {
  static_assert(std::is_empty_v<F>, "a lambda without captures");
  F{}(w, i);
}
template <class F>
constexpr OpDef plain(const char *name, Class cls, F, Type s0 = Type::None, Type s1 = Type::None,
                      Type d = Type::None) {
  return {name, plainOp<F>, cls, d, {s0, s1, Type::None}};
}

} // namespace flyemu
