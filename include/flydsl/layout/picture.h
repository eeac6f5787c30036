// Pictures of layouts for people: the index at each coordinate, and the thread that holds each
// element.
#pragma once

#include <flydsl/kernel/copy.h>

#include <string>

FLYDSL_NAMESPACE_BEGIN

/// Options of a picture.
struct PictureOptions {
  /// True for an SVG drawing, false for text for a terminal.
  bool svg = false;
  /// A drawing shades its cells by their number modulo this, which is 1 to 64. With 32, a layout of
  /// 32-bit words shows the banks of the LDS.
  int shades = 8;
};

/// The index at each coordinate of a layout of one or two modes. Mode 0 goes down, mode 1 goes
/// across, and a nested mode is walked first mode fastest. Throws TraceError for other ranks, for a
/// layout that is not static, and for more than 65536 coordinates.
FLYDSL_API std::string picture(const Layout &layout, const PictureOptions &options = {},
                               Loc loc = Loc::current());
FLYDSL_API std::string picture(const ComposedLayout &layout, const PictureOptions &options = {},
                               Loc loc = Loc::current());
/// The thread and the value that hold each element of a tile (M, N), written as `T3 V1`.
/// `layoutTv` maps (thread, value) to the number of an element, M fastest. A drawing is shaded by
/// thread.
FLYDSL_API std::string picture_tv(const Layout &layoutTv, const IntTuple &tile,
                                  const PictureOptions &options = {}, Loc loc = Loc::current());
/// The same for a tiled copy and its tile: the thread and the value that move each element.
FLYDSL_API std::string picture(const TiledCopy &copy, const PictureOptions &options = {},
                               Loc loc = Loc::current());

FLYDSL_NAMESPACE_END
