// Captures by fx::Graph that are under way. What is done at once does not become part of the graph,
// so in the middle of a capture it is a mistake that no driver reports: streams of this library do
// not wait for the default stream, and a copy by the host would see what was there before.
#pragma once

#include <flydsl/error.h>

#include <atomic>

namespace flydsl::runtime {

/// The captures of all threads, for a look that costs nothing.
inline std::atomic<int> capturesUnderWay = 0;

/// Whether this thread is in the middle of a capture.
bool isCapturing() noexcept;

/// Throws RuntimeError in the middle of a capture of this thread: `doing` is done at once, and
/// `instead` is the way out.
void refuseInCapture(const char *doing, const char *instead, const SourceLocation &where);

/// Begins and ends a capture of this thread.
void enterCapture() noexcept;
void leaveCapture() noexcept;

} // namespace flydsl::runtime
