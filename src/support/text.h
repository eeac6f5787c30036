// Text of unknown origin, made fit to be shown: names of kernels, paths and strings out of files.
#pragma once

#include <string>
#include <string_view>

namespace flydsl::support {

/// `text` with every control character, every byte that is no UTF-8 and every character that
/// reorders text written as an escape ("\x1b", "\u202e"). The result moves no cursor, begins no
/// line and ends no string of a terminal. `keep` lists control characters to leave, such as "\n".
std::string printable(std::string_view text, std::string_view keep = {});

/// The same, and safe inside of a comment of C: it can neither end the comment nor nest one.
std::string inComment(std::string_view text);

/// A name for a file or a folder: letters, digits, '.', '-' and '_' stay, anything else becomes
/// '_'. A name that was changed, is longer than 100 bytes, is empty or begins with '.' ends in '~'
/// and a digest of `text`, so that two different texts never get one name.
std::string fileName(std::string_view text);

} // namespace flydsl::support
