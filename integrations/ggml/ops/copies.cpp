// Copies: between all types and layouts, of rows by their numbers, and of parts of tensors.
#include "ops/elementwise.h"

namespace flydsl_ggml {
namespace {

using fx::Int32, fx::Int64, fx::Numeric;

/// Threads of a block, where each makes a block of numbers.
constexpr int kBlockOfBlocks = 64;

/// Numbers of f32 that are stored together, 16 bytes, and neighbours of blocks that a thread reads.
constexpr int kStored = 4, kOfBlocks = 16;

bool sameShape(const HostOperand &a, const HostOperand &b) { return a.extent == b.extent; }

/// Numbers to numbers and blocks to numbers, where the elements are in the same order but perhaps not
/// in the same shape.
void copyElements(const Run &run, const Element &to, const Element &from) {
  if (dtypeOf(from.type) && sameShape(to.memory, from.memory)) {
    const Element sources[] = {from};
    return elementwise(run, "copy", to, sources, nullptr);
  }
  std::int64_t total = 1;
  for (const std::int32_t extent : to.memory.extent)
    total *= extent;
  const ggml_type toType = to.type, fromType = from.type;
  run.threads(
      total,
      {.name = std::string("reshape_") + ggml_type_name(toType) + "_" + ggml_type_name(fromType),
       .x = {to.memory, from.memory}},
      [=](const Traced &p, const fx::UInt32 &index) {
        const Place at = placeOf(index, p.x[1].extent);
        const fx::DType type = dtypeOf(fromType);
        storeAt(p.x[0], toType, placeOf(index, p.x[0].extent),
                type && type == dtypeOf(toType) ? rawAt(p.x[1], fromType, at)
                : type && !type.is_float()      ? rawAt(p.x[1], fromType, at)
                                                : valueAt(p.x[1], fromType, at));
      });
}

/// Numbers to blocks: a thread makes a block.
void copyToBlocks(const Run &run, const Element &to, const Element &from) {
  const auto weights = static_cast<std::int32_t>(ggml_blck_size(to.type));
  HostOperand blocks = to.memory;
  blocks.extent[0] /= weights;
  blocks.stride[0] = static_cast<std::int64_t>(ggml_type_size(to.type));
  std::int64_t total = 1;
  for (const std::int32_t extent : blocks.extent)
    total *= extent;
  const ggml_type toType = to.type, fromType = from.type;
  run.threads(
      total,
      {.name = std::string("to_blocks_") + ggml_type_name(toType) + "_" + ggml_type_name(fromType),
       .x = {blocks, from.memory},
       .block = kBlockOfBlocks},
      [=](const Traced &p, const fx::UInt32 &index) {
        // The source may have another shape; a row of it has whole blocks.
        const std::array<Int32, 4> extent{p.x[1].extent[0] / int(weights), p.x[1].extent[1],
                                          p.x[1].extent[2], p.x[1].extent[3]};
        const Place at = placeOf(index, extent);
        const Int64 row = rowAddress(p.x[1], at[1], at[2], at[3]);
        storeBlock(toType, elementAddress(p.x[0], placeOf(index, p.x[0].extent)),
                   [&](const Int32 &j) {
                     return inRow(fromType, row, p.x[1].stride[0], at[0] * int(weights) + j);
                   });
      });
}

/// Blocks to the same blocks, as bytes: pairs of them, or single ones for blocks of an odd size.
void copyBlocks(const Run &run, const Element &to, const Element &from) {
  const auto asBytes = [](const Element &x) {
    const auto bytes = static_cast<std::int32_t>(ggml_type_size(x.type));
    const bool odd = bytes % 2;
    Element result{odd ? GGML_TYPE_I8 : GGML_TYPE_I16, x.memory};
    result.memory.extent[0] =
        static_cast<std::int32_t>(x.memory.extent[0] / ggml_blck_size(x.type)) * bytes /
        (odd ? 1 : 2);
    result.memory.stride[0] = odd ? 1 : 2;
    return result;
  };
  copyElements(run, asBytes(to), asBytes(from));
}

void copy(const Run &run, const Element &to, const Element &from) {
  if (!dtypeOf(to.type) && to.type == from.type)
    copyBlocks(run, to, from);
  else if (!dtypeOf(to.type))
    copyToBlocks(run, to, from);
  else
    copyElements(run, to, from);
}

bool copies(ggml_type to, ggml_type from) {
  if (dtypeOf(to) && dtypeOf(from))
    return to == from || (isFloat(to) && isFloat(from)) || (isFloat(to) && from == GGML_TYPE_I32) ||
           (to == GGML_TYPE_I32 && isFloat(from));
  if (to == from)
    return true;
  return (isFloat(to) && readsBlocks(from)) || (writesBlocks(to) && isFloat(from));
}
bool supportsCopy(const ggml_tensor *op) {
  const ggml_tensor *from = op->src[0];
  if (!copies(op->type, from->type) || !blocksFollow(op) || !blocksFollow(from))
    return false;
  const std::int64_t block = ggml_blck_size(op->type);
  return from->ne[0] % block == 0 && op->ne[0] % ggml_blck_size(from->type) == 0;
}
void runCopy(const Run &run, const ggml_tensor *op) {
  copy(run, elementOf(op), elementOf(op->src[0]));
}

//===-- Parts ----------------------------------------------------------------===//

void runConcat(const Run &run, const ggml_tensor *op) {
  const auto dimension = static_cast<std::size_t>(intParam(op, 0));
  const std::int64_t unit = dimension ? 1 : ggml_blck_size(op->type);
  std::size_t offset = 0;
  for (const ggml_tensor *source : {op->src[0], op->src[1]}) {
    Element part = elementOf(op, offset);
    part.memory.extent[dimension] = static_cast<std::int32_t>(source->ne[dimension]);
    copy(run, part, elementOf(source));
    offset += static_cast<std::size_t>(source->ne[dimension] / unit) * op->nb[dimension];
  }
}
bool supportsConcat(const ggml_tensor *op) {
  return op->type == op->src[0]->type && op->type == op->src[1]->type && blocksFollow(op) &&
         blocksFollow(op->src[0]) && blocksFollow(op->src[1]);
}

/// The part of the result that ACC and SET change: a view with strides of the op's parameters.
Element partOf(const ggml_tensor *op) {
  Element part = elementOf(op, static_cast<std::size_t>(intParam(op, 3)));
  for (std::size_t d = 0; d < 4; ++d) {
    part.memory.extent[d] = static_cast<std::int32_t>(op->src[1]->ne[d]);
    if (d)
      part.memory.stride[d] = intParam(op, static_cast<int>(d - 1));
  }
  return part;
}
void runPart(const Run &run, const ggml_tensor *op) {
  if (op->data != op->src[0]->data)
    copy(run, elementOf(op), elementOf(op->src[0]));
  const Element part = partOf(op);
  if (op->op == GGML_OP_SET)
    return copy(run, part, elementOf(op->src[1]));
  const Element sources[] = {part, elementOf(op->src[1])};
  elementwise(run, "add", part, sources,
              [](std::span<const Numeric> x, const fx::Float32 *) { return Numeric(x[0] + x[1]); });
}
bool supportsPart(const ggml_tensor *op) {
  const bool same = op->type == op->src[0]->type && op->type == op->src[1]->type;
  return same && (op->op == GGML_OP_SET ? static_cast<bool>(dtypeOf(op->type)) : isFloat(op->type));
}

//===-- Rows by numbers ------------------------------------------------------===//

bool isIndex(ggml_type type) { return type == GGML_TYPE_I32 || type == GGML_TYPE_I64; }

bool supportsGetRows(const ggml_tensor *op) {
  const ggml_type from = op->src[0]->type;
  return op->src[1]->type == GGML_TYPE_I32 && blocksFollow(op->src[0]) &&
         ((op->type == GGML_TYPE_F32 && reads(from)) ||
          (op->type == from && from == GGML_TYPE_I32));
}
/// Neighbours that a thread takes: 16 of blocks, and as many numbers as can be loaded and stored together.
int rowsWidth(const ggml_tensor *op) {
  const ggml_tensor *from = op->src[0];
  const int stored = widthOf(operandOf(op), op->type, kStored);
  if (!reads(from->type) || stored < kStored)
    return 1;
  if (!dtypeOf(from->type))
    return kOfBlocks;
  return widthOf(operandOf(from), from->type, kStored) == kStored ? kStored : 1;
}
/// y[:, i10, i11, i12] = x[:, ids[i10, i11, i12], i11, i12]
void runGetRows(const Run &run, const ggml_tensor *op) {
  const ggml_type from = op->src[0]->type, to = op->type;
  const int width = rowsWidth(op);
  run.threads(
      ggml_nelements(op) / width,
      {.name = std::string("get_rows_") + ggml_type_name(to) + "_" + ggml_type_name(from) + "_v" +
               std::to_string(width),
       .x = {operandOf(op), operandOf(op->src[0]), operandOf(op->src[1])}},
      [=](const Traced &p, const fx::UInt32 &index) {
        const auto &extent = p.x[0].extent;
        const Place at = placeOf(index, {extent[0] / width, extent[1], extent[2], extent[3]});
        const Int32 row(rawAt(p.x[2], GGML_TYPE_I32, {at[1], at[2], at[3], 0}));
        const Place source{at[0], row, at[2], at[3]};
        if (width == 1)
          return storeAt(p.x[0], to, at,
                         to == from ? rawAt(p.x[1], from, source) : valueAt(p.x[1], from, source));
        const Int32 first = at[0] * width;
        const auto x = neighboursInRow(from, rowAddress(p.x[1], row, at[2], at[3]),
                                       p.x[1].stride[0], first, width);
        const Int64 y = elementAddress(p.x[0], {first, at[1], at[2], at[3]});
        for (int v = 0; v < width; v += kStored)
          fx::Pointer::from_address(y + std::int64_t{4 * v}, fx::f32, fx::AddressSpace::global,
                                    4 * kStored)
              .store(fourOf(x, static_cast<std::size_t>(v)));
      });
}

bool supportsSetRows(const ggml_tensor *op) {
  return isIndex(op->src[1]->type) && blocksFollow(op) &&
         (isFloat(op->type) || writesBlocks(op->type)) && isFloat(op->src[0]->type);
}
/// y[:, ids[i1, i2 % ., i3 % .], i2, i3] = x[:, i1, i2, i3]
void runSetRows(const Run &run, const ggml_tensor *op) {
  const ggml_tensor *from = op->src[0], *ids = op->src[1];
  const ggml_type to = op->type, fromType = from->type, idType = ids->type;
  const auto weights = static_cast<std::int32_t>(ggml_blck_size(to));
  run.threads(
      ggml_nelements(from) / weights,
      {.name = std::string("set_rows_") + ggml_type_name(to) + "_" + ggml_type_name(fromType) +
               "_" + ggml_type_name(idType),
       .x = {operandOf(op), operandOf(from), operandOf(ids)},
       .block = weights > 1 ? kBlockOfBlocks : Launch{}.block},
      [=](const Traced &p, const fx::UInt32 &index) {
        const TracedOperand &x = p.x[1];
        const Place at =
            placeOf(index, {x.extent[0] / int(weights), x.extent[1], x.extent[2], x.extent[3]});
        const Int64 row(
            rawAt(p.x[2], idType, {at[1], at[2] % p.x[2].extent[1], at[3] % p.x[2].extent[2], 0})
                .to(fx::i64));
        const Int64 target =
            p.x[0].address + row * p.x[0].stride[1] + at[2].to(fx::i64) * p.x[0].stride[2] +
            at[3].to(fx::i64) * p.x[0].stride[3] + at[0].to(fx::i64) * p.x[0].stride[0];
        if (weights > 1)
          return storeBlock(to, target, [&](const Int32 &j) {
            return inRow(fromType, rowAddress(x, at[1], at[2], at[3]), x.stride[0],
                         at[0] * int(weights) + j);
          });
        const fx::DType type = dtypeOf(to);
        const Numeric value = rawAt(x, fromType, at);
        fx::Pointer::from_address(target, type).store(fromType == to ? value : value.to(type));
      });
}

constexpr Op kOps[] = {
    {GGML_OP_DUP, supportsCopy, runCopy},
    {GGML_OP_CPY, supportsCopy, runCopy},
    {GGML_OP_CONT, supportsCopy, runCopy},
    {GGML_OP_CONCAT, supportsConcat, runConcat},
    {GGML_OP_ACC, supportsPart, runPart},
    {GGML_OP_SET, supportsPart, runPart},
    {GGML_OP_GET_ROWS, supportsGetRows, runGetRows},
    {GGML_OP_SET_ROWS, supportsSetRows, runSetRows},
};

} // namespace

std::span<const Op> copyOps() { return kOps; }

} // namespace flydsl_ggml
