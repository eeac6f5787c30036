// The bytes of a block in a kernel, and the formats whose code is in other files.
#pragma once

#include "operand.h"

#include <cstddef>
#include <vector>

namespace flydsl_ggml {

/// The bytes of one block.
struct Block {
  fx::Int64 address;

  fx::Int64 plus(const fx::Int32 &offset) const { return address + offset.to(fx::i64); }
  /// A byte as a number from 0 to 255.
  fx::Int32 byte(const fx::Int32 &offset) const {
    return fx::Pointer::from_address(plus(offset), fx::u8).load().to(fx::i32);
  }
  fx::Int32 signedByte(const fx::Int32 &offset) const {
    return fx::Pointer::from_address(plus(offset), fx::i8).load().to(fx::i32);
  }
  /// Two bytes as a number from 0 to 65535.
  fx::Int32 word(const fx::Int32 &offset) const {
    return fx::Pointer::from_address(plus(offset), fx::u16).load().to(fx::i32);
  }
  fx::Numeric half(int offset) const {
    return fx::Pointer::from_address(plus(offset), fx::f16).load().to(fx::f32);
  }
};

inline fx::Int32 bits(const fx::Numeric &value, const fx::Numeric::Arg &shift, int mask) {
  return fx::Int32((value >> shift) & mask);
}

// Formats whose codes are numbers of vectors in tables: ggml's IQ1, IQ2 and IQ3. Weight `j` of a block.
fx::Numeric iq1_s(const Block &block, const fx::Int32 &j);
fx::Numeric iq1_m(const Block &block, const fx::Int32 &j);
fx::Numeric iq2_xxs(const Block &block, const fx::Int32 &j);
fx::Numeric iq2_xs(const Block &block, const fx::Int32 &j);
fx::Numeric iq2_s(const Block &block, const fx::Int32 &j);
fx::Numeric iq3_xxs(const Block &block, const fx::Int32 &j);
fx::Numeric iq3_s(const Block &block, const fx::Int32 &j);

} // namespace flydsl_ggml
