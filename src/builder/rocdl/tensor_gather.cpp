// Rows by their numbers that gfx1250's tensor data mover copies.
#include <flydsl/rocdl/tensor_gather.h>

#include <flydsl/kernel/select.h>
#include <flydsl/rocdl/intrinsics.h>

#include "builder/memory/address.h"
#include "builder/rocdl/mover_operands.h"
#include "builder/trace/facade.h"
#include "builder/trace/layout_errors.h"
#include "builder/trace/types.h"
#include "dialect/Conversion/FlyToROCDL/TensorDescriptor.h"
#include "dialect/Fly/IR/FlyOps.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <algorithm>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace rocdl {

using builder::Tracer;
namespace fly = mlir::fly;

namespace {

constexpr std::int64_t kMostOfBox = 65535; ///< elements of a row: the field has 16 bits
constexpr std::int64_t kMost16 = 65535;    ///< rows that numbers of 16 bits reach

/// The tracer where all lanes of a wave come by: a move does not look at which lanes are on, so that a branch
/// of some lanes would not stop it.
Tracer &withWholeWaves(const char *function, Loc loc) {
  Tracer &tracer = builder::withMover(function, loc);
  tracer.arrivals.expectGroups("a move of rows", unsigned(tracer.kernel.target->wave_size()), loc);
  return tracer;
}

/// The moves of a wave for some rows.
class RowMoves {
public:
  RowMoves(const char *function, const Tensor &tensor, const TensorRows &rows, const Int32 &tile,
           const Tensor &lds, int cache, Loc loc)
      : tensor_(tensor), rows_(rows), tile_(tile), lds_(lds), cache_(cache), loc_(loc),
        tracer_(withWholeWaves(function, loc)), operands_(function, tracer_, tensor, lds, loc) {
    if (operands_.tensorRank() != 2 || operands_.tileRank() != 2)
      operands_.refuse("rows are those of a tensor and a tile with two modes, not of " +
                       tensor.str() + " and " + lds.str());
    if (operands_.extent(0) != rows.count)
      operands_.refuse("the tile " + lds.str() + " has " + std::to_string(operands_.extent(0)) +
                       " rows, and " + std::to_string(rows.count) + " numbers name some");
    const int bits = rows.index_bits;
    if ((bits != 16 && bits != 32) || int(rows.words.size()) != (rows.count * bits + 31) / 32)
      operands_.refuse("rows are what tensor_rows gives, not " + std::to_string(rows.count) +
                       " numbers of " + std::to_string(bits) + " bits in " +
                       std::to_string(rows.words.size()) + " words");
    operands_.expectCache(cache);
    const std::int64_t columns = operands_.extent(1);
    if (columns > kMostOfBox)
      operands_.refuse("a row has at most 65535 elements, not " + std::to_string(columns));
    if (columns * operands_.elementBits() % 32)
      operands_.refuse("rows of " + std::to_string(columns) + " elements of " +
                       std::to_string(operands_.elementBits()) +
                       " bits are no whole words of 32 bits");
    gap_ = operands_.gap(); // of two modes it comes after each row
    if (gap_.interval & (gap_.interval - 1))
      operands_.refuse("gaps come after a power of two of elements, not after every " +
                       std::to_string(gap_.interval));
  }

  void emit(bool isLoad) const {
    const std::int64_t columns = operands_.extent(1);
    // Their operations stand where the call does.
    using Arg = IntTuple::Arg;
    const IntTuple first = Arg(tile_, loc_) * Arg(columns, loc_), shape = tensor_.shape(loc_);
    const IntTuple start(detail::tupleOf(std::vector<IntTuple>{IntTuple(0), first}, loc_));
    const Tensor part =
        make_view(tensor_.iter(loc_) + Arg(crd2idx(start, tensor_.layout(loc_), loc_), loc_),
                  tensor_.layout(loc_), loc_);
    const IntTuple rowStride = tensor_.stride(loc_).at(0, loc_);
    mlir::OpBuilder &b = tracer_.builder();
    mlir::fly::DescriptorArith arith(b, tracer_.ir.location(loc_));
    const auto use = [&](const detail::Handle &handle) { return tracer_.use(handle, loc_); };

    mlir::fly::TensorDescriptor all;
    all.global = address(part.iter(loc_), 64);
    const mlir::Value lds = address(lds_.iter(loc_), 32);
    mlir::Value rows = use(builder::MoverOperands::reach(shape.at(0, loc_), loc_));
    if (rows_.index_bits == 16)
      rows = arith.binary<mlir::arith::MinSIOp>(rows, arith.i32(kMost16));
    all.extents = {rows, use(builder::MoverOperands::reach(
                             Arg(shape.at(1, loc_), loc_) - Arg(first, loc_), loc_))};
    all.strides = {use(detail::convert(detail::scalarOfTuple(rowStride.handle(), loc_), i64, loc_)),
                   arith.i64(1)};
    all.elementBits = operands_.elementBits();
    all.workgroupMask = all.earlyTimeout = arith.i32(0);
    all.padInterval = gap_.interval;
    all.padAmount = gap_.amount;
    all.rowBits = rows_.index_bits;
    const int inWord = 32 / rows_.index_bits;
    for (int row = 0; row < rows_.count; row += together()) {
      mlir::fly::TensorDescriptor move = all;
      const int count = std::min(together(), rows_.count - row);
      move.box = {count, columns};
      for (int i = row / inWord; i < (row + count + inWord - 1) / inWord; ++i)
        move.rows.push_back(use(rows_.words[std::size_t(i)].handle()));
      const std::int64_t place = row * (columns + gap_.amount);
      move.lds = arith.add(lds, arith.i32(place * all.elementBits / 8));
      builder::layoutErrorsAt(
          loc_, [&] { mlir::fly::emitTensorMove(arith, std::move(move), isLoad, cache_); });
    }
  }

private:
  int together() const { return 256 / rows_.index_bits; }
  mlir::Value address(const Pointer &pointer, unsigned bits) const {
    auto type = mlir::cast<fly::PointerType>(detail::tracedType(pointer.handle(), loc_));
    const mlir::Value place = builder::llvmPointer(tracer_, pointer.handle(), type, loc_);
    return mlir::LLVM::PtrToIntOp::create(tracer_.builder(), tracer_.ir.location(loc_),
                                          tracer_.builder().getIntegerType(bits), place);
  }

  const Tensor &tensor_;
  const TensorRows &rows_;
  const Int32 &tile_;
  const Tensor &lds_;
  int cache_;
  Loc loc_;
  Tracer &tracer_;
  builder::MoverOperands operands_;
  builder::MoverGap gap_;
};

} // namespace

TensorRows tensor_rows(const Int32 &row_of_lane, int count, int index_bits, Loc loc) {
  const Tracer &tracer = withWholeWaves("tensor_rows", loc);
  const int lanes = tracer.kernel.target->wave_size();
  if (index_bits != 16 && index_bits != 32)
    throw TraceError(
        "tensor_rows: numbers of rows have 16 or 32 bits, not " + std::to_string(index_bits), loc);
  if (count < 1 || count > lanes)
    throw TraceError("tensor_rows of " + std::to_string(count) + " rows; the " +
                         std::to_string(lanes) + " lanes of a wave give 1 to " +
                         std::to_string(lanes) + "; call it again for others",
                     loc);
  TensorRows rows{.words = {}, .count = count, .index_bits = index_bits};
  const auto number = [&](int lane) {
    return Int32(readlane(row_of_lane, {Int32(lane, loc), loc}));
  };
  if (index_bits == 32) {
    for (int i = 0; i < count; ++i)
      rows.words.push_back(number(i));
    return rows;
  }
  // Beyond 16 bits, and below 0, is the number that no row has.
  const auto small = [&](int lane) {
    const Int32 found = number(lane);
    return Int32(select((found >= 0) & (found < Int32(int(kMost16))), found, Int32(int(kMost16))));
  };
  for (int i = 0; i < count; i += 2)
    rows.words.push_back(i + 1 < count ? Int32(small(i) | (small(i + 1) << 16)) : small(i));
  return rows;
}

void tensor_load_gather(const Tensor &tensor, const TensorRows &rows, const Int32 &tile,
                        const Tensor &lds, int cache, Loc loc) {
  RowMoves("tensor_load_gather", tensor, rows, tile, lds, cache, loc).emit(true);
}
void tensor_store_gather(const Tensor &lds, const Tensor &tensor, const TensorRows &rows,
                         const Int32 &tile, int cache, Loc loc) {
  RowMoves("tensor_store_gather", tensor, rows, tile, lds, cache, loc).emit(false);
}

} // namespace rocdl
FLYDSL_NAMESPACE_END
