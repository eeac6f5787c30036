// The textual form of the algebra's values, read. (Each value writes itself with str().)
//
//   integer    8  -3  ?  ?{div=4}  ?{i64}  ?{i64 div=8}  *  2E1  ?{div=2}E0E1
//   tuple      8   (8,?)   (4,(2,*))
//   layout     (8,16):(1,8)
//   swizzle    S<3,4,3>      CS<3,0,[0],3,[1]>
//   composed   S<3,4,3> o 0 o (8,8):(8,1)     inner o offset o outer; an outer composed layout in
//   brackets tile       [8|64]   [8|*|(4,2):(1,8)|[2|4]]
//
// Blanks may stand between tokens, but not inside an integer with basis modes.
#pragma once

#include "layout/error.h"
#include "layout/tile.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace flydsl::layout {

/// Text that is not in the form above; `position` is the offset of the offending character.
class ParseError : public LayoutError {
public:
  ParseError(const std::string &message, size_t position)
      : LayoutError(message), position_(position) {}
  size_t position() const { return position_; }

private:
  size_t position_;
};

/// Each reads the whole text; a ParseError otherwise.
IntTuple parseIntTuple(std::string_view text);
Layout parseLayout(std::string_view text);
Swizzle parseSwizzle(std::string_view text);
CoordSwizzle parseCoordSwizzle(std::string_view text);
Tile parseTile(std::string_view text);
/// A layout, or a composed layout where there is an ` o `.
AnyLayout parseAnyLayout(std::string_view text);
/// A composed layout; a plain layout is an error.
ComposedLayout parseComposedLayout(std::string_view text);

/// Each reads one value from `position` on and leaves `position` behind it, for values inside other
/// text.
IntTuple parseIntTuple(std::string_view text, size_t &position);
Layout parseLayout(std::string_view text, size_t &position);
Swizzle parseSwizzle(std::string_view text, size_t &position);
CoordSwizzle parseCoordSwizzle(std::string_view text, size_t &position);
Tile parseTile(std::string_view text, size_t &position);
AnyLayout parseAnyLayout(std::string_view text, size_t &position);
ComposedLayout parseComposedLayout(std::string_view text, size_t &position);

} // namespace flydsl::layout
