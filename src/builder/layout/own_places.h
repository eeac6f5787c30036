// Layouts that would give several elements one place, leave out a part of each element, or take in
// what is between elements.
#pragma once

#include "layout/int_tuple.h"
#include "layout/layout.h"

#include <string>

namespace flydsl::builder {

/// Throws a LayoutError if two modes have the same number in an order: their strides would begin
/// alike, and their elements would share places. Modes of one element may have any number. `op` is
/// the operation as users call it.
void expectDistinctOrder(const std::string &op, const layout::IntTuple &shape,
                         const layout::IntTuple &order);

/// Throws a LayoutError if a layout is to be counted in smaller elements and no mode is known to
/// have stride 1, which is the mode that the parts of an element lie along. The result would have
/// the first part of each element alone, as FlyDSL's and CuTe's has.
void expectContiguousMode(const layout::Layout &layout, std::int64_t oldBits, std::int64_t newBits);

/// Throws a LayoutError if a layout is to be counted in larger elements, and an element would have
/// parts that are not the layout's: neighbours are not known to be there, or not as many as a
/// multiple of an element's parts, or other modes are not known to begin at whole elements.
void expectWholeElements(const layout::AnyLayout &layout, std::int64_t oldBits,
                         std::int64_t newBits);

} // namespace flydsl::builder
