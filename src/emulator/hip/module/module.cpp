#include "emulator/hip/module/module.h"

#include "emulator/hip/device/device.h"
#include "emulator/hip/launch/occupancy.h"
#include "emulator/loader/elf_file.h"
#include "emulator/loader/offload_bundle.h"
#include "support/text.h"

#include <algorithm>
#include <cerrno>
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <system_error>
#include <unistd.h>

namespace flyemu::hip {
namespace {

using loader::ByteView;
using loader::LoadError;
using loader::LoadFailure;

/// Reads our own memory through the kernel: an unmapped page gives a short count and no signal.
size_t readMapped(const uint8_t *from, uint8_t *to, size_t size) {
  size_t done = 0;
  while (done < size) {
    iovec local{to + done, std::min<size_t>(size - done, size_t(1) << 20)};
    iovec remote{const_cast<uint8_t *>(from) + done, local.iov_len};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got <= 0)
      break;
    done += got;
  }
  return done;
}

/// Grows \p bytes to the image's first \p size bytes, as far as they are mapped. It allocates
/// memory for mapped bytes only, because \p size may come from a damaged header.
void fetchMapped(const uint8_t *image, std::vector<uint8_t> &bytes, size_t size) {
  constexpr size_t step = size_t(1) << 20;
  while (bytes.size() < size) {
    const size_t have = bytes.size(), more = std::min(step, size - have);
    bytes.resize(have + more);
    const size_t got = readMapped(image + have, bytes.data() + have, more);
    if (got < more)
      return bytes.resize(have + got);
  }
}

/// The same if all of them must be mapped.
void fetch(const uint8_t *image, std::vector<uint8_t> &bytes, size_t size) {
  fetchMapped(image, bytes, size);
  if (bytes.size() < size)
    throw LoadError(LoadFailure::Malformed, "the image says that it has " + std::to_string(size) +
                                                " bytes; only " + std::to_string(bytes.size()) +
                                                " are mapped");
}

/// Grows \p bytes by what stands behind the segments, the sections with line tables among it, up to
/// the end of the section header table, which linkers write last. Nothing that is not mapped is
/// taken, and nothing of a size that a header only claims.
void fetchSections(const uint8_t *image, const Elf64_Ehdr &header, std::vector<uint8_t> &bytes) {
  constexpr uint64_t most = uint64_t(1) << 28;
  const size_t segments = bytes.size();
  const uint64_t end = header.e_shoff + uint64_t(header.e_shnum) * header.e_shentsize;
  if (header.e_shoff > most || end <= segments || end > segments + most)
    return;
  fetchMapped(image, bytes, end);
  if (bytes.size() < end)
    bytes.resize(segments);
}

} // namespace

std::vector<uint8_t> copyHostImage(const void *image) {
  constexpr size_t maxBundleTable = size_t(1) << 20;
  auto *from = static_cast<const uint8_t *>(image);
  std::vector<uint8_t> bytes;
  fetch(from, bytes, 32);
  if (loader::isOffloadBundle(ByteView(bytes.data(), bytes.size()))) {
    // The table's length is not written anywhere: take more until it can be read whole.
    for (size_t size = 512;; size *= 2) {
      fetch(from, bytes, size);
      try {
        fetch(from, bytes, loader::bundleExtent(ByteView(bytes.data(), bytes.size())));
        return bytes;
      } catch (const LoadError &error) {
        if (size >= maxBundleTable || error.kind() != LoadFailure::Malformed)
          throw;
      }
    }
  }
  if (std::memcmp(bytes.data(), ELFMAG, SELFMAG) != 0)
    throw LoadError(LoadFailure::Malformed, "the image is neither an ELF file nor a bundle");
  fetch(from, bytes, sizeof(Elf64_Ehdr));
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof(header));
  size_t tableSize = size_t(header.e_phnum) * sizeof(Elf64_Phdr);
  std::vector<uint8_t> table(tableSize);
  if (header.e_phoff > UINT32_MAX ||
      readMapped(from + header.e_phoff, table.data(), tableSize) != tableSize)
    throw LoadError(LoadFailure::Malformed, "the program header table is not in mapped memory");
  fetch(from, bytes, loader::ElfFile::extent(ByteView(bytes.data(), bytes.size()), table));
  fetchSections(from, header, bytes);
  return bytes;
}

std::vector<uint8_t> readFile(const char *path) {
  constexpr off_t most = off_t(1) << 32;
  // Opening does not wait for the other end of a pipe, which is refused just below.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0)
    fail(hipErrorFileNotFound,
         std::string("cannot read '") + path + "': " + std::generic_category().message(errno));
  const std::unique_ptr<const int, void (*)(const int *)> closed(&file,
                                                                 [](const int *f) { close(*f); });
  struct stat status;
  if (fstat(file, &status) != 0 || !S_ISREG(status.st_mode))
    throw LoadError(LoadFailure::Malformed, std::string("'") + path + "' is no regular file");
  if (status.st_size > most)
    throw LoadError(LoadFailure::Malformed, std::string("'") + path + "' has " +
                                                std::to_string(status.st_size) +
                                                " bytes, more than a code object may have");
  std::vector<uint8_t> bytes(static_cast<size_t>(status.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = read(file, bytes.data() + done, bytes.size() - done);
    if (got < 0 && errno == EINTR)
      continue;
    if (got <= 0)
      break;
    done += static_cast<size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

Module::Module(Device &device, std::shared_ptr<loader::LoadedCode> code)
    : device_(device), code_(std::move(code)) {
  for (const MemoryRange &range : code_->ranges()) {
    Allocation allocation;
    allocation.base = range.base;
    allocation.size = range.size;
    allocation.kind = MemoryKind::Image;
    allocation.device = device_.index();
    allocation.writable = range.writable;
    device_.space().add(allocation);
  }
}

void Module::connectManaged(const ManagedVariables &given) {
  for (const auto &[name, initial] : code_->variables()) {
    if (name.size() <= kManagedSuffix.size() || !name.ends_with(kManagedSuffix))
      continue;
    const std::string own = name.substr(0, name.size() - kManagedSuffix.size());
    const loader::CodeVariable *pointer = code_->findVariable(own);
    if (!pointer || pointer->size != sizeof(uint64_t))
      throw LoadError(LoadFailure::Malformed,
                      "the managed variable '" + own + "' has no pointer in the code object");
    const auto known = given.find(own);
    ManagedRef memory = known != given.end()
                            ? known->second
                            : std::make_shared<ManagedVariable>(
                                  initial.size, 1, reinterpret_cast<void *>(initial.address));
    const uint64_t address = memory->address();
    std::memcpy(reinterpret_cast<void *>(pointer->address), &address, sizeof address);
    managed_[own] = std::move(memory);
  }
}

loader::CodeVariable Module::variable(const std::string &name) const {
  if (auto it = managed_.find(name); it != managed_.end())
    return {it->second->address(), it->second->size()};
  const loader::CodeVariable *variable = code_->findVariable(name);
  return variable ? *variable : loader::CodeVariable();
}

std::shared_ptr<Module> Module::load(ByteView image, Device &device,
                                     const ManagedVariables &managed) {
  std::vector<uint8_t> expanded;
  if (loader::isOffloadBundle(image))
    image = loader::selectFromBundle(image, device.target(), expanded);
  try {
    auto code = loader::LoadedCode::load(image, device.target(), device.space().capacity());
    std::shared_ptr<Module> module(new Module(device, std::move(code)));
    module->connectManaged(managed);
    return module;
  } catch (const std::invalid_argument &error) {
    throw LoadError(LoadFailure::OtherTarget, error.what());
  }
}

Module::~Module() {
  for (auto &entry : functions_)
    Runtime::get().functions.take(entry.second.get());
  for (const MemoryRange &range : code_->ranges())
    device_.space().remove(range.base, MemoryKind::Image);
}

Function *Module::function(const std::string &name) {
  std::lock_guard lock(mutex_);
  std::shared_ptr<Function> &function = functions_[name];
  if (!function) {
    const loader::CodeKernel *kernel = code_->findKernel(name);
    if (!kernel) {
      functions_.erase(name);
      const std::string known = flydsl::support::joined(
          code_->kernels(), [](const auto &entry) -> const std::string & { return entry.first; });
      fail(hipErrorNotFound,
           "no kernel '" + name + "' in the module; it has " + (known.empty() ? "none" : known));
    }
    function = std::make_shared<Function>();
    function->code = code_;
    function->kernel = kernel;
    function->device = &device_;
    Runtime::get().functions.add(function);
  }
  return function.get();
}

int activeWorkgroups(const Function &function, int threads, size_t dynamicLds) {
  return residentAsHipSays(function.device->figures(), function.kernel->metadata,
                           static_cast<uint64_t>(std::max(threads, 0)), dynamicLds);
}

} // namespace flyemu::hip
