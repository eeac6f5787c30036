#include "jit/context_pool.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

#include <mutex>
#include <set>
#include <vector>

namespace flydsl::jit {

namespace {

/// A context keeps every type and attribute it ever made; after so many leases it is replaced.
constexpr unsigned maxUses = 1000;

struct Pool {
  struct Item {
    std::unique_ptr<mlir::MLIRContext> context;
    unsigned uses;
  };
  std::mutex mutex;
  std::vector<Item> free;
  std::set<mlir::MLIRContext *> damaged;
};

Pool &pool() {
  static auto *instance = new Pool; // not destroyed: threads may hold leases while the process ends
  return *instance;
}

} // namespace

ContextLease::ContextLease() {
  {
    std::lock_guard lock(pool().mutex);
    if (!pool().free.empty()) {
      context_ = std::move(pool().free.back().context);
      uses_ = pool().free.back().uses + 1;
      pool().free.pop_back();
      return;
    }
  }
  mlir::DialectRegistry registry;
  registerDialects(registry);
  context_ = std::make_unique<mlir::MLIRContext>(registry, mlir::MLIRContext::Threading::DISABLED);
  context_->loadAllAvailableDialects();
  uses_ = 1;
}

ContextLease::ContextLease(ContextLease &&other) noexcept = default;

ContextLease::~ContextLease() {
  if (!context_)
    return;
  std::lock_guard lock(pool().mutex);
  if (pool().damaged.erase(context_.get())) {
    context_.release();
    return;
  }
  if (uses_ < maxUses)
    pool().free.push_back({std::move(context_), uses_});
}

void abandonContext(mlir::MLIRContext &context) {
  std::lock_guard lock(pool().mutex);
  pool().damaged.insert(&context);
}

} // namespace flydsl::jit
