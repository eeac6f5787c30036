// The FlyROCDL dialect: the instructions of AMD GPUs as atoms, and the pointers that they need.
#ifndef FLYDSL_DIALECT_FLYROCDL_DIALECT_TD
#define FLYDSL_DIALECT_FLYROCDL_DIALECT_TD

include "dialect/Fly/IR/FlyInterfaces.td"
include "dialect/FlyROCDL/IR/FlyROCDLInterfaces.td"
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
class FlyROCDL_Instruction<string cppName, string typeMnemonic, list<TypeInterface> kinds>
    : TypeDef<FlyROCDL_Dialect, cppName, !listconcat(
        !foreach(kind, kinds, DeclareTypeInterfaceMethods<kind>),
        [DeclareTypeInterfaceMethods<Fly_MayStaticTypeInterface>])> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
  code staticDefinition = [{
    bool $cppClass::isStatic() const { return true; }
    ::mlir::Value $cppClass::rebuildStaticValue(::mlir::OpBuilder &, ::mlir::Location,
                                                ::mlir::Value) const { return {}; }
  }];
  let extraClassDefinition = staticDefinition;
}

// Instructions with operands that are set at run time.
class FlyROCDL_StatefulInstruction<string cppName, string typeMnemonic, list<TypeInterface> kinds>
    : TypeDef<FlyROCDL_Dialect, cppName, !listconcat(
        !foreach(kind, kinds, DeclareTypeInterfaceMethods<kind>),
        [DeclareTypeInterfaceMethods<Fly_StatefulOpTypeInterface>])> {
  let mnemonic = typeMnemonic;
  let genVerifyDecl = 1;
}

class FlyROCDL_CopyOp<string cppName, string typeMnemonic>
    : FlyROCDL_Instruction<cppName, typeMnemonic, [Fly_CopyOpTypeInterface]>;
class FlyROCDL_StatefulCopyOp<string cppName, string typeMnemonic>
    : FlyROCDL_StatefulInstruction<cppName, typeMnemonic, [Fly_CopyOpTypeInterface]>;

// What a matrix instruction is stands in its row of the table (src/target/matrix_table.cpp), which is found by
// the family and the type's parameters. `scaleBlock`: the elements of K that share a scale. `run`: how
// many neighbours in K a lane holds of A and B; 0 for as many as the row says.
class FlyROCDL_MatrixRow<string family, string scaleBlock = "0", string run = "0"> {
  code definition = [{
    const ::mlir::fly_rocdl::MatrixInstruction &$cppClass::row() const {
      return *::mlir::fly_rocdl::findMatrixInstruction(
        ::flydsl::detail::MatrixFamily::}] # family # [{, getM(), getN(), getK(), getElemTyA(),
        getElemTyB(), getElemTyAcc(), }] # scaleBlock # [{);
    }
    ::flydsl::layout::Layout $cppClass::getThrLayout() const { return lanesOf(row()); }
    ::flydsl::layout::IntTuple $cppClass::getShapeMNK() const {
      return ::flydsl::layout::tup(getM(), getN(), getK());
    }
    ::mlir::Type $cppClass::getValTypeA() const { return getElemTyA(); }
    ::mlir::Type $cppClass::getValTypeB() const { return getElemTyB(); }
    ::mlir::Type $cppClass::getValTypeC() const { return getElemTyAcc(); }
    ::mlir::Type $cppClass::getValTypeD() const { return getElemTyAcc(); }
    ::flydsl::layout::Layout $cppClass::getThrValLayoutA() const {
      return }] # run # [{ ? withRun(row(), row().layoutA, }] # run # [{) : layoutA(row());
    }
    ::flydsl::layout::Layout $cppClass::getThrValLayoutB() const {
      return }] # run # [{ ? withRun(row(), row().layoutB, }] # run # [{) : layoutB(row());
    }
    ::flydsl::layout::Layout $cppClass::getThrValLayoutC() const { return layoutC(row()); }
  }];
}

class FlyROCDL_MmaOp<string cppName, string typeMnemonic, string family>
    : FlyROCDL_Instruction<cppName, typeMnemonic,
                           [Fly_MmaOpTypeInterface, FlyROCDL_MatrixOpInterface]> {
  let extraClassDefinition = staticDefinition # FlyROCDL_MatrixRow<family>.definition;
}

// The state of a scaled instruction is the scale words of A and B.
class FlyROCDL_ScaledMmaOp<string cppName, string typeMnemonic, string family, string scaleBlock,
                           string run = "0">
    : FlyROCDL_StatefulInstruction<cppName, typeMnemonic,
                                   [Fly_MmaOpTypeInterface, FlyROCDL_MatrixOpInterface]> {
  let extraClassDefinition = FlyROCDL_MatrixRow<family, scaleBlock, run>.definition # [{
    ::std::optional<unsigned> $cppClass::getStateFieldIndex(::llvm::StringRef name) const {
      return fieldIndex(name, {"scale_a", "scale_b"});
    }
    ::llvm::SmallVector<::mlir::Type> $cppClass::getStateFieldTypes() const {
      return integerFields(getContext(), 2, }] # scaleBlock # [{ == 16 ? 64 : 32);
    }
    ::llvm::SmallVector<int64_t> $cppClass::getStateFieldDefaults() const { return {0, 0}; }
  }];
}

#endif // FLYDSL_DIALECT_FLYROCDL_DIALECT_TD
