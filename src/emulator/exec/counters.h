// Counters of a launch, named as rocprof names them.
#pragma once

#include <cstdint>

namespace flyemu {

/// Exact counts over all waves of a launch. Instructions are wave instructions.
struct Counters {
  uint64_t SQ_WAVES = 0;
  uint64_t SQ_INSTS = 0;
  uint64_t SQ_INSTS_VALU = 0; ///< matrix instructions included, as on hardware
  uint64_t SQ_INSTS_MFMA = 0; ///< MFMA, SMFMAC, WMMA
  uint64_t SQ_INSTS_SALU = 0;
  uint64_t SQ_INSTS_SMEM = 0;
  uint64_t SQ_INSTS_VMEM_RD = 0;
  uint64_t SQ_INSTS_VMEM_WR = 0;
  uint64_t SQ_INSTS_FLAT = 0;
  uint64_t SQ_INSTS_LDS = 0;
  uint64_t SQ_INSTS_BRANCH = 0;
  uint64_t SQ_INSTS_SENDMSG = 0;
  uint64_t SQ_LDS_BANK_CONFLICT = 0;       ///< extra cycles of LDS accesses over conflict-free ones
  uint64_t SQ_LDS_IDX_ACTIVE = 0;          ///< cycles of LDS accesses, conflicts included
  uint64_t TCP_TOTAL_CACHE_ACCESSES = 0;   ///< cache lines (128 bytes) touched, per wave access
  uint64_t TCP_MINIMUM_CACHE_ACCESSES = 0; ///< the fewest lines that could hold the same bytes
  uint64_t globalBytesRead = 0;
  uint64_t globalBytesWritten = 0;
  uint64_t ldsBytes = 0;
  uint64_t matrixFlops = 0; ///< multiply-adds of matrix instructions, times two

  Counters &operator+=(const Counters &o);
};

} // namespace flyemu
