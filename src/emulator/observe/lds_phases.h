// How LDS serves the lanes of an access: in which groups, and over how many banks.
#pragma once

#include "emulator/isa/machine.h"

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

/// How an access of so many dwords a lane (1 to 4) is served.
const LdsService &ldsService(const Machine &machine, LdsAccess access, unsigned dwords);

} // namespace flyemu
