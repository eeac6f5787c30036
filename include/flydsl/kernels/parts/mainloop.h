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
  /// (rows, K): the elements of a column are neighbours. Of f16 and bf16. Loads have pieces of 16 bytes of
  /// neighbouring rows: a has whole ones, which may be more rows than c has, and the kernel traps otherwise.
  static Operand columns(const Tensor &matrix, Loc loc = Loc::current());
  /// b alone: a vector of prepared_size(problem.weight()) elements, see WeightProblem.
  static Operand prepared(const Tensor &weights, Loc loc = Loc::current());
  /// a alone: row i of the product is row `indices(i)` of the matrix (rows, K), and zeros where
  /// `indices(i)` is no row of it. `indices` is a vector of i32, one for each row of c. All of the
  /// matrix spans less than 1 GiB; the kernel traps otherwise. Every loop takes it: a ring that the
  /// tensor data mover fills (gfx1250) is one of two stages by registers then.
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

/// Scales of blocks: of a (rows, ceil(k / 128)), of b (ceil(rows of b / 128), ceil(k / 128)), at any
/// strides. They are f32, or f8E8M0FNU if problem.scale says so. The scales of gathered rows are
/// those that the indices of a name.
struct FLYDSL_API BlockScales {
  Tensor a, b;
};

/// Memory through which the sums of parts of K go, if split_k is not 1.
struct FLYDSL_API PartsOfK {
  /// (split_k, m, part_columns(spec)), f32, or i32 for products of i8. It is written before it is
  /// read. Rows start at multiples of 16 bytes, and those of a tile span less than 1 GiB.
  Tensor sums;
  /// A vector of part_flags(spec, m) elements of i64, by which the blocks of each tile of c count
  /// themselves; those of neighbouring tiles are in different cache lines. They are zero before the
  /// first launch; each launch leaves them so. A kernel that finds another number traps.
  Tensor flags;
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
  /// layout, with another K or n where these are known; and if the spec's problem has scales of
  /// blocks and none are given, or the other way round; and if blocks do not have config.threads
  /// threads in a row, or are traced without a size.
  Mainloop(const GemmSpec &spec, const WorkTile &tile, const Operand &a, const Operand &b,
           Loc loc = Loc::current());
  Mainloop(const GemmSpec &spec, const WorkTile &tile, const Operand &a, const Operand &b,
           const std::optional<BlockScales> &scales, Loc loc = Loc::current());
  /// Runs the loop, and then `finish` in the waves that hold the sums: all of them, or those of the
  /// first that share K. All threads of the block call it, once. Throws TraceError if split_k is not
  /// 1.
  void run(const std::function<void(const Sums &)> &finish, Loc loc = Loc::current()) const;
  /// The same if blocks share K: each writes the sums of its part to memory, and the block of a tile
  /// that comes last runs `finish` with the sums of all, which are added in the order of the parts.
  /// If split_k is 1, the memory is not looked at.
  void run(const PartsOfK &memory, const std::function<void(const Sums &)> &finish,
           Loc loc = Loc::current()) const;

private:
  struct Inside;
  std::shared_ptr<Inside> inside_;
};

} // namespace kernels::parts
FLYDSL_NAMESPACE_END
