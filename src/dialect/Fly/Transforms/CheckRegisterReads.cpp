// Refuses reads of register memory that nothing can have written.
//
// The pass runs on lowered layouts: every access is a load or store through a pointer at an offset,
// or an operand of an atom call, so "which elements" is exact where offsets are static. It goes
// through the blocks in order. For each register memory it keeps the elements that some path to
// here may have written. A read of any other element has no value on any path, and is an error.
//
// A loop is looked at twice. The first round begins with what was written before the loop: a read
// in it that is certain to happen is an error although later rounds have a value (an accumulator
// that nobody zeroed). What a branch reads counts in the first round only if the branch is the
// same in each round; `if (round > 0)` may keep it from reading. The second look begins with what
// any round may have written.
//
// Nothing is reported that some run of the kernel might have written: stores at an offset that is
// known only at run time write every element, and so do predicated copies. Memory whose pointer
// goes where the pass can't follow is not looked at.
//
// What only some paths write, and is read, is left to whoever runs the kernel. With the option
// `unwritten` such memory begins with values of an instruction that LLVM can't look into. Without it
// LLVM takes any value for what was not written, most often the one that another path wrote.

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Transforms/AtomCalls.h"
#include "dialect/Fly/Transforms/Passes.h"
#include "dialect/Fly/Transforms/RegisterMemory.h"
#include "layout/algebra.h"
#include "layout/coord.h"
#include "layout/error.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <numeric>
#include <optional>

namespace mlir::fly {

#define GEN_PASS_DEF_FLYCHECKREGISTERREADSPASS
#include "dialect/Fly/Transforms/Passes.h.inc"

namespace {

namespace fl = flydsl::layout;
using llvm::BitVector;

/// What an operation does with one register memory.
struct Access {
  enum Kind { read, write, maybeWrite };
  unsigned root;
  Kind kind;
  /// The elements; nullopt where only the launch knows them.
  std::optional<BitVector> elements;
  /// Of an operand of a matrix instruction that is added to.
  bool isAccumulator = false;
};

int64_t bitsOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector.getNumElements() * bitsOf(vector.getElementType());
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 0;
}

/// A register memory of the function.
struct Root {
  MakePtrOp op;
  int64_t elementBits;
  unsigned count;
};

/// Finds the register memories of a function, and who accesses which of their elements.
class Accesses {
public:
  explicit Accesses(FunctionOpInterface func) {
    func->walk([&](MakePtrOp op) { add(op); });
  }

  ArrayRef<Root> roots() const { return roots_; }
  ArrayRef<Access> of(Operation *op) const {
    auto it = accesses_.find(op);
    return it == accesses_.end() ? ArrayRef<Access>() : ArrayRef<Access>(it->second);
  }
  std::optional<unsigned> rootOf(Operation *op) const {
    auto it = numbers_.find(op);
    return it == numbers_.end() ? std::nullopt : std::optional(it->second);
  }

private:
  /// A pointer into the memory: the bit that it points at, if that is known, and the elements that
  /// it counts in.
  struct Place {
    Value pointer;
    std::optional<int64_t> bit;
  };
  using Found = SmallVector<std::pair<Operation *, Access>>;

  void add(MakePtrOp op) {
    PointerType type = op.getType();
    auto attrs = op.getDictAttrs();
    auto size = attrs && type.isIn(AddressSpace::Register) ? attrs->getAs<IntegerAttr>("allocSize")
                                                           : IntegerAttr();
    const int64_t bits = bitsOf(type.getElemTy());
    if (!size || size.getInt() <= 0 || size.getInt() > kMostElements || bits == 0)
      return;
    root_ = {op, bits, static_cast<unsigned>(size.getInt())};
    Found found;
    SmallVector<Place> places{{op.getResult(), 0}};
    for (size_t i = 0; i < places.size(); ++i)
      for (OpOperand &use : places[i].pointer.getUses())
        if (!follow(use, Place(places[i]), places, found))
          return;
    const auto number = static_cast<unsigned>(roots_.size());
    roots_.push_back(root_);
    numbers_[op] = number;
    for (auto &[user, access] : found) {
      access.root = number;
      accesses_[user].push_back(std::move(access));
    }
  }

  /// False where it can't be told what becomes of the pointer.
  bool follow(OpOperand &use, const Place &at, SmallVectorImpl<Place> &places, Found &found) {
    Operation *user = use.getOwner();
    const int64_t unit = bitsOf(cast<PointerType>(at.pointer.getType()).getElemTy());
    if (auto move = dyn_cast<AddOffsetOp>(user)) {
      const fl::IntTuple &by = cast<IntTupleType>(move.getOffset().getType()).getValue();
      if (!by.isLeaf())
        return false;
      std::optional<int64_t> bit;
      if (at.bit && by.isStatic())
        bit = *at.bit + by.leaf().value() * unit;
      places.push_back({move.getResult(), bit});
      return true;
    }
    if (auto recast = dyn_cast<RecastIterOp>(user)) {
      places.push_back({recast.getResult(), at.bit});
      return bitsOf(cast<PointerType>(recast.getType()).getElemTy()) != 0;
    }
    if (auto view = dyn_cast<MakeViewOp>(user))
      return llvm::all_of(view->getUses(),
                          [&](OpOperand &inner) { return followView(inner, at, found); });
    if (auto load = dyn_cast<PtrLoadOp>(user)) {
      if (!load->use_empty())
        found.push_back({user, {0, Access::read, loaded(load, at)}});
      return true;
    }
    if (auto store = dyn_cast<PtrStoreOp>(user); store && use.getOperandNumber() == 1) {
      found.push_back({user, {0, Access::write, range(at, bitsOf(store.getValue().getType()))}});
      return true;
    }
    return false;
  }

  bool followView(OpOperand &use, const Place &at, Found &found) {
    auto type = cast<MemRefType>(use.get().getType());
    return llvm::TypeSwitch<Operation *, bool>(use.getOwner())
        .Case<CopyAtomCallOp>([&](CopyAtomCallOp op) {
          const std::optional<BitVector> elements =
              touched(at, type, elementsOfCall(op.getCopyAtom().getType(), type));
          auto is = [&](MutableOperandRange range) {
            return !range.empty() && range[0].getOperandNumber() == use.getOperandNumber();
          };
          if (is(op.getPredMutable()))
            found.push_back({op, {0, Access::read, touched(at, type, 0)}});
          else if (use.getOperandNumber() == op.getSrcMutable().getOperandNumber())
            found.push_back({op, {0, Access::read, elements}});
          else
            found.push_back({op, {0, op.getPred() ? Access::maybeWrite : Access::write, elements}});
          return true;
        })
        .Case<MmaAtomCallOp>([&](MmaAtomCallOp op) {
          const unsigned number = use.getOperandNumber();
          const bool isResult = number == op.getDMutable().getOperandNumber();
          found.push_back({op,
                           {0, isResult ? Access::write : Access::read, touched(at, type, 0),
                            number == op.getCMutable().getOperandNumber()}});
          return true;
        })
        .Default([](Operation *) { return false; });
  }

  /// How many elements a call of the atom moves on this side; 0 where that is not known.
  static int64_t elementsOfCall(CopyAtomType atom, MemRefType type) {
    try {
      return elementsPerCall(atom, type.getElemTy());
    } catch (const fl::LayoutError &) {
      return 0;
    }
  }

  /// The elements of a view. A view of one element is where an atom of `atLeast` elements begins.
  std::optional<BitVector> touched(const Place &at, MemRefType type, int64_t atLeast) const {
    const auto *layout = std::get_if<fl::Layout>(&type.getLayout());
    const int64_t unit = bitsOf(type.getElemTy());
    if (!at.bit || !layout || !layout->isStatic() || unit == 0)
      return std::nullopt;
    try {
      const int64_t size = fl::size(*layout).value();
      if (size == 1 && atLeast > 1)
        return range(at, atLeast * unit);
      BitVector elements(root_.count);
      for (int64_t i = 0; i < size; ++i) {
        const fl::IntTuple place = fl::crd2idx(fl::IntTuple(i), *layout);
        if (!place.isLeaf() || !set(elements, *at.bit + place.leaf().value() * unit, unit))
          return std::nullopt;
      }
      return elements;
    } catch (const fl::LayoutError &) {
      return std::nullopt;
    }
  }

  std::optional<BitVector> range(const Place &at, int64_t bits) const {
    BitVector elements(root_.count);
    if (!at.bit || bits <= 0 || !set(elements, *at.bit, bits))
      return std::nullopt;
    return elements;
  }

  /// Adds the elements that have any of the bits. False if those are not the memory's.
  bool set(BitVector &elements, int64_t bit, int64_t bits) const {
    const int64_t first = bit / root_.elementBits,
                  end = (bit + bits + root_.elementBits - 1) / root_.elementBits;
    if (bit < 0 || end > root_.count)
      return false;
    elements.set(static_cast<unsigned>(first), static_cast<unsigned>(end));
    return true;
  }

  /// The elements of a loaded vector that somebody takes out of it; all where that can't be told.
  std::optional<BitVector> loaded(PtrLoadOp load, const Place &at) const {
    Type type = load.getResult().getType();
    const std::optional<BitVector> all = range(at, bitsOf(type));
    auto vector = dyn_cast<VectorType>(type);
    if (!all || !vector || vector.getRank() != 1)
      return all;
    const int64_t unit = bitsOf(vector.getElementType());
    BitVector taken(root_.count);
    for (Operation *user : load->getUsers()) {
      int64_t first = 0, count = 1;
      if (auto one = dyn_cast<vector::ExtractOp>(user);
          one && one.getStaticPosition().size() == 1 && !one.hasDynamicPosition()) {
        first = one.getStaticPosition()[0];
      } else if (auto some = dyn_cast<vector::ExtractStridedSliceOp>(user)) {
        first = cast<IntegerAttr>(some.getOffsets()[0]).getInt();
        count = cast<IntegerAttr>(some.getSizes()[0]).getInt();
      } else {
        return all;
      }
      if (!set(taken, *at.bit + first * unit, count * unit))
        return all;
    }
    return taken;
  }

  static constexpr int64_t kMostElements = 1 << 16;
  Root root_{};
  SmallVector<Root> roots_;
  llvm::DenseMap<Operation *, unsigned> numbers_;
  llvm::DenseMap<Operation *, SmallVector<Access, 2>> accesses_;
};

/// Goes through a function, and reports.
class Checker {
public:
  explicit Checker(const Accesses &accesses)
      : accesses_(accesses), reported_(static_cast<unsigned>(accesses.roots().size())),
        partly_(static_cast<unsigned>(accesses.roots().size())) {}

  bool run(Region &body) {
    State state;
    for (const Root &root : accesses_.roots())
      state.emplace_back(root.count);
    run(body, state);
    return reported_.none();
  }
  /// The memories with something that is read and that not every path has written.
  SmallVector<Root> partlyWritten() const {
    SmallVector<Root> roots;
    for (unsigned root : partly_.set_bits())
      roots.push_back(accesses_.roots()[root]);
    return roots;
  }

private:
  /// The elements of a memory that some path may have written, and those that every path has.
  struct Written {
    explicit Written(unsigned count) : some(count), every(count) {}
    void reset() {
      some.reset();
      every.reset();
    }
    void set() {
      some.set();
      every.set();
    }
    BitVector some, every;
  };
  using State = SmallVector<Written>;

  static void join(State &into, const State &other) {
    for (auto [a, b] : llvm::zip_equal(into, other)) {
      a.some |= b.some;
      a.every &= b.every;
    }
  }

  void run(Region &region, State &state) {
    if (region.hasOneBlock())
      return run(region.front(), state);
    // The order of several blocks is not followed: each may have run before.
    for (Block &block : region)
      for (Operation &op : block)
        giveUp(&op, state);
  }

  void run(Block &block, State &state) {
    for (Operation &op : block) {
      if (std::optional<unsigned> root = accesses_.rootOf(&op))
        state[*root].reset();
      else if (auto loop = dyn_cast<scf::ForOp>(op))
        runFor(loop, state);
      else if (auto branch = dyn_cast<scf::IfOp>(op))
        runIf(branch, state);
      else if (auto loop = dyn_cast<scf::WhileOp>(op))
        runWhile(loop, state);
      else if (op.getNumRegions() != 0)
        giveUp(&op, state);
      else
        access(&op, state);
    }
  }

  /// Whatever `op` and what is in it accesses counts as written.
  void giveUp(Operation *op, State &state) {
    op->walk([&](Operation *inner) {
      for (const Access &access : accesses_.of(inner))
        state[access.root].set();
      if (std::optional<unsigned> root = accesses_.rootOf(inner))
        state[*root].set();
    });
  }

  void access(Operation *op, State &state) {
    ArrayRef<Access> all = accesses_.of(op);
    for (const Access &access : all)
      if (access.kind == Access::read)
        expectWritten(op, access, state[access.root]);
    for (const Access &access : all)
      if (access.kind != Access::read) {
        Written &written = state[access.root];
        if (!access.elements) {
          written.some.set();
          continue;
        }
        written.some |= *access.elements;
        if (access.kind == Access::write)
          written.every |= *access.elements;
      }
  }

  void expectWritten(Operation *op, const Access &access, const Written &state) {
    const BitVector &written = state.some;
    BitVector open = access.elements ? *access.elements : BitVector(written.size(), true);
    if (open.reset(state.every).any())
      partly_.set(access.root);
    if (uncertain_ != 0 || reported_.test(access.root))
      return;
    BitVector missing = access.elements ? *access.elements : BitVector(written.size(), true);
    if (!access.elements && written.any())
      return; // the element that is read may be one of those
    missing.reset(written);
    if (missing.none())
      return;
    reported_.set(access.root);
    MakePtrOp made = accesses_.roots()[access.root].op;
    const unsigned count = written.size();
    const auto first = missing.find_first(), last = missing.find_last();
    auto error = emitError(op->getLoc());
    error << (access.isAccumulator ? "the accumulator" : "a fragment") << " of " << count
          << (count == 1 ? " element" : " elements") << " of " << made.getType().getElemTy()
          << " in registers";
    if (auto place = made.getLoc()->findInstanceOf<FileLineColLoc>())
      error << ", made at " << place.getFilename().getValue() << ":" << place.getLine() << ",";
    error << " is read here before anything has written ";
    if (missing.count() == count)
      error << "it";
    else if (first == last)
      error << "its element " << first;
    else if (missing.count() == static_cast<unsigned>(last - first + 1))
      error << "its elements " << first << " to " << last;
    else
      error << missing.count() << " of its elements, the first is " << first;
    error << (access.isAccumulator ? "; .fill(0) zeroes it"
                                   : "; .fill, .store or fx::copy gives it values");
  }

  //===-- Control flow ------------------------------------------------------===//

  /// Whether a value is the same in each round of every loop whose first round is being looked at.
  bool isSameInEachRound(Value value) const {
    return peeled_.empty() || isMadeOutside(value, peeled_.front(), 0);
  }
  /// Whether a value depends on nothing that is made inside the loop.
  static bool isMadeOutside(Value value, Operation *loop, unsigned depth) {
    Operation *maker = value.getDefiningOp();
    if (!loop->isAncestor(value.getParentBlock()->getParentOp()))
      return true;
    return maker && depth < kMostDepth && maker->getNumRegions() == 0 && isPure(maker) &&
           llvm::all_of(maker->getOperands(),
                        [&](Value operand) { return isMadeOutside(operand, loop, depth + 1); });
  }

  /// Runs what may not happen in the first rounds that are being looked at.
  void runUncertain(bool isUncertain, llvm::function_ref<void()> body) {
    uncertain_ += isUncertain;
    body();
    uncertain_ -= isUncertain;
  }

  void runIf(scf::IfOp op, State &state) {
    State other = state;
    runUncertain(!isSameInEachRound(op.getCondition()), [&] {
      run(op.getThenRegion(), state);
      if (!op.getElseRegion().empty())
        run(op.getElseRegion(), other);
    });
    join(state, other);
  }

  void runFor(scf::ForOp op, State &state) {
    const bool isSame = isSameInEachRound(op.getLowerBound()) &&
                        isSameInEachRound(op.getUpperBound()) && isSameInEachRound(op.getStep());
    runUncertain(!isSame, [&] {
      State round = state;
      peeled_.push_back(op);
      run(op.getRegion(), round);
      peeled_.pop_back();
      join(state, round);
      run(op.getRegion(), state);
    });
  }

  void runWhile(scf::WhileOp op, State &state) {
    auto runRound = [&](State &round, State &left) {
      run(op.getBefore(), round);
      left = round;
      // Whether there is a body's turn is decided anew each time the loop is reached.
      runUncertain(!peeled_.empty() && (peeled_.size() > 1 || peeled_.back() != op),
                   [&] { run(op.getAfter(), round); });
    };
    State round = state, left;
    peeled_.push_back(op);
    runRound(round, left);
    peeled_.pop_back();
    join(state, round);
    runRound(state, left);
    state = std::move(left);
  }

  static constexpr unsigned kMostDepth = 16;

  const Accesses &accesses_;
  SmallVector<Operation *> peeled_; ///< the loops whose first round is being looked at
  unsigned uncertain_ = 0;          ///< how many of the branches around need not be taken in it
  BitVector reported_, partly_;
};

/// Fills the memory, where it is made, with what the instruction gives.
void fill(const Root &root, const std::string &instruction, const std::string &constraint) {
  constexpr int64_t kWordBits = 32;
  MakePtrOp op = root.op;
  OpBuilder builder(op);
  builder.setInsertionPointAfter(op);
  const Location loc = op.getLoc();
  const Type elemTy = registerElementType(op.getType().getElemTy());
  // As many words as hold whole elements: three words hold 16 elements of 6 bits.
  const int64_t groupBits = std::lcm(kWordBits, root.elementBits),
                groups = llvm::divideCeil(root.count * root.elementBits, groupBits),
                words = groups * groupBits / kWordBits,
                elements = groups * groupBits / root.elementBits;
  const Type wordTy = builder.getI32Type();
  Value word = LLVM::InlineAsmOp::create(
                   builder, loc, wordTy, ValueRange(), instruction, constraint,
                   /*has_side_effects=*/false, /*is_align_stack=*/false,
                   LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr())
                   .getResult(0);
  Value all = vector::BroadcastOp::create(builder, loc, VectorType::get({words}, wordTy), word);
  all = vector::BitCastOp::create(builder, loc, VectorType::get({elements}, elemTy), all);
  if (elements != root.count)
    all =
        vector::ExtractStridedSliceOp::create(builder, loc, all, ArrayRef<int64_t>{0},
                                              ArrayRef<int64_t>{root.count}, ArrayRef<int64_t>{1});
  PtrStoreOp::create(builder, loc, all, op.getResult());
}

struct CheckRegisterReads : impl::FlyCheckRegisterReadsPassBase<CheckRegisterReads> {
  using Base::Base;

  void runOnOperation() override {
    bool isFine = true;
    getOperation()->walk([&](FunctionOpInterface func) {
      if (func.isExternal())
        return;
      Accesses accesses(func);
      Checker checker(accesses);
      isFine &= checker.run(func.getFunctionBody());
      if (!unwritten.empty())
        for (const Root &root : checker.partlyWritten())
          fill(root, unwritten, constraint);
    });
    if (!isFine)
      signalPassFailure();
  }
};

} // namespace

} // namespace mlir::fly
