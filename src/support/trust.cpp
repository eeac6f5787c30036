#include "support/trust.h"

#include "support/env_variables.h"

#include <flydsl/error.h>

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace flydsl::support {

/// The number of a group that is given by its name or its number.
static unsigned groupId(const std::string &text) {
  if (const auto number = parseWholeNumber(text); number && *number < UINT32_MAX)
    return static_cast<unsigned>(*number);
  struct group entry, *found = nullptr;
  std::vector<char> buffer(1 << 16);
  if (getgrnam_r(text.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
    throw Error(std::string(env::kCacheGroup.name()) + "=" + text +
                ": expected the name or the number of a group of this machine");
  return found->gr_gid;
}

Trust Trust::ofCaches() {
  Trust trust;
  if (auto group = env::kCacheGroup.get())
    trust.group = groupId(*group);
  return trust;
}

std::string distrust(const struct stat &info, const Trust &trust) {
  if (trust.anybody)
    return {};
  const bool groups = trust.group && info.st_gid == *trust.group;
  const std::string remedy = "; see \"Who owns the cache\" in docs/compiling-and-caching.md";
  if (info.st_uid != ::geteuid() && info.st_uid != 0 && !groups)
    return "it belongs to user " + std::to_string(info.st_uid) + ", this process runs as user " +
           std::to_string(::geteuid()) + remedy;
  if (info.st_mode & S_IWOTH)
    return "everybody may write it (chmod o-w makes it its owner's)" + remedy;
  if ((info.st_mode & S_IWGRP) && !groups)
    return "its group may write it (chmod g-w makes it its owner's)" + remedy;
  return {};
}

std::string distrust(const std::string &path, const Trust &trust) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0)
    return {};
  const std::string problem = distrust(info, trust);
  return problem.empty() ? problem : path + ": " + problem;
}

} // namespace flydsl::support
