// From the bits of an instruction to its operands. LLVM has said which instruction it is and how
// long; the fields are at fixed places for each encoding (the ISA manuals' chapter "Microcode
// Formats").
//
// Each generation has a file, which decodes what is its own and gives the rest to what the family
// shares: cdna.cpp; rdna3.cpp and rdna4.cpp over rdna.cpp; fields.cpp under all of them.
#pragma once

#include "emulator/isa/inst.h"
#include "emulator/isa/machine.h"
#include "emulator/isa/mc.h"

#include <cstdint>

namespace flyemu {

/// Fills the operands of `inst` from `words`, whose number is inst.dwords. inst.op is set. Returns
/// null, or a reason why the fields cannot be represented.
const char *decodeOperands(const Machine &target, const uint32_t *words, Inst &inst);

/// Whether a dual instruction (VOPD) begins with the word.
bool isDual(const Machine &target, uint32_t word);
/// The two halves of a dual instruction, each as an instruction of its own. x.op, y.op and x.dwords
/// are set.
void decodeDual(const Machine &target, const uint32_t *words, Inst &x, Inst &y);
/// The second half of a dual instruction finds the first one's old result in a temporary row, so
/// that both read before either writes.
void keepOldResult(const Machine &target, const Inst &x, Inst &y);

/// Puts the vector registers of a decoded instruction into the banks of a setting
/// (Machine::registerBanks).
void useBanks(Inst &inst, uint8_t setting);

/// Which vector registers a memory instruction has, as LLVM lists them. inst has been decoded.
MemoryRows memoryRows(const McInstruction &mc, const Inst &inst);

// One for each generation, with the contract of decodeOperands.
const char *decodeCdna(const Machine &target, const uint32_t *words, Inst &inst);
const char *decodeRdna3(const Machine &target, const uint32_t *words, Inst &inst);
const char *decodeRdna4(const Machine &target, const uint32_t *words, Inst &inst);

} // namespace flyemu
