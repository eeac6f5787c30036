// The pool of TargetMachines. Making one costs more than using it, and it serves one thread at a
// time.
#include "jit/compile/codegen/codegen.h"

#include "jit/compile/guard/compiler_use.h"
#include "support/leak.h"

#include <flydsl/error.h>

#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/Target/TargetOptions.h"
#include "llvm/TargetParser/Triple.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

namespace flydsl::jit {

namespace {

/// How many machines wait for the next compile. There is one for each target, level and set of
/// LLVM's options (a loop that tunes may try any number), and for each thread that compiles
/// at the same time. A machine takes 6 MB.
std::size_t mostFree() {
  static const std::size_t most = std::max(8u, 2 * std::thread::hardware_concurrency());
  return most;
}

struct Pool {
  struct Free {
    std::string key;
    MadeMachine machine;
  };
  std::mutex mutex;
  std::deque<Free> free; ///< the one that waits longest first
};

Pool &pool() {
  static auto *instance = new Pool; // not destroyed: leases may outlive main()
  return *instance;
}

} // namespace

static std::unique_ptr<llvm::TargetMachine> make(const Backend &backend,
                                                 const CompileOptions &options) {
  const LlvmProcessor processor = backend.processor(options.target);
  llvm::Triple triple(processor.triple);
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    throw CompileError("this LLVM has no target " + processor.triple + ": " + error);
  llvm::TargetOptions targetOptions;
  auto level = static_cast<llvm::CodeGenOptLevel>(std::min(options.optLevel, 3u));
  std::unique_ptr<llvm::TargetMachine> machine(
      target->createTargetMachine(triple, processor.name, processor.features, targetOptions,
                                  llvm::Reloc::PIC_, std::nullopt, level));
  if (!machine)
    throw CompileError("LLVM can't generate code for " + options.target.id());
  return machine;
}

/// The thread is detached: a compile that is stopped never comes to where it would be joined.
static void warm(MadeMachine &made, std::function<void()> work) {
  auto use = std::make_shared<CompilerUse>(); // exit() waits for the thread, too
  auto warming = std::make_shared<MadeMachine::Warming>();
  try {
    std::thread([warming, work = std::move(work), use = std::move(use)] {
      try {
        work();
      } catch (...) { // there is not enough memory
        warming->failed = std::current_exception();
      }
      warming->over.count_down();
    }).detach();
    made.warming = std::move(warming);
  } catch (const std::system_error &) {
    // Without a thread, generating code finds by itself what it needs.
  }
}

/// Waits until the machine is warm. What its warming threw; null if it threw nothing.
static std::exception_ptr failureOfWarming(const MadeMachine &made) {
  if (!made.warming)
    return nullptr;
  made.warming->over.wait();
  return made.warming->failed;
}

void TargetMachineLease::finishWarming() {
  if (std::exception_ptr failed = failureOfWarming(made_))
    std::rethrow_exception(failed);
}

TargetMachineLease::TargetMachineLease(const Backend &backend, const CompileOptions &options)
    : key_(options.target.id() + "/" + std::to_string(options.optLevel)) {
  for (const auto &[name, value] : options.llvmOptions) // a machine is made as the options say
    key_ += "/" + name + "=" + value;
  if (options.llvmGroupScheduler) // the passes that a machine keeps are chosen once
    key_ += "/llvm's groups";
  {
    std::lock_guard lock(pool().mutex);
    auto &free = pool().free;
    const auto found = std::find_if(free.rbegin(), free.rend(),
                                    [&](const Pool::Free &one) { return one.key == key_; });
    if (found != free.rend()) {
      made_ = std::move(found->machine);
      free.erase(std::next(found).base());
    }
  }
  if (!made_.machine) {
    made_.machine = make(backend, options);
    if (std::function<void()> work = backend.warmUp(*made_.machine))
      warm(made_, std::move(work));
  }
}

TargetMachineLease::TargetMachineLease(TargetMachineLease &&) noexcept = default;

TargetMachineLease::~TargetMachineLease() {
  if (!made_.machine)
    return;
  const bool isWarm = !failureOfWarming(made_);
  // An exception came through LLVM, which was not made for it (there was not enough memory): what
  // the machine keeps may be half made, so it is neither used again nor destroyed.
  if (std::uncaught_exceptions() > exceptions_ || !isWarm) {
    support::leak(std::move(made_.machine));
    support::leak(std::move(made_.kept));
    return;
  }
  MadeMachine gone; // destroyed without the lock
  std::lock_guard lock(pool().mutex);
  auto &free = pool().free;
  try {
    free.push_back({std::move(key_), {}});
  } catch (const std::bad_alloc &) {
    return; // without room in the pool the machine goes, which gives memory back
  }
  free.back().machine = std::move(made_);
  if (free.size() > mostFree()) {
    gone = std::move(free.front().machine);
    free.pop_front();
  }
}

} // namespace flydsl::jit
