// The entry point of libFuzzer for machine code.
#include "decoder_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  flyemu::fuzz::runCode(data, size < 4096 ? size : 4096);
  return 0;
}
