#include "emulator/ops/vector/gpr_index.h"

#include "emulator/core/wave.h"
#include "emulator/ops/tables.h"

#include <iterator>

namespace flyemu {

namespace {
constexpr unsigned kModeShift = 12;

void setIndex(Wave &w, uint32_t index) { w.m0() = (w.m0() & ~0xffu) | (index & 0xff); }
void setMode(Wave &w, uint32_t mode) {
  w.m0() = (w.m0() & ~(15u << kModeShift)) | (mode & 15) << kModeShift;
}

void indexOn(Wave &w, const Inst &i) {
  setIndex(w, read32(w, i.src[0]));
  setMode(w, i.src[1].value);
}
void indexOff(Wave &, const Inst &) {}

constexpr OpDef kOps[] = {
    {"s_set_gpr_idx_on",
     indexOn,
     Class::Salu,
     Type::None,
     {Type::B32, Type::B32, Type::None},
     {},
     Trait::NumberSource},
    {"s_set_gpr_idx_idx",
     [](Wave &w, const Inst &i) { setIndex(w, read32(w, i.src[0])); },
     Class::Salu,
     Type::None,
     {Type::B32, Type::None, Type::None}},
    {"s_set_gpr_idx_mode",
     [](Wave &w, const Inst &i) { setMode(w, static_cast<uint32_t>(i.offset)); },
     Class::Salu,
     Type::None,
     {}},
    {"s_set_gpr_idx_off", indexOff, Class::Salu, Type::None, {}},
};

void move(Operand &o, uint32_t by) {
  if (!o.isVgpr())
    return;
  // The two halves of the file are apart: indexing does not lead from one into the other.
  uint32_t half = o.index & ~255u, row = (o.index & 255u) + by;
  if (row > 255)
    throw WaveFault{"indexed register " + std::to_string(row) + " is beyond the file"};
  o.index = static_cast<uint16_t>(half + row);
}

void runIndexed(Wave &w, const Inst &inst) {
  Inst at = inst;
  const uint32_t index = w.m0() & 0xff, mode = w.m0() >> kModeShift;
  for (unsigned k = 0; k < 3; ++k)
    if (mode >> k & 1)
      move(at.src[k], index);
  if (mode & 8)
    move(at.dst, index);
  at.fn = inst.base;
  inst.base(w, at);
}

void unbracketed(Wave &, const Inst &) {
  throw WaveFault{"register indexing is on over more than plain vector instructions"};
}

bool runs(const Inst &i, Handler fn) { return i.op && i.op->fn == fn; }

/// What may stand between the brackets: plain vector instructions, and scalar ones, which ignore
/// the mode.
bool mayStand(const Inst &i) {
  if (!i.op || i.dwords == 0)
    return false;
  return i.op->cls == Class::Salu ||
         (i.op->cls == Class::Valu && i.permute == Permute::None && !i.base);
}
} // namespace

OpTable tableGprIndex() { return {std::begin(kOps), std::end(kOps)}; }

void bracketIndexing(std::vector<Inst> &insts) {
  for (size_t on = 0; on < insts.size(); ++on) {
    if (!runs(insts[on], indexOn))
      continue;
    size_t off = on + insts[on].dwords;
    while (off < insts.size() && !runs(insts[off], indexOff) && mayStand(insts[off]))
      off += insts[off].dwords;
    if (off >= insts.size() || !runs(insts[off], indexOff)) {
      insts[on].fn = unbracketed;
      continue;
    }
    for (size_t at = on; at < off; at += insts[at].dwords) {
      if (insts[at].op->cls != Class::Valu)
        continue;
      insts[at].base = insts[at].fn;
      insts[at].fn = runIndexed;
    }
    on = off;
  }
}

} // namespace flyemu
