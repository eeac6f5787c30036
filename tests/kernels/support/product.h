// Products against a reference in double precision.
#pragma once

#include "reference/activation.h"
#include "support/float8.h"
#include "support/structure.h"

#include <flydsl/kernels/gemm.h>

namespace kernel_tests {

using fk::Activation, fk::GemmConfig, fk::GemmProblem, fk::Scales;
using fk::reference::activated;

/// Rows and elements of K of B that share a scale.
inline constexpr std::int64_t kBlock = 128;
inline std::int64_t blocksOf(std::int64_t size) { return (size + kBlock - 1) / kBlock; }

/// The values of a call's operands.
struct Values {
  std::vector<double> a, b;                        // (m, k), (rows of b, k)
  std::vector<double> scale_a, scale_b, bias = {}; // see scalesA, scalesB; (rows of b)

  /// How many scales an operand has.
  static std::int64_t scalesA(const GemmProblem &problem, std::int64_t m) {
    return problem.scale_a == Scales::per_block ? m * blocksOf(problem.k) : m;
  }
  static std::int64_t scalesB(const GemmProblem &problem) {
    return problem.scale_b == Scales::per_block ? blocksOf(problem.columns()) * blocksOf(problem.k)
                                                : problem.columns();
  }
  static Values random(const GemmProblem &problem, std::int64_t m, std::uint64_t seed = 1) {
    const auto made = [&](fx::DType dtype, std::int64_t count) {
      return dtype == fx::i8 ? integers(count, ++seed, -128, 127) : uniform(dtype, count, ++seed);
    };
    const auto scales = [&](std::int64_t count) {
      if (problem.scale == fx::f8E8M0FNU) {
        std::vector<double> values = integers(count, ++seed, -5, -2);
        for (double &value : values)
          value = std::exp2(value);
        return values;
      }
      std::vector<double> values = uniform(fx::f32, count, ++seed);
      for (double &value : values) // from 1/16 to 3/16, in f32
        value = double(float(value / 16 + 0.125));
      return values;
    };
    return {made(problem.a, m * problem.k), made(problem.b, problem.columns() * problem.k),
            scales(scalesA(problem, m)), scales(scalesB(problem)),
            uniform(problem.c, problem.columns(), ++seed)};
  }
  /// The scale of element k of row i of A, and of row j of B.
  double scaleOfA(const GemmProblem &problem, std::int64_t i, std::int64_t k) const {
    return problem.scale_a == Scales::none ? 1
           : problem.scale_a == Scales::per_row
               ? scale_a[std::size_t(i)]
               : scale_a[std::size_t(i * blocksOf(problem.k) + k / kBlock)];
  }
  double scaleOfB(const GemmProblem &problem, std::int64_t j, std::int64_t k) const {
    return problem.scale_b == Scales::none ? 1
           : problem.scale_b == Scales::per_row
               ? scale_b[std::size_t(j)]
               : scale_b[std::size_t(j / kBlock * blocksOf(problem.k) + k / kBlock)];
  }
};

/// A number, and how far from it a kernel may be.
struct Bounded {
  double value, bound;
};
/// The scaled sum of row i of A and row j of B, with the bias.
///
/// Products of 16- and 8-bit floats are exact in f32. An instruction adds k of them in a tree of
/// log2(k) levels, and the sums of K / k instructions follow one another: each addition is off by
/// at most 2^-23 of the sum of magnitudes, because matrix units may cut off instead of rounding;
/// twice that is allowed. The sums of parts of K, and of waves that share K, are added after that;
/// so are those of blocks with scales, each rounded twice, by the product of scales and by the sum.
/// Sums of i8 are exact in i32 and rounded once. Scales and bias round 4 times.
inline Bounded scaledSum(const GemmProblem &problem, const Values &v, std::int64_t i,
                         std::int64_t j) {
  const double instruction = 16; // the shortest k, which has the most additions
  const double parts = 16 + 8;   // the most that K is split into, by blocks and by waves
  double sum = 0, magnitude = 0;
  // Elements of a block have the same scales.
  const std::int64_t together = problem.scale_a == Scales::per_block ? kBlock : problem.k;
  for (std::int64_t first = 0; first < problem.k; first += together) {
    const double *a = &v.a[std::size_t(i * problem.k)], *b = &v.b[std::size_t(j * problem.k)];
    double part = 0, magnitudes = 0;
    for (std::int64_t k = first; k < std::min(first + together, problem.k); ++k) {
      const double product = a[k] * b[k];
      part += product;
      magnitudes += std::fabs(product);
    }
    const double scale = v.scaleOfA(problem, i, first) * v.scaleOfB(problem, j, first);
    sum += part * scale;
    magnitude += magnitudes * std::fabs(scale);
  }
  const double bias = problem.bias ? v.bias[std::size_t(j)] : 0;
  const double scalings =
      problem.scale_a == Scales::per_block ? 2 * double(blocksOf(problem.k)) : 0;
  const double additions =
      std::ceil(double(problem.k) / instruction) + std::log2(instruction) + parts + scalings;
  return {sum + bias, (problem.a == fx::i8 ? 0 : 2 * additions * 0x1p-23 * magnitude) +
                          4 * 0x1p-24 * (std::fabs(sum) + std::fabs(bias))};
}
/// An activation passes an error on by its derivative, at most 1.1, and adds its own: that of a
/// reciprocal, of an exponential, whose argument z is itself off by 4 roundings, and of products.
inline Bounded activated(const GemmProblem &problem, const Bounded &x) {
  const double y = activated(problem.activation, x.value);
  if (problem.activation != Activation::silu && problem.activation != Activation::gelu_tanh)
    return {y, x.bound};
  const double z =
      problem.activation == Activation::silu
          ? x.value
          : 2 * std::sqrt(2 / M_PI) * (x.value + 0.044715 * x.value * x.value * x.value);
  return {y, 1.1 * x.bound + (8 + 4 * std::fabs(z)) * 0x1p-24 * std::fabs(y)};
}

struct Reference {
  std::vector<double> c, bound;
};
/// What must come out, and how far from it. The errors of a gated pair's factors multiply, and
/// their product is rounded.
inline Reference reference(const GemmProblem &problem, std::int64_t m, const Values &v) {
  Reference result;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < problem.n; ++j) {
      Bounded y = activated(problem, scaledSum(problem, v, i, j));
      if (problem.gated) {
        const Bounded up = scaledSum(problem, v, i, problem.n + j);
        const double whole = y.value * up.value;
        y = {whole, (std::fabs(y.value) + y.bound) * (std::fabs(up.value) + up.bound) -
                        std::fabs(whole) * (1 - 0x1p-24)};
      }
      result.c.push_back(y.value);
      result.bound.push_back(y.bound + unit(problem.c) * std::fabs(y.value) + underflow(problem.c));
    }
  return result;
}

/// The weights as a kernel takes them, prepared on the host.
inline Operand prepared(const GemmProblem &problem, std::span<const double> b) {
  const std::vector<std::uint8_t> raw = encode(problem.b, b);
  std::vector<std::uint8_t> out(
      std::size_t(fk::prepared_size(problem.weight()) * problem.b.bytes()));
  fk::prepare_weight(problem.weight(), raw.data(), out.data());
  return Operand::input(problem.b, 1, std::int64_t(out.size()) / problem.b.bytes(),
                        decode(problem.b, out));
}

/// Such weights as the operand of a call.
inline fk::PreparedWeight preparedArg(const GemmProblem &problem, const Operand &memory) {
  return {.matrix = problem.weight(), .memory = memory.vector()};
}

using fk::OperandLayout;

/// A matrix (rows, k) as a kernel takes it.
struct LaidOperand {
  Operand memory;
  fx::TensorArg argument;

  /// `gap` elements lie between its rows, or between its columns.
  static LaidOperand of(fx::DType dtype, OperandLayout layout, std::int64_t rows, std::int64_t k,
                        const std::vector<double> &values, std::int64_t gap) {
    if (layout == OperandLayout::rows) {
      const Operand memory = Operand::input(dtype, rows, k, values, gap);
      return {memory, memory.tensor()};
    }
    std::vector<double> turned;
    for (std::int64_t at = 0; at < rows * k; ++at)
      turned.push_back(values[std::size_t(at % rows * k + at / rows)]);
    const Operand memory = Operand::input(dtype, k, rows, turned, gap);
    return {memory, fx::tensor(memory.tensor().data(), dtype, {rows, k}, {1, rows + gap})};
  }
};

struct Gaps {
  std::int64_t a = 0, c = 0;  // elements between the rows
  bool scalesByBlock = false; // scales of blocks of A lie block after block, not row after row
  std::int64_t b = 0; // elements between the rows or columns of weights that are not prepared
};

/// Scales as a kernel takes them.
class ScalesOperand {
public:
  /// `rows` rows of `columns`; 0: a vector. `turned`: column after column.
  ScalesOperand(fx::DType type, std::int64_t rows, std::int64_t columns,
                const std::vector<double> &values, bool turned = false)
      : type_(type), rows_(rows), columns_(columns), turned_(turned) {
    std::vector<double> stored;
    for (std::size_t at = 0; at < values.size(); ++at) {
      const auto place = std::int64_t(at);
      const double value =
          values[std::size_t(turned ? place % rows * columns + place / rows : place)];
      stored.push_back(type == fx::f8E8M0FNU ? std::log2(value) + 127 : value);
    }
    memory_ = std::make_shared<Operand>(Operand::input(
        type == fx::f8E8M0FNU ? fx::DType(fx::u8) : type, 1, std::int64_t(values.size()), stored));
  }
  fx::TensorArg argument() const {
    void *data = memory_->vector().data();
    if (!rows_)
      return fx::tensor(data, type_, {columns_});
    return turned_ ? fx::tensor(data, type_, {rows_, columns_}, {1, rows_})
                   : fx::tensor(data, type_, {rows_, columns_}, {columns_, 1});
  }

private:
  fx::DType type_;
  std::int64_t rows_, columns_;
  bool turned_;
  std::shared_ptr<Operand> memory_;
};

/// Bytes of the workspace that hold sums; flags, if there are any, are behind them.
inline std::size_t sumsOfParts(const GemmProblem &problem, GemmConfig config, std::int64_t m) {
  config.parts_sum = fk::PartsSum::kernel;
  return fk::workspace_bytes(problem, config, m);
}

/// Runs a problem and gives c.
inline std::vector<double> product(const GemmProblem &problem, const GemmConfig &config,
                                   std::int64_t m, const Values &values, Gaps gaps = {},
                                   std::int64_t seed = 0) {
  const auto weights = [&]() -> LaidOperand {
    if (problem.b_layout != OperandLayout::prepared)
      return LaidOperand::of(problem.b, problem.b_layout, problem.n, problem.k, values.b, gaps.b);
    const Operand memory = prepared(problem, values.b);
    return {memory, memory.vector()};
  };
  const LaidOperand a = LaidOperand::of(problem.a, problem.a_layout, m, problem.k, values.a,
                                        gaps.a),
                    b = weights();
  const Operand c = Operand::output(problem.c, m, problem.n, gaps.c);
  const bool isPrepared = problem.b_layout == OperandLayout::prepared;
  fk::GemmArgs args{.a = a.argument,
                    .b = isPrepared ? fk::WeightArg(preparedArg(problem, b.memory))
                                    : fk::WeightArg(b.argument),
                    .c = c.tensor(),
                    .seed = seed};
  std::vector<ScalesOperand> scales;
  const auto scale = [&](Scales kind, std::int64_t rows, const std::vector<double> &data,
                         bool turned) -> std::optional<fx::TensorArg> {
    if (kind == Scales::none)
      return std::nullopt;
    const bool blocks = kind == Scales::per_block;
    scales.emplace_back(problem.scale, blocks ? rows : 0, blocks ? blocksOf(problem.k) : rows, data,
                        blocks && turned);
    return scales.back().argument();
  };
  args.scale_a = scale(problem.scale_a, m, values.scale_a, gaps.scalesByBlock);
  args.scale_b =
      scale(problem.scale_b,
            problem.scale_b == Scales::per_block ? blocksOf(problem.columns()) : problem.columns(),
            values.scale_b, false);
  std::optional<Operand> bias;
  if (problem.bias) {
    bias = Operand::input(problem.c, 1, problem.columns(), values.bias);
    args.bias = bias->vector();
  }
  // Uninitialised: a number that no part has written is found when it is read.
  std::optional<fx::DeviceArray<std::uint8_t>> workspace;
  const std::size_t bytes = fk::workspace_bytes(problem, config, m),
                    flags = bytes - sumsOfParts(problem, config, m);
  if (bytes) {
    workspace.emplace(fx::Extents{bytes});
    args.workspace = workspace->tensor();
    REQUIRE(HIP(hipMemset)(workspace->data() + bytes - flags, 0, flags) == hipSuccess);
  }
  const fx::Stream stream;
  fk::GemmPlan(problem, config)(args, stream);
  stream.synchronize();
  if (flags) { // they are left as they were
    std::vector<std::uint8_t> left(flags);
    REQUIRE(HIP(hipMemcpy)(left.data(), workspace->data() + bytes - flags, flags,
                           hipMemcpyDeviceToHost) == hipSuccess);
    CHECK(left == std::vector<std::uint8_t>(flags));
  }
  return c.values();
}

/// Runs a problem on random values and compares.
inline void expectProduct(const GemmProblem &problem, const GemmConfig &config, std::int64_t m,
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
inline void expectProduct(const GemmProblem &problem, std::int64_t m, Gaps gaps = {}) {
  expectProduct(problem, fk::choose(problem, m), m, gaps);
}

/// A small tile of two blocks of 64 bytes of k.
inline GemmConfig small(const GemmProblem &problem) {
  return {.tile_m = 32,
          .tile_n = 64,
          .tile_k = 128 / problem.a.bytes(),
          .threads = 4 * here().wave_size()};
}

inline const std::vector<GemmProblem> &typed() {
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

} // namespace kernel_tests
