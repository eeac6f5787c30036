// LLVM's machine-code layer for one target. mc.cpp is the only file of the emulator, beside two of
// the loader, that includes LLVM's headers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace flyemu {

/// A vector register operand as LLVM names it.
struct McVectorOperand {
  uint8_t dwords = 0;
  bool written = false;
  bool tied = false; ///< read, and it is the register that is written
};

/// What LLVM's instruction tables say that an opcode does besides computing, as bits.
enum McEffect : uint16_t {
  kLoads = 1, ///< from memory, LDS or scratch; atomic operations load and store
  kStores = 2,
  // Implicit operands, which the assembler's text may not show:
  kReadsScc = 4,
  kWritesScc = 8,
  kReadsVcc = 16,
  kWritesVcc = 32,
  kReadsExec = 64,
  kWritesExec = 128,
  kReadsM0 = 256,
  kWritesM0 = 512,
  // Of the operands:
  kWritesScalar = 1024,     ///< a scalar register
  kReadsDestination = 2048, ///< the scalar register that is written is read too
  kWritesTwoVectors = 4096, ///< two vector registers change places
  // LLVM's flags of what waits count (SIInstrFlags::VM_CNT, LGKM_CNT):
  kCountsVm = 8192,
  kCountsLgkm = 16384,
};

/// What LLVM's disassembler says of the bytes at one place.
struct McInstruction {
  unsigned opcode = 0;  ///< LLVM's number; name with McTarget::opcodeName
  unsigned size = 0;    ///< bytes; 0 if the bytes are no instruction of the target
  uint16_t effects = 0; ///< McEffect
  /// The trap temporaries (TTMP0-TTMP15, a bit for each) that it reads and writes.
  uint16_t trapReads = 0, trapWrites = 0;
  std::array<McVectorOperand, 6> vectors = {}; ///< in LLVM's order
  unsigned vectorCount = 0;
};

/// Registers in a row that an instruction names, or VCC that it has without naming it.
struct McRegisters {
  enum class File : uint8_t { Vector, Accumulation, Scalar };
  File file = File::Vector;
  uint8_t count = 0;
  uint8_t halves = 3; ///< which 16 bits of a register, as bits: 1 low, 2 high
  uint16_t first = 0; ///< the number in its file; of scalars the operand code
  bool written = false, read = false;
  bool tied = false; ///< read, and it is the register that is written
};

/// A disassembler and instruction printer. Not safe for concurrent use; make one per user.
class McTarget {
public:
  /// `cpu` is LLVM's name of the target, as "gfx942"; `features` is LLVM's list, as
  /// "+wavefrontsize64". Throws std::invalid_argument for a processor that LLVM does not know.
  explicit McTarget(std::string_view cpu, std::string_view features = {});
  ~McTarget();
  McTarget(const McTarget &) = delete;

  /// Decodes at most `bytes` bytes at `code`; `address` is used for branch targets in text only.
  McInstruction decode(const void *code, size_t bytes, uint64_t address = 0) const;

  /// The assembler's text of the instruction, empty if the bytes are no instruction.
  std::string print(const void *code, size_t bytes, uint64_t address = 0) const;

  /// The registers that the instruction reads and writes, as LLVM lists its operands. EXEC, SCC and
  /// M0, which no load writes, are left out.
  std::vector<McRegisters> registers(const void *code, size_t bytes) const;

  /// LLVM's record name, as "V_ADD_F32_e64_vi".
  std::string_view opcodeName(unsigned opcode) const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

} // namespace flyemu
