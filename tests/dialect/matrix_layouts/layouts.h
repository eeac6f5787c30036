// The places of the elements of AMD's matrix instructions, as sources outside of this project state
// them.
//
// Every published layout is linear in the bits of the lane's number and of the item's number: each
// such bit adds a fixed step to the element's row, column, k or block. A table therefore has one
// step per bit, in the way in which a reader of the manual would draw it. The emulator's maps, its
// execution and the dialect's thread-value layouts are compared with these tables; no table may be
// changed to fit the code.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace matrix_layouts {

/// Coordinates of an element, or what one bit adds to them: A has (i, k), B (j, k), D (i, j).
struct Step {
  unsigned i = 0, j = 0, k = 0, block = 0;
  bool operator==(const Step &) const = default;
};
constexpr Step i(unsigned n) { return {.i = n}; }
constexpr Step j(unsigned n) { return {.j = n}; }
constexpr Step k(unsigned n) { return {.k = n}; }
constexpr Step b(unsigned n) { return {.block = n}; }
/// The bit changes nothing: the other lanes hold a copy.
constexpr Step copy{};

/// The items of an operand follow each other in a lane's registers, `bits` apart.
struct Operand {
  unsigned bits;
  std::vector<Step> lane; ///< of bit 0, 1, ... of the lane's number
  std::vector<Step> item; ///< of bit 0, 1, ... of the item's number

  unsigned lanes() const { return 1u << lane.size(); }
  unsigned items() const { return 1u << item.size(); }
  Step at(unsigned laneNumber, unsigned itemNumber) const;
};

enum Target : unsigned {
  kGfx90a = 1,
  kGfx942 = 2,
  kGfx950 = 4,
  kGfx11 = 8,
  kGfx120x = 16,
  kGfx1250 = 32,
};

/// Instructions that share their layouts. In a sparse one, k of A counts the stored elements.
struct Instruction {
  unsigned targets;
  std::vector<std::string_view> names;
  Operand a, b, d;
  /// Of a scaled instruction: the lane that holds the scale of a row and a block of 32 k. The byte
  /// of its register is the instruction's choice.
  std::vector<Step> scaleA = {}, scaleB = {};
};

/// All tables, CDNA's and RDNA's.
const std::vector<Instruction> &instructions();

/// Whether a row's instructions are a target's ("gfx942").
bool has(const Instruction &row, std::string_view target);

/// The layouts of an instruction of a target ("gfx942"). f8f6f4 instructions have rows by the bits
/// of their elements, A's and B's apart, so both are given. Throws where there
/// is none.
struct Found {
  const Operand *a, *b, *d;
  const Instruction *row;
};
Found find(std::string_view target, std::string_view name, unsigned bitsA = 0, unsigned bitsB = 0);

/// Bits of the index register that belong to stored item `item` of the lane's `items`, in set
/// `set`: two bits an item, in the order of the items, sets one after the other. Sources: AMD's
/// matrix instruction calculator prints so for every SMFMAC of CDNA3 and every SWMMAC of RDNA4 and
/// every set; for gfx950's, whose sets are twice as long, MLIR's verifier of amdgpu.sparse_mfma.
constexpr unsigned indexBit(unsigned set, unsigned item, unsigned items) {
  return (set * 2 * items + 2 * item) % 32;
}

namespace detail {
std::vector<Instruction> cdnaInstructions();
std::vector<Instruction> rdnaInstructions();
} // namespace detail

} // namespace matrix_layouts
