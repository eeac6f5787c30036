// How long a matrix instruction keeps its unit busy.
#pragma once

#include "emulator/matrix/matrix_op.h"

namespace flyemu::matrix {

/// Cycles of a matrix instruction on one SIMD: four for each pass of the ISA manuals of CDNA2 to
/// CDNA4 (the tables of dependency passes), and the figures of AMD's matrix instruction calculator
/// for RDNA3 and RDNA4. An f8f6f4 instruction must have its formats (withFormats).
unsigned cyclesOf(const MatrixOp &op, const Processor &target);

} // namespace flyemu::matrix
