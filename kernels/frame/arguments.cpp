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
