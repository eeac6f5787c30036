// How a trace tells the code generator that a kernel's argument is to be read again.
#pragma once

namespace flydsl::support {

/// The text of an assembly statement whose operand, an argument of the kernel, is read again where the
/// statement stands. Where it is left, it is a comment, and the operand is its result.
inline constexpr char kArgumentMark[] = "; the argument again";

} // namespace flydsl::support
