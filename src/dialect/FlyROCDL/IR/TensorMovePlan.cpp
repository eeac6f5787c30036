#include "dialect/FlyROCDL/IR/TensorMovePlan.h"

#include "layout/algebra.h"
#include "layout/checked.h"
#include "layout/error.h"
#include "layout/tuple_ops.h"

#include <algorithm>
#include <optional>

namespace mlir::fly_rocdl {

using namespace flydsl::layout;
using flydsl::layout::fail;

namespace {

/// A mode of the tensor without further nesting, by its number from the left.
struct Leaf {
  Int shape, stride;
  bool isUsed = false;
  /// Nothing moves along a mode of one element, or one whose elements are the same.
  bool isFixed() const { return shape.isStatic(1) || stride.isStatic(0); }
};

/// A dimension of the box, with the modes that make it up and a step's length along it for each.
struct Dimension {
  int64_t extent = 1;
  Int stride; ///< in global memory
  std::vector<std::pair<size_t, int64_t>> parts;
};

std::vector<Leaf> leavesOf(const Layout &layout) {
  std::vector<Leaf> leaves;
  const std::vector<Int> shapes = layout.shape().leaves(), strides = layout.stride().leaves();
  for (size_t i = 0; i < shapes.size(); ++i)
    leaves.push_back({shapes[i], strides[i]});
  return leaves;
}

void checkTiler(const Tile &tiler) {
  for (int i = 0; i < tiler.rank() && tiler.isList(); ++i)
    checkTiler(tiler.at(i));
  if (tiler.isLayout() || tiler.isWildcard() || (tiler.isInt() && !tiler.asInt().isStatic()))
    fail("expected a tiler of numbers, found ", tiler);
}

/// From the tile's index to the tensor's modes, as multiples of their axes.
Layout tileValues(const Layout &tensor, const Tile &tiler) {
  checkTiler(tiler);
  if (tiler.isList() && (tensor.isLeaf() || tiler.rank() > tensor.rank()))
    fail("the tiler ", tiler, " has more modes than the tensor ", tensor);
  int32_t next = 0;
  const IntTuple axes =
      tensor.shape().mapLeaves([&](const Int &) { return Int(1).withBasis({next++}); });
  const Layout tile = composition(Layout(tensor.shape(), axes), tiler);
  // Modes past those of the tiler take no part.
  return tiler.isList() && tile.rank() > tiler.rank() ? take(tile, 0, tiler.rank()) : tile;
}

struct LdsOrder {
  Layout toTile; ///< from the place in LDS, gaps left out, to the tile's index
  int64_t padInterval = 0, padAmount = 0;
};

LdsOrder orderInLds(const Layout &lds) {
  if (!lds.isStatic())
    fail("the LDS tile must be static, not ", lds);
  struct Mode {
    int64_t shape, stride, inTile;
  };
  std::vector<Mode> modes;
  int64_t size = 1;
  for (const Leaf &leaf : leavesOf(lds)) {
    if (leaf.shape.value() > 1)
      modes.push_back({leaf.shape.value(), leaf.stride.value(), size});
    size = checkedMul(size, leaf.shape.value());
  }
  std::sort(modes.begin(), modes.end(),
            [](const Mode &a, const Mode &b) { return a.stride < b.stride; });
  LdsOrder order;
  std::vector<IntTuple> shapes, strides;
  int64_t passed = 1;
  for (const Mode &mode : modes) {
    if (mode.stride <= 0)
      fail("the mover walks LDS once; the LDS tile ", lds, " has a mode of stride ", mode.stride);
    if (passed == 1 && mode.stride != 1)
      fail("the LDS tile must be contiguous along its fastest mode, but the smallest stride of ",
           lds, " is ", mode.stride);
    if (order.padInterval == 0 && mode.stride > passed) {
      order.padInterval = passed;
      order.padAmount = mode.stride - passed;
    }
    const int64_t expected =
        order.padInterval ? passed / order.padInterval * (order.padInterval + order.padAmount)
                          : passed;
    if (mode.stride != expected)
      fail("the mover leaves one gap every so many elements; the LDS tile ", lds,
           " does not lie so: expected stride ", expected, ", found ", mode.stride);
    shapes.emplace_back(mode.shape);
    strides.emplace_back(mode.inTile);
    passed = checkedMul(passed, mode.shape);
  }
  if (!shapes.empty())
    order.toTile = Layout(IntTuple::unwrapped(shapes), IntTuple::unwrapped(strides));
  return order;
}

/// The dimensions of the tile's box, innermost first.
std::vector<Dimension> boxOf(const Layout &values, const LdsOrder &order,
                             std::vector<Leaf> &leaves) {
  std::vector<Dimension> box;
  const Layout walked = coalesce(composition(values, order.toTile));
  for (const Leaf &mode : leavesOf(walked)) {
    const int64_t extent = mode.shape.value();
    if (extent == 1)
      continue;
    // A walk that begins in the middle of a mode is one of further boxes.
    if (mode.stride.basis().empty() || mode.stride.value() != 1)
      break;
    const auto number = static_cast<size_t>(mode.stride.basis().front());
    Leaf &leaf = leaves[number];
    if (leaf.isUsed)
      break;
    leaf.isUsed = true;
    if (!box.empty() && box.back().stride.isStatic() && leaf.stride.isStatic() &&
        leaf.stride.value() == checkedMul(box.back().stride.value(), box.back().extent) &&
        checkedMul(box.back().extent, extent) <= kMaxBoxExtent) {
      box.back().parts.emplace_back(number, box.back().extent);
      box.back().extent *= extent;
      continue;
    }
    box.push_back({extent, leaf.stride, {{number, 1}}});
  }
  if (box.empty() && product(values.shape()).value() != 1)
    fail("the LDS tile and the tile of the tensor have no common run to begin with; does the tiler "
         "leave out the tensor's contiguous mode?");
  return box;
}

/// The outermost dimensions are shared first, so that what a wave gets lies in one piece.
void share(std::vector<Dimension> &box, int64_t waves) {
  for (auto dimension = box.rbegin(); dimension != box.rend() && waves > 1; ++dimension) {
    const int64_t extent = dimension->extent;
    if (extent % waves == 0) {
      dimension->extent = extent / waves;
      return;
    }
    if (waves % extent != 0)
      break;
    dimension->extent = 1;
    waves /= extent;
  }
  if (waves > 1)
    fail("the waves can't share the tile in equal boxes");
}

} // namespace

TensorMovePlan planTensorMove(const Layout &tensor, const Layout &lds, const Tile &tiler,
                              int64_t waves) {
  std::vector<Leaf> leaves = leavesOf(tensor);
  if (leaves.size() > size_t(kMaxBoxRank))
    fail("the data mover moves tensors of rank 1 to ", kMaxBoxRank, ", not ", leaves.size());
  if (waves < 1)
    fail("expected a positive number of waves, found ", waves);
  const Layout values = tileValues(tensor, tiler);
  const int64_t elements = product(values.shape()).value(), room = product(lds.shape()).value();
  if (elements != room)
    fail("the tiler takes ", elements, " elements, but the LDS tile holds ", room);
  const LdsOrder order = orderInLds(lds);
  std::vector<Dimension> box = boxOf(values, order, leaves);

  // Modes that the tile does not move along get dimensions of one element: the contiguous one, if
  // the box needs it, innermost, and all others outermost.
  if (box.empty() || !box.front().stride.isStatic(1))
    for (size_t i = 0; i < leaves.size(); ++i)
      if (!leaves[i].isUsed && !leaves[i].isFixed() && leaves[i].stride.isStatic(1)) {
        leaves[i].isUsed = true;
        box.insert(box.begin(), {1, leaves[i].stride, {{i, 1}}});
        break;
      }
  if (box.empty() || !box.front().stride.isStatic(1))
    fail("the innermost dimension must be contiguous in global memory; the LDS tile ", lds,
         " begins with another mode of the tensor ", tensor, " than that of stride 1");
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!leaves[i].isUsed && !leaves[i].isFixed())
      box.push_back({1, leaves[i].stride, {{i, 1}}});

  for (const Dimension &dimension : box)
    if (dimension.extent > kMaxBoxExtent)
      fail("a box has at most ", kMaxBoxExtent, " elements along a dimension, not ",
           dimension.extent);
  share(box, waves);

  TensorMovePlan plan;
  plan.padInterval = order.padInterval;
  plan.padAmount = order.padAmount;
  std::vector<Int> modes(leaves.size(), Int(0));
  const auto rank = static_cast<int32_t>(box.size());
  int64_t moved = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    const Dimension &dimension = box[size_t(i)];
    plan.box.push_back(static_cast<int32_t>(dimension.extent));
    moved = checkedMul(moved, dimension.extent);
    for (auto [leaf, step] : dimension.parts)
      modes[leaf] = Int(step).withBasis({rank - 1 - i});
  }
  size_t next = 0;
  plan.modes = tensor.shape().mapLeaves([&](const Int &) { return modes[next++]; });
  if (plan.padInterval & (plan.padInterval - 1))
    fail("gaps come every power of two of elements, not every ", plan.padInterval);
  if (plan.padInterval && moved % plan.padInterval != 0)
    fail("the box of a wave, ", moved, " elements, must be whole intervals of padding, of ",
         plan.padInterval);
  return plan;
}

Layout boxesOfWaves(const Layout &lds, int64_t box, int64_t waves) {
  const LdsOrder order = orderInLds(lds);
  const int64_t elements = product(lds.shape()).value(), turn = checkedMul(box, waves);
  if (elements % turn != 0)
    fail("a tile of ", elements, " elements is no whole number of boxes of ", box, " for each of ",
         waves, " waves");
  const IntTuple shape =
      IntTuple::tuple({IntTuple(box), IntTuple(waves), IntTuple(elements / turn)});
  const IntTuple stride = IntTuple::tuple({IntTuple(1), IntTuple(box), IntTuple(turn)});
  return composition(order.toTile, Layout(shape, stride));
}

} // namespace mlir::fly_rocdl
