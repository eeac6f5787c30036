// What a call that is refused says.
#pragma once

#include <exception>
#include <functional>
#include <string>

/// The message of an exception that `call` throws.
inline std::string errorOf(const std::function<void()> &call) {
  try {
    call();
  } catch (const std::exception &error) {
    return error.what();
  }
  return "no error";
}
