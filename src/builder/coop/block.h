// A block's threads and shared memory, as collectives use them.
#pragma once

#include "builder/coop/lane_moves.h"

#include <flydsl/coop/block.h>
#include <flydsl/kernel/reduce.h>

FLYDSL_NAMESPACE_BEGIN
namespace coop::impl {

/// The threads of the kernel's block.
int blockThreads(Loc loc);

/// A thread of the block, seen from inside of a collective.
class Thread {
public:
  explicit Thread(Loc loc);
  /// The thread in its group of `width` lanes, as if the group were the block.
  static Thread inGroup(int width, Loc loc);

  /// Its number in the block, the number of its wave, which is a scalar, and its lane in the wave;
  /// of type i32.
  const Expr &number() const { return number_; }
  const Expr &wave() const { return wave_; }
  const Expr &lane() const { return lane_; }
  /// Lanes of a wave, but no more than the block has threads; and waves of the block.
  int lanes() const { return lanes_; }
  int waves() const { return waves_; }

private:
  Thread(int lanes, const Expr &lane);

  int lanes_, waves_;
  Expr number_, wave_, lane_;
};

/// The number, in the block, of a thread's group of `width` lanes.
Expr groupOfThread(int width, Loc loc);

/// Keeps accesses to shared memory behind it behind those before it: of all threads of the block,
/// or of the lanes of a wave, whose accesses happen in their order if the compiler leaves it.
using Wait = void (*)(Loc loc);
void waitForBlock(Loc loc);
void waitForWave(Loc loc);

/// Runs `body` in the threads for which the condition holds.
template <class Body> void where(const Expr &condition, Body body) {
  if_(condition.truth(), body, condition.loc);
}

/// The number that `load()` gives where the condition holds, else `other`; not loaded there.
template <class Load> Expr loadWhere(const Expr &condition, Load load, const Expr &other) {
  return Expr(if_(
                  condition.truth(), [&] { return Numeric(load().handle); },
                  [&] { return other.number(); }, condition.loc),
              condition.loc);
}

/// Values in shared memory: each field is an array of its own.
class SharedValues {
public:
  SharedValues(std::vector<DType> types, std::vector<Pointer> fields)
      : types_(std::move(types)), fields_(std::move(fields)) {}

  /// The same arrays from a value on.
  SharedValues from(const Expr &first) const;

  Fields load(const Expr &index) const;
  /// The same where the condition holds, else `other`, and no access.
  Fields loadWhere(const Expr &condition, const Expr &index, const Fields &other) const;
  void store(const Expr &index, const Fields &value) const;
  /// Where field `i` of value `index` is.
  Pointer at(std::size_t field, const Expr &index) const;

private:
  std::vector<DType> types_;
  std::vector<Pointer> fields_;
};

/// What a collective's storage consists of: arrays of values, one behind the other.
class Plan {
public:
  /// Room for `count` values, or for the storage of another collective; gives its number.
  std::size_t add(StorageSize storage) { return add(u8, storage.bytes); }
  std::size_t add(const ValueType &type, std::int64_t count);
  StorageSize size() const { return {bytes_, kAlignment}; }
  /// The array with that number, in a storage.
  SharedValues in(const Storage &storage, std::size_t number, Loc loc) const;
  /// The same memory as the storage of a collective that this one is made of.
  Storage storageIn(const Storage &storage, std::size_t number, Loc loc) const;

private:
  static constexpr std::int64_t kAlignment = 16;
  static constexpr std::int64_t aligned(std::int64_t bytes) {
    return (bytes + kAlignment - 1) / kAlignment * kAlignment;
  }
  struct Part {
    ValueType type;
    std::int64_t count, offset;
  };
  /// The bytes of a storage from `offset` on.
  static Pointer bytesAt(const Storage &storage, std::int64_t offset, Loc loc);

  std::vector<Part> parts_;
  std::int64_t bytes_ = 0;
};

/// Where all threads' values stand while one wave goes through them: each lane has a row of
/// neighbouring threads' values, which is one place longer where that keeps the lanes off one
/// another's banks.
class Raking {
public:
  Raking(int threads, int lanes)
      : values_(threads / lanes), stride_(values_ % 2 ? values_ : values_ + 1), lanes_(lanes) {}
  /// Values of a row, and places of all rows.
  int values() const { return values_; }
  std::int64_t places() const { return std::int64_t(stride_) * lanes_; }
  /// The place of a thread's value, and of a lane's first.
  Expr place(const Expr &thread) const {
    return values_ == stride_ ? thread : thread + thread / values_;
  }
  Expr row(const Expr &lane) const { return lane * stride_; }

private:
  int values_, stride_, lanes_;
};

} // namespace coop::impl
FLYDSL_NAMESPACE_END
