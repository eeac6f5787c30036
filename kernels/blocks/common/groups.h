// Short vectors in pieces: parts of a vector, and vectors of parts.
#pragma once

#include <flydsl/flydsl.h>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// The elements of a, then those of b. Both have 1, 2 or 4 elements.
inline Vector joined(const Vector &a, const Vector &b) {
  switch (a.size()) {
  case 2:
    return a.shuffle(b, {0, 1, 2, 3});
  case 4:
    return a.shuffle(b, {0, 1, 2, 3, 4, 5, 6, 7});
  default:
    throw Error("vectors of 2 or 4 elements are joined");
  }
}
/// `size` elements from number `at` on.
inline Vector part(const Vector &v, int at, int size) {
  if (v.size() == size)
    return v;
  switch (size) {
  case 2:
    return v.shuffle(v, {at, at + 1});
  case 4:
    return v.shuffle(v, {at, at + 1, at + 2, at + 3});
  case 8:
    return v.shuffle(v, {at, at + 1, at + 2, at + 3, at + 4, at + 5, at + 6, at + 7});
  default: {
    const Tensor all =
        make_rmem_tensor(IntTuple(static_cast<int>(v.size())), v.dtype()); // (elements)
    all.store(v);
    return make_view(all.iter() + at, make_layout(size)).load(); // (size)
  }
  }
}

/// Every other element of 4 or 8, from number `first` on, 0 or 1.
inline Vector everyOther(const Vector &v, int first) {
  switch (v.size()) {
  case 4:
    return v.shuffle(v, {first, first + 2});
  case 8:
    return v.shuffle(v, {first, first + 2, first + 4, first + 6});
  default:
    throw Error("every other element is taken of 4 or 8");
  }
}

/// Reads `count` neighbours, 2, 4 or 8, `width` at a time.
inline Vector loadNeighbours(const Pointer &first, int count, int width) {
  if (count == width)
    return first.load(count);
  const int half = count / 2;
  if (half == 1)
    return Vector::of({first.load(), (first + 1).load()});
  return joined(loadNeighbours(first, half, width), loadNeighbours(first + half, half, width));
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
