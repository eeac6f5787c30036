// The pass replaces each make_ptr in register memory by one vector value. It goes through
// the blocks in order, and `state` holds what each such memory contains: a vector, and the
// pieces that were stored over it since. A load takes a piece or a slice of the vector.
// Control flow passes the memory on: loops carry it, branches return it. It goes as one
// vector, or with pieces in parts that no access crosses, so that nothing is put together
// and taken apart again in each round of a loop.
//
// Memory stays memory if its uses can't be followed: if it is recast to other elements, reached at
// an offset that is known only at run time, used by an operation other than a load or a store, or
// used inside control flow other than scf's.

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/Passes.h"
#include "dialect/Fly/Transforms/RegisterMemory.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::fly {

#define GEN_PASS_DEF_FLYPROMOTEREGMEMTOVECTORSSAPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

int64_t elementCount(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  return vector ? vector.getNumElements() : 1;
}

/// What a promoted memory contains: `whole`, and over it pieces, scalars or vectors, none of which
/// overlap. Most stores are read back as they are; as pieces they need no insertion into a vector
/// that is many times their size. Without `asPieces` every store makes a new vector, as FlyDSL has
/// it.
class Contents {
public:
  Contents() = default;
  Contents(Value whole, bool asPieces) : whole_(whole), asPieces_(asPieces) {}

  /// The elements [offset, offset + size) as a vector, put together of the pieces in it.
  Value gather(OpBuilder &builder, Location loc, int64_t offset, int64_t size) {
    SmallVector<Piece> inside;
    int64_t covered = 0;
    for (const Piece &piece : pieces_) {
      if (!piece.overlaps(offset, size))
        continue;
      if (piece.contains(offset, size) || piece.offset < offset || offset + size < piece.end())
        return load(builder, loc, offset, size, /*asVector=*/true);
      inside.push_back({piece.offset - offset, piece.value});
      covered += elementCount(piece.value.getType());
    }
    auto type = VectorType::get({size}, cast<VectorType>(whole_.getType()).getElementType());
    Contents part(covered == size ? ub::PoisonOp::create(builder, loc, type).getResult()
                                  : slice(builder, loc, whole_, offset, size, /*asVector=*/true),
                  asPieces_);
    part.pieces_ = std::move(inside);
    return part.joined(builder, loc);
  }

  /// The whole memory as one vector.
  Value joined(OpBuilder &builder, Location loc) {
    for (const Piece &piece : pieces_)
      if (isa<VectorType>(piece.value.getType()))
        whole_ = vector::InsertStridedSliceOp::create(builder, loc, piece.value, whole_,
                                                      ArrayRef<int64_t>{piece.offset},
                                                      ArrayRef<int64_t>{1});
      else
        whole_ = vector::InsertOp::create(builder, loc, piece.value, whole_,
                                          ArrayRef<int64_t>{piece.offset});
    pieces_.clear();
    return whole_;
  }

  /// A vector of `size` elements that starts at `offset`; a scalar if `size` is 1.
  Value load(OpBuilder &builder, Location loc, int64_t offset, int64_t size, bool asVector) {
    for (const Piece &piece : pieces_) {
      if (!piece.overlaps(offset, size))
        continue;
      bool isVector = isa<VectorType>(piece.value.getType());
      if (!piece.contains(offset, size) || (asVector && !isVector))
        break;
      return isVector ? slice(builder, loc, piece.value, offset - piece.offset, size, asVector)
                      : piece.value;
    }
    if (llvm::any_of(pieces_, [&](const Piece &piece) { return piece.overlaps(offset, size); }))
      joined(builder, loc);
    return slice(builder, loc, whole_, offset, size, asVector);
  }

  void store(OpBuilder &builder, Location loc, Value value, int64_t offset) {
    int64_t size = elementCount(value.getType());
    if (!asPieces_) {
      pieces_.push_back({offset, value});
      joined(builder, loc);
      return;
    }
    if (value.getType() == whole_.getType()) {
      whole_ = value;
      pieces_.clear();
      return;
    }
    llvm::erase_if(pieces_, [&](const Piece &piece) {
      return offset <= piece.offset && piece.end() <= offset + size;
    });
    if (llvm::any_of(pieces_, [&](const Piece &piece) { return piece.overlaps(offset, size); }))
      joined(builder, loc);
    pieces_.push_back({offset, value});
  }

private:
  struct Piece {
    int64_t offset;
    Value value;
    int64_t end() const { return offset + elementCount(value.getType()); }
    bool overlaps(int64_t from, int64_t size) const { return from < end() && offset < from + size; }
    bool contains(int64_t from, int64_t size) const {
      return offset <= from && from + size <= end();
    }
  };

  Value slice(OpBuilder &builder, Location loc, Value vector, int64_t offset, int64_t size,
              bool asVector) const {
    if (!asVector)
      return vector::ExtractOp::create(builder, loc, vector, ArrayRef<int64_t>{offset});
    if (asPieces_ && size == elementCount(vector.getType()))
      return vector;
    return vector::ExtractStridedSliceOp::create(builder, loc, vector, ArrayRef<int64_t>{offset},
                                                 ArrayRef<int64_t>{size}, ArrayRef<int64_t>{1});
  }

  Value whole_;
  bool asPieces_ = false;
  SmallVector<Piece> pieces_;
};

/// What each promoted memory (the operation that makes it) contains at some point of the program.
using State = llvm::DenseMap<Operation *, Contents>;
using Roots = llvm::SmallSetVector<Operation *, 8>;

/// A load or store of promoted memory: elements [offset, offset + size) of the root's vector.
struct Slot {
  Operation *root;
  int64_t offset;
};

/// Decides which memories can be values, and where each access points.
class Analysis {
public:
  Analysis(FunctionOpInterface func, bool requireStatic) : requireStatic_(requireStatic) {
    func->walk([&](MakePtrOp op) { addRoot(op); });
  }

  bool failed() const { return sawError_; }
  const Roots &promoted() const { return roots_; }
  VectorType typeOf(Operation *root) const { return types_.lookup(root); }
  /// Where the parts of its vector begin that no access crosses but one of the whole.
  ArrayRef<int64_t> partsOf(Operation *root) const { return parts_.find(root)->second; }
  std::optional<Slot> slotOf(Value pointer) const {
    auto it = slots_.find(pointer);
    return it == slots_.end() ? std::nullopt : std::optional(it->second);
  }

private:
  void addRoot(MakePtrOp op) {
    PointerType type = op.getType();
    auto attrs = op.getDictAttrs();
    auto size = attrs && type.isIn(AddressSpace::Register) ? attrs->getAs<IntegerAttr>("allocSize")
                                                           : IntegerAttr();
    Type elemTy = registerElementType(type.getElemTy());
    if (!size || size.getInt() <= 0 || size.getInt() > kMostRegisterElements ||
        !VectorType::isValidElementType(elemTy))
      return;
    auto vector = VectorType::get({size.getInt()}, elemTy);
    llvm::SmallVector<std::pair<Value, int64_t>> pointers{{op.getResult(), 0}};
    accesses_.clear();
    isWholeInside_ = false;
    for (size_t i = 0; i < pointers.size(); ++i)
      for (OpOperand &use : pointers[i].first.getUses())
        if (!followUse(op, vector, use, pointers[i].second, pointers))
          return;
    for (auto [pointer, offset] : pointers)
      slots_[pointer] = {op, offset};
    roots_.insert(op);
    types_[op] = vector;
    parts_[op] = partsFor(vector);
  }

  /// By the accesses of a memory that were followed.
  SmallVector<int64_t> partsFor(VectorType vector) const {
    const int64_t count = vector.getNumElements(), bits = vector.getElementTypeBitWidth();
    SmallVector<int64_t> parts = {0};
    // Parts that a loop puts together each time are no gain.
    if (count * bits < kLeastCutBits || isWholeInside_)
      return parts;
    // Whether an element goes together with the one before it, and whether anything but an access
    // of the whole concerns it.
    llvm::BitVector joined(static_cast<unsigned>(count)), touched(static_cast<unsigned>(count));
    for (auto [offset, size] : accesses_) {
      if (size == count)
        continue;
      touched.set(static_cast<unsigned>(offset), static_cast<unsigned>(offset + size));
      joined.set(static_cast<unsigned>(offset + 1), static_cast<unsigned>(offset + size));
    }
    auto isCut = [&](unsigned at) {
      return !joined[at] && (touched[at] || touched[at - 1]) &&
             (at - parts.back()) * bits % kPartBits == 0;
    };
    for (unsigned at = 1; at < count; ++at)
      if (isCut(at))
        parts.push_back(at);
    if ((count - parts.back()) * bits % kPartBits != 0 && parts.size() > 1)
      parts.pop_back();
    return parts;
  }

  bool followUse(MakePtrOp root, VectorType vector, OpOperand &use, int64_t offset,
                 llvm::SmallVectorImpl<std::pair<Value, int64_t>> &pointers) {
    Operation *user = use.getOwner();
    if (auto add = dyn_cast<AddOffsetOp>(user)) {
      const flydsl::layout::IntTuple &by = cast<IntTupleType>(add.getOffset().getType()).getValue();
      if (!by.isLeaf())
        return false;
      if (!by.isStatic()) {
        reportDynamic(root, add);
        return false;
      }
      pointers.push_back({add.getResult(), offset + by.leaf().value()});
      return true;
    }
    // The conversion of atom calls leaves views without users behind.
    if (isa<MakeViewOp, RecastIterOp>(user))
      return user->use_empty();
    Type accessed;
    if (auto load = dyn_cast<PtrLoadOp>(user))
      accessed = load.getResult().getType();
    else if (auto store = dyn_cast<PtrStoreOp>(user); store && use.getOperandNumber() == 1)
      accessed = store.getValue().getType();
    if (!accessed || !fits(vector, accessed, offset) || !isFollowed(root, user))
      return false;
    accesses_.push_back({offset, elementCount(accessed)});
    isWholeInside_ |= elementCount(accessed) == vector.getNumElements() &&
                      user->getParentRegion() != root->getParentRegion();
    return true;
  }

  static bool fits(VectorType vector, Type accessed, int64_t offset) {
    auto shaped = dyn_cast<VectorType>(accessed);
    if (shaped && (shaped.getRank() != 1 || shaped.isScalable()))
      return false;
    Type elemTy = shaped ? shaped.getElementType() : accessed;
    return elemTy.isIntOrFloat() &&
           elemTy.getIntOrFloatBitWidth() == vector.getElementType().getIntOrFloatBitWidth() &&
           offset >= 0 && offset + elementCount(accessed) <= vector.getNumElements();
  }

  /// Whether all control flow from the root's block down to the access is scf's and has single
  /// blocks.
  static bool isFollowed(Operation *root, Operation *access) {
    Region *home = root->getParentRegion();
    if (!home->hasOneBlock())
      return false;
    for (Region *region = access->getParentRegion(); region != home;
         region = region->getParentRegion())
      if (!region || !region->hasOneBlock() ||
          !isa<scf::ForOp, scf::IfOp, scf::WhileOp>(region->getParentOp()))
        return false;
    return true;
  }

  void reportDynamic(MakePtrOp root, AddOffsetOp add) {
    if (requireStatic_) {
      sawError_ = true;
      add.emitError("register memory is indexed by a value known only at run time; registers have "
                    "no addresses, use a "
                    "static index or shared memory")
              .attachNote(root.getLoc())
          << "the register memory is made here";
      return;
    }
    add.emitRemark(
        "register memory indexed by a value known only at run time stays in scratch memory");
  }

  /// Memory of fewer bits is passed on whole.
  static constexpr int64_t kLeastCutBits = 512;
  /// Parts have a multiple of so many bits: four registers of a lane.
  static constexpr int64_t kPartBits = 128;

  bool requireStatic_, sawError_ = false;
  Roots roots_;
  llvm::DenseMap<Operation *, VectorType> types_;
  llvm::DenseMap<Operation *, SmallVector<int64_t>> parts_;
  // Of the memory at hand:
  SmallVector<std::pair<int64_t, int64_t>> accesses_; ///< offset and size
  bool isWholeInside_ = false; ///< whether control flow has an access of the whole
  llvm::DenseMap<Value, Slot> slots_;
};

class Promoter {
public:
  Promoter(const Analysis &analysis, bool asPieces) : analysis_(analysis), asPieces_(asPieces) {}

  void run(Block &block, State &state) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (analysis_.promoted().contains(&op)) {
        OpBuilder builder(&op);
        state[&op] = contents(ub::PoisonOp::create(builder, op.getLoc(), analysis_.typeOf(&op)));
      } else if (auto load = dyn_cast<PtrLoadOp>(op)) {
        promoteLoad(load, state);
      } else if (auto store = dyn_cast<PtrStoreOp>(op)) {
        promoteStore(store, state);
      } else if (auto loop = dyn_cast<scf::ForOp>(op)) {
        promoteFor(loop, state);
      } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
        promoteIf(branch, state);
      } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
        promoteWhile(loop, state);
      } else {
        // Memory that is made inside another kind of region is not visible outside of it.
        for (Region &region : op.getRegions())
          for (Block &inner : region)
            run(inner, state);
      }
    }
  }

private:
  /// `value` as `type` of the same number of elements and bits.
  static Value cast(OpBuilder &builder, Location loc, Value value, Type type) {
    if (value.getType() == type)
      return value;
    if (isa<VectorType>(type))
      return vector::BitCastOp::create(builder, loc, type, value);
    Value one =
        vector::FromElementsOp::create(builder, loc, VectorType::get({1}, value.getType()), value);
    one = vector::BitCastOp::create(builder, loc, VectorType::get({1}, type), one);
    return vector::ExtractOp::create(builder, loc, one, ArrayRef<int64_t>{0});
  }

  void promoteLoad(PtrLoadOp op, State &state) {
    std::optional<Slot> slot = analysis_.slotOf(op.getPtr());
    if (!slot)
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type type = op.getResult().getType();
    Value part = state[slot->root].load(builder, loc, slot->offset, elementCount(type),
                                        isa<VectorType>(type));
    op.getResult().replaceAllUsesWith(cast(builder, loc, part, type));
    op.erase();
  }

  void promoteStore(PtrStoreOp op, State &state) {
    std::optional<Slot> slot = analysis_.slotOf(op.getPtr());
    if (!slot)
      return;
    OpBuilder builder(op);
    Location loc = op.getLoc();
    Type type = analysis_.typeOf(slot->root).getElementType();
    if (auto vector = dyn_cast<VectorType>(op.getValue().getType()))
      type = VectorType::get(vector.getShape(), type);
    Value value = cast(builder, loc, op.getValue(), type);
    state[slot->root].store(builder, loc, value, slot->offset);
    op.erase();
  }

  /// The memories made outside `op` that are loaded or stored inside, in the order in which they
  /// are made.
  SmallVector<Operation *> touchedIn(Operation *op, const State &state) {
    Roots touched;
    op->walk([&](Operation *inner) {
      Value pointer;
      if (auto load = dyn_cast<PtrLoadOp>(inner))
        pointer = load.getPtr();
      else if (auto store = dyn_cast<PtrStoreOp>(inner))
        pointer = store.getPtr();
      if (!pointer)
        return;
      if (std::optional<Slot> slot = analysis_.slotOf(pointer); slot && state.contains(slot->root))
        touched.insert(slot->root);
    });
    SmallVector<Operation *> ordered;
    for (Operation *root : analysis_.promoted())
      if (touched.contains(root))
        ordered.push_back(root);
    return ordered;
  }

  /// Calls `take(root, offset, size)` for what control flow passes on of each memory.
  template <class Take> void forParts(ArrayRef<Operation *> roots, Take take) const {
    for (Operation *root : roots) {
      const int64_t count = analysis_.typeOf(root).getNumElements();
      if (!asPieces_) {
        take(root, int64_t(0), count);
        continue;
      }
      ArrayRef<int64_t> parts = analysis_.partsOf(root);
      for (size_t i = 0; i < parts.size(); ++i)
        take(root, parts[i], (i + 1 < parts.size() ? parts[i + 1] : count) - parts[i]);
    }
  }

  /// Their parts, made in front of `op`.
  SmallVector<Value> valuesBefore(Operation *op, ArrayRef<Operation *> roots, State &state) const {
    OpBuilder builder(op);
    SmallVector<Value> values;
    forParts(roots, [&](Operation *root, int64_t offset, int64_t size) {
      const bool isWhole = size == analysis_.typeOf(root).getNumElements();
      values.push_back(isWhole ? state[root].joined(builder, op->getLoc())
                               : state[root].gather(builder, op->getLoc(), offset, size));
    });
    return values;
  }

  SmallVector<Type> typesOf(ArrayRef<Operation *> roots) const {
    SmallVector<Type> types;
    forParts(roots, [&](Operation *root, int64_t, int64_t size) {
      types.push_back(VectorType::get({size}, analysis_.typeOf(root).getElementType()));
    });
    return types;
  }

  /// `at` is where nothing is known of memories that go in parts.
  void assign(State &state, ArrayRef<Operation *> roots, ValueRange values, OpBuilder at) const {
    size_t next = 0;
    forParts(roots, [&](Operation *root, int64_t offset, int64_t size) {
      Value value = values[next++];
      VectorType type = analysis_.typeOf(root);
      if (size == type.getNumElements()) {
        state[root] = contents(value);
        return;
      }
      if (offset == 0)
        state[root] = contents(ub::PoisonOp::create(at, root->getLoc(), type));
      state[root].store(at, root->getLoc(), value, offset);
    });
  }

  void passOn(Operation *terminator, ArrayRef<Operation *> roots, State &state) const {
    SmallVector<Value> values = valuesBefore(terminator, roots, state);
    terminator->insertOperands(terminator->getNumOperands(), values);
  }

  /// Replaces `op` by `with`, whose first results are the old ones and whose last ones the
  /// memories'.
  void replace(Operation *op, Operation *with, ArrayRef<Operation *> roots, State &state) {
    unsigned old = op->getNumResults();
    op->replaceAllUsesWith(with->getResults().take_front(old));
    assign(state, roots, with->getResults().drop_front(old), OpBuilder(op));
    with->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    op->erase();
  }

  void promoteFor(scf::ForOp op, State &state) {
    SmallVector<Operation *> roots = touchedIn(op, state);
    if (roots.empty())
      return run(*op.getBody(), state);
    OpBuilder builder(op);
    SmallVector<Value> inits(op.getInitArgs());
    inits.append(valuesBefore(op, roots, state));
    auto loop = scf::ForOp::create(builder, op.getLoc(), op.getLowerBound(), op.getUpperBound(),
                                   op.getStep(), inits, nullptr, op.getUnsignedCmp());
    // The builder makes a terminator only where nothing is carried.
    if (!loop.getBody()->empty())
      loop.getBody()->back().erase();
    loop.getBody()->getOperations().splice(loop.getBody()->end(), op.getBody()->getOperations());
    for (auto [from, to] :
         llvm::zip_first(op.getBody()->getArguments(), loop.getBody()->getArguments()))
      from.replaceAllUsesWith(to);
    State inner = state;
    builder.setInsertionPoint(loop);
    assign(inner, roots, loop.getBody()->getArguments().take_back(typesOf(roots).size()), builder);
    run(*loop.getBody(), inner);
    passOn(loop.getBody()->getTerminator(), roots, inner);
    replace(op, loop, roots, state);
  }

  void promoteIf(scf::IfOp op, State &state) {
    SmallVector<Operation *> roots = touchedIn(op, state);
    if (roots.empty()) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          run(block, state);
      return;
    }
    OpBuilder builder(op);
    assign(state, roots, valuesBefore(op, roots, state), builder);
    SmallVector<Type> types(op.getResultTypes());
    types.append(typesOf(roots));
    auto branch =
        scf::IfOp::create(builder, op.getLoc(), types, op.getCondition(), /*addThenBlock=*/false,
                          /*addElseBlock=*/false);
    for (auto [from, to] : llvm::zip_equal(op->getRegions(), branch->getRegions()))
      to.takeBody(from);
    if (branch.getElseRegion().empty()) {
      builder.createBlock(&branch.getElseRegion());
      scf::YieldOp::create(builder, op.getLoc());
    }
    for (Region &region : branch->getRegions()) {
      State inner = state;
      run(region.front(), inner);
      passOn(region.front().getTerminator(), roots, inner);
    }
    replace(op, branch, roots, state);
  }

  void promoteWhile(scf::WhileOp op, State &state) {
    SmallVector<Operation *> roots = touchedIn(op, state);
    if (roots.empty()) {
      run(*op.getBeforeBody(), state);
      return run(*op.getAfterBody(), state);
    }
    OpBuilder builder(op);
    SmallVector<Value> inits(op.getInits());
    inits.append(valuesBefore(op, roots, state));
    SmallVector<Type> types(op.getResultTypes());
    types.append(typesOf(roots));
    auto loop = scf::WhileOp::create(builder, op.getLoc(), types, inits);
    loop.getBefore().takeBody(op.getBefore());
    loop.getAfter().takeBody(op.getAfter());
    State inner = state;
    builder.setInsertionPoint(loop);
    for (Region *region : loop.getRegions()) {
      Block &block = region->front();
      SmallVector<Value> parts;
      for (Type type : typesOf(roots))
        parts.push_back(block.addArgument(type, op.getLoc()));
      assign(inner, roots, parts, builder);
      run(block, inner);
      passOn(block.getTerminator(), roots, inner);
    }
    replace(op, loop, roots, state);
  }

  Contents contents(Value whole) const { return Contents(whole, asPieces_); }

  const Analysis &analysis_;
  const bool asPieces_;
};

/// Erases the promoted memories and the pointers and views that are left of them.
void eraseDead(FunctionOpInterface func) {
  SmallVector<Operation *> order;
  func->walk([&](Operation *op) { order.push_back(op); });
  for (Operation *op : llvm::reverse(order))
    if (op->use_empty() &&
        isa<MakeViewOp, AddOffsetOp, RecastIterOp, MakeLayoutOp, MakeIntTupleOp, MakePtrOp>(op)) {
      auto make = dyn_cast<MakePtrOp>(op);
      if (!make || make.getType().isIn(AddressSpace::Register))
        op->erase();
    }
}

struct PromoteRegMemToVectorSSA
    : impl::FlyPromoteRegMemToVectorSSAPassBase<PromoteRegMemToVectorSSA> {
  using Base::Base;

  void runOnOperation() override {
    getOperation()->walk([&](FunctionOpInterface func) {
      if (func.isExternal())
        return;
      Analysis analysis(func, requireStatic);
      if (analysis.failed())
        return signalPassFailure();
      Promoter promoter(analysis, pieces);
      State state;
      for (Block &block : func.getFunctionBody())
        promoter.run(block, state);
      eraseDead(func);
    });
    IRRewriter rewriter(&getContext());
    DominanceInfo dominance(getOperation());
    eliminateCommonSubExpressions(rewriter, dominance, getOperation());
  }
};

} // namespace

} // namespace mlir::fly
