// Enumerations and attributes of the Fly dialect.
#ifndef FLYDSL_DIALECT_FLY_ATTRS_TD
#define FLYDSL_DIALECT_FLY_ATTRS_TD

include "dialect/Fly/IR/FlyDialect.td"
include "dialect/Fly/IR/FlyInterfaces.td"
include "mlir/Dialect/GPU/IR/CompilationAttrInterfaces.td"

def Fly_CachePolicy : Fly_Enum<"CachePolicy", "where a load is kept", [
  I32EnumAttrCase<"CacheGlobal", 0, "cache_global">,
  I32EnumAttrCase<"CacheAlways", 1, "cache_always">
]>;
def Fly_CachePolicyAttr : Fly_EnumAttr<Fly_CachePolicy, "cache_policy">;

def Fly_AddressSpace : Fly_Enum<"AddressSpace", "the memory that a pointer points into", [
  I32EnumAttrCase<"Generic", 0, "generic">,
  I32EnumAttrCase<"Global", 1, "global">,
  I32EnumAttrCase<"Shared", 2, "shared">,
  I32EnumAttrCase<"Register", 3, "register">
]>;
def Fly_AddressSpaceAttr : Fly_EnumAttr<Fly_AddressSpace, "address_space", [
  DeclareAttrInterfaceMethods<Fly_AddressSpaceInterface>
]>;

def Fly_MmaOperand : Fly_Enum<"MmaOperand", "an operand of D = A * B + C", [
  I32EnumAttrCase<"A", 0, "a">,
  I32EnumAttrCase<"B", 1, "b">,
  I32EnumAttrCase<"C", 2, "c">,
  I32EnumAttrCase<"D", 3, "d">
]>;
def Fly_MmaOperandAttr : Fly_EnumAttr<Fly_MmaOperand, "mma_operand">;

def Fly_AtomicOp : Fly_Enum<"AtomicOp", "what an atomic does with memory", [
  I32EnumAttrCase<"Add", 0, "add">,
  I32EnumAttrCase<"Max", 1, "max">,
  I32EnumAttrCase<"Min", 2, "min">,
  I32EnumAttrCase<"And", 3, "and">,
  I32EnumAttrCase<"Or", 4, "or">,
  I32EnumAttrCase<"Inc", 5, "inc">,
  I32EnumAttrCase<"Dec", 6, "dec">
]>;
def Fly_AtomicOpAttr : Fly_EnumAttr<Fly_AtomicOp, "atomic_op">;

// Fastest mode first: KMN runs k innermost and n outermost, as FlyDSL does. Serpentine turns the
// inner loops around on every other pass, so that the last operand loaded is the first one used
// again.
def Fly_GemmTraversalOrder : Fly_Enum<"GemmTraversalOrder", "the order of a gemm's atom calls", [
  I32EnumAttrCase<"KMN", 0, "kmn">,
  I32EnumAttrCase<"KNM", 1, "knm">,
  I32EnumAttrCase<"MKN", 2, "mkn">,
  I32EnumAttrCase<"MNK", 3, "mnk">,
  I32EnumAttrCase<"NKM", 4, "nkm">,
  I32EnumAttrCase<"NMK", 5, "nmk">,
  I32EnumAttrCase<"KMN_Serpentine", 6, "kmn_serpentine">,
  I32EnumAttrCase<"KNM_Serpentine", 7, "knm_serpentine">,
  I32EnumAttrCase<"MKN_Serpentine", 8, "mkn_serpentine">,
  I32EnumAttrCase<"MNK_Serpentine", 9, "mnk_serpentine">,
  I32EnumAttrCase<"NKM_Serpentine", 10, "nkm_serpentine">,
  I32EnumAttrCase<"NMK_Serpentine", 11, "nmk_serpentine">
]>;
def Fly_GemmTraversalOrderAttr : Fly_EnumAttr<Fly_GemmTraversalOrder, "gemm_traversal_order">;

def Fly_AlignAttr : Fly_Attr<"Align", "align"> {
  let summary = "an alignment in bytes";
  let parameters = (ins "int32_t":$alignment);
  let assemblyFormat = "`align` `<` $alignment `>`";
  let genVerifyDecl = 1;
}

def Fly_ExplicitModuleAttr : Fly_Attr<"ExplicitModule", "explicit_module", [
    OffloadingTranslationAttrTrait
]> {
  let summary = "a GPU binary whose loading the host does by itself";
  let assemblyFormat = "``";
}

#endif // FLYDSL_DIALECT_FLY_ATTRS_TD
