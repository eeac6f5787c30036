// The matrix instructions as the dialect has them. The rows are those of src/target; here is what
// needs MLIR's types or the layout algebra.
#pragma once

#include "layout/layout.h"
#include "target/matrix_instructions.h"

#include "mlir/IR/Types.h"

#include <string>

namespace mlir::fly_rocdl {

using flydsl::detail::MatrixFamily;
using flydsl::detail::MatrixInstruction;
using flydsl::detail::Registers;
using flydsl::rocdl::ThreadValues;

/// The type of what a lane holds of an operand: a scalar or a vector.
Type registerType(const Registers &registers, MLIRContext *context);

/// The number of an element format of the scaled instructions; -1 for other types.
int mxFormat(Type element);

/// The atom of a family with this shape and these elements, or null. `scaleBlock` as in the row.
const MatrixInstruction *findMatrixInstruction(MatrixFamily family, int m, int n, int k, Type a,
                                               Type b, Type acc, int scaleBlock = 0);

/// The lanes of a wave that runs the instruction, in order.
flydsl::layout::Layout lanesOf(const MatrixInstruction &row);
/// The layout of an atom's operand. A LayoutError where the row does not know it.
flydsl::layout::Layout layoutA(const MatrixInstruction &row);
flydsl::layout::Layout layoutB(const MatrixInstruction &row);
flydsl::layout::Layout layoutC(const MatrixInstruction &row);
/// The layout of A or B where each lane holds `run` neighbours in K, whatever the instruction has;
/// the runs go to the groups of lanes in turn.
flydsl::layout::Layout withRun(const MatrixInstruction &row, const ThreadValues &tv, int run);

/// Why the instruction of a copy or mma atom is not on a target, and what the target has in its
/// place; empty where it is there.
std::string missingOn(Type instruction, const flydsl::Target &target);

} // namespace mlir::fly_rocdl
