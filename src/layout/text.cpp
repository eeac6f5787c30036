#include "layout/text.h"

#include <cctype>
#include <charconv>

namespace flydsl::layout {

namespace {

/// Deeper nesting is refused, because it would exhaust the stack.
constexpr int kMaxDepth = 256;

class Reader {
public:
  Reader(std::string_view text, size_t position) : text_(text), pos_(position) {}

  size_t position() const { return pos_; }

  [[noreturn]] void error(const std::string &expected) const { errorAt(pos_, expected); }
  [[noreturn]] void errorAt(size_t where, const std::string &expected) const {
    std::string found =
        where < text_.size() ? "'" + std::string(1, text_[where]) + "'" : std::string("the end");
    throw ParseError("expected " + expected + " at offset " + std::to_string(where) +
                         ", but found " + found + " in: " + std::string(text_),
                     where);
  }

  void skipBlanks() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_])))
      ++pos_;
  }
  bool accept(char c) {
    skipBlanks();
    if (pos_ >= text_.size() || text_[pos_] != c)
      return false;
    ++pos_;
    return true;
  }
  void expect(char c) {
    if (!accept(c))
      error(std::string("'") + c + "'");
  }
  /// Accepts the word if it is not the beginning of a longer word.
  bool acceptWord(std::string_view word) {
    skipBlanks();
    if (text_.substr(pos_, word.size()) != word)
      return false;
    size_t end = pos_ + word.size();
    if (end < text_.size() &&
        (std::isalnum(static_cast<unsigned char>(text_[end])) || text_[end] == '_'))
      return false;
    pos_ = end;
    return true;
  }

  template <class T> T number(const char *what) {
    skipBlanks();
    T value{};
    const char *begin = text_.data() + pos_, *end = text_.data() + text_.size();
    auto [ptr, ec] = std::from_chars(begin, end, value);
    if (ec == std::errc::result_out_of_range)
      error(std::string(what) + " within " + std::to_string(sizeof(T) * 8) + " bits");
    if (ec != std::errc())
      error(what);
    pos_ = static_cast<size_t>(ptr - text_.data());
    return value;
  }

  Int integer() {
    skipBlanks();
    Int value;
    if (accept('*'))
      return Int::wildcard();
    if (accept('?')) {
      int width = 32;
      int64_t divisibility = 1;
      if (accept('{')) {
        if (acceptWord("i64"))
          width = 64;
        else
          acceptWord("i32");
        if (acceptWord("div")) {
          expect('=');
          skipBlanks();
          size_t where = pos_;
          divisibility = number<int64_t>("a divisibility");
          if (divisibility < 1)
            errorAt(where, "a divisibility of at least 1");
        }
        expect('}');
      }
      value = Int::dynamic(width, divisibility);
    } else {
      value = number<int64_t>("an integer");
    }
    ModePath modes;
    while (pos_ + 1 < text_.size() && text_[pos_] == 'E' &&
           std::isdigit(static_cast<unsigned char>(text_[pos_ + 1]))) {
      ++pos_;
      modes.push_back(number<int32_t>("a basis mode"));
    }
    return value.withBasis(std::move(modes));
  }

  IntTuple intTuple(int depth = 0) {
    if (depth > kMaxDepth)
      error("less nesting");
    if (!accept('('))
      return integer();
    std::vector<IntTuple> elements;
    do
      elements.push_back(intTuple(depth + 1));
    while (accept(','));
    expect(')');
    return IntTuple::tuple(std::move(elements));
  }

  Layout layout() {
    IntTuple shape = intTuple();
    expect(':');
    return Layout(std::move(shape), intTuple());
  }

  Swizzle swizzle() {
    if (!acceptWord("S"))
      error("a swizzle S<mask,base,shift>");
    expect('<');
    int32_t mask = number<int32_t>("an integer");
    expect(',');
    int32_t base = number<int32_t>("an integer");
    expect(',');
    int32_t shift = number<int32_t>("an integer");
    expect('>');
    return Swizzle(mask, base, shift);
  }

  ModePath modePath() {
    expect('[');
    ModePath path;
    if (accept(']'))
      return path;
    do
      path.push_back(number<int32_t>("a mode"));
    while (accept(','));
    expect(']');
    return path;
  }

  CoordSwizzle coordSwizzle() {
    if (!acceptWord("CS"))
      error("a coordinate swizzle CS<mask,base,[mode],base,[mode]>");
    expect('<');
    int32_t mask = number<int32_t>("an integer");
    expect(',');
    int32_t baseRow = number<int32_t>("an integer");
    expect(',');
    ModePath modeRow = modePath();
    expect(',');
    int32_t baseCol = number<int32_t>("an integer");
    expect(',');
    ModePath modeCol = modePath();
    expect('>');
    return CoordSwizzle(mask, baseRow, std::move(modeRow), baseCol, std::move(modeCol));
  }

  InnerFunction innermost() {
    skipBlanks();
    if (text_.substr(pos_, 2) == "CS")
      return coordSwizzle();
    if (pos_ < text_.size() && text_[pos_] == 'S')
      return swizzle();
    return layout();
  }

  AnyLayout anyLayout(int depth = 0) {
    if (depth > kMaxDepth)
      error("less nesting");
    skipBlanks();
    size_t start = pos_;
    InnerFunction inner = innermost();
    int steps = 0;
    while (acceptWord("o")) {
      if (++steps > kMaxDepth)
        error("fewer compositions");
      IntTuple offset = intTuple();
      if (!acceptWord("o"))
        error("' o ' and an outer layout");
      if (accept('[')) {
        AnyLayout outer = anyLayout(depth + 1);
        expect(']');
        inner = ComposedLayout(std::move(inner), std::move(offset), std::move(outer));
      } else {
        inner = ComposedLayout(std::move(inner), std::move(offset), layout());
      }
    }
    if (auto *composed = std::get_if<ComposedLayout>(&inner))
      return *composed;
    if (auto *plain = std::get_if<Layout>(&inner))
      return *plain;
    errorAt(start, "a layout; a swizzle alone is not one");
  }

  Tile tile(int depth = 0) {
    if (depth > kMaxDepth)
      error("less nesting");
    if (accept('[')) {
      std::vector<Tile> modes;
      do
        modes.push_back(tile(depth + 1));
      while (accept('|'));
      expect(']');
      return Tile::list(std::move(modes));
    }
    skipBlanks();
    size_t start = pos_;
    IntTuple shape = intTuple();
    if (accept(':'))
      return Layout(std::move(shape), intTuple());
    if (!shape.isLeaf() || shape.leaf().hasBasis())
      errorAt(start, "a size, a layout or * as a tile's mode");
    return Tile(shape.leaf());
  }

  void end() {
    skipBlanks();
    if (pos_ != text_.size())
      error("the end");
  }

private:
  std::string_view text_;
  size_t pos_;
};

template <class F> auto readAll(std::string_view text, F &&read) {
  Reader reader(text, 0);
  auto value = read(reader);
  reader.end();
  return value;
}

template <class F> auto readPart(std::string_view text, size_t &position, F &&read) {
  Reader reader(text, position);
  auto value = read(reader);
  position = reader.position();
  return value;
}

const auto kIntTuple = [](Reader &r) { return r.intTuple(); };
const auto kLayout = [](Reader &r) { return r.layout(); };
const auto kSwizzle = [](Reader &r) { return r.swizzle(); };
const auto kCoordSwizzle = [](Reader &r) { return r.coordSwizzle(); };
const auto kTile = [](Reader &r) { return r.tile(); };
const auto kAnyLayout = [](Reader &r) { return r.anyLayout(); };
const auto kComposedLayout = [](Reader &r) {
  r.skipBlanks();
  size_t start = r.position();
  AnyLayout any = r.anyLayout();
  if (auto *composed = std::get_if<ComposedLayout>(&any))
    return *composed;
  r.errorAt(start, "a composed layout `inner o offset o outer`");
};

} // namespace

IntTuple parseIntTuple(std::string_view text) { return readAll(text, kIntTuple); }
Layout parseLayout(std::string_view text) { return readAll(text, kLayout); }
Swizzle parseSwizzle(std::string_view text) { return readAll(text, kSwizzle); }
CoordSwizzle parseCoordSwizzle(std::string_view text) { return readAll(text, kCoordSwizzle); }
Tile parseTile(std::string_view text) { return readAll(text, kTile); }
AnyLayout parseAnyLayout(std::string_view text) { return readAll(text, kAnyLayout); }
ComposedLayout parseComposedLayout(std::string_view text) { return readAll(text, kComposedLayout); }

IntTuple parseIntTuple(std::string_view text, size_t &position) {
  return readPart(text, position, kIntTuple);
}
Layout parseLayout(std::string_view text, size_t &position) {
  return readPart(text, position, kLayout);
}
Swizzle parseSwizzle(std::string_view text, size_t &position) {
  return readPart(text, position, kSwizzle);
}
CoordSwizzle parseCoordSwizzle(std::string_view text, size_t &position) {
  return readPart(text, position, kCoordSwizzle);
}
Tile parseTile(std::string_view text, size_t &position) { return readPart(text, position, kTile); }
AnyLayout parseAnyLayout(std::string_view text, size_t &position) {
  return readPart(text, position, kAnyLayout);
}
ComposedLayout parseComposedLayout(std::string_view text, size_t &position) {
  return readPart(text, position, kComposedLayout);
}

} // namespace flydsl::layout
