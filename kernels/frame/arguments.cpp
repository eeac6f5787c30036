#include "frame/arguments.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

std::string listOf(TensorArg::Dims numbers) {
  std::string text = "(";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + ")";
}

} // namespace

void Arguments::fail(const std::string &text) const {
  throw TraceError(std::string(family_) + ": " + text, where_);
}
void Arguments::failShape(const TensorArg &tensor, const Expected &expected,
                          const Extents &shape) const {
  fail(std::string(expected.name) + " has the shape " + listOf(tensor.shape()) + "; " +
       listOf(shape) + " is expected");
}
void Arguments::failStride(const TensorArg &tensor, const Expected &expected) const {
  fail(std::string(expected.name) + " has the strides " + listOf(tensor.strides()) +
       "; the last mode is contiguous");
}
void Arguments::failOverlap(const TensorArg &tensor, const char *name) const {
  fail(std::string(name) + " has the shape " + listOf(tensor.shape()) + " and the strides " +
       listOf(tensor.strides()) +
       ", by which some elements share their place; what is written has one for each");
}

namespace {

/// Rows in memory, in bytes: the first begins at `begin`.
struct Rows {
  std::int64_t begin, end, apart, width;
};

Rows rowsOf(const TensorArg &tensor) {
  const bool isMatrix = tensor.rank() > 1;
  // A matrix that lies by columns has its rows along the last mode.
  const std::size_t across =
      isMatrix && tensor.strides()[1] != 1 && tensor.strides()[0] == 1 ? 1 : 0;
  const std::int64_t bits = tensor.dtype().memory_bits(),
                     count = isMatrix ? tensor.shape()[across] : 1,
                     row = tensor.shape()[isMatrix ? 1 - across : 0],
                     step = count > 1 ? tensor.strides()[across] * bits / 8 : 0;
  Rows rows{address(tensor), 0, step < 0 ? -step : step, row * bits / 8};
  if (step < 0)
    rows.begin += (count - 1) * step;
  rows.end = rows.begin + (count - 1) * rows.apart + rows.width;
  if (count < 2)
    rows.apart = rows.width;
  return rows;
}

} // namespace

bool Arguments::shareMemory(const TensorArg &a, const TensorArg &b) {
  if (a.rank() > 2 || b.rank() > 2 || !a.size() || !b.size())
    return false;
  const Rows x = rowsOf(a), y = rowsOf(b);
  if (x.begin >= y.end || y.begin >= x.end)
    return false;
  if (x.apart == x.width && y.apart == y.width)
    return true;
  if (x.apart != y.apart)
    return x.begin == y.begin;
  const std::int64_t between = ((x.begin - y.begin) % x.apart + x.apart) % x.apart;
  return between < y.width || between + x.width > x.apart;
}

void Arguments::failCompact(const TensorArg &tensor, const Expected &expected, int free) const {
  fail(std::string(expected.name) + " has the shape " + listOf(tensor.shape()) +
       " and the strides " + listOf(tensor.strides()) + "; its last " +
       (tensor.rank() - free == 1 ? "mode is contiguous"
                                  : std::to_string(tensor.rank() - free) + " modes are compact"));
}
void Arguments::failType(const TensorArg &tensor, const Expected &expected) const {
  fail(std::string(expected.name) + " is of type " + std::string(tensor.dtype().name()) +
       "; the problem says " + std::string(expected.dtype.name()));
}
void Arguments::failAlignment(const TensorArg &tensor, const Expected &expected,
                              std::int64_t distance) const {
  const std::int64_t bytes = expected.align * expected.dtype.memory_bits() / 8;
  const bool start =
      reinterpret_cast<std::uintptr_t>(tensor.data()) % static_cast<std::uint64_t>(bytes);
  fail(std::string(expected.name) +
       (start ? " starts at an address that is no multiple of " + std::to_string(bytes) + " bytes"
              : " has rows " + std::to_string(distance) +
                    " elements apart, which is no multiple of " + std::to_string(expected.align)) +
       "; " + expected.reason);
}
void Arguments::failWorkspace(const TensorArg &tensor, std::size_t bytes) const {
  fail("workspace has the shape " + listOf(tensor.shape()) + "; a vector of at least " +
       std::to_string(bytes) + " bytes is expected");
}
void Arguments::failRows(const TensorArg &tensor, const char *name) const {
  fail(std::string(name) + " has the shape " + listOf(tensor.shape()) +
       "; a matrix of at most 2147483647 rows is expected");
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
