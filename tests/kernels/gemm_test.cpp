// Products against a reference in double precision.
#include "support/product.h"

using namespace kernel_tests;

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
    if (config.waves_k > 2 || (config.waves_k > 1 && config.dma && config.stages == 2))
      continue; // nor do slices of K and stages
    INFO(fx::to_config(config).str());
    const std::vector<double> c = product(problem, config, m, values);
    expectWithin(c, expected.c, expected.bound);
    if (config.waves_k > 1)
      continue; // they add other sums
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
       .b = preparedArg(problem, b),
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

TEST_CASE("products with columns that span more than a buffer", "[large]") {
  // What is not set is 0, and is touched by reads alone.
  using enum fk::OperandLayout;
  const std::int64_t n = 2048, k = 1 << 18;
  const GemmProblem problem{.c = fx::f32, .b_layout = columns, .n = n, .k = k};
  fx::DeviceArray<fx::half_t> a({1, k}), b({k, n});
  fx::DeviceArray<float> c({1, n});
  a.fill(fx::half_t(1.0f));
  struct Weight {
    std::int64_t row, k;
    float value;
  };
  std::vector<float> expected(std::size_t(n), 0.0f);
  for (const Weight &weight : {Weight{0, 0, 1}, Weight{5, 63, 2}, Weight{5, k / 2, 3},
                               Weight{n - 1, k - 1, 4}, Weight{70, k - 129, 5}}) {
    const fx::half_t value(weight.value);
    REQUIRE(HIP(hipMemcpy)(b.data() + weight.k * n + weight.row, &value, sizeof value,
                           hipMemcpyHostToDevice) == hipSuccess);
    expected[std::size_t(weight.row)] += weight.value;
  }
  const fx::Stream stream;
  GemmConfig config = fk::choose(problem, 1);
  config.split_k = 1; // a part of K is small
  fk::GemmPlan(problem, config)({.a = a, .b = fx::tensor(b.data(), {n, k}, {1, n}), .c = c},
                                stream);
  stream.synchronize();
  CHECK(c.to_host() == expected);
}

TEST_CASE("a product of no rows launches nothing") {
  const GemmProblem problem{.n = 64, .k = 64};
  const fk::GemmPlan plan(problem, fk::choose(problem, 0));
  const Operand b = prepared(problem, std::vector<double>(64 * 64));
  const fx::TensorArg none(nullptr, fx::f16, fx::Extents{0, 64});
  CHECK(fx::Device::current()
            .count_launches([&] { plan({.a = none, .b = preparedArg(problem, b), .c = none}); })
            .empty());

  // Columns of no rows have BLAS's leading dimension, max(1, m).
  const GemmProblem columns{.a_layout = fk::OperandLayout::columns, .n = 64, .k = 64};
  const fk::GemmPlan ofColumns(columns, fk::choose(columns, 0));
  const fx::TensorArg noColumns =
      fx::tensor(static_cast<void *>(nullptr), fx::f16, {0, 64}, {1, 1});
  CHECK(fx::Device::current()
            .count_launches([&] {
              ofColumns({.a = noColumns, .b = preparedArg(columns, b), .c = none});
            })
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
    const std::int64_t copies = copiesOfOperands();
    CHECK(std::int64_t(counters[0]["globalBytesRead"]) == a * 2 + b * 2 * copies);
    CHECK(std::int64_t(counters[0]["globalBytesWritten"]) == c);
    CHECK(std::int64_t(counters[0]["globalBytesTouched"]) == a + b + c);
  }
}

TEST_CASE("weights of OCP's 8-bit floats become FNUZ's, and their scales twice as large") {
  for (const auto &[ocp, fnuz] : {std::pair(fx::DType(fx::f8E4M3FN), fx::DType(fx::f8E4M3FNUZ)),
                                  std::pair(fx::DType(fx::f8E5M2), fx::DType(fx::f8E5M2FNUZ))}) {
    // All patterns, a block of 16 rows by 16.
    std::vector<std::uint8_t> raw(16 * 16);
    for (std::size_t i = 0; i < raw.size(); ++i)
      raw[i] = std::uint8_t(i);
    const fk::WeightProblem problem{.dtype = fnuz, .n = 16, .k = 16};
    std::vector<std::uint8_t> out(std::size_t(fk::prepared_size(problem)));
    std::vector<float> scales{0.5f, 3.0f};
    fk::prepare_weight_as_fnuz(problem, raw.data(), out.data(), scales);
    CHECK(scales == std::vector<float>{1.0f, 6.0f});
    out.resize(raw.size()); // rows of 16 bytes come first, in order
    const std::vector<double> before = decode(ocp, raw), after = decode(fnuz, out);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      INFO(ocp.name() << ", pattern " << i);
      if (std::isfinite(before[i]))
        CHECK(2 * after[i] == before[i]);
      else
        CHECK(std::isnan(after[i]));
    }
  }
  std::vector<std::uint8_t> bytes(2048); // raw weights, and from 512 on a block of prepared ones
  std::vector<float> scales{1.0f, 3e38f};
  const auto message = [&](fx::DType dtype, std::span<float> of) {
    return messageOf([&] {
      fk::prepare_weight_as_fnuz({.dtype = dtype, .n = 16, .k = 16}, bytes.data(),
                                 bytes.data() + 512, of);
    });
  };
  CHECK(message(fx::f8E4M3FN, scales).find("dtype is f8E4M3FN; it is what the product takes") !=
        std::string::npos);
  CHECK(message(fx::f8E4M3FNUZ, {}).find("there are no scales") != std::string::npos);
  CHECK(message(fx::f8E4M3FNUZ, scales).find("scale 1 is ") != std::string::npos);
  CHECK(scales[0] == 1.0f);
  // Scales that are powers of two: 2^-1, 2^-127, NaN, and 2^127, whose double is none.
  const fk::WeightProblem problem{.dtype = fx::f8E4M3FNUZ, .n = 16, .k = 16};
  std::vector<std::uint8_t> exponents{126, 0, 255};
  bytes[1] = 0x38; // 1 of f8E4M3FN
  fk::prepare_weight_as_fnuz(problem, bytes.data(), bytes.data() + 512, exponents);
  CHECK(exponents == std::vector<std::uint8_t>{127, 1, 255});
  CHECK(decode(fx::f8E4M3FNUZ, std::span(bytes).subspan(512, 16))[1] == 0.5);
  std::vector<std::uint8_t> large{3, 254};
  CHECK(messageOf([&] {
          fk::prepare_weight_as_fnuz(problem, bytes.data(), bytes.data() + 512, large);
        }).find("scale 1 is 254, whose double is no finite number") != std::string::npos);
  CHECK(large[0] == 3);
  CHECK(messageOf([&] {
          fk::prepare_weight_as_fnuz(problem, bytes.data(), bytes.data() + 255, exponents);
        }) == "prepare_weight: raw and out share memory; give out memory of its own");
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
    fk::run(problem, {.raw = in.tensor(), .out = {problem, out.vector()}}, stream);
    stream.synchronize();
    out.expectUntouched();
    CHECK(out.bytes() == host);
  }
  expectStructure<fk::WeightProblem>({.dtype = fx::bf16, .n = 48, .k = 72}, {.block = 128}, 48);
}
