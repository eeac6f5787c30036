// The pass replaces each make_ptr in register memory by one vector value. It goes through the
// blocks in order, and `state` holds what each such memory contains: a vector, and the pieces that
// were stored over it since. A load takes a piece or a slice of the vector. Control flow passes the
// memory on as one vector: loops carry it, branches return it.
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
    for (size_t i = 0; i < pointers.size(); ++i)
      for (OpOperand &use : pointers[i].first.getUses())
        if (!followUse(op, vector, use, pointers[i].second, pointers))
          return;
    for (auto [pointer, offset] : pointers)
      slots_[pointer] = {op, offset};
    roots_.insert(op);
    types_[op] = vector;
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
    return accessed && fits(vector, accessed, offset) && isFollowed(root, user);
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

  bool requireStatic_, sawError_ = false;
  Roots roots_;
  llvm::DenseMap<Operation *, VectorType> types_;
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

  /// Each as one vector, made in front of `op`.
  static SmallVector<Value> valuesBefore(Operation *op, ArrayRef<Operation *> roots, State &state) {
    OpBuilder builder(op);
    SmallVector<Value> values;
    for (Operation *root : roots)
      values.push_back(state[root].joined(builder, op->getLoc()));
    return values;
  }

  SmallVector<Type> typesOf(ArrayRef<Operation *> roots) {
    SmallVector<Type> types;
    for (Operation *root : roots)
      types.push_back(analysis_.typeOf(root));
    return types;
  }

  template <class Range>
  void assign(State &state, ArrayRef<Operation *> roots, Range values) const {
    for (auto [root, value] : llvm::zip_equal(roots, values))
      state[root] = contents(value);
  }

  static void passOn(Operation *terminator, ArrayRef<Operation *> roots, State &state) {
    SmallVector<Value> values = valuesBefore(terminator, roots, state);
    terminator->insertOperands(terminator->getNumOperands(), values);
  }

  /// Replaces `op` by `with`, whose first results are the old ones and whose last ones the
  /// memories'.
  void replace(Operation *op, Operation *with, ArrayRef<Operation *> roots, State &state) {
    unsigned old = op->getNumResults();
    op->replaceAllUsesWith(with->getResults().take_front(old));
    assign(state, roots, with->getResults().drop_front(old));
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
    assign(inner, roots, loop.getBody()->getArguments().take_back(roots.size()));
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
    valuesBefore(op, roots, state);
    OpBuilder builder(op);
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
    for (Region *region : loop.getRegions()) {
      Block &block = region->front();
      for (Operation *root : roots)
        inner[root] = contents(block.addArgument(analysis_.typeOf(root), root->getLoc()));
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
