#include "builder/layout/algebra_ops.h"

#include "dialect/Fly/IR/FlyOps.h"

namespace flydsl::builder {

namespace fly = mlir::fly;
using detail::AlgebraOp;

namespace {

/// The numbers as the attributes of an operation; fly::detail::numbersOf reads them back.
template <class Op> PropertiesOf<Op> propertiesOf(IrBuilder &ir, llvm::ArrayRef<int> numbers) {
  PropertiesOf<Op> p;
  mlir::OpBuilder &b = ir.builder();
  auto number = [&](unsigned i) { return b.getI32IntegerAttr(numbers[i]); };
  if constexpr (requires { p.mode; }) {
    p.mode = b.getDenseI32ArrayAttr(numbers);
  } else if constexpr (requires { p.indices; }) {
    p.indices = b.getDenseI32ArrayAttr(numbers);
  } else if constexpr (requires {
                         p.begin;
                         p.end;
                       }) {
    p.begin = number(0);
    p.end = number(1);
  } else if constexpr (requires {
                         p.new_type_bits;
                         p.old_type_bits;
                       }) {
    p.new_type_bits = number(0);
    p.old_type_bits = number(1);
  } else if constexpr (requires { p.n; }) {
    if (!numbers.empty())
      p.n = number(0);
  }
  return p;
}

template <class Op>
mlir::Type infer(IrBuilder &ir, Loc loc, mlir::ValueRange operands, llvm::ArrayRef<int> numbers) {
  return ir.infer<Op>(loc, operands, propertiesOf<Op>(ir, numbers)).front();
}

template <class Op>
mlir::Value emit(IrBuilder &ir, Loc loc, mlir::Type type, mlir::ValueRange operands,
                 llvm::ArrayRef<int> numbers) {
  return ir.emitAs<Op>(loc, type, operands, propertiesOf<Op>(ir, numbers));
}

/// An operation on an iterator.
template <class Op> const AlgebraRow &onIterators() {
  static const AlgebraRow row{Op::getOperationName(), nullptr, &infer<Op>, &emit<Op>};
  return row;
}

/// An operation that has a row of the same name in the registry.
template <class Op> const AlgebraRow &registered() {
  static const AlgebraRow row{Op::getOperationName(), &fly::detail::rowOf(Op::getOperationName()),
                              &infer<Op>, &emit<Op>};
  return row;
}

} // namespace

const AlgebraRow &rowOf(AlgebraOp op) {
  switch (op) {
  case AlgebraOp::add_offset:
    return onIterators<fly::AddOffsetOp>();
  case AlgebraOp::append:
    return registered<fly::AppendOp>();
  case AlgebraOp::blocked_product:
    return registered<fly::BlockedProductOp>();
  case AlgebraOp::ceil_div:
    return registered<fly::CeilDivOp>();
  case AlgebraOp::coalesce:
    return registered<fly::CoalesceOp>();
  case AlgebraOp::complement:
    return registered<fly::ComplementOp>();
  case AlgebraOp::composed_get_offset:
    return registered<fly::ComposedGetOffsetOp>();
  case AlgebraOp::composed_get_outer:
    return registered<fly::ComposedGetOuterOp>();
  case AlgebraOp::composition:
    return registered<fly::CompositionOp>();
  case AlgebraOp::coprofile:
    return registered<fly::CoprofileOp>();
  case AlgebraOp::coshape:
    return registered<fly::CoshapeOp>();
  case AlgebraOp::cosize:
    return registered<fly::CosizeOp>();
  case AlgebraOp::crd2idx:
    return registered<fly::Crd2IdxOp>();
  case AlgebraOp::dice:
    return registered<fly::DiceOp>();
  case AlgebraOp::flat_divide:
    return registered<fly::FlatDivideOp>();
  case AlgebraOp::flat_product:
    return registered<fly::FlatProductOp>();
  case AlgebraOp::get:
    return registered<fly::GetOp>();
  case AlgebraOp::get_1d_coord:
    return registered<fly::Get1DCoordOp>();
  case AlgebraOp::get_flat_coord:
    return registered<fly::GetFlatCoordOp>();
  case AlgebraOp::get_iter:
    return onIterators<fly::GetIterOp>();
  case AlgebraOp::get_layout:
    return registered<fly::GetLayoutOp>();
  case AlgebraOp::get_shape:
    return registered<fly::GetShapeOp>();
  case AlgebraOp::get_stride:
    return registered<fly::GetStrideOp>();
  case AlgebraOp::group:
    return registered<fly::GroupOp>();
  case AlgebraOp::idx2crd:
    return registered<fly::Idx2CrdOp>();
  case AlgebraOp::int_tuple_add:
    return registered<fly::IntTupleAddOp>();
  case AlgebraOp::int_tuple_div:
    return registered<fly::IntTupleDivOp>();
  case AlgebraOp::int_tuple_mod:
    return registered<fly::IntTupleModOp>();
  case AlgebraOp::int_tuple_mul:
    return registered<fly::IntTupleMulOp>();
  case AlgebraOp::int_tuple_product:
    return registered<fly::IntTupleProductOp>();
  case AlgebraOp::int_tuple_product_each:
    return registered<fly::IntTupleProductEachOp>();
  case AlgebraOp::int_tuple_product_like:
    return registered<fly::IntTupleProductLikeOp>();
  case AlgebraOp::int_tuple_sub:
    return registered<fly::IntTupleSubOp>();
  case AlgebraOp::left_inverse:
    return registered<fly::LeftInverseOp>();
  case AlgebraOp::logical_divide:
    return registered<fly::LogicalDivideOp>();
  case AlgebraOp::logical_product:
    return registered<fly::LogicalProductOp>();
  case AlgebraOp::make_composed_layout:
    return registered<fly::MakeComposedLayoutOp>();
  case AlgebraOp::make_identity_layout:
    return registered<fly::MakeIdentityLayoutOp>();
  case AlgebraOp::make_layout:
    return registered<fly::MakeLayoutOp>();
  case AlgebraOp::make_layout_like:
    return registered<fly::MakeLayoutLikeOp>();
  case AlgebraOp::make_ordered_layout:
    return registered<fly::MakeOrderedLayoutOp>();
  case AlgebraOp::make_view:
    return onIterators<fly::MakeViewOp>();
  case AlgebraOp::prepend:
    return registered<fly::PrependOp>();
  case AlgebraOp::raked_product:
    return registered<fly::RakedProductOp>();
  case AlgebraOp::recast_layout:
    return registered<fly::RecastLayoutOp>();
  case AlgebraOp::right_inverse:
    return registered<fly::RightInverseOp>();
  case AlgebraOp::select:
    return registered<fly::SelectOp>();
  case AlgebraOp::shape_div:
    return registered<fly::ShapeDivOp>();
  case AlgebraOp::size:
    return registered<fly::SizeOp>();
  case AlgebraOp::slice:
    return registered<fly::SliceOp>();
  case AlgebraOp::take:
    return registered<fly::TakeOp>();
  case AlgebraOp::tile_to_shape:
    return registered<fly::TileToShapeOp>();
  case AlgebraOp::tiled_divide:
    return registered<fly::TiledDivideOp>();
  case AlgebraOp::tiled_product:
    return registered<fly::TiledProductOp>();
  case AlgebraOp::zipped_divide:
    return registered<fly::ZippedDivideOp>();
  case AlgebraOp::zipped_product:
    return registered<fly::ZippedProductOp>();
  }
  llvm_unreachable("an operation of the algebra");
}

} // namespace flydsl::builder
