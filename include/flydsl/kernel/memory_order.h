// The order of memory accesses that several threads see, and fences.
#pragma once

#include <flydsl/kernel/numeric.h>

FLYDSL_NAMESPACE_BEGIN

/// What an atomic access promises of the thread's other accesses.
/// - `relaxed`: nothing.
/// - `acquire`, of a load: accesses after it see what was written before the release whose value
///   it reads.
/// - `release`, of a store: accesses before it are seen by whoever reads its value by an acquire.
/// - `acq_rel`, of an access that reads and writes: both.
/// - `seq_cst`: both, and all accesses of this order have one order that all threads agree on.
enum class MemoryOrder { relaxed, acquire, release, acq_rel, seq_cst };

/// The threads among which an atomic access or a fence is one: those of a wave, of a block, of the
/// device (`agent`), or of all devices and the host (`system`).
enum class MemoryScope { wave, block, agent, system };

/// A MemoryScope, or LLVM's name of one as FlyDSL's Python spells it: "wavefront", "workgroup",
/// "agent", "system" or "", "singlethread", and each with "-one-as", which orders accesses to the
/// memory of the access alone (LLVM's AMDGPU guide, "Memory Scopes").
class SyncScope {
public:
  constexpr SyncScope(MemoryScope scope) : name_(nameOf(scope)) {}
  constexpr SyncScope(const char *name) : name_(name) {}
  /// LLVM's name.
  constexpr const char *name() const { return name_; }

private:
  static constexpr const char *nameOf(MemoryScope scope) {
    switch (scope) {
    case MemoryScope::wave:
      return "wavefront";
    case MemoryScope::block:
      return "workgroup";
    case MemoryScope::agent:
      return "agent";
    case MemoryScope::system:
      return "system";
    }
    return "";
  }
  const char *name_;
};

/// Orders the thread's accesses to memory: an `acquire` keeps those after it after the atomic
/// loads before it, a `release` keeps those before it before the atomic stores after it, `acq_rel`
/// does both. Only atomic accesses of other threads at the same or a wider scope see the order. It
/// waits for no other thread; gpu::barrier does. Order `relaxed` is a TraceError.
FLYDSL_API void fence(MemoryOrder order, SyncScope scope = MemoryScope::agent,
                      Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
