// The kernels of products with weights in ggml's block formats.
#include "blocks/products/epilogue.h"
#include "blocks/products/operand.h"
#include "frame/compile.h"
#include "ggml/ggml_gemm_family.h"
#include "ggml/ggml_unit.h"

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

using Operands = GgmlGemmParams<OnDevice>;

//===-- Few rows: threads read blocks ---------------------------------------===//

/// A thread's sums over its units of some rows of weights, for some rows of a.
class VectorSums {
public:
  VectorSums(const GgmlGemmProblem &problem, const GgmlGemmConfig &config, const Operands &operands,
             const Int32 &row, const Int32 &column)
      : problem_(problem), format_(ggmlRow(problem.format)) {
    for (int i = 0; i < config.tile_m; ++i)
      rowsOfA_.push_back(operands.a.address + min(row + i, operands.m - 1).to(i64) *
                                                  operands.a.stride[0] * problem.a.bytes());
    for (const Int64 &weights : problem.gated ? std::vector{operands.b.address, operands.up.address}
                                              : std::vector{operands.b.address}) {
      const GgmlSource source(problem.weight(), weights);
      for (int r = 0; r < config.rows; ++r)
        sources_.push_back({source, source.row(Int32(min(column + r, problem.n - 1)))});
    }
    for (std::size_t i = 0; i < sources_.size() * rowsOfA_.size(); ++i)
      sums_.emplace_back(Float32(0.0f));
  }

  /// The units from `lane` on, `lanes` apart.
  void run(const Int32 &lane, int lanes) const {
    for (Int32 unit : range(lane, sources_.front().source.unitsOfRow(), lanes))
      addUnit(unit);
  }
  /// The sum of a row of weights and a row of a, over the lanes.
  Numeric sum(std::size_t source, std::size_t i, int lanes) const {
    const Float32 own = sums_[source * rowsOfA_.size() + i].get();
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
    const Int32 first = format_.firstOf(unit);
    for (std::size_t g = 0; g < groups.front().size(); ++g)
      addGroup(groups, g, Int32(first + static_cast<int>(g) * format_.apart()));
  }
  void addGroup(const std::vector<std::vector<GgmlGroup>> &groups, std::size_t g,
                const Int32 &first) const {
    const std::size_t rows = rowsOfA_.size(), words = groups.front()[g].codes.size();
    std::vector<Pair> products(sums_.size()), ofA(rows);
    // Words are the outer loop, so that a lane holds a few numbers of
    // each row of weights at a time.
    for (std::size_t word = 0; word < words; word += wordsOfLoad(words))
      for (std::size_t i = 0; i < rows; ++i) {
        const std::vector<Vector> a = loadA(rowsOfA_[i], first, word, wordsOfLoad(words));
        for (std::size_t w = 0; w < a.size(); ++w)
          for (int half : {0, 2}) {
            const Vector pair = part(a[w], half, 2);
            for (std::size_t s = 0; s < groups.size(); ++s)
              addTo(products[s * rows + i], part(groups[s][g].codes[word + w], half, 2), pair);
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
          sum =
              math::fma(*group.offset, total(ofA[i]), math::fma(*group.scale, product, sum.get()));
      }
  }
  /// How many words' numbers of a are loaded together: 16 bytes.
  std::size_t wordsOfLoad(std::size_t words) const {
    return std::min<std::size_t>(words, problem_.a == f32 ? 1 : 2);
  }
  std::vector<Vector> loadA(const Int64 &row, const Int32 &first, std::size_t word,
                            std::size_t words) const {
    const int count = static_cast<int>(4 * words), bytes = problem_.a.bytes();
    const Int64 at = row + ((first + static_cast<int>(4 * word)) * bytes).to(i64);
    const Vector all = asType(
        Pointer::from_address(at, problem_.a, AddressSpace::global, count * bytes).load(count),
        f32);
    std::vector<Vector> parts;
    for (int i = 0; i < count; i += 4)
      parts.push_back(part(all, i, 4));
    return parts;
  }

  const GgmlGemmProblem &problem_;
  const GgmlRow &format_;
  std::vector<Int64> rowsOfA_;
  std::vector<Source> sources_;
  std::vector<Var<Float32>> sums_; // [source][row of a]
};

void vectorProduct(const GgmlGemmProblem &problem, const GgmlGemmConfig &config,
                   const Operands &operands) {
  const int rowsOfBlock = ggmlRowsOfBlock(config), lanes = config.lanes;
  const std::int64_t across = (problem.n + rowsOfBlock - 1) / rowsOfBlock;
  const Int32 block = block_idx().x, thread = thread_idx().x;
  const Int32 row = block / across * config.tile_m;
  const Int32 column = block % across * rowsOfBlock + thread / lanes * config.rows;
  const VectorSums sums(problem, config, operands, row, column);
  sums.run(Int32(thread % lanes), lanes);
  const bool ragged = problem.n % rowsOfBlock != 0;
  for (int i = 0; i < config.tile_m; ++i)
    for (int r = 0; r < config.rows; ++r) {
      const auto at = [&](int source) {
        return sums.sum(static_cast<std::size_t>(source), static_cast<std::size_t>(i), lanes);
      };
      const Vector activated = activate(problem.activation, Vector::splat(at(r), 1));
      const Vector values =
          asType(problem.gated ? activated * at(config.rows + r) : activated, problem.c);
      Boolean mine(thread % lanes == 0);
      const Boolean rowThere = config.tile_m == 1 ? mine : Boolean(mine & (row + i < operands.m));
      if_(ragged ? Boolean(rowThere & (column + r < problem.n)) : rowThere, [&] {
        const Int64 place = (row + i).to(i64) * operands.c.stride[0] + (column + r).to(i64);
        Pointer::from_address(operands.c.address + place * problem.c.bytes(), problem.c)
            .store(values.at(0));
      });
    }
}

const FamilyKernel ggmlVector{
    kGgmlVector, [](const Operands &operands, const Constexpr<Spec<GgmlGemmProblem>> &spec) {
      vectorProduct(spec->problem, spec->config, operands);
    }};

//===-- Many rows: matrix instructions --------------------------------------===//

/// Makes tiles of numbers in shared memory: each thread has some pieces of them.
class TileMaker {
public:
  /// The tiles begin at (row, column) of c; `rows` rows exist.
  TileMaker(const GgmlGemmProblem &problem, const GgmlMatrixShape &shape, const Operands &operands,
            const Int32 &row, const Int32 &column)
      : problem_(problem), shape_(shape), format_(ggmlRow(problem.format)), operands_(operands),
        row_(row), column_(column),
        memory_(SharedAllocator().allocate(shape.sharedBytes(), kPieceBytes)) {}

  /// What a thread has loaded of the tiles of a step.
  struct Fetched {
    std::vector<Vector> a;
    std::vector<GgmlRaw> b;
  };
  Fetched fetch(const Int32 &step) const {
    Fetched fetched;
    for (int i = 0; i < rounds(piecesA()); ++i)
      fetched.a.push_back(fetchA(numberOf(i), step));
    for (int i = 0; i < rounds(unitsB()); ++i)
      fetched.b.push_back(fetchB(numberOf(i), step));
    return fetched;
  }
  /// Writes it to tile `stage`, 0 or 1.
  void put(const Fetched &fetched, const Int32 &step, const Int32 &stage) const {
    for (int i = 0; i < rounds(piecesA()); ++i)
      inside(numberOf(i), piecesA(), [&] {
        const Int32 number = numberOf(i);
        store(stage * shape_.elementsA(), number * kPieceElements,
              asType(fetched.a[static_cast<std::size_t>(i)], problem_.product));
      });
    for (int i = 0; i < rounds(unitsB()); ++i)
      inside(numberOf(i), unitsB(),
             [&] { putUnit(fetched.b[static_cast<std::size_t>(i)], numberOf(i), step, stage); });
  }
  /// The tiles of numbers: (rows, k, stages).
  Tensor tilesA() const { return tiles(0, shape_.tileM, shape_.elementsA()); }
  Tensor tilesB() const { return tiles(2 * shape_.elementsA(), shape_.rowsB, shape_.elementsB()); }

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

  Vector fetchA(const Int32 &number, const Int32 &step) const {
    const Int32 row = row_ + number / piecesOfRow(),
                column = step * shape_.tileK + number % piecesOfRow() * kPieceElements;
    const Boolean valid = (row < operands_.m) & (column < problem_.k) & (number < piecesA());
    const int bytes = problem_.a.bytes();
    return if_(
        valid,
        [&] {
          const Int64 at =
              operands_.a.address + (row.to(i64) * operands_.a.stride[0] + column.to(i64)) * bytes;
          const auto load = [&](const Numeric &from, int count) {
            return Pointer::from_address(from, problem_.a, AddressSpace::global, kPieceBytes)
                .load(count);
          };
          return bytes == 4 ? joined(load(at, 4), load(at + kPieceBytes, 4))
                            : load(at, kPieceElements);
        },
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
    const GgmlSource source(
        problem_.weight(),
        problem_.gated ? Int64(select(turn % 2 == 0, operands_.b.address, operands_.up.address))
                       : operands_.b.address);
    const Boolean valid =
        (column < problem_.n) & (unit < source.unitsOfRow()) & (number < unitsB());
    return source.fetch(source.row(column), unit, valid);
  }
  Int32 unitOf(const Int32 &number, const Int32 &step) const {
    return step * shape_.units + number % shape_.units;
  }
  void putUnit(const GgmlRaw &raw, const Int32 &number, const Int32 &step,
               const Int32 &stage) const {
    const Int32 unit = unitOf(number, step);
    const Int32 tile = 2 * shape_.elementsA() + stage * shape_.elementsB(),
                first = number / shape_.units * shape_.tileK +
                        (format_.firstOf(unit) - step * shape_.tileK);
    int place = 0;
    for (const GgmlGroup &group :
         GgmlSource(problem_.weight(), operands_.b.address).groups(raw, unit)) {
      const auto numbers = [&](std::size_t word) {
        return group.weights(word).to(problem_.product);
      };
      if (group.codes.size() == 1)
        store(tile, Int32(first + place), numbers(0));
      else
        for (std::size_t word = 0; word < group.codes.size(); word += 2)
          store(tile, Int32(first + (place + static_cast<int>(word) * 4)),
                joined(numbers(word), numbers(word + 1)));
      place += format_.apart();
    }
  }

  /// Writes up to a piece of the tile that begins at element `tile`; `index` counts its elements
  /// row by row.
  void store(const Int32 &tile, const Int32 &index, const Vector &values) const {
    const int bytes = static_cast<int>(values.size()) * shape_.form.bytes();
    const Int32 place = tile + shape_.swizzle()(index);
    Pointer::from_address(memory_.address() + place * shape_.form.bytes(), problem_.product,
                          AddressSpace::shared, bytes)
        .store(values);
  }
  Tensor tiles(int first, int rows, int elements) const {
    return make_view(
        memory_.recast(problem_.product) + first,
        make_composed_layout(shape_.swizzle().swizzle(),
                             make_layout({rows, shape_.tileK, 2}, {shape_.tileK, 1, elements})));
  }

  const GgmlGemmProblem &problem_;
  const GgmlMatrixShape &shape_;
  const GgmlRow &format_;
  const Operands &operands_;
  Int32 row_, column_;
  Pointer memory_;
};

/// The product of the tiles in shared memory.
class TileProduct {
public:
  TileProduct(const GgmlMatrixShape &shape, const TileMaker &tiles)
      : shape_(shape), mma_(weightsFirst(shape.form, shape.waves())),
        atom_(make_copy_atom(UniversalCopy128b(), shape.form.a)),
        sliceA_(make_tiled_copy_B(atom_, mma_).get_slice(thread_idx().x)),
        sliceB_(make_tiled_copy_A(atom_, mma_).get_slice(thread_idx().x)),
        readA_(sliceA_.partition_S(tiles.tilesA())), readB_(sliceB_.partition_S(tiles.tilesB())),
        partA_(mma_.make_fragment_B(partLayout(shape.tileM))),
        partB_(mma_.make_fragment_A(partLayout(shape.rowsB))),
        sums_(mma_.make_fragment_C({shape.rowsB, shape.tileM})) {
    sums_.fill(0);
  }
  void multiply(const Int32 &stage) const {
    for (int part = 0; part < shape_.tileK / shape_.form.part(); ++part) {
      copy(atom_, readA_(_, _, part, stage), sliceA_.retile(partA_)(_, _, 0));
      copy(atom_, readB_(_, _, part, stage), sliceB_.retile(partB_)(_, _, 0));
      gemm(mma_, sums_, partB_, partA_, sums_);
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
                   const Operands &operands) {
  const GgmlMatrixShape shape = *ggmlMatrixShape(problem, config, target());
  const std::int64_t across = (problem.n + shape.tileN - 1) / shape.tileN;
  const Int32 block = block_idx().x;
  const Int32 row = block / across * shape.tileM, column = block % across * shape.tileN;
  const TileMaker tiles(problem, shape, operands, row, column);
  const TileProduct product(shape, tiles);
  const auto last = static_cast<int>(shape.steps() - 1);
  tiles.put(tiles.fetch(Int32(0)), Int32(0), Int32(0));
  gpu::barrier();
  if (last > 0)
    for (Int32 step : range(last)) {
      const Int32 next = step + 1;
      const TileMaker::Fetched fetched = tiles.fetch(next);
      product.multiply(Int32(step % 2));
      tiles.put(fetched, next, Int32(next % 2));
      gpu::barrier();
    }
  product.multiply(Int32(last % 2));

  const TileOfC tile(target().wave_size(), shape.tileM, shape.tileN, shape.threads, problem.n, row,
                     column, Int32(min(operands.m - row, shape.tileM)));
  const GroupSums plain = groupsOf(shape.form, product.sums());
  const Tensor c = operands.c.view(problem.c, {operands.m, problem.n}); // (m, n)
  const Tensor to = tileFrom(c, {row, column}, tile.shape());           // (tileM, tileN)
  if (problem.gated)
    return Epilogue(tile).run(
        [&](int i, int j) {
          return activate(problem.activation, plain(i, 2 * j)) * plain(i, 2 * j + 1);
        },
        to);
  Epilogue epilogue(tile);
  if (problem.activation != Activation::none)
    epilogue.then(applyActivation(problem.activation));
  epilogue.run(plain, to);
}

const FamilyKernel ggmlMatrix{
    kGgmlMatrix, [](const Operands &operands, const Constexpr<Spec<GgmlGemmProblem>> &spec) {
      matrixProduct(spec->problem, spec->config, operands);
    }};

} // namespace

void Family<GgmlGemmProblem>::compile(const Compiler<GgmlGemmProblem> &compiler) {
  if (compiler.config().matrix)
    compiler(ggmlMatrix, compiler.config().threads);
  else
    compiler(ggmlVector, compiler.config().threads);
}

} // namespace kernels::impl

namespace kernels {
FLYDSL_KERNEL_COMPILED(GgmlGemmProblem)
} // namespace kernels
FLYDSL_NAMESPACE_END
