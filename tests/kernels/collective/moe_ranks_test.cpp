// Whole mixtures of experts over the ranks of a group by one plan, bit by bit against the plan of one
// device.
#include "collective/experts.h"
#include "support/float8_of.h"

#include <flydsl/host/autotune.h>
#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/experts/moe_ranks.h>

#include <filesystem>
#include <unistd.h>

using namespace collective_tests;

namespace collective_tests {
/// For fused_order_test.cpp.
fk::GemmConfig chosenFor(const fk::GroupedGemmProblem &product, std::int64_t m) {
  return fk::choose(product, m);
}
} // namespace collective_tests

namespace {

using fk::MoeForwardProblem;
using fk::MoeRanksConfig;
using fk::MoeRanksProblem;

const MoeRanksProblem kTwo{.mixture = {.router = {.experts = 6, .topk = 2, .renormalise = true},
                                       .hidden = 64,
                                       .inner = 32},
                           .ranks = 2,
                           .tokens = 9};

Bytes encoded(fx::DType type, std::int64_t count, std::uint64_t seed) {
  return fk::host::encode(type, fk::host::randomValues(type, count, seed));
}
/// Factors near 1.
Bytes factors(fx::DType type, std::int64_t count, std::uint64_t seed) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i)
    values.push_back(type == fx::f32 ? 0.5 + double(pick(seed, std::uint64_t(i), 64)) / 64
                                     : std::ldexp(1.0, int(pick(seed, std::uint64_t(i), 3)) - 1));
  return fk::host::encode(type, values);
}
Bytes prepared(const fk::WeightProblem &weight, std::uint64_t seed) {
  const Bytes raw = encoded(weight.dtype, weight.n * weight.k, seed);
  Bytes out(at(fk::prepared_size(weight) * weight.dtype.bytes()));
  fk::prepare_weight(weight, raw.data(), out.data());
  return out;
}

/// Bytes on the current device, as operands of any shape. Part `number` of `parts` equal ones.
class Memory {
public:
  Memory(const Bytes &bytes, int parts = 1, int number = 0)
      : memory_(numbers<std::uint8_t>(std::ssize(bytes) / parts)) {
    const auto size = std::ssize(bytes) / parts;
    if (size)
      memory_.copy_from(Bytes(bytes.begin() + number * size, bytes.begin() + (number + 1) * size));
  }
  fx::TensorArg of(fx::DType type, const fx::Extents &shape) const {
    return {const_cast<std::uint8_t *>(memory_.data()), type, shape};
  }
  Bytes bytes() const { return memory_.to_host(); }
  void fill(const Bytes &bytes) {
    if (!bytes.empty())
      memory_.copy_from(bytes);
  }

private:
  fx::DeviceArray<std::uint8_t> memory_;
};

/// Elements of a row that have one scale; 0 if rows have none.
std::int64_t scaledTogether(const MoeForwardProblem &p) {
  return p.scales == fk::Scales::per_block ? 128 : p.scales == fk::Scales::mx ? 32 : 0;
}
/// The scales of a row of so many elements, and of so many rows of a weight.
std::int64_t scalesOfRow(const MoeForwardProblem &p, std::int64_t elements) {
  const std::int64_t block = scaledTogether(p);
  return (elements + block - 1) / block;
}
/// The extents of the scales of so many experts' weights of so many rows.
std::vector<std::int64_t> scaleExtents(const MoeForwardProblem &p, std::int64_t experts,
                                       std::int64_t rows, std::int64_t columns) {
  if (p.w_scale_layout == fk::OperandLayout::prepared) {
    const auto [groups, blocks, bytes] = fk::PreparedScales::shape(rows, columns);
    return {experts, groups, blocks, bytes};
  }
  return {experts, p.scales == fk::Scales::mx ? rows : scalesOfRow(p, rows),
          scalesOfRow(p, columns)};
}
/// How many elements have such extents.
std::int64_t elementsOf(const std::vector<std::int64_t> &extents) {
  std::int64_t all = 1;
  for (const std::int64_t extent : extents)
    all *= extent;
  return all;
}

/// The type of a prepared weight's memory.
fx::DType typeOf(const fk::WeightProblem &weight) {
  return weight.dtype.memory_bits() < 8 ? fx::DType(fx::u8) : weight.dtype;
}

/// The weights of all experts.
struct Weights {
  Bytes w1, w2, scale1, scale2, bias1, bias2;
  explicit Weights(const MoeForwardProblem &p)
      : w1(prepared(p.weight1(), 91)), w2(prepared(p.weight2(), 92)) {
    if (scaledTogether(p)) {
      scale1 = factors(p.scale, elementsOf(scaleExtents(p, p.experts(), p.rows1(), p.hidden)), 93);
      scale2 = factors(p.scale, elementsOf(scaleExtents(p, p.experts(), p.hidden, p.inner)), 94);
    }
    if (p.bias) {
      bias1 = encoded(p.expert_type(), p.experts() * p.rows1(), 95);
      bias2 = encoded(p.expert_type(), p.experts() * p.hidden, 96);
    }
  }
};
/// The tokens of a rank.
struct Tokens {
  Bytes logits, x, scales;
  Tokens(const MoeForwardProblem &p, std::int64_t m, std::uint64_t seed)
      : logits(encoded(p.router.logits, m * p.router.experts, seed)),
        x(encoded(p.x, m * p.hidden, seed + 1)) {
    if (scaledTogether(p))
      scales = factors(p.scale, m * scalesOfRow(p, p.hidden), seed + 2);
  }
};

/// The operands of tokens and of the experts of a rank, or of all.
class Operands {
public:
  Operands(const MoeForwardProblem &problem, const Weights &weights, const Tokens &tokens,
           std::int64_t m, std::int64_t workspaceBytes, int ranks = 1, int rank = 0)
      : logits(tokens.logits), x(tokens.x), scales(tokens.scales),
        y(Bytes(at(m * problem.hidden * problem.y.bytes()), kUntouched)),
        workspace(Bytes(at(workspaceBytes), 0x77)), problem_(problem), m_(m),
        w1_(weights.w1, ranks, rank), w2_(weights.w2, ranks, rank),
        scale1_(weights.scale1, ranks, rank), scale2_(weights.scale2, ranks, rank),
        bias1_(weights.bias1, ranks, rank), bias2_(weights.bias2, ranks, rank),
        bytes_(workspaceBytes) {}
  void fill(const Tokens &tokens) {
    logits.fill(tokens.logits);
    x.fill(tokens.x);
    scales.fill(tokens.scales);
  }
  /// What both families call alike.
  template <class Args> Args args() const {
    const MoeForwardProblem &p = problem_;
    const std::int64_t experts = p.experts_here();
    Args args{.logits = logits.of(p.router.logits, {m_, p.router.experts}),
              .x = x.of(p.x, {m_, p.hidden}),
              .w1 = {p.weight1(), w1_.of(typeOf(p.weight1()), {fk::prepared_size(p.weight1())})},
              .w2 = {p.weight2(), w2_.of(typeOf(p.weight2()), {fk::prepared_size(p.weight2())})},
              .y = y.of(p.y, {m_, p.hidden}),
              .workspace = workspace.of(fx::u8, {bytes_})};
    if (scaledTogether(p)) {
      args.scale_x = scales.of(p.scale, {m_, scalesOfRow(p, p.hidden)});
      args.scale1 = scale1_.of(p.scale, fx::Extents(scaleExtents(p, experts, p.rows1(), p.hidden)));
      args.scale2 = scale2_.of(p.scale, fx::Extents(scaleExtents(p, experts, p.hidden, p.inner)));
    }
    if (p.bias) {
      args.bias1 = bias1_.of(p.expert_type(), {experts, p.rows1()});
      args.bias2 = bias2_.of(p.expert_type(), {experts, p.hidden});
    }
    return args;
  }

  Memory logits, x, scales, y, workspace;

private:
  MoeForwardProblem problem_;
  std::int64_t m_;
  Memory w1_, w2_, scale1_, scale2_, bias1_, bias2_;
  std::int64_t bytes_;
};

Bytes joined(const Bytes &a, const Bytes &b) {
  Bytes all = a;
  all.insert(all.end(), b.begin(), b.end());
  return all;
}

/// The ranks of a group with a mixture.
class Mixture {
public:
  Mixture(const MoeRanksProblem &problem, const MoeRanksConfig &config,
          const std::vector<std::int64_t> &m,
          const fx::GroupOptions &options = {.capacity = 1 << 16})
      : ranks(problem.ranks, options), plan(problem, config), weights(problem.mixture),
        problem_(problem), m_(m) {
    const auto bytes = static_cast<std::int64_t>(fk::workspace_bytes(problem, config, 0));
    ranks.each([&](int rank) {
      tokens.emplace_back(problem.mixture, m[at(rank)], 10 * std::uint64_t(rank));
      operands.emplace_back(problem.of_rank(), weights, tokens.back(), m[at(rank)], bytes,
                            problem.ranks, rank);
    });
  }
  void fill(std::uint64_t seed) {
    for (std::size_t rank = 0; rank < m_.size(); ++rank) {
      tokens[rank] = Tokens(problem_.mixture, m_[rank], 1000 * seed + 10 * rank);
      operands[rank].fill(tokens[rank]);
      if (!problem_.registered)
        continue;
      const fx::Group &group = ranks.group(static_cast<int>(rank));
      const fk::ExpertDispatchRegistered at = fk::moe_ranks_registered(problem_);
      copyRows(group, 0, at.row, tokens[rank].x, m_[rank]);
      copyRows(group, at.scales_at, at.scale_row, tokens[rank].scales, m_[rank]);
    }
  }
  fk::MoeRanksArgs args(int rank) const {
    auto args = operands[at(rank)].args<fk::MoeRanksArgs>();
    args.group = &ranks.group(rank);
    if (!problem_.registered)
      return args;
    const MoeForwardProblem &p = problem_.mixture;
    const fk::ExpertDispatchRegistered places = fk::moe_ranks_registered(problem_);
    args.x = registeredRows(*args.group, 0, p.x, m_[at(rank)], p.hidden, places.row);
    if (scaledTogether(p))
      args.scale_x = registeredRows(*args.group, places.scales_at, p.scale, m_[at(rank)],
                                    scalesOfRow(p, p.hidden), places.scale_row);
    return args;
  }
  void run() const {
    ranks.run([&](int rank, const fx::Stream &stream) { plan(args(rank), stream); });
  }
  /// Compares with one device that has all experts and all tokens.
  void expectRight() const {
    const MoeForwardProblem &mixture = problem_.mixture;
    Tokens all(mixture, 0, 0);
    std::int64_t m = 0;
    for (std::size_t rank = 0; rank < m_.size(); ++rank) {
      all.logits = joined(all.logits, tokens[rank].logits);
      all.x = joined(all.x, tokens[rank].x);
      all.scales = joined(all.scales, tokens[rank].scales);
      m += m_[rank];
    }
    fk::MoeForwardConfig config = fk::choose(mixture, m);
    config.unit = plan.config().unit;
    config.first = plan.config().first;
    config.second = plan.config().second;
    const fk::MoeForwardPlan one(mixture, config);
    const Operands own(mixture, weights, all, m,
                       static_cast<std::int64_t>(fk::workspace_bytes(mixture, config, m)));
    const fx::Stream stream;
    one(own.args<fk::MoeForwardArgs>(), stream);
    stream.synchronize();
    const Bytes expected = own.y.bytes();
    std::int64_t next = 0;
    for (int rank = 0; rank < problem_.ranks; ++rank) {
      INFO("rank " << rank);
      ranks.group(rank).check();
      const std::int64_t bytes = m_[at(rank)] * mixture.hidden * mixture.y.bytes();
      Bytes found = operands[at(rank)].y.bytes();
      found.resize(at(bytes));
      CHECK(found == Bytes(expected.begin() + next, expected.begin() + next + bytes));
      next += bytes;
    }
  }

  GroupRanks ranks;
  fk::MoeRanksPlan plan;
  Weights weights;
  std::vector<Tokens> tokens;
  std::vector<Operands> operands;

private:
  MoeRanksProblem problem_;
  std::vector<std::int64_t> m_;
};

MoeRanksConfig fused(const MoeRanksProblem &problem, int copiers = 3, int persistent = 0) {
  MoeRanksConfig config = fk::choose(problem, problem.tokens);
  config.fused = true;
  config.copiers = copiers;
  config.persistent = persistent;
  return config;
}
void expectRight(const MoeRanksProblem &problem, const std::vector<std::int64_t> &m, int calls = 2,
                 const std::optional<MoeRanksConfig> &config = {}) {
  INFO(fx::to_config(problem).str());
  Mixture mixture(
      problem, config ? *config : fk::choose(problem, problem.tokens), m,
      {.capacity = 1 << 16,
       .registered = problem.registered ? at(fk::moe_ranks_registered(problem).bytes) : 0});
  for (int call = 0; call < calls; ++call) {
    mixture.fill(std::uint64_t(call) + 1);
    mixture.run();
    mixture.expectRight();
  }
}
template <class F> MoeRanksProblem with(const F &change) {
  MoeRanksProblem problem = kTwo;
  change(problem);
  return problem;
}

} // namespace

TEST_CASE("a mixture over two ranks by one plan gives the bits of one device", "[run]") {
  expectRight(kTwo, {9, 5});
}

TEST_CASE("products that move rows meanwhile give the bits of one device", "[run]") {
  expectRight(kTwo, {9, 5}, 3, fused(kTwo));
}

TEST_CASE("persistent blocks and registered tokens give the bits of one device", "[run]") {
  const MoeRanksProblem registered = with([](auto &p) { p.registered = true; });
  expectRight(registered, {9, 5}, 2);                          // separate launches
  expectRight(registered, {9, 5}, 3, fused(registered, 3, 2)); // fewer blocks than copiers
  expectRight(kTwo, {0, 9}, 1, fused(kTwo, 2, 1));             // one block does all
}

TEST_CASE("persistent blocks over more ranks, in fixed slots, with more blocks than work") {
  const MoeRanksProblem four = with([](auto &p) {
    p.mixture.router.experts = 8;
    p.ranks = 4;
    p.tokens = 8;
    p.capacity = 32;
  });
  expectRight(four, {8, 3, 0, 8}, 1, fused(four, 3, 5));
  expectRight(four, {8, 3, 0, 8}, 1, fused(four, 3, 1 << 16));
}

TEST_CASE("fused products over more ranks, of other types, with more copiers than units") {
  const MoeRanksProblem four = with([](auto &p) {
    p.mixture.router.experts = 8;
    p.mixture.router.topk = 3;
    p.mixture.x = fx::f16;
    p.mixture.y = fx::f32;
    p.mixture.bias = true;
    p.mixture.gated = fk::GatedPairs::interleaved;
    p.ranks = 4;
    p.tokens = 8;
  });
  expectRight(four, {8, 3, 0, 8}, 2, fused(four, 128));
  const MoeRanksProblem one = with([](auto &p) {
    p.mixture.router.topk = 1;
    p.mixture.weights = fk::RoutedWeights::input;
    p.places = 48;
  });
  expectRight(one, {9, 9}, 1, fused(one, 1));
  if (!kernel_tests::float8Of(fx::Device(0).target()))
    return; // gfx90a
  const MoeRanksProblem blocks = with([](auto &p) {
    p.mixture.x = kernel_tests::float8Of(fx::Device(0).target());
    p.mixture.scales = fk::Scales::per_block;
    p.mixture.hidden = 256;
    p.mixture.inner = 128;
  });
  expectRight(blocks, {7, 9}, 1, fused(blocks));
}

TEST_CASE("fused products in graphs; mixtures from files") {
  Mixture mixture(kTwo, fused(kTwo), {9, 9});
  const std::vector<fx::Graph> graphs = mixture.ranks.captured(
      [&](int rank, const fx::Stream &stream) { mixture.plan(mixture.args(rank), stream); });
  for (std::uint64_t replay = 0; replay < 3; ++replay) {
    mixture.fill(replay);
    mixture.ranks.run(graphs);
    mixture.expectRight();
  }
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("moe_ranks-" + std::to_string(getpid()));
  for (const MoeRanksConfig &config : {mixture.plan.config(), fk::choose(kTwo, 9)}) {
    fk::export_aot(kTwo, config, file.string(), {});
    Mixture loaded(kTwo, config, {9, 9});
    loaded.plan = fk::MoeRanksPlan::load(fx::load_aot(file.string()), kTwo, config);
    loaded.fill(7);
    loaded.run();
    loaded.expectRight();
  }
  std::filesystem::remove(file);
}

TEST_CASE("a thousand fused mixtures with other tokens each", "[.long]") {
  Mixture mixture(kTwo, fused(kTwo), {9, 5});
  for (std::uint64_t call = 0; call < 1000; ++call) {
    mixture.fill(call);
    mixture.run();
    if (call % 100 == 0) // the reference takes longer than the call
      mixture.expectRight();
  }
  mixture.expectRight();
}

TEST_CASE("fused products: what is refused") {
  const auto why = [](const MoeRanksProblem &problem, const auto &change) {
    MoeRanksConfig config = fused(problem);
    change(config);
    return fk::supported(problem, config).why;
  };
  const auto none = [](auto &) {};
  CHECK(why(kTwo, none).empty());
  expectPart(why(kTwo, [](auto &c) { c.copiers = 0; }), "copiers is 0; it is 1 to 128");
  expectPart(why(kTwo, [](auto &c) { c.copiers = 129; }), "copiers is 129");
  expectPart(why(kTwo, [](auto &c) { c.persistent = -1; }), "persistent is -1; it is 0 to 65536");
  expectPart(why(kTwo,
                 [](auto &c) {
                   c.persistent = 4;
                   c.fused = false;
                 }),
             "persistent is 4, and fused is false");
  expectPart(why(with([](auto &p) { p.wire = fx::f8E4M3FN; }), none),
             "fused is true, and wire is given");
}

TEST_CASE("mixtures over more ranks, with biases, with weights of the input, with fewer places") {
  expectRight(with([](auto &p) {
                p.mixture.router.experts = 8;
                p.mixture.router.topk = 3;
                p.mixture.x = fx::f16;
                p.mixture.y = fx::f32;
                p.mixture.bias = true;
                p.mixture.gated = fk::GatedPairs::interleaved;
                p.ranks = 4;
                p.tokens = 8;
              }),
              {8, 3, 0, 8}, 1);
  expectRight(with([](auto &p) {
                p.mixture.router.experts = 8;
                p.mixture.router.topk = 1;
                p.mixture.weights = fk::RoutedWeights::input;
                p.ranks = 8;
                p.tokens = 3;
                p.places = 32;
              }),
              {3, 3, 1, 0, 2, 3, 3, 3}, 1);
}

TEST_CASE("mixtures over ranks in 8 bits with scales of blocks") {
  if (!kernel_tests::float8Of(fx::Device(0).target()))
    return; // gfx90a
  MoeRanksProblem problem = with([](auto &p) {
    p.mixture.x = kernel_tests::float8Of(fx::Device(0).target());
    p.mixture.scales = fk::Scales::per_block;
    p.mixture.hidden = 256;
    p.mixture.inner = 128;
  });
  expectRight(problem, {7, 9}, 1);
  // In registered memory rows of two scales lie 16 bytes from each other.
  problem.registered = true;
  CHECK(fk::moe_ranks_registered(problem).scale_row == 16);
  CHECK(fk::moe_ranks_registered(problem).bytes == 9 * (256 + 16));
  expectRight(problem, {7, 9}, 1);
  expectRight(problem, {7, 9}, 2, fused(problem));
}

// On the targets that multiply these formats: tokens of 4 and of 8 bits under weights of 4.
TEST_CASE("mixtures over ranks in the microscaling formats, their products apart and fused",
          "[run]") {
  for (const fx::DType x : {fx::f4E2M1FN, fx::f8E4M3FN}) {
    const MoeRanksProblem problem = with([&](auto &p) {
      p.mixture.x = x;
      p.mixture.w = fx::f4E2M1FN;
      p.mixture.scales = fk::Scales::mx;
      p.mixture.scale = fx::f8E8M0FNU;
      p.mixture.hidden = 256;
      p.mixture.inner = 128;
    });
    if (const fk::Support answer = fk::supported(problem); !answer) {
      CHECK_FALSE(fk::supported(problem.mixture)); // nor on one device
      expectPart(answer.why, "the mixture: ");
      continue;
    }
    if (x == fx::f8E4M3FN) {
      expectRight(problem, {7, 9}, 1);
      continue;
    }
    expectRight(problem, {7, 9}, 1, fused(problem));
    MoeRanksProblem registered = problem;
    registered.registered = true;
    expectRight(registered, {7, 9}, 1);
    // With prepared scales of weights, and of h in units of 32.
    MoeRanksProblem prepared = problem;
    prepared.mixture.w_scale_layout = fk::OperandLayout::prepared;
    prepared.mixture.inner = 256;
    if (!fk::supported(prepared)) {
      CHECK(fx::Device(0).target().name() != "gfx950");
      continue;
    }
    expectRight(prepared, {7, 9}, 1, fused(prepared));
    prepared.mixture.router.experts = 2;
    prepared.capacity = 32;
    REQUIRE(fk::choose(prepared, prepared.tokens).unit == 32);
    expectRight(prepared, {7, 9}, 1);
  }
}

// gfx1250: the rings of both products are filled by the tensor data mover, which reads rows that blocks of
// other ranks, and of the same launch, have just written.
TEST_CASE("mixtures over ranks whose products have rings that a mover fills", "[run]") {
  if (!fx::Device(0).target().has(fx::Feature::tensor_mover))
    return;
  const fk::GemmConfig ring{
      .tile_m = 16, .tile_n = 128, .tile_k = 64, .threads = 128, .stages = 2, .dma = true};
  const auto moved = [&](MoeRanksConfig config, int stages) {
    config.first = config.second = ring;
    config.first.stages = stages;
    return config;
  };
  const MoeRanksProblem problem = with([](auto &p) {
    p.mixture.hidden = 208; // K ends inside of a step
    p.mixture.inner = 96;
  });
  expectRight(problem, {9, 5}, 2, moved(fk::choose(problem, 9), 3));
  expectRight(problem, {9, 5}, 3, moved(fused(problem), 2));
  expectRight(problem, {0, 9}, 2, moved(fused(problem, 2, 1), 2)); // one block does all
  const MoeRanksProblem registered = with([](auto &p) {
    p.registered = true;
    p.capacity = 32;
  });
  expectRight(registered, {9, 5}, 2, moved(fused(registered, 3, 2), 4));
}

// Few tokens of decode: each expert has places of its own.
TEST_CASE("mixtures over ranks in fixed slots, their products apart and fused", "[run]") {
  const MoeRanksProblem problem = with([](auto &p) { p.capacity = 32; });
  CHECK(problem.capacity >= problem.tokens * problem.ranks); // enough for any choice
  expectRight(problem, {9, 5}, 2);
  expectRight(problem, {9, 5}, 2, fused(problem));
}

TEST_CASE("fixed slots of a mixture over ranks: too few, and what is refused") {
  const MoeRanksProblem few = with([](auto &p) {
    p.capacity = 16;
    p.tokens = 40;
  });
  for (const MoeRanksConfig &config : {fk::choose(few, 40), fused(few)}) {
    const Mixture mixture(few, config, {40, 40},
                          {.capacity = 1 << 16, .timeout = std::chrono::minutes(10)});
    mixture.run();
    for (int rank = 0; rank < 2; ++rank)
      expectPart(messageOf([&] { mixture.ranks.group(rank).check(); }),
                 "given more slots of tokens than its experts have places for");
  }
  const auto why = [](auto change) { return fk::supported(with(change)).why; };
  expectPart(why([](auto &p) { p.capacity = 20; }), "capacity is 20; it is units of 16");
  expectPart(why([](auto &p) { p.capacity = -16; }), "capacity is -16");
  expectPart(why([](auto &p) {
               p.capacity = 16;
               p.places = 32;
             }),
             "the places of fixed slots follow from it");
  MoeRanksConfig config = fk::choose(few, 40);
  config.unit = 32;
  expectPart(fk::supported(few, config).why, "unit is 32; it divides capacity, 16");
  const MoeRanksProblem two = with([](auto &p) { p.capacity = 32; });
  config = fk::choose(two, 9);
  config.second.tile_m = 2 * config.unit;
  expectPart(fk::supported(two, config).why,
             "the second product: tile_m is 32; it divides the unit");
}

TEST_CASE("the workspace of fused products has no results") {
  const std::int64_t results =
      fk::expert_dispatch_places(
          {.n = 64, .experts = 6, .topk = 2, .ranks = 2, .tokens = 9, .unit = 16}) *
      64 * 2; // of bf16
  const MoeRanksConfig apart = fk::choose(kTwo, 9);
  CHECK(fk::workspace_bytes(kTwo, apart, 9) - fk::workspace_bytes(kTwo, fused(kTwo), 9) >
        std::size_t(results) - 2048); // the numbers by which blocks share roles are fewer
}

TEST_CASE("mixtures over ranks in graphs") {
  Mixture mixture(kTwo, fk::choose(kTwo, 9), {9, 9});
  const std::vector<fx::Graph> graphs = mixture.ranks.captured(
      [&](int rank, const fx::Stream &stream) { mixture.plan(mixture.args(rank), stream); });
  for (std::uint64_t replay = 0; replay < 3; ++replay) {
    mixture.fill(replay);
    mixture.ranks.run(graphs);
    mixture.expectRight();
  }
}

TEST_CASE("too few places of one rank are an error that all ranks tell, without waiting") {
  const MoeRanksProblem few = with([](auto &p) {
    p.places = 16;
    p.tokens = 20;
    p.mixture.router.topk = 4;
  });
  for (const MoeRanksConfig &config : {fk::choose(few, 20), fused(few)}) {
    // The timeout is longer than the test may take.
    const Mixture mixture(few, config, {20, 20},
                          {.capacity = 1 << 16, .timeout = std::chrono::minutes(10)});
    mixture.run();
    const auto told = [&](int rank) {
      return messageOf([&] { mixture.ranks.group(rank).check(); });
    };
    // Each rank has 40 slots or so: both have too few places, and the first to say so is known.
    for (int rank = 0; rank < 2; ++rank)
      expectPart(told(rank), "given more slots of tokens than its experts have places for");
  }
}

TEST_CASE("a rank that does not come ends fused products of the others in time") {
  const Mixture mixture(kTwo, fused(kTwo), {9, 9},
                        {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)});
  mixture.ranks.run([&](int rank, const fx::Stream &stream) {
    if (rank == 0)
      mixture.plan(mixture.args(rank), stream);
  });
  expectPart(messageOf([&] { mixture.ranks.group(0).check(); }), "has waited 200 ms for rank 1");
}

TEST_CASE("a checked mixture over ranks tells of experts that there are not") {
  const MoeRanksProblem given = with([](auto &p) { p.mixture.router.given = true; });
  const Mixture mixture(given, fk::choose(given, 9), {9, 9},
                        {.capacity = 1 << 16, .timeout = std::chrono::milliseconds(200)});
  const fk::MoeRanksPlan checked(given, mixture.plan.config(), {.check_indices = true});
  std::vector<fx::DeviceArray<std::int32_t>> ids;
  mixture.ranks.each([&](int rank) {
    std::vector<std::int32_t> chosen;
    for (int slot = 0; slot < 18; ++slot)
      chosen.push_back(slot % 6);
    if (rank == 0)
      chosen[7] = 6;
    ids.push_back(fx::DeviceArray<std::int32_t>::from_host(chosen, {9, 2}));
  });
  // The call of the second rank tells it where the first one's kernel ended before it.
  const std::string told = messageOf([&] {
    mixture.ranks.run([&](int rank, const fx::Stream &stream) {
      fk::MoeRanksArgs args = mixture.args(rank);
      args.ids = ids[at(rank)].tensor();
      checked(args, stream);
    });
    checked.check();
  });
  expectPart(told, "ids[3, 1] is 6");
}

TEST_CASE("a mixture over ranks: what is refused, before anything is launched") {
  const Mixture mixture(kTwo, fk::choose(kTwo, 9), {9, 9},
                        {.capacity = 1 << 10, .timeout = std::chrono::milliseconds(200)});
  const auto told = [&](auto change) {
    fk::MoeRanksArgs args = mixture.args(0);
    change(args);
    return messageOf([&] { mixture.plan(args, mixture.ranks.stream(0)); });
  };
  expectPart(told([](auto &) {}), "bytes do not fit the group's windows of 1024");
  expectPart(told([](auto &a) { a.group = nullptr; }), "moe_ranks: group is null");
  const MoeRanksProblem registered = with([](auto &p) { p.registered = true; });
  const fk::MoeRanksPlan ofRegistered(registered, fk::choose(registered, 9));
  const Mixture wide(kTwo, fk::choose(kTwo, 9), {9, 9});
  expectPart(messageOf([&] { ofRegistered(wide.args(0), wide.ranks.stream(0)); }),
             "do not fit the group's registered memory of 0");
  wide.ranks.group(0).check();
  CHECK(fk::moe_ranks_registered(registered).bytes == 9 * 64 * 2);
  expectPart(messageOf([] { (void)fk::moe_ranks_registered(with([](auto &p) { p.ranks = 3; })); }),
             "moe_ranks: ranks is 3; it is 2, 4 or 8");
  expectPart(told([](auto &a) { a.w2 = a.w1; }), "w2");
  expectPart(told([](auto &a) { a.workspace.reset(); }), "workspace");
  expectPart(told([](auto &a) { a.bias1 = a.x; }), "bias1 is given");
  expectPart(told([](auto &a) {
               a.y = fx::TensorArg(a.workspace->data(), fx::bf16, fx::Extents{9, 64});
             }),
             "y shares memory with workspace");
  mixture.ranks.group(0).check(); // no launch waits for the other rank
  const auto why = [](auto change) { return fk::supported(with(change)).why; };
  expectPart(why([](auto &p) { p.ranks = 3; }), "ranks is 3; it is 2, 4 or 8");
  expectPart(why([](auto &p) { p.mixture.router.experts = 7; }), "experts is 7; each of the 2");
  expectPart(why([](auto &p) { p.mixture.router.shared = 1; }), "mixture.router.shared is 1");
  expectPart(why([](auto &p) { p.mixture.x = fx::i8, p.mixture.scales = fk::Scales::per_row; }),
             "mixture.scales is per_row; the rows of h get scales between the products");
  expectPart(why([](auto &p) {
               p.mixture.x = fx::i8, p.mixture.scales = fk::Scales::per_tensor;
               p.mixture.w = fx::i4, p.mixture.w_scales = fk::Scales::per_row;
             }),
             "mixture.w is i4 under x of 8 bits; over ranks such weights take x of 16 bits");
  expectPart(why([](auto &p) { p.mixture.local = 3; }), "mixture.local is 3");
  expectPart(why([](auto &p) { p.mixture.tokens = true; }), "mixture.tokens is true");
  expectPart(why([](auto &p) { p.tokens = 0; }), "tokens is 0");
  expectPart(why([](auto &p) { p.places = 20; }), "places is 20; they are units of 16");
  expectPart(why([](auto &p) { p.places = 1 << 20; }), "are enough for any choice of experts");
  // Nearly 2^30 places, and 2^17 columns of the first product.
  const MoeRanksProblem large = with([](auto &p) {
    p.mixture.router.experts = 64;
    p.mixture.router.topk = 64;
    p.mixture.inner = 1 << 16;
    p.tokens = (1 << 23) - 1;
  });
  const std::string counted = "pieces of work, which are counted in 32 bits; take fewer places";
  expectPart(fk::supported(large, fk::choose(large, 9)).why, counted);
  expectPart(fk::supported(large, fused(large)).why, counted);
  MoeRanksConfig config = fk::choose(kTwo, 9);
  config.dispatch.blocks = 0;
  expectPart(fk::supported(kTwo, config).why, "dispatch: blocks is 0");
}
