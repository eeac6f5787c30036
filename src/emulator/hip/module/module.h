// Modules and functions: a loaded code object on one device and the handles that HIP gives out for
// its kernels.
#pragma once

#include "emulator/hip/handles.h"
#include "emulator/hip/module/managed_variable.h"
#include "emulator/loader/loaded_code.h"

#include <atomic>
#include <map>
#include <memory>
#include <string>

namespace flyemu::hip {

class Device;
class Module;

/// A hipFunction_t. Launches in flight keep it, and through it the code object, alive.
struct Function {
  std::shared_ptr<loader::LoadedCode> code;
  const loader::CodeKernel *kernel = nullptr;
  Device *device = nullptr;
  /// The address by which a program compiled as HIP C++ names the kernel; null for those of modules.
  std::atomic<const void *> hostAddress = nullptr;
};

/// Managed variables by name.
using ManagedVariables = std::map<std::string, ManagedRef>;

class Module {
public:
  /// Loads an ELF image or an offload bundle for \p device. Its managed variables are those in
  /// \p managed; others get memory of their own. Throws loader::LoadError.
  static std::shared_ptr<Module> load(loader::ByteView image, Device &device,
                                      const ManagedVariables &managed = {});
  ~Module();

  Device &device() const { return device_; }
  const loader::LoadedCode &code() const { return *code_; }
  /// A variable as the host sees it, a managed one in its managed memory; none with that name: a
  /// size of zero and a null address.
  loader::CodeVariable variable(const std::string &name) const;
  /// The handle of a kernel, the same for every call; throws hipErrorNotFound.
  Function *function(const std::string &name);

private:
  Module(Device &device, std::shared_ptr<loader::LoadedCode> code);
  void connectManaged(const ManagedVariables &given);

  Device &device_;
  std::shared_ptr<loader::LoadedCode> code_;
  ManagedVariables managed_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<Function>> functions_;
};

/// Copies an image out of host memory of unknown length: an ELF file's or a bundle's extent is read
/// from its own tables, and no read goes beyond what is mapped. Throws loader::LoadError.
std::vector<uint8_t> copyHostImage(const void *image);

/// A whole file; throws hipErrorFileNotFound.
std::vector<uint8_t> readFile(const char *path);

/// How many workgroups of \p threads work-items with \p dynamicLds bytes fit one multiprocessor.
int activeWorkgroups(const Function &function, int threads, size_t dynamicLds);

} // namespace flyemu::hip
