// Makes text of unknown origin safe to show (names of kernels, paths,
// strings from files), and lists.
#pragma once

#include <cstdint>
#include <functional>
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

/// The FNV-1a hash of 64 bits.
std::uint64_t digest(std::string_view text);

/// Adds `item` to `list`, after ", " unless it is the first.
void appendItem(std::string &list, std::string_view item);

/// The texts of a range, with ", " between them. `textOf` makes the text of an item.
template <class Range, class TextOf = std::identity>
std::string joined(const Range &range, TextOf textOf = {}) {
  std::string list;
  for (const auto &item : range)
    appendItem(list, std::invoke(textOf, item));
  return list;
}

} // namespace flydsl::support
