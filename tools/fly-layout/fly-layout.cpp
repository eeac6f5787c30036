// fly-layout: the layout algebra at the command line.
//
//   fly-layout 'composition((6,2):(8,2), (4,3):(3,1))'      ((2,2),3):((24,2),8)
//   fly-layout --svg 'picture(S<3,0,3> o 0 o (8,8):(8,1))' > swizzle.svg
//   echo 'size((4,8):(1,4))' | fly-layout                   one expression a line
//
// An expression is op(argument, ...); `fly-layout --help` lists the operations.
#include "calculator.h"
#include "command_line.h"

#include <iostream>

using flydsl::layout::calculate;
using flydsl::layout::operationsHelp;
using flydsl::layout::Rendering;

/// Prints the expression's value, or the reason why it has none. Returns false in the second case.
static bool answer(const std::string &expression, Rendering rendering) {
  try {
    std::string value = calculate(expression, rendering);
    std::cout << value << (!value.empty() && value.back() == '\n' ? "" : "\n");
    return true;
  } catch (const std::exception &e) {
    std::cout.flush();
    std::cerr << "error: " << e.what() << "\n";
    return false;
  }
}

int main(int argc, char **argv) {
  CLI::App app("The layout algebra at the command line.", "fly-layout");
  bool svg = false;
  std::vector<std::string> expressions;
  app.add_flag("--svg", svg, "pictures as SVG");
  app.add_option("EXPRESSION", expressions, "op(argument, ...); without one, a line of input each");
  app.footer(operationsHelp());
  return flydsl::tools::runTool(app, argc, argv, [&] {
    const Rendering rendering = svg ? Rendering::Svg : Rendering::Text;
    bool good = true;
    for (const std::string &expression : expressions)
      good &= answer(expression, rendering);
    if (expressions.empty())
      for (std::string line; std::getline(std::cin, line);)
        if (!line.empty() && line[0] != '#')
          good &= answer(line, rendering);
    return good ? 0 : 1;
  });
}
