#include "ops/numbers.h"

#include "ops/elementwise.h"

#include <algorithm>

namespace flydsl_ggml {
namespace fk = flydsl::kernels;
namespace {

/// Neighbours of a block that a thread makes numbers of: they share the thread's place and the factors of
/// the block, and the bytes of blocks are loaded together. 8192 x 4096 of Q4_K is estimated at 25 us.
constexpr int kNeighbours = 16;
/// Those that are stored together: 16 bytes.
constexpr int kStored = 8;
/// The rows and columns of a block of prepared weights of 16 bits (WeightProblem).
constexpr int kPreparedRows = 16, kPreparedColumns = 32;
/// Weights of blocks that are in memory as numbers at a time.
constexpr std::int64_t kPart = std::int64_t{1} << 25;

} // namespace

bool arePlanWeights(const ggml_tensor *weights) {
  return weights->op == GGML_OP_NONE && !weights->view_src && ggml_is_contiguous(weights) &&
         beginsAligned(weights);
}
ggml_type typeOfNumbers(const ggml_tensor *weights) {
  return weights->type == GGML_TYPE_F16 ? GGML_TYPE_F16 : GGML_TYPE_BF16;
}
std::int64_t rowsOfPart(const ggml_tensor *weights, std::int64_t matrices) {
  const std::int64_t rows = weights->ne[1];
  if (dtypeOf(weights->type))
    return rows;
  constexpr std::int64_t unit = 64;
  return std::min(rows, std::max(unit, kPart / weights->ne[0] / matrices / unit * unit));
}
fx::TensorArg workspaceOf(const Run &run, std::size_t bytes) {
  return fx::tensor(run.scratch->take(bytes), fx::u8, {bytes});
}

fk::OperandLayout layoutOfNumbers(const fx::Target &target, const ggml_tensor *weights,
                                  std::int64_t rows) {
  const bool isWhole = rows % kPreparedRows == 0 && weights->ne[0] % kPreparedColumns == 0;
  return target.wave_size() == 64 && !dtypeOf(weights->type) && isWhole
             ? fk::OperandLayout::prepared
             : fk::OperandLayout::rows;
}

void numbersOfBlocks(const Run &run, ggml_type from, const HostOperand &blocks, ggml_type type,
                     std::int64_t to, fk::OperandLayout layout) {
  const bool prepared = layout == fk::OperandLayout::prepared;
  HostOperand pieces = blocks;
  pieces.extent[0] /= kNeighbours;
  std::int64_t total = 1;
  for (const std::int32_t extent : pieces.extent)
    total *= extent;
  // Prepared, rows come in groups of 16: neighbouring threads have the rows of a group.
  if (prepared)
    pieces.extent[1] /= kPreparedRows;
  run.threads(total,
              {.name = std::string("numbers_") + (prepared ? "prepared_" : "") +
                       ggml_type_name(type) + "_" + ggml_type_name(from),
               .x = {{.address = to, .stride = {}, .extent = {}}, pieces}},
              [=](const Traced &p, const fx::UInt32 &index) {
                constexpr std::int64_t kBytes = 2 * kStored; // that are stored together
                const fx::UInt32 group = prepared ? fx::UInt32(index / kPreparedRows) : index;
                const fx::Int32 inGroup =
                    prepared ? fx::Int32((index % kPreparedRows).to(fx::i32)) : fx::Int32(0);
                const Place at = placeOf(group, p.x[1].extent);
                const fx::Int32 row = prepared ? fx::Int32(at[1] * kPreparedRows + inGroup) : at[1];
                const auto x = neighboursInRow(from, rowAddress(p.x[1], row, at[2], at[3]),
                                               p.x[1].stride[0], at[0] * kNeighbours, kNeighbours);
                const fx::DType dtype = dtypeOf(type);
                // Those that are stored together have those of the other rows of the group after them.
                const std::int64_t step = prepared ? kPreparedRows * kBytes : kBytes;
                const fx::Int64 first = p.x[0].address +
                                        group.to(fx::i64) * (kNeighbours / kStored * step) +
                                        inGroup.to(fx::i64) * kBytes;
                for (std::size_t v = 0; v < x.size(); v += kStored)
                  fx::Pointer::from_address(first + static_cast<std::int64_t>(v / kStored) * step,
                                            dtype, fx::AddressSpace::global, kBytes)
                      .store(fx::Vector::of({x[v], x[v + 1], x[v + 2], x[v + 3], x[v + 4], x[v + 5],
                                             x[v + 6], x[v + 7]})
                                 .to(dtype));
              });
}

std::int64_t contiguousNumbers(const Run &run, const ggml_tensor *x, ggml_type type) {
  const auto size = static_cast<std::int64_t>(ggml_type_size(type));
  Element numbers{type, operandOf(x)};
  numbers.memory.address = reinterpret_cast<std::intptr_t>(
      run.scratch->take(static_cast<std::size_t>(ggml_nelements(x) * size)));
  numbers.memory.stride[0] = size;
  for (std::size_t d = 1; d < 4; ++d)
    numbers.memory.stride[d] = numbers.memory.stride[d - 1] * x->ne[d - 1];
  if (dtypeOf(x->type)) {
    const Element sources[] = {elementOf(x)};
    elementwise(run, "copy", numbers, sources, nullptr);
  } else {
    numbersOfBlocks(run, x->type, operandOf(x), type, numbers.memory.address);
  }
  return numbers.memory.address;
}

Numbers numbersOf(const Run &run, const ggml_tensor *x, ggml_type type) {
  Numbers numbers{};
  const auto size = static_cast<std::int64_t>(ggml_type_size(type));
  if (x->type == type) {
    numbers.address = operandOf(x).address;
    for (std::size_t d = 0; d < 4; ++d)
      numbers.strides[d] = static_cast<std::int64_t>(x->nb[d]) / size;
  } else {
    numbers.address = contiguousNumbers(run, x, type);
    numbers.strides = {1, x->ne[0], x->ne[0] * x->ne[1], x->ne[0] * x->ne[1] * x->ne[2]};
  }
  return numbers;
}

bool rowsAreAligned(const ggml_tensor *x, std::int64_t elements) {
  const std::size_t bytes = static_cast<std::size_t>(elements) * ggml_type_size(x->type);
  bool all = reinterpret_cast<std::uintptr_t>(x->data) % bytes == 0;
  for (std::size_t d = 1; d < 4; ++d)
    all &= x->ne[d] == 1 || x->nb[d] % bytes == 0;
  return all;
}

} // namespace flydsl_ggml
