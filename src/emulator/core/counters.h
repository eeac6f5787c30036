// Counters of a launch, named as rocprof names them.
#pragma once

#include <cstddef>
#include <cstdint>

namespace flyemu {

/// X(name, what it counts). Names in capitals are rocprof's; the others have no counterpart there.
/// Instructions are wave instructions. docs/emulator.md tells how each is defined.
#define FLYEMU_COUNTERS(X)                                                                         \
  X(SQ_WAVES, "waves")                                                                             \
  X(SQ_ITEMS, "work-items")                                                                        \
  X(SQ_INSTS, "instructions of all kinds")                                                         \
  X(SQ_INSTS_VALU, "vector arithmetic, matrix instructions included")                              \
  X(SQ_INSTS_MFMA, "matrix instructions: MFMA, SMFMAC, WMMA, SWMMAC")                              \
  X(SQ_INSTS_VALU_MFMA_I8, "matrix instructions on i8 and i4")                                     \
  X(SQ_INSTS_VALU_MFMA_F6F4, "matrix instructions on f6 and f4, where neither operand has 8 bits") \
  X(SQ_INSTS_VALU_MFMA_F8, "matrix instructions on fp8 and bf8")                                   \
  X(SQ_INSTS_VALU_MFMA_F16, "matrix instructions on f16")                                          \
  X(SQ_INSTS_VALU_MFMA_BF16, "matrix instructions on bf16")                                        \
  X(SQ_INSTS_VALU_MFMA_F32, "matrix instructions on f32")                                          \
  X(SQ_INSTS_VALU_MFMA_XF32, "matrix instructions on xf32")                                        \
  X(SQ_INSTS_VALU_MFMA_F64, "matrix instructions on f64")                                          \
  X(SQ_INSTS_SALU, "scalar arithmetic")                                                            \
  X(SQ_INSTS_SMEM, "scalar memory")                                                                \
  X(SQ_INSTS_VMEM, "vector memory: reads and writes")                                              \
  X(SQ_INSTS_VMEM_RD, "vector memory reads, atomics that return included")                         \
  X(SQ_INSTS_VMEM_WR, "vector memory writes")                                                      \
  X(SQ_INSTS_FLAT, "instructions of the flat encoding")                                            \
  X(SQ_INSTS_LDS, "LDS instructions")                                                              \
  X(SQ_INSTS_BRANCH, "branches")                                                                   \
  X(SQ_INSTS_SENDMSG, "messages")                                                                  \
  X(SQ_LDS_BANK_CONFLICT, "LDS cycles beyond those of a conflict-free access")                     \
  X(SQ_LDS_IDX_ACTIVE, "LDS cycles of indexed accesses, conflicts included")                       \
  X(TCP_TOTAL_CACHE_ACCESSES, "cache lines touched, for each wave access anew")                    \
  X(TCP_MINIMUM_CACHE_ACCESSES, "the fewest cache lines that could hold the same bytes")           \
  X(globalBytesRead, "bytes that lanes read from global memory")                                   \
  X(globalBytesWritten, "bytes that lanes wrote to global memory")                                 \
  X(globalBytesTouched, "bytes of the distinct cache lines that the launch touched")               \
  X(globalReadFootprint, "bytes of those of them that it read")                                    \
  X(globalWriteFootprint, "bytes of those of them that it wrote")                                  \
  X(globalStreamFootprint,                                                                         \
    "bytes of those of them that it read by loads alone that keep no lines")                       \
  X(globalAtomicBytes,                                                                             \
    "bytes of the cache lines that atomic instructions touched, for each instruction anew")        \
  X(globalAtomicGroups,                                                                            \
    "workgroups whose atomic instructions touched one cache line, of the line with the most")      \
  X(ldsBytes, "bytes that lanes moved from and to LDS")                                            \
  X(matrixFlops, "multiply-adds of matrix instructions, times two; sparse ones as dense")

/// Exact counts over all waves of a launch.
struct Counters {
#define FLYEMU_FIELD(name, text) uint64_t name = 0;
  FLYEMU_COUNTERS(FLYEMU_FIELD)
#undef FLYEMU_FIELD

  Counters &operator+=(const Counters &o) {
#define FLYEMU_ADD(name, text) name += o.name;
    FLYEMU_COUNTERS(FLYEMU_ADD)
#undef FLYEMU_ADD
    return *this;
  }
};

/// Calls visit(name, value, text) for every counter, in the order above.
template <typename Visit> void forEachCounter(const Counters &c, Visit &&visit) {
#define FLYEMU_VISIT(name, text) visit(#name, c.name, text);
  FLYEMU_COUNTERS(FLYEMU_VISIT)
#undef FLYEMU_VISIT
}

/// What the estimate of a launch's cycles is made of (timing.h); sums over all workgroups.
struct Timing {
  uint64_t valuCycles = 0;   ///< issue cycles of vector arithmetic on a SIMD
  uint64_t matrixCycles = 0; ///< cycles of matrix instructions on a SIMD's matrix unit
  uint64_t scalarCycles = 0; ///< issue cycles of everything else
  uint64_t groupCycles = 0;  ///< each workgroup's time as if it had a unit for itself
  uint64_t groups = 0;
  /// Matrix instructions on 8 bits that do half as many multiply-adds a cycle as the target's fastest do.
  uint64_t matrixHalf8 = 0;

  Timing &operator+=(const Timing &o) {
    valuCycles += o.valuCycles;
    matrixCycles += o.matrixCycles;
    scalarCycles += o.scalarCycles;
    groupCycles += o.groupCycles;
    groups += o.groups;
    matrixHalf8 += o.matrixHalf8;
    return *this;
  }
};

} // namespace flyemu
