// The matrix instruction of a product, and what follows from its row for the layout of operands. No
// compiler is needed to ask. Every fact about an instruction comes from rocdl::matrix_products.
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/rocdl/matrix_products.h>
#include <flydsl/target.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The bytes of a row that a lane holds as a piece: one load brings them.
inline constexpr int kPieceBytes = 16;
/// A product of 16 x 16 by a wave (kernels/README.md has examples). The weights b are the instruction's A.
struct MatrixForm {
  rocdl::MatrixProduct instruction;
  /// The instruction by whose layouts operands are moved: the same, or of elements of 4 bits one
  /// of bytes: a byte is two of them. `a`, `b`, `k` and what follows from its layouts are its.
  rocdl::MatrixProduct moved;
  DType a, b;  ///< types of the elements
  DType acc;   ///< f32 or i32
  int k;       ///< K of one instruction
  bool scaled; ///< the instruction has scales, which are 1
  int lanes;   ///< lanes of a wave
  int across;  ///< lanes that share the K of a row; RDNA3's two lanes of a row hold the same: 1
  int run;     ///< neighbours in K that a lane holds side by side
  int sumRun;  ///< neighbouring rows of the result that a lane has; 1 if it has every other row

  explicit MatrixForm(const rocdl::MatrixProduct &product) : MatrixForm(product, product) {}
  MatrixForm(const rocdl::MatrixProduct &product, const rocdl::MatrixProduct &moved)
      : instruction(product), moved(moved), a(moved.b), b(moved.a), acc(product.acc), k(moved.k),
        scaled(product.is_scaled()), lanes(product.lanes), across(moved.lanes_of_row()),
        run(moved.layout_a.run(moved.m)), sumRun(product.layout_c.run(1)) {}

  /// Whether all lanes of a row hold all of its elements (RDNA3).
  bool replicated() const { return instruction.layout_a.copies() > 1; }
  /// Whether the lanes of a column of the result hold its rows in turn (RDNA3). Otherwise a lane
  /// has `sumRun` neighbours.
  bool interleaved() const { return sumRun == 1; }
  /// Whether sums may lie in registers of their own (CDNA), which leaves the others to operands.
  bool accumulates() const { return instruction.target.has(Feature::accumulation_registers); }

  int bytes() const { return a.memory_bits() / 8; }
  /// Elements of a piece.
  int piece() const { return kPieceBytes / bytes(); }
  /// The elements of K of a row that one piece of every lane covers.
  int granule() const { return piece() * across; }
  /// The elements of K that are loaded and multiplied together: whole pieces and instructions.
  int part() const { return k > granule() ? k : granule(); }
  /// The elements of K that a lane holds for one instruction.
  int perLane() const { return k / across; }
  /// The blocks of K whose scales a lane gives to an instruction with scales: bytes of a register. On
  /// CDNA each group of 16 lanes gives those of its own block; on gfx1250 a lane has those of all
  /// blocks of its row. (Sources: Composable Kernel's test/mx_mfma_op, and FlyDSL's
  /// gemm_common_gfx1250.py.)
  int scalesOfLane() const {
    return instruction.target.has(Feature::wmma_scale) ? instruction.k / instruction.scale_block
                                                       : 1;
  }
  /// Runs of 8 elements of K that an instruction takes of a lane, besides those that all lanes of a
  /// row hold (RDNA3): two of gfx1250's halves, one of other targets' operands.
  int runsOfEight() const { return replicated() ? 1 : std::max(1, perLane() / 8); }
  /// Registers of a lane for the sums of 16 x 16.
  int sums() const { return 16 * 16 / lanes; }
  /// Instructions for a part.
  int products() const { return part() / k; }
};

/// The kinds of element types that matrix instructions distinguish.
enum class MatrixKind { half, byte, float8 };

inline std::optional<MatrixKind> matrixKind(DType dtype) {
  using enum DType::Kind;
  switch (dtype.kind()) {
  case f16:
  case bf16:
    return MatrixKind::half;
  case i8:
    return MatrixKind::byte;
  case f8E4M3FN:
  case f8E5M2:
  case f8E4M3FNUZ:
  case f8E5M2FNUZ:
    return MatrixKind::float8;
  default:
    return std::nullopt;
  }
}

/// True for a float of 8 bits in the format of the target's instructions.
inline bool hasFloat8(const Target &target, DType dtype) {
  using enum DType::Kind;
  switch (dtype.kind()) {
  case f8E4M3FN:
  case f8E5M2:
    return target.has(Feature::ocp_fp8);
  case f8E4M3FNUZ:
  case f8E5M2FNUZ:
    return target.has(Feature::fnuz_fp8);
  default:
    return false;
  }
}

/// The instructions of 16 x 16 for operands of types a and b, the longest first; none if the target
/// has none.
inline std::vector<MatrixForm> matrixForms(const Target &target, DType a, DType b) {
  std::vector<MatrixForm> forms;
  const auto kind = matrixKind(a);
  if (!kind)
    return forms;
  const DType acc = *kind == MatrixKind::byte ? i32 : f32;
  for (const rocdl::MatrixProduct &product : rocdl::matrix_products(target, b, a))
    if (product.m == 16 && product.n == 16 && product.acc == acc)
      forms.emplace_back(product);
  return forms;
}

/// The instruction for operands of types a and b and for steps of `stepK` elements in K, of rows
/// that are whole multiples of `rowK` elements; none if the target has none.
inline std::optional<MatrixForm> matrixForm(const Target &target, DType a, DType b,
                                            std::int64_t stepK, std::int64_t rowK) {
  for (const MatrixForm &form : matrixForms(target, a, b))
    if (stepK % form.part() == 0 && rowK % form.part() == 0)
      return form;
  return std::nullopt;
}
/// What an operand's elements are in memory and on their way: those of 4 bits are moved in pairs.
struct PackedOperand {
  DType element;
  int bits() const { return element.memory_bits(); }
  /// The elements of a unit that is moved, and its type.
  int elements() const { return bits() < 8 ? 8 / bits() : 1; }
  DType unit() const { return bits() < 8 ? DType(i8) : element; }
};
/// The forms of the two operands, whose units of K may differ.
struct MxForms {
  MatrixForm a, b;
};
/// Whether the target's matrix instructions take scales of 32 elements of K.
inline bool hasMxInstructions(const Target &target) {
  return target.has(Feature::mfma_scale) || target.has(Feature::wmma_scale);
}
/// The instruction with scales of 32 elements of K, as each operand sees it; none if the target does
/// not have it for these types. The weights' elements are not longer than those of A.
inline std::optional<MxForms> mxForms(const Target &target, DType a, DType b) {
  const auto find = [&](DType first, DType second) -> std::optional<rocdl::MatrixProduct> {
    for (const rocdl::MatrixProduct &product : rocdl::matrix_products(target, first, second))
      if (product.m == 16 && product.n == 16 && product.layout_a.is_known() &&
          (first == i8 ? product.k == 64 : product.scale_block == 32))
        return product;
    return std::nullopt;
  };
  if (!hasMxInstructions(target) || a.memory_bits() < b.memory_bits())
    return std::nullopt;
  // 64 bytes along K are 128 elements of 4 bits, and lie in the lanes alike: pieces of 16 bytes of a
  // row in turn (alongK).
  const auto product = find(b, a);
  const auto movedOf = [&](DType type) {
    return type.memory_bits() < 8 ? find(i8, i8) : find(type, type);
  };
  const bool alike = a.memory_bits() == b.memory_bits();
  const auto movedA = alike && a.memory_bits() == 8 ? product : movedOf(a),
             movedB = alike ? movedA : movedOf(b);
  if (!product || !movedA || !movedB)
    return std::nullopt;
  return MxForms{MatrixForm(*product, *movedA), MatrixForm(*product, *movedB)};
}
/// The elements of K that every product of operands of types a and b is a multiple of; 0 if the
/// target has no instruction for them.
inline int fewestOfK(const Target &target, DType a, DType b) {
  int fewest = 0;
  for (const MatrixForm &form : matrixForms(target, a, b))
    fewest = fewest ? std::min(fewest, form.part()) : form.part();
  return fewest;
}

/// What the target's matrix instructions take, for messages.
inline std::string productTypes(const Target &target) {
  std::string types = "both are f16, or both bf16, or both i8";
  if (target.has(Feature::ocp_fp8))
    types += ", or each is f8E4M3FN or f8E5M2";
  if (target.has(Feature::fnuz_fp8))
    types += ", or each is f8E4M3FNUZ or f8E5M2FNUZ";
  return target.name() + " has products where " + types;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
