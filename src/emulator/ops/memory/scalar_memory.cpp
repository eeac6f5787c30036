// Scalar memory: loads, stores, buffer loads, cache control.
#include "emulator/ops/memory/atomics.h"
#include "emulator/ops/memory/memory_ops.h"
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
/// The offsets' sum. In scalar scratch accesses the register counts 64 bytes (one dword of each of
/// 16 lanes in the swizzled layout; Vega ISA, "Scalar Memory Addressing").
uint64_t offsetOf(const Wave &w, const Inst &i, uint64_t unit = 1) {
  uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(i.offset));
  if (i.flags & kScaleOffset)
    unit = i.op->transfer.bytes;
  if (i.src[2].kind != Kind::None)
    offset += read32(w, i.src[2]) * unit;
  return offset;
}

/// The registers that an access reads or writes. They must exist.
uint32_t *data(Wave &w, const Inst &i, unsigned dwords) {
  if (i.scalarData.index + dwords > 128 && i.scalarData.index < 128)
    throw WaveFault{"scalar memory access with registers that do not exist"};
  if (i.scalarData.index + dwords > std::size(w.s)) {
    // Loads to NULL: the values go nowhere.
    static thread_local uint32_t nowhere[16];
    return nowhere;
  }
  return &w.s[i.scalarData.index];
}

/// The bytes of an access that must be there. Memory has whole dwords, so the last one of a load
/// may reach past the end of an allocation: LLVM loads a uniform byte or half as the aligned dword
/// around it (AMDGPUCodeGenPrepare, SITargetLowering::widenLoad).
uint32_t neededBytes(uint32_t bytes, bool write) { return write || bytes < 4 ? bytes : bytes - 3; }

/// Reports the bytes of an access, at its address, to the probe.
void report(Wave &w, const Inst &i, uint64_t address, uint32_t bytes, bool write, bool isAtomic) {
  if (__builtin_expect(w.probe != nullptr, 0) && bytes)
    w.probe->access(w, i, 0, Space::Global, address, bytes, write, isAtomic);
}

/// Addresses of base and offset. place() says whether the bytes exist, and where; at() returns null for accesses out of a buffer's range, which do
/// not exist here.
struct Plain {
  static constexpr bool kShared = true; ///< not the wave's own memory
  static bool place(const Wave &w, const Inst &i, uint64_t skip, uint32_t bytes,
                    uint64_t &address) {
    uint64_t base = w.s64(i.src[0].index) + offsetOf(w, i);
    if (bytes >= 4)
      base &= ~uint64_t(3);
    address = base + skip;
    return true;
  }
  static uint8_t *at(Wave &w, const Inst &i, uint64_t skip, uint32_t bytes, bool write) {
    uint64_t address = 0;
    place(w, i, skip, bytes, address);
    return w.global(address, neededBytes(bytes, write), write, -1);
  }
};
struct Scratch {
  static constexpr bool kShared = false;
  static bool place(const Wave &w, const Inst &i, uint64_t skip, uint32_t, uint64_t &address) {
    address = ((w.s64(i.src[0].index) + offsetOf(w, i, 64)) & ~uint64_t(3)) + skip;
    return true;
  }
  static uint8_t *at(Wave &w, const Inst &i, uint64_t skip, uint32_t bytes, bool write) {
    uint64_t address = 0;
    place(w, i, skip, bytes, address);
    return w.global(address, bytes, write, -1);
  }
};
/// Through a descriptor: NUM_RECORDS counts bytes without a stride, else records. Accesses out of
/// range are null.
struct Buffer {
  static constexpr bool kShared = true;
  static bool place(const Wave &w, const Inst &i, uint64_t skip, uint32_t bytes,
                    uint64_t &address) {
    const uint32_t *d = w.s + i.src[0].index;
    const uint64_t base = d[0] | uint64_t(d[1] & 0xffff) << 32;
    const uint64_t stride = d[1] >> 16 & 0x3fff, limit = stride ? uint64_t(d[2]) * stride : d[2];
    uint64_t offset = static_cast<uint32_t>(i.offset);
    if (i.src[2].kind != Kind::None)
      offset += uint64_t(read32(w, i.src[2])) * (i.flags & kScaleOffset ? i.op->transfer.bytes : 1);
    if (bytes >= 4)
      offset &= ~uint64_t(3);
    address = (base & ~uint64_t(3)) + offset + skip;
    return offset + skip + bytes <= limit;
  }
  static uint8_t *at(Wave &w, const Inst &i, uint64_t skip, uint32_t bytes, bool write) {
    uint64_t address = 0;
    return place(w, i, skip, bytes, address) ? w.global(address, bytes, write, -1) : nullptr;
  }
};

/// Reports those of an access's pieces, of `piece` bytes each, that exist: the first ones.
template <class A>
void reportPieces(Wave &w, const Inst &i, uint32_t bytes, uint32_t piece, bool write,
                  bool isAtomic = false) {
  if (!A::kShared || __builtin_expect(w.probe == nullptr, 1))
    return;
  uint64_t first = 0, address = 0;
  uint32_t there = 0;
  A::place(w, i, 0, bytes >= 4 ? 4 : piece, first);
  while (there < bytes && A::place(w, i, there, piece, address))
    there += piece;
  report(w, i, first, there, write, isAtomic);
}

/// Dwords in one piece where all of them are plain memory, else one by one.
template <class A> void load(Wave &w, const Inst &i) {
  const uint32_t bytes = i.op->transfer.bytes;
  uint32_t x[16] = {};
  reportPieces<A>(w, i, bytes, 4, false);
  if constexpr (std::is_same_v<A, Buffer>) {
    for (unsigned d = 0; d < bytes / 4; ++d)
      if (const uint8_t *p = A::at(w, i, 4 * d, 4, false))
        std::memcpy(&x[d], p, 4);
  } else {
    std::memcpy(x, A::at(w, i, 0, bytes, false), bytes);
  }
  std::memcpy(data(w, i, bytes / 4), x, bytes);
}

template <class A, class T> void loadPart(Wave &w, const Inst &i) {
  T x = 0;
  reportPieces<A>(w, i, sizeof(T), sizeof(T), false);
  if (const uint8_t *p = A::at(w, i, 0, sizeof(T), false))
    std::memcpy(&x, p, sizeof(T));
  *data(w, i, 1) = static_cast<uint32_t>(static_cast<int32_t>(x));
}

template <class A> void store(Wave &w, const Inst &i) {
  const uint32_t bytes = i.op->transfer.bytes, dwords = bytes / 4;
  const uint32_t *from = data(w, i, dwords);
  reportPieces<A>(w, i, bytes, 4, true);
  for (unsigned d = 0; d < dwords; ++d)
    if (uint8_t *p = A::at(w, i, 4 * d, 4, true))
      std::memcpy(p, &from[d], 4);
}

/// The data's registers get the old value where the instruction returns it; of a compare-and-swap,
/// the data come first and the comparand follows.
template <class A, class F, class T> void atomic(Wave &w, const Inst &i) {
  constexpr unsigned kDwords = sizeof(T) / 4;
  uint32_t *registers = data(w, i, F::kCompare ? 2 * kDwords : kDwords);
  T x, compare = 0, old = 0;
  std::memcpy(&x, registers, sizeof(T));
  if constexpr (F::kCompare)
    std::memcpy(&compare, registers + kDwords, sizeof(T));
  reportPieces<A>(w, i, sizeof(T), sizeof(T), true, true);
  if (uint8_t *p = A::at(w, i, 0, sizeof(T), true)) {
    if (reinterpret_cast<uintptr_t>(p) % sizeof(T))
      throw WaveFault{"misaligned atomic", -1, reinterpret_cast<uint64_t>(p)};
    old = atomicUpdate<T>(p, [&](T m) { return F::apply(m, x, compare); });
  }
  if (i.flags & kGlc)
    std::memcpy(registers, &old, sizeof(T));
}

constexpr auto kNothing = [](Wave &, const Inst &) {};
/// Bytes at an address, or at an offset into a buffer where the policy says so.
template <class A> consteval OpDef op(const char *name, Handler fn, uint8_t bytes, Flow flow) {
  const TraitSet traits = std::is_same_v<A, Buffer> ? TraitSet(Trait::DescriptorBase) : TraitSet();
  return OpDef{name, fn, Class::Smem, Type::None, {}, moves(bytes), traits}.flows(flow);
}
consteval OpDef control(const char *name) {
  return plain(name, Class::Smem, kNothing).flows(Flow::None);
}

#define ATOMIC(P, A, NAME, F)                                                                      \
  op<A>(P "_atomic_" NAME, atomic<A, atomics::F, uint32_t>, 4, Flow::Atomic),                      \
      op<A>(P "_atomic_" NAME "_x2", atomic<A, atomics::F, uint64_t>, 8, Flow::Atomic)
#define ATOMICS(P, A)                                                                              \
  ATOMIC(P, A, "swap", Swap), ATOMIC(P, A, "cmpswap", CompareSwap), ATOMIC(P, A, "add", Add),      \
      ATOMIC(P, A, "sub", Sub), ATOMIC(P, A, "smin", SMin), ATOMIC(P, A, "umin", UMin),            \
      ATOMIC(P, A, "smax", SMax), ATOMIC(P, A, "umax", UMax), ATOMIC(P, A, "and", And),            \
      ATOMIC(P, A, "or", Or), ATOMIC(P, A, "xor", Xor), ATOMIC(P, A, "inc", Inc),                  \
      ATOMIC(P, A, "dec", Dec)

constexpr OpDef kOps[] = {
    ATOMICS("s", Plain),
    ATOMICS("s_buffer", Buffer),
    op<Scratch>("s_scratch_load_dword", load<Scratch>, 4, Flow::Load),
    op<Scratch>("s_scratch_load_dwordx2", load<Scratch>, 8, Flow::Load),
    op<Scratch>("s_scratch_load_dwordx4", load<Scratch>, 16, Flow::Load),
    op<Scratch>("s_scratch_store_dword", store<Scratch>, 4, Flow::Store),
    op<Scratch>("s_scratch_store_dwordx2", store<Scratch>, 8, Flow::Store),
    op<Scratch>("s_scratch_store_dwordx4", store<Scratch>, 16, Flow::Store),
    op<Buffer>("s_buffer_store_dword", store<Buffer>, 4, Flow::Store),
    op<Buffer>("s_buffer_store_dwordx2", store<Buffer>, 8, Flow::Store),
    op<Buffer>("s_buffer_store_dwordx4", store<Buffer>, 16, Flow::Store),
    op<Buffer>("s_buffer_load_i8", loadPart<Buffer, int8_t>, 1, Flow::Load),
    op<Buffer>("s_buffer_load_u8", loadPart<Buffer, uint8_t>, 1, Flow::Load),
    op<Buffer>("s_buffer_load_i16", loadPart<Buffer, int16_t>, 2, Flow::Load),
    op<Buffer>("s_buffer_load_u16", loadPart<Buffer, uint16_t>, 2, Flow::Load),
    op<Plain>("s_load_dword", load<Plain>, 4, Flow::Load),
    op<Plain>("s_load_dwordx2", load<Plain>, 8, Flow::Load),
    op<Plain>("s_load_dwordx3", load<Plain>, 12, Flow::Load),
    op<Plain>("s_load_dwordx4", load<Plain>, 16, Flow::Load),
    op<Plain>("s_load_dwordx8", load<Plain>, 32, Flow::Load),
    op<Plain>("s_load_dwordx16", load<Plain>, 64, Flow::Load),
    op<Plain>("s_load_b32", load<Plain>, 4, Flow::Load),
    op<Plain>("s_load_b64", load<Plain>, 8, Flow::Load),
    op<Plain>("s_load_b96", load<Plain>, 12, Flow::Load),
    op<Plain>("s_load_b128", load<Plain>, 16, Flow::Load),
    op<Plain>("s_load_b256", load<Plain>, 32, Flow::Load),
    op<Plain>("s_load_b512", load<Plain>, 64, Flow::Load),
    op<Buffer>("s_buffer_load_b32", load<Buffer>, 4, Flow::Load),
    op<Buffer>("s_buffer_load_b64", load<Buffer>, 8, Flow::Load),
    op<Buffer>("s_buffer_load_b96", load<Buffer>, 12, Flow::Load),
    op<Buffer>("s_buffer_load_b128", load<Buffer>, 16, Flow::Load),
    op<Buffer>("s_buffer_load_b256", load<Buffer>, 32, Flow::Load),
    op<Buffer>("s_buffer_load_b512", load<Buffer>, 64, Flow::Load),
    op<Plain>("s_load_i8", loadPart<Plain, int8_t>, 1, Flow::Load),
    op<Plain>("s_load_u8", loadPart<Plain, uint8_t>, 1, Flow::Load),
    op<Plain>("s_load_i16", loadPart<Plain, int16_t>, 2, Flow::Load),
    op<Plain>("s_load_u16", loadPart<Plain, uint16_t>, 2, Flow::Load),
    op<Plain>("s_store_dword", store<Plain>, 4, Flow::Store),
    op<Plain>("s_store_dwordx2", store<Plain>, 8, Flow::Store),
    op<Plain>("s_store_dwordx4", store<Plain>, 16, Flow::Store),
    op<Buffer>("s_buffer_load_dword", load<Buffer>, 4, Flow::Load),
    op<Buffer>("s_buffer_load_dwordx2", load<Buffer>, 8, Flow::Load),
    op<Buffer>("s_buffer_load_dwordx3", load<Buffer>, 12, Flow::Load),
    op<Buffer>("s_buffer_load_dwordx4", load<Buffer>, 16, Flow::Load),
    op<Buffer>("s_buffer_load_dwordx8", load<Buffer>, 32, Flow::Load),
    op<Buffer>("s_buffer_load_dwordx16", load<Buffer>, 64, Flow::Load),
    // Address translation probes and cache control: memory is coherent here, and mapped or not.
    control("s_atc_probe"),
    control("s_atc_probe_buffer"),
    control("s_dcache_discard"),
    control("s_dcache_discard_x2"),
    control("s_dcache_inv"),
    control("s_dcache_wb"),
    control("s_dcache_inv_vol"),
    control("s_dcache_wb_vol"),
    control("s_gl1_inv"),
    control("s_prefetch_inst"),
    control("s_prefetch_inst_pc_rel"),
    control("s_prefetch_data"),
    control("s_prefetch_data_pc_rel"),
    control("s_buffer_prefetch_data"),
};
} // namespace

OpTable tableSmem() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
