#include "emulator/hip/stream.h"

#include "emulator/hip/device.h"

namespace flyemu::hip {

Stream::Stream(Device &device, unsigned flags, int priority)
    : device_(device), flags_(flags), priority_(priority) {}

Stream::~Stream() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  condition_.notify_all();
  if (!thread_.joinable())
    return;
  // The last owner may be an operation that this very stream's thread lets go of.
  if (thread_.get_id() == std::this_thread::get_id())
    thread_.detach();
  else
    thread_.join();
}

CompletionRef Stream::enqueue(Operation operation, std::vector<CompletionRef> after) {
  auto completion = std::make_shared<Completion>();
  {
    std::lock_guard lock(mutex_);
    queue_.push_back({std::move(operation), std::move(after), completion});
    last_ = completion;
    if (!thread_.joinable())
      thread_ = std::thread([this] { serve(); });
  }
  condition_.notify_one();
  return completion;
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
    Item item;
    {
      std::unique_lock lock(mutex_);
      condition_.wait(lock, [&] { return closing_ || !queue_.empty(); });
      if (queue_.empty())
        return;
      item = std::move(queue_.front());
      queue_.pop_front();
    }
    for (const CompletionRef &completion : item.after)
      completion->wait();
    execute(item.operation, device_);
    // The operation's references go before anyone who waits may look for them.
    item.operation = EmptyOperation();
    item.completion->finish();
  }
}

} // namespace flyemu::hip
