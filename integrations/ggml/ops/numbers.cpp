#include "ops/numbers.h"

#include "ops/elementwise.h"

#include <algorithm>

namespace flydsl_ggml {
namespace {

/// Neighbours of a block that a thread makes numbers of: they share the thread's place and the factors of
/// the block, and the bytes of blocks are loaded together. 8192 x 4096 of Q4_K is estimated at 25 us.
constexpr int kNeighbours = 16;
/// Those that are stored together: 16 bytes.
constexpr int kStored = 8;
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

void numbersOfBlocks(const Run &run, ggml_type from, const HostOperand &blocks, ggml_type type,
                     std::int64_t to) {
  HostOperand pieces = blocks;
  pieces.extent[0] /= kNeighbours;
  std::int64_t total = 1;
  for (const std::int32_t extent : pieces.extent)
    total *= extent;
  run.threads(total,
              {.name = std::string("numbers_") + ggml_type_name(type) + "_" + ggml_type_name(from),
               .x = {{.address = to, .stride = {}, .extent = {}}, pieces}},
              [=](const Traced &p, const fx::UInt32 &index) {
                const Place at = placeOf(index, p.x[1].extent);
                const auto x = neighboursInRow(from, rowAddress(p.x[1], at[1], at[2], at[3]),
                                               p.x[1].stride[0], at[0] * kNeighbours, kNeighbours);
                const fx::DType dtype = dtypeOf(type);
                constexpr std::int64_t bytes = 2 * kNeighbours;
                const fx::Int64 first = p.x[0].address + index.to(fx::i64) * bytes;
                for (std::size_t v = 0; v < x.size(); v += kStored)
                  fx::Pointer::from_address(first + static_cast<std::int64_t>(2 * v), dtype,
                                            fx::AddressSpace::global, 2 * kStored)
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
