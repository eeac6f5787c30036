// roctx is looked for when the first range is opened.
#include "runtime/profiler_range.h"

#include "support/log.h"

#include <dlfcn.h>
#include <string>

namespace flydsl::runtime {

namespace {

struct Roctx {
  int (*push)(const char *) = nullptr;
  int (*pop)() = nullptr;

  bool bind(void *library) {
    push = reinterpret_cast<int (*)(const char *)>(dlsym(library, "roctxRangePushA"));
    pop = reinterpret_cast<int (*)()>(dlsym(library, "roctxRangePop"));
    return push && pop;
  }
};

Roctx find() {
  Roctx roctx;
  if (roctx.bind(RTLD_DEFAULT)) // a profiler's own, or the program's
    return roctx;
  for (const char *name : {"librocprofiler-sdk-roctx.so", "librocprofiler-sdk-roctx.so.1",
                           "libroctx64.so", "libroctx64.so.4"})
    if (void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) { // never closed
      if (roctx.bind(library)) {
        support::log().debug("profiler ranges go to {}", name);
        return roctx;
      }
      dlclose(library);
    }
  return {};
}

const Roctx &roctx() {
  static const Roctx found = find();
  return found;
}

} // namespace

ProfilerRange::ProfilerRange(std::string_view what, std::string_view name) {
  if (!roctx().push || !roctx().pop)
    return;
  std::string text(what);
  text.append(" ").append(name);
  roctx().push(text.c_str());
  open_ = true;
}

ProfilerRange::~ProfilerRange() {
  if (open_)
    roctx().pop();
}

} // namespace flydsl::runtime
