// The families' part of tuned configurations.
#include "frame/tuned_families.h"

#include "frame/all_families.h"
#include "frame/tuned.h"
#include "text/fields.h"

#include <flydsl/host/product.h>

#include <algorithm>
#include <limits>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {
namespace {

/// A word for each field: those of a file were written by a library with the same ones.
void expectAllFields(std::span<const std::string> words, const Config &config) {
  for (const Config::Entry &entry : config.entries())
    if (std::none_of(words.begin(), words.end(),
                     [&](const std::string &word) { return word.starts_with(entry.name + "="); }))
      throw Error("the configuration does not say what " + entry.name +
                  " is; it was made for another version of the library");
}

/// Whether `choose` may give the configuration: some need what a caller's problem promises, or what all
/// ranks of a group agree on.
template <class P> Support choosable(const P &problem, const ConfigOf<P> &config) {
  if constexpr (requires(ArgsOf<P> args) { args.group; })
    return Support::no("its configurations are those of all ranks, which may have different "
                       "numbers of tokens: none is tuned");
  if constexpr (requires { problem.zeroed_workspace, config.parts_sum; })
    if (config.parts_sum == PartsSum::last_block && !problem.zeroed_workspace)
      return Support::no("parts_sum is PartsSum::last_block, which is for a problem that promises "
                         "zeroed_workspace");
  return {};
}

template <class P> TunedRead readOf(std::span<const std::string> words, const TunedEntry &entry) {
  using C = ConfigOf<P>;
  const text::Enumerations ofProblem = text::enumerationsOf<P>(),
                           ofConfig = text::enumerationsOf<C>();
  const Target target = Target::parse(entry.target);
  const std::vector<std::string> configWords = text::wordsOf(entry.config);
  expectAllFields(configWords, to_config(C{}));
  TunedOf<P> read{from_config<P>(text::changed(to_config(P{}), ofProblem, words)),
                  from_config<C>(text::changed(to_config(C{}), ofConfig, configWords)),
                  entry.rows,
                  {target.name(), entry.compute_units}};
  for (const Support &answer :
       {supported(read.problem, target), supported(read.problem, read.config, target),
        choosable(read.problem, read.config)})
    if (!answer)
      throw Error(std::string(FamilyOf<P>::name) + " on " + target.name() + ": " + answer.why);
  TunedEntry whole = entry;
  whole.target = target.name();
  whole.problem =
      std::string(FamilyOf<P>::name) + " " + text::shown(to_config(read.problem), ofProblem);
  whole.config = text::shown(to_config(read.config), ofConfig);
  return {std::move(whole), FamilyOf<P>::name,
          [read = std::move(read)] { tunedEntries<P>().push_back(read); }};
}

/// What is asked of a family by its name.
struct Row {
  std::string_view name;
  TunedRead (*read)(std::span<const std::string> words, const TunedEntry &entry);
  TunedEntry (*entry)(const Config &problem, const Config &config);
};

const std::vector<Row> &rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> made;
    AllProblems::each([&]<class P>(std::type_identity<P>) {
      made.push_back(
          {FamilyOf<P>::name, &readOf<P>, [](const Config &problem, const Config &config) {
             return TunedEntry{.problem = std::string(FamilyOf<P>::name) + " " +
                                          text::shown(problem, text::enumerationsOf<P>()),
                               .config = text::shown(config, text::enumerationsOf<ConfigOf<P>>())};
           }});
    });
    return made;
  }();
  return all;
}

const Row &rowOf(std::string_view family) {
  std::string names;
  for (const Row &row : rows()) {
    if (row.name == family)
      return row;
    names += (names.empty() ? "" : ", ") + std::string(row.name);
  }
  throw Error("there is no family " + std::string(family) + "; there are " + names);
}

} // namespace

TunedRead readTuned(const TunedEntry &entry) {
  const std::vector<std::string> words = text::wordsOf(entry.problem);
  if (words.empty())
    throw Error("a problem begins with its family");
  if (entry.rows < 1 || entry.rows > std::numeric_limits<std::int32_t>::max())
    throw Error("the rows are " + std::to_string(entry.rows) + "; they are 1 to 2147483647");
  if (entry.compute_units < 0)
    throw Error("the compute units are " + std::to_string(entry.compute_units) +
                "; a GPU has 0, if they are not known, or more");
  if (!(entry.microseconds >= 0))
    throw Error("the time is not 0, which is unknown, or more");
  return rowOf(words.front()).read(std::span(words).subspan(1), entry);
}

void clearTuned() {
  AllProblems::each([]<class P>(std::type_identity<P>) { tunedEntries<P>().clear(); });
}

TunedDevice tunedDevice(const Target &target) {
  const std::optional<Product> gpu = product_in_hand(target);
  return {target.name(), gpu ? gpu->compute_units : 0};
}

TunedEntry tunedEntryOf(std::string_view family, const Config &problem, const Config &config,
                        std::int64_t rows, double microseconds, const Target &target) {
  const TunedDevice device = tunedDevice(target);
  TunedEntry entry = rowOf(family).entry(problem, config);
  entry.rows = rows;
  entry.target = device.target;
  entry.compute_units = device.computeUnits;
  entry.microseconds = microseconds;
  return entry;
}

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
