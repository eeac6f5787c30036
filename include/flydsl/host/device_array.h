// Arrays in device memory that the program owns, for samples, tests and small tools. An engine with
// its own allocator passes its pointers to fx::tensor instead.
#pragma once

#include <flydsl/detail/resets.h>
#include <flydsl/host/device.h>
#include <flydsl/host/host_tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// Device memory on the current device. The destructor frees it. All copies are synchronous.
class FLYDSL_API DeviceMemory {
public:
  DeviceMemory(std::size_t bytes, const std::source_location &where);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;

  /// The device pointer. This function and those below throw RuntimeError if the memory was moved
  /// from or its device was reset.
  void *data(const std::source_location &where) const {
    expectAlive(where);
    return data_;
  }
  std::size_t bytes(const std::source_location &where) const {
    expectAlive(where);
    return bytes_;
  }
  void expectAlive(const std::source_location &where) const {
    if (const char *why = gone()) [[unlikely]]
      refuse(why, where);
  }
  /// The reason why the memory can't be used; null if it can be used.
  const char *gone() const { return !moved_ && made_.isThere() ? nullptr : reasonGone(); }
  void copyFrom(const void *host, std::size_t offset, std::size_t bytes,
                const std::source_location &where);
  void copyTo(void *host, std::size_t offset, std::size_t bytes,
              const std::source_location &where) const;
  void fillBytes(int value, const std::source_location &where);

private:
  void checkRange(std::size_t offset, std::size_t bytes, const std::source_location &where) const;
  [[noreturn]] static void refuse(const char *why, const std::source_location &where);
  const char *reasonGone() const;
  void free() noexcept;
  void *data_ = nullptr;
  std::size_t bytes_ = 0;
  MadeOn made_;
  bool moved_ = false;
};

/// The number of bytes of the elements of a shape. Throws TraceError for a shape that no tensor may
/// have or that no memory can hold.
FLYDSL_API std::size_t byteCount(std::span<const std::int64_t> shape, DType dtype,
                                 std::size_t elementBytes, const std::source_location &where);
/// Number `index` of the random sequence `seed`: 64 uniform bits, the same on every machine
/// (SplitMix64).
constexpr std::uint64_t randomBits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

} // namespace detail

/// A row-major array of T in device memory. T must have a DTypeOf. Passing the array to a kernel
/// passes `tensor()`. The memory is uninitialised unless a function says otherwise. Using an array
/// that was moved from, or whose device was reset, throws RuntimeError.
template <class T> class DeviceArray {
public:
  static_assert(std::is_trivially_copyable_v<T>);
  using Shape = Extents;

  explicit DeviceArray(const Shape &shape,
                       std::source_location where = std::source_location::current())
      : memory_(detail::byteCount(shape, dtype_of<T>, sizeof(T), where), where),
        tensor_(memory_.data(where), dtype_of<T>, shape, {}, where) {}

  /// An array of reproducible values. A floating-point value is uniform in [-1, 1), an integer is
  /// uniform over -8..7 (0..15 if unsigned), and a bool is a coin toss. The same seed gives the
  /// same values on every machine.
  static DeviceArray random(const Shape &shape, std::uint64_t seed,
                            std::source_location where = std::source_location::current()) {
    DeviceArray array(shape, where);
    std::vector<T> host(array.size(where));
    for (std::size_t i = 0; i < host.size(); ++i) {
      const std::uint64_t bits = detail::randomBits(seed, i);
      if constexpr (std::is_same_v<T, bool>)
        host[i] = bits >> 63;
      else if constexpr (std::is_integral_v<T>)
        host[i] = static_cast<T>(static_cast<int>(bits >> 60) - (std::is_signed_v<T> ? 8 : 0));
      else
        host[i] = static_cast<T>(static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f);
    }
    array.copy_from(host, where);
    return array;
  }
  /// An array of a shape with a copy of the elements, row-major.
  static DeviceArray from_host(std::span<const T> values, const Shape &shape,
                               std::source_location where = std::source_location::current()) {
    DeviceArray array(shape, where);
    array.copy_from(values, where);
    return array;
  }

  /// The device pointer.
  T *data(std::source_location where = std::source_location::current()) const {
    return static_cast<T *>(memory_.data(where));
  }
  /// The number of elements.
  std::size_t size(std::source_location where = std::source_location::current()) const {
    return memory_.bytes(where) / sizeof(T);
  }
  /// The size of all elements in bytes.
  std::size_t bytes(std::source_location where = std::source_location::current()) const {
    return memory_.bytes(where);
  }
  /// The extents.
  TensorArg::Dims shape(std::source_location where = std::source_location::current()) const {
    return tensor(where).shape();
  }

  /// Copies all elements from the host. Throws RuntimeError if the sizes differ.
  void copy_from(std::span<const T> values,
                 std::source_location where = std::source_location::current()) {
    if (values.size() != size(where))
      throw RuntimeError("copying " + std::to_string(values.size()) +
                             " elements into an array of " + std::to_string(size(where)),
                         0, where);
    memory_.copyFrom(values.data(), 0, bytes(where), where);
  }
  /// A copy of the elements on the host. Synchronise the stream that writes the array first; this
  /// function waits only for its own copy.
  std::vector<T> to_host(std::source_location where = std::source_location::current()) const {
    std::vector<T> values(size(where));
    memory_.copyTo(values.data(), 0, bytes(where), where);
    return values;
  }
  /// Sets all elements to one value.
  void fill(T value, std::source_location where = std::source_location::current()) {
    copy_from(std::vector<T>(size(where), value), where);
  }
  /// Sets every byte to 0xff, which is NaN for floating point and -1 for integers, so that elements
  /// that a kernel does not write are noticed.
  void poison(std::source_location where = std::source_location::current()) {
    memory_.fillBytes(0xff, where);
  }

  /// The reason why the array can't be used any more; null if it can be used.
  const char *gone() const { return memory_.gone(); }
  /// The array as an argument of a kernel.
  const TensorArg &tensor(std::source_location where = std::source_location::current()) const {
    memory_.expectAlive(where);
    return tensor_;
  }
  operator const TensorArg &() const { return tensor({}); }
  /// The marks of TensorArg, each applied to a copy of `tensor()`: they say what is static, what is
  /// dynamic, and which alignment the kernel may rely on.
  TensorArg
  mark_layout_dynamic(int leadingDim = -1, std::int64_t divisibility = 1,
                      std::source_location where = std::source_location::current()) const {
    return TensorArg(tensor(where)).mark_layout_dynamic(leadingDim, divisibility, where);
  }
  TensorArg mark_layout_static(std::source_location where = std::source_location::current()) const {
    return TensorArg(tensor(where)).mark_layout_static();
  }
  TensorArg mark_shape_dynamic(int dim, std::int64_t divisibility = 1,
                               std::source_location where = std::source_location::current()) const {
    return TensorArg(tensor(where)).mark_shape_dynamic(dim, divisibility, where);
  }
  TensorArg
  mark_stride_dynamic(int dim, std::int64_t divisibility = 1,
                      std::source_location where = std::source_location::current()) const {
    return TensorArg(tensor(where)).mark_stride_dynamic(dim, divisibility, where);
  }
  TensorArg assume_aligned(std::size_t bytes,
                           std::source_location where = std::source_location::current()) const {
    return TensorArg(tensor(where)).assume_aligned(bytes, where);
  }

private:
  detail::DeviceMemory memory_;
  TensorArg tensor_;
};

FLYDSL_NAMESPACE_END
