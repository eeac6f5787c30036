#include "ops/formulas.h"

namespace flydsl_ggml {
namespace {

using fx::Numeric;
namespace m = fx::math;
using In = std::span<const Numeric>;
using Numbers = const fx::Float32 *;

Numeric sigmoid(const Numeric &x) { return 1.0f / (m::exp(-x) + 1.0f); }
Numeric silu(const Numeric &x) { return x / (m::exp(-x) + 1.0f); }
Numeric gelu(const Numeric &x) {
  constexpr float rootOf2OverPi = 0.79788456080286535587989211986876f, cubic = 0.044715f;
  return 0.5f * x * (m::tanh(rootOf2OverPi * x * (cubic * x * x + 1.0f)) + 1.0f);
}
Numeric geluErf(const Numeric &x) {
  return 0.5f * x * (m::erf(x * 0.70710678118654752440084436210484f) + 1.0f);
}
Numeric geluQuick(const Numeric &x) { return x * (1.0f / (m::exp(-1.702f * x) + 1.0f)); }
Numeric hardSigmoid(const Numeric &x) { return m::clampf((x + 3.0f) / 6.0f, 0.0f, 1.0f); }
Numeric relu(const Numeric &x) { return fx::select(x > 0.0f, x, 0.0f); }

struct Unary {
  ggml_unary_op op;
  PlainFormula formula;
};
constexpr Unary kUnary[] = {
    {GGML_UNARY_OP_ABS, [](In x, Numbers) { return m::abs(x[0]); }},
    {GGML_UNARY_OP_SGN,
     [](In x, Numbers) {
       return fx::select(x[0] > 0.0f, 1.0f, fx::select(x[0] < 0.0f, -1.0f, 0.0f));
     }},
    {GGML_UNARY_OP_NEG, [](In x, Numbers) { return Numeric(-x[0]); }},
    {GGML_UNARY_OP_STEP, [](In x, Numbers) { return fx::select(x[0] > 0.0f, 1.0f, 0.0f); }},
    {GGML_UNARY_OP_TANH, [](In x, Numbers) { return m::tanh(x[0]); }},
    {GGML_UNARY_OP_ELU,
     [](In x, Numbers) { return fx::select(x[0] > 0.0f, x[0], m::expm1(x[0])); }},
    {GGML_UNARY_OP_RELU, [](In x, Numbers) { return relu(x[0]); }},
    {GGML_UNARY_OP_SIGMOID, [](In x, Numbers) { return sigmoid(x[0]); }},
    {GGML_UNARY_OP_GELU, [](In x, Numbers) { return gelu(x[0]); }},
    {GGML_UNARY_OP_GELU_QUICK, [](In x, Numbers) { return geluQuick(x[0]); }},
    {GGML_UNARY_OP_SILU, [](In x, Numbers) { return silu(x[0]); }},
    {GGML_UNARY_OP_HARDSWISH, [](In x, Numbers) { return x[0] * hardSigmoid(x[0]); }},
    {GGML_UNARY_OP_HARDSIGMOID, [](In x, Numbers) { return hardSigmoid(x[0]); }},
    {GGML_UNARY_OP_EXP, [](In x, Numbers) { return m::exp(x[0]); }},
    {GGML_UNARY_OP_EXPM1, [](In x, Numbers) { return m::exp(x[0]) - 1.0f; }},
    {GGML_UNARY_OP_SOFTPLUS,
     [](In x, Numbers) {
       return fx::select(x[0] > 20.0f, x[0], m::log(m::exp(x[0]) + 1.0f));
     }},
    {GGML_UNARY_OP_GELU_ERF, [](In x, Numbers) { return geluErf(x[0]); }},
    {GGML_UNARY_OP_XIELU, // alpha_n, alpha_p, beta, eps
     [](In x, Numbers f) {
       return fx::select(x[0] > 0.0f, f[1] * x[0] * x[0] + f[2] * x[0],
                         (m::expm1(fx::min(x[0], f[3])) - x[0]) * f[0] + f[2] * x[0]);
     }},
    {GGML_UNARY_OP_FLOOR, [](In x, Numbers) { return m::floor(x[0]); }},
    {GGML_UNARY_OP_CEIL, [](In x, Numbers) { return m::ceil(x[0]); }},
    {GGML_UNARY_OP_ROUND, [](In x, Numbers) { return m::round(x[0]); }},
    {GGML_UNARY_OP_TRUNC, [](In x, Numbers) { return m::trunc(x[0]); }},
};

struct Glu {
  ggml_glu_op op;
  PlainFormula formula; ///< of the gate, the other factor, and alpha and limit
};
constexpr Glu kGlu[] = {
    {GGML_GLU_OP_REGLU, [](In x, Numbers) { return relu(x[0]) * x[1]; }},
    {GGML_GLU_OP_GEGLU, [](In x, Numbers) { return gelu(x[0]) * x[1]; }},
    {GGML_GLU_OP_SWIGLU, [](In x, Numbers) { return silu(x[0]) * x[1]; }},
    {GGML_GLU_OP_SWIGLU_OAI,
     [](In x, Numbers f) {
       const Numeric gate = fx::min(x[0], f[1]), up = fx::max(fx::min(x[1], f[1]), -f[1]);
       return gate / (m::exp(-(f[0] * gate)) + 1.0f) * (up + 1.0f);
     }},
    {GGML_GLU_OP_GEGLU_ERF, [](In x, Numbers) { return geluErf(x[0]) * x[1]; }},
    {GGML_GLU_OP_GEGLU_QUICK, [](In x, Numbers) { return geluQuick(x[0]) * x[1]; }},
    {GGML_GLU_OP_SWIGLU_CLAMP,
     [](In x, Numbers f) {
       return silu(fx::min(x[0], f[1])) * fx::max(fx::min(x[1], f[1]), -f[1]);
     }},
};

} // namespace

PlainFormula unaryFormula(ggml_unary_op op) {
  for (const Unary &row : kUnary)
    if (row.op == op)
      return row.formula;
  return nullptr;
}
PlainFormula gluFormula(ggml_glu_op op) {
  for (const Glu &row : kGlu)
    if (row.op == op)
      return row.formula;
  return nullptr;
}

} // namespace flydsl_ggml
