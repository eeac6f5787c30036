// Values from lane to lane of a wave, in words of 32 bits: what collectives are made of, and the seam
// at which a vendor brings instructions for it.
#pragma once

#include "builder/kernel/expr.h"

namespace flydsl::builder {

/// The lanes of a group of a wave.
struct LaneGroup {
  int width; ///< the lanes of a group, a power of two
  int wave;  ///< the lanes of the wave
  /// The lane's number in its wave, and in its group; both i32. They have the place of the user's
  /// call.
  Expr laneOfWave, lane;

  Loc loc() const { return lane.loc; }
};

/// Moves of words of u32 among the lanes of a group, which are all active. Scans and reductions go
/// by rows of 16 lanes, which vendors' instructions do: a wave is one row or more.
///
/// The moves of this class are shuffles, which every vendor has.
class LaneMoves {
public:
  explicit LaneMoves(const LaneGroup &group) : group_(group) {}
  virtual ~LaneMoves() = default;

  /// The word `distance` lanes below in the same row of 16, where `distance` is 1 to 15. Lanes that
  /// have no such lane get zero, or `other`.
  virtual Expr upInRow(const Expr &word, int distance, const Expr *other) const;
  /// What a scan takes from the rows before, when each row's last lane has its row's result: for
  /// step 0 the last lane of the row before, for step 1 (waves of four rows) lane 31. Lanes that
  /// `takesRow` is not true of get any word, or `other`.
  virtual Expr rowBefore(const Expr &word, int step, const Expr *other) const;
  /// The word of the lane below. The group's first lane gets any word, or `first`.
  virtual Expr upByOne(const Expr &word, const Expr *first) const;
  /// The word of another lane of the group in a butterfly of `distance` 1, 2, 4 or 8, in which all
  /// lanes of a smaller group have the same word already.
  virtual Expr acrossInRow(const Expr &word, int distance) const;
  /// The word of the group's lane `source` in all lanes of the group.
  virtual Expr broadcast(const Expr &word, int source) const;
  /// The word of the group's lane `source`, each lane's own choice.
  virtual Expr from(const Expr &word, const Expr &source) const;
  /// The word of a lane of the wave, the same choice in all lanes.
  virtual Expr fromUniform(const Expr &word, const Expr &source) const;
  /// The word of the lane whose number differs by the bits of `mask`.
  virtual Expr across(const Expr &word, int mask) const;
  /// A bit for each lane of the wave for which the condition holds, of type u32, or of u64 if the
  /// wave has more than 32 lanes.
  virtual Expr ballot(const Expr &condition) const;
  /// How many bits of a ballot of the wave stand below the lane's own, of type i32.
  virtual Expr countBelow(const Expr &ballot) const;

  /// Whether a lane takes from the rows before in a step of `rowBefore`.
  Expr takesRow(int step) const { return (group_.lane & (16 << step)) != 0; }

protected:
  const LaneGroup group_;
};

} // namespace flydsl::builder
