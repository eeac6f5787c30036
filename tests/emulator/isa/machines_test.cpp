// Compares the emulator's tables of machines, HIP figures and ELF machine numbers with the table of
// processors, with each other, and with LLVM's tables.
#include "emulator/core/dispatch.h"
#include "emulator/hip/device/device.h"
#include "emulator/hip/device/device_figures.h"
#include "emulator/isa/machine.h"
#include "emulator/loader/target_id.h"
#include "emulator/ops/decode_program.h"
#include "target/products.h"

#include <catch2/catch.hpp>

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/TargetParser/TargetParser.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string>

using namespace flyemu;
using flydsl::Feature;

namespace {

constexpr uint8_t kAbiVersion5 = 3; // EI_ABIVERSION of code object version 5

/// The processors that the emulator does not run.
std::vector<std::string> others() {
  std::vector<std::string> names;
  for (const Processor &processor : flydsl::detail::processors())
    if (!findMachine(processor.name))
      names.emplace_back(processor.name);
  return names;
}

} // namespace

TEST_CASE("each machine is a row of the table of processors, and the only one of it") {
  std::set<const Processor *> seen;
  for (const Machine &machine : machines()) {
    INFO(machine.name());
    CHECK(flydsl::detail::findProcessor(machine.name()) == machine.processor);
    CHECK(seen.insert(machine.processor).second);
    CHECK(findMachine(machine.name()) == &machine);
    CHECK(findMachine(machine.name() + ":xnack-") == &machine);
    CHECK(isTargetSupported(machine.name()));
    CHECK(machine.processor->ldsBytes % machine.ldsGranule == 0);
  }
}

TEST_CASE("a machine's shape is that of LLVM's generation of its processor") {
  for (const Machine &machine : machines()) {
    INFO(machine.name());
    const unsigned major = llvm::AMDGPU::getIsaVersion(machine.name()).Major;
    CHECK(machine.encoding == (major == 9    ? Encoding::Gfx9
                               : major == 11 ? Encoding::Gfx11
                                             : Encoding::Gfx12));
    CHECK((machine.encoding == Encoding::Gfx9) ==
          flydsl::detail::isCdna(machine.processor->family));
    // M0 and NULL changed places with gfx11, and before gfx10 there was no NULL (LLVM,
    // SIRegisterInfo.td).
    CHECK(machine.m0 == (major == 9 ? 124 : 125));
    CHECK(machine.nullSgpr == (major == 9 ? 0 : 124));
    // Where the kernel cannot name FLAT_SCRATCH, hardware must set it.
    CHECK((machine.flatScratch != 0 || machine.architectedScratch));
  }
}

TEST_CASE("each product of a machine has HIP's figures once, and the compute capability is LLVM's "
          "version") {
  std::size_t products = 0;
  for (const Machine &machine : machines()) {
    INFO(machine.name());
    const hip::DeviceFigures *figures = hip::findDeviceFigures(machine.name());
    REQUIRE(figures);
    CHECK(figures->product == &machine.product());
    for (const flydsl::detail::ProductRow &product : flydsl::detail::productsOf(machine.name())) {
      INFO(product.name);
      const hip::DeviceFigures &its = hip::figuresOf(product);
      CHECK(its.machine == &machine);
      CHECK(its.dies() == product.dies);
      CHECK(its.clockKhz == product.clockMhz * 1000);
      // HBM moves 2 bits (HBM2E) or 4 (as AMD's drivers give the clock of HBM3) a clock and line,
      // GDDR6 16: whole numbers for each product, if its bandwidth and its bus are right.
      const double bits =
          product.memoryGigabytes * 8e6 / product.memoryBusBits / its.memoryClockKhz;
      CHECK(bits == Approx(std::round(bits)).epsilon(0.03));
      ++products;
    }
    CHECK(figures->machine == &machine);
    CHECK(figures->name() == machine.name());
    const llvm::AMDGPU::IsaVersion version = llvm::AMDGPU::getIsaVersion(machine.name());
    CHECK(figures->major == static_cast<int>(version.Major));
    CHECK(figures->minor == static_cast<int>(version.Minor));
    // A multiprocessor holds whole workgroups of the largest size, and their registers.
    CHECK(figures->threadsPerUnit % figures->maxBlockSize() == 0);
    CHECK(figures->wavesPerSimd * figures->simdsPerUnit * figures->waveSize() ==
          figures->threadsPerUnit);
    CHECK(figures->registersPerLane % figures->registerGranule == 0);
  }
  CHECK(hip::allDeviceFigures().size() == products);
}

TEST_CASE("a processor that is not emulated is refused by its name") {
  const std::string machine = std::string(machines()[0].processor->name);
  CHECK(others().empty());
  std::vector<std::string> names = others();
  names.push_back("gfx9"); // the beginning of a name is none
  names.push_back(machine + "0");
  for (const std::string &name : names) {
    INFO(name);
    CHECK_FALSE(findMachine(name));
    CHECK_FALSE(isTargetSupported(name));
    CHECK_FALSE(hip::findDeviceFigures(name));
    alignas(4) const uint32_t code = 0xbf810000;
    CHECK_THROWS_WITH(decodeProgram(name, &code, sizeof code), Catch::Contains("'" + name + "'"));
    setenv("FLYDSL_EMULATOR_ARCH", name.c_str(), 1);
    const hip::Configuration configuration = hip::Configuration::fromEnvironment();
    unsetenv("FLYDSL_EMULATOR_ARCH");
    CHECK(configuration.figures == nullptr);
    CHECK_THAT(configuration.error,
               Catch::Contains("=" + name + ":") && Catch::Contains("it runs " + machine + ", "));
  }
}

TEST_CASE("the loader knows all processors by LLVM's ELF numbers") {
  const struct {
    const char *name;
    unsigned number;
  } numbers[] = {
      {"gfx90a", llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX90A},
      {"gfx942", llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX942},
      {"gfx950", llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX950},
      {"gfx1100", llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1100},
      {"gfx1200", llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1200},
      {"gfx1201", llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1201},
      {"gfx1250", llvm::ELF::EF_AMDGPU_MACH_AMDGCN_GFX1250},
  };
  for (const Processor &processor : flydsl::detail::processors()) {
    INFO(processor.name);
    const auto *row = std::find_if(std::begin(numbers), std::end(numbers),
                                   [&](const auto &n) { return n.name == processor.name; });
    REQUIRE(row != std::end(numbers));
    CHECK(loader::targetFromElfFlags(row->number, kAbiVersion5).processor == processor.name);
  }
}

TEST_CASE("a device's target id has the switchable features of the table of processors") {
  for (const Processor &processor : flydsl::detail::processors()) {
    INFO(processor.name);
    const loader::TargetId id = loader::deviceTarget(processor.name);
    CHECK((id.sramecc != loader::FeatureState::Unsupported) == processor.switches.sramecc);
    CHECK((id.xnack != loader::FeatureState::Unsupported) == processor.switches.xnack);
    CHECK(flydsl::Target::parse(id.str()).id() == id.str());
  }
}

TEST_CASE("LLVM's target parser has the loader's processors, with the same switchable features") {
  unsigned compared = 0;
  for (unsigned number = 0; number < 256; ++number) {
    const std::string name = loader::targetFromElfFlags(number, kAbiVersion5).processor;
    if (name.find("unknown") == 0)
      continue;
    INFO(name);
    const auto kind = llvm::AMDGPU::parseArchAMDGCN(name);
    REQUIRE(kind != llvm::AMDGPU::GK_NONE);
    const unsigned features = llvm::AMDGPU::getArchAttrAMDGCN(kind);
    const loader::TargetId id = loader::deviceTarget(name);
    CHECK((id.sramecc != loader::FeatureState::Unsupported) ==
          ((features & llvm::AMDGPU::FEATURE_SRAMECC) != 0));
    CHECK((id.xnack != loader::FeatureState::Unsupported) ==
          ((features & llvm::AMDGPU::FEATURE_XNACK) != 0));
    ++compared;
  }
  CHECK(compared > flydsl::detail::processors().size());
}
