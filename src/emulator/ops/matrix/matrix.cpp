#include "emulator/ops/matrix/matrix.h"

#include "emulator/core/wave.h"
#include "emulator/isa/decode/fields.h"
#include "emulator/matrix/execute.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>

namespace flyemu {

namespace {
/// The row of a matrix instruction, made from its mnemonic when it is first met.
struct MatrixDef : OpDef {
  std::string mnemonic;
  matrix::MatrixOp op;
};

std::mutex tableMutex;

/// An operand as rows of registers; constants are spread over `buffer`. A constant
/// of 16 bits is every element, so both halves of a register: LLVM writes the
/// splat of a half so (SelectWMMAVISrc).
const uint32_t *rows(const Wave &w, const Operand &o, Type type, unsigned count, uint32_t *buffer) {
  if (o.isVgpr())
    return w.row(o.index);
  const bool wide = o.kind == Kind::ImmHigh || o.kind == Kind::ImmPi || o.kind == Kind::ImmZero;
  uint64_t x = wide ? read64(w, o) : read32(w, o);
  if (is16(type))
    x = (x & 0xffff) * 0x10001;
  for (unsigned r = 0; r < count; ++r)
    for (unsigned lane = 0; lane < kLanes; ++lane)
      buffer[r * kLanes + lane] = static_cast<uint32_t>(wide && r % 2 ? x >> 32 : x);
  return buffer;
}

matrix::Precision precisionOf(Products products) {
  switch (products) {
  case Products::Exact:
    return matrix::Precision::Exact;
  case Products::Fast:
    return matrix::Precision::Fast;
  case Products::None:
    return matrix::Precision::None;
  }
  __builtin_unreachable();
}

void runMatrix(Wave &w, const Inst &i) {
  const auto &plan = *static_cast<const matrix::MatrixPlan *>(i.plan);
  const matrix::MatrixOp &op = plan.op();
  if (op.core != matrix::MatrixCore::Cdna && w.exec() != w.fullMask())
    throw WaveFault{"a matrix instruction with lanes switched off"};
  if (w.lanes != op.lanes())
    throw WaveFault{"a matrix instruction for waves of another size"};
  alignas(64) uint32_t constants[32 * kLanes], scales[2][2 * kLanes];
  matrix::WaveRegisters r;
  r.laneStride = kLanes;
  r.a = w.row(i.src[0].index);
  r.b = w.row(i.src[1].index);
  r.d = w.row(i.dst.index);
  if (op.sparse) {
    r.c = r.d;
    r.index = w.row(i.src[2].index);
  } else {
    r.c = rows(w, i.src[2], i.op->src[2], plan.regsD(), constants);
  }
  matrix::Modifiers m;
  m.cbsz = i.matrix.cbsz;
  m.abid = i.matrix.abid;
  m.blgp = i.matrix.blgp;
  m.clamp = i.flags & kClamp;
  if (op.core != matrix::MatrixCore::Cdna) {
    for (unsigned k = 0; k < 3; ++k) {
      m.negLo |= static_cast<uint8_t>((i.src[k].flags & kNeg ? 1 : 0) << k);
      m.negHi |= static_cast<uint8_t>((i.src[k].flags & kNegHi ? 1 : 0) << k);
    }
    m.upperHalf = i.opsel >> 2 & 1;
    if (op.sparse) { // the index key, in the place of CDNA's ABID
      m.abid = i.opsel & 1;
      m.upperHalf = false;
    }
  }
  if (op.scaled) {
    const unsigned words = op.k / op.scaleBlock > 4 ? 2 : 1;
    r.scaleA = rows(w, i.scaleA, Type::B32, words, scales[0]);
    r.scaleB = rows(w, i.scaleB, Type::B32, words, scales[1]);
    m.opselA = i.matrix.partOfA;
    m.opselB = i.matrix.partOfB;
  }
  plan.execute(m, r, precisionOf(w.products));
}

Type typeOfRegisters(unsigned n) {
  switch (n) {
  case 1:
    return Type::B32;
  case 2:
    return Type::B64;
  case 3:
    return Type::B96;
  case 4:
    return Type::B128;
  case 6:
  case 8:
    return Type::B256;
  case 16:
    return Type::B512;
  default:
    return Type::B1024;
  }
}
} // namespace

const OpDef *findMatrixOp(const std::string &mnemonic, const Machine &target) {
  // Not destroyed: streams may run while the process exits.
  static auto &defs =
      *new std::map<std::pair<std::string, const Machine *>, std::unique_ptr<MatrixDef>>;
  std::lock_guard lock(tableMutex);
  auto &d = defs[{mnemonic, &target}];
  if (!d) {
    auto op = matrix::parseMatrixOp(mnemonic, *target.processor);
    if (!op)
      return nullptr;
    d = std::make_unique<MatrixDef>();
    d->mnemonic = mnemonic;
    d->op = *op;
    matrix::MatrixPlan plan(op->anyFormat ? *matrix::withFormats(*op, 0, 0) : *op);
    d->name = d->mnemonic;
    d->fn = runMatrix;
    d->cls = Class::Mfma;
    d->dst = typeOfRegisters(plan.regsD());
    d->src[0] = typeOfRegisters(plan.regsA());
    d->src[1] = typeOfRegisters(plan.regsB());
    // Constants of the third operand expand as the accumulator's type does.
    d->src[2] = op->sparse                      ? Type::B32
                : op->acc == matrix::Elem::F64  ? Type::F64
                : op->acc == matrix::Elem::F16  ? Type::F16
                : op->acc == matrix::Elem::BF16 ? Type::BF16
                                                : Type::B32;
    d->flops = 2u * op->m * op->n * op->k * op->blocks;
  }
  return d.get();
}

const char *prepareMatrix(const Machine &target, const uint32_t *words, Inst &inst) {
  static auto &plans = *new std::map<std::tuple<const OpDef *, unsigned, unsigned>,
                                     std::unique_ptr<matrix::MatrixPlan>>; // nor is this
  matrix::MatrixOp op = static_cast<const MatrixDef *>(inst.op)->op;
  unsigned formatA = 0, formatB = 0;
  const bool isGfx1250 = op.core == matrix::MatrixCore::Gfx1250;
  if (isGfx1250 && op.anyFormat) { // in the place of OP_SEL and OP_SEL_HI
    inst.matrix.cbsz = inst.opsel;
    inst.matrix.blgp = inst.opselHi;
  }
  if (op.anyFormat) {
    formatA = inst.matrix.cbsz;
    formatB = inst.matrix.blgp;
    auto chosen = matrix::withFormats(op, formatA, formatB);
    if (!chosen)
      return "a format of a matrix operand that does not exist";
    op = *chosen;
  }
  if (!inst.src[0].isVgpr() || !inst.src[1].isVgpr() || (op.sparse && !inst.src[2].isVgpr()))
    return "a matrix operand that is no vector register";
  if (op.core == matrix::MatrixCore::Cdna && !op.sparse && !op.anyFormat) {
    // CBSZ and ABID, here alone a broadcast of A's blocks (CDNA3 ISA, VOP3P-MAI).
    const unsigned group = 1u << inst.matrix.cbsz;
    if (group > op.blocks)
      return "a broadcast to more blocks than the matrix instruction has";
    if (inst.matrix.abid >= group)
      return "a broadcast of a block that the matrix instruction does not share";
  }
  if (op.core == matrix::MatrixCore::Cdna && !op.anyFormat && inst.matrix.blgp &&
      !matrix::hasLanePattern(op, *target.processor))
    return "a pattern of B's lanes (BLGP) on a matrix instruction that has none";
  if (isGfx1250 && op.anyFormat && !op.scaled && matrix::bitsOf(op.a) != matrix::bitsOf(op.b))
    return "formats of different widths without scales, whose order along K one source alone tells";
  if (op.scaled) {
    // The scales come in the instruction's first half.
    const Type type = op.scaleBlock == 16 ? Type::B64 : Type::B32;
    inst.scaleA = decodeSource(target, bitField(words[1], 0, 9), type, 0);
    inst.scaleB = decodeSource(target, bitField(words[1], 9, 9), type, 0);
    const unsigned sel = bitField(words[0], 11, 2), selHi = bitField(words[1], 27, 2);
    if (isGfx1250) {
      if (bitField(words[1], 29, 2) || bitField(words[0], 8, 2))
        return "scales of another format than E8M0";
      for (const Operand &scale : {inst.scaleA, inst.scaleB})
        if (!scale.isVgpr() && (scale.kind != Kind::Sgpr || op.scaleBlock == 16))
          return "scales that are no vector register";
      inst.matrix.partOfA = static_cast<uint8_t>(sel & 1);
      inst.matrix.partOfB = static_cast<uint8_t>(selHi & 1);
    } else { // a byte selector of two bits for each
      inst.matrix.partOfA = static_cast<uint8_t>((sel & 1) | (selHi & 1) << 1);
      inst.matrix.partOfB = static_cast<uint8_t>(sel >> 1 | (selHi >> 1) << 1);
    }
  }
  std::lock_guard lock(tableMutex);
  auto &plan = plans[{inst.op, formatA, formatB}];
  if (!plan)
    plan = std::make_unique<matrix::MatrixPlan>(op);
  inst.plan = plan.get();
  return nullptr;
}

} // namespace flyemu
