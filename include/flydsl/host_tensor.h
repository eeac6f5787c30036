// A tensor as the host hands it to a kernel: a device pointer with an element type, a shape and
// strides, and which of them the kernel is compiled for.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/error.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <source_location>
#include <span>
#include <string>
#include <utility>

struct DLManagedTensor;

FLYDSL_NAMESPACE_BEGIN
namespace detail {
class ArgPack;
}

/// A pointer to device memory with a layout of up to 8 flat modes. It owns nothing. Cheap to make
/// and to copy; what a launch needs of it is computed when it is made.
///
/// By default the kernel is compiled for any shape: extents are dynamic 32-bit integers (64-bit
/// where an extent needs it), strides dynamic 64-bit ones, and the stride of the contiguous mode is
/// static 1.
class FLYDSL_API TensorArg {
public:
  /// The most modes a tensor argument has.
  static constexpr int maxRank = 8;
  using Dims = std::span<const std::int64_t>;

  /// `strides` are in elements; none given: row-major, the last mode contiguous. Throws TraceError
  /// for a rank outside 1..8, a negative extent, unequal ranks, or a pointer that is not aligned to
  /// its element.
  TensorArg(void *data, DType dtype, Dims shape, Dims strides = {},
            std::source_location where = std::source_location::current());

  /// The pointer, the element type, the number of modes, their extents and their steps in elements;
  /// the product of the extents.
  void *data() const { return data_; }
  DType dtype() const { return dtype_; }
  int rank() const { return rank_; }
  Dims shape() const { return {shape_, static_cast<std::size_t>(rank_)}; }
  Dims strides() const { return {stride_, static_cast<std::size_t>(rank_)}; }
  std::int64_t size() const;

  /// All extents dynamic, all strides but the leading mode's dynamic and multiples of
  /// `divisibility` (elements). `leading_dim` -1: the mode with stride 1; a named mode of extent 1
  /// may have any. Throws TraceError where no mode, or not the named one, has stride 1, or a stride
  /// is not divisible.
  TensorArg &mark_layout_dynamic(int leading_dim = -1, std::int64_t divisibility = 1,
                                 std::source_location where = std::source_location::current());
  /// All extents and strides are compiled in: a kernel per shape.
  TensorArg &mark_layout_static();
  /// The extent of mode `dim` is dynamic and a multiple of `divisibility`; other modes stay as they
  /// are.
  TensorArg &mark_shape_dynamic(int dim, std::int64_t divisibility = 1,
                                std::source_location where = std::source_location::current());
  /// The same for the stride of mode `dim`.
  TensorArg &mark_stride_dynamic(int dim, std::int64_t divisibility = 1,
                                 std::source_location where = std::source_location::current());
  /// The kernel may rely on the pointer being a multiple of `bytes` (a power of two). Throws
  /// TraceError where this pointer is not.
  TensorArg &assume_aligned(std::size_t bytes,
                            std::source_location where = std::source_location::current());
  /// Another tensor of the same layout and type elsewhere: what a loop over buffers needs. The
  /// pointer's alignment is checked as when a tensor is made.
  TensorArg at(void *data, std::source_location where = std::source_location::current()) const;

private:
  friend class detail::ArgPack;
  void checkDivisible(std::int64_t value, std::int64_t divisibility, const char *what, int dim,
                      const std::source_location &where) const;
  void checkDim(int dim, const std::source_location &where) const;
  void checkAligned(const std::source_location &where) const;
  int unitMode() const;
  bool isLarge() const;
  void encode();

  static constexpr int maxWords = 1 + 2 * maxRank;
  void *data_ = nullptr;
  DType dtype_;
  std::uint8_t rank_ = 0;
  std::uint8_t log2Align_ = 0;
  std::uint8_t wordCount_ = 0;
  std::uint8_t dynamicBytes_ = 0;
  bool mayBeNull_ = false;                            // no elements
  std::uint8_t shapeDynamic_ = 0, strideDynamic_ = 0; // a bit per mode
  std::int64_t shape_[maxRank], stride_[maxRank];
  std::int64_t shapeDiv_[maxRank], strideDiv_[maxRank];
  std::uint64_t words_[maxWords] = {}; // the type, as a signature holds it
  std::byte
      dynamic_[2 * maxRank * 8]; // the dynamic leaves, as the kernel's packed struct holds them
};

/// Extents or strides out of any integers: `{m, n}`, `{v.size()}`, or what holds a row of them (a
/// vector, an array, a span). Throws TraceError for a number that 64 bits with a sign do not hold.
class Extents {
public:
  /// A number between the braces.
  class One {
  public:
    template <std::integral T>
      requires(!std::same_as<T, bool>)
    One(T value, std::source_location where = std::source_location::current())
        : value_(static_cast<std::int64_t>(value)) {
      if (!std::in_range<std::int64_t>(value)) [[unlikely]]
        throw TraceError("an extent or a stride of " + std::to_string(value) +
                             " is more than 63 bits hold",
                         where);
    }

  private:
    friend class Extents;
    std::int64_t value_;
  };

  Extents() = default;
  Extents(std::initializer_list<One> values) {
    for (const One &one : values)
      add(one);
  }
  template <class Row>
    requires(!std::same_as<Row, Extents> &&
             requires(const Row &r) {
               { *std::data(r) } -> std::convertible_to<One>;
               std::size(r);
             })
  Extents(const Row &row, std::source_location where = std::source_location::current()) {
    for (std::size_t i = 0; i < std::size(row); ++i)
      add(One(std::data(row)[i], where));
  }

  /// The numbers in a row.
  operator TensorArg::Dims() const { return {values_, count_}; }

private:
  // One more than a tensor may have, which the tensor refuses.
  static constexpr std::size_t room = TensorArg::maxRank + 1;
  void add(const One &one) {
    if (count_ < room)
      values_[count_++] = one.value_;
  }
  std::size_t count_ = 0;
  std::int64_t values_[room] = {};
};

/// A tensor over device memory at `data`, of a C++ element type; row-major unless strides (in
/// elements) are given.
template <class T>
TensorArg tensor(T *data, const Extents &shape, const Extents &strides = {},
                 std::source_location where = std::source_location::current()) {
  return TensorArg(const_cast<std::remove_cv_t<T> *>(data), dtype_of<T>, shape, strides, where);
}
/// The same with the element type as a value, for memory that no C++ type describes.
inline TensorArg tensor(void *data, DType dtype, const Extents &shape, const Extents &strides = {},
                        std::source_location where = std::source_location::current()) {
  return TensorArg(data, dtype, shape, strides, where);
}

/// A tensor over what another framework hands out through DLPack; the layout is compiled in until
/// `mark_layout_dynamic` says otherwise, as FlyDSL does it. Ownership stays with the caller: keep
/// the managed tensor until the kernels that use it have run, then call its deleter. Throws
/// TraceError for memory that is not on a ROCm device (or host memory pinned by ROCm) and for types
/// that no DType names.
FLYDSL_API TensorArg from_dlpack(const DLManagedTensor *managed,
                                 std::source_location where = std::source_location::current());

FLYDSL_NAMESPACE_END
