#include "emulator/loader/loaded_code.h"

#include "emulator/isa/machine.h"
#include "emulator/loader/elf_file.h"
#include "emulator/ops/decode_program.h"

#include <algorithm>
#include <string_view>
#include <sys/mman.h>
#include <unordered_map>

namespace flyemu::loader {
namespace {

// LLVM's AMDGPUUsage, "Relocation Records".
enum AmdgpuRelocation : uint32_t {
  RelocNone = 0,
  RelocAbs32Lo = 1,
  RelocAbs32Hi = 2,
  RelocAbs64 = 3,
  RelocRel32 = 4,
  RelocRel64 = 5,
  RelocAbs32 = 6,
  RelocRel32Lo = 10,
  RelocRel32Hi = 11,
  RelocRelative64 = 13,
};

constexpr size_t kPageSize = 4096;
constexpr size_t kDescriptorSize = 64;

// Decoded code takes many times the memory of its bytes, so larger code than any compiler makes is
// refused.
constexpr size_t kMaxCode = size_t(256) << 20;

size_t roundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

[[noreturn]] void malformed(const std::string &message) {
  throw LoadError(LoadFailure::Malformed, message);
}

} // namespace

/// The steps from an ELF file to a LoadedCode.
class LoadedCodeBuilder {
public:
  LoadedCodeBuilder(ByteView file, const ElfFile &elf, const TargetId &device)
      : elf_(elf), device_(device), object_(new LoadedCode) {
    object_->lines_ = std::make_shared<SourceLines>(file);
  }

  std::shared_ptr<LoadedCode> build() {
    checkTarget();
    mapSegments();
    for (const ElfRelocation &relocation : elf_.relocations())
      relocate(relocation);
    collectKernels(Metadata::parse(elf_.metadata()));
    collectVariables();
    return std::move(object_);
  }

private:
  void checkTarget() {
    if (!isCompatible(elf_.target(), device_))
      throw LoadError(LoadFailure::OtherTarget, "code object for " + elf_.target().str() +
                                                    " cannot run on a " + device_.str() +
                                                    " device");
    machine_ = findMachine(device_.processor);
    if (!machine_)
      throw LoadError(LoadFailure::OtherTarget,
                      "the emulator declares " + device_.processor + " and does not run its code");
    object_->target_ = elf_.target();
    object_->version_ = elf_.codeObjectVersion();
  }

  void mapSegments() {
    // One reservation keeps the relative addresses that the code was linked with.
    size_t size = roundUp(elf_.imageSize(), kPageSize);
    void *base = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED)
      throw LoadError(LoadFailure::OutOfMemory,
                      "no memory for an image of " + std::to_string(size) + " bytes");
    object_->base_ = static_cast<uint8_t *>(base);
    object_->mappedSize_ = size;
    for (const ElfSegment &segment : elf_.segments()) {
      if (segment.bytes.size())
        std::memcpy(object_->base_ + segment.address, segment.bytes.data(), segment.bytes.size());
      if (segment.memorySize)
        object_->ranges_.push_back(
            {address(segment.address), segment.memorySize, segment.writable});
    }
  }

  uint64_t address(uint64_t offset) const {
    return reinterpret_cast<uint64_t>(object_->base_) + offset;
  }

  const ElfSegment *segmentOf(uint64_t at, uint64_t size) const {
    for (const ElfSegment &segment : elf_.segments())
      if (at >= segment.address && at - segment.address <= segment.memorySize &&
          size <= segment.memorySize - (at - segment.address))
        return &segment;
    return nullptr;
  }

  void relocate(const ElfRelocation &relocation) {
    if (relocation.type == RelocNone)
      return;
    uint64_t symbol = 0;
    if (relocation.symbol) {
      const ElfSymbol &target = elf_.symbols()[relocation.symbol];
      if (!target.defined && !target.isWeak)
        throw LoadError(LoadFailure::NotFound,
                        "undefined symbol '" + std::string(target.name) + "' in the code object");
      symbol = target.defined ? address(target.value) : 0;
    }
    uint64_t place = address(relocation.offset);
    uint64_t value = symbol + relocation.addend;
    switch (relocation.type) {
    case RelocRelative64:
      return patch(relocation, address(relocation.addend));
    case RelocAbs64:
      return patch(relocation, value);
    case RelocRel64:
      return patch(relocation, value - place);
    case RelocAbs32Lo:
      return patch(relocation, static_cast<uint32_t>(value));
    case RelocAbs32Hi:
      return patch(relocation, static_cast<uint32_t>(value >> 32));
    case RelocRel32Lo:
      return patch(relocation, static_cast<uint32_t>(value - place));
    case RelocRel32Hi:
      return patch(relocation, static_cast<uint32_t>((value - place) >> 32));
    case RelocAbs32:
      if (value >> 32)
        malformed("a 32-bit relocation does not reach its symbol");
      return patch(relocation, static_cast<uint32_t>(value));
    case RelocRel32:
      if (int64_t distance = value - place; distance != static_cast<int32_t>(distance))
        malformed("a 32-bit relocation does not reach its symbol");
      return patch(relocation, static_cast<uint32_t>(value - place));
    default:
      throw LoadError(LoadFailure::Unsupported, "relocation type " +
                                                    std::to_string(relocation.type) +
                                                    " is none that a linked code object holds");
    }
  }

  template <typename T> void patch(const ElfRelocation &relocation, T value) {
    if (!segmentOf(relocation.offset, sizeof(T)))
      malformed("a relocation patches bytes outside all segments");
    std::memcpy(object_->base_ + relocation.offset, &value, sizeof(T));
  }

  std::shared_ptr<CodeSegment> codeOf(const ElfSegment &segment) {
    std::shared_ptr<CodeSegment> &code = code_[&segment];
    if (segment.bytes.size() > kMaxCode)
      malformed("a code segment of " + std::to_string(segment.bytes.size()) + " bytes");
    if (!code)
      code = std::make_shared<CodeSegment>(device_.processor, object_->base_ + segment.address,
                                           segment.bytes.size() / 4 * 4);
    return code;
  }

  void collectKernels(const Metadata &metadata) {
    std::unordered_map<std::string_view, const ElfSymbol *> symbols;
    for (const ElfSymbol &symbol : elf_.symbols())
      if (symbol.defined)
        symbols.emplace(symbol.name, &symbol);
    for (const KernelNotes &kernel : metadata.kernels) {
      auto found = symbols.find(kernel.symbol);
      if (found == symbols.end())
        malformed("kernel " + kernel.name + " has no symbol " + kernel.symbol);
      const ElfSymbol *symbol = found->second;
      if (!segmentOf(symbol->value, kDescriptorSize))
        malformed("the descriptor of kernel " + kernel.name + " lies outside all segments");
      CodeKernel loaded;
      loaded.metadata = kernel;
      loaded.code.name = kernel.name;
      loaded.code.descriptor = KernelDescriptor::parse(object_->base_ + symbol->value);
      if (loaded.code.descriptor.kernargSize > kernel.kernargSize)
        malformed("kernel " + kernel.name + ": the descriptor's kernarg size " +
                  std::to_string(loaded.code.descriptor.kernargSize) +
                  " is larger than the metadata's " + std::to_string(kernel.kernargSize));
      const uint64_t lanes = kernel.wavefrontSize == 32 ? 32 : 64;
      const uint64_t scratch = loaded.code.descriptor.privateSegmentFixedSize;
      if (scratch * lanes > machine_->maxWaveScratch)
        malformed("kernel " + kernel.name + " claims " + std::to_string(scratch) +
                  " bytes of scratch for a work-item; on " + device_.processor + " the most is " +
                  std::to_string(machine_->maxWaveScratch / lanes));
      uint64_t entry = symbol->value + loaded.code.descriptor.entryOffset;
      const ElfSegment *segment = segmentOf(entry, 4);
      if (!segment || !segment->executable || entry % 4 || segment->address % 4)
        malformed("the entry of kernel " + kernel.name + " is in no executable segment");
      loaded.segment = codeOf(*segment);
      loaded.code.entry = address(entry);
      loaded.code.source = [lines = object_->lines_, base = address(0)](uint64_t at) {
        return lines->at(at - base);
      };
      object_->kernels_.emplace(kernel.name, std::move(loaded));
    }
  }

  void collectVariables() {
    for (const ElfSymbol &symbol : elf_.symbols()) {
      bool isDescriptor =
          symbol.name.size() > 3 && symbol.name.substr(symbol.name.size() - 3) == ".kd";
      if (symbol.defined && symbol.isObject && !isDescriptor &&
          segmentOf(symbol.value, symbol.size))
        object_->variables_[std::string(symbol.name)] = {address(symbol.value), symbol.size};
    }
  }

  const ElfFile &elf_;
  const TargetId &device_;
  const Machine *machine_ = nullptr; ///< the device's
  std::shared_ptr<LoadedCode> object_;
  std::map<const ElfSegment *, std::shared_ptr<CodeSegment>> code_;
};

std::shared_ptr<const Program> CodeSegment::program() {
  std::call_once(once_, [&] { program_ = decodeProgram(processor_, code_, size_); });
  return program_;
}

std::shared_ptr<LoadedCode> LoadedCode::load(ByteView file, const TargetId &device,
                                             uint64_t memory) {
  ElfFile elf = ElfFile::parse(file);
  if (elf.imageSize() > memory)
    throw LoadError(LoadFailure::OutOfMemory,
                    "the code object of " + std::to_string(file.size()) + " bytes claims " +
                        std::to_string(elf.imageSize()) + " in memory; the device has " +
                        std::to_string(memory));
  return LoadedCodeBuilder(file, elf, device).build();
}

LoadedCode::~LoadedCode() {
  kernels_.clear();
  if (base_)
    munmap(base_, mappedSize_);
}

const CodeKernel *LoadedCode::findKernel(const std::string &name) const {
  auto it = kernels_.find(name);
  return it == kernels_.end() ? nullptr : &it->second;
}

const CodeVariable *LoadedCode::findVariable(const std::string &name) const {
  auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : &it->second;
}

} // namespace flyemu::loader
