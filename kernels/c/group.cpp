// Groups of ranks behind the C interface.
#include "c/guarded.h"

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

namespace fx = flydsl;
using fx::kernels::c::expectGiven, fx::kernels::c::guarded, fx::kernels::c::streamOf;

namespace {

fx::GroupOptions optionsOf(const flydsl_group_options *options) {
  fx::GroupOptions made;
  if (!options)
    return made;
  fx::kernels::c::expectSize("flydsl_group_options", options->size, sizeof(flydsl_group_options));
  if (options->capacity)
    made.capacity = options->capacity;
  if (options->milliseconds)
    made.timeout = std::chrono::milliseconds(options->milliseconds);
  return made;
}

} // namespace

extern "C" {

flydsl_status flydsl_group_of(const std::int32_t *devices, std::int32_t count,
                              const flydsl_group_options *options, flydsl_group **groups) {
  for (std::int32_t i = 0; groups && i < count; ++i)
    groups[i] = nullptr;
  return guarded([&] {
    expectGiven(groups, "groups");
    if (count > 0)
      expectGiven(devices, "devices");
    std::vector<fx::Device> all;
    for (std::int32_t i = 0; i < count; ++i)
      all.emplace_back(devices[i]);
    std::vector<std::unique_ptr<flydsl_group>> made;
    for (fx::Group &group : fx::Group::of(all, optionsOf(options)))
      made.push_back(std::make_unique<flydsl_group>(flydsl_group{std::move(group)}));
    for (std::size_t i = 0; i < made.size(); ++i)
      groups[i] = made[i].release();
  });
}

flydsl_status flydsl_group_join(const char *file, std::int32_t rank, std::int32_t ranks,
                                const flydsl_group_options *options, flydsl_group **group) {
  if (group)
    *group = nullptr;
  return guarded([&] {
    expectGiven(file, "file");
    expectGiven(group, "group");
    *group = new flydsl_group{fx::Group::join(file, rank, ranks, optionsOf(options))};
  });
}

flydsl_status flydsl_group_check(const flydsl_group *group) {
  return guarded([&] {
    expectGiven(group, "group");
    group->group.check();
  });
}

flydsl_status flydsl_group_move_to(flydsl_group *group, void *stream) {
  return guarded([&] {
    expectGiven(group, "group");
    group->group.move_to(streamOf(stream));
  });
}

void flydsl_group_destroy(flydsl_group *group) { delete group; }

} // extern "C"
