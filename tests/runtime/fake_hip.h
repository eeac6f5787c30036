// A HIP library that only records its calls, for the tests to read. It is loaded as the runtime
// loads any HIP library; `fake_hip_state` is the only name beside HIP's that it exports.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

struct FakeLaunch {
  std::string kernel;
  int device = 0;
  unsigned grid[3] = {}, block[3] = {};
  unsigned sharedBytes = 0;
  void *stream = nullptr;
  std::vector<std::byte> arguments;
};

struct FakeHip {
  std::mutex mutex;
  int devices = 2;
  std::string arch = "gfx942:sramecc+:xnack-";
  bool record = true;            ///< off: a launch returns at once
  std::atomic<int> failNext = 0; ///< the code that the next launch, allocation or load returns
  std::vector<FakeLaunch> launches;
  int modulesLoaded = 0, modulesUnloaded = 0;
  int allocations = 0; ///< live ones
  int streamsDestroyed = 0, resets = 0;
  int strayReleases = 0; ///< of memory, streams and events that are not there (any more)
  std::function<float()> elapsed; ///< milliseconds between any two events
};

extern "C" FakeHip *fake_hip_state();
