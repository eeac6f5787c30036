// Memory that several processes of one machine have: the pages of an allocation become those of a
// file in memory (memfd), which other processes open by the owner's descriptor in /proc.
#pragma once

#include "support/descriptor.h"

#include <cstdint>

namespace flyemu::hip {

/// What a handle is of.
enum class SharedKind : uint32_t { Memory = 1, Event = 2 };

/// What one process tells another, in the 64 bytes of HIP's handles. Nothing in it is trusted before
/// it agrees with the file's own head.
struct SharedHandle {
  uint64_t magic;
  uint64_t nonce; ///< random: a number of a process or of a descriptor may belong to others later
  int32_t process;
  int32_t descriptor;
  uint64_t size;
  SharedKind kind;
  uint32_t reserved[7];
};
static_assert(sizeof(SharedHandle) == 64);

/// A file in memory: a page that says what it is, and pages of contents.
class SharedMemory {
public:
  /// Moves the pages of [base, base + size) into a file, with what is in them. The pages must be
  /// the caller's own. Throws StatusError if the system refuses.
  SharedMemory(uint64_t base, uint64_t size);
  /// A new file with \p size bytes of contents, all 0.
  SharedMemory(SharedKind kind, uint64_t size);
  /// What another process has made. Throws StatusError for a handle that is none, of another kind, or
  /// whose owner has gone, with the status that HIP has for the kind; and hipErrorInvalidContext for one
  /// of this process.
  SharedMemory(const SharedHandle &handle, SharedKind kind);
  SharedMemory(const SharedMemory &) = delete;
  ~SharedMemory();

  SharedHandle handle() const;
  /// Where the contents are in this process.
  uint64_t base() const { return base_; }
  uint64_t size() const;
  int owner() const; ///< the process that made it
  uint64_t nonce() const;

  /// The owner gives the memory up: its pages are private again, and their contents undefined.
  void withdraw();
  bool isFreed() const;

private:
  struct Head;
  void make(SharedKind kind, uint64_t base, uint64_t size);
  Head *head_ = nullptr;
  uint64_t base_ = 0;
  uint64_t pages_ = 0;     ///< where the pages of the contents begin in this process
  uint64_t pageBytes_ = 0; ///< of all of them
  flydsl::support::Descriptor descriptor_;
  bool ownsPages_ = false; ///< this object mapped the pages, and unmaps them
};

} // namespace flyemu::hip
