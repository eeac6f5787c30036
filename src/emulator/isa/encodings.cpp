#include "emulator/isa/encodings.h"

#include <utility>

namespace flyemu {

namespace {
/// An encoding: its fixed bits, and where its opcode field is.
struct Format {
  uint32_t prefix;
  unsigned shift, bits;
};

constexpr Format kGfx9[] = {{0x80000000, 23, 7}, {0xb0000000, 23, 5}, {0xbe800000, 8, 8},
                            {0xbf000000, 16, 7}, {0xbf800000, 16, 7}, {0x00000000, 25, 6},
                            {0x7e000000, 9, 8},  {0x7c000000, 17, 8}, {0xd0000000, 16, 10},
                            {0xd3800000, 16, 7}, {0xd8000000, 17, 8}, {0xdc000000, 18, 7},
                            {0xdc004000, 18, 7}, {0xdc008000, 18, 7}, {0xe0000000, 18, 7},
                            {0xe8000000, 15, 4}, {0xc0000000, 18, 8}};
constexpr Format kGfx11[] = {{0x80000000, 23, 7}, {0xb0000000, 23, 5}, {0xbe800000, 8, 8},
                             {0xbf000000, 16, 7}, {0xbf800000, 16, 7}, {0x00000000, 25, 6},
                             {0x7e000000, 9, 8},  {0x7c000000, 17, 8}, {0xd4000000, 16, 10},
                             {0xcc000000, 16, 7}, {0xd8000000, 18, 8}, {0xdc000000, 18, 7},
                             {0xdc010000, 18, 7}, {0xdc020000, 18, 7}, {0xe0000000, 18, 8},
                             {0xe8000000, 15, 4}, {0xf4000000, 18, 8}};
constexpr Format kGfx12[] = {
    {0x80000000, 23, 7},  {0xb0000000, 23, 5}, {0xbe800000, 8, 8},  {0xbf000000, 16, 7},
    {0xbf800000, 16, 7},  {0x00000000, 25, 6}, {0x7e000000, 9, 8},  {0x7c000000, 17, 8},
    {0xd4000000, 16, 10}, {0xcc000000, 16, 7}, {0xd8000000, 18, 8}, {0xec000000, 14, 8},
    {0xed000000, 14, 8},  {0xee000000, 14, 8}, {0xc4000000, 14, 8}, {0xf4000000, 13, 6}};
// What gfx1250 has besides: the upper half of VOP3P's opcodes, and the tensor data mover.
constexpr Format kGfx1250[] = {{0xcc000000, 16, 8}, {0xd0000000, 14, 8}};

// Fills of the other fields: some encodings are valid with particular registers only (aligned
// pairs, an absent scalar address, vector operands).
struct Fill {
  uint32_t first, second, third;
};
constexpr Fill kFills[] = {{0, 0, 0},
                           {0, 0x02020100, 0},
                           {0, 0x04040402, 0},
                           {2, 0x02020100, 0},
                           {0, 0x1a0a0500, 0},
                           {0x8000, 0x1c020902, 0},
                           {0, 0x007f0002, 0},
                           {0x7c, 0, 0},
                           {0x7c, 0x00000002, 0},
                           {0, 0x7c020902, 0},
                           {0, 0x020a0500, 0},
                           {0, 0x00040100, 0},
                           {0, 0xf8000000, 0},
                           {0x10000, 2, 0},
                           {0x20000, 2, 0},
                           {0x4010, 0x1c420d02, 0},
                           {0x4010, 0x1c060d02, 0},
                           {0x400001, 0x7c000000, 0x7c7c0400},
                           {0x400001, 0x7c000000, 0x100c0400}};

using Visit = std::function<void(const EncodingWords &, const McInstruction &)>;

template <size_t N> void walk(const Format (&formats)[N], const McTarget &mc, const Visit &visit) {
  for (const Format &f : formats)
    for (uint32_t opcode = 0; opcode < 1u << f.bits; ++opcode)
      for (const Fill &fill : kFills) {
        const EncodingWords words = {(f.prefix | opcode << f.shift) | fill.first, fill.second,
                                     fill.third, 0};
        if (McInstruction i = mc.decode(words.data(), sizeof words); i.size)
          visit(words, i);
      }
}
} // namespace

void eachEncoding(const Machine &machine, const McTarget &mc, const Visit &visit) {
  switch (machine.encoding) {
  case Encoding::Gfx9:
    walk(kGfx9, mc, visit);
    break;
  case Encoding::Gfx11:
    walk(kGfx11, mc, visit);
    break;
  case Encoding::Gfx12:
    walk(kGfx12, mc, visit);
    break;
  }
  if (machine.has(flydsl::Feature::tensor_mover))
    walk(kGfx1250, mc, visit);
  // Scaled matrix instructions: a half with the scales before the instruction proper.
  if (machine.has(flydsl::Feature::wmma_scale))
    for (uint32_t scales : {0xcc350000u, 0xcc3a0000u})
      for (auto [product, fields] :
           {std::pair(0xcc330000u, 0x04a23108u), std::pair(0xcc884000u, 0x1ca24110u)}) {
        const EncodingWords words = {scales, 0x04020902, product, fields};
        if (McInstruction i = mc.decode(words.data(), sizeof words); i.size)
          visit(words, i);
      }
  if (machine.has(flydsl::Feature::mfma_scale))
    for (uint32_t product : {0xd3ad0818u, 0xd3ae0820u}) {
      const EncodingWords words = {0xd3ac0000, 0x00020702, product,
                                   product == 0xd3ad0818 ? 0x04622108u : 0x04822108u};
      if (McInstruction i = mc.decode(words.data(), sizeof words); i.size)
        visit(words, i);
    }
}

} // namespace flyemu
