#include "jit/launch/shared_work.h"

#include "support/fork.h"

namespace flydsl::jit {
namespace {

constinit std::mutex lockOfAll;
constinit std::atomic<std::uint64_t> depth{0};

[[gnu::constructor]] void watchForks() {
  support::holdAtFork(lockOfAll);
  support::atFork(support::ForkOrder::tables, {nullptr, nullptr, [] { ++depth; }});
}

} // namespace

std::mutex &sharingWork() { return lockOfAll; }
std::uint64_t forkDepth() { return depth; }

} // namespace flydsl::jit
