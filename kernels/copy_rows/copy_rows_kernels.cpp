// The kernel of copies of rows. Accesses are numbered through all rows, so that few long rows and many
// short ones have as many threads. A thread's loads are under way together.
#include "blocks/common/element_bits.h"
#include "copy_rows/copy_rows_family.h"
#include "frame/compile.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

class CopiedRows {
public:
  CopiedRows(const CopyRowsProblem &problem, const CopyRowsConfig &config,
             const CopyRowsParams<OnDevice> &p)
      : problem_(problem), block_(config.block), access_(accessOf(problem)), p_(p),
        x_(rowsOf(p.x, p.rowsOfX)), y_(rowsOf(p.y, p.rowsOfY)) {}

  void run() const {
    const auto ofRow = static_cast<std::int32_t>(problem_.n / access_);
    const Numeric first = (block_idx().x * (block_ * kAccessesOfThread) + thread_idx().x).to(u32);
    std::vector<Piece> pieces;
    for (int i = 0; i < kAccessesOfThread; ++i) {
      const Numeric number = first + UInt32(i * block_);
      const Int32 row((number / UInt32(ofRow)).to(i32)), column((number % UInt32(ofRow)).to(i32));
      // Launches have fewer than 2^31 accesses; the last block ends below 2^32.
      const Boolean isInside(number / UInt32(ofRow) < p_.m.to(u32));
      const Int32 known = select(isInside, row, 0).to(i32);
      const Numeric from = problem_.gather ? numberOf(p_.from, known) : Numeric(known),
                    to = problem_.scatter ? numberOf(p_.to, known) : Numeric(known);
      const Boolean copied(isInside & (from >= 0) & (from < p_.rowsOfX) & (to >= 0) &
                           (to < p_.rowsOfY));
      const Vector values = if_(
          copied, [&] { return x_(from, column, _).load(); }, // (access)
          [&] { return Vector::splat(std::int64_t(0), access_, type()); });
      pieces.push_back({copied, to, column, values});
    }
    for (const Piece &piece : pieces)
      if_(piece.copied, [&] { y_(piece.to, piece.column, _).store(piece.values); }); // (access)
  }

private:
  /// What a thread moves at a time.
  struct Piece {
    Boolean copied;
    Numeric to;
    Int32 column;
    Vector values;
  };
  DType type() const { return bitsOf(problem_.type); }
  /// (rows, accesses of a row, access)
  Tensor rowsOf(const Strided<OnDevice, 1> &operand, const Numeric &rows) const {
    return operand.view(type(), {rows, problem_.n / access_, access_},
                        access_ * problem_.type.bytes()); // (rows, accesses, access)
  }
  /// A row's number in another operand, of the type problem.index.
  Numeric numberOf(const Strided<OnDevice, 0> &of, const Int32 &row) const {
    return of.view(problem_.index, p_.m)(row); // (m)
  }

  const CopyRowsProblem &problem_;
  int block_, access_;
  const CopyRowsParams<OnDevice> &p_;
  Tensor x_, y_;
};

const FamilyKernel copyRows{
    kCopyRows, [](const CopyRowsParams<OnDevice> &p, const Constexpr<Spec<CopyRowsProblem>> &spec) {
      CopiedRows(spec->problem, spec->config, p).run();
    }};

} // namespace

void Family<CopyRowsProblem>::compile(const Compiler<CopyRowsProblem> &compiler) {
  compiler(copyRows, compiler.config().block);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(CopyRowsProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
