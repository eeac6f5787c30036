// The tensor data mover by tensor and tile, as FlyDSL's cdna5 names it (gfx1250).
#ifndef FLYDSL_DIALECT_FLYROCDL_CDNA5_TYPES_TD
#define FLYDSL_DIALECT_FLYROCDL_CDNA5_TYPES_TD

include "dialect/Fly/IR/FlyTypes.td"
include "dialect/FlyROCDL/IR/FlyROCDLDialect.td"

// An atom is the box that one wave moves at once, and how coordinates of the tensor become those of
// the box. Dimensions of the box are listed outermost first. `tensor2tdm` has the shape of the
// tensor: its leaf `sEi` says that a step along that mode is s steps along dimension i of the box;
// 0 is for modes along which nothing moves. padInterval and padAmount are in elements.
class FlyROCDL_TensorMoveOp<string cppName, string typeMnemonic>
    : FlyROCDL_StatefulCopyOp<cppName, typeMnemonic> {
  let hasCustomAssemblyFormat = 1;
  code facts = [{
    static constexpr int32_t kMaxRank = 5;
    bool isWholeTileCopy() const { return true; }
    bool takesCoordinates() const { return true; }
    static bool isCompoundField(::llvm::StringRef name) {
      return name == "boundary_check" || name == "atomic_barrier_addr";
    }
    int32_t getRank() const { return static_cast<int32_t>(getShape().size()); }
  }];
}

def FlyROCDL_CopyOpCDNA5TensorLoad
    : FlyROCDL_TensorMoveOp<"CopyOpCDNA5TensorLoad", "cdna5.tensor_load"> {
  let summary = "from a tensor in global memory into LDS: `!fly_rocdl.cdna5.tensor_load<shape = [32, 64], elem = f16, tensor2tdm = (1E0,1E1)>`";
  let parameters = (ins ArrayRefParameter<"int32_t">:$shape, "::mlir::Type":$elemTy,
                        Fly_IntTupleParameter:$tensorToBox, "bool":$atomicBarrier,
                        "int32_t":$cacheModifier, "int32_t":$padInterval, "int32_t":$padAmount);
  let extraClassDeclaration = facts;
}

def FlyROCDL_CopyOpCDNA5TensorStore
    : FlyROCDL_TensorMoveOp<"CopyOpCDNA5TensorStore", "cdna5.tensor_store"> {
  let summary = "from LDS into a tensor in global memory: as `cdna5.tensor_load`, without padding";
  let parameters = (ins ArrayRefParameter<"int32_t">:$shape, "::mlir::Type":$elemTy,
                        Fly_IntTupleParameter:$tensorToBox, "bool":$atomicBarrier,
                        "int32_t":$cacheModifier);
  let extraClassDeclaration = facts # [{
    static constexpr int32_t getPadInterval() { return 0; }
    static constexpr int32_t getPadAmount() { return 0; }
  }];
}

#endif // FLYDSL_DIALECT_FLYROCDL_CDNA5_TYPES_TD
