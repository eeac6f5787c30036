// Operations of the FlyROCDL dialect.
include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def FlyROCDL_GetBufferRsrcOp : Op<FlyROCDL_Dialect, "get_buffer_rsrc", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the buffer resource of a pointer in #fly_rocdl.buffer_desc, for raw buffer intrinsics";
  let arguments = (ins AnyType:$ptr);
  let results = (outs AnyType:$result);
  let assemblyFormat = "`(` $ptr `)` attr-dict `:` functional-type($ptr, $result)";
}
