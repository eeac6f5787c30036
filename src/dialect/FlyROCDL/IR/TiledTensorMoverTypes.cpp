// The atoms of the tensor data mover that are made of a tensor and a tile, and how they are made.
#include "dialect/FlyROCDL/IR/TensorMovePlan.h"
#include "dialect/FlyROCDL/IR/TypeUtils.h"

#include "dialect/Fly/Text/LayoutText.h"
#include "layout/error.h"

namespace layout = flydsl::layout;
using layout::Layout;

namespace mlir::fly_rocdl {

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

namespace {

/// What both directions have, and the load's padding.
struct Parameters {
  SmallVector<int32_t> shape;
  Type elemTy;
  layout::IntTuple tensorToBox;
  bool atomicBarrier = false;
  int32_t cacheModifier = 0, iterCount = 1, padInterval = 0, padAmount = 0;
};

ParseResult parseParameters(AsmParser &parser, Parameters &p) {
  if (parser.parseLess() || parser.parseKeyword("shape") || parser.parseEqual() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square,
                                     [&] { return parser.parseInteger(p.shape.emplace_back()); }) ||
      parser.parseComma() || parser.parseKeyword("elem") || parser.parseEqual() ||
      parser.parseType(p.elemTy) || parser.parseComma() || parser.parseKeyword("tensor2tdm") ||
      parser.parseEqual())
    return failure();
  FailureOr<layout::IntTuple> modes = fly::parseIntTuple(parser);
  if (failed(modes))
    return failure();
  p.tensorToBox = *modes;
  while (succeeded(parser.parseOptionalComma())) {
    StringRef key;
    SMLoc at = parser.getCurrentLocation();
    if (parser.parseKeyword(&key) || parser.parseEqual())
      return failure();
    if (key == "atomicBarrier") {
      StringRef value;
      if (parser.parseKeyword(&value))
        return failure();
      p.atomicBarrier = value == "true";
      continue;
    }
    int32_t *number = key == "cacheModifier" ? &p.cacheModifier
                      : key == "iterCount"   ? &p.iterCount
                      : key == "padInterval" ? &p.padInterval
                      : key == "padAmount"   ? &p.padAmount
                                             : nullptr;
    if (!number)
      return parser.emitError(at, "expected atomicBarrier, cacheModifier, iterCount, padInterval "
                                  "or padAmount, found ")
             << key;
    if (parser.parseInteger(*number))
      return failure();
    if (key == "iterCount" && *number != 1)
      return parser.emitError(at, "a descriptor that is used several times is not supported; "
                                  "expected iterCount = 1");
  }
  return parser.parseGreater();
}

void printParameters(AsmPrinter &printer, ArrayRef<int32_t> shape, Type elemTy,
                     const layout::IntTuple &modes, bool atomicBarrier, int32_t cacheModifier,
                     int32_t padInterval, int32_t padAmount) {
  printer << "<shape = [";
  llvm::interleaveComma(shape, printer);
  printer << "], elem = " << elemTy << ", tensor2tdm = " << modes.str();
  if (atomicBarrier)
    printer << ", atomicBarrier = true";
  if (cacheModifier)
    printer << ", cacheModifier = " << cacheModifier;
  if (padInterval)
    printer << ", padInterval = " << padInterval << ", padAmount = " << padAmount;
  printer << ">";
}

//===----------------------------------------------------------------------===//
// What both directions have in common. State, in order:
//   base                 i64  address of the tensor
//   stride_0..3          i64  elements between neighbours per dimension of the box but the last
//   extent_0..4          i32  the tensor's size per dimension of the box
//   check_0..4           i32  1 where nothing is moved past that size; the mover always looks, and
//                             is told a size that counts from the tensor's start where this is 0
//   workgroup_mask       i32  workgroups of the cluster that receive the box
//   early_timeout        i32
//   barrier              i32  LDS address of the barrier on which the move arrives
// "boundary_check" and "atomic_barrier_addr" are set by a tuple and a pointer;
// fly-rocdl-expand-ops makes numbers of them.
//===----------------------------------------------------------------------===//

constexpr StringLiteral kFields[] = {
    "base",     "stride_0", "stride_1", "stride_2",       "stride_3",      "extent_0",
    "extent_1", "extent_2", "extent_3", "extent_4",       "check_0",       "check_1",
    "check_2",  "check_3",  "check_4",  "workgroup_mask", "early_timeout", "barrier"};

SmallVector<Type> fieldTypes(MLIRContext *context) {
  SmallVector<Type> types = integerFields(context, 1 + kMaxBoxRank - 1, 64);
  llvm::append_range(types, integerFields(context, std::size(kFields) - types.size()));
  return types;
}

LogicalResult verifyParameters(EmitError emitError, ArrayRef<int32_t> shape, Type elemTy,
                               const layout::IntTuple &modes, int32_t cacheModifier) {
  if (shape.empty() || shape.size() > size_t(kMaxBoxRank))
    return emitError() << "a box has 1 to " << kMaxBoxRank << " dimensions, not " << shape.size();
  for (int32_t extent : shape)
    if (extent < 1 || extent > kMaxBoxExtent)
      return emitError() << "a box has 1 to " << kMaxBoxExtent
                         << " elements along a dimension, not " << extent;
  if (!elemTy.isIntOrFloat() ||
      !llvm::is_contained({8u, 16u, 32u, 64u}, elemTy.getIntOrFloatBitWidth()))
    return emitError() << "the data mover moves elements of 8, 16, 32 or 64 bits, not " << elemTy;
  if (cacheModifier < 0)
    return emitError() << "a cache modifier is not negative, but is " << cacheModifier;
  SmallVector<bool> named(shape.size());
  for (const layout::Int &mode : modes.leaves()) {
    if (mode.isStatic(0))
      continue;
    const bool isStep = mode.isStatic() && mode.basis().size() == 1 && mode.value() > 0 &&
                        mode.basis().front() >= 0 &&
                        mode.basis().front() < static_cast<int32_t>(shape.size());
    if (!isStep)
      return emitError() << "expected each mode of tensor2tdm to name a dimension of the box (0E0 "
                            "to "
                         << shape.size() - 1 << "), found " << mode.str();
    if (mode.value() == 1)
      named[size_t(mode.basis().front())] = true;
  }
  for (auto [i, isNamed] : llvm::enumerate(named))
    if (!isNamed)
      return emitError() << "expected a mode of tensor2tdm with a step of 1 along dimension " << i
                         << " of the box";
  return success();
}

} // namespace

#define TENSOR_MOVE_TYPE(TYPE)                                                                     \
  Layout TYPE::getThrLayout() const { return oneThread(); }                                        \
  Layout TYPE::getThrBitLayoutSrc() const { return oneThreadOf(1); }                               \
  Layout TYPE::getThrBitLayoutDst() const { return oneThreadOf(1); }                               \
  Layout TYPE::getThrBitLayoutRef() const { return oneThreadOf(1); }                               \
  std::optional<unsigned> TYPE::getStateFieldIndex(StringRef name) const {                         \
    SmallVector<StringRef> names(std::begin(kFields), std::end(kFields));                          \
    return fieldIndex(name, names);                                                                \
  }                                                                                                \
  SmallVector<Type> TYPE::getStateFieldTypes() const { return fieldTypes(getContext()); }          \
  SmallVector<int64_t> TYPE::getStateFieldDefaults() const {                                       \
    return SmallVector<int64_t>(std::size(kFields), 0);                                            \
  }
TENSOR_MOVE_TYPE(CopyOpCDNA5TensorLoadType)
TENSOR_MOVE_TYPE(CopyOpCDNA5TensorStoreType)
#undef TENSOR_MOVE_TYPE

Type CopyOpCDNA5TensorLoadType::parse(AsmParser &parser) {
  Parameters p;
  SMLoc at = parser.getCurrentLocation();
  if (parseParameters(parser, p))
    return {};
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(),
                    ArrayRef<int32_t>(p.shape), p.elemTy, p.tensorToBox, p.atomicBarrier,
                    p.cacheModifier, p.padInterval, p.padAmount);
}
void CopyOpCDNA5TensorLoadType::print(AsmPrinter &printer) const {
  printParameters(printer, getShape(), getElemTy(), getTensorToBox(), getAtomicBarrier(),
                  getCacheModifier(), getPadInterval(), getPadAmount());
}
LogicalResult CopyOpCDNA5TensorLoadType::verify(EmitError emitError, ArrayRef<int32_t> shape,
                                                Type elemTy, layout::IntTuple modes, bool,
                                                int32_t cacheModifier, int32_t padInterval,
                                                int32_t padAmount) {
  if ((padInterval == 0) != (padAmount == 0) || padAmount < 0 ||
      (padInterval & (padInterval - 1)) != 0)
    return emitError() << "padInterval must be a power of two with a padAmount, or both zero, got "
                       << padInterval << " and " << padAmount;
  return verifyParameters(emitError, shape, elemTy, modes, cacheModifier);
}

Type CopyOpCDNA5TensorStoreType::parse(AsmParser &parser) {
  Parameters p;
  SMLoc at = parser.getCurrentLocation();
  if (parseParameters(parser, p))
    return {};
  if (p.padInterval || p.padAmount) {
    parser.emitError(at, "a store takes no padding: it walks LDS without gaps");
    return {};
  }
  return getChecked([&] { return parser.emitError(at); }, parser.getContext(),
                    ArrayRef<int32_t>(p.shape), p.elemTy, p.tensorToBox, p.atomicBarrier,
                    p.cacheModifier);
}
void CopyOpCDNA5TensorStoreType::print(AsmPrinter &printer) const {
  printParameters(printer, getShape(), getElemTy(), getTensorToBox(), getAtomicBarrier(),
                  getCacheModifier(), 0, 0);
}
LogicalResult CopyOpCDNA5TensorStoreType::verify(EmitError emitError, ArrayRef<int32_t> shape,
                                                 Type elemTy, layout::IntTuple modes, bool,
                                                 int32_t cacheModifier) {
  return verifyParameters(emitError, shape, elemTy, modes, cacheModifier);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

template <class Op>
static LogicalResult inferTiledMove(std::optional<Location> location, typename Op::Adaptor op,
                                    DictionaryAttr attributes, StringRef name, bool isLoad,
                                    SmallVectorImpl<Type> &types) {
  auto tensor = dyn_cast<fly::MemRefType>(op.getTensor().getType());
  auto lds = dyn_cast<fly::LayoutType>(op.getSmemLayout().getType());
  auto tiler = dyn_cast<fly::TileType>(op.getTiler().getType());
  if (!tensor || !lds || !tiler)
    return emitOptionalError(location, "'", name, "' op expected a tensor, a layout and a tile");
  const auto *plain = std::get_if<Layout>(&tensor.getLayout());
  if (!plain || !tensor.isIn(fly::AddressSpace::Global))
    return emitOptionalError(location, "'", name,
                             "' op expected a tensor in global memory with a plain layout, found ",
                             tensor);
  MLIRContext *context = tensor.getContext();
  // The parser infers while attributes are still in its dictionary, and leaves out those that have
  // their default.
  auto given = [&](StringRef name, Attribute property) {
    Attribute parsed = attributes ? attributes.get(name) : Attribute();
    return parsed ? parsed : property;
  };
  auto number = [&](StringRef name, Attribute property, int64_t otherwise) {
    auto value = dyn_cast_or_null<IntegerAttr>(given(name, property));
    return value ? value.getInt() : otherwise;
  };
  const int64_t waves = number("numWarps", op.getNumWarpsAttr(), 1),
                cache = number("cacheModifier", op.getCacheModifierAttr(), 0);
  auto barrier = dyn_cast_or_null<BoolAttr>(given("atomicBarrier", op.getAtomicBarrierAttr()));
  const bool signals = barrier && barrier.getValue();
  if (given("internalType", op.getInternalTypeAttr()))
    return emitOptionalError(location, "'", name, "' op takes no internalType yet");
  try {
    const TensorMovePlan plan = planTensorMove(*plain, lds.getValue(), tiler.getValue(), waves);
    if (!isLoad && plan.padInterval)
      layout::fail("a store takes no LDS tile with gaps, such as ", lds.getValue(),
                   ": it walks LDS without gaps");
    auto emitError = [&] { return mlir::emitError(location.value_or(UnknownLoc::get(context))); };
    Type instruction;
    if (isLoad)
      instruction = CopyOpCDNA5TensorLoadType::getChecked(
          emitError, context, ArrayRef<int32_t>(plan.box), tensor.getElemTy(), plan.modes, signals,
          static_cast<int32_t>(cache), static_cast<int32_t>(plan.padInterval),
          static_cast<int32_t>(plan.padAmount));
    else
      instruction = CopyOpCDNA5TensorStoreType::getChecked(
          emitError, context, ArrayRef<int32_t>(plan.box), tensor.getElemTy(), plan.modes, signals,
          static_cast<int32_t>(cache));
    if (!instruction)
      return failure();
    types.push_back(fly::CopyAtomType::get(
        instruction, static_cast<int32_t>(tensor.getElemTy().getIntOrFloatBitWidth())));
    // Coordinates list the innermost dimension of the box first.
    const auto rank = static_cast<int32_t>(plan.box.size());
    const layout::IntTuple axes = plan.modes.mapLeaves([&](const layout::Int &mode) {
      return mode.hasBasis() ? mode.withBasis({rank - 1 - mode.basis().front()}) : mode;
    });
    const layout::IntTuple origin =
        layout::IntTuple::tuple(std::vector<layout::IntTuple>(plan.box.size(), 0));
    types.push_back(fly::CoordTensorType::get(context, origin, Layout(plain->shape(), axes)));
    return success();
  } catch (const layout::LayoutError &error) {
    return emitOptionalError(location, "'", name, "' op ", error.what());
  }
}

#define TILED_MOVE_OP(OP, IS_LOAD)                                                                 \
  LogicalResult OP::inferReturnTypes(MLIRContext *, std::optional<Location> location,              \
                                     ValueRange operands, DictionaryAttr attributes,               \
                                     OpaqueProperties properties, RegionRange regions,             \
                                     SmallVectorImpl<Type> &types) {                               \
    return inferTiledMove<OP>(location, Adaptor(operands, attributes, properties, regions),        \
                              attributes, getOperationName(), IS_LOAD, types);                     \
  }
TILED_MOVE_OP(MakeTiledTdmLoadAtomOp, true)
TILED_MOVE_OP(MakeTiledTdmStoreAtomOp, false)
#undef TILED_MOVE_OP

LogicalResult TensorMoveOp::verify() {
  Type instruction = cast<fly::CopyAtomType>(getAtom().getType()).getCopyOp();
  size_t rank = 0;
  if (auto load = dyn_cast<CopyOpCDNA5TensorLoadType>(instruction))
    rank = load.getShape().size();
  else if (auto store = dyn_cast<CopyOpCDNA5TensorStoreType>(instruction))
    rank = store.getShape().size();
  else
    return emitOpError("expected an atom of the tensor data mover, found ") << getAtom().getType();
  if (getCoordinates().size() != rank)
    return emitOpError("expected ") << rank << " coordinates, found " << getCoordinates().size();
  return success();
}

} // namespace mlir::fly_rocdl
