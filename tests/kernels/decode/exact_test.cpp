// Decode where the results are known exactly, and where scores are adversarial.
#include "support/decode_case.h"

using namespace kernel_tests;
using namespace kernel_tests::decoding;

TEST_CASE("decoding picks keys exactly", "[run]") {
  // Key j is 100 e_j: query i, which is e_i and scaled by 10, sees a score of 1000 there and 0
  // elsewhere, and nothing of those is left.
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

TEST_CASE("decoding by products of 8 bits picks keys exactly", "[run]") {
  // As above; all but one weight are 0, and numbers up to 16 are floats of 8 bits.
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
