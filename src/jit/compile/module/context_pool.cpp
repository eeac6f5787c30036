// The pool of MLIR contexts, and what is kept beside each.
#include "jit/compile/module/context_pool.h"

#include "jit/compile/guard/guard.h"
#include "jit/compile/guard/locks_held.h"
#include "jit/compile/guard/memory.h"
#include "support/leak.h"
#include "support/process_use.h"

#include <flydsl/error.h>

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <mutex>
#include <new>
#include <vector>

namespace flydsl::jit {

namespace {

/// What the pool knows of one of its contexts.
struct Room {
  std::shared_ptr<void> kept;
  std::size_t operations = 0;
  bool hasAll = false;                         ///< every dialect is loaded
  void (*also)(mlir::MLIRContext &) = nullptr; ///< has run
  bool damaged = false;
};

struct Pool {
  std::mutex mutex;
  std::vector<std::unique_ptr<mlir::MLIRContext>> free;
  std::map<mlir::MLIRContext *, Room> rooms; ///< of each context of the pool
};

Pool &pool() {
  static auto *instance = new Pool; // not destroyed: threads may hold leases while the process ends
  return *instance;
}

void load(mlir::MLIRContext &context, Dialects wanted) {
  if (wanted == Dialects::all)
    return context.loadAllAvailableDialects();
  mlir::DialectRegistry traced;
  registerTracedDialects(traced);
  for (llvm::StringRef name : traced.getDialectNames())
    context.getOrLoadDialect(name);
}

constexpr const char *kMaking = "making an MLIR context";

/// A context that is made, or gets more dialects, on the guarded thread.
struct Making {
  std::unique_ptr<mlir::MLIRContext> context;
  Dialects wanted;
  void (*also)(mlir::MLIRContext &);

  void run() {
    if (!context) {
      mlir::DialectRegistry registry;
      registerDialects(registry);
      context =
          std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
      // The constructor leaves the tables of types and attributes with locks, and with caches of each
      // thread. Such a cache would outlive a context in which memory ran out, half changed.
      context->disableMultithreading();
    }
    load(*context, wanted);
    if (also)
      also(*context);
  }
};

/// A context of the pool that no thread has; null if there is none. `hasWanted` is whether it has the
/// dialects.
std::unique_ptr<mlir::MLIRContext> takeFree(Dialects wanted, void (*also)(mlir::MLIRContext &),
                                            bool &hasWanted) {
  std::lock_guard lock(pool().mutex);
  if (pool().free.empty())
    return nullptr;
  std::unique_ptr<mlir::MLIRContext> context = std::move(pool().free.back());
  pool().free.pop_back();
  const Room &room = pool().rooms[context.get()];
  hasWanted = (wanted == Dialects::ofBackends || room.hasAll) && (!also || room.also == also);
  return context;
}

} // namespace

ContextLease::ContextLease(Dialects wanted, void (*also)(mlir::MLIRContext &))
    : locksBefore_(locksHeld()) {
  bool hasWanted = false;
  context_ = takeFree(wanted, also, hasWanted);
  if (context_ && hasWanted)
    return;
  expectMemory(kCompilerMemory, kMaking);
  auto making = std::make_shared<Making>(Making{std::move(context_), wanted, also});
  const GuardOutcome outcome =
      runGuarded([making](Guard &) { runAbandoning([&] { making->run(); }); }, 0);
  if (outcome.kind != GuardOutcome::finished) {
    support::leak(std::move(making)); // half made, it can't be destroyed
    throw CompileError(describe(outcome, kMaking, 0));
  }
  context_ = std::move(making->context);
  std::lock_guard lock(pool().mutex);
  Room &room = pool().rooms[context_.get()];
  room.hasAll |= wanted == Dialects::all;
  if (also)
    room.also = also;
}

ContextLease::~ContextLease() {
  if (!context_)
    return;
  if (support::lostByFork()) {
    context_.release();
    return;
  }
  std::shared_ptr<void> kept; // goes before its context does
  std::lock_guard lock(pool().mutex);
  auto room = pool().rooms.find(context_.get());
  if (room->second.damaged) {
    // What is kept with the context may be half changed: it is neither used nor destroyed.
    context_.release();
    return;
  }
  if (room->second.operations < kMostOperations) {
    try {
      pool().free.push_back(std::move(context_));
      return;
    } catch (const std::bad_alloc &) {
      // Without room in the pool the context goes, which is what gives memory back.
    }
  }
  kept = std::move(room->second.kept);
  pool().rooms.erase(room);
}

void ContextLease::ranOutOfMemory() {
  abandonContext(*context_);
  if (locksHeld() > locksBefore_)
    loseCompiler();
}

void noteWork(mlir::ModuleOp module) {
  std::size_t operations = 0;
  module.walk([&](mlir::Operation *) { ++operations; });
  std::lock_guard lock(pool().mutex);
  if (auto room = pool().rooms.find(module.getContext()); room != pool().rooms.end())
    room->second.operations += operations;
}

std::shared_ptr<void> *keptWith(mlir::MLIRContext &context) {
  std::lock_guard lock(pool().mutex);
  auto room = pool().rooms.find(&context);
  return room == pool().rooms.end() ? nullptr : &room->second.kept;
}

void abandonContext(mlir::MLIRContext &context) {
  std::lock_guard lock(pool().mutex);
  if (auto room = pool().rooms.find(&context); room != pool().rooms.end())
    room->second.damaged = true;
}

} // namespace flydsl::jit
