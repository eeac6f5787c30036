// What becomes of the sums of a product's tile.
#pragma once

#include <flydsl/kernel/vector.h>
#include <flydsl/kernels/parts/mainloop.h>

#include <functional>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

/// Neighbours of a row of c that a thread holds: `size` of them, from (row, column) on. They may
/// lie outside of c at its lower and right edge.
struct FLYDSL_API Group {
  Int32 row, column;
  int size;     ///< 4 or 8, as the target's matrix instructions leave them
  int half = 0; ///< 1: an up of gated pairs, whose row of b is n + column
};

/// A step of an epilogue: what becomes of a group, a vector of f32 of its size.
using Stage = std::function<Vector(const Vector &values, const Group &group)>;
/// What becomes of a group of gates and one of ups, vectors of f32 of their size: one as large.
using Gate = std::function<Vector(const Vector &gate, const Vector &up, const Group &group)>;

/// Stages, one after another, then a store. All of it is traced in the waves that hold the sums,
/// that is in the function that Mainloop::run is given.
///
/// If the spec's problem is gated, each element of c has two sums, a gate and an up. Stages before
/// gate() are applied to both, those after it to what it makes of them.
class FLYDSL_API Epilogue {
public:
  Epilogue(const GemmSpec &spec, const WorkTile &tile);

  /// Adds a stage of the kernel's own. Throws TraceError where it gives no vector of as many f32.
  Epilogue &then(Stage stage, Loc loc = Loc::current());
  /// Multiplies each row by its own factor: a vector of f32, one for each row of c.
  Epilogue &scale_rows(const Tensor &factors, Loc loc = Loc::current());
  /// Multiplies each column by its own factor: a vector of f32, one for each of the n columns; of
  /// gated pairs 2 n, those of gates and then those of ups.
  Epilogue &scale_columns(const Tensor &factors, Loc loc = Loc::current());
  /// Adds to each column its own number: a vector of n elements of f32, f16 or bf16, or 2 n.
  Epilogue &add_columns(const Tensor &numbers, Loc loc = Loc::current());
  Epilogue &activate(Activation activation);
  /// Makes one element of each gate and its up: activation(gate) * up, or a function's result.
  /// Throws TraceError if the problem is not gated, and the second time.
  Epilogue &gate(Activation activation, Loc loc = Loc::current());
  Epilogue &gate(Gate gate, Loc loc = Loc::current());

  /// Stores what the stages give in c (m, n) of f32, f16 or bf16, whose rows are contiguous and
  /// start at multiples of 4 elements, or of 2 or 1 if no more divide n, rounded to its type.
  /// Elements outside of c are not written. Throws TraceError for a c of another rank, type or n,
  /// and for gated pairs without gate().
  void store(const Sums &sums, const Tensor &c, Loc loc = Loc::current()) const;
  /// Calls `take` with each group after the stages and its place, for kernels that store otherwise:
  /// scattered, added atomically, quantised. Groups outside of c are not left out: `take` looks at
  /// their places.
  void each(const Sums &sums,
            const std::function<void(const Vector &values, const Group &group)> &take,
            Loc loc = Loc::current()) const;

private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
