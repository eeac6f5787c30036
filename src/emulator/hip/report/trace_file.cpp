#include "emulator/hip/report/trace_file.h"

#include "emulator/observe/timeline.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <mutex>

namespace flyemu::hip {

namespace {
/// Workgroups of one launch have numbers below it, so that a launch is seen in its number.
constexpr uint64_t kMostGroups = 1000;
} // namespace

std::string addToTraceFile(const std::string &path, const DispatchResult &result,
                           const KernelCode &kernel) {
  static std::mutex mutex;
  static uint64_t processes = 0; // the numbers that the workgroups of earlier launches have
  static bool begun = false;
  std::lock_guard lock(mutex);
  if (result.timeline.empty())
    return {};
  std::fstream file;
  errno = 0;
  const auto unwritable = [&] {
    return "FLYDSL_EMULATOR_TRACE=" + path + " cannot be written: " + std::strerror(errno);
  };
  if (path.ends_with(".svg")) {
    file.open(path, std::ios::out | std::ios::trunc);
    file << timelineSvg(result.timeline, kernel);
    file.flush();
    return file ? std::string() : unwritable();
  }
  if (!begun)
    file.open(path, std::ios::out | std::ios::trunc);
  else
    file.open(path, std::ios::in | std::ios::out);
  if (begun)
    file.seekp(-2, std::ios::end); // over the closing bracket
  file << (begun ? ",\n" : "[\n") << chromeTrace(result.timeline, kernel, processes) << "]\n";
  file.flush();
  if (!file)
    return unwritable();
  begun = true;
  processes += kMostGroups;
  return {};
}

} // namespace flyemu::hip
