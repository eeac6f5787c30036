// The arguments of a kernel, made of the bytes of a call's arguments.
#pragma once

#include "jit/binding/parameter.h"
#include "jit/code_object/code_object.h"

namespace flydsl::jit {

/// Some bytes of a kernel's argument: bytes of the call's arguments, to which a number is added
/// where they are an address; or constants.
struct ArgumentPart {
  std::size_t at = 0;               ///< in the kernel's argument
  Piece from;                       ///< in the call's bytes; of size 0 for constants
  std::int64_t offset = 0;          ///< added to an address, in bytes
  std::vector<std::byte> constants; ///< where `from` is empty
};

/// One argument of a lowered kernel.
struct KernelOperand {
  std::size_t size = 0; ///< in bytes
  std::vector<ArgumentPart> parts;
};

/// The arguments of a kernel that takes the parameters of the call as they are.
std::vector<KernelOperand> operandsOf(std::span<const Parameter> parameters);

/// How the argument buffer of a launch is made of a call's bytes: a buffer with the constants, and
/// what is copied into it.
class PackedOperands {
public:
  /// Each argument comes where the code object has it. Throws CompileError where the code object
  /// takes others.
  PackedOperands(std::span<const KernelOperand> operands, const KernelMetadata &kernel);

  std::size_t size() const { return constants_.size(); }
  /// Writes the buffer, of size() bytes.
  void fill(std::span<const std::byte> call, std::byte *buffer) const;

private:
  struct Copy {
    std::size_t at, from, size;
  };
  /// An address to which a number is added.
  struct Moved {
    std::size_t at, from;
    std::int64_t offset;
  };

  void add(const ArgumentPart &part, std::size_t at);
  void uncover(std::size_t at, std::size_t size);

  std::vector<std::byte> constants_;
  std::vector<Copy> copies_;
  std::vector<Moved> moved_;
};

} // namespace flydsl::jit
