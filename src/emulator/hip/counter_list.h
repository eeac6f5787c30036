// The counters of a launch by name.
#pragma once

#include "emulator/exec/counters.h"

namespace flyemu::hip {

/// Calls \p visit(name, value) for every counter, in the order of the struct.
template <typename Visit> void forEachCounter(const Counters &counters, Visit &&visit) {
#define FLYEMU_COUNTER(name) visit(#name, counters.name)
  FLYEMU_COUNTER(SQ_WAVES);
  FLYEMU_COUNTER(SQ_INSTS);
  FLYEMU_COUNTER(SQ_INSTS_VALU);
  FLYEMU_COUNTER(SQ_INSTS_MFMA);
  FLYEMU_COUNTER(SQ_INSTS_SALU);
  FLYEMU_COUNTER(SQ_INSTS_SMEM);
  FLYEMU_COUNTER(SQ_INSTS_VMEM_RD);
  FLYEMU_COUNTER(SQ_INSTS_VMEM_WR);
  FLYEMU_COUNTER(SQ_INSTS_FLAT);
  FLYEMU_COUNTER(SQ_INSTS_LDS);
  FLYEMU_COUNTER(SQ_INSTS_BRANCH);
  FLYEMU_COUNTER(SQ_INSTS_SENDMSG);
  FLYEMU_COUNTER(SQ_LDS_BANK_CONFLICT);
  FLYEMU_COUNTER(SQ_LDS_IDX_ACTIVE);
  FLYEMU_COUNTER(TCP_TOTAL_CACHE_ACCESSES);
  FLYEMU_COUNTER(TCP_MINIMUM_CACHE_ACCESSES);
  FLYEMU_COUNTER(globalBytesRead);
  FLYEMU_COUNTER(globalBytesWritten);
  FLYEMU_COUNTER(ldsBytes);
  FLYEMU_COUNTER(matrixFlops);
#undef FLYEMU_COUNTER
}

} // namespace flyemu::hip
