#include "emulator/hip/module/registration.h"

#include <map>
#include <mutex>

namespace flyemu::hip {
namespace {

/// What the compiler emits (clang's HIP ABI): a magic word, and the bundle's address.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void *binary;
  void *unused;
};
constexpr uint32_t kFatBinaryMagic = 0x48495046; // "HIPF"

struct FatBinary {
  const void *image = nullptr;
  std::map<int, std::shared_ptr<Module>> modules; ///< by device
  ManagedVariables managed;
};

struct Symbol {
  FatBinary *binary;
  std::string name;
};

struct Registry {
  std::mutex mutex;
  std::map<FatBinary *, std::unique_ptr<FatBinary>> binaries;
  std::map<const void *, Symbol> functions;
  std::map<const void *, Symbol> variables;
};

/// Lives as long as the process: programs unregister from static destructors.
Registry &registry() {
  static Registry *instance = new Registry;
  return *instance;
}

Module &moduleFor(FatBinary &binary, Device &device) {
  std::shared_ptr<Module> &module = binary.modules[device.index()];
  if (!module) {
    std::vector<uint8_t> image = copyHostImage(binary.image);
    module = Module::load({image.data(), image.size()}, device, binary.managed);
  }
  return *module;
}

} // namespace

std::shared_ptr<Function> registeredFunction(const void *hostFunction, Device &device) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  auto it = all.functions.find(hostFunction);
  if (it == all.functions.end())
    fail(hipErrorInvalidDeviceFunction, "no kernel was registered for this host function");
  Function *function = moduleFor(*it->second.binary, device).function(it->second.name);
  return Runtime::get().functions.get(function, "function");
}

loader::CodeVariable registeredVariable(const void *hostVariable, Device &device) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  auto it = all.variables.find(hostVariable);
  if (it == all.variables.end())
    fail(hipErrorInvalidSymbol, "no device variable was registered for this address");
  const loader::CodeVariable variable =
      moduleFor(*it->second.binary, device).variable(it->second.name);
  if (!variable.address)
    fail(hipErrorInvalidSymbol, "no variable '" + it->second.name + "' in the code object");
  return variable;
}

} // namespace flyemu::hip

using namespace flyemu::hip;

extern "C" {

void **__hipRegisterFatBinary(const void *data) {
  auto *wrapper = static_cast<const FatBinaryWrapper *>(data);
  if (!wrapper || wrapper->magic != kFatBinaryMagic) {
    log(ReportLevel::Error, "__hipRegisterFatBinary: not a HIP fat binary");
    return nullptr;
  }
  auto binary = std::make_unique<FatBinary>();
  binary->image = wrapper->binary;
  FatBinary *handle = binary.get();
  std::lock_guard lock(registry().mutex);
  registry().binaries.emplace(handle, std::move(binary));
  return reinterpret_cast<void **>(handle);
}

void __hipUnregisterFatBinary(void **handle) {
  auto *binary = reinterpret_cast<FatBinary *>(handle);
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.functions, [&](const auto &entry) { return entry.second.binary == binary; });
  std::erase_if(all.variables, [&](const auto &entry) { return entry.second.binary == binary; });
  all.binaries.erase(binary);
}

void __hipRegisterFunction(void **handle, const void *hostFunction, char *, const char *name,
                           unsigned, void *, void *, dim3 *, dim3 *, int *) {
  std::lock_guard lock(registry().mutex);
  if (handle && name)
    registry().functions[hostFunction] = {reinterpret_cast<FatBinary *>(handle), name};
}

void __hipRegisterVar(void **handle, void *hostVariable, char *, char *name, int, size_t, int,
                      int) {
  std::lock_guard lock(registry().mutex);
  if (handle && name)
    registry().variables[hostVariable] = {reinterpret_cast<FatBinary *>(handle), name};
}

/// Host code reaches the variable through \p pointer alone, so the memory is there from now on.
void __hipRegisterManagedVar(void **handle, void **pointer, void *initial, const char *name,
                             size_t size, unsigned alignment) {
  (void)api("__hipRegisterManagedVar", [&] {
    require(handle && pointer && name, "a pointer is null");
    auto memory = std::make_shared<ManagedVariable>(size, alignment, initial);
    *pointer = memory->data();
    auto *binary = reinterpret_cast<FatBinary *>(handle);
    std::lock_guard lock(registry().mutex);
    // Symbols are named by the variable's address, which is that of its memory.
    registry().variables[memory->data()] = {binary, name};
    binary->managed[name] = std::move(memory);
  });
}

} // extern "C"
