#include "elementwise/elementwise_body.h"
#include "frame/arguments.h"

#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {
namespace {

constexpr std::string_view kFamily = "elementwise";
constexpr std::int64_t kMostThreads = 0x7fffffff;
constexpr std::array<const char *, ElementwiseArgs::kMostInputs> kNamesOfX{
    "x[0]", "x[1]", "x[2]", "x[3]", "x[4]", "x[5]", "x[6]", "x[7]"};
constexpr std::array<const char *, ElementwiseArgs::kMostOutputs> kNamesOfY{"y[0]", "y[1]", "y[2]",
                                                                            "y[3]"},
    kNamesOfScales{"scales[0]", "scales[1]", "scales[2]", "scales[3]"};

/// Checks that what a call writes shares no memory with what it reads, nor with what else it writes.
void checkMemory(const impl::Arguments &arguments, const ElementwiseProblem &problem,
                 const ElementwiseArgs &args) {
  struct Written {
    const TensorArg &tensor;
    const char *name;
    bool isScale;
  };
  std::vector<Written> written;
  for (std::size_t i = 0; i < problem.y.size(); ++i) {
    written.push_back({*args.y[i], kNamesOfY[i], false});
    if (args.scales[i])
      written.push_back({*args.scales[i], kNamesOfScales[i], true});
  }
  for (std::size_t i = 0; i < written.size(); ++i) {
    const auto &[tensor, name, isScale] = written[i];
    for (std::size_t j = 0; j < problem.x.size(); ++j)
      if (!isScale && !problem.scatter && problem.x[j].operand == ChainOperand::matrix)
        arguments.disjointOrSame(tensor, name, *args.x[j], kNamesOfX[j]);
      else
        arguments.disjoint(tensor, name, *args.x[j], kNamesOfX[j]);
    for (const auto &[readName, ids] :
         {std::pair("ids", &args.ids), {"to", &args.to}, {"rows", &args.rows}})
      if (*ids)
        arguments.disjoint(tensor, name, **ids, readName);
    for (std::size_t j = 0; j < i; ++j)
      if (impl::Arguments::shareMemory(tensor, written[j].tensor)) [[unlikely]]
        arguments.fail(std::string(name) + " and " + written[j].name +
                       " share memory; both are written");
  }
}

} // namespace

struct ElementwisePlan::State {
  ElementwiseChain chain;
  ElementwiseProblem problem;
  CompiledKernel<void(impl::ChainParams<OnDevice>)> code;

  static State make(const ElementwiseChain &chain, ElementwiseProblem problem, const Target &target,
                    const std::source_location &where) {
    if (const Support support = impl::elementwiseSupported(chain, problem); !support)
      throw Error(std::string(kFamily) + ": " + chain.name() + ": " + support.why, where);
    const impl::ChainKernel kernel(
        chain.name(),
        [&](const impl::ChainParams<OnDevice> &p) { impl::ChainBody(chain, problem)(p); }, {},
        where);
    auto code = kernel(impl::ChainParams<OnHost>{})
                    .compile({.block = impl::kChainBlock, .arch = target.id()}, where);
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
  for (std::size_t i = 0; i < kNamesOfX.size(); ++i)
    arguments.given(args.x[i], kNamesOfX[i], i < problem.x.size());
  for (std::size_t i = 0; i < kNamesOfY.size(); ++i) {
    arguments.given(args.y[i], kNamesOfY[i], i < problem.y.size());
    arguments.given(args.scales[i], kNamesOfScales[i],
                    i < problem.y.size() && problem.y[i].group > 0);
  }
  arguments.given(args.ids, "ids", gathers(problem));
  arguments.given(args.to, "to", problem.scatter);
  arguments.checkIf(problem.rows, args.rows, {.name = "rows", .dtype = i32, .shape = {"1", 1}});

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
                        .rowsOfY = rowsOfY,
                        .count = operandOf<0>(args.rows)};
  for (const auto &[name, ids] : {std::pair("ids", &args.ids), {"to", &args.to}})
    if (*ids)
      arguments.check(**ids, {.name = name, .dtype = problem.index, .shape = {"m", m}});
  for (std::size_t i = 0; i < problem.x.size(); ++i) {
    const TensorArg &x = *args.x[i];
    Expected expected{.name = kNamesOfX[i], .dtype = problem.x[i].type, .shape = {"m, n", m, n}};
    switch (problem.x[i].operand) {
    case ChainOperand::gathered:
      p.rows[i] = arguments.rows(x, kNamesOfX[i]);
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
  }
  checkMemory(arguments, problem, args);
  if (m == 0)
    return;
  const std::int64_t threads = m * (n / align);
  state_->code(p).launch(
      {.grid = (threads + kChainBlock - 1) / kChainBlock, .block = kChainBlock, .stream = stream},
      where);
}

} // namespace kernels
FLYDSL_NAMESPACE_END
