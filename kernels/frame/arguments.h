// Checks of a call's arguments. A mistake is a TraceError with the line of the user's call.
#pragma once

#include <flydsl/error.h>
#include <flydsl/host_tensor.h>

#include <algorithm>
#include <array>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The address of an operand as a kernel takes it.
inline std::int64_t address(const TensorArg &tensor) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(tensor.data()));
}

/// The same of one that may be missing: 0.
inline std::int64_t address(const std::optional<TensorArg> &tensor) {
  return tensor ? address(*tensor) : 0;
}

/// What a family expects of an operand.
struct Expected {
  const char *name; ///< of the field in Args
  DType dtype;
  /// The elements of which the starts of all rows are multiples, a power of two.
  std::int64_t align;
  /// Why they are, for the message.
  const char *reason = "the problem's row_align promises it, and a smaller one does not";
};

/// Looks at the arguments of one call.
class Arguments {
public:
  Arguments(std::string_view family, const std::source_location &where)
      : family_(family), where_(where) {}

  /// Checks a matrix of shape (m, n) with contiguous rows, and returns the distance of its rows in
  /// elements.
  std::int64_t matrix(const TensorArg &tensor, const Expected &expected, std::int64_t m,
                      std::int64_t n) const {
    if (tensor.rank() != 2 || tensor.shape()[0] != m || tensor.shape()[1] != n) [[unlikely]]
      failShape(tensor, expected, {m, n});
    const std::int64_t distance = m > 1 ? tensor.strides()[0] : 0;
    if (n > 1 && tensor.strides()[1] != 1) [[unlikely]]
      failStride(tensor, expected);
    checkRows(tensor, expected, distance);
    return distance;
  }
  /// The same of a matrix that is written: its rows do not overlap.
  std::int64_t written(const TensorArg &tensor, const Expected &expected, std::int64_t m,
                       std::int64_t n) const {
    const std::int64_t distance = matrix(tensor, expected, m, n);
    ownPlaces(tensor, expected.name);
    return distance;
  }
  /// The same of one that the problem may not have.
  std::int64_t writtenIf(bool has, const std::optional<TensorArg> &tensor, const Expected &expected,
                         std::int64_t m, std::int64_t n) const {
    return given(tensor, expected.name, has) ? written(*tensor, expected, m, n) : 0;
  }
  /// Checks that what is written has a place for each of its elements: each mode steps over all
  /// that the modes with smaller steps cover.
  void ownPlaces(const TensorArg &tensor, const char *name) const {
    std::int64_t covered = 1;
    for (unsigned left = modesToPlace(tensor); left;) {
      const int mode = smallestStep(tensor, left);
      left &= ~(1u << mode);
      const std::int64_t step = stepOf(tensor, mode);
      if (step < covered) [[unlikely]]
        failOverlap(tensor, name);
      covered += step * (tensor.shape()[static_cast<std::size_t>(mode)] - 1);
    }
  }
  /// Checks that what is written shares no memory with what is read.
  void apart(const TensorArg &written, const char *name, const TensorArg &read,
             const char *readName) const {
    if (shareMemory(written, read)) [[unlikely]]
      fail(std::string(name) + " shares memory with " + readName +
           ", which is read while it is written; give it memory of its own");
  }
  /// The same, but it may be exactly what is read: each row is read before it is written.
  void apartOrSame(const TensorArg &written, const char *name, const TensorArg &read,
                   const char *readName) const {
    const bool isSame = written.data() == read.data() && written.dtype() == read.dtype() &&
                        (written.shape()[0] < 2 || written.strides()[0] == read.strides()[0]);
    if (!isSame)
      apart(written, name, read, readName);
  }
  /// Whether two matrices or vectors with contiguous rows are known to share elements: their rows are
  /// equally far apart, or neither has gaps. Parts of the columns of one matrix do not.
  static bool shareMemory(const TensorArg &a, const TensorArg &b);
  /// The same, and n for a single row, of which any distance is right: the kernel tells rows that
  /// exist by it.
  std::int64_t rowsApart(const TensorArg &tensor, const Expected &expected, std::int64_t m,
                         std::int64_t n) const {
    const std::int64_t distance = matrix(tensor, expected, m, n);
    return m > 1 ? distance : n;
  }
  /// The same as `matrix` of a matrix that the problem may not have; its rows are 0 apart then.
  std::int64_t matrixIf(bool has, const std::optional<TensorArg> &tensor, const Expected &expected,
                        std::int64_t m, std::int64_t n) const {
    return given(tensor, expected.name, has) ? matrix(*tensor, expected, m, n) : 0;
  }
  /// Checks a matrix of shape (m, n) without gaps.
  void compact(const TensorArg &tensor, const Expected &expected, std::int64_t m,
               std::int64_t n) const {
    if (matrix(tensor, expected, m, n) != n && m > 1) [[unlikely]]
      fail(std::string(expected.name) + " has gaps between its rows; it is contiguous");
  }
  void compactIf(bool has, const std::optional<TensorArg> &tensor, const Expected &expected,
                 std::int64_t m, std::int64_t n) const {
    if (given(tensor, expected.name, has))
      compact(*tensor, expected, m, n);
  }
  /// Checks m matrices of shape (k, n) with contiguous rows, and returns the distances of matrices
  /// and of rows in elements.
  std::pair<std::int64_t, std::int64_t> matrices(const TensorArg &tensor, const Expected &expected,
                                                 std::int64_t m, std::int64_t k,
                                                 std::int64_t n) const {
    if (tensor.rank() != 3 || tensor.shape()[0] != m || tensor.shape()[1] != k ||
        tensor.shape()[2] != n) [[unlikely]]
      failShape(tensor, expected, {m, k, n});
    if (n > 1 && tensor.strides()[2] != 1) [[unlikely]]
      failStride(tensor, expected);
    const std::int64_t matrices = m > 1 ? tensor.strides()[0] : 0,
                       rows = k > 1 ? tensor.strides()[1] : 0;
    checkRows(tensor, expected, matrices);
    checkRows(tensor, expected, rows);
    return {matrices, rows};
  }
  /// Checks a tensor of any rank whose first `free` modes may lie at any distance; the others are
  /// compact.
  void tensor(const TensorArg &tensor, const Expected &expected, const Extents &shape,
              int free) const {
    const TensorArg::Dims extents = shape, found = tensor.shape();
    if (!std::equal(found.begin(), found.end(), extents.begin(), extents.end())) [[unlikely]]
      failShape(tensor, expected, shape);
    checkRows(tensor, expected, 0);
    std::int64_t compact = 1;
    for (int mode = tensor.rank() - 1; mode >= 0; --mode) {
      const std::int64_t apart = distance(tensor, mode);
      if (mode < free)
        checkRows(tensor, expected, apart);
      else if (apart && apart != compact) [[unlikely]]
        failCompact(tensor, expected, free);
      compact *= found[static_cast<std::size_t>(mode)];
    }
  }
  /// The same, and puts the tensor's address and the distances of its free modes into `numbers`,
  /// from `at` on.
  template <std::size_t N>
  void place(std::array<std::int64_t, N> &numbers, std::size_t at, const TensorArg &tensor,
             const Expected &expected, const Extents &shape, int free) const {
    this->tensor(tensor, expected, shape, free);
    numbers[at++] = address(tensor);
    for (int mode = 0; mode < free; ++mode)
      numbers[at++] = distance(tensor, mode);
  }
  /// The distance of a mode in elements; 0 if it has no second element.
  static std::int64_t distance(const TensorArg &tensor, int mode) {
    const auto at = static_cast<std::size_t>(mode);
    return tensor.shape()[at] > 1 ? tensor.strides()[at] : 0;
  }
  /// Checks a contiguous vector of n elements.
  void vector(const TensorArg &tensor, const Expected &expected, std::int64_t n) const {
    if (tensor.rank() != 1 || tensor.shape()[0] != n) [[unlikely]]
      failShape(tensor, expected, {n});
    if (n > 1 && tensor.strides()[0] != 1) [[unlikely]]
      failStride(tensor, expected);
    checkRows(tensor, expected, 0);
  }
  void vectorIf(bool has, const std::optional<TensorArg> &tensor, const Expected &expected,
                std::int64_t n) const {
    if (given(tensor, expected.name, has))
      vector(*tensor, expected, n);
  }
  /// Checks a workspace: contiguous bytes, at least so many, at a multiple of 16.
  void workspace(const TensorArg &tensor, std::size_t bytes) const {
    const std::int64_t size = tensor.rank() == 1 ? tensor.shape()[0] : -1;
    if (size < 0 || static_cast<std::size_t>(size) < bytes) [[unlikely]]
      failWorkspace(tensor, bytes);
    vector(tensor, {"workspace", u8, 16, "sums are moved 16 bytes at a time"}, size);
  }
  /// Whether an operand is there, which must be so if the problem has it and only then.
  bool given(const std::optional<TensorArg> &tensor, const char *name, bool needed) const {
    if (tensor.has_value() != needed) [[unlikely]]
      fail(std::string(name) + (needed ? " is missing; the problem has it"
                                       : " is given, and the problem does not have it"));
    return needed;
  }
  /// The rows of a matrix, which must be few enough for a 32-bit index.
  std::int64_t rows(const TensorArg &tensor, const char *name) const {
    const std::int64_t m = tensor.rank() == 2 ? tensor.shape()[0] : -1;
    if (m < 0 || m > kMostRows) [[unlikely]]
      failRows(tensor, name);
    return m;
  }
  [[noreturn]] void fail(const std::string &text) const;

private:
  static constexpr std::int64_t kMostRows = 0x7fffffff;
  /// A bit for each mode with more than one element; none for a tensor without elements.
  static unsigned modesToPlace(const TensorArg &tensor) {
    unsigned modes = 0;
    for (int mode = 0; mode < tensor.rank(); ++mode) {
      const std::int64_t extent = tensor.shape()[static_cast<std::size_t>(mode)];
      if (extent == 0)
        return 0;
      modes |= unsigned{extent > 1} << mode;
    }
    return modes;
  }
  static std::int64_t stepOf(const TensorArg &tensor, int mode) {
    const std::int64_t stride = tensor.strides()[static_cast<std::size_t>(mode)];
    return stride < 0 ? -stride : stride;
  }
  static int smallestStep(const TensorArg &tensor, unsigned modes) {
    int smallest = -1;
    for (int mode = 0; mode < tensor.rank(); ++mode)
      if ((modes >> mode & 1) && (smallest < 0 || stepOf(tensor, mode) < stepOf(tensor, smallest)))
        smallest = mode;
    return smallest;
  }
  void checkRows(const TensorArg &tensor, const Expected &expected, std::int64_t distance) const {
    if (tensor.dtype() != expected.dtype) [[unlikely]]
      failType(tensor, expected);
    // Masks: a division of 64 bits takes as long as the rest of the check.
    const auto elements = static_cast<std::uint64_t>(expected.align),
               bytes = elements * static_cast<std::uint64_t>(expected.dtype.memory_bits()) / 8;
    if ((reinterpret_cast<std::uintptr_t>(tensor.data()) & (bytes - 1)) |
        (static_cast<std::uint64_t>(distance) & (elements - 1))) [[unlikely]]
      failAlignment(tensor, expected, distance);
    if (!tensor.data() && tensor.size()) [[unlikely]]
      fail(std::string(expected.name) + " is a null pointer");
  }
  [[noreturn]] void failShape(const TensorArg &, const Expected &, const Extents &expected) const;
  [[noreturn]] void failStride(const TensorArg &, const Expected &) const;
  [[noreturn]] void failOverlap(const TensorArg &, const char *name) const;
  [[noreturn]] void failCompact(const TensorArg &, const Expected &, int free) const;
  [[noreturn]] void failType(const TensorArg &, const Expected &) const;
  [[noreturn]] void failAlignment(const TensorArg &, const Expected &, std::int64_t distance) const;
  [[noreturn]] void failWorkspace(const TensorArg &, std::size_t bytes) const;
  [[noreturn]] void failRows(const TensorArg &, const char *name) const;

  std::string_view family_;
  const std::source_location &where_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
