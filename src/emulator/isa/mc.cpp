#include "emulator/isa/mc.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

#include <array>
#include <cstring>
#include <mutex>
#include <stdexcept>
#include <string>
#include <unordered_map>

extern "C" {
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUDisassembler();
}

namespace flyemu {

namespace {
/// The facts of one of LLVM's registers that the emulator uses.
struct RegisterFacts {
  uint16_t trapTemporaries = 0; ///< a bit for each
  uint8_t vectorDwords = 0;     ///< 0: no vector register
};

/// The names of trap temporaries are as "TTMP8_TTMP9_gfx9plus", those of vector registers as
/// "VGPR4_VGPR5", "AGPR3", "VGPR7_HI16".
RegisterFacts findFacts(llvm::StringRef name) {
  RegisterFacts found;
  if (name.starts_with("VGPR") || name.starts_with("AGPR"))
    found.vectorDwords = static_cast<uint8_t>(name.count("VGPR") + name.count("AGPR"));
  unsigned number = 0;
  while (name.consume_front("TTMP") && !name.consumeInteger(10, number)) {
    found.trapTemporaries = static_cast<uint16_t>(found.trapTemporaries | 1u << (number & 15));
    name.consume_front("_");
  }
  return found;
}

/// The registers of one name, as "VGPR4_VGPR5", "VGPR7_HI16", "SGPR8", "VCC", "VCC_LO"; none of
/// those that no load writes. `code` is LLVM's encoding.
McRegisters findRegisters(llvm::StringRef name, unsigned code) {
  using File = McRegisters::File;
  McRegisters found;
  const llvm::StringRef whole = name;
  auto numbered = [&](llvm::StringRef prefix, File file, unsigned base) {
    if (!name.consume_front(prefix) || name.consumeInteger(10, found.first))
      return false;
    found.file = file;
    found.first = static_cast<uint16_t>(found.first + base);
    found.count = static_cast<uint8_t>(whole.count(prefix));
    found.halves = whole.ends_with("_LO16") ? 1 : whole.ends_with("_HI16") ? 2 : 3;
    return true;
  };
  constexpr unsigned kTrapTemporaries = 108, kScalarCodes = 128;
  if (numbered("VGPR", File::Vector, 0) || numbered("AGPR", File::Accumulation, 0) ||
      numbered("SGPR", File::Scalar, 0) || numbered("TTMP", File::Scalar, kTrapTemporaries))
    return found;
  const bool pair = whole == "VCC";
  if (pair || whole.starts_with("VCC_")) {
    found.file = File::Scalar;
    found.first = static_cast<uint16_t>(code % kScalarCodes);
    found.count = pair ? 2 : 1;
  }
  return found;
}

/// The effects of an opcode. SCC, VCC, EXEC and M0 are named so, with an ending for their halves
/// ("VCC_LO") and for targets where their number is another.
uint16_t findEffects(const llvm::MCInstrDesc &d, const llvm::MCRegisterInfo &registers) {
  struct Implicit {
    llvm::StringRef name;
    uint16_t read, written;
  };
  static constexpr Implicit kImplicit[] = {{"SCC", kReadsScc, kWritesScc},
                                           {"VCC", kReadsVcc, kWritesVcc},
                                           {"EXEC", kReadsExec, kWritesExec},
                                           {"M0", kReadsM0, kWritesM0}};
  // LLVM's SIDefines.h, which it does not install: "High bits - other information".
  constexpr unsigned kVmCntBit = 32, kLgkmCntBit = 34;
  unsigned effects = (d.mayLoad() ? kLoads : 0u) | (d.mayStore() ? kStores : 0u) |
                     (d.TSFlags >> kVmCntBit & 1 ? kCountsVm : 0u) |
                     (d.TSFlags >> kLgkmCntBit & 1 ? kCountsLgkm : 0u);
  for (const Implicit &i : kImplicit) {
    for (llvm::MCPhysReg r : d.implicit_uses())
      if (llvm::StringRef(registers.getName(r)).starts_with(i.name))
        effects |= i.read;
    for (llvm::MCPhysReg r : d.implicit_defs())
      if (llvm::StringRef(registers.getName(r)).starts_with(i.name))
        effects |= i.written;
  }
  return static_cast<uint16_t>(effects);
}
} // namespace

struct McTarget::Impl {
  bool gfx9 = false, gfx12 = false, gfx1250 = false; ///< the generation by LLVM's features
  llvm::Triple triple{"amdgcn-amd-amdhsa"};
  llvm::MCTargetOptions options;
  std::unique_ptr<llvm::MCRegisterInfo> registers;
  std::unique_ptr<llvm::MCAsmInfo> asmInfo;
  std::unique_ptr<llvm::MCInstrInfo> instructions;
  std::unique_ptr<llvm::MCSubtargetInfo> subtarget;
  std::unique_ptr<llvm::MCContext> context;
  std::unique_ptr<llvm::MCDisassembler> disassembler;
  std::unique_ptr<llvm::MCInstPrinter> printer;
  // Facts are found when a program first needs them, and kept by number: LLVM has 47,000 opcodes
  // and 10,000 registers, and a program uses few.
  std::unordered_map<unsigned, RegisterFacts> registerFacts;
  std::unordered_map<unsigned, uint16_t> effects;

  /// Decodes with zeros after the end of the bytes, because LLVM reads a literal without looking
  /// whether it is there.
  llvm::MCDisassembler::DecodeStatus decode(const void *code, size_t bytes, uint64_t address,
                                            llvm::MCInst &inst, uint64_t &size) const;

  const RegisterFacts &factsOf(unsigned reg) {
    const auto [found, isNew] = registerFacts.try_emplace(reg);
    if (isNew)
      found->second = findFacts(registers->getName(reg));
    return found->second;
  }
  uint16_t effectsOf(unsigned opcode) {
    const auto [found, isNew] = effects.try_emplace(opcode);
    if (isNew)
      found->second = findEffects(instructions->get(opcode), *registers);
    return found->second;
  }
};

namespace {
/// Returns true if LLVM 22's disassembler would crash: if the four bytes of a literal are missing,
/// it writes a message to a stream that it has just reset. The 64-bit encodings of gfx9 have no
/// room for literals, so these bytes are no instruction.
bool lacksItsLiteral(const uint32_t *words) {
  constexpr uint32_t kLiteral = 255;
  const uint32_t encoding = words[0] >> 26, second = words[1];
  if (encoding == 0x34) { // VOP3, VOP3P
    // A comparison and v_readlane_b32 write a scalar register.
    const uint32_t opcode = words[0] >> 16 & 1023;
    const bool writesScalar = opcode < 256 || opcode == 0x289;
    return (second & 511) == kLiteral || (second >> 9 & 511) == kLiteral ||
           (second >> 18 & 511) == kLiteral || (writesScalar && (words[0] & 255) == kLiteral);
  }
  return (encoding == 0x38 || encoding == 0x3a) && second >> 24 == kLiteral; // MUBUF, MTBUF
}

/// The same of gfx12's instructions of barriers (SOP1, s_barrier_signal to s_barrier_join), which take
/// a constant or M0.
bool namesNoBarrier(uint32_t word) {
  constexpr uint32_t kSop1 = 0x17d, kLiteral = 255, kFirst = 0x4e, kLast = 0x52;
  const uint32_t opcode = word >> 8 & 255;
  return word >> 23 == kSop1 && (word & 255) == kLiteral && opcode >= kFirst && opcode <= kLast;
}

/// Where the words of v_mfma_*_f8f6f4 (gfx950) begin in those of an instruction, after the scales if it has some; 4 if it is another one.
size_t placeOfFewBits(const uint32_t (&words)[4]) {
  constexpr uint32_t kLoadsScales = 0xd3ac, k16x16x128 = 0xd3ad, k32x32x64 = 0xd3ae;
  const size_t at = words[0] >> 16 == kLoadsScales ? 2 : 0;
  const uint32_t kind = words[at] >> 16;
  return kind == k16x16x128 || kind == k32x32x64 ? at : 4;
}

/// Returns true if LLVM 22's disassembler would crash: it takes A and B of v_mfma_*_f8f6f4
/// for vector registers even if the fields hold a constant.
bool lacksItsRegisters(const uint32_t (&words)[4]) {
  constexpr uint32_t kVgpr = 256;
  const size_t at = placeOfFewBits(words);
  return at < 4 && !(words[at + 1] & kVgpr && words[at + 1] >> 9 & kVgpr);
}

/// A and B of v_mfma_*_f8f6f4 (gfx950) of four or six of the last accumulation registers. LLVM 22's disassembler looks for
/// eight registers before it knows how many there are, and from a249 on finds none.
class LastAccumulators {
public:
  /// Takes such operands for vector registers, whose numbers LLVM finds. `words` are an instruction's.
  LastAccumulators(uint32_t (&words)[4], bool gfx9) {
    const size_t at = placeOfFewBits(words);
    if (!gfx9 || at == 4)
      return;
    uint32_t &second = words[at + 1];
    for (const unsigned k : {0u, 1u}) {
      const uint32_t isAccumulator = kFirstBit << k;
      if (second & isAccumulator && (second >> 9 * k & 255) > kLastOfEight) {
        second &= ~isAccumulator;
        isTaken_ = isMoved_[k] = true;
      }
    }
  }
  bool isTaken() const { return isTaken_; }
  /// Gives the operands of the decoded instruction their registers. False if there are not so many after the first.
  bool restore(llvm::MCInst &inst, const llvm::MCRegisterInfo &registers) const {
    for (unsigned k : {0u, 1u}) {
      if (!isMoved_[k])
        continue;
      llvm::MCOperand &operand = inst.getOperand(k + 1);
      const llvm::MCRegister found = accumulatorOf(operand.getReg(), registers);
      if (!found)
        return false;
      operand.setReg(found);
    }
    return true;
  }

private:
  static constexpr uint32_t kFirstBit = 1u << 27, kLastOfEight = 248;

  static llvm::MCRegister accumulatorOf(llvm::MCRegister vector,
                                        const llvm::MCRegisterInfo &registers) {
    std::string name = registers.getName(vector); // VGPR250_VGPR251_VGPR252_VGPR253
    for (size_t at = 0; (at = name.find("VGPR", at)) != std::string::npos;)
      name[at] = 'A';
    for (unsigned id = 1; id < registers.getNumRegs(); ++id)
      if (name == registers.getName(id))
        return id;
    return {};
  }

  bool isTaken_ = false;
  std::array<bool, 2> isMoved_ = {};
};

/// Returns true if LLVM 22's printer would crash: it has no names for the reserved values of what an
/// SDWA encoding selects (7) and of what becomes of the other bits of its result (3), and jumps past
/// the end of a table of them.
bool lacksItsSelections(const uint32_t *words) {
  constexpr uint32_t kSdwa = 0xf9, kVop1 = 0x3f, kVopc = 0x3e;
  constexpr uint32_t kNoSelection = 7, kNoUnused = 3;
  const uint32_t encoding = words[0] >> 25, second = words[1];
  if (words[0] >> 31 || (words[0] & 511) != kSdwa)
    return false;
  if ((second >> 16 & 7) == kNoSelection ||
      (encoding != kVop1 && (second >> 24 & 7) == kNoSelection))
    return true;
  return encoding != kVopc &&
         ((second >> 8 & 7) == kNoSelection || (second >> 11 & 3) == kNoUnused);
}

/// A constant of v_fmamk_f16 and v_fmaak_f16 (gfx9: v_madmk_f16, v_madak_f16), by which LLVM 22's
/// disassembler crashes: it takes the value 255 for the number of a source that is a literal.
constexpr uint32_t kCrashingConstant = 255, kOtherConstant = 254;

bool hasCrashingConstant(const uint32_t *words, bool gfx9) {
  const uint32_t opcode = words[0] >> 25, first = gfx9 ? 0x24 : 0x37; // VOP2: bit 31 is 0
  return (opcode == first || opcode == first + 1) && words[1] == kCrashingConstant;
}

/// The scales of gfx1250's matrix instructions, which leave their third source unused. LLVM writes v0 for it since
/// pull request 167777 of November 2025, and LLVM 22 decodes nothing else. Before that it wrote the constant 0, and
/// FlyDSL 0.4.2 does so; LLVM takes any value since pull request 176140.
void nameUnusedSource(uint32_t *words) {
  constexpr uint32_t kScales = 0xcc35, kScales16 = 0xcc3a, kThird = 511u << 18, kV0 = 256u << 18;
  if (words[0] >> 16 == kScales || words[0] >> 16 == kScales16)
    words[1] = (words[1] & ~kThird) | kV0;
}

} // namespace

llvm::MCDisassembler::DecodeStatus McTarget::Impl::decode(const void *code, size_t bytes,
                                                          uint64_t address, llvm::MCInst &inst,
                                                          uint64_t &size) const {
  constexpr size_t kLongest = 32; // no instruction is longer
  uint8_t padded[kLongest] = {};
  const size_t given = bytes < kLongest ? bytes : kLongest;
  std::memcpy(padded, code, given);
  uint32_t words[4];
  std::memcpy(words, padded, sizeof words);
  const bool crashes =
      gfx9 ? lacksItsLiteral(words) || lacksItsRegisters(words) || lacksItsSelections(words)
           : gfx12 && namesNoBarrier(words[0]);
  if (given < 4 || crashes)
    return llvm::MCDisassembler::Fail;
  if (gfx1250)
    nameUnusedSource(words);
  const LastAccumulators last(words, gfx9);
  std::memcpy(padded, words, sizeof words);
  // Another constant is decoded in its place, and the instruction gets its own back.
  const bool isOther = hasCrashingConstant(words, gfx9);
  if (isOther)
    std::memcpy(padded + sizeof words[0], &kOtherConstant, sizeof kOtherConstant);
  auto status = disassembler->getInstruction(inst, size, llvm::ArrayRef<uint8_t>(padded, kLongest),
                                             address, llvm::nulls());
  if (status == llvm::MCDisassembler::Success && last.isTaken() && !last.restore(inst, *registers))
    return llvm::MCDisassembler::Fail;
  if (isOther)
    for (llvm::MCOperand &operand : inst)
      if (operand.isImm() && operand.getImm() == kOtherConstant)
        operand.setImm(kCrashingConstant);
  return size > given ? llvm::MCDisassembler::Fail : status;
}

McTarget::McTarget(std::string_view cpu, std::string_view features)
    : impl_(std::make_unique<Impl>()) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  std::string error;
  Impl &i = *impl_;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(i.triple, error);
  if (!target)
    throw std::invalid_argument(error);
  i.registers.reset(target->createMCRegInfo(i.triple));
  i.asmInfo.reset(target->createMCAsmInfo(*i.registers, i.triple, i.options));
  i.instructions.reset(target->createMCInstrInfo());
  i.subtarget.reset(target->createMCSubtargetInfo(i.triple, "", ""));
  if (!i.subtarget->isCPUStringValid(llvm::StringRef(cpu.data(), cpu.size())))
    throw std::invalid_argument("unknown target '" + std::string(cpu) + "'");
  i.subtarget.reset(
      target->createMCSubtargetInfo(i.triple, llvm::StringRef(cpu.data(), cpu.size()),
                                    llvm::StringRef(features.data(), features.size())));
  i.gfx9 = i.subtarget->checkFeatures("+gfx9");
  i.gfx12 = i.subtarget->checkFeatures("+gfx12");
  i.gfx1250 = i.subtarget->checkFeatures("+gfx1250-insts");
  i.context = std::make_unique<llvm::MCContext>(i.triple, i.asmInfo.get(), i.registers.get(),
                                                i.subtarget.get());
  i.disassembler.reset(target->createMCDisassembler(*i.subtarget, *i.context));
  i.printer.reset(
      target->createMCInstPrinter(i.triple, 0, *i.asmInfo, *i.instructions, *i.registers));
}

McTarget::~McTarget() = default;

McInstruction McTarget::decode(const void *code, size_t bytes, uint64_t address) const {
  llvm::MCInst inst;
  uint64_t size = 0;
  auto status = impl_->decode(code, bytes, address, inst, size);
  if (status != llvm::MCDisassembler::Success)
    return {};
  McInstruction result{inst.getOpcode(), static_cast<unsigned>(size),
                       impl_->effectsOf(inst.getOpcode())};
  unsigned vectorsWritten = 0;
  const llvm::MCInstrDesc &description = impl_->instructions->get(inst.getOpcode());
  for (unsigned k = 0; k < inst.getNumOperands(); ++k) {
    if (!inst.getOperand(k).isReg())
      continue;
    const bool written = k < description.getNumDefs();
    const unsigned id = inst.getOperand(k).getReg().id();
    const RegisterFacts &facts = impl_->factsOf(id);
    (written ? result.trapWrites : result.trapReads) |= facts.trapTemporaries;
    const bool tied = !written && k < description.getNumOperands() &&
                      description.getOperandConstraint(k, llvm::MCOI::TIED_TO) != -1;
    if (!facts.vectorDwords)
      result.effects |= written ? kWritesScalar : tied ? kReadsDestination : 0;
    vectorsWritten += written && facts.vectorDwords;
    if (facts.vectorDwords && result.vectorCount < result.vectors.size())
      result.vectors[result.vectorCount++] = {facts.vectorDwords, written, tied};
  }
  if (vectorsWritten == 2)
    result.effects |= kWritesTwoVectors;
  return result;
}

std::vector<McRegisters> McTarget::registers(const void *code, size_t bytes) const {
  llvm::MCInst inst;
  uint64_t size = 0;
  auto status = impl_->decode(code, bytes, 0, inst, size);
  std::vector<McRegisters> result;
  if (status == llvm::MCDisassembler::Fail)
    return result;
  auto add = [&](unsigned reg, bool written, bool tied) {
    McRegisters found =
        findRegisters(impl_->registers->getName(reg), impl_->registers->getEncodingValue(reg));
    if (!found.count)
      return;
    (written ? found.written : found.read) = true;
    found.tied = tied;
    result.push_back(found);
  };
  const llvm::MCInstrDesc &description = impl_->instructions->get(inst.getOpcode());
  for (unsigned k = 0; k < inst.getNumOperands(); ++k) {
    // A tied operand is the register that it is tied to. LLVM 22 decodes another one for the second
    // half of a dual instruction (v_dual_fmac_f32).
    const int tied = k < description.getNumOperands()
                         ? description.getOperandConstraint(k, llvm::MCOI::TIED_TO)
                         : -1;
    const llvm::MCOperand &operand = inst.getOperand(tied < 0 ? k : static_cast<unsigned>(tied));
    if (operand.isReg() && operand.getReg())
      add(operand.getReg().id(), k < description.getNumDefs(), tied >= 0);
  }
  for (llvm::MCPhysReg reg : description.implicit_uses())
    add(reg, false, false);
  for (llvm::MCPhysReg reg : description.implicit_defs())
    add(reg, true, false);
  return result;
}

std::string McTarget::print(const void *code, size_t bytes, uint64_t address) const {
  llvm::MCInst inst;
  uint64_t size = 0;
  auto status = impl_->decode(code, bytes, address, inst, size);
  if (status == llvm::MCDisassembler::Fail)
    return {};
  std::string text;
  llvm::raw_string_ostream out(text);
  impl_->printer->printInst(&inst, address, "", *impl_->subtarget, out);
  size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string() : text.substr(begin);
}

std::string_view McTarget::opcodeName(unsigned opcode) const {
  llvm::StringRef name = impl_->instructions->getName(opcode);
  return {name.data(), name.size()};
}

} // namespace flyemu
