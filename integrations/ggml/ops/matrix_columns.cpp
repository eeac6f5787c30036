// Products of a few columns by matrix instructions: as many rows of weights as an instruction has are a
// block of threads, whose waves take parts of the rows in turns. A lane makes the numbers of its part of a
// row in its registers, so that weights are read once and inputs once for sixteen rows. Any order of the
// elements of a row will do if both factors have the same.
#include "ops/formulas.h"
#include "ops/numbers.h"
#include "ops/products.h"

#include <flydsl/rocdl.h>

#include <algorithm>
#include <bit>

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// Rows and columns of an instruction, and elements of a row that a lane gives to it.
constexpr int kTile = 16, kOfLane = 4, kWave = 64;
/// Neighbours that a lane takes at a time, for several instructions.
constexpr int kNeighbours = 16;
/// Those of a wave.
constexpr int kStep = kNeighbours * (kWave / kTile);
constexpr int kMostWaves = 8;
/// Columns from which on this is faster than a wave's products in f32: of many rows of weights, of fewer;
/// and up to which it is faster than a plan: of weights in blocks, of numbers. docs/llama-cpp.md has the
/// estimates.
constexpr std::int64_t kFewest = 5, kFewestOfFew = 9, kMost = 64, kMostOfNumbers = 32;
constexpr std::int64_t kManyRows = 4096;
/// Bytes that are loaded together.
constexpr int kLoaded = 16;

/// The instruction for numbers of a type; null where the target does not have it. Lane l has of A row l % 16,
/// of B column l % 16, of both elements 4 (l / 16) to 4 (l / 16) + 3, and of the product column l % 16
/// with rows 4 (l / 16) to 4 (l / 16) + 3 (matrix_products.h).
const char *instructionOf(const fx::Target &target, ggml_type type) {
  const bool half = type == GGML_TYPE_F16;
  const std::string_view name = half ? "mfma.f32.16x16x16f16" : "mfma.f32.16x16x16bf16.1k";
  for (const fx::rocdl::MatrixProduct &product :
       fx::rocdl::matrix_products(target, dtypeOf(type), dtypeOf(type)))
    if (product.name == name)
      return half ? "f32_16x16x16f16" : "f32_16x16x16bf16_1k";
  return nullptr;
}
/// Whether the neighbours of a lane can be loaded together.
bool loadsTogether(const ggml_tensor *x) {
  const fx::DType type = dtypeOf(x->type);
  if (!type)
    return true;
  const auto together = static_cast<int>(kLoaded / type.bytes());
  return widthOf(operandOf(x), x->type, together) == together;
}

/// The code of a product.
struct Form {
  ggml_type weights, numbers;
  const char *instruction;
  int tiles, waves, products;

  int perWave() const { return products * tiles * kTile * kTile; }
};

/// Neighbours of a row from element `k` on, as numbers, four together.
std::vector<fx::Vector> numbersOf(ggml_type type, const Int64 &row, const Int64 &stride,
                                  const Int32 &k, fx::DType to) {
  std::vector<Numeric> values;
  if (const fx::DType from = dtypeOf(type)) {
    const auto together = static_cast<int>(kLoaded / from.bytes());
    for (int first = 0; first < kNeighbours; first += together) {
      const fx::Vector loaded =
          fx::Pointer::from_address(row + (k + first).to(fx::i64) * std::int64_t{from.bytes()},
                                    from, fx::AddressSpace::global, kLoaded)
              .load(together);
      const fx::Vector numbers = from == to ? loaded : loaded.to(to);
      for (int v = 0; v < together; ++v)
        values.push_back(numbers.at(v));
    }
  } else {
    values = neighboursInRow(type, row, stride, k, kNeighbours);
  }
  std::vector<fx::Vector> fours;
  for (std::size_t v = 0; v < values.size(); v += kOfLane) {
    const fx::Vector four = fourOf(values, v);
    fours.push_back(four.dtype() == to ? four : four.to(to));
  }
  return fours;
}

} // namespace

bool mulMatByMatrix(const Run &run, const ggml_tensor *op, const Then &then) {
  const ggml_tensor *w = op->src[0], *x = op->src[1];
  const bool exact = w->type == GGML_TYPE_F32 || intParam(op, 0) == GGML_PREC_F32 ||
                     (then.up && intParam(then.up, 0) == GGML_PREC_F32);
  const std::int64_t columns = op->ne[1], inner = w->ne[0];
  if (exact || columns < (op->ne[0] < kManyRows ? kFewestOfFew : kFewest) ||
      columns > (dtypeOf(w->type) ? kMostOfNumbers : kMost) || inner % kStep || run.wave != kWave ||
      !loadsTogether(w) || (then.up && !loadsTogether(then.up->src[0])))
    return false;
  Form form{.weights = w->type,
            .numbers = typeOfNumbers(w),
            .instruction = instructionOf(run.target, typeOfNumbers(w)),
            .tiles = static_cast<int>(ceilDiv(columns, kTile)),
            .waves = static_cast<int>(std::bit_floor(static_cast<std::uint64_t>(
                std::clamp<std::int64_t>(inner / kStep, 1, kMostWaves)))),
            .products = then.products()};
  if (!form.instruction)
    return false;
  form.tiles = std::min(form.tiles, 4 / form.products);
  form.waves = std::min(form.waves, 2 * kMostWaves / form.tiles / form.products);
  Launch what{.name = std::string("mul_mat_matrix_") + ggml_type_name(w->type) + "_n" +
                      std::to_string(form.tiles),
              .x = {operandOf(then.result), operandOf(w), operandOf(x)},
              .i = {static_cast<std::int32_t>(x->ne[2] / w->ne[2]),
                    static_cast<std::int32_t>(x->ne[3] / w->ne[3])},
              .grid = {ceilDiv(op->ne[0], kTile), ceilDiv(columns, form.tiles * kTile),
                       op->ne[2] * op->ne[3]},
              .block = form.waves * kWave};
  then.addTo(what);
  if (x->type != form.numbers || !loadsTogether(x)) {
    HostOperand &inputs = what.x[2];
    inputs.address = contiguousNumbers(run, x, form.numbers);
    inputs.stride[0] = static_cast<std::int64_t>(ggml_type_size(form.numbers));
    for (std::size_t d = 1; d < 4; ++d)
      inputs.stride[d] = inputs.stride[d - 1] * x->ne[d - 1];
  }
  run(what, [form, store = then.store()](const Traced &p) {
    const TracedOperand &y = p.x[0], &weights = p.x[1], &inputs = p.x[2];
    const Int32 thread = fx::thread_idx().x, lane = thread % kWave,
                wave(fx::gpu::uniform(thread / kWave));
    const Int32 firstRow = fx::block_idx().x * kTile,
                firstColumn = fx::block_idx().y * (form.tiles * kTile),
                i2 = fx::block_idx().z % y.extent[2], i3 = fx::block_idx().z / y.extent[2];
    // Past the last row or column, it is taken again.
    const auto ofLane = [&](const Int32 &first, const Int32 &extent) {
      return Int32(fx::min(first + lane % kTile, Numeric(extent - 1)));
    };
    const fx::DType number = dtypeOf(form.numbers);
    std::vector<Int64> rows, columns;
    const Int32 row = ofLane(firstRow, y.extent[0]);
    rows.push_back(rowAddress(weights, row, i2 / p.i[0], i3 / p.i[1]));
    if (form.products > 1)
      rows.push_back(rowAddress(p.x[3], row, i2 / p.i[0], i3 / p.i[1]));
    for (int tile = 0; tile < form.tiles; ++tile)
      columns.push_back(
          rowAddress(inputs, ofLane(firstColumn + tile * kTile, y.extent[1]), i2, i3));

    std::vector<fx::Var<fx::Vector>> sums;
    for (int i = 0; i < form.products * form.tiles; ++i)
      sums.emplace_back(fx::Vector::splat(0.0f, kOfLane, fx::f32));
    for (Int32 first : fx::range(wave * kStep, weights.extent[0], form.waves * kStep)) {
      const Int32 k = first + lane / kTile * kNeighbours;
      std::vector<std::vector<fx::Vector>> w;
      for (const Int64 &address : rows)
        w.push_back(numbersOf(form.weights, address, weights.stride[0], k, number));
      for (int tile = 0; tile < form.tiles; ++tile) {
        const auto x = numbersOf(form.numbers, columns[static_cast<std::size_t>(tile)],
                                 inputs.stride[0], k, number);
        for (std::size_t product = 0; product < w.size(); ++product) {
          const auto &sum =
              sums[product * static_cast<std::size_t>(form.tiles) + static_cast<std::size_t>(tile)];
          for (std::size_t i = 0; i < x.size(); ++i)
            sum = fx::rocdl::mfma(form.instruction, w[product][i], x[i], sum.get());
        }
      }
    }

    // The waves' sums, by wave, product, column and row.
    const fx::Pointer memory =
        fx::SharedAllocator().allocate(form.waves * form.perWave() * 4, 16).recast(fx::f32);
    for (std::size_t i = 0; i < sums.size(); ++i)
      (memory +
       Int32(wave * form.perWave() +
             ((static_cast<int>(i) * kTile + lane % kTile) * kTile + lane / kTile * kOfLane)))
          .store(sums[i].get());
    fx::gpu::barrier();
    const int elements = form.tiles * kTile * kTile, threads = form.waves * kWave;
    for (int first = 0; first < elements; first += threads) {
      const Int32 element = thread + first;
      const Int32 m = firstRow + element % kTile, n = firstColumn + element / kTile;
      fx::if_(element < elements && m < y.extent[0] && n < y.extent[1], [&] {
        std::vector<Numeric> products;
        for (int product = 0; product < form.products; ++product) {
          fx::Var<fx::Float32> sum(0.0f);
          for (int of = 0; of < form.waves; ++of)
            sum += (memory + Int32(element + (of * form.perWave() + product * elements))).load();
          products.push_back(sum.get());
        }
        store(p, {m, n, i2, i3}, products);
      });
    }
  });
  return true;
}

} // namespace flydsl_ggml
