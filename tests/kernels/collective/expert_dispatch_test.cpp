// Dispatch of tokens to the ranks of their experts, byte by byte against its definition.
#include "collective/experts.h"

#include <flydsl/host/autotune.h>

using namespace collective_tests;

namespace {

using fk::ExpertDispatchConfig;

/// Few threads, so that few tokens have several blocks and some threads have several rows.
constexpr ExpertDispatchConfig kSmall{
    .rows = {.threads = 32, .block = 64}, .blocks = 3, .sort = {.block = 64}};
constexpr ExpertDispatchProblem kTwo{
    .n = 72, .experts = 6, .topk = 2, .ranks = 2, .tokens = 9, .unit = 16};

/// The ranks of a group with their tokens, and a dispatch.
class Dispatch {
public:
  Dispatch(const ExpertDispatchProblem &problem, const ExpertDispatchConfig &config,
           const std::vector<std::int64_t> &m, std::int64_t places,
           const fx::GroupOptions &options = {.capacity = 1 << 16})
      : ranks(problem.ranks, options), problem_(problem), m_(m), places_(places),
        plan(problem, config) {
    all = tokensOf(problem, m, 1);
    ranks.each([&](int rank) { operands.emplace_back(problem, config, all[at(rank)], places); });
  }
  void fill(std::uint64_t seed) {
    all = tokensOf(problem_, m_, seed);
    for (std::size_t rank = 0; rank < all.size(); ++rank) {
      operands[rank].fill(all[rank]);
      if (!problem_.registered)
        continue;
      const fk::ExpertDispatchRegistered places = fk::expert_dispatch_registered(problem_);
      const fx::Group &group = ranks.group(static_cast<int>(rank));
      copyRows(group, 0, places.row, all[rank].x, all[rank].m);
      if (problem_.scale)
        copyRows(group, places.scales_at, places.scale_row, all[rank].scales, all[rank].m);
    }
  }
  fk::ExpertDispatchArgs args(int rank) const {
    const fx::Group &group = ranks.group(rank);
    fk::ExpertDispatchArgs args = operands[at(rank)].args(group);
    if (problem_.registered) {
      const fk::ExpertDispatchRegistered places = fk::expert_dispatch_registered(problem_);
      args.x = registeredRows(group, 0, problem_.x, m_[at(rank)], problem_.n, places.row);
      if (problem_.scale)
        args.scales = registeredRows(group, places.scales_at, problem_.scale, m_[at(rank)],
                                     problem_.scales, places.scale_row);
    }
    return args;
  }
  void call(int rank, const fx::Stream &stream) const { plan(args(rank), stream); }
  void run() const {
    ranks.run([&](int rank, const fx::Stream &stream) { call(rank, stream); });
  }
  void expectRight() const {
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      INFO("rank " << rank);
      ranks.group(rank).check();
      operands[at(rank)].expect(expectedPlaces(problem_, all, rank, places_));
    }
  }

  GroupRanks ranks;

private:
  ExpertDispatchProblem problem_;
  std::vector<std::int64_t> m_;
  std::int64_t places_;

public:
  fk::ExpertDispatchPlan plan;
  std::vector<RankTokens> all;
  std::vector<DispatchOperands> operands;
};

/// A group whose registered memory has just enough bytes.
fx::GroupOptions optionsFor(const ExpertDispatchProblem &problem) {
  fx::GroupOptions options{.capacity = 1 << 16};
  if (problem.registered)
    options.registered = static_cast<std::size_t>(fk::expert_dispatch_registered(problem).bytes);
  return options;
}
void expectRight(const ExpertDispatchProblem &problem, const ExpertDispatchConfig &config,
                 const std::vector<std::int64_t> &m, std::int64_t places = 0, int calls = 3) {
  INFO(fx::to_config(problem).str() << " " << fx::to_config(config).str());
  Dispatch dispatch(problem, config, m, places ? places : fk::expert_dispatch_places(problem),
                    optionsFor(problem));
  for (int call = 0; call < calls; ++call) {
    dispatch.fill(static_cast<std::uint64_t>(call) + 5);
    dispatch.run();
    dispatch.expectRight();
  }
}

/// The same problem with a change.
template <class F> ExpertDispatchProblem with(const F &change) {
  ExpertDispatchProblem problem = kTwo;
  change(problem);
  return problem;
}

} // namespace

TEST_CASE("dispatch to two ranks", "[run]") {
  expectRight(kTwo, kSmall, {9, 4});
  expectRight(with([](auto &p) { p.capacity = 32; }), kSmall, {5, 9}, 3 * 32);
}

TEST_CASE("dispatch of tokens in registered memory, which no call copies", "[run]") {
  const ExpertDispatchProblem whole = with([](auto &p) { p.registered = true; });
  expectRight(whole, kSmall, {9, 4}, 0, 2);
  const ExpertDispatchProblem scaled = with([](auto &p) {
    p.registered = true;
    p.x = fx::f8E4M3FN;
    p.n = 40; // rows begin at multiples of 16 bytes
    p.scale = fx::f32;
    p.scales = 5;
  });
  CHECK(fk::expert_dispatch_registered(scaled).row == 48);
  CHECK(fk::expert_dispatch_registered(scaled).scale_row == 32);
  CHECK(fk::expert_dispatch_registered(scaled).scales_at == 9 * 48);
  CHECK(fk::expert_dispatch_registered(scaled).bytes == 9 * (48 + 32));
  expectRight(scaled, kSmall, {0, 9}, 0, 2);
}

TEST_CASE("dispatch of registered tokens: what is refused") {
  const ExpertDispatchProblem problem = with([](auto &p) {
    p.registered = true;
    p.scale = fx::f32;
    p.scales = 4;
  });
  const std::int64_t places = fk::expert_dispatch_places(problem);
  const Dispatch dispatch(problem, kSmall, {9, 9}, places, optionsFor(problem));
  const auto told = [&](auto change) {
    fk::ExpertDispatchArgs args = dispatch.args(0);
    change(args);
    return messageOf([&] { dispatch.plan(args, dispatch.ranks.stream(0)); });
  };
  const fx::TensorArg elsewhere = dispatch.operands[0].args(dispatch.ranks.group(0)).x;
  expectPart(told([&](auto &a) { a.x = elsewhere; }), "x is not at byte 0 of Group::registered()");
  expectPart(
      told([&](auto &a) { a.x = registeredRows(*a.group, 0, problem.x, 9, problem.n, 160); }),
      "rows of x have a stride of 80 elements; in registered memory it is 144 bytes");
  expectPart(told([&](auto &a) { a.scales = registeredRows(*a.group, 0, fx::f32, 9, 4, 16); }),
             "scales is not at byte 1296 of Group::registered()");
  dispatch.ranks.group(0).check(); // no launch waits for the other rank
  const Dispatch few(problem, kSmall, {9, 9}, places, {.capacity = 1 << 16, .registered = 64});
  expectPart(messageOf([&] { few.plan(few.args(0), few.ranks.stream(0)); }),
             "1440 bytes of tokens do not fit the group's registered memory of 64");
  const Dispatch none(problem, kSmall, {9, 9}, places);
  CHECK(none.ranks.group(0).registered() == nullptr);
  expectPart(messageOf([&] {
               fk::ExpertDispatchArgs args = none.operands[0].args(none.ranks.group(0));
               none.plan(args, none.ranks.stream(0));
             }),
             "registered memory of 0; make the group with GroupOptions::registered");
  expectPart(messageOf([] {
               (void)fx::Group::of({fx::Device(0), fx::Device(1)},
                                   {.registered = (std::size_t(1) << 36) + 1});
             }),
             "a group's registered memory is 68719476737 bytes; it is up to 2^36");
}

TEST_CASE("dispatch of all types, with scales") {
  const fx::DType types[] = {fx::f32, fx::f16, fx::i8, fx::f8E4M3FN, fx::f4E2M1FN};
  for (const fx::DType type : types)
    expectRight(with([&](auto &p) {
                  p.x = type;
                  p.weights = type != fx::i8;
                  if (type == fx::f8E4M3FN) {
                    p.scale = fx::f32;
                    p.scales = 5;
                  }
                  if (type == fx::f4E2M1FN) {
                    p.scale = fx::f8E8M0FNU;
                    p.scales = 3;
                  }
                }),
                kSmall, {3, 9}, 0, 2);
}

TEST_CASE("dispatch to four and to eight ranks, some without tokens") {
  expectRight(with([](auto &p) {
                p.ranks = 4;
                p.experts = 20;
                p.topk = 3;
                p.n = 7;
              }),
              {.rows = {.threads = 8, .block = 64, .resident = false},
               .blocks = 2,
               .sort = {.block = 64, .blocks = 2}},
              {9, 0, 1, 7}, 0, 2);
  expectRight(with([](auto &p) {
                p.ranks = 8;
                p.experts = 8;
                p.tokens = 4;
                p.capacity = 64;
              }),
              kSmall, {4, 4, 0, 1, 2, 3, 4, 0}, 64, 2);
}

TEST_CASE("dispatch in graphs, with the configuration that is chosen") {
  const std::int64_t places = fk::expert_dispatch_places(kTwo);
  Dispatch dispatch(kTwo, fk::choose(kTwo, 9), {9, 9}, places);
  const std::vector<fx::Graph> graphs = dispatch.ranks.captured(
      [&](int rank, const fx::Stream &stream) { dispatch.call(rank, stream); });
  for (std::uint64_t replay = 0; replay < 3; ++replay) {
    dispatch.fill(replay);
    dispatch.ranks.run(graphs);
    dispatch.expectRight();
  }
}

TEST_CASE("fewer places than there may be are enough where they are, and an error where not") {
  // Each rank's slots of its three experts have between 48 and 64 places here.
  Dispatch enough(kTwo, kSmall, {9, 9}, 64);
  enough.run();
  enough.expectRight();

  for (const bool isFixed : {false, true}) {
    const ExpertDispatchProblem problem = with([&](auto &p) { p.capacity = isFixed ? 16 : 0; });
    Dispatch few(problem, kSmall, {9, 9}, isFixed ? 3 * 16 : 32);
    few.all = tokensOf(problem, {9, 9}, 1);
    for (RankTokens &tokens : few.all)
      std::fill(tokens.ids.begin(), tokens.ids.end(), 1); // all of them to the first rank
    for (std::size_t rank = 0; rank < 2; ++rank)
      few.operands[rank].fill(few.all[rank]);
    few.run();
    const std::string told = messageOf([&] { few.ranks.group(0).check(); });
    expectPart(told, "rank 0 of a group of 2 was given more slots of tokens than its experts have "
                     "places for");
    // What has a place is right, and nothing else is written.
    const ExpectedPlaces expected = expectedPlaces(problem, few.all, 0, isFixed ? 3 * 16 : 32);
    if (!isFixed)
      CHECK(few.operands[0].y.to_host() == expected.x);
    CHECK(few.operands[1].y.to_host() == Bytes(few.operands[1].y.to_host().size(), kUntouched));
    few.ranks.each([&](int rank) {
      if (rank == 0)
        expectPart(messageOf([&] { few.call(0, few.ranks.stream(0)); }), "make another group");
    });
    // The other rank is told when it waits for the first one next, at once: in this call or the next.
    few.ranks.each([&](int rank) {
      if (rank == 1)
        expectPart(messageOf([&] {
                     few.call(1, few.ranks.stream(1));
                     few.ranks.synchronize();
                     few.ranks.group(1).check();
                   }),
                   "rank 1 of a group of 2 can't go on: rank 0 was given more slots of tokens");
    });
  }
}

TEST_CASE("a dispatch whose partner does not come moves no row, and is an error in time") {
  Dispatch dispatch(kTwo, kSmall, {9, 9}, 64,
                    {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)});
  dispatch.ranks.run([&](int rank, const fx::Stream &stream) {
    if (rank == 0)
      dispatch.call(rank, stream);
  });
  expectPart(messageOf([&] { dispatch.ranks.group(0).check(); }),
             "rank 0 of a group of 2 has waited 200 ms for rank 1 in vain");
  const DispatchOperands &own = dispatch.operands[0];
  CHECK(own.counts.to_host() == std::vector<std::int32_t>(3, 0));
  CHECK(own.y.to_host() == Bytes(own.y.to_host().size(), kUntouched));
}

TEST_CASE("ranks whose dispatches differ are told so") {
  Dispatch dispatch(kTwo, kSmall, {9, 9}, 64,
                    {.capacity = 1 << 16, .timeout = std::chrono::seconds(2)});
  const ExpertDispatchProblem other = with([](auto &p) { p.experts = 8; });
  const fk::ExpertDispatchPlan plan(other, kSmall);
  const std::vector<RankTokens> all = tokensOf(other, {9, 9}, 1);
  dispatch.ranks.each([&](int rank) {
    if (rank)
      dispatch.operands[1] = DispatchOperands(other, kSmall, all[1], 64);
  });
  dispatch.ranks.run([&](int rank, const fx::Stream &stream) {
    if (rank)
      plan(dispatch.operands[1].args(dispatch.ranks.group(1)), stream);
    else
      dispatch.call(0, stream);
  });
  expectPart(messageOf([&] { dispatch.ranks.group(0).check(); }) + "\n" +
                 messageOf([&] { dispatch.ranks.group(1).check(); }),
             "made different calls at one place of their order");
}

TEST_CASE("a checked dispatch tells of experts that there are not") {
  Dispatch dispatch(kTwo, kSmall, {9, 9}, 64,
                    {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)});
  const fk::ExpertDispatchPlan checked(kTwo, kSmall, {.check_indices = true});
  dispatch.all[0].ids[3] = 6;
  dispatch.operands[0].fill(dispatch.all[0]);
  dispatch.ranks.run([&](int rank, const fx::Stream &stream) {
    checked(dispatch.operands[at(rank)].args(dispatch.ranks.group(rank)), stream);
  });
  expectPart(messageOf([&] { checked.check(); }), "ids[1, 1] is 6; it is -1 or from 0 to 5");
  // The rank that stays away is missed.
  expectPart(messageOf([&] { dispatch.ranks.group(1).check(); }), "for rank 0 in vain");
  // Without the check, the slot has no place.
  Dispatch unchecked(kTwo, kSmall, {9, 9}, 64);
  unchecked.all[0].ids[3] = 6;
  unchecked.operands[0].fill(unchecked.all[0]);
  unchecked.run();
  unchecked.expectRight();
}

TEST_CASE("dispatch: what is refused") {
  Dispatch dispatch(kTwo, kSmall, {9, 9}, 64, {.capacity = 1 << 10});
  const auto told = [&](auto change) {
    fk::ExpertDispatchArgs args = dispatch.operands[0].args(dispatch.ranks.group(0));
    change(args);
    return messageOf([&] { dispatch.plan(args, dispatch.ranks.stream(0)); });
  };
  expectPart(told([](auto &) {}), "bytes do not fit the group's windows of 1024");
  expectPart(told([](auto &a) { a.group = nullptr; }), "expert_dispatch: group is null");
  expectPart(told([](auto &a) {
               a.y = fx::TensorArg(a.y.data(), fx::bf16, fx::Extents{63, 72});
             }),
             "y has 63 places; they are units of 16, 1 or more");
  expectPart(told([](auto &a) {
               a.x = fx::TensorArg(a.x.data(), fx::bf16, fx::Extents{10, 72});
             }),
             "m is 10; a rank has up to 9 tokens in this problem");
  expectPart(told([](auto &a) {
               a.ids = fx::TensorArg(a.ids.data(), fx::i32, fx::Extents{9, 3});
             }),
             "ids has the shape (9, 3); (m, topk) = (9, 2) is expected");
  expectPart(told([](auto &a) { a.weights.reset(); }), "weights");
  expectPart(told([](auto &a) { a.scales = a.x; }), "scales is given, and the problem does not");
  expectPart(told([](auto &a) { a.workspace.reset(); }), "workspace");
  expectPart(told([](auto &a) {
               a.y = fx::TensorArg(a.x.data(), fx::bf16, fx::Extents{64, 72});
             }),
             "y shares memory with x");
  expectPart(
      told([](auto &a) { a.totals = fx::TensorArg(a.counts.data(), fx::i32, fx::Extents{3}); }),
      "counts shares memory with totals");
  expectPart(told([](auto &a) {
               a.slot_places = fx::TensorArg(a.ids.data(), fx::i32, fx::Extents{2, 9, 2});
             }),
             "slot_places shares memory with ids");
  expectPart(told([](auto &a) {
               a.sorted_weights = fx::TensorArg(a.workspace->data(), fx::f32, fx::Extents{64});
             }),
             "sorted_weights shares memory with workspace");
  const fk::ExpertDispatchPlan four(with([](auto &p) {
                                      p.ranks = 4;
                                      p.experts = 8;
                                    }),
                                    kSmall);
  expectPart(messageOf([&] {
               four(dispatch.operands[0].args(dispatch.ranks.group(0)), dispatch.ranks.stream(0));
             }),
             "ranks of the problem is 4, and the group has 2");

  const auto why = [](auto change) { return fk::supported(with(change)).why; };
  expectPart(why([](auto &p) { p.ranks = 3; }), "ranks is 3; it is 2, 4 or 8");
  expectPart(why([](auto &p) { p.experts = 7; }),
             "experts is 7; each of the 2 ranks has the same number of them");
  expectPart(why([](auto &p) { p.experts = 0; }), "experts is 0; each of the 2 ranks");
  expectPart(why([](auto &p) { p.topk = 65; }), "topk is 65");
  expectPart(why([](auto &p) { p.tokens = 0; }), "tokens is 0; it is 1 to 8388607");
  expectPart(why([](auto &p) { p.x = fx::i32; }), "x is of type i32");
  expectPart(why([](auto &p) {
               p.x = fx::f4E2M1FN;
               p.n = 9;
             }),
             "n is 9; elements of 4 bits fill bytes, so it is even");
  expectPart(why([](auto &p) { p.capacity = 20; }), "capacity is 20; it is a multiple of the unit");
  expectPart(why([](auto &p) { p.scales = 2; }), "scales is 2, and scale, their type, is none");
  expectPart(why([](auto &p) { p.scale = fx::f32; }), "scales is 0; it is 1 to 72");
  expectPart(why([](auto &p) { p.scale = fx::f16; }), "scale is of type f16");
  expectPart(
      messageOf([&] { (void)fk::expert_dispatch_places(with([](auto &p) { p.experts = 7; })); }),
      "expert_dispatch: experts is 7");
  CHECK_FALSE(fk::supported(kTwo, ExpertDispatchConfig{.blocks = 129}));
  CHECK_FALSE(fk::supported(kTwo, ExpertDispatchConfig{.rows = {.threads = 3, .block = 64}}));
}
