#include "emulator/ops/decode_program.h"

#include "emulator/core/hardware_register.h"
#include "emulator/core/wave.h"
#include "emulator/isa/decode/decode.h"
#include "emulator/isa/disassembler.h"
#include "emulator/isa/mnemonic.h"
#include "emulator/ops/find_op.h"
#include "emulator/ops/matrix/matrix.h"
#include "emulator/ops/refused.h"
#include "emulator/ops/vector/gpr_index.h"
#include "emulator/ops/vector/permute.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace flyemu {

namespace {
/// The operation of each of LLVM's opcodes for one machine, found when it is first met. Used under
/// the lock of the machine's disassembler.
struct Operations {
  explicit Operations(const Machine &t) : target(t), mc(disassemblerOf(t).mc) {}

  const OpDef *op(unsigned opcode) {
    const auto [found, isNew] = ops.try_emplace(opcode);
    if (isNew) {
      const std::string name = baseMnemonic(mc.opcodeName(opcode));
      found->second = findOp(name);
      if (!found->second)
        found->second = findMatrixOp(name, target);
    }
    return found->second;
  }

  /// The two operations of a dual instruction, null where there is none.
  std::pair<const OpDef *, const OpDef *> halves(unsigned opcode) {
    const auto names = dualMnemonics(mc.opcodeName(opcode));
    if (!names)
      return {};
    return {findOp(names->first), findOp(names->second)};
  }

  const Machine &target;
  const McTarget &mc;
  std::unordered_map<unsigned, const OpDef *> ops; ///< those of the opcodes that were met
};

/// Called under the lock of the machine's disassembler.
Operations &operationsOf(const Machine &target) {
  static std::mutex mutex;
  // It is never destroyed, because streams may run while the process exits.
  static auto &all = *new std::map<const Machine *, std::unique_ptr<Operations>>;
  std::lock_guard lock(mutex);
  auto &found = all[&target];
  if (!found)
    found = std::make_unique<Operations>(target);
  return *found;
}

void invalidInstruction(Wave &, const Inst &) {
  throw WaveFault{"these bytes are no instruction of the target"};
}
void unknownInstruction(Wave &, const Inst &) {
  throw WaveFault{"the emulator does not implement this instruction"};
}
void unsupportedForm(Wave &, const Inst &) {
  throw WaveFault{"the emulator does not implement this form of the instruction"};
}
void refusedOperation(Wave &w, const Inst &i) {
  throw WaveFault{refusalOf(i.op->name, *w.target)};
}
void globalDataShare(Wave &, const Inst &) { throw WaveFault{"global data share does not exist"}; }
void trapTemporary(Wave &, const Inst &) {
  throw WaveFault{"a trap temporary register that the launch of a kernel does not set: only a trap "
                  "handler has a use for it"};
}
void outsideCode(Wave &, const Inst &) {
  throw WaveFault{"execution ran past the end of the code"};
}

/// The trap temporaries that a kernel may read: those that hold its workgroup's coordinates and its
/// wave's number (wave_setup.cpp).
uint16_t readableTrapTemporaries(const Machine &target) {
  const unsigned clusters = target.has(flydsl::Feature::clusters) ? 1u << 6 : 0;
  return static_cast<uint16_t>(
      target.encoding == Encoding::Gfx12 ? clusters | 1u << 7 | 1u << 8 | 1u << 9 : 0);
}

/// Registers that an operand covers, for the size of the register file.
void countRegisters(Program &p, const Inst &inst) {
  auto use = [&](const Operand &o, unsigned count) {
    if (!o.isVgpr())
      return;
    const unsigned accRow = p.target->accRow();
    if (o.index < accRow)
      p.vgprs = std::max(p.vgprs, o.index + count);
    else if (o.index < p.target->vectorRows())
      p.accVgprs = std::max(p.accVgprs, o.index - accRow + count);
  };
  unsigned size = 1;
  switch (inst.enc) {
  case Enc::Ds:
  case Enc::Flat:
  case Enc::Global:
  case Enc::Scratch:
  case Enc::Mubuf:
  case Enc::Mtbuf:
    size = 4;
    break;
  default:
    break;
  }
  use(inst.dst, std::max(size, dwordsOf(inst.op->dst)));
  for (unsigned k = 0; k < 3; ++k)
    use(inst.src[k], std::max(size, dwordsOf(inst.op->src[k])));
}

/// A dual instruction: its halves are this entry and the next, whose dword starts no instruction.
void decodeBoth(Operations &d, Program &p, size_t at, unsigned opcode, const uint32_t *words) {
  Inst &x = p.insts[at], &y = p.insts[at + 1];
  auto halves = d.halves(opcode);
  x.op = halves.first;
  y.op = halves.second;
  y.dwords = 1;
  // The second half has 32 bits: a pair of it might have one old register and one new.
  if (!x.op || !y.op || dwordsOf(y.op->dst) > 1) {
    x.fn = unknownInstruction;
    return;
  }
  decodeDual(*p.target, words, x, y);
  x.base = x.op->fn;
  y.base = y.op->fn;
  x.fn = runDual;
  countRegisters(p, x);
  countRegisters(p, y);
}

/// The dwords of one instruction, and zeros after them: a decoder may look at a dword before it knows
/// whether the instruction has it, and where the code ends, the next one is no memory of the code's.
using OwnWords = std::array<uint32_t, 8>;

OwnWords ownWords(const uint32_t *at, size_t dwords) {
  OwnWords words{};
  std::copy_n(at, std::min(dwords, words.size()), words.begin());
  return words;
}

/// The settings of the banks that the code makes, 0 first: that of a wave's begin.
std::vector<uint8_t> bankSettings(const std::vector<Inst> &insts) {
  std::vector<uint8_t> settings = {0};
  for (const Inst &inst : insts)
    if (const auto setting = inst.op ? banksSetBy(inst) : std::nullopt)
      if (std::find(settings.begin(), settings.end(), *setting) == settings.end())
        settings.push_back(*setting);
  return settings;
}

/// Makes the copies of the code for the settings of the banks, and completes all dual instructions.
void placeInBanks(Program &p) {
  p.banks = p.target->registerBanks ? bankSettings(p.insts) : std::vector<uint8_t>{0};
  const std::vector<Inst> code = std::move(p.insts);
  p.insts.clear();
  p.insts.reserve(code.size() * p.banks.size());
  for (const uint8_t setting : p.banks) {
    const size_t first = p.insts.size();
    p.insts.insert(p.insts.end(), code.begin(), code.end());
    for (size_t at = first; at < p.insts.size(); ++at) {
      Inst &inst = p.insts[at];
      if (!inst.op)
        continue;
      if (setting) {
        useBanks(inst, setting);
        countRegisters(p, inst);
      }
      if (inst.fn == runDual) {
        Inst &second = p.insts[at + 1];
        if (setting) {
          useBanks(second, setting);
          countRegisters(p, second);
        }
        keepOldResult(*p.target, inst, second);
        ++at;
      }
    }
  }
}

/// Whether the instruction, of a known operation, asks for the time.
bool readsClock(const Inst &inst) {
  const std::string_view name = inst.op->name;
  if (name == "s_getreg_b32") { // SHADER_CYCLES and its halves
    const unsigned id = static_cast<unsigned>(inst.offset) & 63;
    return id == 29 || id == 30;
  }
  return name == "s_memtime" || name == "s_get_shader_cycles_u64" || name == "s_memrealtime" ||
         name.starts_with("s_sendmsg_rtn");
}
} // namespace

std::shared_ptr<const Program> decodeProgram(std::string_view target, const void *code,
                                             size_t size) {
  const Machine *info = findMachine(target);
  if (!info)
    throw std::invalid_argument("unsupported target '" + std::string(target) + "'");
  if (size % 4 || reinterpret_cast<uintptr_t>(code) % 4)
    throw std::invalid_argument("code whose address or size is no multiple of 4");
  auto p = std::make_shared<Program>();
  p->target = info;
  p->address = reinterpret_cast<uint64_t>(code);
  p->bytes = size;
  p->insts.resize(size / 4 + 1);
  p->effects.resize(p->insts.size());
  for (Inst &i : p->insts)
    i.fn = invalidInstruction;
  p->insts.back().fn = outsideCode;
  p->insts.back().dwords = 1;

  Disassembler &disassembler = disassemblerOf(*info);
  std::lock_guard lock(disassembler.mutex);
  Operations &d = operationsOf(*info);
  auto *words = static_cast<const uint32_t *>(code);
  // Hundreds of equal words stand behind a kernel, s_nop or s_code_end, and LLVM
  // takes a microsecond for each. What is one dword long is known by that word
  // alone, except where a branch leads to.
  bool isRepeatable = false;
  for (size_t at = 0, end = size / 4; at < end;) {
    if (isRepeatable && words[at] == words[at - 1]) {
      p->insts[at] = p->insts[at - 1];
      p->effects[at] = p->effects[at - 1];
      ++at;
      continue;
    }
    isRepeatable = false;
    McInstruction mc = d.mc.decode(words + at, (end - at) * 4, p->address + at * 4);
    Inst &inst = p->insts[at];
    if (!mc.size) {
      inst.dwords = 1;
      ++at;
      continue;
    }
    inst.dwords = static_cast<uint8_t>(mc.size / 4);
    // Of a dual instruction, the next entry is its second half.
    std::fill_n(p->effects.begin() + static_cast<ptrdiff_t>(at), inst.dwords, mc.effects);
    inst.op = d.op(mc.opcode);
    const OwnWords own = ownWords(words + at, inst.dwords);
    if (inst.dwords > 1 && isDual(*info, own[0])) {
      decodeBoth(d, *p, at, mc.opcode, own.data());
    } else if (!inst.op) {
      inst.fn = unknownInstruction;
    } else {
      const char *bad = decodeOperands(*info, own.data(), inst);
      inst.rows = memoryRows(mc, inst);
      if (!bad && inst.op->cls == Class::Mfma)
        bad = prepareMatrix(*info, own.data(), inst);
      inst.fn = bad ? unsupportedForm : inst.op->fn;
      p->readsClock |= readsClock(inst);
      if (inst.permute != Permute::None) {
        inst.base = inst.op->fn;
        inst.fn = bad ? unsupportedForm : inst.permute == Permute::Sdwa ? runSdwa : runDpp;
      }
      if (refusalOf(inst.op->name, *info))
        inst.fn = refusedOperation;
      // The global wave sync has the same bit.
      if (inst.flags & kGds && !inst.op->has(Trait::GlobalSync))
        inst.fn = globalDataShare;
      // A branch target outside the segment must not become a wild pointer.
      if (inst.op->cls == Class::Branch && (inst.enc == Enc::Sopp || inst.enc == Enc::Sopk)) {
        int64_t to = static_cast<int64_t>(at) + 1 + inst.offset;
        if (to < 0 || to > static_cast<int64_t>(end))
          inst.fn = outsideCode;
      }
      countRegisters(*p, inst);
    }
    if (mc.trapWrites || mc.trapReads & ~readableTrapTemporaries(*info))
      inst.fn = trapTemporary;
    isRepeatable = inst.dwords == 1 && inst.op && inst.op->cls != Class::Branch;
    at += inst.dwords;
  }
  bracketIndexing(p->insts);
  placeInBanks(*p);
  return p;
}

} // namespace flyemu
