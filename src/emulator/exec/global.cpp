// The flat family: GLOBAL, FLAT, SCRATCH.
#include "emulator/exec/atomics.h"
#include "emulator/exec/memory_ops.h"
#include "emulator/exec/tables.h"

#include <iterator>

namespace flyemu {

namespace {
/// Lane addresses of the three segments. Scratch is kept lane by lane: lane i's bytes are at i *
/// scratchSize.
template <Enc Segment> struct FlatAddress {
  Wave &w;
  const Inst &i;
  const uint32_t *lo, *hi;
  uint64_t scalar;

  FlatAddress(Wave &wave, const Inst &inst) : w(wave), i(inst) {
    lo = w.row(i.src[0].index);
    hi = lo + kLanes;
    bool saddr = i.flags & kSaddr;
    if (Segment == Enc::Scratch)
      scalar = saddr ? w.s[i.src[2].index] : 0;
    else
      scalar = saddr ? w.s64(i.src[2].index) : 0;
    scalar += static_cast<uint64_t>(static_cast<int64_t>(i.offset));
  }

  uint8_t *at(unsigned lane, unsigned skip, unsigned bytes, bool write) const {
    uint64_t a;
    if constexpr (Segment == Enc::Scratch) {
      a = static_cast<uint32_t>(scalar + (i.flags & kVaddr ? lo[lane] : 0));
      return scratchAt(lane, a + skip, bytes, write);
    } else {
      a = scalar + lo[lane] + skip;
      if (!(i.flags & kSaddr))
        a += uint64_t(hi[lane]) << 32;
      if constexpr (Segment == Enc::Flat) {
        if (a >> 32 == kSharedAperture >> 32)
          return ldsAt(lane, static_cast<uint32_t>(a), bytes, write);
        if (a >> 32 == kPrivateAperture >> 32)
          return scratchAt(lane, static_cast<uint32_t>(a), bytes, write);
      }
      if (__builtin_expect(w.probe != nullptr, 0))
        w.probe->access(w, i, lane, Space::Global, a, bytes, write, false);
      return w.global(a, bytes, write, static_cast<int>(lane));
    }
  }

  bool bulk(uint64_t exec, uint32_t bytes, bool write, uint64_t *at) const {
    if constexpr (Segment != Enc::Global)
      return false;
    if (i.flags & kSaddr)
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        at[lane] = scalar + lo[lane];
    else
      for (unsigned lane = 0; lane < w.lanes; ++lane)
        at[lane] = scalar + (lo[lane] | uint64_t(hi[lane]) << 32);
    return inOneRange(w, exec, at, bytes, write);
  }

  uint8_t *scratchAt(unsigned lane, uint64_t offset, unsigned bytes, bool write) const {
    if (offset + bytes > w.scratchSize)
      throw WaveFault{"scratch access of " + std::to_string(bytes) + " bytes at offset " +
                          std::to_string(offset) + " of " + std::to_string(w.scratchSize),
                      static_cast<int>(lane), offset};
    if (w.probe)
      w.probe->access(w, i, lane, Space::Scratch, offset, bytes, write, false);
    return w.scratch + uint64_t(lane) * w.scratchSize + offset;
  }

  uint8_t *ldsAt(unsigned lane, uint64_t offset, unsigned bytes, bool write) const {
    if (w.probe)
      w.probe->access(w, i, lane, Space::Lds, offset, bytes, write, false);
    return offset + bytes > w.ldsSize ? nullptr : w.lds + offset;
  }
};

using Global = FlatAddress<Enc::Global>;
using Flat = FlatAddress<Enc::Flat>;
using Scratch = FlatAddress<Enc::Scratch>;

constexpr OpDef load(const char *name, Handler fn, uint32_t info) {
  return {name, fn, Class::VmemRead, Type::B32, {}, info};
}
constexpr OpDef store(const char *name, Handler fn, uint32_t info) {
  return {name, fn, Class::VmemWrite, Type::None, {}, info};
}
constexpr OpDef atomic(const char *name, Handler fn) {
  return {name, fn, Class::VmemWrite, Type::B32, {}, 0};
}

#define LOADS(P, A)                                                                                \
  load(P "_load_ubyte", loadOp<A>, 1), load(P "_load_sbyte", loadOp<A>, 1 | kSigned),              \
      load(P "_load_ushort", loadOp<A>, 2), load(P "_load_sshort", loadOp<A>, 2 | kSigned),        \
      load(P "_load_dword", loadOp<A>, 4), load(P "_load_dwordx2", loadOp<A>, 8),                  \
      load(P "_load_dwordx3", loadOp<A>, 12), load(P "_load_dwordx4", loadOp<A>, 16),              \
      load(P "_load_ubyte_d16", loadOp<A>, 1 | kD16),                                              \
      load(P "_load_ubyte_d16_hi", loadOp<A>, 1 | kD16High),                                       \
      load(P "_load_sbyte_d16", loadOp<A>, 1 | kSigned | kD16),                                    \
      load(P "_load_sbyte_d16_hi", loadOp<A>, 1 | kSigned | kD16High),                             \
      load(P "_load_short_d16", loadOp<A>, 2 | kD16),                                              \
      load(P "_load_short_d16_hi", loadOp<A>, 2 | kD16High),                                       \
      store(P "_store_byte", storeOp<A>, 1),                                                       \
      store(P "_store_byte_d16_hi", storeOp<A>, 1 | kD16High),                                     \
      store(P "_store_short", storeOp<A>, 2),                                                      \
      store(P "_store_short_d16_hi", storeOp<A>, 2 | kD16High),                                    \
      store(P "_store_dword", storeOp<A>, 4), store(P "_store_dwordx2", storeOp<A>, 8),            \
      store(P "_store_dwordx3", storeOp<A>, 12), store(P "_store_dwordx4", storeOp<A>, 16)

#define LOADS_TO_LDS(P, A)                                                                         \
  load(P "_load_lds_ubyte", loadOp<A>, 1 | kLdsTarget),                                            \
      load(P "_load_lds_sbyte", loadOp<A>, 1 | kSigned | kLdsTarget),                              \
      load(P "_load_lds_ushort", loadOp<A>, 2 | kLdsTarget),                                       \
      load(P "_load_lds_sshort", loadOp<A>, 2 | kSigned | kLdsTarget),                             \
      load(P "_load_lds_dword", loadOp<A>, 4 | kLdsTarget),                                        \
      load(P "_load_lds_dwordx3", loadOp<A>, 12 | kLdsTarget),                                     \
      load(P "_load_lds_dwordx4", loadOp<A>, 16 | kLdsTarget)

#define ATOMIC_PAIR(P, A, NAME, F)                                                                 \
  atomic(P "_atomic_" NAME, atomicOp<A, atomics::F, uint32_t>),                                    \
      atomic(P "_atomic_" NAME "_x2", atomicOp<A, atomics::F, uint64_t>)

#define ATOMICS(P, A)                                                                              \
  ATOMIC_PAIR(P, A, "swap", Swap), ATOMIC_PAIR(P, A, "cmpswap", CompareSwap),                      \
      ATOMIC_PAIR(P, A, "add", Add), ATOMIC_PAIR(P, A, "sub", Sub),                                \
      ATOMIC_PAIR(P, A, "smin", SMin), ATOMIC_PAIR(P, A, "umin", UMin),                            \
      ATOMIC_PAIR(P, A, "smax", SMax), ATOMIC_PAIR(P, A, "umax", UMax),                            \
      ATOMIC_PAIR(P, A, "and", And), ATOMIC_PAIR(P, A, "or", Or), ATOMIC_PAIR(P, A, "xor", Xor),   \
      ATOMIC_PAIR(P, A, "inc", Inc), ATOMIC_PAIR(P, A, "dec", Dec),                                \
      atomic(P "_atomic_csub", atomicOp<A, atomics::SubClamp, uint32_t>),                          \
      atomic(P "_atomic_csub_u32", atomicOp<A, atomics::SubClamp, uint32_t>),                      \
      atomic(P "_atomic_sub_clamp_u32", atomicOp<A, atomics::SubClamp, uint32_t>),                 \
      atomic(P "_atomic_cond_sub_u32", atomicOp<A, atomics::CondSub, uint32_t>),                   \
      atomic(P "_atomic_add_f32", atomicOp<A, atomics::FAdd, uint32_t>),                           \
      atomic(P "_atomic_fmin", atomicOp<A, atomics::FMinMax<false>, uint32_t>),                    \
      atomic(P "_atomic_fmax", atomicOp<A, atomics::FMinMax<true>, uint32_t>),                     \
      atomic(P "_atomic_min_f32", atomicOp<A, atomics::FMinMax<false>, uint32_t>),                 \
      atomic(P "_atomic_max_f32", atomicOp<A, atomics::FMinMax<true>, uint32_t>),                  \
      atomic(P "_atomic_min_num_f32", atomicOp<A, atomics::FMinMax<false>, uint32_t>),             \
      atomic(P "_atomic_max_num_f32", atomicOp<A, atomics::FMinMax<true>, uint32_t>),              \
      atomic(P "_atomic_add_f64", atomicOp<A, atomics::FAdd, uint64_t>),                           \
      atomic(P "_atomic_min_f64", atomicOp<A, atomics::FMinMax<false>, uint64_t>),                 \
      atomic(P "_atomic_max_f64", atomicOp<A, atomics::FMinMax<true>, uint64_t>),                  \
      atomic(P "_atomic_pk_add_f16", atomicOp<A, atomics::PkAddF16, uint32_t>),                    \
      atomic(P "_atomic_pk_add_bf16", atomicOp<A, atomics::PkAddBf16, uint32_t>)

constexpr OpDef kOps[] = {
    LOADS("global", Global),
    LOADS_TO_LDS("global", Global),
    ATOMICS("global", Global),
    LOADS("flat", Flat),
    ATOMICS("flat", Flat),
    LOADS("scratch", Scratch),
    LOADS_TO_LDS("scratch", Scratch),
};
} // namespace

OpTable tableGlobal() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
