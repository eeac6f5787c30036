// The parameters of a function that was read from IR, and how a call's arguments become the bytes
// that they take. No MLIR is here.
#pragma once

#include <flydsl/host/any_arg.h>

#include <cstddef>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
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

/// The parameters of a function, and what follows from them for all of its calls.
struct Signature {
  Signature() = default;
  explicit Signature(std::vector<Parameter> parameters);

  /// False where a call is refused whatever it passes.
  bool canBeCalled() const;

  std::vector<Parameter> parameters;
  std::size_t passed = 0;           ///< how many arguments a call passes
  std::size_t bytes = 0;            ///< of the pieces of all parameters, one behind the other
  std::vector<std::size_t> streams; ///< which of the arguments are streams
};

/// Bytes of one call: on its stack, unless they are many. Behind them is room for a word, so that
/// the last of them may be written with it.
class CallBytes {
public:
  explicit CallBytes(std::size_t size) : size_(size) {
    if (size + 8 > sizeof near_) [[unlikely]]
      far_ = std::make_unique<std::byte[]>(size + 8);
  }
  std::byte *data() { return far_ ? far_.get() : near_; }
  std::span<const std::byte> bytes() const { return {far_ ? far_.get() : near_, size_}; }

private:
  std::size_t size_;
  std::unique_ptr<std::byte[]> far_;
  alignas(16) std::byte near_[1024];
};

/// Checks the arguments by the parameters, and writes the `signature.bytes` bytes that they have,
/// and into the eight bytes behind them. Throws TraceError, with `who`, the argument's number and
/// what was expected.
void bind(const Signature &signature, std::span<const AnyArg> arguments, std::byte *into,
          std::string_view who, const std::source_location &where);

} // namespace flydsl::jit
