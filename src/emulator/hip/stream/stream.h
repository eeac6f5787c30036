// A stream: a queue of operations served by a thread of its own, started with the first operation.
#pragma once

#include "emulator/hip/stream/operation.h"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace flyemu::hip {

class Device;
struct CaptureState;

class Stream {
public:
  Stream(Device &device, unsigned flags, int priority, unsigned number = 0);
  /// Runs what is queued, then ends.
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  /// Queues an operation behind all earlier ones and \p after.
  CompletionRef enqueue(Operation operation, std::vector<CompletionRef> after = {},
                        SubmissionRef order = nullptr);
  /// The completion of the last operation; null before the first.
  CompletionRef last() const;
  /// Waits for all that is queued now.
  void drain();
  bool idle() const;

  Device &device() const { return device_; }
  unsigned flags() const { return flags_; }
  int priority() const { return priority_; }
  /// Counts the streams that a device has made, from 1; 0 is the default stream's.
  unsigned number() const { return number_; }
  bool isBlocking() const { return !(flags_ & hipStreamNonBlocking); }

  /// In a forked child: its thread is not there. Starts another where something is queued.
  void restart();

  /// Set while the stream records into a graph instead of running; the state belongs to capture.h.
  std::atomic<bool> capturing{false};
  std::shared_ptr<CaptureState> captureState;

  StreamPoint point; ///< guarded by StreamOrder

private:
  struct Item {
    Operation operation;
    std::vector<CompletionRef> after;
    CompletionRef completion;
  };
  void serve();
  void startThread();

  Device &device_;
  unsigned flags_;
  int priority_;
  unsigned number_;
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<Item> queue_; ///< the first is under way; it goes when it has ended
  CompletionRef last_;
  bool closing_ = false;
  std::thread thread_;
};

using StreamRef = std::shared_ptr<Stream>;

} // namespace flyemu::hip
