// C++ does not evaluate the right side of && if the left side is false. When a kernel is traced both
// sides have been traced by the time the operator sees them, so what belongs to the right side is
// moved into a branch afterwards. Which operations those are is told by three means:
//
// - The left side is an expression that stands before the right side on its line. C++ evaluates it
//   before the right side, so all that was traced after it is the right side's.
// - The left side is an expression some lines above. Its operation may then be older than the
//   expression (a function may return a value that was made before), so what was traced since is
//   moved only if nothing in it writes: a read that is moved gives the same value.
// - Else the operations on the line of the right side, from its column on, are the right side's.
//
// A value that was moved and is used after the branch was not made for the right side alone. Its
// operations then go back to where they were (Values::use).
#include "builder/values/short_circuit.h"

#include "dialect/Fly/IR/FlyOps.h"
#include "dialect/Fly/Interfaces/VendorInterface.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace flydsl::builder {

namespace fly = mlir::fly;

namespace {

/// An expression that is written over several lines has its left side at most so many lines above
/// the right one.
constexpr unsigned kMostLines = 4;

mlir::FileLineColLoc placeOfOperation(mlir::Operation *op) {
  return op->getLoc()->findInstanceOf<mlir::FileLineColLoc>();
}

/// Where the left side's operation stands, seen from the right side.
enum class LeftStands { before, above, elsewhere };

LeftStands standsOf(mlir::Operation *left, Loc loc) {
  const mlir::FileLineColLoc place = placeOfOperation(left);
  if (!place || !loc.line() || place.getFilename() != loc.file_name() ||
      place.getLine() > loc.line() || loc.line() - place.getLine() > kMostLines)
    return LeftStands::elsewhere;
  // In a macro's argument all operations have one line and column.
  return place.getLine() == loc.line() && place.getColumn() < loc.column() ? LeftStands::before
                                                                           : LeftStands::above;
}

/// Whether the operation stands at `loc` or behind it on its line.
bool standsOnLine(mlir::Operation *op, Loc loc) {
  const mlir::FileLineColLoc place = placeOfOperation(op);
  return place && loc.line() && place.getFilename() == loc.file_name() &&
         place.getLine() == loc.line() && place.getColumn() >= loc.column();
}

bool isRegister(mlir::Value memory) {
  const mlir::Type type = memory.getType();
  if (auto view = mlir::dyn_cast<fly::MemRefType>(type))
    return view.isIn(fly::AddressSpace::Register);
  if (auto pointer = mlir::dyn_cast<fly::PointerType>(type))
    return pointer.isIn(fly::AddressSpace::Register);
  return false;
}

struct Effects {
  bool accesses = false; ///< reads or writes memory that other threads may see
  bool writes = false;   ///< writes memory of any kind, or what it does is not known
  bool areOfOneLane = true;
};

void addEffects(mlir::Operation *op, Effects &sum) {
  auto effects = mlir::dyn_cast<mlir::MemoryEffectOpInterface>(op);
  if (!effects) {
    const bool isKnown =
        op->getNumRegions() != 0 || mlir::isPure(op) || op->hasTrait<mlir::OpTrait::IsTerminator>();
    const bool onlyReads = fly::vendorOperation(op).onlyReads;
    sum.accesses |= !isKnown;
    sum.writes |= !isKnown && !onlyReads;
    return;
  }
  llvm::SmallVector<mlir::MemoryEffects::EffectInstance> all;
  effects.getEffects(all);
  for (const mlir::MemoryEffects::EffectInstance &effect : all) {
    const bool writes = mlir::isa<mlir::MemoryEffects::Write>(effect.getEffect());
    if (!writes && !mlir::isa<mlir::MemoryEffects::Read>(effect.getEffect()))
      continue;
    sum.writes |= writes;
    sum.accesses |= !(effect.getValue() && isRegister(effect.getValue()));
  }
}

/// Whether a lane does the operation by itself, whatever the other lanes do.
bool isOfOneLane(mlir::Operation *op) {
  if (mlir::isa<mlir::LLVM::InlineAsmOp, mlir::LLVM::CallOp, mlir::LLVM::CallIntrinsicOp>(op))
    return false;
  if (fly::vendorOperation(op).isOfOneLane)
    return true;
  return mlir::isa<mlir::arith::ArithDialect, mlir::math::MathDialect, mlir::vector::VectorDialect,
                   mlir::scf::SCFDialect, mlir::LLVM::LLVMDialect, fly::FlyDialect>(
             op->getDialect()) &&
         !mlir::isa<fly::MmaAtomCallOp, fly::GemmOp>(op);
}

Effects effectsOf(llvm::ArrayRef<mlir::Operation *> operations) {
  Effects sum;
  for (mlir::Operation *op : operations)
    op->walk([&](mlir::Operation *inner) {
      addEffects(inner, sum);
      sum.areOfOneLane &= isOfOneLane(inner);
    });
  return sum;
}

/// The operations from `end` backwards as long as `goesOn` holds, those of them that `counts`.
template <class GoesOn, class Counts>
llvm::SmallVector<mlir::Operation *> collect(mlir::Operation *end, GoesOn goesOn, Counts counts) {
  llvm::SmallVector<mlir::Operation *> found;
  for (mlir::Operation *op = end; op && (!counts(op) || goesOn(op)); op = op->getPrevNode())
    if (counts(op))
      found.push_back(op);
  return found;
}

} // namespace

std::optional<mlir::Value> shortCircuit(Tracer &t, const BothSides &sides, bool isAnd, Loc loc) {
  mlir::OpBuilder &builder = t.builder();
  mlir::Block *block = builder.getInsertionBlock();
  if (block->empty() || builder.getInsertionPoint() != block->end())
    return std::nullopt;
  mlir::Operation *right = sides.right.getDefiningOp(), *left = sides.left.getDefiningOp(),
                  *truth = sides.truth.getDefiningOp(), *end = &block->back();
  if (!right || right->getBlock() != block)
    return std::nullopt;

  const LeftStands stands = sides.leftIsOwn && left && left->getBlock() == block && left != end
                                ? standsOf(left, loc)
                                : LeftStands::elsewhere;
  // The left side's truth is made when the right side was there.
  const auto ofRight = [&](mlir::Operation *op) { return op != truth || op == left; };
  llvm::SmallVector<mlir::Operation *> moved;
  if (stands != LeftStands::elsewhere)
    moved = collect(end, [&](mlir::Operation *op) { return op != left; }, ofRight);
  if (stands == LeftStands::elsewhere || (stands == LeftStands::above && effectsOf(moved).writes)) {
    moved = collect(end, [&](mlir::Operation *op) { return standsOnLine(op, loc); }, ofRight);
    // In a macro's argument all operations have one column, which tells nothing.
    if (llvm::all_of(moved, [&](mlir::Operation *op) {
          return placeOfOperation(op).getColumn() == loc.column();
        }))
      return std::nullopt;
  }
  const Effects effects = effectsOf(moved);
  if (!effects.accesses || !effects.areOfOneLane || !llvm::is_contained(moved, right))
    return std::nullopt;
  const llvm::SmallPtrSet<mlir::Operation *, 16> inside(moved.begin(), moved.end());
  for (mlir::Operation *op : moved)
    for (mlir::Operation *user : op->getUsers())
      if (!inside.contains(block->findAncestorOpInBlock(*user)))
        return std::nullopt;

  auto branch = mlir::scf::IfOp::create(builder, t.ir.location(loc),
                                        mlir::TypeRange(sides.right.getType()), sides.truth,
                                        /*addThenBlock=*/true, /*addElseBlock=*/true);
  mlir::Block *evaluated = isAnd ? branch.thenBlock() : branch.elseBlock();
  mlir::Block *decided = isAnd ? branch.elseBlock() : branch.thenBlock();
  mlir::Value known = t.ir.constant(isAnd ? 0 : 1, boolean, loc);
  for (mlir::Operation *op : moved)
    op->moveBefore(evaluated, evaluated->begin());
  mlir::OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(evaluated);
  mlir::scf::YieldOp::create(builder, branch.getLoc(), sides.right);
  builder.setInsertionPointToEnd(decided);
  mlir::scf::YieldOp::create(builder, branch.getLoc(), known);
  t.values.noteShortCircuit(branch);
  return branch.getResult(0);
}

} // namespace flydsl::builder
