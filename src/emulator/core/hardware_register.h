// The hardware registers of s_getreg and s_setreg.
#pragma once

#include "emulator/core/wave.h"

#include <optional>

namespace flyemu {

/// The value of hardware register `id`, whose bits `field` are asked for. Throws WaveFault, with
/// the register's name, for one that the target does not have or that has no meaning here.
uint32_t readHardwareRegister(const Wave &w, unsigned id, uint32_t field);

/// Replaces the bits `field` of a register by those of `value`. Throws as reading does, and for
/// what a kernel may not write or what is not emulated.
void writeHardwareRegister(Wave &w, unsigned id, uint32_t field, uint32_t value);

/// The setting of the banks of vector registers (Program::banks) that an instruction makes: that of
/// s_set_vgpr_msb, and of s_setreg_imm32_b32 to MODE, whose constant has it in bits 12 to 19, the
/// result's bank first, whatever field is written. None for others. (Source: LLVM's
/// AMDGPULowerVGPREncoding, handleSetregMode.)
std::optional<uint8_t> banksSetBy(const Inst &inst);

/// MODE as its register has it.
uint32_t modeBits(const Wave &w);
void setModeBits(Wave &w, uint32_t bits);

/// The clock of s_memtime and SHADER_CYCLES: the time of the launch's beginning in nanoseconds and
/// the wave's estimated cycles since, where they are counted; else the time itself.
uint64_t clockTicks(const Wave &w);
/// The clock of 100 MHz, for which a tick of the other one counts as a nanosecond.
inline uint64_t realTime(const Wave &w) { return clockTicks(w) / 10; }

} // namespace flyemu
