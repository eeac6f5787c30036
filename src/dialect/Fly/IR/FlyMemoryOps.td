// Pointers, views of memory, loads and stores.
#ifndef FLYDSL_DIALECT_FLY_MEMORY_OPS_TD
#define FLYDSL_DIALECT_FLY_MEMORY_OPS_TD

include "dialect/Fly/IR/FlyOpBase.td"

def Fly_LLVMPointer : Type<CPred<"::llvm::isa<::mlir::LLVM::LLVMPointerType>($_self)">, "LLVM pointer">;

def Fly_MakePtrOp : Fly_Op<"make_ptr", []> {
  let summary = "a pointer: to register memory of `allocSize` elements, or of a target's own make";
  let arguments = (ins Variadic<AnyType>:$args, OptionalAttr<DictionaryAttr>:$dictAttrs);
  let results = (outs Res<Fly_Pointer, "", [MemAlloc]>:$result);
}
def Fly_GetDynSharedOp : Fly_Op<"get_dyn_shared", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the dynamic shared memory of the workgroup";
  let results = (outs Fly_Pointer:$result);
  let assemblyFormat = "`(` `)` attr-dict `:` qualified(type($result))";
}
def Fly_IntToPtrOp : Fly_Op<"inttoptr", [Pure]> {
  let arguments = (ins Fly_Scalar:$src);
  let results = (outs Fly_Pointer:$result);
}
def Fly_PtrToIntOp : Fly_Op<"ptrtoint", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins Fly_Pointer:$ptr);
  let results = (outs Fly_Scalar:$result);
}
def Fly_ToLLVMPtrOp : Fly_Op<"to_llvm_ptr", [Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let arguments = (ins Fly_Pointer:$ptr, I32Attr:$llvm_address_space);
  let results = (outs Fly_LLVMPointer:$result);
}
def Fly_RecastIterOp : Fly_Op<"recast_iter", [Pure]> {
  let summary = "the same address for elements of another type";
  let arguments = (ins Fly_Pointer:$src);
  let results = (outs Fly_Pointer:$result);
}

def Fly_AddOffsetOp : Fly_FoldedAlgebraOp<"add_offset"> {
  let arguments = (ins Fly_Iterator:$ptr, Fly_IntTuple:$offset);
  let results = (outs Fly_Iterator:$result);
}
def Fly_ApplySwizzleOp : Fly_AlgebraOp<"apply_swizzle"> {
  let arguments = (ins Fly_Pointer:$ptr, Fly_Swizzle:$swizzle);
  let results = (outs Fly_Pointer:$result);
}
def Fly_DecompositionOp : Fly_FoldedAlgebraOp<"decomposition"> {
  let summary = "the tensor of a composed layout as one of a plain layout at a moved iterator";
  let arguments = (ins Fly_Tensor:$tensor);
  let results = (outs Fly_Tensor:$result);
}

def Fly_PtrLoadOp : Fly_Op<"ptr.load", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Fly_Iterator:$ptr);
  let results = (outs AnyType:$result);
}
def Fly_PtrStoreOp : Fly_Op<"ptr.store"> {
  let arguments = (ins AnyType:$value, Arg<Fly_Pointer, "", [MemWrite]>:$ptr);
}

def Fly_MemRefAllocaOp : Fly_Op<"memref.alloca"> {
  let arguments = (ins Fly_Layout:$layout);
  let results = (outs Res<Fly_MemRef, "", [MemAlloc]>:$result);
  let hasVerifier = 1;
}
def Fly_MemRefLoadVecOp : Fly_Op<"memref.load_vec", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Fly_Tensor:$memref);
  let results = (outs AnyType:$result);
}
def Fly_MemRefStoreVecOp : Fly_Op<"memref.store_vec"> {
  let arguments = (ins AnyType:$vector, Arg<Fly_MemRef, "", [MemWrite]>:$memref);
}
def Fly_MemRefLoadOp : Fly_Op<"memref.load", [
    DeclareOpInterfaceMethods<InferTypeOpInterface>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "an element; of a coordinate tensor, the coordinate";
  let arguments = (ins Fly_Tensor:$memref, Fly_IntTuple:$indices);
  let results = (outs AnyType:$result);
}
def Fly_MemRefStoreOp : Fly_Op<"memref.store"> {
  let arguments = (ins AnyType:$value, Arg<Fly_MemRef, "", [MemWrite]>:$memref, Fly_IntTuple:$indices);
}

def Fly_ExtractAlignedPointerAsIndexOp : Fly_Op<"extract_aligned_pointer_as_index", [Pure]> {
  let summary = "the raw pointer of a tensor";
  let arguments = (ins Fly_MemRef:$source);
  let results = (outs AnyType:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `->` type($result)";
}

def Fly_PrintOp : Fly_Op<"print", [MemoryEffects<[MemWrite]>]> {
  let summary = "prints from the device";
  let arguments = (ins StrAttr:$format, Variadic<AnyType>:$values);
}

def Fly_AssumeOp : Fly_Op<"assume", [Pure]> {
  let arguments = (ins AnyType:$dst, AnyType:$src);
  let results = (outs AnyType:$result);
}

#endif // FLYDSL_DIALECT_FLY_MEMORY_OPS_TD
