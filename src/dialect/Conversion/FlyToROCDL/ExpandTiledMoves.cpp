//===- ExpandTiledMoves.cpp - Atoms of the data mover made of a tensor ----===//
//
// The mover is told of a box in its own dimensions. What the program says in the tensor's modes is
// translated here, while the values are still Fly's: the tensor's strides and extents, the modes
// along which it checks borders, and the coordinates and the place in LDS of each box of a copy.
//
//===----------------------------------------------------------------------===//

#include "dialect/Conversion/FlyToROCDL/FlyToROCDL.h"

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"
#include "layout/coord.h"
#include "layout/error.h"
#include "layout/tuple_ops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Pass/Pass.h"

namespace mlir::fly {

#define GEN_PASS_DEF_EXPANDROCDLOPSPASS
#include "dialect/Conversion/FlyToROCDL/Passes.h.inc"

using namespace fly_rocdl;
namespace fl = flydsl::layout;

namespace {

/// Boxes that one copy becomes at most; more of them belong into a loop.
constexpr int64_t kMostBoxes = 1 << 10;

/// What the two directions have in common.
struct Move {
  ArrayRef<int32_t> box;
  fl::IntTuple modes;
  int64_t padInterval = 0, padAmount = 0;
  bool isLoad = false;

  explicit operator bool() const { return !box.empty(); }
  int32_t rank() const { return static_cast<int32_t>(box.size()); }
};

Move moveOf(Type atom) {
  auto copy = dyn_cast<CopyAtomType>(atom);
  if (!copy)
    return {};
  if (auto load = dyn_cast<CopyOpCDNA5TensorLoadType>(copy.getCopyOp()))
    return {load.getShape(), load.getTensorToBox(), load.getPadInterval(), load.getPadAmount(),
            true};
  if (auto store = dyn_cast<CopyOpCDNA5TensorStoreType>(copy.getCopyOp()))
    return {store.getShape(), store.getTensorToBox(), 0, 0, false};
  return {};
}

class Expander {
public:
  explicit Expander(Operation *op) : b(op), loc(op->getLoc()) {}

  Value number(int64_t value, unsigned bits = 32) {
    return arith::ConstantOp::create(b, loc, b.getIntegerAttr(b.getIntegerType(bits), value));
  }
  Value tuple(const fl::IntTuple &value) {
    return StaticOp::create(b, loc, IntTupleType::get(b.getContext(), value));
  }
  Value set(Value atom, const Twine &field, Value value) {
    return AtomSetValueOp::create(b, loc, atom, b.getStringAttr(field), value);
  }
  /// The leaves of a tuple as integers of so many bits, whether static or not.
  SmallVector<Value> leaves(Value tuple, unsigned bits) {
    const std::vector<fl::Int> known = cast<IntTupleType>(tuple.getType()).getValue().leaves();
    SmallVector<Value> dynamic;
    if (llvm::any_of(known, [](const fl::Int &leaf) { return leaf.isDynamic(); })) {
      auto op = GetLeavesOp::create(b, loc, tuple, b.getBoolAttr(true));
      dynamic.append(op->result_begin(), op->result_end());
    }
    SmallVector<Value> values;
    size_t next = 0;
    for (const fl::Int &leaf : known) {
      if (!leaf.isDynamic()) {
        values.push_back(number(leaf.value(), bits));
        continue;
      }
      Value value = dynamic[next++];
      Type type = b.getIntegerType(bits);
      const unsigned has = value.getType().getIntOrFloatBitWidth();
      if (has < bits)
        value = arith::ExtSIOp::create(b, loc, type, value);
      else if (has > bits)
        value = arith::TruncIOp::create(b, loc, type, value);
      values.push_back(value);
    }
    return values;
  }

  OpBuilder b;
  Location loc;
};

/// The atom of a tensor, and the tensor's coordinates.
template <class Op> void expandMake(Op op) {
  Expander e(op);
  const Move move = moveOf(op.getAtom().getType());
  const std::vector<fl::Int> modes = move.modes.leaves();
  Value layout = GetLayoutOp::create(e.b, e.loc, op.getTensor());
  Value base = GetIterOp::create(e.b, e.loc, op.getTensor());
  Value shapeTuple = GetShapeOp::create(e.b, e.loc, layout);
  SmallVector<Value> strides = e.leaves(GetStrideOp::create(e.b, e.loc, layout), 64),
                     shape = e.leaves(shapeTuple, 32);

  auto atomTy = cast<CopyAtomType>(op.getAtom().getType());
  Value atom =
      MakeCopyAtomOp::create(e.b, e.loc, atomTy, e.b.getI32IntegerAttr(atomTy.getValBits()));
  atom = e.set(atom, "base", PtrToIntOp::create(e.b, e.loc, base));
  for (int32_t d = 0; d < move.rank(); ++d) {
    // A dimension reaches as far as the last elements of its modes.
    Value extent;
    for (auto [i, mode] : llvm::enumerate(modes)) {
      if (!mode.hasBasis() || mode.basis().front() != d)
        continue;
      if (mode.value() == 1 && d + 1 < move.rank())
        atom = e.set(atom, "stride_" + Twine(d), strides[i]);
      Value last = arith::SubIOp::create(e.b, e.loc, shape[i], e.number(1));
      if (mode.value() != 1)
        last = arith::MulIOp::create(e.b, e.loc, last, e.number(mode.value()));
      extent = extent ? Value(arith::AddIOp::create(e.b, e.loc, extent, last)) : last;
    }
    extent = arith::AddIOp::create(e.b, e.loc, extent, e.number(1));
    atom = e.set(atom, "extent_" + Twine(d), extent);
    atom = e.set(atom, "check_" + Twine(d), e.number(op.getInitBoundaryCheck()));
  }
  auto coordTy = cast<CoordTensorType>(op.getCoordTensor().getType());
  const auto &coordLayout = std::get<fl::Layout>(coordTy.getLayout());
  Value coordinates = MakeViewOp::create(
      e.b, e.loc, e.tuple(coordTy.getBase()),
      MakeLayoutOp::create(e.b, e.loc, shapeTuple, e.tuple(coordLayout.stride())));
  op.getAtom().replaceAllUsesWith(atom);
  op.getCoordTensor().replaceAllUsesWith(coordinates);
  op.erase();
}

/// The checks of the tensor's modes become those of the box's dimensions.
LogicalResult expandBoundaryCheck(AtomSetValueOp op, const Move &move) {
  auto type = dyn_cast<IntTupleType>(op.getValue().getType());
  if (!type || !fl::isCongruent(type.getValue(), move.modes))
    return op.emitOpError("expected a truth value for each mode of the tensor, a tuple like ")
           << move.modes.str() << ", found " << op.getValue().getType();
  Expander e(op);
  const std::vector<fl::Int> modes = move.modes.leaves(), given = type.getValue().leaves();
  SmallVector<Value> values = e.leaves(op.getValue(), 32);
  Value atom = op.getAtom();
  for (int32_t d = 0; d < move.rank(); ++d) {
    std::optional<size_t> first;
    for (size_t i = 0; i < modes.size(); ++i) {
      if (!modes[i].hasBasis() || modes[i].basis().front() != d)
        continue;
      if (first && !(given[i].isStatic() && given[i] == given[*first]))
        return op.emitOpError("modes that share a dimension of the box are checked together, but "
                              "modes ")
               << *first << " and " << i << " are told " << given[*first].str() << " and "
               << given[i].str();
      if (!first)
        first = i;
    }
    atom = e.set(atom, "check_" + Twine(d), values[*first]);
  }
  op.getResult().replaceAllUsesWith(atom);
  op.erase();
  return success();
}

LogicalResult expandBarrier(AtomSetValueOp op) {
  auto pointer = dyn_cast<PointerType>(op.getValue().getType());
  if (!pointer || !pointer.isIn(AddressSpace::Shared))
    return op.emitOpError("expected a pointer to the barrier in shared memory, found ")
           << op.getValue().getType();
  Expander e(op);
  op.getResult().replaceAllUsesWith(
      e.set(op.getAtom(), "barrier", PtrToIntOp::create(e.b, e.loc, op.getValue())));
  op.erase();
  return success();
}

/// The coordinate of element i of a box, whose last dimension is walked first. Coordinates list it
/// first too.
std::vector<int64_t> coordinateInBox(ArrayRef<int32_t> box, int64_t i) {
  std::vector<int64_t> coordinate;
  for (size_t d = box.size(); d-- > 0; i /= box[d])
    coordinate.push_back(i % box[d]);
  return coordinate;
}

/// The numbers of a static coordinate of so many dimensions; dimensions that it does not name are 0.
std::vector<int64_t> numbersOf(const fl::IntTuple &coordinate, size_t rank) {
  std::vector<int64_t> numbers;
  for (const fl::Int &leaf :
       (coordinate.isBasis() ? fl::basisToTuple(coordinate) : coordinate).leaves())
    numbers.push_back(leaf.value());
  numbers.resize(std::max(numbers.size(), rank));
  return numbers;
}

fl::IntTuple tupleOf(const std::vector<int64_t> &numbers) {
  return fl::IntTuple::tuple(std::vector<fl::IntTuple>(numbers.begin(), numbers.end()));
}

/// Throws LayoutError unless coordinates and LDS are walked as the mover walks them.
void checkBox(const Move &move, const fl::Layout &coordinates, const fl::Layout &lds) {
  int64_t elements = 1;
  for (int32_t extent : move.box)
    elements *= extent;
  for (const fl::Layout *side : {&coordinates, &lds})
    if (!side->isStatic() || fl::product(side->shape()).value() != elements)
      fl::fail("a box of the mover has ", elements, " elements; expected as many, found ", *side);
  for (int64_t i = 0; i < elements; ++i) {
    const int64_t place = move.padInterval ? i + i / move.padInterval * move.padAmount : i;
    const int64_t found = fl::crd2idx(fl::IntTuple(i), lds).leaf().value();
    if (found != place)
      fl::fail("the mover puts element ", i, " of its box at ", place, " in LDS, but ", lds,
               " has it at ", found);
    const std::vector<int64_t> inBox = coordinateInBox(move.box, i);
    if (numbersOf(fl::crd2idx(fl::IntTuple(i), coordinates), inBox.size()) != inBox)
      fl::fail("the mover takes element ", i, " of its box from ", tupleOf(inBox), ", but ",
               coordinates, " has it elsewhere; its tile is to have the atom's shape");
  }
}

fl::Layout modeZero(const fl::Layout &layout) { return layout.at(0); }

/// One move for each box: mode 0 of the coordinates and of LDS is a box, the other modes count
/// boxes.
LogicalResult expandCopy(Operation *op, Value atom, Value src, Value dst, Value pred) {
  const Move move = moveOf(atom.getType());
  if (pred)
    return op->emitOpError("the tensor data mover takes no predicate");
  Value coordinates = move.isLoad ? src : dst, lds = move.isLoad ? dst : src;
  auto coordTy = dyn_cast<CoordTensorType>(coordinates.getType());
  auto ldsTy = dyn_cast<MemRefType>(lds.getType());
  if (!coordTy || !ldsTy || !ldsTy.isIn(AddressSpace::Shared))
    return op->emitOpError(move.isLoad ? "expected coordinates as the source and shared memory as "
                                         "the destination, found "
                                       : "expected shared memory as the source and coordinates as "
                                         "the destination, found ")
           << src.getType() << " and " << dst.getType();
  const auto *from = std::get_if<fl::Layout>(&coordTy.getLayout());
  const auto *to = std::get_if<fl::Layout>(&ldsTy.getLayout());
  if (!from || !to)
    return op->emitOpError("the tensor data mover knows no swizzle, found ")
           << src.getType() << " and " << dst.getType();
  try {
    const bool isOne = isa<CopyAtomCallOp>(op) || from->rank() == 1;
    checkBox(move, isOne ? *from : modeZero(*from), isOne ? *to : modeZero(*to));
    fl::IntTuple rest(1);
    int64_t boxes = 1;
    if (!isOne) {
      rest = fl::take(from->shape(), 1, from->rank());
      const fl::Int count = fl::product(rest),
                    room = fl::product(fl::take(to->shape(), 1, to->rank()));
      if (!count.isStatic() || !room.isStatic(count.value()))
        fl::fail("expected as many boxes of coordinates as of LDS, found ", *from, " and ", *to);
      boxes = count.value();
      if (boxes > kMostBoxes)
        fl::fail("a copy becomes at most ", kMostBoxes, " boxes; copy in a loop over tiles");
    }
    Expander e(op);
    for (int64_t i = 0; i < boxes; ++i) {
      auto part = [&](Value whole, const fl::Layout &layout) -> Value {
        if (isOne)
          return whole;
        std::vector<fl::IntTuple> shapes, coordinate{fl::Int::wildcard()};
        for (int m = 1; m < layout.rank(); ++m)
          shapes.push_back(layout.shape().at(m));
        const fl::IntTuple at =
            fl::idx2crdColMajor(fl::IntTuple(i), fl::IntTuple::tuple(std::move(shapes)));
        for (int m = 1; m < layout.rank(); ++m)
          coordinate.push_back(at.at(m - 1));
        return SliceOp::create(e.b, e.loc, whole,
                               e.tuple(fl::IntTuple::tuple(std::move(coordinate))));
      };
      Value place = GetIterOp::create(e.b, e.loc, part(coordinates, *from));
      Value address = GetIterOp::create(e.b, e.loc, part(lds, *to));
      TensorMoveOp::create(e.b, e.loc, atom, PtrToIntOp::create(e.b, e.loc, address),
                           e.leaves(place, 32));
    }
  } catch (const fl::LayoutError &error) {
    return op->emitOpError(error.what());
  }
  op->erase();
  return success();
}

struct ExpandROCDLOps : impl::ExpandROCDLOpsPassBase<ExpandROCDLOps> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) { ops.push_back(op); });
    for (Operation *op : ops)
      if (failed(expand(op)))
        return signalPassFailure();
  }

  static LogicalResult expand(Operation *op) {
    if (auto load = dyn_cast<MakeTiledTdmLoadAtomOp>(op)) {
      expandMake(load);
    } else if (auto store = dyn_cast<MakeTiledTdmStoreAtomOp>(op)) {
      expandMake(store);
    } else if (auto set = dyn_cast<AtomSetValueOp>(op)) {
      if (const Move move = moveOf(set.getAtom().getType())) {
        if (set.getField() == "boundary_check")
          return expandBoundaryCheck(set, move);
        if (set.getField() == "atomic_barrier_addr")
          return expandBarrier(set);
      }
    } else if (auto copy = dyn_cast<CopyOp>(op)) {
      if (moveOf(copy.getCopyAtom().getType()))
        return expandCopy(op, copy.getCopyAtom(), copy.getSrc(), copy.getDst(), copy.getPred());
    } else if (auto call = dyn_cast<CopyAtomCallOp>(op)) {
      if (moveOf(call.getCopyAtom().getType()))
        return expandCopy(op, call.getCopyAtom(), call.getSrc(), call.getDst(), call.getPred());
    }
    return success();
  }
};

} // namespace

} // namespace mlir::fly
