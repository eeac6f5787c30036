// Blocks of ggml's formats in a kernel: units are loaded as they are and taken apart in registers.
//
// A matrix of weights is a tensor of bytes (rows, blocks of a row, bytes of a block). What a thread
// takes is a field of a block, seen as words. In the layout of planes the heads are a tensor of
// their own; otherwise heads and bodies are parts of the same records.
#pragma once

#include "blocks/facts/matrix_form.h"
#include "ggml/ggml_formats.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A row of numbers by the units of a format: (weights of a group, groups of a unit, units).
inline Tensor byUnits(const Tensor &row, const GgmlRow &format) {
  const int units = format.unitsOfSpan();
  const std::int64_t spans = size(row).value() / format.span;
  const Layout weights =
      make_layout({format.group, format.groups, {units, spans}},
                  {1, format.group * units, {format.group, format.span}}); // -> (k)
  return make_view(row.iter(), composition(row.layout(), weights));        // (group, groups, units)
}

/// The units of a matrix of weights.
class GgmlSource {
public:
  GgmlSource(const GgmlWeight &weight, const Strided<OnDevice, 0> &memory)
      : GgmlSource(ggmlRow(weight.format), bodiesOf(weight, memory), headsOf(weight, memory)) {}
  /// `a` if the condition holds, otherwise `b`: matrices of one problem.
  static GgmlSource select(const Boolean &condition, const GgmlSource &a, const GgmlSource &b) {
    const auto one = [&](const Tensor &ofA, const Tensor &ofB) {
      return flydsl::select(condition, ofA, ofB);
    };
    return {a.format_, one(a.bodies_, b.bodies_),
            a.heads_ ? std::optional(one(*a.heads_, *b.heads_)) : std::nullopt};
  }

  std::int64_t unitsOfRow() const { return size(bodies_, 1).value() * format_.units; }

  /// The blocks of a row.
  struct Row {
    Tensor bodies;               // (blocks, body)
    std::optional<Tensor> heads; // (blocks, head)
  };
  Row row(const Int32 &n) const {
    return {bodies_(n, _, _), heads_ ? std::optional((*heads_)(n, _, _))
                                     : std::nullopt}; // (blocks, body), (blocks, head)
  }

  /// Loads a unit. Without `valid`, there is one.
  GgmlRaw fetch(const Row &row, const Int32 &unit, const std::optional<Boolean> &valid) const {
    const Int32 block = format_.units == 1 ? unit : Int32(unit / format_.units);
    const GgmlBlockBytes bytes{row.bodies(block, _), // (body)
                               row.heads ? std::optional((*row.heads)(block, _))
                                         : std::nullopt, // (head)
                               valid};
    return ggmlTaking(format_.format).fetch(bytes, inBlock(unit));
  }
  /// The groups of a unit that was loaded.
  std::vector<GgmlGroup> groups(const GgmlRaw &raw, const Int32 &unit) const {
    return ggmlTaking(format_.format).groups(raw, inBlock(unit));
  }

private:
  GgmlSource(const GgmlRow &format, const Tensor &bodies, const std::optional<Tensor> &heads)
      : format_(format), bodies_(bodies), heads_(heads) {}

  Int32 inBlock(const Int32 &unit) const { return unit % format_.units; }

  static std::int64_t blocksOf(const GgmlWeight &weight) {
    return weight.k / ggmlRow(weight.format).weights;
  }
  /// The matrix as it is in a file.
  static Tensor recordsOf(const GgmlWeight &weight, const Strided<OnDevice, 0> &memory) {
    return memory.view(u8, {weight.n, blocksOf(weight), ggmlRow(weight.format).bytes},
                       kPieceBytes); // (n, blocks, bytes)
  }
  static Tensor bodiesOf(const GgmlWeight &weight, const Strided<OnDevice, 0> &memory) {
    const GgmlRow &row = ggmlRow(weight.format);
    const IntTuple shape{weight.n, blocksOf(weight), row.body()};
    if (weight.layout == GgmlLayout::planes)
      return memory.view(u8, shape, kPieceBytes); // (n, blocks, body)
    const Tensor records = recordsOf(weight, memory);
    return make_view(records.iter() + (row.headLast ? 0 : row.head),
                     make_layout(shape, records.stride())); // (n, blocks, body)
  }
  static std::optional<Tensor> headsOf(const GgmlWeight &weight,
                                       const Strided<OnDevice, 0> &memory) {
    const GgmlRow &row = ggmlRow(weight.format);
    if (!row.head)
      return std::nullopt;
    const IntTuple shape{weight.n, blocksOf(weight), row.head};
    if (weight.layout == GgmlLayout::planes) {
      const std::int64_t bodies = weight.n * blocksOf(weight) * row.body();
      return make_view(memory.view(u8, 1, kPieceBytes).iter() + bodies,
                       make_ordered_layout(shape, {2, 1, 0})); // (n, blocks, head)
    }
    const Tensor records = recordsOf(weight, memory);
    return make_view(records.iter() + (row.headLast ? row.body() : 0),
                     make_layout(shape, records.stride())); // (n, blocks, head)
  }

  const GgmlRow &format_;
  Tensor bodies_;               // (n, blocks, body)
  std::optional<Tensor> heads_; // (n, blocks, head)
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
