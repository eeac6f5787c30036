// Bodies of the functions of flydsl/kernels.h, from which no exception leaves.
#pragma once

#include "c/plan.h"

#include <cstdint>
#include <new>
#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::c {

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
LastError &lastError();

inline flydsl_status failed(flydsl_status status, const char *text) noexcept {
  lastError().set(text);
  return status;
}

/// Runs the body of a function. The order is that of classes and their bases.
template <class F> flydsl_status guarded(const F &body) noexcept {
  try {
    body();
    return FLYDSL_OK;
  } catch (const std::bad_alloc &) {
    return failed(FLYDSL_OUT_OF_MEMORY, "out of the host's memory");
  } catch (const Unsupported &error) {
    return failed(FLYDSL_UNSUPPORTED, error.what());
  } catch (const IndexError &error) {
    return failed(FLYDSL_INDEX_ERROR, error.what());
  } catch (const RuntimeError &error) {
    return failed(FLYDSL_DEVICE_ERROR, error.what());
  } catch (const CompileError &error) {
    return failed(FLYDSL_COMPILE_ERROR, error.what());
  } catch (const Error &error) {
    return failed(FLYDSL_INVALID, error.what());
  } catch (const std::exception &error) {
    return failed(FLYDSL_INTERNAL, error.what());
  } catch (...) {
    return failed(FLYDSL_INTERNAL, "an exception of no kind");
  }
}

/// Throws Error for a null pointer.
inline void expectGiven(const void *pointer, const char *name) {
  if (!pointer)
    throw Error(std::string(name) + " is NULL");
}
/// Throws Error for a struct of another version than this library's.
inline void expectSize(const char *name, std::size_t size, std::size_t expected) {
  if (size != expected)
    throw Error("the size of " + std::string(name) + " is " + std::to_string(size) + "; " +
                std::to_string(expected) + " is that of version " +
                std::to_string(FLYDSL_KERNELS_VERSION));
}
inline StreamRef streamOf(void *stream) { return static_cast<ihipStream_t *>(stream); }

} // namespace kernels::c
FLYDSL_NAMESPACE_END
