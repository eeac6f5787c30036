#include "emulator/hip/module/registration.h"

#include <map>
#include <mutex>

namespace flyemu::hip {

struct FatBinary {
  const void *image = nullptr;
  std::map<int, std::shared_ptr<Module>> modules; ///< by device
  ManagedVariables managed;
};

namespace {

/// What the compiler emits (clang's HIP ABI): a magic word, and the bundle's address.
struct FatBinaryWrapper {
  uint32_t magic;
  uint32_t version;
  const void *binary;
  void *unused;
};
constexpr uint32_t kFatBinaryMagic = 0x48495046; // "HIPF"

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

/// Null when nothing was registered for the address.
std::shared_ptr<Function> registeredFunction(const void *hostFunction, Device &device) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  const auto it = all.functions.find(hostFunction);
  if (it == all.functions.end())
    return nullptr;
  Function *function = moduleFor(*it->second.binary, device).function(it->second.name);
  function->hostAddress = hostFunction;
  return Runtime::get().functions.get(function, "function");
}

/// Empty when nothing was registered for the address.
std::string registeredName(const void *hostFunction) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  const auto it = all.functions.find(hostFunction);
  return it == all.functions.end() ? std::string() : it->second.name;
}

void requireDevice(const Function &function, const Device &device) {
  if (function.device != &device)
    fail(hipErrorInvalidHandle, "kernel " + function.kernel->metadata.name +
                                    " was loaded on device " +
                                    std::to_string(function.device->index()) +
                                    ", the call is for device " + std::to_string(device.index()));
}

} // namespace

FatBinary *registerBinary(const void *data) {
  auto *wrapper = static_cast<const FatBinaryWrapper *>(data);
  if (!wrapper || wrapper->magic != kFatBinaryMagic)
    fail(hipErrorInvalidImage, "not a HIP fat binary");
  auto binary = std::make_unique<FatBinary>();
  binary->image = wrapper->binary;
  FatBinary *handle = binary.get();
  std::lock_guard lock(registry().mutex);
  registry().binaries.emplace(handle, std::move(binary));
  return handle;
}

void unregisterBinary(FatBinary *binary) {
  Registry &all = registry();
  std::lock_guard lock(all.mutex);
  std::erase_if(all.functions, [&](const auto &entry) { return entry.second.binary == binary; });
  std::erase_if(all.variables, [&](const auto &entry) { return entry.second.binary == binary; });
  all.binaries.erase(binary);
}

void registerFunction(FatBinary &binary, const void *hostFunction, const char *name) {
  std::lock_guard lock(registry().mutex);
  registry().functions[hostFunction] = {&binary, name};
}

void registerVariable(FatBinary &binary, const void *hostVariable, const char *name) {
  std::lock_guard lock(registry().mutex);
  registry().variables[hostVariable] = {&binary, name};
}

void registerManaged(FatBinary &binary, const char *name, std::shared_ptr<ManagedVariable> memory) {
  std::lock_guard lock(registry().mutex);
  // Symbols are named by the variable's address, which is that of its memory.
  registry().variables[memory->data()] = {&binary, name};
  binary.managed[name] = std::move(memory);
}

std::shared_ptr<Function> kernelOf(const void *given, Device &device) {
  if (std::shared_ptr<Function> function = registeredFunction(given, device))
    return function;
  std::shared_ptr<Function> function = Runtime::get().functions.find(given);
  if (!function)
    fail(hipErrorInvalidDeviceFunction,
         given ? "this address is no kernel of the program's device code, nor a function that HIP "
                 "gave out for a loaded module"
               : "the function is null");
  requireDevice(*function, device);
  return function;
}

std::shared_ptr<Function> functionOf(hipFunction_t handle) {
  if (std::shared_ptr<Function> function = Runtime::get().functions.find(handle))
    return function;
  const std::string name = registeredName(handle);
  fail(hipErrorInvalidHandle, name.empty()
                                  ? std::string("not a live function handle")
                                  : "not a function handle but the host address of kernel " + name +
                                        ", whose handle is what hipGetFuncBySymbol gives");
}

std::shared_ptr<Function> functionOf(hipFunction_t handle, const Device &device) {
  std::shared_ptr<Function> function = functionOf(handle);
  requireDevice(*function, device);
  return function;
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

void *inSymbol(const void *symbol, size_t size, size_t offset) {
  const loader::CodeVariable variable = registeredVariable(symbol, Runtime::get().currentDevice());
  require(offset <= variable.size && size <= variable.size - offset,
          "the range does not lie in the variable");
  return reinterpret_cast<void *>(variable.address + offset);
}

} // namespace flyemu::hip
