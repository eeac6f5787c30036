// The FlyROCDL dialect: the instructions of AMD GPUs as atoms, and the pointers that they need.
#ifndef FLYDSL_DIALECT_FLYROCDL_DIALECT_TD
#define FLYDSL_DIALECT_FLYROCDL_DIALECT_TD

include "dialect/Fly/IR/FlyInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/OpBase.td"

def FlyROCDL_Dialect : Dialect {
  let name = "fly_rocdl";
  let cppNamespace = "::mlir::fly_rocdl";
  let summary = "Copy and matrix instructions of AMD GPUs as Fly atoms";
  let dependentDialects = ["::mlir::fly::FlyDialect", "::mlir::LLVM::LLVMDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerTypes();";
}

// Instructions without state: their type determines them, and there are no values of them.
class FlyROCDL_Instruction<string cppName, string typeMnemonic, TypeInterface kind>
    : TypeDef<FlyROCDL_Dialect, cppName, [
        DeclareTypeInterfaceMethods<kind>,
        DeclareTypeInterfaceMethods<Fly_MayStaticTypeInterface>]> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
  let extraClassDefinition = [{
    bool $cppClass::isStatic() const { return true; }
    ::mlir::Value $cppClass::rebuildStaticValue(::mlir::OpBuilder &, ::mlir::Location,
                                                ::mlir::Value) const { return {}; }
  }];
}

// Instructions with operands that are set at run time.
class FlyROCDL_StatefulInstruction<string cppName, string typeMnemonic, TypeInterface kind>
    : TypeDef<FlyROCDL_Dialect, cppName, [
        DeclareTypeInterfaceMethods<kind>,
        DeclareTypeInterfaceMethods<Fly_StatefulOpTypeInterface>]> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
}

class FlyROCDL_CopyOp<string cppName, string typeMnemonic>
    : FlyROCDL_Instruction<cppName, typeMnemonic, Fly_CopyOpTypeInterface>;
class FlyROCDL_StatefulCopyOp<string cppName, string typeMnemonic>
    : FlyROCDL_StatefulInstruction<cppName, typeMnemonic, Fly_CopyOpTypeInterface>;
class FlyROCDL_MmaOp<string cppName, string typeMnemonic>
    : FlyROCDL_Instruction<cppName, typeMnemonic, Fly_MmaOpTypeInterface>;
class FlyROCDL_StatefulMmaOp<string cppName, string typeMnemonic>
    : FlyROCDL_StatefulInstruction<cppName, typeMnemonic, Fly_MmaOpTypeInterface>;

#endif // FLYDSL_DIALECT_FLYROCDL_DIALECT_TD
