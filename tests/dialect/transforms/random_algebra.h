// Random functions of the layout algebra with dynamic numbers, and their values for given numbers.
#pragma once

#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

#include <map>
#include <random>
#include <string>
#include <vector>

namespace flydsl::test {

/// One function `(in, out)`: reads its dynamic numbers from `in`, applies an operation, and writes
/// the dynamic numbers of the result to `out`, each as 64 bits.
struct Case {
  std::string name;
  mlir::fly::AlgebraOpInterface op;              ///< the operation, until the module is lowered
  std::vector<mlir::fly::AlgebraValue> operands; ///< over symbols 0, 1, ... that number the inputs
  mlir::fly::AlgebraValue result; ///< its type's view: every dynamic number an output
  std::vector<int64_t> divisors;  ///< of the inputs
  std::vector<int64_t> largest;   ///< of the inputs, at least their divisor
  std::vector<bool> negative;     ///< whether it may be below zero too
  std::string text;               ///< the operation, for messages
};

/// Adds a function with a random operation to the module; false where the operation drawn is not
/// admissible.
bool addRandomCase(mlir::OpBuilder &builder, mlir::ModuleOp module, std::mt19937_64 &random,
                   const std::string &name, Case &result);

} // namespace flydsl::test
