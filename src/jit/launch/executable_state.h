// What an Executable holds.
#pragma once

#include "jit/binding/kernel_operands.h"
#include "jit/code_object/code_object.h"
#include "jit/launch/shared_work.h"
#include "runtime/loaded_kernel.h"
#include "runtime/per_device.h"

#include <flydsl/host/executable.h>

#include <array>
#include <memory>
#include <optional>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// A kernel of a code object on the devices that it was loaded on.
struct LoadedOn {
  runtime::PerDevice<runtime::LoadedKernel> devices{runtime::kMaxDevices};
  jit::SharedWork<int, const runtime::LoadedKernel *> loading;
};

struct ExecutableState {
  std::shared_ptr<const jit::CodeObject> object;
  const jit::KernelMetadata *kernel = nullptr; // in `object`
  runtime::LaunchFacts facts;
  std::array<unsigned, 3> block = {0, 0,
                                   0}; // the workgroup size that it was traced for; zeros: any
  std::string variant;                 // the text of the constants that it was traced for
  std::string irHash;
  CacheTier tier = CacheTier::compiled;
  double traceMilliseconds = 0;
  double compileMilliseconds = 0;
  std::string ir;
  /// Copies of this object share it.
  std::shared_ptr<LoadedOn> loaded = std::make_shared<LoadedOn>();
  /// Of a kernel that was read from IR: what its call takes.
  struct Read {
    std::string called; ///< in messages about its arguments
    jit::Signature signature;
    /// None for a kernel with a parameter that no call can pass an argument for.
    std::optional<jit::PackedOperands> packed;
  };
  std::shared_ptr<const Read> read;
};

/// Access to an Executable's state for this room.
struct ExecutableAccess : Executable {
  static const std::shared_ptr<const ExecutableState> &state(const Executable &executable) {
    return static_cast<const ExecutableAccess &>(executable).state_;
  }
};

} // namespace detail
FLYDSL_NAMESPACE_END
