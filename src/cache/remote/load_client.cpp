#include "cache/remote/load_client.h"

#include "support/env_variables.h"
#include "support/text.h"

#include <flydsl/error.h>

#include <dlfcn.h>
#include <filesystem>
#include <vector>

namespace flydsl::cache {

namespace fs = std::filesystem;

/// The places of the library: beside the library or the program that this code is in, in a build
/// tree and an installation alike.
static std::vector<std::string> placesOf(const std::string &library) {
  if (!library.empty())
    return {library};
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&loadRemoteClient), &info) || !info.dli_fname)
    return {kRemoteLibrary};
  const fs::path self = fs::path(info.dli_fname).parent_path();
  return {(self / kRemoteLibrary).string(),
          (self / ".." / "lib" / kRemoteLibrary).lexically_normal().string()};
}

std::unique_ptr<RemoteClient> loadRemoteClient(const Endpoint &endpoint,
                                               const std::string &library) {
  const std::string variable(support::env::kRemoteCache.name());
  std::string problems;
  for (const std::string &place : placesOf(library)) {
    std::error_code ignored;
    if (!fs::exists(place, ignored)) {
      support::appendItem(problems, place + ": no such file");
      continue;
    }
    // It is never unloaded: threads of its own may look up names.
    void *handle = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *make = handle ? dlsym(handle, kMakeRemoteClient) : nullptr;
    if (!make) {
      support::appendItem(problems, handle ? place + ": of another version" : dlerror());
      continue;
    }
    try {
      return std::unique_ptr<RemoteClient>(reinterpret_cast<MakeRemoteClient *>(make)(endpoint));
    } catch (const std::exception &error) {
      throw Error(variable + ": " + error.what());
    }
  }
  throw Error(variable + " needs " + kRemoteLibrary +
              ", which is built where hiredis and OpenSSL are installed (libhiredis-dev, "
              "libssl-dev), and is not here (" +
              problems + "); install it next to libflydsl, or unset the variable");
}

} // namespace flydsl::cache
