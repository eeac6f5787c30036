#include "fake.h"
#include "fake_params.h"
#include "jit/launch/events.h"

#include <flydsl/host/device.h>
#include <flydsl/host/stats.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

TEST_CASE("loading a kernel is counted and told, a launch of a known signature is not") {
  std::vector<std::string> told;
  const fx::Stats before = fx::stats();
  fx::Kernel kernel{"evented", [](FakeInt32) {}};
  {
    auto subscription = fx::on_event([&](const fx::EventInfo &event) {
      if (event.kind == fx::EventInfo::Kind::loaded)
        told.push_back(std::string(event.kernel) + " for " + std::string(event.target) + " on " +
                       std::to_string(event.device));
    });
    kernel(1).launch({.block = 64});
    kernel(2).launch({.block = 64});
  }
  CHECK(told == std::vector<std::string>{"evented for " + fx::Device::current().target().id() +
                                         " on 0"});
  CHECK(fx::stats().loads == before.loads + 1);
  kernel(3).launch({.block = 128});
  CHECK(told.size() == 1);
  CHECK(fx::stats().loads == before.loads + 2);
}

TEST_CASE("each kind of event has its counters") {
  auto reported = [](fx::EventInfo::Kind kind) {
    fx::EventInfo event;
    event.kind = kind;
    event.milliseconds = 2;
    event.bytes = 100;
    flydsl::jit::report(event);
  };
  const fx::Stats a = fx::stats();
  for (auto kind :
       {fx::EventInfo::Kind::traced, fx::EventInfo::Kind::compiled, fx::EventInfo::Kind::memory_hit,
        fx::EventInfo::Kind::disk_hit, fx::EventInfo::Kind::loaded, fx::EventInfo::Kind::failed})
    reported(kind);
  const fx::Stats b = fx::stats();
  CHECK(b.traces == a.traces + 1);
  CHECK(b.compiles == a.compiles + 1);
  CHECK(b.memory_hits == a.memory_hits + 1);
  CHECK(b.disk_hits == a.disk_hits + 1);
  CHECK(b.loads == a.loads + 1);
  CHECK(b.failures == a.failures + 1);
  CHECK(b.bytes_compiled == a.bytes_compiled + 100);
  CHECK(b.bytes_from_disk == a.bytes_from_disk + 100);
  CHECK(b.trace_milliseconds == Approx(a.trace_milliseconds + 2));
}

TEST_CASE("a callback that throws disturbs nobody") {
  int calls = 0;
  auto bad = fx::on_event([](const fx::EventInfo &) { throw 1; });
  auto good = fx::on_event([&](const fx::EventInfo &) { ++calls; });
  flydsl::jit::report({});
  CHECK(calls == 1);
  auto moved = std::move(good);
  flydsl::jit::report({});
  CHECK(calls == 2);
}
