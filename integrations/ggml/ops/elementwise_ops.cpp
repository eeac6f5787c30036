// The ops that the engine of element by element computes, besides copies.
#include "ops/formulas.h"

namespace flydsl_ggml {
namespace {

using fx::Numeric;
using In = std::span<const Numeric>;
using Numbers = const fx::Float32 *;

bool sourcesAreFloats(const ggml_tensor *op) {
  if (!isFloat(op->type))
    return false;
  for (const ggml_tensor *source : op->src)
    if (source && !isFloat(source->type))
      return false;
  return true;
}

/// An op that is a formula of its sources, with numbers among its parameters.
struct Simple {
  ggml_op op;
  const char *name;
  int numbers; ///< floats from parameter 0 on
  PlainFormula formula;
};
constexpr Simple kSimple[] = {
    {GGML_OP_SQR, "sqr", 0, [](In x, Numbers) { return Numeric(x[0] * x[0]); }},
    {GGML_OP_SQRT, "sqrt", 0, [](In x, Numbers) { return fx::math::sqrt(x[0]); }},
    {GGML_OP_LOG, "log", 0, [](In x, Numbers) { return fx::math::log(x[0]); }},
    {GGML_OP_SIN, "sin", 0, [](In x, Numbers) { return fx::math::sin(x[0]); }},
    {GGML_OP_COS, "cos", 0, [](In x, Numbers) { return fx::math::cos(x[0]); }},
    {GGML_OP_SCALE, "scale", 2, [](In x, Numbers f) { return x[0] * f[0] + f[1]; }},
    {GGML_OP_CLAMP, "clamp", 2,
     [](In x, Numbers f) {
       return fx::select(x[0] < f[0], f[0], fx::select(x[0] > f[1], f[1], x[0]));
     }},
    {GGML_OP_LEAKY_RELU, "leaky_relu", 1,
     [](In x, Numbers f) { return fx::select(x[0] > 0.0f, x[0], x[0] * f[0]); }},
    {GGML_OP_ADD, "add", 0, [](In x, Numbers) { return Numeric(x[0] + x[1]); }},
    {GGML_OP_ADD1, "add", 0, [](In x, Numbers) { return Numeric(x[0] + x[1]); }},
    {GGML_OP_SUB, "sub", 0, [](In x, Numbers) { return Numeric(x[0] - x[1]); }},
    {GGML_OP_MUL, "mul", 0, [](In x, Numbers) { return Numeric(x[0] * x[1]); }},
    {GGML_OP_DIV, "div", 0, [](In x, Numbers) { return Numeric(x[0] / x[1]); }},
    {GGML_OP_SILU_BACK, "silu_back", 0, // the gradient, and the input
     [](In x, Numbers) {
       const Numeric s = 1.0f / (fx::math::exp(-x[1]) + 1.0f);
       return x[0] * s * ((1.0f - s) * x[1] + 1.0f);
     }},
};
std::optional<ElementOp> simpleOf(const ggml_tensor *op) {
  for (const Simple &row : kSimple)
    if (row.op == op->op) {
      ElementOp found{row.name, row.formula, {}, {}};
      for (int i = 0; i < row.numbers; ++i)
        found.numbers.push_back(floatParam(op, i));
      for (const ggml_tensor *source : op->src)
        if (source) {
          found.sources.push_back(elementOf(source));
          found.tensors.push_back(source);
        }
      return found;
    }
  return std::nullopt;
}

std::optional<ElementOp> unaryOf(const ggml_tensor *op) {
  const ggml_unary_op which = ggml_get_unary_op(op);
  const auto formula = unaryFormula(which);
  if (!formula)
    return std::nullopt;
  ElementOp found{std::string("unary_") + ggml_unary_op_name(which),
                  formula,
                  {elementOf(op->src[0])},
                  {op->src[0]}};
  if (which == GGML_UNARY_OP_XIELU)
    for (int i = 1; i <= 4; ++i)
      found.numbers.push_back(floatParam(op, i));
  return found;
}

std::optional<ElementOp> gluOf(const ggml_tensor *op) {
  const ggml_glu_op which = ggml_get_glu_op(op);
  const auto formula = gluFormula(which);
  if (!formula)
    return std::nullopt;
  // Both halves in one tensor, or in two. Rows follow one another in the order of dimensions 1 to 3.
  const ggml_tensor *gate = op->src[0], *up = op->src[1];
  const bool swapped = intParam(op, 1) != 0;
  const std::size_t half = up ? 0 : static_cast<std::size_t>(op->ne[0]) * gate->nb[0];
  Element a = elementOf(gate, swapped ? half : 0);
  Element b = up ? elementOf(up) : elementOf(gate, swapped ? 0 : half);
  a.memory.extent[0] = b.memory.extent[0] = static_cast<std::int32_t>(op->ne[0]);
  return ElementOp{std::string("glu_") + ggml_glu_op_name(which),
                   formula,
                   {a, b},
                   {gate, up ? up : gate},
                   {floatParam(op, 2), floatParam(op, 3)}};
}

bool isFormula(const ggml_tensor *op) { return elementOpOf(op).has_value(); }
void runFormula(const Run &run, const ggml_tensor *op) {
  const ElementOp found = *elementOpOf(op);
  elementwise(run, found.name, elementOf(op), found.sources, found.formula, found.numbers);
}

void runFill(const Run &run, const ggml_tensor *op) {
  elementwise(run, "fill", elementOf(op), {}, [](In, Numbers f) { return Numeric(f[0]); },
              {floatParam(op, 0)});
}
void runRepeat(const Run &run, const ggml_tensor *op) {
  const Element sources[] = {elementOf(op->src[0])};
  elementwise(run, "copy", elementOf(op), sources, nullptr);
}

constexpr Op kOps[] = {
    {GGML_OP_SQR, isFormula, runFormula},
    {GGML_OP_SQRT, isFormula, runFormula},
    {GGML_OP_LOG, isFormula, runFormula},
    {GGML_OP_SIN, isFormula, runFormula},
    {GGML_OP_COS, isFormula, runFormula},
    {GGML_OP_SCALE, isFormula, runFormula},
    {GGML_OP_CLAMP, isFormula, runFormula},
    {GGML_OP_LEAKY_RELU, isFormula, runFormula},
    {GGML_OP_UNARY, isFormula, runFormula},
    {GGML_OP_ADD, isFormula, runFormula},
    {GGML_OP_ADD1, isFormula, runFormula},
    {GGML_OP_SUB, isFormula, runFormula},
    {GGML_OP_MUL, isFormula, runFormula},
    {GGML_OP_DIV, isFormula, runFormula},
    {GGML_OP_SILU_BACK, isFormula, runFormula},
    {GGML_OP_GLU, isFormula, runFormula},
    {GGML_OP_FILL, sourcesAreFloats, runFill},
    {GGML_OP_REPEAT,
     [](const ggml_tensor *op) {
       return op->type == op->src[0]->type && static_cast<bool>(dtypeOf(op->type));
     },
     runRepeat},
};

} // namespace

std::optional<ElementOp> elementOpOf(const ggml_tensor *op) {
  if (!sourcesAreFloats(op))
    return std::nullopt;
  return op->op == GGML_OP_UNARY ? unaryOf(op) : op->op == GGML_OP_GLU ? gluOf(op) : simpleOf(op);
}

std::span<const Op> elementwiseOps() { return kOps; }

} // namespace flydsl_ggml
