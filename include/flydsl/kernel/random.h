// Random numbers that follow from a seed and an offset alone: the same bits in a kernel, on the
// host and on every target. Nothing is stored between draws; a kernel gives each draw an offset of
// its own, as a rule the number of the element that it is for.
//
// The generator is Philox. Names and meanings are those of FlyDSL's `extension.random` and of
// Triton.
#pragma once

#include <flydsl/host/host_float.h>
#include <flydsl/kernel/math.h>

#include <array>
#include <concepts>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace random {

/// Rounds of Philox where none are given: the number that its authors recommend.
inline constexpr int philox_rounds = 10;

namespace impl {
using detail::Handle;

/// A host's seed, offset or word.
template <class T>
concept HostWord = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool> &&
                   (sizeof(T) == 4 || sizeof(T) == 8);
/// What may stand for a number in a kernel.
template <class T>
concept Traceable = detail::Operated<T> || detail::HostNumeric<T> || detail::NumericConstant<T>;
/// Arguments of a draw in a kernel. Where all are host numbers, it is the host that draws.
template <class... T>
concept InKernel = (Traceable<T> && ...) && !(HostWord<T> && ...);

/// What a draw gives: a vector where one of its arguments is one.
template <class Scalar, class... X>
using Drawn = std::conditional_t<(detail::VectorLike<X> || ...), Vector, Scalar>;

/// A host number keeps the width of its C++ type.
template <class X> Handle word(const X &x, Loc loc) {
  if constexpr (detail::HostNumeric<X>)
    return detail::constant(detail::hostNumber(x), dtype_of<X>, loc);
  else if constexpr (detail::NumericConstant<X>)
    return word(x.value(), loc);
  else
    return detail::mathOperand<X>(x, loc);
}
template <class R, std::size_t N> std::array<R, N> values(const std::array<Handle, N> &handles) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return std::array<R, N>{R(handles[I])...};
  }(std::make_index_sequence<N>());
}

FLYDSL_API std::array<Handle, 4> philox(const std::array<Handle, 4> &counter,
                                        const std::array<Handle, 2> &key, int rounds, Loc loc);
FLYDSL_API std::array<Handle, 4> draw(const Handle &seed, const Handle &offset, int rounds,
                                      Loc loc);
FLYDSL_API Handle uniform(const Handle &word, Loc loc);
FLYDSL_API std::array<Handle, 2> normals(const Handle &a, const Handle &b, Loc loc);

/// An operand of round_stochastic.
struct Rounded {
  Handle handle;
  bool isVector;
};
FLYDSL_API Handle roundStochastic(const Rounded &value, const Rounded &bits, DType type, Loc loc);

FLYDSL_API std::array<std::uint32_t, 4> drawOnHost(std::uint64_t seed, std::uint64_t offset,
                                                   int rounds, Loc loc);
FLYDSL_API float uniformOnHost(std::uint32_t word);
FLYDSL_API std::array<float, 2> normalsOnHost(float a, float b);

/// A seed has 64 bits: one of 32 is extended as C++ converts it. An offset of 32 bits is not
/// extended.
template <HostWord S, HostWord O>
std::array<std::uint32_t, 4> drawOnHost(S seed, O offset, int rounds, Loc loc) {
  using Kept = std::conditional_t<sizeof(O) == 4, std::uint32_t, std::uint64_t>;
  return drawOnHost(static_cast<std::uint64_t>(seed), std::uint64_t{static_cast<Kept>(offset)},
                    rounds, loc);
}
} // namespace impl

//===-- Words -------------------------------------------------------------===//

/// Philox itself: four random words for a counter of four words under a key of two, all unsigned,
/// of 32 bits (Philox 4x32) or of 64 (Philox 4x64).
template <impl::Traceable C, impl::Traceable K>
  requires impl::InKernel<C, K>
auto philox(const std::array<C, 4> &counter, const std::array<K, 2> &key,
            int rounds = philox_rounds, Loc loc = Loc::current()) {
  return impl::values<detail::MathResult<C, K>>(
      impl::philox({impl::word(counter[0], loc), impl::word(counter[1], loc),
                    impl::word(counter[2], loc), impl::word(counter[3], loc)},
                   {impl::word(key[0], loc), impl::word(key[1], loc)}, rounds, loc));
}
/// The same on the host.
FLYDSL_API std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4> &counter,
                                               const std::array<std::uint32_t, 2> &key,
                                               int rounds = philox_rounds,
                                               Loc loc = Loc::current());
FLYDSL_API std::array<std::uint64_t, 4> philox(const std::array<std::uint64_t, 4> &counter,
                                               const std::array<std::uint64_t, 2> &key,
                                               int rounds = philox_rounds,
                                               Loc loc = Loc::current());

/// Four random words of 32 bits: Philox 4x32 of the counter (offset, 0, 0, 0), where an offset of
/// 64 bits fills the first two words, under the seed's two halves as the key. Seed and offset are
/// integers of 32 or 64 bits, or vectors of them; a vector gives each element a draw of its own. A
/// signed seed of 32 bits is extended by its sign.
template <class S, class O>
  requires impl::InKernel<S, O>
std::array<impl::Drawn<UInt32, S, O>, 4> randint4x(S seed, O offset, int rounds = philox_rounds,
                                                   Loc loc = Loc::current()) {
  return impl::values<impl::Drawn<UInt32, S, O>>(
      impl::draw(impl::word(seed, loc), impl::word(offset, loc), rounds, loc));
}
/// The same on the host.
template <impl::HostWord S, impl::HostWord O>
std::array<std::uint32_t, 4> randint4x(S seed, O offset, int rounds = philox_rounds,
                                       Loc loc = Loc::current()) {
  return impl::drawOnHost(seed, offset, rounds, loc);
}

/// The first of them. Four words cost as much as one.
template <class S, class O>
  requires impl::InKernel<S, O> || (impl::HostWord<S> && impl::HostWord<O>)
auto randint(S seed, O offset, int rounds = philox_rounds, Loc loc = Loc::current()) {
  return randint4x(seed, offset, rounds, loc)[0];
}

//===-- Uniform numbers ---------------------------------------------------===//

/// Four floats of [0, 1), one for each word of randint4x. They are multiples of 2^-31 that are
/// rounded to floats; the largest is 1 - 2^-24.
template <class S, class O>
  requires impl::InKernel<S, O>
std::array<impl::Drawn<Float32, S, O>, 4> rand4x(S seed, O offset, int rounds = philox_rounds,
                                                 Loc loc = Loc::current()) {
  const std::array words = impl::draw(impl::word(seed, loc), impl::word(offset, loc), rounds, loc);
  return impl::values<impl::Drawn<Float32, S, O>>(
      std::array{impl::uniform(words[0], loc), impl::uniform(words[1], loc),
                 impl::uniform(words[2], loc), impl::uniform(words[3], loc)});
}
/// The same on the host.
template <impl::HostWord S, impl::HostWord O>
std::array<float, 4> rand4x(S seed, O offset, int rounds = philox_rounds,
                            Loc loc = Loc::current()) {
  const std::array words = impl::drawOnHost(seed, offset, rounds, loc);
  return {impl::uniformOnHost(words[0]), impl::uniformOnHost(words[1]),
          impl::uniformOnHost(words[2]), impl::uniformOnHost(words[3])};
}

/// The first of them.
template <class S, class O>
  requires impl::InKernel<S, O>
impl::Drawn<Float32, S, O> rand(S seed, O offset, int rounds = philox_rounds,
                                Loc loc = Loc::current()) {
  const std::array words = impl::draw(impl::word(seed, loc), impl::word(offset, loc), rounds, loc);
  return impl::Drawn<Float32, S, O>(impl::uniform(words[0], loc));
}
template <impl::HostWord S, impl::HostWord O>
float rand(S seed, O offset, int rounds = philox_rounds, Loc loc = Loc::current()) {
  return impl::uniformOnHost(impl::drawOnHost(seed, offset, rounds, loc)[0]);
}

//===-- Normal numbers ----------------------------------------------------===//

/// Four floats of the normal distribution of mean 0 and variance 1: Box and Muller's transform of
/// the first two numbers of rand4x, and of the other two. Their magnitude is at most 5.68.
template <class S, class O>
  requires impl::InKernel<S, O>
std::array<impl::Drawn<Float32, S, O>, 4> randn4x(S seed, O offset, int rounds = philox_rounds,
                                                  Loc loc = Loc::current()) {
  const std::array uniform = rand4x(seed, offset, rounds, loc);
  const std::array first = impl::normals(uniform[0].handle(), uniform[1].handle(), loc),
                   second = impl::normals(uniform[2].handle(), uniform[3].handle(), loc);
  return impl::values<impl::Drawn<Float32, S, O>>(
      std::array{first[0], first[1], second[0], second[1]});
}
/// The same on the host.
template <impl::HostWord S, impl::HostWord O>
std::array<float, 4> randn4x(S seed, O offset, int rounds = philox_rounds,
                             Loc loc = Loc::current()) {
  const std::array uniform = rand4x(seed, offset, rounds, loc);
  const std::array first = impl::normalsOnHost(uniform[0], uniform[1]),
                   second = impl::normalsOnHost(uniform[2], uniform[3]);
  return {first[0], first[1], second[0], second[1]};
}

/// The first of them.
template <class S, class O>
  requires impl::InKernel<S, O>
impl::Drawn<Float32, S, O> randn(S seed, O offset, int rounds = philox_rounds,
                                 Loc loc = Loc::current()) {
  const std::array words = impl::draw(impl::word(seed, loc), impl::word(offset, loc), rounds, loc);
  return impl::Drawn<Float32, S, O>(
      impl::normals(impl::uniform(words[0], loc), impl::uniform(words[1], loc), loc)[0]);
}
template <impl::HostWord S, impl::HostWord O>
float randn(S seed, O offset, int rounds = philox_rounds, Loc loc = Loc::current()) {
  const std::array words = impl::drawOnHost(seed, offset, rounds, loc);
  return impl::normalsOnHost(impl::uniformOnHost(words[0]), impl::uniformOnHost(words[1]))[0];
}

//===-- Stochastic rounding -----------------------------------------------===//

/// The value in a smaller float type (bf16, f16, or one of 8 bits), rounded away from zero as often
/// as random bits are large, else towards zero, so that the mean over all bits is the value.
///
/// `value` is of f32, f16 or bf16. `bits` are 32 random bits, one word for each element of a
/// vector; the highest ones are added below the last place that is kept, as many as a normal result
/// loses. A subnormal result loses more, and what is below those is cut off first: then the mean is
/// the value to 2^-20 (e4m3), 2^-21 (e5m2) or 2^-13 (f16) of the smallest number.
///
/// Past the largest number is infinity in the types of 16 bits and the largest number in those of 8
/// (infinities too). A NaN stays a NaN; which of them is not said. Instructions of the target do it
/// where it has them, integers elsewhere, with the same results.
template <class X, class B>
  requires impl::Traceable<X> && impl::Traceable<B>
impl::Drawn<Numeric, X> round_stochastic(const X &value, const B &bits, DType type,
                                         Loc loc = Loc::current()) {
  return impl::Drawn<Numeric, X>(
      impl::roundStochastic({impl::word(value, loc), detail::VectorLike<X>},
                            {impl::word(bits, loc), detail::VectorLike<B>}, type, loc));
}

/// The same on the host: `round_stochastic<fx::half_t>(value, bits)`.
template <class T>
  requires detail::isHostFloat<T>
constexpr T round_stochastic(float value, std::uint32_t bits) {
  using detail::FloatOverflow;
  constexpr auto overflow =
      T::format.bits() == 16 ? FloatOverflow::special : FloatOverflow::saturate;
  return T::from_bits(static_cast<typename T::Bits>(T::format.fromFloat(value, overflow, bits)));
}

} // namespace random
FLYDSL_NAMESPACE_END
