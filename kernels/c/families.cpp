// The families of the library behind the C interface.
#include "c/plan.h"
#include "frame/all_families.h"
#include "text/fields.h"

#include <flydsl/kernels/compile.h>
#include <flydsl/kernels/operands.h>

#include <bitset>
#include <cstring>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::c {
namespace {

/// A family by its name.
struct Family {
  std::string_view name;
  void (*expectSupported)(std::span<const std::string> fields, const Target &target);
  std::unique_ptr<flydsl_plan> (*make)(std::span<const std::string> fields, const Asked &asked);
};

/// The number in an enumeration. C programs may give any; C++ reads none but the enumerators' own.
template <class Enumeration> int numberIn(const Enumeration &given) {
  int number = 0;
  static_assert(sizeof number == sizeof given);
  std::memcpy(&number, &given, sizeof number);
  return number;
}

DType typeOf(int type, const char *name) {
  switch (type) {
  case FLYDSL_F32:
    return f32;
  case FLYDSL_F16:
    return f16;
  case FLYDSL_BF16:
    return bf16;
  case FLYDSL_I8:
    return i8;
  case FLYDSL_U8:
    return u8;
  case FLYDSL_I32:
    return i32;
  case FLYDSL_I64:
    return i64;
  case FLYDSL_F8E4M3FN:
    return f8E4M3FN;
  case FLYDSL_F8E5M2:
    return f8E5M2;
  case FLYDSL_F8E4M3FNUZ:
    return f8E4M3FNUZ;
  case FLYDSL_F8E5M2FNUZ:
    return f8E5M2FNUZ;
  case FLYDSL_F8E8M0FNU:
    return f8E8M0FNU;
  case FLYDSL_F6E2M3FN:
    return f6E2M3FN;
  case FLYDSL_F6E3M2FN:
    return f6E3M2FN;
  case FLYDSL_F4E2M1FN:
    return f4E2M1FN;
  }
  throw Error(std::string(name) + ": there is no type with the number " + std::to_string(type));
}

/// The arguments of a call as fields of a family's Args.
class Fields {
public:
  Fields(std::string_view family, std::span<const flydsl_argument> arguments)
      : family_(family), arguments_(arguments) {
    if (arguments.size() > kMostArguments)
      fail("a call has " + std::to_string(arguments.size()) +
           " arguments; no family has more than " + std::to_string(kMostArguments));
    for (const flydsl_argument &argument : arguments)
      if (!argument.name)
        fail("an argument has no name");
  }

  /// Sets a field to the argument of its name. `problem` knows what prepared weights hold.
  template <class P, class Field> void take(const P &problem, std::string_view name, Field &field) {
    const flydsl_argument *argument = find(name);
    if constexpr (std::is_integral_v<Field>) {
      if (argument)
        field = integer(*argument);
    } else if constexpr (std::is_same_v<Field, const Group *>) {
      field = argument ? group(*argument) : nullptr;
    } else if constexpr (requires { field.has_value(); }) {
      field.reset();
      if (argument)
        field.emplace(operand<typename Field::value_type>(problem, *argument));
    } else {
      if (!argument)
        fail(std::string(name) + " is missing");
      field = operand<Field>(problem, *argument);
    }
  }
  /// Throws Error for an argument that no field has taken.
  void expectTaken() const {
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (!taken_[i])
        fail(std::string(arguments_[i].name) + " is no argument of the family");
  }

private:
  static constexpr std::size_t kMostArguments = 64;

  [[noreturn]] void fail(const std::string &text) const {
    throw Error(std::string(family_) + ": " + text);
  }
  const flydsl_argument *find(std::string_view name) {
    const flydsl_argument *found = nullptr;
    for (std::size_t i = 0; i < arguments_.size(); ++i)
      if (arguments_[i].name == name) {
        if (found)
          fail(std::string(name) + " is given twice");
        found = &arguments_[i];
        taken_[i] = true;
      }
    return found;
  }
  std::int64_t integer(const flydsl_argument &argument) const {
    if (numberIn(argument.kind) != FLYDSL_INTEGER)
      fail(std::string(argument.name) + " is a number; its kind is FLYDSL_INTEGER");
    return argument.integer;
  }
  const Group *group(const flydsl_argument &argument) const {
    if (numberIn(argument.kind) != FLYDSL_GROUP)
      fail(std::string(argument.name) + " is a group; its kind is FLYDSL_GROUP");
    if (!argument.data)
      fail(std::string(argument.name) + " is NULL");
    return &static_cast<const flydsl_group *>(argument.data)->group;
  }
  TensorArg tensor(const flydsl_argument &argument) const {
    if (numberIn(argument.kind) != FLYDSL_TENSOR)
      fail(std::string(argument.name) + " is a tensor; its kind is FLYDSL_TENSOR");
    return memory(argument);
  }
  TensorArg memory(const flydsl_argument &argument) const {
    if (argument.rank < 1 || argument.rank > TensorArg::maxRank)
      fail(std::string(argument.name) + " has " + std::to_string(argument.rank) +
           " modes; a tensor has 1 to " + std::to_string(TensorArg::maxRank));
    if (!argument.shape)
      fail(std::string(argument.name) + " has no shape");
    const auto rank = static_cast<std::size_t>(argument.rank);
    return TensorArg(
        argument.data, typeOf(numberIn(argument.dtype), argument.name), {argument.shape, rank},
        argument.strides ? TensorArg::Dims(argument.strides, rank) : TensorArg::Dims());
  }
  template <class Field, class P>
  Field operand(const P &problem, const flydsl_argument &argument) const {
    const bool isPrepared = numberIn(argument.kind) == FLYDSL_PREPARED;
    if constexpr (std::is_same_v<Field, TensorArg>) {
      return tensor(argument);
    } else if constexpr (std::is_same_v<Field, WeightArg>) {
      if (!isPrepared)
        return tensor(argument);
      return PreparedWeight{weightOf(problem, argument), memory(argument)};
    } else {
      if (!isPrepared)
        fail(std::string(argument.name) + " is prepared weights; its kind is FLYDSL_PREPARED");
      return Field{weightOf(problem, argument), memory(argument)};
    }
  }
  /// What the prepared weights of an argument hold.
  template <class P> static auto weightOf(const P &problem, const flydsl_argument &argument) {
    if constexpr (std::is_same_v<P, WeightProblem>)
      return problem;
    else if constexpr (std::is_same_v<P, MoeForwardProblem>)
      return std::string_view(argument.name) == "w2" ? problem.weight2() : problem.weight1();
    else if constexpr (std::is_same_v<P, MoeRanksProblem>)
      return std::string_view(argument.name) == "w2" ? problem.of_rank().weight2()
                                                     : problem.of_rank().weight1();
    else if constexpr (std::is_same_v<P, GemmProblem>)
      // The elements of a batch say how many matrices there are.
      return problem.batch && argument.rank == 1 && argument.shape
                 ? problem.weights(argument.shape[0] / prepared_size(problem.weight()))
                 : problem.weight();
    else
      return problem.weight();
  }

  std::string_view family_;
  std::span<const flydsl_argument> arguments_;
  std::bitset<kMostArguments> taken_;
};

template <Problem P> P problemOf(std::span<const std::string> fields) {
  return from_config<P>(text::changed(to_config(P{}), text::enumerationsOf<P>(), fields));
}
template <Problem P> void expectAnswer(const Support &answer, const Target &target) {
  if (!answer)
    throw Unsupported(std::string(FamilyOf<P>::name) + " on " + target.name() + ": " + answer.why);
}
template <Problem P>
void expectSupportedBy(std::span<const std::string> fields, const Target &target) {
  expectAnswer<P>(supported(problemOf<P>(fields), target), target);
}

template <Problem P> class PlanOf final : public flydsl_plan {
public:
  explicit PlanOf(Plan<P> plan)
      : plan_(std::move(plan)),
        shape_(make_args(plan_.problem(), plan_.config(), 1,
                         [](const char *, DType dtype, TensorArg::Dims shape, Role) {
                           return TensorArg(nullptr, dtype, emptied(shape));
                         })) {}

  void call(std::span<const flydsl_argument> arguments, StreamRef stream) const override {
    Fields fields(FamilyOf<P>::name, arguments);
    ArgsOf<P> args = shape_;
    detail::eachField(args, [&](std::string_view name, auto &field) {
      fields.take(plan_.problem(), name, field);
    });
    fields.expectTaken();
    plan_(args, stream);
  }
  void check(StreamRef stream) const override { plan_.check(stream); }
  std::size_t workspaceBytes(std::int64_t rows) const override {
    return plan_.workspace_bytes(rows);
  }
  std::string text() const override {
    return std::string(FamilyOf<P>::name) + " " +
           text::shown(to_config(plan_.problem()), text::enumerationsOf<P>()) + " | " +
           text::shown(to_config(plan_.config()), text::enumerationsOf<ConfigOf<P>>());
  }

private:
  /// A shape without elements, whose tensor may have no memory.
  static std::vector<std::int64_t> emptied(TensorArg::Dims shape) {
    std::vector<std::int64_t> none(shape.begin(), shape.end());
    none.front() = 0;
    return none;
  }

  Plan<P> plan_;
  ArgsOf<P> shape_; ///< each call replaces all of its fields
};

template <Problem P>
std::unique_ptr<flydsl_plan> makePlanOf(std::span<const std::string> fields, const Asked &asked) {
  const P problem = problemOf<P>(fields);
  expectAnswer<P>(supported(problem, asked.target), asked.target);
  const std::vector<std::string> changes = text::wordsOf(asked.config);
  const ConfigOf<P> chosen = choose(problem, asked.rows, asked.target);
  const auto config = from_config<ConfigOf<P>>(
      text::changed(to_config(chosen), text::enumerationsOf<ConfigOf<P>>(), changes));
  expectAnswer<P>(supported(problem, config, asked.target), asked.target);
  return std::make_unique<PlanOf<P>>(
      asked.file.empty() ? Plan<P>(problem, config, asked.options, asked.target)
                         : Plan<P>::load(load_aot(asked.file), problem, config, asked.options));
}

const std::vector<Family> &families() {
  static const std::vector<Family> all = [] {
    std::vector<Family> made;
    impl::AllProblems::each([&]<class P>(std::type_identity<P>) {
      made.push_back({FamilyOf<P>::name, &expectSupportedBy<P>, &makePlanOf<P>});
    });
    return made;
  }();
  return all;
}

/// The family of a problem's words. Throws Error, which names all.
const Family &familyOf(const std::vector<std::string> &words) {
  std::string names;
  for (const Family &family : families()) {
    if (!words.empty() && family.name == words.front())
      return family;
    names += (names.empty() ? "" : ", ") + std::string(family.name);
  }
  throw Error((words.empty() ? std::string("a problem begins with its family")
                             : "there is no family " + words.front()) +
              "; there are " + names);
}

} // namespace

void expectSupported(const std::string &problem, const Target &target) {
  const std::vector<std::string> words = text::wordsOf(problem);
  familyOf(words).expectSupported(std::span(words).subspan(1), target);
}
std::unique_ptr<flydsl_plan> makePlan(const Asked &asked) {
  const std::vector<std::string> words = text::wordsOf(asked.problem);
  return familyOf(words).make(std::span(words).subspan(1), asked);
}

} // namespace kernels::c
FLYDSL_NAMESPACE_END
