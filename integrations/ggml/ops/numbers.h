// Operands of plans: tensors as numbers of 16 bits.
#pragma once

#include "ops/op.h"

#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/ggml.h>

#include <array>

namespace flydsl_ggml {

/// Whether a tensor begins where plans take memory: at a multiple of 16 bytes.
inline bool beginsAligned(const ggml_tensor *x) {
  return reinterpret_cast<std::uintptr_t>(x->data) % 16 == 0;
}
/// Weights that a plan may be compiled for: leaves of the graph without gaps, at a multiple of 16 bytes.
/// Caches of keys, whose views grow, would make many plans.
bool arePlanWeights(const ggml_tensor *weights);
/// The type that weights and inputs are multiplied in where the model does not ask for f32: f16 where
/// weights are f16, as the CPU backend rounds inputs for them; otherwise bf16, which has the range of f32
/// and more bits than the codes of blocks.
ggml_type typeOfNumbers(const ggml_tensor *weights);
/// The rows of each of `matrices` matrices of blocks that are numbers in memory at a time: 64 MiB, which the
/// last caches of large devices hold. All parts but the last have the same size, a multiple of 64.
std::int64_t rowsOfPart(const ggml_tensor *weights, std::int64_t matrices);
/// A tensor at an address; without strides it has no gaps.
inline fx::TensorArg tensorAt(std::int64_t address, fx::DType type, const fx::Extents &shape,
                              const fx::Extents &strides = {}) {
  return fx::tensor(reinterpret_cast<void *>(address), type, shape, strides);
}
/// Weights in ggml's blocks, as a plan takes them.
inline flydsl::kernels::GgmlTensor blocksOf(const flydsl::kernels::GgmlWeight &weight,
                                            const ggml_tensor *w) {
  return {weight, tensorAt(operandOf(w).address, fx::u8,
                           {static_cast<std::int64_t>(weight_bytes(weight))})};
}
/// So many bytes of the op's own memory, for plans. They are a tensor of u8.
fx::TensorArg workspaceOf(const Run &run, std::size_t bytes);

/// An operand of a plan: where it is, and its strides in elements, in ggml's order of dimensions.
struct Numbers {
  std::int64_t address;
  std::array<std::int64_t, 4> strides;
};
/// A tensor in a type that a plan takes: as it is, or converted into the op's own memory.
Numbers numbersOf(const Run &run, const ggml_tensor *x, ggml_type type);
/// A stride that steps over nothing where the operand is the same for all.
inline std::int64_t strideOf(const ggml_tensor *x, const Numbers &numbers, std::size_t d) {
  return x->ne[d] == 1 ? 0 : numbers.strides[d];
}
/// Whether so many elements in a row begin at a multiple of their bytes in each row of a tensor.
bool rowsAreAligned(const ggml_tensor *x, std::int64_t elements);

/// Makes numbers of a tensor's elements, f16 or bf16, in the op's own memory, without gaps and in ggml's
/// order. The tensor has elements of their own, or blocks whose rows are a multiple of 16 elements. Returns
/// the address.
std::int64_t contiguousNumbers(const Run &run, const ggml_tensor *x, ggml_type type);
/// How so many rows of each matrix of weights lie as numbers: those that are numbers, as they are; those in
/// blocks, on CDNA, as products load them (WeightProblem) where no block of rows is filled up. With waves of 32
/// lanes such numbers take longer to write than products gain.
flydsl::kernels::OperandLayout layoutOfNumbers(const fx::Target &target, const ggml_tensor *weights,
                                               std::int64_t rows);
/// The same of a part of a tensor of blocks, which begins at an address, into memory that is there. The
/// layout is that of layoutOfNumbers().
void numbersOfBlocks(const Run &run, ggml_type from, const HostOperand &blocks, ggml_type type,
                     std::int64_t to,
                     flydsl::kernels::OperandLayout layout = flydsl::kernels::OperandLayout::rows);
/// These numbers, at an address, as the operand of a plan whose problem they are of: (n, k), or of experts
/// (experts, n, k).
template <class Problem>
flydsl::kernels::WeightArg weightsOf(const Problem &problem, std::int64_t address,
                                     const fx::Extents &shape) {
  namespace fk = flydsl::kernels;
  if (problem.b_layout != fk::OperandLayout::prepared)
    return tensorAt(address, problem.b, shape);
  return fk::PreparedWeight{problem.weight(),
                            tensorAt(address, problem.b, {fk::prepared_size(problem.weight())})};
}

} // namespace flydsl_ggml
