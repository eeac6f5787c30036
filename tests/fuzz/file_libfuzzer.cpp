// The entry point of libFuzzer for files and messages.
#include "file_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  flydsl::fuzz::runFile(data, size);
  return 0;
}
