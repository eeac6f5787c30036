#include "support/svg.h"

#include <array>
#include <charconv>
#include <cmath>

namespace flydsl::support {

namespace {

/// Hundredths of a pixel, and always a point: printf would write what the host's locale has for
/// one.
void appendNumber(std::string &out, double value) {
  std::array<char, 400> text; // any double fits
  const double rounded = std::round(value * 100) / 100;
  const auto end = std::to_chars(text.data(), text.data() + text.size(), rounded,
                                 std::chars_format::fixed);
  out.append(text.data(), end.ptr);
}

/// Text of an element, or inside of the quotes of an attribute.
void appendEscaped(std::string &out, std::string_view text) {
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else if (c == '&')
      out += "&amp;";
    else if (c == '"')
      out += "&quot;";
    else if (static_cast<unsigned char>(c) < ' ' && c != '\t' && c != '\n')
      out += "\xEF\xBF\xBD"; // XML has no such characters
    else
      out += c;
  }
}

} // namespace

void Svg::open(std::string_view name,
               std::initializer_list<std::pair<std::string_view, double>> numbers,
               Attributes attributes) {
  const auto attribute = [&](std::string_view called, const auto &append) {
    out_ += " ";
    out_ += called;
    out_ += "=\"";
    append();
    out_ += '"';
  };
  out_ += "<";
  out_ += name;
  for (const auto &[called, value] : numbers)
    attribute(called, [&] { appendNumber(out_, value); });
  for (const auto &[called, value] : attributes)
    attribute(called, [&] { appendEscaped(out_, value); });
}

Svg::Svg(double width, double height, std::string_view style, Attributes attributes) {
  open("svg xmlns=\"http://www.w3.org/2000/svg\"", {{"width", width}, {"height", height}},
       attributes);
  out_ += " viewBox=\"0 0 ";
  appendNumber(out_, width);
  out_ += " ";
  appendNumber(out_, height);
  out_ += "\">\n";
  if (!style.empty()) {
    out_ += "<style>";
    appendEscaped(out_, style);
    out_ += "</style>\n";
  }
  out_ += "<rect width=\"100%\" height=\"100%\" fill=\"#fff\" stroke=\"none\"/>\n";
}

void Svg::rect(double x, double y, double width, double height, Attributes attributes) {
  open("rect", {{"x", x}, {"y", y}, {"width", width}, {"height", height}}, attributes);
  out_ += "/>\n";
}

void Svg::line(double x1, double y1, double x2, double y2) {
  open("line", {{"x1", x1}, {"y1", y1}, {"x2", x2}, {"y2", y2}}, {});
  out_ += "/>\n";
}

void Svg::text(double x, double y, std::string_view text, Attributes attributes) {
  open("text", {{"x", x}, {"y", y}}, attributes);
  out_ += ">";
  appendEscaped(out_, text);
  out_ += "</text>\n";
}

std::string Svg::finish() && { return std::move(out_) + "</svg>\n"; }

} // namespace flydsl::support
