// The ELF and metadata reader, over bytes that may come from anywhere: every offset is checked.
// Layout of the note and its keys: LLVM's AMDGPUUsage, "Code Object Metadata" (note
// NT_AMDGPU_METADATA = 32, owner "AMDGPU", MessagePack map).
#include "jit/code_object/code_object.h"

#include "support/ktrace_record.h"
#include "support/msgpack.h"

#include <flydsl/error.h>
#include <flydsl/target.h>

#include <cstring>
#include <elf.h>
#include <limits>
#include <map>

namespace flydsl::jit {

using Json = nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string &why) {
  throw CompileError("not an AMDGPU code object: " + why);
}

class ElfReader {
public:
  explicit ElfReader(const std::vector<std::uint8_t> &bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(Elf64_Ehdr) || std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
      refuse("no ELF header");
    header_ = read<Elf64_Ehdr>(0);
    if (header_.e_ident[EI_CLASS] != ELFCLASS64 || header_.e_ident[EI_DATA] != ELFDATA2LSB)
      refuse("not a 64-bit little-endian ELF");
    if (header_.e_machine != kAmdgpuMachine)
      refuse("ELF machine " + std::to_string(header_.e_machine));
    if (header_.e_type != ET_DYN)
      refuse("not linked (ELF type " + std::to_string(header_.e_type) + ")");
  }

  template <class T> T read(std::uint64_t offset) const {
    if (offset > bytes_.size() || bytes_.size() - offset < sizeof(T))
      refuse("truncated");
    T value;
    std::memcpy(&value, bytes_.data() + offset, sizeof value);
    return value;
  }

  const std::uint8_t *range(std::uint64_t offset, std::uint64_t size) const {
    if (offset > bytes_.size() || bytes_.size() - offset < size)
      refuse("truncated");
    return bytes_.data() + offset;
  }

  /// The metadata note's MessagePack map.
  Json metadata() const {
    for (unsigned i = 0; i < header_.e_phnum; ++i) {
      auto segment = read<Elf64_Phdr>(header_.e_phoff + std::uint64_t(i) * sizeof(Elf64_Phdr));
      if (segment.p_type != PT_NOTE)
        continue;
      range(segment.p_offset, segment.p_filesz);
      std::uint64_t at = segment.p_offset, end = segment.p_offset + segment.p_filesz;
      while (end - at >= sizeof(Elf64_Nhdr)) {
        auto note = read<Elf64_Nhdr>(at);
        std::uint64_t name = at + sizeof note, content = name + padded(note.n_namesz);
        if (content > end || note.n_descsz > end - content)
          refuse("a note runs out of its segment");
        bool amdgpu = note.n_namesz == 7 && std::memcmp(range(name, 7), "AMDGPU", 7) == 0;
        if (amdgpu && note.n_type == kMetadataNote) {
          const std::uint8_t *data = range(content, note.n_descsz);
          Json map = support::readMsgpack(data, data + note.n_descsz);
          if (!map.is_object())
            refuse("its metadata is no MessagePack map");
          return map;
        }
        at = content + padded(note.n_descsz);
        if (at > end)
          break;
      }
    }
    refuse("no metadata note");
  }

  /// The dynamic symbols by name.
  std::map<std::string, Elf64_Sym> symbols() const {
    std::map<std::string, Elf64_Sym> all;
    for (unsigned i = 0; i < header_.e_shnum; ++i) {
      auto section = sectionAt(i);
      if (section.sh_type != SHT_DYNSYM)
        continue;
      auto strings = sectionAt(section.sh_link);
      const char *text = reinterpret_cast<const char *>(range(strings.sh_offset, strings.sh_size));
      std::uint64_t count = section.sh_size / sizeof(Elf64_Sym);
      for (std::uint64_t s = 0; s < count; ++s) {
        auto symbol = read<Elf64_Sym>(section.sh_offset + s * sizeof(Elf64_Sym));
        if (symbol.st_name >= strings.sh_size)
          refuse("a symbol's name is outside of the string table");
        const char *name = text + symbol.st_name;
        all[std::string(name, strnlen(name, strings.sh_size - symbol.st_name))] = symbol;
      }
    }
    return all;
  }

  /// The bytes of a symbol, which the file must hold.
  std::string_view contentOf(const Elf64_Sym &symbol) const {
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx >= header_.e_shnum)
      refuse("a symbol is in no section");
    auto section = sectionAt(symbol.st_shndx);
    if (section.sh_type == SHT_NOBITS || symbol.st_value < section.sh_addr ||
        symbol.st_value - section.sh_addr > section.sh_size ||
        symbol.st_size > section.sh_size - (symbol.st_value - section.sh_addr))
      refuse("a symbol is outside of its section");
    const std::uint64_t at = section.sh_offset + (symbol.st_value - section.sh_addr);
    return {reinterpret_cast<const char *>(range(at, symbol.st_size)), symbol.st_size};
  }

private:
  static constexpr std::uint16_t kAmdgpuMachine = 224;
  static constexpr std::uint32_t kMetadataNote = 32;
  static std::uint64_t padded(std::uint64_t size) { return (size + 3) & ~std::uint64_t(3); }
  Elf64_Shdr sectionAt(unsigned index) const {
    return read<Elf64_Shdr>(header_.e_shoff + std::uint64_t(index) * sizeof(Elf64_Shdr));
  }

  const std::vector<std::uint8_t> &bytes_;
  Elf64_Ehdr header_;
};

unsigned numberIn(const Json &value, const char *key) {
  // Above the numbers of 63 bits, this is negative.
  const std::int64_t number = value.is_number_integer() ? value.get<std::int64_t>() : -1;
  if (number < 0 || number > std::numeric_limits<unsigned>::max())
    refuse(std::string(key) + " is no number of 32 bits");
  return static_cast<unsigned>(number);
}

unsigned number(const Json &map, const char *key) {
  auto found = map.find(key);
  return found == map.end() ? 0 : numberIn(*found, key);
}

std::string text(const Json &map, const char *key) {
  auto found = map.find(key);
  if (found == map.end())
    return {};
  if (!found->is_string())
    refuse(std::string(key) + " is no string");
  return found->get<std::string>();
}

bool flag(const Json &map, const char *key) {
  auto found = map.find(key);
  if (found == map.end())
    return false;
  return found->is_boolean() ? found->get<bool>()
                             : found->is_number_integer() && found->get<int>() != 0;
}

KernelMetadata readKernel(const Json &map) {
  if (!map.is_object())
    refuse("a kernel's metadata is no map");
  KernelMetadata kernel;
  kernel.name = text(map, ".name");
  if (kernel.name.empty())
    refuse("a kernel without a name");
  kernel.vgprs = number(map, ".vgpr_count");
  kernel.agprs = number(map, ".agpr_count");
  kernel.sgprs = number(map, ".sgpr_count");
  kernel.vgprSpills = number(map, ".vgpr_spill_count");
  kernel.sgprSpills = number(map, ".sgpr_spill_count");
  kernel.ldsBytes = number(map, ".group_segment_fixed_size");
  kernel.scratchBytes = number(map, ".private_segment_fixed_size");
  kernel.dynamicStack = flag(map, ".uses_dynamic_stack");
  kernel.kernargBytes = number(map, ".kernarg_segment_size");
  kernel.kernargAlign = number(map, ".kernarg_segment_align");
  kernel.waveSize = number(map, ".wavefront_size");
  kernel.maxWorkgroupSize = number(map, ".max_flat_workgroup_size");
  kernel.uniformWorkgroups = flag(map, ".uniform_work_group_size");
  if (auto block = map.find(".reqd_workgroup_size"); block != map.end()) {
    if (!block->is_array() || block->size() != 3)
      refuse(".reqd_workgroup_size is no list of three");
    for (int i = 0; i < 3; ++i)
      kernel.requiredBlock[i] = numberIn((*block)[i], ".reqd_workgroup_size");
  }
  if (auto arguments = map.find(".args"); arguments != map.end()) {
    if (!arguments->is_array())
      refuse(".args is no list");
    for (const Json &item : *arguments) {
      if (!item.is_object())
        refuse("an argument's metadata is no map");
      kernel.arguments.push_back({number(item, ".offset"), number(item, ".size"),
                                  text(item, ".value_kind"), text(item, ".name")});
    }
  }
  return kernel;
}

} // namespace

CodeObject readCodeObject(std::vector<std::uint8_t> bytes) {
  CodeObject object;
  ElfReader elf(bytes);
  Json metadata = elf.metadata();
  object.target = Target::parse(text(metadata, "amdhsa.target")).id();
  auto kernels = metadata.find("amdhsa.kernels");
  if (kernels == metadata.end() || !kernels->is_array())
    refuse("its metadata lists no kernels");
  const std::map<std::string, Elf64_Sym> symbols = elf.symbols();
  for (const Json &item : *kernels) {
    KernelMetadata kernel = readKernel(item);
    auto symbol = symbols.find(kernel.name);
    if (symbol == symbols.end())
      refuse("kernel '" + kernel.name + "' has no symbol");
    kernel.codeBytes = symbol->second.st_size;
    object.kernels.push_back(std::move(kernel));
  }
  object.bytes = std::move(bytes);
  return object;
}

std::vector<std::string> eventNames(const CodeObject &object) {
  const ElfReader elf(object.bytes);
  const std::map<std::string, Elf64_Sym> symbols = elf.symbols();
  const auto list = symbols.find(std::string(support::ktrace::kNamesSymbol));
  std::vector<std::string> names;
  if (list == symbols.end())
    return names;
  std::string_view text = elf.contentOf(list->second);
  for (std::size_t end; (end = text.find('\0')) != text.npos; text.remove_prefix(end + 1))
    names.emplace_back(text.substr(0, end));
  return names;
}

} // namespace flydsl::jit
