// Options of LLVM, as its programs take them on the command line. They are variables of the process
// that any of LLVM's code may read at any time.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace flydsl::jit {

using LlvmOptions = std::vector<std::pair<std::string, std::string>>; ///< names and values

/// Why LLVM would not take these options, or an empty text.
std::string problemWithLlvmOptions(const LlvmOptions &options);

/// Sets LLVM's options while it lives. If there are any, it waits for the compiles that go on, and
/// keeps others waiting until its end; without any, as many as come go on at once.
class LlvmOptionsScope {
public:
  /// Throws flydsl::CompileError for an option that LLVM does not take.
  explicit LlvmOptionsScope(const LlvmOptions &options);
  ~LlvmOptionsScope();
  LlvmOptionsScope(const LlvmOptionsScope &) = delete;
  LlvmOptionsScope &operator=(const LlvmOptionsScope &) = delete;

private:
  bool isAlone_;
};

} // namespace flydsl::jit
