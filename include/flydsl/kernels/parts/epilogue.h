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
  int size; ///< 4 or 8, as the target's matrix instructions leave them
};

/// A step of an epilogue: what becomes of a group, a vector of f32 of its size.
using Stage = std::function<Vector(const Vector &values, const Group &group)>;

/// Stages, one after another, then a store. All of it is traced in the waves that hold the sums,
/// that is in the function that Mainloop::run is given.
class FLYDSL_API Epilogue {
public:
  Epilogue(const GemmSpec &spec, const WorkTile &tile);

  /// Adds a stage of the kernel's own. Throws TraceError where it gives no vector of as many f32.
  /// Adds a stage of the kernel's own. Throws TraceError where it gives no vector of as many f32.
  Epilogue &then(Stage stage, Loc loc = Loc::current());
  /// Multiplies each row by its own factor: a vector of f32, one for each row of c.
  Epilogue &scale_rows(const Tensor &factors, Loc loc = Loc::current());
  /// Multiplies each column by its own factor: a vector of f32, one for each of the n columns.
  Epilogue &scale_columns(const Tensor &factors, Loc loc = Loc::current());
  /// Adds to each column its own number: a vector of n elements of f32, f16 or bf16.
  Epilogue &add_columns(const Tensor &numbers, Loc loc = Loc::current());
  Epilogue &activate(Activation activation);

  /// Stores what the stages give in c (m, n) of f32, f16 or bf16, whose rows are contiguous and
  /// start at multiples of 4 elements, or of 2 or 1 if no more divide n, rounded to its type.
  /// Elements outside of c are not written. Throws TraceError for a c of another rank, type or n.
  void store(const Sums &sums, const Tensor &c, Loc loc = Loc::current()) const;
  /// Calls `take` with each group after the stages and its place, for kernels that store otherwise:
  /// scattered, added atomically, quantised. Groups outside of c are not left out: `take` looks at
  /// their places.
  void each(const Sums &sums,
            const std::function<void(const Vector &values, const Group &group)> &take) const;

private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
