// The host's parts of the blocks that products share: orders of tiles, layouts in LDS, preshuffled
// weights.
#include "blocks/facts/lds_layout.h"
#include "blocks/facts/matrix_form.h"
#include "blocks/products/preshuffle.h"
#include "blocks/products/tile_order.h"

#include <catch2/catch.hpp>

#include <array>
#include <fstream>
#include <functional>
#include <numeric>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace fx = flydsl;
namespace impl = flydsl::kernels::impl;
using flydsl::kernels::TileOrder;

namespace {

/// Whether the blocks of a grid take each tile once.
bool takesEachOnce(const TileOrder &order, std::int64_t tilesM, std::int64_t tilesN) {
  std::vector<bool> taken(static_cast<std::size_t>(tilesM * tilesN));
  for (std::int64_t block = 0; block < tilesM * tilesN; ++block) {
    const auto [m, n] = impl::tileOf<std::int64_t>(order, block, tilesM, tilesN);
    if (m < 0 || m >= tilesM || n < 0 || n >= tilesN)
      return false;
    std::vector<bool>::reference place = taken[static_cast<std::size_t>(m * tilesN + n)];
    if (place)
      return false;
    place = true;
  }
  return true;
}

/// Lanes that LDS serves together, and over how many banks of 4 bytes.
struct Phases {
  std::size_t banks;
  std::vector<std::vector<int>> lanes;
};
/// Runs of `together` neighbouring lanes.
Phases inOrder(std::size_t banks, int together) {
  Phases phases{banks, {}};
  for (int first = 0; first < 64; first += together) {
    phases.lanes.emplace_back(std::size_t(together));
    std::iota(phases.lanes.back().begin(), phases.lanes.back().end(), first);
  }
  return phases;
}
/// Phases that are given for the lower half of a wave by the first lanes of runs of 4.
Phases inRunsOf4(std::size_t banks, const std::vector<std::vector<int>> &runs) {
  Phases phases{banks, {}};
  for (int half : {0, 32})
    for (const std::vector<int> &phase : runs) {
      phases.lanes.emplace_back();
      for (int first : phase)
        for (int lane = first; lane < first + 4; ++lane)
          phases.lanes.back().push_back(half + lane);
    }
  return phases;
}
/// Reads and writes of 16 bytes a lane. Sources: the documentation of Composable Kernel for 32
/// banks and for writes, which times of MI300 confirm; HipKittens' measurements of MI355X for 64
/// banks; RDNA's lanes are taken in order. tests/emulator compares the emulator with the same.
struct Lds {
  const char *name;
  int banks;
  Phases reads, writes;
};
const std::vector<Lds> &kindsOfLds() {
  static const std::vector<Lds> kinds = {
      {"gfx942", 32, inRunsOf4(32, {{0, 20}, {4, 16}, {8, 28}, {12, 24}}), inOrder(32, 8)},
      {"gfx950", 64, inRunsOf4(64, {{0, 12, 20, 24}, {4, 8, 16, 28}}), inOrder(32, 8)},
      {"gfx1201", 32, inOrder(32, 8), inOrder(32, 8)},
  };
  return kinds;
}

/// The cycles that a wave's accesses of 16 bytes at these addresses cost beyond those without
/// conflicts: of the lanes of a phase, the distinct words of a bank take a cycle each.
int conflicts(const std::array<int, 64> &addresses, const Phases &phases) {
  int lost = 0;
  for (const std::vector<int> &phase : phases.lanes) {
    std::vector<std::set<int>> words(phases.banks);
    for (int lane : phase) {
      const int first = addresses[std::size_t(lane)] / 4;
      for (int word = first; word < first + 4; ++word)
        words[std::size_t(word) % phases.banks].insert(word);
    }
    std::size_t most = 0;
    for (const std::set<int> &bank : words)
      most = std::max(most, bank.size());
    lost += static_cast<int>(most) - 1;
  }
  return lost;
}

} // namespace

TEST_CASE("an order of tiles takes each tile once") {
  for (int group : {1, 2, 3, 4, 8, 64})
    for (TileOrder::Along along : {TileOrder::Along::m, TileOrder::Along::n})
      for (int xcds : {1, 3, 4, 8})
        for (int chunk : {0, 1, 5}) {
          if (xcds == 1 && chunk)
            continue; // chunk is for several dies
          const TileOrder order{group, along, xcds, chunk};
          for (std::int64_t tilesM = 1; tilesM <= 64; ++tilesM)
            for (std::int64_t tilesN = 1; tilesN <= 64; tilesN += tilesN < 20 ? 1 : 11)
              if (!takesEachOnce(order, tilesM, tilesN)) {
                INFO("group " << group << " along " << int(along) << " xcds " << xcds << " chunk "
                              << chunk << " grid " << tilesM << "x" << tilesN);
                FAIL("a tile is taken twice, or none");
              }
        }
  SUCCEED();
}

TEST_CASE("an order of tiles gives each die neighbours") {
  // 8 dies and 16 x 16 tiles: die d gets the tiles 32 d to 32 d + 31 of the walk, which are half of
  // a group of 4 rows. So it reads 4 rows and 8 columns of tiles, not 16 and 16.
  const TileOrder order{.group = 4, .xcds = 8};
  for (std::int64_t die = 0; die < 8; ++die) {
    std::set<std::int64_t> rows, columns;
    for (std::int64_t block = die; block < 256; block += 8) {
      const auto [m, n] = impl::tileOf<std::int64_t>(order, block, 16, 16);
      rows.insert(m);
      columns.insert(n);
    }
    CHECK(rows.size() == 4);
    CHECK(columns.size() == 8);
  }
  // Without the order, a row after the other.
  const auto [m, n] = impl::tileOf<std::int64_t>({}, 37, 5, 10);
  CHECK(m == 3);
  CHECK(n == 7);
}

TEST_CASE("a swizzled tile is read and written without conflicts of banks") {
  for (const Lds &lds : kindsOfLds())
    for (int bytes : {1, 2, 4})
      for (int rowBytes : {64, 128, 256, 512, 1024}) {
        INFO(lds.name << ", elements of " << bytes << ", rows of " << rowBytes);
        const int columns = rowBytes / bytes, rows = 64, piece = 16 / bytes;
        const auto layout =
            fx::make_composed_layout(impl::xorSwizzle(bytes, rowBytes, lds.banks).swizzle(),
                                     fx::make_ordered_layout({rows, columns}, {1, 0}));
        const auto address = [&](int row, int column) {
          return static_cast<int>(layout(row, column).value()) * bytes;
        };
        // The pieces of 16 bytes stay whole, and no two of them meet.
        std::set<int> pieces;
        for (int row = 0; row < rows; ++row)
          for (int column = 0; column < columns; column += piece) {
            const int first = address(row, column);
            pieces.insert(first / 16);
            REQUIRE(first % 16 == 0);
            REQUIRE(address(row, column + piece - 1) == first + 16 - bytes);
          }
        REQUIRE(pieces.size() == std::size_t(rows * rowBytes / 16));
        // Reads of an operand: lane l has row l % 16 and the piece l / 16 of those at `column`.
        for (int column = 0; column < columns; column += 4 * piece) {
          std::array<int, 64> lanes;
          for (int lane = 0; lane < 64; ++lane)
            lanes[std::size_t(lane)] = address(lane % 16, column + lane / 16 * piece);
          REQUIRE(conflicts(lanes, lds.reads) == 0);
        }
        // Writes of rows: neighbouring lanes have neighbouring pieces.
        for (int wave = 0; wave < rows * rowBytes / 1024; ++wave) {
          std::array<int, 64> lanes;
          for (int lane = 0; lane < 64; ++lane) {
            const int at = wave * 64 + lane, across = rowBytes / 16;
            lanes[std::size_t(lane)] = address(at / across, at % across * piece);
          }
          REQUIRE(conflicts(lanes, lds.writes) == 0);
        }
      }
  // What it is for: without a swizzle, four rows of 128 bytes meet in the same banks.
  std::array<int, 64> plain;
  for (int lane = 0; lane < 64; ++lane)
    plain[std::size_t(lane)] = lane % 16 * 128 + lane / 16 * 16;
  CHECK(conflicts(plain, kindsOfLds()[0].reads) == 8 * 3);
}

TEST_CASE("preshuffled weights lie as FlyDSL and aiter lay them") {
  // shuffle_weight((16, 16)) views (n, k) as (n / 16, 16, k / 32, 4, 8) for elements of two bytes
  // and as (n / 16, 16, k / 64, 4, 16) for bytes, and permutes to (0, 2, 3, 1, 4).
  const auto shuffled = [](std::int64_t row, std::int64_t column, std::int64_t k, int piece) {
    const std::int64_t block = column / (4 * piece), group = column / piece % 4;
    return (((row / 16 * (k / (4 * piece)) + block) * 4 + group) * 16 + row % 16) * piece +
           column % piece;
  };
  const impl::Preshuffled halves{32, 96, 2}, bytes{48, 128, 1};
  for (std::int64_t row = 0; row < 32; ++row)
    for (std::int64_t column = 0; column < 96; ++column)
      REQUIRE(halves.place(row, column) == shuffled(row, column, 96, 8));
  for (std::int64_t row = 0; row < 48; ++row)
    for (std::int64_t column = 0; column < 128; ++column)
      REQUIRE(bytes.place(row, column) == shuffled(row, column, 128, 16));
  CHECK(halves.size() == 32 * 96);
  CHECK(impl::Preshuffled{33, 104, 2}.size() == 48 * 128);
}

TEST_CASE("a product takes the longest matrix instruction that divides its steps") {
  const auto k = [](const char *target, fx::DType type, std::int64_t step, std::int64_t row) {
    const auto form = impl::matrixForm(fx::Target::parse(target), type, type, step, row);
    return form ? form->k : 0;
  };
  CHECK(k("gfx90a", fx::f16, 64, 640) == 16);
  CHECK(k("gfx950", fx::bf16, 64, 640) == 32);
  CHECK(k("gfx90a", fx::i8, 64, 640) == 16);
  CHECK(k("gfx942", fx::i8, 64, 640) == 32);
  CHECK(k("gfx950", fx::i8, 64, 640) == 64);
  CHECK(k("gfx942", fx::f8E4M3FNUZ, 128, 640) == 32);
  CHECK(k("gfx950", fx::f8E4M3FN, 128, 640) == 128);
  CHECK(k("gfx950", fx::f8E4M3FN, 64, 640) == 32);   // a step that 128 does not divide
  CHECK(k("gfx950", fx::f8E5M2, 128, 704) == 32);    // a row that 128 does not divide
  CHECK(k("gfx950", fx::f8E4M3FNUZ, 128, 640) == 0); // the other target's format
  CHECK(k("gfx90a", fx::f8E4M3FNUZ, 128, 640) == 0);
  CHECK(k("gfx942", fx::f32, 64, 640) == 0);
  CHECK(k("gfx1250", fx::f16, 64, 640) == 32);
  CHECK(k("gfx1250", fx::i8, 64, 640) == 64);
  CHECK(k("gfx1250", fx::f8E4M3FN, 128, 640) == 128);
  CHECK(k("gfx1250", fx::f8E4M3FN, 128, 704) == 64); // a row that 128 does not divide
}

TEST_CASE("what a product's lanes share follows from the layouts of its instruction") {
  const auto form = [](const char *target, fx::DType type) {
    return *impl::matrixForm(fx::Target::parse(target), type, type, 128, 128);
  };
  struct Expected {
    const char *target;
    fx::DType type;
    int lanes, across, sumRun;
    bool accumulates;
  };
  for (const Expected &row : {Expected{"gfx90a", fx::f16, 64, 4, 4, true},
                              {"gfx942", fx::i8, 64, 4, 4, true},
                              {"gfx950", fx::f8E4M3FN, 64, 4, 4, true},
                              {"gfx1100", fx::bf16, 32, 1, 1, false},
                              {"gfx1201", fx::f16, 32, 2, 8, false},
                              {"gfx1250", fx::bf16, 32, 2, 8, false},
                              {"gfx1250", fx::i8, 32, 2, 8, false}}) {
    const impl::MatrixForm has = form(row.target, row.type);
    INFO(row.target);
    CHECK(has.lanes == row.lanes);
    CHECK(has.across == row.across);
    CHECK(has.sumRun == row.sumRun);
    CHECK(has.accumulates() == row.accumulates);
    CHECK(has.replicated() == (row.across == 1));
    CHECK(has.interleaved() == (row.sumRun == 1));
    CHECK(has.scaled == (row.type == fx::f8E4M3FN));
    CHECK(has.acc == (row.type == fx::i8 ? fx::i32 : fx::f32));
  }
  const auto fewest = [](const char *target, fx::DType type) {
    return impl::fewestOfK(fx::Target::parse(target), type, type);
  };
  CHECK(fewest("gfx942", fx::f8E4M3FNUZ) == 64);
  CHECK(fewest("gfx950", fx::f8E4M3FN) == 64);
  CHECK(fewest("gfx1201", fx::f8E4M3FN) == 32);
  CHECK(fewest("gfx1250", fx::f8E4M3FN) == 64);
  CHECK(fewest("gfx1100", fx::f8E4M3FN) == 0);
}

TEST_CASE("the table of a matrix instruction's numbers says what MatrixForm has") {
  using Number = std::function<int(const impl::MatrixForm &)>;
  const std::pair<const char *, Number> numbers[] = {
      {"lanes", &impl::MatrixForm::lanes},       {"k", &impl::MatrixForm::k},
      {"across", &impl::MatrixForm::across},     {"perLane", &impl::MatrixForm::perLane},
      {"run", &impl::MatrixForm::run},           {"piece", &impl::MatrixForm::piece},
      {"granule", &impl::MatrixForm::granule},   {"part", &impl::MatrixForm::part},
      {"products", &impl::MatrixForm::products}, {"sums", &impl::MatrixForm::sums},
      {"sumRun", &impl::MatrixForm::sumRun}};
  std::string page;
  {
    std::ifstream file(FLYDSL_SOURCE_DIR "/kernels/README.md");
    std::ostringstream text;
    text << file.rdbuf();
    page = text.str();
  }
  for (const auto &[name, number] : numbers) {
    std::string row = std::string("\n| `") + name + "` |";
    for (const char *target : {"gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"})
      row += " " +
             std::to_string(
                 number(*impl::matrixForm(fx::Target::parse(target), fx::f16, fx::f16, 128, 128))) +
             " |";
    INFO("kernels/README.md has no row that begins with" << row);
    CHECK(page.find(row) != std::string::npos);
  }
}
