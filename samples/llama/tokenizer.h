// Text to tokens and back, by the byte-pair tables of a GGUF file (tokenizer.ggml.model "gpt2").
//
// A text is cut into words, each word into bytes, and neighbours are joined in the order of the
// file's list of merges. How text is cut is what tokenizer.ggml.pre names: "gpt-2" is GPT-2's
// expression, "smollm" the same after each digit was made a word of its own. Characters outside of
// ASCII are letters, digits or spaces as the C library's table of Unicode says.
#pragma once

#include "gguf.h"

#include <clocale>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <wctype.h>

namespace llama {

/// A character of UTF-8 at the start of a text; a byte that begins none stands for itself.
struct Character {
  std::uint32_t code;
  std::size_t size;
};
inline Character firstOf(std::string_view text) {
  const auto byte = [&](std::size_t i) { return std::uint8_t(text[i]); };
  const std::size_t size = byte(0) < 0xc2 ? 1 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (size == 1 || size > text.size())
    return {byte(0), 1};
  std::uint32_t code = byte(0) & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2)
      return {byte(0), 1};
    code = code << 6 | (byte(i) & 63);
  }
  return {code, size};
}

enum class Class { letter, digit, space, other };
inline Class classOf(std::uint32_t c) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (c >= '0' && c <= '9')
    return Class::digit;
  if (c == ' ' || (c >= 9 && c <= 13) || c == 0xa0 || iswspace_l(wint_t(c), unicode))
    return Class::space;
  return iswalpha_l(wint_t(c), unicode) ? Class::letter : Class::other;
}

/// The length of the word at the start of a text, by GPT-2's expression:
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
inline std::size_t wordLength(std::string_view text) {
  for (std::string_view end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(end))
      return end.size();
  const std::size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const Class first = classOf(firstOf(text.substr(start)).code);
  std::size_t at = first == Class::space ? 0 : start, last = 0;
  while (at < text.size() && classOf(firstOf(text.substr(at)).code) == first) {
    last = at;
    at += firstOf(text.substr(at)).size;
  }
  // The last of several spaces belongs to the word after them.
  return first == Class::space && at < text.size() && last > 0 ? last : at;
}

class Tokenizer {
public:
  /// Throws FileError if the tables are not there or don't fit each other.
  explicit Tokenizer(const Gguf &file) {
    const std::string model = file.get<std::string>("tokenizer.ggml.model"),
                      pre = file.get<std::string>("tokenizer.ggml.pre", "gpt-2");
    if (model != "gpt2")
      throw FileError("the tokenizer is of model " + model + "; this program has gpt2");
    if (pre != "smollm" && pre != "gpt-2")
      throw FileError("the tokenizer cuts words as " + pre + "; this program has smollm and gpt-2");
    digitsAlone_ = pre == "smollm";
    // Bytes that are no printable characters of Latin 1 are named by characters from 256 on.
    std::unordered_map<std::string, char> byteOf;
    for (int b = 0, next = 256; b < 256; ++b) {
      const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
      const int c = printable ? b : next++;
      letters_[b] =
          c < 0x80 ? std::string{char(c)} : std::string{char(0xc0 | c >> 6), char(0x80 | (c & 63))};
      byteOf[letters_[b]] = char(b);
    }
    const auto &names = file.get<std::vector<std::string>>("tokenizer.ggml.tokens");
    const auto &kinds = file.get<std::vector<double>>("tokenizer.ggml.token_type");
    if (names.empty() || names.size() != kinds.size() || names.size() > (1 << 24))
      throw FileError("the tokenizer has " + std::to_string(names.size()) + " tokens and " +
                      std::to_string(kinds.size()) + " kinds of tokens");
    for (std::size_t i = 0; i < names.size(); ++i) {
      constexpr int kControl = 3, kUserDefined = 4;
      const bool control = kinds[i] == kControl || kinds[i] == kUserDefined;
      (control ? control_ : tokens_)[names[i]] = int(i);
      std::string bytes;
      for (std::string_view rest = names[i]; !rest.empty() && kinds[i] != kControl;) {
        const std::string letter(rest.substr(0, firstOf(rest).size));
        const auto found = byteOf.find(letter);
        bytes += found == byteOf.end() ? letter : std::string(1, found->second);
        rest.remove_prefix(letter.size());
      }
      bytes_.push_back(std::move(bytes));
    }
    control_.erase("");
    const auto &merges = file.get<std::vector<std::string>>("tokenizer.ggml.merges");
    for (std::size_t i = 0; i < merges.size(); ++i)
      ranks_.emplace(merges[i], int(i));
    end_ = int(file.whole("tokenizer.ggml.eos_token_id", 0, size() - 1, -1));
  }

  /// The tokens of a text. Names of control tokens, such as <|im_start|>, become those.
  std::vector<int> encode(std::string_view text) const {
    std::vector<int> tokens;
    std::size_t from = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::pair<const std::string, int> *longest = nullptr;
      for (const auto &entry : control_)
        if (text.substr(at).starts_with(entry.first) &&
            (!longest || entry.first.size() > longest->first.size()))
          longest = &entry;
      if (!longest) {
        ++at;
        continue;
      }
      encodeText(text.substr(from, at - from), tokens);
      tokens.push_back(longest->second);
      from = at += longest->first.size();
    }
    encodeText(text.substr(from), tokens);
    return tokens;
  }
  /// The bytes that a token stands for; those of a control token are empty.
  const std::string &bytes(int token) const { return bytes_[std::size_t(token)]; }
  int size() const { return int(bytes_.size()); }
  /// Ends a text; -1 if there is no such token.
  int end() const { return end_; }

private:
  void encodeWord(std::string_view word, std::vector<int> &tokens) const {
    std::vector<std::string> parts;
    for (char c : word)
      parts.push_back(letters_[std::uint8_t(c)]);
    for (;;) {
      std::size_t best = 0;
      int rank = std::numeric_limits<int>::max();
      for (std::size_t i = 0; i + 1 < parts.size(); ++i)
        if (const auto found = ranks_.find(parts[i] + " " + parts[i + 1]);
            found != ranks_.end() && found->second < rank) {
          rank = found->second;
          best = i;
        }
      if (rank == std::numeric_limits<int>::max())
        break;
      parts[best] += parts[best + 1];
      parts.erase(parts.begin() + std::ptrdiff_t(best) + 1);
    }
    for (const std::string &part : parts) {
      const auto found = tokens_.find(part);
      if (found == tokens_.end())
        throw FileError("the tokenizer's tables have no token for a part of the text");
      tokens.push_back(found->second);
    }
  }

  void encodeText(std::string_view text, std::vector<int> &tokens) const {
    while (!text.empty()) {
      // A digit that is a word of its own ends the words before it.
      const std::size_t digit = digitsAlone_ ? text.find_first_of("0123456789") : text.npos;
      for (std::string_view part = text.substr(0, digit); !part.empty();) {
        const std::size_t length = wordLength(part);
        encodeWord(part.substr(0, length), tokens);
        part.remove_prefix(length);
      }
      if (digit == text.npos)
        return;
      encodeWord(text.substr(digit, 1), tokens);
      text.remove_prefix(digit + 1);
    }
  }

  bool digitsAlone_;
  int end_;
  std::vector<std::string> bytes_;
  std::unordered_map<std::string, int> tokens_, control_; // by their names in the file
  std::unordered_map<std::string, int> ranks_;            // of "left right"
  std::string letters_[256];                              // by which the tables name bytes
};

} // namespace llama
