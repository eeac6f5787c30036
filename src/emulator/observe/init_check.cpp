#include "emulator/observe/init_check.h"

#include "emulator/core/scratch_buffer.h"
#include "emulator/core/tensor_descriptor.h"
#include "emulator/isa/op.h"
#include "emulator/matrix/execute.h"
#include "support/unwritten.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace flyemu {

namespace {
void define(std::vector<uint64_t> &undefined, unsigned row, unsigned rows, uint64_t lanes,
            uint64_t bad) {
  for (unsigned r = row; r < row + rows && r < undefined.size(); ++r)
    undefined[r] = (undefined[r] & ~lanes) | (bad & lanes);
}

/// Atomic operations also load, so they are not counted as stores here: their data must have
/// values, as an address must.
bool isStore(unsigned effects) { return (effects & (kLoads | kStores)) == kStores; }
} // namespace

void InitCheck::beginGroup(const Group &group) {
  waves_.resize(group.waves.size());
  for (const Wave &w : group.waves) {
    WaveState &s = waves_[w.index];
    s.undefined.assign(program_.target->fileRows(), ~uint64_t(0));
    s.undefined[0] = ~w.exec(); // work-item ids
    s.scratch.assign((w.scratchSize + 3) / 4, ~uint64_t(0));
    s.scalars.begin(w);
  }
  lds_.assign(group.waves.empty() ? 0 : group.waves[0].ldsSize, 0);
}

const ScalarRule &InitCheck::ruleOf(const Inst &i) {
  if (rules_.empty())
    rules_.resize(program_.insts.size());
  ScalarRule &rule = rules_[static_cast<size_t>(&i - program_.insts.data())];
  if (!rule.known)
    rule = scalarRule(i, program_.effectsOf(i));
  return rule;
}

uint64_t InitCheck::undefinedOf(const Wave &w, const WaveState &s, const Operand &o,
                                unsigned rows) const {
  if (!o.isVgpr())
    return s.scalars.undefined(w, o, rows) ? w.exec() : 0;
  uint64_t m = 0;
  for (unsigned r = 0; r < rows && o.index + r < s.undefined.size(); ++r)
    m |= s.undefined[o.index + r];
  return m & w.exec();
}

void InitCheck::before(const Wave &w, const Inst &i, const Report &report) {
  if (!i.op)
    return;
  WaveState &s = waves_[w.index];
  switch (i.enc) {
  case Enc::Sop1:
  case Enc::Sop2:
  case Enc::Sopc:
  case Enc::Sopk:
  case Enc::Sopp:
  case Enc::Smem:
    s.scalars.before(w, i, ruleOf(i), [&](const std::string &what) { report(what, 0); });
    break;
  case Enc::Vop1:
  case Enc::Vop2:
  case Enc::Vopc:
  case Enc::Vop3:
  case Enc::Vop3p:
    arithmetic(w, i, s);
    break;
  case Enc::Vopd: {
    // The second half reads what the first one's destination held before.
    const Inst &second = *(&i + 1);
    if (i.dst.isVgpr())
      for (unsigned d = 0; d < dwordsOf(i.op->dst); ++d)
        s.undefined[program_.target->dualRow() + d] = s.undefined[i.dst.index + d];
    arithmetic(w, i, s);
    if (second.op)
      arithmetic(w, second, s);
    break;
  }
  case Enc::Tensor: {
    const TensorDwords dwords = tensorDwords(w, i);
    const Operand *const groups[] = {&i.src[0], &i.src[1], &i.src[2], &i.soffset};
    for (unsigned g = 0; g < dwords.size(); ++g)
      if (dwords[g] && s.scalars.undefined(w, *groups[g], dwords[g])) {
        report("a scalar register that was never written is used in group " + std::to_string(g) +
                   " of a descriptor",
               0);
        break;
      }
    break;
  }
  case Enc::Ds:
  case Enc::Flat:
  case Enc::Global:
  case Enc::Scratch:
  case Enc::Mubuf:
  case Enc::Mtbuf:
    if (i.op->cls != Class::Other) // cache control, which has no operands behind its fields
      memory(w, i, s, report);
    break;
  default:
    break;
  }
}

void InitCheck::arithmetic(const Wave &w, const Inst &i, WaveState &s) {
  auto &u = s.undefined;
  const uint64_t exec = w.exec();
  auto of = [&](unsigned k, unsigned rows) { return undefinedOf(w, s, i.src[k], rows); };
  const ScalarRule &rule = ruleOf(i);
  if (rule.laneMove)
    return laneMove(w, i, s);
  if (i.op->cls == Class::Mfma)
    return matrix(w, i, s);
  if (rule.swaps && i.src[0].isVgpr() && i.dst.isVgpr()) {
    // A swap between lanes (v_permlane32_swap) is not followed: its results count as defined.
    const bool sameLane = i.op->has(Trait::SwapsInLane);
    const uint64_t a = sameLane ? u[i.dst.index] : 0, b = sameLane ? u[i.src[0].index] : 0;
    define(u, i.dst.index, 1, exec, b);
    define(u, i.src[0].index, 1, exec, a);
    return;
  }
  // Values that a permute brings from other lanes are not followed: they count as defined.
  const bool followed = i.permute == Permute::None;
  if (followed && rule.pair == Flow::Elements) {
    // Compilers leave elements undefined that they do not want of the result.
    const unsigned rows = i.rows.result, each = dwordsOf(i.op->src[0]) / rows;
    for (unsigned r = 0; r < rows; ++r) {
      Operand part = i.src[0];
      part.index = static_cast<uint16_t>(part.index + r * each);
      define(u, i.dst.index + r, 1, exec, undefinedOf(w, s, part, each) | of(1, 1));
    }
    return;
  }
  if (followed && rule.pair != Flow::Any) {
    const auto [low, high] = pairOf(w, i, s);
    define(u, i.dst.index, 1, exec, low);
    return define(u, i.dst.index + 1u, 1, exec, high);
  }
  uint64_t bad = 0;
  if (followed && i.op->src[2] == Type::Mask) {
    const uint64_t undecided = s.scalars.lanes(w, i.src[2].index) & exec;
    const uint64_t m = w.mask(i.src[2].index);
    const bool select = i.op->has(Trait::SelectsByMask);
    bad = undecided | (of(0, 1) & (select ? ~m : exec)) | (of(1, 1) & (select ? m : exec));
  } else if (followed) {
    for (unsigned k = 0; k < 3; ++k)
      bad |= of(k, std::max(1u, dwordsOf(i.op->src[k])));
  }
  // A kernel that was compiled for this check marks what it has not written.
  if (i.src[0].kind == Kind::Imm && i.src[0].value == flydsl::support::kUnwrittenWord &&
      i.op->name == "v_mov_b32")
    bad = exec;
  // Compilers leave one operand of a pair undefined where they want no more than the other half.
  if (followed && i.op->has(Trait::PacksHalves))
    bad = of(0, 1) & of(1, 1);
  if (followed && rule.readsVcc && i.op->src[2] != Type::Mask)
    bad |= s.scalars.lanes(w, kVcc) & exec;
  if (i.op->dst == Type::Mask) { // lanes that are off get zeros
    if (rule.writesExec)
      s.scalars.setLanes(w, kExec, bad);
    if (i.mask.kind == Kind::Sgpr)
      s.scalars.setLanes(w, i.mask.index, bad);
    return;
  }
  if (i.dst.kind == Kind::Sgpr) // functions of a scalar
    return s.scalars.set(i.dst.index, s.scalars.undefined(w, i.src[0], 1) ? ~0u : 0u);
  if (!i.dst.isVgpr())
    return;
  const uint64_t badLow = rule.lowAlone ? of(0, 1) | of(1, 1) | of(2, 1) : 0;
  if (rule.carryOut && i.mask.kind == Kind::Sgpr)
    s.scalars.setLanes(w, i.mask.index, bad);
  // LLVM lists the registers that are written. Each half of a dual instruction writes one, and so
  // does a relative move, whose result is not among its operands.
  const bool one = i.enc == Enc::Vopd || i.op->has(Trait::RelativeResult);
  define(u, i.dst.index, one ? 1 : i.rows.result, exec, bad);
  // The low half of a wide multiply-add is made of low halves alone; compilers leave the high half
  // of the addend undefined where they want no more of the result.
  if (rule.lowAlone)
    define(u, i.dst.index, 1, exec, badLow);
}

std::array<uint64_t, 2> InitCheck::pairOf(const Wave &w, const Inst &i, const WaveState &s) const {
  auto of = [&](unsigned k, unsigned upper) {
    Operand one = i.src[k];
    if (one.isVgpr() || one.kind == Kind::Sgpr)
      one.index = static_cast<uint16_t>(one.index + upper);
    return undefinedOf(w, s, one, 1);
  };
  switch (i.op->flow) {
  case Flow::Move:
    return {of(0, 0), of(0, 1)};
  case Flow::PackedMove:
    return {of(0, i.opsel & 1), of(1, i.opsel >> 1 & 1)};
  case Flow::Packed: {
    std::array<uint64_t, 2> bad = {};
    for (unsigned k = 0; k < 3; ++k)
      if (i.op->src[k] != Type::None) {
        bad[0] |= of(k, i.opsel >> k & 1);
        bad[1] |= of(k, i.opselHi >> k & 1);
      }
    return bad;
  }
  default:
    break;
  }
  // A shift of the second operand by the first one.
  const uint64_t amount = of(0, 0), low = of(1, 0), high = of(1, 1);
  if (!(low | high))
    return {amount, amount};
  uint64_t far = 0, none = 0; // lanes that shift by 32 bits or more, and by none
  for (unsigned lane = 0; lane < w.lanes; ++lane) {
    const uint32_t by =
        (i.src[0].isVgpr() ? w.row(i.src[0].index)[lane] : read32(w, i.src[0])) & 63;
    far |= uint64_t(by >= 32) << lane;
    none |= uint64_t(by == 0) << lane;
  }
  // A shift to the left gives zeros to the low half, one to the right gives them or signs to the
  // high half.
  const bool left = i.op->flow == Flow::ShiftLeft;
  const uint64_t nearEnd = left ? low : high, farEnd = left ? high : low;
  const uint64_t moved = (far & nearEnd) | (~far & (farEnd | (nearEnd & ~none)));
  const uint64_t vacated = i.op->has(Trait::SignExtends) ? nearEnd : nearEnd & ~far;
  return left ? std::array{amount | vacated, amount | moved}
              : std::array{amount | moved, amount | vacated};
}

void InitCheck::matrix(const Wave &w, const Inst &i, WaveState &s) const {
  if (!i.plan)
    return; // without a plan it faults
  const auto &plan = *static_cast<const matrix::MatrixPlan *>(i.plan);
  const matrix::MatrixOp &op = plan.op();
  const matrix::OperandMaps &maps = plan.maps();
  auto row = [&](const Operand &o, unsigned r) {
    return o.isVgpr() && o.index + r < s.undefined.size() ? s.undefined[o.index + r] : 0;
  };
  const uint64_t all = w.fullMask();
  const Operand &added = op.sparse ? i.dst : i.src[2];
  std::array<uint64_t, 32> bad = {};
  for (unsigned r = 0; r < plan.regsD(); ++r)
    bad[r] = row(added, r) & all;
  // What one row of A, or one column of B, misses is missing in that row or column of the sums.
  // Where modifiers move blocks or lanes of an operand, or an index chooses among its elements, the
  // operand counts as defined.
  const bool moved = op.core == matrix::MatrixCore::Cdna && !op.anyFormat &&
                     (i.matrix.cbsz || i.matrix.abid || i.matrix.blgp);
  uint64_t anyA = 0, anyB = 0;
  for (unsigned r = 0; r < plan.regsA(); ++r)
    anyA |= row(i.src[0], r) & all;
  for (unsigned r = 0; r < plan.regsB(); ++r)
    anyB |= row(i.src[1], r) & all;
  if (!moved && (anyA || (anyB && !op.sparse))) {
    auto misses = [&](const std::vector<matrix::Slot> &slots, unsigned line, unsigned length,
                      const Operand &o) {
      for (unsigned k = 0; k < length; ++k) {
        const matrix::Slot &slot = slots[size_t(line) * length + k];
        if (row(o, slot.bit / 32u) >> slot.lane & 1)
          return true;
      }
      return false;
    };
    std::vector<bool> columns(size_t(op.blocks) * op.n);
    if (anyB && !op.sparse)
      for (unsigned line = 0; line < columns.size(); ++line)
        columns[line] = misses(maps.b, line, op.k, i.src[1]);
    for (unsigned line = 0; line < unsigned(op.blocks) * op.m; ++line) {
      const bool missing = anyA && misses(maps.a, line, maps.storedK, i.src[0]);
      for (unsigned n = 0; n < op.n; ++n)
        if (missing || columns[size_t(line / op.m) * op.n + n]) {
          const matrix::Slot &slot = maps.d[size_t(line) * op.n + n];
          bad[slot.bit / 32u] |= uint64_t(1) << slot.lane;
        }
    }
  }
  // All lanes are written, whatever EXEC holds.
  for (unsigned r = 0; r < plan.regsD() && i.dst.index + r < s.undefined.size(); ++r)
    s.undefined[i.dst.index + r] = bad[r];
}

void InitCheck::laneMove(const Wave &w, const Inst &i, WaveState &s) {
  if (!i.op->has(Trait::WritesLane)) {
    const bool first = i.op->has(Trait::ReadsFirstLane);
    const unsigned lane = !first     ? read32(w, i.src[1]) % w.lanes
                          : w.exec() ? static_cast<unsigned>(std::countr_zero(w.exec()))
                                     : 0;
    const bool bad = i.src[0].isVgpr() ? s.undefined[i.src[0].index] >> lane & 1
                                       : s.scalars.undefined(w, i.src[0], 1);
    s.scalars.set(i.dst.index & 127,
                  bad || (!first && s.scalars.undefined(w, i.src[1], 1)) ? ~0u : 0u);
    return;
  }
  // Only a wholly undefined scalar is bad: a mask that is spilled may have undefined bits that no
  // code looks at.
  const bool bad = s.scalars.bits(w, i.src[0], 1) == 0xffffffffu;
  const uint64_t lane = uint64_t(1) << (read32(w, i.src[1]) % w.lanes);
  define(s.undefined, i.dst.index, 1, lane, bad ? lane : 0);
}

void InitCheck::memory(const Wave &w, const Inst &i, WaveState &s, const Report &report) {
  auto &u = s.undefined;
  const uint64_t exec = w.exec();
  const bool buffer = i.enc == Enc::Mubuf || i.enc == Enc::Mtbuf;
  // The only operand of a swizzle is the data.
  const bool addressed = i.rows.address && !i.op->has(Trait::AddressIsData);
  if (uint64_t m = addressed ? undefinedOf(w, s, i.src[0], i.rows.address) : 0)
    report("a register that was never written is used as an address", m);
  const unsigned scalarRows = buffer ? 4 : i.enc == Enc::Scratch ? 1 : 2;
  const bool isAsync = i.op->transfer.isAsync;
  const bool fromM0 = i.enc != Enc::Ds && !isAsync && (i.flags & kToLds || i.op->transfer.toLds);
  if (std::string_view(i.op->name).starts_with("cluster_load") &&
      s.scalars.undefined(w, {Kind::Sgpr, 0, w.target->m0, 0}, 1))
    report("a scalar register that was never written is used as a mask of workgroups", 0);
  if ((i.enc != Enc::Ds &&
       ((buffer || i.flags & kSaddr) && s.scalars.undefined(w, i.src[2], scalarRows))) ||
      (buffer && s.scalars.undefined(w, i.soffset, 1)) ||
      (fromM0 && s.scalars.undefined(w, {Kind::Sgpr, 0, w.target->m0, 0}, 1)))
    report("a scalar register that was never written is used as an address", 0);
  if (uint64_t m = s.scalars.lanes(w, kExec) & exec)
    report("a lane is on by a condition that was never written", m);
  // Undefined lanes that are stored to scratch stay undefined there and are not reported. A flat
  // store is checked in access(), where it is known whether it goes to scratch.
  const bool flatStore = i.enc == Enc::Flat && isStore(program_.effectsOf(i));
  if (i.enc != Enc::Scratch && !flatStore &&
      !(buffer && isScratchBuffer(w, w.s + i.src[2].index))) {
    uint64_t m = i.rows.data ? undefinedOf(w, s, i.src[1], i.rows.data) : 0;
    m |= i.rows.second ? undefinedOf(w, s, i.src[2], i.rows.second) : 0;
    if (m && !i.op->has(Trait::MovesLanes))
      report(isAsync ? "a register that was never written is used as an LDS address"
                     : "a register that was never written is used as stored data",
             m);
  }
  // The lanes of a load from scratch are set in access().
  if (i.rows.result)
    define(u, i.dst.index, i.rows.result, exec, 0);
}

bool InitCheck::accessLds(const LaneAccess &a) {
  if (a.isRun()) {
    uint8_t *flags = lds_.data() + a.at(0);
    const size_t bytes = size_t(a.count) * a.bytes;
    if ((!a.write || a.atomic) && std::memchr(flags, 0, bytes))
      return false;
    if (!a.write)
      return true;
    std::memset(flags, 1, bytes);
    return true;
  }
  uint32_t at[64];
  a.offsets(at, 0);
  if ((!a.write || a.atomic) && !laneLoops().allSet(lds_.data(), at, a.count, a.bytes))
    return false;
  if (a.write)
    laneLoops().setAll(lds_.data(), at, a.count, a.bytes);
  return true;
}

void InitCheck::storeFlat(const Wave &w, const Inst &i, uint64_t lanes, const Report &report) {
  if (!isStore(program_.effectsOf(i)) || !i.src[1].isVgpr())
    return;
  if (const uint64_t bad = undefinedOf(w, waves_[w.index], i.src[1], i.rows.data) & lanes)
    report("a register that was never written is used as stored data", bad);
}

void InitCheck::access(const Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address,
                       unsigned bytes, bool write, bool atomic, const Report &report) {
  const uint64_t bit = uint64_t(1) << lane;
  WaveState &s = waves_[w.index];
  if (space == Space::Lds) {
    if (address + bytes > lds_.size())
      return;
    if (!write || atomic)
      for (uint64_t at = address; at < address + bytes; ++at)
        if (!lds_[at]) {
          report("read of LDS byte " + std::to_string(at) + ", which was never written", bit);
          break;
        }
    if (write)
      std::fill_n(lds_.begin() + static_cast<int64_t>(address), bytes, uint8_t(1));
  }
  if (!i.op || (space != Space::Scratch && i.enc != Enc::Flat))
    return;
  const bool stores = isStore(program_.effectsOf(i));
  const unsigned dwords = std::max(1u, bytes / 4);
  for (unsigned d = 0; d < dwords; ++d) {
    const uint64_t place = address / 4 + d;
    const unsigned row = (stores ? i.src[1].index : i.dst.index) + d;
    if (row >= s.undefined.size())
      break;
    const bool bad = s.undefined[row] & bit;
    if (space != Space::Scratch) {
      if (stores && bad)
        report("a register that was never written is used as stored data", bit);
    } else if (place < s.scratch.size()) {
      if (write)
        s.scratch[place] = (s.scratch[place] & ~bit) | (bad ? bit : 0);
      else if (s.scratch[place] & bit && i.rows.result)
        s.undefined[row] |= bit;
      else if (s.scratch[place] & bit) // a load to LDS
        report("scratch that was never written is used as stored data", bit);
    }
  }
}

} // namespace flyemu
