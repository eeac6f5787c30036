// The entry point of libFuzzer for code objects.
#include "code_object_target.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  flyemu::fuzz::runCodeObject(data, size);
  return 0;
}
