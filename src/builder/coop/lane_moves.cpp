#include "builder/coop/lane_moves.h"

#include "builder/kernel/lanes.h"
#include "builder/vendors/vendors.h"

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

namespace {

/// A number as words of u32, lowest first, and back.
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

/// The value with each of its words moved. `move` gets the word of `other` in the same place, too;
/// null without `other`.
template <class Move>
Fields moved(const Fields &value, const Fields *other, Loc loc, Move move) {
  Fields result;
  for (std::size_t f = 0; f < value.size(); ++f) {
    const Expr number(value[f], loc);
    const std::vector<Expr> from = wordsOf(number);
    std::vector<Expr> others, words;
    if (other)
      others = wordsOf(Expr((*other)[f], loc));
    for (std::size_t w = 0; w < from.size(); ++w)
      words.push_back(move(from[w], other ? &others[w] : nullptr));
    result.push_back(numberOf(words, number.type()).handle);
  }
  return result;
}
template <class Move> Fields moved(const Fields &value, Loc loc, Move move) {
  return moved(value, nullptr, loc, [&](const Expr &word, const Expr *) { return move(word); });
}

builder::LaneGroup groupOf(int width, Loc loc) {
  const int wave = gpu::num_warp_threads(loc), lanes = gpu::impl::groupWidth(width, loc);
  const Expr laneOfWave(gpu::lane_id(loc), loc);
  return {lanes, wave, laneOfWave, lanes == wave ? laneOfWave : laneOfWave & (lanes - 1)};
}

} // namespace

Lanes::Lanes(const char *what, int width, Loc loc)
    : group_(groupOf(width, loc)),
      moves_(builder::instructionsFor(what, loc).laneMoves(group_)) {
  gpu::impl::expectFullGroups(what, group_.width, loc);
}

Expr Lanes::groupStart() const { return group_.laneOfWave & ~(group_.width - 1); }

Fields Lanes::upInRow(const Fields &value, int distance, const Fields *other) const {
  return moved(value, other, group_.loc(), [&](const Expr &word, const Expr *without) {
    return moves_->upInRow(word, distance, without);
  });
}

int Lanes::rowSteps() const { return group_.width <= 16 ? 0 : group_.width == 32 ? 1 : 2; }

Fields Lanes::rowBefore(const Fields &value, int step, const Fields *other) const {
  return moved(value, other, group_.loc(), [&](const Expr &word, const Expr *without) {
    return moves_->rowBefore(word, step, without);
  });
}

Fields Lanes::upByOne(const Fields &value, const Fields *first) const {
  return moved(value, first, group_.loc(), [&](const Expr &word, const Expr *ofFirst) {
    return moves_->upByOne(word, ofFirst);
  });
}

Fields Lanes::acrossInRow(const Fields &value, int distance) const {
  return moved(value, group_.loc(),
               [&](const Expr &word) { return moves_->acrossInRow(word, distance); });
}

Fields Lanes::broadcast(const Fields &value, int source) const {
  return moved(value, group_.loc(),
               [&](const Expr &word) { return moves_->broadcast(word, source); });
}

Fields Lanes::from(const Fields &value, const Expr &source) const {
  return moved(value, group_.loc(), [&](const Expr &word) { return moves_->from(word, source); });
}

Fields Lanes::fromUniform(const Fields &value, const Expr &source) const {
  return moved(value, group_.loc(),
               [&](const Expr &word) { return moves_->fromUniform(word, source); });
}

Fields Lanes::across(const Fields &value, int mask) const {
  return moved(value, group_.loc(), [&](const Expr &word) { return moves_->across(word, mask); });
}

Expr Lanes::ballot(const Expr &condition) const {
  const Expr all = moves_->ballot(condition);
  if (group_.width == group_.wave)
    return all;
  const Expr own = all >> groupStart().to(all.type());
  return own & ((std::uint64_t(1) << group_.width) - 1);
}

Expr Lanes::countBelow(const Expr &ballot) const {
  if (group_.width == group_.wave)
    return moves_->countBelow(ballot);
  return moves_->countBelow(ballot << groupStart().to(ballot.type()));
}

Expr Lanes::scalar(const Expr &x) { return Expr(gpu::uniform(x.number(), x.loc), x.loc); }

} // namespace coop::impl
FLYDSL_NAMESPACE_END
