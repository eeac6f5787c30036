#include "kept_figures.h"

#include <flydsl/error.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string_view>

namespace fx = flydsl;

namespace fly_kernels {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSlower = 0.03; // of a time
constexpr double kMore = 0.01;   // of a number of instructions, which are counted exactly

double counted(const CallRecord &call, const char *counter) {
  double sum = 0;
  for (const fx::LaunchCounters &launch : call.launches)
    sum += static_cast<double>(launch[counter]);
  return sum;
}

double microsecondsOf(const CallRecord &call) {
  double sum = 0;
  for (const fx::LaunchCounters &launch : call.launches)
    sum += launch.estimate.microseconds;
  return std::round(sum * 1000) / 1000;
}

double fewestGroups(const CallRecord &call) {
  double fewest = HUGE_VAL;
  for (const fx::LaunchCounters &launch : call.launches)
    fewest = std::min<double>(fewest, launch.estimate.resident_groups);
  return call.launches.empty() ? 0 : fewest;
}

/// The largest of a call's kernels.
template <auto Of> double most(const CallRecord &call) {
  double value = 0;
  for (const fx::Executable &code : call.code)
    value = std::max(value, static_cast<double>((code.*Of)()));
  return value;
}

using Call = const CallRecord &;

// Registers are given to waves in steps of 8 or more, which the last figure sees.
constexpr std::array kKinds = {
    FigureKind{"us", "microseconds, estimated", microsecondsOf, kSlower, 0.01},
    FigureKind{"launches", "launches",
               [](Call call) { return static_cast<double>(call.launches.size()); }, 0, 0},
    FigureKind{"waves", "waves", [](Call call) { return counted(call, "SQ_WAVES"); }, kMore, 0},
    FigureKind{
        "vector", "vector instructions besides matrix instructions",
        [](Call call) { return counted(call, "SQ_INSTS_VALU") - counted(call, "SQ_INSTS_MFMA"); },
        kMore, 0},
    FigureKind{"matrix", "matrix instructions",
               [](Call call) { return counted(call, "SQ_INSTS_MFMA"); }, kMore, 0},
    FigureKind{"scalar", "scalar instructions",
               [](Call call) { return counted(call, "SQ_INSTS_SALU"); }, kMore, 0},
    FigureKind{"scalar_memory", "scalar memory instructions",
               [](Call call) { return counted(call, "SQ_INSTS_SMEM"); }, kMore, 0},
    FigureKind{"memory", "vector memory instructions",
               [](Call call) { return counted(call, "SQ_INSTS_VMEM"); }, kMore, 0},
    FigureKind{"lines", "cache lines that accesses touch",
               [](Call call) { return counted(call, "TCP_TOTAL_CACHE_ACCESSES"); }, kMore, 0},
    FigureKind{"lds", "LDS instructions", [](Call call) { return counted(call, "SQ_INSTS_LDS"); },
               kMore, 0},
    FigureKind{"conflicts", "LDS cycles of bank conflicts",
               [](Call call) { return counted(call, "SQ_LDS_BANK_CONFLICT"); }, 0, 0},
    FigureKind{"registers", "vector registers of a lane", most<&fx::Executable::registers>, 0, 8},
    FigureKind{"scalar_registers", "scalar registers of a wave",
               most<&fx::Executable::scalar_registers>, 0, 8},
    FigureKind{"lds_bytes", "bytes of LDS of a workgroup", most<&fx::Executable::shared_bytes>, 0,
               0},
    FigureKind{"scratch", "bytes of scratch memory of a lane", most<&fx::Executable::scratch_bytes>,
               0, 0},
    FigureKind{"spills", "spilled registers", most<&fx::Executable::spills>, 0, 0},
    FigureKind{"groups", "workgroups that a multiprocessor holds", fewestGroups, 0, 0, true},
};

/// The class of an instruction, by the first letters of its name; the first row that fits counts.
struct CodePrefix {
  std::string_view prefix;
  CodeClass of;
};
constexpr CodePrefix kCodePrefixes[] = {
    {"v_mfma", CodeClass::matrix},
    {"v_smfmac", CodeClass::matrix},
    {"v_wmma", CodeClass::matrix},
    {"v_swmmac", CodeClass::matrix},
    {"v_nop", CodeClass::scheduling},
    {"v_", CodeClass::vector},
    {"s_nop", CodeClass::scheduling},
    {"s_wait", CodeClass::scheduling},
    {"s_delay_alu", CodeClass::scheduling},
    {"s_clause", CodeClass::scheduling},
    {"s_code_end", CodeClass::scheduling},
    {"s_load", CodeClass::scalar_memory},
    {"s_buffer_", CodeClass::scalar_memory},
    {"s_store", CodeClass::scalar_memory},
    {"s_scratch_", CodeClass::scalar_memory},
    {"s_", CodeClass::scalar},
    {"ds_", CodeClass::lds},
    {"global_", CodeClass::memory},
    {"buffer_", CodeClass::memory},
    {"flat_", CodeClass::memory},
    {"scratch_", CodeClass::memory},
    {"tensor_", CodeClass::memory},
    {"cluster_", CodeClass::memory},
    {"image_", CodeClass::memory},
};

/// How many instructions of each class the code of all kernels has.
CodeCounts countsOf(const std::vector<fx::Executable> &kernels) {
  CodeCounts counts{};
  for (const fx::Executable &code : kernels) {
    std::istringstream lines(code.isa());
    for (std::string line; std::getline(lines, line);) {
      const std::size_t first = line.find_first_not_of(" \t");
      if (first == std::string::npos)
        continue;
      const std::string_view name = std::string_view(line).substr(first);
      const auto at =
          std::find_if(std::begin(kCodePrefixes), std::end(kCodePrefixes),
                       [&](const CodePrefix &one) { return name.starts_with(one.prefix); });
      if (at != std::end(kCodePrefixes))
        ++counts[static_cast<std::size_t>(at->of)];
    }
  }
  return counts;
}
template <CodeClass Of> double inCode(Call call) {
  return static_cast<double>(call.counts[static_cast<std::size_t>(Of)]);
}

constexpr std::array kCodeKinds = {
    FigureKind{"vector", "vector instructions besides matrix instructions",
               inCode<CodeClass::vector>, kMore, 0},
    FigureKind{"matrix", "matrix instructions", inCode<CodeClass::matrix>, kMore, 0},
    FigureKind{"scalar", "scalar instructions", inCode<CodeClass::scalar>, kMore, 0},
    FigureKind{"scalar_memory", "scalar memory instructions", inCode<CodeClass::scalar_memory>,
               kMore, 0},
    FigureKind{"memory", "vector memory instructions", inCode<CodeClass::memory>, kMore, 0},
    FigureKind{"lds", "LDS instructions", inCode<CodeClass::lds>, kMore, 0},
    FigureKind{"registers", "vector registers of a lane", most<&fx::Executable::registers>, 0, 8},
    FigureKind{"scalar_registers", "scalar registers of a wave",
               most<&fx::Executable::scalar_registers>, 0, 8},
    FigureKind{"lds_bytes", "bytes of LDS of a workgroup", most<&fx::Executable::shared_bytes>, 0,
               0},
    FigureKind{"scratch", "bytes of scratch memory of a lane", most<&fx::Executable::scratch_bytes>,
               0, 0},
    FigureKind{"spills", "spilled registers", most<&fx::Executable::spills>, 0, 0},
};

const char *nameOf(FiguresOf of) { return of == FiguresOf::call ? "calls" : "code"; }

/// What a file keeps by its own word; one without a word keeps calls.
FiguresOf ofNamed(const std::string &path, const std::string &name) {
  for (const FiguresOf of : {FiguresOf::call, FiguresOf::code})
    if (name == nameOf(of))
      return of;
  throw fx::Error(path + " keeps figures of \"" + name + "\"; \"calls\" and \"code\" are known");
}

std::string text(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.10g", value);
  return buffer;
}

bool isWorse(const FigureKind &kind, double kept, double now) {
  const double grown = kind.moreIsBetter ? kept - now : now - kept;
  return grown > kind.absolute && grown > kind.share * kept;
}

Json jsonOf(const CallFigures &call, std::span<const FigureKind> kinds) {
  Json row = {{"problem", call.problem}};
  if (call.values.empty()) {
    row["supported"] = false;
    return row;
  }
  row["configuration"] = call.configuration;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    if (call.values[i] == std::floor(call.values[i]))
      row[kinds[i].name] = static_cast<std::int64_t>(call.values[i]);
    else
      row[kinds[i].name] = call.values[i];
  return row;
}

CallFigures callOf(const Json &row, std::span<const FigureKind> kinds) {
  CallFigures call{.problem = row.at("problem")};
  if (row.contains("supported"))
    return call;
  call.configuration = row.at("configuration");
  for (const FigureKind &kind : kinds)
    call.values.push_back(row.at(kind.name));
  return call;
}

} // namespace

std::span<const FigureKind> figureKinds(FiguresOf of) {
  if (of == FiguresOf::code)
    return kCodeKinds;
  return kKinds;
}

std::vector<double> figuresOf(const CallRecord &call, FiguresOf of) {
  CallRecord counted = call;
  if (of == FiguresOf::code) // a disassembly is what takes the time: one for all classes
    counted.counts = countsOf(call.code);
  std::vector<double> values;
  for (const FigureKind &kind : figureKinds(of))
    values.push_back(kind.of(counted));
  return values;
}

KeptFigures KeptFigures::read(const std::string &path) {
  std::ifstream file(path);
  if (!file)
    throw fx::Error("can't read " + path + "; --write makes it");
  try {
    const Json json = Json::parse(file);
    KeptFigures kept{json.at("device"), {}, ofNamed(path, json.value("of", "calls"))};
    for (const Json &row : json.at("calls"))
      kept.calls.push_back(callOf(row, figureKinds(kept.of)));
    return kept;
  } catch (const nlohmann::json::exception &error) {
    throw fx::Error(path + " does not have the form of kept figures: " + error.what() +
                    "; --write makes it anew");
  }
}

void KeptFigures::write(const std::string &path) const {
  std::string all = "{\n\"device\": " + Json(device).dump() + ",\n";
  if (of == FiguresOf::code)
    all += "\"of\": \"code\",\n";
  all += "\"calls\": [";
  for (const CallFigures &call : calls) // a line each, for those who compare versions
    all += (&call == calls.data() ? "\n" : ",\n") + jsonOf(call, figureKinds(of)).dump();
  all += "\n]\n}\n";
  std::ofstream file(path, std::ios::trunc);
  file << all;
  file.close();
  if (!file)
    throw fx::Error("can't write " + path);
}

FigureChanges changesOf(const KeptFigures &kept, const KeptFigures &now) {
  FigureChanges changes;
  if (kept.device != now.device) {
    changes.worse.push_back("the file keeps figures of the device " + kept.device +
                            ", and the current one is " + now.device);
    return changes;
  }
  if (kept.of != now.of) {
    changes.worse.push_back(std::string("the file keeps figures of ") + nameOf(kept.of) +
                            ", and these are of " + nameOf(now.of) +
                            ": --every N looks at code alone");
    return changes;
  }
  const std::span<const FigureKind> kinds = figureKinds(now.of);
  const auto find = [](const KeptFigures &all, const std::string &problem) {
    const auto at = std::find_if(all.calls.begin(), all.calls.end(),
                                 [&](const CallFigures &call) { return call.problem == problem; });
    return at == all.calls.end() ? nullptr : &*at;
  };
  for (const CallFigures &call : kept.calls)
    if (!find(now, call.problem))
      changes.worse.push_back(call.problem + ": the list does not have this problem any more");
  for (const CallFigures &call : now.calls) {
    const CallFigures *before = find(kept, call.problem);
    if (!before) {
      changes.worse.push_back(call.problem + ": nothing is kept of it");
      continue;
    }
    if (call == *before)
      continue;
    if (before->values.empty() || call.values.empty()) {
      (call.values.empty() ? changes.worse : changes.better)
          .push_back(call.problem + (call.values.empty() ? ": was supported, and is not any more"
                                                         : ": is supported now"));
      continue;
    }
    std::string worse, better;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
      const double was = before->values[i], is = call.values[i];
      if (was == is)
        continue;
      std::string change = std::string(kinds[i].what) + " " + text(was) + " -> " + text(is);
      if (was > 0) {
        char percent[32];
        std::snprintf(percent, sizeof percent, " (%+.1f %%)", (is / was - 1) * 100);
        change += percent;
      }
      std::string &to = isWorse(kinds[i], was, is) ? worse : better;
      to += (to.empty() ? "" : ", ") + change;
    }
    std::string chosen;
    if (call.configuration != before->configuration)
      chosen = "; the configuration was " + before->configuration + " and is " + call.configuration;
    if (!worse.empty())
      changes.worse.push_back(call.problem + ": " + worse + chosen);
    else
      changes.better.push_back(call.problem + ": " + better + chosen);
  }
  return changes;
}

} // namespace fly_kernels
