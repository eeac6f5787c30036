// Transposing loads: LDS on gfx950, global memory on gfx12.
//
// The lanes form groups. In a group each lane reads one piece of memory, and the elements of all
// pieces in lane order are a matrix with a row for each result element and a column for each lane:
// lane n gets column n. gfx950 has groups of 16 lanes and pieces of 64 or 96 bits (CDNA4 ISA,
// "LDS Transpose Reads"; the same maps as FlyDSL's thread-value layouts of the copy atom). gfx12
// reads for WMMA operands whose lanes hold eight elements: 8 lanes, 8 x 8 elements; that of 8-bit
// elements is not published and taken to be the same.
#include "emulator/exec/flat_address.h"
#include "emulator/exec/lds.h"
#include "emulator/exec/tables.h"

#include <iterator>

namespace flyemu {

namespace {
/// A lane's piece of memory as bits.
struct Piece {
  uint32_t dwords[4] = {};

  uint32_t get(unsigned at, unsigned bits) const {
    const uint64_t low = dwords[at / 32], high = at / 32 < 3 ? dwords[at / 32 + 1] : 0;
    return static_cast<uint32_t>((low | high << 32) >> at % 32 & ((uint64_t(1) << bits) - 1));
  }
  void put(unsigned at, uint32_t x) {
    const uint64_t wide = uint64_t(x) << at % 32;
    dwords[at / 32] |= static_cast<uint32_t>(wide);
    if (wide >> 32)
      dwords[at / 32 + 1] |= static_cast<uint32_t>(wide >> 32);
  }
};

/// Stores the transposed pieces; lanes that are off gave zeros and get nothing.
template <unsigned Group, unsigned PieceBits, unsigned Bits>
void storeTransposed(Wave &w, const Inst &i, const Piece *pieces) {
  constexpr unsigned kElements = PieceBits / Bits;
  forLanes(w.exec(), [&](unsigned lane) {
    const unsigned group = lane / Group * Group, n = lane % Group;
    Piece out;
    for (unsigned e = 0; e < kElements; ++e) {
      const unsigned element = e * Group + n;
      out.put(e * Bits, pieces[group + element / kElements].get(element % kElements * Bits, Bits));
    }
    for (unsigned d = 0; d < PieceBits / 32; ++d)
      w.row(i.dst.index + d)[lane] = out.dwords[d];
  });
}

template <unsigned PieceBits, unsigned Bits> void ldsRead(Wave &w, const Inst &i) {
  const uint32_t *address = w.row(i.src[0].index);
  Piece pieces[kLanes];
  forLanes(w.exec(), [&](unsigned lane) {
    const uint64_t at = uint64_t(address[lane]) + static_cast<uint32_t>(i.offset);
    if (const uint8_t *p = ldsPlace(w, i, lane, at, PieceBits / 8, false))
      std::memcpy(pieces[lane].dwords, p, PieceBits / 8);
  });
  storeTransposed<16, PieceBits, Bits>(w, i, pieces);
  ldsDone(w, i);
}

template <unsigned PieceBits, unsigned Bits> void globalLoad(Wave &w, const Inst &i) {
  if (w.lanes != 32)
    throw WaveFault{"a transposing load in a wave of 64 lanes"};
  const FlatAddress<Enc::Global> address(w, i);
  Piece pieces[kLanes];
  forLanes(w.exec(), [&](unsigned lane) {
    std::memcpy(pieces[lane].dwords, address.at(lane, 0, PieceBits / 8, false), PieceBits / 8);
  });
  storeTransposed<8, PieceBits, Bits>(w, i, pieces);
  if (w.probe)
    w.probe->accessesDone(w, i);
}

constexpr OpDef kOps[] = {
    {"ds_read_b64_tr_b4", ldsRead<64, 4>, Class::Lds, Type::B64, {}, 8},
    {"ds_read_b64_tr_b8", ldsRead<64, 8>, Class::Lds, Type::B64, {}, 8},
    {"ds_read_b64_tr_b16", ldsRead<64, 16>, Class::Lds, Type::B64, {}, 8},
    {"ds_read_b96_tr_b6", ldsRead<96, 6>, Class::Lds, Type::B96, {}, 12},
    {"global_load_tr_b64", globalLoad<64, 8>, Class::VmemRead, Type::B64, {}, 8},
    {"global_load_tr_b128", globalLoad<128, 16>, Class::VmemRead, Type::B128, {}, 16},
};
} // namespace

OpTable tableTransposed() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
