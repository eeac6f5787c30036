// Scalar memory: loads, stores, buffer loads, cache control.
#include "emulator/exec/scalar.h"
#include "emulator/exec/tables.h"

#include <iterator>

namespace flyemu {

namespace {
uint64_t scalarAddress(Wave &w, const Inst &i) {
  uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(i.offset));
  if (i.src[2].kind != Kind::None)
    offset += read32(w, i.src[2]);
  return (w.s64(i.src[0].index) + offset) & ~uint64_t(3);
}

void put(Wave &w, const Inst &i, unsigned d, uint32_t x) {
  unsigned code = i.sdst.index + d;
  if (code >= 128)
    throw WaveFault{"scalar load into registers that do not exist"};
  w.s[code] = x;
}

void scalarLoad(Wave &w, const Inst &i) {
  unsigned bytes = i.op->info;
  const uint8_t *p = w.global(scalarAddress(w, i), bytes, false, -1);
  uint32_t x[16];
  std::memcpy(x, p, bytes);
  for (unsigned d = 0; d < bytes / 4; ++d)
    put(w, i, d, x[d]);
}

template <class T> void scalarLoadPart(Wave &w, const Inst &i) {
  uint64_t offset = static_cast<uint64_t>(static_cast<int64_t>(i.offset));
  if (i.src[2].kind != Kind::None)
    offset += read32(w, i.src[2]);
  T x;
  std::memcpy(&x, w.global(w.s64(i.src[0].index) + offset, sizeof(T), false, -1), sizeof(T));
  put(w, i, 0, static_cast<uint32_t>(static_cast<int32_t>(x)));
}

void scalarStore(Wave &w, const Inst &i) {
  unsigned bytes = i.op->info;
  std::memcpy(w.global(scalarAddress(w, i), bytes, true, -1), &w.s[i.sdst.index], bytes);
}

/// Through a descriptor: NUM_RECORDS counts bytes without a stride, else records; dwords out of
/// range give 0.
void scalarBufferLoad(Wave &w, const Inst &i) {
  const uint32_t *d = w.s + i.src[0].index;
  uint64_t base = d[0] | uint64_t(d[1] & 0xffff) << 32;
  uint64_t stride = d[1] >> 16 & 0x3fff, limit = stride ? uint64_t(d[2]) * stride : d[2];
  uint64_t offset = static_cast<uint32_t>(i.offset);
  if (i.src[2].kind != Kind::None)
    offset += read32(w, i.src[2]);
  offset &= ~uint64_t(3);
  uint32_t x[16] = {};
  for (unsigned k = 0; k < i.op->info / 4; ++k)
    if (offset + 4 * k + 4 <= limit)
      std::memcpy(&x[k], w.global((base & ~uint64_t(3)) + offset + 4 * k, 4, false, -1), 4);
  for (unsigned k = 0; k < i.op->info / 4; ++k)
    put(w, i, k, x[k]);
}

constexpr auto kNothing = [](Wave &, const Inst &) {};
constexpr OpDef op(const char *name, Handler fn, uint32_t info) {
  return {name, fn, Class::Smem, Type::None, {}, info};
}

constexpr OpDef kOps[] = {
    op("s_load_dword", scalarLoad, 4),
    op("s_load_dwordx2", scalarLoad, 8),
    op("s_load_dwordx3", scalarLoad, 12),
    op("s_load_dwordx4", scalarLoad, 16),
    op("s_load_dwordx8", scalarLoad, 32),
    op("s_load_dwordx16", scalarLoad, 64),
    op("s_load_b32", scalarLoad, 4),
    op("s_load_b64", scalarLoad, 8),
    op("s_load_b96", scalarLoad, 12),
    op("s_load_b128", scalarLoad, 16),
    op("s_load_b256", scalarLoad, 32),
    op("s_load_b512", scalarLoad, 64),
    op("s_buffer_load_b32", scalarBufferLoad, 4),
    op("s_buffer_load_b64", scalarBufferLoad, 8),
    op("s_buffer_load_b96", scalarBufferLoad, 12),
    op("s_buffer_load_b128", scalarBufferLoad, 16),
    op("s_buffer_load_b256", scalarBufferLoad, 32),
    op("s_buffer_load_b512", scalarBufferLoad, 64),
    op("s_load_i8", scalarLoadPart<int8_t>, 1),
    op("s_load_u8", scalarLoadPart<uint8_t>, 1),
    op("s_load_i16", scalarLoadPart<int16_t>, 2),
    op("s_load_u16", scalarLoadPart<uint16_t>, 2),
    op("s_store_dword", scalarStore, 4),
    op("s_store_dwordx2", scalarStore, 8),
    op("s_store_dwordx4", scalarStore, 16),
    op("s_buffer_load_dword", scalarBufferLoad, 4),
    op("s_buffer_load_dwordx2", scalarBufferLoad, 8),
    op("s_buffer_load_dwordx3", scalarBufferLoad, 12),
    op("s_buffer_load_dwordx4", scalarBufferLoad, 16),
    op("s_buffer_load_dwordx8", scalarBufferLoad, 32),
    op("s_buffer_load_dwordx16", scalarBufferLoad, 64),
    plain("s_dcache_inv", Class::Smem, kNothing),
    plain("s_dcache_wb", Class::Smem, kNothing),
    plain("s_dcache_inv_vol", Class::Smem, kNothing),
    plain("s_dcache_wb_vol", Class::Smem, kNothing),
    plain("s_gl1_inv", Class::Smem, kNothing),
    plain("s_prefetch_inst", Class::Smem, kNothing),
    plain("s_prefetch_inst_pc_rel", Class::Smem, kNothing),
    plain("s_prefetch_data", Class::Smem, kNothing),
    plain("s_prefetch_data_pc_rel", Class::Smem, kNothing),
    plain("s_buffer_prefetch_data", Class::Smem, kNothing),
};
} // namespace

OpTable tableSmem() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
