// The pool of MLIR contexts, and what is kept beside each.
#include "jit/compile/module/context_pool.h"

#include "support/process_use.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

#include <map>
#include <mutex>
#include <set>
#include <vector>

namespace flydsl::jit {

namespace {

/// A context keeps every type and attribute that it ever made, so it is replaced after this many
/// leases.
constexpr unsigned kMaxUses = 1000;

struct Pool {
  struct Item {
    std::unique_ptr<mlir::MLIRContext> context;
    unsigned uses;
  };
  std::mutex mutex;
  std::vector<Item> free;
  std::set<mlir::MLIRContext *> damaged;
  std::map<mlir::MLIRContext *, std::shared_ptr<void>> kept; ///< for each context of the pool
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

} // namespace

ContextLease::ContextLease(Dialects loaded) {
  CompilerUse making; // of dialects too, where a context is there
  {
    std::lock_guard lock(pool().mutex);
    if (!pool().free.empty()) {
      context_ = std::move(pool().free.back().context);
      uses_ = pool().free.back().uses + 1;
      pool().free.pop_back();
    }
  }
  if (context_) {
    load(*context_, loaded);
    return;
  }
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  load(*context_, loaded);
  uses_ = 1;
  noteCompilerRan();
  std::lock_guard lock(pool().mutex);
  pool().kept[context_.get()];
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
  if (pool().damaged.erase(context_.get())) {
    // What is kept with the context may be half changed: it is neither used nor destroyed.
    context_.release();
    return;
  }
  if (uses_ < kMaxUses) {
    pool().free.push_back({std::move(context_), uses_});
    return;
  }
  auto room = pool().kept.find(context_.get());
  kept = std::move(room->second);
  pool().kept.erase(room);
}

std::shared_ptr<void> *keptWith(mlir::MLIRContext &context) {
  std::lock_guard lock(pool().mutex);
  auto room = pool().kept.find(&context);
  return room == pool().kept.end() ? nullptr : &room->second;
}

void abandonContext(mlir::MLIRContext &context) {
  std::lock_guard lock(pool().mutex);
  pool().damaged.insert(&context);
}

} // namespace flydsl::jit
