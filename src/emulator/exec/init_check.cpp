#include "emulator/exec/init_check.h"

#include "emulator/exec/memory_ops.h"
#include "emulator/exec/op.h"

#include <algorithm>

namespace flyemu {

namespace {
/// Undefined lanes of an operand's rows that EXEC has on.
uint64_t undefinedOf(const std::vector<uint64_t> &undefined, const Operand &o, unsigned rows,
                     uint64_t exec) {
  uint64_t m = 0;
  for (unsigned r = 0; o.isVgpr() && r < rows && o.index + r < undefined.size(); ++r)
    m |= undefined[o.index + r];
  return m & exec;
}

void define(std::vector<uint64_t> &undefined, unsigned row, unsigned rows, uint64_t lanes,
            uint64_t bad) {
  for (unsigned r = row; r < row + rows && r < undefined.size(); ++r)
    undefined[r] = (undefined[r] & ~lanes) | (bad & lanes);
}

bool contains(std::string_view name, std::string_view part) {
  return name.find(part) != std::string_view::npos;
}
bool isStore(const Inst &i) {
  return contains(i.op->name, "_store_") || contains(i.op->name, "_write");
}
} // namespace

void InitCheck::beginGroup(const Group &group) {
  waves_.resize(group.waves.size());
  for (const Wave &w : group.waves) {
    WaveState &s = waves_[w.index];
    s.undefined.assign(kFileRows, ~uint64_t(0));
    s.undefined[0] = s.undefined[1] = s.undefined[2] = 0; // work-item ids
    s.scratch.assign((w.scratchSize + 3) / 4, ~uint64_t(0));
  }
  lds_.assign(group.waves.empty() ? 0 : group.waves[0].ldsSize, false);
}

void InitCheck::before(const Wave &w, const Inst &i, const Report &report) {
  if (!i.op)
    return;
  WaveState &s = waves_[w.index];
  switch (i.enc) {
  case Enc::Vop1:
  case Enc::Vop2:
  case Enc::Vop3:
  case Enc::Vop3p:
    arithmetic(w, i, s);
    break;
  case Enc::Vopd: {
    // The second half reads what the first one's destination held before.
    const Inst &second = *(&i + 1);
    if (i.dst.isVgpr())
      s.undefined[kDualRow] = s.undefined[i.dst.index];
    arithmetic(w, i, s);
    if (second.op)
      arithmetic(w, second, s);
    break;
  }
  case Enc::Ds:
  case Enc::Flat:
  case Enc::Global:
  case Enc::Scratch:
  case Enc::Mubuf:
  case Enc::Mtbuf:
    memory(w, i, s, report);
    break;
  default:
    break;
  }
}

void InitCheck::arithmetic(const Wave &w, const Inst &i, WaveState &s) {
  auto &u = s.undefined;
  const uint64_t exec = w.exec();
  const unsigned rows = std::max(1u, dwordsOf(i.op->dst));
  uint64_t bad = 0;
  if (i.op->dst == Type::Mask || i.op->cls == Class::Mfma || i.permute != Permute::None) {
    bad = 0;
  } else if (i.op->src[2] == Type::Mask && i.op->name == "v_cndmask_b32") {
    const uint64_t m = w.mask(i.src[2].index);
    bad = (undefinedOf(u, i.src[0], 1, exec) & ~m) | (undefinedOf(u, i.src[1], 1, exec) & m);
  } else {
    for (unsigned k = 0; k < 3; ++k)
      bad |= undefinedOf(u, i.src[k], std::max(1u, dwordsOf(i.op->src[k])), exec);
  }
  if (!i.dst.isVgpr())
    return;
  const uint64_t badLow = undefinedOf(u, i.src[0], 1, exec) | undefinedOf(u, i.src[1], 1, exec) |
                          undefinedOf(u, i.src[2], 1, exec);
  const bool allLanes = i.op->cls == Class::Mfma || i.op->name == "v_writelane_b32";
  define(u, i.dst.index, rows, allLanes ? ~uint64_t(0) : exec, bad);
  // The low half of a wide multiply-add is made of low halves alone; compilers leave the high half
  // of the addend undefined where they want no more of the result.
  if (i.op->name.ends_with("_u64_u32") || i.op->name.ends_with("_i64_i32"))
    define(u, i.dst.index, 1, exec, badLow);
}

void InitCheck::memory(const Wave &w, const Inst &i, WaveState &s, const Report &report) {
  auto &u = s.undefined;
  const uint64_t exec = w.exec();
  const bool buffer = i.enc == Enc::Mubuf || i.enc == Enc::Mtbuf;
  bool addressed = !buffer || i.flags & (kOffen | kIdxen);
  if (i.enc == Enc::Scratch)
    addressed = i.flags & kVaddr;
  const unsigned addressRows = (i.enc == Enc::Flat || i.enc == Enc::Global) && !(i.flags & kSaddr)
                                   ? 2
                               : buffer && (i.flags & kOffen) && (i.flags & kIdxen) ? 2
                                                                                    : 1;
  if (addressed && i.op->name != "ds_nop")
    if (uint64_t m = undefinedOf(u, i.src[0], addressRows, exec))
      report("a register that nobody has written is used as an address", m);
  const unsigned rows = std::max(1u, (i.op->info & kBytesMask) / 4);
  if (!isStore(i)) {
    // What a load from scratch brings is looked at where its lanes are.
    define(u, i.dst.index, i.op->info ? std::max(rows, i.enc == Enc::Ds ? 2 * rows : rows) : 4,
           exec, 0);
  } else if (i.op->info && i.enc != Enc::Scratch && i.enc != Enc::Flat) {
    uint64_t m = undefinedOf(u, i.src[1], rows, exec);
    if (i.enc == Enc::Ds)
      m |= undefinedOf(u, i.src[2], rows, exec);
    if (m)
      report("a register that nobody has written is used as stored data", m);
  }
}

void InitCheck::access(const Wave &w, const Inst &i, unsigned lane, Space space, uint64_t address,
                       unsigned bytes, bool write, bool atomic, const Report &report) {
  const uint64_t bit = uint64_t(1) << lane;
  WaveState &s = waves_[w.index];
  if (space == Space::Lds) {
    if (address + bytes > lds_.size())
      return;
    if (!write && !atomic)
      for (uint64_t at = address; at < address + bytes; ++at)
        if (!lds_[at]) {
          report("read of LDS byte " + std::to_string(at) + ", which nobody has written", bit);
          break;
        }
    if (write)
      std::fill_n(lds_.begin() + static_cast<int64_t>(address), bytes, true);
  }
  if (!i.op || (i.enc != Enc::Scratch && i.enc != Enc::Flat))
    return;
  const unsigned dwords = std::max(1u, bytes / 4);
  for (unsigned d = 0; d < dwords; ++d) {
    const uint64_t place = address / 4 + d;
    const unsigned row = (isStore(i) ? i.src[1].index : i.dst.index) + d;
    if (row >= s.undefined.size())
      break;
    const bool bad = s.undefined[row] & bit;
    if (space != Space::Scratch) {
      if (isStore(i) && bad)
        report("a register that nobody has written is used as stored data", bit);
    } else if (place < s.scratch.size()) {
      if (write)
        s.scratch[place] = (s.scratch[place] & ~bit) | (bad ? bit : 0);
      else if (s.scratch[place] & bit)
        s.undefined[row] |= bit;
    }
  }
}

} // namespace flyemu
