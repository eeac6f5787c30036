// MUBUF: buffer loads, stores and atomics through a descriptor.
#include "emulator/core/weak_memory.h"
#include "emulator/ops/memory/atomics.h"
#include "emulator/ops/memory/buffer_address.h"
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
constexpr OpDef load(const char *name, Transfer transfer) {
  return {name, loadOp<BufferAddress>, Class::VmemRead, Type::B32, {}, transfer};
}
constexpr OpDef store(const char *name, Transfer transfer) {
  return {name, storeOp<BufferAddress>, Class::VmemWrite, Type::None, {}, transfer};
}
template <class F, class T> constexpr OpDef atomic(const char *name) {
  return {name, atomicOp<BufferAddress, F, T>, Class::VmemWrite, Type::B32, {},
          {},   atomics::kTraitsOf<F>};
}
/// Memory is coherent here but for the launches that ask for caches (WeakMemory).
consteval OpDef cache(const char *name, TraitSet effects) {
  return plain(name, Class::Other,
               [](Wave &w, const Inst &i) {
                 if (w.weak)
                   w.weak->control(w.cache, i);
               })
      .with(effects | Trait::Orders);
}

#define ATOMIC_PAIR(NAME, F)                                                                       \
  atomic<atomics::F, uint32_t>("buffer_atomic_" NAME),                                             \
      atomic<atomics::F, uint64_t>("buffer_atomic_" NAME "_x2")

constexpr OpDef kOps[] = {
    load("buffer_load_ubyte", moves(1)),
    load("buffer_load_sbyte", moves(1).asSigned()),
    load("buffer_load_ushort", moves(2)),
    load("buffer_load_sshort", moves(2).asSigned()),
    load("buffer_load_dword", moves(4)),
    load("buffer_load_dwordx2", moves(8)),
    load("buffer_load_dwordx3", moves(12)),
    load("buffer_load_dwordx4", moves(16)),
    load("buffer_load_ubyte_d16", moves(1).low()),
    load("buffer_load_ubyte_d16_hi", moves(1).high()),
    load("buffer_load_sbyte_d16", moves(1).asSigned().low()),
    load("buffer_load_sbyte_d16_hi", moves(1).asSigned().high()),
    load("buffer_load_short_d16", moves(2).low()),
    load("buffer_load_short_d16_hi", moves(2).high()),
    load("buffer_load_ubyte_lds", moves(1).intoLds()),
    load("buffer_load_sbyte_lds", moves(1).asSigned().intoLds()),
    load("buffer_load_ushort_lds", moves(2).intoLds()),
    load("buffer_load_sshort_lds", moves(2).asSigned().intoLds()),
    load("buffer_load_dword_lds", moves(4).intoLds()),
    load("buffer_load_dwordx3_lds", moves(12).intoLds()),
    load("buffer_load_dwordx4_lds", moves(16).intoLds()),
    store("buffer_store_byte", moves(1)),
    store("buffer_store_byte_d16_hi", moves(1).high()),
    store("buffer_store_short", moves(2)),
    store("buffer_store_short_d16_hi", moves(2).high()),
    store("buffer_store_dword", moves(4)),
    store("buffer_store_dwordx2", moves(8)),
    store("buffer_store_dwordx3", moves(12)),
    store("buffer_store_dwordx4", moves(16)),
    ATOMIC_PAIR("swap", Swap),
    ATOMIC_PAIR("cmpswap", CompareSwap),
    ATOMIC_PAIR("add", Add),
    ATOMIC_PAIR("sub", Sub),
    ATOMIC_PAIR("smin", SMin),
    ATOMIC_PAIR("umin", UMin),
    ATOMIC_PAIR("smax", SMax),
    ATOMIC_PAIR("umax", UMax),
    ATOMIC_PAIR("and", And),
    ATOMIC_PAIR("or", Or),
    ATOMIC_PAIR("xor", Xor),
    ATOMIC_PAIR("inc", Inc),
    ATOMIC_PAIR("dec", Dec),
    atomic<atomics::SubClamp, uint32_t>("buffer_atomic_csub"),
    atomic<atomics::SubClamp, uint32_t>("buffer_atomic_sub_clamp_u32"),
    atomic<atomics::CondSub, uint32_t>("buffer_atomic_cond_sub_u32"),
    atomic<atomics::FAdd, uint32_t>("buffer_atomic_add_f32"),
    atomic<atomics::FMinMax<false>, uint32_t>("buffer_atomic_fmin"),
    atomic<atomics::FMinMax<true>, uint32_t>("buffer_atomic_fmax"),
    atomic<atomics::FMinMax<false>, uint32_t>("buffer_atomic_min_f32"),
    atomic<atomics::FMinMax<true>, uint32_t>("buffer_atomic_max_f32"),
    atomic<atomics::FCompareSwap, uint32_t>("buffer_atomic_fcmpswap"),
    atomic<atomics::FAdd, uint64_t>("buffer_atomic_add_f64"),
    atomic<atomics::FMinMax<false>, uint64_t>("buffer_atomic_min_f64"),
    atomic<atomics::FMinMax<true>, uint64_t>("buffer_atomic_max_f64"),
    atomic<atomics::PkAddF16, uint32_t>("buffer_atomic_pk_add_f16"),
    atomic<atomics::PkAddBf16, uint32_t>("buffer_atomic_pk_add_bf16"),
    // Cache control. Of two levels of gfx11, the nearer one stands for both.
    cache("buffer_wbl2", Trait::WritesBack),
    cache("buffer_inv", Trait::Invalidates),
    cache("buffer_invl2", {}),
    cache("buffer_wbinvl1", Trait::Invalidates),
    cache("buffer_wbinvl1_vol", Trait::Invalidates),
    cache("buffer_gl0_inv", Trait::Invalidates),
    cache("buffer_gl1_inv", Trait::ForgetsDevice),
    cache("global_inv", {Trait::Invalidates, Trait::CountsAsLoad}),
    cache("global_wb", Trait::WritesBack),
    cache("global_wbinv", {Trait::WritesBack, Trait::Invalidates}),
};
} // namespace

OpTable tableBuffer() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
