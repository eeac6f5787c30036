// Plans for a list of problems, compiled ahead of time into one file.
#pragma once

#include <flydsl/kernels/compile.h>

#include <algorithm>
#include <functional>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

/// One plan of a list: what it is, and how far the list is done.
struct ExportStep {
  std::string_view family;
  std::string problem;     ///< its fields, as fx::Config::str writes them
  const Target *target;    ///< that the plan is for
  std::size_t done, total; ///< plans of the list that are done, this one not yet; all of them
  const Support &support;  ///< no: the target does not support the problem, which is left out
};

/// Problems of any families. For each target a problem's plans are those that `choose` gives for
/// the numbers of rows that a model meets, each once:
///
///   fk::ExportList list;
///   list.add(norm, {1, 64, 4096}).add(product, {1, 64, 4096});
///   list.write("kernels.flyaot", {.archs = {"gfx942", "gfx950"}});
///
/// Plan::load(file, problem, choose(problem, m)) finds them again.
class ExportList {
public:
  using Progress = std::function<void(const ExportStep &)>;

  ExportList() = default;
  /// A list of plans with these options.
  explicit ExportList(const PlanOptions &options) : options_(options) {}

  /// Adds a problem, for about each of these numbers of rows. A problem that is in the list already
  /// gets these numbers too, so an engine may add what each of its layers needs.
  template <Problem P> ExportList &add(const P &problem, const std::vector<std::int64_t> &rows) {
    Entry &entry = find(FamilyOf<P>::name, to_config(problem));
    entry.rows.insert(entry.rows.end(), rows.begin(), rows.end());
    entry.supported = [problem](const Target &target) { return supported(problem, target); };
    entry.write = [problem](const std::vector<std::int64_t> &all, const std::string &path,
                            AotConfig aot, const PlanOptions &options, const Target &target,
                            const std::source_location &where) {
      std::vector<ConfigOf<P>> written;
      for (std::int64_t m : all) {
        const ConfigOf<P> config = choose(problem, m, target);
        if (std::find(written.begin(), written.end(), config) != written.end())
          continue;
        export_aot(problem, config, path, aot, options, where);
        aot.append = true;
        written.push_back(config);
      }
      return written.size();
    };
    return *this;
  }
  /// Compiles the plans for each target of `aot.archs`, or for the current device's if there are
  /// none, and writes them to the file, or adds them with `aot.append`. `progress` is called before
  /// each problem and target. Returns the number of plans. Throws Error if it is 0, and what
  /// export_aot throws.
  std::size_t write(const std::string &path, const AotConfig &aot = {},
                    const Progress &progress = {},
                    std::source_location where = std::source_location::current()) const {
    std::vector<std::string> archs = aot.archs;
    if (archs.empty())
      archs.push_back(Device::current(where).target().id());
    AotConfig each = aot;
    std::size_t done = 0, plans = 0;
    for (const Entry &entry : entries_)
      for (const std::string &arch : archs) {
        const Target target = Target::parse(arch);
        const Support support = entry.supported(target);
        if (progress)
          progress({entry.family, entry.problem.str(), &target, done,
                    entries_.size() * archs.size(), support});
        ++done;
        if (!support)
          continue;
        each.archs = {arch};
        plans += entry.write(entry.rows, path, each, options_, target, where);
        each.append = true;
      }
    if (plans == 0)
      throw Error("kernels::ExportList: " + path + " would have no plans; " +
                  (entries_.empty() ? "the list is empty"
                                    : "no target supports one of the list's problems"));
    return plans;
  }

private:
  struct Entry {
    std::string_view family;
    Config problem;
    std::vector<std::int64_t> rows = {};
    std::function<Support(const Target &)> supported = {};
    std::function<std::size_t(const std::vector<std::int64_t> &, const std::string &, AotConfig,
                              const PlanOptions &, const Target &, const std::source_location &)>
        write = {};
  };
  /// The entry of a problem, which is new if there was none.
  Entry &find(std::string_view family, Config problem) {
    for (Entry &entry : entries_)
      if (entry.family == family && entry.problem == problem)
        return entry;
    return entries_.emplace_back(Entry{family, std::move(problem)});
  }
  PlanOptions options_;
  std::vector<Entry> entries_;
};

} // namespace kernels
FLYDSL_NAMESPACE_END
