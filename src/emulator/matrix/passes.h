// How long a matrix instruction keeps its unit busy, and the vector instructions after it.
#pragma once

#include "emulator/matrix/matrix_op.h"

namespace flyemu::matrix {

/// Cycles of a matrix instruction on one SIMD: four for each pass of the ISA manuals of CDNA2 to
/// CDNA4 (the tables of dependency passes), and the figures of AMD's matrix instruction calculator
/// for RDNA3 and RDNA4. An f8f6f4 instruction must have its formats (withFormats).
unsigned cyclesOf(const MatrixOp &op, const Processor &target);

/// Whether an instruction on 8 bits does half as many multiply-adds a cycle as others of the target: on CDNA4 those that
/// CDNA3 has as well (v_mfma_i32_16x16x32_i8), which take the same passes for half of the columns of A.
bool isHalfRate8(const MatrixOp &op, const Processor &target);

/// What else of its wave may issue after a matrix instruction, and how many cycles later.
struct CoExecution {
  unsigned operands = 0; ///< the next matrix instruction, after its issue, if the unit takes it
  unsigned vector = 0;   ///< the next vector instruction, after its issue
  /// The next product, sum or move of two words, or dot product, after it has got the unit.
  unsigned packed = 0;
  unsigned sums = 0; ///< an instruction that reads or writes the sums, after it has left the unit
};
/// Of an MFMA. `vector` is from AMD's matrix instruction calculator (coexec_delay): 4 cycles on CDNA2 and
/// CDNA3, 8 of sparse ones, and none that co-execute of f64, and of f32 on CDNA3. Traces of waves on MI308X and
/// MI350X, from which LLVM's pull request 233721 has its rules, agree: 4 cycles and as many for each 16 bytes of
/// A or B, whichever is wider; and the passes and two slots of 4 cycles of those that do not co-execute, and
/// before packed instructions (a slot more if A has 16 bytes). Of CDNA2 the latter is taken to be the same. `sums`
/// are the wait states that LLVM puts between (GCNHazardRecognizer, by the tables of the ISA manuals): the passes
/// and three, four on gfx950 but of two passes and of f64; f32 of CDNA3 and f64 of 4 x 4 x 4 two. That f64 has
/// more before memory and LDS (9 and 18 in all) is not modelled. `operands` is what `vector` is where others
/// co-execute: independent products need no wait states. `regsA`, `regsB`: the operands' registers of a lane.
CoExecution coExecutionOf(const MatrixOp &op, unsigned regsA, unsigned regsB,
                          const Processor &target);

} // namespace flyemu::matrix
