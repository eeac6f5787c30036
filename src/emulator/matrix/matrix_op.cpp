#include "emulator/matrix/matrix_op.h"

#include <algorithm>
#include <cctype>

namespace flyemu::matrix {

namespace {

bool consume(std::string_view &text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix)
    return false;
  text.remove_prefix(prefix.size());
  return true;
}

std::optional<unsigned> number(std::string_view &text) {
  size_t digits = 0;
  unsigned result = 0;
  while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])))
    result = result * 10 + static_cast<unsigned>(text[digits++] - '0');
  if (digits == 0 || digits > 4)
    return std::nullopt;
  text.remove_prefix(digits);
  return result;
}

std::optional<Elem> element(std::string_view &text, const Processor &target) {
  const bool fnuz = target.features.has(flydsl::Feature::fnuz_fp8);
  struct Name {
    std::string_view text;
    Elem elem;
  };
  const Name names[] = {{"xf32", Elem::XF32},
                        {"bf16", Elem::BF16},
                        {"f16", Elem::F16},
                        {"f32", Elem::F32},
                        {"f64", Elem::F64},
                        {"fp8", fnuz ? Elem::FP8Fnuz : Elem::FP8},
                        {"bf8", fnuz ? Elem::BF8Fnuz : Elem::BF8},
                        {"i32", Elem::I32},
                        {"iu8", Elem::U8},
                        {"iu4", Elem::U4},
                        {"i8", Elem::I8}};
  for (const Name &name : names)
    if (consume(text, name.text))
      return name.elem;
  return std::nullopt;
}

void chooseArithmetic(MatrixOp &op, const Processor &target) {
  if (isInteger(op.a)) {
    op.arithmetic = Arithmetic::Integer;
  } else if (op.core == MatrixCore::Cdna && (op.a == Elem::F32 || op.a == Elem::F64)) {
    op.arithmetic = Arithmetic::FmaChain;
  } else if (op.core == MatrixCore::Cdna && !op.anyFormat && !op.sparse &&
             target.family != flydsl::Family::cdna2) {
    // This was measured on CDNA3 only. CDNA4's dense forms are assumed to sum the same way.
    op.arithmetic = Arithmetic::GroupTruncate;
    if (op.a == Elem::XF32)
      op.group = 4;
    else if (bitsOf(op.a) == 8)
      op.group = 16;
    else
      op.group = static_cast<uint8_t>(std::min<unsigned>(8, op.k));
  } else {
    op.arithmetic = Arithmetic::SingleRounding;
  }
}

/// gfx90a's names give no block count: the blocks fill the operand's registers, one of them per
/// lane, or two for f64, f16 and the wide ("_1k") bf16 forms.
uint16_t impliedBlocks(const MatrixOp &op, bool wideBF16) {
  bool twoRegisters = op.a == Elem::F64 || op.a == Elem::F16 || wideBF16;
  unsigned operandBits = 64 * 32 * (twoRegisters ? 2 : 1);
  unsigned blockBits = op.m * op.k * bitsOf(op.a);
  return static_cast<uint16_t>(std::max(1u, operandBits / blockBits));
}

/// Whether two sources agree on where gfx1250's operands lie. Of sparse products and those of 32 rows
/// they do not (FlyDSL calls its layout of these provisional, rocjitsu has another). LLVM's assembler
/// takes RDNA4's shapes too, which no description of gfx1250 has.
bool isKnown(const MatrixOp &op) {
  if (op.sparse || op.m != 16 || op.n != 16)
    return false;
  const unsigned bits = bitsOf(op.a);
  return op.k == (bits == 32   ? 4
                  : bits == 16 ? 32
                               : 64) ||
         (bits == 8 && !isInteger(op.a) && op.k == 128);
}

} // namespace

std::optional<MatrixOp> parseMatrixOp(std::string_view mnemonic, const Processor &target) {
  std::string lower(mnemonic);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::string_view text = lower;
  MatrixOp op;
  if (consume(text, "v_mfma_scale_")) {
    op.scaled = true;
  } else if (consume(text, "v_smfmac_")) {
    op.sparse = true;
  } else if (consume(text, "v_wmma_scale_") || consume(text, "v_wmma_scale16_")) {
    op.core = MatrixCore::Gfx1250;
    op.scaled = true;
    op.scaleBlock = lower.starts_with("v_wmma_scale16_") ? 16 : 32;
  } else if (consume(text, "v_swmmac_") || consume(text, "v_wmma_")) {
    op.core = target.family == flydsl::Family::rdna3     ? MatrixCore::Rdna3
              : target.family == flydsl::Family::gfx1250 ? MatrixCore::Gfx1250
                                                         : MatrixCore::Rdna4;
    op.sparse = lower.starts_with("v_swmmac_");
  } else if (!consume(text, "v_mfma_")) {
    return std::nullopt;
  }

  std::optional<Elem> acc = element(text, target);
  if (!acc || !consume(text, "_"))
    return std::nullopt;
  std::optional<unsigned> m = number(text);
  if (!m || !consume(text, "x"))
    return std::nullopt;
  std::optional<unsigned> n = number(text);
  if (!n || !consume(text, "x"))
    return std::nullopt;
  std::optional<unsigned> k = number(text);
  if (!k)
    return std::nullopt;
  op.acc = *acc;
  op.m = static_cast<uint16_t>(*m);
  op.n = static_cast<uint16_t>(*n);
  op.k = static_cast<uint16_t>(*k);

  bool oldSpelling = !consume(text, "_");
  std::string_view beforeBlocks = text;
  if (std::optional<unsigned> blocks = number(text); blocks && consume(text, "b_"))
    op.blocks = static_cast<uint16_t>(*blocks);
  else
    text = beforeBlocks;

  if (consume(text, "f8f6f4")) {
    op.anyFormat = true;
    op.a = op.b = Elem::FP8;
  } else {
    std::optional<Elem> a = element(text, target);
    if (!a)
      return std::nullopt;
    op.a = op.b = *a;
    bool wide = consume(text, "_1k");
    if (!wide && consume(text, "_"))
      if (std::optional<Elem> b = element(text, target))
        op.b = *b;
    if (oldSpelling)
      op.blocks = impliedBlocks(op, wide);
  }
  chooseArithmetic(op, target);
  if (op.core == MatrixCore::Gfx1250 && !isKnown(op))
    return std::nullopt;
  return op;
}

bool hasLanePattern(const MatrixOp &op, const Processor &target) {
  if (op.core != MatrixCore::Cdna || op.sparse || op.anyFormat)
    return false;
  if (target.family == flydsl::Family::cdna2)
    return op.a != Elem::F64;
  return op.blocks > 1 || op.a == Elem::F32 || op.a == Elem::F64;
}

std::optional<MatrixOp> withFormats(const MatrixOp &op, unsigned cbsz, unsigned blgp) {
  static constexpr Elem formats[] = {Elem::FP8, Elem::BF8, Elem::FP6, Elem::BF6, Elem::FP4};
  if (cbsz > 4 || blgp > 4)
    return std::nullopt;
  MatrixOp result = op;
  result.a = formats[cbsz];
  result.b = formats[blgp];
  return result;
}

namespace {

unsigned registersFor(unsigned elements, Elem elem) { return (elements * bitsOf(elem) + 31) / 32; }

/// Slot of k in an A or B operand that stores `storedK` values of row `row` (A) or column `row`
/// (B).
Slot inputSlot(const MatrixOp &op, unsigned rows, unsigned storedK, Elem elem, unsigned block,
               unsigned row, unsigned k) {
  unsigned lane = 0, index = k;
  switch (op.core) {
  case MatrixCore::Cdna: {
    // A lane holds neighbours in k, at most 16 bytes of them: CDNA4's operands of 32 bytes (8-bit
    // f8f6f4, the dense operand of its wider SMFMAC) are two such runs, the second after the first
    // of all lanes.
    unsigned perLane = rows * storedK * op.blocks / 64, bits = bitsOf(elem);
    unsigned run = perLane * bits == 256 ? 128 / bits : perLane;
    unsigned groups = storedK / perLane, part = k / run;
    lane = row + rows * (block + op.blocks * (part % groups));
    index = part / groups * run + k % run;
    break;
  }
  case MatrixCore::Rdna3:
    lane = row; // lanes 16..31 hold a copy
    break;
  case MatrixCore::Rdna4: {
    unsigned perLane = storedK / 2;
    // 16-bit formats alternate between the halves of the wave every 8 bytes; the smaller ones do
    // once.
    unsigned chunk = bitsOf(elem) == 16 ? std::max(4u, perLane / 2) : perLane;
    unsigned part = k / chunk;
    lane = row + 16 * (part % 2);
    index = (part / 2) * chunk + k % chunk;
    break;
  }
  case MatrixCore::Gfx1250: { // the halves of the wave alternate every 16 bytes of 8 and 16 bits
    const unsigned bits = bitsOf(elem);
    const unsigned run = bits == 32 ? storedK / 2 : bits < 8 ? 32 : 128 / bits;
    const unsigned part = k / run;
    lane = row + 16 * (part % 2);
    index = (part / 2) * run + k % run;
    break;
  }
  }
  return {static_cast<uint16_t>(index * bitsOf(elem)), static_cast<uint16_t>(lane)};
}

Slot outputSlot(const MatrixOp &op, unsigned block, unsigned row, unsigned column) {
  unsigned lane = 0, index = 0, width = bitsOf(op.acc);
  switch (op.core) {
  case MatrixCore::Cdna:
    if (op.acc == Elem::F64) {
      lane = column + op.n * (block + op.blocks * (row % 4));
      index = row / 4;
    } else if (op.n == 4) {
      lane = column + 4 * block;
      index = row;
    } else {
      unsigned rowGroups = 64 / op.n;
      lane = column + op.n * ((row / 4) % rowGroups);
      index = row % 4 + 4 * (row / (4 * rowGroups)) + op.m * op.n / 64 * block;
    }
    break;
  case MatrixCore::Rdna3: // one register per row pair, 16-bit results in its lower (or, by OP_SEL,
                          // upper) half
    lane = column + 16 * (row % 2);
    index = row / 2;
    width = 32;
    break;
  case MatrixCore::Rdna4:
  case MatrixCore::Gfx1250:
    lane = column + 16 * (row / 8);
    index = row % 8;
    break;
  }
  return {static_cast<uint16_t>(index * width), static_cast<uint16_t>(lane)};
}

} // namespace

OperandMaps mapOperands(const MatrixOp &op) {
  OperandMaps maps;
  maps.storedK = op.sparse ? op.k / 2 : op.k;
  for (unsigned block = 0; block < op.blocks; ++block) {
    for (unsigned row = 0; row < op.m; ++row)
      for (unsigned k = 0; k < maps.storedK; ++k)
        maps.a.push_back(inputSlot(op, op.m, maps.storedK, op.a, block, row, k));
    for (unsigned column = 0; column < op.n; ++column)
      for (unsigned k = 0; k < op.k; ++k)
        maps.b.push_back(inputSlot(op, op.n, op.k, op.b, block, column, k));
    for (unsigned row = 0; row < op.m; ++row)
      for (unsigned column = 0; column < op.n; ++column)
        maps.d.push_back(outputSlot(op, block, row, column));
  }
  unsigned lanes = op.lanes(), copies = op.core == MatrixCore::Rdna3 ? 2 : 1;
  maps.regsA = registersFor(op.m * maps.storedK * op.blocks * copies / lanes, op.a);
  maps.regsB = registersFor(op.n * op.k * op.blocks * copies / lanes, op.b);
  bool halfRegisters = op.core == MatrixCore::Rdna3 && bitsOf(op.acc) == 16;
  maps.regsD = registersFor(op.m * op.n * op.blocks / lanes, halfRegisters ? Elem::F32 : op.acc);
  return maps;
}

} // namespace flyemu::matrix
