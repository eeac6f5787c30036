// The parameters of a function that was read from IR, and how a call's arguments become the bytes
// that they take. No MLIR is here.
#pragma once

#include <flydsl/any_arg.h>

#include <cstddef>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace flydsl::jit {

/// One parameter.
struct Parameter {
  enum class Kind {
    tensor,      ///< an address, and a packed struct of the dynamic leaves where there are any
    pointer,     ///< an address
    scalar,      ///< a number
    stream,      ///< an asynchronous token
    nothing,     ///< its type says all of it; a call passes nothing
    unsupported, ///< nothing that a call could pass
  };
  Kind kind = Kind::unsupported;
  std::string type;           ///< as the IR spells it
  DType dtype;                ///< of the elements or the number; none for a pointer to anything
  std::int64_t alignment = 1; ///< that an address must have, in bytes
  std::vector<detail::LeafType> shape, stride; ///< of a tensor, flattened

  /// Whether a call passes an argument for it.
  bool isPassed() const { return kind != Kind::nothing; }
};

/// A part of the bytes of a call's arguments that is one argument of the lowered function: an
/// address, the dynamic leaves of a tensor, a number.
struct Piece {
  std::size_t offset = 0, size = 0;
};

/// The pieces that a parameter has, the first at `offset`; none for a stream.
std::vector<Piece> piecesOf(const Parameter &parameter, std::size_t offset);

/// The arguments of one call.
struct BoundArguments {
  std::vector<std::byte> bytes;   ///< the pieces of all parameters, one behind the other
  std::vector<StreamRef> streams; ///< in the order of the parameters that are streams
};

/// Checks the arguments by the parameters. Throws TraceError, with `who`, the argument's number and
/// what was expected.
BoundArguments bind(std::span<const Parameter> parameters, std::span<const AnyArg> arguments,
                    const std::string &who, const std::source_location &where);

} // namespace flydsl::jit
