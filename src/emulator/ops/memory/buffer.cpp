// MUBUF: buffer loads, stores and atomics through a descriptor.
#include "emulator/core/weak_memory.h"
#include "emulator/ops/memory/atomics.h"
#include "emulator/ops/memory/buffer_address.h"
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
constexpr OpDef load(const char *name, uint32_t info) {
  return {name, loadOp<BufferAddress>, Class::VmemRead, Type::B32, {}, info};
}
constexpr OpDef store(const char *name, uint32_t info) {
  return {name, storeOp<BufferAddress>, Class::VmemWrite, Type::None, {}, info};
}
template <class F, class T> constexpr OpDef atomic(const char *name) {
  const uint32_t traits = std::is_same_v<F, atomics::Swap> ? kOverwrites : 0;
  return {name, atomicOp<BufferAddress, F, T>, Class::VmemWrite, Type::B32, {}, 0, traits};
}
/// Memory is coherent here but for the launches that ask for caches (WeakMemory).
consteval OpDef cache(const char *name, uint32_t effects) {
  return plain(name, Class::Other,
               [](Wave &w, const Inst &i) {
                 if (w.weak)
                   w.weak->control(w.cache, i);
               })
      .with(kOrders | effects);
}

#define ATOMIC_PAIR(NAME, F)                                                                       \
  atomic<atomics::F, uint32_t>("buffer_atomic_" NAME),                                             \
      atomic<atomics::F, uint64_t>("buffer_atomic_" NAME "_x2")

constexpr OpDef kOps[] = {
    load("buffer_load_ubyte", 1),
    load("buffer_load_sbyte", 1 | kSigned),
    load("buffer_load_ushort", 2),
    load("buffer_load_sshort", 2 | kSigned),
    load("buffer_load_dword", 4),
    load("buffer_load_dwordx2", 8),
    load("buffer_load_dwordx3", 12),
    load("buffer_load_dwordx4", 16),
    load("buffer_load_ubyte_d16", 1 | kD16),
    load("buffer_load_ubyte_d16_hi", 1 | kD16High),
    load("buffer_load_sbyte_d16", 1 | kSigned | kD16),
    load("buffer_load_sbyte_d16_hi", 1 | kSigned | kD16High),
    load("buffer_load_short_d16", 2 | kD16),
    load("buffer_load_short_d16_hi", 2 | kD16High),
    load("buffer_load_ubyte_lds", 1 | kLdsTarget),
    load("buffer_load_sbyte_lds", 1 | kSigned | kLdsTarget),
    load("buffer_load_ushort_lds", 2 | kLdsTarget),
    load("buffer_load_sshort_lds", 2 | kSigned | kLdsTarget),
    load("buffer_load_dword_lds", 4 | kLdsTarget),
    load("buffer_load_dwordx3_lds", 12 | kLdsTarget),
    load("buffer_load_dwordx4_lds", 16 | kLdsTarget),
    store("buffer_store_byte", 1),
    store("buffer_store_byte_d16_hi", 1 | kD16High),
    store("buffer_store_short", 2),
    store("buffer_store_short_d16_hi", 2 | kD16High),
    store("buffer_store_dword", 4),
    store("buffer_store_dwordx2", 8),
    store("buffer_store_dwordx3", 12),
    store("buffer_store_dwordx4", 16),
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
    cache("buffer_wbl2", kWritesBack),
    cache("buffer_inv", kInvalidates),
    cache("buffer_invl2", 0),
    cache("buffer_wbinvl1", kInvalidates),
    cache("buffer_wbinvl1_vol", kInvalidates),
    cache("buffer_gl0_inv", kInvalidates),
    cache("buffer_gl1_inv", kForgetsDevice),
    cache("global_inv", kInvalidates | kCountsAsLoad),
    cache("global_wb", kWritesBack),
    cache("global_wbinv", kWritesBack | kInvalidates),
};
} // namespace

OpTable tableBuffer() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
