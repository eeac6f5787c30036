#include "emulator/matrix/execute.h"

#include "emulator/matrix/group_scalar.h"
#include "emulator/matrix/kernels.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

namespace flyemu::matrix {

namespace {

/// Room for the largest instruction: 32 rows or columns in all blocks, 128 k. Per thread, reused.
struct Workspace {
  static constexpr unsigned kMaxInput = 64 * 128, kMaxOutput = 64 * 32;
  uint64_t rawA[kMaxInput], rawB[kMaxInput]; // [block][row][k], [block][column][k]
  uint64_t rawC[kMaxOutput];
  alignas(64) float results[kMaxOutput];
  // Of a block: [k][row], [k][column].
  alignas(64) float floatsA[32 * 128], floatsB[32 * 128];
  alignas(64) int32_t exponentsA[32 * 128], exponentsB[32 * 128];
};

/// The element of `bits` bits at a slot; elements of 6 bits may straddle two registers.
uint64_t read(const uint32_t *base, unsigned stride, Slot slot, unsigned bits, unsigned lane) {
  unsigned word = slot.bit / 32, shift = slot.bit % 32;
  uint64_t value = base[word * stride + lane];
  if (shift + bits > 32)
    value |= static_cast<uint64_t>(base[(word + 1) * stride + lane]) << 32;
  value >>= shift;
  return bits == 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

void write(uint32_t *base, unsigned stride, Slot slot, unsigned bits, uint64_t value) {
  uint32_t *word = base + slot.bit / 32 * stride + slot.lane;
  if (bits == 64) {
    word[0] = static_cast<uint32_t>(value);
    word[stride] = static_cast<uint32_t>(value >> 32);
  } else if (bits == 32) {
    word[0] = static_cast<uint32_t>(value);
  } else {
    unsigned shift = slot.bit % 32;
    uint32_t mask = ((1u << bits) - 1) << shift;
    word[0] = (word[0] & ~mask) | ((static_cast<uint32_t>(value) << shift) & mask);
  }
}

/// BLGP of the f16, bf16, f32 and i8 forms permutes the lanes of B (CDNA3 ISA, VOP3P-MAI).
unsigned blgpLane(unsigned blgp, unsigned lane) {
  switch (blgp) {
  case 1:
    return lane % 32;
  case 2:
    return lane % 32 + 32;
  case 3:
    return (lane + 16) % 64;
  case 4:
  case 5:
  case 6:
  case 7:
    return lane % 16 + 16 * (blgp - 4);
  default:
    return lane;
  }
}

class Execution {
public:
  Execution(const MatrixOp &op, const OperandMaps &maps, const Modifiers &modifiers,
            const WaveRegisters &registers, Workspace &space)
      : op_(op), maps_(maps), modifiers_(modifiers), registers_(registers), space_(space) {}

  void run() {
    if (op_.core == MatrixCore::Cdna && op_.m % 16 == 0 && op_.n % 16 == 0 && !modifiers_.blgp &&
        !modifiers_.cbsz && op_.arithmetic == Arithmetic::FmaChain && op_.a != Elem::F64)
      return runChainLanes();
    gather();
    for (unsigned block = 0; block < op_.blocks; ++block)
      for (unsigned column = 0; column < op_.n; column += kStripWidth)
        strip(block, column);
    scatter();
  }

  /// The same product in floats. Only plans with strips of floats have it.
  void runFast(const FloatStrips &strips) {
    const unsigned columnStrips = op_.n / 16;
    const size_t words = size_t(maps_.regsD) * registers_.laneStride;
    // D is written as it is computed, unless that would change what is still to be read.
    const bool apart = registers_.d == registers_.c || registers_.d + words <= registers_.c ||
                       registers_.c + words <= registers_.d;
    const bool direct = op_.blocks == 1 && apart;
    uint32_t *d = direct ? registers_.d : reinterpret_cast<uint32_t *>(space_.results);
    for (unsigned block = 0; block < op_.blocks; ++block) {
      readOperands(strips, block);
      for (unsigned column = 0; column < columnStrips; ++column) {
        const StripPlace *places = strips.d.data() + block * op_.m * columnStrips + column;
        kernels_.multiplyFloats({space_.floatsA, space_.floatsB + 16 * column, op_.m, op_.n, op_.k},
                                {registers_.c, registers_.laneStride, places, 0}, columnStrips, d);
      }
    }
    if (!direct)
      for (const StripPlace &place : strips.d)
        std::memcpy(registers_.d + wordOf(place), d + wordOf(place), 16 * sizeof(float));
  }

  /// The product by one rounding of each exact sum, of one block whose operands are strips.
  void runDots(const FloatStrips &strips) {
    const unsigned columnStrips = op_.n / 16;
    readOperands(strips, 0);
    alignas(64) double a[128], b[128 * 16], sums[16];
    for (unsigned column = 0; column < columnStrips; ++column) {
      for (unsigned k = 0; k < op_.k; ++k)
        std::copy_n(space_.floatsB + k * op_.n + 16 * column, 16, b + 16 * k);
      for (unsigned row = 0; row < op_.m; ++row) {
        const size_t at = row * columnStrips + column;
        for (unsigned k = 0; k < op_.k; ++k)
          a[k] = space_.floatsA[k * op_.m + row];
        float c[16];
        std::memcpy(c, registers_.c + wordOf(strips.d[at]), sizeof c);
        std::copy_n(c, 16, sums);
        kernels_.dot(a, b, op_.k, sums);
        std::copy_n(sums, 16, space_.results + 16 * at);
      }
    }
    storeStrips(strips);
  }

  /// The product whose sums are rounded by groups. Returns false, and has stored nothing, if it has
  /// operands or results for which this is not the way.
  bool runTiles(const FloatStrips &strips) {
    for (size_t at = 0; at < strips.d.size(); ++at)
      std::memcpy(space_.results + 16 * at, registers_.c + wordOf(strips.d[at]),
                  16 * sizeof(float));
    for (unsigned block = 0; block < op_.blocks; ++block) {
      readOperands(strips, block);
      if (!kernels_.exponents(space_.floatsA, op_.k * op_.m, 1 - formatOf(op_.a).bias,
                              space_.exponentsA) ||
          !kernels_.exponents(space_.floatsB, op_.k * op_.n, 1 - formatOf(op_.b).bias,
                              space_.exponentsB))
        return false;
      for (unsigned row = 0; row < op_.m; row += 16)
        for (unsigned column = 0; column < op_.n; column += 16)
          if (!kernels_.groupTile({space_.floatsA + row, space_.floatsB + column,
                                   space_.exponentsA + row, space_.exponentsB + column, op_.m,
                                   op_.n, op_.k, op_.group, bitsOf(op_.a) == 8},
                                  space_.results + (block * op_.m + row) * op_.n + column, op_.n))
            return false;
    }
    storeStrips(strips);
    return true;
  }

private:
  size_t wordOf(const StripPlace &place) const {
    return place.reg * registers_.laneStride + place.lane;
  }

  /// D may overlap A, B and C: nothing is written before all is read.
  void storeStrips(const FloatStrips &strips) {
    for (size_t at = 0; at < strips.d.size(); ++at)
      std::memcpy(registers_.d + wordOf(strips.d[at]), space_.results + 16 * at,
                  16 * sizeof(float));
  }

  /// The values of a block's A and B.
  void readOperands(const FloatStrips &strips, unsigned block) {
    readFloats(op_.a, registers_.a, strips.a, op_.m / 16, block, space_.floatsA);
    readFloats(op_.b, registers_.b, strips.b, op_.n / 16, block, space_.floatsB);
  }
  void readFloats(Elem elem, const uint32_t *base, const OperandStrips &strips, unsigned step,
                  unsigned block, float *to) {
    const unsigned count = op_.k * step;
    kernels_.floats({base, registers_.laneStride, strips.places.data() + block * count, count, step,
                     strips.paired},
                    elem == Elem::XF32 ? 19 : bitsOf(elem), formatOf(elem), to);
  }

  void gather() {
    unsigned stride = registers_.laneStride, bitsA = bitsOf(op_.a), bitsB = bitsOf(op_.b);
    bool permuteB =
        op_.core == MatrixCore::Cdna && !op_.anyFormat && op_.a != Elem::F64 && modifiers_.blgp;
    bool broadcastA = op_.core == MatrixCore::Cdna && op_.blocks > 1 && modifiers_.cbsz;
    size_t perBlock = static_cast<size_t>(op_.m) * maps_.storedK;
    std::memset(space_.rawA, 0, sizeof(uint64_t) * op_.blocks * op_.m * op_.k);
    for (unsigned block = 0; block < op_.blocks; ++block) {
      // CBSZ: groups of 2^cbsz blocks share the block that ABID names.
      unsigned group = 1u << modifiers_.cbsz;
      unsigned from = broadcastA ? (block & ~(group - 1)) | (modifiers_.abid & (group - 1)) : block;
      for (unsigned row = 0; row < op_.m; ++row)
        for (unsigned k = 0; k < maps_.storedK; ++k) {
          Slot slot = maps_.a[from * perBlock + row * maps_.storedK + k];
          unsigned dense = op_.sparse ? denseK(slot, k) : k;
          space_.rawA[(block * op_.m + row) * op_.k + dense] =
              read(registers_.a, stride, slot, bitsA, slot.lane);
        }
    }
    size_t countB = static_cast<size_t>(op_.blocks) * op_.n * op_.k;
    for (size_t i = 0; i < countB; ++i) {
      Slot slot = maps_.b[i];
      unsigned lane = permuteB ? blgpLane(modifiers_.blgp, slot.lane) : slot.lane;
      space_.rawB[i] = read(registers_.b, stride, slot, bitsB, lane);
    }
    unsigned bitsC = bitsOf(op_.acc);
    for (size_t i = 0; i < maps_.d.size(); ++i)
      space_.rawC[i] = read(registers_.c, stride, resultSlot(i), bitsC, maps_.d[i].lane);
  }

  Slot resultSlot(size_t i) const {
    Slot slot = maps_.d[i];
    if (op_.core == MatrixCore::Rdna3 && bitsOf(op_.acc) == 16 && modifiers_.upperHalf)
      slot.bit = static_cast<uint16_t>(slot.bit + 16);
    return slot;
  }

  /// Which k a stored value of a sparse row stands for. Two index bits per stored value; a register
  /// holds several sets, ABID picks one (when CBSZ is 0).
  unsigned denseK(Slot slot, unsigned k) const {
    unsigned inLane = slot.bit / bitsOf(op_.a);
    unsigned perLane = op_.m * maps_.storedK / op_.lanes();
    unsigned setBits = 2 * perLane;
    unsigned set = modifiers_.cbsz ? 0 : modifiers_.abid;
    unsigned shift = (set * setBits + 2 * inLane) % 32;
    unsigned index = (registers_.index[slot.lane] >> shift) & 3;
    return (k / 2) * 4 + index;
  }

  void strip(unsigned block, unsigned column) {
    unsigned width = std::min<unsigned>(kStripWidth, op_.n - column);
    switch (op_.arithmetic) {
    case Arithmetic::GroupTruncate:
      return groupStrip(block, column, width);
    case Arithmetic::Integer:
      return integerStrip(block, column, width);
    case Arithmetic::FmaChain:
      return op_.a == Elem::F64 ? chainStrip<double>(block, column, width)
                                : chainStrip<float>(block, column, width);
    case Arithmetic::SingleRounding:
      return dotStrip(block, column, width);
    }
  }

  /// f32 chains where 16 rows or columns are 16 neighbouring lanes of one register, for A, B, C and
  /// D alike.
  void runChainLanes() {
    unsigned stride = registers_.laneStride;
    alignas(64) float a[128], b[128 * 16];
    for (unsigned block = 0; block < op_.blocks; ++block)
      for (unsigned column = 0; column < op_.n; column += 16) {
        for (unsigned k = 0; k < op_.k; ++k) {
          Slot slot = maps_.b[(block * op_.n + column) * op_.k + k];
          std::memcpy(b + 16 * k, registers_.b + slot.bit / 32 * stride + slot.lane,
                      16 * sizeof(float));
        }
        for (unsigned row = 0; row < op_.m; ++row) {
          size_t at = (block * op_.m + row) * op_.n + column;
          for (unsigned k = 0; k < op_.k; ++k) {
            Slot slot = maps_.a[(block * op_.m + row) * op_.k + k];
            a[k] = std::bit_cast<float>(registers_.a[slot.bit / 32 * stride + slot.lane]);
          }
          std::memcpy(space_.results + at,
                      registers_.c + maps_.d[at].bit / 32 * stride + maps_.d[at].lane,
                      16 * sizeof(float));
          kernels_.fmaChainF32(a, b, op_.k, space_.results + at);
        }
      }
    storeResults();
  }

  /// D may overlap A, B and C: nothing is written before all is read.
  void storeResults() {
    for (size_t at = 0; at < maps_.d.size(); at += 16)
      std::memcpy(registers_.d + maps_.d[at].bit / 32 * registers_.laneStride + maps_.d[at].lane,
                  space_.results + at, 16 * sizeof(float));
  }

  uint64_t rawA(unsigned block, unsigned row, unsigned k) const {
    return space_.rawA[(block * op_.m + row) * op_.k + k];
  }
  uint64_t rawB(unsigned block, unsigned column, unsigned k) const {
    return space_.rawB[(block * op_.n + column) * op_.k + k];
  }
  uint64_t &rawC(unsigned block, unsigned row, unsigned column) {
    return space_.rawC[(block * op_.m + row) * op_.n + column];
  }

  void groupStrip(unsigned block, unsigned column, unsigned width) {
    alignas(64) int32_t significandA[128], exponentA[128];
    alignas(64) int32_t significandB[128 * 16], exponentB[128 * 16];
    bool specialColumn[16] = {};
    int32_t largestB = kZeroExponent;
    for (unsigned k = 0; k < op_.k; ++k)
      for (unsigned lane = 0; lane < 16; ++lane) {
        Term term{0, kZeroExponent, false};
        if (lane < width)
          term = decode(op_.b, static_cast<uint32_t>(rawB(block, column + lane, k)));
        significandB[16 * k + lane] = term.significand;
        exponentB[16 * k + lane] = term.exponent;
        specialColumn[lane] |= term.special;
        if (!term.special)
          largestB = std::max(largestB, term.exponent);
      }

    GroupStrip strip{significandA,
                     exponentA,
                     significandB,
                     exponentB,
                     op_.k,
                     op_.group,
                     fractionBits(op_.a) + fractionBits(op_.b),
                     bitsOf(op_.a) == 8};
    for (unsigned row = 0; row < op_.m; ++row) {
      bool specialRow = false;
      int32_t largestA = kZeroExponent;
      for (unsigned k = 0; k < op_.k; ++k) {
        Term term = decode(op_.a, static_cast<uint32_t>(rawA(block, row, k)));
        significandA[k] = term.significand;
        exponentA[k] = term.exponent;
        specialRow |= term.special;
        largestA = std::max(largestA, term.exponent);
      }
      alignas(64) float acc[16] = {}, start[16] = {};
      for (unsigned lane = 0; lane < width; ++lane)
        start[lane] = acc[lane] =
            std::bit_cast<float>(static_cast<uint32_t>(rawC(block, row, column + lane)));
      kernels_.groupTruncate(strip, acc);
      // A product of 2^127 or an accumulator near overflow needs the exact rules for infinities.
      bool largeProducts = largestA + largestB >= 120;
      for (unsigned lane = 0; lane < width; ++lane) {
        bool exceptional = specialRow || specialColumn[lane] || largeProducts ||
                           !std::isfinite(start[lane]) || !std::isfinite(acc[lane]);
        if (exceptional)
          acc[lane] = exceptionalRaw(block, row, column + lane, start[lane]);
        rawC(block, row, column + lane) = std::bit_cast<uint32_t>(acc[lane]);
      }
    }
  }

  float exceptionalRaw(unsigned block, unsigned row, unsigned column, float acc) const {
    uint32_t a[128], b[128];
    for (unsigned k = 0; k < op_.k; ++k) {
      a[k] = static_cast<uint32_t>(rawA(block, row, k));
      b[k] = static_cast<uint32_t>(rawB(block, column, k));
    }
    return exceptionalDot(a, b, acc);
  }

  float exceptionalDot(const uint32_t *a, const uint32_t *b, float acc) const {
    for (unsigned k = 0; k < op_.k; k += op_.group)
      acc = groupTruncateScalar(op_.a, op_.b, a + k, b + k, op_.group, acc);
    return acc;
  }

  template <typename T> void chainStrip(unsigned block, unsigned column, unsigned width) {
    using Bits = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    // f64 has no lane permutation: its BLGP bits negate A, B and C.
    bool f64 = sizeof(T) == 8;
    T signA = f64 && (modifiers_.blgp & 1) ? -1 : 1, signB = f64 && (modifiers_.blgp & 2) ? -1 : 1,
      signC = f64 && (modifiers_.blgp & 4) ? -1 : 1;
    alignas(64) T a[128], b[128 * 16] = {}, acc[16] = {};
    for (unsigned k = 0; k < op_.k; ++k)
      for (unsigned lane = 0; lane < width; ++lane)
        b[16 * k + lane] =
            signB * std::bit_cast<T>(static_cast<Bits>(rawB(block, column + lane, k)));
    for (unsigned row = 0; row < op_.m; ++row) {
      for (unsigned k = 0; k < op_.k; ++k)
        a[k] = signA * std::bit_cast<T>(static_cast<Bits>(rawA(block, row, k)));
      for (unsigned lane = 0; lane < width; ++lane)
        acc[lane] = signC * std::bit_cast<T>(static_cast<Bits>(rawC(block, row, column + lane)));
      if constexpr (sizeof(T) == 8)
        kernels_.fmaChainF64(a, b, op_.k, acc);
      else
        kernels_.fmaChainF32(a, b, op_.k, acc);
      for (unsigned lane = 0; lane < width; ++lane)
        rawC(block, row, column + lane) = std::bit_cast<Bits>(acc[lane]);
    }
  }

  /// 2^(E8M0 byte - 127) for the block of k that holds `k`; NaN for 255.
  double scale(const uint32_t *base, unsigned opsel, unsigned row, unsigned rows,
               unsigned k) const {
    if (!op_.scaled)
      return 1.0;
    unsigned byte = 0;
    if (op_.core == MatrixCore::Gfx1250) { // a byte for each block, in the half that opsel names
      const unsigned place = k / op_.scaleBlock, lane = row + rows * opsel;
      byte = base[place / 4 * registers_.laneStride + lane] >> (8 * (place % 4)) & 255;
    } else {
      const unsigned lane = row + rows * (k / 32);
      byte = (base[lane] >> (8 * (opsel & 3))) & 255;
    }
    return byte == 255 ? std::numeric_limits<double>::quiet_NaN()
                       : std::ldexp(1.0, int(byte) - 127);
  }

  double signedValue(Elem elem, uint64_t bits, unsigned operand, unsigned k) const {
    double result = value(elem, bits);
    uint8_t negate = k % 2 ? modifiers_.negHi : modifiers_.negLo;
    return op_.core != MatrixCore::Cdna && (negate >> operand) & 1 ? -result : result;
  }

  void dotStrip(unsigned block, unsigned column, unsigned width) {
    alignas(64) double a[128], b[128 * 16] = {}, acc[16] = {};
    for (unsigned k = 0; k < op_.k; ++k)
      for (unsigned lane = 0; lane < width; ++lane)
        b[16 * k + lane] = signedValue(op_.b, rawB(block, column + lane, k), 1, k) *
                           scale(registers_.scaleB, modifiers_.opselB, column + lane, op_.n, k);
    for (unsigned row = 0; row < op_.m; ++row) {
      for (unsigned k = 0; k < op_.k; ++k)
        a[k] = signedValue(op_.a, rawA(block, row, k), 0, k) *
               scale(registers_.scaleA, modifiers_.opselA, row, op_.m, k);
      for (unsigned lane = 0; lane < width; ++lane) {
        double c = value(op_.acc, rawC(block, row, column + lane));
        if (op_.core != MatrixCore::Cdna) {
          if (modifiers_.negHi & 4)
            c = std::fabs(c);
          if (modifiers_.negLo & 4)
            c = -c;
        }
        acc[lane] = c;
      }
      kernels_.dot(a, b, op_.k, acc);
      for (unsigned lane = 0; lane < width; ++lane)
        rawC(block, row, column + lane) = rounded(acc[lane]);
    }
  }

  uint64_t rounded(double result) const {
    switch (op_.acc) {
    case Elem::F16:
      return toF16(result);
    case Elem::BF16:
      return toBF16(result);
    case Elem::F64:
      return std::bit_cast<uint64_t>(result);
    default:
      return std::bit_cast<uint32_t>(static_cast<float>(result));
    }
  }

  /// WMMA's iu8 and iu4 take the signedness of A and B from NEG.
  Elem integerFormat(Elem elem, unsigned operand) const {
    bool isSigned = op_.core != MatrixCore::Cdna && (modifiers_.negLo >> operand) & 1;
    if (!isSigned)
      return elem;
    return elem == Elem::U8 ? Elem::I8 : elem == Elem::U4 ? Elem::I4 : elem;
  }

  void integerStrip(unsigned block, unsigned column, unsigned width) {
    Elem formatA = integerFormat(op_.a, 0), formatB = integerFormat(op_.b, 1);
    alignas(64) int32_t a[128], b[128 * 16] = {};
    for (unsigned k = 0; k < op_.k; ++k)
      for (unsigned lane = 0; lane < width; ++lane)
        b[16 * k + lane] = integer(formatB, static_cast<uint32_t>(rawB(block, column + lane, k)));
    for (unsigned row = 0; row < op_.m; ++row) {
      alignas(64) int64_t acc[16] = {};
      for (unsigned k = 0; k < op_.k; ++k)
        a[k] = integer(formatA, static_cast<uint32_t>(rawA(block, row, k)));
      for (unsigned lane = 0; lane < width; ++lane)
        acc[lane] = static_cast<int32_t>(rawC(block, row, column + lane));
      kernels_.dotInteger(a, b, op_.k, acc);
      for (unsigned lane = 0; lane < width; ++lane) {
        int64_t result = acc[lane];
        if (modifiers_.clamp)
          result = std::clamp<int64_t>(result, std::numeric_limits<int32_t>::min(),
                                       std::numeric_limits<int32_t>::max());
        rawC(block, row, column + lane) = static_cast<uint32_t>(result);
      }
    }
  }

  void scatter() {
    unsigned bits = bitsOf(op_.acc);
    for (size_t i = 0; i < maps_.d.size(); ++i)
      write(registers_.d, registers_.laneStride, resultSlot(i), bits, space_.rawC[i]);
  }

  const MatrixOp &op_;
  const OperandMaps &maps_;
  const Modifiers &modifiers_;
  const WaveRegisters &registers_;
  Workspace &space_;
  const Kernels &kernels_ = kernels();
};

} // namespace

MatrixPlan::MatrixPlan(const MatrixOp &op)
    : op_(op), maps_(mapOperands(op)), strips_(findFloatStrips()) {}

std::optional<FloatStrips> MatrixPlan::findFloatStrips() const {
  auto small = [](Elem elem) {
    return !isInteger(elem) && elem != Elem::F64 && 32 % bitsOf(elem) == 0;
  };
  if (op_.sparse || op_.scaled || op_.acc != Elem::F32 || !small(op_.a) || !small(op_.b) ||
      op_.m % 16 || op_.n % 16)
    return std::nullopt;
  bool found = true;
  // The 16 elements from `first` on, in steps of `step`, if they are those of neighbouring lanes.
  auto strip = [&](const std::vector<Slot> &slots, size_t first, size_t step, Elem elem) {
    const Slot &begin = slots[first];
    for (unsigned lane = 1; lane < 16; ++lane) {
      const Slot &slot = slots[first + lane * step];
      found &= slot.bit == begin.bit && slot.lane == begin.lane + lane;
    }
    return StripPlace{static_cast<uint8_t>(begin.bit / 32), static_cast<uint8_t>(begin.lane),
                      static_cast<uint8_t>(elem == Elem::XF32 ? 13 : begin.bit % 32)};
  };
  FloatStrips strips;
  auto operand = [&](const std::vector<Slot> &slots, unsigned rows, Elem elem) {
    std::vector<StripPlace> places;
    for (size_t block = 0; block < op_.blocks; ++block)
      for (size_t k = 0; k < op_.k; ++k)
        for (size_t row = 0; row < rows; row += 16)
          places.push_back(strip(slots, (block * rows + row) * op_.k + k, op_.k, elem));
    bool paired = bitsOf(elem) == 16 && op_.k % 2 == 0;
    const size_t step = rows / 16;
    for (size_t at = 0; paired && at < places.size(); at += 2 * step)
      for (size_t k = at; k < at + step; ++k)
        paired &= places[k].shift == 0 && places[k + step].shift == 16 &&
                  places[k].reg == places[k + step].reg && places[k].lane == places[k + step].lane;
    return OperandStrips{std::move(places), paired};
  };
  strips.a = operand(maps_.a, op_.m, op_.a);
  strips.b = operand(maps_.b, op_.n, op_.b);
  for (size_t at = 0; at < maps_.d.size(); at += 16)
    strips.d.push_back(strip(maps_.d, at, 1, op_.acc));
  if (!found)
    return std::nullopt;
  return strips;
}

void MatrixPlan::execute(const Modifiers &modifiers, const WaveRegisters &registers,
                         Precision precision) const {
  if (precision == Precision::None) {
    if (registers.d != registers.c)
      std::copy_n(registers.c, size_t(regsD()) * registers.laneStride, registers.d);
    return;
  }
  // A pointer: a thread that uses any of this library's thread-local bytes has all of them cleared,
  // and most threads execute no product.
  static thread_local const auto space = std::make_unique<Workspace>();
  Execution execution(op_, maps_, modifiers, registers, *space);
  // CBSZ and BLGP are formats where the instruction has any, and are part of the plan then.
  const bool plain = (op_.anyFormat || (!modifiers.cbsz && !modifiers.blgp)) && !modifiers.negLo &&
                     !modifiers.negHi && !modifiers.clamp;
  if (precision == Precision::Fast && strips_ && plain)
    execution.runFast(*strips_);
  else if (op_.arithmetic == Arithmetic::SingleRounding && op_.blocks == 1 && strips_ && plain)
    execution.runDots(*strips_);
  else if (op_.arithmetic != Arithmetic::GroupTruncate || !strips_ || !plain ||
           !execution.runTiles(*strips_))
    execution.run();
}

} // namespace flyemu::matrix
