// Arrays in device memory that the program owns: for samples, tests and small tools. An engine with
// its own allocator hands pointers to fx::tensor instead.
#pragma once

#include <flydsl/detail/resets.h>
#include <flydsl/device.h>
#include <flydsl/host_tensor.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <source_location>
#include <span>
#include <utility>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// Device memory on the current device, freed with the object. All copies here wait until they are
/// done.
class FLYDSL_API DeviceMemory {
public:
  DeviceMemory(std::size_t bytes, const std::source_location &where);
  ~DeviceMemory();
  DeviceMemory(DeviceMemory &&other) noexcept;
  DeviceMemory &operator=(DeviceMemory &&other) noexcept;

  /// They throw RuntimeError, as the functions below do, where the memory was moved from or its
  /// device was reset.
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
  /// Why they throw; null where they do not.
  const char *gone() const {
    return !moved_ && made_.isThere() ? nullptr : reasonGone();
  }
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

/// The bytes of a shape's elements; throws TraceError for a shape that no tensor may have, or that
/// no memory can hold.
FLYDSL_API std::size_t byteCount(std::span<const std::int64_t> shape, DType dtype,
                                 std::size_t elementBytes, const std::source_location &where);
/// Number `index` of the random sequence `seed`: uniform 64 bits, the same on every machine
/// (SplitMix64).
constexpr std::uint64_t randomBits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0xd1342543de82ef95u + (index + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

} // namespace detail

/// A row-major array of T in device memory. T is a type with a DTypeOf. Passing it to a kernel
/// passes `tensor()`; memory is not initialised unless said. To use an array that was moved from,
/// or whose device was reset, is a RuntimeError.
template <class T> class DeviceArray {
public:
  static_assert(std::is_trivially_copyable_v<T>);
  using Shape = Extents;

  explicit DeviceArray(const Shape &shape,
                       std::source_location where = std::source_location::current())
      : memory_(detail::byteCount(shape, dtype_of<T>, sizeof(T), where), where),
        tensor_(memory_.data(where), dtype_of<T>, shape, {}, where) {}

  /// Reproducible values: floating point uniform in [-1, 1), integers uniform over -8..7 (0..15
  /// where unsigned), bool a coin. The same seed gives the same values on every machine.
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
  static DeviceArray from_host(std::span<const T> values, const Shape &shape,
                               std::source_location where = std::source_location::current()) {
    DeviceArray array(shape, where);
    array.copy_from(values, where);
    return array;
  }

  /// The device pointer, the number of elements, their size in bytes, and the extents.
  T *data(std::source_location where = std::source_location::current()) const {
    return static_cast<T *>(memory_.data(where));
  }
  std::size_t size(std::source_location where = std::source_location::current()) const {
    return memory_.bytes(where) / sizeof(T);
  }
  std::size_t bytes(std::source_location where = std::source_location::current()) const {
    return memory_.bytes(where);
  }
  TensorArg::Dims shape(std::source_location where = std::source_location::current()) const {
    return tensor(where).shape();
  }

  /// All elements from the host; throws RuntimeError where the sizes differ.
  void copy_from(std::span<const T> values,
                 std::source_location where = std::source_location::current()) {
    if (values.size() != size(where))
      throw RuntimeError("copying " + std::to_string(values.size()) +
                             " elements into an array of " + std::to_string(size(where)),
                         0, where);
    memory_.copyFrom(values.data(), 0, bytes(where), where);
  }
  /// A copy on the host. It waits for nothing but itself: synchronise the stream that writes first.
  std::vector<T> to_host(std::source_location where = std::source_location::current()) const {
    std::vector<T> values(size(where));
    memory_.copyTo(values.data(), 0, bytes(where), where);
    return values;
  }
  void fill(T value, std::source_location where = std::source_location::current()) {
    copy_from(std::vector<T>(size(where), value), where);
  }
  /// Every byte 0xff: not-a-number for floating point, -1 for integers. What a kernel does not
  /// write shows.
  void poison(std::source_location where = std::source_location::current()) {
    memory_.fillBytes(0xff, where);
  }

  /// Why the array can't be used any more; null where it can.
  const char *gone() const { return memory_.gone(); }
  /// The array as a kernel's argument.
  const TensorArg &tensor(std::source_location where = std::source_location::current()) const {
    memory_.expectAlive(where);
    return tensor_;
  }
  operator const TensorArg &() const { return tensor({}); }
  /// TensorArg's marks, each on a copy of `tensor()`: what is static and what is dynamic, and the
  /// alignment that the kernel may rely on.
  TensorArg
  mark_layout_dynamic(int leading_dim = -1, std::int64_t divisibility = 1,
                      std::source_location where = std::source_location::current()) const {
    return TensorArg(tensor(where)).mark_layout_dynamic(leading_dim, divisibility, where);
  }
  TensorArg mark_layout_static(std::source_location where = std::source_location::current()) const {
    return TensorArg(tensor(where)).mark_layout_static();
  }
  TensorArg
  mark_shape_dynamic(int dim, std::int64_t divisibility = 1,
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
