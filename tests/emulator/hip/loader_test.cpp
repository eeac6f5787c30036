// The loader on sound, foreign and damaged files.
#include "emulator/core/program.h"
#include "emulator/core/wave.h"
#include "emulator/loader/elf_file.h"
#include "emulator/loader/loaded_code.h"

#include "emulator/loader/offload_bundle.h"
#include "emulator/ops/decode_program.h"

#include <catch2/catch.hpp>
#include <elf.h>
#include <fstream>
#include <iterator>
#include <llvm/Support/Compression.h>
#include <random>

using namespace flyemu;
using namespace flyemu::loader;

namespace {

std::vector<char> readImage(const std::string &name) {
  std::ifstream file(std::string(EMULATOR_KERNELS) + "/" + name, std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

ByteView view(const std::vector<char> &bytes) { return {bytes.data(), bytes.size()}; }

const TargetId device = deviceTarget("gfx942");

LoadFailure failureOf(ByteView bytes) {
  try {
    LoadedCode::load(bytes, device);
  } catch (const LoadError &error) {
    return error.kind();
  }
  FAIL("loaded what must not load");
  return LoadFailure::NotFound;
}

/// Loads, and lets nothing but LoadError out; true when it loaded.
bool survives(ByteView bytes) {
  try {
    LoadedCode::load(bytes, device);
    return true;
  } catch (const LoadError &error) {
    REQUIRE(std::string(error.what()).size() > 5);
    return false;
  }
}

/// The same for the tables alone.
bool survivesParsing(ByteView bytes) {
  try {
    Metadata::parse(ElfFile::parse(bytes).metadata());
    return true;
  } catch (const LoadError &error) {
    REQUIRE(std::string(error.what()).size() > 5);
    return false;
  }
}

template <typename T> T *at(std::vector<char> &bytes, size_t offset) {
  return reinterpret_cast<T *>(bytes.data() + offset);
}

} // namespace

TEST_CASE("Kernels come with their metadata, variables with their sizes") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  auto code = LoadedCode::load(view(image), device);
  CHECK(code->version() == 6);
  CHECK(code->target().processor == "gfx942");
  const CodeKernel *mixed = code->findKernel("mixed");
  REQUIRE(mixed);
  REQUIRE(mixed->metadata.arguments.size() >= 7);
  CHECK(mixed->metadata.arguments[1].size == 1);
  CHECK(mixed->metadata.arguments[2].offset == 10);
  CHECK(mixed->metadata.arguments[6].offset == 32);
  CHECK(mixed->metadata.explicitSize() == 40);
  CHECK(mixed->metadata.wavefrontSize == 64);
  CHECK(mixed->code.entry % 4 == 0);
  const CodeKernel *only64 = code->findKernel("only64");
  REQUIRE(only64);
  CHECK(only64->metadata.requiredWorkgroupSize == std::array<uint32_t, 3>{64, 1, 1});
  CHECK_FALSE(code->findKernel("mixed.kd"));
  const CodeVariable *history = code->findVariable("history");
  REQUIRE(history);
  CHECK(history->size == 64);
  CHECK_FALSE(code->findVariable("mixed.kd"));
}

TEST_CASE("LDS is counted in metadata and descriptor") {
  std::vector<char> image = readImage("lds.gfx942.co");
  auto code = LoadedCode::load(view(image), device);
  const CodeKernel *reverse = code->findKernel("reverse");
  REQUIRE(reverse);
  CHECK(reverse->metadata.groupSegmentSize == 256);
  CHECK(reverse->code.descriptor.groupSegmentFixedSize == 256);
}

TEST_CASE("Constants can be read and not written, variables both") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  auto code = LoadedCode::load(view(image), device);
  auto rangeOf = [&](uint64_t address) {
    for (const MemoryRange &range : code->ranges())
      if (range.contains(address, 4))
        return range;
    FAIL("in no segment");
    return MemoryRange();
  };
  CHECK(rangeOf(code->findVariable("counter")->address).writable);
  CHECK_FALSE(rangeOf(code->findKernel("fill")->code.entry).writable);
}

TEST_CASE("Another target is told apart from damage, and both targets are named") {
  std::vector<char> image = readImage("kernels.gfx1100.co");
  CHECK(failureOf(view(image)) == LoadFailure::OtherTarget);
  try {
    LoadedCode::load(view(image), device);
  } catch (const LoadError &error) {
    CHECK(std::string(error.what()).find("gfx1100") != std::string::npos);
    CHECK(std::string(error.what()).find("gfx942") != std::string::npos);
  }
  std::vector<char> xnack = readImage("kernels.xnack.co");
  CHECK(failureOf(view(xnack)) == LoadFailure::OtherTarget);
}

TEST_CASE("Headers that are not a code object's are refused with a reason") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  SECTION("magic") { image[0] = 'X'; }
  SECTION("32 bits") { image[EI_CLASS] = ELFCLASS32; }
  SECTION("machine") { at<Elf64_Ehdr>(image, 0)->e_machine = EM_X86_64; }
  SECTION("OS ABI") { image[EI_OSABI] = 0; }
  SECTION("relocatable") { at<Elf64_Ehdr>(image, 0)->e_type = ET_REL; }
  SECTION("no program headers") { at<Elf64_Ehdr>(image, 0)->e_phnum = 0; }
  SECTION("program headers outside") { at<Elf64_Ehdr>(image, 0)->e_phoff = UINT64_MAX - 8; }
  CHECK(failureOf(view(image)) == LoadFailure::Malformed);
}

TEST_CASE("Code object versions that are not known are refused") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  image[EI_ABIVERSION] = 1;
  CHECK(failureOf(view(image)) == LoadFailure::Unsupported);
  image[EI_ABIVERSION] = 9;
  CHECK(failureOf(view(image)) == LoadFailure::Unsupported);
}

TEST_CASE("A file cut off anywhere is an error and no crash") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  size_t lastNeeded = 0;
  for (size_t size = 0; size < image.size(); ++size) {
    std::vector<char> cut(image.begin(), image.begin() + size); // its own block, for sanitizers
    if (survivesParsing(view(cut))) {
      lastNeeded = size;
      break;
    }
    REQUIRE_FALSE(survives(view(cut)));
  }
  for (size_t size = lastNeeded; size < image.size(); size += 97) {
    std::vector<char> cut(image.begin(), image.begin() + size);
    survives(view(cut));
  }
  // Section headers and their names lie behind all that loading needs.
  CHECK(lastNeeded > image.size() / 2);
}

TEST_CASE("Random damage is an error or a loaded module, and no crash") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  std::mt19937 random(42);
  int loaded = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    std::vector<char> damaged = image;
    int flips = 1 + random() % 8;
    for (int i = 0; i < flips; ++i) {
      // Half of the damage goes to the headers and tables at the front.
      size_t range = random() % 2 ? damaged.size() : std::min<size_t>(damaged.size(), 2048);
      damaged[random() % range] ^= char(1 << random() % 8);
    }
    // Decoding dominates: most rounds stop before it, each tenth goes all the way.
    bool ok = round % 10 ? survivesParsing(view(damaged)) : survives(view(damaged));
    (ok ? loaded : refused)++;
  }
  CHECK(loaded > 0);
  CHECK(refused > 0);
}

TEST_CASE("Extreme numbers in the program headers are refused") {
  std::vector<char> image = readImage("kernels.gfx942.co");
  Elf64_Ehdr header = *at<Elf64_Ehdr>(image, 0);
  for (uint64_t value : {uint64_t(1) << 33, UINT64_MAX, UINT64_MAX - 4096}) {
    for (unsigned i = 0; i < header.e_phnum; ++i) {
      for (size_t field : {offsetof(Elf64_Phdr, p_offset), offsetof(Elf64_Phdr, p_vaddr),
                           offsetof(Elf64_Phdr, p_filesz), offsetof(Elf64_Phdr, p_memsz)}) {
        std::vector<char> damaged = image;
        *at<uint64_t>(damaged, header.e_phoff + i * sizeof(Elf64_Phdr) + field) = value;
        survives(view(damaged));
      }
    }
  }
}

TEST_CASE("Metadata nested without end does not exhaust the stack") {
  std::vector<char> nested(1 << 20, char(0x91)); // arrays of one element, a million deep
  try {
    Metadata::parse(view(nested));
    FAIL("parsed");
  } catch (const LoadError &error) {
    CHECK(error.kind() == LoadFailure::Malformed);
  }
}

namespace {
template <typename T> void append(std::vector<uint8_t> &bytes, T value) {
  auto *p = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), p, p + sizeof(T));
}

/// An offload bundle that holds one code object for gfx942.
std::vector<uint8_t> bundleOf(const std::vector<char> &image) {
  const std::string magic = "__CLANG_OFFLOAD_BUNDLE__", id = "hipv4-amdgcn-amd-amdhsa--gfx942";
  std::vector<uint8_t> bytes(magic.begin(), magic.end());
  append<uint64_t>(bytes, 1);
  append<uint64_t>(bytes, 4096);
  append<uint64_t>(bytes, image.size());
  append<uint64_t>(bytes, id.size());
  bytes.insert(bytes.end(), id.begin(), id.end());
  bytes.resize(4096);
  bytes.insert(bytes.end(), image.begin(), image.end());
  return bytes;
}

/// The same compressed, as clang does it.
std::vector<uint8_t> compressed(const std::vector<uint8_t> &bundle, unsigned version, bool zstd) {
  llvm::SmallVector<uint8_t, 0> packed;
  if (zstd)
    llvm::compression::zstd::compress(bundle, packed);
  else
    llvm::compression::zlib::compress(bundle, packed);
  std::vector<uint8_t> bytes = {'C', 'C', 'O', 'B'};
  append<uint16_t>(bytes, static_cast<uint16_t>(version));
  append<uint16_t>(bytes, zstd);
  const uint64_t header = version == 1 ? 20 : version == 2 ? 24 : 32;
  if (version == 2)
    append<uint32_t>(bytes, static_cast<uint32_t>(header + packed.size()));
  if (version == 3)
    append<uint64_t>(bytes, header + packed.size());
  if (version == 3)
    append<uint64_t>(bytes, bundle.size());
  else
    append<uint32_t>(bytes, static_cast<uint32_t>(bundle.size()));
  append<uint64_t>(bytes, 0); // a hash that nobody looks at
  bytes.insert(bytes.end(), packed.begin(), packed.end());
  return bytes;
}
} // namespace

TEST_CASE("Compressed bundles of every version, by zlib and zstd") {
  const std::vector<char> image = readImage("kernels.gfx942.co");
  const std::vector<uint8_t> bundle = bundleOf(image);
  for (unsigned version = 1; version <= 3; ++version)
    for (bool zstd : {false, true}) {
      INFO("version " << version << (zstd ? ", zstd" : ", zlib"));
      std::vector<uint8_t> bytes = compressed(bundle, version, zstd), storage;
      ByteView whole(bytes.data(), bytes.size());
      REQUIRE(isOffloadBundle(whole));
      ByteView code = selectFromBundle(whole, device, storage);
      REQUIRE(code.size() == image.size());
      CHECK(std::memcmp(code.data(), image.data(), image.size()) == 0);
      if (version > 1)
        CHECK(bundleExtent(whole) == bytes.size());
      else
        CHECK_THROWS_AS(bundleExtent(whole), LoadError);
      bytes[bytes.size() / 2] ^= 0x55;
      bytes.resize(bytes.size() - 9);
      CHECK_THROWS_AS(selectFromBundle(ByteView(bytes.data(), bytes.size()), device, storage),
                      LoadError);
    }
  std::vector<uint8_t> unknown = compressed(bundle, 9, true), storage;
  CHECK_THROWS_WITH(selectFromBundle(ByteView(unknown.data(), unknown.size()), device, storage),
                    Catch::Contains("version 9"));
}

TEST_CASE("Source lines of instructions, through inlined calls") {
  const std::vector<char> image = readImage("planted.gfx942.co");
  auto code = LoadedCode::load(view(image), device);
  const CodeKernel *kernel = code->findKernel("memory_global");
  REQUIRE(kernel);
  KernelCode ready = kernel->ready();
  std::string all;
  for (uint64_t at = 0; at < 256; at += 4)
    all += ready.source(ready.entry + at) + "\n";
  CHECK_THAT(all, Catch::Contains("planted.c:95 in ") && Catch::Contains("planted.c:97"));
  // Without debug information, and far outside, there is nothing to say.
  CHECK(ready.source(ready.entry + (1 << 20)).empty());
  auto plain = LoadedCode::load(view(readImage("lds.gfx942.co")), device);
  CHECK(plain->findKernel("reverse")->ready().source(plain->findKernel("reverse")->code.entry) ==
        "");
}

namespace {
/// The header of a file's line tables.
Elf64_Shdr *lineSection(std::vector<char> &image) {
  const auto header = *at<Elf64_Ehdr>(image, 0);
  auto section = [&](unsigned i) {
    return at<Elf64_Shdr>(image, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (unsigned i = 0; i < header.e_shnum; ++i) {
    const char *name = image.data() + section(header.e_shstrndx)->sh_offset + section(i)->sh_name;
    if (std::string(name) == ".debug_line")
      return section(i);
  }
  FAIL("no line tables");
  return nullptr;
}

bool hasLines(const std::vector<char> &image) {
  auto code = LoadedCode::load(view(image), device);
  const KernelCode ready = code->findKernel("memory_global")->ready();
  return !ready.source(ready.entry).empty();
}
} // namespace

TEST_CASE("Debug information that claims to expand without end gives no lines") {
  std::vector<char> image = readImage("planted.gfx942.co");
  Elf64_Shdr *section = lineSection(image);
  section->sh_flags |= SHF_COMPRESSED;
  auto *compression = at<Elf64_Chdr>(image, section->sh_offset);
  compression->ch_type = ELFCOMPRESS_ZLIB;
  compression->ch_size = uint64_t(1) << 40;
  CHECK(!hasLines(image));
}

TEST_CASE("Line tables with forms that LLVM takes for granted give no lines") {
  std::vector<char> image = readImage("planted.gfx942.co");
  REQUIRE(hasLines(image));
  // DWARF 5, 6.2.4: the places of these in the header of a table for an
  // instruction set with 12 standard opcodes.
  constexpr size_t kAddressSize = 6, kOpcodeBase = 17, kFormats = 30;
  const size_t table = lineSection(image)->sh_offset;
  REQUIRE((image[table + 4] == 5 && image[table + kOpcodeBase] == 13));
  const auto damaged = [&](size_t place, int value) {
    std::vector<char> other = image;
    other[table + place] = static_cast<char>(value);
    return hasLines(other);
  };
  CHECK(!damaged(kFormats + 2, 0x02)); // the form of a directory: no form has this number
  CHECK(!damaged(kFormats + 2, 0x7f));
  CHECK(!damaged(kFormats, 0)); // directories without a format
  CHECK(!damaged(kAddressSize, 3));
}

TEST_CASE("A matrix instruction with a constant for A or B is no instruction, and no crash") {
  // v_mfma_f32_16x16x128_f8f6f4 and v_mfma_f32_32x32x64_f8f6f4 with A = -1, and with B = -1.
  const uint32_t cases[][2] = {{0xd3ad80ed, 0x854d84c1},
                               {0xd3ad8000, 0x04018300},
                               {0xd3ae8000, 0x040202c1},
                               {0xd3ae8000, 0x04018300}};
  for (const auto &words : cases)
    CHECK(decodeProgram("gfx950", words, sizeof words)->text(0) == "");
  for (const auto &words : cases) { // the same after scales
    const uint32_t scaled[] = {0xd3ac0000, 0x00021110, words[0], words[1]};
    CHECK(decodeProgram("gfx950", scaled, sizeof scaled)->text(0) == "");
  }
  const uint32_t good[] = {0xd3ad8000, 0x04020100};
  CHECK(decodeProgram("gfx950", good, sizeof good)->text(0).starts_with("v_mfma_f32_16x16x128"));
}

TEST_CASE("A move between accumulation registers whose source is none is refused when it runs") {
  const uint32_t word = 0x7e00a437; // v_accvgpr_mov_b32 a0, s55
  const auto program = decodeProgram("gfx950", &word, sizeof word);
  Wave wave;
  CHECK_THROWS_AS(program->insts[0].fn(wave, program->insts[0]), WaveFault);
}

TEST_CASE("A literal where the encoding has no room for one is no instruction, and no crash") {
  const uint32_t cases[][2] = {{0xd2080000, 0x0001ffff},  // v_lshl_add_u64
                               {0xd1cb0000, 0x03fe0100},  // v_fma_f32, the third operand
                               {0xe0501000, 0xff000000},  // buffer_load_dword
                               {0xd07a00ff, 0x04020100},  // v_cmpx_eq_f64, the result
                               {0xd28900ff, 0x00020100}}; // v_readlane_b32, the result
  for (const auto &words : cases) {
    auto program = decodeProgram("gfx942", words, sizeof words);
    CHECK(program->insts.size() == 3);
    CHECK(program->text(0) == "");
  }
  const uint32_t cut = 0x8000ff00; // s_add_u32 with a literal that the segment's end cuts off
  CHECK(decodeProgram("gfx942", &cut, 4)->text(0) == "");
}

TEST_CASE("A barrier of gfx12 by a literal is no instruction, and no crash") {
  for (const uint32_t opcode : {0x4eu, 0x4fu, 0x50u, 0x51u, 0x52u}) {
    const uint32_t words[] = {0xbe8000ff | opcode << 8, 0x12345678};
    CHECK(decodeProgram("gfx1201", words, sizeof words)->text(0) == "");
  }
  const uint32_t signal = 0xbe804ec1; // s_barrier_signal -1
  CHECK(decodeProgram("gfx1201", &signal, sizeof signal)->text(0) == "s_barrier_signal -1");
}

TEST_CASE("An SDWA encoding that selects what there is not is no instruction, and no crash") {
  // v_add_u16_sdwa v4, v5, v6 dst_sel:DWORD dst_unused:UNUSED_PRESERVE src0_sel:BYTE_2 src1_sel:WORD_1
  const uint32_t good[] = {0x4c080cf9, 0x05021605};
  CHECK(decodeProgram("gfx942", good, sizeof good)->text(0).starts_with("v_add_u16_sdwa"));
  const uint32_t reserved[] = {0x05021705,  // the result's place
                               0x05021e05,  // what becomes of its other bits
                               0x05071605,  // the first operand's
                               0x07021605}; // the second one's
  for (const uint32_t second : reserved) {
    const uint32_t words[] = {good[0], second};
    CHECK(decodeProgram("gfx942", words, sizeof words)->text(0) == "");
  }
}

TEST_CASE("Target ids: features decide, generic code covers its family") {
  TargetId code;
  REQUIRE(parseTargetId("gfx942:xnack-", code));
  CHECK(isCompatible(code, device));
  REQUIRE(parseTargetId("gfx942:xnack+", code));
  CHECK_FALSE(isCompatible(code, device));
  REQUIRE(parseTargetId("gfx942:sramecc-", code));
  CHECK_FALSE(isCompatible(code, device));
  REQUIRE(parseTargetId("gfx9-4-generic", code));
  CHECK(isCompatible(code, device));
  CHECK_FALSE(isCompatible(code, deviceTarget("gfx1100")));
  CHECK_FALSE(parseTargetId("gfx942:nonsense+", code));
  CHECK_FALSE(parseTargetId("gfx942:xnack", code));
  CHECK_FALSE(parseTargetId("sm_90", code));
  CHECK(device.str() == "gfx942:sramecc+:xnack-");
  CHECK(deviceTarget("gfx1201").str() == "gfx1201");
}
