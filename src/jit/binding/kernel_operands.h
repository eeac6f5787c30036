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

/// The argument buffer of a launch, each argument where the code object has it. Throws CompileError
/// where the code object takes others.
std::vector<std::byte> packOperands(std::span<const KernelOperand> operands,
                                    std::span<const std::byte> call, const KernelMetadata &kernel);

} // namespace flydsl::jit
