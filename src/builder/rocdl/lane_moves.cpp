#include "builder/rocdl/lane_moves.h"

#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/target.h>

namespace flydsl::builder {

namespace {

/// DPP controls as the ISA encodes them ("DPP Data Parallel Primitives" in AMD's ISA manuals).
constexpr int kRowShiftUp = 0x110;        // row_shr:n, n of 1 to 15
constexpr int kWaveShiftUp = 0x138;       // wave_shr:1
constexpr int kRowHalfMirror = 0x141;
constexpr int kRowBroadcast15 = 0x142;
constexpr int kRowBroadcast31 = 0x143;
constexpr int kAllRows = 0xf, kOddRows = 0xa, kUpperRows = 0xc; // masks of rows
constexpr int kRowShare = 0x150; // row_share:n on RDNA, row_newbcast:n on CDNA

class AmdLaneMoves final : public LaneMoves {
public:
  explicit AmdLaneMoves(const LaneGroup &group)
      : LaneMoves(group), rowsByDpp_(target(group.loc()).has(feature::dpp_across_rows)) {}

  Expr upInRow(const Expr &word, int distance, const Expr *other) const override {
    return other ? byDppOr(word, *other, kRowShiftUp + distance, kAllRows)
                 : byDpp(word, kRowShiftUp + distance);
  }

  Expr rowBefore(const Expr &word, int step, const Expr *other) const override {
    const int control = step ? kRowBroadcast31 : kRowBroadcast15;
    if (rowsByDpp_)
      return other ? byDppOr(word, *other, control, step ? kUpperRows : kOddRows)
                   : byDpp(word, control);
    const Expr moved = lastOfOtherRow(word);
    return other ? select(takesRow(step), moved, *other) : moved;
  }

  Expr upByOne(const Expr &word, const Expr *first) const override {
    // Where the group ends with a row or the wave, its first lane is one without a source.
    if (first && group_.width == 16)
      return byDppOr(word, *first, kRowShiftUp + 1, kAllRows);
    if (first && group_.width == group_.wave && rowsByDpp_)
      return byDppOr(word, *first, kWaveShiftUp, kAllRows);
    const Expr moved = group_.width <= 16 ? byDpp(word, kRowShiftUp + 1)
                       : rowsByDpp_       ? byDpp(word, kWaveShiftUp)
                                          : select((group_.lane & 15) == 0, lastOfOtherRow(word),
                                                   byDpp(word, kRowShiftUp + 1));
    return first ? select(group_.lane == 0, *first, moved) : moved;
  }

  // Lane 7 - k of 8 is another lane of the right quad, whose lanes have one word: a move less than
  // lane ^ 4.
  Expr acrossInRow(const Expr &word, int distance) const override {
    return distance == 4 ? byDpp(word, kRowHalfMirror) : across(word, distance);
  }

  Expr broadcast(const Expr &word, int source) const override {
    auto lane = [&](int number) { return fromUniform(word, Expr(i32, number, loc())); };
    if (group_.width == group_.wave)
      return lane(source);
    switch (group_.width) {
    case 1:
      return word;
    case 2:
      return byDpp(word, source * 0x55 + 0xa0); // quad_perm of s, s, s + 2, s + 2
    case 4:
      return byDpp(word, source * 0x55); // quad_perm of s, s, s, s
    case 8:
      return select((group_.laneOfWave & 8) != 0, byDpp(word, kRowShare + 8 + source),
                    byDpp(word, kRowShare + source));
    case 16:
      return byDpp(word, kRowShare + source);
    default: // 32 of 64
      return select((group_.laneOfWave & 32) != 0, lane(32 + source), lane(source));
    }
  }

  Expr from(const Expr &word, const Expr &source) const override {
    return byCrossbar(word, group_.width == group_.wave
                                ? source
                                : (group_.laneOfWave & ~(group_.width - 1)) + source);
  }

  Expr fromUniform(const Expr &word, const Expr &source) const override {
    return made(rocdl::readlane(word.number(), Numeric::Arg(source.number(), loc())));
  }

  Expr ballot(const Expr &condition) const override {
    return made(rocdl::ballot(condition.truth(), loc())).bitcast(group_.wave == 64 ? u64 : u32);
  }

  Expr countBelow(const Expr &ballot) const override {
    auto count = [&](const char *intrinsic, const Expr &word, const Expr &soFar) {
      return made(rocdl::intrinsic(intrinsic, i32, {word.bitcast(i32).number(), soFar.number()},
                                   loc()));
    };
    const Expr none(i32, 0, loc());
    if (ballot.type().bits() == 32)
      return count("llvm.amdgcn.mbcnt.lo", ballot, none);
    return count("llvm.amdgcn.mbcnt.hi", (ballot >> 32).to(u32),
                 count("llvm.amdgcn.mbcnt.lo", ballot.to(u32), none));
  }

private:
  Loc loc() const { return group_.loc(); }
  Expr made(const Numeric &number) const { return Expr(number, loc()); }

  /// A DPP move after which lanes without a source have zero.
  Expr byDpp(const Expr &word, int control) const {
    return made(rocdl::update_dpp(word.number(), word.number(), control, 0xf, 0xf, true, loc()));
  }
  /// A DPP move of the rows that `rowMask` has a bit for. The lanes of other rows, and those without
  /// a source, have `other`.
  Expr byDppOr(const Expr &word, const Expr &other, int control, int rowMask) const {
    return made(
        rocdl::update_dpp(other.number(), word.number(), control, rowMask, 0xf, false, loc()));
  }
  /// Each lane gets the last lane's word of the other row of its pair.
  Expr lastOfOtherRow(const Expr &word) const {
    return made(rocdl::permlanex16(word.number(), ~std::uint64_t(0), loc()));
  }
  /// The word of a lane of the wave, through LDS's crossbar.
  Expr byCrossbar(const Expr &word, const Expr &lane) const {
    return made(rocdl::ds_bpermute((lane << 2).number(), word.number(), loc()));
  }

  bool rowsByDpp_;
};

} // namespace

std::unique_ptr<const LaneMoves> amdLaneMoves(const LaneGroup &group) {
  return std::make_unique<AmdLaneMoves>(group);
}

} // namespace flydsl::builder
