#include "emulator/observe/waits/wait_rule.h"

#include "emulator/isa/disassembler.h"
#include "emulator/isa/op.h"

#include <algorithm>

namespace flyemu {

std::string registerName(const Machine &machine, unsigned number) {
  if (number >= kVectorRows + machine.accRow())
    return "a" + std::to_string(number - kVectorRows - machine.accRow());
  if (number >= kVectorRows)
    return "v" + std::to_string(number - kVectorRows);
  if (number == kVcc || number == kVcc + 1)
    return number == kVcc ? "vcc_lo" : "vcc_hi";
  return number >= kTtmp ? "ttmp" + std::to_string(number - kTtmp) : "s" + std::to_string(number);
}

bool loadsToLds(const Inst &i) {
  return i.op && i.op->cls == Class::VmemRead && (i.flags & kToLds || i.op->transfer.toLds);
}

bool copiesFromLds(const Inst &i) {
  return i.op && i.op->cls == Class::VmemWrite && (i.enc == Enc::Tensor || i.op->transfer.isAsync);
}

namespace {
bool isVectorMemory(const Inst &i) {
  switch (i.enc) {
  case Enc::Flat:
  case Enc::Global:
  case Enc::Scratch:
  case Enc::Mubuf:
  case Enc::Mtbuf:
    return i.op->cls == Class::VmemRead || i.op->cls == Class::VmemWrite;
  default:
    return false;
  }
}

/// Whether it loads 16 bits of a register and keeps the others.
bool loadsHalf(const Inst &i) {
  return (isVectorMemory(i) || i.op->cls == Class::Lds) && !loadsToLds(i) &&
         i.op->transfer.isHalf();
}

/// Whether it stores 8 or 16 bits of a register, and `read` is its data, not its address.
bool storesHalf(const Inst &i, const RegisterRange &read) {
  const Transfer &transfer = i.op->transfer;
  const bool isHalf = transfer.isHalf() || transfer.bytes == 1 || transfer.bytes == 2;
  return (i.op->cls == Class::VmemWrite || i.op->cls == Class::Lds) && isHalf && !i.rows.result &&
         i.src[1].isVgpr() && read.first == kVectorRows + i.src[1].index && read.count == 1 &&
         i.src[0].index != i.src[1].index;
}

/// The source that a memory instruction reads alone, or null if it reads more or is no such instruction. Its
/// fields name registers for the others, which it does not read.
const Operand *onlySource(const Inst &inst, const std::vector<McRegisters> &all) {
  const auto isSource = [](const McRegisters &r) {
    return r.file == McRegisters::File::Vector && !r.written && !r.tied;
  };
  if (!(isVectorMemory(inst) || inst.op->cls == Class::Lds) ||
      std::count_if(all.begin(), all.end(), isSource) != 1)
    return nullptr;
  // An atomic operation that returns has its data where the result goes, and reads the address besides.
  const bool tiesData =
      std::any_of(all.begin(), all.end(), [](const McRegisters &r) { return r.tied; });
  const bool isData =
      inst.op->has(Trait::NoAddress) || (inst.op->cls == Class::VmemWrite && !tiesData);
  return &inst.src[isData ? 1 : 0];
}

/// The registers of an instruction in the banks that the code has set, where LLVM names those of bank 0.
class BankedRegisters {
public:
  /// `all`: what LLVM names.
  BankedRegisters(const Program &program, const Inst &inst, const std::vector<McRegisters> &all)
      : program_(program), inst_(inst), all_(all), only_(onlySource(inst, all)),
        hasScales_(inst.op->cls == Class::Mfma && inst.scaleA.kind != Kind::None) {}

  /// Calls `visit` with the number of each register that LLVM calls `r`, one of all.
  template <class Visit> void each(const McRegisters &r, Visit visit) const {
    std::vector<unsigned> rows;
    if (program_.banks.size() > 1 && r.file == McRegisters::File::Vector)
      rows = rowsOf(r);
    if (rows.empty())
      rows.push_back(r.first);
    for (const unsigned row : rows)
      visit(row);
  }

private:
  /// Scales are one register or two; the operands of an instruction that has them are more.
  bool isScale(const McRegisters &r) const { return hasScales_ && r.count <= 2; }
  /// Whether an operand is in such a register of some bank; adds its row if it is.
  void compare(const McRegisters &r, const Operand &o, std::vector<unsigned> &rows) const {
    if (!o.isVgpr())
      return;
    // What the second half of a dual instruction reads of the first one's old result is in temporary
    // rows (keepOldResult).
    const unsigned row = o.index < program_.target->vectorRows()
                             ? o.index
                             : o.index - program_.target->dualRow() + inst_.dst.index;
    if (row % kBankRows == r.first)
      rows.push_back(row);
  }
  std::vector<unsigned> rowsOf(const McRegisters &r) const {
    std::vector<unsigned> rows;
    const bool isDual = inst_.enc == Enc::Vopd;
    for (const Inst *half = &inst_; half <= &inst_ + isDual; ++half) {
      if (r.written || r.tied)
        compare(r, half->dst, rows);
      else if (isScale(r)) {
        compare(r, half->scaleA, rows);
        compare(r, half->scaleB, rows);
      } else if (only_)
        compare(r, *only_, rows);
      else
        for (const Operand &o : half->src)
          compare(r, o, rows);
    }
    // Sources of several banks may have one number and different sizes. LLVM and the decoder list them in one
    // order, but for those of memory instructions, which all count.
    if (r.written || r.tied || isScale(r) || only_ || isVectorMemory(inst_) ||
        inst_.op->cls == Class::Lds)
      return rows;
    std::size_t before = 0, alike = 0;
    for (const McRegisters &other : all_)
      if (other.file == r.file && !other.written && !isScale(other) && other.first == r.first) {
        before += &other < &r;
        ++alike;
      }
    if (alike == rows.size())
      rows = {rows[before]};
    return rows;
  }

  const Program &program_;
  const Inst &inst_;
  const std::vector<McRegisters> &all_;
  const Operand *only_;
  bool hasScales_;
};

void findRegisters(const Program &program, const Inst &inst, WaitRule &rule) {
  const size_t at = program.entryOf(inst);
  std::vector<McRegisters> all;
  {
    Disassembler &d = disassemblerOf(*program.target);
    std::lock_guard lock(d.mutex);
    all = d.mc.registers(reinterpret_cast<const uint8_t *>(program.address) + at * 4,
                         program.bytes - at * 4);
  }
  const bool half = loadsHalf(inst);
  const BankedRegisters banked(program, inst, all);
  for (const McRegisters &r : all) {
    const unsigned base = r.file == McRegisters::File::Vector         ? kVectorRows
                          : r.file == McRegisters::File::Accumulation ? kVectorRows + kAccRow
                                                                      : 0;
    const unsigned end =
        r.file == McRegisters::File::Scalar ? kVectorRows : registersOf(*program.target);
    if (base + r.first + r.count > end)
      continue;
    // LLVM lists the half that is kept as a register that is read.
    if (half && r.tied)
      continue;
    banked.each(r, [&](unsigned first) {
      RegisterRange range{static_cast<uint16_t>(base + first), r.count, r.halves};
      const RegisterPart part = inst.op->transfer.part;
      if (half && r.written)
        range.halves = part == RegisterPart::Low ? RegisterRange::kLow : RegisterRange::kHigh;
      if (!r.written && storesHalf(inst, range))
        range.halves = part == RegisterPart::High ? RegisterRange::kHigh : RegisterRange::kLow;
      (r.written ? rule.writes : rule.reads).push_back(range);
    });
  }
}

/// Whether stores of device scope are told from others by the instruction.
bool tellsScope(const Machine &machine) {
  return machine.processor->family != flydsl::Family::cdna2;
}

bool publishes(const Program &program, const Inst &inst) {
  if (inst.op->has(Trait::Signals))
    return true;
  if (inst.enc != Enc::Flat && inst.enc != Enc::Global && inst.enc != Enc::Mubuf)
    return false;
  const bool isSeen =
      program.isAtomic(inst) || inst.flags & kWideScope || !tellsScope(*program.target);
  return isSeen && program.effectsOf(inst) & kStores;
}
} // namespace

WaitRule waitRule(const Program &program, const Inst &inst) {
  WaitRule rule;
  rule.known = true;
  if (!inst.op)
    return rule;
  findRegisters(program, inst, rule);
  const OpDef &op = *inst.op;
  const Encoding encoding = program.target->encoding;
  rule.waits = bool(op.waits);
  rule.left = waitCounts(*program.target, inst);
  rule.toLds = loadsToLds(inst);
  rule.publishes = publishes(program, inst);
  if (inst.enc == Enc::Tensor) {
    // Loads and stores of one wave end in the order of issue (the CDNA5 ISA manual, 10.11).
    rule.counters = rule.ordered = WaitCounter::Tensor;
  } else if (op.transfer.isAsync) {
    // Loads land in order, as compilers count them (Triton, FlyDSL's MLA kernel for gfx1250); of
    // stores no source was found.
    rule.counters = WaitCounter::Async;
    if (rule.toLds)
      rule.ordered = rule.counters;
  } else if (isVectorMemory(inst)) {
    const bool storesOnly = op.cls == Class::VmemWrite && rule.writes.empty();
    if (!storesOnly || encoding == Encoding::Gfx9)
      rule.counters = WaitCounter::Load;
    if (inst.enc == Enc::Flat)
      rule.counters.add(WaitCounter::Ds);
    // What an access by a flat address is, memory or LDS, is known late: on gfx9 the two counters
    // are not decremented in order.
    if (inst.enc != Enc::Flat || encoding != Encoding::Gfx9)
      rule.ordered = rule.counters;
  } else if (op.cls == Class::Lds) {
    rule.counters = WaitCounter::Ds;
    rule.ordered = op.has(Trait::GlobalSync) ? WaitCounterSet() : WaitCounterSet(WaitCounter::Ds);
  } else if (op.has(Trait::WritesBack)) {
    // By the counter of stores (AMDGPUUsage, memory model of gfx12: "global_wb" and "s_wait_storecnt 0"), on
    // gfx9 by vmcnt (llvm/llvm-project #178316).
    rule.writesBack = true;
    rule.counters = rule.ordered =
        encoding == Encoding::Gfx9 ? WaitCounter::Load : WaitCounter::Store;
  } else if (op.has(Trait::CountsAsLoad)) {
    rule.counters = rule.ordered = WaitCounter::Load;
  } else if ((op.cls == Class::Smem || op.has(Trait::CountsAsScalar)) && !rule.writes.empty()) {
    rule.counters = WaitCounter::Km; // in no order
  }
  return rule;
}

} // namespace flyemu
