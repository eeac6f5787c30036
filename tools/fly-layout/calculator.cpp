#include "calculator.h"

#include "layout/coord.h"
#include "layout/error.h"
#include "layout/operations.h"
#include "layout/picture.h"
#include "layout/text.h"
#include "layout/tiled.h"

#include <algorithm>
#include <map>
#include <span>
#include <vector>

namespace flydsl::layout {

namespace {

std::string trimmed(std::string_view s) {
  size_t a = s.find_first_not_of(" \t\r\n");
  if (a == std::string_view::npos)
    return "";
  return std::string(s.substr(a, s.find_last_not_of(" \t\r\n") - a + 1));
}

/// Splits arguments at the commas that are outside of all brackets.
std::vector<std::string> splitArguments(std::string_view s) {
  std::vector<std::string> out;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= s.size(); ++i) {
    const char c = i < s.size() ? s[i] : ',';
    if (c == '(' || c == '[' || c == '<' || c == '{')
      ++depth;
    else if (c == ')' || c == ']' || c == '>' || c == '}')
      --depth;
    else if (c == ',' && (depth == 0 || i == s.size())) {
      out.push_back(trimmed(s.substr(start, i - start)));
      start = i + 1;
    }
  }
  if (out.size() == 1 && out[0].empty())
    out.clear();
  return out;
}

//===----------------------------------------------------------------------===//
// Operations of the algebra
//===----------------------------------------------------------------------===//

constexpr std::string_view kTuplePrefix = "int_tuple_";

using Texts = std::span<const std::string>;

/// True for a layout, which has a colon outside of braces; an int tuple has none.
bool isLayout(const std::string &text) { return text.find(':') != std::string::npos; }

Value valueOf(const AnyLayout &layout) {
  return std::visit([](const auto &l) { return Value(l); }, layout);
}

/// Parses a value of the kind that an operation asks for.
Value read(const std::string &text, Kind kind) {
  switch (kind) {
  case Kind::tuple:
    return parseIntTuple(text);
  case Kind::layout:
    return parseLayout(text);
  case Kind::any_layout:
    return valueOf(parseAnyLayout(text));
  case Kind::composed:
    return parseComposedLayout(text);
  case Kind::tuple_or_any:
    return isLayout(text) ? valueOf(parseAnyLayout(text)) : parseIntTuple(text);
  case Kind::tuple_or_plain:
    return isLayout(text) ? Value(parseLayout(text)) : parseIntTuple(text);
  case Kind::tiler:
    return isLayout(text) && text[0] != '[' ? Value(parseLayout(text)) : parseTile(text);
  case Kind::function:
    if (isLayout(text))
      return valueOf(parseAnyLayout(text));
    return text.starts_with("CS") ? Value(parseCoordSwizzle(text)) : parseSwizzle(text);
  }
  fail("no value can be read from: ", text);
}

/// The form in which an operation's numbers are written behind its operands.
struct NumberArguments {
  size_t least, most;
  const char *help;
};
NumberArguments numberArguments(Numbers numbers) {
  switch (numbers) {
  case Numbers::none:
    return {0, 0, ""};
  case Numbers::path:
    return {1, 1, "mode path"};
  case Numbers::modes:
    return {1, 1, "modes"};
  case Numbers::range:
    return {2, 2, "begin, end"};
  case Numbers::rank:
    return {0, 1, "[rank]"};
  case Numbers::bits:
    return {2, 2, "old bits, new bits"};
  }
  return {0, 0, ""};
}

std::vector<std::int32_t> readNumbers(Numbers numbers, Texts texts) {
  std::vector<std::int32_t> out;
  for (const std::string &text : texts)
    for (const Int &leaf : parseIntTuple(text).leaves()) {
      if (leaf.value() != static_cast<std::int32_t>(leaf.value()))
        fail(leaf, " is no mode and no number of bits");
      out.push_back(static_cast<std::int32_t>(leaf.value()));
    }
  if (numbers == Numbers::bits) // a row has the bits of the new element first
    std::reverse(out.begin(), out.end());
  return out;
}

std::string_view helpOf(Kind kind) {
  switch (kind) {
  case Kind::tuple:
    return "tuple";
  case Kind::layout:
  case Kind::any_layout:
    return "layout";
  case Kind::composed:
    return "composed layout";
  case Kind::tuple_or_any:
  case Kind::tuple_or_plain:
    return "layout | tuple";
  case Kind::tiler:
    return "layout | tile";
  case Kind::function:
    return "layout | swizzle";
  }
  return "value";
}

/// The name of an operation as users write it: arithmetic on tuples has no prefix.
std::string_view shortName(const Operation &operation) {
  std::string_view name = operation.name;
  if (name.starts_with(kTuplePrefix))
    name.remove_prefix(kTuplePrefix.size());
  return name;
}

/// Finds an operation by its name in the IR or by its short name.
const Operation *findNamed(const std::string &name) {
  if (const Operation *operation = findOperation(name))
    return operation;
  return findOperation(std::string(kTuplePrefix) + name);
}

/// The help for an operation: "(layout, layout | tile)  ((T0,R0),...)".
std::string helpOf(const Operation &operation) {
  std::string text = "(";
  auto add = [&](std::string_view part) {
    text += text.size() > 1 ? ", " : "";
    text += part;
  };
  for (size_t i = 0; i < operation.most; ++i)
    add(i < operation.least ? std::string(helpOf(operation.operands[i]))
                            : "[" + std::string(helpOf(operation.operands[i])) + "]");
  if (const char *numbers = numberArguments(operation.numbers).help; *numbers)
    add(numbers);
  return text + ")  " + std::string(operation.help);
}

/// Computes an operation of the algebra; reads its operands from texts and prints its result.
std::string compute(const Operation &operation, Texts texts) {
  const NumberArguments numbers = numberArguments(operation.numbers);
  if (texts.size() < operation.least + numbers.least ||
      texts.size() > operation.most + numbers.most)
    fail(shortName(operation), helpOf(operation), ": it was given ", texts.size(), " arguments");
  const size_t operands = std::min<size_t>(texts.size() - numbers.least, operation.most);
  std::vector<Value> values;
  for (size_t i = 0; i < operands; ++i)
    values.push_back(read(texts[i], operation.operands[i]));
  return str(operation({values, readNumbers(operation.numbers, texts.subspan(operands))}));
}

//===----------------------------------------------------------------------===//
// Functions of the calculator that are not in the table
//===----------------------------------------------------------------------===//

struct Extra {
  std::string_view name;
  size_t least, most;
  const char *help;
  std::string (*run)(Texts, Rendering);
};

int shadesOf(Texts texts, size_t i) {
  return i < texts.size() ? static_cast<int>(parseIntTuple(texts[i]).leaf().value()) : 8;
}

constexpr Extra kExtras[] = {
    {"flatten", 1, 1, "(layout | tuple)  all leaves in one level",
     [](Texts a, Rendering) {
       if (!isLayout(a[0]))
         return flatten(parseIntTuple(a[0])).str();
       return str(mapOutermost(parseAnyLayout(a[0]), [](const Layout &l) { return flatten(l); }));
     }},
    {"layout_tv", 2, 2, "(threads, values)  a tile and its thread-value layout",
     [](Texts a, Rendering) {
       LayoutTV tv = makeLayoutTV(parseLayout(a[0]), parseLayout(a[1]));
       return tv.tile.str() + "  " + tv.layout.str();
     }},
    {"picture", 1, 2, "(layout [, shades])  its values in rows and columns",
     [](Texts a, Rendering r) {
       return r == Rendering::Text ? pictureText(parseAnyLayout(a[0]))
                                   : pictureSvg(parseAnyLayout(a[0]), shadesOf(a, 1));
     }},
    {"picture_tv", 2, 3, "(thread-value layout, tile [, shades])  who holds what",
     [](Texts a, Rendering r) {
       return r == Rendering::Text
                  ? picturePartitionText(parseLayout(a[0]), parseIntTuple(a[1]))
                  : picturePartitionSvg(parseLayout(a[0]), parseIntTuple(a[1]), shadesOf(a, 2));
     }},
};

} // namespace

std::string calculate(std::string_view expression, Rendering rendering) {
  std::string text = trimmed(expression);
  size_t open = text.find('(');
  if (open == std::string::npos || open == 0 || text.back() != ')')
    fail("an expression is op(argument, ...), not: ", text);
  const std::string name = trimmed(std::string_view(text).substr(0, open));
  const std::vector<std::string> arguments =
      splitArguments(std::string_view(text).substr(open + 1, text.size() - open - 2));
  if (const Operation *operation = findNamed(name))
    return compute(*operation, arguments);
  for (const Extra &extra : kExtras) {
    if (extra.name != name)
      continue;
    if (arguments.size() < extra.least || arguments.size() > extra.most)
      fail(name, extra.help, ": it was given ", arguments.size(), " arguments");
    return extra.run(arguments, rendering);
  }
  fail("no operation is called '", name, "'");
}

std::string operationsHelp() {
  std::map<std::string, std::string> lines;
  for (const Operation &operation : operations())
    lines.emplace(shortName(operation), helpOf(operation));
  for (const Extra &extra : kExtras)
    lines.emplace(extra.name, extra.help);
  std::string out = "fly-layout [--svg] 'op(argument, ...)' ...\n"
                    "Without expressions, one is read from each line of standard input.\n\n";
  for (const auto &[name, help] : lines)
    out += "  " + name + help + "\n";
  return out;
}

} // namespace flydsl::layout
