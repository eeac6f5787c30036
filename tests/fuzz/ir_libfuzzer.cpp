// The entry point of libFuzzer for Fly IR.
#include "ir_target.h"

#include <cstddef>
#include <cstdint>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  flydsl::fuzz::runIR({reinterpret_cast<const char *>(data), size});
  return 0;
}
