// Code objects that claim sizes that they do not have are refused with the reason, before memory is
// allocated for the claim.
#include "emulator/loader/elf_file.h"
#include "emulator/loader/loaded_code.h"
#include "emulator/loader/offload_bundle.h"

#include <catch2/catch.hpp>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

using namespace flyemu::loader;

namespace {

const TargetId device = deviceTarget("gfx942");

std::vector<char> image() {
  std::ifstream file(std::string(EMULATOR_KERNELS) + "/kernels.gfx942.co", std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

ByteView view(const std::vector<char> &bytes) { return {bytes.data(), bytes.size()}; }

Elf64_Ehdr &header(std::vector<char> &bytes) {
  return *reinterpret_cast<Elf64_Ehdr *>(bytes.data());
}

/// The loaded segment at the highest address.
Elf64_Phdr &lastSegment(std::vector<char> &bytes) {
  auto *table = reinterpret_cast<Elf64_Phdr *>(bytes.data() + header(bytes).e_phoff);
  Elf64_Phdr *last = nullptr;
  for (unsigned i = 0; i < header(bytes).e_phnum; ++i)
    if (table[i].p_type == PT_LOAD && (!last || table[i].p_vaddr > last->p_vaddr))
      last = &table[i];
  REQUIRE(last);
  return *last;
}

nlohmann::json document(uint64_t kernargSize) {
  return {{"amdhsa.kernels",
           {{{".name", "k"}, {".symbol", "k.kd"}, {".kernarg_segment_size", kernargSize}}}}};
}

Metadata parsed(const nlohmann::json &root) {
  const std::vector<uint8_t> bytes = nlohmann::json::to_msgpack(root);
  return Metadata::parse(ByteView(bytes.data(), bytes.size()));
}

} // namespace

TEST_CASE("An image larger than the device's memory is refused with both sizes") {
  std::vector<char> bytes = image();
  lastSegment(bytes).p_memsz = uint64_t(3) << 30;
  CHECK(LoadedCode::load(view(bytes), device, uint64_t(4) << 30));
  try {
    LoadedCode::load(view(bytes), device, uint64_t(1) << 30);
    FAIL("loaded");
  } catch (const LoadError &error) {
    CHECK(error.kind() == LoadFailure::OutOfMemory);
    CHECK_THAT(error.what(), Catch::Contains("in memory; the device has 1073741824"));
  }
}

TEST_CASE("Segments far from each other, and headers without end, are damage") {
  std::vector<char> spread = image();
  lastSegment(spread).p_vaddr += uint64_t(3) << 30;
  CHECK_THROWS_WITH(ElfFile::parse(view(spread)), Catch::Contains("are spread over"));
  std::vector<char> many = image();
  header(many).e_phnum = 60000;
  CHECK_THROWS_WITH(ElfFile::parse(view(many)), Catch::Contains("claims 60000 program headers"));
}

TEST_CASE("Scratch that no wave can have is refused with the most there is") {
  std::vector<char> bytes = image();
  const ElfFile elf = ElfFile::parse(view(bytes));
  uint64_t at = 0;
  for (const ElfSymbol &symbol : elf.symbols())
    if (symbol.name == "fill.kd")
      for (const ElfSegment &segment : elf.segments())
        if (symbol.value - segment.address < segment.bytes.size())
          at = static_cast<uint64_t>(segment.bytes.data() - elf.segments()[0].bytes.data()) +
               symbol.value - segment.address;
  REQUIRE(at);
  auto claim = [&](uint32_t scratch) { std::memcpy(bytes.data() + at + 4, &scratch, 4); };
  claim(131056); // LLVM's limit: a wave has 8191 units of 1 KiB
  CHECK(LoadedCode::load(view(bytes), device));
  claim(0x40000000);
  CHECK_THROWS_WITH(
      LoadedCode::load(view(bytes), device),
      Catch::Contains("kernel fill claims 1073741824 bytes of scratch for a work-item; "
                      "on gfx942 the most is 131056"));
}

TEST_CASE("A kernarg segment of gigabytes is damage") {
  CHECK(parsed(document(4096)).kernels.at(0).kernargSize == 4096);
  CHECK_THROWS_WITH(parsed(document(0xffffffff)),
                    Catch::Contains("kernel k claims a kernarg segment of 4294967295 bytes"));
}

TEST_CASE("Formats of printf are kept once, however many kernels there are") {
  nlohmann::json root = document(0);
  for (int i = 0; i < 2000; ++i)
    root["amdhsa.kernels"].push_back({{".name", "k" + std::to_string(i)}, {".symbol", "s"}});
  for (int i = 0; i < 3; ++i)
    root["amdhsa.printf"].push_back("0:0:" + std::to_string(i) + ",text");
  const Metadata metadata = parsed(root);
  REQUIRE(metadata.kernels.at(0).printfFormats);
  CHECK(metadata.kernels[0].printfFormats->size() == 3);
  for (const KernelNotes &kernel : metadata.kernels)
    REQUIRE(kernel.printfFormats == metadata.kernels[0].printfFormats);
}

TEST_CASE(
    "A small compressed bundle that claims to hold a gigabyte is refused before it is unpacked") {
  for (uint16_t method : {uint16_t(0), uint16_t(1)}) {
    std::vector<uint8_t> bytes(300);
    std::memcpy(bytes.data(), "CCOB", 4);
    const uint16_t version = 2;
    const uint32_t file = 300, claimed = 1u << 30;
    std::memcpy(bytes.data() + 4, &version, 2);
    std::memcpy(bytes.data() + 6, &method, 2);
    std::memcpy(bytes.data() + 8, &file, 4);
    std::memcpy(bytes.data() + 12, &claimed, 4);
    std::vector<uint8_t> storage;
    CHECK_THROWS_WITH(selectFromBundle(ByteView(bytes.data(), bytes.size()), device, storage),
                      Catch::Contains("of 276 bytes claims to hold 1073741824"));
    CHECK(storage.empty());
  }
}
