// What the parts of products ask of the tensors that a kernel gives them.
//
// What is known while tracing is refused there, with the caller's line. The rest is looked at where
// the kernel runs, which traps.
#pragma once

#include "blocks/products/views.h"

#include <flydsl/kernels/parts/gemm_spec.h>

#include <string>
#include <utility>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

using std::to_string;

/// Throws TraceError, with the reason, if the target of the trace does not have such parts.
void expectFit(const GemmSpec &spec, Loc loc);

/// Throws TraceError if the trace's blocks do not have so many threads in a row, those of the spec's
/// configuration, or if the trace does not know how many they have.
void expectThreads(int threads, Loc loc);

/// Stops the kernel if a condition holds that the launch alone knows.
inline void trapIf(const Boolean &wrong) {
  if_(wrong, [] { gpu::trap(); });
}
inline std::string leafText(const IntTuple &leaf) {
  return leaf.is_static() ? to_string(leaf.value()) : "not known while tracing";
}

/// Checks an operand's tensors, each as far as it is known, and the rest where the kernel runs.
class Checks {
public:
  /// `what` begins the sentences, and `loc` is the line that made the operand.
  Checks(std::string what, Loc loc) : what_(std::move(what)), loc_(loc) {}

  [[noreturn]] void fail(const std::string &text) const { throw TraceError(what_ + text, loc_); }
  void rank(const Tensor &tensor, int rank, const char *shape) const {
    if (tensor.rank(loc_) != rank)
      fail(" has " + to_string(tensor.rank(loc_)) + " modes; it is " + shape);
    if (tensor.address_space(loc_) != AddressSpace::global)
      fail(" does not lie in global memory");
  }
  void type(const Tensor &tensor, DType expected, const char *of = "the spec has") const {
    if (tensor.dtype(loc_) != expected)
      fail(" is of type " + std::string(tensor.dtype(loc_).name()) + ", and " + of + " " +
           std::string(expected.name()));
  }
  /// A mode has this extent.
  void extent(const Tensor &tensor, int mode, std::int64_t expected, const char *name) const {
    const IntTuple found = modeOf(tensor.shape(loc_), mode);
    if (!found.is_static())
      return trapIf(Int32(found) != static_cast<std::int32_t>(expected));
    if (found.value() != expected)
      fail(" has an extent of " + to_string(found.value()) + " in mode " + to_string(mode) + "; " +
           name + " is " + to_string(expected));
  }
  /// A mode is as long as that of another tensor, `name`.
  void same(const Tensor &tensor, int mode, const IntTuple &expected, const char *name) const {
    if (expected.is_static())
      return extent(tensor, mode, expected.value(), name);
    trapIf(Int32(modeOf(tensor.shape(loc_), mode)) != Int32(expected));
  }
  /// A mode has all rows of a tile.
  void rows(const Tensor &tensor, const WorkTile &tile, int mode = 0) const {
    trapIf(Int32(modeOf(tensor.shape(loc_), mode)) - tile.row < tile.rows);
  }
  void neighbours(const Tensor &tensor, int mode, const char *what) const {
    const IntTuple stride = modeOf(tensor.stride(loc_), mode);
    if (!stride.is_static() || stride.value() != 1)
      fail(std::string(": ") + what + " are neighbours, and the stride of mode " + to_string(mode) +
           " is " + leafText(stride) + "; an argument says so by mark_layout_dynamic(" +
           to_string(mode) + ")");
  }
  /// Lines, whose distance is the stride of a mode, start at multiples of 16 bytes, and so many of
  /// them span less than a buffer.
  void lines(const Tensor &tensor, int mode, const Numeric &count) const {
    constexpr int piece = impl::kPieceBytes;
    const int bytes = tensor.dtype(loc_).memory_bits() / 8;
    const IntTuple stride = modeOf(tensor.stride(loc_), mode);
    if (stride.is_static() && stride.value() * bytes % piece)
      fail(": a stride of " + to_string(stride.value()) + " elements in mode " + to_string(mode) +
           " is no multiple of 16 bytes");
    const Int64 step = Int64(stride) * bytes;
    if (!stride.is_static())
      trapIf((step & (piece - 1)) != 0);
    if (tensor.alignment(loc_) < piece)
      trapIf((tensor.iter(loc_).address(loc_) & (piece - 1)) != 0);
    trapIf(count * step >= impl::kPastTheEnd);
  }

  /// So many neighbours are read or written together.
  void together(const Tensor &tensor, int count) const {
    const int bytes = count * tensor.dtype(loc_).bytes();
    const std::string unit = to_string(count) + " elements, as many as are moved together";
    for (int mode = 0; mode + 1 < tensor.rank(loc_) && count > 1; ++mode) {
      const IntTuple stride = modeOf(tensor.stride(loc_), mode);
      if (!stride.is_static())
        trapIf((Int64(stride) & (count - 1)) != 0);
      else if (stride.value() % count)
        fail(": a stride of " + to_string(stride.value()) + " elements in mode " + to_string(mode) +
             " is no multiple of " + unit);
    }
    if (tensor.alignment(loc_) < bytes)
      trapIf((tensor.iter(loc_).address(loc_) & (bytes - 1)) != 0);
  }

private:
  static IntTuple modeOf(const IntTuple &tuple, int mode) {
    return tuple.is_leaf() ? tuple : tuple[mode];
  }
  std::string what_;
  Loc loc_;
};

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
