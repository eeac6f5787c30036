#include "emulator/loader/elf_file.h"

#include <algorithm>
#include <elf.h>

namespace flyemu::loader {
namespace {

constexpr unsigned kElfOsAbiAmdgpuHsa = 64; // LLVM's AMDGPUUsage, "Header"
constexpr unsigned kMachineAmdgpu = 224;
constexpr unsigned kNoteAmdgpuMetadata = 32;
// A code object's image larger than this is taken for damage, not for a program.
constexpr uint64_t kMaxImageSize = uint64_t(1) << 32;
constexpr uint64_t kMaxSymbols = uint64_t(1) << 24;
// Linkers write about ten program headers, and put segments next to each other.
constexpr unsigned kMaxProgramHeaders = 1024;
constexpr uint64_t kMaxGaps = uint64_t(64) << 20;
constexpr uint64_t kMaxSymbolName = uint64_t(1) << 20;

[[noreturn]] void malformed(const std::string &message) {
  throw LoadError(LoadFailure::Malformed, message);
}

} // namespace

uint64_t ElfFile::extent(ByteView header, const std::vector<uint8_t> &programHeaders) {
  auto eh = header.read<Elf64_Ehdr>(0, "ELF header");
  auto end = [](uint64_t offset, uint64_t size) {
    return offset > kMaxImageSize || size > kMaxImageSize ? kMaxImageSize : offset + size;
  };
  uint64_t extent = std::max<uint64_t>(sizeof(Elf64_Ehdr),
                                       end(eh.e_phoff, uint64_t(eh.e_phnum) * sizeof(Elf64_Phdr)));
  ByteView table(programHeaders.data(), programHeaders.size());
  for (size_t i = 0; (i + 1) * sizeof(Elf64_Phdr) <= table.size(); ++i) {
    auto ph = table.read<Elf64_Phdr>(i * sizeof(Elf64_Phdr), "program header");
    extent = std::max(extent, end(ph.p_offset, ph.p_filesz));
  }
  return extent;
}

ElfFile ElfFile::parse(ByteView file) {
  if (!file.contains(0, SELFMAG) || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0)
    malformed("no ELF magic at the start");
  auto eh = file.read<Elf64_Ehdr>(0, "ELF header");
  if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB)
    malformed("not a 64-bit little-endian ELF file");
  if (eh.e_machine != kMachineAmdgpu)
    malformed("ELF machine " + std::to_string(eh.e_machine) + " is not AMDGPU (224)");
  if (eh.e_ident[EI_OSABI] != kElfOsAbiAmdgpuHsa)
    malformed("ELF OS ABI " + std::to_string(eh.e_ident[EI_OSABI]) + " is not AMDGPU HSA (64)");
  if (eh.e_type != ET_DYN)
    malformed("ELF type " + std::to_string(eh.e_type) +
              " is not a shared object: link the code object first");
  if (eh.e_phnum == 0 || eh.e_phentsize != sizeof(Elf64_Phdr))
    malformed("no program headers, or of a wrong size");
  if (eh.e_phnum > kMaxProgramHeaders)
    malformed("the header claims " + std::to_string(eh.e_phnum) + " program headers");

  ElfFile result;
  result.target_ = targetFromElfFlags(eh.e_flags, eh.e_ident[EI_ABIVERSION]);
  result.version_ = eh.e_ident[EI_ABIVERSION] + 2u;
  result.readSegments(file, eh.e_phoff, eh.e_phnum);
  result.readDynamic();
  return result;
}

void ElfFile::readSegments(ByteView file, uint64_t offset, unsigned count) {
  ByteView table = file.sub(offset, uint64_t(count) * sizeof(Elf64_Phdr), "program header table");
  for (unsigned i = 0; i < count; ++i) {
    auto ph = table.read<Elf64_Phdr>(i * sizeof(Elf64_Phdr), "program header");
    switch (ph.p_type) {
    case PT_LOAD: {
      if (ph.p_memsz < ph.p_filesz)
        malformed("a segment is smaller in memory than in the file");
      if (ph.p_vaddr > kMaxImageSize || ph.p_memsz > kMaxImageSize - ph.p_vaddr)
        malformed("a segment ends beyond 4 GiB");
      ElfSegment segment;
      segment.address = ph.p_vaddr;
      segment.memorySize = ph.p_memsz;
      segment.bytes = file.sub(ph.p_offset, ph.p_filesz, "segment");
      segment.executable = ph.p_flags & PF_X;
      segment.writable = ph.p_flags & PF_W;
      imageSize_ = std::max(imageSize_, ph.p_vaddr + ph.p_memsz);
      segments_.push_back(segment);
      break;
    }
    case PT_DYNAMIC:
      dynamic_ = file.sub(ph.p_offset, ph.p_filesz, "dynamic table");
      break;
    case PT_NOTE:
      readNotes(file.sub(ph.p_offset, ph.p_filesz, "note segment"), ph.p_align);
      break;
    default:
      break;
    }
  }
  if (segments_.empty())
    malformed("no loadable segment");
  // Segments must not overlap: they are copied one after the other into one image.
  std::vector<const ElfSegment *> order;
  for (const ElfSegment &segment : segments_)
    order.push_back(&segment);
  std::sort(order.begin(), order.end(),
            [](const ElfSegment *a, const ElfSegment *b) { return a->address < b->address; });
  for (size_t i = 1; i < order.size(); ++i)
    if (order[i - 1]->address + order[i - 1]->memorySize > order[i]->address)
      malformed("two loadable segments overlap");
  uint64_t used = 0;
  for (const ElfSegment &segment : segments_)
    used += segment.memorySize;
  if (imageSize_ - used > kMaxGaps)
    malformed("segments of " + std::to_string(used) + " bytes are spread over " +
              std::to_string(imageSize_));
}

void ElfFile::readNotes(ByteView notes, uint64_t align) {
  uint64_t unit = align == 8 ? 8 : 4;
  auto roundUp = [&](uint64_t value) { return (value + unit - 1) / unit * unit; };
  uint64_t at = 0;
  while (notes.contains(at, sizeof(Elf64_Nhdr))) {
    auto nh = notes.read<Elf64_Nhdr>(at, "note");
    uint64_t nameAt = at + sizeof(Elf64_Nhdr);
    uint64_t descAt = nameAt + roundUp(nh.n_namesz);
    ByteView name = notes.sub(nameAt, nh.n_namesz, "note name");
    ByteView desc = notes.sub(descAt, nh.n_descsz, "note");
    if (nh.n_type == kNoteAmdgpuMetadata && name.size() >= 6 &&
        std::memcmp(name.data(), "AMDGPU", 6) == 0)
      metadata_ = desc;
    at = descAt + roundUp(nh.n_descsz);
  }
}

ByteView ElfFile::atAddress(uint64_t address, uint64_t size, const char *what) const {
  for (const ElfSegment &segment : segments_)
    if (address >= segment.address && address - segment.address <= segment.bytes.size())
      return segment.bytes.sub(address - segment.address, size, what);
  malformed(std::string(what) + " is in no loaded segment");
}

uint64_t ElfFile::symbolCount(uint64_t hash, uint64_t gnuHash) const {
  if (hash)
    return atAddress(hash, 8, "hash table").read<uint32_t>(4, "hash table");
  // The GNU table holds no count, so the end of the last chain gives it.
  ByteView head = atAddress(gnuHash, 16, "GNU hash table");
  uint64_t buckets = head.read<uint32_t>(0, "GNU hash table");
  uint64_t first = head.read<uint32_t>(4, "GNU hash table");
  uint64_t bloom = head.read<uint32_t>(8, "GNU hash table");
  uint64_t bucketsAt = gnuHash + 16 + bloom * 8;
  uint64_t chainsAt = bucketsAt + buckets * 4;
  ByteView table = atAddress(bucketsAt, buckets * 4, "GNU hash buckets");
  uint64_t last = 0;
  for (uint64_t i = 0; i < buckets; ++i)
    last = std::max<uint64_t>(last, table.read<uint32_t>(i * 4, "GNU hash bucket"));
  if (last < first)
    return first;
  while (!(atAddress(chainsAt + (last - first) * 4, 4, "GNU hash chain")
               .read<uint32_t>(0, "GNU hash chain") &
           1))
    ++last;
  return last + 1;
}

void ElfFile::readDynamic() {
  if (dynamic_.size() == 0)
    malformed("no dynamic table");
  uint64_t symTab = 0, strTab = 0, strSize = 0, hash = 0, gnuHash = 0, rela = 0, relaSize = 0;
  for (uint64_t at = 0; dynamic_.contains(at, sizeof(Elf64_Dyn)); at += sizeof(Elf64_Dyn)) {
    auto dyn = dynamic_.read<Elf64_Dyn>(at, "dynamic entry");
    uint64_t value = dyn.d_un.d_val;
    if (dyn.d_tag == DT_NULL)
      break;
    switch (dyn.d_tag) {
    case DT_SYMTAB:
      symTab = value;
      break;
    case DT_STRTAB:
      strTab = value;
      break;
    case DT_STRSZ:
      strSize = value;
      break;
    case DT_HASH:
      hash = value;
      break;
    case DT_GNU_HASH:
      gnuHash = value;
      break;
    case DT_RELA:
      rela = value;
      break;
    case DT_RELASZ:
      relaSize = value;
      break;
    case DT_REL:
    case DT_RELR:
    case DT_JMPREL:
      throw LoadError(LoadFailure::Unsupported, "dynamic relocations in a form other than RELA");
    default:
      break;
    }
  }
  if (!symTab || !strTab || (!hash && !gnuHash))
    malformed("the dynamic table lacks a symbol, string or hash table");
  readSymbols(symTab, strTab, strSize, symbolCount(hash, gnuHash));

  if (relaSize) {
    ByteView table = atAddress(rela, relaSize, "relocation table");
    for (uint64_t at = 0; at + sizeof(Elf64_Rela) <= relaSize; at += sizeof(Elf64_Rela)) {
      auto entry = table.read<Elf64_Rela>(at, "relocation");
      ElfRelocation relocation;
      relocation.offset = entry.r_offset;
      relocation.type = ELF64_R_TYPE(entry.r_info);
      relocation.symbol = ELF64_R_SYM(entry.r_info);
      relocation.addend = entry.r_addend;
      if (relocation.symbol >= symbols_.size() && relocation.symbol != 0)
        malformed("a relocation names symbol " + std::to_string(relocation.symbol) + " of " +
                  std::to_string(symbols_.size()));
      relocations_.push_back(relocation);
    }
  }
}

void ElfFile::readSymbols(uint64_t symTab, uint64_t strTab, uint64_t strSize, uint64_t count) {
  if (count > kMaxSymbols)
    malformed("the hash table claims " + std::to_string(count) + " symbols");
  ByteView table = atAddress(symTab, count * sizeof(Elf64_Sym), "symbol table");
  ByteView names = atAddress(strTab, strSize, "string table");
  for (uint64_t i = 0; i < count; ++i) {
    auto entry = table.read<Elf64_Sym>(i * sizeof(Elf64_Sym), "symbol");
    ElfSymbol symbol;
    symbol.name = names.string(entry.st_name, "symbol name", kMaxSymbolName);
    symbol.value = entry.st_value;
    symbol.size = entry.st_size;
    symbol.defined = entry.st_shndx != SHN_UNDEF;
    symbol.isFunction = ELF64_ST_TYPE(entry.st_info) == STT_FUNC;
    symbol.isObject = ELF64_ST_TYPE(entry.st_info) == STT_OBJECT;
    symbol.isWeak = ELF64_ST_BIND(entry.st_info) == STB_WEAK;
    symbols_.push_back(symbol);
  }
}

} // namespace flyemu::loader
