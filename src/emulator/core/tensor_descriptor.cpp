#include "emulator/core/tensor_descriptor.h"

#include "emulator/core/wave.h"

#include <algorithm>
#include <string>

namespace flyemu {

namespace {
/// Groups 0 to 3 one after the other. A group that the instruction does not have is zeros.
class Words {
public:
  static constexpr std::array<unsigned, 5> kFirst = {0, 4, 12, 16, 20};

  Words(const Wave &w, const Inst &i) {
    const Operand *const groups[] = {&i.src[0], &i.src[1], &i.src[2], &i.soffset};
    for (unsigned g = 0; g < 4; ++g)
      if (groups[g]->kind == Kind::Sgpr)
        std::copy_n(w.s + groups[g]->index, kFirst[g + 1] - kFirst[g], words_.begin() + kFirst[g]);
  }

  /// Bits [bit, bit + count) of a group, at most 57.
  uint64_t field(unsigned group, unsigned bit, unsigned count) const {
    const unsigned at = kFirst[group] + bit / 32, down = bit % 32;
    const uint64_t low = words_[at] | uint64_t(at + 1 < words_.size() ? words_[at + 1] : 0) << 32;
    uint64_t value = low >> down;
    if (down + count > 64)
      value |= uint64_t(words_[at + 2]) << (64 - down);
    return value & ((uint64_t(1) << count) - 1);
  }
  uint32_t small(unsigned group, unsigned bit, unsigned count) const {
    return static_cast<uint32_t>(field(group, bit, count));
  }
  bool is(unsigned group, unsigned bit) const { return field(group, bit, 1); }

private:
  std::array<uint32_t, 20> words_ = {};
};

/// A field of a descriptor: its group, its first bit and how many it has.
struct Field {
  unsigned group, bit, bits;
};
// Of each dimension, from the innermost one on.
constexpr Field kTensor[] = {{1, 48, 32}, {1, 80, 32}, {2, 0, 32}, {2, 32, 32}, {3, 48, 32}};
constexpr Field kBox[] = {{1, 112, 16}, {1, 128, 16}, {1, 144, 16}, {2, 112, 16}, {3, 80, 16}};
constexpr Field kStride[] = {{1, 160, 48}, {1, 208, 48}, {2, 64, 48}, {3, 0, 48}}; // from 1 on

constexpr unsigned kImage = 2; ///< the type of all descriptors

[[noreturn]] void refuse(const std::string &what) {
  throw WaveFault{"a descriptor of the tensor data mover " + what};
}

uint64_t value(const Words &words, const Field &f) { return words.field(f.group, f.bit, f.bits); }

bool isNothing(const Words &words) { return !words.field(0, 0, 2) || !value(words, kBox[0]); }

bool gathers(const Words &words) { return words.is(0, 31); }
bool hasWideIndices(const Words &words) { return words.is(0, 30); }

/// Dimensions up to the last one that the box has an extent of.
unsigned rankOf(const Words &words) {
  unsigned rank = TensorBox::kMostRank;
  while (rank && !value(words, kBox[rank - 1]))
    --rank;
  return rank;
}

/// AMD's words for them are in the HIP header: is_restore, is_store, nv, scope, th.
void refuseModes(const Words &words) {
  if (words.field(0, 0, 2) > 1)
    refuse("with a count of " + std::to_string(words.field(0, 0, 2)) +
           ": it is 0 for a move that is left out, or 1");
  if (words.field(0, 2, 28))
    refuse("with bits 2 to 29 set, which are for the hardware's own use");
  if (words.field(0, 126, 2) != kImage)
    refuse("of type " + std::to_string(words.field(0, 126, 2)) +
           ": the type, bits 126 and 127, is 2");
  if (words.is(1, 18))
    refuse("that signals a barrier in LDS, which is not emulated");
  if (words.is(1, 19) && !gathers(words))
    refuse("that iterates: what is out of the tensor's range then is not known");
  if (hasWideIndices(words) && !gathers(words))
    refuse("with row numbers of 32 bits, and without a gather");
}

void decodePadding(const Words &words, TensorBox &b) {
  if (!words.is(1, 20))
    return;
  const uint32_t interval = words.small(1, 22, 3), amount = words.small(1, 25, 7);
  if (!interval != !amount)
    refuse("whose padding has the code " + std::to_string(interval) + " of its interval and " +
           std::to_string(amount) +
           " of its amount: AMD's manual defines no padding with one of both codes 0");
  if (b.box[0] * b.elementBytes % 4)
    refuse("with padding and rows of " + std::to_string(b.box[0] * b.elementBytes) +
           " bytes, which is no multiple of 4");
  b.padAfter = 8u << interval;
  b.pad = 4 * (amount + 1);
}

/// Row numbers of 16 bits, or of 32, in groups 2 and 3.
void decodeRows(const Words &words, TensorBox &b) {
  const unsigned bits = hasWideIndices(words) ? 32 : 16, most = 256 / bits, inGroup = most / 2;
  if (!b.box[1] || b.box[1] > most)
    refuse("that gathers " + std::to_string(b.box[1]) + " rows by numbers of " +
           std::to_string(bits) + " bits; it has room for 1 to " + std::to_string(most));
  for (unsigned k = 0; k < b.box[1]; ++k)
    b.rows[k] = words.small(2 + k / inGroup, k % inGroup * bits, bits);
  const auto used = std::span(b.rows).first(b.box[1]);
  const bool isBeyond = std::ranges::any_of(used, [&](uint32_t row) { return row >= b.tensor[1]; });
  if (isBeyond && !std::ranges::is_sorted(used))
    refuse("that gathers rows beyond the tensor's " + std::to_string(b.tensor[1]) +
           " by numbers that are not in ascending order: AMD's manual defines what is out of range "
           "for ascending ones alone");
}
} // namespace

TensorBox tensorBox(const Wave &wave, const Inst &inst, bool isLoad) {
  const Words words(wave, inst);
  TensorBox b;
  if (!words.field(0, 0, 2))
    return b;
  refuseModes(words);
  if (isNothing(words))
    return b;
  b.gathers = gathers(words);
  b.rank = b.gathers ? 2 : rankOf(words);
  b.global = words.field(0, 64, 57);
  b.lds = words.small(0, 32, 32);
  b.elementBytes = 1u << words.field(1, 16, 2);
  b.workgroups = isLoad ? words.small(1, 0, 16) : 0;
  for (unsigned d = 0; d < b.rank; ++d) {
    b.box[d] = static_cast<uint32_t>(value(words, kBox[d]));
    b.tensor[d] = static_cast<uint32_t>(value(words, kTensor[d]));
    b.strides[d] = d ? value(words, kStride[d - 1]) : 1;
    if (!b.box[d] && !b.gathers)
      refuse("whose box has no extent along dimension " + std::to_string(d) +
             ", and one along a dimension after it");
  }
  if (b.global % b.elementBytes || b.lds % b.elementBytes)
    refuse("whose address in memory or LDS is no multiple of its elements' " +
           std::to_string(b.elementBytes) + " bytes");
  if (b.gathers)
    decodeRows(words, b);
  if (isLoad) // stores do not look at it
    decodePadding(words, b);
  return b;
}

TensorDwords tensorDwords(const Wave &wave, const Inst &inst) {
  const Words words(wave, inst);
  if (!words.field(0, 0, 2))
    return {1, 0, 0, 0};
  TensorDwords dwords = {4, 5, 0, 0};
  if (gathers(words)) {
    const unsigned rows = words.small(1, 128, 16),
                   used = hasWideIndices(words) ? rows : (rows + 1) / 2;
    return {4, 7, std::min(used, 4u), std::clamp(used, 4u, 8u) - 4};
  }
  auto uses = [&](const Field &f) {
    dwords[f.group] = std::max(dwords[f.group], (f.bit + f.bits + 31) / 32);
  };
  for (unsigned d = 0; d < rankOf(words); ++d) {
    uses(kTensor[d]);
    uses(kBox[d]);
    if (d)
      uses(kStride[d - 1]);
  }
  return dwords;
}

} // namespace flyemu
