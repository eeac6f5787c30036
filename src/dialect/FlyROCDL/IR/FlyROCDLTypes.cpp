// Registration and the generated half of FlyROCDL's types.
#include "dialect/FlyROCDL/IR/FlyROCDLDialect.h"

#include "dialect/Fly/Text/LayoutText.h"
#include "dialect/FlyROCDL/IR/MatrixInstructions.h"
#include "dialect/FlyROCDL/IR/TypeUtils.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::fly_rocdl {

using fly::parseMNKDimensionList;
using fly::printMNKDimensionList;

/// `16b`: the lexer takes the number, then the letter as a keyword.
static ParseResult parseBitCount(AsmParser &parser, int32_t &bits) {
  return failure(parser.parseInteger(bits) || parser.parseKeyword("b"));
}
static void printBitCount(AsmPrinter &printer, int32_t bits) { printer << bits << "b"; }

} // namespace mlir::fly_rocdl

#include "dialect/FlyROCDL/IR/FlyROCDLTypeInterfaces.cpp.inc"

#define GET_TYPEDEF_CLASSES
#include "dialect/FlyROCDL/IR/FlyROCDLTypes.cpp.inc"

namespace mlir::fly_rocdl {

void FlyROCDLDialect::registerTypes() {
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialect/FlyROCDL/IR/FlyROCDLTypes.cpp.inc"
      >();
}

} // namespace mlir::fly_rocdl
