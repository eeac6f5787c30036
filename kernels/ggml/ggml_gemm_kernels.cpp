// The kernels of products with weights in ggml's block formats.
#include "blocks/products/operand.h"
#include "frame/compile.h"
#include "frame/forms.h"
#include "ggml/ggml_q8_1.h"
#include "ggml/ggml_registers.h"

#include <flydsl/kernel/dot.h>
#include <flydsl/kernel/wave_memory.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Operands = GgmlOperands;

//===-- Few rows: threads read blocks ---------------------------------------===//

/// A thread's sums over its units of some rows of weights, for some rows of a.
class VectorSums {
public:
  VectorSums(const GgmlGemmProblem &problem, const GgmlGemmConfig &config, const Operands &operands,
             const TileRows &rows, const Int32 &column)
      : problem_(problem), format_(ggmlRow(problem.format)),
        rows_(static_cast<std::size_t>(config.tile_m)) {
    const Tensor a = rowsOf(problem, operands); // (m, k)
    const auto rowOfA = [&](const Int32 &i) { return Int32(min(rows.at(i).a, operands.m - 1)); };
    if (problem.q8_1)
      rounded_.emplace(problem, config, a, rowOfA);
    else
      for (int i = 0; i < config.tile_m; ++i)
        rowsOfA_.push_back(byUnits(a(rowOfA(Int32(i)), _), format_)); // (group, groups, units)
    for (const auto &weights :
         problem.gated ? std::vector{operands.b, operands.up} : std::vector{operands.b}) {
      const GgmlSource source(problem.weight(), weights);
      for (int r = 0; r < config.rows; ++r)
        sources_.push_back(
            {source, source.row(rows.rowOfWeights(Int32(min(column + r, problem.n - 1))))});
    }
    for (std::size_t i = 0; i < sources_.size() * rows_; ++i)
      sums_.emplace_back(Float32(0.0f));
  }

  /// The units from `lane` on, each `lanes` after the one before.
  void run(const Int32 &lane, int lanes) const {
    for (Int32 unit : range(lane, sources_.front().source.unitsOfRow(), lanes))
      addUnit(unit);
  }
  /// The sum of a row of weights and a row of a, over the lanes.
  Numeric sum(std::size_t source, std::size_t i, int lanes) const {
    const Float32 own = sums_[source * rows_ + i].get();
    return lanes == 1 ? Numeric(own) : gpu::warp_reduce(own, Reduction::add, lanes);
  }

private:
  struct Source {
    GgmlSource source;
    GgmlSource::Row row;
  };
  /// Sums of even and odd places, so that two products are one instruction where there is one.
  using Pair = std::optional<Vector>;
  static void addTo(Pair &pair, const Vector &a, const Vector &b) {
    pair.emplace(pair ? math::fma(a, b, *pair) : a * b);
  }
  static Numeric total(const Pair &pair) { return pair->at(0) + pair->at(1); }

  void addUnit(const Int32 &unit) const {
    std::vector<std::vector<GgmlGroup>> groups;
    for (const Source &from : sources_)
      groups.push_back(from.source.groups(from.source.fetch(from.row, unit, {}), unit));
    if (rounded_ && format_.factors && !groups.front().front().offset)
      return addBiased(groups, unit);
    for (std::size_t g = 0; g < groups.front().size(); ++g)
      if (rounded_)
        addWholeNumbers(groups, g, unit);
      else
        addGroup(groups, g, unit);
  }
  /// The same of weights that are scale * (code - bias), which have one scale and one block of a: whole
  /// numbers of all groups are added before the scale, which may be too large for those of a group alone, as
  /// vec_dot_mxfp4_q8_0 of ggml's quants.c adds them.
  void addBiased(const std::vector<std::vector<GgmlGroup>> &groups, const Int32 &unit) const {
    for (std::size_t i = 0; i < rows_; ++i) {
      std::vector<Q8Group> a;
      std::vector<Numeric> ofA;
      for (std::size_t g = 0; g < groups.front().size(); ++g) {
        a.push_back(rounded_->group(static_cast<int>(i), static_cast<int>(g), unit));
        ofA.push_back(products(a[g].words, Vector::splat(UInt32(0x01010101u), a[g].words.size())));
      }
      for (std::size_t s = 0; s < groups.size(); ++s) {
        std::vector<Numeric> all{Float32(0.0f)};
        for (std::size_t g = 0; g < a.size(); ++g) {
          const GgmlGroup &group = groups[s][g];
          all.push_back(all.back() +
                        math::fma(ofA[g], -group.bias, products(*group.codes.words, a[g].words)));
        }
        const Var<Float32> &sum = sums_[s * rows_ + i];
        sum = math::fma(a.front().scale * *groups[s].front().scale, all.back(), sum.get());
      }
    }
  }
  /// The products of a group's codes with the whole numbers of a. All of them are exact: 32 products
  /// of two bytes are less than 2^24, which f32 has.
  void addWholeNumbers(const std::vector<std::vector<GgmlGroup>> &groups, std::size_t g,
                       const Int32 &unit) const {
    const int less = format_.signedBy();
    const bool hasOffset = format_.zero != less;
    std::vector<Vector> codes;
    std::vector<std::optional<Numeric>> offsets;
    for (const std::vector<GgmlGroup> &of : groups) {
      const GgmlGroup &group = of[g];
      codes.push_back(less ? Vector(*group.codes.words ^ 0x80808080u) : *group.codes.words);
      if (less && hasOffset)
        offsets.emplace_back(math::fma(*group.scale, static_cast<float>(less), *group.offset));
      else
        offsets.push_back(group.offset);
    }
    for (std::size_t i = 0; i < rows_; ++i) {
      const Q8Group a = rounded_->group(static_cast<int>(i), static_cast<int>(g), unit);
      std::optional<Numeric> ofA;
      if (hasOffset)
        ofA.emplace(products(a.words, Vector::splat(UInt32(0x01010101u), a.words.size())));
      for (std::size_t s = 0; s < groups.size(); ++s) {
        const GgmlGroup &group = groups[s][g];
        const Numeric ofCodes = products(codes[s], a.words);
        const Var<Float32> &sum = sums_[s * rows_ + i];
        const Numeric scaled = *group.scale * ofCodes;
        sum = math::fma(a.scale, hasOffset ? math::fma(*offsets[s], *ofA, scaled) : scaled,
                        sum.get());
      }
    }
  }
  /// The sum of the products of the bytes of words, in f32.
  static Numeric products(const Vector &a, const Vector &b) {
    std::vector<Int32> sums{Int32(0)};
    for (std::int64_t i = 0; i < a.size(); ++i)
      sums.push_back(dot4(a.at(i).bitcast(i32), b.at(i).bitcast(i32), sums.back()));
    return sums.back().to(f32);
  }
  void addGroup(const std::vector<std::vector<GgmlGroup>> &groups, std::size_t g,
                const Int32 &unit) const {
    const std::size_t rows = rows_, words = groups.front()[g].codes.numbers.size();
    std::vector<Pair> products(sums_.size()), ofA(rows);
    // Words are the outer loop, so that a lane holds a few numbers of
    // each row of weights at a time.
    for (std::size_t word = 0; word < words; word += wordsOfLoad(words))
      for (std::size_t i = 0; i < rows; ++i) {
        const Tensor own = rowsOfA_[i](_, static_cast<int>(g), unit); // (group)
        const std::vector<Vector> a = loadA(own, word, wordsOfLoad(words));
        for (std::size_t w = 0; w < a.size(); ++w)
          for (int half : {0, 2}) {
            const Vector pair = part(a[w], half, 2);
            for (std::size_t s = 0; s < groups.size(); ++s)
              addTo(products[s * rows + i], part(groups[s][g].codes.numbers[word + w], half, 2),
                    pair);
            if (format_.factors)
              ofA[i].emplace(ofA[i] ? *ofA[i] + pair : pair);
          }
      }
    for (std::size_t s = 0; s < groups.size(); ++s)
      for (std::size_t i = 0; i < rows; ++i) {
        const Var<Float32> &sum = sums_[s * rows + i];
        const Numeric product = total(products[s * rows + i]);
        const GgmlGroup &group = groups[s][g];
        if (!format_.factors)
          sum += product;
        else
          sum = group.addTo(sum.get(), product, total(ofA[i]));
      }
  }
  /// How many words' numbers of a are loaded together: 16 bytes.
  std::size_t wordsOfLoad(std::size_t words) const {
    return std::min<std::size_t>(words, problem_.a == f32 ? 1 : 2);
  }
  static std::vector<Vector> loadA(const Tensor &group, std::size_t word, std::size_t words) {
    const int count = static_cast<int>(4 * words);
    const Tensor pieces = logical_divide(group, count);                          // (count, pieces)
    const Vector all = pieces(_, static_cast<int>(word / words)).load().to(f32); // (count)
    std::vector<Vector> parts;
    for (int i = 0; i < count; i += 4)
      parts.push_back(part(all, i, 4));
    return parts;
  }

  const GgmlGemmProblem &problem_;
  const GgmlRow &format_;
  std::size_t rows_;              // of a
  std::vector<Tensor> rowsOfA_;   // (weights of a group, groups of a unit, units)
  std::optional<Q8Rows> rounded_; // instead, if a is rounded
  std::vector<Source> sources_;
  std::vector<Var<Float32>> sums_; // [source][row of a]
};

void vectorProduct(const GgmlGemmProblem &problem, const GgmlGemmConfig &config,
                   const Operands &operands, const TileStart &start, const TileRows &rows) {
  const int lanes = config.lanes;
  const Int32 thread = thread_idx().x, column = start.column + thread / lanes * config.rows;
  const VectorSums sums(problem, config, operands, rows, column);
  sums.run(Int32(thread % lanes), lanes);
  const Tensor c = resultsOf(problem, operands); // (m, n), or (m, topk * n)
  const bool ragged = problem.n % ggmlColumnsOfBlock(config) != 0;
  for (int i = 0; i < config.tile_m; ++i) {
    const TileRows::Row row = rows.at(Int32(i));
    for (int r = 0; r < config.rows; ++r) {
      const auto at = [&](int source) {
        return sums.sum(static_cast<std::size_t>(source), static_cast<std::size_t>(i), lanes);
      };
      const Numeric product = at(r);
      const std::optional<Numeric> up =
          problem.gated ? std::optional(at(config.rows + r)) : std::nullopt;
      Boolean mine(thread % lanes == 0);
      // The grid has as many tiles of one row as there are rows, and blocks of slots without one have left.
      const bool alwaysThere = config.tile_m == 1;
      const Boolean rowThere = alwaysThere ? mine : Boolean(mine & row.exists);
      if_(ragged ? Boolean(rowThere & (column + r < problem.n)) : rowThere, [&] {
        const Numeric sum =
            problem.residual
                ? product + Numeric(residualOf(problem, operands)(row.c, column + r)).to(f32)
                : product;
        const Vector activated = activate(problem.activation, Vector::splat(sum, 1));
        c(row.c, row.first + column + r) = (up ? activated * *up : activated).to(problem.c).at(0);
      });
    }
  }
}

/// A form of the product: what a block does, given where its tile begins and whose rows it has.
using Form = void (*)(const GgmlGemmProblem &, const GgmlGemmConfig &, const Operands &,
                      const TileStart &, const TileRows &);
TileStart startOf(const Spec<GgmlGemmProblem> &spec) {
  return {spec.config.tile_m, ggmlColumnsOfBlock(spec.config), spec.problem.n};
}
/// The kernel of a form whose tiles have rows of a.
using RowsKernel = FamilyKernel<GgmlGemmProblem, GgmlGemmParams>;
RowsKernel overRows(const KernelOf<GgmlGemmParams> &name, Form form,
                    const KernelHints &hints = {}) {
  return {name,
          [form](const Operands &operands, const Constexpr<Spec<GgmlGemmProblem>> &spec) {
            const TileStart start = startOf(spec.value());
            form(spec->problem, spec->config, operands, start, rowsFrom(operands, start.row));
          },
          hints};
}
/// The same of slots of experts.
using SlotsKernel = FamilyKernel<GgmlGemmProblem, GgmlExpertsParams>;
SlotsKernel overSlots(const KernelOf<GgmlExpertsParams> &name, Form form,
                      const KernelHints &hints = {}) {
  return {
      name,
      [form](const GgmlExpertsParams<OnDevice> &p, const Constexpr<Spec<GgmlGemmProblem>> &spec) {
        const TileStart start = startOf(spec.value());
        form(spec->problem, spec->config, p.product, start,
             rowsOfSlots(spec->problem, spec->config, p, start.row));
      },
      hints};
}
/// LLVM's scheduler would by default wait for one load after another where that leaves registers
/// for one more wave. The second kernel has all loads of its units under way together; where they
/// are many, registers would spill.
const KernelHints kTogether{.attributes = {{"amdgpu-sched-strategy", "max-ilp"}}};
const RowsKernel ggmlVector = overRows(kGgmlVector, vectorProduct),
                 ggmlVectorTogether = overRows(kGgmlVector, vectorProduct, kTogether);
const SlotsKernel ggmlExpertsVector = overSlots(kGgmlExpertsVector, vectorProduct),
                  ggmlExpertsVectorTogether =
                      overSlots(kGgmlExpertsVector, vectorProduct, kTogether);
/// The most weights and numbers of a that a lane has under way together.
constexpr int kMostTogether = 192;

bool loadsTogether(const Spec<GgmlGemmProblem> &spec) {
  const int rows = spec.config.rows * (spec.problem.gated ? 2 : 1);
  return (rows + spec.config.tile_m) * ggmlRow(spec.problem.format).unitWeights() <= kMostTogether;
}

//===-- Many rows: matrix instructions --------------------------------------===//

/// Makes tiles of numbers in shared memory: each thread has some pieces of them.
class TileMaker {
public:
  /// The tiles are those of `rows` and of the columns of c from `column` on.
  TileMaker(const GgmlGemmProblem &problem, const GgmlMatrixShape &shape, const Operands &operands,
            const TileRows &rows, const Int32 &column)
      : problem_(problem), shape_(shape), format_(ggmlRow(problem.format)), rows_(rows),
        column_(column), a_(rowsOf(problem, operands)),
        memory_(SharedAllocator().allocate(shape.sharedBytes(), kPieceBytes)),
        tilesA_(tiles(0, shape.tileM, shape.elementsA())),
        tilesB_(tiles(2 * shape.elementsA(), shape.rowsB, shape.elementsB())),
        b_(problem.weight(), operands.b) {
    if (problem.gated)
      up_.emplace(problem.weight(), operands.up);
    for (int i = 0; i < rounds(piecesA()); ++i)
      rowsOfA_.push_back(rows.at(Int32(numberOf(i) / piecesOfRow())));
  }

  /// What a thread has loaded of the tiles of a step.
  struct Fetched {
    std::vector<Vector> a;
    std::vector<GgmlRaw> b;
  };
  Fetched fetch(const Int32 &step) const {
    Fetched fetched;
    for (int i = 0; i < rounds(piecesA()); ++i)
      fetched.a.push_back(fetchA(numberOf(i), rowsOfA_[static_cast<std::size_t>(i)], step));
    for (int i = 0; i < rounds(unitsB()); ++i)
      fetched.b.push_back(fetchB(numberOf(i), step));
    return fetched;
  }
  /// Writes it to tile `stage`, 0 or 1.
  void put(const Fetched &fetched, const Int32 &step, const Int32 &stage) const {
    for (int i = 0; i < rounds(piecesA()); ++i)
      inside(numberOf(i), piecesA(), [&] {
        const Int32 row = numberOf(i) / piecesOfRow(), piece = numberOf(i) % piecesOfRow();
        const Tensor own = tilesA_(row, _, stage);           // (k)
        store(logical_divide(own, kPieceElements)(_, piece), // (V)
              fetched.a[static_cast<std::size_t>(i)].to(problem_.product));
      });
    for (int i = 0; i < rounds(unitsB()); ++i)
      inside(numberOf(i), unitsB(),
             [&] { putUnit(fetched.b[static_cast<std::size_t>(i)], numberOf(i), step, stage); });
  }
  /// The tiles of numbers: (rows, k, stages).
  const Tensor &tilesA() const { return tilesA_; }
  const Tensor &tilesB() const { return tilesB_; }

private:
  static constexpr int kPieceElements = 8; ///< of 16 bits

  int piecesOfRow() const { return shape_.tileK / kPieceElements; }
  int piecesA() const { return shape_.tileM * piecesOfRow(); }
  int unitsB() const { return shape_.rowsB * shape_.units; }
  int rounds(int count) const { return (count + shape_.threads - 1) / shape_.threads; }
  Int32 numberOf(int round) const { return thread_idx().x + round * shape_.threads; }
  /// Runs `body` if the thread's piece is one of `count`.
  void inside(const Int32 &number, int count, const std::function<void()> &body) const {
    if (count % shape_.threads)
      if_(number < count, body);
    else
      body();
  }

  Vector fetchA(const Int32 &number, const TileRows::Row &row, const Int32 &step) const {
    const Int32 piece = number % piecesOfRow(),
                column = step * shape_.tileK + piece * kPieceElements;
    const Boolean valid = row.exists & (column < problem_.k) & (number < piecesA());
    const Tensor pieces = logical_divide(a_(row.a, _), kPieceElements); // (8, pieces)
    return if_(
        valid, [&] { return pieces(_, step * piecesOfRow() + piece).load(); }, // (8)
        [&] { return Vector::splat(0.0, kPieceElements, problem_.a); });
  }

  /// The rows of weights take turns by tiles of 16 for each wave: gate, up, gate, ...
  GgmlRaw fetchB(const Int32 &number, const Int32 &step) const {
    const Int32 row = number / shape_.units, unit = unitOf(number, step);
    const Int32 tile = row / 16;
    const int waves = shape_.waves();
    const Int32 turn = tile / waves, wave = tile % waves;
    const Int32 column =
        column_ + (problem_.gated ? Int32((turn / 2 * waves + wave) * 16) : Int32(tile * 16)) +
        row % 16;
    const GgmlSource source = up_ ? GgmlSource::select(Boolean(turn % 2 == 0), b_, *up_) : b_;
    const Boolean valid =
        (column < problem_.n) & (unit < source.unitsOfRow()) & (number < unitsB());
    return source.fetch(source.row(rows_.rowOfWeights(column)), unit, valid);
  }
  Int32 unitOf(const Int32 &number, const Int32 &step) const {
    return step * shape_.units + number % shape_.units;
  }
  void putUnit(const GgmlRaw &raw, const Int32 &number, const Int32 &step,
               const Int32 &stage) const {
    const Int32 row = number / shape_.units, unit = number % shape_.units;
    const Tensor own = byUnits(tilesB_(row, _, stage), format_); // (group, groups, units)
    const std::vector<GgmlGroup> groups = b_.groups(raw, unitOf(number, step));
    for (int g = 0; g < std::ssize(groups); ++g) {
      const GgmlGroup &group = groups[static_cast<std::size_t>(g)];
      const auto numbers = [&](std::size_t word) {
        return group.weights(word).to(problem_.product);
      };
      const bool single = group.codes.numbers.size() == 1;
      const Tensor pieces =
          logical_divide(own(_, g, unit), single ? 4 : kPieceElements); // (8, pieces)
      for (std::size_t word = 0; word < group.codes.numbers.size(); word += 2)
        store(pieces(_, static_cast<int>(word / 2)),
              single ? numbers(word) : joined(numbers(word), numbers(word + 1))); // (4 or 8)
    }
  }

  /// Writes neighbours of a row of a tile.
  static void store(const Tensor &to, const Vector &values) {
    const Tensor own = make_rmem_tensor(IntTuple(values.size()), to.dtype()); // (V)
    own.store(values);
    const int bits = static_cast<int>(values.size()) * to.dtype().memory_bits();
    copy(make_copy_atom(UniversalCopy(bits), to.dtype()), own, to);
  }
  /// Tiles (rows, k, stages) that begin at an element.
  Tensor tiles(int first, int rows, int elements) const {
    return make_view(
        memory_.recast(problem_.product) + first,
        make_composed_layout(shape_.swizzle().swizzle(),
                             make_layout({rows, shape_.tileK, 2},
                                         {shape_.tileK, 1, elements}))); // (rows, tileK, stages)
  }

  const GgmlGemmProblem &problem_;
  const GgmlMatrixShape &shape_;
  const GgmlRow &format_;
  const TileRows &rows_;
  Int32 column_;
  Tensor a_;                           // (m, k)
  std::vector<TileRows::Row> rowsOfA_; // of a thread's pieces
  Pointer memory_;
  Tensor tilesA_, tilesB_; // (rows, k, stages)
  GgmlSource b_;
  std::optional<GgmlSource> up_;
};

/// The product of the tiles in shared memory.
class TileProduct {
public:
  TileProduct(const GgmlMatrixShape &shape, const TileMaker &tiles)
      : shape_(shape), mma_(weightsFirst(shape.form, shape.waves())),
        atom_(make_copy_atom(UniversalCopy128b(), shape.form.a)),
        sliceA_(make_tiled_copy_B(atom_, mma_).get_slice(thread_idx().x)),
        sliceB_(make_tiled_copy_A(atom_, mma_).get_slice(thread_idx().x)),
        readA_(sliceA_.partition_S(tiles.tilesA())),              // (V, m, parts, stages)
        readB_(sliceB_.partition_S(tiles.tilesB())),              // (V, n, parts, stages)
        partA_(mma_.make_fragment_B(partLayout(shape.tileM))),    // (V, m, k)
        partB_(mma_.make_fragment_A(partLayout(shape.rowsB))),    // (V, n, k)
        sums_(mma_.make_fragment_C({shape.rowsB, shape.tileM})) { // (V, n, m)
    sums_.fill(0);
  }
  void multiply(const Int32 &stage) const {
    for (int part = 0; part < shape_.tileK / shape_.form.part(); ++part) {
      copy(atom_, readA_(_, _, part, stage), sliceA_.retile(partA_)(_, _, 0)); // (V, m)
      copy(atom_, readB_(_, _, part, stage), sliceB_.retile(partB_)(_, _, 0)); // (V, n)
      gemm(mma_, sums_, partB_, partA_, sums_);                                // (V, n, m)
    }
  }
  const Tensor &sums() const { return sums_; }

private:
  /// A part with K as the fastest mode: a piece's registers are neighbours.
  Layout partLayout(int rows) const {
    return make_layout({rows, shape_.form.part()}, {shape_.form.part(), 1});
  }
  const GgmlMatrixShape &shape_;
  TiledMma mma_;
  CopyAtom atom_;
  ThrCopy sliceA_, sliceB_;
  Tensor readA_, readB_; // (V, m or n, parts, 2)
  Tensor partA_, partB_;
  Tensor sums_; // (V, n, m)
};

void matrixProduct(const GgmlGemmProblem &problem, const GgmlGemmConfig &config,
                   const Operands &operands, const TileStart &start, const TileRows &rows) {
  const GgmlMatrixShape shape = *ggmlMatrixShape(problem, config, target());
  const TileMaker tiles(problem, shape, operands, rows, start.column);
  const TileProduct product(shape, tiles);
  const auto last = static_cast<int>(shape.steps() - 1);
  tiles.put(tiles.fetch(Int32(0)), Int32(0), Int32(0));
  gpu::barrier(AddressSpace::shared);
  if (last > 0)
    for (Int32 step : range(last)) {
      const Int32 next = step + 1;
      const TileMaker::Fetched fetched = tiles.fetch(next);
      product.multiply(Int32(step % 2));
      tiles.put(fetched, next, Int32(next % 2));
      gpu::barrier(AddressSpace::shared);
    }
  product.multiply(Int32(last % 2));

  storeTile(problem, operands, rows, start,
            TileOfC({.lanes = target().wave_size(),
                     .tileM = shape.tileM,
                     .tileN = shape.tileN,
                     .threads = shape.threads,
                     .n = problem.n},
                    {.row = start.row,
                     .column = start.column,
                     .rows = rowsLeft(problem, operands, start, shape.tileM)}),
            groupsOf(shape.form, product.sums()));
}

const RowsKernel ggmlMatrix = overRows(kGgmlMatrix, matrixProduct);
const SlotsKernel ggmlExpertsMatrix = overSlots(kGgmlExpertsMatrix, matrixProduct);

// Forms that take ever fewer registers. Of 16 rows, all loads of a lane are under way together; with more
// there are enough of them as it is.
const std::vector<RowsKernel> ggmlRegisters{
    overRows(kGgmlRegisters, registersProduct<true>, kTogether),
    overRows(kGgmlRegisters, registersProduct<true>),
    overRows(kGgmlRegisters, registersProduct<false>)};
const std::vector<SlotsKernel> ggmlExpertsRegisters{
    overSlots(kGgmlExpertsRegisters, registersProduct<true>, kTogether),
    overSlots(kGgmlExpertsRegisters, registersProduct<true>),
    overSlots(kGgmlExpertsRegisters, registersProduct<false>)};

} // namespace

void Family<GgmlGemmProblem>::compile(const Compiler<GgmlGemmProblem> &compiler) {
  const GgmlGemmConfig &config = compiler.config();
  const bool together = loadsTogether({compiler.problem(), config}),
             experts = compiler.problem().experts != 0;
  if (config.registers) {
    const auto tried = [&](const auto &forms) {
      const std::size_t withMore = config.tile_m == 16 ? 0 : 1;
      compileFirstThatFits(compiler, std::span(forms).subspan(withMore), config.threads);
    };
    if (experts)
      tried(ggmlExpertsRegisters);
    else
      tried(ggmlRegisters);
    return;
  }
  if (experts)
    return config.matrix
               ? compiler(ggmlExpertsMatrix, config.threads)
               : compiler(together ? ggmlExpertsVectorTogether : ggmlExpertsVector, config.threads);
  if (config.matrix)
    compiler(ggmlMatrix, config.threads);
  else
    compiler(together ? ggmlVectorTogether : ggmlVector, config.threads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GgmlGemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
