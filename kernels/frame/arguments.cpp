#include "frame/arguments.h"

#include <algorithm>
#include <tuple>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

std::string listOf(TensorArg::Dims numbers) {
  std::string text = "(";
  for (std::size_t i = 0; i < numbers.size(); ++i)
    text += (i ? ", " : "") + std::to_string(numbers[i]);
  return text + ")";
}

/// The name of a mode of the row.
std::string modeName(const Shape &shape, int mode) {
  std::string_view names = shape.modes;
  for (; mode > 0; --mode)
    names.remove_prefix(std::min(names.size(), names.find(", ") + 2));
  return std::string(names.substr(0, names.find(", ")));
}

/// The stride that a packed mode has.
std::int64_t packedStride(const Expected &expected, int mode) {
  std::int64_t stride = 1;
  if (expected.byColumns)
    return stride;
  for (int after = mode + 1; after < expected.shape.rank; ++after)
    stride *= expected.shape.extents[after];
  return stride;
}

constexpr const char *kCopy = "; pass a contiguous copy";

/// Whether elements follow one another, so that no copy spans less.
bool isPacked(const TensorArg &tensor) {
  std::int64_t elements = 1;
  for (int mode = tensor.rank() - 1; mode >= 0; --mode) {
    const auto at = static_cast<std::size_t>(mode);
    if (tensor.shape()[at] > 1 && tensor.strides()[at] != elements)
      return false;
    elements *= tensor.shape()[at];
  }
  return true;
}

/// What is wrong with a stride, after "x has the shape (4, 64) and the strides (65, 1); ".
std::string wrongStride(const TensorArg &tensor, const Expected &expected, Finding finding) {
  const std::string stride =
                        std::to_string(tensor.strides()[static_cast<std::size_t>(finding.mode)]),
                    of = "the stride of " + modeName(expected.shape, finding.mode);
  switch (finding.what) {
  case Finding::packed:
    return of + " is " + std::to_string(packedStride(expected, finding.mode)) +
           ", as in a contiguous tensor" + kCopy;
  case Finding::negative:
    return of + " is negative, and elements follow one another in rising order" + kCopy;
  case Finding::multiple:
    return of + ", " + stride + ", is no multiple of " + std::to_string(expected.align) + "; " +
           expected.reason;
  case Finding::overlap:
    return std::string("by them some elements share their place; ") +
           (expected.use == Use::written ? "what is written has one for each"
                                         : "the kernel finds the end by it" + std::string(kCopy));
  case Finding::span:
    return "from the first byte to the last it spans 2^47 bytes or more, which no memory has";
  case Finding::reach: {
    std::string steps;
    for (int mode = 0; mode < expected.shape.rank; ++mode)
      if (const std::int64_t count = expected.reach.counts[mode])
        steps += (steps.empty() ? "" : " and ") + std::to_string(count) + " along " +
                 modeName(expected.shape, mode);
    return std::string(expected.reach.what) + ", that is " + steps + ", spans less than " +
           std::to_string(expected.reach.bytes >> 30) + " GiB" +
           (isPacked(tensor) ? "; give each call a part of the tensor" : kCopy);
  }
  default:
    return "";
  }
}

} // namespace

bool mayOverlap(const TensorArg &tensor) {
  std::array<std::pair<std::int64_t, std::int64_t>, TensorArg::maxRank> modes; // stride, extent
  std::size_t count = 0;
  for (int mode = 0; mode < tensor.rank(); ++mode)
    if (const std::int64_t extent = tensor.shape()[static_cast<std::size_t>(mode)]; extent > 1)
      modes[count++] = {strideOf(tensor, mode), extent};
  std::sort(modes.begin(), modes.begin() + static_cast<std::ptrdiff_t>(count));
  std::int64_t last = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (modes[i].first <= last)
      return true;
    last += modes[i].first * (modes[i].second - 1);
  }
  return false;
}

void Arguments::fail(const std::string &text) const {
  throw TraceError(std::string(family_) + ": " + text, where_);
}

void Arguments::refuse(const TensorArg &tensor, const Expected &expected, Finding finding) const {
  const std::string name = expected.name, shape = listOf(tensor.shape());
  switch (finding.what) {
  case Finding::shape:
    fail(name + " has the shape " + shape + "; (" + expected.shape.modes +
         ") = " + listOf({expected.shape.extents, static_cast<std::size_t>(expected.shape.rank)}) +
         " is expected");
  case Finding::type:
    fail(name + " is of type " + std::string(tensor.dtype().name()) + "; the problem says " +
         std::string(expected.dtype.name()));
  case Finding::null:
    fail(name + " is a null pointer, and has the shape " + shape +
         "; give it memory of the device");
  case Finding::start:
    fail(name + " starts at an address that is no multiple of " +
         std::to_string(expected.align * expected.dtype.memory_bits() / 8) + " bytes; " +
         expected.reason);
  default:
    fail(name + " has the shape " + shape + " and the strides " + listOf(tensor.strides()) + "; " +
         wrongStride(tensor, expected, finding));
  }
}

std::int64_t Arguments::workspace(const TensorArg *tensor, std::size_t bytes) const {
  if (bytes == 0)
    return tensor ? address(*tensor) : 0;
  if (!tensor)
    fail("workspace is missing; this call needs " + std::to_string(bytes) + " bytes");
  const std::int64_t size = tensor->rank() == 1 ? tensor->shape()[0] : -1;
  if (size < 0 || static_cast<std::size_t>(size) < bytes)
    fail("workspace has the shape " + listOf(tensor->shape()) + "; a vector of at least " +
         std::to_string(bytes) +
         " bytes is expected, which is workspace_bytes of the call's m: its rows, or tokens of q");
  check(*tensor, {.name = "workspace",
                  .dtype = u8,
                  .shape = {"bytes", size},
                  .use = Use::written,
                  .align = 16,
                  .reason = "sums are moved 16 bytes at a time"});
  return address(*tensor);
}

namespace {

/// Rows in memory, in bytes: the first begins at `begin`.
struct Rows {
  std::int64_t begin, end, stride, width, count;
};

/// The rows of a tensor whose modes, from the smallest stride on, are packed ones and others that
/// follow one another at one stride; none if its modes are not so. Rows without gaps are one row.
std::optional<Rows> rowsOf(const TensorArg &tensor) {
  std::array<std::pair<std::int64_t, std::int64_t>, TensorArg::maxRank> modes; // stride, extent
  std::size_t modeCount = 0;
  for (int mode = 0; mode < tensor.rank(); ++mode)
    if (const std::int64_t stride =
            strideOf(tensor, mode)) // else one element, or the same ones again
      modes[modeCount++] = {stride, tensor.shape()[static_cast<std::size_t>(mode)]};
  std::sort(modes.begin(), modes.begin() + static_cast<std::ptrdiff_t>(modeCount));
  std::int64_t width = 1, stride = 0, count = 1;
  for (std::size_t i = 0; i < modeCount; ++i) {
    const auto [own, extent] = modes[i];
    if (count == 1 && own == width)
      width *= extent;
    else if (count == 1)
      std::tie(stride, count) = std::pair(own, extent);
    else if (own == stride * count)
      count *= extent;
    else
      return std::nullopt;
  }
  const std::int64_t bits = tensor.dtype().memory_bits();
  Rows rows{address(tensor), 0, 0, std::max<std::int64_t>(1, width * bits / 8), count};
  rows.stride = count > 1 ? stride * bits / 8 : rows.width;
  rows.end = rows.begin + (count - 1) * rows.stride + rows.width;
  return rows;
}

/// Whether any of the rows shares memory with one row.
bool sharesRow(const Rows &rows, const Rows &one) {
  const std::int64_t row =
      std::clamp<std::int64_t>((one.begin - rows.begin) / rows.stride, 0, rows.count - 1);
  for (const std::int64_t at : {row, row + 1})
    if (at < rows.count && rows.begin + at * rows.stride < one.end &&
        one.begin < rows.begin + at * rows.stride + rows.width)
      return true;
  return false;
}

/// Whether two tensors' rows share memory.
bool meet(const Rows &x, const Rows &y) {
  if (x.begin >= y.end || y.begin >= x.end)
    return false;
  if (y.count == 1)
    return sharesRow(x, y);
  if (x.count == 1)
    return sharesRow(y, x);
  if (x.stride != y.stride)
    return x.begin == y.begin;
  const std::int64_t between = ((x.begin - y.begin) % x.stride + x.stride) % x.stride;
  return between < y.width || between + x.width > x.stride;
}

} // namespace

bool Arguments::shareMemory(const TensorArg &a, const TensorArg &b) {
  if (!a.size() || !b.size())
    return false;
  const std::optional<Rows> rowsOfA = rowsOf(a), rowsOfB = rowsOf(b);
  return rowsOfA && rowsOfB ? meet(*rowsOfA, *rowsOfB) : a.data() == b.data();
}

bool Arguments::isSame(const TensorArg &written, const TensorArg &read) {
  bool isSame = written.data() == read.data() && written.dtype() == read.dtype() &&
                written.rank() == read.rank();
  for (int mode = 0; isSame && mode + 1 < written.rank(); ++mode)
    isSame = written.shape()[static_cast<std::size_t>(mode)] < 2 ||
             written.strides()[static_cast<std::size_t>(mode)] ==
                 read.strides()[static_cast<std::size_t>(mode)];
  return isSame;
}

void Arguments::expectApart(const Noted &written, const Noted &other,
                            std::initializer_list<InPlace> allowed) const {
  const auto *pair = std::ranges::find_if(allowed, [&](const InPlace &row) {
    return row.written == written.name && row.read == other.name;
  });
  const bool maySame = pair != allowed.end();
  if (maySame && (pair->isLookedAt || isSame(*written.tensor, *other.tensor)))
    return;
  if (shareMemory(*written.tensor, *other.tensor))
    failShared(written.name, other.name, other.isWritten, maySame);
}

void Arguments::failShared(std::string_view name, std::string_view other, bool isWritten,
                           bool maySame) const {
  fail(std::string(name) + " shares memory with " + std::string(other) +
       (isWritten ? ", and both are written" : ", which is read while it is written") +
       "; give it memory of its own" +
       (maySame ? ", or exactly that of " + std::string(other) : ""));
}
void Arguments::failMany() const {
  fail("a call has more than " + std::to_string(kMostOperands) + " operands");
}

void Arguments::failGiven(const char *name, bool needed) const {
  fail(std::string(name) + (needed ? " is missing; the problem has it"
                                   : " is given, and the problem does not have it"));
}
void Arguments::failRows(const TensorArg &tensor, const char *name) const {
  fail(std::string(name) + " has the shape " + listOf(tensor.shape()) +
       "; a matrix of at most 2147483647 rows is expected");
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
