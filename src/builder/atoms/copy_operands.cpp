// The operands of copies.
#include "builder/atoms/atom_operands.h"
#include "builder/trace/types.h"

#include "dialect/Fly/Interfaces/VendorInterface.h"
#include "dialect/Fly/Transforms/AtomCalls.h"
#include "layout/algebra.h"
#include "layout/coord.h"
#include "layout/error.h"

namespace flydsl::builder {

namespace fly = mlir::fly;
using fly::MemRefType;

namespace {

/// Memories by name: "shared memory or global memory".
std::string textOf(mlir::ArrayRef<mlir::Attribute> spaces) {
  std::string text;
  for (mlir::Attribute space : spaces) {
    text += (text.empty() ? "" : " or ") +
            mlir::cast<fly::AddressSpaceInterface>(space).getMemoryName().str();
    if (const auto *vendor = fly::VendorInterface::of(space))
      if (const std::string origin = vendor->originOf(space); !origin.empty())
        text += " (" + origin + ")";
  }
  return text;
}

/// The routes of an instruction: "registers to shared memory, or from ...".
std::string textOf(mlir::ArrayRef<fly::CopyRoute> routes) {
  std::string text;
  for (const fly::CopyRoute &route : routes)
    text += (text.empty() ? "" : ", or from ") + textOf(route.from) + " to " + textOf(route.to);
  return text;
}

MemRefType memoryOf(const Tracer &tracer, const Tensor &tensor, const char *name, Loc loc) {
  if (auto type = mlir::dyn_cast<MemRefType>(tracedType(&tracer, tensor.handle(), loc)))
    return type;
  throw TraceError("the " + std::string(name) + " of a copy is memory, not " + tensor.str(), loc);
}

fly::MemRefValue valueOf(MemRefType type) {
  return {fly::PointerValue{type.getPointerType()}, type.getLayout()};
}

enum class Side { source, destination };

/// The copy in progress.
class Copy {
public:
  explicit Copy(const CopyCheck &check)
      : check_(check), loc_(check.loc),
        src_(memoryOf(check.tracer, check.source, "source", check.loc)),
        dst_(memoryOf(check.tracer, check.destination, "destination", check.loc)) {
    auto tiled = mlir::dyn_cast<fly::TiledCopyType>(check.atom);
    atom_ = tiled ? tiled.getCopyAtom() : mlir::dyn_cast<fly::CopyAtomType>(check.atom);
    if (!atom_)
      throw TraceError("expected a copy atom or a tiled copy, got " + typeText(check.atom), loc_);
  }

  void expectFits() {
    expectTypes();
    expectPlaces();
    if (check_.pred && check_.pred->dtype(loc_) != boolean)
      refuse("a predicate is of fx::boolean, not of " +
             std::string(check_.pred->dtype(loc_).name()) + "; compare to get one (x < n)");
    if (check_.calls == CopyCheck::Calls::all)
      expectCalls();
    else
      expectOneCall();
  }

private:
  [[noreturn]] void refuse(const std::string &why) const {
    const std::string name = check_.calls == CopyCheck::Calls::all ? "copy" : "copy_atom_call";
    throw TraceError(name + " from " + check_.source.str() + " to " + check_.destination.str() +
                         ": " + why,
                     loc_);
  }

  template <class Fn> auto inAlgebra(Fn fn) const {
    try {
      return fn();
    } catch (const layout::LayoutError &e) {
      refuse(e.what());
    }
  }

  /// Both sides hold elements of one type; integers of one width, whatever their sign, count as
  /// one.
  void expectTypes() const {
    const DType given = check_.source.dtype(loc_), taken = check_.destination.dtype(loc_);
    if (given.ir_name() != taken.ir_name())
      refuse(
          "a copy does not convert " + std::string(given.name()) + " to " +
          std::string(taken.name()) +
          "; load, convert with .to(...) and store, or recast one side's pointer to move the bits");
    if (check_.values && check_.values.bits() != given.bits())
      refuse("the atom was made for " + std::string(check_.values.name()) + ", whose width of " +
             std::to_string(check_.values.bits()) + " bits is not that of " +
             std::string(given.name()) +
             "; fx::make_copy_atom(op, fx::" + std::string(given.name()) + ") makes one for it");
    const auto instruction = mlir::cast<fly::CopyOpTypeInterface>(atom_.getCopyOp());
    const fly::AtomicOpAttr op = instruction.getAtomicOp();
    if (!op)
      return;
    if (instruction.getValType() != src_.getElemTy())
      refuse("the atomic of the atom is one of " + typeText(instruction.getValType()) +
             ", not of " + std::string(given.name()));
    const bool compares =
        op.getValue() == fly::AtomicOp::Max || op.getValue() == fly::AtomicOp::Min;
    if (compares && taken.is_integer() && !taken.is_signed())
      refuse("an atomic atom compares integers as signed ones, not as " +
             std::string(taken.name()) + "; fx::atomic compares unsigned ones");
  }

  void expectPlaces() const {
    const auto instruction = mlir::cast<fly::CopyOpTypeInterface>(atom_.getCopyOp());
    if (!fly::copiesBetween(instruction, src_, dst_))
      refuse("the atom " + typeText(instruction) + " copies from " +
             textOf(instruction.getRoutes()));
    const auto universal = mlir::dyn_cast<fly::CopyOpUniversalCopyType>(instruction);
    if (universal && universal.getNontemporal() && !isGlobal(src_) && !isGlobal(dst_))
      refuse(
          "a copy that is not temporal reads or writes global memory; shared memory and registers "
          "are no caches, and of buffers fx::rocdl::BufferCopy(bits, "
          "fx::CachePolicy::non_temporal) copies");
    if (!universal && src_.getElemTy().isInteger(1))
      refuse("the atom " + typeText(instruction) +
             " can't copy truth values, which have a byte each; fx::UniversalCopy(8) does");
  }

  static bool isGlobal(MemRefType type) {
    return type.isIn(fly::AddressSpace::Global) || type.isIn(fly::AddressSpace::Generic);
  }

  /// One call of the atom: registers hold its values, memory is where they begin.
  void expectOneCall() const {
    if (isWhole())
      return expectRows();
    const std::int64_t values =
        inAlgebra([&] { return fly::elementsPerCall(atom_, src_.getElemTy()); });
    for (const auto &[type, name] : {std::pair(src_, "source"), std::pair(dst_, "destination")}) {
      layout::Int size = layout::size(type.getLayout());
      if (!size.isStatic(values))
        refuse("one call of the atom moves " + std::to_string(values) + " elements, the " + name +
               " has " + size.str() + "; fx::copy calls it as often as it takes");
    }
    if (check_.pred && !layout::size(*fly::getLayoutOf(predType())).isStatic(1))
      refuse("one call takes one predicate, not " + check_.pred->str());
    expectNeighbours(valueOf(src_), Side::source);
    expectNeighbours(valueOf(dst_), Side::destination);
  }

  /// As many calls as it takes: all are like the first.
  void expectCalls() const {
    if (isWhole())
      return expectRows();
    const int rank = check_.source.rank(loc_), other = check_.destination.rank(loc_);
    if (rank != other)
      refuse("the sides differ in rank, " + std::to_string(rank) + " and " + std::to_string(other));
    const layout::Int from = layout::size(src_.getLayout()), to = layout::size(dst_.getLayout());
    if (!from.isStatic() || !to.isStatic())
      refuse("a copy is unrolled, so both shapes are known while tracing; take a tile of the side "
             "whose shape is not (fx::zipped_divide, partition_S)");
    if (!(from == to))
      refuse("the sides differ in elements, " + from.str() + " and " + to.str());
    fly::CopyOperands whole{valueOf(src_), valueOf(dst_), std::nullopt};
    if (check_.pred)
      whole.pred = valueOf(predType());
    // What the walk gives is the failure that ends it at the first call.
    inAlgebra([&] {
      (void)fly::forEachCall(atom_, whole, fly::OneElement::IsTooFew,
                             [&](const fly::CopyOperands &call) {
                               expectNeighbours(call.src, Side::source);
                               expectNeighbours(call.dst, Side::destination);
                               return mlir::failure(); // the others are like it
                             });
    });
  }

  MemRefType predType() const { return memoryOf(check_.tracer, *check_.pred, "predicate", loc_); }

  bool isWhole() const {
    return mlir::cast<fly::CopyOpTypeInterface>(atom_.getCopyOp()).isWholeTileCopy();
  }

  static bool isOne(const layout::IntTuple &stride) { return stride.isLeaf(1); }

  /// The values of one call lie beside one another in memory. (Registers are gathered from wherever
  /// they are.)
  void expectNeighbours(const fly::MemRefValue &part, Side side) const {
    const char *name = side == Side::source ? "source" : "destination";
    layout::Layout linear = layout::outermost(part.layout);
    const layout::Int values = layout::size(linear);
    if (!values.isStatic() || values.value() <= 1)
      return;
    if (part.getType().isIn(fly::AddressSpace::Register)) {
      if (side == Side::destination && linear.stride().isLeaf(0))
        refuse("the " + values.str() +
               " values of one call have one register in the destination's "
               "mode 0, " +
               linear.str());
      return;
    }
    if (!linear.isLeaf())
      linear = layout::coalesce(linear);
    const std::string what = "an atom that copies " + values.str() +
                             " elements at once takes neighbours, but ",
                      modeZero = "those of the " + std::string(name) + "'s mode 0, " + linear.str();
    const std::string narrower = "a narrower atom (" +
                                 std::to_string(src_.getElemTy().getIntOrFloatBitWidth()) +
                                 " bits) copies them one by one";
    if (!isOne(linear.stride())) {
      const bool dynamic = linear.stride().isLeaf() && linear.stride().leaf().isDynamic();
      if (!dynamic)
        refuse(what + modeZero + ", are not contiguous; " + narrower);
      refuse(what + modeZero +
             ", have a stride that only the launch knows. If it is 1, say so: "
             "mark_layout_dynamic(leading_dim) on the argument names the mode whose stride is 1, "
             "mark_layout_static compiles all strides in, fx::make_layout takes a static stride; " +
             narrower);
    }
    if (!fly::isLinear(part, values.value()).value_or(false))
      refuse(what + "it is not known that " + modeZero + ", stay together in " +
             layout::str(part.layout) + "; " + narrower);
  }

  /// The tensor mover takes rows of neighbours.
  void expectRows() const {
    for (const auto &[type, name] : {std::pair(src_, "source"), std::pair(dst_, "destination")}) {
      if (type.isIn(fly::AddressSpace::Shared))
        continue;
      layout::Layout linear = layout::outermost(type.getLayout());
      layout::Layout row = linear.at(linear.rank() - 1);
      if (!row.shape().isLeaf(1) && !isOne(row.stride()))
        refuse("the tensor mover takes rows of neighbours, but the stride of the " +
               std::string(name) + "'s last mode, " + row.str() +
               ", is not known to be 1; mark_layout_dynamic(leading_dim) on the argument names the "
               "mode whose stride is 1");
    }
  }

  const CopyCheck &check_;
  Loc loc_;
  MemRefType src_, dst_;
  fly::CopyAtomType atom_;
};

} // namespace

void CopyCheck::expectFits() const { Copy(*this).expectFits(); }

} // namespace flydsl::builder
