// gfx1250: copies between global memory and LDS that pass no register, and prefetches.
//
// Each lane has an address in memory and one in LDS. The instruction's offset is added to both:
// rocjitsu's tests say so, and LLVM therefore folds no offset of a global address into such
// an instruction. A lane whose place is beyond the workgroup's LDS loads nothing, so that its global
// address may be any: by such places Triton leaves out what a mask excludes, past the end of a
// tensor too. A store from there stores zeros (rocjitsu).
#include "emulator/core/group.h"
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

/// The mask of workgroups that M0 has for a load of a cluster; 0 is a plain load (AITER's and
/// FlyDSL's kernels).
uint32_t workgroupsOf(Wave &w) {
  const uint32_t workgroups = w.m0();
  if (workgroups >> Cluster::kMostGroups)
    throw WaveFault{
        "a load for workgroups of a cluster, and bits of M0 beyond the mask's 16, which "
        "no source explains"};
  if (workgroups && !w.group->cluster)
    throw WaveFault{"a load for workgroups of a cluster, in a launch without clusters: there the "
                    "mask is 0"};
  return workgroups;
}

/// The load that memory sends to several workgroups at once: each of them makes it, and gets what it
/// asked for (AMD's Comgr and rocjitsu run it as the plain load).
template <Handler Plain, bool ToLds> void forCluster(Wave &w, const Inst &i) {
  if (const uint32_t workgroups = workgroupsOf(w)) {
    const FlatAddress<Enc::Global> address(w, i);
    const uint32_t *places = ToLds ? w.row(i.src[1].index) : nullptr;
    forLanes(w.exec(), [&](unsigned lane) {
      const uint64_t global =
          address.scalar + (i.flags & kSaddr
                                ? address.vectorOffset(lane)
                                : (address.lo[lane] | uint64_t(address.hi[lane]) << 32));
      w.group->cluster->request(w.group->rank,
                                {workgroups, global, ToLds ? places[lane] : lane, ToLds});
    });
  }
  Plain(w, i);
}

/// A hint, which may name any address (LLVM's AMDGPUUsage, "llvm.prefetch"; a no-op in rocjitsu).
void prefetch(Wave &, const Inst &) {}

constexpr OpDef load(const char *name, uint8_t bytes, Handler fn = copy<true>) {
  return {name,
          fn,
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

constexpr OpDef clusterCopy(const char *name, uint8_t bytes) {
  return load(name, bytes, forCluster<copy<true>, true>);
}
constexpr OpDef clusterLoad(const char *name, uint8_t bytes) {
  return {name,
          forCluster<loadOp<FlatAddress<Enc::Global>>, false>,
          Class::VmemRead,
          Type::B32,
          {},
          moves(bytes)};
}

constexpr OpDef kOps[] = {
    clusterCopy("cluster_load_async_to_lds_b8", 1),
    clusterCopy("cluster_load_async_to_lds_b32", 4),
    clusterCopy("cluster_load_async_to_lds_b64", 8),
    clusterCopy("cluster_load_async_to_lds_b128", 16),
    clusterLoad("cluster_load_b32", 4),
    clusterLoad("cluster_load_b64", 8),
    clusterLoad("cluster_load_b128", 16),
    load("global_load_async_to_lds_b8", 1),
    load("global_load_async_to_lds_b32", 4),
    load("global_load_async_to_lds_b64", 8),
    load("global_load_async_to_lds_b128", 16),
    store("global_store_async_from_lds_b8", 1),
    store("global_store_async_from_lds_b32", 4),
    store("global_store_async_from_lds_b64", 8),
    store("global_store_async_from_lds_b128", 16),
    {"global_prefetch_b8", prefetch, Class::Other},
    {"flat_prefetch_b8", prefetch, Class::Other},
};
} // namespace

OpTable tableAsync() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
