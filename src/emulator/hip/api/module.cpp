// Modules, functions and their launch.
#include "emulator/hip/launch/launch.h"
#include "emulator/hip/module/registration.h"
#include "emulator/hip/stream/submit.h"

#include <algorithm>
#include <array>
#include <span>

using namespace flyemu::hip;

namespace {

hipError_t loadModule(const char *name, hipModule_t *handle,
                      const std::function<std::vector<uint8_t>()> &read) {
  return api(name, [&] {
    require(handle, "no place for the result");
    *handle = nullptr;
    Device &device = Runtime::get().currentDevice();
    std::vector<uint8_t> image = read();
    auto module = Module::load({image.data(), image.size()}, device);
    *handle = static_cast<hipModule_t>(Runtime::get().modules.add(std::move(module)));
  });
}

hipError_t launch(const char *name, hipFunction_t handle, flyemu::loader::LaunchShape shape,
                  hipStream_t streamHandle, void **values, void **extra) {
  return api(name, [&] {
    StreamRef stream = Runtime::get().stream(streamHandle);
    std::shared_ptr<Function> function = functionOf(handle, stream->device());
    submit(stream, makeLaunch(std::move(function), shape, values, extra), hipGraphNodeTypeKernel);
  });
}

/// A launch attribute as HIP 7 has it.
struct LaunchAttribute {
  enum Id : uint32_t { kCooperative = 2, kClusterDimension = 4 };
  uint32_t id;
  uint32_t unused;
  union {
    char room[64];
    int cooperative;
    std::array<uint32_t, 3> cluster;
  };
};
static_assert(sizeof(LaunchAttribute) == 72);

/// HIP's HIP_LAUNCH_CONFIG.
struct DrvLaunchConfig {
  std::array<uint32_t, 3> grid, block;
  uint32_t sharedBytes;
  hipStream_t stream;
  const LaunchAttribute *attributes;
  uint32_t attributeCount;
};
static_assert(sizeof(DrvLaunchConfig) == 56);

struct LaunchWishes {
  std::array<uint32_t, 3> cluster = {1, 1, 1};
  bool cooperative = false;
};

LaunchWishes wishesOf(std::span<const LaunchAttribute> attributes) {
  LaunchWishes wishes;
  for (const LaunchAttribute &attribute : attributes)
    switch (attribute.id) {
    case LaunchAttribute::kClusterDimension:
      wishes.cluster = attribute.cluster;
      break;
    case LaunchAttribute::kCooperative:
      wishes.cooperative = attribute.cooperative != 0;
      break;
    default:
      fail(hipErrorNotSupported, "launch attribute " + std::to_string(attribute.id) +
                                     "; there are those of clusters (4) and of cooperation (2)");
    }
  return wishes;
}

} // namespace

extern "C" {

hipError_t hipModuleLoad(hipModule_t *module, const char *path) {
  return loadModule("hipModuleLoad", module, [&] {
    require(path, "the path is null");
    return readFile(path);
  });
}

hipError_t hipModuleLoadData(hipModule_t *module, const void *image) {
  return loadModule("hipModuleLoadData", module, [&] {
    require(image, "the image is null");
    return copyHostImage(image);
  });
}

hipError_t hipModuleLoadDataEx(hipModule_t *module, const void *image, unsigned, hipJitOption *,
                               void **) {
  return loadModule("hipModuleLoadDataEx", module, [&] {
    require(image, "the image is null"); // options steer a compiler; there is none here
    return copyHostImage(image);
  });
}

hipError_t hipModuleUnload(hipModule_t handle) {
  return api("hipModuleUnload", [&] {
    std::shared_ptr<Module> module = Runtime::get().modules.take(handle);
    if (!module)
      fail(hipErrorInvalidHandle, "not a live module handle");
    module->device().synchronize(); // its kernels may still run
  });
}

hipError_t hipModuleGetFunction(hipFunction_t *function, hipModule_t module, const char *name) {
  return api("hipModuleGetFunction", [&] {
    require(function && name, "a pointer is null");
    *function = nullptr;
    *function = reinterpret_cast<hipFunction_t>(
        Runtime::get().modules.get(module, "module")->function(name));
  });
}

hipError_t hipModuleGetGlobal(hipDeviceptr_t *pointer, size_t *size, hipModule_t module,
                              const char *name) {
  return api("hipModuleGetGlobal", [&] {
    require(name, "the name is null");
    auto loaded = Runtime::get().modules.get(module, "module");
    const flyemu::loader::CodeVariable variable = loaded->variable(name);
    if (!variable.address)
      fail(hipErrorNotFound, std::string("no variable '") + name + "' in the module");
    if (pointer)
      *pointer = reinterpret_cast<hipDeviceptr_t>(variable.address);
    if (size)
      *size = variable.size;
  });
}

hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gridX, unsigned gridY,
                                 unsigned gridZ, unsigned blockX, unsigned blockY, unsigned blockZ,
                                 unsigned sharedBytes, hipStream_t stream, void **values,
                                 void **extra) {
  return launch("hipModuleLaunchKernel", function,
                {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes}, stream, values,
                extra);
}

// Of newer HIP; the header that we build with does not declare it.
hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t handle, unsigned gridX, unsigned gridY,
                                            unsigned gridZ, unsigned blockX, unsigned blockY,
                                            unsigned blockZ, unsigned sharedBytes,
                                            hipStream_t streamHandle, void **values) {
  return api("hipModuleLaunchCooperativeKernel", [&] {
    StreamRef stream = Runtime::get().stream(streamHandle);
    submit(stream,
           makeCooperativeLaunch(functionOf(handle, stream->device()),
                                 {{gridX, gridY, gridZ}, {blockX, blockY, blockZ}, sharedBytes},
                                 values),
           hipGraphNodeTypeKernel);
  });
}

// Of HIP 7, whose types the header that we build with does not have.
hipError_t hipDrvLaunchKernelEx(const DrvLaunchConfig *config, hipFunction_t function,
                                void **values, void **extra) {
  LaunchWishes wishes;
  const hipError_t status = api("hipDrvLaunchKernelEx", [&] {
    require(config, "the configuration is null");
    require(config->attributes || !config->attributeCount, "the attributes are null");
    wishes = wishesOf({config->attributes, config->attributeCount});
  });
  if (status != hipSuccess)
    return status;
  if (wishes.cooperative)
    return reportFailure("hipDrvLaunchKernelEx", hipErrorNotSupported,
                         "a cooperative launch; hipModuleLaunchCooperativeKernel makes one");
  return launch("hipDrvLaunchKernelEx", function,
                {config->grid, config->block, config->sharedBytes, wishes.cluster}, config->stream,
                values, extra);
}

// Sizes are in work-items here. Partial workgroups at the border are not offered.
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t globalX, uint32_t globalY,
                                    uint32_t globalZ, uint32_t blockX, uint32_t blockY,
                                    uint32_t blockZ, size_t sharedBytes, hipStream_t stream,
                                    void **values, void **extra, hipEvent_t start, hipEvent_t stop,
                                    uint32_t flags) {
  bool divides = blockX && blockY && blockZ && globalX % blockX == 0 && globalY % blockY == 0 &&
                 globalZ % blockZ == 0;
  if (!divides || sharedBytes > UINT32_MAX)
    return reportFailure("hipExtModuleLaunchKernel", hipErrorInvalidConfiguration,
                         "the global size is no multiple of the block");
  if (start)
    if (hipError_t status = hipEventRecord(start, stream); status != hipSuccess)
      return status;
  hipError_t status = launch("hipExtModuleLaunchKernel", function,
                             {{globalX / blockX, globalY / blockY, globalZ / blockZ},
                              {blockX, blockY, blockZ},
                              static_cast<uint32_t>(sharedBytes)},
                             stream, values, extra);
  if (status == hipSuccess && stop)
    status = hipEventRecord(stop, stream);
  return status;
}

hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute, hipFunction_t handle) {
  return api("hipFuncGetAttribute", [&] {
    require(value, "no place for the result");
    std::shared_ptr<Function> function = functionOf(handle);
    const flyemu::loader::KernelNotes &kernel = function->kernel->metadata;
    switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = static_cast<int>(kernel.maxFlatWorkgroupSize);
      break;
    case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(kernel.groupSegmentSize);
      break;
    case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(kernel.privateSegmentSize);
      break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      *value = static_cast<int>(kernel.vgprCount);
      break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = function->device->figures().ldsBytes() - static_cast<int>(kernel.groupSegmentSize);
      break;
    case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = 0;
      break;
    case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
    case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = function->device->figures().major * 10 + function->device->figures().minor;
      break;
    default:
      fail(hipErrorInvalidValue, "unknown attribute");
    }
  });
}

} // extern "C"
