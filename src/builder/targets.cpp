#include "builder/targets.h"

#include <algorithm>

namespace flydsl::builder {

void expectTarget(Tracer &tracer, const char *what, std::initializer_list<const char *> families,
                  Loc loc) {
  llvm::StringRef target = tracer.target(what, loc);
  if (std::any_of(families.begin(), families.end(),
                  [&](const char *family) { return target.starts_with(family); }))
    return;
  std::string offered;
  for (const char *family : families)
    offered += (offered.empty() ? "" : ", ") + std::string(family);
  throw TraceError("there is no " + std::string(what) + " on " + target.str() + "; " + offered +
                       (families.size() == 1 ? " has it" : " have it"),
                   loc);
}

} // namespace flydsl::builder
