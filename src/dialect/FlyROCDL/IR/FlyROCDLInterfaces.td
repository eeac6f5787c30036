// Interfaces of the FlyROCDL dialect's types.
#ifndef FLYDSL_DIALECT_FLYROCDL_INTERFACES_TD
#define FLYDSL_DIALECT_FLYROCDL_INTERFACES_TD

include "mlir/IR/OpBase.td"

def FlyROCDL_MatrixOpInterface : TypeInterface<"MatrixOpTypeInterface"> {
  let cppNamespace = "::mlir::fly_rocdl";
  let description = "A matrix instruction, all of whose facts stand in one row of the table.";
  let methods = [
    InterfaceMethod<"The row of the instruction; a verified type has one.",
      "const ::mlir::fly_rocdl::MatrixInstruction &", "row", (ins)>
  ];
}

#endif // FLYDSL_DIALECT_FLYROCDL_INTERFACES_TD
