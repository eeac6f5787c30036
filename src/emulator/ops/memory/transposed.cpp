// Transposing loads: LDS on gfx950 and gfx1250, global memory on gfx12.
//
// Each lane reads one piece of memory and gets one element of each of several lanes' pieces. gfx950
// has groups of 16 lanes and pieces of 64 or 96 bits: the elements of all pieces in lane order are
// a matrix with a row for each result element and a column for each lane (CDNA4 ISA, "LDS Transpose
// Reads"; the same maps as FlyDSL's thread-value layouts of the copy atom).
//
// gfx12 reads eight elements a lane for WMMA operands. Of 16 bits: groups of 8 lanes are 8 x 8
// elements, and lane n gets column n. Of 8 bits the lanes hold 16 x 16: lane l gets byte l % 8 of
// the lanes that have bits 3 and 4 of l as their bits 2 and 4. Sources, both run on gfx1201: what
// llama.cpp's rdna4_fp8_gemm found for the whole wave (trperm), and another program's addresses.
// gfx1250's loads of 16 and 8 bits from LDS have the same maps: AMD's "A Deep Dive into LDS
// Optimizations on AMD Instinct MI450 GPUs" (rocm.blogs.amd.com, 2026), and what Triton compiles.
// Of 4 bits, lane l gets element l % 16 of the lanes that have bit 4 of l as their bit 3: what
// rocjitsu's test of them says that they give, and what Triton 3.9's products need. (Of bytes that
// test has groups of 8 lanes, by which Triton's products would be wrong.) Of those of 6 bits nothing
// else was found, and of loads from global memory rocjitsu and AMD's Comgr have different maps.
#include "emulator/ops/lds/lds.h"
#include "emulator/ops/memory/flat_address.h"
#include "emulator/ops/tables.h"

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

/// An element of a piece.
struct Source {
  unsigned lane, element;
};

/// gfx950: element `e` of lane `lane`, where a piece has Elements.
template <unsigned Elements> Source ofGroup16(unsigned lane, unsigned e) {
  const unsigned at = e * 16 + lane % 16;
  return {lane / 16 * 16 + at / Elements, at % Elements};
}
/// gfx12, 16 bits.
Source ofGroup8(unsigned lane, unsigned e) { return {lane / 8 * 8 + e, lane % 8}; }
/// gfx12, 8 bits.
Source ofWave32(unsigned lane, unsigned e) {
  return {(e & 3) | (lane >> 3 & 1) << 2 | (e >> 2 & 1) << 3 | (lane >> 4 & 1) << 4, lane % 8};
}
/// gfx1250, 4 bits.
Source nibblesOfWave32(unsigned lane, unsigned e) {
  return {(e & 7) | (lane >> 4 & 1) << 3 | (e >> 3) << 4, lane % 16};
}

/// Stores the transposed pieces; lanes that are off gave zeros and get nothing.
template <unsigned PieceBits, unsigned Bits, class From>
void storeTransposed(Wave &w, const Inst &i, const Piece *pieces, From from) {
  forLanes(w.exec(), [&](unsigned lane) {
    Piece out;
    for (unsigned e = 0; e < PieceBits / Bits; ++e) {
      const Source source = from(lane, e);
      out.put(e * Bits, pieces[source.lane].get(source.element * Bits, Bits));
    }
    for (unsigned d = 0; d < PieceBits / 32; ++d)
      w.row(i.dst.index + d)[lane] = out.dwords[d];
  });
}

template <unsigned PieceBits, unsigned Bits, class From>
void ldsRead(Wave &w, const Inst &i, From from) {
  const uint32_t *address = w.row(i.src[0].index);
  Piece pieces[kLanes];
  forLanes(w.exec(), [&](unsigned lane) {
    const uint64_t at = uint64_t(address[lane]) + static_cast<uint32_t>(i.offset);
    // rocRoller pads the pieces of six-bit elements to 16 bytes for it (addF6LDSPadding).
    if (PieceBits == 96 && at % 16)
      throw WaveFault{"a transposing read of 96 bits at an LDS address that is no multiple of 16: "
                      "each lane's 12 bytes take 16",
                      static_cast<int>(lane)};
    if (const uint8_t *p = ldsPlace(w, i, lane, at, PieceBits / 8, false))
      std::memcpy(pieces[lane].dwords, p, PieceBits / 8);
  });
  storeTransposed<PieceBits, Bits>(w, i, pieces, from);
  ldsDone(w, i);
}
template <unsigned PieceBits, unsigned Bits> void ldsOfGroup16(Wave &w, const Inst &i) {
  ldsRead<PieceBits, Bits>(w, i, ofGroup16<PieceBits / Bits>);
}
void ldsHalves(Wave &w, const Inst &i) { ldsRead<128, 16>(w, i, ofGroup8); }
void ldsBytes(Wave &w, const Inst &i) { ldsRead<64, 8>(w, i, ofWave32); }
void ldsNibbles(Wave &w, const Inst &i) { ldsRead<64, 4>(w, i, nibblesOfWave32); }

template <unsigned PieceBits, unsigned Bits> void globalLoad(Wave &w, const Inst &i) {
  if (w.lanes != 32)
    throw WaveFault{"a transposing load in a wave of 64 lanes"};
  const FlatAddress<Enc::Global> address(w, i);
  Piece pieces[kLanes];
  forLanes(w.exec(), [&](unsigned lane) {
    std::memcpy(pieces[lane].dwords, address.at(lane, 0, PieceBits / 8, false), PieceBits / 8);
  });
  storeTransposed<PieceBits, Bits>(w, i, pieces, Bits == 8 ? ofWave32 : ofGroup8);
  if (w.probe)
    w.probe->accessesDone(w, i);
}

constexpr OpDef kOps[] = {
    {"ds_read_b64_tr_b4", ldsOfGroup16<64, 4>, Class::Lds, Type::B64, {}, moves(8)},
    {"ds_read_b64_tr_b8", ldsOfGroup16<64, 8>, Class::Lds, Type::B64, {}, moves(8)},
    {"ds_read_b64_tr_b16", ldsOfGroup16<64, 16>, Class::Lds, Type::B64, {}, moves(8)},
    {"ds_read_b96_tr_b6", ldsOfGroup16<96, 6>, Class::Lds, Type::B96, {}, moves(12)},
    {"ds_load_tr16_b128", ldsHalves, Class::Lds, Type::B128, {}, moves(16)},
    {"ds_load_tr8_b64", ldsBytes, Class::Lds, Type::B64, {}, moves(8)},
    {"ds_load_tr4_b64", ldsNibbles, Class::Lds, Type::B64, {}, moves(8)},
    {"global_load_tr_b64", globalLoad<64, 8>, Class::VmemRead, Type::B64, {}, moves(8)},
    {"global_load_tr_b128", globalLoad<128, 16>, Class::VmemRead, Type::B128, {}, moves(16)},
};
} // namespace

OpTable tableTransposed() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
