// Rows in a kernel: the threads that share one, what each holds of it, and reductions over it.
//
// A row has n elements, which accesses of `vector` elements cover from its start; what is left is
// covered by single elements. Access k of the row belongs to thread k % threads. A thread's
// accesses are its slots. Only the last slots may lie past the row for some threads, and only those
// are guarded. kernels/README.md has the words.
#pragma once

#include "blocks/common/call_rows.h"
#include "blocks/common/where.h"
#include "blocks/rows/row_rules.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/wave_memory.h>

#include <functional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// Rows of operands are tensors (M, N) of the kernel's M rows; a vector (N) is a row that all of
/// them share. Their N is static: that of the RowShape, or, where several elements share a byte, the
/// bytes of a row.

/// The bytes of an access to an operand of this type, which divide the places of its rows.
inline int accessBytes(DType type, const RowShape &shape) {
  return std::min(16, shape.vector * type.memory_bits() / 8);
}
/// The kernel's m rows of an operand: (m, n). Elements that share a byte are read and written as
/// bytes: (m, n / elements of a byte).
inline Tensor rowsOf(const Strided<OnDevice, 1> &operand, DType type, const Numeric &m,
                     const RowShape &shape) {
  if (type.memory_bits() >= 8)
    return operand.view(type, {m, shape.n}, accessBytes(type, shape)); // (m, n)
  const int ofByte = 8 / type.memory_bits();
  const Strided<OnDevice, 1> bytes{.address = operand.address,
                                   .stride = {Int64(operand.stride[0] / ofByte)}};
  return bytes.view(u8, {m, shape.n / ofByte}, accessBytes(type, shape)); // (m, bytes of a row)
}
/// A row that all rows share: (n).
inline Tensor rowOf(const Strided<OnDevice, 0> &operand, DType type, const RowShape &shape) {
  return operand.view(type, shape.n, accessBytes(type, shape)); // (n)
}

/// A thread's values of a row: a vector for each slot.
using RowValues = std::vector<Vector>;

/// A thread of a block, and the row that it works on.
class RowThread {
public:
  /// For the kernel's m rows. A block takes `rowsPerBlock(config)` of them by its number.
  RowThread(const RowShape &shape, const RowConfig &config, const Int32 &m)
      : RowThread(shape, config, m, Int32(block_idx().x * rowsPerBlock(config))) {}
  /// For the kernel's m rows, in a block whose first row is `firstRow`.
  RowThread(const RowShape &shape, const RowConfig &config, const Int32 &m, const Int32 &firstRow)
      : shape_(shape), config_(config), rows_(rowsPerBlock(config)), inRow_(inRowOf(config)),
        row_(rowNumber(config, rows_, m, firstRow)), inside_(insideOf(config, rows_, m, firstRow)) {
    const std::int64_t wide = shape.n / shape.vector, threads = config.threads;
    for (std::int64_t access = 0; access < wide; access += threads)
      slots_.push_back({shape.vector, Int32(static_cast<std::int32_t>(access)),
                        guard(access + threads <= wide, inRow_ + access < wide)});
    for (std::int64_t access = wide * shape.vector; access < shape.n; access += threads)
      slots_.push_back({1, Int32(static_cast<std::int32_t>(access)),
                        guard(access + threads <= shape.n, inRow_ + access < shape.n)});
  }

  /// Rows of a block.
  static int rowsPerBlock(const RowConfig &config) { return config.block / config.threads; }

  std::size_t slots() const { return slots_.size(); }
  /// The thread's number among the threads of its row, 0 to config.threads - 1.
  const Int32 &inRow() const { return inRow_; }
  /// The number of the thread's row. A thread whose row is past the last one has the last row's number, and
  /// neither loads nor stores anything of it: if the kernel works in place, another wave may be writing it now.
  const Int32 &row() const { return row_; }

  /// The elements of each slot, as they are in memory; `fill` stands where a slot is past the row.
  RowValues load(const Tensor &from, double fill) const {
    return issued(each([&](const Slot &slot) { return loadSlot(slot, from, fill); }));
  }
  /// Writes the elements, rounded to the operand's type.
  void store(const Tensor &to, const RowValues &values) const {
    ifInside([&] {
      for (std::size_t i = 0; i < slots_.size(); ++i)
        storeSlot(slots_[i], to, values[i]);
    });
  }

  /// The values, or zeros if the thread's row is past the last one: for sums over rows.
  Vector zeroPastLastRow(const Vector &values) const {
    if (!inside_)
      return values;
    const std::int64_t size = values.size();
    return select(Vector::splat(*inside_, size), values, Vector::splat(0.0f, size, f32));
  }
  /// Runs `body` by one thread of each row that there is.
  void once(const std::function<void()> &body) const {
    if_(inside_ ? Boolean((inRow_ == 0) & *inside_) : Boolean(inRow_ == 0), body);
  }
  /// Calls `body` with each slot, one after another.
  class Cursor;
  void visit(const std::function<void(const Cursor &)> &body) const;
  /// A loop over the accesses of a row, for rows that do not stay in registers: `body` is traced
  /// with one slot at a time, which it may load and store.
  void stream(const std::function<void(const Cursor &)> &body) const;

private:
  struct Slot {
    int size;                     ///< elements of the access
    Int32 access;                 ///< the number of thread 0's access; thread i has access + i
    std::optional<Boolean> valid; ///< whether the thread's access is in the row; none: always
  };
  friend class Cursor;
  static constexpr int kSmallestWave = 32; ///< lanes of a wave, on the targets with the fewest

  static std::optional<Boolean> guard(bool always, const Boolean &valid) {
    return always ? std::nullopt : std::optional<Boolean>(valid);
  }
  static Int32 inRowOf(const RowConfig &config) {
    const Int32 thread = thread_idx().x;
    return config.threads == config.block ? thread : Int32(thread % config.threads);
  }
  /// The row that the thread would have if the kernel had rows without end.
  static Int32 unboundedRow(const RowConfig &config, int rows, const Int32 &firstRow) {
    return rows == 1 ? firstRow : Int32(firstRow + thread_idx().x / config.threads);
  }
  static Int32 rowNumber(const RowConfig &config, int rows, const Int32 &m, const Int32 &firstRow) {
    return rows == 1 ? firstRow : Int32(min(unboundedRow(config, rows, firstRow), m - 1));
  }
  static std::optional<Boolean> insideOf(const RowConfig &config, int rows, const Int32 &m,
                                         const Int32 &firstRow) {
    return rows == 1 ? std::nullopt
                     : std::optional<Boolean>(unboundedRow(config, rows, firstRow) < m);
  }

  /// The thread's elements of a slot.
  Tensor place(const Slot &slot, const Tensor &operand) const {
    const Tensor row = operand.rank() == 1 ? operand : operand(row_, _); // (N)
    const std::int64_t extent = flydsl::size(row).value();
    const std::int64_t each = slot.size * extent / shape_.n; // less where elements share a byte
    const Layout accesses = make_layout({each, extent / each}, {1, each});
    return composition(row, accesses)(_, inRow_ + slot.access); // (each)
  }
  /// The elements of a slot. A thread whose row is past the last one must not read the last row, whose number
  /// it has: another wave may be writing it now. Blocks of 32 threads are one wave on every target, which
  /// writes the row later: they need no guard.
  Vector loadSlot(const Slot &slot, const Tensor &from, double fill) const {
    const auto read = [&] { return place(slot, from).load(); };
    const bool own = from.rank() == 2 && inside_ && config_.block > kSmallestWave;
    if (!own && !slot.valid)
      return read();
    const Boolean valid = !own          ? *slot.valid
                          : !slot.valid ? *inside_
                                        : Boolean(*slot.valid & *inside_);
    return if_(valid, read,
               [&] { return filled(fill, flydsl::size(place(slot, from)).value(), from.dtype()); });
  }
  static Vector filled(double fill, std::int64_t size, DType dtype) {
    return dtype.is_float() ? Vector::splat(fill, size, dtype)
                            : Vector::splat(static_cast<std::int64_t>(fill), size, dtype);
  }
  void storeSlot(const Slot &slot, const Tensor &to, const Vector &values) const {
    const auto write = [&] {
      const bool ready = values.dtype() == to.dtype() || to.dtype() == u8;
      place(slot, to).store(ready ? values : values.to(to.dtype()));
    };
    where(slot.valid, write);
  }
  /// All loads are issued before anything waits for the first.
  static RowValues issued(RowValues loads) {
    gpu::schedule_fence();
    return loads;
  }
  template <class F> RowValues each(F value) const {
    RowValues values;
    for (const Slot &slot : slots_)
      values.push_back(value(slot));
    return values;
  }
  void ifInside(const std::function<void()> &body) const { where(inside_, body); }

  RowShape shape_;
  RowConfig config_;
  int rows_;
  Int32 inRow_, row_;
  /// Whether the row is one of the kernel's; none if a block has one row: the grid then has as many blocks as
  /// there are rows.
  std::optional<Boolean> inside_;
  std::vector<Slot> slots_;
};

/// Calls `body` with the number of rows of a call (rowsOfCall), in blocks that have some of them.
template <class Body>
void withRows(bool counted, const Strided<OnDevice, 0> &rows, const Int32 &m,
              const RowConfig &config, const Body &body) {
  const Int32 ofCall = rowsOfCall(counted, rows, m);
  if (!counted)
    return body(ofCall);
  if_(block_idx().x * RowThread::rowsPerBlock(config) < ofCall, [&] { body(ofCall); });
}

/// One access of a row in a loop.
class RowThread::Cursor {
public:
  /// Keeps the compiler from loading for more than the next four slots ahead: for operands that must not fill
  /// the registers.
  void limitLoadsAhead() const {
    if (number_ % 4 == 0)
      gpu::schedule_fence();
  }
  /// The number of a slot that is visited.
  std::size_t slot() const { return number_; }
  /// The elements as they are in memory; `fill` where the access is past the row.
  Vector load(const Tensor &from, double fill) const { return thread_.loadSlot(slot_, from, fill); }
  /// Writes the elements, rounded to the operand's type; those that share a byte are given as
  /// bytes. A vector (N) is the thread's own, whatever row it is at.
  void store(const Tensor &to, const Vector &values) const {
    if (to.rank() == 1)
      return thread_.storeSlot(slot_, to, values);
    thread_.ifInside([&] { thread_.storeSlot(slot_, to, values); });
  }
  /// Adds to a vector (N) that the threads of all rows add to.
  void atomicAdd(const Tensor &to, const Vector &values) const {
    const auto add = [&] {
      const Pointer first = thread_.place(slot_, to).iter();
      for (std::int64_t i = 0; i < values.size(); ++i)
        atomic(AtomicOp::add, first + i, values.at(i));
    };
    where(slot_.valid, add);
  }

  /// The element of the row that the access begins with.
  Int32 column() const { return Int32((thread_.inRow_ + slot_.access) * slot_.size); }
  /// Whether the access is in the row; none: always.
  const std::optional<Boolean> &valid() const { return slot_.valid; }
  /// The number of elements of the access.
  std::int64_t size() const { return slot_.size; }
  /// Writes a number for each group of `lanes` neighbouring accesses, which has the same in all
  /// its threads; a row of `to` has one element for each group.
  void storeGroup(const Tensor &to, int lanes, const Numeric &value) const {
    const Int32 &inRow = thread_.inRow_;
    const Tensor row = to(thread_.row_, _); // (groups)
    const int threads = thread_.config_.threads, ofSlot = threads / lanes,
              count = static_cast<int>(flydsl::size(row).value());
    const Layout slots = make_layout({ofSlot, (count + ofSlot - 1) / ofSlot}, {1, ofSlot});
    const Tensor own = composition(row, slots)(_, slot_.access / threads); // (groups of a slot)
    thread_.ifInside([&] {
      const Boolean isFirst(inRow % lanes == 0);
      if_(slot_.valid ? Boolean(isFirst & *slot_.valid) : isFirst,
          [&] { own(inRow / lanes) = value; });
    });
  }
  /// The values, or `fill` in each element if the access is past the row.
  Vector padded(const Vector &values, double fill) const {
    if (!slot_.valid)
      return values;
    const std::int64_t size = values.size();
    return select(Vector::splat(*slot_.valid, size), values, filled(fill, size, values.dtype()));
  }

private:
  friend class RowThread;
  Cursor(const RowThread &thread, const Slot &slot, std::size_t number = 0)
      : thread_(thread), slot_(slot), number_(number) {}
  const RowThread &thread_;
  const Slot &slot_;
  std::size_t number_;
};

inline void RowThread::visit(const std::function<void(const Cursor &)> &body) const {
  for (std::size_t i = 0; i < slots_.size(); ++i)
    body(Cursor(*this, slots_[i], i));
}

inline void RowThread::stream(const std::function<void(const Cursor &)> &body) const {
  const std::int64_t wide = shape_.n / shape_.vector, threads = config_.threads;
  // Whole rounds, in which every thread has an access; then what is left of them and of the row.
  const std::int64_t rounds = wide / threads;
  if (rounds)
    for (Int32 round : range(rounds)) {
      const Slot slot{shape_.vector, Int32(round * static_cast<std::int32_t>(threads)),
                      std::nullopt};
      body(Cursor(*this, slot));
    }
  for (const Slot &slot : slots_)
    if (slot.valid || slot.size != shape_.vector)
      body(Cursor(*this, slot));
}

/// Combines the values of all threads of a row; each of them gets the result.
class RowReduce {
public:
  /// `inLoop`: whether the block runs the same reduction more than once, as in a loop over rows.
  explicit RowReduce(const RowConfig &config, bool inLoop = false)
      : config_(config), inLoop_(inLoop) {}

  Numeric operator()(const Numeric &value, Reduction op) {
    return (*this)(std::vector<Numeric>{value}, op).front();
  }
  /// Several values of one type by one exchange among the waves.
  std::vector<Numeric> operator()(const std::vector<Numeric> &values, Reduction op) {
    const int wave = gpu::num_warp_threads();
    std::vector<Numeric> parts;
    for (const Numeric &value : values)
      parts.push_back(
          gpu::warp_reduce(value, op, config_.threads <= wave ? config_.threads : wave));
    if (config_.threads <= wave)
      return parts;
    // Each reduction has memory of its own, so that one barrier is enough.
    const int waves = config_.block / wave, count = static_cast<int>(values.size());
    const DType dtype = values.front().dtype();
    const Pointer memory = shared_.allocate(waves * count * dtype.bytes(), 16).recast(dtype);
    const Tensor all = make_view(memory, make_layout({waves, count}, {1, waves})); // (waves, count)
    const Int32 thread = thread_idx().x;
    if_(thread % wave == 0, [&] {
      for (int i = 0; i < count; ++i)
        all(thread / wave, i) = parts[static_cast<std::size_t>(i)];
    });
    gpu::barrier(AddressSpace::shared);
    std::vector<Numeric> results;
    for (int i = 0; i < count; ++i)
      results.push_back(all(_, i).load().reduce(op)); // (waves)
    if (inLoop_)
      gpu::barrier(AddressSpace::shared);
    return results;
  }
  Numeric max(const Numeric &value) { return (*this)(value, Reduction::max); }
  Numeric add(const Numeric &value) { return (*this)(value, Reduction::add); }

private:
  RowConfig config_;
  bool inLoop_;
  SharedAllocator shared_;
};

/// A function of each slot's values.
template <class F> RowValues mapRow(const RowValues &values, F function) {
  RowValues results;
  for (const Vector &value : values)
    results.push_back(function(value));
  return results;
}
/// The values in another type.
inline RowValues to(const RowValues &values, DType dtype) {
  return mapRow(values, [&](const Vector &v) { return v.to(dtype); });
}
/// Two values combined.
template <class X> X twoOf(const X &a, const X &b, Reduction op) {
  switch (op) {
  case Reduction::add:
    return X(a + b);
  case Reduction::mul:
    return X(a * b);
  case Reduction::min:
    return X(min(a, b));
  case Reduction::max:
    return X(max(a, b));
  }
  throw Error("a reduction of no kind");
}
/// All of several values combined by a function of two, in pairs, then the pairs in pairs.
template <class X, class F> X combine(std::vector<X> values, F both) {
  while (values.size() > 1) {
    std::vector<X> half;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      half.push_back(both(values[i], values[i + 1]));
    if (values.size() % 2)
      half.push_back(values.back());
    values.swap(half);
  }
  return values.front();
}
/// All elements that a thread holds, combined: the slots of a size element by element, then the
/// elements of what is left.
inline Numeric combine(const RowValues &values, Reduction op) {
  const auto both = [&](const auto &a, const auto &b) { return twoOf(a, b, op); };
  std::vector<Numeric> parts;
  for (std::size_t i = 0; i < values.size();) {
    RowValues alike;
    for (const std::int64_t size = values[i].size(); i < values.size() && values[i].size() == size;
         ++i)
      alike.push_back(values[i]);
    parts.push_back(combine(alike, both).reduce(op));
  }
  return combine(parts, both);
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
