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
#define FLYDSL_COMGR_FUNCTIONS(X)                                                                  \
  X(getIsaCount)                                                                                   \
  X(getIsaName)                                                                                    \
  X(createData)                                                                                    \
  X(releaseData)                                                                                   \
  X(setData)                                                                                       \
  X(setDataName)                                                                                   \
  X(getData)                                                                                       \
  X(createDataSet)                                                                                 \
  X(destroyDataSet)                                                                                \
  X(dataSetAdd)                                                                                    \
  X(actionDataGetData)                                                                             \
  X(createActionInfo)                                                                              \
  X(destroyActionInfo)                                                                             \
  X(actionInfoSetIsaName)                                                                          \
  X(actionInfoSetLogging)                                                                          \
  X(doAction)
#define FLYDSL_DECLARE(name) decltype(&amd_comgr_##name) name = nullptr;
  FLYDSL_COMGR_FUNCTIONS(FLYDSL_DECLARE)
#undef FLYDSL_DECLARE

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
    if (!complete || getIsaCount(&count) != AMD_COMGR_STATUS_SUCCESS)
      return;
    for (std::size_t i = 0; i < count; ++i) {
      const char *name = nullptr;
      if (getIsaName(i, &name) == AMD_COMGR_STATUS_SUCCESS && name)
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
      api.releaseData(result);
    if (object.handle)
      api.releaseData(object);
    if (info.handle)
      api.destroyActionInfo(info);
    if (out.handle)
      api.destroyDataSet(out);
    if (in.handle)
      api.destroyDataSet(in);
  }

  bool run(std::span<const char> bytes, const std::string &isa, Bytes &linked) {
    auto ok = [](amd_comgr_status_t status) { return status == AMD_COMGR_STATUS_SUCCESS; };
    std::size_t size = 0;
    if (!ok(api.createDataSet(&in)) || !ok(api.createDataSet(&out)) ||
        !ok(api.createData(AMD_COMGR_DATA_KIND_RELOCATABLE, &object)) ||
        !ok(api.setData(object, bytes.size(), bytes.data())) ||
        !ok(api.setDataName(object, "kernel.o")) || !ok(api.dataSetAdd(in, object)) ||
        !ok(api.createActionInfo(&info)) || !ok(api.actionInfoSetIsaName(info, isa.c_str())) ||
        !ok(api.actionInfoSetLogging(info, false)) ||
        !ok(api.doAction(AMD_COMGR_ACTION_LINK_RELOCATABLE_TO_EXECUTABLE, info, in, out)) ||
        !ok(api.actionDataGetData(out, AMD_COMGR_DATA_KIND_EXECUTABLE, 0, &result)) ||
        !ok(api.getData(result, &size, nullptr)) || size == 0)
      return false;
    linked.resize(size);
    return ok(api.getData(result, &size, reinterpret_cast<char *>(linked.data())));
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
