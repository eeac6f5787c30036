// The algebra of layouts: each operation is the row of that name in layout/operations.h.
#include "dialect/Fly/IR/FlyOps.h"

#define GET_OP_CLASSES
#include "dialect/Fly/IR/FlyLayoutOps.cpp.inc"

namespace mlir::fly {

void FlyDialect::registerLayoutOps() {
  addOperations<
#define GET_OP_LIST
#include "dialect/Fly/IR/FlyLayoutOps.cpp.inc"
      >();
}

} // namespace mlir::fly
