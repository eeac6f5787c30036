// What all collectives of a block are.
#pragma once

#include <flydsl/coop/operator.h>
#include <flydsl/coop/storage.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// A collective of all threads of a block: made for values of one type and for a number of threads,
/// it says what shared memory it needs, and is then called by every thread of the block.
///
/// Threads are numbered x fastest, then y, z. Blocked items are in the order of the sequence: thread t
/// has the items t * n to t * n + n - 1. Of striped items it has t, t + threads, t + 2 * threads, ...
/// The number of threads is a multiple of the wave, or a power of two below it.
///
/// A call ends with reads of its storage, without a barrier behind them: the caller owes one before
/// the storage is written again, by this or another collective.
class FLYDSL_API BlockCollective {
public:
  /// The shared memory that a call works in.
  StorageSize storage() const { return storage_; }
  /// The threads of the block.
  int threads() const { return threads_; }
  /// The values' type.
  const ValueType &type() const { return type_; }

protected:
  /// `what` is the class's name for messages. TraceError where the block has another size.
  BlockCollective(const char *what, ValueType type, int threads, Loc loc);
  /// For a fixed number of items per thread. TraceError where it is less than 1.
  BlockCollective(const char *what, ValueType type, int threads, int items, Loc loc);
  /// TraceErrors where a thread's items are not what the collective is made for, or the storage is
  /// too small.
  void expectItems(const impl::Items &items, Loc loc) const;
  void expectValue(const char *name, const impl::Fields &value, Loc loc) const;
  void expectStorage(const Storage &storage, Loc loc) const;

  const char *what_;
  ValueType type_;
  int threads_;
  int items_ = 0; ///< per thread; 0 where any number will do
  StorageSize storage_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
