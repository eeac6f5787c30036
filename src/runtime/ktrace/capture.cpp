#include "runtime/ktrace/recording.h"
#include "support/file.h"
#include "support/process_use.h"

#include <flydsl/error.h>

#include <mutex>
#include <set>

FLYDSL_NAMESPACE_BEGIN

struct ktrace::Capture::State {
  std::vector<Launch> launches; ///< the lock of the open captures guards it
};

namespace {

/// The captures that are open, in all threads.
struct Open {
  std::mutex mutex;
  std::set<std::shared_ptr<ktrace::Capture::State>> captures;
};
Open &open() {
  static auto *const all = new Open; // launches may be made while statics are destroyed
  return *all;
}

} // namespace

namespace ktrace {

Capture::Capture() : state_(std::make_shared<State>()) {
  support::enterLibrary();
  std::lock_guard lock(open().mutex);
  open().captures.insert(state_);
}
Capture::~Capture() {
  if (support::lostByFork())
    return;
  std::lock_guard lock(open().mutex);
  open().captures.erase(state_);
}

std::vector<Launch> Capture::launches() const {
  support::enterLibrary();
  std::lock_guard lock(open().mutex);
  return state_->launches;
}

void Capture::write(const std::string &path, Loc loc) const {
  if (std::string problem = support::writeFile(path, chrome_trace(launches())); !problem.empty())
    throw RuntimeError("can't write " + path + ": " + problem, 0, loc);
}

} // namespace ktrace

FLYDSL_NAMESPACE_END

namespace flydsl::runtime {

bool deliver(const ktrace::Launch &launch) {
  std::lock_guard lock(open().mutex);
  for (const auto &capture : open().captures)
    capture->launches.push_back(launch);
  return !open().captures.empty();
}

} // namespace flydsl::runtime
