// Modules written by other versions of MLIR.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace mlir::fly {

/// The text of a module with the masks of `rocdl.sched.barrier` and `rocdl.sched.group.barrier` as
/// numbers. Later versions of MLIR than the one we build with write them by name, `valu|ds_read`;
/// FlyDSL's dumps have them so. All else stays as it is, and so do names that are not known, for
/// the parser to report.
std::string withNumericSchedMasks(llvm::StringRef text);

} // namespace mlir::fly
