// The driver. Memory of the device is memory of the host, and a launch has ended when it returns.
#include "host_kernels.h"
#include "host_vendor.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

namespace host_vendor {

using namespace flydsl::runtime;

namespace {

constexpr Status kSuccess = 0, kNoMemory = 1, kBadImage = 2, kNoKernel = 3;
unsigned long ran = 0;

/// A loaded shared object.
struct Module {
  int file; ///< stays open: the loader would take another object of the same path for this one
  void *library;
};
using Time = std::chrono::steady_clock::time_point;

std::string errorText(Status status) {
  const char *texts[] = {"success", "there is no memory", "the image can't be loaded",
                         "the image has no such kernel"};
  return std::string("host error (") + std::to_string(status) + "): " + texts[status];
}

Status loadModule(void **module, const void *image, std::size_t bytes) {
  const int file = memfd_create("host-vendor", MFD_CLOEXEC);
  void *library = nullptr;
  if (write(file, image, bytes) == static_cast<ssize_t>(bytes))
    library = dlopen(("/proc/self/fd/" + std::to_string(file)).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    close(file);
    return kBadImage;
  }
  *module = new Module{file, library};
  return kSuccess;
}

Status getFunction(void **function, void *module, const char *name) {
  *function = dlsym(static_cast<Module *>(module)->library, name);
  return *function ? kSuccess : kNoKernel;
}

/// Runs all work-items, one after another.
Status launch(void *function, unsigned gridX, unsigned gridY, unsigned gridZ, unsigned blockX,
              unsigned blockY, unsigned blockZ, unsigned, void *, void **, void **extra) {
  auto *kernel = reinterpret_cast<flydsl::test::HostKernel *>(function);
  const void *arguments = nullptr;
  for (; *extra; extra += 2)
    if (*extra == kArgumentBuffer)
      arguments = extra[1];
  flydsl::test::HostIds ids = {.thread = {},
                               .block = {},
                               .blockDim = {blockX, blockY, blockZ},
                               .gridDim = {gridX, gridY, gridZ}};
  auto each = [](std::int64_t (&place)[3], const std::int64_t (&size)[3], auto body) {
    for (place[2] = 0; place[2] < size[2]; ++place[2])
      for (place[1] = 0; place[1] < size[1]; ++place[1])
        for (place[0] = 0; place[0] < size[0]; ++place[0])
          body();
  };
  each(ids.block, ids.gridDim, [&] {
    each(ids.thread, ids.blockDim, [&] {
      kernel(arguments, &ids);
      ++ran;
    });
  });
  return kSuccess;
}

} // namespace

unsigned long workItemsRun() { return ran; }

std::unique_ptr<Driver> openDriver(Attempts &) {
  auto driver = std::make_unique<Driver>();
  driver->name = "host";
  driver->path = "(this program)";
  driver->deviceCount = 1;
  driver->errorText = errorText;

  driver->describeDevice = [](int) {
    DeviceInfo info;
    info.name = "the CPU of this machine";
    info.arch = info.archFull = kProcessor;
    info.computeUnits = info.warpSize = 1;
    info.sharedBytes = 64 << 10;
    return info;
  };
  driver->getDevice = [](int *device) { return *device = 0; };
  driver->setDevice = [](int) { return kSuccess; };
  driver->synchronizeDevice = [] { return kSuccess; };

  driver->allocate = [](void **pointer, std::size_t bytes) {
    *pointer = std::malloc(bytes);
    return *pointer ? kSuccess : kNoMemory;
  };
  driver->release = [](void *pointer) {
    std::free(pointer);
    return kSuccess;
  };
  driver->copyToDevice = [](void *device, const void *host, std::size_t bytes) {
    std::memcpy(device, host, bytes);
    return kSuccess;
  };
  driver->copyToHost = driver->copyToDevice;
  driver->fill = [](void *pointer, int byte, std::size_t bytes) {
    std::memset(pointer, byte, bytes);
    return kSuccess;
  };

  // All work is done when a call returns, so a stream is no more than its address.
  driver->createStream = [](void **stream) {
    *stream = new char;
    return kSuccess;
  };
  driver->destroyStream = [](void *stream) {
    delete static_cast<char *>(stream);
    return kSuccess;
  };
  driver->synchronizeStream = driver->queryStream = [](void *) { return kSuccess; };
  driver->waitForEvent = [](void *, void *) { return kSuccess; };

  driver->createEvent = [](void **event) {
    *event = new Time;
    return kSuccess;
  };
  driver->destroyEvent = [](void *event) {
    delete static_cast<Time *>(event);
    return kSuccess;
  };
  driver->recordEvent = [](void *event, void *) {
    *static_cast<Time *>(event) = std::chrono::steady_clock::now();
    return kSuccess;
  };
  driver->synchronizeEvent = driver->queryEvent = [](void *) { return kSuccess; };
  driver->millisecondsBetween = [](float *milliseconds, void *start, void *stop) {
    *milliseconds = std::chrono::duration<float, std::milli>(*static_cast<Time *>(stop) -
                                                             *static_cast<Time *>(start))
                        .count();
    return kSuccess;
  };

  driver->loadModule = loadModule;
  driver->unloadModule = [](void *module) {
    auto *loaded = static_cast<Module *>(module);
    dlclose(loaded->library);
    close(loaded->file);
    delete loaded;
    return kSuccess;
  };
  driver->getFunction = getFunction;
  driver->launch = launch;
  return driver;
}

} // namespace host_vendor
