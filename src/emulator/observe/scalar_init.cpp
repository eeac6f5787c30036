#include "emulator/observe/scalar_init.h"

#include "emulator/isa/mc.h"
#include "emulator/isa/op.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <iterator>

namespace flyemu {

namespace {
using Effect = ScalarRule::Effect;
using Function = ScalarRule::Function;
constexpr unsigned kSccOperand = 253, kVcczOperand = 251;

bool startsWithAny(std::string_view name, std::initializer_list<std::string_view> parts) {
  return std::any_of(parts.begin(), parts.end(),
                     [&](std::string_view part) { return name.starts_with(part); });
}

struct LogicName {
  std::string_view name;
  Function function;
  bool complemented;
};
constexpr LogicName kLogic[] = {
    {"s_and_", Function::And, false},      {"s_or_", Function::Or, false},
    {"s_xor_", Function::Xor, false},      {"s_andn2_", Function::AndNot, false},
    {"s_orn2_", Function::OrNot, false},   {"s_nand_", Function::And, true},
    {"s_nor_", Function::Or, true},        {"s_xnor_", Function::Xor, true},
    {"s_andn1_", Function::NotAnd, false}, {"s_orn1_", Function::NotOr, false},
    {"s_not_", Function::Xor, true}, // its second operand is none, which reads as zero
};

uint64_t apply(const ScalarRule &rule, uint64_t a, uint64_t b) {
  uint64_t r = 0;
  switch (rule.function) {
  case Function::And:
    r = a & b;
    break;
  case Function::Or:
    r = a | b;
    break;
  case Function::Xor:
    r = a ^ b;
    break;
  case Function::AndNot:
    r = a & ~b;
    break;
  case Function::OrNot:
    r = a | ~b;
    break;
  case Function::NotAnd:
    r = ~a & b;
    break;
  case Function::NotOr:
    r = ~a | b;
    break;
  }
  return rule.complemented ? ~r : r;
}

/// The bits of a function's result that change with an undefined bit of an operand.
uint64_t undefinedBits(const ScalarRule &rule, uint64_t a, uint64_t undefinedA, uint64_t b,
                       uint64_t undefinedB) {
  const uint64_t r = apply(rule, a, b);
  return (undefinedA & (r ^ apply(rule, ~a, b))) | (undefinedB & (r ^ apply(rule, a, ~b))) |
         (undefinedA & undefinedB & (r ^ apply(rule, ~a, ~b)));
}

uint64_t widthMask(unsigned dwords) { return dwords > 1 ? ~uint64_t(0) : 0xffffffffu; }

/// Whether it is open that a value is other than zero: one defined bit that is set settles it.
bool unsettled(uint64_t value, uint64_t undefined) { return undefined && !(value & ~undefined); }

/// What has no type for its destination in the tables says its width in its name.
unsigned destinationDwords(const Inst &i) {
  if (i.enc == Enc::Smem || i.op->name.starts_with("s_bitset") || i.op->dst == Type::None)
    return i.enc == Enc::Smem || i.op->name.ends_with("b64") ? 2 : 1;
  return dwordsOf(i.op->dst);
}

ScalarRule salu(const Inst &inst, unsigned effects) {
  const std::string_view name = inst.op->name;
  ScalarRule rule;
  rule.readsScc = effects & kReadsScc;
  rule.writesScc = effects & kWritesScc;
  rule.writesDestination = effects & kWritesScalar;
  // In LLVM's records of the real instructions s_bitset's register is not tied to the one that it
  // changes, and s_cmpk has its first operand in the field of a destination.
  rule.readsDestination = effects & kReadsDestination || name.starts_with("s_bitset") ||
                          (inst.enc == Enc::Sopk && !rule.writesDestination);
  rule.effect = Effect::Any;
  for (const LogicName &l : kLogic)
    if (name.starts_with(l.name)) {
      rule.function = l.function;
      rule.complemented = l.complemented;
      rule.effect = name.find("_saveexec_") != std::string_view::npos ? Effect::SaveExec
                    : name.find("_wrexec_") != std::string_view::npos ? Effect::WriteExec
                                                                      : Effect::Logic;
      return rule;
    }
  if (name.starts_with("s_mov_b")) {
    rule.effect = Effect::Move;
  } else if (name.starts_with("s_cselect_")) {
    rule.effect = Effect::Select;
  } else if (name.starts_with("s_cmov")) {
    rule.effect = Effect::MoveIf;
  } else if (startsWithAny(name, {"s_lshl_b", "s_lshr_b"})) {
    rule.effect = name.starts_with("s_lshl") ? Effect::ShiftLeft : Effect::ShiftRight;
  } else if (name.starts_with("s_bfe_")) {
    rule.effect = Effect::Extract;
  } else if (startsWithAny(name, {"s_cmp_eq_i32", "s_cmp_eq_u", "s_cmp_lg_i32", "s_cmp_lg_u"})) {
    rule.effect = Effect::Equal;
  } else if (name.starts_with("s_bitcmp")) {
    rule.effect = Effect::BitTest;
  } else if (startsWithAny(name, {"s_setpc", "s_swappc"})) {
    rule.effect = Effect::Jump;
  } else if (startsWithAny(name, {"s_movk_", "s_getreg", "s_getpc", "s_call", "s_memtime",
                                  "s_memrealtime", "s_sendmsg_rtn", "s_get_barrier"})) {
    rule.effect = Effect::Defines;
  } else if (startsWithAny(name, {"s_movrel", "s_setreg", "s_cbranch_", "s_subvector", "s_setvskip",
                                  "s_barrier", "s_sleep", "s_alloc", "s_wakeup"})) {
    rule.effect = Effect::None;
  }
  return rule;
}
} // namespace

ScalarRule scalarRule(const Inst &inst, unsigned effects) {
  const std::string_view name = inst.op->name;
  ScalarRule rule;
  rule.effect = Effect::None;
  switch (inst.enc) {
  case Enc::Sop1:
  case Enc::Sop2:
  case Enc::Sopc:
  case Enc::Sopk:
    return salu(inst, effects);
  case Enc::Sopp:
    rule.effect = name.starts_with("s_cbranch_scc")    ? Effect::BranchScc
                  : name.starts_with("s_cbranch_vcc")  ? Effect::BranchVcc
                  : name.starts_with("s_cbranch_exec") ? Effect::BranchExec
                                                       : Effect::None;
    return rule;
  case Enc::Smem:
    rule.effect = name.find("_load_") != std::string_view::npos     ? Effect::Load
                  : name.find("_store_") != std::string_view::npos  ? Effect::Store
                  : name.find("_atomic_") != std::string_view::npos ? Effect::Atomic
                  : name.find("time") != std::string_view::npos     ? Effect::Defines
                                                                    : Effect::None;
    return rule;
  default:
    rule.laneMove =
        startsWithAny(name, {"v_readfirstlane_b32", "v_readlane_b32", "v_writelane_b32"});
    rule.lowAlone = name.ends_with("_u64_u32") || name.ends_with("_i64_i32");
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
    return o.index == kSccOperand                           ? uint64_t(scc_)
           : o.index == kVcczOperand && lanes(w, kVcc) != 0 ? 1
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
  switch (rule.effect) {
  case Effect::Unknown:
    return;
  case Effect::None:
    if (rule.writesScc)
      scc_ = false;
    return;
  case Effect::Load:
  case Effect::Store:
  case Effect::Atomic:
    return memory(w, i, rule, report);
  case Effect::BranchScc:
  case Effect::BranchVcc:
  case Effect::BranchExec:
  case Effect::Jump:
    return branch(w, i, rule, report);
  case Effect::Logic:
  case Effect::SaveExec:
  case Effect::WriteExec:
    return logic(w, i, rule);
  default:
    return arithmetic(w, i, rule);
  }
}

void ScalarInit::logic(const Wave &w, const Inst &i, const ScalarRule &rule) {
  const unsigned dwords = dwordsOf(i.op->dst);
  const uint64_t width = widthMask(dwords);
  const bool exec = rule.effect != Effect::Logic;
  const uint64_t oldExec = lanes(w, kExec);
  const uint64_t a = read64(w, i.src[0]), ua = bits(w, i.src[0], dwords);
  const uint64_t b = exec ? w.exec() : read64(w, i.src[1]);
  const uint64_t ub = exec ? oldExec : bits(w, i.src[1], dwords);
  const uint64_t u = undefinedBits(rule, a, ua, b, ub) & width;
  write(w, i.dst, dwords, rule.effect == Effect::SaveExec ? oldExec : u);
  if (exec)
    setLanes(w, kExec, u);
  scc_ = unsettled(apply(rule, a, b) & width, u);
}

void ScalarInit::arithmetic(const Wave &w, const Inst &i, const ScalarRule &rule) {
  const unsigned dwords = destinationDwords(i), dwords0 = std::max(1u, dwordsOf(i.op->src[0]));
  const uint64_t width = widthMask(dwords);
  const uint64_t ua = bits(w, i.src[0], dwords0);
  const uint64_t ub = bits(w, i.src[1], std::max(1u, dwordsOf(i.op->src[1])));
  const Operand &to = i.enc == Enc::Smem ? i.sdst : i.dst;
  switch (rule.effect) {
  case Effect::Defines:
    return write(w, to, dwords, 0);
  case Effect::Move:
    return write(w, to, dwords, ua);
  case Effect::Select:
    return write(w, to, dwords, scc_ ? ~uint64_t(0) : w.scc ? ua : ub);
  case Effect::MoveIf:
    if (scc_ || w.scc)
      write(w, to, dwords, scc_ ? ~uint64_t(0) : bits(w, i.src[0], dwords));
    return;
  case Effect::ShiftLeft:
  case Effect::ShiftRight: {
    const unsigned by = read32(w, i.src[1]) & (dwords * 32 - 1);
    auto shifted = [&](uint64_t x) {
      return (rule.effect == Effect::ShiftLeft ? x << by : (x & width) >> by) & width;
    };
    const uint64_t u = ub ? width : shifted(ua);
    write(w, to, dwords, u);
    scc_ = unsettled(shifted(read64(w, i.src[0])), u);
    return;
  }
  case Effect::Extract: {
    // Five or six bits say where the field begins, seven from bit 16 how long it is.
    const uint32_t field = read32(w, i.src[1]);
    const unsigned first = field & (dwords * 32 - 1);
    const unsigned length = std::min(field >> 16 & 127, dwords * 32 - first);
    const uint64_t mask = length == 64 ? ~uint64_t(0) : (uint64_t(1) << length) - 1;
    uint64_t u = ub ? width : ua >> first & mask;
    if (length && u >> (length - 1) & 1 && i.op->name.starts_with("s_bfe_i"))
      u |= width & ~mask; // the copies of the sign
    write(w, to, dwords, u);
    scc_ = unsettled(read64(w, i.src[0]) >> first & mask, u);
    return;
  }
  case Effect::Equal: {
    // Defined bits that differ settle it.
    const uint64_t difference = (read64(w, i.src[0]) ^ read64(w, i.src[1])) & widthMask(dwords0);
    scc_ = unsettled(difference, ua | ub);
    return;
  }
  case Effect::BitTest:
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
  const bool buffer = i.op->name.starts_with("s_buffer_");
  if (undefined(w, i.src[0], buffer ? 4 : 2) || undefined(w, i.src[2], 1))
    report("a scalar register that nobody has written is used as an address");
  const unsigned dwords = std::max(1u, i.op->info / 4);
  if (rule.effect == Effect::Load) {
    for (unsigned d = 0; d < dwords; ++d)
      set(i.sdst.index + d, 0);
    return;
  }
  if (undefined(w, i.sdst, dwords))
    report("a scalar register that nobody has written is used as stored data");
  if (rule.effect == Effect::Atomic && i.flags & kGlc)
    for (unsigned d = 0; d < dwords; ++d)
      set(i.sdst.index + d, 0);
}

void ScalarInit::branch(const Wave &w, const Inst &i, const ScalarRule &rule,
                        const Report &report) {
  bool bad = false;
  switch (rule.effect) {
  case Effect::BranchScc:
    bad = scc_;
    break;
  case Effect::BranchVcc:
    bad = unsettled(w.vcc(), lanes(w, kVcc));
    break;
  case Effect::BranchExec:
    bad = unsettled(w.exec(), lanes(w, kExec));
    break;
  default:
    bad = undefined(w, i.src[0], 2);
    if (i.op->name.starts_with("s_swappc"))
      write(w, i.dst, 2, 0);
    break;
  }
  if (bad)
    report("a branch is decided by a value that nobody has written");
}

} // namespace flyemu
