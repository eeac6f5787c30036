#include "sq_trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <stdexcept>

namespace flyemu::test {

namespace {

/// Bits of a packet.
struct Field {
  unsigned low = 0, bits = 0;
  uint64_t of(uint64_t packet) const {
    return bits ? packet >> low & (~uint64_t(0) >> (64 - bits)) : 0;
  }
};

enum class Packet : uint8_t {
  Other,     ///< what is skipped but for its time
  Marker,    ///< a time, unless it marks something
  ShortTime, ///< a time of at least 4
  Header,
  Vector,
  Instruction,
  Immediate,
  Immediates, ///< of several waves
  Start,
  End,
};

/// A kind of packet of RDNA's streams: packets are whole nibbles, and their lowest bits say which kind
/// they are. The format is as tinygrad's renderer/amd/sqtt.py describes it, which was found by experiment
/// and compared with rocprof's decoder.
struct PacketKind {
  uint8_t mask, value;
  uint8_t nibbles;
  Field delta; ///< cycles since the packet before
  Packet is = Packet::Other;
  Field wave = {}, simd = {}, unit = {}, op = {};
};

constexpr std::array kRdna3 = {
    PacketKind{0x7, 0x3, 3, {3, 3}, Packet::Vector, {7, 5}},
    PacketKind{0x7, 0x2, 5, {4, 3}, Packet::Instruction, {8, 5}, {}, {}, {13, 7}},
    PacketKind{0xf, 0xf, 2, {4, 2}},                         // memory executes
    PacketKind{0xf, 0xe, 2, {4, 2}},                         // an ALU executes
    PacketKind{0xf, 0xd, 3, {4, 3}, Packet::Immediate, {7, 5}},
    PacketKind{0x1f, 0x04, 6, {5, 3}, Packet::Immediates, {8, 16}},
    PacketKind{0x1f, 0x14, 6, {5, 3}},                       // waves that are ready
    PacketKind{0x1f, 0x15, 5, {5, 3}, Packet::End, {15, 5}, {9, 2}, {11, 3}},
    PacketKind{0x1f, 0x0c, 8, {5, 2}, Packet::Start, {13, 5}, {8, 2}, {10, 3}},
    PacketKind{0x7f, 0x21, 18, {8, 3}},                      // times of several lengths
    PacketKind{0x1f, 0x06, 13, {5, 3}},
    PacketKind{0x1f, 0x1c, 12, {5, 2}},
    PacketKind{0x0f, 0x08, 2, {4, 4}, Packet::ShortTime},
    PacketKind{0x7f, 0x01, 12, {12, 36}, Packet::Marker, {}, {}, {}, {8, 2}},
    PacketKind{0x1f, 0x05, 5, {5, 3}},                       // a wave's allocation
    PacketKind{0x1f, 0x16, 7, {5, 3}},                       // counters
    PacketKind{0x7f, 0x51, 6, {7, 9}},                       // state of waves
    PacketKind{0xff, 0x61, 6, {8, 3}},                       // events
    PacketKind{0xff, 0xe1, 8, {8, 3}},
    PacketKind{0x0f, 0x09, 16, {4, 3}},                      // registers
    PacketKind{0x7f, 0x71, 16, {7, 3}},                      // a snapshot
    PacketKind{0x7f, 0x31, 12, {7, 2}},                      // counters of utilisation
    PacketKind{0x7f, 0x11, 16, {}, Packet::Header, {}, {}, {}, {7, 6}},
    PacketKind{0x0f, 0x00, 1, {}},                           // padding
};

/// RDNA4's streams, which say in their header that they are of layout 4.
constexpr auto kRdna4 = [] {
  auto kinds = kRdna3;
  const auto replace = [&](const PacketKind &kind) {
    for (PacketKind &old : kinds)
      if (old.mask == kind.mask && old.value == kind.value)
        old = kind;
  };
  replace({0x7, 0x2, 5, {3, 3}, Packet::Instruction, {7, 5}, {}, {}, {12, 8}});
  replace({0x1f, 0x15, 5, {5, 3}, Packet::End, {15, 5}, {9, 2}, {11, 4}});
  replace({0x1f, 0x0c, 8, {5, 2}, Packet::Start, {15, 5}, {8, 2}, {10, 4}});
  replace({0x1f, 0x06, 14, {7, 3}});
  replace({0x1f, 0x1c, 10, {5, 2}});
  replace({0x7f, 0x01, 16, {12, 52}, Packet::Marker, {}, {}, {}, {7, 2}});
  replace({0x1f, 0x05, 6, {5, 3}});
  replace({0x1f, 0x16, 8, {7, 3}});
  return kinds;
}();

/// Kinds of instructions that another SIMD issues: memory and LDS, whose units SIMDs share.
bool isOfOtherSimd(uint64_t op, bool layout4) {
  if (op >= 0x50 && op <= (layout4 ? 0x59 : 0x66))
    return true;
  return layout4 && ((op >= 0xbc && op <= 0xdd) || op == 0x77 || op == 0x78);
}

constexpr uint64_t kJump = 3; ///< a branch that was taken

/// The packet that begins at a nibble; its lowest 64 bits.
uint64_t packetAt(std::span<const uint8_t> stream, size_t nibble) {
  uint64_t packet = 0;
  for (unsigned i = 0; i < 16 && nibble + i < stream.size() * 2; ++i)
    packet |= uint64_t(stream[(nibble + i) / 2] >> ((nibble + i) % 2 * 4) & 0xf) << (4 * i);
  return packet;
}

const PacketKind &kindOf(std::span<const PacketKind> kinds, uint64_t packet) {
  const PacketKind *best = nullptr; // the one that the most bits say
  for (const PacketKind &kind : kinds)
    if ((packet & kind.mask) == kind.value &&
        (!best || std::popcount(kind.mask) > std::popcount(best->mask)))
      best = &kind;
  return best ? *best : kinds.back();
}

std::vector<SqStamp> readRdna(std::span<const uint8_t> stream, bool layout4) {
  const std::span<const PacketKind> kinds = layout4 ? kRdna4 : kRdna3;
  std::vector<SqStamp> stamps;
  uint64_t time = 0;
  for (size_t at = 0; at < stream.size() * 2;) {
    const uint64_t packet = packetAt(stream, at);
    const PacketKind &kind = kindOf(kinds, packet);
    if (at + kind.nibbles > stream.size() * 2)
      break; // the stream is as long as the buffer that the last packets filled
    at += kind.nibbles;
    const unsigned wave = static_cast<unsigned>(kind.wave.of(packet));
    // A marker has its second flag set and its first one not, in the order of the layout.
    const uint64_t flags = kind.op.of(packet);
    const bool isMarker = kind.is == Packet::Marker && flags == (layout4 ? 1u : 2u);
    if (!isMarker)
      time += kind.delta.of(packet) + (kind.is == Packet::ShortTime ? 4 : 0);
    SqStamp stamp{.time = time,
                  .simd = static_cast<unsigned>(kind.simd.of(packet)),
                  .unit = static_cast<unsigned>(kind.unit.of(packet)),
                  .wave = wave};
    switch (kind.is) {
    case Packet::Vector:
      stamps.push_back(stamp);
      break;
    case Packet::Instruction:
      stamp.isTakenJump = kind.op.of(packet) == kJump;
      if (!isOfOtherSimd(kind.op.of(packet), layout4))
        stamps.push_back(stamp);
      break;
    case Packet::Immediate:
      stamp.event = SqEvent::Immediate;
      stamps.push_back(stamp);
      break;
    case Packet::Immediates:
      stamp.event = SqEvent::Immediate;
      for (unsigned i = 0; i < 16; ++i)
        if (kind.wave.of(packet) >> i & 1) {
          stamp.wave = i;
          stamps.push_back(stamp);
        }
      break;
    case Packet::Start:
    case Packet::End:
      stamp.event = kind.is == Packet::Start ? SqEvent::WaveStart : SqEvent::WaveEnd;
      stamps.push_back(stamp);
      break;
    default:
      break;
    }
  }
  return stamps;
}

/// CDNA's packets are whole words of 16 bits, of a length that their lowest four bits say.
std::vector<SqStamp> readCdna(std::span<const uint8_t> stream) {
  constexpr std::array<uint8_t, 16> kBytes{2, 8, 8, 4, 2, 6, 2, 2, 2, 2, 2, 8, 6, 4, 8, 6};
  constexpr unsigned kTime = 0, kStart = 3, kEnd = 6, kInstruction = 10, kTakenJump = 12;
  std::vector<SqStamp> stamps;
  uint64_t time = 0;
  for (size_t at = 0; at < stream.size();) {
    const uint64_t packet = packetAt(stream, at * 2);
    const unsigned kind = packet & 0xf;
    if (at + kBytes[kind] > stream.size())
      break; // the stream is as long as the buffer that the last packets filled
    at += kBytes[kind];
    if (kind == kTime)
      time += 4 * Field{4, 8}.of(packet);
    else if (kind == kStart || kind == kEnd)
      stamps.push_back({.time = time,
                        .event = kind == kStart ? SqEvent::WaveStart : SqEvent::WaveEnd,
                        .simd = static_cast<unsigned>(Field{14, 2}.of(packet)),
                        .unit = static_cast<unsigned>(Field{6, 4}.of(packet)),
                        .wave = static_cast<unsigned>(Field{10, 4}.of(packet))});
    else if (kind == kInstruction)
      stamps.push_back({.time = time,
                        .simd = static_cast<unsigned>(Field{9, 2}.of(packet)),
                        .wave = static_cast<unsigned>(Field{5, 4}.of(packet)),
                        .isTakenJump = Field{11, 5}.of(packet) == kTakenJump});
  }
  return stamps;
}

} // namespace

std::vector<SqStamp> readSqTrace(std::span<const uint8_t> stream) {
  const uint64_t header = packetAt(stream, 0);
  constexpr uint64_t kLayout3 = 3, kLayout4 = 4;
  const uint64_t layout = header >> 7 & 0x3f;
  if (stream.size() < 8 || (header & 0xf) != 1)
    throw std::runtime_error("this is no SQ thread trace: it begins with no header");
  if ((header & 0x7f) == 0x11 && (layout == kLayout3 || layout == kLayout4))
    return readRdna(stream, layout == kLayout4);
  return readCdna(stream);
}

} // namespace flyemu::test
