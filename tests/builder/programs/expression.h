// Programs of a kernel as trees, which are traced on one side and computed on the host on the other.
#pragma once

#include <flydsl/dtype.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace programs {

using flydsl::DType;
using Kind = DType::Kind;

enum class Op {
  input,    ///< column `number` of the thread's row, converted
  constant, ///< `number`, or `real`
  add,
  sub,
  mul,
  div, ///< towards zero; the divisor is neither 0 nor -1
  rem, ///< of div
  floorDiv,
  ceilDiv, ///< the divisor is positive
  bitAnd,
  bitOr,
  bitXor,
  shl, ///< by the second operand, modulo the width
  shr,
  min,
  max,
  less,    ///< a Boolean
  select,  ///< of a Boolean and two values
  branch,  ///< the same by fx::if_
  convert, ///< a float to an integer that it fits
  bitcast,
  neg,
  bitNot,
  abs,
  ctlz,
  cttz,
  ctpop,
  fma,
  floor,
  vector,  ///< element `operands[0]` modulo 4 of a sum, difference or product (op `number`) of two
           ///< vectors of 4, whose elements are the other operands
  element, ///< of a vector of constants, at the operand modulo 8
  loop, ///< a variable with a first value, the number of turns modulo 8, and its value after a turn
  variable, ///< of loop `number`, in its body
  turn,     ///< the number of the turn
};

struct Expression;
using Node = std::shared_ptr<const Expression>;

struct Expression {
  Op op;
  Kind kind; ///< the element type of the value; operands of other types are converted
  std::vector<Node> operands;
  std::int64_t number = 0;
  double real = 0;
};

inline bool isFloat(Kind kind) { return DType(kind).is_float(); }
inline int bitsOf(Kind kind) { return DType(kind).bits(); }

/// The numbers that op `element` chooses among.
constexpr std::int64_t kElements[8] = {3, -7, 11, 0, 120, -128, 64, 1};
/// The columns of a thread's row.
constexpr int kInputs = 4;
using Row = std::vector<std::int64_t>;

/// The element type in which two operands of an operator are computed (flydsl::Numeric).
Kind commonOf(Kind a, Kind b);

/// A value of any type: integers in `number`, with their sign, floats in `real`.
struct Value {
  std::int64_t number = 0;
  double real = 0;
};
/// What a program computes of one row, by the meaning that the documentation gives the operators. None
/// if an operation has no meaning for its operands: a division by 0, the bits of a NaN.
std::optional<Value> valueOf(const Node &program, const Row &row);
/// A number rounded to nearest even.
double rounded(long double value, Kind kind);
/// The lower bits of a number, with the sign of the type.
std::int64_t wrapped(std::int64_t value, Kind kind);

} // namespace programs
