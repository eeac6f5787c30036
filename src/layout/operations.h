// The operations of the algebra by name. There is one row per operation: its operands, the defaults
// of optional operands, and its function.
//
// All code that finds an operation by its name uses this table: the Fly dialect (for inference,
// folding and lowering, which extend a row's function to pointers and tensors), the builder (for
// values that are known while tracing), and fly-layout. A row's function computes with static and
// with dynamic values alike.
#pragma once

#include "layout/layout.h"
#include "layout/tile.h"

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

namespace flydsl::layout {

/// An operand or result of an operation. A truth value is a tuple of one leaf, 0 or 1.
using Value = std::variant<IntTuple, Layout, ComposedLayout, Tile, Swizzle, CoordSwizzle>;

/// The value as text: `1:0`, `(2,3)`, `[8|64]`, ...
std::string str(const Value &value);

/// The kinds of values that an operand may have.
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

/// True if a value may be an operand of kind `kind`.
bool fits(const Value &value, Kind kind);
/// The kind as text for messages: "a tuple", "a layout or a tile".
std::string_view text(Kind kind);

/// The kinds of numbers that an operation takes beside its operands; they are attributes of the
/// operation in the IR.
enum class Numbers : std::uint8_t {
  none,
  path,  ///< a path of modes from the outside in; may be empty
  modes, ///< modes in an order
  range, ///< the first mode, and the one past the last
  rank,  ///< optional: the rank of the result
  bits,  ///< bits of the new element type, bits of the old one
};

/// The kinds of results.
enum class Answer : std::uint8_t {
  value, ///< a new value
  truth, ///< true or false
  view,  ///< the first operand with another layout: a tensor gives a tensor, a tuple a tuple
};

/// What is checked of a user's call beside the kinds of its operands, because there may be memory
/// behind them. The algebra itself goes on past a layout's end, in the last mode.
enum class Bounds : std::uint8_t {
  none,
  coordinate, ///< operand 0 is a coordinate inside the shape of operand 1
  slice,      ///< operand 1 is a coordinate inside the shape of operand 0
  index,      ///< operand 0 is an index of operand 1, a layout
  tile,       ///< operand 1 divides operand 0 into whole tiles
};

/// The arguments of an operation. The accessors throw LayoutError for an operand that is missing or
/// has another kind.
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
  /// The tile at place `i`, or null if a layout is there.
  const Tile *tile(unsigned i) const;
  ModePath path() const { return {numbers.begin(), numbers.end()}; }
  std::int32_t number(unsigned i) const;
  /// The rank that the result is to have; -1 if none is given.
  std::int32_t rank() const { return numbers.empty() ? -1 : numbers[0]; }
};

/// One operation.
struct Operation {
  std::string_view name; ///< as the Fly dialect spells it, without its prefix
  unsigned least;        ///< the number of required operands
  unsigned most;         ///< the largest number of operands
  std::array<Kind, 3> operands;
  Numbers numbers;
  Answer answer;
  std::string_view help; ///< the result, in a few words
  Value (*apply)(const Arguments &);
  Bounds bounds = Bounds::none;

  /// Computes the result. Throws LayoutError that names the operation if operands or numbers are
  /// too few, too many or of another kind, and if the operation is not admissible.
  Value operator()(const Arguments &arguments) const;
};

/// All operations, by name in alphabetical order.
std::span<const Operation> operations();

/// The operation of that name, or null.
const Operation *findOperation(std::string_view name);

} // namespace flydsl::layout
