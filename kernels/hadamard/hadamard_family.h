// Hadamard transforms, between their host file and their kernel.
#pragma once

#include "blocks/quant/group_rules.h"
#include "blocks/rows/row_family.h"

#include <flydsl/kernels/rows/hadamard.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct HadamardParams {
  Strided<Side, 1> x, y;  // (m, n)
  Strided<Side, 2> scale; // (m, n / group); (m) or one, without strides
  Param<Side, Int32> m;
  Strided<Side, 0> rows; // one
};
inline constexpr KernelOf<HadamardParams> kHadamard{"hadamard"};

/// Who has which elements of a row. Access a of a row, `vector` neighbours, belongs to thread
/// a % threads at first.
struct HadamardShape {
  HadamardShape(const RowShape &row, const RowConfig &config, int wave)
      : vector(row.vector), lanes(std::min(config.threads, wave)), waves(config.threads / lanes),
        slots(static_cast<int>(row.accesses() / config.threads)) {}
  int vector; ///< elements of an access
  int lanes;  ///< threads of a wave that have one row
  int waves;  ///< of a row
  int slots;  ///< accesses of a thread
  /// Elements of an access that waves exchange at a time, so that shared memory has room: at most 16
  /// bytes, which neighbouring lanes write and read side by side.
  int exchanged() const {
    constexpr int kMostBytes = 32 << 10;
    return std::max(1, std::min({vector, 4, kMostBytes / (4 * lanes * waves * waves)}));
  }
};

template <> struct Family<HadamardProblem> : RowFamily<HadamardProblem, &HadamardArgs::x> {
  static constexpr RowLimits kLimits{.most = 128};
  static RowShape shape(const P &problem) {
    return RowShape::of(problem.n, problem.row_align,
                        std::max(problem.x.bytes(), problem.y.bytes()));
  }
  static QuantGroups groups(const P &problem) {
    return {problem.group, problem.group_scale, problem.block};
  }
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &, const C &) { return {&kHadamard}; }
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
