#include <flydsl/layout/picture.h>

#include "builder/trace/layout_errors.h"
#include "builder/trace/node.h"
#include "layout/picture.h"

FLYDSL_NAMESPACE_BEGIN
namespace {

/// The layout of a handle of type T. TraceError where it is not static.
template <class T> const T &staticOf(const detail::Handle &handle, const char *what, Loc loc) {
  const T *value = detail::hostAs<T>(handle);
  if (!value)
    throw TraceError(std::string("a picture of ") + what + " that is not known while tracing", loc);
  return *value;
}

std::string pictureOf(const layout::AnyLayout &layout, const PictureOptions &options, Loc loc) {
  return builder::layoutErrorsAt(loc, [&] {
    return options.svg ? layout::pictureSvg(layout, options.shades) : layout::pictureText(layout);
  });
}

} // namespace

std::string picture(const Layout &layout, const PictureOptions &options, Loc loc) {
  return pictureOf(staticOf<layout::Layout>(layout.handle(), "a layout", loc), options, loc);
}
std::string picture(const ComposedLayout &layout, const PictureOptions &options, Loc loc) {
  return pictureOf(staticOf<layout::ComposedLayout>(layout.handle(), "a layout", loc), options,
                   loc);
}
std::string picture_tv(const Layout &layoutTv, const IntTuple &tile, const PictureOptions &options,
                       Loc loc) {
  const auto &tv = staticOf<layout::Layout>(layoutTv.handle(), "a layout", loc);
  const auto &shape = staticOf<layout::IntTuple>(tile.handle(), "a tile", loc);
  return builder::layoutErrorsAt(loc, [&] {
    return options.svg ? layout::picturePartitionSvg(tv, shape, options.shades)
                       : layout::picturePartitionText(tv, shape);
  });
}
std::string picture(const TiledCopy &copy, const PictureOptions &options, Loc loc) {
  const Tile tile = copy.tile_mn(loc);
  return picture_tv(copy.layout_tv_tiled(loc), {size(tile[0], loc), size(tile[1], loc)}, options,
                    loc);
}

FLYDSL_NAMESPACE_END
