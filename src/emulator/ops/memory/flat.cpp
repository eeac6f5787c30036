// The flat family: GLOBAL, FLAT, SCRATCH.
#include "emulator/ops/memory/atomics.h"
#include "emulator/ops/memory/flat_address.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
using Global = FlatAddress<Enc::Global>;
using Flat = FlatAddress<Enc::Flat>;
using Scratch = FlatAddress<Enc::Scratch>;

/// Each lane's dword at the scalar address plus four times the lane.
struct AddTid {
  Wave &w;
  const Inst &i;
  uint64_t base;

  AddTid(Wave &wave, const Inst &inst) : w(wave), i(inst) {
    base = (i.flags & kSaddr ? w.s64(i.src[2].index) : 0) +
           static_cast<uint64_t>(static_cast<int64_t>(i.offset));
  }
  bool bulk(uint64_t, uint32_t, bool, uint64_t *) const { return false; }
  uint8_t *at(unsigned lane, unsigned skip, unsigned bytes, bool write) const {
    const uint64_t a = base + 4 * lane + skip;
    if (w.probe)
      w.probe->access(w, i, lane, Space::Global, a, bytes, write, false);
    return w.global(a, bytes, write, static_cast<int>(lane));
  }
};

/// Moves up to 32 registers, those whose bits in M0 are set, each from or to its own dword.
template <class A, bool Store> void block(Wave &w, const Inst &i) {
  const A address(w, i);
  const unsigned first = Store ? i.src[1].index : i.dst.index;
  if (first + 32 > w.target->accRow())
    throw WaveFault{"a block of registers beyond the file"};
  forLanes(w.exec(), [&](unsigned lane) {
    // The address registers may be among the block's.
    uint8_t *places[32] = {};
    for (unsigned r = 0; r < 32; ++r)
      if (w.m0() >> r & 1)
        places[r] = address.at(lane, 4 * r, 4, Store);
    for (unsigned r = 0; r < 32; ++r)
      if (uint8_t *p = places[r]) {
        uint32_t *x = &w.row(first + r)[lane];
        if (Store)
          std::memcpy(p, x, 4);
        else
          std::memcpy(x, p, 4);
      }
  });
  if (w.probe)
    w.probe->accessesDone(w, i);
}

constexpr OpDef load(const char *name, Handler fn, Transfer transfer) {
  return {name, fn, Class::VmemRead, Type::B32, {}, transfer};
}
constexpr OpDef store(const char *name, Handler fn, Transfer transfer) {
  return {name, fn, Class::VmemWrite, Type::None, {}, transfer};
}
constexpr OpDef atomic(const char *name, Handler fn, TraitSet traits = {}) {
  return {name, fn, Class::VmemWrite, Type::B32, {}, {}, traits};
}

#define LOADS(P, A)                                                                                \
  load(P "_load_ubyte", loadOp<A>, moves(1)),                                                      \
      load(P "_load_sbyte", loadOp<A>, moves(1).asSigned()),                                       \
      load(P "_load_ushort", loadOp<A>, moves(2)),                                                 \
      load(P "_load_sshort", loadOp<A>, moves(2).asSigned()),                                      \
      load(P "_load_dword", loadOp<A>, moves(4)), load(P "_load_dwordx2", loadOp<A>, moves(8)),    \
      load(P "_load_dwordx3", loadOp<A>, moves(12)),                                               \
      load(P "_load_dwordx4", loadOp<A>, moves(16)),                                               \
      load(P "_load_ubyte_d16", loadOp<A>, moves(1).low()),                                        \
      load(P "_load_ubyte_d16_hi", loadOp<A>, moves(1).high()),                                    \
      load(P "_load_sbyte_d16", loadOp<A>, moves(1).asSigned().low()),                             \
      load(P "_load_sbyte_d16_hi", loadOp<A>, moves(1).asSigned().high()),                         \
      load(P "_load_short_d16", loadOp<A>, moves(2).low()),                                        \
      load(P "_load_short_d16_hi", loadOp<A>, moves(2).high()),                                    \
      store(P "_store_byte", storeOp<A>, moves(1)),                                                \
      store(P "_store_byte_d16_hi", storeOp<A>, moves(1).high()),                                  \
      store(P "_store_short", storeOp<A>, moves(2)),                                               \
      store(P "_store_short_d16_hi", storeOp<A>, moves(2).high()),                                 \
      store(P "_store_dword", storeOp<A>, moves(4)),                                               \
      store(P "_store_dwordx2", storeOp<A>, moves(8)),                                             \
      store(P "_store_dwordx3", storeOp<A>, moves(12)),                                            \
      store(P "_store_dwordx4", storeOp<A>, moves(16))

#define LOADS_TO_LDS(P, A)                                                                         \
  load(P "_load_lds_ubyte", loadOp<A>, moves(1).intoLds()),                                        \
      load(P "_load_lds_sbyte", loadOp<A>, moves(1).asSigned().intoLds()),                         \
      load(P "_load_lds_ushort", loadOp<A>, moves(2).intoLds()),                                   \
      load(P "_load_lds_sshort", loadOp<A>, moves(2).asSigned().intoLds()),                        \
      load(P "_load_lds_dword", loadOp<A>, moves(4).intoLds()),                                    \
      load(P "_load_lds_dwordx3", loadOp<A>, moves(12).intoLds()),                                 \
      load(P "_load_lds_dwordx4", loadOp<A>, moves(16).intoLds())

#define ATOMIC_PAIR(P, A, NAME, F)                                                                 \
  atomic(P "_atomic_" NAME, atomicOp<A, atomics::F, uint32_t>, atomics::kTraitsOf<atomics::F>),    \
      atomic(P "_atomic_" NAME "_x2", atomicOp<A, atomics::F, uint64_t>,                           \
             atomics::kTraitsOf<atomics::F>)

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
      atomic(P "_atomic_fcmpswap", atomicOp<A, atomics::FCompareSwap, uint32_t>),                  \
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
    load("global_load_dword_addtid", loadOp<AddTid>, moves(4)).with(Trait::NoAddress),
    store("global_store_dword_addtid", storeOp<AddTid>, moves(4)).with(Trait::NoAddress),
    {"global_load_block", block<Global, false>, Class::VmemRead, Type::B1024, {}, moves(128)},
    {"global_store_block",
     block<Global, true>,
     Class::VmemWrite,
     Type::None,
     {Type::None, Type::B1024},
     moves(128)},
    {"scratch_load_block", block<Scratch, false>, Class::VmemRead, Type::B1024, {}, moves(128)},
    {"scratch_store_block",
     block<Scratch, true>,
     Class::VmemWrite,
     Type::None,
     {Type::None, Type::B1024},
     moves(128)},
};
} // namespace

OpTable tableGlobal() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
