#include "jit/code_object/code_object.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <nlohmann/json.hpp>

#include <cstring>
#include <elf.h>

using namespace flydsl;
using namespace flydsl::jit;

namespace {

CodeObject sample() {
  CodeObject object;
  object.target = "gfx942:xnack-";
  KernelMetadata kernel;
  kernel.name = "k";
  kernel.vgprs = 24;
  kernel.agprs = 4;
  kernel.ldsBytes = 1024;
  kernel.requiredBlock[0] = 256;
  kernel.uniformWorkgroups = true;
  kernel.codeBytes = std::uint64_t(1) << 33;
  kernel.arguments = {{0, 8, "global_buffer", "a"}, {8, 4, "hidden_block_count_x", ""}};
  object.kernels = {kernel, KernelMetadata{}};
  object.times.codegen = 4.25;
  return object;
}

/// A linked ELF of AMD's whose only segment is a metadata note with these bytes.
std::vector<std::uint8_t> elfWithNote(const std::vector<std::uint8_t> &metadata) {
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = 224;
  header.e_type = ET_DYN;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  const Elf64_Nhdr note{7, static_cast<Elf64_Word>(metadata.size()), 32};
  const char owner[8] = "AMDGPU";
  Elf64_Phdr segment{};
  segment.p_type = PT_NOTE;
  segment.p_offset = sizeof header + sizeof segment;
  segment.p_filesz = sizeof note + sizeof owner + metadata.size();
  std::vector<std::uint8_t> bytes;
  const auto append = [&](const void *from, std::size_t size) {
    const auto *first = static_cast<const std::uint8_t *>(from);
    bytes.insert(bytes.end(), first, first + size);
  };
  append(&header, sizeof header);
  append(&segment, sizeof segment);
  append(&note, sizeof note);
  append(owner, sizeof owner);
  append(metadata.data(), metadata.size());
  return bytes;
}

} // namespace

TEST_CASE("Metadata comes back from its bytes") {
  CodeObject object = sample();
  auto bytes = encodeMetadata(object);
  CodeObject back = decodeMetadata(bytes.data(), bytes.size());
  CHECK(back.target == object.target);
  CHECK(back.kernels == object.kernels);
  CHECK(back.times == object.times);
  CHECK(back.kernels[0].arguments[1].hidden());
  CHECK_FALSE(back.kernels[0].arguments[0].hidden());
}

TEST_CASE("Metadata that ends early or late is refused") {
  auto bytes = encodeMetadata(sample());
  for (std::size_t size = 0; size < bytes.size(); ++size)
    CHECK_THROWS_AS(decodeMetadata(bytes.data(), size), Error);
  bytes.push_back(0);
  CHECK_THROWS_AS(decodeMetadata(bytes.data(), bytes.size()), Error);
  bytes.pop_back();
  bytes[0] ^= 1;
  CHECK_THROWS_AS(decodeMetadata(bytes.data(), bytes.size()), Error);
}

TEST_CASE("Kernels are found by name; the only kernel is asked for by kernel()") {
  CodeObject object = sample();
  CHECK(object.find("k") == &object.kernels[0]);
  CHECK(object.find("absent") == nullptr);
  CHECK_THROWS_AS(object.kernel(), CompileError);
  object.kernels.resize(1);
  CHECK(object.kernel().vgprs == 24);
  CHECK_THAT(summary(object),
             Catch::Contains("24 VGPR (4 AGPR)") && Catch::Contains("gfx942:xnack-"));
}

TEST_CASE("Bytes that are no code object are refused") {
  CHECK_THROWS_AS(readCodeObject({}), CompileError);
  CHECK_THROWS_AS(readCodeObject(std::vector<std::uint8_t>(4096, 0x7f)), CompileError);
}

TEST_CASE("Metadata nested without end does not exhaust the stack") {
  const std::vector<std::uint8_t> nested(1 << 20, 0x91); // lists of one element, a million deep
  CHECK_THROWS_WITH(readCodeObject(elfWithNote(nested)), Catch::Contains("no MessagePack map"));
}

TEST_CASE("Numbers in the metadata that no kernel has are refused") {
  using nlohmann::json;
  const auto read = [](const json &change) {
    json kernel = {{".name", "k"}, {".vgpr_count", 24}};
    kernel.update(change);
    const json map = {{"amdhsa.target", "amdgcn-amd-amdhsa--gfx942"},
                      {"amdhsa.kernels", json::array({kernel})}};
    readCodeObject(elfWithNote(json::to_msgpack(map)));
  };
  CHECK_THROWS_WITH(read(json::object()),
                    Catch::Contains("kernel 'k' has no symbol")); // it is read so far
  for (const json &wrong :
       {json(-1), json(std::uint64_t(1) << 32), json(~std::uint64_t(0)), json(1.5), json("24")})
    CHECK_THROWS_WITH(read({{".vgpr_count", wrong}}),
                      Catch::Contains(".vgpr_count is no number of 32 bits"));
  CHECK_THROWS_WITH(read({{".reqd_workgroup_size", {64, -1, 1}}}),
                    Catch::Contains(".reqd_workgroup_size is no number"));
}
