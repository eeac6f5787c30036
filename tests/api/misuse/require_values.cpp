// The text of a demand has one {} for each value.
#include <flydsl/kernel/require.h>

namespace fx = flydsl;

void check(int k) {
#ifdef MISUSE
  fx::require(k % 16 == 0, "k is a multiple of {}, not {}", k);
#else
  fx::require(k % 16 == 0, "k is a multiple of {}, not {}", 16, k);
#endif
}
