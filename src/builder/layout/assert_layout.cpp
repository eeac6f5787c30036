// Layouts compared as functions, coordinate by coordinate.
#include <flydsl/layout/assert_layout.h>

#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/coord.h"
#include "layout/picture.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

constexpr std::int64_t kMostCoordinates = 1 << 20;
/// The most coordinates of a layout whose picture a message shows.
constexpr std::int64_t kMostPictured = 256;

/// A static layout, and its number of coordinates.
struct Known {
  layout::AnyLayout layout;
  std::int64_t size;

  layout::IntTuple placeOf(std::int64_t position) const {
    return layout::crd2idx(layout::IntTuple(position), layout);
  }
  std::string coordinate(std::int64_t position) const {
    return layout::idx2crdColMajor(layout::IntTuple(position), layout::shapeOf(layout)).str();
  }
};

Known known(const Handle &handle, const char *what, Loc loc) {
  auto refuse = [&]() -> TraceError {
    return TraceError(std::string(what) + ": " + detail::describe(handle) +
                          " is not known while tracing; its extents and strides are host numbers "
                          "or Constexpr parameters",
                      loc);
  };
  std::optional<layout::AnyLayout> found;
  if (isTraced(handle)) {
    mlir::Type type = detail::tracedType(handle, loc);
    found = mlir::fly::getLayoutOf(type);
    auto memory = mlir::dyn_cast<mlir::fly::MemRefType>(type);
    if (found && memory && !memory.getPointerType().getSwizzle().isTrivial())
      found =
          layout::ComposedLayout(memory.getPointerType().getSwizzle(), layout::IntTuple(0), *found);
  } else if (auto *plain = hostAs<layout::Layout>(handle)) {
    found = *plain;
  } else if (auto *composed = hostAs<layout::ComposedLayout>(handle)) {
    found = *composed;
  }
  if (!found || !layout::isStatic(*found))
    throw refuse();
  const std::int64_t size = layout::size(*found).value();
  if (size > kMostCoordinates)
    throw TraceError(std::string(what) + ": " + layout::str(*found) + " has " +
                         std::to_string(size) + " coordinates; at most " +
                         std::to_string(kMostCoordinates) + " are looked at",
                     loc);
  return {*found, size};
}

/// A picture of the layout for a message; nothing for layouts that are large, or that no picture
/// shows.
std::string pictured(const Known &known) {
  const bool isDrawn = known.size <= kMostPictured && layout::rank(known.layout) <= 2;
  return "\n" + (isDrawn ? layout::pictureText(known.layout) : layout::str(known.layout));
}

/// The extents of the top-level modes.
std::vector<std::int64_t> extentsOf(const layout::AnyLayout &layout) {
  const layout::IntTuple &shape = layout::shapeOf(layout);
  std::vector<std::int64_t> extents;
  for (int i = 0; i < layout::rank(layout); ++i)
    extents.push_back(layout::product(shape.isLeaf() ? shape : shape.at(i)).value());
  return extents;
}

} // namespace

void assertSameLayout(const Handle &a, const Handle &b, Loc loc) {
  builder::layoutErrorsAt(loc, [&] {
    const Known x = known(a, "assert_same_layout", loc), y = known(b, "assert_same_layout", loc);
    const std::string both = layout::str(x.layout) + " and " + layout::str(y.layout);
    if (extentsOf(x.layout) != extentsOf(y.layout))
      throw TraceError("assert_same_layout: " + both + " have the shapes " +
                           layout::shapeOf(x.layout).str() + " and " +
                           layout::shapeOf(y.layout).str() + ", which differ",
                       loc);
    for (std::int64_t i = 0; i < x.size; ++i)
      if (const layout::IntTuple here = x.placeOf(i), there = y.placeOf(i); !(here == there))
        throw TraceError("assert_same_layout: " + both + " differ first at the coordinate " +
                             x.coordinate(i) + ", which is at " + here.str() + " in one and at " +
                             there.str() + " in the other" + pictured(x) + pictured(y),
                         loc);
  });
}

void assertInjective(const Handle &handle, Loc loc) {
  builder::layoutErrorsAt(loc, [&] {
    const Known x = known(handle, "assert_injective", loc);
    std::map<std::string, std::int64_t> tuples;
    llvm::DenseMap<std::int64_t, std::int64_t> numbers;
    for (std::int64_t i = 0; i < x.size; ++i) {
      const layout::IntTuple place = x.placeOf(i);
      const auto [first, isNew] = [&]() -> std::pair<std::int64_t, bool> {
        if (place.isLeaf() && !place.leaf().hasBasis()) {
          auto [it, inserted] = numbers.try_emplace(place.leaf().value(), i);
          return {it->second, inserted};
        }
        auto [it, inserted] = tuples.try_emplace(place.str(), i);
        return {it->second, inserted};
      }();
      if (!isNew)
        throw TraceError("assert_injective: " + layout::str(x.layout) + " puts the coordinates " +
                             x.coordinate(first) + " and " + x.coordinate(i) + " both at " +
                             place.str() + pictured(x),
                         loc);
    }
  });
}

void assertCovers(const Handle &handle, std::int64_t places, Loc loc) {
  builder::layoutErrorsAt(loc, [&] {
    const Known x = known(handle, "assert_covers", loc);
    if (places < 0 || places > kMostCoordinates)
      throw TraceError("assert_covers: " + std::to_string(places) + " places; 0 to " +
                           std::to_string(kMostCoordinates) + " can be asked for",
                       loc);
    std::vector<bool> reached(static_cast<std::size_t>(places));
    for (std::int64_t i = 0; i < x.size; ++i) {
      const layout::IntTuple place = x.placeOf(i);
      if (!place.isLeaf() || place.leaf().hasBasis())
        throw TraceError("assert_covers: the places of " + layout::str(x.layout) +
                             " are coordinates, such as " + place.str() + ", not numbers",
                         loc);
      const std::int64_t number = place.leaf().value();
      if (number < 0 || number >= places)
        throw TraceError("assert_covers: " + layout::str(x.layout) + " puts the coordinate " +
                             x.coordinate(i) + " at " + place.str() + ", outside of the " +
                             std::to_string(places) + " places" + pictured(x),
                         loc);
      reached[static_cast<std::size_t>(number)] = true;
    }
    for (std::size_t i = 0; i < reached.size(); ++i)
      if (!reached[i])
        throw TraceError("assert_covers: no coordinate of " + layout::str(x.layout) + " is at " +
                             std::to_string(i) + ", one of the " + std::to_string(places) +
                             " places" + pictured(x),
                         loc);
  });
}

} // namespace detail
FLYDSL_NAMESPACE_END
