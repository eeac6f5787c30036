// What `sched_group_barrier`'s mask calls an instruction of AMD's processors. LLVM
// keeps the header that names the bits of its instruction descriptions to itself;
// tests compare these with its tables.
#pragma once

#include <cstdint>

namespace llvm {
class MachineInstr;
class TargetInstrInfo;
} // namespace llvm

namespace flydsl::jit {

/// Bits of a description's target flags (LLVM 22, SIDefines.h, SIInstrFlags).
namespace instruction_flags {
inline constexpr std::uint64_t kSalu = 1ull << 0;
inline constexpr std::uint64_t kValu = 1ull << 1;
inline constexpr std::uint64_t kTrans = 1ull << 16;
inline constexpr std::uint64_t kMubuf = 1ull << 17;
inline constexpr std::uint64_t kMtbuf = 1ull << 18;
inline constexpr std::uint64_t kMimg = 1ull << 20;
inline constexpr std::uint64_t kVimage = 1ull << 21;
inline constexpr std::uint64_t kVsample = 1ull << 22;
inline constexpr std::uint64_t kFlat = 1ull << 24;
inline constexpr std::uint64_t kDs = 1ull << 25;
inline constexpr std::uint64_t kMai = 1ull << 54;
inline constexpr std::uint64_t kWmma = 1ull << 59;
inline constexpr std::uint64_t kSwmmac = 1ull << 63;
} // namespace instruction_flags

/// Bits of the mask (LLVM's AMDGPUUsage, llvm.amdgcn.sched.group.barrier).
namespace group_mask {
inline constexpr std::int64_t kAlu = 0x1, kValu = 0x2, kSalu = 0x4, kMfma = 0x8, kVmem = 0x10,
                              kVmemRead = 0x20, kVmemWrite = 0x40, kDs = 0x80, kDsRead = 0x100,
                              kDsWrite = 0x200, kTrans = 0x400, kAll = 0x7ff;
} // namespace group_mask

/// The opcodes that are told apart by more than their description's bits.
struct SpecialOpcodes {
  unsigned groupBarrier, barrier, iglpOpt; ///< what orders a region, without code
  unsigned readAcc, writeAcc; ///< moves from and to accumulation registers, which are no products
};

/// Found by name, once for the process: all of AMD's processors share the numbers.
const SpecialOpcodes &specialOpcodes(const llvm::TargetInstrInfo &instructions);

/// Whether a group with this mask may take the instruction; of a bundle, all of its instructions.
bool groupTakes(std::int64_t mask, const llvm::MachineInstr &instruction);

} // namespace flydsl::jit
