#include "emulator/hip/launch/hostcall.h"

#include "emulator/core/wave.h"
#include "emulator/hip/launch/printf_buffer.h"

#include <atomic>
#include <bit>
#include <cstdio>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace flyemu::hip {
namespace {

// The layouts and numbers are those of ROCm 4 to 7: clr's devhostcall.hpp and devhcmessages.hpp for
// the host, the device libraries' hostcall and printf for the kernel. Signals are hsa_signal_t of
// the HSA runtime (amd_hsa_signal.h).
enum class Service : uint32_t { FunctionCall = 1, Printf = 2, DeviceMemory = 3, Sanitizer = 4 };

constexpr unsigned kLanes = 64, kWordsOfSlot = 8;
constexpr uint64_t kPayloadBytes = kLanes * kWordsOfSlot * sizeof(uint64_t);
constexpr uint32_t kReady = 1; ///< of a packet's control word: the wave waits

// A message's descriptor, the first word of each piece.
constexpr uint64_t kBeginFlag = 1, kEndFlag = 2, kReservedFlags = 0x1c;
constexpr unsigned kLengthShift = 5, kNumberShift = 8;

constexpr uint64_t kToStderr = 1; ///< of the first word of printf's message

struct Signal {
  int64_t kind = 1; ///< of users
  int64_t value = 0;
  uint64_t mailbox = 0; ///< none: the emulator looks by itself, so no interrupt is sent
  uint32_t event = 0;
  uint32_t rest[9] = {};
};
static_assert(sizeof(Signal) == 64);

constexpr uint64_t kSignalAt = 64, kHeadersAt = 128;

uint64_t roundUp(uint64_t value, uint64_t unit) { return (value + unit - 1) / unit * unit; }

std::string hex(uint64_t value) {
  char text[24];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(value));
  return text;
}

} // namespace

struct HostcallBuffer::Header {
  uint64_t next;
  uint64_t lanes;
  uint32_t service;
  std::atomic<uint32_t> control;
};

struct HostcallBuffer::Shared {
  uint64_t headers;
  uint64_t payloads;
  uint64_t doorbell;
  uint64_t freeStack;
  std::atomic<uint64_t> readyStack;
  uint64_t indexMask;
};

bool HostcallMessages::take(uint64_t *words, std::vector<uint64_t> &whole) {
  const uint64_t descriptor = words[0];
  uint64_t number = descriptor >> kNumberShift;
  if (descriptor & kBeginFlag) {
    if (free_.empty()) {
      free_.push_back(messages_.size());
      messages_.emplace_back();
    }
    number = free_.back();
    free_.pop_back();
    messages_[number].live = true;
    words[0] = (descriptor & ((1u << kNumberShift) - 1) & ~kBeginFlag) | number << kNumberShift;
  }
  if (descriptor & kReservedFlags || number >= messages_.size() || !messages_[number].live)
    throw WaveFault{"hostcall: " + hex(descriptor) + " describes no message"};
  Message &message = messages_[number];
  const unsigned length = descriptor >> kLengthShift & 7;
  message.words.insert(message.words.end(), words + 1, words + 1 + length);
  if (!(descriptor & kEndFlag))
    return false;
  whole = std::move(message.words);
  message = {};
  free_.push_back(number);
  return true;
}

HostcallBuffer::HostcallBuffer(uint64_t waves, DeviceHeap &heap)
    : heap_(heap), packets_(std::bit_ceil(std::max<uint64_t>(waves, 2))) {
  const uint64_t payloadsAt = roundUp(kHeadersAt + packets_ * sizeof(Header), 4096);
  bytes_ = payloadsAt + packets_ * kPayloadBytes;
  // Pages of packets that no wave takes are never made resident.
  void *memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED)
    throw std::bad_alloc();
  memory_ = static_cast<uint8_t *>(memory);
  new (memory_ + kSignalAt) Signal;
  auto *shared = new (memory_) Shared;
  shared->headers = address() + kHeadersAt;
  shared->payloads = address() + payloadsAt;
  shared->doorbell = address() + kSignalAt;
  shared->indexMask = packets_ - 1;
  // An entry of a stack is an index with a tag above it; a null entry ends the stack, so that index
  // 0 needs a tag.
  for (uint64_t i = 0; i < packets_; ++i)
    header(i).next = i == 0 ? 0 : i == 1 ? packets_ : i - 1;
  shared->freeStack = packets_ - 1;
}

HostcallBuffer::~HostcallBuffer() { munmap(memory_, bytes_); }

HostcallBuffer::Header &HostcallBuffer::header(uint64_t index) const {
  return reinterpret_cast<Header *>(memory_ + kHeadersAt)[index];
}

uint64_t *HostcallBuffer::slot(uint64_t index, unsigned lane) const {
  return reinterpret_cast<uint64_t *>(memory_ + bytes_ - (packets_ - index) * kPayloadBytes) +
         lane * kWordsOfSlot;
}

bool HostcallBuffer::serve() {
  std::atomic<uint64_t> &ready = reinterpret_cast<Shared *>(memory_)->readyStack;
  if (!ready.load(std::memory_order_relaxed))
    return false;
  std::lock_guard lock(mutex_);
  // The kernel can write to all of this memory, so every index is checked against the number of
  // packets.
  std::vector<uint64_t> order;
  for (uint64_t entry = ready.exchange(0, std::memory_order_acquire);
       entry && order.size() < packets_; entry = header(order.back()).next)
    order.push_back(entry & (packets_ - 1));
  // The latest packet is on top of the stack, and the oldest one is answered first.
  for (auto index = order.rbegin(); index != order.rend(); ++index) {
    const uint32_t service = header(*index).service;
    for (uint64_t lanes = header(*index).lanes; lanes; lanes &= lanes - 1)
      answer(service, slot(*index, static_cast<unsigned>(std::countr_zero(lanes))));
    header(*index).control.fetch_and(~kReady, std::memory_order_release);
  }
  flush();
  return !order.empty();
}

void HostcallBuffer::answer(uint32_t service, uint64_t *words) {
  switch (static_cast<Service>(service)) {
  case Service::Printf:
    return print(words);
  case Service::DeviceMemory:
    return allocate(words);
  case Service::FunctionCall:
    throw WaveFault{"hostcall: the kernel calls a function of the host, which the emulator does "
                    "not do; let the host call it between launches"};
  case Service::Sanitizer:
    throw WaveFault{"hostcall: the kernel reports a finding of AddressSanitizer, whose runtime is "
                    "not here; compile without -fsanitize=address and use "
                    "FLYDSL_EMULATOR_CHECK=memory"};
  default:
    throw WaveFault{"hostcall: there is no service " + std::to_string(service)};
  }
}

void HostcallBuffer::print(uint64_t *words) {
  std::vector<uint64_t> message;
  if (!messages_.take(words, message))
    return;
  if (message.empty() || message[0] & ~kToStderr)
    throw WaveFault{"hostcall: printf's message does not say where to print"};
  const auto *begin = reinterpret_cast<const uint8_t *>(message.data() + 1);
  const std::string text =
      formatMessage(begin, reinterpret_cast<const uint8_t *>(message.data() + message.size()));
  words[0] = text.size();
  if (!(message[0] & kToStderr)) {
    out_ += text;
    return;
  }
  flush();
  std::fwrite(text.data(), 1, text.size(), stderr);
}

void HostcallBuffer::flush() {
  if (out_.empty())
    return;
  std::fwrite(out_.data(), 1, out_.size(), stdout);
  std::fflush(stdout);
  out_.clear();
}

/// Frees the first word's memory, or answers with the address of as many bytes as the second says.
void HostcallBuffer::allocate(uint64_t *words) {
  if (!words[0]) {
    words[0] = words[1] ? heap_.allocate(words[1]) : 0;
    return;
  }
  if (!heap_.release(words[0]))
    throw WaveFault{"free() of " + hex(words[0]) + ", which malloc() in a kernel did not give"};
}

} // namespace flyemu::hip
