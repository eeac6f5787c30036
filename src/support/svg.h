// Pictures as SVG: rectangles, lines and text, with coordinates in pixels from the upper left
// corner.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

namespace flydsl::support {

class Svg {
public:
  /// An attribute of an element, such as {"fill", "#fff"}. Its name is written as it is.
  struct Attribute {
    std::string_view name, value;
  };
  using Attributes = std::initializer_list<Attribute>;

  /// A picture with a background. `style` is a sheet of CSS, or empty; `attributes` go to the
  /// whole.
  Svg(double width, double height, std::string_view style = {}, Attributes attributes = {});

  void rect(double x, double y, double width, double height, Attributes attributes = {});
  void line(double x1, double y1, double x2, double y2);
  void text(double x, double y, std::string_view text, Attributes attributes = {});

  /// The whole as text; nothing can be added after that.
  std::string finish() &&;

private:
  /// `<name` and what the coordinates and attributes say.
  void open(std::string_view name,
            std::initializer_list<std::pair<std::string_view, double>> numbers,
            Attributes attributes);

  std::string out_;
};

} // namespace flydsl::support
