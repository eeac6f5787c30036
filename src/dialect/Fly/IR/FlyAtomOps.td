// Atoms: single instructions that move or multiply, and the calls of them.
#ifndef FLYDSL_DIALECT_FLY_ATOM_OPS_TD
#define FLYDSL_DIALECT_FLY_ATOM_OPS_TD

include "dialect/Fly/IR/FlyOpBase.td"

def Fly_MakeMmaAtomOp : Fly_Op<"make_mma_atom", [Pure]> {
  let results = (outs Fly_MmaAtom:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
}

def Fly_MakeCopyAtomOp : Fly_Op<"make_copy_atom", [Pure]> {
  let arguments = (ins I32Attr:$valBits);
  let results = (outs Fly_CopyAtom:$result);
  let assemblyFormat = "attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def Fly_AtomSetValueOp : Fly_Op<"atom.set_value", [
    Pure, DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "the atom with one of its own operands set";
  let arguments = (ins AnyType:$atom, StrAttr:$field, AnyType:$value);
  let results = (outs AnyType:$result);
  let assemblyFormat =
      "`(` $atom `,` $field `,` $value `)` attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
}

def Fly_CopyAtomCallOp : Fly_Op<"copy_atom_call", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  // Instructions that take coordinates have a coordinate tensor on one side.
  let arguments = (ins Fly_CopyAtom:$copyAtom, Fly_Tensor:$src, Fly_Tensor:$dst,
                       Optional<Fly_MemRef>:$pred);
  let hasVerifier = 1;
}

def Fly_MmaAtomCallOp : Fly_Op<"mma_atom_call", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Fly_MmaAtom:$mmaAtom, Fly_MemRef:$d, Fly_MemRef:$a, Fly_MemRef:$b, Fly_MemRef:$c);
}

// In SSA form what lies in registers is a vector, and a vector that the call writes is its result.
// `dst` is then the value that a call without predicate leaves.
def Fly_CopyAtomCallSSAOp : Fly_Op<"copy_atom_call_ssa", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Fly_CopyAtom:$copyAtom, AnyType:$src, Optional<AnyType>:$dst,
                       Optional<AnyType>:$pred);
  let results = (outs Variadic<AnyType>:$results);
  let hasVerifier = 1;
}

def Fly_MmaAtomCallSSAOp : Fly_Op<"mma_atom_call_ssa", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let arguments = (ins Fly_MmaAtom:$mmaAtom, Optional<AnyType>:$d, AnyType:$a, AnyType:$b, AnyType:$c);
  let results = (outs Variadic<AnyType>:$results);
  let hasVerifier = 1;
}

def Fly_CopyOp : Fly_Op<"copy", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "copies a tensor atom by atom, where the predicate holds";
  let arguments = (ins AnyType:$copyAtom, Fly_Tensor:$src, Fly_Tensor:$dst, Optional<Fly_MemRef>:$pred);
  let assemblyFormat = [{
    `(` $copyAtom `,` $src `,` $dst (`,` $pred^)? `)` attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def Fly_GemmOp : Fly_Op<"gemm", [DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "D = A * B + C over fragments, atom by atom in the given order";
  let arguments = (ins AnyType:$mmaAtom, Fly_MemRef:$d, Fly_MemRef:$a, Fly_MemRef:$b, Fly_MemRef:$c,
                       OptionalAttr<Fly_GemmTraversalOrderAttr>:$traversalOrder,
                       Optional<Fly_Layout>:$traversalLayout);
  let assemblyFormat = [{
    `(` $mmaAtom `,` $d `,` $a `,` $b `,` $c `)` (`traversalLayout` `=` $traversalLayout^)?
    attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // FLYDSL_DIALECT_FLY_ATOM_OPS_TD
