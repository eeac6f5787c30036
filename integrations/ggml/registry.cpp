// What ggml loads: the registry with the devices of the library.
#include "device.h"

#include <memory>
#include <string_view>
#include <vector>

namespace flydsl_ggml {
namespace {

std::vector<std::unique_ptr<DeviceState>> &devices();

const char *name(ggml_backend_reg_t) { return "FlyDSL"; }
std::size_t count(ggml_backend_reg_t) { return devices().size(); }
ggml_backend_dev_t device(ggml_backend_reg_t, std::size_t index) {
  return index < devices().size() ? &devices()[index]->handle : nullptr;
}
void *procedure(ggml_backend_reg_t, const char *) { return nullptr; }

ggml_backend_reg registry{GGML_BACKEND_API_VERSION,
                          {.get_name = name,
                           .get_device_count = count,
                           .get_device = device,
                           .get_proc_address = procedure},
                          nullptr};

/// They are never freed: ggml keeps pointers to them until the process ends.
std::vector<std::unique_ptr<DeviceState>> &devices() {
  static auto &all = *[] {
    auto *made = new std::vector<std::unique_ptr<DeviceState>>;
    guarded("looking for devices", 0, [&] {
      for (const fx::Device device : fx::Device::all()) {
        made->push_back(std::make_unique<DeviceState>(device));
        made->back()->handle.reg = &registry;
      }
      return 0;
    });
    return made;
  }();
  return all;
}

/// The structs of the interface say nothing of their size, so a module and its program must be of one
/// release of ggml.
bool isRightGgml() {
  if (std::string_view(ggml_version()) == FLYDSL_GGML_VERSION)
    return true;
  GGML_LOG_ERROR("flydsl: libggml-flydsl.so was built for ggml %s, and this is ggml %s. Build it "
                 "again with -DGGML_DIR=<the ggml of this program>.\n",
                 FLYDSL_GGML_VERSION, ggml_version());
  return false;
}

} // namespace
} // namespace flydsl_ggml

extern "C" {
GGML_BACKEND_API int ggml_backend_score(void) { return flydsl_ggml::isRightGgml() ? 1 : 0; }
GGML_BACKEND_API ggml_backend_reg_t ggml_backend_init(void) {
  return flydsl_ggml::isRightGgml() ? &flydsl_ggml::registry : nullptr;
}
}
