// The host's draws.
#include <flydsl/kernel/random.h>

#include "support/random/distributions.h"
#include "support/random/philox.h"

FLYDSL_NAMESPACE_BEGIN
namespace random {

std::array<std::uint32_t, 4> philox(const std::array<std::uint32_t, 4> &counter,
                                    const std::array<std::uint32_t, 2> &key, int rounds, Loc loc) {
  return algorithm::philox<std::uint32_t>(counter, key, rounds, loc);
}
std::array<std::uint64_t, 4> philox(const std::array<std::uint64_t, 4> &counter,
                                    const std::array<std::uint64_t, 2> &key, int rounds, Loc loc) {
  return algorithm::philox<std::uint64_t>(counter, key, rounds, loc);
}

namespace impl {

std::array<std::uint32_t, 4> drawOnHost(std::uint64_t seed, std::uint64_t offset, int rounds,
                                        Loc loc) {
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  return random::philox(std::array{low(offset), low(offset >> 32), 0u, 0u},
                        std::array{low(seed), low(seed >> 32)}, rounds, loc);
}
float uniformOnHost(std::uint32_t word) {
  return algorithm::uniform(static_cast<std::int32_t>(word));
}
std::array<float, 2> normalsOnHost(float a, float b) { return algorithm::normals(a, b); }

} // namespace impl
} // namespace random
FLYDSL_NAMESPACE_END
