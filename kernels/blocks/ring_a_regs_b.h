// The main loop of products with few rows of A and preshuffled weights B: A goes through a ring of
// two tiles in shared memory, from which all waves read it, and each wave loads its own columns of B
// straight into registers.
//
// A step multiplies a tile of `tileK` columns, in parts. The tile of B is fetched one step ahead and
// the tile of A two steps ahead; the latter spends the second step in registers until its place in
// shared memory is free. The fragments of A of a part are read from shared memory during the
// multiplications of the part before it, so that nothing waits for them. The barrier stands before
// the last part, so that it has multiplications on both sides.
//
// The number of steps is known while tracing. The last step may be shorter than the others: parts
// past the end of K are left out.
#pragma once

#include "blocks/lds_layout.h"
#include "blocks/operand.h"
#include "blocks/ring_shape.h"
#include "blocks/schedule.h"

#include <flydsl/flydsl.h>

#include <cstdint>
#include <functional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// A tile of rows of A in global memory, seen by the threads that copy it to shared memory.
class RowsOfA {
public:
  /// The rows start at `first` and are `distance` elements apart; `rows` of them exist.
  RowsOfA(const RingShape &shape, const Int64 &first, const Int64 &distance, const Int32 &rows)
      : shape_(shape), copy_(tiledCopy(shape)), slice_(copy_.get_slice(thread_idx().x)),
        atom_(make_copy_atom(rocdl::BufferCopy128b(), shape.form.a)),
        tile_(slice_.partition_S(buffer(shape, first, distance, rows))) {}

  const TiledCopy &tiledCopy() const { return copy_; }
  /// Loads the tile of a step: rows and columns that do not exist are zeros.
  void fetch(const Int32 &step, const Tensor &into) const {
    copy(atom_, tile_, into, {.soffset = step * shape_.tileK});
  }
  /// The same for the last step, whose columns may end inside of the tile.
  void fetchLast(const Tensor &into) const {
    const int last = shape_.steps() - 1;
    const std::int64_t columns = shape_.k - static_cast<std::int64_t>(last) * shape_.tileK;
    if (columns >= shape_.tileK)
      return fetch(last, into);
    // A thread's pieces lie in one column of pieces, which is past the end or is not.
    const Numeric column = thread_idx().x % piecesAcross(shape_) * shape_.form.piece();
    const Int32 away = select(column < columns, 0, kPastTheEnd / shape_.form.bytes());
    copy(atom_, make_view(tile_.iter() + away, tile_.layout()), into,
         {.soffset = Int32(last * shape_.tileK)});
  }

  /// Bytes from a tile's start to a place that is outside of every tile's buffer.
  static constexpr int kPastTheEnd = 1 << 30;

private:
  static int piecesAcross(const RingShape &shape) { return shape.rowBytes() / kPieceBytes; }
  /// A row is copied by neighbouring threads.
  static TiledCopy tiledCopy(const RingShape &shape) {
    const int across = piecesAcross(shape), down = shape.threads() / across,
              piece = shape.form.piece();
    return make_tiled_copy(
        make_copy_atom(UniversalCopy128b(), shape.form.a),
        make_layout({{across, down}, {1, piece}}, {{down * piece, 1}, {1, down}}),
        make_tile(down, shape.tileK));
  }
  static Tensor buffer(const RingShape &shape, const Int64 &first, const Int64 &distance,
                       const Int32 &rows) {
    const int bytes = shape.form.bytes();
    const Pointer start =
        Pointer::from_address(first, shape.form.a, AddressSpace::global, kPieceBytes);
    const Layout layout = make_layout({shape.tileM, shape.tileK}, {Int32(distance.to(i32)), 1});
    const Int64 end = ((rows - 1).to(i64) * distance + shape.k) * bytes;
    return rocdl::make_buffer_tensor(make_view(start, layout),
                                     {.num_records_bytes = end}); // (tileM, tileK)
  }

  RingShape shape_;
  TiledCopy copy_;
  ThrCopy slice_;
  CopyAtom atom_;
  Tensor tile_; // (V, m, k)
};

/// A tile of columns of the product, that is of rows of preshuffled weights.
class ColumnsOfB {
public:
  /// The tile starts at `first`; `blocks` blocks of 16 rows exist from there on.
  ColumnsOfB(const RingShape &shape, const Preshuffled &weights, const TiledMma &mma,
             const Int64 &first, const Int32 &blocks)
      : shape_(shape), atom_(make_copy_atom(rocdl::BufferCopy128b(), shape.form.b)),
        slice_(make_tiled_copy_A(atom_, mma).get_slice(thread_idx().x)),
        tile_(slice_.partition_S(buffer(shape, weights, first, blocks))) {}

  /// Loads a part of a step's tile into a fragment of a part.
  void fetch(const Int32 &step, int part, const Tensor &fragment) const {
    copy(atom_, tile_(_, _, part), slice_.retile(fragment)(_, _, 0),
         {.soffset = step * (Preshuffled::kRows * shape_.tileK)});
  }

private:
  static Tensor buffer(const RingShape &shape, const Preshuffled &weights, const Int64 &first,
                       const Int32 &blocks) {
    const Pointer start =
        Pointer::from_address(first, shape.form.b, AddressSpace::global, kPieceBytes);
    const Int64 end = min(blocks, shape.tileN / Preshuffled::kRows).to(i64) *
                      (weights.rowOfBlocks() * weights.bytes);
    return rocdl::make_buffer_tensor(
        make_view(start, preshuffledTile(weights, shape.tileN, shape.tileK)),
        {.num_records_bytes = end}); // (tileN, tileK)
  }

  RingShape shape_;
  CopyAtom atom_;
  ThrCopy slice_;
  Tensor tile_; // (V, n, parts)
};

/// Runs the loop.
template <class SourceA, class SourceB> class RingARegsB {
public:
  RingARegsB(const RingShape &shape, const TiledMma &mma, const SourceA &a, const SourceB &b)
      : shape_(shape), mma_(mma), a_(a), b_(b), ring_(ring(shape)),
        write_(a.tiledCopy().get_slice(thread_idx().x).partition_D(ring_)),
        fetchedA_(make_fragment_like(write_(_, _, _, 0))),
        atom_(make_copy_atom(UniversalCopy128b(), shape.form.a)),
        slice_(make_tiled_copy_B(atom_, mma).get_slice(thread_idx().x)),
        read_(slice_.partition_S(ring_)),
        accumulators_(mma.make_fragment_C({shape.tileN, shape.tileM})) {
    // The columns of a tile with K as the fastest mode: a piece's registers are neighbours.
    const int part = shape.form.part();
    for (int i = 0; i < 2; ++i) {
      fragmentsA_.push_back(mma.make_fragment_B(make_layout({shape.tileM, part}, {part, 1})));
      for (int p = 0; p < shape.parts(); ++p)
        fragmentsB_.push_back(mma.make_fragment_A(make_layout({shape.tileN, part}, {part, 1})));
    }
  }

  /// Multiplies; the result is (V, n, m), where the V values are neighbours along N.
  Tensor run() {
    const int steps = shape_.steps();
    if (steps == 1)
      a_.fetchLast(fetchedA_);
    else
      a_.fetch(0, fetchedA_);
    fetchB(0, 0, shape_.partsOf(0));
    accumulators_.fill(0);
    copy(atom_, fetchedA_, write_(_, _, _, 0));
    if (steps > 1)
      fetchA(1);
    gpu::barrier();
    read(0, 0);
    // The loop runs pairs of steps that fetch whole tiles; the remaining steps follow.
    const int whole = shape_.k % shape_.tileK ? steps - 3 : steps - 2;
    const int looped = whole > 1 ? whole / 2 * 2 : 0;
    if (looped)
      for (Int32 k : range(0, looped, 2)) {
        step(k, 0, shape_.parts(), shape_.parts(), [&] { a_.fetch(k + 2, fetchedA_); });
        step(k + 1, 1, shape_.parts(), shape_.parts(), [&] { a_.fetch(k + 3, fetchedA_); });
      }
    for (int k = looped; k < steps; ++k) {
      const int following = k + 1 < steps ? shape_.partsOf(k + 1) : 0;
      if (k + 2 < steps)
        step(k, k % 2, shape_.partsOf(k), following, [&] { fetchA(k + 2); });
      else
        step(k, k % 2, shape_.partsOf(k), following);
    }
    return accumulators_;
  }

private:
  static Tensor ring(const RingShape &shape) {
    const DType dtype = shape.form.a;
    const XorSwizzle swizzle = xorSwizzle(shape.form.bytes(), shape.rowBytes(), ldsBanks(target()));
    return make_view(
        SharedAllocator().allocate(shape.ringBytes(), kPieceBytes).recast(dtype),
        make_composed_layout(swizzle.swizzle(),
                             make_ordered_layout({shape.tileM, shape.tileK, 2}, {1, 0, 2})));
    // (tileM, tileK, 2)
  }
  /// The two fragments of A take turns from part to part, over the steps too.
  const Tensor &fragmentA(int stage, int part) const {
    return fragmentsA_[static_cast<std::size_t>((stage * shape_.parts() + part) % 2)];
  }
  const Tensor &fragmentB(int stage, int part) const {
    return fragmentsB_[static_cast<std::size_t>(stage * shape_.parts() + part)];
  }
  void fetchA(int step) const {
    if (step == shape_.steps() - 1)
      a_.fetchLast(fetchedA_);
    else
      a_.fetch(step, fetchedA_);
  }
  void fetchB(const Int32 &step, int stage, int parts) const {
    for (int part = 0; part < parts; ++part)
      b_.fetch(step, part, fragmentB(stage, part));
  }
  void read(int stage, int part) const {
    copy(atom_, read_(_, _, part, stage), slice_.retile(fragmentA(stage, part))(_, _, 0));
  }
  void multiply(int stage, int part) const {
    GemmOptions options{.order = GemmTraversalOrder::MKN};
    if (shape_.form.scaled) {
      options.scale_a.emplace(Int32(0));
      options.scale_b.emplace(Int32(0));
    }
    gemm(mma_, accumulators_, fragmentB(stage, part), fragmentA(stage, part), accumulators_,
         options);
  }

  /// One step of `parts` parts; the step after it has `following` parts, or 0 if there is none.
  /// `ahead` fetches the tile of A of the step after that, if there is one.
  void step(const Int32 &k, int stage, int parts, int following,
            const std::function<void()> &ahead = nullptr) const {
    using Kind = Interleave::Kind;
    const int next = stage ^ 1;
    std::vector<Interleave> orders;
    if (following)
      fetchB(k + 1, next, following);
    for (int part = 0; part < parts; ++part) {
      Interleave order;
      if (part == 0 && following)
        order.add(Kind::vectorMemory, following * shape_.loadsB());
      if (part + 1 < parts) {
        read(stage, part + 1);
        order.add(Kind::ldsRead, shape_.reads());
      } else if (following) {
        copy(atom_, fetchedA_, write_(_, _, _, next));
        order.add(Kind::ldsWrite, shape_.loadsA());
        if (ahead) {
          ahead();
          order.add(Kind::vectorMemory, shape_.loadsA());
        }
        gpu::barrier();
        read(next, 0);
        order.then().add(Kind::ldsRead, shape_.reads());
      }
      multiply(stage, part);
      orders.push_back(order);
    }
    for (const Interleave &order : orders)
      order.say(shape_.products());
    rocdl::sched_barrier(0);
  }

  RingShape shape_;
  TiledMma mma_;
  const SourceA &a_;
  const SourceB &b_;
  Tensor ring_;     // (tileM, tileK, 2)
  Tensor write_;    // (V, m, k, 2)
  Tensor fetchedA_; // (V, m, k)
  CopyAtom atom_;
  ThrCopy slice_;
  Tensor read_;         // (V, m, parts, 2)
  Tensor accumulators_; // (V, n, m)
  std::vector<Tensor> fragmentsA_, fragmentsB_;
};

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
