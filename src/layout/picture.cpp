#include "layout/picture.h"

#include "layout/coord.h"
#include "layout/error.h"
#include "support/svg.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace flydsl::layout {

namespace {

/// One cell: its text, and the number that selects its shade (below 0: none).
struct Cell {
  std::string text;
  int64_t key = -1;
};

/// A grid of cells, and the numbers of rows and columns after which a rule is drawn (0: never).
struct Grid {
  std::string title;
  int64_t rows = 1;
  int64_t columns = 1;
  int64_t rowRule = 0;
  int64_t columnRule = 0;
  std::vector<Cell> cells; // in row-major order

  Cell &at(int64_t r, int64_t c) { return cells[static_cast<size_t>(r * columns + c)]; }
  const Cell &at(int64_t r, int64_t c) const { return cells[static_cast<size_t>(r * columns + c)]; }
};

int64_t staticSize(const IntTuple &shape) {
  if (!shape.isStatic())
    fail("a picture needs a static shape, not ", shape);
  int64_t n = product(shape).value();
  if (n < 1)
    fail("a picture of the shape ", shape, " has nothing to show");
  return n;
}

/// The number of elements after which the last part of a nested mode steps on.
int64_t ruleOf(const IntTuple &mode) {
  if (mode.isLeaf() || mode.rank() < 2)
    return 0;
  int64_t inner = product(take(mode, 0, mode.rank() - 1)).value();
  return inner > 1 ? inner : 0;
}

Grid gridOf(const std::string &title, const IntTuple &shape) {
  Grid g;
  g.title = title;
  if (shape.rank() > 2)
    fail("a picture is of a layout of rank 1 or 2, not ", title);
  const bool matrix = shape.rank() == 2;
  if (matrix) {
    g.rows = staticSize(shape.at(0));
    g.rowRule = ruleOf(shape.at(0));
  }
  const IntTuple &across = matrix ? shape.at(1) : shape.at(0);
  g.columns = staticSize(across);
  g.columnRule = ruleOf(across);
  if (g.rows > kMaxPictureCells || g.columns > kMaxPictureCells / g.rows)
    fail("a picture of ", title, " has more than ", kMaxPictureCells, " cells");
  g.cells.resize(static_cast<size_t>(g.rows * g.columns));
  return g;
}

Grid layoutGrid(const AnyLayout &layout) {
  if (!isStatic(layout))
    fail("a picture needs a static layout, not ", str(layout));
  Grid g = gridOf(str(layout), shapeOf(layout));
  for (int64_t r = 0; r < g.rows; ++r)
    for (int64_t c = 0; c < g.columns; ++c) {
      IntTuple value = crd2idx(rank(layout) == 2 ? tup(r, c) : IntTuple(c), layout);
      if (value.isBasis())
        value = basisToTuple(value);
      g.at(r, c) = {value.str(), value.isLeaf() ? value.leaf().value() : r * g.columns + c};
    }
  return g;
}

Grid partitionGrid(const Layout &tv, const IntTuple &tile) {
  if (!tv.isStatic() || tv.rank() != 2 || tv.isLeaf())
    fail("a thread-value layout is a static layout of (thread, value), not ", tv);
  Grid g = gridOf(tv.str() + " over " + tile.str(), tile);
  const int64_t threads = staticSize(tv.shape().at(0)), values = staticSize(tv.shape().at(1));
  if (threads > kMaxPictureCells || values > kMaxPictureCells / threads)
    fail("a picture of ", tv, " has more than ", kMaxPictureCells, " holders");
  std::vector<int> holders(g.cells.size());
  for (int64_t t = 0; t < threads; ++t)
    for (int64_t v = 0; v < values; ++v) {
      IntTuple at = crd2idx(tup(t, v), tv);
      if (!at.isLeaf() || at.isBasis())
        fail("a thread-value layout gives positions in a tile, but ", tv, " gives ", at);
      int64_t position = at.leaf().value();
      if (position < 0 || position >= g.rows * g.columns)
        fail("thread ", t, "'s value ", v, " of ", tv, " is at position ", position,
             ", outside the tile ", tile);
      int64_t r = position % g.rows, c = position / g.rows;
      if (holders[static_cast<size_t>(r * g.columns + c)]++ == 0)
        g.at(r, c) = {"T" + std::to_string(t) + " V" + std::to_string(v), t};
    }
  for (size_t i = 0; i < holders.size(); ++i)
    if (holders[i] > 1)
      g.cells[i].text += " +" + std::to_string(holders[i] - 1);
  return g;
}

std::string padded(const std::string &s, size_t width) {
  return std::string(width > s.size() ? width - s.size() : 0, ' ') + s;
}

std::string textOf(const Grid &g) {
  size_t width = std::to_string(g.columns - 1).size();
  for (const Cell &c : g.cells)
    width = std::max(width, c.text.size());
  const size_t label = std::to_string(g.rows - 1).size();
  auto isRule = [](int64_t rule, int64_t i) { return rule != 0 && i != 0 && i % rule == 0; };

  std::string head = std::string(label + 2, ' '), line = std::string(label + 1, ' ') + "+";
  for (int64_t c = 0; c < g.columns; ++c) {
    if (isRule(g.columnRule, c)) {
      head += "  ";
      line += "-+";
    }
    head += " " + padded(std::to_string(c), width);
    line += std::string(width + 1, '-');
  }
  std::string out = g.title + "\n" + head + "\n" + line + "\n";
  for (int64_t r = 0; r < g.rows; ++r) {
    if (isRule(g.rowRule, r))
      out += line + "\n";
    std::string row = padded(std::to_string(r), label) + " |";
    for (int64_t c = 0; c < g.columns; ++c) {
      if (isRule(g.columnRule, c))
        row += " |";
      row += " " + padded(g.at(r, c).text, width);
    }
    while (!row.empty() && row.back() == ' ')
      row.pop_back();
    out += row + "\n";
  }
  return out;
}

/// Shade number `key` modulo `shades`: hues around the circle, light enough for black text.
std::string shade(int64_t key, int shades) {
  if (key < 0)
    return "#ffffff";
  int hue = static_cast<int>(key % shades) * 360 / shades;
  int light = (key % shades) % 2 ? 78 : 86;
  return "hsl(" + std::to_string(hue) + ",70%," + std::to_string(light) + "%)";
}

std::string svgOf(const Grid &g, int shades) {
  if (shades < 1 || shades > 64)
    fail("a picture has 1 to 64 shades, not ", shades);
  size_t letters = 2;
  for (const Cell &c : g.cells)
    letters = std::max(letters, c.text.size());
  // All are whole numbers of pixels.
  const double width = static_cast<double>(letters * 8 + 10), height = 26, left = 40, top = 52;
  const auto columnAt = [&](int64_t c) { return left + static_cast<double>(c) * width; };
  const auto rowAt = [&](int64_t r) { return top + static_cast<double>(r) * height; };
  const double right = columnAt(g.columns), bottom = rowAt(g.rows);
  const double fullWidth =
      std::max(right + 12, static_cast<double>(g.title.size() * 9) + 2 * left);

  support::Svg svg(fullWidth, bottom + 12,
                   "text{font:13px monospace;text-anchor:middle;dominant-baseline:central}"
                   ".title{font-size:15px;text-anchor:start}.label{fill:#777}"
                   "rect{stroke:#999;stroke-width:.5}line{stroke:#000;stroke-width:1.6}");
  svg.text(left, 16, g.title, {{"class", "title"}});
  const double middle = width / 2;
  for (int64_t c = 0; c < g.columns; ++c)
    svg.text(columnAt(c) + middle, top - 12, std::to_string(c), {{"class", "label"}});
  for (int64_t r = 0; r < g.rows; ++r) {
    svg.text(left / 2, rowAt(r) + height / 2, std::to_string(r), {{"class", "label"}});
    for (int64_t c = 0; c < g.columns; ++c) {
      const Cell &cell = g.at(r, c);
      svg.rect(columnAt(c), rowAt(r), width, height, {{"fill", shade(cell.key, shades)}});
      svg.text(columnAt(c) + middle, rowAt(r) + height / 2, cell.text, {{"class", "cell"}});
    }
  }
  for (int64_t c = g.columnRule; g.columnRule != 0 && c < g.columns; c += g.columnRule)
    svg.line(columnAt(c), top, columnAt(c), bottom);
  for (int64_t r = g.rowRule; g.rowRule != 0 && r < g.rows; r += g.rowRule)
    svg.line(left, rowAt(r), right, rowAt(r));
  svg.line(left, top, right, top);
  svg.line(left, bottom, right, bottom);
  svg.line(left, top, left, bottom);
  svg.line(right, top, right, bottom);
  return std::move(svg).finish();
}

} // namespace

std::string pictureText(const AnyLayout &layout) { return textOf(layoutGrid(layout)); }
std::string pictureSvg(const AnyLayout &layout, int shades) {
  return svgOf(layoutGrid(layout), shades);
}
std::string picturePartitionText(const Layout &tv, const IntTuple &tile) {
  return textOf(partitionGrid(tv, tile));
}
std::string picturePartitionSvg(const Layout &tv, const IntTuple &tile, int shades) {
  return svgOf(partitionGrid(tv, tile), shades);
}

} // namespace flydsl::layout
