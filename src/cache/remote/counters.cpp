#include "cache/remote/counters.h"

namespace flydsl::cache {

RemoteCounters &remoteCounters() {
  static constinit RemoteCounters counters;
  return counters;
}

} // namespace flydsl::cache
