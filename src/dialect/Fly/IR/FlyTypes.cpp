// Registration and the generated half of Fly's types.
#include "dialect/Fly/IR/FlyTypes.h"

#include "dialect/Fly/IR/FlyDialect.h"
#include "dialect/Fly/Text/LayoutText.h"

#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>

#include "dialect/Fly/IR/FlyTypeInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/Fly/IR/FlyTypes.cpp.inc"

namespace layout = flydsl::layout;

namespace mlir::fly {

void FlyDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/Fly/IR/FlyTypes.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// What types keep of algebra values
//===----------------------------------------------------------------------===//

namespace detail {

static layout::Int anonymousLeaf(const layout::Int &leaf) { return leaf.withExpr(nullptr); }

layout::IntTuple anonymous(const layout::IntTuple &v) {
  return v.isStatic() ? v : v.mapLeaves(anonymousLeaf);
}
layout::Layout anonymous(const layout::Layout &v) {
  return v.isStatic() ? v : layout::mapLeaves(v, anonymousLeaf);
}
layout::ComposedLayout anonymous(const layout::ComposedLayout &v) {
  return v.isStatic() ? v : layout::mapLeaves(v, anonymousLeaf);
}
layout::AnyLayout anonymous(const layout::AnyLayout &v) {
  return layout::isStatic(v) ? v : layout::mapLeaves(v, anonymousLeaf);
}
layout::Tile anonymous(const layout::Tile &v) {
  if (v.isStatic())
    return v;
  if (v.isInt())
    return layout::Tile(anonymousLeaf(v.asInt()));
  if (v.isLayout())
    return layout::Tile(anonymous(v.asLayout()));
  std::vector<layout::Tile> modes;
  for (int i = 0; i < v.rank(); ++i)
    modes.push_back(anonymous(v.at(i)));
  return layout::Tile::list(std::move(modes));
}

} // namespace detail

//===----------------------------------------------------------------------===//
// Layouts of types
//===----------------------------------------------------------------------===//

Type getLayoutType(MLIRContext *context, const layout::AnyLayout &any) {
  if (auto *plain = std::get_if<layout::Layout>(&any))
    return LayoutType::get(context, *plain);
  return ComposedLayoutType::get(context, std::get<layout::ComposedLayout>(any));
}

std::optional<layout::AnyLayout> getLayoutOf(Type type) {
  return llvm::TypeSwitch<Type, std::optional<layout::AnyLayout>>(type)
      .Case<LayoutType, ComposedLayoutType>([](auto t) { return t.getValue(); })
      .Case<MemRefType, CoordTensorType>([](auto t) { return t.getLayout(); })
      .Default([](Type) { return std::nullopt; });
}

bool isStaticType(Type type) {
  auto mayBeStatic = dyn_cast<MayStaticTypeInterface>(type);
  return mayBeStatic && mayBeStatic.isStatic();
}

//===----------------------------------------------------------------------===//
// Pointers and memrefs
//===----------------------------------------------------------------------===//

int64_t PointerType::getTrivialAlignment(Type elemTy) {
  return elemTy.isIntOrFloat() ? (elemTy.getIntOrFloatBitWidth() + 7) / 8 : 1;
}

PointerType PointerType::get(Type elemTy, Attribute addressSpace, int64_t alignment) {
  return get(elemTy.getContext(), elemTy, addressSpace, alignment, layout::Swizzle());
}
PointerType PointerType::get(Type elemTy, Attribute addressSpace) {
  return get(elemTy, addressSpace, getTrivialAlignment(elemTy));
}
PointerType PointerType::get(Type elemTy, AddressSpace space) {
  return get(elemTy, AddressSpaceAttr::get(elemTy.getContext(), space));
}

/// Elements that fit an alignment; sub-byte elements count whole bytes.
static int64_t divisibilityOf(Type elemTy, int64_t alignment) {
  int64_t bits = elemTy.isIntOrFloat() ? elemTy.getIntOrFloatBitWidth() : 8;
  int64_t elements = bits <= 8 ? alignment * (8 / bits) : alignment * 8 / bits;
  return std::max<int64_t>(elements, 1);
}

int64_t PointerType::getValueDivisibility() const {
  return divisibilityOf(getElemTy(), getAlignment());
}

PointerType PointerType::withValueDivisibility(int64_t divisibility) const {
  int64_t bits = getElemTy().isIntOrFloat() ? getElemTy().getIntOrFloatBitWidth() : 8;
  int64_t total;
  if (__builtin_mul_overflow(bits, divisibility, &total))
    return *this;
  // Elements of a size in bytes keep a multiple of it; smaller ones may end within a byte.
  int64_t alignment = bits >= 8 ? (total + 7) / 8 : total % 8 == 0 ? total / 8 : 1;
  // Where the elements themselves are not aligned to their size, no number of them is.
  if (getAlignment() % getTrivialAlignment(getElemTy()) != 0)
    alignment = std::gcd(alignment, getAlignment());
  return get(getContext(), getElemTy(), getAddressSpace(), alignment, getSwizzle());
}

static bool isSpace(Attribute attribute, AddressSpace space) {
  auto fly = dyn_cast_or_null<AddressSpaceAttr>(attribute);
  return fly && fly.getValue() == space;
}
AddressSpaceInterface PointerType::getSpace() const {
  return cast<AddressSpaceInterface>(getAddressSpace());
}
bool PointerType::isIn(AddressSpace space) const { return isSpace(getAddressSpace(), space); }
bool MemRefType::isIn(AddressSpace space) const { return isSpace(getAddressSpace(), space); }

MemRefType MemRefType::get(PointerType pointer, const layout::AnyLayout &layout) {
  return get(pointer.getContext(), pointer.getElemTy(), pointer.getAddressSpace(), layout,
             pointer.getAlignment(), pointer.getSwizzle());
}
PointerType MemRefType::getPointerType() const {
  return PointerType::get(getContext(), getElemTy(), getAddressSpace(), getAlignment(),
                          getSwizzle());
}
int64_t MemRefType::getValueDivisibility() const {
  return divisibilityOf(getElemTy(), getAlignment());
}

TileType TiledMmaType::getDefaultPermutationMNK(MLIRContext *context) {
  layout::Tile any(layout::Int::wildcard());
  return TileType::get(context, layout::Tile::list({any, any, any}));
}

} // namespace mlir::fly
