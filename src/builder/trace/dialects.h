// The dialects that traced kernels are written in.
#pragma once

#include <mlir/IR/MLIRContext.h>

namespace flydsl::builder {

/// Loads the dialects that most traces use. ROCDL, whose 500 operations take as long as a small
/// trace, is registered: IrBuilder loads it with the first of its operations.
void loadDialects(mlir::MLIRContext &context);

/// The context of what is asked outside any trace (an atom's layouts). Never given back; types may
/// be made in it from several threads.
mlir::MLIRContext &hostContext();

} // namespace flydsl::builder
