// Compiled once per SIMD level, with FLYEMU_SIMD_LEVEL naming the level and the compiler's target
// flags set for it. Nothing here may be an inline function shared with other translation units.
#include "emulator/observe/lane_loops.h"

#include <immintrin.h>

namespace flyemu {
namespace {

LaneLoops::Places lookAt(const uint64_t *at, unsigned count, uint64_t origin, uint64_t bytes) {
  uint64_t ends = 0;
  for (unsigned k = 0; k < count; ++k)
    ends |= at[k] - origin;
  uint64_t starts = 1;
  unsigned k = 1;
#ifdef __AVX512F__
  const __m512i step = _mm512_set1_epi64(static_cast<int64_t>(bytes));
  for (; k + 8 <= count; k += 8) {
    const __m512i before = _mm512_add_epi64(_mm512_loadu_si512(at + k - 1), step);
    starts |= uint64_t(_mm512_cmpneq_epi64_mask(before, _mm512_loadu_si512(at + k))) << k;
  }
#elif defined(__AVX2__)
  const __m256i step = _mm256_set1_epi64x(static_cast<int64_t>(bytes));
  auto four = [](const uint64_t *p) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i *>(p));
  };
  for (; k + 4 <= count; k += 4) {
    const __m256i same = _mm256_cmpeq_epi64(_mm256_add_epi64(four(at + k - 1), step), four(at + k));
    starts |= uint64_t(~_mm256_movemask_pd(_mm256_castsi256_pd(same)) & 15) << k;
  }
#endif
  for (; k < count; ++k)
    starts |= uint64_t(at[k - 1] + bytes != at[k]) << k;
  return {starts, ends};
}

void offsets(const uint64_t *at, unsigned count, uint64_t origin, unsigned shift, uint32_t *to) {
  for (unsigned k = 0; k < count; ++k)
    to[k] = static_cast<uint32_t>(at[k] - origin) >> shift;
}

void hide(uint32_t *__restrict rows, unsigned count, uint32_t *__restrict saved, uint32_t value) {
  for (unsigned k = 0; k < 64 * count; ++k) {
    saved[k] = rows[k];
    rows[k] = value;
  }
}

bool noteRow(const LdsShadow &s, size_t first, size_t count, uint32_t key, uint32_t detail,
             unsigned shift, bool write) {
  uint32_t *__restrict const writeKey = s.write.key + first;
  uint32_t *__restrict const readKey = s.read.key + first;
  uint32_t *__restrict const otherKey = s.otherRead.key + first;
  uint32_t races = 0, moves = 0;
  for (size_t k = 0; k < count; ++k)
    races |= isByOther(writeKey[k], key);
  for (size_t k = 0; k < count; ++k)
    moves |= isByOther(readKey[k], key);
  if (write) {
    races |= moves;
    for (size_t k = 0; k < count; ++k)
      races |= isByOther(otherKey[k], key);
  }
  if (races)
    return false;
  uint32_t *const touchedKey = write ? writeKey : readKey;
  uint32_t *const touched = (write ? s.write.detail : s.read.detail) + first;
  if (moves) {
    uint32_t *const other = s.otherRead.detail + first;
    for (size_t k = 0; k < count; ++k) {
      const uint32_t moved = isByOther(readKey[k], key) ? ~0u : 0;
      otherKey[k] = (readKey[k] & moved) | (otherKey[k] & ~moved);
      other[k] = (touched[k] & moved) | (other[k] & ~moved);
    }
  }
  for (size_t k = 0; k < count; ++k)
    touchedKey[k] = key;
  for (uint32_t k = 0; k < count; ++k)
    touched[k] = detail + (k >> shift);
  return true;
}

// Two or four places in a row.
typedef uint32_t Two __attribute__((vector_size(8)));
typedef uint32_t Four __attribute__((vector_size(16)));

template <class V> V loadPlaces(const uint32_t *p) {
  V x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}
template <class V> void storePlaces(uint32_t *p, V x) { __builtin_memcpy(p, &x, sizeof x); }

/// As isByOther, in all bits of each element.
template <class V> V byOther(V key, uint32_t mine) {
  if constexpr (sizeof(V) == 4)
    return isByOther(key, mine) ? ~0u : 0;
  else
    return (V)((key ^ mine) - 2 < 510);
}
template <class V> bool any(V x) {
  if constexpr (sizeof(V) == 4) {
    return x;
  } else {
    uint64_t words[sizeof(V) / 8];
    __builtin_memcpy(words, &x, sizeof x);
    uint64_t all = 0;
    for (uint64_t word : words)
      all |= word;
    return all;
  }
}

/// Each access is that of so many places as `V` has.
template <class V, bool Write>
bool notePlacesOf(const LdsShadow &s, const uint32_t *first, const uint8_t *lanes, unsigned count,
                  uint32_t key, uint32_t detail) {
  V races = {}, moves = {};
  for (unsigned k = 0; k < count; ++k) {
    const uint32_t at = first[k];
    races |= byOther(loadPlaces<V>(s.write.key + at), key);
    moves |= byOther(loadPlaces<V>(s.read.key + at), key);
    if constexpr (Write)
      races |= byOther(loadPlaces<V>(s.otherRead.key + at), key);
  }
  if (any(races) || (Write && any(moves)))
    return false;
  auto select = [](V mask, V yes, V no) { return (yes & mask) | (no & ~mask); };
  if (any(moves))
    for (unsigned k = 0; k < count; ++k) {
      const uint32_t at = first[k];
      const V old = loadPlaces<V>(s.read.key + at), moved = byOther(old, key);
      storePlaces(s.otherRead.key + at, select(moved, old, loadPlaces<V>(s.otherRead.key + at)));
      storePlaces(s.otherRead.detail + at, select(moved, loadPlaces<V>(s.read.detail + at),
                                                  loadPlaces<V>(s.otherRead.detail + at)));
      storePlaces(s.read.key + at, V{} + key); // lanes may access the same places
    }
  const LdsTouches &touched = Write ? s.write : s.read;
  for (unsigned k = 0; k < count; ++k) {
    storePlaces(touched.key + first[k], V{} + key);
    storePlaces(touched.detail + first[k], V{} + (detail + lanes[k]));
  }
  return true;
}

bool notePlaces(const LdsShadow &s, const uint32_t *first, const uint8_t *lanes, unsigned count,
                unsigned each, uint32_t key, uint32_t detail, bool write) {
  auto note = [&]<class V>(V, const uint32_t *from) {
    return write ? notePlacesOf<V, true>(s, from, lanes, count, key, detail)
                 : notePlacesOf<V, false>(s, from, lanes, count, key, detail);
  };
  switch (each) {
  case 1:
    return note(uint32_t(), first);
  case 2:
    return note(Two(), first);
  case 4:
    return note(Four(), first);
  default:
    break;
  }
  uint32_t from[64];
  for (unsigned d = 0; d < each; ++d) {
    for (unsigned k = 0; k < count; ++k)
      from[k] = first[k] + d;
    if (!note(uint32_t(), from))
      return false;
  }
  return true;
}

uint32_t noteUsers(const LdsUsers &users, size_t count, uint32_t user, uint32_t inst) {
  uint32_t *__restrict const last = users.last, *__restrict const other = users.other;
  uint32_t *__restrict const lastAt = users.lastAt, *__restrict const otherAt = users.otherAt;
  const uint32_t *__restrict const load = users.load;
  uint32_t latest = 0;
  for (size_t k = 0; k < count; ++k) {
    const uint32_t moved = (last[k] ^ user) & 255 ? ~0u : 0;
    other[k] = (last[k] & moved) | (other[k] & ~moved);
    otherAt[k] = (lastAt[k] & moved) | (otherAt[k] & ~moved);
    last[k] = user;
    lastAt[k] = inst;
    latest = load[k] > latest ? load[k] : latest;
  }
  return latest;
}

template <class T> T load(const uint8_t *p) {
  T x;
  __builtin_memcpy(&x, p, sizeof x);
  return x;
}

/// Calls loop(element, how many of them) with the widest unsigned type for so many bytes.
template <class F> auto withElements(unsigned bytes, F loop) {
  switch (bytes) {
  case 1:
    return loop(uint8_t(1), 1);
  case 2:
    return loop(uint16_t(0x0101), 1);
  case 4:
    return loop(uint32_t(0x01010101), 1);
  case 8:
    return loop(uint64_t(0x0101010101010101), 1);
  case 12:
    return loop(uint32_t(0x01010101), 3);
  default:
    return loop(uint64_t(0x0101010101010101), 2);
  }
}

bool allSet(const uint8_t *flags, const uint32_t *at, unsigned count, unsigned bytes) {
  return withElements(bytes, [&](auto ones, unsigned each) {
    auto all = ones;
    for (unsigned k = 0; k < count; ++k)
      for (unsigned d = 0; d < each; ++d)
        all &= load<decltype(ones)>(flags + at[k] + d * sizeof ones);
    return all == ones;
  });
}

void setAll(uint8_t *flags, const uint32_t *at, unsigned count, unsigned bytes) {
  withElements(bytes, [&](auto ones, unsigned each) {
    for (unsigned k = 0; k < count; ++k)
      for (unsigned d = 0; d < each; ++d)
        __builtin_memcpy(flags + at[k] + d * sizeof ones, &ones, sizeof ones);
  });
}

} // namespace

#define FLYEMU_SYMBOL_(level) kLaneLoops##level
#define FLYEMU_SYMBOL(level) FLYEMU_SYMBOL_(level)

extern const LaneLoops FLYEMU_SYMBOL(FLYEMU_SIMD_LEVEL);
const LaneLoops FLYEMU_SYMBOL(FLYEMU_SIMD_LEVEL) = {lookAt,     offsets,   hide,   noteRow,
                                                    notePlaces, noteUsers, allSet, setAll};

} // namespace flyemu
