// MLIR bytecode of unknown origin. MLIR's reader trusts what it reads, and damaged bytecode makes
// it write where it must not; so another process reads it and hands over text.
#pragma once

#include <string>
#include <string_view>

namespace flydsl::jit {

/// The module in `bytecode` as text, with its locations, read and verified by fly-opt: the one that
/// is installed with this library (in `bin` beside `lib`, or in the library's own folder). Throws
/// CompileError, with `name`, for what is no module, crashes the reader, takes longer than
/// `timeoutSeconds` (0: no limit), or where there is no fly-opt.
std::string bytecodeAsText(std::string_view bytecode, const std::string &name,
                           unsigned timeoutSeconds);

/// A module as readModule may read it in this process: bytecode that is not `trusted` as text, by
/// bytecodeAsText, and all else as it is.
std::string readableModule(std::string_view module, const std::string &name, bool trusted,
                           unsigned timeoutSeconds);

} // namespace flydsl::jit
