#include "emulator/hip/device/shared_memory.h"

#include "emulator/hip/device/memory.h"
#include "emulator/hip/status.h"
#include "support/process.h"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace flyemu::hip {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kMagic = 0x31637069'75796c66; // "flyuipc1"

uint64_t pageDown(uint64_t address) { return address / kPage * kPage; }
uint64_t pageUp(uint64_t address) { return pageDown(address + kPage - 1); }

[[noreturn]] void failWithErrno(const std::string &what) {
  fail(hipErrorMapFailed, what + ": " + std::strerror(errno));
}

/// Maps pages of a file, at \p place if it is not 0.
uint64_t map(int descriptor, uint64_t offset, uint64_t bytes, uint64_t place = 0) {
  void *at = mmap(reinterpret_cast<void *>(place), bytes, PROT_READ | PROT_WRITE,
                  MAP_SHARED | (place ? MAP_FIXED : 0), descriptor, static_cast<off_t>(offset));
  if (at == MAP_FAILED)
    failWithErrno("memory of several processes can't be mapped");
  return reinterpret_cast<uint64_t>(at);
}

} // namespace

/// The first page of the file.
struct SharedMemory::Head {
  uint64_t magic;
  uint64_t nonce;
  SharedKind kind;
  int32_t process;
  uint64_t size;      ///< bytes of the contents
  uint64_t inPage;    ///< where they begin in the first page
  uint64_t pageBytes; ///< bytes of all pages
  std::atomic<uint32_t> freed;
};

void SharedMemory::make(SharedKind kind, uint64_t base, uint64_t size) {
  pages_ = pageDown(base);
  pageBytes_ = pageUp(base + size) - pages_;
  descriptor_.reset(memfd_create("flydsl-emulator", MFD_CLOEXEC));
  if (!descriptor_ || ftruncate(descriptor_.get(), static_cast<off_t>(kPage + pageBytes_)))
    failWithErrno("memory for several processes can't be made");
  head_ = reinterpret_cast<Head *>(map(descriptor_.get(), 0, kPage));
  head_->nonce = flydsl::support::random64();
  head_->kind = kind;
  head_->process = getpid();
  head_->size = size;
  head_->inPage = base - pages_;
  head_->pageBytes = pageBytes_;
  head_->magic = kMagic;
}

SharedMemory::SharedMemory(uint64_t base, uint64_t size) : base_(base) {
  make(SharedKind::Memory, base, size);
  const uint64_t copy = map(descriptor_.get(), kPage, pageBytes_);
  std::memcpy(reinterpret_cast<void *>(copy), reinterpret_cast<const void *>(pages_), pageBytes_);
  munmap(reinterpret_cast<void *>(copy), pageBytes_);
  map(descriptor_.get(), kPage, pageBytes_, pages_);
}

SharedMemory::SharedMemory(SharedKind kind, uint64_t size) {
  make(kind, 0, size);
  pages_ = map(descriptor_.get(), kPage, pageBytes_);
  base_ = pages_;
  ownsPages_ = true;
}

SharedMemory::SharedMemory(const SharedHandle &handle, SharedKind kind) {
  const hipError_t status =
      kind == SharedKind::Memory ? hipErrorInvalidDevicePointer : hipErrorInvalidValue;
  if (handle.magic != kMagic || handle.kind != kind)
    fail(status, kind == SharedKind::Memory ? "not a handle of hipIpcGetMemHandle"
                                            : "not a handle of hipIpcGetEventHandle");
  const std::string who = "process " + std::to_string(handle.process);
  if (handle.process == getpid())
    fail(hipErrorInvalidContext, "the handle is of this process, which uses the original");
  const std::string path =
      "/proc/" + std::to_string(handle.process) + "/fd/" + std::to_string(handle.descriptor);
  descriptor_.reset(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  const bool isOpen{descriptor_};
  struct stat file = {};
  if (!isOpen || fstat(descriptor_.get(), &file) || !S_ISREG(file.st_mode) ||
      static_cast<uint64_t>(file.st_size) < 2 * kPage) {
    const std::string why =
        isOpen ? "it has freed what the handle is of"
        : flydsl::support::isAlive(handle.process)
            ? std::string("it has freed what the handle is of, or it is not for "
                          "this user to open: ") +
                  std::strerror(errno)
            : "it has ended";
    fail(status, "the handle is of " + who + ": " + why);
  }
  head_ = reinterpret_cast<Head *>(map(descriptor_.get(), 0, kPage));
  const bool agrees = head_->magic == kMagic && head_->nonce == handle.nonce &&
                      head_->kind == kind && head_->size == handle.size &&
                      head_->pageBytes + kPage == static_cast<uint64_t>(file.st_size) &&
                      head_->inPage < kPage && head_->size <= head_->pageBytes - head_->inPage;
  if (!agrees || isFreed()) {
    munmap(head_, kPage);
    fail(status, "the handle is of " + who + ": it has freed what the handle is of");
  }
  pageBytes_ = head_->pageBytes;
  pages_ = map(descriptor_.get(), kPage, pageBytes_);
  base_ = pages_ + head_->inPage;
  ownsPages_ = true;
}

SharedMemory::~SharedMemory() {
  if (ownsPages_)
    munmap(reinterpret_cast<void *>(pages_), pageBytes_);
  if (head_)
    munmap(head_, kPage);
}

SharedHandle SharedMemory::handle() const {
  return {.magic = kMagic,
          .nonce = head_->nonce,
          .process = getpid(), // the one whose descriptor it is, which need not be the owner
          .descriptor = descriptor_.get(),
          .size = head_->size,
          .kind = head_->kind,
          .reserved = {}};
}

uint64_t SharedMemory::size() const { return head_->size; }
int SharedMemory::owner() const { return head_->process; }
uint64_t SharedMemory::nonce() const { return head_->nonce; }
bool SharedMemory::isFreed() const { return head_->freed.load(std::memory_order_acquire) != 0; }

void SharedMemory::withdraw() {
  head_->freed.store(1, std::memory_order_release);
  if (!ownsPages_)
    mmap(reinterpret_cast<void *>(pages_), pageBytes_, PROT_READ | PROT_WRITE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

std::shared_ptr<SharedMemory> DeviceMemory::share(uint64_t address) {
  std::unique_lock lock(mutex_);
  auto block = blocks_.find(address);
  if (block == blocks_.end() || block->second.allocation.kind != MemoryKind::Device)
    return nullptr;
  Allocation &allocation = table_.at(address);
  if (!allocation.shared) {
    // Red zones of a page and more keep the pages of an allocation free of anything else.
    allocation.shared = std::make_shared<SharedMemory>(allocation.base, allocation.size);
    allocation.written = nullptr;
    block->second.allocation = allocation;
  }
  return allocation.shared;
}

uint64_t DeviceMemory::import(std::shared_ptr<SharedMemory> shared, int device) {
  std::unique_lock lock(mutex_);
  for (auto &[base, count] : imports_)
    if (const Allocation &known = table_.at(base);
        known.shared->nonce() == shared->nonce() && known.device == device) {
      ++count;
      return base;
    }
  Allocation allocation;
  allocation.base = shared->base();
  allocation.size = shared->size();
  allocation.kind = MemoryKind::Imported;
  allocation.device = device;
  allocation.shared = std::move(shared);
  const uint64_t base = enter(std::move(allocation)).base;
  imports_.emplace(base, 1);
  return base;
}

void DeviceMemory::forgetImport(uint64_t base) {
  table_.erase(base);
  divided_.erase(base);
  imports_.erase(base);
}

bool DeviceMemory::closeImport(uint64_t address) {
  std::unique_lock lock(mutex_);
  auto it = imports_.find(address);
  if (it == imports_.end())
    return false;
  if (--it->second == 0)
    forgetImport(address);
  return true;
}

} // namespace flyemu::hip
