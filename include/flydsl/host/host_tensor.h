// A tensor as the host passes it to a kernel: a device pointer with an element type, a shape and
// strides. Some of these are compiled into the kernel.
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

/// A pointer to device memory with a layout of up to 8 flat modes. It owns nothing. It is cheap to
/// make and to copy: what a launch needs of it is computed when it is made.
///
/// By default the kernel is compiled for any shape: extents are dynamic 32-bit integers (64-bit if
/// an extent needs it), strides are dynamic 64-bit integers, and the stride of the contiguous mode
/// is the static 1.
class FLYDSL_API TensorArg {
public:
  /// The largest number of modes of a tensor argument.
  static constexpr int maxRank = 8;
  using Dims = std::span<const std::int64_t>;

  /// `strides` are in elements; if there are none, the tensor is row-major and the last mode is
  /// contiguous. Throws TraceError for a rank outside of 1..8, a negative extent, a different
  /// number of extents and strides, or a pointer that is not aligned to its element.
  TensorArg(void *data, DType dtype, Dims shape, Dims strides = {},
            std::source_location where = std::source_location::current());

  /// The device pointer.
  void *data() const { return data_; }
  /// The element type.
  DType dtype() const { return dtype_; }
  /// The number of modes.
  int rank() const { return rank_; }
  /// The extents of the modes.
  Dims shape() const { return {shape_, static_cast<std::size_t>(rank_)}; }
  /// The steps of the modes, in elements.
  Dims strides() const { return {stride_, static_cast<std::size_t>(rank_)}; }
  /// The number of elements: the product of the extents.
  std::int64_t size() const;

  /// Makes all extents dynamic, and all strides except the leading mode's dynamic multiples of
  /// `divisibility` (in elements). If `leadingDim` is -1, the leading mode is the mode with stride
  /// 1; if it names a mode of extent 1, that mode may have any stride. Throws TraceError if no
  /// mode, or not the named one, has stride 1, or if a stride is not divisible.
  TensorArg &mark_layout_dynamic(int leadingDim = -1, std::int64_t divisibility = 1,
                                 std::source_location where = std::source_location::current());
  /// Makes all extents and strides static: each shape compiles a kernel of its own.
  TensorArg &mark_layout_static();
  /// Makes the extent of mode `dim` dynamic and a multiple of `divisibility`; other modes stay as
  /// they are.
  TensorArg &mark_shape_dynamic(int dim, std::int64_t divisibility = 1,
                                std::source_location where = std::source_location::current());
  /// Does the same for the stride of mode `dim`.
  TensorArg &mark_stride_dynamic(int dim, std::int64_t divisibility = 1,
                                 std::source_location where = std::source_location::current());
  /// Lets the kernel rely on the pointer being a multiple of `bytes` (a power of two). Throws
  /// TraceError if this pointer is not.
  TensorArg &assume_aligned(std::size_t bytes,
                            std::source_location where = std::source_location::current());
  /// A tensor of the same layout and type at another address, as a loop over buffers needs. The
  /// alignment of the pointer is checked as when a tensor is made.
  TensorArg at(void *data, std::source_location where = std::source_location::current()) const;

private:
  friend class detail::ArgPack;
  void checkDivisible(std::int64_t value, std::int64_t divisibility, const char *what, int dim,
                      const std::source_location &where) const;
  void checkDim(int dim, const std::source_location &where) const;
  void checkAligned(const std::source_location &where) const;
  int unitMode() const;
  bool isLarge() const;
  bool isManyIn32Bits(std::uint64_t wide) const;
  void encode();

  static constexpr int maxWords = 1 + 2 * maxRank;
  void *data_ = nullptr;
  DType dtype_;
  std::uint8_t rank_ = 0;
  std::uint8_t log2Align_ = 0;
  std::uint8_t wordCount_ = 0;
  std::uint8_t dynamicBytes_ = 0;
  bool mayBeNull_ = false;                            // true if there are no elements
  std::uint8_t shapeDynamic_ = 0, strideDynamic_ = 0; // one bit per mode
  std::int64_t shape_[maxRank], stride_[maxRank];
  std::int64_t shapeDiv_[maxRank], strideDiv_[maxRank];
  std::uint64_t words_[maxWords] = {}; // the type, in the form of a signature
  std::byte
      dynamic_[2 * maxRank * 8]; // the dynamic leaves, in the form of the kernel's packed struct
};

/// Extents or strides made from any integers, as in `{m, n}` or `{v.size()}`, or from a container
/// of them (a vector, an array, a span). Throws TraceError for a number that does not fit a signed
/// 64-bit integer.
class Extents {
public:
  /// One number between the braces.
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

  /// The numbers as a span.
  operator TensorArg::Dims() const { return {values_, count_}; }

private:
  // One more than a tensor may have; the tensor then refuses the rank.
  static constexpr std::size_t room = TensorArg::maxRank + 1;
  void add(const One &one) {
    if (count_ < room)
      values_[count_++] = one.value_;
  }
  std::size_t count_ = 0;
  std::int64_t values_[room] = {};
};

/// A tensor over device memory at `data`, of a C++ element type. It is row-major unless strides (in
/// elements) are given.
template <class T>
TensorArg tensor(T *data, const Extents &shape, const Extents &strides = {},
                 std::source_location where = std::source_location::current()) {
  return TensorArg(const_cast<std::remove_cv_t<T> *>(data), dtype_of<T>, shape, strides, where);
}
/// The same with the element type as a value, for elements that no C++ type describes.
inline TensorArg tensor(void *data, DType dtype, const Extents &shape, const Extents &strides = {},
                        std::source_location where = std::source_location::current()) {
  return TensorArg(data, dtype, shape, strides, where);
}

/// A tensor over memory that another framework passes by DLPack. Its layout is static until
/// `mark_layout_dynamic` changes that, as in FlyDSL. The caller keeps the ownership: keep the
/// managed tensor until the kernels that use it have run, then call its deleter. Throws TraceError
/// for memory that is neither on a ROCm device nor host memory pinned by ROCm, and for types that
/// no DType names.
FLYDSL_API TensorArg from_dlpack(const DLManagedTensor *managed,
                                 std::source_location where = std::source_location::current());

FLYDSL_NAMESPACE_END
