// Rows of elements in shared memory, written and read in chunks of 16 bytes.
//
// Rows are an odd number of chunks apart, so that neighbouring rows lie in other banks. Where lanes
// that read together have rows that are a multiple of 8 apart, which fall into the same banks
// again, every other group of `turn` rows has the halves of each 8 chunks in turned order.
#pragma once

#include <flydsl/flydsl.h>

#include <algorithm>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

class SharedRows {
public:
  /// `turn`: see above; 0: nothing is turned.
  SharedRows(const Pointer &start, DType type, int elements, int turn = 0)
      : type_(type), distance_(distance(elements, type)), turn_(turn), start_(start.recast(type)) {}

  static std::int64_t bytes(int rows, int elements, DType type) {
    return std::int64_t(rows) * distance(elements, type) * type.bytes();
  }

  /// `count` elements of a row from lane + constant on. `like`: a row of the same group of 8 rows.
  /// The two numbers have no bits in common.
  Vector load(const Int32 &row, const Int32 &like, const Int32 &lane, int constant,
              int count) const {
    const int size = std::min(count, chunk());
    const auto part = [&](int i) { return at(row, like, lane, constant + i * size).load(size); };
    if (count == size)
      return part(0);
    const Tensor all = make_rmem_tensor(IntTuple({size, count / size}), type_);
    for (int i = 0; i < count / size; ++i)
      all(_, i).store(part(i));
    return all.load();
  }
  /// Writes whole chunks of a row from `element` on, which is a multiple of what is written.
  void store(const Int32 &row, const Int32 &element, const Vector &values) const {
    const int count = static_cast<int>(values.size());
    const Tensor all = make_rmem_tensor(IntTuple({chunk(), count / chunk()}), type_);
    all.store(values);
    for (int i = 0; i < count / chunk(); ++i)
      at(row, row, element, i * chunk()).store(all(_, i).load());
  }

private:
  static constexpr int kChunks = 8; ///< whose halves are turned
  static int chunkOf(DType type) { return 16 / type.bytes(); }
  static int distance(int elements, DType type) {
    const int whole = kChunks * chunkOf(type);
    return (elements + whole - 1) / whole * whole + chunkOf(type);
  }
  int chunk() const { return chunkOf(type_); }
  Pointer at(const Int32 &row, const Int32 &like, const Int32 &lane, int constant) const {
    const int half = kChunks / 2 * chunk();
    if (!turn_)
      return start_ + (row * distance_ + lane + constant);
    const Int32 turned = like / turn_ % 2 * half;
    const Int32 own = lane ^ (constant & half ? Int32(half - turned) : turned);
    return start_ + (row * distance_ + own + constant / (2 * half) * (2 * half) + constant % half);
  }

  DType type_;
  int distance_, turn_;
  Pointer start_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
