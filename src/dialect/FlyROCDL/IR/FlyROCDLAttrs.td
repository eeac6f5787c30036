// Attributes of the FlyROCDL dialect.
include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"

def FlyROCDL_BufferDescAddressAttr : AttrDef<FlyROCDL_Dialect, "BufferDescAddress", [
    DeclareAttrInterfaceMethods<Fly_AddressSpaceInterface, ["isDescriptor"]>]> {
  let summary = "the address space of pointers that are a buffer descriptor and an offset";
  let mnemonic = "buffer_desc";
}
