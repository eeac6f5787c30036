#include "jit/launch/load.h"

#include "jit/launch/events.h"
#include "runtime/profiler_range.h"
#include "support/clock.h"

namespace flydsl::jit {

std::unique_ptr<runtime::LoadedKernel> load(const std::shared_ptr<const CodeObject> &object,
                                            const runtime::LaunchFacts &facts, int device,
                                            const std::source_location &where) {
  const auto start = support::Clock::now();
  runtime::ProfilerRange range("flydsl load", facts.name);
  auto loaded =
      std::make_unique<runtime::LoadedKernel>(object->bytes, object, facts, device, where);
  const std::string target = facts.target.id(); // the event has a view of it
  EventInfo event;
  event.kind = EventInfo::Kind::loaded;
  event.kernel = facts.name;
  event.target = target;
  event.milliseconds = support::millisecondsSince(start);
  event.bytes = object->bytes.size();
  event.device = device;
  report(event);
  return loaded;
}

std::shared_ptr<const runtime::LoadedKernel> load(const detail::ExecutableState &executable,
                                                  int device, const std::source_location &where) {
  const std::shared_ptr<detail::LoadedOn> &on = executable.loaded;
  if (const runtime::LoadedKernel *loaded = on->devices.find(device))
    return {on, loaded};
  return {on, on->loading.findOrMake(
                  {device}, [&] { return on->devices.find(device); },
                  [&] {
                    return &on->devices.publish(
                        device, load(executable.object, executable.facts, device, where));
                  })};
}

} // namespace flydsl::jit
