#include "emulator/hip/stream/stream.h"

#include "emulator/hip/device/device.h"
#include "emulator/hip/order/stream_order.h"
#include "emulator/hip/presence.h"

#include <new>

namespace flyemu::hip {

Stream::Stream(Device &device, unsigned flags, int priority, unsigned number)
    : device_(device), flags_(flags), priority_(priority), number_(number) {}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  condition_.notify_all();
  if (!thread_.joinable())
    return;
  // The last owner may be an operation that this stream's own thread releases.
  if (thread_.get_id() == std::this_thread::get_id()) {
    thread_.detach();
    return;
  }
  Outside waiting;
  thread_.join();
}

CompletionRef Stream::enqueue(Operation operation, std::vector<CompletionRef> after,
                              SubmissionRef order) {
  auto completion = std::make_shared<Completion>();
  completion->order = std::move(order);
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({std::move(operation), std::move(after), completion});
    last_ = completion;
    if (!thread_.joinable())
      startThread();
  }
  condition_.notify_one();
  return completion;
}

void Stream::startThread() {
  thread_ = std::thread([this] { serve(); });
}

void Stream::restart() {
  // The thread may have held the lock for a look at the queue, which it changes only inside.
  new (&mutex_) std::mutex;
  new (&condition_) std::condition_variable;
  new (&thread_) std::thread;
  if (!queue_.empty())
    startThread();
}

CompletionRef Stream::last() const {
  std::lock_guard lock(mutex_);
  return last_;
}

void Stream::drain() {
  if (CompletionRef completion = last())
    completion->wait();
}

bool Stream::idle() const {
  CompletionRef completion = last();
  return !completion || completion->done();
}

void Stream::serve() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      condition_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty())
        return;
    }
    Inside inside;
    Item *first;
    {
      std::lock_guard lock(mutex_);
      first = &queue_.front(); // stays where it is while others are put behind it
    }
    for (const CompletionRef &completion : first->after)
      completion->wait();
    const SubmissionRef order = first->completion->order;
    if (order)
      Runtime::get().order()->began(order);
    execute(first->operation, device_, {order, nullptr, 0});
    if (order)
      Runtime::get().order()->ended(order);
    Item item;
    {
      std::lock_guard lock(mutex_);
      item = std::move(*first);
      queue_.pop_front();
    }
    // The operation's references are released before those who wait for it go on.
    item.operation = EmptyOperation();
    item.completion->finish();
  }
}

} // namespace flyemu::hip
