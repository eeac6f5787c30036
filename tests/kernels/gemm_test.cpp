// Products against a reference in double precision.
#include "support/hot_loop.h"
#include "support/structure.h"

#include <flydsl/kernels/gemm.h>

using namespace kernel_tests;

namespace {

using fk::Activation, fk::GemmConfig, fk::GemmProblem, fk::Scales;

fx::Target here() { return fx::Device::current().target(); }
/// The 8-bit float of the target's instructions; none on gfx90a.
fx::DType float8() {
  return here().has(fx::feature::ocp_fp8)    ? fx::f8E4M3FN
         : here().has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ
                                             : fx::DType();
}

double activated(Activation activation, double x) {
  switch (activation) {
  case Activation::none:
    return x;
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::silu:
    return x / (1 + std::exp(-x));
  case Activation::gelu_tanh:
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
  }
  throw fx::Error("an activation of no kind");
}

/// The values of a call's operands.
struct Values {
  std::vector<double> a, b;                        // (m, k), (n, k)
  std::vector<double> scale_a, scale_b, bias = {}; // (m), (n), (n)

  static Values random(const GemmProblem &problem, std::int64_t m, std::uint64_t seed = 1) {
    const auto made = [&](fx::DType dtype, std::int64_t count) {
      return dtype == fx::i8 ? integers(count, ++seed, -128, 127) : uniform(dtype, count, ++seed);
    };
    const auto scales = [&](std::int64_t count) {
      std::vector<double> values = uniform(fx::f32, count, ++seed);
      for (double &value : values) // from 1/16 to 3/16, in f32
        value = double(float(value / 16 + 0.125));
      return values;
    };
    return {made(problem.a, m * problem.k), made(problem.b, problem.n * problem.k), scales(m),
            scales(problem.n), uniform(problem.c, problem.n, ++seed)};
  }
};

struct Reference {
  std::vector<double> c, bound;
};
/// What must come out, and how far from it.
///
/// Products of 16- and 8-bit floats are exact in f32. An instruction adds k of them in a tree of
/// log2(k) levels, and the sums of K / k instructions follow one another: each addition is off by at
/// most 2^-23 of the sum of magnitudes, because matrix units may cut off instead of rounding; twice
/// that is allowed. The sums of parts of K are added after that. Sums of i8 are exact in i32 and rounded once. Scales and bias round 4 times.
/// An activation passes an error on by its derivative, at most 1.1, and adds its own: that of a
/// reciprocal, of an exponential, whose argument z is itself off by 4 roundings, and of products.
Reference reference(const GemmProblem &problem, std::int64_t m, const Values &v) {
  Reference result;
  const bool exact = problem.a == fx::i8;
  const double instruction = 16; // the shortest k, which has the most additions
  const double parts = 16;       // the most that K is split into
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < problem.n; ++j) {
      double sum = 0, magnitude = 0;
      for (std::int64_t k = 0; k < problem.k; ++k) {
        const double product =
            v.a[std::size_t(i * problem.k + k)] * v.b[std::size_t(j * problem.k + k)];
        sum += product;
        magnitude += std::fabs(product);
      }
      const double scale = (problem.scale_a == Scales::per_row ? v.scale_a[std::size_t(i)] : 1) *
                           (problem.scale_b == Scales::per_row ? v.scale_b[std::size_t(j)] : 1);
      const double bias = problem.bias ? v.bias[std::size_t(j)] : 0;
      const double additions =
          std::ceil(double(problem.k) / instruction) + std::log2(instruction) + parts;
      const double x = sum * scale + bias;
      double bound = (exact ? 0 : 2 * additions * 0x1p-23 * magnitude * scale) +
                     4 * 0x1p-24 * (std::fabs(sum * scale) + std::fabs(bias));
      const double y = activated(problem.activation, x);
      if (problem.activation == Activation::silu || problem.activation == Activation::gelu_tanh) {
        const double z = problem.activation == Activation::silu
                             ? x
                             : 2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x);
        bound = 1.1 * bound + (8 + 4 * std::fabs(z)) * 0x1p-24 * std::fabs(y);
      }
      result.c.push_back(y);
      result.bound.push_back(bound + unit(problem.c) * std::fabs(y) + underflow(problem.c));
    }
  return result;
}

/// The weights as a kernel takes them, prepared on the host.
Operand prepared(const GemmProblem &problem, std::span<const double> b) {
  const std::vector<std::uint8_t> raw = encode(problem.b, b);
  std::vector<std::uint8_t> out(
      std::size_t(fk::prepared_size(problem.weight()) * problem.b.bytes()));
  fk::prepare_weight(problem.weight(), raw.data(), out.data());
  return Operand::input(problem.b, 1, std::int64_t(out.size()) / problem.b.bytes(),
                        decode(problem.b, out));
}

struct Gaps {
  std::int64_t a = 0, c = 0; // elements between the rows
};

/// Runs a problem and gives c.
std::vector<double> product(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                            const Values &values, Gaps gaps = {}) {
  const auto vector = [&](bool there, fx::DType dtype,
                          const std::vector<double> &data) -> std::optional<Operand> {
    if (!there)
      return std::nullopt;
    return Operand::input(dtype, 1, std::int64_t(data.size()), data);
  };
  const auto argument = [](const std::optional<Operand> &operand) -> std::optional<fx::TensorArg> {
    if (!operand)
      return std::nullopt;
    return operand->vector();
  };
  const Operand a = Operand::input(problem.a, m, problem.k, values.a, gaps.a),
                b = prepared(problem, values.b),
                c = Operand::output(problem.c, m, problem.n, gaps.c);
  const auto scaleA = vector(problem.scale_a == Scales::per_row, fx::f32, values.scale_a),
             scaleB = vector(problem.scale_b == Scales::per_row, fx::f32, values.scale_b),
             bias = vector(problem.bias, problem.c, values.bias);
  // Uninitialised: a number that no part has written is found when it is read.
  std::optional<fx::DeviceArray<std::uint8_t>> workspace;
  if (const std::size_t bytes = fk::workspace_bytes(problem, config, m))
    workspace.emplace(fx::Extents{bytes});
  std::optional<fx::TensorArg> workspaceArg;
  if (workspace)
    workspaceArg = workspace->tensor();
  const fx::Stream stream;
  fk::GemmPlan(problem, config)({.a = a.tensor(),
                                 .b = b.vector(),
                                 .c = c.tensor(),
                                 .scale_a = argument(scaleA),
                                 .scale_b = argument(scaleB),
                                 .bias = argument(bias),
                                 .workspace = workspaceArg},
                                stream);
  stream.synchronize();
  return c.values();
}

/// Runs a problem on random values and compares.
void expectProduct(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
                   Gaps gaps = {}) {
  INFO(fx::to_config(problem).str() << " m=" << m << " " << fx::to_config(config).str());
  const Values values = Values::random(problem, m);
  const std::vector<double> c = product(problem, config, m, values, gaps);
  const Reference expected = reference(problem, m, values);
  expectWithin(c, expected.c, expected.bound);
  // Random errors are far from all being the largest at once.
  double squares = 0, bounds = 0;
  for (std::size_t i = 0; i < c.size(); ++i) {
    squares += (c[i] - expected.c[i]) * (c[i] - expected.c[i]);
    bounds += expected.bound[i] * expected.bound[i];
  }
  if (c.size() >= 64)
    CHECK(squares <= bounds / 2);
}
void expectProduct(const GemmProblem &problem, std::int64_t m, Gaps gaps = {}) {
  expectProduct(problem, fk::choose(problem, m), m, gaps);
}

/// A small tile of two blocks of 64 bytes of k.
GemmConfig small(const GemmProblem &problem) {
  return {.tile_m = 32,
          .tile_n = 64,
          .tile_k = 128 / problem.a.bytes(),
          .threads = 4 * here().wave_size()};
}

const std::vector<GemmProblem> &typed() {
  static const std::vector<GemmProblem> all = [] {
    std::vector<GemmProblem> made{{.a = fx::f16, .b = fx::f16, .c = fx::f16},
                                  {.a = fx::bf16, .b = fx::bf16, .c = fx::f32},
                                  {.a = fx::i8, .b = fx::i8, .c = fx::f32}};
    if (float8() != fx::DType())
      made.push_back({.a = float8(), .b = float8(), .c = fx::bf16});
    return made;
  }();
  return all;
}

} // namespace

TEST_CASE("products of any number of rows", "[run]") {
  for (std::int64_t m : {1, 15, 16, 17, 33, 129})
    expectProduct({.a = fx::bf16, .b = fx::bf16, .c = fx::bf16, .n = 72, .k = 200}, m);
  expectProduct({.n = 256, .k = 192}, 70);
}

TEST_CASE("products of any number of steps and of any length of the last one", "[run]") {
  // The loop runs from 4 or 5 steps on; the last step has all of its parts, some, or a part of one.
  for (GemmProblem problem : typed())
    for (std::int64_t bytes : {16, 80, 128, 192, 256, 400, 640, 656, 704}) {
      problem.n = 64;
      problem.k = bytes / problem.a.bytes();
      expectProduct(problem, small(problem), 20);
    }
}

TEST_CASE("products whose rows have gaps and whose columns end anywhere", "[run]") {
  for (std::int64_t n : {63, 66, 100, 128})
    expectProduct({.n = n, .k = 104, .bias = true}, small({}), 35,
                  {.a = 8,
                   .c = n % 4 == 0   ? 4
                        : n % 2 == 0 ? 2
                                     : 3});
  GemmProblem problem{
      .a = fx::i8, .b = fx::i8, .c = fx::bf16, .n = 65, .k = 96, .scale_b = Scales::per_row};
  expectProduct(problem, small(problem), 33, {.a = 16, .c = 5});
}

TEST_CASE("products with scales, a bias and an activation", "[run]") {
  for (Activation activation :
       {Activation::relu, Activation::silu, Activation::gelu_tanh, Activation::none})
    for (GemmProblem problem : typed()) {
      problem.n = 68;
      problem.k = 128;
      problem.bias = true;
      problem.activation = activation;
      problem.scale_a = problem.scale_b = problem.a.bytes() == 1 ? Scales::per_row : Scales::none;
      expectProduct(problem, 19);
    }
  expectProduct({.n = 64, .k = 64, .scale_a = Scales::per_row, .bias = true}, 1);
}

TEST_CASE("products whose K is split over blocks", "[run]") {
  for (GemmProblem problem : typed())
    for (int split : {2, 3, 8}) {
      problem.n = 70;
      problem.k = 1536 / problem.a.bytes();
      problem.scale_b = Scales::per_row;
      problem.activation = Activation::relu;
      GemmConfig config = small(problem);
      if (split == 8)
        config.tile_k /= 2, config.tile_m *= 2;
      config.split_k = split;
      expectProduct(problem, config, 37);
      expectProduct(problem, config, 1, {.c = 2});
    }
  // Exact sums are the same however they are split.
  GemmProblem problem{.a = fx::i8, .b = fx::i8, .c = fx::f32, .n = 64, .k = 1024};
  const Values values = Values::random(problem, 33);
  GemmConfig config = small(problem);
  const std::vector<double> whole = product(problem, config, 33, values);
  config.split_k = 4;
  CHECK(product(problem, config, 33, values) == whole);
  // The workspace is larger than the rows in use.
  problem = {.n = 64, .k = 512, .bias = true};
  config = small(problem);
  config.split_k = 4;
  CHECK(fk::workspace_bytes(problem, config, 33) == 4 * 33 * 64 * 4);
  expectStructure(problem, config, 33);
}

TEST_CASE("products of small integers are exact", "[run]") {
  for (GemmProblem problem : typed()) {
    problem.c = fx::f32;
    problem.n = 80;
    problem.k = 400 / problem.a.bytes();
    const std::int64_t m = 40;
    Values values;
    values.a = integers(m * problem.k, 5, -3, 3);
    values.b = integers(problem.n * problem.k, 6, -3, 3);
    INFO(fx::to_config(problem).str());
    CHECK(product(problem, small(problem), m, values) == reference(problem, m, values).c);
  }
}

TEST_CASE("products of rows with a single one are the columns of the weights", "[run]") {
  for (GemmProblem problem : typed()) {
    problem.c = fx::f32;
    problem.n = 64;
    problem.k = 256 / problem.a.bytes();
    Values values;
    values.a.resize(std::size_t(problem.k * problem.k));
    for (std::int64_t i = 0; i < problem.k; ++i)
      values.a[std::size_t(i * problem.k + i)] = 1;
    values.b = problem.b == fx::i8 ? integers(problem.n * problem.k, 7, -128, 127)
                                   : uniform(problem.b, problem.n * problem.k, 7);
    std::vector<double> transposed;
    for (std::int64_t k = 0; k < problem.k; ++k)
      for (std::int64_t n = 0; n < problem.n; ++n)
        transposed.push_back(values.b[std::size_t(n * problem.k + k)]);
    INFO(fx::to_config(problem).str());
    CHECK(product(problem, small(problem), problem.k, values) == transposed);
  }
}

TEST_CASE("infinite and missing numbers stay in their row and column", "[run]") {
  // Zeros that fill tiles meet no NaN: rows, columns and the end of K are next to one.
  const GemmProblem problem{.c = fx::f32, .n = 48, .k = 72};
  const std::int64_t m = 18;
  Values values = Values::random(problem, m);
  values.a[std::size_t(3 * problem.k + 71)] = std::nan("");
  values.b[std::size_t(20 * problem.k + 71)] = std::numeric_limits<double>::infinity();
  const std::vector<double> c = product(problem, small(problem), m, values, {.a = 8});
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < problem.n; ++j)
      REQUIRE(std::isfinite(c[std::size_t(i * problem.n + j)]) == (i != 3 && j != 20));
}

TEST_CASE("products by all tiles of the table and all orders", "[run]") {
  const GemmProblem problem{.n = 260, .k = 72};
  const std::int64_t m = 130;
  const Values values = Values::random(problem, m);
  const Reference expected = reference(problem, m, values);
  std::vector<double> first;
  for (const GemmConfig &config : fk::configs(problem, m)) {
    if (config.order != fk::TileOrder{} && config.tile_m != 32)
      continue; // the tile and the order do not depend on one another
    INFO(fx::to_config(config).str());
    const std::vector<double> c = product(problem, config, m, values);
    expectWithin(c, expected.c, expected.bound);
    if (first.empty())
      first = c;
    CHECK(c == first); // the order of the sums is that of K for every tile
  }
}

TEST_CASE("a product: another run, a graph, a file", "[run]") {
  const GemmProblem problem{.n = 96, .k = 160, .bias = true, .activation = Activation::silu};
  expectStructure(problem, small(problem), 33);
  // The file has a variant for each configuration.
  const ScratchFile file;
  fk::export_aot(problem, small(problem), file.path(), {});
  CHECK_THROWS(fk::GemmPlan::load(fx::load_aot(file.path()), problem,
                                  {.tile_m = 64, .tile_n = 64, .tile_k = 64}));
}

TEST_CASE("products with many rows, and with operands over 4 GiB", "[large]") {
  // It runs without checks, whose notes of the memory take as much memory again.
  GemmProblem problem{.c = fx::f32, .n = 16, .k = 16};
  const std::int64_t many = 65600; // rows of more than 16 bits
  Values values;
  values.a = integers(many * problem.k, 8, -3, 3);
  values.b = integers(problem.n * problem.k, 9, -3, 3);
  CHECK(product(problem, {.tile_m = 128, .tile_n = 64, .tile_k = 64}, many, values) ==
        reference(problem, many, values).c);

  // 140 rows of a and of c, 32 MiB apart; only what is used of them is touched.
  problem.c = fx::f16;
  const std::int64_t m = 140, apart = std::int64_t(1) << 24;
  values.a.resize(std::size_t(m * problem.k));
  fx::DeviceArray<fx::half_t> a({(m - 1) * apart + problem.k}), c({(m - 1) * apart + problem.n});
  const auto row = [&](const fx::DeviceArray<fx::half_t> &array, std::int64_t i) {
    return array.data() + i * apart;
  };
  const std::vector<std::uint8_t> bytes = encode(fx::f16, values.a);
  const std::size_t size = std::size_t(problem.k) * 2;
  for (std::int64_t i = 0; i < m; ++i)
    REQUIRE(HIP(hipMemcpy)(row(a, i), bytes.data() + std::size_t(i) * size, size,
                           hipMemcpyHostToDevice) == hipSuccess);
  const Operand b = prepared(problem, values.b);
  const fx::Stream stream;
  fk::GemmPlan(problem, {.tile_m = 16, .tile_n = 64, .tile_k = 256})(
      {.a = fx::tensor(a.data(), {m, problem.k}, {apart, 1}),
       .b = b.vector(),
       .c = fx::tensor(c.data(), {m, problem.n}, {apart, 1})},
      stream);
  stream.synchronize();
  const std::vector<double> expected = reference(problem, m, values).c;
  for (std::int64_t i = 0; i < m; ++i) {
    std::vector<std::uint8_t> got(std::size_t(problem.n) * 2);
    REQUIRE(HIP(hipMemcpy)(got.data(), row(c, i), got.size(), hipMemcpyDeviceToHost) == hipSuccess);
    const auto first = expected.begin() + i * problem.n;
    REQUIRE(decode(fx::f16, got) == std::vector<double>(first, first + problem.n));
  }
}

TEST_CASE("a product of no rows launches nothing") {
  const GemmProblem problem{.n = 64, .k = 64};
  const fk::GemmPlan plan(problem, fk::choose(problem, 0));
  const Operand b = prepared(problem, std::vector<double>(64 * 64));
  const fx::TensorArg none(nullptr, fx::f16, fx::Extents{0, 64});
  CHECK(fx::Device::current()
            .count_launches([&] { plan({.a = none, .b = b.vector(), .c = none}); })
            .empty());
}

TEST_CASE("a product reads a row of tiles once for each column of tiles", "[run]") {
  // Fragments are read and tiles are written without conflicts of banks.
  for (GemmProblem problem : typed()) {
    problem.n = 256;
    problem.k = 512 / problem.a.bytes();
    const std::int64_t m = 64, bytes = problem.a.bytes();
    GemmConfig config = small(problem);
    config.tile_n = 128;
    const auto counters = countersOf(problem, config, m);
    REQUIRE(counters.size() == 1);
    INFO(fx::to_config(problem).str() << "\n" << counters[0].str());
    CHECK(counters[0]["SQ_LDS_BANK_CONFLICT"] == 0);
    const std::int64_t a = m * problem.k * bytes, b = problem.n * problem.k * bytes,
                       c = m * problem.n * problem.c.bytes();
    // RDNA3's halves of a wave hold the same weights, and both read them, at the same addresses.
    const std::int64_t copies = here().family() == fx::Family::rdna3 ? 2 : 1;
    CHECK(std::int64_t(counters[0]["globalBytesRead"]) == a * 2 + b * 2 * copies);
    CHECK(std::int64_t(counters[0]["globalBytesWritten"]) == c);
    CHECK(std::int64_t(counters[0]["globalBytesTouched"]) == a + b + c);
  }
}

TEST_CASE("the hot loop of a product has the instructions that it needs") {
  // For a step: instructions of K / k by tiles of 16 x 16; a read of LDS and a load of weights for
  // 16 rows by as many pieces of 16 bytes as lanes share a row; loads and writes of A of 16 bytes a
  // thread. A round has two steps. Sample 04 and FlyDSL's kernel have the same numbers for f16 with
  // 128x128x64.
  struct Case {
    const char *target;
    fx::DType type;
    GemmConfig config;
    int k;          // of the instruction
    int across = 4; // lanes that share a row
  };
  for (const Case &c : std::initializer_list<Case>{
           {"gfx942", fx::f16, {.tile_m = 128, .tile_n = 128, .tile_k = 64}, 16},
           {"gfx90a", fx::bf16, {.tile_m = 128, .tile_n = 128, .tile_k = 64}, 16},
           {"gfx950", fx::bf16, {.tile_m = 128, .tile_n = 256, .tile_k = 64}, 32},
           {"gfx942", fx::f8E4M3FNUZ, {.tile_m = 64, .tile_n = 256, .tile_k = 128}, 32},
           {"gfx942", fx::i8, {.tile_m = 64, .tile_n = 256, .tile_k = 128}, 32},
           {"gfx950", fx::f8E4M3FN, {.tile_m = 128, .tile_n = 256, .tile_k = 128}, 128},
           {"gfx950", fx::i8, {.tile_m = 16, .tile_n = 64, .tile_k = 512}, 64},
           {"gfx1100", fx::f16, {.tile_m = 64, .tile_n = 128, .tile_k = 32, .threads = 128}, 16, 1},
           {"gfx1201",
            fx::bf16,
            {.tile_m = 64, .tile_n = 128, .tile_k = 32, .threads = 128},
            16,
            2},
           {"gfx1201",
            fx::f8E4M3FN,
            {.tile_m = 64, .tile_n = 128, .tile_k = 64, .threads = 128},
            16,
            2}}) {
    const GemmProblem problem{.a = c.type,
                              .b = c.type,
                              .c = fx::bf16,
                              .n = 1024,
                              .k = 8192,
                              .scale_a = Scales::per_row,
                              .scale_b = Scales::per_row,
                              .bias = true,
                              .activation = Activation::silu};
    const fk::GemmPlan plan(problem, c.config, fx::Target::parse(c.target));
    const std::vector<fx::Executable> codes = plan.executables();
    REQUIRE(codes.size() == 1);
    const HotLoop loop = hotLoop(codes[0]);
    const auto &[tileM, tileN, tileK, threads, parts, order] = c.config;
    const int bytes = tileK * c.type.bytes();
    INFO(codes[0].name() << " for " << c.target << "\n" << codes[0].summary() << loop.str());
    CHECK(codes[0].spills() == 0);
    CHECK(codes[0].scratch_bytes() == 0);
    const int waves = threads / fx::Target::parse(c.target).wave_size(), row = 16 * 16 * c.across;
    CHECK(loop.matrix == 2 * (tileK / c.k) * (tileM / 16) * (tileN / 16 / waves));
    CHECK(loop.ldsReads == 2 * tileM * bytes / row);
    CHECK(loop.ldsWrites == 2 * tileM * bytes / 16 / threads);
    CHECK(loop.loads == 2 * (tileM * bytes / 16 / threads + tileN / waves * bytes / row));
    CHECK(loop.barriers == 2);
    CHECK(loop.vector == 0);
    CHECK(loop.scalar <= 9); // two of them are the first halves of RDNA4's barriers
    CHECK(loop.by.count("v_mfma_scale_f32_16x16x128_f8f6f4") == 0);
  }
}

TEST_CASE("weights are prepared on the device as on the host", "[run]") {
  for (const fk::WeightProblem &problem : {fk::WeightProblem{.dtype = fx::f16, .n = 32, .k = 64},
                                           fk::WeightProblem{.dtype = fx::f16, .n = 37, .k = 200},
                                           fk::WeightProblem{.dtype = fx::i8, .n = 50, .k = 176},
                                           fk::WeightProblem{.dtype = fx::f32, .n = 17, .k = 36}}) {
    INFO(fx::to_config(problem).str());
    const std::vector<double> values = problem.dtype == fx::i8
                                           ? integers(problem.n * problem.k, 3, -128, 127)
                                           : uniform(problem.dtype, problem.n * problem.k, 3);
    const std::vector<std::uint8_t> raw = encode(problem.dtype, values);
    std::vector<std::uint8_t> host(std::size_t(fk::prepared_size(problem) * problem.dtype.bytes()));
    fk::prepare_weight(problem, raw.data(), host.data());
    const Operand in = Operand::input(problem.dtype, problem.n, problem.k, values,
                                      16 / problem.dtype.bytes()),
                  out = Operand::output(problem.dtype, 1, fk::prepared_size(problem));
    const fx::Stream stream;
    fk::run(problem, {.raw = in.tensor(), .out = out.vector()}, stream);
    stream.synchronize();
    out.expectUntouched();
    CHECK(out.bytes() == host);
  }
  expectStructure<fk::WeightProblem>({.dtype = fx::bf16, .n = 48, .k = 72}, {.block = 128}, 48);
}

TEST_CASE("a product has a configuration for every problem that it supports") {
  for (const fx::Target &target : targets()) {
    for (fx::DType type : {fx::f16, fx::i8, fx::f8E4M3FN, fx::f8E5M2FNUZ})
      for (std::int64_t n : {1, 16, 63, 64, 257, 1000, 4096, 14336, 1 << 20})
        for (std::int64_t k : {16, 48, 64, 208, 1024, 4096, 8320, 1 << 20}) {
          const GemmProblem problem{.a = type, .b = type, .c = fx::bf16, .n = n, .k = k};
          if (!fk::supported(problem, target)) {
            CHECK(type.is_float());
            continue;
          }
          for (std::int64_t m = 0; m < 20000; m += m < 70 ? 1 : 331)
            if (const auto fits = fk::supported(problem, fk::choose(problem, m, target), target);
                !fits)
              FAIL(fits.why);
          for (const GemmConfig &config : fk::configs(problem, 1000, target))
            if (!fk::supported(problem, config, target))
              FAIL("a configuration is not supported");
        }
  }
  SUCCEED();
}

TEST_CASE("the tile of a product grows with the work") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto tile = [&](std::int64_t m, std::int64_t n) {
    const GemmConfig config = fk::choose(GemmProblem{.n = n, .k = 4096}, m, target);
    return std::pair(config.tile_m, config.tile_n);
  };
  CHECK(tile(1, 4096) == std::pair(16, 64));
  const auto split = [&](std::int64_t m, std::int64_t n, std::int64_t k) {
    return fk::choose(GemmProblem{.n = n, .k = k}, m, target).split_k;
  };
  CHECK(split(1, 4096, 4096) == 8);   // 64 tiles on 304 units, 16 steps
  CHECK(split(1, 8192, 4096) == 4);   // 128 tiles
  CHECK(split(1, 4096, 5120) == 4);   // 20 steps have no parts of 8
  CHECK(split(16, 4096, 14336) == 8); // the smallest that is enough
  CHECK(split(64, 1024, 4096) == 4);  // more would write too many sums
  CHECK(split(4096, 4096, 4096) == 1);
  CHECK(tile(16, 4096) == std::pair(16, 64));
  CHECK(tile(16, 100000) == std::pair(16, 128));
  CHECK(tile(64, 14336) == std::pair(32, 64)); // 448 tiles; 64 x 64 are 224 of 304 units
  CHECK(tile(4096, 4096) == std::pair(128, 256));
  CHECK(tile(1024, 4096) == std::pair(64, 128));
}

TEST_CASE("products say what they do not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const GemmProblem &problem) { return fk::supported(problem, target).why; };
  CHECK(why({.n = 0, .k = 64}) == "n is 0; it is 1 to 268435456");
  CHECK(why({.n = 64, .k = 100}) == "k is 100: a row of 200 bytes is no multiple of 16 bytes");
  CHECK(why({.n = 64, .k = 0}) == "k is 0; it is 1 to 2097152");
  CHECK(why({.c = fx::i8, .n = 64, .k = 64}) == "c is of type i8; f32, f16 and bf16 are supported");
  CHECK(
      why({.b = fx::bf16, .n = 64, .k = 64}) ==
      "a is of type f16 and b of type bf16; gfx942 has products where both are f16, or both bf16, "
      "or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ");
  CHECK(why({.a = fx::f8E4M3FN, .b = fx::f8E4M3FN, .n = 64, .k = 64}) ==
        "a is of type f8E4M3FN and b of type f8E4M3FN; gfx942 has products where both are f16, or "
        "both bf16, or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ");
  CHECK(fk::supported(GemmProblem{.a = fx::f8E4M3FN, .b = fx::f8E4M3FN, .n = 64, .k = 64},
                      fx::Target::parse("gfx1100"))
            .why == "a is of type f8E4M3FN and b of type f8E4M3FN; gfx1100 has products where both "
                    "are f16, or both bf16, or both i8");
  CHECK(fk::supported(GemmProblem{.n = 64, .k = 64}, fx::Target::parse("gfx1250")).why ==
        "products have no configurations for this target");

  const GemmProblem good{.n = 64, .k = 64};
  const auto whyNot = [&](const GemmConfig &config) {
    return fk::supported(good, config, target).why;
  };
  CHECK(whyNot({.tile_m = 24, .tile_n = 64, .tile_k = 64}) ==
        "tile 24x64x64 of 256 threads: tile_m is a multiple of 16, up to 256");
  CHECK(whyNot({.tile_m = 32, .tile_n = 96, .tile_k = 64}) ==
        "tile 32x96x64 of 256 threads: tile_n is a multiple of 16 for each wave, up to 512");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 48}) ==
        "tile 32x64x48 of 256 threads: a row of tile_k elements is a power of two of bytes, from "
        "64 to "
        "1024");
  CHECK(whyNot({.tile_m = 16, .tile_n = 64, .tile_k = 64}) ==
        "tile 16x64x64 of 256 threads: the tile of a, 16 rows of 128 bytes, is no multiple of the "
        "4096 "
        "bytes that the block loads at a time");
  CHECK(
      whyNot({.tile_m = 256, .tile_n = 64, .tile_k = 128}) ==
      "tile 256x64x128 of 256 threads: two tiles of a take 131072 bytes of LDS, of which there are "
      "65536");
  CHECK(whyNot({.tile_m = 256, .tile_n = 256, .tile_k = 64}) ==
        "tile 256x256x64 of 256 threads: the fragments take 480 registers of a lane, of which 464 "
        "are "
        "free");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .threads = 96}) ==
        "tile 32x64x64 of 96 threads: a block is a number of waves of 64, up to 1024 threads");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .split_k = 2}) ==
        "tile 32x64x64 of 256 threads: k is 64, no multiple of split_k * tile_k, 128");
  CHECK(whyNot({.tile_m = 32, .tile_n = 64, .tile_k = 64, .split_k = 0}) ==
        "tile 32x64x64 of 256 threads: split_k is 1 to 64");
  CHECK(whyNot({.order = {.group = 0}}) ==
        "order: group is 1 to 4096, xcds 1 to 64, chunk 0 to 4096");
  CHECK(messageOf([&] { fk::prepared_size({.dtype = fx::f4E2M1FN, .n = 16, .k = 64}); })
            .find("weight: elements are of type f4E2M1FN; types of one, two and four bytes are "
                  "supported") != std::string::npos);
}

TEST_CASE("products refuse arguments that do not fit") {
  const GemmProblem problem{.n = 64, .k = 64, .bias = true};
  const fk::GemmPlan plan(problem, {.tile_m = 32, .tile_n = 64, .tile_k = 64});
  const Operand a = Operand::input(fx::f16, 4, 64, std::vector<double>(256)),
                b = prepared(problem, std::vector<double>(64 * 64)),
                c = Operand::output(fx::f16, 4, 64),
                bias = Operand::input(fx::f16, 1, 64, std::vector<double>(64));
  const fk::GemmArgs good{.a = a.tensor(), .b = b.vector(), .c = c.tensor(), .bias = bias.vector()};
  const auto expect = [&](const auto &change, const char *part) {
    fk::GemmArgs args = good;
    change(args);
    const std::string text = messageOf([&] { plan(args); });
    INFO(text);
    CHECK(text.find(part) != std::string::npos);
    CHECK(text.find("gemm_test.cpp") != std::string::npos);
  };
  void *data = a.tensor().data();
  expect([&](auto &args) { args.c = fx::tensor(data, fx::f16, {3, 64}); },
         "gemm: c has the shape (3, 64); (4, 64) is expected");
  expect([&](auto &args) { args.b = fx::tensor(data, fx::f16, {64, 64}); },
         "gemm: b has the shape (64, 64); (4096) is expected");
  expect([&](auto &args) { args.bias = std::nullopt; },
         "gemm: bias is missing; the problem has it");
  expect([&](auto &args) { args.scale_a = args.bias; },
         "gemm: scale_a is given, and the problem does not have it");
  expect([&](auto &args) { args.a = fx::tensor(data, fx::f16, {4, 64}, {68, 1}); },
         "gemm: a has rows 68 elements apart, which is no multiple of 8; 16 bytes are loaded at a "
         "time");
  expect([&](auto &args) { args.c = fx::tensor(data, fx::f16, {4, 64}, {66, 1}); },
         "gemm: c has rows 66 elements apart, which is no multiple of 4; as many of n are moved at "
         "a time");
  expect([&](auto &args) { args.a = fx::tensor(data, fx::f16, {4, 64}, {1 << 24, 1}); },
         "gemm: a has rows 16777216 elements apart; the 32 rows of a tile span less than 1 GiB");
  expect([&](auto &args) { args.c = fx::tensor(data, fx::f16, {4, 64}, {32, 1}); },
         "gemm: c has rows 32 elements apart, which overlap");
  expect([&](auto &args) { args.workspace = args.bias; },
         "gemm: workspace is given, and the problem does not have it");

  const fk::GemmPlan split({.n = 64, .k = 128},
                           {.tile_m = 32, .tile_n = 64, .tile_k = 64, .split_k = 2});
  const Operand a2 = Operand::input(fx::f16, 4, 128, std::vector<double>(512)),
                b2 = prepared({.n = 64, .k = 128}, std::vector<double>(64 * 128));
  fk::GemmArgs args{.a = a2.tensor(), .b = b2.vector(), .c = c.tensor()};
  CHECK(messageOf([&] { split(args); }).find("gemm: workspace is missing; the problem has it") !=
        std::string::npos);
  args.workspace = fx::tensor(data, fx::u8, {2047});
  CHECK(messageOf([&] { split(args); })
            .find("gemm: workspace has the shape (2047); a vector of at least 2048 bytes is "
                  "expected") != std::string::npos);
}
