// Which lanes of an access LDS serves together, and over how many banks, on processors for which that is
// known. The rows stand with the machines, in machine.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

namespace flyemu {

/// The kinds of accesses that LDS serves in different ways.
enum class LdsAccess : uint8_t {
  Read,      ///< ds_read_*, and flat loads that find their address in LDS
  Write,     ///< ds_write_*, flat stores, and loads whose data go to LDS
  Atomic,    ///< operations that read and write
  ReadPair,  ///< ds_read2_*: two addresses a lane
  WritePair, ///< ds_write2_*
};

/// What is known about a row of the table.
enum class Evidence : uint8_t {
  Measured,   ///< on hardware: each pair of lanes was made to meet in a bank
  Documented, ///< by AMD
  Assumed,    ///< from a row that is measured or documented
};

/// The lanes of a phase are served together: of these, each bank gives or takes one dword a cycle.
/// Bit i of a phase is lane i; each lane is in one phase.
struct LdsService {
  unsigned banks; ///< of 4 bytes; a power of two, at most 64
  std::span<const uint64_t> phases;
};

/// The bits of lanes first to last.
constexpr uint64_t ldsLanes(unsigned first, unsigned last) {
  return (~uint64_t(0) >> (63 - last)) & (~uint64_t(0) << first);
}
/// Phases of `Together` lanes each, in their order.
template <unsigned Together> constexpr std::array<uint64_t, 64 / Together> ldsInOrder() {
  std::array<uint64_t, 64 / Together> phases;
  for (unsigned i = 0; i < phases.size(); ++i)
    phases[i] = ldsLanes(i * Together, i * Together + Together - 1);
  return phases;
}
template <unsigned Together> inline constexpr auto kLdsInOrder = ldsInOrder<Together>();

/// A fact about the accesses of one kind and width on a processor.
struct LdsRow {
  std::string_view processor;
  LdsAccess access;
  unsigned dwords; ///< of a lane; a part of a dword counts as one. Pairs: of both addresses
  LdsService service;
  Evidence evidence;
  std::string_view source;
};

/// All rows. Accesses without a row are served in the order of the lanes, as many at a time as all
/// banks of the machine have bytes for; that is an assumption where no row says otherwise.
std::span<const LdsRow> ldsRows();

} // namespace flyemu
