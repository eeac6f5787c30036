// Checks of a call's arguments, before its launch. A mistake is a TraceError with the line of the
// user's call. One rule holds for the operands of every family, which they state as rows (Expected):
//
// - Extents and type are those of the row.
// - A tensor without elements needs nothing more; its pointer and its strides are not looked at.
//   Nor is the stride of a mode with one element.
// - The pointer is not null and aligned. The packed modes have the strides of a contiguous tensor.
// - Strides of the caller's are 0 or more, multiples of the alignment, and above 0 if the operand
//   is written: each of its elements has a place of its own.
// - From its first byte to its last an operand spans less than 2^47 bytes, more than which no
//   process has; and no more than the kernel's offsets reach.
// - What is written shares memory with no other operand of the call, but for pairs that the family
//   names (InPlace).
//
// `Finding` is the one implementation of the rule for one operand, Arguments::expectApart that for
// two; arguments.cpp words the messages.
#pragma once

#include "frame/expected.h"

#include <flydsl/error.h>
#include <flydsl/strided.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <source_location>
#include <string>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// An address as a kernel takes it.
inline std::int64_t address(const void *pointer) {
  return static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(pointer));
}
/// The address of an operand as a kernel takes it.
inline std::int64_t address(const TensorArg &tensor) { return address(tensor.data()); }

/// The same of one that may be missing: 0.
inline std::int64_t address(const std::optional<TensorArg> &tensor) {
  return tensor ? address(*tensor) : 0;
}

/// The stride of a mode as a kernel takes it: 0 if the mode has no second element.
inline std::int64_t strideOf(const TensorArg &tensor, int mode) {
  const auto at = static_cast<std::size_t>(mode);
  return tensor.shape()[at] > 1 ? tensor.strides()[at] : 0;
}
inline std::int64_t strideOf(const std::optional<TensorArg> &tensor, int mode) {
  return tensor ? strideOf(*tensor, mode) : 0;
}

/// The same for kernels that tell by a stride what exists: `unit` if the mode has no second element.
inline std::int64_t strideOr(const TensorArg &tensor, int mode, std::int64_t unit) {
  const auto at = static_cast<std::size_t>(mode);
  return tensor.shape()[at] > 1 ? tensor.strides()[at] : unit;
}

/// What a kernel takes of an operand that has been checked: its address, and the strides of so many
/// leading modes. Those from `free` on stay 0. One that is left out has the address 0.
template <int Modes> Strided<OnHost, Modes> operandOf(const TensorArg &tensor, int free = Modes) {
  Strided<OnHost, Modes> result{.address = address(tensor), .stride = {}};
  for (int mode = 0; mode < std::min(Modes, free); ++mode)
    result.stride[static_cast<std::size_t>(mode)] = strideOf(tensor, mode);
  return result;
}
template <int Modes> Strided<OnHost, Modes> operandOf(const std::optional<TensorArg> &tensor) {
  return tensor ? operandOf<Modes>(*tensor) : Strided<OnHost, Modes>{};
}

/// What is wrong with an operand, and in which mode.
struct Finding {
  enum What : std::uint8_t {
    nothing,
    shape,
    type,
    null,
    start,    ///< its alignment
    packed,   ///< a stride of a packed mode
    negative, ///< a stride of a free mode, as the next three
    multiple,
    overlap,
    span,
    reach
  };
  What what = nothing;
  int mode = 0;
  std::int64_t bytes = 0; ///< of an operand with which nothing is wrong: from its first to its last

  /// Operands span less than 2^47 bytes: a process has no more on x86-64.
  static constexpr std::uint64_t kMostSpanBits = std::uint64_t(1) << 50;

  static Finding of(const TensorArg &tensor, const Expected &expected);
};

/// Whether two elements of a tensor without negative strides may have one place: some mode steps
/// less than all that the modes with smaller strides cover.
bool mayOverlap(const TensorArg &tensor);

[[gnu::always_inline]] inline Finding Finding::of(const TensorArg &tensor,
                                                  const Expected &expected) {
  const Shape &shape = expected.shape;
  if (tensor.rank() != shape.rank) [[unlikely]]
    return {Finding::shape};
  const std::int64_t *extents = tensor.shape().data(), *strides = tensor.strides().data();
  bool isEmpty = false;
  for (int mode = 0; mode < shape.rank; ++mode) {
    if (extents[mode] != shape.extents[mode]) [[unlikely]]
      return {Finding::shape, mode};
    isEmpty |= extents[mode] == 0;
  }
  if (tensor.dtype() != expected.dtype) [[unlikely]]
    return {type};
  if (isEmpty) [[unlikely]]
    return {};
  if (!tensor.data()) [[unlikely]]
    return {null};
  // Masks: a division of 64 bits takes as long as the rest of the check.
  const auto bits = static_cast<std::uint64_t>(expected.dtype.memory_bits()),
             elements = static_cast<std::uint64_t>(expected.align);
  if (reinterpret_cast<std::uintptr_t>(tensor.data()) & (elements * bits / 8 - 1)) [[unlikely]]
    return {start};
  // No sum wraps: a tensor spans less than 2^63 bytes. From the last mode to the first, `last` is
  // the place of the last element of the modes so far.
  std::int64_t compact = 1, last = 0, reached = 0;
  for (int i = shape.rank - 1; i >= 0; --i) {
    // By columns, the last two modes have changed places.
    const int mode = expected.byColumns && i >= shape.rank - 2 ? 2 * shape.rank - 3 - i : i;
    const std::int64_t extent = extents[mode], stride = strides[mode];
    if (extent > 1) {
      if (i >= expected.free) {
        if (stride != compact) [[unlikely]]
          return {packed, mode};
      } else {
        if (stride < 0) [[unlikely]]
          return {negative, mode};
        if (static_cast<std::uint64_t>(stride) & (elements - 1)) [[unlikely]]
          return {multiple, mode};
        // Modes in another order than the row-major one take a closer look.
        if (expected.use != Use::read && stride <= last && mayOverlap(tensor)) [[unlikely]]
          return {overlap, mode};
        if (static_cast<std::uint64_t>(stride) >= kMostSpanBits / bits) [[unlikely]]
          return {span, mode};
        if (const std::int64_t count = expected.reach.bytes ? expected.reach.counts[mode] : 0) {
          if (stride >= expected.reach.bytes) [[unlikely]]
            return {Finding::reach, mode};
          reached += stride * count;
        }
      }
      last += (extent - 1) * stride;
    }
    compact *= extent;
  }
  if (static_cast<std::uint64_t>(last) >= kMostSpanBits / bits) [[unlikely]]
    return {span};
  if (expected.reach.bytes && static_cast<std::uint64_t>(reached) * bits / 8 >=
                                  std::uint64_t(expected.reach.bytes)) [[unlikely]]
    return {reach};
  return {.bytes =
              static_cast<std::int64_t>((static_cast<std::uint64_t>(last + 1) * bits + 7) / 8)};
}

/// An operand that is written and may be another one exactly, with the same strides: what is written
/// over was read by the thread that writes it, or by a kernel before. Fields of Args.
struct InPlace {
  std::string_view written, read;
  bool isLookedAt = false; ///< the family knows that they are the same, or share what they may
};

/// Looks at the arguments of one call.
class Arguments {
public:
  Arguments(std::string_view family, const std::source_location &where)
      : family_(family), where_(where) {}

  /// Checks an operand. The row is copied for the message, so that what is right keeps it in
  /// registers: a call checks a tensor in a few nanoseconds.
  [[gnu::always_inline]] void check(const TensorArg &tensor, const Expected &expected) const {
    const Finding finding = Finding::of(tensor, expected);
    if (finding.what != Finding::nothing) [[unlikely]] {
      const Expected row = expected;
      refuse(tensor, row, finding);
    }
    note(tensor, expected.name, finding.bytes, expected.use == Use::written);
  }
  void check(const TensorArg &&, const Expected &) const = delete; // it is looked at again
  /// Checks one that is there if the problem has it, and only then.
  void checkIf(bool has, const std::optional<TensorArg> &tensor, const Expected &expected) const {
    if (given(tensor, expected.name, has))
      check(*tensor, expected);
  }
  /// The same with `rowOf(name)` as the row, which is made only for an operand that the problem has: for families
  /// most of whose problems have few of the operands that there may be.
  template <class RowOf>
  void checkIf(bool has, const std::optional<TensorArg> &tensor, const char *name,
               const RowOf &rowOf) const {
    if (given(tensor, name, has))
      check(*tensor, rowOf(name));
  }
  /// Checks an operand, and gives what a kernel takes of it: its address, and the strides of its free
  /// modes, which are the first ones. Modes that this problem's operand does not have, have stride 0.
  template <int Modes>
  Strided<OnHost, Modes> operand(const TensorArg &tensor, const Expected &expected) const {
    check(tensor, expected);
    return operandOf<Modes>(tensor, expected.free);
  }
  /// The same of one that is there if the problem has it, and only then; else its address is 0.
  template <int Modes>
  Strided<OnHost, Modes> operandIf(bool has, const std::optional<TensorArg> &tensor,
                                   const Expected &expected) const {
    return given(tensor, expected.name, has) ? operand<Modes>(*tensor, expected)
                                             : Strided<OnHost, Modes>{};
  }
  /// Checks a workspace, and gives its address: contiguous bytes, at least so many, at a multiple of
  /// 16. One that the call does not need is not looked at.
  std::int64_t workspace(const std::optional<TensorArg> &tensor, std::size_t bytes) const {
    return workspace(tensor ? &*tensor : nullptr, bytes);
  }
  std::int64_t workspace(const TensorArg *tensor, std::size_t bytes) const;

  /// Whether an operand is there, which must be so if the problem has it and only then.
  bool given(const std::optional<TensorArg> &tensor, const char *name, bool needed) const {
    if (tensor.has_value() != needed) [[unlikely]]
      failGiven(name, needed);
    return needed;
  }
  /// The rows of a matrix, which must be few enough for a 32-bit index.
  std::int64_t rows(const TensorArg &tensor, const char *name) const {
    const std::int64_t m = tensor.rank() == 2 ? tensor.shape()[0] : -1;
    if (m < 0 || m > kMostRows) [[unlikely]]
      failRows(tensor, name);
    return m;
  }

  /// Checks that what is written shares memory with no other operand that was checked, but for
  /// these. It follows the checks of all operands.
  void expectApart(std::initializer_list<InPlace> allowed = {}) const {
    for (int i = 0; i < count_; ++i)
      if (noted_[i].isWritten)
        for (int j = 0; j < count_; ++j)
          if (noted_[i].begin < noted_[j].end && noted_[j].begin < noted_[i].end && i != j)
              [[unlikely]]
            expectApart(noted_[i], noted_[j], allowed);
  }
  /// Checks that what is written shares no memory with what is read: of tensors that are not operands
  /// by themselves.
  void disjoint(const TensorArg &written, const char *name, const TensorArg &read,
                const char *readName) const {
    if (shareMemory(written, read)) [[unlikely]]
      failShared(name, readName, false, false);
  }
  /// The same of an operand that a problem may not have.
  void disjoint(const TensorArg &written, const char *name, const std::optional<TensorArg> &read,
                const char *readName) const {
    if (read)
      disjoint(written, name, *read, readName);
  }
  /// The same, but it may be exactly what is read: each row is read before it is written.
  void disjointOrSame(const TensorArg &written, const char *name, const TensorArg &read,
                      const char *readName) const {
    if (!isSame(written, read) && shareMemory(written, read)) [[unlikely]]
      failShared(name, readName, false, true);
  }
  /// Whether two tensors are known to share elements. Those whose modes are, in some order, packed ones
  /// and others that follow one another at one stride are taken as matrices with contiguous rows: they
  /// do if rows of the same stride meet, or if one has no gaps and meets a row of the other. Parts of
  /// the columns of one matrix do not. Of others, those that begin at one place do.
  static bool shareMemory(const TensorArg &a, const TensorArg &b);

  [[noreturn]] void fail(const std::string &text) const;
  /// Says that an operand is missing, or given without need.
  [[noreturn]] void failGiven(const char *name, bool needed) const;

private:
  static constexpr std::int64_t kMostRows = 0x7fffffff;
  static constexpr int kMostOperands = 48; ///< of a call

  /// An operand that was checked, and its memory from the first byte to the last.
  struct Noted {
    const TensorArg *tensor;
    std::string_view name;
    std::int64_t begin, end;
    bool isWritten;
  };
  [[gnu::always_inline]] void note(const TensorArg &tensor, std::string_view name,
                                   std::int64_t bytes, bool isWritten) const {
    if (!bytes)
      return;
    if (count_ == kMostOperands) [[unlikely]]
      failMany();
    const std::int64_t begin = address(tensor);
    noted_[count_++] = {&tensor, name, begin, begin + bytes, isWritten};
  }
  static bool isSame(const TensorArg &written, const TensorArg &read);
  void expectApart(const Noted &written, const Noted &other,
                   std::initializer_list<InPlace> allowed) const;
  [[noreturn]] void failShared(std::string_view name, std::string_view other, bool isWritten,
                               bool maySame) const;
  [[noreturn]] void failMany() const;
  [[noreturn]] void refuse(const TensorArg &, const Expected &, Finding) const;
  [[noreturn]] void failRows(const TensorArg &, const char *name) const;

  std::string_view family_;
  const std::source_location &where_;
  mutable Noted noted_[kMostOperands]; // checks are const, so that lambdas of families may be
  mutable int count_ = 0;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
