// Pictures of layouts, as text and as SVG: the offset at each coordinate, and the thread that holds
// each element.
//
// A layout of rank 1 or 2 is drawn as rows (mode 0) and columns (mode 1); a layout of rank 1 is one
// row. Nested modes are walked first mode fastest, and a rule is drawn where the outermost part of
// a nested mode steps on. Layouts must be static and have at most kMaxPictureCells coordinates.
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
/// Values that are coordinates are written as coordinates: `(1,2)`.
std::string pictureText(const AnyLayout &layout);
/// The same as a drawing. Each cell is shaded by its value modulo `shades` (1 to 64): 8 shows the
/// eight values of a 16-byte line of half words, 32 or 64 show the LDS banks of a row of words.
std::string pictureSvg(const AnyLayout &layout, int shades = 8);

/// The thread and value that hold each element of a tile. `tv` maps (thread, value) to a position
/// in a tile of size `tile` = (M,N), first mode fastest. A cell is written as `T3 V1`. If several
/// threads hold an element, its cell names the first and the number of the others; if none holds
/// it, its cell is empty.
std::string picturePartitionText(const Layout &tv, const IntTuple &tile);
/// The same as a drawing. Each cell is shaded by its thread modulo `shades`.
std::string picturePartitionSvg(const Layout &tv, const IntTuple &tile, int shades = 8);

} // namespace flydsl::layout
