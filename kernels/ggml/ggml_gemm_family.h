// Products with weights in blocks, between their host file and their kernels.
#pragma once

#include "blocks/facts/lds_layout.h"
#include "blocks/facts/matrix_form.h"
#include "frame/family.h"
#include "ggml/ggml_rules.h"

#include <flydsl/kernels/ggml_gemm.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

template <class Side> struct GgmlGemmParams {
  Strided<Side, 1> a, c;     // (m, k), (m, n)
  Strided<Side, 0> b, up;    // (weight_bytes)
  Strided<Side, 1> residual; // (m, n)
  Param<Side, Int32> m;
};
/// By threads that read blocks, and by matrix instructions, with numbers in shared memory or in registers.
inline constexpr KernelOf<GgmlGemmParams> kGgmlVector{"ggml_vector"}, kGgmlMatrix{"ggml_matrix"},
    kGgmlRegisters{"ggml_registers"};
/// The same with experts.
template <class Side> struct GgmlExpertsParams {
  GgmlGemmParams<Side> product; // c: (m, topk * n)
  Strided<Side, 0> ids;         // (m * topk), or sorted (places)
  Strided<Side, 0> unitExperts; // (places / unit)
  Param<Side, Int32> places;
};
inline constexpr KernelOf<GgmlExpertsParams> kGgmlExpertsVector{"ggml_experts_vector"},
    kGgmlExpertsMatrix{"ggml_experts_matrix"}, kGgmlExpertsRegisters{"ggml_experts_registers"};
/// The kernel of a configuration, of products with experts or without.
inline const KernelOf<GgmlGemmParams> &ggmlKernel(const GgmlGemmConfig &config) {
  return !config.matrix ? kGgmlVector : config.registers ? kGgmlRegisters : kGgmlMatrix;
}
inline const KernelOf<GgmlExpertsParams> &ggmlExpertsKernel(const GgmlGemmConfig &config) {
  return !config.matrix     ? kGgmlExpertsVector
         : config.registers ? kGgmlExpertsRegisters
                            : kGgmlExpertsMatrix;
}

/// The sizes of the kernel with matrix instructions.
struct GgmlMatrixShape {
  MatrixForm form;
  int tileM, tileN;
  int rowsB; ///< rows of weights of a step: those of up too
  int tileK; ///< columns of a step: whole spans of units
  int units; ///< of a row of weights in a step
  int threads;
  std::int64_t k;
  int banks; ///< of LDS

  int waves() const { return threads / form.lanes; }
  /// Of the tiles in shared memory, against conflicts of banks.
  XorSwizzle swizzle() const { return xorSwizzle(form.bytes(), tileK * form.bytes(), banks); }
  int elementsA() const { return tileM * tileK; }
  int elementsB() const { return rowsB * tileK; }
  /// Two tiles of each: one is multiplied while the next is made.
  int sharedBytes() const { return 2 * (elementsA() + elementsB()) * form.bytes(); }
  std::int64_t steps() const { return (k + tileK - 1) / tileK; }
};
/// None if the target has no such instruction.
inline std::optional<GgmlMatrixShape> ggmlMatrixShape(const GgmlGemmProblem &problem,
                                                      const GgmlGemmConfig &config,
                                                      const Target &target) {
  const GgmlRow &row = ggmlRow(problem.format);
  const int tileK = std::max(64, row.span);
  const auto form = matrixForm(target, problem.product, problem.product, tileK, tileK);
  if (!form)
    return std::nullopt;
  return GgmlMatrixShape{*form,
                         config.tile_m,
                         config.tile_n,
                         (problem.gated ? 2 : 1) * config.tile_n,
                         tileK,
                         tileK / row.unitWeights(),
                         config.threads,
                         problem.k,
                         lds_banks(target)};
}

/// The sizes of the kernel with matrix instructions whose numbers are made in registers.
struct GgmlRegistersShape {
  static constexpr int kStage = 32; ///< elements of a row that a lane multiplies together

  MatrixForm form;
  int tileM;
  int rowsB; ///< rows of weights of a block: those of up too
  int threads;
  int unitWeights;
  int unitsOfLane;    ///< that a lane takes together
  std::int32_t units; ///< of a row of weights
  int banks;          ///< of LDS

  int waves() const { return threads / form.lanes; }
  int tilesM() const { return tileM / 16; }
  int tilesB() const { return rowsB / 16; }
  int stages() const { return unitsOfLane * unitWeights / kStage; }
  /// The units of a row that a wave takes together.
  int unitsOfWave() const { return unitsOfLane * form.across; }
  /// The elements of a row of a that a wave multiplies together, in shared memory.
  int stagedOfRow() const { return kStage * form.across; }
  XorSwizzle swizzle() const {
    return xorSwizzle(form.bytes(), stagedOfRow() * form.bytes(), banks);
  }
  /// The rows of a of a wave.
  int stagedBytes() const { return 16 * stagedOfRow() * form.bytes(); }
  /// Those of all waves, or their sums.
  int sharedBytes() const { return waves() * std::max(stagedBytes(), tileM * rowsB * 4); }

  // Lanes of a wave that takes the last units may be past the end of a row: they take the last one, as zeros.
  bool isGuarded() const { return units % unitsOfWave() != 0; }
  /// `count`: the units that a lane loads together, from `unit` on.
  template <class Int> Int inRow(const Int &unit, int count = 1) const {
    return isGuarded() ? Int(min(unit, units - count)) : unit;
  }
  template <class Int, class Vector> Vector kept(const Int &unit, const Vector &values) const {
    return isGuarded() ? Vector(select(Vector::splat(unit < units, values.size()), values,
                                       Vector::splat(0.0, values.size(), values.dtype())))
                       : values;
  }
};
/// None if the target has no such instruction.
inline std::optional<GgmlRegistersShape> ggmlRegistersShape(const GgmlGemmProblem &problem,
                                                            const GgmlGemmConfig &config,
                                                            const Target &target) {
  const auto forms = matrixForms(target, problem.product, problem.product);
  if (forms.empty())
    return std::nullopt;
  const int unit = ggmlRow(problem.format).unitWeights();
  return GgmlRegistersShape{forms.front(),
                            config.tile_m,
                            (problem.gated ? 2 : 1) * config.tile_n,
                            config.threads,
                            unit,
                            std::max(1, GgmlRegistersShape::kStage / unit),
                            static_cast<std::int32_t>(problem.k / unit),
                            lds_banks(target)};
}

/// Columns of c of a block.
inline int ggmlColumnsOfBlock(const GgmlGemmConfig &config) {
  return config.matrix ? config.tile_n : config.threads / config.lanes * config.rows;
}

/// Numbers of a block of Q8_1.
inline constexpr int kQ8Numbers = 32;
/// The shared memory of rows of a that are rounded to Q8_1: their q, and d in f32.
inline constexpr std::int64_t q8Bytes(int rows, std::int64_t k) {
  return rows * (k + k / kQ8Numbers * 4);
}

template <> struct Family<GgmlGemmProblem> : FamilyDefaults<GgmlGemmProblem, &GgmlGemmArgs::a> {
  static Support supported(const P &problem, const Target &target);
  static Support supported(const P &problem, const C &config, const Target &target);
  static C choose(const P &problem, std::int64_t m, const Target &target);
  static std::vector<C> candidates(const P &problem, std::int64_t m, const Target &target);
  static KernelNames kernels(const P &problem, const C &config) {
    if (problem.experts)
      return {&ggmlExpertsKernel(config)};
    return {&ggmlKernel(config)};
  }
  static std::vector<IndexRow> indexRows(const P &problem, const C &config);
  static void launch(const Call<P> &call);
  static A args(const P &problem, const C &config, std::int64_t m, const Sampler &sampler);
  static void compile(const Compiler<P> &compiler);
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
