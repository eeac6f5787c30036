// gfx1250: copies between global memory and LDS that pass no register, and prefetches.
//
// Each lane has an address in memory and one in LDS. The instruction's offset is added to both:
// rocjitsu's tests say so, and LLVM therefore folds no offset of a global address into such
// an instruction. A lane whose place is beyond the workgroup's LDS loads nothing, so that its global
// address may be any: by such places Triton leaves out what a mask excludes, past the end of a
// tensor too. A store from there stores zeros (rocjitsu).
#include "emulator/ops/lds/lds.h"
#include "emulator/ops/memory/flat_address.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
template <bool ToLds> void copy(Wave &w, const Inst &i) {
  const FlatAddress<Enc::Global> address(w, i);
  const uint32_t *places = w.row(i.src[1].index);
  const unsigned bytes = i.op->transfer.bytes;
  // One after the other, because a check takes the accesses of one kind together.
  uint8_t *memory[kLanes], *lds[kLanes];
  forLanes(w.exec(), [&](unsigned lane) {
    lds[lane] = ldsPlace(w, i, lane, uint64_t(places[lane]) + static_cast<uint32_t>(i.offset),
                         bytes, ToLds);
  });
  forLanes(w.exec(), [&](unsigned lane) {
    memory[lane] = ToLds && !lds[lane] ? nullptr : address.at(lane, 0, bytes, !ToLds);
  });
  forLanes(w.exec(), [&](unsigned lane) {
    if (ToLds && lds[lane])
      std::memcpy(lds[lane], memory[lane], bytes);
    else if (!ToLds && lds[lane])
      std::memcpy(memory[lane], lds[lane], bytes);
    else if (!ToLds)
      std::memset(memory[lane], 0, bytes);
  });
  if (w.probe)
    w.probe->accessesDone(w, i);
}

/// A hint, which may name any address (LLVM's AMDGPUUsage, "llvm.prefetch"; a no-op in rocjitsu).
void prefetch(Wave &, const Inst &) {}

constexpr OpDef load(const char *name, uint8_t bytes) {
  return {name,
          copy<true>,
          Class::VmemRead,
          Type::None,
          {Type::None, Type::B32},
          moves(bytes).intoLds().asAsync()};
}
constexpr OpDef store(const char *name, uint8_t bytes) {
  return {name,
          copy<false>,
          Class::VmemWrite,
          Type::None,
          {Type::None, Type::B32},
          moves(bytes).asAsync()};
}

constexpr OpDef kOps[] = {
    load("global_load_async_to_lds_b8", 1),         load("global_load_async_to_lds_b32", 4),
    load("global_load_async_to_lds_b64", 8),        load("global_load_async_to_lds_b128", 16),
    store("global_store_async_from_lds_b8", 1),     store("global_store_async_from_lds_b32", 4),
    store("global_store_async_from_lds_b64", 8),    store("global_store_async_from_lds_b128", 16),
    {"global_prefetch_b8", prefetch, Class::Other}, {"flat_prefetch_b8", prefetch, Class::Other},
};
} // namespace

OpTable tableAsync() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
