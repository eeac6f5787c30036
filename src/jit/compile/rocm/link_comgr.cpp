// comgr is loaded when first asked for: it brings an LLVM of its own, which takes tens of
// milliseconds.
#include "jit/compile/rocm/llvm_target.h"
#include "jit/compile/rocm/rocm_codegen.h"

#include "support/log.h"

#include <amd_comgr.h>

#include <algorithm>
#include <dlfcn.h>
#include <string>

namespace flydsl::jit {

namespace {

using Bytes = std::vector<std::uint8_t>;

struct Comgr {
// NOLINTBEGIN(readability-identifier-naming): comgr's names
#define FLYDSL_COMGR_FUNCTIONS(X)                                                                  \
  X(get_isa_count)                                                                                 \
  X(get_isa_name)                                                                                  \
  X(create_data)                                                                                   \
  X(release_data)                                                                                  \
  X(set_data)                                                                                      \
  X(set_data_name)                                                                                 \
  X(get_data)                                                                                      \
  X(create_data_set)                                                                               \
  X(destroy_data_set)                                                                              \
  X(data_set_add)                                                                                  \
  X(action_data_get_data)                                                                          \
  X(create_action_info)                                                                            \
  X(destroy_action_info)                                                                           \
  X(action_info_set_isa_name)                                                                      \
  X(action_info_set_logging)                                                                       \
  X(do_action)
#define FLYDSL_DECLARE(name) decltype(&amd_comgr_##name) name = nullptr;
  FLYDSL_COMGR_FUNCTIONS(FLYDSL_DECLARE)
#undef FLYDSL_DECLARE
  // NOLINTEND(readability-identifier-naming)

  bool loaded = false;
  std::vector<std::string> isas;

  Comgr() {
    void *library = nullptr;
    for (const char *name : {"libamd_comgr.so.3", "libamd_comgr.so.2", "libamd_comgr.so"})
      if ((library = dlopen(name, RTLD_LAZY | RTLD_LOCAL)))
        break;
    if (!library) {
      support::log().debug("comgr is not installed: {}", dlerror());
      return;
    }
    bool complete = true;
#define FLYDSL_LOAD(name)                                                                          \
  name = reinterpret_cast<decltype(name)>(dlsym(library, "amd_comgr_" #name));                     \
  complete &= name != nullptr;
    FLYDSL_COMGR_FUNCTIONS(FLYDSL_LOAD)
#undef FLYDSL_LOAD
    std::size_t count = 0;
    if (!complete || get_isa_count(&count) != AMD_COMGR_STATUS_SUCCESS)
      return;
    for (std::size_t i = 0; i < count; ++i) {
      const char *name = nullptr;
      if (get_isa_name(i, &name) == AMD_COMGR_STATUS_SUCCESS && name)
        isas.emplace_back(name);
    }
    loaded = true;
  }

  bool lists(const Target &target) const {
    std::string wanted = "amdgcn-amd-amdhsa--" + target.name();
    return loaded && std::any_of(isas.begin(), isas.end(), [&](const std::string &isa) {
             return isa.substr(0, isa.find(':')) == wanted;
           });
  }
};

/// One link's objects, released at the end in any case.
struct Session {
  const Comgr &api;
  amd_comgr_data_set_t in{}, out{};
  amd_comgr_data_t object{}, result{};
  amd_comgr_action_info_t info{};

  explicit Session(const Comgr &api) : api(api) {}
  ~Session() {
    if (result.handle)
      api.release_data(result);
    if (object.handle)
      api.release_data(object);
    if (info.handle)
      api.destroy_action_info(info);
    if (out.handle)
      api.destroy_data_set(out);
    if (in.handle)
      api.destroy_data_set(in);
  }

  bool run(std::span<const char> bytes, const std::string &isa, Bytes &linked) {
    auto ok = [](amd_comgr_status_t status) { return status == AMD_COMGR_STATUS_SUCCESS; };
    std::size_t size = 0;
    if (!ok(api.create_data_set(&in)) || !ok(api.create_data_set(&out)) ||
        !ok(api.create_data(AMD_COMGR_DATA_KIND_RELOCATABLE, &object)) ||
        !ok(api.set_data(object, bytes.size(), bytes.data())) ||
        !ok(api.set_data_name(object, "kernel.o")) || !ok(api.data_set_add(in, object)) ||
        !ok(api.create_action_info(&info)) ||
        !ok(api.action_info_set_isa_name(info, isa.c_str())) ||
        !ok(api.action_info_set_logging(info, false)) ||
        !ok(api.do_action(AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE, info, in, out)) ||
        !ok(api.action_data_get_data(out, AMD_COMGR_DATA_KIND_EXECUTABLE, 0, &result)) ||
        !ok(api.get_data(result, &size, nullptr)) || size == 0)
      return false;
    linked.resize(size);
    return ok(api.get_data(result, &size, reinterpret_cast<char *>(linked.data())));
  }
};

} // namespace

std::optional<Bytes> linkWithComgr(std::span<const char> object, const Target &target) {
  // Never destroyed: a compile may be under way while the process ends.
  static const Comgr &api = *new Comgr;
  if (!api.lists(target))
    return std::nullopt;
  Bytes linked;
  if (Session(api).run(object, isaName(target), linked))
    return linked;
  support::log().debug("comgr lists {} but did not link the object", target.id());
  return std::nullopt;
}

} // namespace flydsl::jit
