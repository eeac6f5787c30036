#include "builder/coop/lane_moves.h"
#include "builder/kernel/lanes.h"

#include <flydsl/error.h>
#include <flydsl/rocdl_intrinsics.h>
#include <flydsl/target.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

namespace {

/// DPP controls as the ISA encodes them ("DPP Data Parallel Primitives" in AMD's ISA manuals).
constexpr int kQuadSwapNeighbours = 0xb1; // quad_perm:[1,0,3,2]
constexpr int kQuadSwapPairs = 0x4e;      // quad_perm:[2,3,0,1]
constexpr int kQuadMirror = 0x1b;         // quad_perm:[3,2,1,0]
constexpr int kRowShiftUp = 0x110;        // row_shr:n, n of 1 to 15
constexpr int kRowRotate8 = 0x128;        // row_ror:8
constexpr int kWaveShiftUp = 0x138;       // wave_shr:1
constexpr int kRowHalfMirror = 0x141;
constexpr int kRowBroadcast15 = 0x142;
constexpr int kRowBroadcast31 = 0x143;
constexpr int kAllRows = 0xf, kOddRows = 0xa, kUpperRows = 0xc; // masks of rows
constexpr int kRowShare = 0x150; // row_share:n on RDNA, row_newbcast:n on CDNA

/// A number as 32-bit words, lowest first, and back.
std::vector<Expr> wordsOf(const Expr &x) {
  const DType type = x.type();
  if (type == boolean)
    return {x.to(u32)};
  switch (type.bits()) {
  case 8:
    return {x.bitcast(u8).to(u32)};
  case 16:
    return {x.bitcast(u16).to(u32)};
  case 32:
    return {x.bitcast(u32)};
  default: {
    const Expr bits = x.bitcast(u64);
    return {bits.to(u32), (bits >> 32).to(u32)};
  }
  }
}
Expr numberOf(const std::vector<Expr> &words, DType type) {
  if (type == boolean)
    return words[0] != 0;
  switch (type.bits()) {
  case 8:
    return words[0].to(u8).bitcast(type);
  case 16:
    return words[0].to(u16).bitcast(type);
  case 32:
    return words[0].bitcast(type);
  default:
    return (words[0].to(u64) | words[1].to(u64) << 32).bitcast(type);
  }
}

/// The value with each of its words moved.
template <class Move> Fields moved(const Fields &value, Loc loc, Move move) {
  Fields result;
  for (const Handle &field : value) {
    const Expr number(field, loc);
    std::vector<Expr> words;
    for (const Expr &word : wordsOf(number))
      words.push_back(Expr(move(word.number()), loc));
    result.push_back(numberOf(words, number.type()).handle);
  }
  return result;
}

/// A DPP move after which lanes without a source have zeros.
Fields byDpp(const Fields &value, int control, Loc loc) {
  return moved(value, loc, [&](const Numeric &word) {
    return rocdl::update_dpp(word, word, control, 0xf, 0xf, true, loc);
  });
}

/// A DPP move of the rows that `rowMask` has a bit for. The lanes of other rows, and those without
/// a source, have `other`.
Fields byDppOr(const Fields &value, const Fields &other, int control, int rowMask, Loc loc) {
  Fields result;
  for (std::size_t f = 0; f < value.size(); ++f) {
    const Expr number(value[f], loc);
    const std::vector<Expr> from = wordsOf(number), others = wordsOf(Expr(other[f], loc));
    std::vector<Expr> words;
    for (std::size_t w = 0; w < from.size(); ++w)
      words.push_back(Expr(rocdl::update_dpp(others[w].number(), from[w].number(), control, rowMask,
                                             0xf, false, loc),
                           loc));
    result.push_back(numberOf(words, number.type()).handle);
  }
  return result;
}

/// Each lane gets the value of the same lane of the other row of its pair.
Fields sameOfOtherRow(const Fields &value, Loc loc) {
  return moved(value, loc, [&](const Numeric &word) {
    return rocdl::permlanex16(word, 0xfedcba9876543210, loc);
  });
}

/// Each lane gets the last lane's value of the other row of its pair.
Fields lastOfOtherRow(const Fields &value, Loc loc) {
  return moved(value, loc, [&](const Numeric &word) {
    return rocdl::permlanex16(word, ~std::uint64_t(0), loc);
  });
}

} // namespace

Lanes::Lanes(const char *what, int width, Loc loc)
    : width_(gpu::impl::groupWidth(width, loc)), wave_(gpu::num_warp_threads(loc)),
      rowsByDpp_(target(loc).has(feature::dpp_across_rows)),
      swapsRows_(target(loc).has(feature::permlane_swap)), loc_(loc),
      laneOfWave_(gpu::lane_id(loc), loc),
      lane_(width_ == wave_ ? laneOfWave_ : laneOfWave_ & (width_ - 1)) {
  gpu::impl::expectFullGroups(what, width_, loc);
}

Expr Lanes::groupStart() const { return laneOfWave_ & ~(width_ - 1); }

Fields Lanes::upInRow(const Fields &value, int distance, const Fields *other) const {
  return other ? byDppOr(value, *other, kRowShiftUp + distance, kAllRows, loc_)
               : byDpp(value, kRowShiftUp + distance, loc_);
}

int Lanes::rowSteps() const { return width_ <= 16 ? 0 : width_ == 32 ? 1 : 2; }

Fields Lanes::rowBefore(const Fields &value, int step, const Fields *other) const {
  const int control = step ? kRowBroadcast31 : kRowBroadcast15;
  if (rowsByDpp_)
    return other ? byDppOr(value, *other, control, step ? kUpperRows : kOddRows, loc_)
                 : byDpp(value, control, loc_);
  const Fields moved = lastOfOtherRow(value, loc_);
  return other ? select(takesRow(step), moved, *other) : moved;
}
Expr Lanes::takesRow(int step) const { return (lane_ & (16 << step)) != 0; }

Fields Lanes::upByOne(const Fields &value, const Fields *first) const {
  // Where the group ends with a row or the wave, its first lane is one without a source.
  if (first && width_ == 16)
    return byDppOr(value, *first, kRowShiftUp + 1, kAllRows, loc_);
  if (first && width_ == wave_ && rowsByDpp_)
    return byDppOr(value, *first, kWaveShiftUp, kAllRows, loc_);
  const Fields moved = width_ <= 16 ? byDpp(value, kRowShiftUp + 1, loc_)
                       : rowsByDpp_ ? byDpp(value, kWaveShiftUp, loc_)
                                    : select((lane_ & 15) == 0, lastOfOtherRow(value, loc_),
                                             byDpp(value, kRowShiftUp + 1, loc_));
  return first ? select(lane_ == 0, *first, moved) : moved;
}

Fields Lanes::acrossInRow(const Fields &value, int distance) const {
  switch (distance) {
  case 1:
    return byDpp(value, kQuadSwapNeighbours, loc_);
  case 2:
    return byDpp(value, kQuadSwapPairs, loc_);
  case 4: // lane 7 - k of 8: another lane of the right quad, whose lanes have one value
    return byDpp(value, kRowHalfMirror, loc_);
  default:
    return byDpp(value, kRowRotate8, loc_);
  }
}

Fields Lanes::broadcast(const Fields &value, int source) const {
  auto lane = [&](int number) {
    return moved(value, loc_, [&](const Numeric &word) {
      return rocdl::readlane(word, Numeric::Arg(number, loc_));
    });
  };
  if (width_ == wave_)
    return lane(source);
  switch (width_) {
  case 1:
    return value;
  case 2:
    return byDpp(value, source * 0x55 + 0xa0, loc_); // quad_perm of s, s, s + 2, s + 2
  case 4:
    return byDpp(value, source * 0x55, loc_); // quad_perm of s, s, s, s
  case 8:
    return select((laneOfWave_ & 8) != 0, byDpp(value, kRowShare + 8 + source, loc_),
                  byDpp(value, kRowShare + source, loc_));
  case 16:
    return byDpp(value, kRowShare + source, loc_);
  default: // 32 of 64
    return select((laneOfWave_ & 32) != 0, lane(32 + source), lane(source));
  }
}

/// The value of a lane of the wave, through LDS's crossbar.
static Fields byCrossbar(const Fields &value, const Expr &lane) {
  const Numeric byte = (lane << 2).number();
  return moved(value, lane.loc,
               [&](const Numeric &word) { return rocdl::ds_bpermute(byte, word, lane.loc); });
}

Fields Lanes::from(const Fields &value, const Expr &source) const {
  return byCrossbar(value, width_ == wave_ ? source : groupStart() + source);
}

Fields Lanes::fromUniform(const Fields &value, const Expr &source) const {
  return moved(value, loc_, [&](const Numeric &word) {
    return rocdl::readlane(word, Numeric::Arg(source.number(), loc_));
  });
}

Fields Lanes::across(const Fields &value, int mask) const {
  if (mask == 1 || mask == 2 || mask == 8) // where acrossInRow is exact
    return acrossInRow(value, mask);
  if (mask == 4) // lane 7 - k of 8, and 3 - k of 4 from there
    return byDpp(byDpp(value, kRowHalfMirror, loc_), kQuadMirror, loc_);
  if (mask == 16 && !rowsByDpp_)
    return sameOfOtherRow(value, loc_);
  if (mask >= 16 && swapsRows_) {
    // With the same value twice, the first result has that of the lower rows in both, the second
    // that of the upper ones.
    const Expr isUpper = (laneOfWave_ & mask) != 0;
    return moved(value, loc_, [&](const Numeric &word) {
      const auto [lower, upper] = mask == 16 ? rocdl::permlane16_swap(word, word, loc_)
                                             : rocdl::permlane32_swap(word, word, loc_);
      return select(isUpper, Expr(lower, loc_), Expr(upper, loc_)).number();
    });
  }
  if (mask >= 32)
    return byCrossbar(value, laneOfWave_ ^ mask);
  // Within 32 lanes ds_swizzle needs no register with the lane's number: bits 10 to 14 of its
  // offset are the mask, bits 0 to 4 those of the lane's number that count.
  return moved(value, loc_, [&](const Numeric &word) {
    return rocdl::ds_swizzle(word, mask << 10 | 0x1f, loc_);
  });
}

Expr Lanes::scalar(const Expr &x) { return Expr(rocdl::readfirstlane(x.number(), x.loc), x.loc); }

Expr Lanes::countBelow(const Expr &ballot) {
  const Loc loc = ballot.loc;
  const std::vector<Expr> words = wordsOf(ballot);
  auto count = [&](const char *intrinsic, const Expr &word, const Expr &soFar) {
    return Expr(rocdl::intrinsic(intrinsic, i32, {word.number(), soFar.number()}, loc), loc);
  };
  const Expr low = count("llvm.amdgcn.mbcnt.lo", words[0].bitcast(i32), Expr(i32, 0, loc));
  return words.size() == 1 ? low : count("llvm.amdgcn.mbcnt.hi", words[1].bitcast(i32), low);
}

Expr Lanes::ballot(const Expr &condition) const {
  const DType type = wave_ == 64 ? u64 : u32;
  const Expr all = Expr(rocdl::ballot(condition.truth(), loc_), loc_).bitcast(type);
  if (width_ == wave_)
    return all;
  const Expr own = all >> groupStart().to(type);
  return own & ((std::uint64_t(1) << width_) - 1);
}

} // namespace coop::impl
FLYDSL_NAMESPACE_END
