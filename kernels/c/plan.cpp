// The functions of flydsl/kernels.h: no exception leaves them.
#include "c/guarded.h"

#include <flydsl/kernels/tuning/tuned.h>

#include <algorithm>
#include <cstring>

namespace fx = flydsl;
namespace fk = flydsl::kernels;
using fk::c::expectGiven, fk::c::guarded, fk::c::streamOf;

namespace {

fx::Target targetOf(const char *name) {
  if (!name)
    return fx::Device::current().target();
  try {
    return fx::Target::parse(name);
  } catch (const fx::Error &error) {
    throw fx::Error(error.what()); // the caller's word, not the device, is wrong
  }
}
/// 0: the default.
void set(bool &flag, std::int32_t asked, const char *name) {
  if (asked < -1 || asked > 1)
    throw fx::Error(std::string(name) + " is " + std::to_string(asked) +
                    "; 1, 0 or -1 is expected");
  if (asked)
    flag = asked > 0;
}

fk::c::Asked askedOf(const char *problem, std::int64_t rows, const flydsl_plan_options *options) {
  fk::c::Asked asked{problem, rows, targetOf(options ? options->target : nullptr), {}, {}, {}};
  if (!options)
    return asked;
  fk::c::expectSize("flydsl_plan_options", options->size, sizeof(flydsl_plan_options));
  if (options->config)
    asked.config = options->config;
  if (options->file)
    asked.file = options->file;
  set(asked.options.check_indices, options->check_indices, "check_indices");
  set(asked.options.check_memory, options->check_memory, "check_memory");
  return asked;
}

} // namespace

fk::c::LastError &fk::c::lastError() {
  thread_local LastError last;
  return last;
}

extern "C" {

std::uint32_t flydsl_kernels_version(void) { return FLYDSL_KERNELS_VERSION; }

const char *flydsl_last_error(void) { return fk::c::lastError().text(); }

flydsl_status flydsl_supported(const char *problem, const char *target) {
  return guarded([&] {
    expectGiven(problem, "problem");
    fk::c::expectSupported(problem, targetOf(target));
  });
}

flydsl_status flydsl_plan_create(const char *problem, std::int64_t rows,
                                 const flydsl_plan_options *options, flydsl_plan **plan) {
  if (plan)
    *plan = nullptr;
  return guarded([&] {
    expectGiven(problem, "problem");
    expectGiven(plan, "plan");
    *plan = fk::c::makePlan(askedOf(problem, rows, options)).release();
  });
}

void flydsl_plan_destroy(flydsl_plan *plan) { delete plan; }

flydsl_status flydsl_plan_call(const flydsl_plan *plan, const flydsl_argument *arguments,
                               std::size_t count, void *stream) {
  return guarded([&] {
    expectGiven(plan, "plan");
    if (count)
      expectGiven(arguments, "arguments");
    plan->call({arguments, count}, streamOf(stream));
  });
}

flydsl_status flydsl_plan_check(const flydsl_plan *plan, void *stream) {
  return guarded([&] {
    expectGiven(plan, "plan");
    plan->check(streamOf(stream));
  });
}

flydsl_status flydsl_plan_workspace_bytes(const flydsl_plan *plan, std::int64_t rows,
                                          std::size_t *bytes) {
  return guarded([&] {
    expectGiven(plan, "plan");
    expectGiven(bytes, "bytes");
    *bytes = plan->workspaceBytes(rows);
  });
}

flydsl_status flydsl_tuned_use(const char *file) {
  return guarded([&] { (file ? fk::TunedConfigs::read(file) : fk::TunedConfigs()).use(); });
}

flydsl_status flydsl_plan_describe(const flydsl_plan *plan, char *text, std::size_t size,
                                   std::size_t *needed) {
  return guarded([&] {
    expectGiven(plan, "plan");
    if (size)
      expectGiven(text, "text");
    const std::string whole = plan->text();
    if (needed)
      *needed = whole.size() + 1;
    if (!size)
      return;
    const std::size_t length = std::min(whole.size(), size - 1);
    std::memcpy(text, whole.data(), length);
    text[length] = '\0';
  });
}

} // extern "C"
