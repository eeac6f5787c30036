// The operands of matrix products.
#include "builder/atoms/atom_operands.h"
#include "builder/trace/types.h"

#include "dialect/Fly/Transforms/AtomCalls.h"
#include "layout/coord.h"
#include "layout/error.h"

namespace flydsl::builder {

namespace fly = mlir::fly;
using fly::MemRefType;

fly::GemmTraversalOrder orderOf(GemmTraversalOrder order) {
  using To = fly::GemmTraversalOrder;
  switch (order) {
  case GemmTraversalOrder::KMN:
    return To::KMN;
  case GemmTraversalOrder::KNM:
    return To::KNM;
  case GemmTraversalOrder::MKN:
    return To::MKN;
  case GemmTraversalOrder::MNK:
    return To::MNK;
  case GemmTraversalOrder::NKM:
    return To::NKM;
  case GemmTraversalOrder::NMK:
    return To::NMK;
  case GemmTraversalOrder::KMN_Serpentine:
    return To::KMN_Serpentine;
  case GemmTraversalOrder::KNM_Serpentine:
    return To::KNM_Serpentine;
  case GemmTraversalOrder::MKN_Serpentine:
    return To::MKN_Serpentine;
  case GemmTraversalOrder::MNK_Serpentine:
    return To::MNK_Serpentine;
  case GemmTraversalOrder::NKM_Serpentine:
    return To::NKM_Serpentine;
  case GemmTraversalOrder::NMK_Serpentine:
    return To::NMK_Serpentine;
  }
  llvm_unreachable("an order");
}

fly::MmaOperand operandOf(MmaOperand operand) {
  switch (operand) {
  case MmaOperand::A:
    return fly::MmaOperand::A;
  case MmaOperand::B:
    return fly::MmaOperand::B;
  case MmaOperand::C:
    return fly::MmaOperand::C;
  case MmaOperand::D:
    return fly::MmaOperand::D;
  }
  llvm_unreachable("an operand");
}

namespace {

/// One operand, and what it is to the user.
struct Operand {
  fly::MmaOperand which;
  const char *name;
  const Tensor &tensor;
};

class Product {
public:
  explicit Product(const MmaCheck &check) : check_(check), loc_(check.loc) {
    auto tiled = mlir::dyn_cast<fly::TiledMmaType>(check.atom);
    atom_ = tiled ? tiled.getMmaAtom() : mlir::dyn_cast<fly::MmaAtomType>(check.atom);
    if (!atom_)
      throw TraceError("expected an mma atom or a tiled mma, got " + typeText(check.atom), loc_);
  }

  void expectFits() {
    const Operand operands[] = {{fly::MmaOperand::D, "D", check_.d},
                                {fly::MmaOperand::A, "A", check_.a},
                                {fly::MmaOperand::B, "B", check_.b},
                                {fly::MmaOperand::C, "C", check_.c}};
    for (const Operand &operand : operands)
      expectFragment(operand);
    const fly::MmaOperands whole{valueOf(check_.d), valueOf(check_.a), valueOf(check_.b),
                                 valueOf(check_.c)};
    if (!check_.options)
      return expectValues(whole);
    expectCalls(whole);
  }

private:
  [[noreturn]] void refuse(const std::string &why) const {
    throw TraceError(std::string(check_.options ? "gemm" : "mma_atom_call") + " of D " +
                         check_.d.str() + ", A " + check_.a.str() + ", B " + check_.b.str() +
                         ", C " + check_.c.str() + ": " + why,
                     loc_);
  }

  MemRefType typeOf(const Tensor &tensor) const {
    return mlir::dyn_cast<MemRefType>(tracedType(&check_.tracer, tensor.handle(), loc_));
  }
  fly::MemRefValue valueOf(const Tensor &tensor) const {
    MemRefType type = typeOf(tensor);
    return {fly::PointerValue{type.getPointerType()}, type.getLayout()};
  }

  /// Registers, with elements of the instruction's type.
  void expectFragment(const Operand &operand) const {
    const std::string name = operand.name;
    MemRefType type = typeOf(operand.tensor);
    if (!type || !type.isIn(fly::AddressSpace::Register))
      refuse(name + " is no fragment in registers; make_fragment_" + (name == "D" ? "C" : name) +
             " makes one, fx::copy fills it or takes it to memory");
    mlir::Type expected = atom_.getValType(operand.which);
    if (type.getElemTy() != expected)
      refuse("the atom " + typeText(atom_.getMmaOp()) + " takes " + name + " of " +
             typeText(expected) + ", not of " + typeText(type.getElemTy()) +
             "; load, convert with .to(...) and store, or recast the fragment's pointer where the "
             "bits are the instruction's");
  }

  void expectCalls(const fly::MmaOperands &whole) const {
    const GemmOptions &options = *check_.options;
    std::optional<fly::GemmTraversalOrder> order;
    if (options.order)
      order = orderOf(*options.order);
    detail::HostValue view;
    if (options.traversal_layout) {
      view = hostView(&check_.tracer, options.traversal_layout->handle(), loc_);
      if (!std::holds_alternative<layout::Layout>(view))
        refuse("a traversal layout is known while tracing, unlike " +
               options.traversal_layout->str());
    }
    try {
      (void)fly::forEachCall(whole, order, std::get_if<layout::Layout>(&view),
                             [&](const fly::MmaOperands &call, fly::MmaParts, bool) {
                               expectValues(call);
                               return mlir::failure(); // the others are like it
                             });
    } catch (const layout::LayoutError &e) {
      refuse(e.what());
    }
  }

  /// A call's fragments have the values of the instruction.
  void expectValues(const fly::MmaOperands &call) const {
    const std::tuple<fly::MmaOperand, const char *, const fly::MemRefValue *> parts[] = {
        {fly::MmaOperand::D, "D", &call.d},
        {fly::MmaOperand::A, "A", &call.a},
        {fly::MmaOperand::B, "B", &call.b},
        {fly::MmaOperand::C, "C", &call.c}};
    for (const auto &[which, name, part] : parts) {
      const layout::Int values = layout::size(atom_.getThrValLayout(which).at(1)),
                        given = layout::size(part->layout);
      if (!(values == given))
        refuse("a thread has " + values.str() + " values of " + name + " in one call of " +
               typeText(atom_.getMmaOp()) + ", but " + name + " has " + given.str() +
               " in its mode 0; make_fragment_" +
               (which == fly::MmaOperand::D ? "C" : std::string(name)) + " makes the fragment");
    }
  }

  const MmaCheck &check_;
  Loc loc_;
  fly::MmaAtomType atom_;
};

} // namespace

void MmaCheck::expectFits() const { Product(*this).expectFits(); }

} // namespace flydsl::builder
