// The main loop of a product: the sums of a block's tile over K.
#pragma once

#include <flydsl/kernel/tensor.h>
#include <flydsl/kernels/parts/gemm_spec.h>

#include <functional>
#include <memory>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::parts {

/// An operand of a product in global memory: a view of it, and how its rows are found. Rows, or
/// columns, start at multiples of 16 bytes. Where the launch alone knows that, the kernel looks at
/// the address and the stride when it runs, and traps if they are not multiples, or if the rows of
/// a tile span 1 GiB or more.
class FLYDSL_API Operand {
public:
  /// (rows, K): the elements of a row along K are neighbours.
  static Operand rows(const Tensor &matrix, Loc loc = Loc::current());
  /// (rows, K): the elements of a column are neighbours. Of f16 and bf16.
  static Operand columns(const Tensor &matrix, Loc loc = Loc::current());
  /// b alone: a vector of prepared_size(problem.weight()) elements, see WeightProblem.
  static Operand prepared(const Tensor &weights, Loc loc = Loc::current());
  /// a alone: row i of the product is row `indices(i)` of the matrix (rows, K), and zeros where
  /// `indices(i)` is no row of it. `indices` is a vector of i32, one for each row of c. All of the
  /// matrix spans less than 1 GiB; the kernel traps otherwise. Every loop takes it.
  static Operand gathered(const Tensor &matrix, const Tensor &indices, Loc loc = Loc::current());

private:
  friend class Mainloop;
  Operand(const Tensor &view, OperandLayout layout, const std::optional<Tensor> &indices, Loc loc)
      : view_(view), layout_(layout), indices_(indices), loc_(loc) {}
  Tensor view_;
  OperandLayout layout_;
  std::optional<Tensor> indices_;
  Loc loc_;
};

/// The sums of a tile: registers of the threads, in f32, or i32 for products of i8.
class FLYDSL_API Sums {
public:
  struct Inside; ///< the library's own

private:
  friend class Mainloop;
  friend class Epilogue;
  explicit Sums(const Inside &inside) : inside_(&inside) {}
  const Inside *inside_;
};

/// Sums up a tile.
class FLYDSL_API Mainloop {
public:
  /// Throws TraceError for operands that are not those of the spec: of another type, rank or
  /// layout, with another K or n where these are known.
  Mainloop(const GemmSpec &spec, const WorkTile &tile, const Operand &a, const Operand &b,
           Loc loc = Loc::current());
  /// Runs the loop, and then `finish` in the waves that hold the sums: all of them, or those of the
  /// first that share K. All threads of the block call it, once.
  void run(const std::function<void(const Sums &)> &finish) const;

private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
