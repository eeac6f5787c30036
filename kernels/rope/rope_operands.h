// The operands of rotary position embedding as tensors of the kernel.
#pragma once

#include "rope/rope_family.h"

#include <flydsl/flydsl.h>

#include <optional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Whose heads they are.
enum class HeadOf : std::uint8_t { q, k, v };

/// The heads of q, k or v, and their operands as far as the problem has them.
struct Heads {
  HeadOf of;
  int begin, end;                         // their numbers among all heads of a token
  HeadNorm norm = HeadNorm::none;         // those of v have none
  Tensor x;                               // (m, heads, head)
  std::optional<Tensor> y = {};           // (m, heads, head)
  std::optional<Tensor> weight = {};      // (head)
  std::optional<Tensor> fixedScale = {};  // (1)
  std::optional<Tensor> groupScales = {}; // (m, heads, groups)
  std::optional<Tensor> cache = {};       // (places, heads, head)
  std::optional<Tensor> cacheScale = {};  // (1), (heads) or (places, heads), as KvScales says
};

class RopeOperands {
public:
  using Params = RopeParams<OnDevice>;
  RopeOperands(const RopeProblem &problem, const Params &params) : problem_(problem), p_(params) {}

  /// The rows of the tables, and the places of the cache, that belong to tokens.
  Tensor positions() const { return p_.positions.view(problem_.index, p_.tokens); } // (m)
  Tensor slots() const { return p_.slots.view(problem_.index, p_.tokens); }         // (m)
  Tensor cos() const { return table(p_.cos); } // (positions, rotary / 2)
  Tensor sin() const { return table(p_.sin); } // (positions, rotary / 2)

  /// All heads of a token: those of q, then of k, and of v if it is cached.
  std::vector<Heads> heads() const {
    const int q = problem_.q_heads, kv = problem_.kv_heads, all = headsOf(problem_);
    std::vector<Heads> heads;
    if (q)
      heads.push_back({.of = HeadOf::q,
                       .begin = 0,
                       .end = q,
                       .norm = problem_.q_norm,
                       .x = rows(p_.q, problem_.x, q),
                       .y = rows(p_.qOut, problem_.y, q),
                       .weight = weight(problem_.q_norm, p_.qWeight),
                       .fixedScale = fixedScale(p_.qScale),
                       .groupScales = groupScales(p_.qScale, q)});
    if (kv)
      heads.push_back({.of = HeadOf::k,
                       .begin = q,
                       .end = q + kv,
                       .norm = problem_.k_norm,
                       .x = rows(p_.k, problem_.x, kv),
                       .y = problem_.k_out ? Maybe(rows(p_.kOut, problem_.y, kv)) : Maybe(),
                       .weight = weight(problem_.k_norm, p_.kWeight),
                       .fixedScale = problem_.k_out ? fixedScale(p_.kScale) : Maybe(),
                       .groupScales = problem_.k_out ? groupScales(p_.kScale, kv) : Maybe(),
                       .cache = keys(),
                       .cacheScale = cacheScale(p_.kCacheScale)});
    if (q + kv < all)
      heads.push_back({.of = HeadOf::v,
                       .begin = q + kv,
                       .end = all,
                       .x = rows(p_.v, problem_.x, kv),
                       .cache = values(),
                       .cacheScale = cacheScale(p_.vCacheScale)});
    return heads;
  }

private:
  using Maybe = std::optional<Tensor>;

  /// The bytes that divide the places of accesses of `elements` elements.
  static int bytes(DType type, int elements) { return type.bytes() * elements; }

  Tensor table(const Strided<OnDevice, 1> &of) const {
    const int pairs = rotaryOf(problem_) / 2, access = accessOf(problem_),
              each = problem_.style == RopeStyle::gptj ? access / 2 : access;
    return of.view(problem_.table, {p_.rows, pairs}, bytes(problem_.table, each)); // (rows, pairs)
  }
  Tensor rows(const Strided<OnDevice, 2> &of, DType type, int heads) const {
    return of.view(type, {p_.tokens, heads, problem_.head},
                   bytes(type, accessOf(problem_))); // (tokens, heads, head)
  }
  Maybe weight(HeadNorm norm, const Strided<OnDevice, 0> &of) const {
    if (norm != HeadNorm::weighted)
      return {};
    return of.view(problem_.weight, normedOf(problem_),
                   bytes(problem_.weight, accessOf(problem_))); // (normed)
  }
  Maybe fixedScale(const Strided<OnDevice, 0> &of) const {
    return problem_.quantise == Quantisation::fixed ? Maybe(of.view(f32, 1)) : Maybe(); // (1)
  }
  Maybe groupScales(const Strided<OnDevice, 0> &of, int heads) const {
    if (problem_.quantise != Quantisation::row)
      return {};
    const DType stored = problem_.scale == f8E8M0FNU ? u8 : problem_.scale;
    return of.view(
        stored, {p_.tokens, heads, problem_.head / groupSize(problem_)}); // (tokens, heads, groups)
  }
  Maybe cacheScale(const Strided<OnDevice, 3> &of) const {
    if (!quantisesCache(problem_))
      return {};
    const int kv = problem_.kv_heads;
    if (problem_.cache_scales == KvScales::tensor)
      return Strided<OnDevice, 0>{.address = of.address, .stride = {}}.view(f32, 1); // (1)
    if (problem_.cache_scales == KvScales::head)
      return Strided<OnDevice, 1>{.address = of.address, .stride = {of.stride[2]}}.view(
          f32, kv);                                                 // (heads)
    const Tensor all = of.view(f32, {blocks(), problem_.page, kv}); // (blocks, page, heads)
    return group(select(all, {1, 0, 2}), 0, 2);                     // ((page, blocks), heads)
  }

  // A cache is a tensor (places, heads, head) whatever its form. Place p is token p % page of block
  // p / page, so the mode of places is made of those of a block and of blocks; what a packed cache
  // keeps together of a head or of tokens is the first mode of theirs.

  Int32 blocks() const { return p_.places.template to<Int32>() / problem_.page; }
  Maybe keys() const {
    const int page = problem_.page, kv = problem_.kv_heads, head = problem_.head, x = problem_.pack,
              aligned = bytes(problem_.cached, accessOf(problem_));
    if (problem_.cache == KvCache::none)
      return {};
    if (problem_.cache == KvCache::pages)
      return pages(p_.kCache);
    const Tensor all = packed(p_.kCache).view(problem_.cached, {blocks(), kv, head / x, page, x},
                                              aligned); // (blocks, heads, head / x, page, x)
    const Tensor turned = select(all, {3, 0, 1, 4, 2}); // (page, blocks, heads, x, head / x)
    return group(group(turned, 3, 5), 0, 2);            // ((page, blocks), heads, (x, head / x))
  }
  Tensor values() const {
    const int page = problem_.page, kv = problem_.kv_heads, head = problem_.head,
              y = vPackOf(problem_);
    if (problem_.cache == KvCache::pages)
      return pages(p_.vCache);
    const Tensor all = packed(p_.vCache).view(
        problem_.cached, {blocks(), kv, page / y, head, y}); // (blocks, heads, page / y, head, y)
    const Tensor turned = select(all, {4, 2, 0, 1, 3});      // (y, page / y, blocks, heads, head)
    return group(turned, 0, 3);                              // ((y, page / y, blocks), heads, head)
  }
  Tensor pages(const Strided<OnDevice, 3> &of) const {
    const Tensor all =
        of.view(problem_.cached, {blocks(), problem_.page, problem_.kv_heads, problem_.head},
                bytes(problem_.cached, accessOf(problem_))); // (blocks, page, heads, head)
    return group(select(all, {1, 0, 2, 3}), 0, 2);           // ((page, blocks), heads, head)
  }
  /// Without the stride of places, which a packed cache does not have.
  static Strided<OnDevice, 2> packed(const Strided<OnDevice, 3> &of) {
    return {.address = of.address, .stride = {of.stride[0], of.stride[2]}};
  }

  const RopeProblem &problem_;
  const Params &p_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
