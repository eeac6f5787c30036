// Slots sorted by expert, against the definition: a list of the slots of each expert.
#include "support/size_sweep.h"
#include "support/structure.h"

#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/weight.h>

using namespace kernel_tests;

namespace {

using fk::MoeSortProblem, fk::MoeSortConfig, fk::PreparedScales;

/// What a call is given.
struct Slots {
  std::int64_t m = 0;
  std::vector<double> ids = {}, weights = {};
  std::vector<double> map = {};         ///< of the experts, with `local`
  std::optional<std::int64_t> tokens{}; ///< with `tokens`
  std::int64_t spare = 0;               ///< units more than there have to be
};

/// What must come out, by the definition.
struct Sorted {
  std::vector<double> ids, weights, units, counts, offsets, totals, places;
};
Sorted sorted(const MoeSortProblem &problem, const Slots &slots, std::int64_t places) {
  const std::int64_t k = problem.topk, tokens = slots.tokens.value_or(slots.m),
                     experts = problem.local ? problem.local : problem.experts;
  std::vector<std::vector<std::int64_t>> ofExpert(static_cast<std::size_t>(experts));
  for (std::int64_t slot = 0; slot < tokens * k; ++slot) {
    double expert = slots.ids[std::size_t(slot)];
    if (problem.local && expert >= 0 && expert < double(problem.experts))
      expert = slots.map[std::size_t(expert)];
    if (expert >= 0 && expert < double(experts))
      ofExpert[std::size_t(expert)].push_back(slot);
  }
  Sorted all;
  all.ids.assign(std::size_t(places), double(k * (1 << 24) + tokens));
  all.weights.assign(std::size_t(places), 0);
  all.places.assign(std::size_t(slots.m * k), -1);
  all.units.assign(std::size_t(places / problem.unit), -1);
  std::int64_t start = 0, dropped = 0;
  for (std::size_t expert = 0; expert < ofExpert.size(); ++expert) {
    const auto &own = ofExpert[expert];
    if (problem.capacity)
      start = std::int64_t(expert) * problem.capacity;
    const std::int64_t rows = std::ssize(own),
                       taken = problem.capacity ? std::min(rows, problem.capacity) : rows;
    dropped += rows - taken;
    all.offsets.push_back(double(start));
    all.counts.push_back(double(taken));
    for (std::int64_t i = 0; i < taken; ++i) {
      const std::int64_t slot = own[std::size_t(i)];
      const std::size_t place = std::size_t(start + i);
      all.ids[place] = double(slot / k + slot % k * (1 << 24));
      all.weights[place] = slots.weights[std::size_t(slot)];
      all.places[std::size_t(slot)] = double(place);
    }
    for (; !problem.capacity && std::int64_t(all.counts.back()) > 0 &&
           start < std::int64_t(all.offsets.back()) + rows;
         start += problem.unit)
      all.units[std::size_t(start / problem.unit)] = double(expert);
  }
  all.offsets.push_back(double(start));
  all.totals = {double(problem.capacity ? places : start), double(tokens), double(dropped)};
  return all;
}

/// The scales of places with these ids, by PreparedScales' definition: a group of 32 places is written as a whole if one of
/// them has a slot, the others keep what they had.
std::vector<std::uint8_t> withScales(const MoeSortProblem &problem, const std::vector<double> &ids,
                                     const std::vector<std::uint8_t> &scales,
                                     std::vector<std::uint8_t> all) {
  const std::int64_t elements = problem.scales * 32,
                     ofGroup = PreparedScales::shape(1, elements)[1] * PreparedScales::kBlock;
  const auto hasSlot = [&](std::size_t place) {
    return std::int64_t(ids[place]) >> 24 < problem.topk;
  };
  for (std::size_t place = 0; place < ids.size(); ++place)
    if (hasSlot(place))
      std::fill_n(all.begin() + std::int64_t(place) / 32 * ofGroup, ofGroup, std::uint8_t(0));
  for (std::size_t place = 0; place < ids.size(); ++place)
    for (std::int64_t scale = 0; hasSlot(place) && scale < problem.scales; ++scale) {
      const std::int64_t token = std::int64_t(ids[place]) & 0xffffff;
      all[std::size_t(PreparedScales::place(std::int64_t(place), scale, elements))] =
          scales[std::size_t(token * problem.scales + scale)];
    }
  return all;
}

/// Sorts by this configuration, and compares all that comes out.
void expectSorted(const MoeSortProblem &problem, const MoeSortConfig &config, const Slots &slots) {
  INFO(fx::to_config(problem).str() << " m=" << slots.m << " " << fx::to_config(config).str());
  const std::int64_t m = slots.m, k = problem.topk,
                     places = fk::moe_sort_places(problem, m) + slots.spare * problem.unit,
                     experts = problem.local ? problem.local : problem.experts;
  const Operand ids = Operand::input(fx::i32, m, k, slots.ids),
                weights = Operand::input(fx::f32, m, k, slots.weights),
                map = Operand::input(fx::i32, 1, std::ssize(slots.map), slots.map),
                tokens = Operand::input(fx::i32, 1, 1,
                                        std::vector<double>{double(slots.tokens.value_or(0))}),
                sortedIds = Operand::output(fx::i32, 1, places),
                sortedWeights = Operand::output(fx::f32, 1, places),
                units = Operand::output(fx::i32, 1, places / problem.unit),
                counts = Operand::output(fx::i32, 1, experts),
                offsets = Operand::output(fx::i32, 1, experts + 1),
                totals = Operand::output(fx::i32, 1, 3),
                slotPlaces = Operand::output(fx::i32, m, k),
                workspace = Operand::output(fx::u8, 1,
                                            std::int64_t(fk::workspace_bytes(problem, config, m)));
  fk::MoeSortArgs args{.ids = ids.tensor(),
                       .sorted_ids = sortedIds.vector(),
                       .counts = counts.vector(),
                       .totals = totals.vector()};
  if (problem.weights) {
    args.weights = weights.tensor();
    args.sorted_weights = sortedWeights.vector();
  }
  if (problem.local)
    args.expert_map = map.vector();
  if (problem.tokens)
    args.tokens = tokens.vector();
  if (!problem.capacity) {
    args.unit_experts = units.vector();
    args.offsets = offsets.vector();
  }
  if (problem.places)
    args.slot_places = slotPlaces.tensor();
  const Operand zeros = Operand::output(fx::u8, m, problem.zeros, /*gap=*/32);
  if (problem.zeros)
    args.zeros = zeros.tensor();
  if (config.blocks > 1)
    args.workspace = workspace.vector();
  const std::int64_t gap = 16;
  const auto [groups, blocks, size] = PreparedScales::shape(places, problem.scales * 32);
  const Operand scales = Operand::input(fx::u8, m, problem.scales,
                                        integers(std::size_t(m * problem.scales), 7, 1, 254), gap),
                sortedScales = Operand::output(fx::u8, 1, groups * blocks * size);
  const auto powers = [](const Operand &bytes, const fx::Extents &shape,
                         const fx::Extents &strides = {}) {
    return fx::tensor(bytes.tensor().data(), fx::f8E8M0FNU, shape, strides);
  };
  if (problem.scales) {
    args.scales = powers(scales, {m, problem.scales}, {problem.scales + gap, 1});
    args.sorted_scales = powers(sortedScales, {groups, blocks, size});
  }
  const std::vector<std::uint8_t> unwritten = sortedScales.bytes();
  const fx::Stream stream;
  fk::MoeSortPlan(problem, config)(args, stream);
  stream.synchronize();
  const Sorted expected = sorted(problem, slots, places);
  if (problem.scales)
    CHECK(sortedScales.bytes() == withScales(problem, expected.ids, scales.bytes(), unwritten));
  sortedScales.expectUntouched();
  const auto expectEqual = [](const char *name, const Operand &got,
                              const std::vector<double> &wanted) {
    INFO(name);
    expectWithin(got.values(), wanted, std::vector<double>(wanted.size()));
  };
  expectEqual("counts", counts, expected.counts);
  expectEqual("totals", totals, expected.totals);
  expectEqual("sorted_ids", sortedIds, expected.ids);
  if (problem.weights)
    expectEqual("sorted_weights", sortedWeights, expected.weights);
  if (!problem.capacity) {
    expectEqual("offsets", offsets, expected.offsets);
    expectEqual("unit_experts", units, expected.units);
  }
  if (problem.places)
    expectEqual("slot_places", slotPlaces, expected.places);
  if (problem.zeros)
    expectEqual("zeros", zeros, std::vector<double>(std::size_t(m * problem.zeros)));
  workspace.expectUntouched();
}

/// Different experts for each token, as routers give them, or any.
Slots randomSlots(const MoeSortProblem &problem, std::int64_t m, std::uint64_t seed) {
  const std::int64_t k = problem.topk, experts = problem.experts;
  Slots slots{.m = m, .weights = uniform(fx::f32, m * k, seed + 1)};
  for (std::int64_t t = 0; t < m; ++t)
    for (std::int64_t s = 0; s < k; ++s)
      slots.ids.push_back(
          double(fx::detail::randomBits(seed, std::uint64_t(t * k + s)) % std::uint64_t(experts)));
  if (problem.local)
    for (std::int64_t e = 0, local = 0; e < experts; ++e)
      slots.map.push_back(
          e % (experts / problem.local) == 0 && local < problem.local ? double(local++) : -1);
  if (problem.tokens)
    slots.tokens = m;
  return slots;
}
/// All slots with one expert.
Slots sameExpert(const MoeSortProblem &problem, std::int64_t m, double expert) {
  Slots slots = randomSlots(problem, m, 3);
  std::fill(slots.ids.begin(), slots.ids.end(), expert);
  return slots;
}

/// One block, and several: both ways must give the same.
std::vector<MoeSortConfig> ways() {
  return {{.block = 64}, {.block = 256}, {.block = 64, .blocks = 5}};
}

} // namespace

TEST_CASE("slots are sorted by expert", "[run]") {
  for (const MoeSortConfig &config : ways()) {
    for (std::int64_t m : {1, 2, 37, 130}) {
      expectSorted({.experts = 8, .topk = 2, .unit = 16, .places = true}, config,
                   randomSlots({.experts = 8, .topk = 2}, m, 1));
      expectSorted({.experts = 64, .topk = 6, .places = true}, config,
                   randomSlots({.experts = 64, .topk = 6}, m, 2));
    }
    expectSorted({.experts = 256, .topk = 8, .unit = 64}, config,
                 randomSlots({.experts = 256, .topk = 8}, 33, 3));
    expectSorted({.experts = 1, .topk = 1, .unit = 256, .places = true}, config,
                 randomSlots({.experts = 1, .topk = 1}, 300, 4));
    expectSorted({.experts = 100, .topk = 32, .unit = 48, .weights = false}, config,
                 randomSlots({.experts = 100, .topk = 32}, 9, 5));
    expectSorted({.experts = 61, .topk = 3, .unit = 1, .places = true}, config,
                 randomSlots({.experts = 61, .topk = 3}, 50, 6));
  }
}

TEST_CASE("slots of 2048 experts are sorted", "[run]") {
  const MoeSortProblem problem{.experts = 2048, .topk = 7, .unit = 16, .places = true};
  const int block = here().wave_size() * 4;
  for (int blocks : {1, 40})
    expectSorted(problem, {.block = block, .blocks = blocks}, randomSlots(problem, 61, 7));
}

TEST_CASE("all slots have one expert, or experts have no slots", "[run]") {
  const MoeSortProblem problem{.experts = 20, .topk = 4, .unit = 32, .places = true};
  for (const MoeSortConfig &config : ways())
    for (double expert : {0, 7, 19})
      expectSorted(problem, config, sameExpert(problem, 75, expert));
}

TEST_CASE("rows are set to 0 while slots are sorted", "[run]") {
  // One block that sorts and others that clear, and blocks that do both; rows past the tokens, too.
  const MoeSortProblem problem{.experts = 6, .topk = 2, .unit = 16, .tokens = true, .zeros = 1040};
  for (const MoeSortConfig &config :
       {MoeSortConfig{.block = 64, .blocks = 1}, MoeSortConfig{.block = 64, .blocks = 3}})
    expectSorted(problem, config,
                 {.m = 5,
                  .ids = {0, 5, 1, 1, 2, 5, 0, 3, 4, 2},
                  .weights = integers(10, 1, 0, 9),
                  .tokens = 4});
}

// Rows whose loads have one to eight scales, blocks that a row ends in, units that end inside of a group of 32 places,
// and experts without slots.
TEST_CASE("the scales of tokens are sorted along, in the order of prepared scales", "[run]") {
  for (const MoeSortConfig &config : ways()) {
    for (const std::int64_t scales : {1, 6, 8, 12, 90})
      expectSorted({.experts = 8, .topk = 2, .unit = 16, .scales = scales}, config,
                   randomSlots({.experts = 8, .topk = 2}, 37, 1));
    for (const int unit : {48, 128}) {
      const MoeSortProblem problem{.experts = 20, .topk = 3, .unit = unit, .scales = 40};
      Slots slots = randomSlots(problem, 50, 2);
      slots.spare = 2;
      expectSorted(problem, config, slots);
      expectSorted(problem, config, sameExpert(problem, 50, 7));
    }
    MoeSortProblem masked{.experts = 6, .topk = 2, .unit = 16, .capacity = 48, .scales = 24};
    expectSorted(masked, config, randomSlots(masked, 60, 3));
    masked.local = 2, masked.tokens = true;
    Slots few = randomSlots(masked, 60, 4);
    few.tokens = 30;
    expectSorted(masked, config, few);
    expectSorted({.experts = 12, .topk = 3, .unit = 16, .scales = 8}, config, {});
    expectSorted({.experts = 12, .topk = 3, .unit = 16, .scales = 8}, config, {.spare = 3});
  }
}

TEST_CASE("no tokens are sorted", "[run]") {
  for (const MoeSortConfig &config : ways()) {
    expectSorted({.experts = 12, .topk = 3, .places = true}, config, {});
    expectSorted({.experts = 12, .topk = 3, .capacity = 64, .places = true}, config, {});
    expectSorted({.experts = 12, .topk = 3}, config, {.spare = 3});
  }
}

TEST_CASE("slots without an expert have no place", "[run]") {
  const MoeSortProblem problem{.experts = 12, .topk = 3, .unit = 16, .places = true};
  Slots slots = randomSlots(problem, 40, 8);
  const double others[] = {-1, 12, -5, 0x7fffffff, -0x80000000ll};
  for (std::size_t i = 0; i < slots.ids.size(); i += 3)
    slots.ids[i] = others[i % 5];
  Slots none = slots;
  std::fill(none.ids.begin(), none.ids.end(), -1);
  for (const MoeSortConfig &config : ways()) {
    expectSorted(problem, config, slots);
    expectSorted(problem, config, none);
  }
}

TEST_CASE("a rank sorts the slots of its experts", "[run]") {
  const MoeSortProblem problem{.experts = 64, .topk = 6, .unit = 16, .local = 8, .places = true};
  Slots slots = randomSlots(problem, 45, 9), nowhere = slots, wrong = slots, all = slots;
  std::fill(nowhere.map.begin(), nowhere.map.end(), -1);
  wrong.map[0] = 8;
  wrong.map[8] = -7;
  MoeSortProblem whole = problem;
  whole.local = 64; // every expert, in another order
  for (std::size_t i = 0; i < 64; ++i)
    all.map[i] = double((i * 5 + 3) % 64);
  for (const MoeSortConfig &config : ways()) {
    expectSorted(problem, config, slots);
    expectSorted(problem, config, nowhere);
    expectSorted(problem, config, wrong);
    expectSorted(whole, config, all);
  }
}

TEST_CASE("the tokens are a number on the device", "[run]") {
  const MoeSortProblem problem{
      .experts = 16, .topk = 2, .unit = 16, .tokens = true, .places = true};
  Slots slots = randomSlots(problem, 50, 10);
  for (const MoeSortConfig &config : ways())
    for (std::int64_t tokens : {0, 1, 31, 50}) {
      slots.tokens = tokens;
      expectSorted(problem, config, slots);
    }
}

TEST_CASE("a number of tokens outside of those that there are is the nearest one", "[run]") {
  const MoeSortProblem problem{.experts = 4, .topk = 1, .tokens = true};
  const auto counted = [&](double tokens) {
    const Operand ids = Operand::input(fx::i32, 3, 1, std::vector<double>{2, 2, 0}),
                  weights = Operand::input(fx::f32, 3, 1, std::vector<double>(3)),
                  number = Operand::input(fx::i32, 1, 1, std::vector<double>{tokens}),
                  sorted = Operand::output(fx::i32, 1, 96),
                  sortedWeights = Operand::output(fx::f32, 1, 96),
                  units = Operand::output(fx::i32, 1, 3), counts = Operand::output(fx::i32, 1, 4),
                  offsets = Operand::output(fx::i32, 1, 5), totals = Operand::output(fx::i32, 1, 3);
    fk::MoeSortPlan(problem, {.block = 64},
                    {.check_indices = false})({.ids = ids.tensor(),
                                               .weights = weights.tensor(),
                                               .tokens = number.vector(),
                                               .sorted_ids = sorted.vector(),
                                               .sorted_weights = sortedWeights.vector(),
                                               .unit_experts = units.vector(),
                                               .counts = counts.vector(),
                                               .offsets = offsets.vector(),
                                               .totals = totals.vector()});
    fx::Device::current().synchronize();
    return counts.values();
  };
  CHECK(counted(100) == std::vector<double>{1, 0, 2, 0});
  CHECK(counted(-2) == std::vector<double>(4));
}

TEST_CASE("the masked layout drops what is past the capacity", "[run]") {
  MoeSortProblem problem{.experts = 24, .topk = 4, .unit = 16, .capacity = 16, .places = true};
  for (const MoeSortConfig &config : ways()) {
    problem.local = 0;
    problem.capacity = 16;
    expectSorted(problem, config, randomSlots(problem, 100, 11));
    expectSorted(problem, config, sameExpert(problem, 61, 23));
    problem.capacity = 128;
    expectSorted(problem, config, randomSlots(problem, 100, 12));
    problem.local = 4;
    problem.capacity = 32;
    expectSorted(problem, config, randomSlots(problem, 100, 13));
  }
}

TEST_CASE("more places than there have to be are padding", "[run]") {
  const MoeSortProblem problem{.experts = 8, .topk = 2, .unit = 32};
  for (const MoeSortConfig &config : ways()) {
    Slots slots = randomSlots(problem, 20, 14);
    slots.spare = 9;
    expectSorted(problem, config, slots);
  }
}

TEST_CASE("the places of any slots are those of moe_sort_places") {
  // The most places are taken where each expert begins a unit with one slot.
  CHECK(fk::moe_sort_places({.experts = 8, .topk = 2, .unit = 32}, 0) == 0);
  CHECK(fk::moe_sort_places({.experts = 8, .topk = 2, .unit = 32}, 1) == 64);
  CHECK(fk::moe_sort_places({.experts = 8, .topk = 2, .unit = 32}, 4) == 256);
  CHECK(fk::moe_sort_places({.experts = 8, .topk = 2, .unit = 32}, 20) == 288);
  CHECK(fk::moe_sort_places({.experts = 8, .topk = 2, .unit = 32, .capacity = 64}, 20) == 512);
  CHECK(fk::moe_sort_places({.experts = 64, .topk = 2, .unit = 32, .local = 2}, 20) == 96);
}

namespace {

/// Routers of models: Mixtral's softmax, DeepSeek-V3's groups with a bias and a shared expert, another
/// softmax with a bias, whose scores are divided by their sum, and ids that are given.
std::vector<MoeSortProblem> routed() {
  const auto by = [](const fk::TopkGatingProblem &router) {
    return MoeSortProblem{.experts = router.experts + router.shared,
                          .topk = router.topk + router.shared,
                          .unit = 16,
                          .places = true,
                          .router = router};
  };
  std::vector<MoeSortProblem> all{
      by({.logits = fx::bf16, .experts = 8, .topk = 2, .renormalise = true}),
      by({.experts = 64,
          .topk = 6,
          .renormalise = true,
          .score = fk::GatingScore::sigmoid,
          .bias = true,
          .groups = 8,
          .topk_groups = 4,
          .scale = 2.5f,
          .shared = 1}),
      by({.experts = 60, .topk = 4, .bias = true}),
      by({.experts = 32, .topk = 4, .score = fk::GatingScore::sqrt_softplus, .given = true})};
  all[1].local = 13;
  all[1].tokens = true;
  all[2].capacity = 16;
  all[3].zeros = 48;
  return all;
}

} // namespace

TEST_CASE("experts are chosen and slots sorted by one kernel", "[run]") {
  SweepCounts counts;
  for (const MoeSortProblem &problem : routed()) {
    // One token, as many as the block has at once and one more, and several rounds of them.
    for (std::int64_t m : {0, 1, 17, 40})
      runOnce(problem, fk::choose(problem, m), m, counts);
    runOnce(problem, {.block = 128, .threads = 16}, 9, counts);
    runOnce(problem, {.block = 64, .threads = here().wave_size()}, 3, counts);
  }
  CHECK(counts.compared == counts.runs);
  expectStructure(routed()[1], fk::choose(routed()[1], 11), 11);
}

TEST_CASE("one kernel gives the ids, weights and places of two", "[run]") {
  MoeSortProblem problem = routed()[1];
  problem.local = 0;
  problem.tokens = false;
  const std::int64_t m = 21, k = problem.topk, places = fk::moe_sort_places(problem, m);
  const MoeSortConfig config = fk::choose(problem, m);
  const Operand logits = Operand::input(fx::f32, m, 64, uniform(fx::f32, m * 64, 1, 6)),
                bias = Operand::input(fx::f32, 1, 64, uniform(fx::f32, 64, 2));
  const auto outputs = [&](bool together) {
    const Operand ids = Operand::output(fx::i32, m, k), weights = Operand::output(fx::f32, m, k),
                  sorted = Operand::output(fx::i32, 1, places),
                  sortedWeights = Operand::output(fx::f32, 1, places),
                  units = Operand::output(fx::i32, 1, places / 16),
                  counts = Operand::output(fx::i32, 1, 65),
                  offsets = Operand::output(fx::i32, 1, 66),
                  totals = Operand::output(fx::i32, 1, 3),
                  slotPlaces = Operand::output(fx::i32, m, k);
    fk::MoeSortArgs args{.ids = ids.tensor(),
                         .weights = weights.tensor(),
                         .sorted_ids = sorted.vector(),
                         .sorted_weights = sortedWeights.vector(),
                         .unit_experts = units.vector(),
                         .counts = counts.vector(),
                         .offsets = offsets.vector(),
                         .totals = totals.vector(),
                         .slot_places = slotPlaces.tensor()};
    const fx::Stream stream;
    if (together) {
      args.logits = logits.tensor();
      args.router_bias = bias.vector();
      fk::MoeSortPlan(problem, config)(args, stream);
    } else {
      fk::TopkGatingPlan(problem.router, {.threads = config.threads, .block = config.block})(
          {.logits = logits.tensor(),
           .weights = weights.tensor(),
           .ids = ids.tensor(),
           .bias = bias.vector()},
          stream);
      MoeSortProblem alone = problem;
      alone.router = {};
      fk::MoeSortPlan(alone, {.block = 64})(args, stream);
    }
    stream.synchronize();
    std::vector<std::vector<double>> all;
    for (const Operand *each :
         {&ids, &weights, &sorted, &sortedWeights, &units, &counts, &offsets, &totals, &slotPlaces})
      all.push_back(each->values());
    return all;
  };
  CHECK(outputs(true) == outputs(false));
}

TEST_CASE("moe_sort refuses routers, configurations and arguments that do not fit") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](auto change) {
    MoeSortProblem problem = routed()[0];
    change(problem);
    return fk::supported(problem, target).why;
  };
  CHECK(why([](auto &) {}).empty());
  CHECK(why([](auto &p) { p.experts = 9; }) == "experts is 9; the router has 8 and 0 shared ones");
  CHECK(why([](auto &p) { p.topk = 3; }) == "topk is 3; the router has 2 and 0 shared ones");
  CHECK(why([](auto &p) { p.weights = false; }) == "weights is false; a router writes weights");
  CHECK(why([](auto &p) { p.router.source_rows = true; }) ==
        "router: source_rows is of topk_gating alone");
  CHECK(why([](auto &p) { p.router.groups = 3; }).starts_with("router: groups is 3"));
  CHECK(why([](auto &p) { p.router.experts = 0; }) ==
        "router: it has no experts, and a router of no experts has the defaults");
  const auto whyNot = [&](const MoeSortProblem &problem, const MoeSortConfig &config) {
    return fk::supported(problem, config, target).why;
  };
  CHECK(whyNot(routed()[0], {.block = 64, .blocks = 2, .threads = 8}) ==
        "blocks is 2; one block chooses the experts of all tokens and sorts them: for many tokens, "
        "topk_gating and a moe_sort without a router");
  CHECK(whyNot(routed()[0], {.block = 64}).starts_with("router: threads=0 block=64"));
  CHECK(whyNot(routed()[0], {.block = 256, .threads = 256}).starts_with("router: threads=256"));
  CHECK(whyNot({.experts = 8}, {.block = 64, .threads = 8}) ==
        "threads is 8; they choose the experts of a token, and there is no router");
  const MoeSortProblem problem = routed()[2];
  const fk::MoeSortPlan plan(problem, fk::choose(problem, 10));
  const Operands<MoeSortProblem> operands(problem, plan.config(), 10);
  const auto expectRefusal = [&](const std::string &text, auto change) {
    fk::MoeSortArgs args = operands.args();
    change(args);
    const std::string got = messageOf([&] { plan(args); });
    INFO(got);
    CHECK(got.find("moe_sort: " + text) != std::string::npos);
  };
  expectRefusal("logits is missing; the problem has it", [](auto &args) { args.logits.reset(); });
  expectRefusal("router_bias is missing; the problem has it",
                [](auto &args) { args.router_bias.reset(); });
  expectRefusal("logits has the shape (9, 60); (m, experts) = (10, 60) is expected",
                [](auto &args) {
                  args.logits = fx::tensor(args.logits->data(), fx::f32, {9, 60});
                });
  expectRefusal("ids shares memory with weights, and both are written", [](auto &args) {
    args.weights = fx::tensor(args.ids.data(), fx::f32, {10, 4});
  });
  expectRefusal("ids shares memory with logits", [](auto &args) {
    args.ids = fx::tensor(args.logits->data(), fx::i32, {10, 4});
  });
  expectRefusal("ids shares memory with counts, and both are written",
                [](auto &args) { args.counts = fx::tensor(args.ids.data(), fx::i32, {60}); });
}

TEST_CASE("moe_sort: another run, a graph, a file", "[run]") {
  expectStructure<MoeSortProblem>({.experts = 32, .topk = 4, .unit = 16, .places = true},
                                  {.block = 64, .blocks = 1}, 70);
  expectStructure<MoeSortProblem>(
      {.experts = 32, .topk = 4, .unit = 16, .local = 8, .tokens = true, .places = true},
      {.block = 128, .blocks = 3}, 70);
  expectStructure<MoeSortProblem>(
      {.experts = 8, .topk = 2, .unit = 16, .capacity = 32, .scales = 40},
      {.block = 64, .blocks = 2}, 70);
}

TEST_CASE("moe_sort has a configuration for every problem that it supports") {
  std::vector<MoeSortProblem> problems;
  for (std::int64_t experts : {1, 8, 60, 64, 128, 160, 256, 257, 384, 512, 1024, 2047, 2048})
    for (std::int64_t capacity : {0, 256})
      for (int topk : {1, 8, 64})
        problems.push_back({.experts = experts, .topk = topk, .capacity = capacity});
  expectTotal(problems);
}

TEST_CASE("moe_sort says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const MoeSortProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({}) == "experts is 0; 1 to 2048 are supported");
  CHECK(why({.experts = 2049}) == "experts is 2049; 1 to 2048 are supported");
  CHECK(why({.experts = 8, .topk = 65}) == "topk is 65; 1 to 64 are supported");
  CHECK(why({.experts = 8, .unit = 512}) == "unit is 512; 1 to 256 are supported");
  CHECK(why({.experts = 8, .unit = 32, .capacity = 40}) ==
        "capacity is 40; it is a multiple of the unit, 32, or 0 for the contiguous layout");
  CHECK(why({.experts = 2048, .unit = 32, .capacity = 1 << 20}) ==
        "capacity is 1048576; the places of 2048 experts have numbers past 32 bits");
  CHECK(why({.experts = 8, .zeros = 40}) ==
        "zeros is 40; rows that are set to 0 have a multiple of 16 bytes, up to 67108864");
  CHECK(why({.experts = 8, .local = 9}) ==
        "local is 9; a rank has 1 to 8 of 8 experts, or 0 for all without a map");
  for (const std::int64_t scales : {-1, (1 << 20) + 1})
    CHECK(why({.experts = 8, .scales = scales}) ==
          "scales is " + std::to_string(scales) +
              "; rows of tokens have 1 to 1048576 scales that are sorted along, or 0 for none");
  CHECK(why({.experts = 8, .unit = 8, .scales = 4}) ==
        "unit is 8 and scales are sorted along; an expert begins at a multiple of 16 places then, "
        "and it is a multiple of that");
  CHECK(why({.experts = 8, .unit = 8, .capacity = 40, .scales = 4}) ==
        "capacity is 40 and scales are sorted along; an expert begins at a multiple of 16 places "
        "then, and it is a multiple of that");
  const auto whyNot = [&](const MoeSortConfig &config) {
    return fk::supported(MoeSortProblem{.experts = 2048}, config, target).why;
  };
  CHECK(whyNot({.block = 96}) == "block is 96; it is a multiple of 64 up to 1024");
  CHECK(whyNot({.block = 64, .blocks = 0}) == "blocks is 0; 1 to 1024 share the slots");
  CHECK(whyNot({.block = 1024}) ==
        "the counters of 1024 threads for 2048 experts take 139524 bytes "
        "of LDS; there are 65536");
  CHECK(messageOf([] {
          (void)fk::moe_sort_places({.experts = 4, .unit = 0}, 3);
        }).find("moe_sort: unit is 0") != std::string::npos);
}

TEST_CASE("moe_sort refuses arguments that do not fit") {
  const MoeSortProblem problem{.experts = 8, .topk = 2, .unit = 16};
  const fk::MoeSortPlan plan(problem, {.block = 64});
  const Operands<MoeSortProblem> operands(problem, plan.config(), 10);
  const auto expectRefusalOf = [](const fk::MoeSortPlan &called,
                                  const Operands<MoeSortProblem> &right, const std::string &text,
                                  auto change) {
    fk::MoeSortArgs args = right.args();
    change(args);
    const std::string got = messageOf([&] { called(args); });
    INFO(got);
    CHECK(got.find("moe_sort: " + text) != std::string::npos);
  };
  const auto expectRefusal = [&](const std::string &text, auto change) {
    expectRefusalOf(plan, operands, text, change);
  };
  const auto vector = [](const fx::TensorArg &tensor, std::int64_t n) {
    return fx::tensor(tensor.data(), tensor.dtype(), {n});
  };
  expectRefusal("sorted_ids has 112 places; 10 tokens need at least 128 (moe_sort_places), and "
                "units have 16 each",
                [&](auto &args) { args.sorted_ids = vector(args.sorted_ids, 112); });
  expectRefusal("sorted_ids has 136 places",
                [&](auto &args) { args.sorted_ids = vector(args.sorted_ids, 136); });
  expectRefusal("sorted_weights has the shape (144); (places) = (128) is expected",
                [&](auto &args) { args.sorted_weights = vector(*args.sorted_weights, 144); });
  expectRefusal("unit_experts is missing; the problem has it",
                [&](auto &args) { args.unit_experts.reset(); });
  expectRefusal("slot_places is given, and the problem does not have it",
                [&](auto &args) { args.slot_places = args.ids; });
  expectRefusal("sorted_ids shares memory with ids", [&](auto &args) {
    args.ids = fx::tensor(args.sorted_ids.data(), fx::i32, {10, 2});
  });
  expectRefusal("ids has 16777216 tokens; a number of 24 bits counts them, 16777215 are the most",
                [&](auto &args) {
                  args.ids = fx::tensor(args.ids.data(), fx::i32, {std::int64_t(1) << 24, 2});
                });
  MoeSortProblem withScales = problem;
  withScales.scales = 12;
  const fk::MoeSortPlan scaled(withScales, {.block = 64});
  const Operands<MoeSortProblem> ofScaled(withScales, scaled.config(), 10);
  const auto expectRefusalOfScales = [&](const std::string &text, auto change) {
    expectRefusalOf(scaled, ofScaled, text, change);
  };
  const auto powers = [](const std::optional<fx::TensorArg> &tensor, const fx::Extents &shape,
                         const fx::Extents &strides = {}) {
    return fx::tensor(tensor->data(), fx::f8E8M0FNU, shape, strides);
  };
  expectRefusalOfScales("scales has the shape (10, 11); (m, scales) = (10, 12) is expected",
                        [&](auto &args) {
                          args.scales = powers(args.scales, {10, 11});
                        });
  expectRefusalOfScales("sorted_scales has the shape (128, 12); (places / 32, scales / 8, 256) = "
                        "(4, 2, 256) is expected",
                        [&](auto &args) {
                          args.sorted_scales = powers(args.sorted_scales, {128, 12});
                        });
  const std::tuple<std::int64_t, const char *> strides[] = {
      {14, "(14, 1); the stride of m, 14, is no multiple of 4; a thread loads as many of a row "
           "together"},
      {-12, "(-12, 1); the stride of m is negative"}};
  for (const auto &[stride, why] : strides)
    expectRefusalOfScales(std::string("scales has the shape (10, 12) and the strides ") + why,
                          [&](auto &args) {
                            args.scales = powers(args.scales, {10, 12}, {stride, 1});
                          });
  expectRefusalOfScales("sorted_scales starts at an address that is no multiple of 4 bytes; a "
                        "thread writes words of them",
                        [&](auto &args) {
                          args.sorted_scales = fx::tensor(
                              static_cast<std::uint8_t *>(args.sorted_scales->data()) + 2,
                              fx::f8E8M0FNU, {4, 2, 256});
                        });
  expectRefusalOfScales("sorted_scales is missing; the problem has it",
                        [](auto &args) { args.sorted_scales.reset(); });
  expectRefusalOfScales("sorted_scales shares memory with scales", [&](auto &args) {
    args.scales = powers(args.sorted_scales, {10, 12});
  });
  const MoeSortProblem masked{.experts = 8, .topk = 2, .unit = 16, .capacity = 16};
  const fk::MoeSortPlan other(masked, {.block = 64, .blocks = 2});
  const Operands<MoeSortProblem> rest(masked, other.config(), 10);
  fk::MoeSortArgs args = rest.args();
  args.sorted_ids = vector(args.sorted_ids, 64);
  CHECK(messageOf([&] {
          other(args);
        }).find("sorted_ids has the shape (64); (places) = (128) is expected") !=
        std::string::npos);
  args = rest.args();
  args.workspace.reset();
  CHECK(messageOf([&] { other(args); }).find("moe_sort: workspace") != std::string::npos);
}
