// Products that move rows between ranks, with caches between kernels and memory, and what happens without
// the accesses that order them. Run by itself, with FLYDSL_EMULATOR_MEMORY_MODEL=weak.
#include "collective/experts.h"
#include "collective/order.h"
#include "moe_ranks/fused_products.h"

using namespace collective_tests;

namespace collective_tests {
/// What the library chooses for a product. It is asked in moe_ranks_test.cpp, which does not have the
/// families' own declarations: they would be instantiated here.
fk::GemmConfig chosenFor(const fk::GroupedGemmProblem &product, std::int64_t m);
} // namespace collective_tests

namespace {

namespace impl = fk::impl;

constexpr std::int64_t kTokens = 24, kHidden = 64, kInner = 64;
constexpr int kUnit = 16, kExperts = 4, kTopk = 2;
constexpr fk::RowConfig kRows{.threads = 32, .block = 64};

/// Bodies that may lack something.
struct Planted {
  impl::RankParts parts;
  fk::MoeRanksConfig config;
  impl::FusedOrder order;
};
const fx::Kernel plantedGive{
    "planted_give",
    [](impl::DispatchGiveParams<fx::OnDevice> params, fx::Constexpr<Planted> planted) {
      impl::DispatchGive(params, {planted->parts.dispatch, planted->config.dispatch},
                         planted->parts.dispatch.registered ? planted->order.between
                                                            : impl::CollectiveOrder{})
          .run();
    }};
const fx::Kernel plantedTake{
    "planted_take_product",
    [](impl::TakeProductParams<fx::OnDevice> params, fx::Constexpr<Planted> planted) {
      impl::TakeProduct(params, planted->parts, planted->config, planted->order).run();
    }};
const fx::Kernel plantedCombine{
    "planted_product_combine",
    [](impl::ProductCombineParams<fx::OnDevice> params, fx::Constexpr<Planted> planted) {
      impl::ProductCombine(params, planted->parts, planted->config, planted->order).run();
    }};

/// A product of an expert's rows with plain weights.
fk::GroupedGemmProblem product(std::int64_t n, std::int64_t k) {
  return {.a = fx::bf16,
          .b = fx::bf16,
          .c = fx::f32,
          .b_layout = fk::OperandLayout::rows,
          .experts = kExperts / 2,
          .n = n,
          .k = k,
          .unit = kUnit};
}
/// Blocks of a launch that take one ticket after another: fewer than there are tickets.
constexpr int kPersistent = 4;

Planted planted(const impl::FusedOrder &order, int persistent = 0, bool registered = false) {
  const ExpertDispatchProblem dispatch{.n = kHidden,
                                       .experts = kExperts,
                                       .topk = kTopk,
                                       .ranks = 2,
                                       .tokens = kTokens,
                                       .unit = kUnit,
                                       .registered = registered};
  const ExpertCombineProblem combine{.x = fx::f32,
                                     .y = fx::f32,
                                     .n = kHidden,
                                     .experts = kExperts,
                                     .topk = kTopk,
                                     .ranks = 2,
                                     .tokens = kTokens};
  const fk::GroupedGemmProblem first = product(kInner, kHidden), second = product(kHidden, kInner);
  const fk::GemmConfig tile = chosenFor(first, kUnit);
  CHECK(tile.tile_m == kUnit);
  return {{dispatch, first, second, combine},
          {.unit = kUnit,
           .dispatch = {.rows = kRows, .blocks = 2, .sort = {.block = 64}},
           .first = tile,
           .second = tile,
           .combine = {.rows = kRows, .blocks = 2},
           .fused = true,
           .copiers = 3,
           .persistent = persistent},
          order};
}

/// What both tests have of a rank: places of tokens as a dispatch's sorting makes them.
struct Places {
  fx::DeviceArray<std::int32_t> sortedIds, units, counts, offsets, totals, work;
  fx::DeviceArray<fx::bfloat16_t> a, weights;
  fx::DeviceArray<float> c;

  explicit Places(std::int64_t places)
      : sortedIds({places}), units({places / kUnit}), counts({kExperts / 2}),
        offsets({kExperts / 2 + 1}), totals({3}), work({impl::WorkLayout::kWords}),
        a({places, kHidden}), weights({kExperts / 2, kHidden, kHidden}), c({places, kHidden}) {
    work.fill(0);
    a.fill(fx::bfloat16_t(0.0f));
    c.fill(0.0f);
  }
  /// The ids of places, of the tokens of both ranks.
  void sort(const ExpectedPlaces &expected) {
    const std::int32_t tokens = 2 * kTokens;
    std::vector<std::int32_t> ids(at(expected.places), tokens);
    for (std::size_t slot = 0; slot < expected.slotPlaces.size(); ++slot)
      if (expected.slotPlaces[slot] >= 0)
        ids[at(expected.slotPlaces[slot])] = std::int32_t(slot / kTopk) | std::int32_t(slot % kTopk)
                                                                              << impl::kIdTokenBits;
    sortedIds.copy_from(ids);
    units.copy_from(expected.units);
    counts.copy_from(expected.counts);
    offsets.copy_from(expected.offsets);
    totals.copy_from(expected.totals);
    work.fill(0);
  }
  impl::GroupedGemmParams<fx::OnHost> product(std::int64_t places) const {
    impl::GroupedGemmParams<fx::OnHost> params{};
    params.a = fx::strided<1>(shaped(a, {places, kHidden}));
    const std::int64_t matrix = kHidden * kHidden;
    params.b = {.address = fx::strided<0>(weights.tensor()).address, .stride = {matrix, kHidden}};
    params.c = {.address = fx::strided<0>(c.tensor()).address, .stride = {kHidden, 0}};
    params.places = static_cast<std::int32_t>(places);
    params.unitExperts = fx::strided<0>(units.tensor());
    params.offsets = fx::strided<0>(offsets.tensor());
    params.counts = fx::strided<0>(counts.tensor());
    params.sortedIds = fx::strided<0>(sortedIds.tensor());
    return params;
  }
};
/// Small integers, so that all sums are exact.
std::vector<fx::bfloat16_t> small(std::int64_t count, std::uint64_t seed) {
  std::vector<fx::bfloat16_t> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(
        fx::bfloat16_t(static_cast<float>(pick(seed, static_cast<std::uint64_t>(i), 5) - 2)));
  return values;
}
/// A row of a product.
std::vector<float> multiplied(const fx::bfloat16_t *row, const fx::bfloat16_t *weights) {
  std::vector<float> sums(at(kHidden), 0.0f);
  for (std::size_t n = 0; n < sums.size(); ++n)
    for (std::size_t k = 0; k < at(kHidden); ++k)
      sums[n] += float(row[k]) * float(weights[n * at(kHidden) + k]);
  return sums;
}
std::int64_t tilesOf(const Planted &all, std::int64_t places) {
  return places / all.config.first.tile_m *
         impl::tilesAcross(impl::productOf(all.parts.first), all.config.first);
}
std::vector<RankTokens> tokensOfCall(const Planted &all, int call) {
  std::vector<RankTokens> tokens =
      tokensOf(all.parts.dispatch, {kTokens, kTokens}, static_cast<std::uint64_t>(call));
  for (std::size_t rank = 0; rank < tokens.size(); ++rank) {
    const std::vector<fx::bfloat16_t> x =
        small(kTokens * kHidden, 50 + static_cast<std::uint64_t>(call) * 2 + rank);
    std::memcpy(tokens[rank].x.data(), x.data(), tokens[rank].x.size());
  }
  return tokens;
}

/// How many of some calls gave each rank the products of its experts' rows.
int rightTakes(const impl::FusedOrder &order, int calls, int persistent = 0,
               bool registered = false) {
  const Planted all = planted(order, persistent, registered);
  const std::int64_t places = fk::expert_dispatch_places(all.parts.dispatch),
                     slots = impl::slotsOfRank(all.parts.dispatch);
  const GroupRanks ranks(
      2, {.capacity = 1 << 16,
          .registered = registered ? std::size_t(kTokens * kHidden * 2) : std::size_t(0)});
  std::vector<Places> own;
  std::vector<DispatchOperands> operands;
  std::vector<fx::DeviceArray<std::int32_t>> tables;
  std::vector<fx::DeviceArray<float>> weights;
  std::vector<RankTokens> tokens = tokensOfCall(all, 0);
  const std::vector<fx::bfloat16_t> b = small(kExperts / 2 * kHidden * kHidden, 7);
  ranks.each([&](int rank) {
    own.emplace_back(places);
    own.back().weights.copy_from(b);
    operands.emplace_back(all.parts.dispatch, all.config.dispatch, tokens[at(rank)], places);
    tables.push_back(numbers<std::int32_t>(2 * slots));
    weights.push_back(numbers<float>(2 * slots));
  });
  int right = 0;
  for (int call = 0; call < calls; ++call) {
    tokens = tokensOfCall(all, call);
    std::vector<std::vector<float>> expected;
    for (int rank = 0; rank < 2; ++rank) {
      const ExpectedPlaces found = expectedPlaces(all.parts.dispatch, tokens, rank, places);
      operands[at(rank)].fill(tokens[at(rank)]);
      own[at(rank)].sort(found);
      own[at(rank)].c.fill(0.0f);
      expected.emplace_back(at(places * kHidden), 0.0f);
      for (std::size_t slot = 0; slot < found.slotPlaces.size(); ++slot)
        if (const std::int32_t place = found.slotPlaces[slot]; place >= 0) {
          const std::size_t token = slot / kTopk;
          const auto *x =
              reinterpret_cast<const fx::bfloat16_t *>(tokens[token / at(kTokens)].x.data());
          const std::int32_t expert = found.units[at(place / kUnit)];
          const std::vector<float> row = multiplied(x + token % at(kTokens) * at(kHidden),
                                                    b.data() + expert * kHidden * kHidden);
          std::copy(row.begin(), row.end(), expected.back().begin() + place * kHidden);
        }
    }
    ranks.run([&](int rank, const fx::Stream &stream) {
      const fk::ExpertDispatchArgs args = operands[at(rank)].args(ranks.group(rank));
      // What makes registered tokens runs on the rank's stream before.
      if (registered)
        fx::copy_async(ranks.group(rank).registered(), args.x.data(),
                       std::size_t(kTokens * kHidden * 2), stream);
      impl::DispatchGiveParams<fx::OnHost> give{};
      give.x = fx::strided<1>(args.x);
      give.ids = fx::strided<0>(args.ids);
      give.weights = fx::strided<0>(*args.weights);
      give.m = static_cast<std::int32_t>(kTokens);
      give.tableIds = fx::strided<0>(tables[at(rank)].tensor());
      give.tableWeights = fx::strided<0>(weights[at(rank)].tensor());
      give.work = fx::strided<0>(own[at(rank)].work.tensor());
      give.group = impl::dispatchGroup(all.parts.dispatch, all.config.dispatch, ranks.group(rank));
      plantedGive(give, all).launch(
          {.grid = impl::meetingBlocks(kRows, 2, kTokens), .block = 64, .stream = stream});
      impl::TakeProductParams<fx::OnHost> take{};
      take.take.sortedIds = fx::strided<0>(own[at(rank)].sortedIds.tensor());
      take.take.totals = fx::strided<0>(own[at(rank)].totals.tensor());
      take.take.y = fx::strided<1>(shaped(own[at(rank)].a, {places, kHidden}));
      take.take.places = static_cast<std::int32_t>(places);
      take.take.group = give.group;
      take.product = own[at(rank)].product(places);
      take.tiles = static_cast<std::int32_t>(tilesOf(all, places));
      take.work = give.work;
      plantedTake(take, all).launch(
          {.grid = persistent ? persistent : all.config.copiers + tilesOf(all, places),
           .block = all.config.first.threads,
           .stream = stream});
    });
    bool same = true;
    for (int rank = 0; rank < 2; ++rank)
      same &= own[at(rank)].c.to_host() == expected[at(rank)];
    right += same;
  }
  return right;
}

/// How many of some calls gave each rank the sums of its tokens' results.
int rightCombines(const impl::FusedOrder &order, int calls, int persistent = 0) {
  const Planted all = planted(order, persistent);
  const std::int64_t places = fk::expert_dispatch_places(all.parts.dispatch);
  const GroupRanks ranks(2);
  std::vector<Places> own;
  std::vector<fx::DeviceArray<std::int32_t>> ids;
  std::vector<fx::DeviceArray<float>> y;
  const std::vector<fx::bfloat16_t> b = small(kExperts / 2 * kHidden * kHidden, 7);
  ranks.each([&](int) {
    own.emplace_back(places);
    own.back().weights.copy_from(b);
    ids.push_back(numbers<std::int32_t>(kTokens * kTopk));
    y.push_back(numbers<float>(kTokens * kHidden));
    y.back().fill(0.0f);
  });
  int right = 0;
  for (int call = 0; call < calls; ++call) {
    const std::vector<RankTokens> tokens = tokensOfCall(all, call);
    std::vector<std::vector<float>> expected(2, std::vector<float>(at(kTokens * kHidden), 0.0f));
    for (int rank = 0; rank < 2; ++rank) {
      const ExpectedPlaces found = expectedPlaces(all.parts.dispatch, tokens, rank, places);
      const std::vector<fx::bfloat16_t> a =
          small(places * kHidden, 90 + static_cast<std::uint64_t>(call * 2 + rank));
      own[at(rank)].sort(found);
      own[at(rank)].a.copy_from(a);
      ids[at(rank)].copy_from(tokens[at(rank)].ids);
      for (std::size_t slot = 0; slot < found.slotPlaces.size(); ++slot)
        if (const std::int32_t place = found.slotPlaces[slot]; place >= 0) {
          const std::size_t token = slot / kTopk;
          const std::vector<float> row =
              multiplied(a.data() + place * kHidden,
                         b.data() + found.units[at(place / kUnit)] * kHidden * kHidden);
          for (std::size_t j = 0; j < row.size(); ++j)
            expected[token / at(kTokens)][token % at(kTokens) * at(kHidden) + j] += row[j];
        }
    }
    ranks.run([&](int rank, const fx::Stream &stream) {
      impl::ProductCombineParams<fx::OnHost> params{};
      params.product = own[at(rank)].product(places);
      params.combine.ids = fx::strided<0>(ids[at(rank)].tensor());
      params.combine.y = fx::strided<1>(shaped(y[at(rank)], {kTokens, kHidden}));
      params.combine.m = static_cast<std::int32_t>(kTokens);
      params.combine.places = static_cast<std::int32_t>(places);
      params.combine.group =
          impl::combineGroup(all.parts.combine, all.config.combine, ranks.group(rank));
      params.tiles = static_cast<std::int32_t>(tilesOf(all, places));
      params.combiners = 2;
      params.work = fx::strided<0>(own[at(rank)].work.tensor());
      plantedCombine(params, all)
          .launch({.grid = persistent ? persistent : tilesOf(all, places) + 2,
                   .block = all.config.second.threads,
                   .stream = stream});
    });
    bool same = true;
    for (std::size_t rank = 0; rank < 2; ++rank)
      same &= y[rank].to_host() == expected[rank];
    right += same;
  }
  return right;
}

/// Checks that all of four calls are right where blocks are slow, and that some are wrong if blocks do not
/// wait for those, or if these do not wait for their own waves. `right(order)` makes the calls.
template <class F> void expectWaits(const F &right) {
  CHECK(right(impl::HandOver{.dawdles = true}) == 4);
  CHECK(right(impl::HandOver{.waits = false, .dawdles = true}) < 4);
  CHECK(right(impl::HandOver{.gathers = false, .dawdles = true}) < 4);
}
/// Whether a release among the blocks of a device writes caches back. Elsewhere it waits for stores, which
/// the emulator has done by then.
bool releasesWriteBack() { return fx::Device(0).target().has(fx::feature::mfma); }

} // namespace

TEST_CASE("a product whose rows come meanwhile needs each of the accesses that order them",
          "[.weak]") {
  CHECK(rightTakes({}, 4) == 4);
  CHECK(rightTakes({.between = {.looksAhead = true}}, 4) == 4);
  CHECK(rightTakes({.local = {.dawdles = true}, .between = {.looksAhead = true}}, 4) == 4);
  CHECK(rightTakes({.local = {.acquires = false, .dawdles = true}, .between = {.looksAhead = true}},
                   4) < 4);
  expectWaits([](const impl::HandOver &local) { return rightTakes({.local = local}, 4); });
  CHECK(rightTakes({.local = {.dawdles = true}}, 4, kPersistent) == 4);
  CHECK(rightTakes({.local = {.waits = false, .dawdles = true}}, 4, kPersistent) < 4);
  if (!releasesWriteBack())
    return;
  CHECK(rightTakes({.local = {.releases = false}}, 4) < 4);
  CHECK(rightTakes({.local = {.scope = fx::MemoryScope::block}, .between = {.looksAhead = true}},
                   4) < 4);
}

// The meeting of the ranks before it: a rank's tokens are there when another one reads them. Whether they are there without
// it is a matter of time, and four calls have all been right beside a sanitizer.
TEST_CASE("tokens in registered memory need the meeting of the ranks", "[.weak]") {
  const auto right = [](const impl::CollectiveOrder &give, int calls) {
    return rightTakes({.between = give}, calls, kPersistent, true);
  };
  CHECK(right({}, 4) == 4);
  CHECK(right({.waits = false}, 16) < 16);
}

TEST_CASE("a product that gives its results needs each of the accesses that order them",
          "[.weak]") {
  const auto between = [](const impl::CollectiveOrder &order, int calls) {
    return rightCombines({.between = order}, calls);
  };
  expectNeeded(between);
  // What a combiner acquires of the tiles shows nowhere: it acquires again after it has met the others.
  // LLVM's model asks for it, so that what it releases to them is what the tiles have written.
  expectWaits([](const impl::HandOver &local) { return rightCombines({.local = local}, 4); });
  CHECK(rightCombines({.local = {.dawdles = true}}, 4, kPersistent) == 4);
  CHECK(rightCombines({.local = {.waits = false, .dawdles = true}}, 4, kPersistent) < 4);
  if (!releasesWriteBack())
    return;
  CHECK(rightCombines({.local = {.releases = false}}, 4) < 4);
  CHECK(rightCombines({.local = {.scope = fx::MemoryScope::block}}, 4) < 4);
}
