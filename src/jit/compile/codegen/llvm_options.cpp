#include "jit/compile/codegen/llvm_options.h"

#include <flydsl/error.h>

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/CommandLine.h"

#include <condition_variable>
#include <mutex>

namespace flydsl::jit {

namespace cl = llvm::cl;

namespace {

/// Who compiles now: many without options, or one with options.
struct Gate {
  std::mutex mutex;
  std::condition_variable changed;
  unsigned plain = 0;   ///< compiles without options
  unsigned waiting = 0; ///< compiles with options that wait for those to end
  bool isTaken = false; ///< by a compile with options
  std::vector<cl::Option *> set;

  /// Puts back what was set. An option that nobody had set has its default.
  void reset() {
    for (cl::Option *option : set)
      option->reset();
    set.clear();
  }
};

Gate &gate() {
  static auto *instance = new Gate; // not destroyed: compiles may outlive main()
  return *instance;
}

cl::Option *findOption(llvm::StringRef name) {
  auto &options = cl::getRegisteredOptions();
  auto found = options.find(name);
  return found == options.end() ? nullptr : found->second;
}

std::string nearestTo(llvm::StringRef name) {
  llvm::StringRef nearest;
  unsigned least = 6; // edits; what is farther away is another word
  for (const auto &option : cl::getRegisteredOptions()) {
    const unsigned distance = name.edit_distance(option.first, true, least);
    if (distance < least) {
      least = distance;
      nearest = option.first;
    }
  }
  return nearest.empty() ? std::string() : "; did you mean " + nearest.str() + "?";
}

/// The options that LLVM's programs end with, or print to the terminal for.
bool actsAtOnce(const cl::Option &option) {
  for (const cl::OptionCategory *category : option.Categories)
    if (category->getName() == "Generic Options")
      return true;
  return option.ArgStr.starts_with("print-") || option.ArgStr.starts_with("debug");
}

/// Why the option is not set, or an empty text.
std::string problemWithOption(const std::string &name) {
  const cl::Option *option = findOption(name);
  if (!option)
    return "LLVM has no option " + name + nearestTo(name);
  if (actsAtOnce(*option))
    return "LLVM's option " + name +
           " changes no code; FLYDSL_DUMP_IR=1 writes what the passes make";
  if (option->getNumOccurrences() != 0)
    return "LLVM's option " + name + " is set for the whole process already";
  return {};
}

/// Sets the options, or none of them; why not, or an empty text. The gate is held.
std::string set(Gate &g, const LlvmOptions &options) {
  for (const auto &[name, value] : options) {
    std::string problem = problemWithOption(name);
    if (problem.empty()) {
      cl::Option *option = findOption(name);
      g.set.push_back(option);
      if (option->addOccurrence(0, name, value)) // it prints what it expects to stderr
        problem = "LLVM's option " + name + " does not take '" + value + "'";
    }
    if (!problem.empty()) {
      g.reset();
      return problem;
    }
  }
  return {};
}

void enter(Gate &g, bool alone) {
  std::unique_lock lock(g.mutex);
  if (!alone) {
    g.changed.wait(lock, [&] { return !g.isTaken && g.waiting == 0; });
    ++g.plain;
    return;
  }
  ++g.waiting;
  g.changed.wait(lock, [&] { return !g.isTaken && g.plain == 0; });
  --g.waiting;
  g.isTaken = true;
}

void leave(Gate &g, bool alone) {
  {
    std::lock_guard lock(g.mutex);
    if (alone) {
      g.reset();
      g.isTaken = false;
    } else {
      --g.plain;
    }
  }
  g.changed.notify_all();
}

} // namespace

std::string problemWithLlvmOptions(const LlvmOptions &options) {
  if (options.empty())
    return {};
  Gate &g = gate();
  enter(g, /*alone=*/true);
  std::string problem = set(g, options);
  leave(g, /*alone=*/true);
  return problem;
}

LlvmOptionsScope::LlvmOptionsScope(const LlvmOptions &options) : isAlone_(!options.empty()) {
  Gate &g = gate();
  enter(g, isAlone_);
  if (const std::string problem = set(g, options); !problem.empty()) {
    leave(g, isAlone_);
    throw CompileError(problem);
  }
}

LlvmOptionsScope::~LlvmOptionsScope() { leave(gate(), isAlone_); }

} // namespace flydsl::jit
