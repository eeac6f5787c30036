// Calls of programs that FlyDSL wrote from its own examples and kernels, on the device's target.
#pragma once

#include "support/operand.h"

#include <flydsl/flydsl.h>
#include <flydsl/host/program.h>

#include <cmath>
#include <string>
#include <vector>

namespace flydsl_programs {

namespace fx = flydsl;
using kernel_tests::expectWithin;
using kernel_tests::integers;
using kernel_tests::Operand;
using kernel_tests::uniform;

using Numbers = std::vector<double>;

/// The processor that tests run on: gfx942 or gfx950.
inline std::string processor() {
  const std::string arch = fx::Device(0).arch();
  return arch.substr(0, arch.find(':'));
}

/// The format of FP8 numbers that the device multiplies.
inline fx::DType fp8() { return processor() == "gfx942" ? fx::f8E4M3FNUZ : fx::f8E4M3FN; }

/// FlyDSL's module `name` for a processor.
inline fx::Program module(const std::string &name, const std::string &madeFor = processor()) {
  return fx::load_program(FLYDSL_MODULES + madeFor + "/" + name + ".mlir");
}

/// Calls the only function of a module, and waits.
template <class... Arguments> void call(const fx::Program &program, const Arguments &...arguments) {
  const std::vector<std::string> functions = program.functions();
  REQUIRE(functions.size() == 1);
  const fx::Stream stream;
  program(functions.front(), arguments..., stream);
  stream.synchronize();
}
template <class... Arguments> void call(const std::string &name, const Arguments &...arguments) {
  call(module(name), arguments...);
}

/// An operand in another shape, as its elements or as others of the same size.
inline fx::TensorArg shaped(const Operand &operand, const fx::Extents &shape) {
  return fx::tensor(operand.vector().data(), operand.dtype(), shape);
}
inline fx::TensorArg shapedAs(fx::DType dtype, const Operand &operand, const fx::Extents &shape) {
  return fx::tensor(operand.vector().data(), dtype, shape);
}
/// The address of an operand, for parameters that are pointers.
inline fx::PointerArg address(const Operand &operand) {
  return {operand.vector().data(), operand.dtype()};
}

/// Requires |got - expected| <= relative * |expected| + absolute for each element.
inline void expectNear(const Numbers &got, const Numbers &expected, double relative,
                       double absolute) {
  Numbers bound(expected.size());
  for (std::size_t i = 0; i < bound.size(); ++i)
    bound[i] = relative * std::fabs(expected[i]) + absolute;
  expectWithin(got, expected, bound);
}

/// Half a unit in the last place, relative to the number, and as much again for the arithmetic in
/// front of the rounding.
inline constexpr double kF32 = 0x1p-18, kF16 = 0x1p-10, kBf16 = 0x1p-7;

/// The product of a row-major (m, k) and the transpose of a row-major (n, k), (m, n).
inline Numbers product(const Numbers &a, const Numbers &b, std::size_t m, std::size_t n,
                       std::size_t k) {
  Numbers c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t l = 0; l < k; ++l)
        c[i * n + j] += a[i * k + l] * b[j * k + l];
  return c;
}

/// A matrix (n, k) in the order of FlyDSL's preshuffled weights: blocks of 16 rows and 32 columns.
/// In each block, 16 bytes of one row come after those of another
/// (shuffle_weight of FlyDSL's tests/utils.py).
inline Numbers preshuffled(const Numbers &b, std::size_t n, std::size_t k,
                           std::size_t elementBytes) {
  const std::size_t vec = 16 / elementBytes, block = 32;
  Numbers out;
  out.reserve(b.size());
  for (std::size_t row = 0; row < n; row += 16)
    for (std::size_t column = 0; column < k; column += block)
      for (std::size_t part = 0; part < block; part += vec)
        for (std::size_t r = 0; r < 16; ++r)
          for (std::size_t v = 0; v < vec; ++v)
            out.push_back(b[(row + r) * k + column + part + v]);
  return out;
}

} // namespace flydsl_programs
