#include "jit/compile/module/module_text.h"

#include <cctype>

namespace flydsl::jit {
namespace {

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isOfName(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '.' ||
         c == '-';
}

/// The text, character by character, without what strings and comments have.
class Scan {
public:
  explicit Scan(std::string_view text) : text_(text) {}

  std::optional<TextProblem> problem() {
    for (; at_ < text_.size(); ++at_)
      if (std::string what = next(); !what.empty())
        return TextProblem{line_, std::move(what)};
    return std::nullopt;
  }

private:
  char following() const { return at_ + 1 < text_.size() ? text_[at_ + 1] : '\0'; }

  /// What is wrong with what begins here, or nothing. The last character that belongs to it is the
  /// current one then.
  std::string next() {
    switch (text_[at_]) {
    case '\n':
      ++line_;
      break;
    case '"':
      skipString();
      break;
    case '/':
      if (following() == '/')
        while (at_ + 1 < text_.size() && text_[at_ + 1] != '\n')
          ++at_;
      break;
    case '-': // an arrow
      at_ += following() == '>';
      break;
    case '%':
      return value();
    case '(':
    case '[':
    case '{':
    case '<':
      if (++depth_ > kMaxNesting)
        return "brackets nest deeper than " + std::to_string(kMaxNesting);
      break;
    case ')':
    case ']':
    case '}':
    case '>':
      depth_ -= depth_ > 0;
      break;
    default:
      break;
    }
    return {};
  }

  void skipString() {
    for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
      at_ += text_[at_] == '\\';
    --at_; // what ends it is looked at again; a quote would open the next string
    if (following() == '"')
      ++at_;
  }

  /// A value: its name, and which of an operation's results it is, or how many there are.
  std::string value() {
    const std::size_t begin = at_;
    while (isOfName(following()) &&
           !(following() == '-' && at_ + 2 < text_.size() && text_[at_ + 2] == '>'))
      ++at_;
    if (following() != '#' && following() != ':')
      return {};
    ++at_;
    unsigned number = 0;
    for (; isDigit(following()); ++at_)
      if (number <= kMaxResults)
        number = number * 10 + static_cast<unsigned>(following() - '0');
    if (number <= kMaxResults)
      return {};
    return std::string(text_.substr(begin, at_ + 1 - begin)) + ": an operation has no more than " +
           std::to_string(kMaxResults) + " results";
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned depth_ = 0, line_ = 1;
};

} // namespace

std::optional<TextProblem> problemWithText(std::string_view text) { return Scan(text).problem(); }

} // namespace flydsl::jit
