/* A program that uses HIP's functions without libflydsl. It succeeds if there is a device. */
#include <hip/hip_runtime_api.h>

int main(void) {
  int count = 0;
  return hipGetDeviceCount(&count) == hipSuccess && count > 0 ? 0 : 1;
}
