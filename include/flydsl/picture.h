// Pictures of layouts, for people: which index stands where, and which thread holds what.
#pragma once

#include <flydsl/copy.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN

/// How a picture is written.
struct PictureOptions {
  /// An SVG drawing, instead of text for a terminal.
  bool svg = false;
  /// Cells of a drawing are shaded by their number modulo this, 1 to 64: with 32 a layout of words
  /// shows the banks of the LDS.
  int shades = 8;
};

/// The index at each coordinate of a layout of one or two modes: mode 0 goes down, mode 1 across,
/// and a nested mode is walked first mode fastest. TraceError for other ranks, for what is not
/// known while tracing, and for more than 65536 coordinates.
FLYDSL_API std::string picture(const Layout &layout, const PictureOptions &options = {},
                               Loc loc = Loc::current());
FLYDSL_API std::string picture(const ComposedLayout &layout, const PictureOptions &options = {},
                               Loc loc = Loc::current());
/// The thread and the value that hold each element of a tile (M, N), as `T3 V1`; `layout_tv` maps
/// (thread, value) to an element's number, M fastest. A drawing is shaded by thread.
FLYDSL_API std::string picture_tv(const Layout &layout_tv, const IntTuple &tile,
                                  const PictureOptions &options = {}, Loc loc = Loc::current());
/// The same of a tiled copy and its tile: who moves what.
FLYDSL_API std::string picture(const TiledCopy &copy, const PictureOptions &options = {},
                               Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
