#include "target/processors.h"
#include "target/products.h"

#include <flydsl/error.h>
#include <flydsl/host/product.h>

#include <catch2/catch.hpp>

#include <set>

using namespace flydsl;

TEST_CASE("each processor has one row, and every row a wave, LDS and a block") {
  std::set<std::string_view> names;
  for (const detail::Processor &row : detail::processors()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    CHECK(detail::findProcessor(row.name) == &row);
    CHECK((row.waveSize == 32 || row.waveSize == 64));
    CHECK(row.ldsBytes >= 64 * 1024);
    CHECK(row.maxBlockSize % row.waveSize == 0);
    CHECK((row.ldsBanks == 32 || row.ldsBanks == 64));
    CHECK(row.registers.ofSimd % row.registers.granule == 0);
    CHECK(row.registers.ofSimd >= row.registers.ofWave);
    CHECK(row.wavesOfSimd >= 8);
    // That many waves leave each some registers.
    CHECK(row.registers.ofSimd / row.wavesOfSimd >= row.registers.granule);
    CHECK(row.waitCounters.loads >= row.waitCounters.scalar);
  }
  CHECK(Target::all().size() == detail::processors().size());
}

TEST_CASE("limits of launches hold on every processor, and some processor reaches each") {
  const detail::LaunchLimits &limits = detail::launchLimits();
  CHECK(limits.gridSize == 0x7fffffff); // HIP's programming guide: less than 2^31
  CHECK(limits.blockSize == 1024);
  CHECK(limits.waveSize == 64);
  for (const detail::Processor &row : detail::processors()) {
    INFO(row.name);
    CHECK(row.maxGridSize <= limits.gridSize);
    CHECK(row.maxBlockSize <= limits.blockSize);
    CHECK(row.waveSize <= limits.waveSize);
  }
}

TEST_CASE("what follows from another feature is there with it") {
  for (const Target &target : Target::all()) {
    INFO(target.name());
    CHECK_FALSE((target.has(feature::mfma) && target.has(feature::wmma)));
    CHECK(target.has(feature::mfma) == target.has(feature::accumulation_registers));
    CHECK((target.wave_size() == 64) == target.has(feature::mfma));
    CHECK((!target.has(feature::mfma_scale) || target.has(feature::mfma)));
    CHECK((!target.has(feature::buffer_to_lds_wide) || target.has(feature::buffer_to_lds)));
    CHECK_FALSE((target.has(feature::ocp_fp8) && target.has(feature::fnuz_fp8)));
  }
}

TEST_CASE("features have names, no two the same") {
  std::set<std::string_view> names;
  for (Feature feature : detail::allFeatures())
    CHECK(names.insert(name(feature)).second);
  CHECK(name(feature::mfma) == "mfma");
  CHECK(detail::processorsWith(feature::mfma_scale) == "gfx950");
}

TEST_CASE("the number of dies follows from that of compute units") {
  const auto dies = [](const char *name, int units) {
    return detail::diesOf(*detail::findProcessor(name), units);
  };
  CHECK(dies("gfx942", 304) == 8); // MI300X
  CHECK(dies("gfx942", 228) == 6); // MI300A
  CHECK(dies("gfx942", 80) == 4);  // MI308X
  CHECK(dies("gfx942", 38) == 1);  // MI300X in eight parts
  CHECK(dies("gfx950", 256) == 8); // MI355X
  CHECK(dies("gfx950", 250) == std::nullopt);
  CHECK(dies("gfx942", 0) == std::nullopt);
  CHECK(dies("gfx90a", 104) == 1); // each of its dies is a device
  CHECK(dies("gfx1201", 32) == 1);
}

TEST_CASE("each product has one row, and those of a processor follow one another") {
  std::set<std::string_view> names, processors;
  std::string_view before;
  for (const detail::ProductRow &row : detail::allProducts()) {
    INFO(row.name);
    CHECK(names.insert(row.name).second);
    REQUIRE(detail::findProcessor(row.processor));
    if (row.processor != before)
      CHECK(processors.insert(row.processor).second);
    before = row.processor;
    CHECK(row.computeUnits % row.dies == 0);
    CHECK(row.computeUnits % detail::findProcessor(row.processor)->unitsOfMultiprocessor == 0);
    CHECK(row.clockMhz > 1000);
    CHECK(row.memoryGigabytes > 0);
    CHECK(row.l2Bytes > 0);
    CHECK(row.memoryBusBits % 32 == 0);
    const auto &clock = row.sustained.clockPercent;
    for (const int percent : {row.sustained.readPercent, row.sustained.copyPercent, clock.f16,
                              clock.bf16, clock.of8, clock.of4})
      CHECK((percent >= 50 && percent <= 100));
    CHECK(row.sustained.copyPercent <= row.sustained.readPercent); // writes make none faster
    CHECK(detail::findProduct(row.name) == &row);
  }
  for (const detail::Processor &row : detail::processors())
    CHECK(processors.count(row.name) == 1);
}

TEST_CASE("a product is found by its name, whose spaces and capitals do not count") {
  REQUIRE(detail::findProduct("rx7900 xtx"));
  CHECK(detail::findProduct("rx7900 xtx")->name == "RX 7900 XTX");
  CHECK(detail::findProduct("MI300") == nullptr); // the beginning of a name is none
  CHECK(detail::findProduct("") == nullptr);
}

TEST_CASE("a target's first product is what it is by default") {
  const auto named = [](const char *target) {
    return default_product(Target::parse(target)).value_or(Product{}).name;
  };
  CHECK(named("gfx90a") == "MI210");
  CHECK(named("gfx942") == "MI300X");
  CHECK(named("gfx942:xnack-") == "MI300X");
  CHECK(named("gfx950") == "MI355X");
  CHECK(named("gfx1201") == "RX 9070 XT");
  CHECK(named("gfx1250") == "MI455X");
  const std::vector<Product> all = products(Target::parse("gfx942"));
  REQUIRE(all.size() == 4);
  CHECK(all[3].name == "MI308X");
  CHECK(all[3].compute_units == 80);
  CHECK(all[3].dies == 4);
  CHECK(products(Target::parse("gfx1250")).size() == 1);
}

TEST_CASE("registers of a lane follow from the waves of a block") {
  const Target cdna = Target::parse("gfx942"), rdna = Target::parse("gfx1201");
  CHECK(registers_of_lane(cdna, 1) == 512);
  CHECK(registers_of_lane(cdna, 4) == 512);
  CHECK(registers_of_lane(cdna, 5) == 256);
  CHECK(registers_of_lane(cdna, 16) == 128);
  CHECK(registers_of_lane(rdna, 1) == 256);
  CHECK(registers_of_lane(rdna, 24) == 256);
  CHECK(registers_of_lane(rdna, 32) == 192);
  CHECK_THROWS_WITH(registers_of_lane(rdna, 0),
                    "registers of a block of 0 waves; a block has at least one");
  CHECK_THROWS_WITH(registers_of_lane(Target(), 1), Catch::Contains("no target is given"));
  CHECK(lds_banks(cdna) == 32);
  CHECK(lds_banks(Target::parse("gfx950")) == 64);
  CHECK(wait_limits(cdna).loads == 63);
  CHECK(wait_limits(cdna).lds == 15);
  CHECK(wait_limits(rdna).scalar == 31);
}

TEST_CASE("a target that was never named answers no question") {
  const Target none;
  CHECK_FALSE(none);
  CHECK(Target::parse("gfx942"));
  CHECK_THROWS_WITH(none.wave_size(), Catch::Contains("no target is given; name one of: gfx90a"));
  CHECK_THROWS_AS(none.id(), CompileError);
  CHECK_THROWS_AS(Target::parse("gfx942").runs_on(none), CompileError);
}
