// An array of C++ is indexed while tracing; a vector may be indexed at run time. The error is the
// compiler's own: a refused conversion to an integer, which could name the vector, would also make
// C++'s own `long + int` a better match for `i + 1` than the operators of values, whose operands
// take the source location as they convert.
#include <flydsl/kernel/gpu.h>
#include <flydsl/kernel/vector.h>

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
