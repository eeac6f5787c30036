// fly-kernels: the kernel library from the command line.
#include "family.h"
#include "progress.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

using namespace fly_kernels;

namespace {

const char *const kUsage = R"(usage: fly-kernels COMMAND ...

  list                                the families, and the fields of their problems
  show FAMILY [FIELD=VALUE ...]       whether each target supports the problem, what is chosen for
                                      it, and the figures of the code
  run FAMILY [FIELD=VALUE ...]        one call with random data on the current device, checked
                                      against a reference in double precision where there is one
  tune FAMILY [FIELD=VALUE ...]       measures all configurations on the current device
  export LIST FILE                    compiles the chosen configurations of all problems of a list
                                      ahead of time; a line of the list is FAMILY FIELD=VALUE ...

options:
  --m N              rows of a call (64)
  --arch A,B,...     targets of show and export (those of the library)

A FIELD that is not given has its default; enumerations are numbers, in the order of the header.
)";

struct Request {
  const LibraryFamily *family = nullptr;
  fx::Config problem;
};

struct Options {
  std::int64_t m = 64;
  std::vector<std::string> archs = {"gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201"};
  std::vector<std::string> words;
};

std::int64_t number(const std::string &text, const std::string &what) {
  char *end = nullptr;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end)
    throw fx::Error(what + "=" + text + ": a number is expected");
  return value;
}

/// A value in the type that the field's default has.
fx::Config::Value valueOf(const fx::Config::Entry &field, const std::string &text) {
  return std::visit(
      [&]<class T>(const T &) -> fx::Config::Value {
        if constexpr (std::is_same_v<T, bool>) {
          if (text != "true" && text != "false")
            throw fx::Error(field.name + "=" + text + ": true or false is expected");
          return text == "true";
        } else if constexpr (std::is_same_v<T, double>) {
          char *end = nullptr;
          const double value = std::strtod(text.c_str(), &end);
          if (text.empty() || *end)
            throw fx::Error(field.name + "=" + text + ": a number is expected");
          return value;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return number(text, field.name);
        } else {
          return text;
        }
      },
      field.value);
}

Request parse(const std::vector<std::unique_ptr<LibraryFamily>> &all,
              const std::vector<std::string> &words) {
  if (words.empty())
    throw fx::Error("the name of a family is missing; fly-kernels list names them");
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const auto &family) { return family->name() == words[0]; });
  if (found == all.end())
    throw fx::Error("there is no family " + words[0] + "; fly-kernels list names them");
  std::vector<fx::Config::Entry> entries = (*found)->defaults().entries();
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equal = words[i].find('=');
    const std::string name = words[i].substr(0, equal);
    const auto field = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto &entry) { return entry.name == name; });
    if (equal == std::string::npos || field == entries.end())
      throw fx::Error(words[i] + ": expected FIELD=VALUE, with a field of " +
                      (*found)->defaults().str());
    field->value = valueOf(*field, words[i].substr(equal + 1));
  }
  return {found->get(), fx::Config(std::move(entries))};
}

int list(const std::vector<std::unique_ptr<LibraryFamily>> &all) {
  for (const auto &family : all)
    std::printf("%-18s %s\n", family->name().c_str(), family->defaults().str().c_str());
  return 0;
}

int show(const Request &request, const Options &options) {
  for (const std::string &arch : options.archs) {
    const fx::Target target = fx::Target::parse(arch);
    if (const fk::Support answer = request.family->supported(request.problem, target); !answer) {
      std::printf("%s: not supported: %s\n", arch.c_str(), answer.why.c_str());
      continue;
    }
    const auto configs = request.family->configs(request.problem, options.m, target);
    std::printf("%s: %s (of %zu configurations)\n", arch.c_str(), configs[0].str().c_str(),
                configs.size());
    for (const fx::Executable &code : request.family->code(request.problem, configs[0], target))
      std::printf("  %s: %u vector registers, %u spilled, %zu bytes of LDS, %zu bytes of code, "
                  "traced in %.1f ms, compiled in %.1f ms\n",
                  code.name().c_str(), code.registers(), code.spills(), code.shared_bytes(),
                  code.code_size(), code.trace_milliseconds(), code.compile_milliseconds());
  }
  return 0;
}

int run(const Request &request, const Options &options) {
  const RunReport report = request.family->run(request.problem, {}, options.m);
  std::printf("device  %s\nconfig  %s\ntime    %.2f us%s\n", fx::Device::current().str().c_str(),
              report.config.str().c_str(), report.microseconds,
              fx::Device::current().is_emulator() ? ", estimated" : "");
  if (!report.worst) {
    std::printf("there is no reference to check against\n");
    return 0;
  }
  std::printf("error   %.3g of its bound at most, at %s\n%s\n", *report.worst,
              report.worstOutput.c_str(), *report.worst <= 1 ? "PASS" : "FAIL");
  return *report.worst <= 1 ? 0 : 1;
}

int tune(const Request &request, const Options &options) {
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
                trial.config.str().c_str(),
                trial.reason.empty() ? "" : ("  (" + trial.reason + ")").c_str());
  std::printf("best: %s\n", result.config.str().c_str());
  return 0;
}

int exportList(const std::vector<std::unique_ptr<LibraryFamily>> &all, const Options &options) {
  if (options.words.size() != 2)
    throw fx::Error("export takes a list of problems and the file to write");
  std::ifstream file(options.words[0]);
  if (!file)
    throw fx::Error("can't read " + options.words[0]);
  fk::ExportList plans;
  std::string line;
  for (int at = 1; std::getline(file, line); ++at) {
    std::istringstream parts(line.substr(0, line.find('#')));
    std::vector<std::string> words;
    for (std::string word; parts >> word;)
      words.push_back(word);
    if (words.empty())
      continue;
    try {
      const Request request = parse(all, words);
      request.family->add(plans, request.problem, options.m);
    } catch (const fx::Error &error) {
      throw fx::Error(options.words[0] + ":" + std::to_string(at) + ": " + error.what());
    }
  }
  flydsl::tools::ProgressLine progress(flydsl::tools::ProgressLine::Elsewhere::nothing);
  const std::size_t written =
      plans.write(options.words[1], {.archs = options.archs}, [&](const fk::ExportStep &step) {
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
  std::printf("%s: %zu plans\n", options.words[1].c_str(), written);
  return 0;
}

int perform(int argc, char **argv) {
  Options options;
  std::string command;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      std::fputs(kUsage, stdout);
      return 0;
    }
    if (word == "--m" || word == "--arch") {
      if (++i == argc)
        throw fx::Error(word + " needs a value");
      if (word == "--m") {
        options.m = number(argv[i], word);
        if (options.m < 1)
          throw fx::Error("--m " + std::to_string(options.m) + ": a call has a row at least");
      } else {
        options.archs.clear();
        std::istringstream names(argv[i]);
        for (std::string name; std::getline(names, name, ',');)
          options.archs.push_back(fx::Target::parse(name).id());
      }
    } else if (command.empty()) {
      command = word;
    } else {
      options.words.push_back(word);
    }
  }
  const auto all = families();
  if (command == "list")
    return list(all);
  if (command == "export")
    return exportList(all, options);
  if (command == "show")
    return show(parse(all, options.words), options);
  if (command == "run")
    return run(parse(all, options.words), options);
  if (command == "tune")
    return tune(parse(all, options.words), options);
  std::fputs(kUsage, stderr);
  return 2;
}

} // namespace

int main(int argc, char **argv) {
  try {
    return perform(argc, argv);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "fly-kernels: %s\n", error.what());
    return 2;
  }
}
