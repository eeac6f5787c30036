// The order of operations that a program has asked for, as vector clocks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace flyemu::hip {

/// Of each stream, by its number, up to which of its operations something has come.
using Clock = std::vector<uint32_t>;

inline void join(Clock &to, const Clock &from) {
  if (to.size() < from.size())
    to.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    to[i] = std::max(to[i], from[i]);
}

/// An operation as a stream has taken it.
struct Submission {
  uint32_t stream = 0; ///< the stream's number
  uint32_t index = 0;  ///< counts the stream's operations, from 1
  uint64_t serial = 0; ///< counts all operations
  int device = 0;
  std::string name;       ///< of the stream, for messages
  Clock before;           ///< what comes before it
  Clock host;             ///< what the host had waited for when it submitted it
  bool isDefault = false; ///< its stream is a device's default stream

  bool isIn(const Clock &clock) const { return stream < clock.size() && clock[stream] >= index; }
  bool comesBefore(const Submission &other) const {
    return stream == other.stream ? index < other.index : isIn(other.before);
  }
  /// What comes before something that comes after it.
  Clock after() const {
    Clock result = before;
    result.resize(std::max<size_t>(result.size(), stream + 1));
    result[stream] = std::max(result[stream], index);
    return result;
  }
};
using SubmissionRef = std::shared_ptr<const Submission>;

/// A stream's part in the order. It belongs to StreamOrder.
struct StreamPoint {
  static constexpr uint32_t kNone = ~0u;
  uint32_t stream = kNone; ///< its number
  uint32_t index = 0;      ///< of its last operation
  Clock clock;             ///< what comes before its next operation
};

/// Which steps of a graph come before which.
class StepOrder {
public:
  explicit StepOrder(size_t steps) : words_((steps + 63) / 64), bits_(words_ * steps) {}

  /// Steps are given in an order in which each comes after those that it depends on.
  void dependsOn(uint32_t step, uint32_t earlier) {
    for (size_t w = 0; w < words_; ++w)
      bits_[step * words_ + w] |= bits_[earlier * words_ + w];
    bits_[step * words_ + earlier / 64] |= uint64_t(1) << earlier % 64;
  }
  bool comesBefore(uint32_t earlier, uint32_t step) const {
    return bits_[step * words_ + earlier / 64] >> earlier % 64 & 1;
  }

private:
  size_t words_;
  std::vector<uint64_t> bits_;
};

/// Where an operation stands: in a stream, or in a graph that a stream runs.
struct Position {
  SubmissionRef submission;
  std::shared_ptr<const StepOrder> steps; ///< null outside of graphs
  uint32_t step = 0;

  bool comesBefore(const Position &other) const {
    if (submission == other.submission)
      return steps && steps->comesBefore(step, other.step);
    return submission->comesBefore(*other.submission);
  }
  bool isSubmittedBefore(const Position &other) const {
    return submission == other.submission ? step < other.step
                                          : submission->serial < other.submission->serial;
  }
};

} // namespace flyemu::hip
