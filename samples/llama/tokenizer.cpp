#include "tokenizer.h"

#include <clocale>
#include <limits>
#include <wctype.h>

namespace llama {
namespace {

std::string utf8(std::uint32_t c) {
  if (c < 0x80)
    return {static_cast<char>(c)};
  return {static_cast<char>(0xc0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
}

/// A character of UTF-8 at `at`; a byte that begins none stands for itself.
struct Character {
  std::uint32_t code;
  std::size_t size;
};
Character characterAt(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[at + i]); };
  const std::uint8_t first = byte(0);
  const std::size_t size = first < 0xc2 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (size == 1 || at + size > text.size())
    return {first, 1};
  std::uint32_t code = first & (0x7fu >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (byte(i) >> 6 != 2)
      return {first, 1};
    code = code << 6 | (byte(i) & 63);
  }
  return {code, size};
}

enum class Class { letter, digit, space, other };
Class classOf(std::uint32_t c) {
  static const locale_t unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  if (c < 0x80) {
    if (c >= '0' && c <= '9')
      return Class::digit;
    if ((c | 32) >= 'a' && (c | 32) <= 'z')
      return Class::letter;
    return c == ' ' || (c >= 9 && c <= 13) ? Class::space : Class::other;
  }
  if (c == 0xa0 || iswspace_l(static_cast<wint_t>(c), unicode))
    return Class::space;
  return iswalpha_l(static_cast<wint_t>(c), unicode) ? Class::letter : Class::other;
}

/// The length of the word at the start of a text, by GPT-2's expression:
///   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
std::size_t wordLength(std::string_view text) {
  for (std::string_view end : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.starts_with(end))
      return end.size();
  const std::size_t start = text[0] == ' ' && text.size() > 1 ? 1 : 0;
  const auto run = [&](std::size_t from, Class of) {
    std::size_t at = from;
    while (at < text.size()) {
      const Character c = characterAt(text, at);
      if (classOf(c.code) != of)
        break;
      at += c.size;
    }
    return at;
  };
  const Class first = classOf(characterAt(text, start).code);
  if (first != Class::space)
    return run(start, first);
  const std::size_t end = run(0, Class::space);
  if (end == text.size())
    return end;
  // The last space belongs to the word behind it, unless it is the only one.
  std::size_t last = 0;
  for (std::size_t at = 0; at < end; at += characterAt(text, at).size)
    last = at;
  return last > 0 ? last : end;
}

} // namespace

Tokenizer::Tokenizer(const Gguf &file) {
  const std::string model = file.get<std::string>("tokenizer.ggml.model"),
                    pre = file.get<std::string>("tokenizer.ggml.pre", "gpt-2");
  if (model != "gpt2")
    throw FileError("the tokenizer is of model " + model + "; this program has gpt2");
  if (pre != "smollm" && pre != "gpt-2")
    throw FileError("the tokenizer cuts words as " + pre + "; this program has smollm and gpt-2");
  digitsAlone_ = pre == "smollm";
  // Bytes that are no printable characters of Latin 1 are named by characters from 256 on.
  std::uint32_t next = 256;
  std::unordered_map<std::string, char> byteOf;
  for (std::uint32_t b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    letters_[b] = utf8(printable ? b : next++);
    byteOf[letters_[b]] = static_cast<char>(b);
  }
  const auto &names = file.get<std::vector<std::string>>("tokenizer.ggml.tokens");
  const auto &kinds = file.get<std::vector<double>>("tokenizer.ggml.token_type");
  if (names.empty() || names.size() != kinds.size() ||
      names.size() > std::size_t(std::numeric_limits<int>::max()))
    throw FileError("the tokenizer has " + std::to_string(names.size()) + " tokens and " +
                    std::to_string(kinds.size()) + " kinds of tokens");
  for (std::size_t i = 0; i < names.size(); ++i) {
    constexpr int kControl = 3, kUserDefined = 4;
    const bool control = kinds[i] == kControl || kinds[i] == kUserDefined;
    (control ? control_ : tokens_)[names[i]] = static_cast<int>(i);
    std::string bytes;
    for (std::size_t at = 0; at < names[i].size() && kinds[i] != kControl;) {
      const std::string letter = names[i].substr(at, characterAt(names[i], at).size);
      const auto found = byteOf.find(letter);
      bytes += found == byteOf.end() ? letter : std::string(1, found->second);
      at += letter.size();
    }
    bytes_.push_back(std::move(bytes));
  }
  const auto &merges = file.get<std::vector<std::string>>("tokenizer.ggml.merges");
  for (std::size_t i = 0; i < merges.size(); ++i)
    ranks_.emplace(merges[i], static_cast<int>(i));
  end_ = static_cast<int>(file.get<std::int64_t>("tokenizer.ggml.eos_token_id", -1));
  if (end_ < -1 || end_ >= size())
    throw FileError("the token that ends a text is " + std::to_string(end_));
}

int Tokenizer::find(const std::string &name) const {
  const auto found = control_.find(name);
  return found == control_.end() ? -1 : found->second;
}

void Tokenizer::encodeWord(std::string_view word, std::vector<int> &tokens) const {
  std::vector<std::string> parts;
  for (char c : word)
    parts.push_back(letters_[static_cast<std::uint8_t>(c)]);
  while (parts.size() > 1) {
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
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  for (const std::string &part : parts) {
    const auto found = tokens_.find(part);
    if (found == tokens_.end())
      throw FileError("the tokenizer's tables have no token for a part of the text");
    tokens.push_back(found->second);
  }
}

void Tokenizer::encodeText(std::string_view text, std::vector<int> &tokens) const {
  // Words end at digits that are words of their own.
  for (std::size_t at = 0; at < text.size();) {
    std::size_t end = at;
    const auto isDigit = [&](std::size_t i) {
      return digitsAlone_ && classOf(characterAt(text, i).code) == Class::digit;
    };
    while (end < text.size() && !isDigit(end))
      end += characterAt(text, end).size;
    for (std::string_view part = text.substr(at, end - at); !part.empty();) {
      const std::size_t length = wordLength(part);
      encodeWord(part.substr(0, length), tokens);
      part.remove_prefix(length);
    }
    if (end < text.size())
      encodeWord(text.substr(end++, 1), tokens);
    at = end;
  }
}

std::vector<int> Tokenizer::encode(std::string_view text) const {
  std::vector<int> tokens;
  std::size_t from = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::pair<const std::string, int> *longest = nullptr;
    for (const auto &entry : control_)
      if (!entry.first.empty() && text.substr(at).starts_with(entry.first) &&
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

} // namespace llama
