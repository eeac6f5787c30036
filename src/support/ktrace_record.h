// What a kernel writes when it records marks and ranges (ktrace), and where. The lowering and the
// reader on the host agree by this file alone.
//
// The buffer begins with a header. Behind it, each wave of the launch has a region of as many
// records as the header says, in the order of waves: region number = (block - firstBlock) *
// wavesPerBlock + wave, where `block` counts x fastest. A wave fills its region from the front;
// what was not written is zero. Records that find their region full are counted, not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

namespace flydsl::support::ktrace {

enum class Kind : std::uint8_t { mark, rangePush, rangePop, rangeStart, rangeStop };

/// What the bits of a payload are.
enum class PayloadType : std::uint8_t { uint64, int64, float32, float64, boolean };

/// The names that IR has for them.
constexpr std::string_view kPayloadTypeNames[] = {"uint64", "int64", "float32", "float64", "bool"};

constexpr std::optional<PayloadType> payloadTypeOf(std::string_view name) {
  for (std::size_t i = 0; i < std::size(kPayloadTypeNames); ++i)
    if (kPayloadTypeNames[i] == name)
      return static_cast<PayloadType>(i);
  return std::nullopt;
}

struct Header {
  std::uint32_t recordsPerWave = 0;
  std::uint32_t firstBlock = 0;    ///< the first block that records
  std::uint32_t blockCount = 0;    ///< how many record; all others are silent
  std::uint32_t wavesPerBlock = 0; ///< of this launch
  std::uint32_t dropped = 0;       ///< counted by the kernel
  std::uint32_t unused[11] = {};
};
static_assert(sizeof(Header) == 64);

struct Record {
  std::uint64_t clock = 0; ///< ticks of the device's constant clock
  std::uint64_t payload = 0;
  std::uint32_t hardwareId = 0; ///< HW_ID of gfx9, HW_ID1 of later processors
  std::uint32_t die = 0;        ///< XCC_ID of gfx942 and gfx950
  std::uint32_t event = 0;      ///< see below; never 0 in a record that was written
  std::uint32_t start = 0; ///< rangeStop: the number of the start's record in its region, plus 1
};
static_assert(sizeof(Record) == 32);

// `event`: bits 0 to 23 the number of the name plus 1 (1 for range_pop, which has none), 24 to 26
// the kind, 27 to 29 the payload's type, 31 whether there is a payload.
constexpr unsigned kKindBit = 24, kPayloadTypeBit = 27, kHasPayloadBit = 31;
constexpr std::uint32_t kNameMask = (1u << kKindBit) - 1;

/// The name of the constant of a code object that lists the names, each ended by a zero byte.
constexpr std::string_view kNamesSymbol = "__flydsl_ktrace_names";

/// Waves that a block has at most, on every processor.
constexpr unsigned kMaxWavesPerBlock = 32;

} // namespace flydsl::support::ktrace
