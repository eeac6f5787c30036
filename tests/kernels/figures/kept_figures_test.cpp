// Figures that are kept (fly-kernels figures): of each call of each file in this folder, each figure
// that becomes worse is named, and one that is within what is allowed is not an error.
#include "kept_figures.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace fly_kernels;
namespace fs = std::filesystem;

namespace {

std::vector<KeptFigures> kept() {
  std::vector<KeptFigures> all;
  for (const auto &entry : fs::directory_iterator(FLYDSL_KEPT_FIGURES))
    if (entry.path().extension() == ".json")
      all.push_back(KeptFigures::read(entry.path()));
  REQUIRE(all.size() == FLYDSL_EMULATED_TARGET_COUNT);
  return all;
}

/// The least value that is worse than a kept one, as far as a figure is whole; a time's is 4 % more.
double worse(const FigureKind &kind, double value) {
  if (kind.moreIsBetter)
    return value - 1;
  if (std::string(kind.name) == "us")
    return value * 1.04 + 0.02;
  return std::floor(value + std::max(kind.absolute, kind.share * value)) + 1;
}

} // namespace

TEST_CASE("each kept figure that becomes worse is named with its problem") {
  for (const KeptFigures &file : kept()) {
    CHECK(changesOf(file, file).same());
    std::size_t figures = 0;
    for (std::size_t i = 0; i < file.calls.size(); ++i)
      for (std::size_t k = 0; k < file.calls[i].values.size(); ++k) {
        KeptFigures now = file;
        const FigureKind &kind = figureKinds()[k];
        now.calls[i].values[k] = worse(kind, now.calls[i].values[k]);
        const FigureChanges changes = changesOf(file, now);
        INFO(file.device << ": " << file.calls[i].problem << ": " << kind.name);
        REQUIRE(changes.worse.size() == 1);
        CHECK(changes.better.empty());
        CHECK(changes.worse[0].starts_with(file.calls[i].problem + ": " + kind.what + " "));
        // The other way round it is a gain, which the file should keep.
        CHECK(changesOf(now, file).worse.empty());
        CHECK(changesOf(now, file).better.size() == 1);
        ++figures;
      }
    CHECK(figures > 500);
  }
}

TEST_CASE("changes within what is allowed are told, and are no error") {
  KeptFigures file{
      "device", {{"norm n=8 m=1", "threads=64", std::vector<double>(figureKinds().size(), 1000)}}};
  for (std::size_t k = 0; k < figureKinds().size(); ++k) {
    const FigureKind &kind = figureKinds()[k];
    const double most = std::floor(std::max(kind.absolute, kind.share * 1000));
    if (most == 0)
      continue;
    INFO(kind.name);
    KeptFigures now = file;
    now.calls[0].values[k] += most;
    CHECK(changesOf(file, now).worse.empty());
    CHECK(changesOf(file, now).better.size() == 1);
    now.calls[0].values[k] += 1;
    CHECK(changesOf(file, now).worse.size() == 1);
  }
}

TEST_CASE("problems that come, go, or lose a target's support are named; so is another device") {
  const std::vector<double> values(figureKinds().size(), 1);
  const KeptFigures one{"device", {{"norm n=8 m=1", "threads=64", values}}};
  const KeptFigures two{"device", {one.calls[0], {"norm n=16 m=1", "threads=64", values}}};
  CHECK(changesOf(one, two).worse ==
        std::vector<std::string>{"norm n=16 m=1: nothing is kept of it"});
  CHECK(changesOf(two, one).worse ==
        std::vector<std::string>{"norm n=16 m=1: the list does not have this problem any more"});
  KeptFigures refused = one;
  refused.calls[0] = {"norm n=8 m=1"};
  CHECK(changesOf(one, refused).worse ==
        std::vector<std::string>{"norm n=8 m=1: was supported, and is not any more"});
  CHECK(changesOf(refused, one).better ==
        std::vector<std::string>{"norm n=8 m=1: is supported now"});
  KeptFigures slower = one;
  slower.calls[0].values[0] = 2;
  slower.calls[0].configuration = "threads=128";
  CHECK(changesOf(one, slower).worse ==
        std::vector<std::string>{"norm n=8 m=1: microseconds, estimated 1 -> 2 (+100.0 %); the "
                                 "configuration was threads=64 and is threads=128"});
  KeptFigures other = one;
  other.device = "another";
  CHECK(changesOf(one, other).worse.size() == 1);
}

TEST_CASE("a file of kept figures is read as it was written, and another form is refused") {
  const fs::path path =
      fs::temp_directory_path() / ("kept_figures_" + std::to_string(::getpid()) + ".json");
  for (const KeptFigures &file : kept()) {
    file.write(path);
    CHECK(KeptFigures::read(path) == file);
  }
  for (const char *text :
       {"", "{}", "[1]", R"({"device": "d", "calls": [{"problem": "p", "configuration": "c"}]})",
        R"({"device": "d", "calls": [{"configuration": "c"}]})"}) {
    std::ofstream(path) << text;
    INFO(text);
    CHECK_THROWS_WITH(KeptFigures::read(path), Catch::Contains("does not have the form"));
  }
  std::ofstream(path) << R"({"device": "d", "of": "cod", "calls": []})";
  CHECK_THROWS_WITH(KeptFigures::read(path),
                    Catch::Contains("keeps figures of \"cod\"; \"calls\" and \"code\" are known"));
  // Of code, each configuration is a row; a file of calls is another thing.
  const std::vector<double> counts(figureKinds(FiguresOf::code).size(), 100);
  KeptFigures code{"device", {{"norm n=8 m=1 | block=64", "", counts}}, FiguresOf::code};
  code.calls.push_back({"norm n=8 m=1 | block=128"});
  code.write(path);
  CHECK(KeptFigures::read(path) == code);
  KeptFigures more = code;
  more.calls[0].values[0] += 2;
  CHECK(changesOf(code, more).worse ==
        std::vector<std::string>{"norm n=8 m=1 | block=64: vector instructions besides matrix "
                                 "instructions 100 -> 102 (+2.0 %)"});
  CHECK(
      changesOf({"device", {}}, code).worse ==
      std::vector<std::string>{
          "the file keeps figures of calls, and these are of code: --every N looks at code alone"});
  fs::remove(path);
  CHECK_THROWS_WITH(KeptFigures::read(path), Catch::Contains("can't read"));
  CHECK_THROWS_WITH(kept()[0].write("/no/such/folder/file.json"), Catch::Contains("can't write"));
}
