// Compares the thread-value layouts of matrix atoms with those of sources outside of the project.
#include "emulated_targets.h"
#include "layouts.h"
#include "matrix_cases.h"

#include <catch2/catch.hpp>

#include <map>

namespace fx = flydsl;
using namespace atoms_test;
using matrix_layouts::Operand;
using matrix_layouts::Step;

namespace {

std::string elementName(fx::DType type) {
  if (type == fx::f8E4M3FN || type == fx::f8E4M3FNUZ)
    return "fp8";
  if (type == fx::f8E5M2 || type == fx::f8E5M2FNUZ)
    return "bf8";
  return std::string(type.name());
}

/// Blocks of the instruction of an atom: all are square, and lie side by side in B.
unsigned blocksOf(const Case &c) { return unsigned(c.n > c.m ? c.n / c.m : 1); }

/// The assembler's name of the instruction of an atom.
std::string mnemonicOf(const Case &c, const std::string &arch) {
  const bool mfma = arch.starts_with("gfx9");
  const unsigned blocks = blocksOf(c);
  std::string shape = std::to_string(c.m) + "x" + std::to_string(unsigned(c.n) / blocks) + "x" +
                      std::to_string(c.k);
  std::string name = std::string(mfma ? "v_mfma_" : "v_wmma_") + (c.scaled ? "scale_" : "") +
                     std::string(c.acc.name()) + "_" + shape;
  if (c.scaled)
    return name + "_f8f6f4";
  if (arch == "gfx90a")
    return name + std::string(c.a.name()) +
           (c.a == fx::bf16 && (blocks > 1 ? c.k == 4 : c.m * c.k == 256) ? "_1k" : "");
  if (blocks > 1)
    name += "_" + std::to_string(blocks) + "b";
  if (mfma && c.a == fx::f32 && c.m * c.k == 128)
    return name + "_xf32";
  if (!mfma && c.a.is_integer())
    return name + "_iu" + std::to_string(c.a.bits());
  name += "_" + elementName(c.a);
  if (c.a.bits() == 8 && !c.a.is_integer())
    name += "_" + elementName(c.b);
  return name;
}

/// An operand of the dialect as (row, column) of its column-major tile.
class Placed {
public:
  Placed(const fx::Layout &tv, int rows) : tv_(tv), rows_(rows) {}
  std::pair<unsigned, unsigned> at(unsigned lane, unsigned item) const {
    const auto index =
        static_cast<int>(fx::crd2idx(fx::make_coord(int(lane), int(item)), tv_).value());
    return {unsigned(index % rows_), unsigned(index / rows_)};
  }
  int lanes() const { return int(fx::size(tv_, 0).value()); }
  int items() const { return int(fx::size(tv_, 1).value()); }

private:
  const fx::Layout &tv_;
  int rows_;
};

/// Which k the dialect names for a step in k of the source. Where no scale tells one k from another
/// a product is the same in any order that A and B share.
using OrderOfK = std::map<unsigned, unsigned>;

/// Compares the steps of every bit, and one place in which all bits are set. `from` gives the two
/// coordinates of the source's step; of A and B the second is k.
template <class Coordinates>
void compare(const Operand &source, const Placed &dialect, Coordinates from, OrderOfK *order) {
  REQUIRE(unsigned(dialect.lanes()) == source.lanes());
  REQUIRE(unsigned(dialect.items()) == source.items());
  std::pair<unsigned, unsigned> sum{0, 0};
  auto bit = [&](const char *what, unsigned number, Step step, std::pair<unsigned, unsigned> got) {
    CAPTURE(what, number);
    const auto [row, column] = from(step);
    CHECK(got.first == row);
    if (order) {
      CHECK((got.second == 0) == (column == 0));
      const auto known = order->emplace(column, got.second).first;
      CHECK(got.second == known->second);
    } else {
      CHECK(got.second == column);
    }
    sum.first += got.first;
    sum.second += got.second;
  };
  CHECK(dialect.at(0, 0) == std::pair(0u, 0u));
  for (unsigned n = 0; n < source.lane.size(); ++n)
    bit("lane", 1u << n, source.lane[n], dialect.at(1u << n, 0));
  for (unsigned n = 0; n < source.item.size(); ++n)
    bit("item", 1u << n, source.item[n], dialect.at(0, 1u << n));
  CHECK(dialect.at(source.lanes() - 1, source.items() - 1) == sum);
}

void compareAtom(const Case &c, const std::string &arch) {
  const std::string name = mnemonicOf(c, arch);
  CAPTURE(arch, name, c.text());
  const auto source =
      c.scaled ? matrix_layouts::find(arch, name, unsigned(c.a.bits()), unsigned(c.b.bits()))
               : matrix_layouts::find(arch, name);
  const fx::MmaAtom atom = atomOf(c, arch);
  OrderOfK shared;
  OrderOfK *order = c.scaled ? nullptr : &shared;
  const fx::Layout a = atom.layout_A_tv(), b = atom.layout_B_tv(), d = atom.layout_C_tv();
  compare(*source.a, Placed(a, c.m), [](Step s) { return std::pair(s.i, s.k); }, order);
  // The blocks share A. The next block of B and D begins after the columns of this one.
  const auto column = [width = unsigned(c.n) / blocksOf(c)](Step s) {
    return s.j + width * s.block;
  };
  compare(*source.b, Placed(b, c.n), [&](Step s) { return std::pair(column(s), s.k); }, order);
  compare(*source.d, Placed(d, c.m), [&](Step s) { return std::pair(s.i, column(s)); }, nullptr);
}

} // namespace

TEST_CASE("thread-value layouts are those that the sources outside give") {
  if (fx::Device::current().arch() != "gfx942")
    return; // once is enough
  for (const char *arch : kAllTargets) {
    int compared = 0;
    const fx::Kernel kernel{"layouts", [&](fx::Tensor) {
                              compared = 0;
                              for (const Case &c : casesOf(arch)) {
                                // Of gfx1250's dense 8-bit instructions the published orders of K
                                // differ; A's and B's agree in each.
                                if (std::string(arch) == "gfx1250" && !c.scaled && c.a.bits() == 8)
                                  continue;
                                compareAtom(c, arch);
                                ++compared;
                              }
                            }};
    kernel(fx::tensor(static_cast<float *>(nullptr), {1})).compile({.arch = arch});
    CHECK(compared >= (std::string(arch) == "gfx1100" ? 12 : 9));
  }
}
