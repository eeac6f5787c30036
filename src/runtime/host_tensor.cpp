// A tensor argument's shape, strides and alignment become signature words and packed values.
#include "runtime/tensor_words.h"

#include <flydsl/host/args.h>
#include <flydsl/strided.h>

#include <bit>
#include <cstring>
#include <string>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace {
std::string joined(TensorArg::Dims dims) {
  std::string text = "(";
  for (std::size_t i = 0; i < dims.size(); ++i)
    text += (i ? "," : "") + std::to_string(dims[i]);
  return text + ")";
}
/// 2^63 bytes.
constexpr unsigned __int128 kMaxSpanBits = static_cast<unsigned __int128>(1) << 66;

/// From the first bit of the lowest element to the last bit of the highest one. Saturates: nothing
/// here wraps, whatever extents and strides are.
unsigned __int128 spanBits(TensorArg::Dims shape, TensorArg::Dims strides, DType dtype) {
  unsigned __int128 elements = 1;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0)
      return 0;
    const std::uint64_t step = strides[i] < 0 ? -static_cast<std::uint64_t>(strides[i])
                                              : static_cast<std::uint64_t>(strides[i]);
    elements += static_cast<unsigned __int128>(shape[i] - 1) * step; // below 2^126
    if (elements > kMaxSpanBits)
      return kMaxSpanBits + 1;
  }
  return elements * static_cast<unsigned>(dtype.memory_bits());
}
} // namespace

TensorArg::TensorArg(void *data, DType dtype, Dims shape, Dims strides, std::source_location where)
    : data_(data), dtype_(dtype), rank_(static_cast<std::uint8_t>(shape.size())) {
  if (shape.empty() || shape.size() > maxRank)
    throw TraceError("a tensor has 1 to 8 modes; got the shape " + joined(shape), where);
  if (!strides.empty() && strides.size() != shape.size())
    throw TraceError("shape " + joined(shape) + " and strides " + joined(strides) +
                         " differ in the number of modes",
                     where);
  if (!dtype)
    throw TraceError("a tensor needs an element type", where);
  std::int64_t compact = 1;
  for (int i = rank_ - 1; i >= 0; --i) {
    if (shape[i] < 0)
      throw TraceError("negative extent in the shape " + joined(shape), where);
    mayBeNull_ |= shape[i] == 0;
    shape_[i] = shape[i];
    stride_[i] = strides.empty() ? compact : strides[i];
    shapeDiv_[i] = strideDiv_[i] = 1;
    if (shape[i] != 0 && __builtin_mul_overflow(compact, shape[i], &compact))
      throw TraceError("the shape " + joined(shape) + " has more elements than 64 bits count",
                       where);
  }
  if (spanBits(this->shape(), this->strides(), dtype) > kMaxSpanBits)
    throw TraceError("a tensor of " + joined(shape) + " with the strides " +
                         joined(this->strides()) + " spans more than 2^63 bytes",
                     where);
  log2Align_ = static_cast<std::uint8_t>(
      std::countr_zero(std::bit_ceil(static_cast<unsigned>(dtype.bytes()))));
  checkAligned(where);

  // Compiled for any shape; the contiguous mode's stride stays static. A tensor without one is all
  // dynamic.
  shapeDynamic_ = strideDynamic_ = static_cast<std::uint8_t>((1u << rank_) - 1);
  if (int unit = unitMode(); unit >= 0)
    strideDynamic_ &= static_cast<std::uint8_t>(~(1u << unit));
  encode();
}

std::int64_t TensorArg::size() const {
  std::int64_t count = 1;
  for (int i = 0; i < rank_; ++i)
    count *= shape_[i];
  return count;
}

/// The mode along which elements are neighbours in memory. Of several modes with stride 1, one with
/// an extent of 1 does not count; but if the tensor is row-major as a whole, it is the last mode
/// whatever the extents are.
int TensorArg::unitMode() const {
  bool rowMajor = true;
  std::int64_t compact = 1;
  for (int i = rank_ - 1; rowMajor && i >= 0; --i) {
    rowMajor = stride_[i] == compact;
    if (shape_[i] != 0)
      compact *= shape_[i]; // the constructor has seen that it fits
  }
  if (rowMajor)
    return rank_ - 1;
  int unit = -1;
  for (int i = rank_ - 1; i >= 0; --i)
    if (stride_[i] == 1 && (unit < 0 || shape_[i] != 1 || shape_[unit] == 1))
      unit = i;
  return unit;
}

TensorArg &TensorArg::mark_layout_dynamic(int leadingDim, std::int64_t divisibility,
                                          std::source_location where) {
  const int unit = leadingDim == -1 ? unitMode() : leadingDim;
  if (unit < 0)
    throw TraceError(
        "mark_layout_dynamic: no mode has stride 1 in the strides " + joined(strides()), where);
  checkDim(unit, where);
  if (shape_[unit] == 1)
    stride_[unit] = 1; // no element is a step along it
  if (stride_[unit] != 1)
    throw TraceError("mark_layout_dynamic: the leading mode " + std::to_string(unit) +
                         " must have stride 1; the strides are " + joined(strides()),
                     where);
  for (int i = 0; i < rank_; ++i)
    if (i != unit)
      checkDivisible(stride_[i], divisibility, "stride", i, where);
  for (int i = 0; i < rank_; ++i) {
    shapeDiv_[i] = 1;
    strideDiv_[i] = i == unit ? 1 : divisibility;
  }
  shapeDynamic_ = static_cast<std::uint8_t>((1u << rank_) - 1);
  strideDynamic_ = static_cast<std::uint8_t>(shapeDynamic_ & ~(1u << unit));
  encode();
  return *this;
}

TensorArg &TensorArg::mark_layout_static() {
  shapeDynamic_ = strideDynamic_ = 0;
  encode();
  return *this;
}

TensorArg &TensorArg::mark_shape_dynamic(int dim, std::int64_t divisibility,
                                         std::source_location where) {
  checkDim(dim, where);
  checkDivisible(shape_[dim], divisibility, "extent", dim, where);
  shapeDiv_[dim] = divisibility;
  shapeDynamic_ |= static_cast<std::uint8_t>(1u << dim);
  encode();
  return *this;
}

TensorArg &TensorArg::mark_stride_dynamic(int dim, std::int64_t divisibility,
                                          std::source_location where) {
  checkDim(dim, where);
  checkDivisible(stride_[dim], divisibility, "stride", dim, where);
  strideDiv_[dim] = divisibility;
  strideDynamic_ |= static_cast<std::uint8_t>(1u << dim);
  encode();
  return *this;
}

TensorArg &TensorArg::assume_aligned(std::size_t bytes, std::source_location where) {
  if (!std::has_single_bit(bytes) || bytes < static_cast<std::size_t>(dtype_.bytes()) ||
      bytes > 1u << 30)
    throw TraceError("assume_aligned: " + std::to_string(bytes) +
                         " is not a power of two from the element's size up",
                     where);
  log2Align_ = static_cast<std::uint8_t>(std::countr_zero(bytes));
  checkAligned(where);
  encode();
  return *this;
}

TensorArg TensorArg::at(void *data, std::source_location where) const {
  TensorArg other = *this;
  other.data_ = data;
  other.checkAligned(where);
  return other;
}

void TensorArg::checkAligned(const std::source_location &where) const {
  if (reinterpret_cast<std::uintptr_t>(data_) & ((std::uintptr_t{1} << log2Align_) - 1))
    throw TraceError("the tensor's pointer is not a multiple of " +
                         std::to_string(1u << log2Align_) + " bytes",
                     where);
}

void TensorArg::checkDim(int dim, const std::source_location &where) const {
  if (dim < 0 || dim >= rank_)
    throw TraceError("mode " + std::to_string(dim) + " of a tensor with " + std::to_string(rank_) +
                         " modes",
                     where);
}

void TensorArg::checkDivisible(std::int64_t value, std::int64_t divisibility, const char *what,
                               int dim, const std::source_location &where) const {
  if (divisibility < 1 || divisibility > std::numeric_limits<std::int32_t>::max())
    throw TraceError("a divisibility of " + std::to_string(divisibility) + "; it is 1 to 2^31 - 1",
                     where);
  if (value % divisibility)
    throw TraceError("the " + std::string(what) + " " + std::to_string(value) + " of mode " +
                         std::to_string(dim) + " is no multiple of " +
                         std::to_string(divisibility) + " (shape " + joined(shape()) +
                         ", strides " + joined(strides()) + ")",
                     where);
}

/// Whether the last element ends 4 GiB or more after the first one begins.
bool TensorArg::isLarge() const {
  return spanBits(shape(), strides(), dtype_) > std::uint64_t{0xffffffff} * 8;
}

/// Whether a kernel would count the elements in 32 bits, and there are more than those hold: `wide`
/// has a bit for each extent of 64 bits.
bool TensorArg::isManyIn32Bits(std::uint64_t wide) const {
  return !wide && shapeDynamic_ && size() > std::numeric_limits<std::int32_t>::max();
}

void TensorArg::encode() {
  std::uint64_t wide = 0, shapeWords = 0, strideWords = 0;
  std::size_t bytes = 0;
  wordCount_ = 1;
  auto addLeaf = [&](std::int64_t value, std::uint64_t &mask, int mode) {
    if (value == 1)
      return;
    mask |= std::uint64_t{1} << mode;
    words_[wordCount_++] = static_cast<std::uint64_t>(value);
  };
  for (int i = 0; i < rank_; ++i) {
    const bool dynamic = shapeDynamic_ >> i & 1;
    addLeaf(dynamic ? shapeDiv_[i] : shape_[i], shapeWords, i);
    if (!dynamic)
      continue;
    if (shape_[i] > std::numeric_limits<std::int32_t>::max()) {
      wide |= std::uint64_t{1} << i;
      std::memcpy(dynamic_ + bytes, &shape_[i], 8);
      bytes += 8;
    } else {
      const auto narrow = static_cast<std::int32_t>(shape_[i]);
      std::memcpy(dynamic_ + bytes, &narrow, 4);
      bytes += 4;
    }
  }
  for (int i = 0; i < rank_; ++i) {
    const bool dynamic = strideDynamic_ >> i & 1;
    addLeaf(dynamic ? strideDiv_[i] : stride_[i], strideWords, i);
    if (!dynamic)
      continue;
    std::memcpy(dynamic_ + bytes, &stride_[i], 8);
    bytes += 8;
  }
  words_[0] = ArgPack::tensorTag | static_cast<std::uint64_t>(dtype_.kind()) << kDtypeAt |
              std::uint64_t{rank_} << kRankAt | std::uint64_t{log2Align_} << kAlignAt |
              std::uint64_t{shapeDynamic_} << kShapeMaskAt |
              std::uint64_t{strideDynamic_} << kStrideMaskAt | wide << kWideMaskAt |
              std::uint64_t{isLarge()} << kLargeAt | shapeWords << kShapeWordAt |
              strideWords << kStrideWordAt | std::uint64_t{isManyIn32Bits(wide)} << kManyAt;
  dynamicBytes_ = static_cast<std::uint8_t>(bytes);
}

void detail::refuseStrided(const TensorArg &tensor, int modes, const std::source_location &where) {
  const std::string who = "strided<" + std::to_string(modes) + "> of a tensor of shape " +
                          joined(tensor.shape()) + " and strides " + joined(tensor.strides());
  if (tensor.rank() < modes)
    throw TraceError(who + ": it has fewer modes than strides are asked for; strided<" +
                         std::to_string(tensor.rank()) + "> takes all of its strides",
                     where);
  throw TraceError(who + ": the modes after the first " + std::to_string(modes) +
                       " are not packed as in a contiguous tensor; take more strides, or pass a "
                       "contiguous copy",
                   where);
}

FLYDSL_NAMESPACE_END
