#include "support/svg.h"

#include <catch2/catch.hpp>
#include <clocale>
#include <string>
#include <utility>

using flydsl::support::Svg;

TEST_CASE("A picture is XML, whatever its text and the host's locale are", "[svg]") {
  // A locale that writes a comma into numbers, if the machine has one.
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char *name : {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE"})
    if (std::setlocale(LC_NUMERIC, name))
      break;
  Svg svg(100, 50.5, "a>b{}", {{"font-size", "11"}});
  svg.rect(1.234567, 2, 3e6, 0.001, {{"fill", "\"<&>"}});
  svg.line(0, -1, 2, 0.5);
  svg.text(4, 5, "S<3> & \"x\"\x01", {{"class", "title"}});
  const std::string text = std::move(svg).finish();
  std::setlocale(LC_NUMERIC, before.c_str());
  CHECK(text ==
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"100\" height=\"50.5\" font-size=\"11\" "
        "viewBox=\"0 0 100 50.5\">\n"
        "<style>a&gt;b{}</style>\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#fff\" stroke=\"none\"/>\n"
        "<rect x=\"1.23\" y=\"2\" width=\"3000000\" height=\"0\" fill=\"&quot;&lt;&amp;&gt;\"/>\n"
        "<line x1=\"0\" y1=\"-1\" x2=\"2\" y2=\"0.5\"/>\n"
        "<text x=\"4\" y=\"5\" class=\"title\">S&lt;3&gt; &amp; &quot;x&quot;\xEF\xBF\xBD</text>\n"
        "</svg>\n");
}
