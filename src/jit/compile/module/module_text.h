// What the text of a module may not have, because MLIR's parser would not survive it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace flydsl::jit {

/// How deep brackets may nest. Reading, printing and copying recurse with them.
inline constexpr unsigned kMaxNesting = 512;
/// How many results of an operation a text may name. The parser keeps room for as many as the largest
/// number asks for, and ends the process where there is no memory.
inline constexpr unsigned kMaxResults = 65536;

struct TextProblem {
  unsigned line;
  std::string what;
};

/// The first problem of that kind, if there is one. Strings and comments count for nothing.
std::optional<TextProblem> problemWithText(std::string_view text);

} // namespace flydsl::jit
