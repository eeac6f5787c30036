// An array of C++ is indexed while tracing; a vector may be indexed at run time.
#include <flydsl/gpu.h>
#include <flydsl/vector.h>

#include <array>
void f() {
  flydsl::Int32 i = flydsl::thread_idx().x;
  const float table[4] = {1, 2, 3, 4};
  std::array<std::int8_t, 4> others{};
  flydsl::Numeric x = flydsl::Vector::of(table)[i];
  flydsl::Numeric y = flydsl::Vector::of(others, flydsl::i32)[i];
#ifdef MISUSE
  float z = table[i];
#endif
}
