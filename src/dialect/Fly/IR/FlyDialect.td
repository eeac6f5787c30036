// The Fly dialect and the base classes of its types, attributes and enums.
#ifndef FLYDSL_DIALECT_FLY_DIALECT_TD
#define FLYDSL_DIALECT_FLY_DIALECT_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"

def Fly_Dialect : Dialect {
  let name = "fly";
  let cppNamespace = "::mlir::fly";
  let summary = "Layouts, tensors, atoms and tiled copies and multiplications";
  let description = [{
    Types carry layouts: the result type of every algebra operation holds the layout that the
    operation computes, with `?` where a number is known only at run time. A `?` keeps its bit width
    and its divisibility, so that alignment survives to the memory accesses.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect"];
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
  let hasConstantMaterializer = 1;
  let extraClassDeclaration = [{
    // Each group of operations is registered by the file that defines it.
    void registerAttributes();
    void registerTypes();
    void registerConstructorOps();
    void registerExtractOps();
    void registerIntTupleOps();
    void registerLayoutOps();
    void registerAtomOps();
    void registerTiledOps();
    void registerMemoryOps();
  }];
}

class Fly_Type<string cppName, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Fly_Dialect, cppName, traits> {
  let mnemonic = typeMnemonic;
}

class Fly_Attr<string cppName, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<Fly_Dialect, cppName, traits> {
  let mnemonic = attrMnemonic;
}

class Fly_Enum<string cppName, string text, list<I32EnumAttrCase> cases>
    : I32EnumAttr<cppName, text, cases> {
  let genSpecializedAttr = 0;
  let cppNamespace = Fly_Dialect.cppNamespace;
}

class Fly_EnumAttr<Fly_Enum enumeration, string attrMnemonic, list<Trait> traits = []>
    : EnumAttr<Fly_Dialect, enumeration, attrMnemonic, traits>;

#endif // FLYDSL_DIALECT_FLY_DIALECT_TD
