// Values from lane to lane, by the cheapest instruction that the target has.
#pragma once

#include "builder/coop/expr.h"

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// The lanes of one group of a wave.
///
/// AMD's waves consist of rows of 16 lanes. Within a row, values move by DPP, an operand of vector
/// instructions, on all targets. Between rows, CDNA has DPP controls too (row_bcast, wave_shr;
/// "DPP" in the CDNA3 ISA manual), and RDNA, whose waves have two rows, has v_permlanex16; gfx950
/// swaps rows and halves (v_permlane16_swap, v_permlane32_swap). What none of these does goes
/// through ds_bpermute, LDS's crossbar.
class Lanes {
public:
  /// Groups of `width` lanes, checked; 0: the wave.
  Lanes(const char *what, int width, Loc loc);

  int width() const { return width_; }
  int wave() const { return wave_; }
  /// The lane's number in its group, of type i32.
  const Expr &lane() const { return lane_; }
  /// The group's first lane in its wave.
  Expr groupStart() const;

  /// The value `distance` lanes below in the same row of 16, where `distance` is 1 to 15. Lanes
  /// that have no such lane get zeros, or `other`.
  Fields upInRow(const Fields &value, int distance, const Fields *other = nullptr) const;
  /// What a scan takes from the rows before, when each row's last lane has its row's result: for
  /// step 0 the last lane of the row before, for step 1 (waves of four rows) lane 31. Lanes that
  /// `takesRow` is not true of get any value, or `other`.
  Fields rowBefore(const Fields &value, int step, const Fields *other = nullptr) const;
  Expr takesRow(int step) const;
  /// How many such steps there are.
  int rowSteps() const;

  /// The value of the lane below. The group's first lane gets any value, or `first`.
  Fields upByOne(const Fields &value, const Fields *first = nullptr) const;
  /// The value of another lane of the group in a butterfly of `distance` 1, 2, 4 or 8, in which all
  /// lanes of a smaller group have the same value already.
  Fields acrossInRow(const Fields &value, int distance) const;
  /// The value of lane `source` in all lanes of the group.
  Fields broadcast(const Fields &value, int source) const;
  /// The value of lane `source`, each lane's own choice.
  Fields from(const Fields &value, const Expr &source) const;
  /// The value of a lane of the wave's first group, the same choice in all lanes of the wave.
  Fields fromUniform(const Fields &value, const Expr &source) const;
  /// The value of the lane whose number differs by the bits of `mask`.
  Fields across(const Fields &value, int mask) const;
  /// A number that all lanes of a wave agree on, as the scalar that it is.
  static Expr scalar(const Expr &x);
  /// How many bits of a ballot of the wave stand below the lane's own, of type i32.
  static Expr countBelow(const Expr &ballot);
  /// A bit for each lane of the group for which the condition holds, of type u32 or u64.
  Expr ballot(const Expr &condition) const;

private:
  int width_, wave_;
  bool rowsByDpp_, swapsRows_;
  Loc loc_;
  Expr laneOfWave_, lane_;
};

} // namespace coop::impl
FLYDSL_NAMESPACE_END
