// A call of a family with one operand changed: other strides, extents, type or pointer. The rule is
// that such a call is refused before its launch, with a message that names an operand, or that it
// computes what the same numbers give in contiguous tensors, and touches nothing else.
#pragma once

#include "support/structure.h"

#include <functional>
#include <map>
#include <optional>

namespace kernel_tests {

/// An operand as it is given to a call.
struct GivenOperand {
  std::string name;
  fx::DType dtype;
  std::vector<std::int64_t> shape, strides; ///< in elements
  bool isNull = false;
  std::int64_t shift = 0; ///< elements of the start behind what is aligned

  std::int64_t size() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t(1), std::multiplies<>());
  }
  /// The strides of the same shape without gaps.
  static std::vector<std::int64_t> contiguous(std::span<const std::int64_t> shape) {
    std::vector<std::int64_t> strides(shape.size());
    std::int64_t stride = 1;
    for (std::size_t i = shape.size(); i-- > 0; stride *= std::max<std::int64_t>(1, shape[i]))
      strides[i] = stride;
    return strides;
  }
  /// Elements from the lowest to the one at (0, 0, ...), and from there to the highest.
  std::pair<__int128, __int128> reach() const {
    __int128 before = 0, after = 0;
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (shape[i] > 1)
        (strides[i] < 0 ? before : after) += __int128(shape[i] - 1) * strides[i];
    return {-before, after};
  }
  /// The place of each element, in the order of the indices, from the lowest one on.
  std::vector<std::int64_t> places() const {
    const auto start = static_cast<std::int64_t>(reach().first);
    std::vector<std::int64_t> all(1, start);
    for (std::size_t mode = 0; mode < shape.size(); ++mode) {
      std::vector<std::int64_t> next;
      for (const std::int64_t place : all)
        for (std::int64_t i = 0; i < shape[mode]; ++i)
          next.push_back(place + (shape[mode] > 1 ? i * strides[mode] : 0));
      all = std::move(next);
    }
    return all;
  }
  std::string str() const {
    const auto list = [](const std::vector<std::int64_t> &numbers) {
      std::string text;
      for (std::int64_t number : numbers)
        text += (text.empty() ? "" : ", ") + std::to_string(number);
      return "(" + text + ")";
    };
    return name + ": " + std::string(dtype.name()) + " " + list(shape) + " strides " +
           list(strides) + (isNull ? ", null" : "") + (shift ? ", shifted" : "");
  }
};

/// What became of a call.
struct Outcome {
  std::string refusal; ///< empty: it ran
  std::map<std::string, std::vector<std::uint8_t>> outputs =
      {};                     ///< elements in the order of indices
  bool touchedOthers = false; ///< something was written outside of an output
};

/// Calls of a plan with small operands, each in memory of its own that ends with its last element.
template <class P> class ChangedCalls {
public:
  ChangedCalls(const P &problem, const fk::ConfigOf<P> &config, std::int64_t m)
      : problem_(problem), config_(config), m_(m), plan_(problem, config) {
    fk::make_args(
        problem, config, m,
        [&](const char *name, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role role) {
          operands_.push_back(
              {name, dtype, {shape.begin(), shape.end()}, GivenOperand::contiguous(shape)});
          roles_.push_back(role);
          static std::uint64_t dummy[2];
          return fx::tensor(static_cast<void *>(dummy), dtype, shape);
        });
    base_ = run(std::nullopt);
  }
  const std::vector<GivenOperand> &operands() const { return operands_; }
  fk::Role role(std::size_t i) const { return roles_[i]; }
  fk::Role roleOf(const std::string &name) const { return roles_[indexOf(name)]; }
  const Outcome &base() const { return base_; }

  /// What an operand holds that lies as `given` says, in the order of its indices: where elements
  /// share a place, the last one.
  std::vector<std::uint8_t> held(const GivenOperand &given) const {
    const std::size_t at = indexOf(given.name), bytes = std::size_t(given.dtype.memory_bits()) / 8;
    const std::vector<std::uint8_t> own = reshaped(values(at), operands_[at], given);
    const std::vector<std::int64_t> places = given.places();
    std::map<std::int64_t, std::size_t> last;
    for (std::size_t i = 0; i < places.size(); ++i)
      last[places[i]] = i;
    std::vector<std::uint8_t> all;
    for (const std::int64_t place : places)
      for (std::size_t byte = 0; byte < bytes; ++byte)
        all.push_back(own[last[place] * bytes + byte]);
    return all;
  }

  /// Whether the call is refused, told without running it: of operands that are larger than memory.
  std::string refusal(const GivenOperand &changed) const {
    std::string text;
    withoutRunning([&] { text = run(changed, nullptr, true).refusal; });
    return text;
  }
  /// What a call says whose operand `name` begins so many bytes after another one, told without running
  /// it. All others are contiguous, each in memory of its own.
  std::string refusalIn(const std::string &name, const std::string &other,
                        std::int64_t after) const {
    const auto addressOf = [](std::size_t at) { return (std::int64_t(at) + 1) << 33; };
    const auto addressFor = [&](std::size_t at) {
      return operands_[at].name == name ? addressOf(indexOf(other)) + after : addressOf(at);
    };
    return withoutRunning([&] {
      std::size_t at = 0;
      plan_(fk::make_args(problem_, config_, m_,
                          [&](const char *, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role) {
                            return fx::tensor(reinterpret_cast<void *>(addressFor(at++)), dtype,
                                              shape);
                          }),
            stream_);
    });
  }
  /// What a plan that checks its indices says of the call, or the host before it.
  std::string told(const GivenOperand &changed) const {
    if (!checked_)
      checked_.emplace(problem_, config_, fk::PlanOptions{.check_indices = true});
    std::vector<Memory> memory;
    const auto args = fk::make_args(
        problem_, config_, m_, [&](const char *name, fx::DType, fx::TensorArg::Dims, fk::Role) {
          const std::size_t at = memory.size();
          memory.push_back(
              place(changed.name == name ? changed : operands_[at], at, nullptr, false));
          return memory.back().tensor;
        });
    const std::string text = messageOf([&] {
      (*checked_)(args, stream_);
      checked_->check(stream_);
    });
    return text == "no error" ? "" : text;
  }
  /// Runs the call with an operand changed, which holds `contents` or what it always holds; new
  /// elements are 0.
  Outcome run(const std::optional<GivenOperand> &changed,
              const std::vector<std::uint8_t> *contents = nullptr, bool captured = false) const {
    std::vector<Memory> memory;
    Outcome outcome;
    std::size_t at = 0;
    try {
      const auto args = fk::make_args(
          problem_, config_, m_, [&](const char *name, fx::DType, fx::TensorArg::Dims, fk::Role) {
            const GivenOperand &own = operands_[at];
            const bool isChanged = changed && changed->name == name;
            memory.push_back(place(isChanged ? *changed : own, at, isChanged ? contents : nullptr,
                                   captured && isChanged));
            ++at;
            return memory.back().tensor;
          });
      plan_(args, stream_);
      if (!captured)
        stream_.synchronize();
    } catch (const fx::TraceError &error) {
      outcome.refusal = error.what();
    }
    if (captured)
      return outcome;
    for (std::size_t i = 0; i < memory.size(); ++i)
      read(memory[i], i, outcome);
    return outcome;
  }

private:
  static constexpr std::int64_t kCanaries = 256; ///< bytes around an output
  /// Makes a call that is captured and then dropped. Gives what it was refused with.
  template <class F> std::string withoutRunning(const F &call) const {
    REQUIRE(HIP(hipStreamBeginCapture)(stream_.native(), hipStreamCaptureModeThreadLocal) ==
            hipSuccess);
    std::string text;
    try {
      call();
    } catch (const fx::TraceError &error) {
      text = error.what();
    }
    hipGraph_t graph = nullptr;
    (void)HIP(hipStreamEndCapture)(stream_.native(), &graph);
    if (graph)
      (void)HIP(hipGraphDestroy)(graph);
    return text;
  }
  struct Memory {
    GivenOperand given;
    std::shared_ptr<fx::DeviceArray<std::uint8_t>> bytes;
    std::vector<std::uint8_t> before; ///< what the bytes were
    std::int64_t start = 0;           ///< of the lowest element
    fx::TensorArg tensor;
  };

  std::size_t indexOf(const std::string &name) const {
    for (std::size_t i = 0; i < operands_.size(); ++i)
      if (operands_[i].name == name)
        return i;
    throw fx::Error("there is no operand " + name);
  }
  static bool written(fk::Role role) { return role == fk::Role::output || role == fk::Role::both; }
  /// What an operand holds, in the order of its indices.
  std::vector<std::uint8_t> values(std::size_t at) const {
    const GivenOperand &own = operands_[at];
    if (!roles_[at].read())
      return std::vector<std::uint8_t>(
          static_cast<std::size_t>(own.size() * own.dtype.memory_bits() / 8), 0xff);
    return sampleBytes(roles_[at], own.dtype, own.size(), at + 1);
  }
  /// The numbers of an operand in another shape: those that both have, and zeros.
  static std::vector<std::uint8_t> reshaped(const std::vector<std::uint8_t> &from,
                                            const GivenOperand &own, const GivenOperand &given) {
    const auto bytes = static_cast<std::size_t>(given.dtype.memory_bits() / 8);
    std::vector<std::uint8_t> to(static_cast<std::size_t>(given.size()) * bytes);
    if (given.shape == own.shape && given.dtype == own.dtype)
      return from;
    if (given.dtype != own.dtype || given.shape.size() != own.shape.size())
      return to;
    for (std::int64_t i = 0; i < given.size(); ++i) {
      std::int64_t rest = i, place = 0;
      bool both = true;
      for (std::size_t mode = given.shape.size(); mode-- > 0;) {
        const std::int64_t index = rest % given.shape[mode];
        rest /= given.shape[mode];
        both &= index < own.shape[mode];
        place += index * own.strides[mode];
      }
      if (both)
        std::copy_n(from.begin() + place * static_cast<std::int64_t>(bytes), bytes,
                    to.begin() + i * static_cast<std::int64_t>(bytes));
    }
    return to;
  }
  Memory place(const GivenOperand &given, std::size_t at, const std::vector<std::uint8_t> *contents,
               bool isHollow) const {
    const std::int64_t bytes = given.dtype.memory_bits() / 8;
    if (given.isNull)
      return {given,
              nullptr,
              {},
              0,
              fx::tensor(static_cast<void *>(nullptr), given.dtype, given.shape, given.strides)};
    const auto [low, high] = given.reach();
    if (isHollow) { // it is not going to run
      static std::uint64_t hollow[64] __attribute__((aligned(256)));
      return {given,
              nullptr,
              {},
              0,
              fx::tensor(static_cast<void *>(hollow), given.dtype, given.shape, given.strides)};
    }
    const bool isWritten =
        !roles_[at].read() || written(roles_[at]) || roles_[at] == fk::Role::flagged;
    const std::int64_t around = isWritten ? kCanaries : 0,
                       elements = given.size() ? static_cast<std::int64_t>(low + high) + 1 : 0,
                       start = around + given.shift * bytes;
    std::vector<std::uint8_t> all(static_cast<std::size_t>(start + elements * bytes + around),
                                  0xff);
    const std::vector<std::uint8_t> own =
        contents ? *contents : reshaped(values(at), operands_[at], given);
    const std::vector<std::int64_t> places =
        given.size() ? given.places() : std::vector<std::int64_t>();
    for (std::size_t i = 0; i < places.size(); ++i)
      std::copy_n(own.begin() + static_cast<std::int64_t>(i) * bytes, bytes,
                  all.begin() + start + places[i] * bytes);
    auto memory = std::make_shared<fx::DeviceArray<std::uint8_t>>(
        fx::Extents{static_cast<std::int64_t>(all.size())});
    memory->copy_from(all);
    if (!roles_[at].read()) // nothing was written there, as far as the emulator knows
      memory->poison();
    auto *data = memory->data() + start + static_cast<std::int64_t>(low) * bytes;
    return {given, memory, roles_[at].read() ? all : memory->to_host(), start,
            fx::tensor(static_cast<void *>(data), given.dtype, given.shape, given.strides)};
  }
  void read(const Memory &memory, std::size_t at, Outcome &outcome) const {
    if (!memory.bytes)
      return;
    const GivenOperand &given = memory.given;
    const std::int64_t bytes = given.dtype.memory_bits() / 8;
    const std::vector<std::uint8_t> now = memory.bytes->to_host();
    const bool mayWrite = outcome.refusal.empty() && (written(roles_[at]) || !roles_[at].read() ||
                                                      roles_[at] == fk::Role::flagged);
    // What was there before, and its own elements where it may write them.
    std::vector<std::uint8_t> expected = memory.before, elements;
    if (given.size())
      for (const std::int64_t place : given.places()) {
        const auto first = now.begin() + memory.start + place * bytes;
        elements.insert(elements.end(), first, first + bytes);
        if (mayWrite)
          std::copy_n(first, bytes, expected.begin() + memory.start + place * bytes);
      }
    if (expected != now)
      outcome.touchedOthers = true;
    if (written(roles_[at]))
      outcome.outputs[operands_[at].name] = elements;
  }

  P problem_;
  fk::ConfigOf<P> config_;
  std::int64_t m_;
  fk::Plan<P> plan_;
  fx::Stream stream_; ///< of all calls: a stream of each would be a thread of each
  mutable std::optional<fk::Plan<P>> checked_;
  std::vector<GivenOperand> operands_;
  std::vector<fk::Role> roles_;
  Outcome base_;
};

} // namespace kernel_tests
