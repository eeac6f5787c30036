// Tokens of the ranks of a group, the experts that they go to, and what a dispatch must make of them.
#pragma once

#include "collective/ranks.h"

#include <flydsl/host/copy.h>
#include <flydsl/kernels/expert_parallel.h>

#include <algorithm>
#include <array>

namespace collective_tests {

using fk::ExpertCombineProblem;
using fk::ExpertDispatchProblem;

/// Some numbers from 0 to below `end`, the same for the same seed.
inline std::int64_t pick(std::uint64_t seed, std::uint64_t index, std::int64_t end) {
  return static_cast<std::int64_t>(fx::detail::randomBits(seed, index) %
                                   static_cast<std::uint64_t>(end));
}
/// Bytes that mean nothing: what is only moved has any.
inline Bytes anyBytes(std::int64_t count, std::uint64_t seed) {
  Bytes bytes(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::uint8_t>(pick(seed, i, 256));
  return bytes;
}
inline std::int64_t rowBytes(fx::DType type, std::int64_t n) { return n * type.memory_bits() / 8; }
template <class T> Bytes bytesOf(const std::vector<T> &values) {
  Bytes bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}
inline std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

/// The tokens of a rank.
struct RankTokens {
  std::int64_t m;
  Bytes x, scales;
  std::vector<std::int32_t> ids = {};
  std::vector<float> weights = {};
};
/// The tokens of all ranks. Some slots have no expert, and some tokens have an expert twice.
inline std::vector<RankTokens> tokensOf(const ExpertDispatchProblem &problem,
                                        const std::vector<std::int64_t> &m, std::uint64_t seed) {
  std::vector<RankTokens> all;
  for (std::size_t rank = 0; rank < m.size(); ++rank) {
    const std::uint64_t own = seed * 100 + rank * 10;
    RankTokens tokens{
        .m = m[rank],
        .x = anyBytes(m[rank] * rowBytes(problem.x, problem.n), own),
        .scales = anyBytes(problem.scale ? m[rank] * rowBytes(problem.scale, problem.scales) : 0,
                           own + 1)};
    for (std::int64_t slot = 0; slot < m[rank] * problem.topk; ++slot) {
      tokens.ids.push_back(static_cast<std::int32_t>(
          pick(own + 2, static_cast<std::uint64_t>(slot), problem.experts + 1) - 1));
      tokens.weights.push_back(
          static_cast<float>(pick(own + 3, static_cast<std::uint64_t>(slot), 64)) / 32);
    }
    all.push_back(std::move(tokens));
  }
  return all;
}

/// What a dispatch writes on a rank, by the definition.
struct ExpectedPlaces {
  std::vector<std::int32_t> counts = {}, offsets = {}, units, totals = {}, slotPlaces;
  std::vector<float> weights;
  Bytes x, scales; ///< of places; `kUntouched` where there is no slot
  std::int64_t places;
};
inline constexpr std::uint8_t kUntouched = 0x5a;

inline ExpectedPlaces expectedPlaces(const ExpertDispatchProblem &problem,
                                     const std::vector<RankTokens> &all, int rank,
                                     std::int64_t places) {
  const std::int64_t local = problem.local(), ofX = rowBytes(problem.x, problem.n),
                     ofScales = problem.scale ? rowBytes(problem.scale, problem.scales) : 0;
  ExpectedPlaces expected{
      .units = std::vector<std::int32_t>(at(problem.capacity ? 0 : places / problem.unit), -1),
      .slotPlaces =
          std::vector<std::int32_t>(at(problem.ranks * problem.tokens * problem.topk), -1),
      .weights = std::vector<float>(at(places), 0.0f),
      .x = Bytes(at(places * ofX), kUntouched),
      .scales = Bytes(at(places * ofScales), kUntouched),
      .places = places};
  std::int64_t next = 0;
  for (std::int64_t expert = 0; expert < local; ++expert) {
    const std::int64_t first = problem.capacity ? expert * problem.capacity : next;
    expected.offsets.push_back(static_cast<std::int32_t>(first));
    next = first;
    for (std::size_t from = 0; from < all.size(); ++from)
      for (std::int64_t slot = 0; slot < all[from].m * problem.topk; ++slot)
        if (all[from].ids[at(slot)] == rank * local + expert) {
          const std::int64_t place = next++, token = slot / problem.topk;
          expected.slotPlaces[from * at(problem.tokens * problem.topk) + at(slot)] =
              static_cast<std::int32_t>(place);
          if (place >= places)
            continue;
          expected.weights[at(place)] = all[from].weights[at(slot)];
          std::copy_n(all[from].x.begin() + token * ofX, ofX, expected.x.begin() + place * ofX);
          std::copy_n(all[from].scales.begin() + token * ofScales, ofScales,
                      expected.scales.begin() + place * ofScales);
        }
    expected.counts.push_back(static_cast<std::int32_t>(next - first));
    const std::int64_t end = (next + problem.unit - 1) / problem.unit * problem.unit;
    if (!problem.capacity)
      for (std::int64_t unit = first / problem.unit; unit < end / problem.unit; ++unit)
        if (unit < std::ssize(expected.units))
          expected.units[at(unit)] = static_cast<std::int32_t>(expert);
    next = end;
  }
  expected.offsets.push_back(static_cast<std::int32_t>(next));
  expected.totals = {static_cast<std::int32_t>(problem.capacity ? places : next),
                     static_cast<std::int32_t>(problem.ranks * problem.tokens), 0};
  return expected;
}

/// An operand that may be without elements.
template <class T> fx::DeviceArray<T> numbers(std::int64_t count) {
  return fx::DeviceArray<T>({std::max<std::int64_t>(count, 1)});
}
template <class T> fx::TensorArg shaped(const fx::DeviceArray<T> &of, const fx::Extents &shape) {
  return {const_cast<T *>(of.data()), fx::dtype_of<T>, shape};
}

/// Rows of a rank's registered memory from a byte on, each `row` bytes after the one before.
inline fx::TensorArg registeredRows(const fx::Group &group, std::int64_t first, fx::DType type,
                                    std::int64_t count, std::int64_t n, std::int64_t row) {
  return {static_cast<std::byte *>(group.registered()) + first, type, fx::Extents{count, n},
          fx::Extents{row * 8 / type.memory_bits(), 1}};
}
/// Copies rows there, whose bytes follow one another.
inline void copyRows(const fx::Group &group, std::int64_t first, std::int64_t row,
                     const Bytes &from, std::int64_t count) {
  if (count == 0)
    return;
  const std::int64_t size = std::ssize(from) / count;
  Bytes rows(at(count * row));
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(from.begin() + i * size, size, rows.begin() + i * row);
  const fx::Stream stream(group.device());
  fx::copy_async(static_cast<std::byte *>(group.registered()) + first, rows.data(), rows.size(),
                 stream);
  stream.synchronize();
}

/// A rank's operands of a dispatch, on its device.
class DispatchOperands {
public:
  DispatchOperands(const ExpertDispatchProblem &problem, const fk::ExpertDispatchConfig &config,
                   const RankTokens &tokens, std::int64_t places)
      : x(numbers<std::uint8_t>(tokens.m * rowBytes(problem.x, problem.n))),
        scales(numbers<std::uint8_t>(std::ssize(tokens.scales))),
        y(numbers<std::uint8_t>(places * rowBytes(problem.x, problem.n))),
        sortedScales(numbers<std::uint8_t>(
            problem.scale ? places * rowBytes(problem.scale, problem.scales) : 0)),
        workspace(numbers<std::uint8_t>(
            static_cast<std::int64_t>(fk::workspace_bytes(problem, config, tokens.m)))),
        ids(numbers<std::int32_t>(tokens.m * problem.topk)),
        units(numbers<std::int32_t>(places / problem.unit)),
        counts(numbers<std::int32_t>(problem.local())),
        offsets(numbers<std::int32_t>(problem.local() + 1)), totals(numbers<std::int32_t>(3)),
        slotPlaces(numbers<std::int32_t>(problem.ranks * problem.tokens * problem.topk)),
        weights(numbers<float>(tokens.m * problem.topk)), sortedWeights(numbers<float>(places)),
        problem_(problem), m_(tokens.m), places_(places) {
    fill(tokens);
  }
  /// New tokens, as many as there were. What a call writes is `kUntouched` before.
  void fill(const RankTokens &tokens) {
    const auto copy = [](auto &to, const auto &from) {
      if (!from.empty())
        to.copy_from(from);
    };
    copy(x, tokens.x);
    copy(scales, tokens.scales);
    copy(ids, tokens.ids);
    copy(weights, tokens.weights);
    y.fill(kUntouched);
    sortedScales.fill(kUntouched);
  }
  fk::ExpertDispatchArgs args(const fx::Group &group) const {
    const ExpertDispatchProblem &p = problem_;
    const bool isCompact = !p.capacity, hasScales = bool(p.scale);
    const fx::Extents slots{m_, p.topk};
    const auto rows = [](const fx::DeviceArray<std::uint8_t> &of, fx::DType type,
                         std::int64_t count, std::int64_t n) {
      return fx::TensorArg(const_cast<std::uint8_t *>(of.data()), type, fx::Extents{count, n});
    };
    const auto given = [](bool has, const fx::TensorArg &tensor) {
      return has ? std::optional(tensor) : std::nullopt;
    };
    fk::ExpertDispatchArgs args{.x = rows(x, p.x, m_, p.n),
                                .ids = shaped(ids, slots),
                                .weights = given(p.weights, shaped(weights, slots)),
                                .y = rows(y, p.x, places_, p.n),
                                .sorted_weights =
                                    given(p.weights, shaped(sortedWeights, {places_})),
                                .unit_experts = given(isCompact, shaped(units, {places_ / p.unit})),
                                .counts = shaped(counts, {p.local()}),
                                .offsets = given(isCompact, shaped(offsets, {p.local() + 1})),
                                .totals = shaped(totals, {3}),
                                .slot_places = shaped(slotPlaces, {p.ranks, p.tokens, p.topk}),
                                .workspace = workspace.tensor(),
                                .group = &group};
    if (hasScales) {
      args.scales = rows(scales, p.scale, m_, p.scales);
      args.sorted_scales = rows(sortedScales, p.scale, places_, p.scales);
    }
    return args;
  }
  /// Compares all that a call wrote.
  void expect(const ExpectedPlaces &expected) const {
    CHECK(counts.to_host() == expected.counts);
    CHECK(totals.to_host() == expected.totals);
    CHECK(slotPlaces.to_host() == expected.slotPlaces);
    CHECK(y.to_host() == expected.x);
    if (!problem_.capacity) {
      CHECK(offsets.to_host() == expected.offsets);
      CHECK(units.to_host() == expected.units);
    }
    if (problem_.weights)
      CHECK(sortedWeights.to_host() == expected.weights);
    if (problem_.scale)
      CHECK(sortedScales.to_host() == expected.scales);
  }

  fx::DeviceArray<std::uint8_t> x, scales, y, sortedScales, workspace;
  fx::DeviceArray<std::int32_t> ids, units, counts, offsets, totals, slotPlaces;
  fx::DeviceArray<float> weights, sortedWeights;

private:
  ExpertDispatchProblem problem_;
  std::int64_t m_, places_;
};

} // namespace collective_tests
