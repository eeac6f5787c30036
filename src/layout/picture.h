// Pictures of layouts, as text and as SVG: which offset stands where, and which thread holds what.
//
// A picture is of a layout of rank 1 or 2, drawn as rows (mode 0) and columns (mode 1); nested
// modes are walked first mode fastest, and rule lines show where the outermost part of a nested
// mode begins again. Layouts of rank 1 are one row. Layouts must be static, and have at most
// kMaxPictureCells coordinates.
#pragma once

#include "layout/layout.h"

#include <cstdint>
#include <string>

namespace flydsl::layout {

inline constexpr int64_t kMaxPictureCells = 65536;

/// The layout's value at each coordinate, in columns under the mode-1 coordinate:
///
///   (2,4):(4,1)
///         0  1  2  3
///     +------------
///   0 |  0  1  2  3
///   1 |  4  5  6  7
///
/// Values that are coordinates are written as such: `(1,2)`.
std::string pictureText(const AnyLayout &layout);
/// The same as a drawing, each cell shaded by its value modulo `shades` (1 to 64): 8 shows the
/// eight values of a 16-byte line of half words, 32 or 64 the banks of a row of words.
std::string pictureSvg(const AnyLayout &layout, int shades = 8);

/// Who holds each element of a tile: `tv` maps (thread, value) to a position in a tile of `tile` =
/// (M,N), first mode fastest. Each cell says `T3 V1`; an element that several threads hold names
/// the first and how many more, one that none holds is empty.
std::string picturePartitionText(const Layout &tv, const IntTuple &tile);
/// The same as a drawing, each cell shaded by its thread modulo `shades`.
std::string picturePartitionSvg(const Layout &tv, const IntTuple &tile, int shades = 8);

} // namespace flydsl::layout
