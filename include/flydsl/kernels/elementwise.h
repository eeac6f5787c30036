// Chains of functions of single elements as one kernel: casts, sums and products with broadcast,
// activations and gates of one's own, rows that are gathered or scattered by their numbers, such as
// embeddings, results that are quantised by groups. The chain is a lambda of the program, which is
// traced into the kernel.
//
//   const fk::ElementwiseChain swiglu{"swiglu", [](const fx::Vector &gate, const fx::Vector &up) {
//     return fk::chain::silu(gate) * up;
//   }};
//   const fk::ElementwisePlan plan(swiglu, {.x = {{fx::bf16}, {fx::bf16}}, .n = 4096});
//   plan({.x = {gate, up}, .y = {y}}, stream);
#pragma once

#include <flydsl/flydsl.h>
#include <flydsl/kernels/quantisation.h>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What a chain gets of an operand for element (i, j) of m rows of n elements.
enum class ChainOperand : std::uint8_t {
  matrix,   ///< (m, n): x[i, j]
  row,      ///< (n): x[j], the same for all rows
  column,   ///< (m): x[i], the same for all elements of a row
  number,   ///< (1): x[0]
  gathered, ///< (rows, n): x[ids[i], j], and 0 for a row that is not there
};

/// An operand that a chain reads.
struct ChainInput {
  DType type = bf16; ///< f32, f16, bf16, i32, i8, u8 or a float of 8 bits
  ChainOperand operand = ChainOperand::matrix;
};

/// What a chain gives: (m, n).
struct ChainOutput {
  DType type = bf16; ///< f32, f16 or bf16; or, of groups, i8 or a float of 8 bits
  /// A power of two: neighbours of a row, so many, are quantised with a scale of their own, which is
  /// made of their largest magnitude and written. 128 is what products with scales of blocks take of
  /// their rows, 32 the microscaling formats' block. 0: not quantised.
  int group = 0;
  /// f32: the rule of Quantisation::row. f8E8M0FNU: a power of two, with which the type may be
  /// f4E2M1FN, too. Two elements of it share a byte; the first has the low bits.
  DType scale = f32;
  BlockScale block = BlockScale::ceil; ///< the rule of scales of f8E8M0FNU
};

/// What a kernel is made for. Its code depends on nothing else: m and strides are numbers of the
/// call.
struct FLYDSL_API ElementwiseProblem {
  std::vector<ChainInput> x;         ///< what the chain takes, in its order: 1 to 8
  std::vector<ChainOutput> y = {{}}; ///< what it gives, in its order: 1 to 4
  std::int64_t n = 0;                ///< elements of a row, whole groups
  bool scatter =
      false; ///< row i of y, and of scales, goes to row to[i]; one that is not there, nowhere
  DType index = i32; ///< of ids and to: i32 or i64
  /// A power of two: every row of all matrices starts at a multiple of so many elements, up to 16
  /// bytes, and so do rows that all share. 0: the largest up to 16 that divides n.
  int row_align = 0;
  /// The number of rows is in device memory, and m is an upper bound: later rows are neither read nor
  /// written. A captured graph computes the rows that there are when it runs.
  bool rows = false;
};

/// The tensors of a call, in the order of the chain. Matrices have contiguous rows at any stride, the
/// others are contiguous. An output may be one of the matrices that are read, exactly; it shares no
/// memory with other operands.
struct FLYDSL_API ElementwiseArgs {
  static constexpr std::size_t kMostInputs = 8;  ///< operands of a chain
  static constexpr std::size_t kMostOutputs = 4; ///< results of a chain

  std::array<std::optional<TensorArg>, kMostInputs> x = {};
  std::array<std::optional<TensorArg>, kMostOutputs> y = {}; ///< (m, n), or (rows, n) if scattered
  /// (m, n / group), or (rows, n / group) if scattered, of the outputs that are quantised; their rows
  /// and columns are at any stride, so that either may be contiguous.
  std::array<std::optional<TensorArg>, kMostOutputs> scales = {};
  std::optional<TensorArg> ids = {};  ///< (m): the rows of what is gathered
  std::optional<TensorArg> to = {};   ///< (m): the rows of y, different ones; see scatter
  std::optional<TensorArg> rows = {}; ///< (1), i32: 0 to m; a larger number counts as m
};

/// A function of elements. The lambda takes a Vector of f32 for each operand, neighbours of a row of
/// it, and returns a Vector of the same size, or a std::array of several. It is called while a kernel
/// is traced: what it computes with `fx::math` and operators is computed for each element.
class ElementwiseChain {
public:
  using Apply = std::function<std::vector<Vector>(const std::vector<Vector> &)>;

  /// `name` is the kernel's.
  template <class F>
  ElementwiseChain(std::string name, F chain)
      : ElementwiseChain(std::move(name), std::move(chain), Call<decltype(&F::operator())>()) {}

  /// The kernel's name.
  const std::string &name() const { return name_; }
  /// The number of operands that the lambda takes.
  std::size_t inputs() const { return inputs_; }
  /// The number of results that it gives.
  std::size_t outputs() const { return outputs_; }
  /// What the lambda gives for these values, while a kernel is traced.
  std::vector<Vector> operator()(const std::vector<Vector> &x) const { return apply_(x); }

private:
  template <class T> struct Results {
    static_assert(std::is_convertible_v<T, Vector>,
                  "a chain returns an fx::Vector, or a std::array of them");
    static constexpr std::size_t count = 1;
    static std::vector<Vector> of(T result) { return {Vector(result)}; }
  };
  template <std::size_t N> struct Results<std::array<Vector, N>> {
    static constexpr std::size_t count = N;
    static std::vector<Vector> of(const std::array<Vector, N> &results) {
      return {results.begin(), results.end()};
    }
  };
  template <class Member> struct Call;
  template <class R, class C, class... Ps> struct Call<R (C::*)(Ps...) const> {
    static_assert((std::is_same_v<std::decay_t<Ps>, Vector> && ...),
                  "a chain takes an fx::Vector for each operand");
    static constexpr std::size_t count = sizeof...(Ps);
    using Result = Results<std::decay_t<R>>;
  };
  template <class F, class Shape>
  ElementwiseChain(std::string name, F chain, Shape)
      : name_(std::move(name)), inputs_(Shape::count), outputs_(Shape::Result::count),
        apply_([chain = std::move(chain)](const std::vector<Vector> &x) {
          return [&]<std::size_t... I>(std::index_sequence<I...>) {
            return Shape::Result::of(chain(x[I]...));
          }
          (std::make_index_sequence<Shape::count>());
        }) {}

  std::string name_;
  std::size_t inputs_, outputs_;
  Apply apply_;
};

/// The kernel of a chain for operands of these types. A call checks its arguments and launches;
/// it compiles nothing, allocates nothing and may be captured into a graph.
class FLYDSL_API ElementwisePlan {
public:
  /// Compiles. Throws Error with a sentence for a problem that is not supported or does not fit the
  /// chain.
  ElementwisePlan(const ElementwiseChain &chain, ElementwiseProblem problem,
                  const Target &target = Device::current().target(),
                  std::source_location where = std::source_location::current());

  /// Throws TraceError with the line of the call for arguments that do not fit.
  void operator()(const ElementwiseArgs &args, StreamRef stream = {},
                  std::source_location where = std::source_location::current()) const;

  /// What the kernel was made for.
  const ElementwiseProblem &problem() const;
  /// The compiled kernel, for its registers, code and times.
  const Executable &executable() const;

private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// Functions for chains.
namespace chain {

/// 1 / (1 + exp(-x))
inline Vector sigmoid(const Vector &x) { return 1.0f / (1.0f + math::exp(-x)); }
/// x sigmoid(x)
inline Vector silu(const Vector &x) { return x * sigmoid(x); }
/// x sigmoid(1.702 x), as CLIP has it.
inline Vector quick_gelu(const Vector &x) { return x * sigmoid(x * 1.702f); }
/// 0.5 x (1 + erf(x / sqrt(2)))
inline Vector gelu(const Vector &x) {
  return x * 0.5f * (1.0f + math::erf(x * 0.70710678118654752f));
}
/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3)))
inline Vector gelu_tanh(const Vector &x) {
  return x * sigmoid(x * (1.59576912160573071f * (1.0f + 0.044715f * (x * x))));
}
/// max(x, 0)^2; NaN of a NaN
inline Vector relu_squared(const Vector &x) {
  const Vector positive = select(x < 0.0f, 0.0f, x);
  return positive * positive;
}
/// log(1 + exp(x)), without an overflow.
inline Vector softplus(const Vector &x) {
  return max(x, 0.0f) + math::log1p(math::exp(-math::abs(x)));
}

} // namespace chain

} // namespace kernels
FLYDSL_NAMESPACE_END
