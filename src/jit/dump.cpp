#include "jit/dump.h"

#include "support/env.h"
#include "support/log.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>

namespace flydsl::jit {

std::string dumpDirFromEnvironment() {
  if (!support::envFlag("FLYDSL_DUMP_IR", false))
    return {};
  if (auto dir = support::env("FLYDSL_DUMP_DIR"))
    return *dir;
  return support::env("HOME").value_or(".") + "/.flydsl/debug";
}

static std::string safeName(std::string_view name) {
  std::string safe;
  for (char c : name.substr(0, 128))
    safe += std::isalnum(static_cast<unsigned char>(c)) || c == '.' || c == '-' ? c : '_';
  return safe.empty() || safe[0] == '.' ? "_" + safe : safe;
}

Dump::Dump(const std::string &root, std::string_view kernel) {
  if (root.empty())
    return;
  std::string folder = root + "/" + safeName(kernel);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    support::log().warn("no IR dumps: {}: {}", folder, error.message());
    return;
  }
  folder_ = std::move(folder);
}

std::string Dump::write(std::string_view stage, std::string_view extension, std::string_view text) {
  if (!enabled())
    return {};
  char number[16];
  std::snprintf(number, sizeof number, "%02u_", next_++);
  std::string path = folder_ + "/" + number + safeName(stage) + "." + std::string(extension);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file) {
    support::log().warn("IR dump {} could not be written", path);
    return {};
  }
  return path;
}

std::string stageName(std::string_view passes) {
  std::string name;
  int braces = 0;
  constexpr std::string_view nest = "gpu.module(";
  bool nested = passes.starts_with(nest);
  if (nested)
    passes.remove_prefix(nest.size());
  for (char c : passes) {
    if (c == '{')
      ++braces;
    else if (c == '}')
      --braces;
    else if (braces == 0 && c != ')')
      name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  }
  return name.substr(0, 100);
}

} // namespace flydsl::jit
