// Examples of docs/kernels/write-your-own-gemm.md.
#include "example.h"

#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/parts.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace fk = flydsl::kernels;
namespace parts = flydsl::kernels::parts;

using example::numbers;

namespace {

// region: epilogue
/// y = tanh(x w^T + bias) + residual, with x (m, k), w (n, k), residual and y (m, n).
const fx::Kernel product_with_residual{
    "product_with_residual",
    [](fx::Tensor x, fx::Tensor w, fx::Tensor bias, fx::Tensor residual, fx::Tensor y,
       fx::Constexpr<parts::GemmSpec> spec) {
      const fx::Int32 m(y.shape()[0]);
      const parts::TileScheduler tiles(spec.value(), m);
      const parts::WorkTile tile = tiles.at(fx::block_idx().x);
      const parts::Mainloop loop(spec.value(), tile, parts::Operand::rows(x),
                                 parts::Operand::rows(w));
      loop.run([&](const parts::Sums &sums) {
        parts::Epilogue epilogue(spec.value(), tile);
        epilogue.add_columns(bias).then([&](const fx::Vector &values, const parts::Group &at) {
          const auto add = [&] {
            const auto place = residual.layout()(at.row, at.column);
            return fx::make_view(residual.iter() + place, fx::make_layout(at.size)) // (size)
                .load()
                .to(fx::f32);
          };
          const std::int64_t n = spec->problem.n;
          fx::require(n % at.size == 0, "n is {}; groups of {} are inside of y or outside", n,
                      at.size);
          const fx::Boolean inside = (at.row < m) & (at.column < std::int32_t(n));
          return fx::math::tanh(values) +
                 fx::if_(inside, add, [&] { return fx::Vector::splat(0.0f, at.size, fx::f32); });
        });
        epilogue.store(sums, y);
      });
    }};
// endregion

// region: gather
/// y(i, :) = weights(i) * x(tokens(i), :) w^T: what an expert does for the tokens that chose it.
const fx::Kernel product_of_tokens{
    "product_of_tokens",
    [](fx::Tensor x, fx::Tensor tokens, fx::Tensor weights, fx::Tensor w, fx::Tensor y,
       fx::Constexpr<parts::GemmSpec> spec) {
      const parts::TileScheduler tiles(spec.value(), fx::Int32(y.shape()[0]));
      const parts::WorkTile tile = tiles.at(fx::block_idx().x);
      const parts::Mainloop loop(spec.value(), tile, parts::Operand::gathered(x, tokens),
                                 parts::Operand::rows(w));
      loop.run([&](const parts::Sums &sums) {
        parts::Epilogue(spec.value(), tile).scale_rows(weights).store(sums, y);
      });
    }};
// endregion

// region: order
/// y = x w(e)^T for groups of rows, each with an expert e of its own. Groups are padded to whole
/// tiles; `experts` has the expert of each tile of rows, and `count(0)` tiles of rows there are,
/// which the device alone knows: the grid is an upper bound.
const fx::Kernel product_of_experts{
    "product_of_experts",
    [](fx::Tensor x, fx::Tensor experts, fx::Tensor count, fx::Tensor w, fx::Tensor y,
       fx::Constexpr<parts::GemmSpec> spec) {
      const parts::TileScheduler tiles(spec.value(), fx::Int32(y.shape()[0]));
      // All columns of a tile of rows one after another, so that neighbours share its rows.
      const fx::Int32 block = fx::block_idx().x, m = block / tiles.across();
      fx::exit_if(m >= count(0));
      const parts::WorkTile tile = tiles.tile(m, block % tiles.across());
      const fx::Tensor ofExpert = w(fx::Int32(experts(m)), _, _); // (n, k)
      const parts::Mainloop loop(spec.value(), tile, parts::Operand::rows(x),
                                 parts::Operand::rows(ofExpert));
      loop.run([&](const parts::Sums &sums) {
        parts::Epilogue(spec.value(), tile).store(sums, y);
      });
    }};
// endregion

// region: pairs
/// y = gate * sigmoid(1.702 gate) * (up + 1), with gates and ups that are limited; w has n rows of
/// each. Blocks share K.
const fx::Kernel product_of_pairs{
    "product_of_pairs",
    [](fx::Tensor x, fx::Tensor w, fx::Tensor sums, fx::Tensor flags, fx::Tensor y,
       fx::Constexpr<parts::GemmSpec> spec) {
      const parts::TileScheduler tiles(spec.value(), fx::Int32(y.shape()[0]));
      const parts::WorkTile tile = tiles.at(fx::block_idx().x);
      const parts::Mainloop loop(spec.value(), tile, parts::Operand::rows(x),
                                 parts::Operand::prepared(w));
      const auto swiglu = [](const fx::Vector &gate, const fx::Vector &up, const parts::Group &) {
        const fx::Vector g = fx::min(gate, 7.0f), u = fx::max(fx::min(up, 7.0f), -7.0f);
        return g / (1.0f + fx::math::exp(g * -1.702f)) * (u + 1.0f);
      };
      // The block of a tile that comes last has the sums of all parts.
      loop.run(parts::PartsOfK{sums, flags}, [&](const parts::Sums &ofTile) {
        parts::Epilogue(spec.value(), tile).gate(swiglu).store(ofTile, y);
      });
    }};
// endregion

/// Rows for a parameter: their elements are neighbours, and they start at multiples of 16 bytes.
template <class T> fx::TensorArg rowsOf(const fx::DeviceArray<T> &array) {
  fx::TensorArg tensor = array.tensor();
  return tensor.mark_layout_dynamic(tensor.rank() - 1, 16 / int(sizeof(T)));
}

/// A product of bf16 by tiles of so many rows, which four waves share.
parts::GemmSpec specOf(int n, int k, int tile_m) {
  const int threads = 4 * fx::Device::current().target().wave_size();
  return {{.a = fx::bf16,
           .b = fx::bf16,
           .c = fx::f32,
           .b_layout = fk::OperandLayout::rows,
           .n = n,
           .k = k},
          {.tile_m = tile_m, .tile_n = 64, .tile_k = 64, .threads = threads}};
}

double dot(const std::vector<fx::bfloat16_t> &x, const std::vector<fx::bfloat16_t> &w, int i, int j,
           int k) {
  double sum = 0;
  for (int at = 0; at < k; ++at)
    sum += double(float(x[std::size_t(i * k + at)])) * double(float(w[std::size_t(j * k + at)]));
  return sum;
}
void expectAll(const std::vector<float> &got, int n, const std::function<double(int, int)> &value) {
  for (std::size_t at = 0; at < got.size(); ++at)
    CHECK(double(got[at]) == Approx(value(int(at) / n, int(at) % n)).epsilon(0.01).margin(0.01));
}

} // namespace

TEST_CASE("a product with an epilogue of one's own") {
  const int m = 37, n = 72, k = 104;
  const auto a = numbers(std::size_t(m * k), 1), b = numbers(std::size_t(n * k), 2);
  fx::DeviceArray<fx::bfloat16_t> x({m, k}), w({n, k});
  x.copy_from(a);
  w.copy_from(b);
  const auto ofColumns = numbers(std::size_t(n), 3), more = numbers(std::size_t(m * n), 4);
  fx::DeviceArray<fx::bfloat16_t> bias({n}), residual({m, n});
  bias.copy_from(ofColumns);
  residual.copy_from(more);
  fx::DeviceArray<float> y({m, n});

  // region: call
  const fk::GemmProblem problem{.a = fx::bf16,
                                .b = fx::bf16,
                                .c = fx::f32,
                                .b_layout = fk::OperandLayout::rows,
                                .n = n,
                                .k = k};
  parts::GemmSpec spec{problem, fk::choose(problem, m)};
  spec.config.split_k = 1; // parts of K go through a workspace, which a plan has
  const fx::Target target = fx::Device::current().target();
  if (const fk::Support answer = parts::supported(spec, target); !answer)
    throw fx::Error(answer.why);
  const fx::Stream stream;
  product_with_residual(rowsOf(x), rowsOf(w), bias, residual, y, spec)
      .launch({.grid = parts::tiles(spec, m), .block = spec.config.threads, .stream = stream});
  // endregion
  stream.synchronize();
  expectAll(y.to_host(), n, [&](int i, int j) {
    return std::tanh(dot(a, b, i, j, k) + float(ofColumns[std::size_t(j)])) +
           float(more[std::size_t(i * n + j)]);
  });
}

TEST_CASE("a product whose rows are gathered") {
  const int m = 37, n = 40, k = 104, all = 9;
  const auto a = numbers(std::size_t(all * k), 1), b = numbers(std::size_t(n * k), 2);
  fx::DeviceArray<fx::bfloat16_t> x({all, k}), w({n, k});
  x.copy_from(a);
  w.copy_from(b);
  std::vector<std::int32_t> ids(m);
  std::vector<float> factors(m);
  for (int i = 0; i < m; ++i) {
    ids[std::size_t(i)] = i == 5 ? -1 : i == 6 ? all : (i * 5) % all; // two name no row
    factors[std::size_t(i)] = float(i) / 8;
  }
  fx::DeviceArray<std::int32_t> tokens({m});
  fx::DeviceArray<float> weights({m}), y({m, n});
  tokens.copy_from(ids);
  weights.copy_from(factors);
  const parts::GemmSpec spec = specOf(n, k, 32);
  const fx::Stream stream;
  product_of_tokens(rowsOf(x), tokens, weights, rowsOf(w), y, spec)
      .launch({.grid = parts::tiles(spec, m), .block = spec.config.threads, .stream = stream});
  stream.synchronize();
  expectAll(y.to_host(), n, [&](int i, int j) {
    const int id = ids[std::size_t(i)];
    return id < 0 || id >= all ? 0 : factors[std::size_t(i)] * dot(a, b, id, j, k);
  });
}

TEST_CASE("a product with an order of tiles of one's own") {
  const int tile = 32, n = 40, k = 104, most = 4, there = 3, m = most * tile;
  const std::vector<std::int32_t> ids{1, 0, 1, 7}; // the last one is not there
  const auto a = numbers(std::size_t(m * k), 1), b = numbers(std::size_t(2 * n * k), 2);
  fx::DeviceArray<fx::bfloat16_t> x({m, k}), w({2, n, k});
  x.copy_from(a);
  w.copy_from(b);
  fx::DeviceArray<std::int32_t> experts({most}), count({1});
  experts.copy_from(ids);
  count.copy_from(std::vector<std::int32_t>{there});
  fx::DeviceArray<float> y({m, n});
  y.copy_from(std::vector<float>(std::size_t(m * n), -1.0f));
  const parts::GemmSpec spec = specOf(n, k, tile);
  const fx::Stream stream;
  product_of_experts(rowsOf(x), experts, count, rowsOf(w), y, spec)
      .launch({.grid = parts::tiles(spec, m), .block = spec.config.threads, .stream = stream});
  stream.synchronize();
  expectAll(y.to_host(), n, [&](int i, int j) {
    return i >= there * tile ? -1 : dot(a, b, i, ids[std::size_t(i / tile)] * n + j, k);
  });
}

TEST_CASE("a product of gated pairs whose K is shared by blocks") {
  const int m = 21, n = 48, k = 256;
  const auto a = numbers(std::size_t(m * k), 1), b = numbers(std::size_t(2 * n * k), 2);
  fx::DeviceArray<fx::bfloat16_t> x({m, k});
  x.copy_from(a);

  // region: parts
  const fk::GemmProblem problem{
      .a = fx::bf16, .b = fx::bf16, .c = fx::f32, .n = n, .k = k, .gated = true};
  const parts::GemmSpec spec{problem,
                             {.tile_m = 32,
                              .tile_n = 128, // 64 gates and their ups
                              .tile_k = 64,
                              .threads = 4 * fx::Device::current().target().wave_size(),
                              .split_k = 2,
                              .parts_sum = fk::PartsSum::last_block}};
  const fx::DeviceArray<float> sums({spec.config.split_k, m, parts::part_columns(spec)});
  fx::DeviceArray<std::int64_t> flags({parts::part_flags(spec, m)});
  flags.fill(0); // once: each launch leaves them so
  // endregion

  std::vector<fx::bfloat16_t> prepared(std::size_t(fk::prepared_size(problem.weight())));
  fk::prepare_weight(problem.weight(), b.data(), prepared.data());
  fx::DeviceArray<fx::bfloat16_t> w({fk::prepared_size(problem.weight())});
  w.copy_from(prepared);
  fx::DeviceArray<float> y({m, n});
  const fx::Stream stream;
  product_of_pairs(rowsOf(x), w, rowsOf(sums), flags, y, spec)
      .launch({.grid = parts::tiles(spec, m), .block = spec.config.threads, .stream = stream});
  stream.synchronize();
  expectAll(y.to_host(), n, [&](int i, int j) {
    const double gate = std::min(dot(a, b, i, j, k), 7.0),
                 up = std::clamp(dot(a, b, i, n + j, k), -7.0, 7.0);
    return gate / (1 + std::exp(-1.702 * gate)) * (up + 1);
  });
}
