#include "emulator/observe/scalar_init.h"

#include "emulator/isa/mc.h"
#include "emulator/isa/op.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>

namespace flyemu {

namespace {
uint64_t apply(Logic logic, uint64_t a, uint64_t b) {
  switch (logic) {
  case Logic::And:
    return a & b;
  case Logic::Or:
    return a | b;
  case Logic::Xor:
    return a ^ b;
  case Logic::AndNot:
    return a & ~b;
  case Logic::OrNot:
    return a | ~b;
  case Logic::Nand:
    return ~(a & b);
  case Logic::Nor:
    return ~(a | b);
  case Logic::Xnor:
    return ~(a ^ b);
  case Logic::NotAnd:
    return ~a & b;
  case Logic::NotOr:
    return ~a | b;
  case Logic::Not:
    return ~a;
  }
  return 0;
}

/// The bits of a function's result that change with an undefined bit of an operand.
uint64_t undefinedBits(Logic logic, uint64_t a, uint64_t undefinedA, uint64_t b,
                       uint64_t undefinedB) {
  const uint64_t r = apply(logic, a, b);
  return (undefinedA & (r ^ apply(logic, ~a, b))) | (undefinedB & (r ^ apply(logic, a, ~b))) |
         (undefinedA & undefinedB & (r ^ apply(logic, ~a, ~b)));
}

uint64_t widthMask(unsigned dwords) { return dwords > 1 ? ~uint64_t(0) : 0xffffffffu; }

/// True if undefined bits decide whether the value is zero, which is so if no defined bit is set.
bool unsettled(uint64_t value, uint64_t undefined) { return undefined && !(value & ~undefined); }

unsigned destinationDwords(const Inst &i) { return std::max(1u, dwordsOf(i.op->dst)); }
} // namespace

ScalarRule scalarRule(const Inst &inst, unsigned effects) {
  const OpDef &op = *inst.op;
  ScalarRule rule;
  rule.known = true;
  switch (inst.enc) {
  case Enc::Sop1:
  case Enc::Sop2:
  case Enc::Sopc:
  case Enc::Sopk:
    rule.flow = op.flow;
    rule.logic = op.logic;
    rule.readsScc = effects & kReadsScc;
    rule.writesScc = effects & kWritesScc;
    rule.writesDestination = effects & kWritesScalar;
    // S_CMPK has its first operand in the field of a destination.
    rule.readsDestination = effects & kReadsDestination || op.has(Trait::ChangesDestination) ||
                            (inst.enc == Enc::Sopk && !rule.writesDestination);
    return rule;
  case Enc::Sopp:
  case Enc::Smem:
    rule.flow = op.flow == Flow::Any ? Flow::None : op.flow; // without operands, or with none
    return rule;
  default:
    rule.pair = op.flow;
    rule.laneMove = op.hasAny({Trait::ReadsFirstLane, Trait::ReadsLane, Trait::WritesLane});
    rule.lowAlone = op.has(Trait::LowFromLow);
    rule.carryOut = effects & (kWritesScalar | kWritesVcc);
    rule.writesExec = effects & kWritesExec;
    // A dual instruction has the effects of both halves, and only selects by VCC, an operand.
    rule.readsVcc = effects & kReadsVcc && inst.enc != Enc::Vopd;
    rule.swaps = effects & kWritesTwoVectors && inst.enc != Enc::Vopd;
    return rule;
  }
}

void ScalarInit::begin(const Wave &w) {
  for (size_t code = 0; code < bits_.size(); ++code)
    bits_[code] = ~w.launched[code];
  std::fill(bits_.begin() + 128, bits_.end(), 0u); // what stands for NULL
  scc_ = true;
}

uint64_t ScalarInit::bits(const Wave &w, const Operand &o, unsigned dwords) const {
  if (o.kind == Kind::Special)
    return o.index == kSccCode                           ? uint64_t(scc_)
           : o.index == kVcczCode && lanes(w, kVcc) != 0 ? 1
                                                         : 0;
  if (o.kind != Kind::Sgpr || o.index >= bits_.size())
    return 0;
  uint64_t r = bits_[o.index];
  if (dwords > 1 && o.index + 1u < bits_.size())
    r |= uint64_t(bits_[o.index + 1]) << 32;
  // Wider ones are looked at as a whole.
  for (unsigned d = 2; d < dwords && o.index + d < bits_.size(); ++d)
    r |= bits_[o.index + d];
  return r;
}

uint64_t ScalarInit::lanes(const Wave &w, unsigned index) const {
  if (index + 1 >= bits_.size())
    return 0;
  return bits_[index] | (w.lanes == 64 ? uint64_t(bits_[index + 1]) << 32 : 0);
}

void ScalarInit::setLanes(const Wave &w, unsigned index, uint64_t mask) {
  set(index, static_cast<uint32_t>(mask));
  if (w.lanes == 64)
    set(index + 1, static_cast<uint32_t>(mask >> 32));
}

void ScalarInit::write(const Wave &w, const Operand &to, unsigned dwords, uint64_t mask) {
  if (to.kind != Kind::Sgpr || !dwords)
    return;
  set(to.index, static_cast<uint32_t>(mask));
  if (dwords > 1)
    set(to.index + 1u, static_cast<uint32_t>(mask >> 32));
}

void ScalarInit::before(const Wave &w, const Inst &i, const ScalarRule &rule,
                        const Report &report) {
  switch (rule.flow) {
  case Flow::None:
    if (rule.writesScc)
      scc_ = false;
    return;
  case Flow::Load:
  case Flow::Store:
  case Flow::Atomic:
    return memory(w, i, rule, report);
  case Flow::BranchScc:
  case Flow::BranchVcc:
  case Flow::BranchExec:
  case Flow::Jump:
    return branch(w, i, rule, report);
  case Flow::Logic:
  case Flow::SaveExec:
  case Flow::WriteExec:
    return logic(w, i, rule);
  default:
    return arithmetic(w, i, rule);
  }
}

void ScalarInit::logic(const Wave &w, const Inst &i, const ScalarRule &rule) {
  const unsigned dwords = dwordsOf(i.op->dst);
  const uint64_t width = widthMask(dwords);
  const bool exec = rule.flow != Flow::Logic;
  const uint64_t oldExec = lanes(w, kExec);
  const uint64_t a = read64(w, i.src[0]), ua = bits(w, i.src[0], dwords);
  const uint64_t b = exec ? w.exec() : read64(w, i.src[1]);
  const uint64_t ub = exec ? oldExec : bits(w, i.src[1], dwords);
  const uint64_t u = undefinedBits(rule.logic, a, ua, b, ub) & width;
  write(w, i.dst, dwords, rule.flow == Flow::SaveExec ? oldExec : u);
  if (exec)
    setLanes(w, kExec, u);
  scc_ = unsettled(apply(rule.logic, a, b) & width, u);
}

void ScalarInit::arithmetic(const Wave &w, const Inst &i, const ScalarRule &rule) {
  const unsigned dwords = destinationDwords(i), dwords0 = std::max(1u, dwordsOf(i.op->src[0]));
  const uint64_t width = widthMask(dwords);
  const uint64_t ua = bits(w, i.src[0], dwords0);
  const uint64_t ub = bits(w, i.src[1], std::max(1u, dwordsOf(i.op->src[1])));
  const Operand &to = i.enc == Enc::Smem ? i.scalarData : i.dst;
  switch (rule.flow) {
  case Flow::Defines:
    return write(w, to, dwords, 0);
  case Flow::Move:
    return write(w, to, dwords, ua);
  case Flow::Select:
    return write(w, to, dwords, scc_ ? ~uint64_t(0) : w.scc ? ua : ub);
  case Flow::MoveIf:
    if (scc_ || w.scc)
      write(w, to, dwords, scc_ ? ~uint64_t(0) : bits(w, i.src[0], dwords));
    return;
  case Flow::ShiftLeft:
  case Flow::ShiftRight: {
    const unsigned by = read32(w, i.src[1]) & (dwords * 32 - 1);
    auto shifted = [&](uint64_t x) {
      return (rule.flow == Flow::ShiftLeft ? x << by : (x & width) >> by) & width;
    };
    const uint64_t u = ub ? width : shifted(ua);
    write(w, to, dwords, u);
    scc_ = unsettled(shifted(read64(w, i.src[0])), u);
    return;
  }
  case Flow::Extract: {
    // Five or six bits say where the field begins, seven from bit 16 how long it is.
    const uint32_t field = read32(w, i.src[1]);
    const unsigned first = field & (dwords * 32 - 1);
    const unsigned length = std::min(field >> 16 & 127, dwords * 32 - first);
    const uint64_t mask = length == 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1;
    uint64_t u = ub ? width : ua >> first & mask;
    if (length && u >> (length - 1) & 1 && i.op->has(Trait::SignExtends))
      u |= width & ~mask; // the copies of the sign
    write(w, to, dwords, u);
    scc_ = unsettled(read64(w, i.src[0]) >> first & mask, u);
    return;
  }
  case Flow::Equal: {
    // Defined bits that differ settle it.
    const uint64_t difference = (read64(w, i.src[0]) ^ read64(w, i.src[1])) & widthMask(dwords0);
    scc_ = unsettled(difference, ua | ub);
    return;
  }
  case Flow::BitTest:
    scc_ = ub || (ua >> (read32(w, i.src[1]) & (dwords0 * 32 - 1)) & 1);
    return;
  default:
    break;
  }
  const bool bad =
      ua || ub || (rule.readsDestination && undefined(w, to, dwords)) || (rule.readsScc && scc_);
  if (rule.writesDestination)
    write(w, to, dwords, bad ? ~uint64_t(0) : 0);
  if (rule.writesScc)
    scc_ = bad;
}

void ScalarInit::memory(const Wave &w, const Inst &i, const ScalarRule &rule,
                        const Report &report) {
  const bool buffer = i.op->has(Trait::DescriptorBase);
  if (undefined(w, i.src[0], buffer ? 4 : 2) || undefined(w, i.src[2], 1))
    report("a scalar register that was never written is used as an address");
  const unsigned dwords = std::max(1u, i.op->transfer.bytes / 4u);
  if (rule.flow == Flow::Load) {
    for (unsigned d = 0; d < dwords; ++d)
      set(i.scalarData.index + d, 0);
    return;
  }
  if (undefined(w, i.scalarData, dwords))
    report("a scalar register that was never written is used as stored data");
  if (rule.flow == Flow::Atomic && i.flags & kGlc)
    for (unsigned d = 0; d < dwords; ++d)
      set(i.scalarData.index + d, 0);
}

void ScalarInit::branch(const Wave &w, const Inst &i, const ScalarRule &rule,
                        const Report &report) {
  bool bad = false;
  switch (rule.flow) {
  case Flow::BranchScc:
    bad = scc_;
    break;
  case Flow::BranchVcc:
    bad = unsettled(w.vcc(), lanes(w, kVcc));
    break;
  case Flow::BranchExec:
    bad = unsettled(w.exec(), lanes(w, kExec));
    break;
  default:
    bad = undefined(w, i.src[0], 2);
    if (rule.writesDestination) // the place to return to
      write(w, i.dst, 2, 0);
    break;
  }
  if (bad)
    report("a branch is decided by a value that was never written");
}

} // namespace flyemu
