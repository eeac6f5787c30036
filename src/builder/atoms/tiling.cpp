#include "builder/atoms/tiling.h"

#include "builder/atoms/specs.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "dialect/Fly/IR/FlyTypes.h"
#include "layout/coord.h"
#include "layout/tile.h"

#include <algorithm>

namespace flydsl::builder {

namespace fly = mlir::fly;

namespace {

/// The thread index that a tuple is, without any arithmetic: 0 for x, 1 for y, 2 for z; -1 for what
/// is none.
int plainThreadIndex(const detail::Handle &thread) {
  const detail::HostContent *host = thread.node()->host();
  const detail::LazyIndex *index = detail::hostAs<detail::LazyIndex>(thread);
  if (host && host->leaves.size() == 1 && host->leaves[0].part < 0)
    index = detail::hostAs<detail::LazyIndex>(host->leaves[0].value);
  if (!index || index->kind != detail::LazyIndex::Kind::thread)
    return -1;
  return static_cast<int>(index->dimension);
}

std::optional<layout::Layout> plainLayout(const Tracer *running, const Value &value, Loc loc) {
  detail::HostValue view = hostView(running, value.handle(), loc);
  auto *plain = std::get_if<layout::Layout>(&view);
  return plain ? std::optional(*plain) : std::nullopt;
}

/// Whether all coordinates have different indices.
bool isInjective(const layout::Layout &layout) {
  const std::int64_t size = layout::size(layout).value();
  std::vector<std::int64_t> seen;
  for (std::int64_t i = 0; i < size; ++i)
    seen.push_back(layout::crd2idx(layout::IntTuple(i), layout).leaf().value());
  std::sort(seen.begin(), seen.end());
  return std::adjacent_find(seen.begin(), seen.end()) == seen.end();
}

} // namespace

void expectThread(Tracer *running, const char *what, const detail::Handle &thread,
                  std::int64_t threads, Loc loc) {
  detail::HostValue view = hostView(running, thread, loc);
  if (auto *tuple = std::get_if<layout::IntTuple>(&view); tuple && tuple->isLeaf()) {
    const layout::Int &leaf = tuple->leaf();
    if (leaf.isStatic() && !leaf.hasBasis() && (leaf.value() < 0 || leaf.value() >= threads))
      throw TraceError("thread " + leaf.str() + " of " + what + " of " + std::to_string(threads) +
                           " threads, whose first is 0",
                       loc);
  }
  const int dimension = plainThreadIndex(thread);
  if (dimension < 0 || !running || !running->kernel.knowsBlock())
    return;
  const std::int64_t given = running->kernel.blockSize(static_cast<unsigned>(dimension));
  // A branch or a loop that not all take may be that of the threads that have a part.
  if (given == threads || (given > threads && running->arrivals.mayLackThreads()))
    return;
  const std::string index = std::string("thread_idx().") + static_cast<char>('x' + dimension);
  const std::string wanted = std::to_string(threads);
  throw TraceError(
      std::string(what) + " of " + wanted + " threads is sliced by " + index + " in a block of " +
          std::to_string(given) +
          (given < threads
               ? ": the parts of the others would be left out; launch with .block = " + wanted +
                     ", or make it of fewer threads (.threads() tells)"
               : ": the others would work past the tile; launch with .block = " + wanted +
                     ", slice by " + index + " % " + wanted +
                     ", or take the slice inside fx::if_(" + index + " < " + wanted + ", ...)"),
      loc);
}

void expectCounting(const char *what, const layout::Layout &layout, Loc loc) {
  layoutErrorsAt(loc, [&] {
    if (layout::cosize(layout) == layout::size(layout) && isInjective(layout))
      return;
    throw TraceError(std::string(what) + " are counted from 0 without gaps, unlike those of " +
                         layout.str() + "; fx::make_ordered_layout makes such a layout of a shape",
                     loc);
  });
}

void expectTiling(const Tracer *running, const CopyAtom &atom, const Layout &layoutTV,
                  const Tile &tile, Loc loc) {
  std::optional<layout::Layout> tv = plainLayout(running, layoutTV, loc);
  auto type = mlir::dyn_cast<fly::CopyAtomType>(atomType(running, atom.handle(), loc));
  detail::HostValue tileView = hostView(running, tile.handle(), loc);
  auto *sizes = std::get_if<layout::Tile>(&tileView);
  if (!tv || tv->rank() != 2 || !type || !sizes ||
      mlir::cast<fly::CopyOpTypeInterface>(type.getCopyOp()).isWholeTileCopy())
    return; // the type's own verifier speaks, or the instruction takes any tile
  layoutErrorsAt(loc, [&] {
    const layout::Layout ref = type.getThrValLayoutRef();
    for (int mode : {0, 1}) {
      const layout::Int given = layout::size(tv->at(mode)), wanted = layout::size(ref.at(mode));
      if (given.value() % wanted.value() != 0)
        throw TraceError(std::string("a tiled copy of ") + tv->str() + " over " + sizes->str() +
                             " gives " + given.str() + (mode ? " values to a thread" : " threads") +
                             ", no whole number of " + wanted.str() +
                             " that one call of the atom takes (" + typeText(type) + "); " +
                             (mode ? "more values a thread, or a narrower atom" : "more threads"),
                         loc);
    }
    const layout::Int reach = layout::cosize(*tv),
                      elements = layout::product(layout::sizesOf(*sizes));
    if (reach.value() > elements.value())
      throw TraceError("threads and values of a tiled copy, " + tv->str() + ", reach element " +
                           std::to_string(reach.value() - 1) + " of the tile " + sizes->str() +
                           ", which has " + elements.str(),
                       loc);
  });
}

void expectTiling(const Tracer *running, const MmaAtom &atom, const Layout &atoms,
                  const Tile &permutation, Loc loc) {
  std::optional<layout::Layout> counted = plainLayout(running, atoms, loc);
  auto type = mlir::dyn_cast<fly::MmaAtomType>(atomType(running, atom.handle(), loc));
  detail::HostValue tileView = hostView(running, permutation.handle(), loc);
  auto *modes = std::get_if<layout::Tile>(&tileView);
  if (!counted || counted->rank() != 3 || !type)
    return; // the type's own verifier speaks
  layoutErrorsAt(loc, [&] {
    if (!isInjective(*counted))
      throw TraceError("the layout of a tiled mma's atoms, " + counted->str() +
                           ", gives two atoms to the same threads; each atom has a number of its "
                           "own (a stride of 0 is for a mode of one atom)",
                       loc);
    for (int i = 0; modes && i < std::min(modes->rank(), 3); ++i) {
      if (modes->at(i).isWildcard())
        continue;
      const layout::Int given = layout::product(layout::sizesOf(modes->at(i))),
                        unit = layout::product(type.getShapeMNK().at(i)) *
                               layout::size(counted->at(i));
      if (given.value() % unit.value() != 0)
        throw TraceError("mode " + std::string(1, "MNK"[i]) + " of the permutation " +
                             modes->str() + " has " + given.str() +
                             " elements, no whole number of " + unit.str() + ", which the atoms " +
                             counted->str() + " of " + type.getShapeMNK().str() + " cover together",
                         loc);
    }
  });
}

} // namespace flydsl::builder
