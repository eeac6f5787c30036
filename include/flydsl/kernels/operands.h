// The operands of a family as a list, for whoever tries kernels without knowing them: tuning,
// tools, tests.
#pragma once

#include <flydsl/kernels/ggml.h>
#include <flydsl/kernels/plan.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What the kernels of a call do with an operand, and what an operand that is read holds.
struct Role {
  /// The kinds of roles.
  enum class Kind : std::uint8_t {
    input,     ///< read; any values
    index,     ///< read; different numbers from 0 to below their count
    offsets,   ///< read; 0, 1, 2, ..., times `number`
    equal,     ///< read; each element is `number`
    below,     ///< read; any numbers from 0 to below `number`
    first,     ///< read; 0, 1, 2, ... to below `number`, then -1
    quotients, ///< read; i / `number` below `most`, then -1
    slots,     ///< read; slots of tokens in the order of experts, see slots()
    blocks,    ///< read; bytes of weights in ggml's format `number / 2`, layout `number % 2`
    output,    ///< written in full, and not read before
    both,      ///< read, with any values, and written in full
    workspace, ///< written before it is read
    /// A workspace with flags: its last bytes are zero before the first call, and
    /// each call leaves them so; the others are written before they are read. To
    /// set all of it to zero once is enough.
    flagged,
  };
  Kind kind;
  std::int64_t number = 0;
  /// How far the numbers go. Kind::offsets and Kind::equal: -1 for all.
  std::int64_t most = -1;
  std::int64_t taken = 0, tokens = 0, topk = 0; ///< Kind::slots
  /// The roles of these kinds.
  static const Role input, index, offsets, output, both, workspace, flagged;
  /// Each element is `number`.
  static constexpr Role equal(std::int64_t number) { return {Kind::equal, number}; }
  /// The first `most` elements are `number`, the others 0.
  static constexpr Role equal(std::int64_t number, std::int64_t most) {
    return {Kind::equal, number, most};
  }
  /// The elements are 0, 1, 2, ..., times `number`.
  static constexpr Role steps(std::int64_t number) { return {Kind::offsets, number}; }
  /// The same up to `most` times `number`, which all others are.
  static constexpr Role steps(std::int64_t number, std::int64_t most) {
    return {Kind::offsets, number, most};
  }
  /// Each of 0 to below `most` so many times, one after another, then -1.
  static constexpr Role quotients(std::int64_t number, std::int64_t most) {
    return {Kind::quotients, number, most};
  }
  /// The ids of places, slot << 24 | token: each of `most` experts has `number` places. The
  /// first `taken` of them have different slots of the tokens; the others are padding.
  static constexpr Role slots(std::int64_t number, std::int64_t most, std::int64_t taken,
                              std::int64_t tokens, std::int64_t topk) {
    return {Kind::slots, number, most, taken, tokens, topk};
  }
  /// Any numbers from 0 to below `number`.
  static constexpr Role below(std::int64_t number) { return {Kind::below, number}; }
  /// 0 to below `number`, then -1.
  static constexpr Role first(std::int64_t number) { return {Kind::first, number}; }
  static constexpr Role blocks(GgmlFormat format, GgmlLayout layout) {
    return {Kind::blocks,
            2 * static_cast<std::int64_t>(format) + static_cast<std::int64_t>(layout)};
  }
  /// Whether kernels read what the caller put there.
  constexpr bool read() const { return kind != Kind::output && kind != Kind::workspace; }
  friend constexpr bool operator==(const Role &, const Role &) = default;
};
inline constexpr Role Role::input{Kind::input}, Role::index{Kind::index},
    Role::offsets{Kind::offsets, 1}, Role::output{Kind::output}, Role::both{Kind::both},
    Role::workspace{Kind::workspace}, Role::flagged{Kind::flagged};

/// Makes an operand: `name` is that of its field in Args, `shape` its extents, row-major.
using Sampler =
    std::function<TensorArg(const char *name, DType dtype, TensorArg::Dims shape, Role role)>;

namespace impl {
template <class P> struct FLYDSL_API ArgsMaker {
  static ArgsOf<P> make(const P &problem, const ConfigOf<P> &config, std::int64_t m,
                        const Sampler &sampler);
};
} // namespace impl

/// The arguments of a call with m rows, of operands that `sampler` makes.
template <Problem P>
ArgsOf<P> make_args(const P &problem, const std::type_identity_t<ConfigOf<P>> &config,
                    std::int64_t m, const Sampler &sampler) {
  return impl::ArgsMaker<P>::make(problem, config, m, sampler);
}

} // namespace kernels
FLYDSL_NAMESPACE_END
