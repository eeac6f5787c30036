// Tokens that are drawn, against sorted rows in double precision and by their distribution.
#include "reference/reference.h"
#include "support/structure.h"

#include <flydsl/kernels/sampling.h>

#include <limits>
#include <set>

using namespace kernel_tests;

namespace {

using fk::SamplingProblem, fk::SamplingConfig;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// What the rows of a call have, by the names of Args. A single row of logits is that of all rows.
using Rows = fk::reference::Inputs;

struct Drawn {
  std::vector<double> tokens = {}, logs = {}, offsets = {}, accepted = {}, lengths = {};
};

Drawn draw(const SamplingProblem &problem, const SamplingConfig &config, std::int64_t m,
           const Rows &rows) {
  const std::int64_t n = problem.vocabulary, words = (n + 31) / 32;
  std::map<std::string, Operand> made;
  const auto operand = [&](const char *name, fx::DType dtype, std::int64_t count) {
    return made
        .emplace(name,
                 Operand::both(dtype, std::ssize(rows.at(name)) / count, count, rows.at(name)))
        .first->second.tensor();
  };
  const auto vector = [&](bool has, const char *name, fx::DType dtype) {
    return has ? std::optional(made.emplace(name, Operand::both(dtype, 1, m, rows.at(name)))
                                   .first->second.vector())
               : std::nullopt;
  };
  const auto matrix = [&](bool has, const char *name, fx::DType dtype, std::int64_t count) {
    return has ? std::optional(operand(name, dtype, count)) : std::nullopt;
  };
  fx::TensorArg logits = operand("logits", problem.logits, n);
  if (std::ssize(rows.at("logits")) == n)
    logits = fx::tensor(logits.data(), problem.logits, {m, n}, {0, 1});
  const Operand tokens = Operand::output(fx::i32, 1, m), logs = Operand::output(fx::f32, 1, m);
  const bool draws = problem.temperature, penalties = problem.penalties,
             drafts = problem.draft != fk::Draft::none;
  const std::int64_t sequences = drafts ? std::ssize(rows.at("starts")) - 1 : 0;
  const Operand accepted = Operand::output(fx::i32, 1, m),
                lengths = Operand::output(fx::i32, 1, sequences);
  std::optional<fx::TensorArg> starts;
  if (drafts)
    starts = made.emplace("starts", Operand::both(fx::i32, 1, sequences + 1, rows.at("starts")))
                 .first->second.vector();
  const fk::SamplingArgs args{
      .logits = logits,
      .tokens = tokens.vector(),
      .temperature = vector(draws, "temperature", fx::f32),
      .top_k = vector(problem.top_k, "top_k", fx::i32),
      .top_p = vector(problem.top_p, "top_p", fx::f32),
      .min_p = vector(problem.min_p, "min_p", fx::f32),
      .seeds = vector(draws, "seeds", fx::i64),
      .offsets = vector(draws, "offsets", fx::i64),
      .bias = matrix(problem.bias, "bias", fx::f32, n),
      .mask = matrix(problem.mask, "mask", fx::i32, words),
      .repetition = vector(penalties, "repetition", fx::f32),
      .presence = vector(penalties, "presence", fx::f32),
      .frequency = vector(penalties, "frequency", fx::f32),
      .counts = matrix(penalties, "counts", fx::i32, n),
      .prompt = matrix(penalties, "prompt", fx::i32, words),
      .log_probabilities = problem.log_probabilities ? std::optional(logs.vector()) : std::nullopt,
      .drafts = vector(drafts, "drafts", fx::i32),
      .accepted = drafts ? std::optional(accepted.vector()) : std::nullopt,
      .draft_probabilities =
          matrix(problem.draft == fk::Draft::distribution, "draft_probabilities", fx::f32, n),
      .starts = starts,
      .lengths = drafts ? std::optional(lengths.vector()) : std::nullopt};
  const fx::Stream stream;
  fk::SamplingPlan(problem, config)(args, stream);
  stream.synchronize();
  Drawn drawn{.tokens = tokens.values()};
  if (problem.log_probabilities)
    drawn.logs = logs.values();
  else
    logs.expectUntouched();
  if (draws)
    drawn.offsets = made.at("offsets").values();
  if (drafts) {
    drawn.accepted = accepted.values();
    drawn.lengths = lengths.values();
  }
  return drawn;
}
Drawn draw(const SamplingProblem &problem, std::int64_t m, const Rows &rows) {
  return draw(problem, fk::choose(problem, m), m, rows);
}

/// Rows of random logits between -scale and scale, with parameters of all kinds, a seed for each row,
/// and the number of a row as its offset.
Rows randomRows(const SamplingProblem &problem, std::int64_t m, std::uint64_t seed,
                double scale = 8) {
  const std::int64_t n = problem.vocabulary, words = (n + 31) / 32;
  const auto cycle = [&](std::initializer_list<double> values) {
    std::vector<double> all;
    for (std::int64_t i = 0; i < m; ++i)
      all.push_back(double(float(values.begin()[std::size_t(i) % values.size()])));
    return all;
  };
  std::vector<double> starts(std::size_t(m) + 1), guesses = uniform(fx::f32, m * n, seed + 7);
  std::iota(starts.begin(), starts.end(), 0.0);
  for (std::int64_t i = 0; i < m; ++i) {
    double all = 0;
    for (std::int64_t j = 0; j < n; ++j)
      all += guesses[std::size_t(i * n + j)] = std::exp(4 * guesses[std::size_t(i * n + j)]);
    for (std::int64_t j = 0; j < n; ++j)
      guesses[std::size_t(i * n + j)] = double(float(guesses[std::size_t(i * n + j)] / all));
  }
  return {{"logits", uniform(problem.logits, m * n, seed, scale)},
          {"temperature", cycle({1, 0.5, 2, 0.9})},
          {"top_k", cycle({0, double((n + 3) / 4), 1, double(n), 5})},
          {"top_p", cycle({0.9, 0.5, 1, 0.99, 0, 0.7, 2})},
          {"min_p", cycle({0, 0.01, 0.2})},
          {"seeds", integers(m, seed + 1, 0, 1 << 30)},
          {"offsets", integers(m, seed + 2, 0, 1000)},
          {"bias", uniform(fx::f32, m * n, seed + 3, 2)},
          {"mask", integers(m * words, seed + 4, std::numeric_limits<int>::min() / 2,
                            std::numeric_limits<int>::max() / 2)},
          {"repetition", cycle({1, 1.25, 2})},
          {"presence", cycle({0, 0.5})},
          {"frequency", cycle({0, 0.125, 0.25})},
          {"counts", integers(m * n, seed + 5, 0, 2)},
          {"drafts", integers(m, seed + 8, -1, int(n - 1))},
          {"draft_probabilities", guesses},
          {"starts", starts},
          {"prompt", integers(m * words, seed + 6, std::numeric_limits<int>::min() / 2,
                              std::numeric_limits<int>::max() / 2)}};
}

/// Draws, and requires what the reference says. Roundings may leave a quarter of it open.
void expectDrawn(const SamplingProblem &problem, const SamplingConfig &config, std::int64_t m,
                 const Rows &rows) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const Drawn drawn = draw(problem, config, m, rows);
  const fk::reference::Outputs expected = fk::reference::expected(problem, config, m, rows);
  const auto compare = [&](const char *name, const std::vector<double> &got) {
    INFO(name);
    expectWithin(got, expected.at(name).values, expected.at(name).bound);
  };
  compare("tokens", drawn.tokens);
  if (problem.log_probabilities)
    compare("log_probabilities", drawn.logs);
  if (problem.advance)
    compare("offsets", drawn.offsets);
  else if (problem.temperature)
    CHECK(drawn.offsets == rows.at("offsets"));
  if (problem.draft != fk::Draft::none) {
    compare("accepted", drawn.accepted);
    compare("lengths", drawn.lengths);
  }
  const auto &bound = expected.at("tokens").bound;
  CHECK(4 * std::count(bound.begin(), bound.end(), kInfinity) <= m);
  for (const double token : drawn.tokens)
    CHECK((token >= -1 && token < double(problem.vocabulary)));
}
void expectDrawn(const SamplingProblem &problem, std::int64_t m, std::uint64_t seed,
                 double scale = 8) {
  expectDrawn(problem, fk::choose(problem, m), m, randomRows(problem, m, seed, scale));
}

} // namespace

TEST_CASE("tokens are drawn from rows of any length", "[run]") {
  for (const std::int64_t n : {1, 2, 31, 32, 33, 257, 1000, 4096})
    expectDrawn({.vocabulary = n, .temperature = true}, 7, std::uint64_t(n));
  expectDrawn({.logits = fx::bf16, .vocabulary = 5000, .temperature = true}, 4, 1);
  // Accesses of all threads at a time, and those that are left.
  expectDrawn({.logits = fx::f16, .vocabulary = 9000, .temperature = true}, {.block = 256}, 3,
              randomRows({.logits = fx::f16, .vocabulary = 9000}, 3, 2));
  expectDrawn({.vocabulary = 1003, .temperature = true, .row_align = 4}, 2, 3);
}

TEST_CASE("tokens are drawn from what cuts leave", "[run]") {
  for (const std::int64_t n : {40, 500}) {
    expectDrawn({.vocabulary = n, .temperature = true, .top_k = true}, 10, 11);
    expectDrawn({.vocabulary = n, .temperature = true, .top_p = true}, 14, 12);
    expectDrawn({.vocabulary = n, .temperature = true, .min_p = true}, 6, 13);
    expectDrawn({.logits = fx::f16,
                 .vocabulary = n,
                 .temperature = true,
                 .top_k = true,
                 .top_p = true,
                 .min_p = true,
                 .log_probabilities = true},
                35, 14);
  }
  expectDrawn({.logits = fx::bf16,
               .vocabulary = 3000,
               .temperature = true,
               .top_k = true,
               .top_p = true,
               .advance = true},
              4, 15, 30);
}

TEST_CASE("biases, masks and penalties change logits before a token is drawn", "[run]") {
  expectDrawn({.vocabulary = 100, .temperature = true, .bias = true}, 5, 21);
  expectDrawn({.vocabulary = 100, .temperature = true, .mask = true}, 5, 22);
  expectDrawn({.logits = fx::bf16, .vocabulary = 77, .temperature = true, .penalties = true}, 6,
              23);
  expectDrawn({.logits = fx::f16,
               .vocabulary = 264,
               .temperature = true,
               .top_k = true,
               .top_p = true,
               .bias = true,
               .mask = true,
               .penalties = true,
               .log_probabilities = true},
              10, 24);
  expectDrawn(
      {.vocabulary = 264, .bias = true, .mask = true, .penalties = true, .log_probabilities = true},
      5, 25);
}

TEST_CASE("a greedy row has the first of its largest values", "[run]") {
  constexpr std::int64_t n = 300;
  std::vector<double> logits(8 * n, -3);
  const auto at = [&](std::int64_t row, std::int64_t token) -> double & {
    return logits[std::size_t(row * n + token)];
  };
  at(0, 17) = at(0, 18) = at(0, 299) = 2;
  at(1, 299) = -2;
  for (std::int64_t i = 0; i < n; ++i)
    at(2, i) = i % 2 ? 0.0 : -0.0; // equal
  std::fill_n(&at(3, 0), n, -kInfinity);
  at(4, 250) = kInfinity;
  at(5, 100) = kInfinity;
  at(5, 200) = std::nan("");
  at(6, 0) = 1;
  std::fill_n(&at(7, 0), n, -kInfinity);
  at(7, 41) = -65504;
  const std::vector<double> expected{17, 299, 0, -1, 250, 200, 0, 41};
  for (const fx::DType dtype : {fx::f32, fx::f16}) {
    const SamplingProblem problem{.logits = dtype, .vocabulary = n, .log_probabilities = true};
    const Drawn drawn = draw(problem, 8, {{"logits", logits}});
    CHECK(drawn.tokens == expected);
    for (const std::size_t row : {3u, 4u, 5u})
      CHECK(std::isnan(drawn.logs[row]));
    CHECK(std::fabs(drawn.logs[2] + std::log(double(n))) < 1e-5);
    CHECK(drawn.logs[7] == 0);
    // Rows of low temperature, and those without a largest number, are greedy where others draw.
    Rows rows = randomRows({.vocabulary = n}, 8, 1);
    rows["logits"] = logits;
    rows["temperature"] = {0, -1, 1e-6, 1, 1, 1, std::nan(""), 1};
    CHECK(draw({.logits = dtype, .vocabulary = n, .temperature = true, .top_k = true}, 8, rows)
              .tokens == expected);
  }
}

TEST_CASE("cuts keep equal values together, and the largest always", "[run]") {
  // exp: 8, 4, 4, 2, 1, 1 of 20, in another order.
  const std::vector<double> logits{std::log(4.0), 0, std::log(8.0), std::log(2.0),
                                   std::log(4.0), 0};
  constexpr std::int64_t m = 60;
  SamplingProblem problem{.vocabulary = 6, .temperature = true};
  Rows rows = randomRows(problem, m, 5);
  rows["logits"] = decode(fx::f32, encode(fx::f32, logits));
  rows["temperature"].assign(m, 1);
  std::iota(rows["offsets"].begin(), rows["offsets"].end(), 0.0);
  rows["seeds"].assign(m, 12);
  const auto tokens = [&](const char *name, double value, bool SamplingProblem::*cut) {
    SamplingProblem one = problem;
    one.*cut = true;
    rows[name].assign(m, value);
    const Drawn drawn = draw(one, m, rows);
    return std::set<double>(drawn.tokens.begin(), drawn.tokens.end());
  };
  using Set = std::set<double>;
  const auto topK = [&](double k) { return tokens("top_k", k, &SamplingProblem::top_k); };
  CHECK(topK(1) == Set{2});
  CHECK(topK(2) == Set{0, 2, 4});
  CHECK(topK(3) == Set{0, 2, 4});
  CHECK(topK(4) == Set{0, 2, 3, 4});
  for (const double all : {5.0, 6.0, 7.0, 0.0, -3.0})
    CHECK(topK(all) == Set{0, 1, 2, 3, 4, 5});
  const auto topP = [&](double p) { return tokens("top_p", p, &SamplingProblem::top_p); };
  CHECK(topP(0.39) == Set{2});
  CHECK(topP(0.41) == Set{0, 2, 4});
  CHECK(topP(0.79) == Set{0, 2, 4});
  CHECK(topP(0.81) == Set{0, 2, 3, 4});
  for (const double one : {0.0, -1.0})
    CHECK(topP(one) == Set{2});
  for (const double all : {0.91, 1.0, 4.0, double(NAN)})
    CHECK(topP(all) == Set{0, 1, 2, 3, 4, 5});
  const auto minP = [&](double p) { return tokens("min_p", p, &SamplingProblem::min_p); };
  for (const double one : {0.51, 1.0, 7.0})
    CHECK(minP(one) == Set{2});
  CHECK(minP(0.3) == Set{0, 2, 4});
  for (const double all : {0.1, 0.0, -1.0, double(NAN)})
    CHECK(minP(all) == Set{0, 1, 2, 3, 4, 5});
}

TEST_CASE("tokens have the distribution of their probabilities", "[run]") {
  constexpr std::int64_t n = 24, m = 1500;
  const SamplingProblem problem{.vocabulary = n, .temperature = true};
  for (const double temperature : {1.0, 3.0, double(kInfinity)}) {
    Rows rows = randomRows(problem, m, 31);
    rows["logits"] = uniform(fx::f32, n, 33, 2);
    rows["temperature"].assign(m, temperature);
    rows["seeds"].assign(m, 77);
    std::iota(rows["offsets"].begin(), rows["offsets"].end(), 0.0);
    std::vector<double> counts(n), shares(n);
    for (const double token : draw(problem, m, rows).tokens)
      ++counts[std::size_t(token)];
    double all = 0, chi = 0;
    for (std::size_t i = 0; i < n; ++i)
      all += shares[i] = std::exp(rows["logits"][i] / temperature);
    for (std::size_t i = 0; i < n; ++i) {
      const double expected = double(m) * shares[i] / all;
      chi += (counts[i] - expected) * (counts[i] - expected) / expected;
    }
    INFO("temperature " << temperature);
    CHECK(chi < 49.7); // of 23 degrees of freedom, once in 1,000
    CHECK(chi > 7.5);  // as seldom: draws are no even grid
  }
  // At no temperature does a token come that is masked.
  SamplingProblem masked = problem;
  masked.mask = true;
  Rows rows = randomRows(masked, 64, 3);
  rows["temperature"].assign(64, kInfinity);
  rows["mask"].assign(64, 0b1010000);
  const std::vector<double> tokens = draw(masked, 64, rows).tokens;
  CHECK(std::set<double>(tokens.begin(), tokens.end()) == std::set<double>{4, 6});
}

TEST_CASE("drafts are accepted, or other tokens drawn, by both distributions", "[run]") {
  for (const fk::Draft draft : {fk::Draft::token, fk::Draft::distribution})
    for (const std::int64_t n : {5, 300}) {
      expectDrawn({.vocabulary = n, .temperature = true, .draft = draft}, 24, 61, 2);
      expectDrawn({.logits = fx::bf16,
                   .vocabulary = n,
                   .temperature = true,
                   .top_k = true,
                   .top_p = true,
                   .log_probabilities = true,
                   .advance = true,
                   .draft = draft},
                  24, 62, 3);
      // Where a draft is accepted, nothing but the offset's own barrier lies between its reads and its write.
      const SamplingProblem plain{
          .vocabulary = n, .temperature = true, .top_p = true, .advance = true, .draft = draft};
      expectDrawn(plain, {.block = 256}, 24, randomRows(plain, 24, 63, 3));
    }
}

TEST_CASE("tokens have the distribution of their probabilities whatever was drafted", "[run]") {
  constexpr std::int64_t n = 12, m = 1500;
  for (const fk::Draft draft : {fk::Draft::token, fk::Draft::distribution}) {
    const SamplingProblem problem{.vocabulary = n, .temperature = true, .draft = draft};
    Rows rows = randomRows(problem, m, 71);
    rows["logits"] = uniform(fx::f32, n, 73, 2);
    rows["temperature"].assign(m, 1);
    rows["seeds"].assign(m, 5);
    std::iota(rows["offsets"].begin(), rows["offsets"].end(), 0.0);
    // Drafts of a distribution that is another one, drawn by the host.
    std::vector<double> q(n), all;
    for (std::size_t i = 0; i < n; ++i)
      q[i] = double(float(i < 4 ? 0.175 : 0.0375));
    for (std::int64_t i = 0; i < m; ++i) {
      double place = double(fx::detail::randomBits(79, std::uint64_t(i)) >> 11) * 0x1p-53;
      std::size_t token = 0;
      while (token + 1 < n && place >= q[token])
        place -= q[token++];
      rows["drafts"][std::size_t(i)] = draft == fk::Draft::token ? 3 : double(token);
      all.insert(all.end(), q.begin(), q.end());
    }
    rows["draft_probabilities"] = all;
    const Drawn drawn = draw(problem, m, rows);
    std::vector<double> counts(n), shares(n);
    double sum = 0, chi = 0, same = 0, kept = 0;
    for (std::size_t i = 0; i < std::size_t(m); ++i) {
      ++counts[std::size_t(drawn.tokens[i])];
      kept += drawn.accepted[i];
      if (drawn.accepted[i] == 1)
        CHECK(drawn.tokens[i] == rows["drafts"][i]);
    }
    for (std::size_t i = 0; i < n; ++i)
      sum += shares[i] = std::exp(rows["logits"][i]);
    for (std::size_t i = 0; i < n; ++i) {
      const double p = shares[i] / sum, expected = double(m) * p;
      chi += (counts[i] - expected) * (counts[i] - expected) / expected;
      same += draft == fk::Draft::token ? (i == 3 ? p : 0) : std::min(p, q[i]);
    }
    CHECK(chi < 31.3); // of 11 degrees of freedom, once in 1,000
    // As many are accepted as both distributions share; four deviations at most.
    CHECK(std::fabs(kept / double(m) - same) < 4 * std::sqrt(same * (1 - same) / double(m)));
  }
}

TEST_CASE("tokens of a sequence end with the first that is no draft", "[run]") {
  // Greedy: row i has the token i % 4.
  constexpr std::int64_t n = 4, m = 9;
  std::vector<double> logits(m * n, 0);
  for (std::size_t i = 0; i < m; ++i)
    logits[i * n + i % n] = 1;
  const SamplingProblem problem{.vocabulary = n, .draft = fk::Draft::token};
  // All accepted; the second not; no draft; none of four; no rows.
  Rows rows{{"logits", logits},
            {"drafts", {0, 1, -1, 3, 1, 1, -1, 2, -1}},
            {"starts", {0, 3, 6, 7, 9, 9}}};
  const Drawn drawn = draw(problem, m, rows);
  CHECK(drawn.tokens == std::vector<double>{0, 1, 2, 3, 0, -1, 2, 3, -1});
  CHECK(drawn.accepted == std::vector<double>{1, 1, 0, 1, 0, 1, 0, 0, 0});
  CHECK(drawn.lengths == std::vector<double>{3, 2, 1, 1, 0});
  // Wrong numbers without a check: no draft, and rows that there are not are left out.
  rows["drafts"] = {0, 4, -1, 3, 1000000, 1, -7, 2, -1};
  rows["starts"] = {-5, 3, 6, 7, 9, 2000};
  const Drawn wrong = draw(problem, m, rows);
  CHECK(wrong.accepted == std::vector<double>{1, 0, 0, 1, 0, 1, 0, 0, 0});
  CHECK(wrong.lengths == std::vector<double>{2, 2, 1, 1, 0});
}

TEST_CASE("a token follows from values, seed and offset, whatever draws it", "[run]") {
  SamplingProblem problem{.vocabulary = 2100, .temperature = true, .top_k = true, .top_p = true};
  const Rows rows = randomRows(problem, 12, 41);
  const std::vector<double> tokens = draw(problem, {.block = 256}, 12, rows).tokens;
  for (const int block : {512, 1024})
    CHECK(draw(problem, {.block = block}, 12, rows).tokens == tokens);
  Rows later = rows;
  for (double &offset : later["offsets"])
    ++offset;
  CHECK(draw(problem, 12, later).tokens != tokens);
}

TEST_CASE("offsets in device memory let replays of a graph draw anew") {
  const SamplingProblem problem{.vocabulary = 128, .temperature = true, .advance = true};
  const fk::SamplingPlan plan(problem, fk::choose(problem, 4));
  const Rows rows = randomRows(problem, 4, 51, 1);
  const Operand logits = Operand::input(fx::f32, 4, 128, rows.at("logits")),
                temperature = Operand::input(fx::f32, 1, 4, rows.at("temperature")),
                seeds = Operand::input(fx::i64, 1, 4, rows.at("seeds")),
                offsets = Operand::both(fx::i64, 1, 4, rows.at("offsets")),
                tokens = Operand::output(fx::i32, 1, 4);
  const fx::Stream stream;
  const Replay replay(stream, [&] {
    plan({.logits = logits.tensor(),
          .tokens = tokens.vector(),
          .temperature = temperature.vector(),
          .seeds = seeds.vector(),
          .offsets = offsets.vector()},
         stream);
  });
  Rows now = rows;
  for (int step = 0; step < 3; ++step) {
    replay();
    CHECK(tokens.values() == draw(problem, 4, now).tokens);
    for (double &offset : now["offsets"])
      ++offset;
    CHECK(offsets.values() == now["offsets"]);
  }
}

TEST_CASE("sampling: another run, a graph, a file", "[run]") {
  expectStructure<SamplingProblem>({.logits = fx::bf16,
                                    .vocabulary = 520,
                                    .temperature = true,
                                    .top_k = true,
                                    .top_p = true,
                                    .log_probabilities = true,
                                    .advance = true},
                                   {.block = 256}, 3);
  expectStructure<SamplingProblem>(
      {.vocabulary = 520, .temperature = true, .draft = fk::Draft::distribution}, {.block = 256},
      3);
}

TEST_CASE("a greedy row is read once", "[run]") {
  expectTraffic<SamplingProblem>({.logits = fx::bf16, .vocabulary = 4096}, {.block = 256}, 4);
}

TEST_CASE("sampling answers for every vocabulary, and spills nothing") {
  std::vector<SamplingProblem> problems;
  for (const std::int64_t n : {1, 17, 50257, 128256, 151936, 262144, 1 << 20})
    problems.push_back({.logits = n % 2 ? fx::f32 : fx::bf16,
                        .vocabulary = n,
                        .temperature = true,
                        .top_k = true,
                        .top_p = true,
                        .min_p = true,
                        .bias = n == 17,
                        .mask = n == 128256,
                        .penalties = n == 151936,
                        .log_probabilities = true,
                        .draft = n == 262144 ? fk::Draft::distribution : fk::Draft::none});
  expectTotal(problems);
  expectNoSpills(problems);
}

TEST_CASE("sampling refuses what it does not know") {
  const fx::Target target = here();
  const auto why = [&](const SamplingProblem &problem) {
    return fk::supported(problem, target).why;
  };
  CHECK(why({}) == "vocabulary is 0; 1 to 1048576 tokens are supported");
  CHECK(why({.vocabulary = (1 << 20) + 1}) ==
        "vocabulary is 1048577; 1 to 1048576 tokens are supported");
  CHECK(why({.vocabulary = 10, .top_p = true}) ==
        "top_p without temperature: rows are greedy, and nothing is drawn");
  CHECK(why({.vocabulary = 10, .advance = true}) ==
        "advance without temperature: rows are greedy, and nothing is drawn");
  CHECK(why({.logits = fx::i8, .vocabulary = 10}).find("logits") == 0);
  CHECK(why({.vocabulary = 10, .row_align = 3}).find("row_align is 3") == 0);
  const SamplingProblem any{.vocabulary = 10};
  CHECK(fk::supported(any, SamplingConfig{.block = 128}, target).why ==
        "block is 128; 256 threads or more look at the digits of values");
  CHECK(!fk::supported(any, SamplingConfig{.block = 300}, target));

  const SamplingProblem problem{.vocabulary = 8, .temperature = true, .advance = true};
  const fk::SamplingPlan plan(problem, fk::choose(problem, 2));
  const fx::DeviceArray<float> logits({2, 8}), temperature({2});
  const fx::DeviceArray<int> tokens({2});
  const fx::DeviceArray<std::int64_t> seeds({2}), offsets({2});
  const fx::Stream stream;
  fk::SamplingArgs args{.logits = logits,
                        .tokens = tokens,
                        .temperature = temperature,
                        .seeds = seeds,
                        .offsets = seeds};
  using Catch::Matchers::Contains;
  CHECK_THROWS_WITH(plan(args, stream), Contains("offsets shares memory with seeds"));
  args.offsets = std::nullopt;
  CHECK_THROWS_WITH(plan(args, stream), Contains("offsets"));
  args.offsets = offsets;
  args.top_k = tokens;
  CHECK_THROWS_WITH(plan(args, stream),
                    Contains("top_k is given, and the problem does not have it"));
}
