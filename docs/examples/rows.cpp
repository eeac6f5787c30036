// Examples of the pages docs/kernels/{softmax,norm,norm-backward,quantise,moe,sampling}.md.
#include "example.h"

#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/moe_reduce.h>
#include <flydsl/kernels/moe_sort.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/norm_backward.h>
#include <flydsl/kernels/quantise.h>
#include <flydsl/kernels/rows/group_norm.h>
#include <flydsl/kernels/rows/hadamard.h>
#include <flydsl/kernels/sampling.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/softmax_backward.h>
#include <flydsl/kernels/topk_gating.h>

#include <bit>
#include <cmath>

namespace fk = flydsl::kernels;

namespace {
constexpr std::int64_t m = 3, n = 64;
}

TEST_CASE("softmax and its gradient") {
  auto x = fx::DeviceArray<float>::random({m, n}, /*seed=*/1),
       dy = fx::DeviceArray<float>::random({m, n}, 2);
  fx::DeviceArray<float> y({m, n}), dx({m, n});
  const fx::Stream stream;
  // region: softmax
  const fk::SoftmaxProblem forward{.x = fx::f32, .y = fx::f32, .n = 64};
  const fk::SoftmaxBackwardProblem backward{.y = fx::f32, .dy = fx::f32, .dx = fx::f32, .n = 64};
  const fk::SoftmaxPlan softmax(forward, fk::choose(forward, m));
  const fk::SoftmaxBackwardPlan gradient(backward, fk::choose(backward, m));

  softmax({.x = x, .y = y}, stream);
  gradient({.y = y, .dy = dy, .dx = dx}, stream);
  // endregion
  stream.synchronize();
  double sum = 0, change = 0;
  const auto probabilities = y.to_host(), changes = dx.to_host();
  for (std::size_t i = 0; i < n; ++i) {
    sum += double(probabilities[i]);
    change += double(changes[i]);
  }
  CHECK(std::fabs(sum - 1) < 1e-6);
  CHECK(std::fabs(change) < 1e-6); // the sum of a softmax does not change
}

TEST_CASE("a norm that quantises, and a layer norm with its gradient") {
  fx::DeviceArray<fx::half_t> x({m, n}), residual({m, n}), weight({n}), bias({n}), y({m, n}),
      dweight({n}), dbias({n});
  fx::DeviceArray<std::int8_t> q({m, n});
  fx::DeviceArray<float> scale({m}), rstd({m}), mean({m});
  std::vector<fx::half_t> numbers;
  for (int i = 0; i < m * n; ++i)
    numbers.push_back(fx::half_t(float(i % 7 - 3)));
  x.copy_from(numbers);
  residual.fill(fx::half_t(0.5f));
  weight.fill(fx::half_t(2));
  bias.fill(fx::half_t(1));
  const fx::Stream stream;
  // region: norm
  // RMS norm of x + residual into i8, with a scale for each row.
  const fk::NormProblem quantising{
      .y = fx::i8, .n = 64, .residual = true, .quantise = fk::Quantisation::row};
  const fk::NormPlan norm(quantising, fk::choose(quantising, m));
  norm({.x = x,
        .weight = weight,
        .residual = residual,
        .y = q,
        .residual_out = residual,
        .scale = scale},
       stream);
  // endregion
  stream.synchronize();
  CHECK(float(residual.to_host()[0]) == -2.5f); // -3 + 0.5
  int largest = 0;
  for (int i = 0; i < n; ++i)
    largest = std::max(largest, std::abs(int(q.to_host()[std::size_t(i)])));
  CHECK(largest == 127);

  // region: groups
  // RMS norm of x + residual into 8 bits, with a power of two for each 32 elements of a row.
  const fk::NormProblem byGroups{.y = fx::f8E4M3FN,
                                 .n = 64,
                                 .residual = true,
                                 .quantise = fk::Quantisation::row,
                                 .group = 32,
                                 .group_scale = fx::f8E8M0FNU};
  // endregion
  fx::DeviceArray<std::uint8_t> ofGroups({m, n / 32});
  const auto ofType = [](auto &array, fx::DType type, std::int64_t columns) {
    return fx::tensor(static_cast<void *>(array.data()), type, {m, columns});
  };
  residual.fill(fx::half_t(0.5f));
  fk::NormPlan(byGroups,
               fk::choose(byGroups, m))({.x = x,
                                         .weight = weight,
                                         .residual = residual,
                                         .y = ofType(q, fx::f8E4M3FN, n),
                                         .residual_out = residual,
                                         .scale = ofType(ofGroups, fx::f8E8M0FNU, n / 32)},
                                        stream);
  stream.synchronize();
  // The largest of a group is about 3: 3 / 448 is a little below 2^-7.
  CHECK(int(ofGroups.to_host()[0]) == 127 - 7);

  // region: backward
  const fk::NormProblem forward{
      .kind = fk::NormKind::layer, .n = 64, .bias = true, .statistics = true};
  const fk::NormBackwardProblem backward{.kind = fk::NormKind::layer, .n = 64, .bias = true};
  const fk::NormPlan layerNorm(forward, fk::choose(forward, m));
  const fk::NormBackwardPlan gradient(backward, fk::choose(backward, m));
  fx::DeviceArray<std::uint8_t> workspace({gradient.workspace_bytes(m)});

  layerNorm({.x = x, .weight = weight, .bias = bias, .y = y, .rstd = rstd, .mean = mean}, stream);
  fx::DeviceArray<fx::half_t> &dy = residual, &dx = y; // dx may take the place of any of them
  gradient({.x = x,
            .weight = weight,
            .dy = dy,
            .rstd = rstd,
            .mean = mean,
            .dx = dx,
            .dweight = dweight,
            .dbias = dbias,
            .workspace = workspace},
           stream);
  // endregion
  stream.synchronize();
  double sum = 0;
  for (int row = 0; row < m; ++row)
    sum += double(float(residual.to_host()[std::size_t(row * n)]));
  CHECK(std::fabs(double(float(dbias.to_host()[0])) - sum) < 1e-2);
}

TEST_CASE("blocks of the microscaling formats") {
  fx::DeviceArray<fx::half_t> x({m, n});
  fx::DeviceArray<std::uint8_t> q({m, n}), scale({m, n / 32});
  x.fill(fx::half_t(3));
  const fx::Stream stream;
  // region: quantise
  const fk::QuantiseProblem problem{.q = fx::f8E4M3FN, .n = 64, .scale = fk::ScaleOf::block};
  const fk::QuantisePlan quantise(problem, fk::choose(problem, m));
  quantise({.x = x,
            .q = fx::tensor(static_cast<void *>(q.data()), fx::f8E4M3FN, {m, n}),
            .scale = fx::tensor(static_cast<void *>(scale.data()), fx::f8E8M0FNU, {m, n / 32})},
           stream);
  // endregion
  stream.synchronize();
  // 3 = 1.5 * 2^1, and 448, the largest number, is 1.75 * 2^8: the scale is 2^(1 - 8).
  CHECK(scale.to_host()[0] == 127 + 1 - 8);
  CHECK(q.to_host()[0] == 0x7c); // 3 * 2^7 = 384 = 1.5 * 2^8
}

TEST_CASE("the experts of a token, and the sum of their results") {
  constexpr int experts = 8, topk = 2;
  auto logits = fx::DeviceArray<float>::random({m, experts}, 3);
  fx::DeviceArray<float> weights({m, topk});
  fx::DeviceArray<int> ids({m, topk});
  fx::DeviceArray<fx::half_t> results({m, topk, n}), y({m, n});
  results.fill(fx::half_t(2));
  const fx::Stream stream;
  // region: moe
  const fk::TopkGatingProblem gating{.experts = 8, .topk = 2, .renormalise = true};
  const fk::MoeReduceProblem reduction{.n = 64, .topk = 2, .weights = true};
  const fk::TopkGatingPlan choose(gating, fk::choose(gating, m));
  const fk::MoeReducePlan reduce(reduction, fk::choose(reduction, m));

  choose({.logits = logits, .weights = weights, .ids = ids}, stream);
  // ... the experts' products, into results (m, topk, n) ...
  reduce({.x = results, .weights = weights, .y = y}, stream);
  // endregion
  stream.synchronize();
  CHECK(std::fabs(float(y.to_host()[0]) - 2) < 2e-3f); // the weights of a token sum up to 1
  CHECK(ids.to_host()[0] != ids.to_host()[1]);
}

TEST_CASE("the slots of tokens sorted by expert") {
  const auto ids = fx::DeviceArray<int>::from_host(std::vector<int>{0, 2, 2, 1}, {2, 2});
  const auto weights =
      fx::DeviceArray<float>::from_host(std::vector<float>{0.75f, 0.25f, 0.5f, 0.5f}, {2, 2});
  const std::int64_t tokens = 2;
  const fx::Stream stream;
  // region: moe-sort
  const fk::MoeSortProblem problem{.experts = 3, .topk = 2, .unit = 4, .places = true};
  const fk::MoeSortPlan sort(problem, fk::choose(problem, tokens));

  const std::int64_t places = fk::moe_sort_places(problem, tokens);
  fx::DeviceArray<int> sorted({places}), units({places / 4}), counts({3}), offsets({4}),
      totals({3}), slotPlaces({tokens, 2});
  fx::DeviceArray<float> sortedWeights({places});
  sort({.ids = ids,
        .weights = weights,
        .sorted_ids = sorted,
        .sorted_weights = sortedWeights,
        .unit_experts = units,
        .counts = counts,
        .offsets = offsets,
        .totals = totals,
        .slot_places = slotPlaces},
       stream);
  // endregion
  stream.synchronize();
  constexpr int pad = 2 << 24 | 2;
  CHECK(sorted.to_host() ==
        std::vector<int>{0, pad, pad, pad, 1 << 24 | 1, pad, pad, pad, 1 << 24, 1, pad, pad});
  CHECK(sortedWeights.to_host()[8] == 0.25f);
  CHECK(units.to_host() == std::vector<int>{0, 1, 2});
  CHECK(counts.to_host() == std::vector<int>{1, 1, 2});
  CHECK(offsets.to_host() == std::vector<int>{0, 4, 8, 12});
  CHECK(totals.to_host() == std::vector<int>{12, 2, 0});
  CHECK(slotPlaces.to_host() == std::vector<int>{0, 8, 9, 4});

  const auto logits =
      fx::DeviceArray<float>::from_host(std::vector<float>{3, 0, 2, 0, 1, 4}, {tokens, 3});
  const fx::DeviceArray<int> chosen({tokens, 2});
  const fx::DeviceArray<float> scores({tokens, 2});
  // region: route-sort
  fk::MoeSortProblem routed = problem;
  routed.router = {.experts = 3, .topk = 2, .renormalise = true};
  const fk::MoeSortPlan routeAndSort(routed, fk::choose(routed, tokens));

  routeAndSort({.ids = chosen,
                .weights = scores,
                .sorted_ids = sorted,
                .sorted_weights = sortedWeights,
                .unit_experts = units,
                .counts = counts,
                .offsets = offsets,
                .totals = totals,
                .slot_places = slotPlaces,
                .logits = logits},
               stream);
  // endregion
  stream.synchronize();
  CHECK(chosen.to_host() == std::vector<int>{0, 2, 2, 1});
  CHECK(slotPlaces.to_host() == std::vector<int>{0, 8, 9, 4});
  CHECK(sortedWeights.to_host()[0] == scores.to_host()[0]);
}

TEST_CASE("the next token of each row") {
  constexpr std::int64_t rows = 2, vocabulary = 32;
  std::vector<float> values(rows * vocabulary, -20.0f);
  values[7] = values[9] = 3;  // as likely
  values[vocabulary + 4] = 1; // alone
  const auto logits = fx::DeviceArray<float>::from_host(values, {rows, vocabulary});
  const fx::Stream stream;
  // region: sampling
  const fk::SamplingProblem problem{
      .vocabulary = vocabulary, .temperature = true, .top_p = true, .advance = true};
  const fk::SamplingPlan sample(problem, fk::choose(problem, rows));

  const auto temperature = fx::DeviceArray<float>::from_host(std::vector{0.8f, 0.8f}, {rows});
  const auto topP = fx::DeviceArray<float>::from_host(std::vector{0.9f, 0.9f}, {rows});
  const auto seeds =
      fx::DeviceArray<std::int64_t>::from_host(std::vector<std::int64_t>{1, 2}, {rows});
  fx::DeviceArray<std::int64_t> offsets({rows}); // raised by each call
  offsets.fill(0);
  fx::DeviceArray<int> tokens({rows});
  sample({.logits = logits,
          .tokens = tokens,
          .temperature = temperature,
          .top_p = topP,
          .seeds = seeds,
          .offsets = offsets},
         stream);
  // endregion
  stream.synchronize();
  const std::vector<int> drawn = tokens.to_host();
  CHECK((drawn[0] == 7 || drawn[0] == 9));
  CHECK(drawn[1] == 4);
  CHECK(offsets.to_host() == std::vector<std::int64_t>{1, 1});
}

TEST_CASE("heads that are rotated by a Hadamard transform") {
  constexpr std::int64_t heads = 6;
  const auto q = fx::DeviceArray<fx::bfloat16_t>::random({heads, 128}, 1);
  fx::DeviceArray<std::uint8_t> bytes({heads, 128});
  fx::DeviceArray<float> ofHeads({heads});
  const fx::TensorArg q8 =
      fx::tensor(static_cast<void *>(bytes.data()), fx::f8E4M3FN, {heads, 128});
  const fx::Stream stream;
  // region: hadamard
  // Heads of an indexer: rotated, and quantised with a scale for each.
  const fk::HadamardProblem rotation{.x = fx::bf16,
                                     .y = fx::f8E4M3FN,
                                     .n = 128,
                                     .scale = 1 / std::sqrt(128.0),
                                     .quantise = fk::Quantisation::row};
  const fk::HadamardPlan rotate(rotation, fk::choose(rotation, heads));
  rotate({.x = q, .y = q8, .scale = ofHeads}, stream); // rows are heads of all tokens
  // endregion
  stream.synchronize();
  // A rotation keeps lengths: the first head's is that of what its codes stand for, about.
  const auto x = q.to_host();
  const auto codes = bytes.to_host();
  double before = 0, after = 0;
  for (std::size_t i = 0; i < 128; ++i) {
    before += double(float(x[i])) * double(float(x[i]));
    const double value =
        double(float(std::bit_cast<fx::float8_e4m3fn_t>(codes[i]))) * double(ofHeads.to_host()[0]);
    after += value * value;
  }
  CHECK(std::fabs(before - after) < 0.02 * before);
}

TEST_CASE("a group norm of images") {
  constexpr std::int64_t images = 2, pixels = 6 * 7;
  auto x = fx::DeviceArray<fx::bfloat16_t>::random({images, pixels, 32}, 1);
  fx::DeviceArray<fx::bfloat16_t> weight({32}), bias({32});
  weight.fill(fx::bfloat16_t(1));
  bias.fill(fx::bfloat16_t(8)); // far above 0, where silu changes nothing
  const fx::Stream stream;
  // region: group_norm
  // Images with channels last: 4 groups of 8 channels, silu after the norm.
  const fk::GroupNormProblem problem{
      .channels = 32, .groups = 4, .activation = fk::Activation::silu};
  const fk::GroupNormPlan groupNorm(problem, fk::choose(problem, images));
  groupNorm({.x = x, .weight = weight, .bias = bias, .y = x}, stream); // in place
  // endregion
  stream.synchronize();
  const auto y = x.to_host();
  double mean = 0;
  for (std::size_t pixel = 0; pixel < pixels; ++pixel)
    for (std::size_t channel = 8; channel < 16; ++channel)
      mean += double(float(y[pixel * 32 + channel])) / (pixels * 8);
  CHECK(std::fabs(mean - 8) < 0.02);
}
