// fly-kernels: the kernel library from the command line.
#include "choice_table.h"
#include "command_line.h"
#include "kept_figures.h"
#include "problem_text.h"
#include "progress.h"
#include "random_calls.h"
#include "support/env_variables.h"

#include <flydsl/host/product.h>
#include <flydsl/kernels/tuning/tuned.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

using namespace fly_kernels;

namespace {

/// How fields are spelled, for the help.
constexpr const char *kFieldForms =
    "A problem is FAMILY [FIELD=VALUE ...], such as: gemm a=bf16 n=4096 k=4096 scale_a=per_row\n"
    "A field that is not given has its default. `list FAMILY` shows the fields, their defaults and "
    "the names that enumerations have.\n";

struct Options {
  std::int64_t m = 64;
  std::vector<std::string> archs; ///< none: as the command has it
  std::vector<std::string> words;
  std::string list;         ///< of export, time and figures
  std::string file;         ///< of export, figures and tuned
  std::string into;         ///< of tune: a file of tuned configurations
  bool drop = false;        ///< of tuned
  bool write = false;       ///< of figures
  bool allFamilies = false; ///< of figures
  std::size_t every = 0;    ///< of figures: code of every so many configurations; 0: calls
  std::string part; ///< of time, tune, run and figures: a product; empty: the target's default
  std::vector<std::int64_t> rows;     ///< of time
  std::vector<std::string> with;      ///< of time and run: fields of the configuration
  std::vector<std::string> fields;    ///< of table
  double within = 3;                  ///< of table, in percent
  unsigned most = 0;                  ///< of table: configurations of a problem; 0: all
  bool cpp = false;                   ///< of table: rows as C++ initialisers
  std::uint64_t count = 20, seed = 1; ///< of random: calls of a family, and where they begin
  std::int64_t mostBytes = 1 << 19;   ///< of random: of a call's operands
  bool verbose = false;               ///< of random
  bool ask = false;                   ///< of random: makes no calls
  /// Of random: the families that are numbered share, share + shares, ... from 0 on.
  std::size_t share = 0, shares = 1;

  /// The targets of show and export: of each generation that has products the newest processor.
  std::vector<std::string> targets() const {
    if (!archs.empty())
      return archs;
    std::vector<fx::Target> newest;
    for (const fx::Target &target : fx::Target::all())
      if (fx::default_product(target)) {
        if (!newest.empty() && newest.back().family() == target.family())
          newest.pop_back();
        newest.push_back(target);
      }
    std::vector<std::string> names;
    for (const fx::Target &target : newest)
      names.push_back(target.name());
    return names;
  }
};

/// All families, a line each; or the fields of those that are named, with the names of
/// enumerations.
int list(const Families &all, const Options &options) {
  if (options.words.empty()) {
    for (const auto &family : all)
      std::printf("%-18s %s\n", family->name().c_str(),
                  shown(family->defaults(), family->problemEnumerations()).c_str());
    return 0;
  }
  for (const std::string &name : options.words) {
    const LibraryFamily &family = familyNamed(all, name);
    std::printf("%s\n", name.c_str());
    const fx::Config defaults = family.defaults();
    for (const fx::Config::Entry &field : defaults.entries()) {
      const std::string text = shown(fx::Config({field}), family.problemEnumerations());
      const auto found = family.problemEnumerations().find(field.name);
      if (found == family.problemEnumerations().end())
        std::printf("  %s\n", text.c_str());
      else
        std::printf("  %-26s %s\n", text.c_str(), namesOf(found->second).c_str());
    }
  }
  return 0;
}

/// The current device runs kernels of one target. Where it is the emulator's, it becomes the one
/// that is asked for.
void chooseDevice(const Options &options) {
  if (options.archs.empty() && options.part.empty())
    return;
  if (options.archs.size() > 1)
    throw fx::Error("--arch names " + std::to_string(options.archs.size()) +
                    " targets; a call runs on one device");
  // Before the first look at a device, which makes the emulator's.
  if (!options.archs.empty())
    setenv("FLYDSL_EMULATOR_ARCH", options.archs[0].c_str(), 1);
  if (!options.part.empty())
    setenv("FLYDSL_EMULATOR_PRODUCT", options.part.c_str(), 1);
  const fx::Device device = fx::Device::current();
  if (!options.archs.empty() && device.arch() != fx::Target::parse(options.archs[0]).name())
    throw fx::Error("--arch " + options.archs[0] + ": the current device is " + device.str() +
                    "; FLYDSL_RUNTIME_KIND=emulator has a device of any target that the emulator "
                    "runs");
  if (!options.part.empty() && !device.is_emulator())
    throw fx::Error("--part " + options.part + ": the current device is " + device.str() +
                    ", whose time is measured; FLYDSL_RUNTIME_KIND=emulator has a device that "
                    "stands for any product");
}

int show(const Request &request, const Options &options) {
  for (const std::string &arch : options.targets()) {
    const fx::Target target = fx::Target::parse(arch);
    if (const fk::Support answer = request.family->supported(request.problem, target); !answer) {
      std::printf("%s: not supported: %s\n", arch.c_str(), answer.why.c_str());
      continue;
    }
    const auto configs = request.family->configs(request.problem, options.m, target);
    std::printf("%s: %s (of %zu configurations)\n", arch.c_str(),
                shown(configs[0], request.family->configEnumerations()).c_str(), configs.size());
    for (const fx::Executable &code : request.family->code(request.problem, configs[0], target))
      std::printf("  %s: %u vector registers, %u spilled, %zu bytes of LDS, %zu bytes of code, "
                  "traced in %.1f ms, compiled in %.1f ms\n",
                  code.name().c_str(), code.registers(), code.spills(), code.shared_bytes(),
                  code.code_size(), code.trace_milliseconds(), code.compile_milliseconds());
  }
  return 0;
}

/// The chosen configuration with the fields that the command line gives; none if it gives none.
std::optional<fx::Config> configOf(const Request &request, std::int64_t m, const Options &options) {
  if (options.with.empty())
    return std::nullopt;
  return changed(request.family->configs(request.problem, m, fx::Device::current().target()).at(0),
                 request.family->configEnumerations(), options.with);
}

int run(const Request &request, const Options &options) {
  chooseDevice(options);
  const RunReport report =
      request.family->run(request.problem, configOf(request, options.m, options), options.m,
                          LibraryFamily::Against::reference);
  std::printf("device  %s\nconfig  %s\ntime    %.2f us%s\n", fx::Device::current().str().c_str(),
              shown(report.config, request.family->configEnumerations()).c_str(),
              report.microseconds, fx::Device::current().is_emulator() ? ", estimated" : "");
  if (!report.worst) {
    std::printf("there is no reference to check against\n");
    return 0;
  }
  std::printf("error   %.3g of its bound at most, at %s\n%s\n", *report.worst,
              report.worstOutput.c_str(), *report.worst <= 1 ? "PASS" : "FAIL");
  return *report.worst <= 1 ? 0 : 1;
}

/// Lets every search measure, also where a winner of an earlier one is known.
void searchAnew() { setenv("FLYDSL_AUTOTUNE", "1", 1); }

int tune(const Request &request, const Options &options) {
  searchAnew();
  chooseDevice(options);
  const auto there = [&] {
    return std::filesystem::exists(options.into) ? fk::TunedConfigs::read(options.into)
                                                 : fk::TunedConfigs();
  };
  if (!options.into.empty())
    there().write(options.into); // a file that can't be read or written is told before the search
  const auto text = [&](const fx::Config &config) {
    return shown(config, request.family->configEnumerations());
  };
  flydsl::tools::ProgressLine line(flydsl::tools::ProgressLine::Elsewhere::nothing);
  fx::AutotuneOptions how;
  how.progress = [&](const fx::Trial &, std::size_t done, std::size_t total) {
    line.show(std::to_string(done) + " of " + std::to_string(total) + " configurations");
  };
  const fx::AutotuneResult result = request.family->tune(request.problem, options.m, how);
  line.clear();
  std::vector<fx::Trial> trials = result.trials;
  const auto time = [](const fx::Trial &trial) {
    return trial.outcome == fx::Trial::Outcome::measured ? trial.milliseconds : HUGE_VAL;
  };
  std::sort(trials.begin(), trials.end(),
            [&](const fx::Trial &a, const fx::Trial &b) { return time(a) < time(b); });
  for (const fx::Trial &trial : trials)
    std::printf("%10s  %s%s\n",
                trial.outcome == fx::Trial::Outcome::measured
                    ? (std::to_string(trial.milliseconds * 1000) + " us").c_str()
                    : "-",
                text(trial.config).c_str(),
                trial.reason.empty() ? "" : ("  (" + trial.reason + ")").c_str());
  std::printf("best: %s\n", text(result.config).c_str());
  if (options.into.empty())
    return 0;
  fk::TunedConfigs all = there(); // with what others wrote meanwhile
  const fx::Target target = fx::Device::current().target();
  // The quickest that a file may have: not every configuration is one that `choose` may give.
  std::string why;
  const bool isSet = std::any_of(trials.begin(), trials.end(), [&](const fx::Trial &trial) {
    if (trial.outcome != fx::Trial::Outcome::measured)
      return false;
    try {
      all.set(fk::impl::tunedEntryOf(request.family->name(), request.problem, trial.config,
                                     options.m, trial.milliseconds * 1000, target));
      return true;
    } catch (const fx::Error &error) {
      why = error.what();
      return false;
    }
  });
  if (!isSet)
    throw fx::Error(options.into + ": no configuration was measured that a file may have" +
                    (why.empty() ? "" : ": " + why));
  all.write(options.into);
  std::printf("%s: %zu tuned configurations\n", options.into.c_str(), all.entries().size());
  return 0;
}

/// The entries of a file of tuned configurations, and those that this library refuses.
int tuned(const Options &options) {
  std::vector<std::string> refused;
  const fk::TunedConfigs all = fk::TunedConfigs::read(options.file, refused);
  for (const fk::TunedEntry &entry : all.entries())
    std::printf("%s, %d compute units, up to %lld rows, %.3f us: %s | %s\n", entry.target.c_str(),
                entry.compute_units, static_cast<long long>(entry.rows), entry.microseconds,
                entry.problem.c_str(), entry.config.c_str());
  for (const std::string &why : refused)
    std::printf("refused: %s\n", why.c_str());
  if (options.drop)
    all.write(options.file);
  return refused.empty() || options.drop ? 0 : 1;
}

/// The times of a problem's configurations, or of the first of them: a family lists what is chosen, and then
/// what is most likely to be quick. Configurations that can't be built or run are left out.
std::vector<TimedConfig> timesOf(const Request &request, std::int64_t m, unsigned most,
                                 const std::function<void(std::size_t, std::size_t)> &progress) {
  std::vector<TimedConfig> times;
  if (!most) {
    fx::AutotuneOptions how;
    how.progress = [&](const fx::Trial &, std::size_t done, std::size_t total) {
      progress(done, total);
    };
    for (const fx::Trial &trial : request.family->tune(request.problem, m, how).trials)
      if (trial.outcome == fx::Trial::Outcome::measured)
        times.push_back({trial.config, trial.milliseconds * 1000});
    return times;
  }
  const std::vector<fx::Config> configs =
      request.family->configs(request.problem, m, fx::Device::current().target());
  const std::size_t total = std::min<std::size_t>(most, configs.size());
  for (std::size_t i = 0; i < total; ++i) {
    try {
      const RunReport report =
          request.family->run(request.problem, configs[i], m, LibraryFamily::Against::nothing);
      times.push_back({configs[i], report.microseconds});
    } catch (const fx::CompileError &) { // as a search drops it
    }
    progress(i + 1, total);
  }
  return times;
}

/// All configurations of a list's problems by their time: what is chosen next to what is quickest, and the
/// least table in which each problem has a good one.
int table(const Families &all, const Options &options) {
  searchAnew();
  chooseDevice(options);
  const fx::Target target = fx::Device::current().target();
  std::vector<TimedProblem> problems;
  const LibraryFamily *family = nullptr;
  flydsl::tools::ProgressLine line(flydsl::tools::ProgressLine::Elsewhere::nothing);
  forEachRequest(options.list, all, [&](const Request &request) {
    if (family && family->name() != request.family->name())
      throw fx::Error("a table is of one family: " + options.list + " has problems of " +
                      family->name() + " and of " + request.family->name());
    family = request.family;
    if (const fk::Support answer = family->supported(request.problem, target); !answer)
      throw fx::Error(target.name() + " does not support " + request.text + ": " + answer.why);
    for (const std::int64_t m :
         request.rows.empty() ? std::vector<std::int64_t>{options.m} : request.rows) {
      const std::string name = request.text + " m=" + std::to_string(m);
      TimedProblem timed{.problem = name, .chosen = {}, .all = {}};
      const fx::Config chosen = family->configs(request.problem, m, target).at(0);
      valuesOf(chosen, options.fields); // refuses a wrong field before the time is spent
      timed.all = timesOf(request, m, options.most, [&](std::size_t done, std::size_t total) {
        line.show(name + ": " + std::to_string(done) + " of " + std::to_string(total));
      });
      for (const TimedConfig &one : timed.all)
        if (one.config == chosen)
          timed.chosen = one;
      if (timed.chosen.microseconds == 0)
        throw fx::Error(name + ": what is chosen could not be timed: " +
                        shown(chosen, family->configEnumerations()));
      problems.push_back(std::move(timed));
    }
  });
  line.clear();
  std::printf("# %s\n# chosen us, quickest us, chosen / quickest, problem | quickest\n",
              fx::Device::current().name().c_str());
  for (const TimedProblem &problem : problems)
    std::printf("%10.2f %10.2f %6.2f  %s | %s\n", problem.chosen.microseconds,
                problem.quickest().microseconds, problem.lost(), problem.problem.c_str(),
                shown(problem.quickest().config, family->configEnumerations()).c_str());
  std::vector<std::string> fields = options.fields;
  if (fields.empty() && !problems.empty())
    for (const auto &entry : problems[0].chosen.config.entries())
      fields.push_back(entry.name);
  const std::vector<ChoiceRow> rows = leastTable(problems, fields, options.within / 100);
  std::printf(
      "# in one of these %zu rows, each of %zu problems has a configuration within %g %% of its "
      "quickest\n",
      rows.size(), problems.size(), options.within);
  for (const ChoiceRow &row : rows) {
    const std::string values = shown(row.values, family->configEnumerations());
    std::printf("%s\n", options.cpp ? initialiserOf(values).c_str() : values.c_str());
    for (std::size_t i : row.problems)
      std::printf("  %s %s\n", options.cpp ? "//" : "#", problems[i].problem.c_str());
  }
  return 0;
}

/// Families whose kernels go the same way whatever their matrix products give: no branch and no address
/// depends on one. Of attention that is not so, which corrects sums where a score is larger than those before.
constexpr std::string_view kSameWay[] = {"gemm", "grouped_gemm", "moe_forward"};

/// Lets the emulator leave out the matrix products of what is timed, which are most of its work, if no time
/// depends on them and FLYDSL_EMULATOR_MATRIX does not ask for them.
void leaveOutProducts(const Families &all, const Options &options) {
  bool isSameWay = true;
  const auto look = [&](const Request &request) {
    isSameWay &= std::ranges::find(kSameWay, request.family->name()) != std::end(kSameWay);
  };
  if (options.list.empty())
    look(requestOf(all, options.words));
  else
    forEachRequest(options.list, all, look);
  const auto &variable = flydsl::support::env::kEmulatorMatrix;
  if (isSameWay && !variable.given())
    setenv(variable.name().data(), "none", 1);
}

/// A line for each problem and number of rows, with the configuration that is chosen.
int timed(const Families &all, const Options &options) {
  if (options.words.empty() == options.list.empty())
    throw fx::Error("time takes either a problem or --list FILE");
  leaveOutProducts(all, options);
  chooseDevice(options);
  std::printf("# %s\n%10s %8s  problem | configuration\n", fx::Device::current().name().c_str(),
              "us", "m");
  const std::vector<std::int64_t> rows =
      options.rows.empty() ? std::vector<std::int64_t>{options.m} : options.rows;
  const auto print = [&](const Request &request) {
    for (const std::int64_t m : request.rows.empty() ? rows : request.rows) {
      const RunReport report = request.family->run(request.problem, configOf(request, m, options),
                                                   m, LibraryFamily::Against::nothing);
      std::printf("%10.2f %8lld  %s | %s\n", report.microseconds, static_cast<long long>(m),
                  request.text.c_str(),
                  shown(report.config, request.family->configEnumerations()).c_str());
      std::fflush(stdout);
    }
  };
  if (options.list.empty())
    print(requestOf(all, options.words));
  else
    forEachRequest(options.list, all, print);
  return 0;
}

/// What decides about code and time besides the library: variables that `figures` leaves to nobody.
void setForFigures() {
  for (const char *name :
       {"FLYDSL_EMULATOR_CHECK", "FLYDSL_EMULATOR_LANDING", "FLYDSL_EMULATOR_ORDER",
        "FLYDSL_EMULATOR_SLICE", "FLYDSL_EMULATOR_MEMORY_MODEL", "FLYDSL_EMULATOR_LAST_CACHE",
        "FLYDSL_KERNELS_CHECK_INDICES", "FLYDSL_KERNELS_CHECK_MEMORY", "FLYDSL_KTRACE_ENABLE"})
    unsetenv(name);
  setenv("FLYDSL_EMULATOR_MATRIX", "fast", 1);
}

/// The figures of a problem's code, with every so many of its configurations, from what is chosen on.
void addCode(const Request &request, std::int64_t m, const fx::Target &target, std::size_t every,
             const std::string &problem, std::vector<CallFigures> &into) {
  const std::vector<fx::Config> all = request.family->configs(request.problem, m, target);
  if (all.empty())
    throw fx::Error(problem + " is supported on " + target.name() +
                    ", and the family gives no configuration of it");
  for (std::size_t i = 0; i < all.size(); i += every) {
    CallFigures one{.problem =
                        problem + " | " + shown(all[i], request.family->configEnumerations())};
    try {
      one.values =
          figuresOf({{}, request.family->code(request.problem, all[i], target)}, FiguresOf::code);
    } catch (const fx::CompileError &) { // as a search drops it
    }
    into.push_back(std::move(one));
  }
}

/// The figures of a list's problems, compared with those that a file keeps, or written there.
int figures(const Families &all, const Options &options) {
  setForFigures();
  chooseDevice(options);
  const fx::Device device = fx::Device::current();
  if (!device.is_emulator())
    throw fx::Error("figures are estimates and counts of the emulator, and the current device is " +
                    device.str() + "; FLYDSL_RUNTIME_KIND=emulator has one");
  const fx::Target target = device.target();
  const FiguresOf of = options.every ? FiguresOf::code : FiguresOf::call;
  KeptFigures now{device.name(), {}, of};
  std::set<std::string> families, problems;
  flydsl::tools::ProgressLine line(flydsl::tools::ProgressLine::Elsewhere::nothing);
  forEachRequest(options.list, all, [&](const Request &request) {
    families.insert(request.family->name());
    for (const std::int64_t m :
         request.rows.empty() ? std::vector<std::int64_t>{options.m} : request.rows) {
      CallFigures call{.problem = request.text + " m=" + std::to_string(m)};
      if (!problems.insert(call.problem).second)
        throw fx::Error(call.problem + " is in the list twice");
      line.show(call.problem);
      const bool isSupported(request.family->supported(request.problem, target));
      if (isSupported && options.every) {
        addCode(request, m, target, options.every, call.problem, now.calls);
        continue;
      }
      if (isSupported) {
        const RunReport report =
            request.family->run(request.problem, {}, m, LibraryFamily::Against::nothing);
        call.configuration = shown(report.config, request.family->configEnumerations());
        call.values = figuresOf(report.call);
      }
      now.calls.push_back(std::move(call));
    }
  });
  line.clear();
  if (options.allFamilies)
    for (const auto &family : all)
      if (!families.contains(family->name()))
        throw fx::Error(options.list + " has no problem of " + family->name());
  if (options.write) {
    now.write(options.file);
    std::printf("%s keeps the figures of %zu %s\n", options.file.c_str(), now.calls.size(),
                options.every ? "configurations" : "calls");
    return 0;
  }
  const FigureChanges changes = changesOf(KeptFigures::read(options.file), now);
  for (const std::string &one : changes.worse)
    std::printf("worse   %s\n", one.c_str());
  for (const std::string &one : changes.better)
    std::printf("changed %s\n", one.c_str());
  std::printf("%zu %s on %s: %zu worse, %zu changed otherwise\n", now.calls.size(),
              options.every ? "configurations" : "calls", now.device.c_str(), changes.worse.size(),
              changes.better.size());
  if (!changes.same())
    std::printf("if that is meant, the same command with --write keeps these figures in %s\n",
                options.file.c_str());
  return changes.worse.empty() ? 0 : 1;
}

/// What is wrong with a call; empty if nothing is.
std::string mistakeOf(const RandomCall &call, bool *isCompared = nullptr) {
  try {
    const RunReport report = call.family->check(call.problem, call.config, call.m);
    if (isCompared)
      *isCompared = report.worst.has_value();
    if (!report.worst || *report.worst <= 1)
      return "";
    char text[160];
    std::snprintf(text, sizeof text, "%s is %.3g times as far from the reference as its bound",
                  report.worstOutput.c_str(), *report.worst);
    return text;
  } catch (const fx::Error &error) {
    return flydsl::tools::messageOf(error);
  }
}

/// Random calls of the families that are named, or of all; one of each family in turn.
int randomCalls(const Families &all, const Options &options) {
  setenv("FLYDSL_EMULATOR_CHECK", "all", 0);
  chooseDevice(options);
  if (!options.ask)
    expectProducts();
  const fx::Target target = fx::Device::current().target();
  std::map<const LibraryFamily *, std::vector<fx::Config>> bases;
  if (!options.list.empty())
    forEachRequest(options.list, all, [&](const Request &request) {
      bases[request.family].push_back(request.problem);
    });
  std::vector<RandomCalls> families;
  std::size_t number = 0;
  const auto take = [&](const LibraryFamily &family) {
    if (number++ % options.shares == options.share)
      families.emplace_back(family, bases[&family], target, options.mostBytes, options.seed);
  };
  for (const auto &family : all)
    if (options.words.empty())
      take(*family);
  for (const std::string &name : options.words)
    take(familyNamed(all, name));
  if (families.empty())
    throw fx::Error("--share leaves none of the families (" + std::to_string(number) +
                    "); 1/1 takes all of them");
  std::size_t calls = 0, compared = 0, wrong = 0;
  std::map<std::string, std::uint64_t> made;
  const auto show = [&](const RandomCall &call) {
    if (!options.verbose)
      return;
    std::printf("%s\n", call.command(target).c_str());
    std::fflush(stdout);
  };
  flydsl::tools::ProgressLine line(flydsl::tools::ProgressLine::Elsewhere::nothing);
  for (std::uint64_t turn = 0; turn < options.count; ++turn)
    for (RandomCalls &draws : families) {
      if (options.ask) {
        draws.ask(show);
        continue;
      }
      const std::optional<RandomCall> call = draws.next();
      if (!call)
        continue;
      ++made[call->family->name()];
      show(*call);
      line.show(std::to_string(turn) + " of " + std::to_string(options.count) + ": " +
                call->family->name());
      bool isCompared = false;
      const std::string mistake = mistakeOf(*call, &isCompared);
      ++calls;
      compared += isCompared;
      if (mistake.empty())
        continue;
      ++wrong;
      const RandomCall small = smallest(
          *call, target, [](const RandomCall &tried) { return !mistakeOf(tried).empty(); });
      line.clear();
      std::printf("WRONG %s\n  made small: %s\n  %s\n", call->command(target).c_str(),
                  small.command(target).c_str(), mistakeOf(small).c_str());
      std::fflush(stdout);
    }
  line.clear();
  if (options.ask) {
    std::printf("%llu problems of each family on %s: all were answered\n",
                static_cast<unsigned long long>(options.count), target.name().c_str());
    return 0;
  }
  for (const RandomCalls &draws : families)
    if (const std::string name = draws.family().name(); made[name] < options.count)
      std::printf(
          "%s: %llu calls were found that %s supports and whose operands are small enough; --list "
          "gives problems to begin with, --bytes a larger limit\n",
          name.c_str(), static_cast<unsigned long long>(made[name]), target.name().c_str());
  std::printf("%zu calls on %s, %zu of them compared with a reference: %zu are wrong\n", calls,
              target.name().c_str(), compared, wrong);
  return wrong ? 1 : 0;
}

int exportList(const Families &all, const Options &options) {
  fk::ExportList plans;
  forEachRequest(options.list, all, [&](const Request &request) {
    for (const std::int64_t m :
         request.rows.empty() ? std::vector<std::int64_t>{options.m} : request.rows)
      request.family->add(plans, request.problem, m);
  });
  flydsl::tools::ProgressLine progress(flydsl::tools::ProgressLine::Elsewhere::nothing);
  const std::size_t written =
      plans.write(options.file, {.archs = options.targets()}, [&](const fk::ExportStep &step) {
        const std::string family(step.family), target = step.target->name();
        if (step.support) {
          progress.show(std::to_string(step.done) + " of " + std::to_string(step.total) + ": " +
                        family + " for " + target);
          return;
        }
        progress.clear();
        std::fprintf(stderr, "%s %s is left out for %s: %s\n", family.c_str(), step.problem.c_str(),
                     target.c_str(), step.support.why.c_str());
      });
  progress.clear();
  std::printf("%s: %zu plans\n", options.file.c_str(), written);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Tries, tunes and exports the kernels of the library.", "fly-kernels");
  app.require_subcommand(1);
  app.footer(kFieldForms);

  const auto takesRows = [&](CLI::App *command, std::int64_t least = 1) {
    command->add_option("--m", options.m, "rows of a call (64)")
        ->check(CLI::Range(least, std::numeric_limits<std::int64_t>::max()));
  };
  const auto takesTargets = [&](CLI::App *command, const char *text) {
    command->add_option("--arch", options.archs, text)->delimiter(',')->allow_extra_args(false);
  };
  const auto takesProblem = [&](CLI::App *command, std::int64_t leastRows = 1) {
    command->add_option("PROBLEM", options.words, "FAMILY [FIELD=VALUE ...]")->required();
    takesRows(command, leastRows);
  };
  CLI::App *list = app.add_subcommand(
      "list", "the families with the fields of their problems; the fields of FAMILY in full");
  list->add_option("FAMILY", options.words, "families");
  CLI::App *show = app.add_subcommand("show", "whether each target supports a problem, what is "
                                              "chosen for it, and the figures of the code");
  takesProblem(show);
  takesTargets(show, "targets, separated by commas (those of the library)");
  CLI::App *run = app.add_subcommand("run", "one call with random data on the current device, "
                                            "checked against a reference in double precision "
                                            "where there is one");
  takesProblem(run, 0);
  takesTargets(run, "the target of the emulator's device (FLYDSL_EMULATOR_ARCH, else gfx942)");
  CLI::App *tune =
      app.add_subcommand("tune", "measures all configurations of a problem on the current device");
  takesProblem(tune);
  takesTargets(tune, "the target of the emulator's device (FLYDSL_EMULATOR_ARCH, else gfx942)");
  tune->add_option("--into", options.into,
                   "adds the fastest to this file of tuned configurations, which "
                   "FLYDSL_KERNELS_TUNED may name");
  CLI::App *tuned = app.add_subcommand(
      "tuned", "the configurations of such a file, and those that this library refuses: then 1 is "
               "returned");
  tuned->add_option("FILE", options.file, "the file")->required();
  tuned->add_flag("--drop", options.drop, "writes the file without those that are refused");
  CLI::App *times = app.add_subcommand(
      "time", "the time of one call on the current device, estimated on the emulator, with the "
              "configuration that is chosen; of a list of problems too");
  times->add_option("PROBLEM", options.words, "FAMILY [FIELD=VALUE ...]");
  times->add_option("--list", options.list, "a problem a line; # begins a comment");
  times->add_option("--m", options.rows, "rows of a call, separated by commas (64)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(std::int64_t(1), std::numeric_limits<std::int64_t>::max()));
  times
      ->add_option("--with", options.with,
                   "fields of the configuration, FIELD=VALUE, that are not to be what is chosen")
      ->delimiter(',')
      ->allow_extra_args(false);
  takesTargets(times, "the target of the emulator's device (FLYDSL_EMULATOR_ARCH, else gfx942)");
  CLI::App *keep = app.add_subcommand(
      "figures", "estimates, instructions, registers and memory of a list of problems, compared "
                 "with those that a file keeps: 1 is returned if one is worse");
  keep->add_option("LIST", options.list, "a problem a line, m=1,64 its rows; # begins a comment")
      ->required();
  keep->add_option("FILE", options.file, "the file that keeps the figures")->required();
  keep->add_flag("--write", options.write, "writes the file");
  keep->add_option(
          "--every", options.every,
          "counts the code of every so many configurations of each problem, the chosen one "
          "first, instead of running a call")
      ->check(CLI::PositiveNumber);
  keep->add_flag("--all-families", options.allFamilies,
                 "the list must have a problem of each family");
  takesRows(keep);
  takesTargets(keep, "the target of the emulator's device (FLYDSL_EMULATOR_ARCH, else gfx942)");
  CLI::App *tables = app.add_subcommand(
      "table", "times all configurations of a family's problems: what is chosen next to what is "
               "quickest, and the fewest configurations that serve all of them, from which a "
               "family's table of choices is made");
  tables->add_option("LIST", options.list, "a problem a line, m=1,64 its rows; # begins a comment")
      ->required();
  tables
      ->add_option("--fields", options.fields,
                   "the fields of a configuration that make a row, separated by commas (all)")
      ->delimiter(',')
      ->allow_extra_args(false);
  tables->add_option("--within", options.within, "percent that a row may take longer (3)")
      ->check(CLI::NonNegativeNumber);
  tables
      ->add_option("--most", options.most,
                   "times the first so many configurations of each problem: the chosen one, and "
                   "then those that the family takes for the likeliest (all)")
      ->check(CLI::PositiveNumber);
  tables->add_flag("--cpp", options.cpp, "prints rows as initialisers for a table in C++");
  takesRows(tables);
  takesTargets(tables, "the target of the emulator's device (FLYDSL_EMULATOR_ARCH, else gfx942)");
  CLI::App *chance = app.add_subcommand(
      "random",
      "calls of random problems, configurations and numbers of rows on the current device, "
      "each checked as `run` does, under all checks of the emulator: 1 is returned if one "
      "is wrong, and the command that makes it again is printed");
  chance->add_option("FAMILY", options.words, "families (all)");
  chance->add_option("--list", options.list,
                     "problems to begin with, one a line; # begins a comment");
  chance->add_option("--count", options.count, "calls of each family (20)")
      ->check(CLI::Range(1, 1000000));
  chance->add_option("--seed", options.seed, "another one gives other calls (1)");
  chance->add_option("--bytes", options.mostBytes, "of a call's operands at most (524288)")
      ->check(CLI::PositiveNumber);
  chance->add_flag(
      "--ask", options.ask,
      "makes no calls: asks of problems and configurations, whatever their values are, "
      "what is supported, chosen and listed");
  chance->add_flag("--verbose", options.verbose, "prints each call before it is made");
  chance
      ->add_option_function<std::string>(
          "--share",
          [&](const std::string &text) {
            char end = 0;
            if (text.find_first_not_of("0123456789/") != std::string::npos ||
                std::sscanf(text.c_str(), "%zu/%zu%c", &options.share, &options.shares, &end) !=
                    2 ||
                options.share < 1 || options.share > options.shares)
              throw CLI::ValidationError(
                  "--share", text + " is no share of the families; 1/4, 2/4, 3/4 and 4/4 are "
                                    "all of them");
            --options.share;
          },
          "every so many of the families, which makes the same calls of them as all do: 1/4 is "
          "the first, the fifth and so on (1/1)")
      ->type_name("K/N");
  takesTargets(chance, "the target of the emulator's device (FLYDSL_EMULATOR_ARCH, else gfx942)");
  run->add_option("--with", options.with,
                  "fields of the configuration, FIELD=VALUE, that are not to be what is chosen")
      ->delimiter(',')
      ->allow_extra_args(false);
  for (CLI::App *command : {run, tune, times, keep, tables})
    command->add_option("--part", options.part,
                        "the product that the emulator's device stands for, such as MI325X (the "
                        "target's first)");
  CLI::App *write = app.add_subcommand(
      "export", "compiles the chosen configurations of all problems of a list ahead of time");
  write->add_option("LIST", options.list, "a problem a line; # begins a comment")->required();
  write->add_option("FILE", options.file, "the file to write")->required();
  takesRows(write);
  takesTargets(write, "targets, separated by commas (those of the library)");

  const auto work = [&] {
    for (std::string &arch : options.archs)
      arch = fx::Target::parse(arch).id();
    const Families all = families();
    if (*chance)
      return randomCalls(all, options);
    if (*write)
      return exportList(all, options);
    if (*show)
      return ::show(requestOf(all, options.words), options);
    if (*run)
      return ::run(requestOf(all, options.words), options);
    if (*keep)
      return figures(all, options);
    if (*tables)
      return table(all, options);
    if (*times)
      return timed(all, options);
    if (*tuned)
      return ::tuned(options);
    if (*tune)
      return ::tune(requestOf(all, options.words), options);
    return ::list(all, options);
  };
  // 1 says that a result is wrong.
  return flydsl::tools::runTool(app, argc, argv, work, 2);
}
