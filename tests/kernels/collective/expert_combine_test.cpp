// The return of experts' results, and whole mixtures of experts over the ranks of a group, bit by bit
// against the kernels of one device.
#include "collective/experts.h"
#include "support/float8_of.h"

#include <flydsl/host/autotune.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/grouped_gemm.h>
#include <flydsl/kernels/moe_reduce.h>

using namespace collective_tests;

namespace {

using fk::ExpertCombineConfig;

constexpr ExpertCombineConfig kSmall{.rows = {.threads = 32, .block = 64}, .blocks = 3};
constexpr ExpertCombineProblem kTwo{
    .n = 72, .experts = 6, .topk = 2, .ranks = 2, .tokens = 9, .weights = true};

/// The dispatch that belongs to a combine.
ExpertDispatchProblem dispatchOf(const ExpertCombineProblem &problem) {
  return {.x = problem.x,
          .n = problem.n,
          .experts = problem.experts,
          .topk = problem.topk,
          .ranks = problem.ranks,
          .tokens = problem.tokens,
          .unit = 16};
}

/// A rank's results, as its experts would write them.
struct CombineOperands {
  Vector x, y;
  fx::DeviceArray<std::int32_t> ids, slotPlaces;
  fx::DeviceArray<float> weights;
  CombineOperands(const ExpertCombineProblem &problem, std::int64_t m, std::int64_t places)
      : x(problem.x, places * problem.n), y(problem.y, std::max<std::int64_t>(m, 1) * problem.n),
        ids(numbers<std::int32_t>(m * problem.topk)),
        slotPlaces(numbers<std::int32_t>(problem.ranks * problem.tokens * problem.topk)),
        weights(numbers<float>(m * problem.topk)) {}
};

/// The ranks of a group with the results of their experts, and a combine.
class Combine {
public:
  Combine(const ExpertCombineProblem &problem, const ExpertCombineConfig &config,
          const std::vector<std::int64_t> &m,
          const fx::GroupOptions &options = {.capacity = 1 << 16})
      : ranks(problem.ranks, options), places(fk::expert_dispatch_places(dispatchOf(problem))),
        plan(problem, config), problem_(problem), m_(m) {
    ranks.each([&](int rank) { operands.emplace_back(problem, m[at(rank)], places); });
    fill(1);
  }
  void fill(std::uint64_t seed) {
    all = tokensOf(dispatchOf(problem_), m_, seed);
    results.clear();
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      CombineOperands &own = operands[at(rank)];
      results.push_back(fk::host::encode(
          problem_.x, fk::host::randomValues(problem_.x, places * problem_.n,
                                             seed * 8 + static_cast<std::uint64_t>(rank))));
      own.x.memory.copy_from(results.back());
      if (problem_.wire) // what comes by codes, which the type of x has exactly
        results.back() = onTheWire(results.back());
      own.slotPlaces.copy_from(placesOf(rank).slotPlaces);
      if (m_[at(rank)]) {
        own.ids.copy_from(all[at(rank)].ids);
        own.weights.copy_from(all[at(rank)].weights);
      }
    }
  }
  ExpectedPlaces placesOf(int rank) const {
    return expectedPlaces(dispatchOf(problem_), all, rank, places);
  }
  fk::ExpertCombineArgs args(int rank) const {
    const CombineOperands &own = operands[at(rank)];
    const std::int64_t m = m_[at(rank)];
    const fx::Extents slots{m, problem_.topk};
    return {.x = matrix(own.x, places),
            .slot_places = shaped(own.slotPlaces, {problem_.ranks, problem_.tokens, problem_.topk}),
            .ids = shaped(own.ids, slots),
            .weights = problem_.weights ? std::optional(shaped(own.weights, slots)) : std::nullopt,
            .y = matrix(own.y, m),
            .group = &ranks.group(rank)};
  }
  void run() const {
    ranks.run([&](int rank, const fx::Stream &stream) { plan(args(rank), stream); });
  }
  /// Compares with moe_reduce on each rank, whose rows are those of the rank's slots.
  void expectRight() {
    const ExpertCombineProblem &p = problem_;
    const fk::MoeReduceProblem reduction{
        .x = p.x, .y = p.y, .n = p.n, .topk = p.topk, .weights = p.weights, .mask = true};
    const fk::MoeReducePlan reduce(reduction, fk::choose(reduction, p.tokens));
    ranks.each([&](int rank) {
      INFO("rank " << rank);
      ranks.group(rank).check();
      const std::int64_t m = m_[at(rank)], row = rowBytes(p.x, p.n);
      if (m == 0)
        return;
      Bytes rows(at(m * p.topk * row));
      std::vector<std::uint8_t> mask(at(m * p.topk), 0);
      for (int owner = 0; owner < p.ranks; ++owner) {
        const std::vector<std::int32_t> found = placesOf(owner).slotPlaces;
        for (std::int64_t slot = 0; slot < m * p.topk; ++slot) {
          const std::int64_t place = found[at(rank * p.tokens * p.topk + slot)];
          if (place < 0)
            continue;
          mask[at(slot)] = 1;
          std::copy_n(results[at(owner)].begin() + place * row, row, rows.begin() + slot * row);
        }
      }
      Vector x(p.x, m * p.topk * p.n), y(p.y, m * p.n);
      x.memory.copy_from(rows);
      const auto wanted = fx::DeviceArray<std::uint8_t>::from_host(mask, {m, p.topk});
      const fk::ExpertCombineArgs own = args(rank);
      reduce({.x = {x.memory.data(), p.x, fx::Extents{m, p.topk, p.n}},
              .weights = own.weights,
              .mask = wanted.tensor(),
              .y = matrix(y, m)},
             ranks.stream(rank));
      ranks.stream(rank).synchronize();
      CHECK(operands[at(rank)].y.memory.to_host() == y.memory.to_host());
    });
  }

  GroupRanks ranks;
  std::int64_t places;
  fk::ExpertCombinePlan plan;
  std::vector<RankTokens> all;
  std::vector<Bytes> results;
  std::vector<CombineOperands> operands;

private:
  Bytes onTheWire(const Bytes &rows) const {
    const std::vector<double> given = fk::host::decode(problem_.x, rows);
    const std::vector<float> values =
        arrived({.type = problem_.x, .wire = problem_.wire}, {given.begin(), given.end()});
    return fk::host::encode(problem_.x, std::vector<double>(values.begin(), values.end()));
  }
  fx::TensorArg matrix(const Vector &of, std::int64_t rows) const {
    return {const_cast<std::uint8_t *>(of.memory.data()), of.type, fx::Extents{rows, problem_.n}};
  }
  ExpertCombineProblem problem_;
  std::vector<std::int64_t> m_;
};

template <class F> ExpertCombineProblem with(const F &change) {
  ExpertCombineProblem problem = kTwo;
  change(problem);
  return problem;
}

void expectRight(const ExpertCombineProblem &problem, const ExpertCombineConfig &config,
                 const std::vector<std::int64_t> &m, int calls = 3) {
  INFO(fx::to_config(problem).str() << " " << fx::to_config(config).str());
  Combine combine(problem, config, m);
  for (int call = 0; call < calls; ++call) {
    combine.fill(static_cast<std::uint64_t>(call) + 3);
    combine.run();
    combine.expectRight();
  }
}

/// A mixture of experts, of whose tokens each rank has some: the weights of all experts, prepared.
struct Mixture {
  static constexpr std::int64_t kHidden = 64, kInner = 32;
  ExpertDispatchProblem dispatch;
  fx::DType half; ///< of all but tokens and the first weights, which may have 8 bits
  fk::GroupedGemmProblem first, second;
  Bytes w1, w2;

  explicit Mixture(const ExpertDispatchProblem &problem)
      : dispatch(problem), half(problem.x.bytes() == 2 ? problem.x : fx::DType(fx::bf16)) {
    first = {.a = dispatch.x,
             .b = dispatch.x,
             .c = half,
             .experts = dispatch.local(),
             .n = kInner,
             .k = kHidden,
             .groups = dispatch.capacity ? fk::GroupLayout::masked : fk::GroupLayout::units,
             .unit = dispatch.unit,
             .capacity = dispatch.capacity,
             .scale_a = dispatch.scale ? fk::Scales::per_row : fk::Scales::none,
             .activation = fk::Activation::silu,
             .gated = fk::GatedPairs::halves};
    second = first;
    second.a = second.b = half;
    second.scale_a = fk::Scales::none;
    second.n = kHidden;
    second.k = kInner;
    second.activation = fk::Activation::none;
    second.gated = fk::GatedPairs::none;
    second.weights = fk::RoutedWeights::output;
    w1 = prepared(ofAll(first), 91);
    w2 = prepared(ofAll(second), 92);
  }
  /// The product of all experts on one device, in compact slots.
  fk::GroupedGemmProblem ofAll(fk::GroupedGemmProblem product) const {
    product.experts = dispatch.experts;
    product.groups = fk::GroupLayout::units;
    product.capacity = 0;
    return product;
  }

private:
  static Bytes prepared(const fk::GroupedGemmProblem &product, std::uint64_t seed) {
    const fk::WeightProblem weight = product.weight();
    const Bytes raw =
        fk::host::encode(product.b, fk::host::randomValues(product.b, weight.n * weight.k, seed));
    Bytes out(static_cast<std::size_t>(fk::prepared_size(weight) * product.b.bytes()));
    fk::prepare_weight(weight, raw.data(), out.data());
    return out;
  }
};

/// The results of all tokens on one device: sorted, multiplied twice, reduced.
std::vector<Bytes> onOneDevice(const Mixture &mixture, const std::vector<RankTokens> &all,
                               const fk::GemmConfig &first, const fk::GemmConfig &second) {
  const ExpertDispatchProblem &p = mixture.dispatch;
  constexpr std::int64_t hidden = Mixture::kHidden, inner = Mixture::kInner;
  Bytes tokens, scales;
  std::vector<std::int32_t> slots;
  std::vector<float> shares;
  for (const RankTokens &rank : all) {
    tokens.insert(tokens.end(), rank.x.begin(), rank.x.end());
    scales.insert(scales.end(), rank.scales.begin(), rank.scales.end());
    slots.insert(slots.end(), rank.ids.begin(), rank.ids.end());
    shares.insert(shares.end(), rank.weights.begin(), rank.weights.end());
  }
  const std::int64_t m = std::ssize(slots) / p.topk;
  const fk::MoeSortProblem sorting{
      .experts = p.experts, .topk = p.topk, .unit = p.unit, .places = true};
  const std::int64_t places = fk::moe_sort_places(sorting, m);
  const auto ids = fx::DeviceArray<std::int32_t>::from_host(slots, {m, p.topk});
  const auto weights = fx::DeviceArray<float>::from_host(shares, {m, p.topk});
  const fx::DeviceArray<std::int32_t> sorted({places}), units({places / p.unit}),
      counts({p.experts}), offsets({p.experts + 1}), totals({3}), slotPlaces({m, p.topk});
  const fx::DeviceArray<float> sortedWeights({places});
  const fx::DType half = mixture.half;
  Vector x(p.x, m * hidden), scaleOfX(fx::f32, m), inside(half, places * inner),
      results(half, places * hidden), y(half, m * hidden),
      w1(p.x, std::ssize(mixture.w1) / p.x.bytes()), w2(half, std::ssize(mixture.w2) / 2);
  x.memory.copy_from(tokens);
  if (p.scale)
    scaleOfX.memory.copy_from(scales);
  w1.memory.copy_from(mixture.w1);
  w2.memory.copy_from(mixture.w2);
  const fx::Stream stream;
  const auto of = [](const Vector &memory, std::int64_t rows, std::int64_t n) {
    return fx::TensorArg(const_cast<std::uint8_t *>(memory.memory.data()), memory.type,
                         fx::Extents{rows, n});
  };
  fk::run(sorting,
          {.ids = ids.tensor(),
           .weights = weights.tensor(),
           .sorted_ids = sorted.tensor(),
           .sorted_weights = sortedWeights.tensor(),
           .unit_experts = units.tensor(),
           .counts = counts.tensor(),
           .offsets = offsets.tensor(),
           .totals = totals.tensor(),
           .slot_places = slotPlaces.tensor()},
          stream);
  fk::GroupedGemmProblem firstOfAll = mixture.ofAll(mixture.first);
  firstOfAll.a_rows = fk::GroupedRows::tokens;
  firstOfAll.topk = p.topk;
  const fk::GroupedGemmProblem secondOfAll = mixture.ofAll(mixture.second);
  const fk::GroupedGemmPlan gatesAndUps(firstOfAll, first), down(secondOfAll, second);
  gatesAndUps({.a = of(x, m, hidden),
               .b = fk::PreparedWeight{firstOfAll.weight(), w1.tensor()},
               .c = of(inside, places, inner),
               .unit_experts = units.tensor(),
               .offsets = offsets.tensor(),
               .counts = counts.tensor(),
               .sorted_ids = sorted.tensor(),
               .scale_a = p.scale ? std::optional(scaleOfX.tensor()) : std::nullopt},
              stream);
  down({.a = of(inside, places, inner),
        .b = fk::PreparedWeight{secondOfAll.weight(), w2.tensor()},
        .c = of(results, places, hidden),
        .unit_experts = units.tensor(),
        .offsets = offsets.tensor(),
        .counts = counts.tensor(),
        .weights = sortedWeights.tensor()},
       stream);
  fk::run(
      fk::MoeReduceProblem{.x = half, .y = half, .n = hidden, .topk = p.topk, .places = true},
      {.x = of(results, places, hidden), .slot_places = slotPlaces.tensor(), .y = of(y, m, hidden)},
      stream);
  stream.synchronize();
  const Bytes together = y.memory.to_host();
  std::vector<Bytes> ofRanks;
  std::int64_t next = 0;
  for (const RankTokens &rank : all) {
    const std::int64_t bytes = rank.m * rowBytes(half, hidden);
    ofRanks.emplace_back(together.begin() + next, together.begin() + next + bytes);
    next += bytes;
  }
  return ofRanks;
}

/// A mixture over the ranks gives the bits of one device.
void expectMixture(const ExpertDispatchProblem &problem, const std::vector<std::int64_t> &m) {
  INFO(fx::to_config(problem).str());
  const Mixture mixture(problem);
  const std::int64_t places =
      problem.capacity ? problem.local() * problem.capacity : fk::expert_dispatch_places(problem);
  std::vector<RankTokens> all = tokensOf(problem, m, 7);
  for (std::size_t rank = 0; rank < all.size(); ++rank) {
    all[rank].x = fk::host::encode(
        problem.x, fk::host::randomValues(problem.x, m[rank] * Mixture::kHidden, 50 + rank));
    if (problem.scale)
      all[rank].scales =
          fk::host::encode(fx::f32, fk::host::randomValues(fx::f32, m[rank], 70 + rank));
  }
  const ExpertCombineProblem combine{.x = mixture.half,
                                     .y = mixture.half,
                                     .n = problem.n,
                                     .experts = problem.experts,
                                     .topk = problem.topk,
                                     .ranks = problem.ranks,
                                     .tokens = problem.tokens};
  const fk::ExpertDispatchConfig config = fk::choose(problem, problem.tokens);
  const fk::ExpertDispatchPlan give(problem, config);
  const fk::GroupedGemmPlan first(mixture.first, fk::choose(mixture.first, places)),
      second(mixture.second, fk::choose(mixture.second, places));
  const fk::ExpertCombinePlan takeBack(combine, fk::choose(combine, problem.tokens));
  const std::vector<Bytes> expected = onOneDevice(mixture, all, first.config(), second.config());

  struct Rank {
    DispatchOperands tokens;
    Vector w1, w2, inside, results, y;
  };
  std::vector<Rank> own;
  const GroupRanks ranks(problem.ranks, {.capacity = 1 << 16});
  ranks.each([&](int rank) {
    const auto part = [&](const Bytes &of, fx::DType type) {
      const auto size = std::ssize(of) / problem.ranks;
      Vector memory(type, size / type.bytes());
      memory.memory.copy_from(Bytes(of.begin() + rank * size, of.begin() + (rank + 1) * size));
      return memory;
    };
    own.push_back({{problem, config, all[at(rank)], places},
                   part(mixture.w1, problem.x),
                   part(mixture.w2, mixture.half),
                   {mixture.half, places * Mixture::kInner},
                   {mixture.half, places * Mixture::kHidden},
                   {mixture.half, std::max<std::int64_t>(m[at(rank)], 1) * Mixture::kHidden}});
  });
  ranks.run([&](int number, const fx::Stream &stream) {
    Rank &rank = own[at(number)];
    const auto of = [](const Vector &memory, std::int64_t rows, std::int64_t n) {
      return fx::TensorArg(const_cast<std::uint8_t *>(memory.memory.data()), memory.type,
                           fx::Extents{rows, n});
    };
    const fk::ExpertDispatchArgs given = rank.tokens.args(ranks.group(number));
    give(given, stream);
    first({.a = given.y,
           .b = fk::PreparedWeight{mixture.first.weight(), rank.w1.tensor()},
           .c = of(rank.inside, places, Mixture::kInner),
           .unit_experts = given.unit_experts,
           .offsets = given.offsets,
           .counts = given.counts,
           .scale_a = problem.scale ? std::optional(fx::TensorArg(given.sorted_scales->data(),
                                                                  fx::f32, fx::Extents{places}))
                                    : std::nullopt},
          stream);
    second({.a = of(rank.inside, places, Mixture::kInner),
            .b = fk::PreparedWeight{mixture.second.weight(), rank.w2.tensor()},
            .c = of(rank.results, places, Mixture::kHidden),
            .unit_experts = given.unit_experts,
            .offsets = given.offsets,
            .counts = given.counts,
            .weights = given.sorted_weights},
           stream);
    takeBack({.x = of(rank.results, places, Mixture::kHidden),
              .slot_places = given.slot_places,
              .ids = given.ids,
              .y = of(rank.y, m[at(number)], Mixture::kHidden),
              .group = &ranks.group(number)},
             stream);
  });
  for (int rank = 0; rank < problem.ranks; ++rank) {
    INFO("rank " << rank);
    ranks.group(rank).check();
    Bytes found = own[at(rank)].y.memory.to_host();
    found.resize(expected[at(rank)].size());
    CHECK(found == expected[at(rank)]);
  }
}

} // namespace

TEST_CASE("combine of two ranks", "[run]") {
  expectRight(kTwo, kSmall, {9, 4});
  expectRight(with([](auto &p) { p.weights = false; }), kSmall, {2, 9}, 2);
}

TEST_CASE("combine of all types, of four and of eight ranks") {
  expectRight(with([](auto &p) {
                p.x = fx::f16;
                p.y = fx::f32;
                p.ranks = 4;
                p.experts = 12;
                p.topk = 3;
                p.n = 7;
              }),
              {.rows = {.threads = 16, .block = 64, .resident = false}, .blocks = 2}, {9, 0, 1, 7},
              2);
  expectRight(with([](auto &p) {
                p.x = fx::f32;
                p.ranks = 8;
                p.experts = 16;
                p.tokens = 4;
              }),
              kSmall, {4, 4, 0, 1, 2, 3, 4, 0}, 2);
}

TEST_CASE("results come back as codes of 8 bits with scales", "[run]") {
  const auto coded = [](fx::DType wire) {
    return with([&](auto &p) {
      p.wire = wire;
      p.n = 96;
    });
  };
  // Three blocks of a row, by 4 threads each; a block of the row is past the end of the last turn.
  expectRight(coded(fx::f8E4M3FN), {.rows = {.threads = 8, .block = 64}, .blocks = 3}, {9, 4}, 2);
  expectRight(coded(fx::f8E5M2), fk::choose(coded(fx::f8E5M2), 9), {3, 9}, 1);
}

TEST_CASE("codes of results that do not stay in registers, of f32, over four ranks") {
  expectRight(with([](auto &p) {
                p.wire = fx::f8E4M3FN;
                p.x = p.y = fx::f32;
                p.n = 160;
                p.ranks = 4;
                p.experts = 8;
                p.weights = false;
              }),
              {.rows = {.threads = 16, .block = 64, .resident = false}, .blocks = 2}, {9, 0, 1, 7},
              1);
}

TEST_CASE("combine in graphs, with the configuration that is chosen") {
  Combine combine(kTwo, fk::choose(kTwo, 9), {9, 9});
  const std::vector<fx::Graph> graphs = combine.ranks.captured(
      [&](int rank, const fx::Stream &stream) { combine.plan(combine.args(rank), stream); });
  for (std::uint64_t replay = 0; replay < 3; ++replay) {
    combine.fill(replay);
    combine.ranks.run(graphs);
    combine.expectRight();
  }
}

TEST_CASE("mixtures of experts over two ranks give the bits of one device", "[run]") {
  expectMixture({.n = 64, .experts = 6, .topk = 2, .ranks = 2, .tokens = 9, .unit = 16}, {9, 5});
}

TEST_CASE("mixtures of experts whose tokens have 8 bits and a scale") {
  if (!kernel_tests::float8Of(fx::Device(0).target()))
    return; // gfx90a
  expectMixture({.x = kernel_tests::float8Of(fx::Device(0).target()),
                 .n = 64,
                 .experts = 4,
                 .topk = 2,
                 .ranks = 2,
                 .tokens = 7,
                 .unit = 16,
                 .scale = fx::f32,
                 .scales = 1},
                {7, 6});
}

TEST_CASE("mixtures of experts in fixed slots, over more ranks") {
  expectMixture({.x = fx::f16,
                 .n = 64,
                 .experts = 8,
                 .topk = 3,
                 .ranks = 4,
                 .tokens = 8,
                 .unit = 16,
                 .capacity = 64},
                {8, 3, 0, 8});
  expectMixture({.n = 64, .experts = 8, .topk = 2, .ranks = 8, .tokens = 3, .unit = 16},
                {3, 3, 1, 0, 2, 3, 3, 3});
}

TEST_CASE("a combine whose partner does not come is an error in time") {
  const Combine combine(kTwo, kSmall, {9, 9},
                        {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)});
  combine.ranks.run([&](int rank, const fx::Stream &stream) {
    if (rank == 1)
      combine.plan(combine.args(rank), stream);
  });
  expectPart(messageOf([&] { combine.ranks.group(1).check(); }),
             "rank 1 of a group of 2 has waited 200 ms for rank 0 in vain");
}

TEST_CASE("a checked combine tells of places that there are not") {
  Combine combine(kTwo, kSmall, {9, 9},
                  {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)});
  const fk::ExpertCombinePlan checked(kTwo, kSmall, {.check_indices = true});
  std::vector<std::int32_t> wrong = combine.placesOf(0).slotPlaces;
  wrong[5] = static_cast<std::int32_t>(combine.places);
  combine.operands[0].slotPlaces.copy_from(wrong);
  combine.ranks.run(
      [&](int rank, const fx::Stream &stream) { checked(combine.args(rank), stream); });
  expectPart(messageOf([&] { checked.check(); }), "slot_places[2, 1] is");
}

TEST_CASE("combine: what is refused") {
  const Combine combine(kTwo, kSmall, {9, 9}, {.capacity = 1 << 10});
  const auto told = [&](auto change) {
    fk::ExpertCombineArgs args = combine.args(0);
    change(args);
    return messageOf([&] { combine.plan(args, combine.ranks.stream(0)); });
  };
  expectPart(told([](auto &) {}), "2592 bytes do not fit the group's windows of 1024");
  expectPart(told([](auto &a) { a.group = nullptr; }), "expert_combine: group is null");
  expectPart(told([](auto &a) {
               a.y = fx::TensorArg(a.y.data(), fx::bf16, fx::Extents{10, 72});
             }),
             "m is 10; a rank has up to 9 tokens in this problem");
  expectPart(told([](auto &a) {
               a.slot_places = fx::TensorArg(a.slot_places.data(), fx::i32, fx::Extents{2, 8, 2});
             }),
             "slot_places has the shape (2, 8, 2); (ranks, tokens, topk) = (2, 9, 2)");
  expectPart(told([](auto &a) { a.weights.reset(); }), "weights");
  expectPart(told([](auto &a) {
               a.y = fx::TensorArg(a.x.data(), fx::bf16, fx::Extents{9, 72});
             }),
             "y shares memory with x");
  const fk::ExpertCombinePlan four(with([](auto &p) {
                                     p.ranks = 4;
                                     p.experts = 8;
                                   }),
                                   kSmall);
  expectPart(messageOf([&] { four(combine.args(0), combine.ranks.stream(0)); }),
             "ranks of the problem is 4, and the group has 2");

  const auto why = [](auto change) { return fk::supported(with(change)).why; };
  expectPart(why([](auto &p) { p.ranks = 3; }), "ranks is 3; it is 2, 4 or 8");
  expectPart(why([](auto &p) { p.experts = 7; }), "experts is 7; each of the 2 ranks");
  expectPart(why([](auto &p) { p.x = fx::f8E4M3FN; }), "x is of type f8E4M3FN");
  expectPart(why([](auto &p) { p.wire = fx::i8; }),
             "wire is of type i8; it is none, f8E4M3FN or f8E5M2");
  expectPart(why([](auto &p) { p.wire = fx::f8E5M2; }),
             "n is 72; with wire it is a multiple of 32");
  const ExpertCombineProblem coded = with([](auto &p) {
    p.wire = fx::f8E5M2;
    p.n = 96;
  });
  expectPart(fk::supported(
                 coded, ExpertCombineConfig{.rows = {.threads = 2, .block = 64, .resident = false}})
                 .why,
             "threads is 2 of a row; with wire they are a multiple of 4");
  CHECK(fk::supported(coded, fk::choose(coded, 9)));
  CHECK_FALSE(fk::supported(kTwo, ExpertCombineConfig{.blocks = 0}));
  const ExpertCombineProblem many = with([](auto &p) {
    p.ranks = 8;
    p.experts = 8;
    p.topk = 64;
    p.n = 8;
  });
  expectPart(fk::supported(many, ExpertCombineConfig{.rows = {.threads = 1, .block = 256}}).why,
             "bytes of LDS; 32768 are the most");
  CHECK(fk::supported(many, fk::choose(many, 9)));
}
