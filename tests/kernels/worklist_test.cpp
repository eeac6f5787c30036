// Worklists: what they promise, on the host; and that the device makes the same.
#include "blocks/attention/worklist.h"
#include "support/structure.h"

#include <flydsl/kernels/worklist.h>

using namespace kernel_tests;

namespace {

using fk::WorklistProblem;
using namespace fx::kernels::impl;

/// Lengths of sequences: few and many, short and long ones, some of them 0.
std::vector<std::vector<std::int32_t>> batches() {
  std::vector<std::vector<std::int32_t>> all{{},       {0},       {1},
                                             {100000}, {0, 0, 0}, {256, 257, 255, 512}};
  for (std::uint64_t seed : {1, 2, 3, 4, 5}) {
    std::vector<std::int32_t> lengths;
    const std::int64_t count = std::int64_t(1) << (2 * seed);
    for (double x : integers(count, seed, 0, 1 << 12))
      lengths.push_back(std::int32_t(x) * (std::int32_t(x) % 7 == 0 ? 10 : 1));
    all.push_back(lengths);
  }
  return all;
}

/// Requires what a worklist promises: each unit of each sequence belongs to one worker, whose parts
/// are those that the sequence looks for; and workers have the same number of units, or one more.
void expectPromises(const WorklistProblem &problem, const std::vector<std::int32_t> &lengths,
                    std::int32_t before) {
  INFO(fx::to_config(problem).str() << " n=" << lengths.size());
  const std::vector<std::int32_t> list = fk::make_worklist(problem, lengths, before);
  const std::size_t n = lengths.size();
  REQUIRE(list.size() == n + 1 + std::size_t(problem.workers));
  for (std::size_t s = 0; s < n; ++s) {
    // The keys that queries see, from a multiple of 32 on.
    const std::int64_t first =
        problem.window && before >= 0
            ? std::max<std::int64_t>(0, lengths[s] - problem.queries - before) / 32 * 32
            : 0;
    const std::int64_t units = (lengths[s] - first + problem.unit - 1) / problem.unit;
    if (list[s + 1] - list[s] != std::max<std::int64_t>(1, units))
      FAIL("sequence " << s << " has " << list[s + 1] - list[s] << " units");
  }
  const UnitDeal<std::int64_t> deal{list[n], problem.workers};
  std::vector<std::vector<std::int64_t>> parts(n);
  std::vector<int> covered(static_cast<std::size_t>(list[n]));
  std::int64_t least = list[n], most = 0;
  for (std::int64_t worker = 0; worker < problem.workers; ++worker) {
    const std::int64_t begin = deal.begin(worker), end = deal.begin(worker + 1);
    least = std::min(least, end - begin);
    most = std::max(most, end - begin);
    std::size_t sequence = std::size_t(list[n + 1 + std::size_t(worker)]);
    if (begin == end) {
      CHECK((sequence == n || begin < list[n]));
      continue;
    }
    for (std::int64_t unit = begin; unit < end; ++sequence) {
      REQUIRE(sequence < n);
      REQUIRE((list[sequence] <= unit && unit < list[sequence + 1]));
      const std::int64_t to = std::min<std::int64_t>(list[sequence + 1], end);
      for (std::int64_t i = unit; i < to; ++i) {
        ++covered[std::size_t(i)];
        if (deal.workerOf(i) != worker)
          FAIL("unit " << i << " is looked for at worker " << deal.workerOf(i));
      }
      parts[sequence].push_back(worker * 2 + (unit > begin ? 1 : 0));
      unit = to;
    }
  }
  CHECK(most <= least + 1);
  CHECK(std::count(covered.begin(), covered.end(), 1) == list[n]);
  for (std::size_t s = 0; s < n; ++s) {
    const auto found = SequenceParts<std::int64_t>::of(deal, list[s], list[s + 1]);
    if (found.count != std::ssize(parts[s]) || found.firstPart != parts[s][0])
      FAIL("sequence " << s);
    for (std::int64_t i = 1; i < found.count; ++i)
      if (found.secondPart + (i - 1) * 2 != parts[s][std::size_t(i)])
        FAIL("part " << i << " of sequence " << s);
  }
}

} // namespace

TEST_CASE("each unit of a worklist is one worker's, and all have the same work") {
  for (const std::vector<std::int32_t> &lengths : batches())
    for (int workers : {1, 2, 3, 7, 64, 304, 1000})
      for (int unit : {32, 256}) {
        expectPromises({.workers = workers, .unit = unit}, lengths, -1);
        expectPromises({.workers = workers, .unit = unit, .queries = 3, .window = true}, lengths,
                       300);
      }
}

TEST_CASE("the device makes the host's worklist", "[run]") {
  for (const std::vector<std::int32_t> &lengths : batches()) {
    if (lengths.empty())
      continue;
    const std::int64_t n = std::ssize(lengths);
    for (int workers : {1, 5, 100})
      for (std::int32_t before : {-1, 500}) {
        const WorklistProblem problem{
            .workers = workers, .unit = 64, .queries = 2, .window = before >= 0};
        INFO(fx::to_config(problem).str() << " n=" << n);
        const Operand contexts = Operand::input(
                          fx::i32, 1, n, std::vector<double>(lengths.begin(), lengths.end())),
                      list = Operand::output(fx::i32, 1, n + 1 + workers);
        const fx::Stream stream;
        fk::WorklistPlan(problem, {.block = 64})(
            {.seq_lens = contexts.vector(), .window_left = before, .worklist = list.vector()},
            stream);
        stream.synchronize();
        const std::vector<std::int32_t> host = fk::make_worklist(problem, lengths, before);
        const std::vector<double> expected(host.begin(), host.end());
        CHECK(list.values() == expected);
      }
  }
}

TEST_CASE("worklists of sequences with different numbers of queries", "[run]") {
  const std::vector<std::int32_t> lengths{700, 3, 900, 0, 400}, starts{0, 9, 10, 10, 10, 300};
  const Operand ofKeys = Operand::input(fx::i32, 1, 5, std::vector<double>{700, 3, 900, 0, 400}),
                ofQueries =
                    Operand::input(fx::i32, 1, 6, std::vector<double>{0, 9, 10, 10, 10, 300}),
                list = Operand::output(fx::i32, 1, 9);
  for (std::int32_t before : {-1, 60}) {
    const WorklistProblem problem{.workers = 3, .unit = 64, .window = before >= 0, .varlen = true};
    const fx::Stream stream;
    fk::WorklistPlan(problem, {.block = 64})({.seq_lens = ofKeys.vector(),
                                              .cu_seqlens_q = ofQueries.vector(),
                                              .window_left = before,
                                              .worklist = list.vector()},
                                             stream);
    stream.synchronize();
    const std::vector<std::int32_t> host = fk::make_worklist(problem, lengths, before, starts);
    CHECK(list.values() == std::vector<double>(host.begin(), host.end()));
    // The first of 9 queries stands at key 691 and sees those from 631 on; the first of 290 at 110.
    CHECK(host[1] == (before < 0 ? 11 : 2));
    CHECK(host[5] - host[4] == (before < 0 ? 7 : 6));
    CHECK(host[3] - host[2] == 1); // of 900 keys, and no query sees any
  }
  const auto why = [&](const WorklistProblem &problem, std::span<const std::int32_t> of) {
    return messageOf([&] { (void)fk::make_worklist(problem, lengths, -1, of); });
  };
  CHECK(why({.varlen = true}, {}) == "worklist: cu_seqlens_q has 0 numbers, and seq_lens 5; with "
                                     "varlen it has one more, and otherwise none");
  CHECK(why({}, starts).find("cu_seqlens_q has 6 numbers") != std::string::npos);
  std::vector<std::int32_t> falling(starts.begin(), starts.end());
  falling[3] = falling[2] - 1;
  CHECK(why({.varlen = true}, falling).find("worklist: cu_seqlens_q[3] is ") != std::string::npos);
  const std::vector<std::int32_t> negative{4, -1};
  CHECK(messageOf([&] { (void)fk::make_worklist({}, negative); }) ==
        "worklist: seq_lens[1] is -1; it is a number of keys");
  CHECK(messageOf([&] { (void)fk::make_worklist({}, lengths, 5); }) ==
        "worklist: window_left is given, and the problem has no window");
  for (const std::int64_t left : {std::int64_t(-2), std::int64_t(1) << 30})
    CHECK(messageOf([&] {
            (void)fk::make_worklist({.window = true}, lengths, left);
          }).find("it is a number of tokens below 2^30, or -1 for all") != std::string::npos);
}

TEST_CASE("a worklist of no sequences", "[run]") {
  const WorklistProblem problem{.workers = 3};
  const Operand list = Operand::output(fx::i32, 1, 4);
  fx::DeviceArray<int> none({0});
  const fx::Stream stream;
  fk::WorklistPlan(problem, {.block = 64})({.seq_lens = none, .worklist = list.vector()}, stream);
  stream.synchronize();
  CHECK(list.values() == std::vector<double>{0, 0, 0, 0});
}

TEST_CASE("worklist: another run, a graph, a file", "[run]") {
  const WorklistProblem problem{.workers = 4, .unit = 32};
  const fk::WorklistPlan plan(problem, fk::choose(problem, 70));
  Operands<WorklistProblem> operands(problem, plan.config(), 70);
  const ScratchFile file;
  fk::export_aot(problem, plan.config(), file.path(), {});
  const auto loaded = fk::WorklistPlan::load(fx::load_aot(file.path()), problem, plan.config());
  const fx::Stream stream;
  std::vector<std::vector<std::uint8_t>> results;
  const auto run = [&](const auto &launch) {
    operands.fill(1);
    launch();
    stream.synchronize();
    results.push_back(operands.results());
  };
  run([&] { plan(operands.args(), stream); });
  run([&] { plan(operands.args(), stream); });
  const Replay replay(stream, [&] { plan(operands.args(), stream); });
  run(replay);
  run([&] { loaded(operands.args(), stream); });
  for (const auto &bytes : results)
    CHECK(bytes == results[0]);
}

TEST_CASE("worklist says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const WorklistProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({.workers = 0}) == "workers is 0; there are 1 to 65535");
  CHECK(why({.unit = 48}) == "unit is 48; it is a multiple of 32 up to 65536");
  CHECK(why({.queries = 65536}) == "queries is 65536; a sequence has 1 to 65535");
  CHECK(why({.queries = 0}) == "queries is 0; a sequence has 1 to 65535");
  CHECK(messageOf([] { (void)fk::make_worklist({.unit = 1}, {}); }).find("worklist: unit is 1") !=
        std::string::npos);
  const WorklistProblem problem{.workers = 2};
  const fk::WorklistPlan plan(problem, fk::choose(problem, 2));
  const Operands<WorklistProblem> operands(problem, plan.config(), 2);
  fk::WorklistArgs args = operands.args();
  args.window_left = 5;
  CHECK(messageOf([&] { plan(args); }).find("the problem has no window") != std::string::npos);
  args = operands.args();
  args.worklist = args.seq_lens;
  CHECK(messageOf([&] {
          plan(args);
        }).find("worklist has the shape (2); (n + 1 + workers) = (5) is expected") !=
        std::string::npos);
}
