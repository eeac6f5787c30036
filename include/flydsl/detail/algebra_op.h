// The operations of the layout algebra, by which the functions of layout.h and tensor.h name them.
#pragma once

#include <flydsl/detail/handle.h>

#include <initializer_list>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// An operation of the algebra. Each enumerator has the name of its operation in the IR.
enum class AlgebraOp : std::uint8_t {
  add_offset,
  append,
  blocked_product,
  ceil_div,
  coalesce,
  complement,
  composed_get_offset,
  composed_get_outer,
  composition,
  coprofile,
  coshape,
  cosize,
  crd2idx,
  dice,
  flat_divide,
  flat_product,
  get,
  get_1d_coord,
  get_flat_coord,
  get_iter,
  get_layout,
  get_shape,
  get_stride,
  group,
  idx2crd,
  int_tuple_add,
  int_tuple_div,
  int_tuple_mod,
  int_tuple_mul,
  int_tuple_product,
  int_tuple_product_each,
  int_tuple_product_like,
  int_tuple_sub,
  left_inverse,
  logical_divide,
  logical_product,
  make_composed_layout,
  make_identity_layout,
  make_layout,
  make_layout_like,
  make_ordered_layout,
  make_view,
  prepend,
  raked_product,
  recast_layout,
  right_inverse,
  select,
  shape_div,
  size,
  slice,
  take,
  tile_to_shape,
  tiled_divide,
  tiled_product,
  zipped_divide,
  zipped_product,
};

/// Applies one operation of the algebra. It is evaluated if all operands are static, and traced
/// otherwise. `numbers` are its attributes (modes, a range, bit widths).
FLYDSL_API Handle algebra(AlgebraOp op, std::initializer_list<const Handle *> operands, Loc loc,
                          std::initializer_list<int> numbers = {});

} // namespace detail
FLYDSL_NAMESPACE_END
