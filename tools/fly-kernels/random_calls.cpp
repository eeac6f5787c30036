#include "random_calls.h"

#include <algorithm>

namespace fly_kernels {
namespace {

/// Sizes where kernels change what they do, and those next to them; a few that no kernel takes.
constexpr std::int64_t kSizes[] = {
    0,   1,   2,    3,    4,    5,    7,    8,    12,    15,      16,        17,  20,  24,
    31,  32,  33,   48,   63,   64,   65,   72,   80,    96,      100,       112, 127, 128,
    129, 160, 192,  240,  256,  257,  320,  384,  448,   512,     576,       640, 768, 896,
    -1,  -8,  1000, 1024, 1536, 2048, 4096, 7168, 65536, 1 << 24, 2147483647};
/// Numbers of rows of a call.
constexpr std::int64_t kRows[] = {0,  1,  1,  2,  3,  4,  5,  7,  8,  9,   15,
                                  16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 129};
constexpr double kReals[] = {0, 1e-6, 1e-5, 0.125, 0.5, 1, 1.702, 2, 7, 30, 50, -1};
/// What types of elements are called; "none" is one that is not there.
constexpr const char *kTypes[] = {"none",     "f32",        "f16",      "bf16",       "i8",
                                  "u8",       "i4",         "u4",       "i32",        "i64",
                                  "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2",   "f8E5M2FNUZ", "f4E2M1FN",
                                  "f6E2M3FN", "f6E3M2FN",   "f8E8M0FNU"};

/// Whether a call is one that the family has; what is wrong with a field's value is no error here.
bool isSupported(const RandomCall &call, const fx::Target &target) {
  try {
    if (!call.family->supported(call.problem, target))
      return false;
    return !call.config || call.family->supported(call.problem, *call.config, target);
  } catch (const fx::Error &) { // a value that the field can't have
    return false;
  }
}

/// Whether contiguous operands, as the tool makes them, keep what a problem promises of the strides of rows.
bool keepsPromises(const fx::Config &problem) {
  constexpr std::string_view kAlign = "row_align";
  const auto numberOf = [&](const std::string &name) -> std::int64_t {
    for (const fx::Config::Entry &entry : problem.entries())
      if (entry.name == name)
        return std::get<std::int64_t>(entry.value);
    return 0;
  };
  for (const fx::Config::Entry &entry : problem.entries()) {
    if (!entry.name.ends_with(kAlign))
      continue;
    const std::string of = entry.name.substr(0, entry.name.size() - kAlign.size());
    const std::int64_t align = std::max<std::int64_t>(std::get<std::int64_t>(entry.value), 1);
    for (const char *length : {"n", "channels", "experts"})
      if (numberOf(of + length) % align)
        return false;
  }
  return true;
}

/// Whether a call needs a worklist, which the tool does not make: one of sequences with their own numbers of
/// queries, by workers.
bool needsWorklist(const fx::Config &problem, const fx::Config &config) {
  const auto has = [](const fx::Config &values, const char *name, auto isSo) {
    return std::any_of(
        values.entries().begin(), values.entries().end(),
        [&](const fx::Config::Entry &entry) { return entry.name == name && isSo(entry.value); });
  };
  return has(problem, "varlen", [](const auto &value) { return std::get<bool>(value); }) &&
         has(config, "workers",
             [](const auto &value) { return std::get<std::int64_t>(value) > 0; });
}

/// A number of rows that a problem takes: those of a by columns are loaded 16 bytes at a time, and sequences have
/// as many queries each.
std::int64_t rowsFor(const fx::Config &problem, const LibraryFamily &family, std::int64_t m) {
  for (const fx::Config::Entry &entry : problem.entries()) {
    if (shown(fx::Config({entry}), family.problemEnumerations()) == "a_layout=columns")
      return (m + 15) / 16 * 16;
    if (entry.name == "queries")
      if (const std::int64_t each = std::get<std::int64_t>(entry.value); each > 1)
        return (m + each - 1) / each * each;
  }
  return m;
}

fx::Config with(const fx::Config &config, std::size_t field, fx::Config::Value value) {
  std::vector<fx::Config::Entry> entries = config.entries();
  entries[field].value = std::move(value);
  return fx::Config(std::move(entries));
}

} // namespace

std::string RandomCall::command(const fx::Target &target) const {
  const auto quoted = [](const fx::Config &values, const Enumerations &enumerations) {
    std::string text;
    for (const fx::Config::Entry &entry : values.entries())
      text += " '" + shown(fx::Config({entry}), enumerations) + "'";
    return text;
  };
  // Fields that have their defaults are left out.
  std::vector<fx::Config::Entry> changed;
  const fx::Config defaults = family->defaults();
  for (const fx::Config::Entry &entry : problem.entries())
    if (std::find(defaults.entries().begin(), defaults.entries().end(), entry) ==
        defaults.entries().end())
      changed.push_back(entry);
  std::string text = "fly-kernels run " + family->name() +
                     quoted(fx::Config(std::move(changed)), family->problemEnumerations()) +
                     " --m " + std::to_string(m) + " --arch " + target.name();
  if (config) {
    text += " --with ";
    for (const fx::Config::Entry &entry : config->entries())
      text += (text.ends_with(' ') ? "" : ",") +
              shown(fx::Config({entry}), family->configEnumerations());
  }
  return text;
}

RandomCalls::RandomCalls(const LibraryFamily &family, const std::vector<fx::Config> &bases,
                         const fx::Target &target, std::int64_t mostBytes, std::uint64_t seed)
    : family_(&family), target_(target), mostBytes_(mostBytes), random_(seed) {
  for (const fx::Config &base : bases)
    if (isSupported({.family = &family, .problem = base}, target))
      bases_.push_back(base);
  bases_.push_back(family.defaults());
}

std::uint64_t RandomCalls::below(std::uint64_t count) { return random_() % count; }

std::int64_t RandomCalls::changedOf(std::int64_t number) {
  switch (below(8)) {
  case 0:
    return number / 2;
  case 1:
    return number * 2;
  case 2:
    return number + 1;
  case 3:
    return number - 1;
  case 4:
    return number + 8;
  case 5:
    return number + 16;
  default:
    return kSizes[below(std::size(kSizes))];
  }
}

fx::Config::Value RandomCalls::changedOf(const fx::Config::Entry &entry,
                                         const Enumerations &enumerations) {
  if (const auto found = enumerations.find(entry.name); found != enumerations.end())
    return oneOf(found->second).first;
  return std::visit(
      [&]<class T>(const T &value) -> fx::Config::Value {
        if constexpr (std::is_same_v<T, bool>)
          return !value;
        else if constexpr (std::is_same_v<T, double>)
          return kReals[below(std::size(kReals))];
        else if constexpr (std::is_same_v<T, std::int64_t>)
          return changedOf(value);
        else
          return std::string(kTypes[below(std::size(kTypes))]);
      },
      entry.value);
}

fx::Config RandomCalls::changedOf(const fx::Config &config, const Enumerations &enumerations) {
  if (config.entries().empty())
    return config;
  const auto field = std::size_t(below(config.entries().size()));
  const fx::Config::Entry &entry = config.entries()[field];
  fx::Config changed = with(config, field, changedOf(entry, enumerations));
  // Types come in groups: a product has the type of a for b, attention that of q for y.
  if (std::holds_alternative<std::string>(entry.value) && oneIn(2))
    for (std::size_t other = 0; other < config.entries().size(); ++other)
      if (config.entries()[other].value == entry.value && !oneIn(4))
        changed = with(changed, other, changed.entries()[field].value);
  return changed;
}

fx::Config RandomCalls::smallerOf(const fx::Config &problem, const Enumerations &enumerations) {
  std::vector<std::size_t> sizes;
  for (std::size_t field = 0; field < problem.entries().size(); ++field) {
    const fx::Config::Entry &entry = problem.entries()[field];
    const auto *number = std::get_if<std::int64_t>(&entry.value);
    if (number && *number > 1 && !enumerations.contains(entry.name))
      sizes.push_back(field);
  }
  if (sizes.empty())
    return problem;
  const std::size_t field = oneOf(sizes);
  return with(problem, field, std::get<std::int64_t>(problem.entries()[field].value) / 2);
}

std::optional<fx::Config> RandomCalls::problem() {
  const Enumerations &enumerations = family_->problemEnumerations();
  fx::Config current = last_ && !oneIn(4) ? *last_ : oneOf(bases_);
  for (int step = 0; step < 4000; ++step) {
    fx::Config tried = current;
    for (std::uint64_t changes = 1 + below(4); changes > 0; --changes)
      tried = changedOf(tried, enumerations);
    if (!keepsPromises(tried) || !isSupported({.family = family_, .problem = tried}, target_))
      continue;
    // What is too large is made smaller, as far as it stays supported.
    const auto bytes = [&] {
      constexpr std::int64_t kOfCall = 64;
      return family_->bytes(tried, rowsFor(tried, *family_, kOfCall), target_);
    };
    for (int halved = 0; halved < 200 && bytes() > mostBytes_; ++halved) {
      const fx::Config smaller = smallerOf(tried, enumerations);
      if (keepsPromises(smaller) && isSupported({.family = family_, .problem = smaller}, target_))
        tried = smaller;
    }
    if (bytes() <= mostBytes_)
      return tried;
  }
  return std::nullopt;
}

std::optional<fx::Config> RandomCalls::config(const fx::Config &problem, std::int64_t m) {
  if (oneIn(3))
    return std::nullopt;
  const std::vector<fx::Config> all =
      family_->configs(problem, std::max<std::int64_t>(m, 1), target_);
  if (all.empty())
    return std::nullopt;
  fx::Config config = oneOf(all);
  if (needsWorklist(problem, config))
    return std::nullopt;
  if (oneIn(2))
    return config;
  for (int step = 0; step < 50; ++step) {
    fx::Config tried = config;
    for (std::uint64_t changes = 1 + below(3); changes > 0; --changes)
      tried = changedOf(tried, family_->configEnumerations());
    if (!needsWorklist(problem, tried) &&
        isSupported({.family = family_, .problem = problem, .config = tried}, target_))
      config = tried;
  }
  return config;
}

std::optional<RandomCall> RandomCalls::next() {
  const std::optional<fx::Config> found = problem();
  if (!found)
    return std::nullopt;
  last_ = found;
  const std::int64_t m = rowsFor(*found, *family_, kRows[below(std::size(kRows))]);
  return RandomCall{.family = family_, .problem = *found, .config = config(*found, m), .m = m};
}

void RandomCalls::ask(const std::function<void(const RandomCall &)> &before) {
  fx::Config problem = last_ && !oneIn(4) ? *last_ : oneOf(bases_);
  for (std::uint64_t changes = 1 + below(3); changes > 0; --changes)
    problem = changedOf(problem, family_->problemEnumerations());
  RandomCall call{.family = family_, .problem = problem};
  before(call);
  if (!isSupported(call, target_))
    return;
  last_ = problem;
  call.m = kRows[below(std::size(kRows))];
  (void)family_->bytes(problem, call.m, target_); // the operands of a call can be made
  const std::vector<fx::Config> all =
      family_->configs(problem, std::max<std::int64_t>(call.m, 1), target_);
  if (all.empty())
    throw fx::Error(call.command(target_) + " is supported, and no configuration is listed");
  for (const fx::Config &listed : all) {
    call.config = listed;
    if (!isSupported(call, target_))
      throw fx::Error(call.command(target_) + " is listed, and not supported");
  }
  for (int changes = 0; changes < 40; ++changes) {
    fx::Config changed = oneOf(all);
    for (std::uint64_t fields = 1 + below(4); fields > 0; --fields)
      changed = changedOf(changed, family_->configEnumerations());
    call.config = changed;
    before(call);
    (void)isSupported(call, target_);
  }
}

RandomCall smallest(RandomCall call, const fx::Target &target,
                    const std::function<bool(const RandomCall &)> &fails) {
  const auto take = [&](const RandomCall &tried) {
    if (!keepsPromises(tried.problem) || !isSupported(tried, target) || !fails(tried))
      return false;
    call = tried;
    return true;
  };
  const auto without = [&](const RandomCall &from) {
    RandomCall tried = from;
    tried.config.reset();
    return tried;
  };
  if (call.config)
    take(without(call));
  const fx::Config defaults = call.family->defaults();
  for (std::size_t field = 0; field < call.problem.entries().size(); ++field) {
    RandomCall tried = call;
    if (call.problem.entries()[field] == defaults.entries()[field])
      continue;
    tried.problem = with(call.problem, field, defaults.entries()[field].value);
    take(tried);
  }
  for (const std::int64_t rows : {1, 2, 3, 16})
    if (const std::int64_t m = rowsFor(call.problem, *call.family, rows); m < call.m) {
      RandomCall tried = call;
      tried.m = m;
      if (take(tried))
        break;
    }
  return call;
}

} // namespace fly_kernels
