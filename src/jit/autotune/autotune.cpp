// The search: builds configurations on several threads, checks their results, measures them one
// after another, and keeps the winner.
#include "jit/autotune/winners.h"
#include "jit/compile/build_id.h"
#include "runtime/new_findings.h"
#include "support/env_variables.h"
#include "support/log.h"

#include <flydsl/host/device.h>

#include <algorithm>
#include <atomic>
#include <thread>

FLYDSL_NAMESPACE_BEGIN
namespace {

/// A configuration on its way through a search.
struct Attempt {
  Trial trial;
  std::optional<Candidate> candidate;
};

std::string cacheDirectory() {
  if (auto named = support::env::kAutotuneCacheDir.get())
    return *named;
  if (auto home = support::env::kHome.get())
    return *home + "/.flydsl/autotune";
  return {};
}

/// What the exception that is handled says. The caller's functions may throw anything.
std::string thrownText() {
  try {
    throw;
  } catch (const std::exception &error) {
    return error.what();
  } catch (...) {
    return "it threw what is no std::exception";
  }
}

/// Builds one configuration and drops what is not worth a measurement.
void build(Attempt &attempt, const std::function<Candidate(const Config &)> &builder,
           const Device &device, bool allowSpills) {
  Trial &trial = attempt.trial;
  try {
    attempt.candidate = builder(trial.config);
    const Executable &executable = attempt.candidate->executable;
    if (executable.shared_bytes() > device.shared_memory()) {
      trial.outcome = Trial::Outcome::too_large;
      trial.reason = std::to_string(executable.shared_bytes()) + " bytes of LDS; the device has " +
                     std::to_string(device.shared_memory());
      attempt.candidate.reset();
    } else if (executable.spills() && !allowSpills) {
      trial.outcome = Trial::Outcome::spills;
      trial.reason = std::to_string(executable.spills()) + " registers spilled";
      attempt.candidate.reset();
    }
  } catch (...) {
    trial.outcome = Trial::Outcome::failed;
    trial.reason = thrownText();
  }
}

void buildAll(std::vector<Attempt> &attempts,
              const std::function<Candidate(const Config &)> &builder, const Device &device,
              const AutotuneOptions &options) {
  unsigned count =
      options.threads ? options.threads : std::max(1u, std::thread::hardware_concurrency());
  count = std::min<unsigned>(count, static_cast<unsigned>(attempts.size()));
  std::atomic<std::size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < count; ++t)
    threads.emplace_back([&] {
      device.make_current();
      for (std::size_t i; (i = next++) < attempts.size();)
        build(attempts[i], builder, device, options.allow_spills);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// The median of a run, by events.
double timeOf(const Candidate &candidate, const AutotuneOptions &options) {
  Stream stream;
  Event start, stop;
  std::vector<float> times;
  int iteration = 0;
  for (int i = 0; i < options.warmup; ++i)
    candidate.run(stream, iteration++);
  stream.synchronize();
  for (int i = 0; i < options.repeat; ++i) {
    start.record(stream);
    candidate.run(stream, iteration++);
    stop.record(stream);
    stop.synchronize();
    times.push_back(stop.milliseconds_since(start));
  }
  stream.synchronize();
  std::nth_element(times.begin(), times.begin() + static_cast<long>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

/// What the emulator's model says of one run; the same for every run.
double estimateOf(const Candidate &candidate, const Device &device) {
  const std::vector<LaunchCounters> launches = device.count_launches([&] {
    Stream stream;
    candidate.run(stream, 0);
    stream.synchronize();
  });
  if (launches.empty())
    throw Error("its run launches nothing");
  double microseconds = 0;
  for (const LaunchCounters &launch : launches)
    microseconds += launch.estimate.microseconds;
  return microseconds / 1e3;
}

/// Runs a candidate once. Says why its results are wrong; empty if no check says that they are.
std::string wrongOf(const Attempt &attempt, const Device &device, const AutotuneOptions &options) {
  runtime::NewFindings findings(device.ordinal());
  {
    Stream stream;
    attempt.candidate->run(stream, 0);
    stream.synchronize();
  }
  if (std::string found = findings.newest(); !found.empty())
    return "a check of the emulator found: " + found;
  try {
    if (options.validate && !options.validate(attempt.trial.config))
      return "validate says that its results are wrong";
  } catch (...) {
    return "validate: " + thrownText();
  }
  return {};
}

/// Drops a candidate that does not run, or whose results are wrong. All candidates are run and
/// checked, one by one, before the first is measured, so that each check sees the results of its
/// own run.
void validate(Attempt &attempt, const Device &device, const AutotuneOptions &options) {
  Trial &trial = attempt.trial;
  try {
    if (!attempt.candidate->run)
      throw Error("the candidate has no function that runs it");
    trial.reason = wrongOf(attempt, device, options);
    trial.outcome = Trial::Outcome::wrong;
  } catch (...) {
    trial.reason = thrownText();
    trial.outcome = Trial::Outcome::failed;
  }
  if (!trial.reason.empty())
    attempt.candidate.reset();
}

void measure(Attempt &attempt, const Device &device, const AutotuneOptions &options) {
  Trial &trial = attempt.trial;
  try {
    trial.milliseconds = device.is_emulator() ? estimateOf(*attempt.candidate, device)
                                              : timeOf(*attempt.candidate, options);
    trial.outcome = Trial::Outcome::measured;
  } catch (...) {
    trial.outcome = Trial::Outcome::failed;
    trial.reason = thrownText();
  }
  attempt.candidate.reset();
}

AutotuneResult search(const std::string &name, const std::vector<Config> &configs,
                      const std::function<Candidate(const Config &)> &builder, const Device &device,
                      const AutotuneOptions &options) {
  if (device.is_emulator())
    support::log().warn("autotune {}: on the emulator the cost is an estimate, from its counters, "
                        "of the cycles of a {}",
                        name, device.arch());
  std::vector<Attempt> attempts(configs.size());
  for (std::size_t i = 0; i < configs.size(); ++i)
    attempts[i].trial.config = configs[i];
  buildAll(attempts, builder, device, options);

  AutotuneResult result;
  for (Attempt &attempt : attempts)
    if (attempt.candidate)
      validate(attempt, device, options);
  const Trial *best = nullptr;
  std::size_t done = 0;
  for (Attempt &attempt : attempts) {
    if (attempt.candidate)
      measure(attempt, device, options);
    const Trial &trial = attempt.trial;
    if (trial.outcome == Trial::Outcome::measured) {
      support::log().info("autotune {}: {}: {:.4f} ms", name, trial.config.str(),
                          trial.milliseconds);
      if (!best || trial.milliseconds < best->milliseconds)
        best = &trial;
    } else {
      support::log().warn("autotune {}: {} is skipped: {}", name, trial.config.str(), trial.reason);
    }
    if (options.progress)
      options.progress(trial, ++done, attempts.size());
  }
  if (!best) {
    std::string reasons;
    for (const Attempt &attempt : attempts)
      reasons += "\n  " + attempt.trial.config.str() + ": " + attempt.trial.reason;
    throw Error("autotune " + name + ": no configuration can be measured:" + reasons);
  }
  result.config = best->config;
  result.milliseconds = best->milliseconds;
  result.source = AutotuneResult::Source::search;
  for (Attempt &attempt : attempts)
    result.trials.push_back(std::move(attempt.trial));
  return result;
}

/// A name has one value: which of two is meant, nobody knows.
void expectOwnNames(const std::string &name, const Config &config) {
  const std::vector<Config::Entry> &entries = config.entries();
  for (auto entry = entries.begin(); entry != entries.end(); ++entry)
    if (std::any_of(entries.begin(), entry,
                    [&](const Config::Entry &before) { return before.name == entry->name; }))
      throw Error("autotune " + name + ": " + config.str() + " has two values for " + entry->name);
}

} // namespace

AutotuneResult autotune(const std::string &name, const std::vector<Config> &configs,
                        const Config &key, const std::function<Candidate(const Config &)> &build,
                        const AutotuneOptions &options) {
  if (configs.empty())
    throw Error("autotune " + name + ": no configurations to choose from");
  if (options.repeat < 1 || options.warmup < 0)
    throw Error("autotune " + name + ": " + std::to_string(options.repeat) +
                " measured runs after " + std::to_string(options.warmup) +
                "; one is the least, after none");
  if (!build)
    throw Error("autotune " + name + ": no function builds the configurations");
  expectOwnNames(name, key);
  for (const Config &config : configs)
    expectOwnNames(name, config);
  const Device device = Device::current();
  jit::WinnerIdentity cached{
      name, key, device.name(), device.arch(), device.compute_units(), jit::buildIdentity()};
  jit::WinnerIdentity shipped = cached;
  shipped.library.clear();
  const jit::WinnerDirectory kept{cacheDirectory(), support::Trust::ofCaches()};
  const jit::WinnerDirectory artifacts{support::env::kAutotuneConfigDir.get().value_or(""),
                                       support::Trust::named()};
  const bool forced = support::env::kAutotune.get();
  cache::RemoteTier *const fleet = cache::RemoteTier::process();

  AutotuneResult result;
  if (!forced) {
    std::optional<Config> known;
    if (!kept.path.empty() && (known = jit::readWinner(kept, cached, configs)))
      result.source = AutotuneResult::Source::cache;
    else if (!artifacts.path.empty() && (known = jit::readWinner(artifacts, shipped, configs)))
      result.source = AutotuneResult::Source::artifact;
    else if (fleet && options.default_config &&
             (known = jit::loadSharedWinner(*fleet, cached, configs)))
      result.source = AutotuneResult::Source::cache;
    else if ((known = options.default_config))
      result.source = AutotuneResult::Source::default_config;
    if (known) {
      result.config = *known;
      return result;
    }
  }
  const auto searchHere = [&] { return result = search(name, configs, build, device, options); };
  if (forced || !fleet) {
    searchHere();
    if (fleet)
      jit::storeSharedWinner(*fleet, cached, result);
  } else if (std::optional<Config> theirs = jit::searchOnce(*fleet, cached, configs, searchHere)) {
    result.config = *theirs;
    result.source = AutotuneResult::Source::cache;
  }
  // The artifact first: where it can't be written, nothing is remembered of this search.
  if (forced && !artifacts.path.empty())
    if (std::string why = jit::writeWinner(artifacts, shipped, result.config, result.milliseconds);
        !why.empty())
      throw Error("autotune " + name + ": no artifact written: " + why);
  if (!kept.path.empty())
    if (std::string why = jit::writeWinner(kept, cached, result.config, result.milliseconds);
        !why.empty())
      support::log().warn("autotune {}: the winner is not kept: {}", name, why);
  return result;
}

FLYDSL_NAMESPACE_END
