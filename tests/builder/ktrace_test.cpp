// Marks and ranges of a kernel's timeline, while it is traced.
#include "errors_at.h"

#include <flydsl/flydsl.h>
#include <flydsl/kernel/ktrace.h>

namespace fx = flydsl;
using namespace trace_test;

namespace {

template <class F> std::string traced(F body, bool records) {
  fx::KernelHints hints;
  hints.ktrace = records;
  return traceText(body, {}, /*locations=*/false, {64, 1, 1}, hints, "gfx942");
}

auto withEvents = [] {
  fx::ktrace::mark("start", fx::thread_idx().x);
  fx::ktrace::range("phase", [] { fx::gpu::barrier(); });
  auto tile = fx::ktrace::range_start("tile", 1.5f);
  fx::gpu::barrier();
  fx::ktrace::range_stop(tile, true);
};
auto withoutEvents = [] {
  fx::gpu::barrier();
  fx::gpu::barrier();
};

} // namespace

TEST_CASE("events that are off are not in the IR") {
  CHECK(traced(withEvents, false) == traced(withoutEvents, false));
}

TEST_CASE("a kernel without events has no buffer for them, whether they are on or off") {
  CHECK(traced(withoutEvents, true) == traced(withoutEvents, false));
}

TEST_CASE("events that are on are FlyDSL's operations, and the buffer is the last argument") {
  const std::string ir = traced(withEvents, true);
  CHECK_THAT(ir, Catch::Contains("!fly.ptr<i8, global>"));
  CHECK_THAT(ir, Catch::Contains("fly_ktrace.mark \"start\" payload"));
  CHECK_THAT(ir, Catch::Contains("{payload_type = \"int64\"}"));
  CHECK_THAT(ir, Catch::Contains("fly_ktrace.range_push \"phase\""));
  CHECK_THAT(ir, Catch::Contains("fly_ktrace.range_pop"));
  CHECK_THAT(ir, Catch::Contains("fly_ktrace.range_start \"tile\" payload"));
  CHECK_THAT(ir, Catch::Contains("{payload_type = \"float32\"} -> !fly_ktrace.token"));
  CHECK_THAT(ir, Catch::Contains("{payload_type = \"bool\"} : !fly_ktrace.token"));
}

TEST_CASE("wrong ranges are refused, whether events are on or off") {
  CHECK_THAT(
      errorOf([] { fx::ktrace::range_pop(); }),
      Catch::EndsWith("ktrace::range_pop: no range is open; each range_pop ends one range_push"));
  CHECK_THAT(errorOf([] { fx::ktrace::range_push("phase"); }),
             Catch::EndsWith("ktrace::range_push: the range \"phase\" is never popped"));
  CHECK_THAT(errorOf([] {
               fx::ktrace::range_push("phase");
               fx::if_(fx::thread_idx().x == 0, [] { fx::ktrace::range_pop(); });
             }),
             Catch::Contains("ktrace::range_pop: the range \"phase\", pushed in line ") &&
                 Catch::Contains("was pushed in another branch or loop"));
  CHECK_THAT(errorOf([] { fx::ktrace::mark(""); }),
             Catch::EndsWith("ktrace::mark: an event has a name"));
}

TEST_CASE("events outside of a kernel are refused") {
  CHECK_THROWS_WITH(fx::ktrace::mark("start"), Catch::Contains("ktrace::mark"));
}
