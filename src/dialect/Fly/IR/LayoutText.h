// The algebra's textual form inside MLIR's. There is one reader of it, layout/text.h; here it reads
// from MLIR's buffer at the parser's token, and the parser's tokens are then taken up to where it
// stopped.
#pragma once

#include "layout/layout.h"
#include "layout/tile.h"

#include "mlir/IR/OpImplementation.h"

namespace mlir::fly {

/// Each reads one value at the current token; a malformed one is reported where it goes wrong.
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
