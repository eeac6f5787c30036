// Examples of docs/programs.md.
#include "example.h"

#include <flydsl/host/compile_ir.h>
#include <flydsl/host/program.h>

#include <fstream>
#include <iterator>

namespace {
const std::string modules = std::string(FLYDSL_EXAMPLES_DIR) + "/../../tests/jit/program/modules/";
}

TEST_CASE("a module of FlyDSL, called from C++") {
  const std::string path = modules + "vector_add.mlir";
  const int n = 1000;
  const auto a = fx::DeviceArray<float>::random({n}, 1), b = fx::DeviceArray<float>::random({n}, 2);
  fx::DeviceArray<float> c({n});
  const fx::Stream stream;
  // region: call
  const fx::Program program = fx::load_program(path); // what FLYDSL_DUMP_IR=1 wrote
  program("vector_add", a, b, c, n, stream);
  // endregion
  stream.synchronize();
  const std::vector<float> x = a.to_host(), y = b.to_host(), z = c.to_host();
  for (std::size_t i = 0; i < z.size(); ++i)
    REQUIRE(z[i] == x[i] + y[i]);

  const fx::DeviceArray<double> wrong({n});
  example::expectOutput("programs-wrong-type.txt", example::messageOf<fx::TraceError>([&] {
    // region: wrong
    program("vector_add", a, wrong, c, n, stream);
    // endregion
  }));
}

TEST_CASE("a kernel of a module, called from C++") {
  std::ifstream file(modules + "vector_add.mlir");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto a = fx::DeviceArray<float>::random({64}, 1);
  fx::DeviceArray<float> c({64});
  const fx::Stream stream;
  // region: kernel
  const fx::Executable kernel = fx::compile_ir(text);
  kernel(a, a, c, 64).launch({.grid = 1, .block = 64, .stream = stream});
  // endregion
  stream.synchronize();
  REQUIRE(c.to_host()[7] == 2 * a.to_host()[7]);
}
