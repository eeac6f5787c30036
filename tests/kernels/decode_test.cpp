// Attention over a paged cache against softmax in double precision.
#include "support/paged_cache.h"
#include "support/structure.h"

#include <flydsl/kernels/decode.h>

using namespace kernel_tests;

namespace {

using fk::DecodeConfig, fk::DecodeProblem, fk::KvCache, fk::KvScales;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The inputs of a call.
struct Inputs {
  std::vector<int> contexts;
  int before = -1;
  std::vector<double> q = {};    ///< [token][q_heads][head]
  SequenceValues k = {}, v = {}; ///< as the cache holds them
  SequenceValues kScale, vScale; ///< [token][kv_heads], or one number; empty: 1
  double qScale = 1;
};

Inputs random(const DecodeProblem &problem, std::vector<int> contexts, int before = -1) {
  Inputs inputs{.contexts = contexts, .before = before, .kScale = {}, .vScale = {}};
  const std::int64_t m = std::ssize(contexts) * problem.queries;
  inputs.q = uniform(problem.q, m * problem.q_heads * problem.head, 1, 2);
  std::uint64_t seed = 2;
  for (int context : contexts) {
    // Of latent attention, values are keys; the reference reads their first elements.
    const std::int64_t count = std::int64_t(context) * problem.kv_heads * problem.head;
    inputs.k.push_back(uniform(problem.kv, count, seed++, 2));
    inputs.v.push_back(problem.latent ? inputs.k.back() : uniform(problem.kv, count, seed++, 2));
    if (problem.scales == KvScales::token) {
      inputs.kScale.push_back(uniform(fx::f32, context * problem.kv_heads, seed++));
      inputs.vScale.push_back(uniform(fx::f32, context * problem.kv_heads, seed++));
    }
  }
  if (problem.scales == KvScales::tensor) {
    inputs.kScale.push_back({0.75});
    inputs.vScale.push_back({problem.latent ? 0.75 : -1.5});
    if (problem.q.bits() == 8)
      inputs.qScale = 1.25;
  }
  return inputs;
}

/// The type of the products' operands.
fx::DType operandOf(const DecodeProblem &problem) {
  return problem.float8_products ? problem.kv : problem.q;
}
/// The heads of q as the kernel rounds them: over the least power of 2 that brings all of a head to
/// the type's largest number at most. Below 2^-126, that power is 0.
std::vector<double> roundedQueries(const DecodeProblem &problem, std::vector<double> q) {
  const fx::DType type = operandOf(problem);
  const std::size_t head = std::size_t(problem.head);
  for (std::size_t first = 0; type != problem.q && first < q.size(); first += head) {
    const std::vector<double> row(q.begin() + std::ptrdiff_t(first),
                                  q.begin() + std::ptrdiff_t(first + head));
    double largest = 0;
    bool ordered = true;
    for (double x : row) {
      largest = std::max(largest, std::fabs(x));
      ordered = ordered && !std::isnan(x);
    }
    const double scale = std::exp2(std::ceil(std::log2(largest / fk::host::largest(type))));
    std::vector<double> scaled;
    for (double x : row)
      scaled.push_back(scale < 0x1p-126 ? 0 : x / scale);
    scaled = decode(type, encode(type, scaled));
    for (std::size_t e = 0; e < head; ++e)
      q[first + e] = !ordered ? std::nan("") : scale < 0x1p-126 ? 0 : scaled[e] * scale;
  }
  return q;
}

/// What must come out, and how far a kernel may be from it. The score of a key, in f32, is off by
///
///   e = (head + 6) 2^-23 sum |q k| scale,      each product of K and its scaling rounds,
///
/// so that its power is off by e^e - 1 + 2^-22 of itself. It is rounded to the operands' type, by u
/// of itself; the sum is that of the rounded ones. Weights thus are off by e^(2 e) - 1 + 2^-21 + 2
/// u, or 3 u where values have scales of their own. A power below the type's smallest number is
/// lost, relative to the largest, which is 1 at least. Sums over n keys and their parts round by (n
/// + 32) 2^-23 of the magnitudes. The logarithm is off by e + u + 2^-20.
///
/// Where the kernel rounds q, these are the errors to the rounded q. To the exact one, e has more:
/// an element of q is off by u of itself, and by half of the type's smallest number times the power
/// of 2, which is at most twice the largest element of its head over the type's largest number;
/// that is
///
///   e += scale sum (u |q| + 2 max|q| underflow / largest) |k|.
struct Expected {
  std::vector<double> y, yBound, lse, lseBound;
};
Expected reference(const DecodeProblem &problem, const Inputs &inputs, bool toExact = false) {
  Expected expected;
  const std::vector<double> queries = toExact ? inputs.q : roundedQueries(problem, inputs.q);
  const fx::DType operand = operandOf(problem);
  const double ofElement = toExact ? unit(operand) : 0,
               ofLargest = toExact ? 2 * underflow(operand) / fk::host::largest(operand) : 0;
  const std::int64_t value = problem.latent ? problem.latent : problem.head;
  const double scale = problem.scale ? problem.scale : 1 / std::sqrt(double(problem.head));
  const std::int64_t head = problem.head, kv = problem.kv_heads,
                     group = problem.q_heads / problem.kv_heads;
  const auto factor = [&](const SequenceValues &scales, std::size_t sequence, std::int64_t j,
                          std::int64_t h) {
    return scales.empty()                      ? 1
           : problem.scales == KvScales::token ? scales[sequence][std::size_t(j * kv + h)]
                                               : scales[0][0];
  };
  for (std::size_t s = 0; s < inputs.contexts.size(); ++s)
    for (int i = 0; i < problem.queries; ++i)
      for (std::int64_t h = 0; h < problem.q_heads; ++h) {
        const std::int64_t at = inputs.contexts[s] - problem.queries + i, kvHead = h / group,
                           first = inputs.before < 0
                                       ? 0
                                       : std::max<std::int64_t>(0, at - inputs.before);
        const double *q = &queries[std::size_t(
            ((std::int64_t(s) * problem.queries + i) * problem.q_heads + h) * head)];
        std::vector<double> scores;
        double error = 0, largest = -kInfinity, mostQ = 0;
        for (std::int64_t e = 0; e < head; ++e)
          mostQ = std::max(mostQ, std::fabs(q[e]));
        for (std::int64_t j = first; j <= at; ++j) {
          double sum = 0, size = 0, rounding = 0;
          for (std::int64_t e = 0; e < head; ++e) {
            const double k = inputs.k[s][std::size_t((j * kv + kvHead) * head + e)],
                         term = q[e] * k;
            sum += term;
            size += std::fabs(term);
            rounding += ofElement * std::fabs(term) + ofLargest * mostQ * std::fabs(k);
          }
          const double by = scale * inputs.qScale * factor(inputs.kScale, s, j, kvHead);
          scores.push_back(sum * by);
          error = std::max(error, (size * (double(head) + 6) * 0x1p-23 + rounding) * std::fabs(by));
          largest = std::max(largest, scores.back());
        }
        double total = 0;
        for (double score : scores)
          total += std::exp(score - largest);
        const double u = unit(operand), n = double(scores.size());
        expected.lse.push_back(largest + std::log(total));
        expected.lseBound.push_back(error + u + 0x1p-20 + 0x1p-22 * std::fabs(largest));
        for (std::int64_t e = 0; e < value; ++e) {
          double sum = 0, size = 0, most = 0;
          for (std::size_t j = 0; j < scores.size(); ++j) {
            const std::int64_t token = first + std::int64_t(j);
            const double by = factor(inputs.vScale, s, token, kvHead),
                         raw = inputs.v[s][std::size_t((token * kv + kvHead) * head + e)],
                         term = std::exp(scores[j] - largest) / total * raw * by;
            sum += term;
            size += std::fabs(term);
            most = std::max(most, std::fabs(raw) * std::max(1.0, std::fabs(by)));
          }
          const double relative = std::expm1(2 * error) + 0x1p-21 + 3 * u + (n + 32) * 0x1p-23;
          expected.y.push_back(sum);
          expected.yBound.push_back(relative * size + 2 * n * underflow(operand) * most +
                                    unit(problem.y) * std::fabs(sum) + underflow(problem.y));
        }
      }
  return expected;
}

void expectDecode(const DecodeProblem &problem, const Inputs &inputs,
                  std::optional<DecodeConfig> given = {}, bool exact = false) {
  const std::int64_t n = std::ssize(inputs.contexts), m = n * problem.queries,
                     heads = problem.q_heads;
  const DecodeConfig config = given ? *given : fk::choose(problem, m);
  INFO(fx::to_config(problem).str() << " n=" << n << " " << fx::to_config(config).str());
  const std::int64_t value = problem.latent ? problem.latent : problem.head;
  const BlockTables tables(inputs.contexts, problem.page);
  const CacheShape shape{.layout = problem.cache,
                         .dtype = problem.kv,
                         .page = problem.page,
                         .heads = problem.kv_heads,
                         .head = problem.head,
                         .pack = problem.pack,
                         .vPack = problem.v_pack ? problem.v_pack : problem.page};
  const PagedCache k(shape, tables, inputs.k, true), v(shape, tables, inputs.v, false);
  CacheShape ofScales{.dtype = fx::f32, .page = problem.page, .heads = problem.kv_heads, .head = 1};
  const bool perToken = problem.scales == KvScales::token,
             scaled = problem.scales != KvScales::none;
  const SequenceValues none;
  const PagedCache kScales(ofScales, tables, perToken ? inputs.kScale : none, true),
      vScales(ofScales, tables, perToken ? inputs.vScale : none, true);
  const std::vector<double> one{0};
  const Operand kScale =
                    Operand::input(fx::f32, 1, 1, scaled && !perToken ? inputs.kScale[0] : one),
                vScale =
                    Operand::input(fx::f32, 1, 1, scaled && !perToken ? inputs.vScale[0] : one),
                qScale = Operand::input(fx::f32, 1, 1, std::vector<double>{inputs.qScale});
  const auto three = [](const fx::TensorArg &scales) { // without the mode of elements
    const auto extents = scales.shape(), strides = scales.strides();
    return fx::tensor(scales.data(), fx::f32, {extents[0], extents[1], extents[2]},
                      {strides[0], strides[1], strides[2]});
  };
  const std::int64_t qPad = 16 / problem.q.bytes(); // rows stay at multiples of 16 bytes
  const Operand table = tables.operand(),
                contexts = Operand::input(
                    fx::i32, 1, n,
                    std::vector<double>(inputs.contexts.begin(), inputs.contexts.end())),
                q = Operand::input(problem.q, m * heads, problem.head, inputs.q, qPad),
                y = Operand::output(problem.y, m * heads, value, 8),
                lse = Operand::output(fx::f32, m, heads),
                workspace = Operand::output(fx::u8, 1,
                                            std::int64_t(fk::workspace_bytes(problem, config, m)));
  const auto headed = [&](const Operand &operand, std::int64_t size, std::int64_t pad) {
    const std::int64_t row = size + pad;
    return fx::tensor(operand.tensor().data(), operand.dtype(), {m, heads, size},
                      {heads * row, row, 1});
  };
  fk::DecodeArgs args{.q = headed(q, problem.head, qPad),
                      .k_cache = k.tensor(true),
                      .tables = table.tensor(),
                      .contexts = contexts.vector(),
                      .before = inputs.before,
                      .y = headed(y, value, 8)};
  if (!problem.latent)
    args.v_cache = v.tensor(false);
  if (scaled) {
    args.k_scale = perToken ? three(kScales.tensor(true)) : kScale.vector();
    if (!problem.latent)
      args.v_scale = perToken ? three(vScales.tensor(true)) : vScale.vector();
  }
  if (problem.q.bits() == 8 && problem.scales == KvScales::tensor)
    args.q_scale = qScale.vector();
  if (config.splits > 1 || config.workers)
    args.workspace = workspace.vector();
  // Of workers, the plan makes the worklist for even numbers; others get the host's.
  std::vector<double> numbers{0};
  if (config.workers % 2) {
    const auto list =
        fk::make_worklist(fk::worklist_of(problem, config), inputs.contexts, inputs.before);
    numbers.assign(list.begin(), list.end());
  }
  const Operand list = Operand::input(fx::i32, 1, std::ssize(numbers), numbers);
  if (config.workers % 2)
    args.worklist = list.vector();
  if (problem.lse)
    args.lse = lse.tensor();
  const fx::Stream stream;
  fk::DecodePlan(problem, config)(args, stream);
  stream.synchronize();
  workspace.expectUntouched();

  Expected expected = reference(problem, inputs);
  if (exact)
    std::fill(expected.yBound.begin(), expected.yBound.end(), 0);
  const std::vector<double> got = y.values();
  expectWithin(got, expected.y, expected.yBound);
  if (problem.float8_products) {
    const Expected toExact = reference(problem, inputs, true);
    expectWithin(got, toExact.y, toExact.yBound);
    if (problem.lse)
      expectWithin(lse.values(), toExact.lse, toExact.lseBound);
  }
  // Errors have no sign: their mean, of the bound, is small.
  double mean = 0;
  for (std::size_t i = 0; i < got.size() && !exact; ++i)
    mean += std::isnan(expected.y[i])
                ? 0
                : (got[i] - expected.y[i]) / expected.yBound[i] / double(got.size());
  CHECK(std::fabs(mean) < 0.02 + 1 / std::sqrt(double(got.size())));
  if (problem.lse)
    expectWithin(lse.values(), expected.lse, expected.lseBound);
}

int wave() { return fx::Device::current().target().wave_size(); }

} // namespace

TEST_CASE("decoding over pages of 16 tokens", "[run]") {
  for (fx::DType type : {fx::bf16, fx::f16}) {
    const DecodeProblem problem{
        .q = type, .kv = type, .y = type, .q_heads = 4, .kv_heads = 2, .head = 64, .lse = true};
    expectDecode(problem, random(problem, {1, 15, 16, 17, 33, 100}));
  }
  const DecodeProblem wide{.y = fx::f32, .q_heads = 16, .kv_heads = 1, .head = 128};
  expectDecode(wide, random(wide, {259}));
}

TEST_CASE("decoding in parts gives the same, also where parts are empty", "[run]") {
  const DecodeProblem problem{.q_heads = 3, .kv_heads = 1, .head = 64, .lse = true};
  // A sequence without tokens sees nothing: its results are 0, its logarithms -infinity.
  for (int splits : {1, 2, 7})
    expectDecode(problem, random(problem, {0, 1, 40, 150}),
                 DecodeConfig{.block = 2 * wave(), .rows = 16, .splits = splits});
}

TEST_CASE("decoding by a worklist", "[run]") {
  const DecodeProblem problem{.q_heads = 4, .kv_heads = 2, .head = 64, .lse = true};
  for (int workers : {1, 2, 5, 12})
    expectDecode(problem, random(problem, {0, 1, 200, 64, 33, 31, 290}),
                 DecodeConfig{.block = 2 * wave(), .workers = workers, .unit = 64});
  const DecodeProblem window{.q_heads = 6, .kv_heads = 1, .head = 32, .queries = 3, .window = true};
  for (int workers : {3, 4})
    expectDecode(window, random(window, {3, 150, 80}, 70),
                 DecodeConfig{.block = wave(), .rows = 16, .workers = workers, .unit = 32});
}

TEST_CASE("decoding of several queries, which see one another", "[run]") {
  for (int queries : {2, 3, 4}) {
    const DecodeProblem problem{
        .q_heads = 8, .kv_heads = 1, .head = 64, .queries = queries, .lse = true};
    expectDecode(problem, random(problem, {queries, 20, 65}));
  }
  // Rows in several blocks, and in one.
  const DecodeProblem problem{.q_heads = 16, .kv_heads = 1, .head = 32, .queries = 4};
  for (int rows : {16, 32, 64})
    expectDecode(problem, random(problem, {37}), DecodeConfig{.block = 2 * wave(), .rows = rows});
}

TEST_CASE("decoding of windows", "[run]") {
  for (int before : {-1, 0, 1, 30, 63, 64, 1000}) {
    const DecodeProblem problem{
        .q_heads = 2, .kv_heads = 1, .head = 32, .queries = 2, .window = true, .lse = true};
    expectDecode(problem, random(problem, {2, 64, 131}, before),
                 DecodeConfig{.block = 2 * wave(), .splits = before % 2 ? 1 : 2});
  }
}

TEST_CASE("decoding over pages of all sizes", "[run]") {
  for (int page : {1, 3, 8, 64, 1024}) {
    const DecodeProblem problem{.q_heads = 2, .kv_heads = 2, .head = 32, .page = page};
    expectDecode(problem, random(problem, {5, 77}));
  }
}

TEST_CASE("decoding of heads of all sizes", "[run]") {
  for (int head : {32, 96, 192, 256}) {
    const DecodeProblem problem{.y = fx::f16, .q_heads = 2, .kv_heads = 1, .head = head};
    expectDecode(problem, random(problem, {45}));
  }
}

TEST_CASE("decoding over packed caches", "[run]") {
  for (int vPack : {0, 8}) {
    const DecodeProblem problem{.q_heads = 4,
                                .kv_heads = 2,
                                .head = 64,
                                .cache = KvCache::packed,
                                .page = 16,
                                .pack = 8,
                                .v_pack = vPack};
    expectDecode(problem, random(problem, {1, 16, 45}));
  }
}

TEST_CASE("decoding over caches of 8 bits", "[run]") {
  for (fx::DType kv : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2})
    for (KvScales scales : {KvScales::none, KvScales::tensor, KvScales::token}) {
      const DecodeProblem problem{
          .kv = kv, .q_heads = 4, .kv_heads = 2, .head = 64, .scales = scales, .lse = true};
      expectDecode(problem, random(problem, {17, 40}));
    }
  const DecodeProblem packed{.q = fx::f16,
                             .kv = fx::f8E4M3FNUZ,
                             .y = fx::f16,
                             .q_heads = 2,
                             .kv_heads = 1,
                             .head = 128,
                             .cache = KvCache::packed,
                             .pack = 16,
                             .scales = KvScales::tensor};
  expectDecode(packed, random(packed, {50}));
  const DecodeProblem single{.kv = fx::f8E4M3FN,
                             .q_heads = 2,
                             .kv_heads = 1,
                             .head = 32,
                             .page = 1,
                             .scales = KvScales::token};
  expectDecode(single, random(single, {50}));
}

TEST_CASE("decoding by products of 8 bits", "[run]") {
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2}) {
    const fx::Target target = fx::Device::current().target();
    const DecodeProblem problem{.q = type,
                                .kv = type,
                                .y = fx::f32,
                                .q_heads = 4,
                                .kv_heads = 2,
                                .head = 128,
                                .scales = KvScales::tensor,
                                .lse = true};
    if (!fk::supported(problem, target)) {
      CHECK(fk::supported(problem, target)
                .why.find("floats of 8 bits that products of " + target.name() + " take") !=
            std::string::npos);
      continue;
    }
    expectDecode(problem, random(problem, {17, 140}));
    expectDecode(problem, random(problem, {0, 90}), DecodeConfig{.block = 2 * wave(), .splits = 2});
    const DecodeProblem packed{.q = type,
                               .kv = type,
                               .q_heads = 16,
                               .kv_heads = 1,
                               .head = 64,
                               .cache = KvCache::packed,
                               .pack = 16};
    expectDecode(packed, random(packed, {70}));
    if (wave() == 32)
      continue;
    const DecodeProblem latent{.q = type,
                               .kv = type,
                               .y = fx::f32,
                               .q_heads = 32,
                               .head = 192,
                               .page = 1,
                               .queries = 2,
                               .scales = KvScales::tensor,
                               .latent = 128,
                               .lse = true};
    expectDecode(latent, random(latent, {2, 70}));
    expectDecode(latent, random(latent, {65}), DecodeConfig{.block = 256, .rows = 64, .splits = 2});
  }
}

TEST_CASE("decoding by products of 8 bits of q of 16 bits", "[run]") {
  const fx::Target target = fx::Device::current().target();
  for (fx::DType type : {fx::f8E4M3FN, fx::f8E4M3FNUZ, fx::f8E5M2}) {
    const DecodeProblem problem{.kv = type,
                                .y = fx::f32,
                                .float8_products = true,
                                .q_heads = 4,
                                .kv_heads = 2,
                                .head = 128,
                                .scales = KvScales::tensor,
                                .lse = true};
    if (!fk::supported(problem, target)) {
      CHECK(fk::supported(problem, target)
                .why.find("with float8_products it is a float of 8 bits; " + target.name() +
                          " has products where") != std::string::npos);
      continue;
    }
    expectDecode(problem, random(problem, {17, 140}));
    expectDecode(problem, random(problem, {0, 90}), DecodeConfig{.block = 2 * wave(), .splits = 2});
    const DecodeProblem packed{.q = fx::f16,
                               .kv = type,
                               .float8_products = true,
                               .q_heads = 9,
                               .kv_heads = 1,
                               .head = 96,
                               .cache = KvCache::packed,
                               .pack = 16,
                               .queries = 2};
    expectDecode(packed, random(packed, {50}), DecodeConfig{.block = 2 * wave(), .rows = 32});
    if (wave() == 32)
      continue;
    const DecodeProblem latent{.kv = type,
                               .y = fx::f32,
                               .float8_products = true,
                               .q_heads = 32,
                               .head = 192,
                               .page = 1,
                               .queries = 2,
                               .scales = KvScales::tensor,
                               .latent = 128,
                               .lse = true};
    expectDecode(latent, random(latent, {2, 40}));
  }
}

TEST_CASE("decoding rounds adversarial q to 8 bits", "[run]") {
  const fx::Target target = fx::Device::current().target();
  const fx::DType type = target.has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
  DecodeProblem problem{.kv = type,
                        .y = fx::f32,
                        .float8_products = true,
                        .q_heads = 6,
                        .kv_heads = 1,
                        .head = 64,
                        .scale = 0x1p-20};
  if (!fk::supported(problem, target))
    return;
  Inputs inputs = random(problem, {70});
  const auto row = [&](int head, auto value) {
    for (std::size_t e = 0; e < 64; ++e)
      inputs.q[std::size_t(head) * 64 + e] = value(inputs.q[std::size_t(head) * 64 + e], e);
  };
  row(0, [](double, std::size_t) { return 0.0; });                          // all weights are equal
  row(1, [](double x, std::size_t e) { return e == 7 ? 0x1p20 : x; });      // a huge element
  row(2, [](double x, std::size_t) { return x * 0x1p-130; });               // subnormal numbers
  row(3, [](double x, std::size_t) { return x * 0x1p19; });                 // all are large
  row(4, [](double x, std::size_t e) { return e == 63 ? x * 0x1p20 : 0; }); // all but one are 0
  row(5, [](double x, std::size_t e) { return x * std::ldexp(1, 20 - int(e)); });
  inputs.q = decode(problem.q, encode(problem.q, inputs.q));
  expectDecode(problem, inputs);
  // A NaN makes the results of its head NaN, and of no other.
  inputs.q[2 * 64 + 33] = std::nan("");
  expectDecode(problem, inputs);
  // Subnormal numbers of f16 have a scale as others do, and the largest ones do not overflow.
  problem.q = fx::f16;
  for (double size : {0x1p-16, 32000.0}) {
    problem.scale = 1 / size;
    Inputs halves = random(problem, {40});
    for (double &x : halves.q)
      x *= size;
    halves.q = decode(problem.q, encode(problem.q, halves.q));
    expectDecode(problem, halves);
  }
}

TEST_CASE("decoding by products of 8 bits picks keys exactly", "[run]") {
  // As below; all but one weight are 0, and numbers up to 16 are floats of 8 bits.
  const fx::Target target = fx::Device::current().target();
  const fx::DType type = target.has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
  const DecodeProblem problem{
      .q = type, .kv = type, .y = fx::f32, .q_heads = 16, .kv_heads = 1, .head = 64, .scale = 30};
  if (!fk::supported(problem, target))
    return;
  Inputs inputs = random(problem, {64});
  inputs.v[0] = integers(64 * 64, 9, -16, 16);
  std::fill(inputs.q.begin(), inputs.q.end(), 0);
  std::fill(inputs.k[0].begin(), inputs.k[0].end(), 0);
  for (std::size_t i = 0; i < 64; ++i)
    inputs.k[0][i * 64 + i] = 32;
  for (std::size_t h = 0; h < 16; ++h)
    inputs.q[h * 64 + (h * 11) % 64] = 1;
  expectDecode(problem, inputs, DecodeConfig{.block = 2 * wave()}, true);
  // Heads of q that are powers of 2, rounded in the kernel, too.
  DecodeProblem rounded = problem;
  rounded.q = fx::bf16;
  rounded.float8_products = true;
  expectDecode(rounded, inputs, DecodeConfig{.block = 2 * wave()}, true);
}

TEST_CASE("decoding picks keys exactly", "[run]") {
  // Key j is 100 e_j: query i, which is e_i and scaled by 10, sees a score of 1000 there and 0
  // elsewhere, of which nothing is left.
  const DecodeProblem problem{.y = fx::f32, .q_heads = 16, .kv_heads = 1, .head = 64, .scale = 10};
  Inputs inputs = random(problem, {64});
  inputs.v[0] = integers(64 * 64, 9, -100, 100);
  std::fill(inputs.q.begin(), inputs.q.end(), 0);
  std::fill(inputs.k[0].begin(), inputs.k[0].end(), 0);
  for (std::size_t i = 0; i < 64; ++i)
    inputs.k[0][i * 64 + i] = 100;
  for (std::size_t h = 0; h < 16; ++h)
    inputs.q[h * 64 + (h * 11) % 64] = 1;
  expectDecode(problem, inputs, DecodeConfig{.block = 2 * wave()}, true);
  expectDecode(problem, inputs, DecodeConfig{.block = wave(), .splits = 2}, true);
}

TEST_CASE("decoding of adversarial scores", "[run]") {
  const DecodeProblem problem{
      .y = fx::f32, .q_heads = 1, .kv_heads = 1, .head = 32, .scale = 1, .lse = true};
  const auto scores = [&](auto score) {
    Inputs inputs = random(problem, {200});
    std::fill(inputs.q.begin(), inputs.q.end(), 0);
    std::fill(inputs.k[0].begin(), inputs.k[0].end(), 0);
    inputs.q[0] = 1;
    for (int j = 0; j < 200; ++j)
      inputs.k[0][std::size_t(j * 32)] = score(j);
    inputs.k[0] = decode(problem.kv, encode(problem.kv, inputs.k[0]));
    for (int splits : {1, 3})
      expectDecode(problem, inputs, DecodeConfig{.block = 2 * wave(), .splits = splits});
  };
  scores([](int j) { return j == 199 ? 60.0 : 0.0; });   // the largest comes last
  scores([](int) { return 3.0; });                       // all are equal
  scores([](int j) { return j == 0 ? 10000.0 : 1.0; });  // a huge one comes first
  scores([](int j) { return double(j); });               // each is larger than the one before
  scores([](int j) { return -100.0 * (j % 2) - 4000; }); // all powers but the largest's are 0
}

TEST_CASE("decoding of latent attention", "[run]") {
  const fx::Target target = fx::Device::current().target();
  const DecodeProblem problem{.y = fx::f32,
                              .q_heads = 16,
                              .head = 576,
                              .page = 1,
                              .scale = 1 / std::sqrt(192.0),
                              .latent = 512,
                              .lse = true};
  if (target.wave_size() == 32) {
    CHECK(fk::supported(problem, target).why ==
          "latent is 512; keys of such heads fit the registers of waves of 64 alone");
    return;
  }
  expectDecode(problem, random(problem, {1, 31, 64, 70}));
  DecodeProblem wide = problem;
  wide.q_heads = 128;
  wide.page = 64;
  wide.y = fx::bf16;
  expectDecode(wide, random(wide, {33}));
  DecodeProblem quantised = problem;
  quantised.kv = fx::f8E4M3FNUZ;
  quantised.q_heads = 32;
  quantised.scales = KvScales::tensor;
  expectDecode(quantised, random(quantised, {65}), DecodeConfig{.block = 256, .rows = 32});
  // A smaller one: rows of several queries, in blocks and parts.
  DecodeProblem small{.q_heads = 16, .head = 192, .page = 4, .queries = 2, .latent = 128};
  expectDecode(small, random(small, {2, 90}), DecodeConfig{.block = 128, .rows = 32});
  expectDecode(small, random(small, {2, 90}), DecodeConfig{.block = 64, .rows = 16, .splits = 3});
  small.kv = fx::f8E5M2;
  small.q_heads = 24;
  small.window = true;
  expectDecode(small, random(small, {100, 3, 40}, 50),
               DecodeConfig{.block = 128, .rows = 32, .workers = 4, .unit = 32});
}

TEST_CASE("decode: another run, a graph, a file", "[run]") {
  const DecodeProblem problem{.q_heads = 4, .kv_heads = 2, .head = 64, .lse = true, .context = 70};
  expectStructure(problem, {.block = 2 * wave(), .rows = 16, .splits = 2}, 3);
  expectStructure(problem, {.block = 2 * wave(), .rows = 16, .workers = 2, .unit = 32}, 3);
  if (wave() == 64)
    expectStructure<DecodeProblem>({.q_heads = 16, .head = 192, .latent = 128, .context = 40},
                                   {.block = 64, .rows = 16, .splits = 2}, 2);
}

TEST_CASE("decode reads keys and values once for a group of heads", "[run]") {
  const DecodeProblem problem{.q_heads = 8, .kv_heads = 1, .head = 64, .context = 512};
  const auto counters = countersOf(problem, {.block = 4 * wave()}, 2).at(0);
  INFO(counters.str());
  const std::uint64_t cache = 2 * 2 * 512 * 64 * 2, heads = 2 * 8 * 64 * 2;
  CHECK(double(counters["globalBytesTouched"]) <= 1.05 * double(cache + 2 * heads + 512));
  CHECK(counters["globalBytesWritten"] == heads);
  // Lanes of RDNA3's halves of a wave want the same elements; others want each once.
  const bool once = fx::Device::current().target().family() != fx::Family::rdna3;
  CHECK(counters["globalBytesRead"] <=
        (once ? 1u : 2u) * (cache + 4 * heads) + 2 * 512 / 8 * 2 * 16 * 4 + 8192);
}

TEST_CASE("decode multiplies the steps that a window has", "[run]") {
  const DecodeProblem problem{
      .q_heads = 1, .kv_heads = 1, .head = 64, .window = true, .context = 512};
  const fk::DecodePlan plan(problem, {.block = wave()});
  Operands<DecodeProblem> operands(problem, plan.config(), 1);
  operands.fill(1);
  const fx::Stream stream;
  const auto products = [&](int before) {
    fk::DecodeArgs args = operands.args();
    args.before = before;
    return fx::Device::current()
        .count_launches([&] {
          plan(args, stream);
          stream.synchronize();
        })
        .at(0)["SQ_INSTS_MFMA"];
  };
  // A step has 64 keys, on RDNA 16, and the first begins at a multiple of 32.
  const std::uint64_t step = wave() == 64 ? 64 : 16, ofStep = products(-1) * step / 512;
  CHECK(ofStep > 0);
  for (std::uint64_t before : {0, 1, 31, 32, 63, 64, 200, 511})
    CHECK(products(int(before)) == ofStep * ((512 - (511 - before) / 32 * 32 + step - 1) / step));
}

TEST_CASE("latent decode reads keys once for all heads", "[run]") {
  if (fx::Device::current().target().wave_size() == 32)
    return;
  const DecodeProblem problem{.q_heads = 64, .head = 192, .latent = 128, .context = 256};
  const auto counters = countersOf(problem, {.block = 256, .rows = 64}, 2).at(0);
  INFO(counters.str());
  const std::uint64_t cache = 2 * 256 * 192 * 2, q = 2 * 64 * 192 * 2, y = 2 * 64 * 128 * 2;
  CHECK(counters["globalBytesWritten"] == y);
  CHECK(double(counters["globalBytesTouched"]) <= 1.05 * double(cache + q + y + 512));
  // Beside keys and q: a number of a block for each piece of 16 bytes.
  CHECK(counters["globalBytesRead"] <= cache + q + cache / 16 * 4 + 8192);
}

TEST_CASE("decode has a configuration for every problem that it supports") {
  std::vector<DecodeProblem> problems;
  for (int head = 32; head <= 256; head += 32)
    for (int group : {1, 3, 8, 16, 64})
      for (int queries : {1, 4})
        problems.push_back({.q_heads = 2 * group, .kv_heads = 2, .head = head, .queries = queries});
  for (int context : {1, 300, 100000})
    problems.push_back({.kv = fx::f8E5M2, .scales = KvScales::token, .context = context});
  expectTotal(problems);
}

TEST_CASE("decode has configurations with float8_products where there are such products") {
  int count = 0;
  for (const fx::Target &target : targets())
    for (fx::DType kv : {fx::f8E4M3FN, fx::f8E4M3FNUZ})
      for (int head : {32, 128, 256})
        for (int heads : {8, 64}) {
          const DecodeProblem problem{
              .kv = kv, .float8_products = true, .q_heads = heads, .head = head, .queries = 4};
          if (!fk::supported(problem, target))
            continue;
          for (const DecodeConfig &config : fk::configs(problem, 5, target)) {
            CHECK(fk::supported(problem, config, target));
            ++count;
          }
        }
  CHECK(count > 3 * 6); // gfx942, gfx950 and gfx1201 have one format each
}

TEST_CASE("latent decode has a configuration for all heads") {
  for (const fx::Target &target : targets())
    for (int heads : {1, 16, 40, 64, 128})
      for (int queries : {1, 4}) {
        const DecodeProblem problem{
            .q_heads = heads, .head = 576, .queries = queries, .latent = 512};
        if (!fk::supported(problem, target))
          continue;
        for (const DecodeConfig &config : fk::configs(problem, 5, target))
          CHECK(fk::supported(problem, config, target));
      }
}

TEST_CASE("decode spills none") {
  for (const char *name : {"gfx90a", "gfx942", "gfx950"})
    for (int heads : {16, 128})
      for (bool narrow : {false, true}) {
        const fx::Target target = fx::Target::parse(name);
        DecodeProblem problem{.q_heads = heads, .head = 576, .latent = 512};
        if (narrow) {
          problem.q = problem.kv =
              target.has(fx::feature::fnuz_fp8) ? fx::f8E4M3FNUZ : fx::f8E4M3FN;
          problem.scales = KvScales::tensor;
        }
        // Of 512 sequences, blocks have 128 rows if queries are narrow.
        expectNoSpillsOf(problem, heads == 128 ? 512 : 1, target);
      }
  expectNoSpills<DecodeProblem>({{.q_heads = 8, .kv_heads = 1, .head = 128},
                                 {.q_heads = 8, .kv_heads = 1, .head = 64, .queries = 4}});
}

TEST_CASE("decode spills none with heads of all sizes and any number of rows", "[spills]") {
  std::vector<DecodeProblem> problems;
  for (int head : {32, 64, 96, 128, 160, 192, 224, 256})
    for (int rows : {16, 32, 48, 64})
      problems.push_back({.q_heads = rows / 4, .kv_heads = 1, .head = head, .queries = 4});
  for (int head : {64, 128, 256}) {
    problems.push_back({.q_heads = 8, .kv_heads = 1, .head = head, .page = 1, .window = true});
    problems.push_back({.kv = fx::f8E4M3FN, .head = head, .scales = KvScales::token});
    problems.push_back({.kv = fx::f8E4M3FNUZ, .head = head, .scales = KvScales::tensor});
    problems.push_back(
        {.q = fx::f16, .kv = fx::f16, .head = head, .cache = KvCache::packed, .pack = 8});
    problems.push_back({.q = fx::f8E4M3FN, .kv = fx::f8E4M3FN, .q_heads = 16, .head = head});
    for (fx::DType kv : {fx::f8E4M3FN, fx::f8E4M3FNUZ})
      for (int rows : {16, 64})
        problems.push_back(
            {.kv = kv, .float8_products = true, .q_heads = rows / 4, .head = head, .queries = 4});
  }
  for (const DecodeProblem &problem : problems)
    for (const fx::Target &target : targets())
      expectNoSpillsOf(problem, 1, target);
}

TEST_CASE("decode is tuned, and what is found gives what it must") {
  const DecodeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32, .context = 40};
  const DecodeConfig config = tunedConfig(problem, 2);
  expectDecode(problem, random(problem, {40, 33}), config);
}

TEST_CASE("decode says what it does not support") {
  const fx::Target target = fx::Target::parse("gfx942");
  const auto why = [&](const DecodeProblem &problem) { return fk::supported(problem, target).why; };
  CHECK(why({.q = fx::f32}) == "q is of type f32; f16 and bf16 are supported, and the floats of 8 "
                               "bits that products of gfx942 take");
  CHECK(why({.q = fx::f8E4M3FN, .kv = fx::f8E4M3FN}).find("q is of type f8E4M3FN; f16") == 0);
  CHECK(why({.q = fx::i8, .kv = fx::i8}).find("q is of type i8; f16") == 0);
  CHECK(why({.q = fx::f8E4M3FNUZ}) == "kv is of type bf16; it has the type of q, f8E4M3FNUZ");
  CHECK(why({.q = fx::f8E4M3FNUZ, .kv = fx::f8E4M3FNUZ, .scales = KvScales::token})
            .find("weights are too, and have no room") != std::string::npos);
  CHECK(
      why({.float8_products = true}) ==
      "kv is of type bf16; with float8_products it is a float of 8 bits; gfx942 has products where "
      "both are f16, or both bf16, or both i8, or each is f8E4M3FNUZ or f8E5M2FNUZ; without it, "
      "floats of 8 bits become q's type");
  CHECK(why({.kv = fx::f8E4M3FN, .float8_products = true}).find("kv is of type f8E4M3FN; with") ==
        0);
  CHECK(
      why({.q = fx::f32, .kv = fx::f8E4M3FNUZ, .float8_products = true}).find("q is of type f32") ==
      0);
  CHECK(why({.kv = fx::f8E4M3FNUZ, .float8_products = true, .scales = KvScales::token})
            .find("q of 16 bits without float8_products has") != std::string::npos);
  CHECK(why({.kv = fx::f8E4M3FNUZ, .float8_products = true}) == "");
  CHECK(why({.kv = fx::f16}) == "kv is of type f16; it has the type of q, or is a float of 8 bits");
  CHECK(why({.kv = fx::i8}) == "kv is of type i8; it has the type of q, or is a float of 8 bits");
  CHECK(why({.scales = KvScales::token}) ==
        "scales belong to a cache of 8 bits; kv is of type bf16");
  CHECK(why({.q_heads = 6, .kv_heads = 4}) ==
        "q_heads is 6 and kv_heads is 4; q_heads is a multiple of kv_heads, up to 65535");
  CHECK(why({.head = 80}) == "head is 80; it is a multiple of 32 from 32 to 256");
  CHECK(why({.queries = 5}) == "queries is 5; a sequence has 1 to 4");
  CHECK(why({.cache = KvCache::none}).find("keys are read from a cache") != std::string::npos);
  CHECK(why({.page = 0}) == "page is 0; it is 1 to 65536");
  CHECK(why({.cache = KvCache::packed, .pack = 4}) ==
        "pack is 4; it is a power of two from 8 that divides head, which is 128");
  CHECK(why({.cache = KvCache::packed, .v_pack = 6}) ==
        "v_pack is 6; it is a multiple of 8 that divides page, which is 16");
  CHECK(why({.scale = -1}).find("it is not negative") != std::string::npos);
  CHECK(why({.head = 576, .latent = 500}) ==
        "latent is 500; it is a multiple of 128 up to head, which is 576");
  CHECK(
      why({.q_heads = 16, .kv_heads = 2, .head = 576, .latent = 512}).find("kv_heads is 1 then") !=
      std::string::npos);
  CHECK(why({.head = 608, .latent = 512}) ==
        "head is 608; with latent it is a multiple of 64 up to 640");
  CHECK(fk::supported(DecodeProblem{.head = 576, .latent = 512}, {.block = 192, .rows = 32}, target)
            .why.find("each wave has 16 rows") != std::string::npos);
  const auto config = [&](const DecodeConfig &config) {
    return fk::supported(DecodeProblem{.head = 256}, config, target).why;
  };
  CHECK(config({.rows = 24}) == "rows is 24; it is 16, 32, 48 or 64");
  CHECK(config({.rows = 64}).find("do not fit the registers") != std::string::npos);
  CHECK(config({.splits = 0}) == "splits is 0; a sequence has 1 to 1024");
  CHECK(config({.splits = 2, .workers = 3}).find("a worklist makes the parts") !=
        std::string::npos);
  CHECK(config({.workers = 3, .unit = 40}) == "unit is 40; it is a multiple of 32 up to 65536");
  // Registers for the waves of a block, and pairs of waves with the same keys.
  CHECK(
      fk::supported(DecodeProblem{.head = 576, .latent = 512}, {.block = 1024, .rows = 64}, target)
          .why.find("up to 512 threads, for whose waves there are registers") != std::string::npos);
  CHECK(fk::supported(DecodeProblem{.head = 256}, {.block = 96}, fx::Target::parse("gfx1201"))
            .why.find("the waves of a block are even") != std::string::npos);
  CHECK(config({.block = 512}).find("does not fit shared memory") != std::string::npos);

  const DecodeProblem problem{.q_heads = 2, .kv_heads = 1, .head = 32, .queries = 2, .context = 8};
  const fk::DecodePlan plan(problem, {.block = 64, .splits = 2});
  const Operands<DecodeProblem> operands(problem, plan.config(), 4);
  const auto message = [&](auto change) {
    fk::DecodeArgs args = operands.args();
    change(args);
    return messageOf([&] { plan(args); });
  };
  CHECK(message([](fk::DecodeArgs &args) {
          args.workspace.reset();
        }).find("workspace is missing; this call needs") != std::string::npos);
  // A workspace for sequences, not for their queries.
  CHECK(message([&](fk::DecodeArgs &args) {
          args.workspace = fx::tensor(args.workspace->data(), fx::u8,
                                      {fk::workspace_bytes(problem, plan.config(), 2)});
        }).find("workspace_bytes of the call's m: its rows, or tokens of q") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.q_scale = args.contexts;
        }).find("q_scale is given, and the problem does not have it") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.before = 3;
        }).find("before is given, and the problem has no window") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.contexts = args.tables;
        }).find("contexts has the shape (2, 1)") != std::string::npos);
  CHECK(message([](fk::DecodeArgs &args) {
          args.q = fx::tensor(args.q.data(), args.q.dtype(), {3, 2, 32});
        }).find("q has 3 tokens and contexts 2 sequences; each sequence has 2") !=
        std::string::npos);
}
