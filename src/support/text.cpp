#include "support/text.h"

#include <cstdint>
#include <cstdio>

namespace flydsl::support {

namespace {

struct Character {
  std::uint32_t code;
  std::size_t bytes; ///< 0: not UTF-8
};

/// Decodes the first character of `text`, which is not empty. Overlong forms, surrogates and
/// numbers above U+10FFFF are not UTF-8 (RFC 3629).
Character decode(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80)
    return {first, 1};
  const std::size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
  if (first < 0xc2 || first > 0xf4 || text.size() < length)
    return {first, 0};
  std::uint32_t code = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80)
      return {first, 0};
    code = code << 6 | (byte(i) & 0x3f);
  }
  if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    return {first, 0};
  return {code, length};
}

/// Control characters (C0, DEL, C1), line and paragraph separators, and the characters that change
/// the direction of text (Unicode Standard Annex 9: embeddings, overrides, isolates, marks).
bool isControl(std::uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x061c ||
         (code >= 0x200e && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

} // namespace

std::uint64_t digest(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

std::string printable(std::string_view text, std::string_view keep) {
  std::string shown;
  while (!text.empty()) {
    const Character c = decode(text);
    const std::size_t bytes = c.bytes ? c.bytes : 1;
    const bool kept = c.bytes == 1 && keep.find(text[0]) != keep.npos;
    if (kept || (c.bytes && !isControl(c.code))) {
      shown += text.substr(0, bytes);
    } else {
      char escape[16];
      std::snprintf(escape, sizeof escape, c.bytes && c.code > 0xff ? "\\u%04x" : "\\x%02x",
                    static_cast<unsigned>(c.code));
      shown += escape;
    }
    text.remove_prefix(bytes);
  }
  return shown;
}

std::string inComment(std::string_view text) {
  std::string shown;
  for (char c : printable(text)) {
    if (!shown.empty() && ((shown.back() == '*' && c == '/') || (shown.back() == '/' && c == '*')))
      shown += ' ';
    shown += c;
  }
  return shown;
}

std::string fileName(std::string_view text) {
  std::string name;
  for (char c : text.substr(0, 100)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
    name += plain ? c : '_';
  }
  const bool hidden = name.starts_with(".");
  if (hidden)
    name[0] = '_';
  if (name == text && !name.empty())
    return name;
  char suffix[20];
  std::snprintf(suffix, sizeof suffix, "~%016llx", static_cast<unsigned long long>(digest(text)));
  return name + suffix;
}

void appendItem(std::string &list, std::string_view item) {
  if (!list.empty())
    list += ", ";
  list += item;
}

} // namespace flydsl::support
