// Reads the textual form of the algebra's values. (Each value writes itself with str().)
//
//   integer    8  -3  ?  ?{div=4}  ?{i64}  ?{i64 div=8}  *  2E1  ?{div=2}E0E1
//   tuple      8   (8,?)   (4,(2,*))
//   layout     (8,16):(1,8)
//   swizzle    S<3,4,3>      CS<3,0,[0],3,[1]>
//   composed   S<3,4,3> o 0 o (8,8):(8,1)     inner o offset o outer; a composed outer layout
//                                             stands in square brackets
//   tile       [8|64]   [8|*|(4,2):(1,8)|[2|4]]
//
// Blanks may stand between tokens, but not inside an integer with basis modes.
#pragma once

#include "layout/error.h"
#include "layout/tile.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace flydsl::layout {

/// The text does not have the form above; `position` is the offset of the offending character.
class ParseError : public LayoutError {
public:
  ParseError(const std::string &message, size_t position)
      : LayoutError(message), position_(position) {}
  size_t position() const { return position_; }

private:
  size_t position_;
};

/// Each of these reads the whole text; it throws a ParseError if the text has another form.
IntTuple parseIntTuple(std::string_view text);
Layout parseLayout(std::string_view text);
Swizzle parseSwizzle(std::string_view text);
CoordSwizzle parseCoordSwizzle(std::string_view text);
Tile parseTile(std::string_view text);
/// Reads a composed layout if there is an ` o `, otherwise a layout.
AnyLayout parseAnyLayout(std::string_view text);
/// Reads a composed layout; a plain layout is an error.
ComposedLayout parseComposedLayout(std::string_view text);

/// Each of these reads one value that starts at `position` and moves `position` past it; they are
/// for values inside other text.
IntTuple parseIntTuple(std::string_view text, size_t &position);
Layout parseLayout(std::string_view text, size_t &position);
Swizzle parseSwizzle(std::string_view text, size_t &position);
CoordSwizzle parseCoordSwizzle(std::string_view text, size_t &position);
Tile parseTile(std::string_view text, size_t &position);
AnyLayout parseAnyLayout(std::string_view text, size_t &position);
ComposedLayout parseComposedLayout(std::string_view text, size_t &position);

} // namespace flydsl::layout
