// Random programs, and smaller ones that are wrong as well.
#pragma once

#include "expression.h"

#include <cstdint>
#include <functional>
#include <random>
#include <string>

namespace programs {

using Random = std::mt19937_64;

/// A program of an element type, of at most `depth` operators one after another.
Node randomProgram(Random &random, int depth);
/// Rows of numbers of all magnitudes and both signs.
std::vector<Row> randomRows(Random &random, int count);

/// The smallest program that `isWrong` and that is found by putting operands and constants in the places
/// of operators.
Node smallest(Node program, const std::function<bool(const Node &)> &isWrong);
/// The program, an operator in each line, its operands below it.
std::string text(const Node &program);

} // namespace programs
