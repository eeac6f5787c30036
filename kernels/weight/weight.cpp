#include "weight/weight_family.h"

#include "blocks/products/narrow_rules.h"
#include "frame/arguments.h"

#include <flydsl/detail/float_format.h>

#include <cmath>
#include <cstring>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Weight = Family<WeightProblem>;
constexpr const char *kPieces = "16 bytes are moved at a time";
/// The largest extents: a tile of 512 rows stays below 2 GiB, and a number of blocks has 31 bits.
constexpr std::int64_t kMostRowBytes = 1 << 22, kMostRows = 1 << 28;

void expectWeight(const WeightProblem &problem) {
  if (const Support answer = weightSupported(problem); !answer)
    throw Error(std::string(FamilyOf<WeightProblem>::name) + ": " + answer.why);
}

/// What prepare_weight reads and writes.
void expectHostMemory(const WeightProblem &problem, const void *raw, const void *out) {
  expectWeight(problem);
  if (!raw || !out)
    throw Error("prepare_weight: a null pointer is given for the memory of raw or out, which the "
                "host reads and writes");
  const Preshuffled weights = preshuffled(problem);
  const auto from = reinterpret_cast<std::uintptr_t>(raw),
             to = reinterpret_cast<std::uintptr_t>(out);
  if (from < to + static_cast<std::uintptr_t>(weights.size() * weights.bytes) &&
      to < from + static_cast<std::uintptr_t>(weights.n * weights.k * weights.bytes))
    throw Error("prepare_weight: raw and out share memory; give out memory of its own");
}

/// Narrow 8-bit floats are finite numbers.
void expectNumbers(const WeightProblem &problem, const std::uint8_t *raw) {
  const detail::FloatFormat *format = detail::smallFloatFormat(problem.dtype);
  if (narrowType(problem.dtype)->codes || problem.dtype.memory_bits() != 8 || !format)
    return;
  for (std::int64_t at = 0; at < problem.n * problem.k; ++at)
    if (!std::isfinite(format->toFloat(raw[at])))
      throw Error("prepare_weight: element (" + std::to_string(at / problem.k) + ", " +
                  std::to_string(at % problem.k) + ") of raw is no finite number of type " +
                  std::string(problem.dtype.name()));
}

void prepareNarrow(const WeightProblem &problem, const Preshuffled &weights,
                   const std::uint8_t *raw, std::uint8_t *out) {
  expectNumbers(problem, raw);
  std::memset(out, 0, static_cast<std::size_t>(weights.size()));
  const int bits = problem.dtype.memory_bits(), run = narrowRun(problem.under);
  for (std::int64_t n = 0; n < problem.n; ++n)
    for (std::int64_t k = 0; k < problem.k; k += run) {
      const std::uint8_t *from = raw + (n * problem.k + k) * bits / 8;
      std::uint8_t *to = out + narrowPlace(problem, weights, n, k) * bits / 8;
      if (problem.under == 16) { // as they are
        std::memcpy(to, from, static_cast<std::size_t>(run * bits / 8));
        continue;
      }
      for (int i = 0; i < run; ++i) {
        const int place = placeInRun(problem.under, i), code = from[i / 2] >> i % 2 * 4 & 15;
        to[place / 2] = static_cast<std::uint8_t>(to[place / 2] | code << place % 2 * 4);
      }
    }
}

std::string textOf(const WeightProblem &matrix) {
  return std::string(matrix.narrow ? "narrow " : "") +
         (matrix.under == 16 ? "" : "under " + std::to_string(matrix.under) + " bits ") +
         "(n, k) = (" + std::to_string(matrix.n) + ", " + std::to_string(matrix.k) + ") of " +
         std::string(matrix.dtype.name());
}

} // namespace

Support weightSupported(const WeightProblem &problem) {
  const int bits = problem.dtype.memory_bits();
  if (problem.narrow && !narrowType(problem.dtype))
    return Support::no("narrow weights are of type " + std::string(problem.dtype.name()) +
                       "; u4, i4, u8, i8, f4E2M1FN and the 8-bit floats are supported");
  if (problem.under != 16 &&
      !(problem.narrow && problem.under == 8 && (problem.dtype == u4 || problem.dtype == i4)))
    return Support::no("under is " + std::to_string(problem.under) +
                       "; narrow weights of type u4 and i4 are under 16 or 8 bits, and others "
                       "have 16 there");
  if (!problem.narrow && problem.dtype != f4E2M1FN && bits != 8 && bits != 16 && bits != 32)
    return Support::no("elements are of type " + std::string(problem.dtype.name()) +
                       "; f4E2M1FN and types of one, two and four bytes are supported");
  const Support sizes = firstRefusal({rangeSupported("n", problem.n, 1, kMostRows),
                                      rangeSupported("k", problem.k, 1, kMostRowBytes * 8 / bits)});
  if (!sizes)
    return sizes;
  const std::int64_t bytes = problem.k * bits / 8;
  if (problem.k % (Preshuffled::kPieceBytes * 8 / bits))
    return Support::no("k is " + std::to_string(problem.k) + ": a row of " + std::to_string(bytes) +
                       " bytes is no multiple of 16 bytes");
  return {};
}

void checkPrepared(const Arguments &arguments, const char *name, const WeightProblem &given,
                   const TensorArg &memory, const WeightProblem &expected, Use use) {
  if (given != expected) [[unlikely]]
    arguments.fail(std::string(name) + " is prepared weights " + textOf(given) +
                   "; the problem's are " + textOf(expected));
  const Preshuffled weights = preshuffled(expected);
  arguments.check(memory, {.name = name,
                           .dtype = ofBytes(expected) ? DType(u8) : expected.dtype,
                           .shape = {"prepared_size", weights.size()},
                           .use = use,
                           .align = weights.piece(),
                           .reason = kPieces});
}

Support Weight::supported(const WeightProblem &problem, const Target &) {
  if (problem.narrow)
    return Support::no("narrow weights are prepared on the host, by prepare_weight");
  if (ofBytes(problem))
    return Support::no("weights of type " + std::string(problem.dtype.name()) +
                       " are prepared on the host, by prepare_weight");
  return weightSupported(problem);
}

Support Weight::supported(const WeightProblem &, const WeightConfig &config, const Target &target) {
  if (config.block < 64 || config.block % 64 || config.block > target.max_block_size())
    return Support::no("block=" + std::to_string(config.block) +
                       "; it is a multiple of 64, up to " +
                       std::to_string(target.max_block_size()));
  return {};
}

std::vector<WeightConfig> Weight::candidates(const WeightProblem &, std::int64_t, const Target &) {
  return {{64}, {128}, {256}, {512}};
}

void Weight::launch(const Call<WeightProblem> &call) {
  const WeightProblem &problem = call.problem;
  const Preshuffled weights = preshuffled(problem);
  const Arguments arguments(FamilyOf<WeightProblem>::name, call.where);
  arguments.check(call.args.raw, {.name = "raw",
                                  .dtype = problem.dtype,
                                  .shape = {"n, k", problem.n, problem.k},
                                  .free = 1,
                                  .align = weights.piece(),
                                  .reason = kPieces});
  checkPrepared(arguments, "out", call.args.out.matrix, call.args.out.memory, problem,
                Use::written);
  arguments.expectApart();
  const std::int64_t blocks = weights.blocksN() * weights.blocksK(), waves = call.config.block / 64;
  call.launches.at(0, kWeight)(
      call.on((blocks + waves - 1) / waves, call.config.block), call.where,
      {.raw = operandOf<1>(call.args.raw), .out = operandOf<0>(call.args.out.memory)});
}

WeightArgs Weight::args(const WeightProblem &problem, const WeightConfig &, std::int64_t,
                        const Sampler &sampler) {
  return {.raw = sampler("raw", problem.dtype, Extents{problem.n, problem.k}, Role::input),
          .out = {problem, sampler("out", problem.dtype, Extents{preshuffled(problem).size()},
                                   Role::output)}};
}

} // namespace kernels::impl

namespace kernels {

std::int64_t prepared_size(const WeightProblem &problem) {
  impl::expectWeight(problem);
  return impl::preshuffled(problem).size();
}

std::vector<std::uint8_t> prepare_scales(std::int64_t rows, std::int64_t k,
                                         std::span<const std::uint8_t> scales) {
  constexpr int kEach = 32;
  const auto size = static_cast<std::int64_t>(scales.size());
  // By division: a product may have more than 64 bits.
  if (rows < 0 || k < kEach || k % kEach || (rows ? size % rows || size / rows != k / kEach : size))
    throw Error("prepare_scales: there are " + std::to_string(size) + " scales of (rows, k) = (" +
                std::to_string(rows) + ", " + std::to_string(k) +
                "); each 32 elements of k, a multiple of 32, have one");
  const auto [groups, blocks, bytes] = PreparedScales::shape(rows, k);
  std::vector<std::uint8_t> prepared(static_cast<std::size_t>(groups * blocks * bytes));
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t scale = 0; scale < k / kEach; ++scale)
      prepared[static_cast<std::size_t>(PreparedScales::place(row, scale, k))] =
          scales[static_cast<std::size_t>(row * (k / kEach) + scale)];
  return prepared;
}

void prepare_weight(const WeightProblem &problem, const void *raw, void *out) {
  impl::expectHostMemory(problem, raw, out);
  const impl::Preshuffled weights = impl::preshuffled(problem);
  if (problem.narrow)
    return impl::prepareNarrow(problem, weights, static_cast<const std::uint8_t *>(raw),
                               static_cast<std::uint8_t *>(out));
  const int bytes = weights.bytes, piece = weights.piece();
  const auto *from = static_cast<const char *>(raw);
  auto *to = static_cast<char *>(out);
  if (weights.n % impl::Preshuffled::kRows || weights.k % weights.blockK())
    std::memset(to, 0, static_cast<std::size_t>(weights.size() * bytes));
  for (std::int64_t n = 0; n < weights.n; ++n)
    for (std::int64_t k = 0; k < weights.k; k += piece)
      std::memcpy(to + weights.place(n, k) * bytes, from + (n * weights.k + k) * bytes,
                  impl::Preshuffled::kPieceBytes);
}

namespace {

/// Doubles scales; throws Error, before any is changed, for one whose double is no finite number.
template <class Scale, class IsLarge, class Double>
void doubled(std::span<Scale> scales, IsLarge isLarge, Double twice) {
  if (scales.empty())
    throw Error("prepare_weight_as_fnuz: there are no scales; the weights' scales are doubled, and "
                "weights without any have a scale of 1");
  for (std::size_t i = 0; i < scales.size(); ++i)
    if (isLarge(scales[i]))
      throw Error("prepare_weight_as_fnuz: scale " + std::to_string(i) + " is " +
                  std::to_string(scales[i]) + ", whose double is no finite number");
  for (Scale &scale : scales)
    scale = twice(scale);
}

/// The 8-bit float of OCP whose weights become those of a problem.
const detail::FloatFormat &ocpFormat(const WeightProblem &problem) {
  if (problem.dtype == f8E4M3FNUZ)
    return detail::kE4m3fn;
  if (problem.dtype == f8E5M2FNUZ)
    return detail::kE5m2;
  throw Error(
      "prepare_weight_as_fnuz: dtype is " + std::string(problem.dtype.name()) +
      "; it is what the product takes, f8E4M3FNUZ for weights of f8E4M3FN or f8E5M2FNUZ for "
      "those of f8E5M2");
}

void prepareAsFnuz(const WeightProblem &problem, const void *raw, void *out) {
  const detail::FloatFormat &from = ocpFormat(problem);
  prepare_weight(problem, raw, out);
  const auto size = static_cast<std::size_t>(prepared_size(problem));
  for (std::uint8_t &pattern : std::span(static_cast<std::uint8_t *>(out), size))
    if (pattern == from.signBit())
      pattern = 0;
    else if ((pattern & from.magnitudeMask()) > from.largest())
      pattern = static_cast<std::uint8_t>(from.signBit()); // the one NaN of FNUZ
}

/// Whatever can be wrong with a call but its scales.
void expectFnuz(const WeightProblem &problem, const void *raw, const void *out) {
  if (problem.narrow)
    throw Error("prepare_weight_as_fnuz: the weights are narrow, whose products take f8E4M3FN and "
                "f8E5M2 on every target; give them to prepare_weight in their own type");
  (void)ocpFormat(problem);
  impl::expectHostMemory(problem, raw, out);
}

} // namespace

void prepare_weight_as_fnuz(const WeightProblem &problem, const void *raw, void *out,
                            std::span<float> scales) {
  expectFnuz(problem, raw, out);
  doubled(
      scales, [](float scale) { return !std::isfinite(2 * scale); },
      [](float scale) { return 2 * scale; });
  prepareAsFnuz(problem, raw, out);
}

void prepare_weight_as_fnuz(const WeightProblem &problem, const void *raw, void *out,
                            std::span<std::uint8_t> exponents) {
  constexpr int kNan = 255; // of f8E8M0FNU, which stays one
  expectFnuz(problem, raw, out);
  doubled(
      exponents, [](std::uint8_t exponent) { return exponent == kNan - 1; },
      [](std::uint8_t exponent) {
        return static_cast<std::uint8_t>(exponent == kNan ? kNan : exponent + 1);
      });
  prepareAsFnuz(problem, raw, out);
}

FLYDSL_KERNEL_FAMILY(WeightProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
