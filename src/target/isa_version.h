// The numbers by which ROCm's device library knows processors.
#pragma once

#include <flydsl/target.h>

#include <string_view>

FLYDSL_NAMESPACE_BEGIN
namespace detail {

/// What `__oclc_ISA_version` is for a processor: a thousand times the major version, a hundred times the
/// minor one, and the stepping, which is the last digit of its name and hexadecimal. gfx90a is 9010.
constexpr unsigned isaVersion(std::string_view name) {
  auto digit = [](char c) { return static_cast<unsigned>(c <= '9' ? c - '0' : c - 'a' + 10); };
  name.remove_prefix(3); // gfx
  unsigned major = 0;
  for (char c : name.substr(0, name.size() - 2))
    major = major * 10 + digit(c);
  return major * 1000 + digit(name[name.size() - 2]) * 100 + digit(name.back());
}

} // namespace detail
FLYDSL_NAMESPACE_END
