// Typed buffer loads and stores: MTBUF, whose format is in the instruction, and the "format" forms
// of MUBUF, whose format is in the descriptor (CDNA3 ISA, "Buffer Data").
#include "emulator/ops/memory/buffer_address.h"
#include "emulator/ops/memory/buffer_format.h"
#include "emulator/ops/tables.h"

#include "emulator/ops/memory/atomics.h"

#include <iterator>

namespace flyemu {

namespace {

BufferFormat formatOf(const Wave &w, const Inst &i) {
  unsigned code;
  if (i.op->has(Trait::TypedBuffer)) {
    code = i.bufferFormat;
  } else {
    const uint32_t word = w.s[i.src[2].index + 3];
    code = w.target->encoding == Encoding::Gfx9 ? (word >> 15 & 15) | (word >> 12 & 7) << 4
                                                : word >> 12 & 63;
  }
  BufferFormat f = bufferFormat(*w.target, code);
  if (f.count == 0)
    throw WaveFault{"typed buffer access with format " + std::to_string(code) +
                    ", which does not exist"};
  return f;
}

/// Takes the bits of component k out of, or puts them into, an element of up to four dwords.
struct Element {
  uint32_t dwords[4] = {};

  static unsigned position(const BufferFormat &f, unsigned k) {
    unsigned at = 0;
    for (unsigned c = 0; c < k; ++c)
      at += f.bits[c];
    return at;
  }
  uint32_t get(const BufferFormat &f, unsigned k) const {
    const unsigned at = position(f, k), bits = f.bits[k];
    return dwords[at / 32] >> at % 32 & (bits == 32 ? ~0u : (1u << bits) - 1);
  }
  void put(const BufferFormat &f, unsigned k, uint32_t x) {
    const unsigned at = position(f, k);
    dwords[at / 32] |= x << at % 32;
  }
};

void readElement(const BufferAddress &address, unsigned lane, unsigned bytes, Element &e) {
  if (bytes < 4) {
    if (const uint8_t *p = address.at(lane, 0, bytes, false))
      std::memcpy(e.dwords, p, bytes);
    return;
  }
  for (unsigned d = 0; d < bytes / 4; ++d)
    if (const uint8_t *p = address.at(lane, 4 * d, 4, false))
      std::memcpy(&e.dwords[d], p, 4);
}

/// The value that selector `s` of a descriptor takes from an element: 0, 1, or a component, of
/// which missing ones are 0, and the fourth 1.
uint32_t selected(const BufferFormat &f, const Element &e, unsigned s) {
  const uint32_t one = f.isInteger() ? 1 : 0x3f800000;
  if (s < 4)
    return s == 1 ? one : 0;
  const unsigned k = s - 4;
  if (k >= f.count)
    return k == 3 ? one : 0;
  return fromComponent(f.kind, f.bits[k], e.get(f, k));
}

uint32_t narrowed(const BufferFormat &f, uint32_t x) {
  return f.isInteger() ? x & 0xffff : atomics::floatToHalfBits(atomics::cast<float>(x));
}

void typedLoad(Wave &w, const Inst &i) {
  BufferAddress address(w, i);
  const BufferFormat f = formatOf(w, i);
  const Transfer &transfer = i.op->transfer;
  const unsigned count = transfer.components;
  const uint32_t selectors = i.op->has(Trait::TypedBuffer) ? 4u | 5u << 3 | 6u << 6 | 7u << 9
                                                           : w.s[i.src[2].index + 3] & 0xfff;
  uint32_t *row = w.row(i.dst.index);
  if (transfer.toLds || i.flags & kToLds) {
    const uint32_t base = ldsBase(w) + static_cast<uint32_t>(i.offset);
    forLanes(w.exec(), [&](unsigned lane) {
      Element e;
      readElement(address, lane, f.bytes(), e);
      const uint32_t x = selected(f, e, selectors & 7), to = base + 4 * lane;
      if (w.probe)
        w.probe->access(w, i, lane, Space::Lds, to, 4, true, false);
      if (to + 4 <= w.ldsSize)
        std::memcpy(w.lds + to, &x, 4);
    });
    if (w.probe)
      w.probe->accessesDone(w, i);
    return;
  }
  forLanes(w.exec(), [&](unsigned lane) {
    Element e;
    readElement(address, lane, f.bytes(), e);
    uint32_t x[4];
    for (unsigned k = 0; k < count; ++k)
      x[k] = selected(f, e, selectors >> (3 * k) & 7);
    for (unsigned k = 0; k < count; ++k) {
      if (!transfer.byHalves()) {
        row[k * kLanes + lane] = x[k];
        continue;
      }
      uint32_t &out = row[k / 2 * kLanes + lane];
      const unsigned shift = transfer.part == RegisterPart::High || k % 2 ? 16 : 0;
      out = (out & ~(0xffffu << shift)) | narrowed(f, x[k]) << shift;
    }
  });
  if (w.probe)
    w.probe->accessesDone(w, i);
}

void typedStore(Wave &w, const Inst &i) {
  BufferAddress address(w, i);
  const BufferFormat f = formatOf(w, i);
  const Transfer &transfer = i.op->transfer;
  const unsigned count = transfer.components;
  const uint32_t *row = w.row(i.src[1].index);
  forLanes(w.exec(), [&](unsigned lane) {
    Element e;
    for (unsigned k = 0; k < count && k < f.count; ++k) {
      uint32_t x = row[k * kLanes + lane];
      if (transfer.byHalves()) {
        x = row[k / 2 * kLanes + lane] >> (transfer.part == RegisterPart::High || k % 2 ? 16 : 0) &
            0xffff;
        if (f.kind == NumberKind::Sint)
          x = static_cast<uint32_t>(static_cast<int32_t>(static_cast<int16_t>(x)));
        else if (!f.isInteger())
          x = atomics::cast<uint32_t>(atomics::halfBitsToFloat(static_cast<uint16_t>(x)));
      }
      e.put(f, k, toComponent(f.kind, f.bits[k], x));
    }
    // Components that are whole bytes are written by themselves; others share the element.
    const bool packed = f.bits[0] % 8 != 0;
    const unsigned bits =
        packed ? f.bytes() * 8 : Element::position(f, std::min<unsigned>(count, f.count));
    const unsigned bytes = bits / 8;
    if (bytes <= 4) {
      if (uint8_t *p = address.at(lane, 0, bytes, true))
        std::memcpy(p, e.dwords, bytes);
      return;
    }
    for (unsigned at = 0; at < bytes; at += 4)
      if (uint8_t *p = address.at(lane, at, std::min(4u, bytes - at), true))
        std::memcpy(p, &e.dwords[at / 4], std::min(4u, bytes - at));
  });
  if (w.probe)
    w.probe->accessesDone(w, i);
}

constexpr OpDef load(const char *name, Transfer transfer) {
  return {name, typedLoad, Class::VmemRead, Type::B32, {}, transfer};
}
constexpr OpDef store(const char *name, Transfer transfer) {
  return {name, typedStore, Class::VmemWrite, Type::None, {}, transfer};
}
// The format is in the instruction.
consteval OpDef formattedLoad(const char *name, Transfer transfer) {
  return load(name, transfer).with(Trait::TypedBuffer);
}
consteval OpDef formattedStore(const char *name, Transfer transfer) {
  return store(name, transfer).with(Trait::TypedBuffer);
}

#define COUNTS_OF(OP, PREFIX, PART)                                                                \
  OP(PREFIX "_x", movesComponents(1) PART), OP(PREFIX "_xy", movesComponents(2) PART),             \
      OP(PREFIX "_xyz", movesComponents(3) PART), OP(PREFIX "_xyzw", movesComponents(4) PART)
#define COUNTS(OP, PREFIX) COUNTS_OF(OP, PREFIX, ), COUNTS_OF(OP, PREFIX "_d16", .low())

constexpr OpDef kOps[] = {
    COUNTS(load, "buffer_load_format"),
    load("buffer_load_format_x_lds", movesComponents(1).intoLds()),
    load("buffer_load_format_d16_hi_x", movesComponents(1).high()),
    COUNTS(store, "buffer_store_format"),
    store("buffer_store_format_d16_hi_x", movesComponents(1).high()),
    COUNTS(formattedLoad, "tbuffer_load_format"),
    COUNTS(formattedStore, "tbuffer_store_format"),
};
} // namespace

OpTable tableBufferTyped() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
