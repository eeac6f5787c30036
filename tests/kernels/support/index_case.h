// A case of a checked plan: right numbers, wrong ones, and what must be told of each.
#pragma once

#include "frame/index_rows.h"
#include "support/structure.h"

#include <map>

namespace kernel_tests {

inline constexpr double kHuge = 0x7fffffff, kLeast = -0x80000000ll;
inline const fk::PlanOptions kChecked{.check_indices = true}, kUnchecked{.check_indices = false};

/// The operands of a call by their names. Those that a kernel writes lie between canaries; the
/// memory of others ends with their last element.
class Named {
public:
  fk::Sampler sampler() {
    return [this](const char *name, fx::DType dtype, fx::TensorArg::Dims shape, fk::Role role) {
      return make(name, dtype, shape, role);
    };
  }
  fx::TensorArg make(const std::string &name, fx::DType dtype, const fx::Extents &extents,
                     fk::Role role) {
    const fx::TensorArg::Dims shape = extents;
    std::int64_t count = 1;
    for (std::int64_t extent : shape)
      count *= extent;
    const bool isWritten = role == fk::Role::output || role == fk::Role::workspace;
    const std::vector<double> values =
        dtype.is_float() ? uniform(dtype, count, made_.size() + 1)
        : role.kind == fk::Role::Kind::equal
            ? std::vector<double>(std::size_t(count), double(role.number))
            : integers(count, made_.size() + 1, 0, 3);
    const Operand operand = isWritten                ? Operand::output(dtype, 1, count)
                            : role == fk::Role::both ? Operand::both(dtype, 1, count, values)
                                                     : Operand::input(dtype, 1, count, values);
    made_.insert_or_assign(name, Made{operand, role, values});
    return fx::TensorArg(operand.tensor().data(), dtype, shape);
  }
  void set(const std::string &name, const std::vector<double> &values) {
    INFO(name);
    REQUIRE(made_.count(name) == 1);
    made_.at(name).operand.set(values);
  }
  /// Outputs that hold nothing, and those that are read as well as they were at first.
  void reset() {
    for (auto &[name, made] : made_)
      if (made.role == fk::Role::both)
        made.operand.set(made.values);
      else if (!made.role.read())
        made.operand.clear();
  }
  /// The bytes of what a kernel writes for its caller, around which nothing was written.
  std::vector<std::uint8_t> results() const {
    std::vector<std::uint8_t> all;
    for (const auto &[name, made] : made_)
      if (made.role == fk::Role::output || made.role == fk::Role::both) {
        made.operand.expectUntouched();
        const std::vector<std::uint8_t> bytes = made.operand.bytes();
        all.insert(all.end(), bytes.begin(), bytes.end());
      }
    return all;
  }

private:
  struct Made {
    Operand operand;
    fk::Role role;
    std::vector<double> values;
  };
  std::map<std::string, Made> made_;
};

/// A number that is put into an argument, and what is told of it.
struct Wrong {
  std::string argument;
  std::size_t at;
  double value;
  std::string says = {}; ///< a part of the message
  std::optional<std::vector<std::int64_t>> told =
      {}; ///< the place, if it is not that of the number
  std::optional<std::int64_t> toldValue = {};
  std::string toldOf = {}; ///< the argument, if it is not that of the number
};

/// The numbers of a vector whose elements are from `low` to below `end`.
inline std::vector<Wrong> outside(const std::string &argument, std::size_t last, double low,
                                  double end) {
  std::vector<Wrong> all;
  for (std::size_t at : {std::size_t(0), last})
    for (double value : {low - 1, kLeast, end, kHuge})
      all.push_back({argument, at, value});
  return all;
}

/// A call of a family with right numbers, and wrong ones to try in their place.
template <class P> struct Case {
  P problem;
  fk::ConfigOf<P> config;
  std::map<std::string, std::vector<double>> right;
  std::map<std::string, std::int64_t> columns = {}; ///< of arguments that are matrices
  std::vector<Wrong> wrong;
};

/// What a call gave: an error, if any, and the bytes of its results.
template <class P> class Trial {
public:
  Trial(const Case<P> &given, Named &operands, const fk::ArgsOf<P> &args)
      : case_(given), operands_(operands), args_(args),
        checked_(given.problem, given.config, kChecked) {}

  void run() {
    right();
    const std::vector<std::uint8_t> expected =
        resultsOf(fk::Plan<P>(case_.problem, case_.config, kUnchecked));
    operands_.reset();
    const std::vector<std::uint8_t> blank = operands_.results();
    REQUIRE(expected != blank);
    CHECK(checked_.checks_indices());
    CHECK(resultsOf(checked_) == expected);
    for (const Wrong &wrong : case_.wrong) {
      put(wrong);
      expectTold(
          wrong, [&] { checked_(args_, stream_); }, checked_);
      CHECK(operands_.results() == blank);
    }
    right();
    CHECK(resultsOf(checked_) == expected);

    const Replay replay(stream_, [&] { checked_(args_, stream_); });
    const ScratchFile file;
    fk::export_aot(case_.problem, case_.config, file.path(), {}, kUnchecked);
    fk::export_aot(case_.problem, case_.config, file.path(), {.append = true}, kChecked);
    const fx::AotModule module = fx::load_aot(file.path());
    const auto loaded = fk::Plan<P>::load(module, case_.problem, case_.config, kChecked);
    CHECK(resultsOf(fk::Plan<P>::load(module, case_.problem, case_.config, kUnchecked)) ==
          expected);
    // A wrong number, a right one and again a wrong one of each argument, replayed and loaded.
    std::map<std::string, int> tried;
    for (const Wrong &wrong : case_.wrong) {
      if (++tried[wrong.argument] > 2)
        continue;
      put(wrong);
      expectTold(wrong, replay, checked_);
      CHECK(operands_.results() == blank);
      expectTold(
          wrong, [&] { loaded(args_, stream_); }, loaded);
      CHECK(operands_.results() == blank);
      right();
      operands_.reset();
      replay();
      checked_.check(stream_);
      CHECK(operands_.results() == expected);
      CHECK(resultsOf(loaded) == expected);
    }
  }

private:
  void right() {
    for (const auto &[name, values] : case_.right)
      operands_.set(name, values);
  }
  void put(const Wrong &wrong) {
    right();
    std::vector<double> values = case_.right.at(wrong.argument);
    values.at(wrong.at) = wrong.value;
    operands_.set(wrong.argument, values);
    operands_.reset();
  }
  std::vector<std::uint8_t> resultsOf(const fk::Plan<P> &plan) {
    operands_.reset();
    plan(args_, stream_);
    plan.check(stream_);
    return operands_.results();
  }
  template <class Launch>
  void expectTold(const Wrong &wrong, const Launch &launch, const fk::Plan<P> &plan) {
    INFO(fx::to_config(case_.problem).str());
    INFO(wrong.argument << "[" << wrong.at << "] = " << wrong.value);
    const std::string argument = wrong.toldOf.empty() ? wrong.argument : wrong.toldOf;
    std::vector<std::int64_t> index{std::int64_t(wrong.at)};
    if (const auto found = case_.columns.find(wrong.argument); found != case_.columns.end())
      index = {index[0] / found->second, index[0] % found->second};
    bool thrown = false;
    try {
      launch();
      plan.check(stream_);
    } catch (const fx::kernels::IndexError &error) {
      thrown = true;
      INFO(error.what());
      CHECK(error.place().argument == argument);
      CHECK(error.place().index == wrong.told.value_or(index));
      CHECK(error.place().value == wrong.toldValue.value_or(std::int64_t(wrong.value)));
      CHECK(std::string(error.what()).find(wrong.says) != std::string::npos);
      CHECK(std::string(error.what()).find("the call wrote nothing") != std::string::npos);
    }
    CHECK(thrown);
    plan.check(stream_); // it is told once
  }

  const Case<P> &case_;
  Named &operands_;
  const fk::ArgsOf<P> &args_;
  fx::Stream stream_;
  fk::Plan<P> checked_;
};

template <class P> void expectCase(const Case<P> &given, std::int64_t m) {
  Named operands;
  const fk::ArgsOf<P> args = fk::make_args(given.problem, given.config, m, operands.sampler());
  Trial<P>(given, operands, args).run();
}

inline std::vector<Wrong> joined(std::initializer_list<std::vector<Wrong>> lists) {
  std::vector<Wrong> all;
  for (const auto &list : lists)
    all.insert(all.end(), list.begin(), list.end());
  return all;
}

template <class P> fk::ConfigOf<P> chosen(const P &problem, std::int64_t m) {
  return fk::choose(problem, m);
}

} // namespace kernel_tests
