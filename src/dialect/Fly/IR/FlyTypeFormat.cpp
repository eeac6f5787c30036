// How Fly's types are read and written.
#include "dialect/Fly/IR/FlyTypes.h"
#include "dialect/Fly/Text/LayoutText.h"

#include "mlir/IR/DialectImplementation.h"

namespace layout = flydsl::layout;

namespace mlir::fly {

//===----------------------------------------------------------------------===//
// Types that are one algebra value
//===----------------------------------------------------------------------===//

template <class T, class V>
static Type parseEnclosed(AsmParser &parser, FailureOr<V> (*read)(AsmParser &)) {
  if (parser.parseLess())
    return {};
  FailureOr<V> value = read(parser);
  if (failed(value) || parser.parseGreater())
    return {};
  return T::get(parser.getContext(), *value);
}

template <class V> static void printEnclosed(AsmPrinter &printer, const V &value) {
  printer << "<" << value.str() << ">";
}

Type IntTupleType::parse(AsmParser &parser) {
  return parseEnclosed<IntTupleType>(parser, &parseIntTuple);
}
void IntTupleType::print(AsmPrinter &printer) const { printEnclosed(printer, getValue()); }

Type LayoutType::parse(AsmParser &parser) {
  return parseEnclosed<LayoutType>(parser, &parseLayout);
}
void LayoutType::print(AsmPrinter &printer) const { printEnclosed(printer, getValue()); }

Type ComposedLayoutType::parse(AsmParser &parser) {
  return parseEnclosed<ComposedLayoutType>(parser, &parseComposedLayout);
}
void ComposedLayoutType::print(AsmPrinter &printer) const { printEnclosed(printer, getValue()); }

Type SwizzleType::parse(AsmParser &parser) {
  return parseEnclosed<SwizzleType>(parser, &parseSwizzle);
}
void SwizzleType::print(AsmPrinter &printer) const { printEnclosed(printer, getValue()); }

Type CoordSwizzleType::parse(AsmParser &parser) {
  return parseEnclosed<CoordSwizzleType>(parser, &parseCoordSwizzle);
}
void CoordSwizzleType::print(AsmPrinter &printer) const { printEnclosed(printer, getValue()); }

Type TileType::parse(AsmParser &parser) { return parseEnclosed<TileType>(parser, &parseTile); }
void TileType::print(AsmPrinter &printer) const { printEnclosed(printer, getValue()); }

Type BasisType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Type type = parseEnclosed<BasisType>(parser, &parseIntTuple);
  if (type && !cast<BasisType>(type).getValue().isBasis()) {
    parser.emitError(loc, "expected a basis such as 2E1");
    return {};
  }
  return type;
}
void BasisType::print(AsmPrinter &printer) const { printEnclosed(printer, getValue()); }

//===----------------------------------------------------------------------===//
// Pointers and tensors
//===----------------------------------------------------------------------===//

namespace {
/// What pointers and memrefs have in common.
struct PointerParts {
  Type elemTy;
  Attribute addressSpace;
  int64_t alignment = 0;
  layout::Swizzle swizzle;
};
} // namespace

/// Parses `f32, global`. The address space is the name of one of Fly's or an attribute.
static ParseResult parseElementAndSpace(AsmParser &parser, PointerParts &parts) {
  if (parser.parseType(parts.elemTy) || parser.parseComma())
    return failure();
  SMLoc loc = parser.getCurrentLocation();
  StringRef name;
  if (succeeded(parser.parseOptionalKeyword(&name))) {
    auto space = symbolizeAddressSpace(name);
    if (!space)
      return parser.emitError(loc, "expected an address space (generic, global, shared, register "
                                   "or an attribute), found ")
             << name;
    parts.addressSpace = AddressSpaceAttr::get(parser.getContext(), *space);
    return success();
  }
  return parser.parseAttribute(parts.addressSpace);
}

/// `, align<16>` and `, S<3,3,3>`, each of them optional, and the closing `>`.
static ParseResult parseAlignmentAndSwizzle(AsmParser &parser, PointerParts &parts) {
  parts.alignment = PointerType::getTrivialAlignment(parts.elemTy);
  bool more = succeeded(parser.parseOptionalComma());
  if (more && succeeded(parser.parseOptionalKeyword("align"))) {
    if (parser.parseLess() || parser.parseInteger(parts.alignment) || parser.parseGreater())
      return failure();
    more = succeeded(parser.parseOptionalComma());
  }
  if (more) {
    FailureOr<layout::Swizzle> swizzle = parseSwizzle(parser);
    if (failed(swizzle))
      return failure();
    parts.swizzle = *swizzle;
  }
  return parser.parseGreater();
}

static void printElementAndSpace(AsmPrinter &printer, Type elemTy, Attribute space) {
  printer << "<" << elemTy << ", ";
  if (auto fly = dyn_cast<AddressSpaceAttr>(space))
    printer << stringifyAddressSpace(fly.getValue());
  else
    printer << space;
}

static void printAlignmentAndSwizzle(AsmPrinter &printer, Type elemTy, int64_t alignment,
                                     const layout::Swizzle &swizzle) {
  if (alignment != PointerType::getTrivialAlignment(elemTy))
    printer << ", align<" << alignment << ">";
  if (!(swizzle == layout::Swizzle()))
    printer << ", " << swizzle.str();
  printer << ">";
}

Type PointerType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  PointerParts parts;
  if (parser.parseLess() || parseElementAndSpace(parser, parts) ||
      parseAlignmentAndSwizzle(parser, parts))
    return {};
  return parser.getChecked<PointerType>(loc, parser.getContext(), parts.elemTy, parts.addressSpace,
                                        parts.alignment, parts.swizzle);
}
void PointerType::print(AsmPrinter &printer) const {
  printElementAndSpace(printer, getElemTy(), getAddressSpace());
  printAlignmentAndSwizzle(printer, getElemTy(), getAlignment(), getSwizzle());
}

Type MemRefType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  PointerParts parts;
  if (parser.parseLess() || parseElementAndSpace(parser, parts) || parser.parseComma())
    return {};
  FailureOr<layout::AnyLayout> layout = parseAnyLayout(parser);
  if (failed(layout) || parseAlignmentAndSwizzle(parser, parts))
    return {};
  return parser.getChecked<MemRefType>(loc, parser.getContext(), parts.elemTy, parts.addressSpace,
                                       *layout, parts.alignment, parts.swizzle);
}
void MemRefType::print(AsmPrinter &printer) const {
  printElementAndSpace(printer, getElemTy(), getAddressSpace());
  printer << ", " << layout::str(getLayout());
  printAlignmentAndSwizzle(printer, getElemTy(), getAlignment(), getSwizzle());
}

Type CoordTensorType::parse(AsmParser &parser) {
  if (parser.parseLess())
    return {};
  FailureOr<layout::IntTuple> base = parseIntTuple(parser);
  if (failed(base) || parser.parseComma())
    return {};
  FailureOr<layout::AnyLayout> layout = parseAnyLayout(parser);
  if (failed(layout) || parser.parseGreater())
    return {};
  return get(parser.getContext(), *base, *layout);
}
void CoordTensorType::print(AsmPrinter &printer) const {
  printer << "<" << getBase().str() << ", " << layout::str(getLayout()) << ">";
}

//===----------------------------------------------------------------------===//
// Atoms and tiled operations
//===----------------------------------------------------------------------===//

Type CopyAtomType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Type copyOp;
  int32_t valBits;
  if (parser.parseLess() || parser.parseType(copyOp) || parser.parseComma() ||
      parser.parseInteger(valBits) || parser.parseGreater())
    return {};
  return parser.getChecked<CopyAtomType>(loc, parser.getContext(), copyOp, valBits);
}
void CopyAtomType::print(AsmPrinter &printer) const {
  printer << "<" << getCopyOp() << ", " << getValBits() << ">";
}

Type MmaAtomType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  Type mmaOp;
  if (parser.parseLess() || parser.parseType(mmaOp) || parser.parseGreater())
    return {};
  return parser.getChecked<MmaAtomType>(loc, parser.getContext(), mmaOp);
}
void MmaAtomType::print(AsmPrinter &printer) const { printer << "<" << getMmaOp() << ">"; }

Type TiledCopyType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  CopyAtomType copyAtom;
  LayoutType layoutThrVal;
  TileType tileMN;
  if (parser.parseLess() || parser.parseType(copyAtom) || parser.parseComma() ||
      parser.parseCustomTypeWithFallback(layoutThrVal) || parser.parseComma() ||
      parser.parseCustomTypeWithFallback(tileMN) || parser.parseGreater())
    return {};
  return parser.getChecked<TiledCopyType>(loc, parser.getContext(), copyAtom, layoutThrVal, tileMN);
}
void TiledCopyType::print(AsmPrinter &printer) const {
  printer << "<" << getCopyAtom() << ", " << getLayoutThrVal() << ", " << getTileMN() << ">";
}

Type TiledMmaType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  MmaAtomType mmaAtom;
  LayoutType atomLayout;
  TileType permutation = getDefaultPermutationMNK(parser.getContext());
  if (parser.parseLess() || parser.parseType(mmaAtom) || parser.parseComma() ||
      parser.parseCustomTypeWithFallback(atomLayout))
    return {};
  if (succeeded(parser.parseOptionalComma()) && parser.parseCustomTypeWithFallback(permutation))
    return {};
  if (parser.parseGreater())
    return {};
  return parser.getChecked<TiledMmaType>(loc, parser.getContext(), mmaAtom, atomLayout,
                                         permutation);
}
void TiledMmaType::print(AsmPrinter &printer) const {
  printer << "<" << getMmaAtom() << ", " << getAtomLayout();
  if (getPermutation() != getDefaultPermutationMNK(getContext()))
    printer << ", " << getPermutation();
  printer << ">";
}

Type MmaOpUniversalFMAType::parse(AsmParser &parser) {
  SMLoc loc = parser.getCurrentLocation();
  int32_t m, n, k;
  Type a, b, c;
  if (parser.parseLess() || parseMNKDimensionList(parser, m, n, k) || parser.parseComma() ||
      parser.parseLParen() || parser.parseType(a) || parser.parseComma() || parser.parseType(b) ||
      parser.parseRParen() || parser.parseArrow() || parser.parseType(c) || parser.parseGreater())
    return {};
  if (m != 1 || n != 1 || k != 1) {
    parser.emitError(loc, "a universal FMA is 1x1x1, not ") << m << "x" << n << "x" << k;
    return {};
  }
  if (a != b || a != c) {
    parser.emitError(loc, "a universal FMA has one element type, found ")
        << a << ", " << b << " and " << c;
    return {};
  }
  return parser.getChecked<MmaOpUniversalFMAType>(loc, parser.getContext(), a);
}
void MmaOpUniversalFMAType::print(AsmPrinter &printer) const {
  printer << "<";
  printMNKDimensionList(printer, 1, 1, 1);
  printer << ", (" << getElemTy() << ", " << getElemTy() << ") -> " << getElemTy() << ">";
}

} // namespace mlir::fly
