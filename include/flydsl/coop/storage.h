// Shared memory of a block's collectives.
#pragma once

#include <flydsl/kernel/shared.h>

#include <algorithm>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// The shared memory that a collective needs. 0 bytes: none.
struct StorageSize {
  std::int64_t bytes = 0;
  std::int64_t alignment = 16;

  /// What is enough for either of two collectives, one after the other.
  friend constexpr StorageSize operator|(StorageSize a, StorageSize b) {
    return {std::max(a.bytes, b.bytes), std::max(a.alignment, b.alignment)};
  }
};

/// Shared memory that collectives work in, one after another. Between two uses of the same storage
/// stands a barrier of the caller's, because the first collective ends with reads of it:
///
///   fx::coop::Storage storage(shared, reduce.storage() | scan.storage());
///   auto total = reduce(x, fx::Reduction::add, storage);
///   fx::gpu::barrier();
///   auto before = scan.exclusive(x, fx::Reduction::add, storage);
class FLYDSL_API Storage {
public:
  /// No memory, for collectives that need none.
  Storage() : bytes_(0) {}
  /// Allocates as much as `size` says.
  Storage(SharedAllocator &shared, StorageSize size, Loc loc = Loc::current());
  /// `bytes` of shared memory from `start` on, which is aligned to 16.
  Storage(const Pointer &start, std::int64_t bytes, Loc loc = Loc::current());

  /// How much it is.
  std::int64_t bytes() const { return bytes_; }
  /// Where it starts. TraceError for a storage of no bytes.
  const Pointer &start(Loc loc = Loc::current()) const;

private:
  std::optional<Pointer> start_;
  std::int64_t bytes_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
