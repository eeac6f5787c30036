// Values from lane to lane, each by moves of its words.
#pragma once

#include "builder/coop/expr.h"
#include "builder/kernel/lane_moves.h"

#include <memory>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// The lanes of one group of a wave, between which values of any fields move. What each move does
/// is said in builder/kernel/lane_moves.h; the target's vendor has instructions for them.
class Lanes {
public:
  /// Groups of `width` lanes, checked; 0: the wave.
  Lanes(const char *what, int width, Loc loc);

  int width() const { return group_.width; }
  int wave() const { return group_.wave; }
  /// The lane's number in its group, of type i32.
  const Expr &lane() const { return group_.lane; }
  /// The group's first lane in its wave.
  Expr groupStart() const;

  Fields upInRow(const Fields &value, int distance, const Fields *other = nullptr) const;
  Fields rowBefore(const Fields &value, int step, const Fields *other = nullptr) const;
  Expr takesRow(int step) const { return moves_->takesRow(step); }
  /// How many steps of `rowBefore` there are.
  int rowSteps() const;

  Fields upByOne(const Fields &value, const Fields *first = nullptr) const;
  Fields acrossInRow(const Fields &value, int distance) const;
  Fields broadcast(const Fields &value, int source) const;
  Fields from(const Fields &value, const Expr &source) const;
  Fields fromUniform(const Fields &value, const Expr &source) const;
  Fields across(const Fields &value, int mask) const;
  /// How many bits of a ballot of the group stand below the lane's own, of type i32.
  Expr countBelow(const Expr &ballot) const;
  /// A bit for each lane of the group for which the condition holds, of type u32 or u64.
  Expr ballot(const Expr &condition) const;
  /// A number that all lanes of a wave agree on, as the scalar that it is.
  static Expr scalar(const Expr &x);

private:
  builder::LaneGroup group_;
  std::unique_ptr<const builder::LaneMoves> moves_;
};

} // namespace coop::impl
FLYDSL_NAMESPACE_END
