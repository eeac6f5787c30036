// Compares the emulator's view of what each instruction reads and writes with LLVM's tables of
// instructions: the classes of its operation tables, the knowledge of its checks, and the effects
// of running an operation on SCC, VCC, EXEC, M0 and the scalar registers.
#include "machine.h"

#include "emulator/core/dispatch.h"
#include "emulator/isa/encodings.h"
#include "emulator/isa/op.h"
#include "emulator/observe/scalar_init.h"
#include "emulator/observe/waits/wait_rule.h"
#include "emulator/ops/decode_program.h"
#include "emulator/ops/memory/memory_ops.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace flyemu::test {

namespace {
/// One of LLVM's opcodes that the emulator has, decoded from an encoding of it.
struct Case {
  std::string record; ///< LLVM's name
  EncodingWords words;
  McInstruction mc;
  std::shared_ptr<const Program> program;
  const Inst &inst() const { return program->insts[0]; }
  unsigned effects() const { return program->effects[0]; }
  std::string_view name() const { return inst().op->name; }
};

/// An encoding of the same instruction whose operands are apart from each other; the given one
/// where there is no such.
EncodingWords spread(const McTarget &mc, const EncodingWords &given, const McInstruction &i) {
  EncodingWords w = given;
  if (given[0] >> 23 == 0x17d) // SOP1: s32, s2
    w[0] = (w[0] & ~0x7f00ffu) | 32 << 16 | 2;
  else if (given[0] >> 23 == 0x17e) // SOPC: s2, s4
    w[0] = (w[0] & ~0xffffu) | 4 << 8 | 2;
  else if (given[0] >> 30 == 2 && given[0] >> 28 != 0xb) // SOP2: s32, s2, s4
    w[0] = (w[0] & ~0x7fffffu) | 32 << 16 | 4 << 8 | 2;
  return mc.decode(w.data(), sizeof w).opcode == i.opcode ? w : given;
}

std::vector<Case> casesOf(const std::string &target) {
  const flyemu::Machine &info = *findMachine(target);
  const McTarget mc(info.name(), info.disassembler);
  std::map<unsigned, Case> cases;
  eachEncoding(info, mc, [&](const EncodingWords &words, const McInstruction &i) {
    if (!cases.count(i.opcode)) {
      const EncodingWords apart = spread(mc, words, i);
      cases.emplace(i.opcode, Case{std::string(mc.opcodeName(i.opcode)), apart,
                                   mc.decode(apart.data(), sizeof apart), nullptr});
    }
  });
  std::vector<Case> all;
  all.reserve(cases.size()); // programs know the address of their words
  for (auto &[opcode, c] : cases) {
    all.push_back(std::move(c));
    all.back().program = decodeProgram(target, all.back().words.data(), sizeof(EncodingWords));
    if (!all.back().inst().op)
      all.pop_back();
  }
  return all;
}

/// Where LLVM's tables say something else with reason; by the beginning of a base mnemonic.
struct Exception {
  std::string_view name, reason;
};
bool isAmong(std::span<const Exception> exceptions, std::string_view name) {
  for (const Exception &e : exceptions)
    if (name.starts_with(e.name))
      return true;
  return false;
}

constexpr Exception kMemory[] = {
    {"s_prefetch_", "LLVM keeps the order of prefetches, which bring nothing"},
    {"s_buffer_prefetch_", "LLVM keeps the order of prefetches, which bring nothing"},
    {"flat_prefetch_", "LLVM keeps the order of prefetches, which bring nothing"},
    {"global_prefetch_", "LLVM keeps the order of prefetches, which bring nothing"},
    {"s_wait_asynccnt", "LLVM keeps the order of memory around the waits of one counter"},
    {"s_wait_tensorcnt", "LLVM keeps the order of memory around the waits of one counter"},
    {"tensor_", "a move writes no registers, and LLVM takes each to load and store"},
    {"s_waitcnt_", "LLVM keeps the order of memory around the waits of one counter"},
    {"s_wakeup", "LLVM keeps the order of signals to other waves"},
};

/// What the classes of the operation tables say of memory: McEffect, or nothing of what is open.
std::optional<unsigned> memoryOf(const Case &c) {
  const Inst &i = c.inst();
  const bool toLds =
      i.enc != Enc::Ds && (i.flags & kToLds || i.op->transfer.toLds ||
                           c.name().find("_async_to_lds_") != std::string_view::npos);
  switch (i.op->cls) {
  case Class::VmemRead:
    return toLds ? kLoads | kStores : kLoads;
  case Class::VmemWrite: // atomic operations among them
    return c.effects() & kLoads ? kLoads | kStores : kStores;
  case Class::Lds:
  case Class::Smem:
    return std::nullopt;
  default:
    return 0;
  }
}

/// What the names of memory instructions say, as people read them.
std::optional<unsigned> memoryByName(std::string_view name) {
  auto has = [&](std::string_view part) { return name.find(part) != name.npos; };
  if (has("_load_lds_") || (has("_load_") && name.ends_with("_lds")) || has("_async_to_lds_") ||
      has("_async_from_lds_"))
    return kLoads | kStores;
  if (has("_atomic_"))
    return kLoads | kStores;
  if (has("_load_") || name.starts_with("ds_read"))
    return kLoads;
  if (has("_store_") || name.starts_with("ds_write"))
    return kStores;
  if (has("permute_") || has("_swizzle_") || name == "ds_nop" || has("cache_") || has("time") ||
      has("probe") || has("_inv") || has("_wb"))
    return 0;
  return name.starts_with("ds_") ? std::optional<unsigned>(kLoads | kStores) : std::nullopt;
}
} // namespace

TEST_CASE("effects: what loads and stores is of a class that does") {
  for (const char *target : kTargets) {
    size_t compared = 0;
    for (const Case &c : casesOf(target)) {
      INFO(target << ": " << c.record);
      if (isAmong(kMemory, c.name()))
        continue;
      const unsigned memory = c.effects() & (kLoads | kStores);
      if (const auto expected = memoryOf(c)) {
        CHECK(memory == *expected);
        ++compared;
      }
      if (const Enc e = c.inst().enc; e >= Enc::Ds || e == Enc::Smem)
        if (const auto expected = memoryByName(c.name()))
          CHECK(memory == *expected);
    }
    CHECK(compared > 1000);
  }
}

TEST_CASE("effects: instructions count where LLVM says that waits look") {
  for (const char *target : kTargets) {
    const bool storesCountApart = findMachine(target)->encoding != Encoding::Gfx9;
    size_t vector = 0, lds = 0, scalar = 0;
    for (const Case &c : casesOf(target)) {
      const Inst &i = c.inst();
      const WaitRule rule = waitRule(*c.program, i);
      INFO(target << ": " << c.record << ": " << c.program->text(0) << " reads "
                  << rule.reads.size() << " writes " << rule.writes.size());
      const bool vm = c.effects() & kCountsVm, lgkm = c.effects() & kCountsLgkm;
      // Nothing of a wave depends on what only stores, where it has a counter of its own, nor on
      // cache control; LLVM's pass counts neither, but for invalidations on gfx12.
      const bool storesApart = storesCountApart && i.op->cls == Class::VmemWrite && !i.rows.result;
      const bool control = i.op->cls == Class::Other && !i.op->has(Trait::CountsAsLoad);
      const bool isLds = i.enc == Enc::Ds || i.enc == Enc::Flat;
      // Write-backs are counted with stores, which LLVM's pass knows from #178316 on.
      const bool writesBack = i.op->has(Trait::WritesBack);
      CHECK(rule.counters.has(WaitCounter::Load) ==
            ((vm && !storesApart && !control) || (writesBack && !storesCountApart)));
      CHECK(rule.counters.has(WaitCounter::Store) == (writesBack && storesCountApart));
      CHECK(rule.counters.has(WaitCounter::Ds) == (lgkm && isLds));
      // Messages that are answered, which LLVM's pass knows by their opcodes.
      CHECK(rule.counters.has(WaitCounter::Km) ==
            ((i.enc == Enc::Smem && lgkm && !rule.writes.empty()) ||
             i.op->has(Trait::CountsAsScalar)));
      vector += rule.counters.has(WaitCounter::Load);
      lds += rule.counters.has(WaitCounter::Ds);
      scalar += rule.counters.has(WaitCounter::Km);
    }
    CHECK(vector > 100);
    CHECK(lds > 100);
    CHECK(scalar > 10);
  }
}

TEST_CASE("effects: the rules of the check for values that was never written are LLVM's") {
  static constexpr Exception kScc[] = {
      {"s_setvskip", "SOPC's other instructions write SCC; this one sets a bit of MODE"},
  };
  for (const char *target : kTargets) {
    size_t scalar = 0;
    for (const Case &c : casesOf(target)) {
      INFO(target << ": " << c.record);
      const Inst &i = c.inst();
      const unsigned e = c.effects();
      const ScalarRule rule = scalarRule(i, e);
      if (i.enc == Enc::Sopp) {
        CHECK((rule.flow == Flow::BranchScc) == bool(e & kReadsScc));
        CHECK((rule.flow == Flow::BranchVcc) == bool(e & kReadsVcc));
        CHECK((rule.flow == Flow::BranchExec) == bool(e & kReadsExec && !(e & kReadsM0)));
        continue;
      }
      if (i.enc == Enc::Smem) {
        if (!isAmong(kMemory, c.name())) {
          CHECK((rule.flow == Flow::Load || rule.flow == Flow::Atomic) == bool(e & kLoads));
          CHECK((rule.flow == Flow::Store || rule.flow == Flow::Atomic) == bool(e & kStores));
        }
        // Of the others, a clock has a result.
        if (rule.flow == Flow::Defines || rule.flow == Flow::None)
          CHECK((rule.flow == Flow::Defines) == bool(e & kWritesScalar));
        continue;
      }
      if (i.enc != Enc::Sop1 && i.enc != Enc::Sop2 && i.enc != Enc::Sopc && i.enc != Enc::Sopk)
        continue;
      ++scalar;
      switch (rule.flow) { // those that set SCC, or look at it, whatever the rule's bits say
      case Flow::Logic:
      case Flow::SaveExec:
      case Flow::WriteExec:
      case Flow::ShiftLeft:
      case Flow::ShiftRight:
      case Flow::Extract:
      case Flow::Equal:
      case Flow::BitTest:
        CHECK(e & kWritesScc);
        CHECK_FALSE(e & kReadsScc);
        break;
      case Flow::Select:
      case Flow::MoveIf:
        CHECK(e & kReadsScc);
        CHECK_FALSE(e & kWritesScc);
        break;
      case Flow::Move:
      case Flow::Defines:
      case Flow::Jump:
        CHECK_FALSE(e & (kReadsScc | kWritesScc));
        break;
      case Flow::None:
        CHECK((!(e & kWritesScc) || rule.writesScc || isAmong(kScc, c.name())));
        break;
      default:
        CHECK(rule.writesScc == bool(e & kWritesScc));
        CHECK(rule.readsScc == bool(e & kReadsScc));
        break;
      }
      // These have results by their rules; the others by LLVM's word.
      const bool result = rule.flow == Flow::Move || rule.flow == Flow::MoveIf ||
                          rule.flow == Flow::Select || rule.flow == Flow::Logic ||
                          rule.flow == Flow::SaveExec || rule.flow == Flow::WriteExec ||
                          rule.flow == Flow::ShiftLeft || rule.flow == Flow::ShiftRight ||
                          rule.flow == Flow::Extract || rule.flow == Flow::Defines;
      if (result)
        CHECK(e & kWritesScalar);
      if (rule.flow == Flow::Equal || rule.flow == Flow::BitTest)
        CHECK_FALSE(e & kWritesScalar);
      const bool exec = rule.flow == Flow::SaveExec || rule.flow == Flow::WriteExec;
      if (!c.name().starts_with("s_subvector_loop")) // branches of waves of 64 on RDNA, which fault
        CHECK(exec == bool(e & kWritesExec));
    }
    CHECK(scalar > 140);
  }
}

// Where the tables have other results than LLVM, which the checks therefore take from LLVM.
constexpr Exception kWidths[] = {
    {"v_nop", "has no result"},
    {"v_clrexcp", "has no result"},
    {"v_pipeflush", "has no result"},
    {"v_cvt_scalef32_", "the tables have no type of six registers, and eight stand for them"},
    {"v_swap", "LLVM takes these bits for a swap with a scalar register, which there is not"},
    {"v_permlane16_swap_", "LLVM takes these bits for a swap with a scalar register"},
    {"v_permlane32_swap_", "LLVM takes these bits for a swap with a scalar register"},
    {"v_movreld_", "the result is M0 registers away from what LLVM lists as an operand"},
    {"v_movrelsd_", "the result is M0 registers away from what LLVM lists as an operand"},
};

TEST_CASE("effects: vector arithmetic has the operands that LLVM lists, of their widths") {
  for (const char *target : kTargets) {
    size_t compared = 0;
    for (const Case &c : casesOf(target)) {
      const Inst &i = c.inst();
      const unsigned e = c.effects();
      if (i.op->cls != Class::Valu ||
          (i.enc != Enc::Vop1 && i.enc != Enc::Vop2 && i.enc != Enc::Vopc && i.enc != Enc::Vop3 &&
           i.enc != Enc::Vop3p))
        continue;
      INFO(target << ": " << c.record);
      ++compared;
      const ScalarRule rule = scalarRule(i, e);
      const bool mask = i.op->dst == Type::Mask;
      CHECK(mask == (c.name().starts_with("v_cmp") || bool(e & kWritesExec)));
      if (mask)
        CHECK(e & (kWritesExec | kWritesVcc | kWritesScalar));
      else if (rule.carryOut && i.dst.isVgpr() && !rule.laneMove && !isAmong(kWidths, c.name()))
        CHECK(i.mask.kind == Kind::Sgpr);
      if (i.enc == Enc::Vop2)
        CHECK((i.op->src[2] == Type::Mask) == bool(e & kReadsVcc));
      unsigned written = 0, expected = 0;
      std::multiset<unsigned> read, taken;
      for (unsigned k = 0; k < c.mc.vectorCount; ++k) {
        const McVectorOperand &v = c.mc.vectors[k];
        if (v.written)
          written += v.dwords;
        else if (!v.tied)
          read.insert(v.dwords);
      }
      if (isAmong(kWidths, c.name()))
        continue;
      const bool toScalar = rule.laneMove && e & kWritesScalar; // the row is a scalar's number
      if (i.dst.isVgpr() && !mask && !toScalar)
        expected = std::max(1u, dwordsOf(i.op->dst));
      for (unsigned k = 0; k < 3; ++k)
        if (i.src[k].isVgpr())
          taken.insert(std::max(1u, dwordsOf(i.op->src[k])));
      CHECK(written == expected);
      CHECK(read == taken);
    }
    CHECK(compared > 500);
  }
}

TEST_CASE("effects: what the rows say of operands is what LLVM lists") {
  for (const char *target : kTargets) {
    size_t literals = 0, carries = 0, controls = 0;
    for (const Case &c : casesOf(target)) {
      const Inst &i = c.inst();
      const OpDef &op = *i.op;
      const unsigned e = c.effects();
      INFO(target << ": " << c.record);
      // Vector instructions with scalar results: a mask beside the vector, or a scalar alone.
      unsigned written = 0;
      for (unsigned k = 0; k < c.mc.vectorCount; ++k)
        written += c.mc.vectors[k].written;
      if (op.cls == Class::Valu && op.dst != Type::Mask && !isAmong(kWidths, c.name())) {
        const bool scalar = e & kWritesScalar;
        if (i.enc == Enc::Vop3) {
          CHECK(op.has(Trait::CarryMask) == (written && scalar));
          CHECK(op.hasAny({Trait::ScalarResult, Trait::ReadsLane}) == (!written && scalar));
          carries += op.has(Trait::CarryMask);
        } else if (i.enc == Enc::Vop1) {
          CHECK(op.has(Trait::ReadsFirstLane) == (!written && scalar));
        }
      }
      if (op.has(Trait::WritesLane))
        CHECK(c.mc.vectors[c.mc.vectorCount - 1].tied); // the other lanes stay
      if (op.has(Trait::SwapsInLane) && !isAmong(kWidths, c.name()))
        CHECK(e & kWritesTwoVectors);
      // VOP2 has a second dword for a permute, for a literal that the first source asks for, or
      // because the operation has a constant of its own.
      if (i.enc == Enc::Vop2) {
        const unsigned source = c.words[0] & 511;
        const bool asked =
            source == 255 || source == 249 || source == 250 || source == 233 || source == 234;
        if (!asked)
          CHECK((op.literal != Literal::None) == (i.dwords > 1)); // 3: one of 64 bits
        literals += op.literal != Literal::None;
      }
      // Instructions of memory's encodings that move no data are cache control.
      if ((i.enc == Enc::Mubuf || i.enc == Enc::Global) && op.cls == Class::Other &&
          !isAmong(kMemory, c.name())) {
        CHECK(op.has(Trait::Orders));
        ++controls;
      }
      if (op.has(Trait::TypedBuffer))
        CHECK(i.enc == Enc::Mtbuf);
      if (i.enc == Enc::Mtbuf)
        CHECK(op.has(Trait::TypedBuffer));
      if (i.enc >= Enc::Ds && op.has(Trait::NoAddress))
        CHECK(i.rows.address == 0);
      if (op.has(Trait::MovesLanes))
        CHECK_FALSE(e & (kLoads | kStores));
      if (op.waits)
        CHECK((i.enc == Enc::Sopp || i.enc == Enc::Sopk));
    }
    CHECK(literals > 2);
    CHECK(carries > 5);
    CHECK(controls > 1);
  }
}

TEST_CASE("effects: an access has a wide scope if LLVM prints one") {
  for (const char *target : kTargets) {
    const flyemu::Machine &info = *findMachine(target);
    const McTarget mc(info.name(), info.disassembler);
    size_t wide = 0, narrow = 0;
    for (const Case &c : casesOf(target)) {
      const Enc e = c.inst().enc;
      if (e != Enc::Flat && e != Enc::Global && e != Enc::Mubuf)
        continue;
      if (c.inst().op->has(Trait::Orders)) // always is
        continue;
      // With each bit of its fields changed, as long as it is the same instruction.
      for (unsigned bit = 0; bit < 32u * c.inst().dwords; ++bit) {
        EncodingWords words = c.words;
        words[bit / 32] ^= 1u << bit % 32;
        if (mc.decode(words.data(), sizeof words).opcode != c.mc.opcode)
          continue;
        const std::string text = mc.print(words.data(), sizeof words);
        auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
        const bool printed =
            has(" sc1") || has(" glc") || has("scope:SCOPE_DEV") || has("scope:SCOPE_SYS");
        const auto program = decodeProgram(target, words.data(), sizeof words);
        const Inst &i = program->insts[0];
        if (program->isAtomic(i)) // has a wide scope whatever its bits say
          continue;
        INFO(target << ": " << text);
        CHECK(bool(i.flags & kWideScope) == printed);
        ++(printed ? wide : narrow);
      }
    }
    CHECK(wide > 30);
    CHECK(narrow > 1000);
  }
}

namespace {
/// A state for a run: scalars, SCC, the first vector registers.
struct State {
  std::array<uint32_t, 128> s;
  bool scc;
  std::vector<uint32_t> rows;
};
constexpr unsigned kRows = 48;

/// What a run leaves; nothing where it faults.
std::optional<State> runOn(Machine &m, const Case &c, const State &before) {
  std::copy(before.s.begin(), before.s.end(), m.wave.s);
  m.wave.scc = before.scc;
  std::copy(before.rows.begin(), before.rows.end(), m.row(0));
  m.setMode(0x1f0);
  m.wave.stop = Stop::None;
  m.wave.fuel = 100;
  m.wave.codeBegin = c.program->insts.data();
  m.wave.codeEnd = m.wave.codeBegin + c.program->insts.size() - 1;
  m.wave.codeAddress = c.program->address;
  m.wave.current = m.wave.codeBegin;
  m.wave.ip = m.wave.codeBegin + c.inst().dwords;
  try {
    c.inst().fn(m.wave, c.inst());
  } catch (const WaveFault &) {
    return std::nullopt;
  }
  State after;
  std::copy_n(m.wave.s, after.s.size(), after.s.begin());
  after.scc = m.wave.scc;
  after.rows.assign(m.row(0), m.row(0) + kRows * kLanes);
  return after;
}

/// A register with implicit uses: how it is changed, and where it is among the scalar registers.
struct Special {
  const char *name;
  unsigned reads, writes;
  unsigned first, count; ///< no registers: SCC
  uint32_t flip;         ///< M0 is an index: it stays one
};

bool covers(const Operand &o, const Special &x) {
  return o.kind == Kind::Sgpr && x.count && o.index + 1u >= x.first && o.index < x.first + x.count;
}
} // namespace

TEST_CASE("effects: running an instruction reads and writes what LLVM says of SCC, VCC, EXEC, M0") {
  // What LLVM lists and no run shows.
  static constexpr Exception kUnseen[] = {
      {"s_setvskip", "SOPC's other instructions write SCC; this one sets a bit of MODE"},
      {"s_set_gpr_idx_", "a part of M0 stays, which makes it an operand, of itself alone"},
      {"v_movrelsd_b32", "the encoding at hand moves a register to itself"},
      {"v_cmpx_t_", "leaves EXEC as it is"},
      {"v_cmpx_tru_", "leaves EXEC as it is"},
  };
  // What runs show and LLVM does not list.
  static constexpr Exception kUnlisted[] = {
      {"s_movreld_", "the result is M0 registers away from what LLVM lists as an operand"},
      {"v_movrelsd_2_", "LLVM leaves EXEC out; its lanes are on or off as for any other move"},
      {"v_swaprel_", "LLVM leaves EXEC out; its lanes are on or off as for any other move"},
      {"s_get_shader_cycles_", "a clock has another result each time"},
  };
  for (const char *target : kTargets) {
    Machine m(target);
    const unsigned m0 = m.wave.target->m0;
    const Special kSpecials[] = {{"SCC", kReadsScc, kWritesScc, 0, 0, 0},
                                 {"VCC", kReadsVcc, kWritesVcc, 106, 2, ~0u},
                                 {"EXEC", kReadsExec, kWritesExec, 126, m.lanes / 32, ~0u},
                                 {"M0", kReadsM0, kWritesM0, m0, 1, 3}};
    size_t runs = 0;
    std::string wrong;
    for (const Case &c : casesOf(target)) {
      const Inst &i = c.inst();
      const bool scalar =
          i.enc == Enc::Sop1 || i.enc == Enc::Sop2 || i.enc == Enc::Sopc || i.enc == Enc::Sopk;
      const bool vector = i.enc == Enc::Vop1 || i.enc == Enc::Vop2 || i.enc == Enc::Vopc ||
                          i.enc == Enc::Vop3 || i.enc == Enc::Vop3p;
      if ((!scalar && !vector) || (i.op->cls != Class::Salu && i.op->cls != Class::Valu))
        continue;
      const unsigned e = c.effects();
      const bool unlisted = isAmong(kUnlisted, c.name());
      unsigned seen = 0;
      std::set<std::string> told;
      auto tell = [&](const std::string &what) {
        if (told.insert(what).second)
          wrong += c.record + ": " + what + "\n";
      };
      uint32_t seed = 12345;
      auto next = [&] { return seed = seed * 1664525 + 1013904223, seed ^ seed >> 15; };
      // Small numbers, which are equal now and then, NaNs of each size, and any bits.
      auto value = [&](unsigned round) {
        static constexpr uint32_t kSome[] = {0, 1, 0x7fff7fff, 0x3c003c00};
        return round % 4 == 0 ? next() & 1 : round % 4 == 1 ? kSome[next() >> 8 & 3] : next();
      };
      for (unsigned round = 0; round < 16; ++round) {
        State before;
        for (uint32_t &x : before.s)
          x = value(round);
        before.s[m0] = next() & 3;
        if (m.wave.target->nullSgpr)
          before.s[m.wave.target->nullSgpr] = 0;
        before.s[126] = next();
        before.s[127] = m.lanes == 32 ? 0 : next();
        before.scc = round & 1;
        before.rows.resize(kRows * kLanes);
        for (uint32_t &x : before.rows)
          x = value(round);
        const auto after = runOn(m, c, before);
        if (!after)
          continue;
        ++runs;
        auto differs = [&](const State &a, const State &b, const Special &x) {
          bool d = !x.count && a.scc != b.scc;
          for (unsigned r = x.first; r < x.first + x.count; ++r)
            d |= a.s[r] != b.s[r];
          return d;
        };
        for (const Special &x : kSpecials) {
          if (differs(before, *after, x)) {
            seen |= x.writes;
            if (!(e & x.writes) && !unlisted && !covers(i.dst, x) && !covers(i.mask, x))
              tell(std::string("writes ") + x.name);
          }
          State other = before;
          if (!x.count)
            other.scc = !other.scc;
          for (unsigned r = x.first; r < x.first + x.count; ++r)
            other.s[r] ^= x.flip;
          const auto otherAfter = runOn(m, c, other);
          bool read = !otherAfter || otherAfter->rows != after->rows;
          for (const Special &y : kSpecials)
            read |= otherAfter && &y != &x && differs(*otherAfter, *after, y);
          for (unsigned r = 0; otherAfter && r < 106; ++r)
            read |= otherAfter->s[r] != after->s[r];
          if (!read)
            continue;
          seen |= x.reads;
          if (!(e & x.reads) && !unlisted && !covers(i.src[0], x) && !covers(i.src[1], x) &&
              !covers(i.src[2], x) && !covers(i.dst, x) && !covers(i.mask, x))
            tell(std::string("reads ") + x.name);
        }
        // Other scalar registers change where LLVM lists a result.
        for (unsigned r = 0; r < 106; ++r)
          if (before.s[r] != after->s[r] && !(e & kWritesScalar) && !unlisted)
            tell("writes s" + std::to_string(r));
      }
      if (!isAmong(kUnseen, c.name()))
        for (const Special &x : kSpecials) {
          if (e & x.writes & ~seen)
            tell(std::string("never writes ") + x.name);
          if (e & x.reads & ~seen && (scalar || x.reads != kReadsExec))
            tell(std::string("never reads ") + x.name);
        }
    }
    INFO(target << ":\n" << wrong);
    CHECK(wrong.empty());
    CHECK(runs > 10000);
  }
}

} // namespace flyemu::test
