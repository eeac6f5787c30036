#include "emulator/exec/counters.h"

namespace flyemu {

Counters &Counters::operator+=(const Counters &o) {
  SQ_WAVES += o.SQ_WAVES;
  SQ_INSTS += o.SQ_INSTS;
  SQ_INSTS_VALU += o.SQ_INSTS_VALU;
  SQ_INSTS_MFMA += o.SQ_INSTS_MFMA;
  SQ_INSTS_SALU += o.SQ_INSTS_SALU;
  SQ_INSTS_SMEM += o.SQ_INSTS_SMEM;
  SQ_INSTS_VMEM_RD += o.SQ_INSTS_VMEM_RD;
  SQ_INSTS_VMEM_WR += o.SQ_INSTS_VMEM_WR;
  SQ_INSTS_FLAT += o.SQ_INSTS_FLAT;
  SQ_INSTS_LDS += o.SQ_INSTS_LDS;
  SQ_INSTS_BRANCH += o.SQ_INSTS_BRANCH;
  SQ_INSTS_SENDMSG += o.SQ_INSTS_SENDMSG;
  SQ_LDS_BANK_CONFLICT += o.SQ_LDS_BANK_CONFLICT;
  SQ_LDS_IDX_ACTIVE += o.SQ_LDS_IDX_ACTIVE;
  TCP_TOTAL_CACHE_ACCESSES += o.TCP_TOTAL_CACHE_ACCESSES;
  TCP_MINIMUM_CACHE_ACCESSES += o.TCP_MINIMUM_CACHE_ACCESSES;
  globalBytesRead += o.globalBytesRead;
  globalBytesWritten += o.globalBytesWritten;
  ldsBytes += o.ldsBytes;
  matrixFlops += o.matrixFlops;
  return *this;
}

} // namespace flyemu
