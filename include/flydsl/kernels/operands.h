// The operands of a family as a list, for whoever tries kernels without knowing them: tuning,
// tools, tests.
#pragma once

#include <flydsl/kernels/plan.h>

#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// What the kernels of a call do with an operand.
enum class Role {
  input,     ///< read
  index,     ///< read; different numbers from 0 to below their count
  output,    ///< written in full, and not read before
  workspace, ///< written before it is read
};

/// Makes an operand: `name` is that of its field in Args, `shape` its extents, row-major.
using Sampler =
    std::function<TensorArg(const char *name, DType dtype, TensorArg::Dims shape, Role role)>;

namespace impl {
template <class P> struct FLYDSL_API ArgsMaker {
  static ArgsOf<P> make(const P &problem, const ConfigOf<P> &config, std::int64_t m,
                        const Sampler &sampler);
};
} // namespace impl

/// The arguments of a call with m rows, of operands that `sampler` makes.
template <Problem P>
ArgsOf<P> make_args(const P &problem, const std::type_identity_t<ConfigOf<P>> &config,
                    std::int64_t m, const Sampler &sampler) {
  return impl::ArgsMaker<P>::make(problem, config, m, sampler);
}

} // namespace kernels
FLYDSL_NAMESPACE_END
