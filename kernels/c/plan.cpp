// The functions of flydsl/kernels.h: no exception leaves them.
#include "c/plan.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace {

/// The sentence of a thread's last error. Without memory for it there is one of the program's.
class LastError {
public:
  const char *text() const { return isStatic_ ? static_ : text_.c_str(); }
  void set(const char *text) noexcept {
    try {
      text_ = text;
      isStatic_ = false;
    } catch (...) {
      isStatic_ = true;
    }
  }

private:
  static constexpr const char *static_ = "out of the host's memory";
  std::string text_;
  bool isStatic_ = false;
};
thread_local LastError lastError;

flydsl_status failed(flydsl_status status, const char *text) noexcept {
  lastError.set(text);
  return status;
}

/// Runs the body of a function. The order is that of classes and their bases.
template <class F> flydsl_status guarded(const F &body) noexcept {
  try {
    body();
    return FLYDSL_OK;
  } catch (const std::bad_alloc &) {
    return failed(FLYDSL_OUT_OF_MEMORY, "out of the host's memory");
  } catch (const fk::c::Unsupported &error) {
    return failed(FLYDSL_UNSUPPORTED, error.what());
  } catch (const fk::IndexError &error) {
    return failed(FLYDSL_INDEX_ERROR, error.what());
  } catch (const fx::RuntimeError &error) {
    return failed(FLYDSL_DEVICE_ERROR, error.what());
  } catch (const fx::CompileError &error) {
    return failed(FLYDSL_COMPILE_ERROR, error.what());
  } catch (const fx::Error &error) {
    return failed(FLYDSL_INVALID, error.what());
  } catch (const std::exception &error) {
    return failed(FLYDSL_INTERNAL, error.what());
  } catch (...) {
    return failed(FLYDSL_INTERNAL, "an exception of no kind");
  }
}

/// Throws Error for a null pointer.
void expectGiven(const void *pointer, const char *name) {
  if (!pointer)
    throw fx::Error(std::string(name) + " is NULL");
}
fx::StreamRef streamOf(void *stream) { return static_cast<ihipStream_t *>(stream); }
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
  if (options->size != sizeof(flydsl_plan_options))
    throw fx::Error("the size of flydsl_plan_options is " + std::to_string(options->size) + "; " +
                    std::to_string(sizeof(flydsl_plan_options)) + " is that of version " +
                    std::to_string(FLYDSL_KERNELS_VERSION));
  if (options->config)
    asked.config = options->config;
  if (options->file)
    asked.file = options->file;
  set(asked.options.check_indices, options->check_indices, "check_indices");
  set(asked.options.check_memory, options->check_memory, "check_memory");
  return asked;
}

} // namespace

extern "C" {

std::uint32_t flydsl_kernels_version(void) { return FLYDSL_KERNELS_VERSION; }

const char *flydsl_last_error(void) { return lastError.text(); }

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
