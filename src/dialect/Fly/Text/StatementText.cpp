#include "dialect/Fly/Text/StatementText.h"

#include "llvm/Support/Regex.h"

namespace mlir::fly {

/// Calls `fn` with each character that stands outside of all brackets and strings, until it returns
/// false. Gives the place where it did, or the text's end. The arrow's `>` is no bracket.
template <class Fn> static size_t findOutside(llvm::StringRef text, Fn fn) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      i = std::min(text.find('"', i + 1), text.size() - 1);
      continue;
    }
    if (text.substr(i).starts_with("->")) {
      ++i;
      continue;
    }
    if (depth == 0 && !fn(i))
      return i;
    depth += (c == '<' || c == '(' || c == '[' || c == '{') -
             (c == '>' || c == ')' || c == ']' || c == '}');
  }
  return text.size();
}

StatementText::StatementText(llvm::StringRef text) {
  const size_t end = std::min({text.find('\n'), text.find(" loc("), text.find(" //"), text.size()});
  rest = text.drop_front(end);
  text = text.take_front(end);
  const size_t colon = findOutside(text, [&](size_t i) { return text[i] != ':'; });
  if (colon < text.size())
    types = text.drop_front(colon + 1).trim();
  text = text.take_front(colon).trim();
  const size_t brace = findOutside(text, [&](size_t i) { return text[i] != '{'; });
  if (brace < text.size())
    attributes = text.drop_front(brace).trim().drop_front().drop_back();
  operands = text.take_front(brace).trim();
}

llvm::SmallVector<llvm::StringRef> splitList(llvm::StringRef list) {
  llvm::SmallVector<llvm::StringRef> parts;
  while (!list.trim().empty()) {
    const size_t comma = findOutside(list, [&](size_t i) { return list[i] != ','; });
    parts.push_back(list.take_front(comma).trim());
    list = list.drop_front(std::min(comma + 1, list.size()));
  }
  return parts;
}

size_t StatementWriter::statementStart(llvm::StringRef name) const {
  static const llvm::Regex results("(%[A-Za-z0-9_$.-]+(:[0-9]+)? *,? *)+= *$");
  llvm::StringRef text = llvm::StringRef(out_).drop_back(name.size());
  const size_t line = text.rfind('\n') + 1; // npos + 1 is the text's start
  llvm::SmallVector<llvm::StringRef> found;
  if (!results.match(text.drop_front(line), &found))
    return text.size();
  return static_cast<size_t>(found[0].data() - text.data());
}

bool StatementWriter::hasResults(llvm::StringRef name) const {
  return statementStart(name) + name.size() != out_.size();
}

void StatementWriter::replaceName(llvm::StringRef name, llvm::StringRef text) {
  out_.resize(out_.size() - name.size());
  out_ += text;
}

std::string StatementWriter::constant(int64_t value, unsigned bits) {
  std::string name = "%__immediate" + std::to_string(count_++);
  // The parser takes truth values by their names alone.
  const std::string number =
      bits == 1 ? value ? "true" : "false" : std::to_string(value) + " : i" + std::to_string(bits);
  constants_ += name + " = llvm.mlir.constant(" + number + ") : i" + std::to_string(bits) + " ";
  return name;
}

void StatementWriter::placeConstants(llvm::StringRef name) {
  out_.insert(statementStart(name), constants_);
  constants_.clear();
}

} // namespace mlir::fly
