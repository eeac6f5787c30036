#include "emulator/hip/graph/graph_run.h"

#include "emulator/hip/device/device.h"

#include <system_error>
#include <thread>

namespace flyemu::hip {
namespace {

/// The most operations of a graph at a time: branches beyond them wait, as they do for the queues
/// of a GPU.
constexpr unsigned kMostThreads = 64;

class GraphRun {
public:
  GraphRun(const GraphPlan &plan, Device &device, const SubmissionRef &launch)
      : plan_(plan), device_(device), launch_(launch), order_(launch ? plan.order() : nullptr) {
    missing_.reserve(plan.steps.size());
    for (uint32_t i = 0; i < plan.steps.size(); ++i) {
      missing_.push_back(plan.steps[i].dependencies);
      if (!missing_[i])
        ready_.push_back(i);
    }
  }

  void run() {
    {
      std::unique_lock lock(mutex_);
      work(lock);
    }
    // A helper thread may start others, and ends when nothing is ready. So the list no longer grows
    // when its last thread has ended.
    for (size_t i = 0;; ++i) {
      std::unique_lock lock(mutex_);
      if (i == helpers_.size())
        return;
      std::thread helper = std::move(helpers_[i]);
      lock.unlock();
      helper.join();
    }
  }

private:
  /// Runs what is ready until nothing is. The lock is held between operations.
  void work(std::unique_lock<std::mutex> &lock) {
    while (!ready_.empty()) {
      const uint32_t number = ready_.front();
      ready_.pop_front();
      share();
      lock.unlock();
      execute(plan_.steps[number].operation, device_, {launch_, order_, number});
      lock.lock();
      if (device_.fault() != hipSuccess)
        ready_.clear();
      else
        for (uint32_t dependent : plan_.steps[number].dependents)
          if (--missing_[dependent] == 0)
            ready_.push_back(dependent);
    }
  }

  /// Starts a thread for each ready operation that has none. A thread that the system refuses
  /// leaves its operation to those that run.
  void share() {
    try {
      while (ready_.size() > coming_ && busy_ < kMostThreads) {
        helpers_.emplace_back([this] {
          std::unique_lock lock(mutex_);
          --coming_;
          work(lock);
          --busy_;
        });
        ++coming_;
        ++busy_;
      }
    } catch (const std::system_error &) {
    }
  }

  const GraphPlan &plan_;
  Device &device_;
  const SubmissionRef launch_;
  const std::shared_ptr<const StepOrder> order_;
  std::mutex mutex_; ///< guards what follows
  std::vector<uint32_t> missing_;
  std::deque<uint32_t> ready_;
  std::deque<std::thread> helpers_;
  unsigned busy_ = 1;   ///< threads, started ones included
  unsigned coming_ = 0; ///< started threads that have looked for nothing yet
};

} // namespace

uint32_t GraphPlan::add(Operation operation, const std::vector<uint32_t> &dependencies) {
  const auto number = static_cast<uint32_t>(steps.size());
  for (uint32_t dependency : dependencies)
    steps[dependency].dependents.push_back(number);
  steps.push_back({std::move(operation), static_cast<uint32_t>(dependencies.size()), {}});
  return number;
}

std::shared_ptr<const StepOrder> GraphPlan::order() const {
  auto result = std::make_shared<StepOrder>(steps.size());
  for (uint32_t i = 0; i < steps.size(); ++i) // a step is added after those that it waits for
    for (uint32_t dependent : steps[i].dependents)
      result->dependsOn(dependent, i);
  return result;
}

void runGraph(const GraphPlan &plan, Device &device, const SubmissionRef &launch) {
  GraphRun(plan, device, launch).run();
}

} // namespace flyemu::hip
