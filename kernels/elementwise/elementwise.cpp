// A thread has one access of up to 16 bytes of one row, whatever the operands are: rows are short and
// many as often as long and few, so threads are counted over all accesses of all rows.
#include "blocks/common/where.h"
#include "blocks/quant/quant.h"
#include "blocks/rows/row_rules.h"
#include "frame/arguments.h"

#include <flydsl/kernels/elementwise.h>

#include <algorithm>
#include <bit>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {
namespace impl {
namespace {

constexpr std::string_view kFamily = "elementwise";
constexpr int kBlock = 256, kFewestLanes = 32; // of a wave, on all targets
constexpr std::int64_t kMostThreads = 0x7fffffff;
constexpr auto kInputs = ElementwiseArgs::kMostInputs, kOutputs = ElementwiseArgs::kMostOutputs;

template <class Side> struct ChainParams {
  std::array<Strided<Side, 1>, kInputs> x;
  std::array<Strided<Side, 1>, kOutputs> y;
  std::array<Strided<Side, 2>, kOutputs> scales; // (m, n / group)
  Strided<Side, 0> ids, to;                      // (m)
  Param<Side, Int32> m;
  std::array<Param<Side, Int64>, kInputs> rows; // of what is gathered
  Param<Side, Int64> rowsOfY;                   // if they are scattered
};
using ChainKernel = Kernel<void(ChainParams<OnDevice>)>;

constexpr DType kRead[] = {f32, f16, bf16, i32, i8, u8, f8E4M3FN, f8E5M2, f8E4M3FNUZ, f8E5M2FNUZ};
constexpr DType kWritten[] = {f32, f16, bf16};

bool gathers(const ElementwiseProblem &problem) {
  return std::ranges::find(problem.x, ChainOperand::gathered, &ChainInput::operand) !=
         problem.x.end();
}
std::string countOf(std::size_t count, const char *what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// The elements of an access, which divide a row.
int accessOf(const ElementwiseProblem &problem) {
  int bytes = 1;
  for (const ChainInput &x : problem.x)
    bytes = std::max(bytes, x.type.bytes());
  for (const ChainOutput &y : problem.y)
    bytes = std::max(bytes, y.type.bytes());
  const int align = problem.row_align ? problem.row_align : 16;
  return std::min({16 / bytes, align, naturalAlign(problem.n)});
}

/// Whether an output may be as it is said to be.
Support outputSupported(const ElementwiseProblem &problem, std::size_t i) {
  const ChainOutput &y = problem.y[i];
  const std::string name = "y[" + std::to_string(i) + "]";
  if (!y.group)
    return std::ranges::find(kWritten, y.type) != std::end(kWritten)
               ? Support{}
               : Support::no(name + " is of type " + std::string(y.type.name()) +
                             "; f32, f16 and bf16 are supported, and others by groups");
  if (const Support quantised = quantisedSupported(name.c_str(), y.type); !quantised)
    return quantised;
  if (y.scale != f32 && (y.scale != f8E8M0FNU || !blockFormat(y.type)))
    return Support::no(name + " of " + std::string(y.type.name()) + " has scales of " +
                       std::string(y.scale.name()) +
                       "; f32 is supported, and f8E8M0FNU for f8E4M3FN and f8E5M2");
  const int access = accessOf(problem);
  if (y.group < access || !std::has_single_bit(unsigned(y.group)) ||
      y.group / access > kFewestLanes || problem.n % y.group)
    return Support::no(name + " has groups of " + std::to_string(y.group) +
                       "; a group is a power of two from " + std::to_string(access) + " to " +
                       std::to_string(access * kFewestLanes) +
                       " that divides n: a wave has it, and its threads have " +
                       std::to_string(access) + " elements at a time");
  return {};
}

/// Why a problem is not supported, or does not fit the chain.
Support supports(const ElementwiseChain &chain, const ElementwiseProblem &problem) {
  const auto counted = [](const char *name, std::size_t has, std::size_t most, std::size_t takes,
                          const char *verb) {
    if (has < 1 || has > most)
      return Support::no(std::string(name) + " has " + countOf(has, "operand") + "; 1 to " +
                         std::to_string(most) + " are supported");
    if (has != takes)
      return Support::no(std::string(name) + " has " + countOf(has, "operand") +
                         ", and the chain " + verb + " " + std::to_string(takes));
    return Support{};
  };
  std::vector<Support> checks{counted("x", problem.x.size(), kInputs, chain.inputs(), "takes"),
                              counted("y", problem.y.size(), kOutputs, chain.outputs(), "gives"),
                              lengthSupported(problem.n), alignSupported(problem.row_align),
                              problem.index == i32 || problem.index == i64
                                  ? Support{}
                                  : Support::no("index is " + std::string(problem.index.name()) +
                                                "; i32 and i64 are supported")};
  for (std::size_t i = 0; i < problem.x.size(); ++i)
    if (const DType type = problem.x[i].type; std::ranges::find(kRead, type) == std::end(kRead))
      checks.push_back(Support::no("x[" + std::to_string(i) + "] is of type " +
                                   std::string(type.name()) +
                                   "; f32, f16, bf16, i32, i8, u8 and floats of 8 bits are "
                                   "supported"));
  if (std::ranges::all_of(checks, [](const Support &check) { return bool(check); }))
    for (std::size_t i = 0; i < problem.y.size(); ++i)
      checks.push_back(outputSupported(problem, i));
  const auto refusal = std::ranges::find_if(checks, [](const Support &check) { return !check; });
  return refusal == checks.end() ? Support{} : *refusal;
}

/// The traced body.
class ChainBody {
public:
  ChainBody(const ElementwiseChain &chain, const ElementwiseProblem &problem)
      : chain_(chain), problem_(problem), access_(accessOf(problem)) {}

  void operator()(const ChainParams<OnDevice> &p) const {
    const auto ofRow = static_cast<std::int32_t>(problem_.n / access_);
    // A launch has fewer than 2^31 threads, and its last block ends below 2^32.
    const Numeric thread = (block_idx().x * kBlock + thread_idx().x).to(u32),
                  row = thread / UInt32(ofRow), column = thread % UInt32(ofRow);
    const Boolean isInside(row < p.m.to(u32));
    // Threads of a group reduce together, so those past the last row stay, and store nothing.
    if (std::ranges::any_of(problem_.y, [](const ChainOutput &y) { return y.group > 0; }))
      element(p, select(isInside, row, (p.m - 1).to(u32)).to(i32), column.to(i32), isInside);
    else
      if_(isInside, [&] { element(p, row.to(i32), column.to(i32), std::nullopt); });
  }

private:
  void element(const ChainParams<OnDevice> &p, const Int32 &row, const Int32 &column,
               const std::optional<Boolean> &isInside) const {
    const std::optional<Int64> id =
        gathers(problem_) ? std::optional(number(p.ids, p.m, row)) : std::nullopt;
    std::vector<Vector> x;
    for (std::size_t i = 0; i < problem_.x.size(); ++i)
      x.push_back(input(p, i, row, column, id).to(f32));
    const std::vector<Vector> y = chain_(x);
    const Int64 rowOfY = problem_.scatter ? number(p.to, p.m, row) : Int64(row.to(i64));
    const std::optional<Boolean> known =
        problem_.scatter ? std::optional(isBelow(rowOfY, p.rowsOfY)) : std::nullopt;
    const std::optional<Boolean> stores =
        known && isInside ? std::optional<Boolean>(*known & *isInside) : known ? known : isInside;
    std::vector<Vector> results;
    std::vector<std::optional<Numeric>> scales;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const auto [result, scale] = written(problem_.y[i], y[i]);
      results.push_back(result);
      scales.push_back(scale);
    }
    where(stores, [&] {
      for (std::size_t i = 0; i < y.size(); ++i)
        access(matrix(p.y[i], problem_.y[i].type, p.rowsOfY)(rowOfY, _), column).store(results[i]);
      for (std::size_t i = 0; i < y.size(); ++i)
        if (scales[i]) {
          const int lanes = lanesOf(problem_.y[i]);
          if_(column % lanes == 0, [&] { scalesOf(p, i)(rowOfY, column / lanes) = *scales[i]; });
        }
    });
  }
  /// The threads of a group.
  int lanesOf(const ChainOutput &y) const { return y.group / access_; }
  Tensor scalesOf(const ChainParams<OnDevice> &p, std::size_t i) const {
    const ChainOutput &y = problem_.y[i];
    return p.scales[i].view(y.scale == f32 ? f32 : u8, {p.rowsOfY, problem_.n / y.group});
  }
  /// A result as it is written, and the scale of its group if it has one. All threads of a group take
  /// part: those of a row are there or are not together.
  std::pair<Vector, std::optional<Numeric>> written(const ChainOutput &output,
                                                    const Vector &values) const {
    if (!output.group)
      return {values.to(output.type), std::nullopt};
    const Numeric largest = gpu::warp_reduce(magnitudes(values).reduce(Reduction::max),
                                             Reduction::max, lanesOf(output));
    if (output.scale == f32) {
      const Numeric scale = scaleOf(largest, output.type);
      return {quantised(values, 1.0f / scale, output.type, false), scale};
    }
    const BlockExponent exponent = blockExponent(largest, output.type, BlockScale::ceil);
    return {blockValues(values, exponent, output.type), exponent.byte};
  }
  Int64 number(const Strided<OnDevice, 0> &of, const Int32 &m, const Int32 &row) const {
    return of.view(problem_.index, m)(row).to(i64);
  }
  static Boolean isBelow(const Int64 &number, const Int64 &rows) {
    return (number >= 0) & (number < rows);
  }
  Vector input(const ChainParams<OnDevice> &p, std::size_t i, const Int32 &row, const Int32 &column,
               const std::optional<Int64> &id) const {
    const auto [type, operand] = problem_.x[i];
    const Strided<OnDevice, 1> &x = p.x[i];
    const Strided<OnDevice, 0> vector{.address = x.address, .stride = {}};
    switch (operand) {
    case ChainOperand::matrix:
      return access(matrix(x, type, p.m.to(i64))(row, _), column).load();
    case ChainOperand::row:
      return access(vector.view(type, problem_.n, access_ * type.bytes()), column).load();
    case ChainOperand::column:
      return Vector::splat(x.view(type, {p.m, 1})(row, 0), access_);
    case ChainOperand::number:
      return Vector::splat(vector.view(type, 1)(0), access_);
    case ChainOperand::gathered:
      return if_(
          isBelow(*id, p.rows[i]),
          [&] { return access(matrix(x, type, p.rows[i])(*id, _), column).load(); },
          [&] { return Vector::splat(0, access_, type); });
    }
    throw Error("an operand of no kind");
  }
  /// (rows, N)
  Tensor matrix(const Strided<OnDevice, 1> &operand, DType type, const Int64 &rows) const {
    return operand.view(type, {rows, problem_.n}, access_ * type.bytes());
  }
  /// One access of a row (N): (access)
  Tensor access(const Tensor &row, const Int32 &column) const {
    return composition(row, make_layout({access_, problem_.n / access_}, {1, access_}))(_, column);
  }

  const ElementwiseChain &chain_;
  const ElementwiseProblem &problem_;
  int access_;
};

} // namespace
} // namespace impl

struct ElementwisePlan::State {
  ElementwiseChain chain;
  ElementwiseProblem problem;
  CompiledKernel<void(impl::ChainParams<OnDevice>)> code;

  static State make(const ElementwiseChain &chain, ElementwiseProblem problem, const Target &target,
                    const std::source_location &where) {
    if (const Support support = impl::supports(chain, problem); !support)
      throw Error(std::string(impl::kFamily) + ": " + chain.name() + ": " + support.why, where);
    const impl::ChainKernel kernel(
        chain.name(),
        [&](const impl::ChainParams<OnDevice> &p) { impl::ChainBody(chain, problem)(p); }, {},
        where);
    auto code = kernel(impl::ChainParams<OnHost>{})
                    .compile({.block = impl::kBlock, .arch = target.id()}, where);
    return {chain, std::move(problem), std::move(code)};
  }
};

ElementwisePlan::ElementwisePlan(const ElementwiseChain &chain, ElementwiseProblem problem,
                                 const Target &target, std::source_location where)
    : state_(std::make_shared<const State>(State::make(chain, std::move(problem), target, where))) {
}

const ElementwiseProblem &ElementwisePlan::problem() const { return state_->problem; }
const Executable &ElementwisePlan::executable() const { return state_->code; }

void ElementwisePlan::operator()(const ElementwiseArgs &args, StreamRef stream,
                                 std::source_location where) const {
  using namespace impl;
  const ElementwiseProblem &problem = state_->problem;
  const Arguments arguments(kFamily, where);
  const std::int64_t n = problem.n, align = accessOf(problem);
  constexpr const char *kNames[] = {"x[0]", "x[1]", "x[2]", "x[3]", "x[4]", "x[5]", "x[6]", "x[7]"},
                       *kNamesOfY[] = {"y[0]", "y[1]", "y[2]", "y[3]"},
                       *kNamesOfScales[] = {"scales[0]", "scales[1]", "scales[2]", "scales[3]"};
  static_assert(std::size(kNames) == kInputs && std::size(kNamesOfY) == kOutputs);
  for (std::size_t i = 0; i < kInputs; ++i)
    arguments.given(args.x[i], kNames[i], i < problem.x.size());
  for (std::size_t i = 0; i < kOutputs; ++i) {
    arguments.given(args.y[i], kNamesOfY[i], i < problem.y.size());
    arguments.given(args.scales[i], kNamesOfScales[i],
                    i < problem.y.size() && problem.y[i].group > 0);
  }
  arguments.given(args.ids, "ids", gathers(problem));
  arguments.given(args.to, "to", problem.scatter);

  const std::int64_t rowsOfY = arguments.rows(*args.y[0], kNamesOfY[0]);
  std::int64_t m = rowsOfY;
  if (problem.scatter) {
    m = args.to->size();
    if (m > kMostThreads) [[unlikely]]
      arguments.fail("to has " + std::to_string(m) + " numbers; fewer than 2^31 are supported");
  }
  if (m > kMostThreads / (n / align)) [[unlikely]]
    arguments.fail(std::to_string(m) + " rows of " + std::to_string(n) + " elements are " +
                   std::to_string(align) + " at a time more than the 2^31 threads of a launch");
  ChainParams<OnHost> p{.x = {},
                        .y = {},
                        .scales = {},
                        .ids = operandOf<0>(args.ids),
                        .to = operandOf<0>(args.to),
                        .m = static_cast<std::int32_t>(m),
                        .rows = {},
                        .rowsOfY = rowsOfY};
  for (const auto &[name, ids] : {std::pair("ids", &args.ids), {"to", &args.to}})
    if (*ids)
      arguments.check(**ids, {.name = name, .dtype = problem.index, .shape = {"m", m}});
  for (std::size_t i = 0; i < problem.x.size(); ++i) {
    const TensorArg &x = *args.x[i];
    Expected expected{.name = kNames[i], .dtype = problem.x[i].type, .shape = {"m, n", m, n}};
    switch (problem.x[i].operand) {
    case ChainOperand::gathered:
      p.rows[i] = arguments.rows(x, kNames[i]);
      expected.shape = {"rows, n", p.rows[i], n};
      [[fallthrough]];
    case ChainOperand::matrix:
      expected.free = 1;
      expected.align = align;
      break;
    case ChainOperand::row:
      expected.shape = {"n", n};
      expected.align = align;
      break;
    case ChainOperand::column:
      if (x.rank() == 2)
        expected.shape = {"m, 1", m, 1};
      else
        expected.shape = {"m", m};
      expected.free = 1;
      break;
    case ChainOperand::number:
      expected.shape = {"1", 1};
      break;
    }
    p.x[i] = arguments.operand<1>(x, expected);
  }
  for (std::size_t i = 0; i < problem.y.size(); ++i) {
    const TensorArg &y = *args.y[i];
    p.y[i] = arguments.operand<1>(y, {.name = kNamesOfY[i],
                                      .dtype = problem.y[i].type,
                                      .shape = {problem.scatter ? "rows, n" : "m, n", rowsOfY, n},
                                      .free = 1,
                                      .use = Use::written,
                                      .align = align});
    if (const int group = problem.y[i].group)
      p.scales[i] = arguments.operand<2>(
          *args.scales[i],
          {.name = kNamesOfScales[i],
           .dtype = problem.y[i].scale,
           .shape = {problem.scatter ? "rows, n / group" : "m, n / group", rowsOfY, n / group},
           .free = 2,
           .use = Use::written});
    for (std::size_t j = 0; j < problem.x.size(); ++j)
      if (problem.x[j].operand == ChainOperand::matrix && !problem.scatter)
        arguments.disjointOrSame(y, kNamesOfY[i], *args.x[j], kNames[j]);
      else
        arguments.disjoint(y, kNamesOfY[i], *args.x[j], kNames[j]);
    for (std::size_t j = 0; j < i; ++j)
      if (Arguments::shareMemory(y, *args.y[j])) [[unlikely]]
        arguments.fail(std::string(kNamesOfY[i]) + " and " + kNamesOfY[j] +
                       " share memory; both are written");
    for (const auto &[name, ids] : {std::pair("ids", &args.ids), {"to", &args.to}})
      if (*ids)
        arguments.disjoint(y, kNamesOfY[i], **ids, name);
  }
  if (m == 0)
    return;
  const std::int64_t threads = m * (n / align);
  state_->code(p).launch(
      {.grid = (threads + kBlock - 1) / kBlock, .block = kBlock, .stream = stream}, where);
}

} // namespace kernels
FLYDSL_NAMESPACE_END
