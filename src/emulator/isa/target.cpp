#include "emulator/isa/target.h"

#include <iterator>

namespace flyemu {

namespace {
// RDNA3 and RDNA4 address the halves of a vector register in 16-bit operands. LLVM 22 decodes these
// forms on gfx12 only where it is told to; the forms without halves have the same bits.
constexpr std::string_view kHalves = "+real-true16";

constexpr TargetInfo kTargets[] = {
    {"gfx90a", "", Family::Gfx9, 64, 124, 0, 102, 64 << 10, 32, false, true, false, false},
    {"gfx942", "", Family::Gfx9, 64, 124, 0, 102, 64 << 10, 32, false, true, true, false},
    {"gfx950", "", Family::Gfx9, 64, 124, 0, 102, 160 << 10, 64, true, true, true, true},
    {"gfx1100", kHalves, Family::Gfx11, 32, 125, 124, 0, 64 << 10, 32, false, false, false, false},
    {"gfx1200", kHalves, Family::Gfx12, 32, 125, 124, 0, 64 << 10, 32, true, false, false, false},
    {"gfx1201", kHalves, Family::Gfx12, 32, 125, 124, 0, 64 << 10, 32, true, false, false, false},
};
} // namespace

const TargetInfo *findTarget(std::string_view target) {
  target = target.substr(0, target.find(':'));
  for (const TargetInfo &t : kTargets)
    if (t.name == target)
      return &t;
  return nullptr;
}

const TargetInfo *targetsBegin() { return std::begin(kTargets); }
const TargetInfo *targetsEnd() { return std::end(kTargets); }

} // namespace flyemu
