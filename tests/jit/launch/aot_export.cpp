// Compiles a kernel for several targets, without a device, into a file.
#include "scale.h"

#include <cstdio>

namespace fx = flydsl;

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  auto none = fx::tensor(static_cast<float *>(nullptr), {axpyBlock});
  makeAxpy("axpy_aot")(none, none, 0.0f)
      .export_aot(argv[1], {.block = axpyBlock, .archs = {"gfx942", "gfx950", "gfx1201"}});
  std::printf("wrote %s\n", argv[1]);
}
