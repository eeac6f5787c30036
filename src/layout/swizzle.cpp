#include "layout/swizzle.h"

#include "layout/checked.h"

#include <algorithm>

namespace flydsl::layout {

Swizzle::Swizzle(int32_t mask, int32_t base, int32_t shift) : mask(mask), base(base), shift(shift) {
  if (mask < 0 || base < 0 || shift < 0 || int64_t(mask) + base + shift > 62)
    fail("swizzle S<", mask, ",", base, ",", shift,
         ">: mask, base and shift are not negative and sum to at most 62");
}

Int Swizzle::apply(const Int &offset) const {
  if (isTrivial())
    return offset;
  if (offset.isWildcard() || offset.hasBasis())
    fail("swizzle ", *this, " needs a number, not ", offset);
  const int64_t bits = ((int64_t(1) << mask) - 1) << (base + shift);
  if (offset.isStatic())
    return offset.value() ^ ((offset.value() & bits) >> shift);
  ExprRef e = offset.expr();
  ExprRef picked =
      exprBinary(ExprOp::Shr, exprBinary(ExprOp::And, e, exprConstant(bits)), exprConstant(shift));
  return Int::dynamic(offset.width(), gcdOf(offset.divisibility(), int64_t(1) << base),
                      exprBinary(ExprOp::Xor, e, picked));
}

IntTuple Swizzle::apply(const IntTuple &offset) const {
  if (!offset.isLeaf())
    fail("swizzle ", *this, " needs a number, not ", offset);
  return apply(offset.leaf());
}

size_t Swizzle::hash() const {
  return (static_cast<size_t>(mask) * 131 + static_cast<size_t>(base)) * 131 +
         static_cast<size_t>(shift);
}

std::string Swizzle::str() const {
  return "S<" + std::to_string(mask) + "," + std::to_string(base) + "," + std::to_string(shift) +
         ">";
}

CoordSwizzle::CoordSwizzle(int32_t mask, int32_t baseRow, ModePath modeRow, int32_t baseCol,
                           ModePath modeCol)
    : mask(mask), baseRow(baseRow), modeRow(std::move(modeRow)), baseCol(baseCol),
      modeCol(std::move(modeCol)) {
  if (mask < 0 || baseRow < 0 || baseCol < 0 || int64_t(mask) + std::max(baseRow, baseCol) > 62)
    fail("coordinate swizzle ", *this,
         ": mask and bases are not negative and each base with mask is at most 62");
  for (const ModePath *path : {&this->modeRow, &this->modeCol})
    for (int32_t m : *path)
      if (m < 0)
        fail("coordinate swizzle ", *this, ": a mode is not negative");
}

IntTuple CoordSwizzle::apply(const IntTuple &coord) const {
  if (isTrivial())
    return coord;
  IntTuple rowTuple = coord.at(modeRow), colTuple = coord.at(modeCol);
  if (!rowTuple.isLeaf() || !colTuple.isLeaf() || rowTuple.leaf().hasBasis() ||
      colTuple.leaf().hasBasis() || rowTuple.leaf().isWildcard() || colTuple.leaf().isWildcard())
    fail("coordinate swizzle ", *this, " needs numbers at its modes of ", coord);
  const Int &row = rowTuple.leaf(), &col = colTuple.leaf();
  const int64_t bits = (int64_t(1) << mask) - 1;
  Int swizzled;
  if (row.isStatic() && col.isStatic()) {
    swizzled = col.value() ^ (((row.value() >> baseRow) & bits) << baseCol);
  } else {
    ExprRef picked =
        exprBinary(ExprOp::And, exprBinary(ExprOp::Shr, row.expr(), exprConstant(baseRow)),
                   exprConstant(bits));
    ExprRef placed = exprBinary(ExprOp::Shl, picked, exprConstant(baseCol));
    int64_t known = col.isStatic(0) ? int64_t(1) << baseCol : col.divisibility();
    swizzled = Int::dynamic(std::max(row.width(), col.width()), gcdOf(known, int64_t(1) << baseCol),
                            exprBinary(ExprOp::Xor, col.expr(), placed));
  }
  return coord.replaced(modeCol, swizzled);
}

size_t CoordSwizzle::hash() const {
  size_t h = static_cast<size_t>(mask) * 131 + static_cast<size_t>(baseRow);
  h = h * 131 + static_cast<size_t>(baseCol);
  for (int32_t m : modeRow)
    h = h * 31 + static_cast<size_t>(m) + 1;
  h = h * 131;
  for (int32_t m : modeCol)
    h = h * 31 + static_cast<size_t>(m) + 1;
  return h;
}

static std::string pathText(const ModePath &path) {
  std::string s = "[";
  for (size_t i = 0; i < path.size(); ++i)
    s += (i ? ", " : "") + std::to_string(path[i]);
  return s + "]";
}

std::string CoordSwizzle::str() const {
  return "CS<" + std::to_string(mask) + "," + std::to_string(baseRow) + "," + pathText(modeRow) +
         "," + std::to_string(baseCol) + "," + pathText(modeCol) + ">";
}

} // namespace flydsl::layout
