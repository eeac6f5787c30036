#include "emulator/observe/wait_rule.h"

#include "emulator/isa/disassembler.h"
#include "emulator/isa/op.h"

namespace flyemu {

std::string registerName(unsigned row) {
  if (row < kAccRow)
    return "v" + std::to_string(row);
  if (row < kScalarRows)
    return "a" + std::to_string(row - kAccRow);
  const unsigned code = row - kScalarRows;
  if (code == kVcc || code == kVcc + 1)
    return code == kVcc ? "vcc_lo" : "vcc_hi";
  return code >= kTtmp ? "ttmp" + std::to_string(code - kTtmp) : "s" + std::to_string(code);
}

bool loadsToLds(const Inst &i) {
  return i.op && i.op->cls == Class::VmemRead && (i.flags & kToLds || i.op->info & kLdsTarget);
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
         (i.op->info & kBytesMask) < 4 && i.op->info & (kD16 | kD16High);
}

/// Whether it stores 8 or 16 bits of a register: its data alone, not its address.
bool storesHalf(const Inst &i, const RegisterRange &read) {
  const unsigned bytes = i.op->info & kBytesMask;
  return (i.op->cls == Class::VmemWrite || i.op->cls == Class::Lds) && (bytes == 1 || bytes == 2) &&
         !i.rows.result && i.src[1].isVgpr() && read.first == i.src[1].index && read.count == 1 &&
         i.src[0].index != i.src[1].index;
}

void findRegisters(const Program &program, const Inst &inst, WaitRule &rule) {
  const auto at = static_cast<size_t>(&inst - program.insts.data());
  std::vector<McRegisters> all;
  {
    Disassembler &d = disassemblerOf(*program.target);
    std::lock_guard lock(d.mutex);
    all = d.mc.registers(reinterpret_cast<const uint8_t *>(program.address) + at * 4,
                         program.bytes - at * 4);
  }
  const bool half = loadsHalf(inst);
  for (const McRegisters &r : all) {
    const unsigned base = r.file == McRegisters::File::Vector         ? 0
                          : r.file == McRegisters::File::Accumulation ? kAccRow
                                                                      : kScalarRows;
    if (base + r.first + r.count > kAllRows)
      continue;
    // LLVM lists the half that is kept as a register that is read.
    if (half && r.tied)
      continue;
    RegisterRange range{static_cast<uint16_t>(base + r.first), r.count, r.halves};
    if (half && r.written)
      range.halves = inst.op->info & kD16 ? RegisterRange::kLow : RegisterRange::kHigh;
    if (!r.written && storesHalf(inst, range))
      range.halves = inst.op->info & kD16High ? RegisterRange::kHigh : RegisterRange::kLow;
    (r.written ? rule.writes : rule.reads).push_back(range);
  }
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
  rule.waits = op.waits;
  rule.left = waitCounts(*program.target, inst);
  rule.toLds = loadsToLds(inst);
  if (isVectorMemory(inst)) {
    const bool storesOnly = op.cls == Class::VmemWrite && rule.writes.empty();
    if (!storesOnly || encoding == Encoding::Gfx9)
      rule.counters = kCountVector;
    if (inst.enc == Enc::Flat)
      rule.counters |= kCountLds;
    // What an access by a flat address is, memory or LDS, is known late: on gfx9 the two counters
    // are not decremented in order.
    if (inst.enc != Enc::Flat || encoding != Encoding::Gfx9)
      rule.ordered = rule.counters;
  } else if (op.cls == Class::Lds) {
    rule.counters = kCountLds;
    rule.ordered = op.has(kGlobalSync) ? 0 : kCountLds;
  } else if (op.has(kCountsAsLoad)) {
    rule.counters = rule.ordered = kCountVector;
  } else if ((op.cls == Class::Smem || op.has(kCountsAsScalar)) && !rule.writes.empty()) {
    rule.counters = kCountScalar; // in no order
  }
  return rule;
}

} // namespace flyemu
