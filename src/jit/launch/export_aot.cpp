#include "jit/launch/executable_state.h"
#include "jit/launch/kernel_state.h"
#include "runtime/aot_file.h"

#include <cctype>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

/// Whole or not at all: written beside its place and renamed.
void writeFile(const std::string &path, const void *data, std::size_t size,
               const std::source_location &where) {
  const std::string beside = path + ".part";
  {
    std::ofstream file(beside, std::ios::binary | std::ios::trunc);
    file.write(static_cast<const char *>(data), static_cast<std::streamsize>(size));
    file.flush();
    if (!file)
      throw RuntimeError("can't write " + beside, 0, where);
  }
  std::error_code code;
  std::filesystem::rename(beside, path, code);
  if (code)
    throw RuntimeError("can't rename " + beside + " to " + path + ": " + code.message(), 0, where);
}

std::string headerText(const std::string &path, const std::vector<runtime::AotVariant> &variants,
                       const std::vector<std::uint8_t> &bytes) {
  std::string symbol = "flydsl_aot_";
  for (char c : std::filesystem::path(path).stem().string())
    symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::string text = "/* Kernels compiled ahead of time, for flydsl::load_aot:\n";
  for (const runtime::AotVariant &v : variants) {
    text += " *   " + v.facts.name + ", " + v.facts.target;
    if (v.facts.block[0])
      text += ", workgroups of " + std::to_string(v.facts.block[0]) + " x " +
              std::to_string(v.facts.block[1]) + " x " + std::to_string(v.facts.block[2]);
    text += ", " + std::to_string(v.facts.sharedBytes) + " bytes of LDS\n";
  }
  text += " */\n#pragma once\n\n#include <stddef.h>\n\nstatic const size_t " + symbol +
          "_size = " + std::to_string(bytes.size()) + ";\nstatic const unsigned char " + symbol +
          "[] = {";
  char number[8];
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    std::snprintf(number, sizeof number, "%u,", static_cast<unsigned>(bytes[i]));
    if (i % 24 == 0)
      text += "\n";
    text += number;
  }
  return text + "};\n";
}

} // namespace

void exportAot(KernelState &kernel, ArgPack &pack, const std::string &path, const AotConfig &config,
               const std::source_location &where) {
  std::vector<runtime::AotVariant> variants;
  if (config.append && std::filesystem::exists(path)) {
    std::ifstream file(path, std::ios::binary);
    const std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
    try {
      variants = runtime::decodeAot(bytes);
    } catch (const RuntimeError &error) {
      throw RuntimeError("adding to " + path + ": " + error.what(), 0, where);
    }
  }
  std::vector<std::string> archs = config.archs;
  if (archs.empty())
    archs.emplace_back(); // what `compile` finds
  for (const std::string &arch : archs) {
    CompileConfig compileConfig;
    compileConfig.block = config.block;
    compileConfig.arch = arch;
    const Executable executable = compile(kernel, pack, compileConfig, where);
    const ExecutableState &state = *ExecutableAccess::state(executable);
    runtime::AotVariant variant{state.facts, runtime::runtimeWords(pack.word(), pack.words()),
                                state.object->bytes};
    // The same kernel for the same call and target replaces what was there.
    std::erase_if(variants, [&](const runtime::AotVariant &v) {
      return v.facts.name == variant.facts.name && v.facts.target == variant.facts.target &&
             v.words == variant.words;
    });
    variants.push_back(std::move(variant));
  }
  const std::vector<std::uint8_t> bytes = runtime::encodeAot(variants);
  writeFile(path, bytes.data(), bytes.size(), where);
  if (!config.header.empty()) {
    const std::string text = headerText(path, variants, bytes);
    writeFile(config.header, text.data(), text.size(), where);
  }
}

} // namespace detail
FLYDSL_NAMESPACE_END
