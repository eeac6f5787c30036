// Reads values of the algebra inside MLIR's text. layout/text.h does the reading: it starts in
// MLIR's buffer at the parser's current token, and the parser is then moved to where it stopped.
#pragma once

#include "layout/layout.h"
#include "layout/tile.h"

#include "mlir/IR/OpImplementation.h"

namespace mlir::fly {

/// Each function reads one value at the current token. A malformed value is reported at the
/// character that is wrong.
FailureOr<flydsl::layout::IntTuple> parseIntTuple(AsmParser &parser);
FailureOr<flydsl::layout::Layout> parseLayout(AsmParser &parser);
FailureOr<flydsl::layout::ComposedLayout> parseComposedLayout(AsmParser &parser);
FailureOr<flydsl::layout::AnyLayout> parseAnyLayout(AsmParser &parser);
FailureOr<flydsl::layout::Tile> parseTile(AsmParser &parser);
FailureOr<flydsl::layout::Swizzle> parseSwizzle(AsmParser &parser);
FailureOr<flydsl::layout::CoordSwizzle> parseCoordSwizzle(AsmParser &parser);

/// `MxNxK`, three positive numbers.
ParseResult parseMNKDimensionList(AsmParser &parser, int32_t &m, int32_t &n, int32_t &k);
void printMNKDimensionList(AsmPrinter &printer, int32_t m, int32_t n, int32_t k);

} // namespace mlir::fly
