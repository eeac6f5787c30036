#include "dialect/Fly/Text/LayoutText.h"

#include "layout/text.h"

namespace layout = flydsl::layout;

namespace mlir::fly {

/// From `start` to the `>` that closes what `start` stands in. MLIR's buffers end in a zero.
static std::string_view enclosedText(const char *start) {
  const char *end = start;
  for (int depth = 0; *end != 0; ++end) {
    if (*end == '<')
      ++depth;
    else if (*end == '>' && depth-- == 0)
      break;
  }
  return {start, static_cast<size_t>(end - start)};
}

/// Takes one token of those that the algebra's text is made of.
static bool takeToken(AsmParser &parser) {
  int64_t number;
  if (auto parsed = parser.parseOptionalInteger(number); parsed.has_value())
    return succeeded(*parsed);
  StringRef keyword;
  return succeeded(parser.parseOptionalComma()) || succeeded(parser.parseOptionalLParen()) ||
         succeeded(parser.parseOptionalRParen()) || succeeded(parser.parseOptionalColon()) ||
         succeeded(parser.parseOptionalQuestion()) || succeeded(parser.parseOptionalStar()) ||
         succeeded(parser.parseOptionalKeyword(&keyword)) ||
         succeeded(parser.parseOptionalLBrace()) || succeeded(parser.parseOptionalRBrace()) ||
         succeeded(parser.parseOptionalEqual()) || succeeded(parser.parseOptionalLSquare()) ||
         succeeded(parser.parseOptionalRSquare()) || succeeded(parser.parseOptionalVerticalBar()) ||
         succeeded(parser.parseOptionalLess()) || succeeded(parser.parseOptionalGreater());
}

/// The reader quotes the whole text; a diagnostic shows the place anyway.
static std::string shortened(std::string message) {
  constexpr size_t kLongest = 300;
  if (message.size() > kLongest)
    message.replace(kLongest, std::string::npos, "...");
  return message;
}

template <class T>
static FailureOr<T> parseValue(AsmParser &parser, T (*read)(std::string_view, size_t &)) {
  SMLoc loc = parser.getCurrentLocation();
  std::string_view text = enclosedText(loc.getPointer());
  size_t length = 0;
  std::optional<T> value;
  try {
    value = read(text, length);
  } catch (const layout::ParseError &error) {
    parser.emitError(SMLoc::getFromPointer(loc.getPointer() + error.position()),
                     shortened(error.what()));
    return failure();
  } catch (const layout::LayoutError &error) {
    parser.emitError(loc, shortened(error.what()));
    return failure();
  }
  const char *end = loc.getPointer() + length;
  const char *last = loc.getPointer();
  while (last < end) {
    if (!takeToken(parser) || parser.getCurrentLocation().getPointer() <= last) {
      parser.emitError(parser.getCurrentLocation(), "unexpected token in a layout");
      return failure();
    }
    last = parser.getCurrentLocation().getPointer();
  }
  return *value;
}

FailureOr<layout::IntTuple> parseIntTuple(AsmParser &parser) {
  return parseValue<layout::IntTuple>(parser, &layout::parseIntTuple);
}
FailureOr<layout::Layout> parseLayout(AsmParser &parser) {
  return parseValue<layout::Layout>(parser, &layout::parseLayout);
}
FailureOr<layout::ComposedLayout> parseComposedLayout(AsmParser &parser) {
  return parseValue<layout::ComposedLayout>(parser, &layout::parseComposedLayout);
}
FailureOr<layout::AnyLayout> parseAnyLayout(AsmParser &parser) {
  return parseValue<layout::AnyLayout>(parser, &layout::parseAnyLayout);
}
FailureOr<layout::Tile> parseTile(AsmParser &parser) {
  return parseValue<layout::Tile>(parser, &layout::parseTile);
}
FailureOr<layout::Swizzle> parseSwizzle(AsmParser &parser) {
  return parseValue<layout::Swizzle>(parser, &layout::parseSwizzle);
}
FailureOr<layout::CoordSwizzle> parseCoordSwizzle(AsmParser &parser) {
  return parseValue<layout::CoordSwizzle>(parser, &layout::parseCoordSwizzle);
}

ParseResult parseMNKDimensionList(AsmParser &parser, int32_t &m, int32_t &n, int32_t &k) {
  SMLoc loc = parser.getCurrentLocation();
  SmallVector<int64_t, 3> dims;
  if (parser.parseDimensionList(dims, /*allowDynamic=*/false, /*withTrailingX=*/false))
    return failure();
  if (dims.size() != 3)
    return parser.emitError(loc, "expected the three sizes MxNxK, found ") << dims.size();
  for (int64_t dim : dims)
    if (dim < 1 || dim > (1 << 20))
      return parser.emitError(loc, "a size of MxNxK is from 1 to 1048576, not ") << dim;
  m = static_cast<int32_t>(dims[0]);
  n = static_cast<int32_t>(dims[1]);
  k = static_cast<int32_t>(dims[2]);
  return success();
}

void printMNKDimensionList(AsmPrinter &printer, int32_t m, int32_t n, int32_t k) {
  printer << m << "x" << n << "x" << k;
}

} // namespace mlir::fly
