// The message that tracing gives for a wrong call, with the line of the call.
#pragma once

#include "trace_text.h"

#include <catch2/catch.hpp>

#include <functional>

namespace trace_test {

/// How a trace goes: the block that it is for, and the processor.
struct TraceFor {
  std::array<unsigned, 3> block = {64, 1, 1};
  const char *target = "gfx942";
};

/// The message of the TraceError that tracing `body` ends in, or "no error". The error stands in
/// the file of the test, on a line of its own.
template <class F> std::string errorOf(F body, std::vector<ArgType> types = {}, TraceFor how = {}) {
  try {
    traceText(body, std::move(types), /*locations=*/false, how.block, {}, how.target);
  } catch (const flydsl::TraceError &e) {
    CHECK(e.where().file.ends_with("_test.cpp"));
    CHECK(e.where().line > 0);
    return e.what();
  }
  return "no error";
}

} // namespace trace_test
