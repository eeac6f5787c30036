#include "emulator/observe/lds_phases.h"

#include <algorithm>
#include <array>
#include <bit>

namespace flyemu {

namespace {

/// The bits of lanes first to last.
constexpr uint64_t lanes(unsigned first, unsigned last) {
  return (~uint64_t(0) >> (63 - last)) & (~uint64_t(0) << first);
}

/// `Together` lanes at a time, in their order.
template <unsigned Together> constexpr std::array<uint64_t, 64 / Together> inOrder() {
  std::array<uint64_t, 64 / Together> phases;
  for (unsigned i = 0; i < phases.size(); ++i)
    phases[i] = lanes(i * Together, i * Together + Together - 1);
  return phases;
}
constexpr auto k64 = inOrder<64>();
constexpr auto k32 = inOrder<32>();
constexpr auto k16 = inOrder<16>();
constexpr auto k8 = inOrder<8>();

/// Eight lanes at a time that are two runs of four.
constexpr std::array kRunsOf4 = {
    lanes(0, 3) | lanes(20, 23),   lanes(4, 7) | lanes(16, 19),   lanes(8, 11) | lanes(28, 31),
    lanes(12, 15) | lanes(24, 27), lanes(32, 35) | lanes(52, 55), lanes(36, 39) | lanes(48, 51),
    lanes(40, 43) | lanes(60, 63), lanes(44, 47) | lanes(56, 59),
};
/// Sixteen lanes at a time, of each half of a wave its outer and its inner ones.
constexpr std::array kOuterAndInner = {
    lanes(0, 3) | lanes(12, 15) | lanes(20, 27),
    lanes(4, 11) | lanes(16, 19) | lanes(28, 31),
    lanes(32, 35) | lanes(44, 47) | lanes(52, 59),
    lanes(36, 43) | lanes(48, 51) | lanes(60, 63),
};

constexpr std::string_view kCk =
    "Composable Kernel's documentation, \"Understanding AMD GPU LDS and Bank Conflicts\"";
constexpr std::string_view kMi300 = "times of pairs of lanes on MI300, published with pyhip, agree "
                                    "with Composable Kernel's documentation";
constexpr std::string_view kHipKittens =
    "HipKittens, analysis/paper_experiments/phases: SQ_LDS_BANK_CONFLICT of pairs of lanes, MI355X";
constexpr std::string_view kAsGfx942 = "as gfx942: Composable Kernel's documentation treats "
                                       "processors of 32 banks alike";
constexpr std::string_view kAsRead96Of950 = "as gfx950's ds_read_b96, which 32 banks serve too";
constexpr std::string_view kAsWrite64 = "32 banks, as gfx950's ds_write_b64";

using enum LdsAccess;
using enum Evidence;
constexpr std::array kRows = {
    LdsRow{"gfx90a", Read, 3, {32, kRunsOf4}, Assumed, kAsGfx942},
    LdsRow{"gfx90a", Read, 4, {32, kRunsOf4}, Assumed, kAsGfx942},

    LdsRow{"gfx942", Read, 2, {32, k16}, Measured, kMi300},
    LdsRow{"gfx942", Read, 3, {32, kRunsOf4}, Assumed, kAsRead96Of950},
    LdsRow{"gfx942", Read, 4, {32, kRunsOf4}, Measured, kMi300},
    LdsRow{"gfx942", Write, 4, {32, k8}, Documented, kCk},

    LdsRow{"gfx950", Read, 2, {64, k32}, Measured, kHipKittens},
    LdsRow{"gfx950", Read, 3, {32, kRunsOf4}, Measured, kHipKittens},
    LdsRow{"gfx950", Read, 4, {64, kOuterAndInner}, Measured, kHipKittens},
    LdsRow{"gfx950", Write, 1, {32, k32}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Write, 2, {32, k16}, Measured, kHipKittens},
    LdsRow{"gfx950", Write, 3, {32, k8}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Write, 4, {32, k8}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Atomic, 1, {32, k32}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Atomic, 2, {32, k16}, Assumed, kAsWrite64},
    LdsRow{"gfx950", Atomic, 4, {32, k8}, Assumed, kAsWrite64},
    LdsRow{"gfx950", WritePair, 2, {32, k16}, Assumed, kAsWrite64},
    LdsRow{"gfx950", WritePair, 4, {32, k8}, Assumed, kAsWrite64},
};

/// Each lane is in one phase, and the lanes of a phase fit into the banks.
constexpr bool isSound(const LdsRow &row) {
  uint64_t all = 0;
  for (uint64_t phase : row.service.phases) {
    if ((all & phase) || std::popcount(phase) * row.dwords > row.service.banks)
      return false;
    all |= phase;
  }
  return all == ~uint64_t(0);
}
static_assert(std::all_of(kRows.begin(), kRows.end(), isSound));

/// By the logarithm of how many lanes the banks have room for.
constexpr LdsService inOrderOn(unsigned banks, unsigned dwords) {
  switch (std::bit_floor(banks / dwords)) {
  case 64:
    return {banks, k64};
  case 32:
    return {banks, k32};
  case 16:
    return {banks, k16};
  default:
    return {banks, k8};
  }
}
template <unsigned Banks>
constexpr std::array kInOrder = {inOrderOn(Banks, 1), inOrderOn(Banks, 2), inOrderOn(Banks, 3),
                                 inOrderOn(Banks, 4)};

} // namespace

std::span<const LdsRow> ldsRows() { return kRows; }

const LdsService &ldsService(const Machine &machine, LdsAccess access, unsigned dwords) {
  for (const LdsRow &row : kRows)
    if (row.access == access && row.dwords == dwords && row.processor == machine.processor->name)
      return row.service;
  return (machine.processor->ldsBanks == 64 ? kInOrder<64> : kInOrder<32>)[dwords - 1];
}

} // namespace flyemu
