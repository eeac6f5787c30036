// The timeline of a launch for people: as a trace that Chrome and Perfetto open, and as a picture.
#pragma once

#include "emulator/core/dispatch.h"

#include <string>
#include <vector>

namespace flyemu {

/// The events as objects of Chrome's trace format ("Trace Event Format"), separated by commas: a
/// process for each workgroup, whose number begins at `firstProcess`, a thread for each wave, and
/// asynchronous events for what is under way. A cycle is a nanosecond there. Each event is named by
/// its instruction and has its source line where there is one.
std::string chromeTrace(const std::vector<TimelineEvent> &events, const KernelCode &kernel,
                        uint64_t firstProcess);

/// The same as an SVG picture: a row for each wave, time to the right, a colour for each activity,
/// and beneath each row a thin line while memory operations are under way. `events` are not empty.
std::string timelineSvg(const std::vector<TimelineEvent> &events, const KernelCode &kernel);

} // namespace flyemu
