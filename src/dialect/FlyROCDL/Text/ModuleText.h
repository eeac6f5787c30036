// Modules of AMD's that other versions of MLIR wrote.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::fly_rocdl {

/// The text of a module as the MLIR that this is built with reads it. Later versions, whose text
/// FlyDSL's dumps are, name the masks of `rocdl.sched.barrier` and `rocdl.sched.group.barrier`
/// (`valu|ds_read`), and write immediate operands of `rocdl.raw.ptr.buffer.*` and `rocdl.mfma.*` in
/// place (`..., %offset, 0 : f32`): here masks are numbers and immediates are constants, in the
/// same line. All else stays as it is, bytecode too, and so does what is not understood, for the
/// parser to report.
std::string forThisMlir(llvm::StringRef text);

} // namespace mlir::fly_rocdl
