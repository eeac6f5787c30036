// The algebra's operations by name: one row each, with what an operation takes, how optional
// operands default, and the function that it is.
//
// Whoever finds an operation by its name asks here: the Fly dialect (inference, folding and
// lowering put pointers and tensors around a row's function), the builder on values that are known
// while tracing, and fly-layout. A row's function computes with static and with dynamic values
// alike.
#pragma once

#include "layout/layout.h"
#include "layout/tile.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace flydsl::layout {

/// What an operation takes or gives. A truth value is a tuple of one leaf, 0 or 1.
using Value = std::variant<IntTuple, Layout, ComposedLayout, Tile, Swizzle, CoordSwizzle>;

/// `1:0`, `(2,3)`, `[8|64]`, ...: the value as it is written.
std::string str(const Value &value);

/// The kinds of values that stand in one place of an operation.
enum class Kind : std::uint8_t {
  tuple,          ///< a tuple of integers
  layout,         ///< a plain layout
  any_layout,     ///< a plain or composed layout
  tuple_or_any,   ///< a tuple, or a plain or composed layout
  tuple_or_plain, ///< a tuple, or a plain layout
  tiler,          ///< a plain layout or a tile
  function,       ///< a plain or composed layout, or a swizzle of either kind
  composed,       ///< a composed layout
};

/// True if a value of this kind may stand where `kind` is asked for.
bool fits(const Value &value, Kind kind);
/// "a tuple", "a layout or a tile": for messages.
std::string_view text(Kind kind);

/// The numbers that go with an operation, attributes of the operation in the IR.
enum class Numbers : std::uint8_t {
  none,
  path,  ///< a path of modes from the outside in; may be empty
  modes, ///< modes in an order
  range, ///< the first mode, and the one past the last
  rank,  ///< optional: the rank of the result
  bits,  ///< bits of the new element type, bits of the old one
};

/// What an operation's answer is.
enum class Answer : std::uint8_t {
  value, ///< a value of its own
  truth, ///< true or false
  view,  ///< the first operand with another layout: of a tensor a tensor, of a tuple a tuple
};

/// What an operation is computed from. The accessors throw LayoutError for an operand that is
/// missing or of another kind.
struct Arguments {
  std::span<const Value> values;
  std::span<const std::int32_t> numbers;

  bool has(unsigned i) const { return i < values.size(); }
  const IntTuple &tuple(unsigned i) const;
  const Layout &layout(unsigned i) const;
  AnyLayout any(unsigned i) const;
  InnerFunction function(unsigned i) const;
  const ComposedLayout &composed(unsigned i) const;
  bool isTuple(unsigned i) const;
  /// The tile in place `i`, or null where a layout stands there.
  const Tile *tile(unsigned i) const;
  ModePath path() const { return {numbers.begin(), numbers.end()}; }
  std::int32_t number(unsigned i) const;
  /// The rank that the answer is to have, -1 where none is given.
  std::int32_t rank() const { return numbers.empty() ? -1 : numbers[0]; }
};

/// One operation.
struct Operation {
  std::string_view name; ///< as the Fly dialect spells it, without its prefix
  unsigned least;        ///< operands that are always given
  unsigned most;         ///< operands at most
  std::array<Kind, 3> operands;
  Numbers numbers;
  Answer answer;
  std::string_view help; ///< what it gives, in a few words
  Value (*apply)(const Arguments &);

  /// The answer. Throws LayoutError that names the operation where operands or numbers are too few,
  /// too many or of another kind, and where the operation is not admissible.
  Value operator()(const Arguments &arguments) const;
};

/// All operations, by name in alphabetical order.
std::span<const Operation> operations();

/// The operation of that name, or null.
const Operation *findOperation(std::string_view name);

} // namespace flydsl::layout
