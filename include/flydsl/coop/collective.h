// What collectives that are objects have in common.
#pragma once

#include <flydsl/coop/operator.h>
#include <flydsl/coop/storage.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop {

/// A collective that is made for values of one type: it says what shared memory it needs, and is
/// then called with it.
///
/// A call ends with reads of its storage, without a barrier after them: the caller owes one before
/// the storage is written again, by this or another collective.
class FLYDSL_API Collective {
public:
  /// The shared memory that a call works in, for all threads of the block.
  StorageSize storage() const { return storage_; }
  /// The values' type.
  const ValueType &type() const { return type_; }

protected:
  /// `what` is the class's name for messages. `items` is for a fixed number of items per thread, or
  /// 0. TraceErrors for types that have no place in memory.
  Collective(const char *what, ValueType type, int items, Loc loc);
  /// TraceError for less than one item per thread.
  void expectSomeItems(Loc loc) const;
  /// TraceErrors where a thread's items are not what the collective is made for, or the storage is
  /// too small.
  void expectItems(const impl::Items &items, Loc loc) const;
  void expectStorage(const Storage &storage, Loc loc) const;
  /// TraceError where a number of items of a tile, which is known while tracing, is not `least` to
  /// `count`.
  void expectValid(const IntTuple &valid, std::int64_t least, std::int64_t count, Loc loc) const;

  const char *what_;
  ValueType type_;
  int items_; ///< per thread; 0 where any number will do
  StorageSize storage_;
};

} // namespace coop
FLYDSL_NAMESPACE_END
