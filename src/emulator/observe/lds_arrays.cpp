#include "emulator/observe/lds_arrays.h"

#include "emulator/isa/op.h"
#include "support/red_zones.h"

#include <algorithm>

namespace flyemu {

namespace {
/// The constant that an instruction of a mark moves; null if it is no such instruction.
const uint32_t *constantMoved(const Inst &inst) {
  return inst.op && inst.op->name == "s_mov_b32" && inst.src[0].kind == Kind::Imm
             ? &inst.src[0].value
             : nullptr;
}
} // namespace

bool LdsArrays::isMark(const Program &program, const Inst &inst) {
  if (!inst.op || inst.op->name != "s_mul_i32" || inst.src[0].kind != Kind::Sgpr ||
      inst.src[1].kind != Kind::Imm || inst.src[1].value != flydsl::support::kArrayMark)
    return false;
  // The program ends in an entry without an instruction.
  const Inst *bytes = &inst + inst.dwords, *end = &program.insts.back();
  return bytes < end && constantMoved(*bytes) && bytes + bytes->dwords < end &&
         constantMoved(bytes[bytes->dwords]);
}

void LdsArrays::note(const Wave &wave, const Inst &mark) {
  const Inst &bytes = *(&mark + mark.dwords), &zone = *(&bytes + bytes.dwords);
  Array array;
  array.begin = wave.s[mark.src[0].index];
  array.end = array.begin + *constantMoved(bytes);
  array.zoneEnd = array.end + *constantMoved(zone);
  array.mark = &mark;
  const auto place = std::ranges::lower_bound(arrays_, array.begin, {}, &Array::begin);
  if (place == arrays_.end() || place->begin != array.begin)
    arrays_.insert(place, array);
}

bool LdsArrays::isWithinOne(uint64_t first, uint64_t end) const {
  const auto later = std::ranges::upper_bound(arrays_, first, {}, &Array::begin);
  return later != arrays_.begin() && end <= std::prev(later)->end;
}

const LdsArrays::Array *LdsArrays::overrun(uint64_t at, uint64_t bytes) const {
  const auto later = std::ranges::lower_bound(arrays_, at + bytes, {}, &Array::begin);
  if (later == arrays_.begin())
    return nullptr;
  // The last array that begins before the access ends: the others' zones end before it begins.
  const Array &array = *std::prev(later);
  if (at + bytes > array.end && at < array.zoneEnd)
    return &array;
  // An access that begins in one zone and ends in the next array.
  if (at < array.begin && std::prev(later) != arrays_.begin()) {
    const Array &before = *std::prev(later, 2);
    if (at < before.zoneEnd)
      return &before;
  }
  return nullptr;
}

const LdsArrays::Array *LdsArrays::after(const Array &array) const {
  const auto next = std::ranges::lower_bound(arrays_, array.zoneEnd, {}, &Array::begin);
  return next != arrays_.end() && next->begin == array.zoneEnd ? &*next : nullptr;
}

} // namespace flyemu
