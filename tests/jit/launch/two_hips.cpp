// A program that links HIP where there is no GPU: kernels run on the emulator, and the log warns
// that the program's own HIP is another one.
#include <flydsl/flydsl.h>

#include <hip/hip_runtime_api.h>

int main() {
  int own = 0;
  if (hipGetDeviceCount(&own) == hipSuccess && own > 0)
    return 0; // a GPU, and one HIP
  return flydsl::Device::count() > 0 ? 0 : 1;
}
