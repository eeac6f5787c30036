#include "builder/layout/own_places.h"

#include "layout/coord.h"
#include "layout/error.h"
#include "layout/make.h"
#include "layout/tuple_ops.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace flydsl::builder {

/// The extent that each number of an order is for; nothing where the two do not fit, which the
/// operation itself refuses.
static bool extentsOf(const layout::IntTuple &shape, const layout::IntTuple &order,
                      std::vector<layout::Int> &extents) {
  if (order.isLeaf()) {
    extents.push_back(layout::product(shape));
    return true;
  }
  if (shape.isLeaf() || shape.rank() != order.rank())
    return false;
  for (int i = 0; i < order.rank(); ++i)
    if (!extentsOf(shape.at(i), order.at(i), extents))
      return false;
  return true;
}

void expectDistinctOrder(const std::string &op, const layout::IntTuple &shape,
                         const layout::IntTuple &order) {
  std::vector<layout::Int> extents;
  if (!extentsOf(shape, order, extents))
    return;
  const std::vector<layout::Int> numbers = order.leaves();
  for (std::size_t i = 0; i < numbers.size(); ++i)
    for (std::size_t j = i + 1; j < numbers.size(); ++j)
      if (numbers[i].isStatic() && numbers[i] == numbers[j] && !extents[i].isStatic(1) &&
          !extents[j].isStatic(1))
        layout::fail(op, " of the shape ", shape, ": two modes have the number ", numbers[i],
                     " in the order ", order,
                     ", so their elements would share places; each mode has a number of its own");
}

void expectContiguousMode(const layout::Layout &layout, std::int64_t oldBits,
                          std::int64_t newBits) {
  if (oldBits <= 0 || newBits <= 0 || newBits >= oldBits)
    return; // the operation refuses what is no width
  const std::int64_t larger = newBits / std::gcd(oldBits, newBits);
  const std::vector<layout::Int> strides = layout::upcast(layout, larger).stride().leaves();
  if (std::ranges::none_of(strides,
                           [](const layout::Int &d) { return d.isStatic(1) || d.isStatic(-1); }))
    layout::fail("no mode of ", layout, " is known to have stride 1, so elements of ", newBits,
                 " bits would be the first part of each one alone; the mode of neighbours has a "
                 "static stride of 1 (mark_layout_dynamic(leading_dim) on an argument names it)");
}

void expectWholeElements(const layout::AnyLayout &given, std::int64_t oldBits,
                         std::int64_t newBits) {
  if (oldBits <= 0 || newBits <= 0)
    return; // the operation refuses what is no width
  const std::int64_t parts = newBits / std::gcd(oldBits, newBits);
  const auto refuse = [&](const auto &...why) {
    layout::fail(layout::str(given), " of elements of ", oldBits, " bits is recast to elements of ",
                 newBits, " bits: ", why...);
  };
  const layout::AnyLayout *plain = &given;
  while (const auto *composed = std::get_if<layout::ComposedLayout>(plain)) {
    for (const layout::Int &offset : composed->offset().leaves())
      if (!offset.isStatic(0) && !offset.isDivisibleBy(parts))
        refuse("the offset ", offset, " is not known to be a multiple of ", parts,
               "; recast the tensor before it is sliced");
    plain = &composed->outer();
  }
  const auto &own = std::get<layout::Layout>(*plain);
  const std::vector<layout::Int> shapes = own.shape().leaves(), strides = own.stride().leaves();
  std::int64_t joined = 1; // neighbours that become one element
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    const layout::Int &shape = shapes[i], &stride = strides[i];
    if (stride.isStatic(-1) && oldBits != newBits && !shape.isStatic(1))
      refuse("neighbours lie from the last to the first, and parts of an element do not");
    if (stride.hasBasis() || shape.isStatic(1) || stride.isStatic(0) || stride.isDivisibleBy(parts))
      continue; // the operation refuses strides along axes
    if (!stride.isStatic())
      refuse("the stride ", stride, " is not known to be a multiple of ", parts,
             "; one that view(type, shape, alignment) promises is");
    const std::int64_t step = std::abs(stride.value());
    if (parts % step != 0)
      refuse("a stride of ", step, " is no multiple of ", parts,
             "; recast a slice of it, or to smaller elements");
    const std::int64_t run = parts / step,
                       here = shape.isStatic() ? std::min(run, shape.value()) : run;
    if (!shape.isDivisibleBy(here))
      refuse("the extent ", shape, " is not known to be a multiple of ", here,
             ", so the last element would reach past it");
    joined *= here;
  }
  if (joined != parts)
    refuse("an element is ", parts, " neighbours, and ", joined, " of them are the tensor's");
}

} // namespace flydsl::builder
