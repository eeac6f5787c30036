// The targets and what distinguishes them for decoding and execution.
#pragma once

#include <cstdint>
#include <string_view>

namespace flyemu {

enum class Family : uint8_t { Gfx9, Gfx11, Gfx12 };

/// Facts of one target (LLVM AMDGPUUsage; the ISA manuals of CDNA2-4, RDNA3, RDNA4).
struct TargetInfo {
  std::string_view name;
  /// LLVM's features that its disassembler needs to know all instructions of the target.
  std::string_view features;
  Family family;
  uint8_t defaultWave;  ///< lanes of a wave unless the descriptor says otherwise
  uint16_t m0;          ///< the scalar operand code of M0
  uint16_t nullSgpr;    ///< the scalar operand code of NULL, 0 if there is none
  uint16_t flatScratch; ///< the scalar operand code of FLAT_SCRATCH_LO, 0 if it is hidden
  uint32_t ldsBytes;    ///< the most that a workgroup can have
  uint16_t ldsBanks;
  bool ocpFp8; ///< OCP fp8 and bf8 formats rather than FNUZ
  bool gfx90a; ///< accumulation registers in the unified file
  bool gfx940; ///< gfx942 and gfx950: architected flat scratch, kernarg preload
  bool gfx950;
};

/// The facts of `target`, which may carry ":feature+" suffixes; null if it is not supported.
const TargetInfo *findTarget(std::string_view target);

/// All supported targets.
const TargetInfo *targetsBegin();
const TargetInfo *targetsEnd();

} // namespace flyemu
