// Makes text of unknown origin safe to show: names of kernels, paths, and strings from files.
#pragma once

#include <string>
#include <string_view>

namespace flydsl::support {

/// Returns `text` with escapes ("\x1b", "\u202e") in place of control characters, bytes that are
/// not UTF-8, and characters that reorder text. The result does not move a terminal's cursor, begin
/// a line or end a string. `keep` lists control characters that stay, such as "\n".
std::string printable(std::string_view text, std::string_view keep = {});

/// The same, made safe for use inside a C comment: it can neither end the comment nor nest one.
std::string inComment(std::string_view text);

/// A name for a file or folder: letters, digits, '.', '-' and '_' stay, anything else becomes '_'.
/// If the name was changed, is longer than 100 bytes, is empty or begins with '.', it ends in '~'
/// and a digest of `text`, so that two different texts never get the same name.
std::string fileName(std::string_view text);

} // namespace flydsl::support
