// Named ranges in the timeline of ROCm's profilers (rocprofv3, rocprof), through roctx where it is
// installed.
#pragma once

#include <string_view>

namespace flydsl::runtime {

/// A range "<what> <name>" on the calling thread while it lives. Costs nothing but a look where
/// roctx is not there. What is already in the process is used, else librocprofiler-sdk-roctx, else
/// libroctx64.
class ProfilerRange {
public:
  ProfilerRange(std::string_view what, std::string_view name);
  ~ProfilerRange();
  ProfilerRange(const ProfilerRange &) = delete;
  ProfilerRange &operator=(const ProfilerRange &) = delete;

private:
  bool open_ = false;
};

} // namespace flydsl::runtime
