// What the start-up code of programs compiled as HIP C++ calls: it tells of the device code in the
// program, and of the host addresses of its kernels and variables.
#include "emulator/hip/module/registration.h"

using namespace flyemu::hip;

namespace {
FatBinary &binaryOf(void **handle) { return *reinterpret_cast<FatBinary *>(handle); }
} // namespace

extern "C" {

void **__hipRegisterFatBinary(const void *data) {
  FatBinary *binary = nullptr;
  (void)api("__hipRegisterFatBinary", [&] { binary = registerBinary(data); });
  return reinterpret_cast<void **>(binary);
}

void __hipUnregisterFatBinary(void **handle) {
  unregisterBinary(reinterpret_cast<FatBinary *>(handle));
}

void __hipRegisterFunction(void **handle, const void *hostFunction, char *, const char *name,
                           unsigned, void *, void *, dim3 *, dim3 *, int *) {
  if (handle && name)
    registerFunction(binaryOf(handle), hostFunction, name);
}

void __hipRegisterVar(void **handle, void *hostVariable, char *, char *name, int, size_t, int,
                      int) {
  if (handle && name)
    registerVariable(binaryOf(handle), hostVariable, name);
}

/// Host code reaches the variable through \p pointer alone, so the memory is there from now on.
void __hipRegisterManagedVar(void **handle, void **pointer, void *initial, const char *name,
                             size_t size, unsigned alignment) {
  (void)api("__hipRegisterManagedVar", [&] {
    require(handle && pointer && name, "a pointer is null");
    auto memory = std::make_shared<ManagedVariable>(size, alignment, initial);
    *pointer = memory->data();
    registerManaged(binaryOf(handle), name, std::move(memory));
  });
}

} // extern "C"
