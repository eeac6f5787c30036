// Hostcalls: what a kernel asks the host for while it runs, through a buffer in memory. Printf,
// a failing assert and malloc of HIP's device libraries are made of them.
#pragma once

#include "emulator/core/memory_map.h"
#include "emulator/hip/device/device_heap.h"

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

namespace flyemu::hip {

/// Pieces that waves send one by one, each lane its own, until a message is whole.
class HostcallMessages {
public:
  /// Takes one lane's eight words. Returns true if they end a message, which is then in \p whole.
  /// The first word is replaced by the one that the lane sends next. Throws WaveFault if the words
  /// are no piece of a message.
  bool take(uint64_t *words, std::vector<uint64_t> &whole);

private:
  struct Message {
    bool live = false;
    std::vector<uint64_t> words;
  };
  std::vector<Message> messages_; ///< by number
  std::vector<uint64_t> free_;    ///< numbers that are not in use
};

/// One launch's buffer of hostcalls. As in ROCm each wave takes a packet off a stack, fills a slot
/// for each of its lanes, puts the packet on another stack and waits until its flag is down.
class HostcallBuffer {
public:
  /// \p waves: the most that may ask at a time. A wave does not look whether a packet is left.
  HostcallBuffer(uint64_t waves, DeviceHeap &heap);
  ~HostcallBuffer();
  HostcallBuffer(const HostcallBuffer &) = delete;

  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  MemoryRange range() const { return {address(), bytes_, true}; }

  /// Answers the packets that are ready, from any thread; false when there are none. Throws
  /// WaveFault for what cannot be answered.
  bool serve();

private:
  struct Header;
  struct Shared;

  Header &header(uint64_t index) const;
  uint64_t *slot(uint64_t index, unsigned lane) const;
  void answer(uint32_t service, uint64_t *words);
  void print(uint64_t *words);
  void allocate(uint64_t *words);
  void flush();

  DeviceHeap &heap_;
  uint64_t packets_;
  uint64_t bytes_ = 0;
  uint8_t *memory_ = nullptr;
  std::mutex mutex_; ///< of what follows
  HostcallMessages messages_;
  std::string out_; ///< for stdout, of the packets at hand
};

} // namespace flyemu::hip
