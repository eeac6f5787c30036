// A thread for each rank of a group of devices.
#pragma once

#include <flydsl/host/device.h>

#include <barrier>
#include <cstddef>
#include <exception>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

namespace samples {

namespace fx = flydsl;

/// Threads that wait for work. The current device of each is that of its rank.
class RankThreads {
public:
  explicit RankThreads(const std::vector<fx::Device> &devices)
      : failures_(devices.size()), begin_(std::ptrdiff_t(devices.size()) + 1),
        end_(std::ptrdiff_t(devices.size()) + 1) {
    for (std::size_t rank = 0; rank < devices.size(); ++rank)
      threads_.emplace_back([this, rank, device = devices[rank]] { serve(rank, device); });
  }
  ~RankThreads() {
    work_ = nullptr;
    begin_.arrive_and_wait();
  }
  RankThreads(const RankThreads &) = delete;
  RankThreads &operator=(const RankThreads &) = delete;

  /// Runs work(rank) on the threads of all ranks at a time, and waits for them. Throws what the first
  /// rank that failed threw.
  void each(std::function<void(std::size_t rank)> work) {
    work_ = std::move(work);
    begin_.arrive_and_wait();
    end_.arrive_and_wait();
    for (std::exception_ptr &failure : failures_)
      if (std::exception_ptr first = std::exchange(failure, nullptr))
        std::rethrow_exception(first);
  }

private:
  void serve(std::size_t rank, const fx::Device &device) {
    for (;;) {
      begin_.arrive_and_wait();
      if (!work_)
        return;
      try {
        device.make_current();
        work_(rank);
      } catch (...) {
        failures_[rank] = std::current_exception();
      }
      end_.arrive_and_wait();
    }
  }

  std::function<void(std::size_t)> work_; ///< none: the threads end
  std::vector<std::exception_ptr> failures_;
  std::barrier<> begin_, end_;
  std::vector<std::jthread> threads_; ///< end before what they use
};

} // namespace samples
