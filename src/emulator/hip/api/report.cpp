// The emulator's own functions: counters and estimates of launches (flydsl/emulator.h).
#include "emulator/hip/device/device.h"

#include <flydsl/emulator.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace flyemu;
using namespace flyemu::hip;

namespace {
struct CounterText {
  const char *name, *text;
};

const std::vector<CounterText> &counterTexts() {
  static const std::vector<CounterText> texts = [] {
    std::vector<CounterText> result;
    forEachCounter(Counters(), [&](const char *name, uint64_t, const char *text) {
      result.push_back({name, text});
    });
    return result;
  }();
  return texts;
}

/// Null if the device does not exist. Throws nothing.
LaunchHistory *historyOf(int32_t device) {
  try {
    return &Runtime::get().device(device).history;
  } catch (const std::exception &) {
    return nullptr;
  }
}
} // namespace

extern "C" {

const char *flydslEmulatorCounterName(uint32_t counter) {
  return counter < counterTexts().size() ? counterTexts()[counter].name : nullptr;
}

const char *flydslEmulatorCounterText(uint32_t counter) {
  return counter < counterTexts().size() ? counterTexts()[counter].text : nullptr;
}

int32_t flydslEmulatorCountLaunches(int32_t device, int32_t enable) {
  LaunchHistory *history = historyOf(device);
  return history && history->count(enable != 0) ? 0 : -1;
}

int64_t flydslEmulatorCountedLaunches(int32_t device) {
  LaunchHistory *history = historyOf(device);
  return history ? static_cast<int64_t>(history->size()) : -1;
}

int32_t flydslEmulatorGetLaunch(int32_t device, uint64_t index, flydslEmulatorLaunch *launch) {
  LaunchHistory *history = historyOf(device);
  if (!history || !launch)
    return -1;
  if (launch->size != sizeof(flydslEmulatorLaunch))
    return -2;
  return history->get(index, *launch) ? 0 : -1;
}

int64_t flydslEmulatorFindings(int32_t device, char *text, uint32_t size) {
  LaunchHistory *history = historyOf(device);
  if (!history)
    return -1;
  std::string newest;
  const int64_t count = static_cast<int64_t>(history->findings(newest));
  if (text && size)
    std::snprintf(text, size, "%s", newest.c_str());
  return count;
}

int32_t flydslEmulatorAddSuballocation(const void *pointer, uint64_t size) {
  try {
    const auto base = reinterpret_cast<uint64_t>(pointer);
    return Runtime::get().space().addSuballocation(base, size) ? 0 : -1;
  } catch (const std::exception &) {
    return -1;
  }
}

int32_t flydslEmulatorRemoveSuballocation(const void *pointer) {
  try {
    const auto base = reinterpret_cast<uint64_t>(pointer);
    return Runtime::get().space().removeSuballocation(base) ? 0 : -1;
  } catch (const std::exception &) {
    return -1;
  }
}
}
