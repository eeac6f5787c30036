// Files of kernels compiled ahead of time, and the C header beside them.
#include "jit/launch/executable_state.h"
#include "jit/launch/kernel_state.h"
#include "runtime/aot_file.h"
#include "support/file.h"
#include "support/text.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <optional>

FLYDSL_NAMESPACE_BEGIN
namespace detail {
namespace {

void write(const std::string &path, std::span<const std::uint8_t> data,
           const std::source_location &where) {
  if (std::string problem = support::writeFile(path, data); !problem.empty())
    throw RuntimeError("can't write " + path + ": " + problem, 0, where);
}

/// What is in the file already; nothing where there is none.
std::vector<runtime::AotCode> codesIn(const std::string &path, const std::source_location &where) {
  support::FileContents file = support::readAll(path, runtime::kMaxAotBytes);
  if (file.absent)
    return {};
  try {
    if (!file.bytes)
      throw RuntimeError(file.problem);
    return runtime::decodeAot(*file.bytes);
  } catch (const RuntimeError &error) {
    throw RuntimeError("adding to " + path + ": " + error.what(), 0, where);
  }
}

/// Adds a code to those of a file. It replaces what was made for the same launches.
void place(std::vector<runtime::AotCode> &codes, runtime::AotCode code, const std::string &path,
           const std::source_location &where) {
  auto found = std::find_if(codes.begin(), codes.end(), [&](const runtime::AotCode &other) {
    return code.takesThePlaceOf(other);
  });
  if (found == codes.end())
    return codes.push_back(std::move(code));
  if (found->constants != code.constants)
    throw RuntimeError("adding to " + path + ": kernel " + code.title() + " is there for " +
                           code.facts.target.id() +
                           " and these arguments, made with other constants, layouts or tiled "
                           "copies; give this export a .variant of its own",
                       0, where);
  *found = std::move(code);
}

std::string headerText(const std::string &path, const std::vector<runtime::AotCode> &codes,
                       const std::vector<std::uint8_t> &bytes) {
  std::string symbol = "flydsl_aot_";
  for (char c : std::filesystem::path(path).stem().string())
    symbol += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  std::string text = "/* Kernels compiled ahead of time, for flydsl::load_aot:\n";
  for (const runtime::AotCode &code : codes) {
    const runtime::LaunchFacts &facts = code.facts;
    // A name may be any text; here it stays a comment.
    text += " *   " + support::inComment(code.title()) + ", " + facts.target.id();
    if (facts.block[0])
      text += ", workgroups of " + std::to_string(facts.block[0]) + " x " +
              std::to_string(facts.block[1]) + " x " + std::to_string(facts.block[2]);
    text += ", " + std::to_string(facts.sharedBytes) + " bytes of LDS\n";
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
  std::vector<runtime::AotCode> made;
  std::vector<std::string> archs = config.archs;
  if (archs.empty())
    archs.emplace_back(); // what `compile` finds
  if (config.append)      // a file that can't be added to is refused before anything is compiled
    (void)codesIn(path, where);
  for (const std::string &arch : archs) {
    CompileConfig compileConfig;
    compileConfig.block = config.block;
    compileConfig.arch = arch;
    const Executable executable = compile(kernel, pack, compileConfig, where);
    const ExecutableState &state = *ExecutableAccess::state(executable);
    if (!state.facts.eventNames.empty())
      throw RuntimeError("kernel " + state.facts.name +
                             " records events (ktrace), which a kernel that is compiled ahead of "
                             "time can't; export it without the hint and FLYDSL_KTRACE_ENABLE",
                         0, where);
    runtime::AotCode &code = made.emplace_back();
    code.kernel = kernel.spec.name;
    code.variant = config.variant.empty() ? state.variant : config.variant;
    code.facts = state.facts;
    code.image = state.object->bytes;
    runtime::splitWords({pack.word(), pack.words()}, code);
  }
  // Two processes that add to one file do it one after the other; neither loses the other's.
  std::optional<support::FolderLock> lock;
  std::vector<runtime::AotCode> codes;
  if (config.append) {
    std::string problem;
    lock.emplace(path, 60, problem);
    if (!problem.empty())
      throw RuntimeError("adding to " + path + ": " + problem, 0, where);
    codes = codesIn(path, where);
  }
  for (runtime::AotCode &code : made)
    place(codes, std::move(code), path, where);
  const std::vector<std::uint8_t> bytes = runtime::encodeAot(codes);
  write(path, bytes, where);
  if (!config.header.empty()) {
    const std::string text = headerText(path, codes, bytes);
    write(config.header,
          std::span(reinterpret_cast<const std::uint8_t *>(text.data()), text.size()), where);
  }
}

} // namespace detail
FLYDSL_NAMESPACE_END
