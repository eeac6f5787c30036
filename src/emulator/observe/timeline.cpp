#include "emulator/observe/timeline.h"

#include "emulator/core/program.h"
#include "support/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <utility>

namespace flyemu {

namespace {
struct Look {
  const char *name, *colour;
};
/// By Activity.
constexpr Look kLooks[] = {
    {"vector", "#4e79a7"},        {"matrix", "#e15759"},      {"scalar", "#bab0ac"},
    {"memory", "#59a14f"},        {"LDS", "#f28e2b"},         {"wait", "#eeeeee"},
    {"barrier", "#cfcfcf"},       {"SIMD in use", "#f7c6c7"}, {"memory under way", "#59a14f"},
    {"LDS under way", "#f28e2b"}, {"matrix unit", "#e15759"},
};
const Look &lookOf(Activity a) { return kLooks[static_cast<size_t>(a)]; }

bool isUnderWay(const TimelineEvent &e) { return e.activity >= Activity::MemoryUnderWay; }

/// Text inside the quotes of JSON.
std::string quoted(const std::string &text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < ' ') {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(c));
      out += code;
      continue;
    }
    if (c == '"' || c == '\\')
      out += '\\';
    out += c;
  }
  return out;
}

/// The names of instructions, each asked for once.
class Names {
public:
  explicit Names(const KernelCode &kernel) : kernel_(kernel) {}
  struct Name {
    std::string text, source;
  };
  const Name &of(uint32_t inst) {
    auto [name, fresh] = names_.try_emplace(inst);
    if (fresh) {
      name->second.text = kernel_.program->text(inst);
      if (kernel_.source)
        name->second.source = kernel_.source(kernel_.program->address + uint64_t(inst) * 4);
    }
    return name->second;
  }

private:
  const KernelCode &kernel_;
  std::map<uint32_t, Name> names_;
};
} // namespace

std::string chromeTrace(const std::vector<TimelineEvent> &events, const KernelCode &kernel,
                        uint64_t firstProcess) {
  Names names(kernel);
  std::string out;
  auto add = [&](const std::string &object) { out += (out.empty() ? "" : ",\n") + object; };
  std::map<uint64_t, uint64_t> processes;
  for (const TimelineEvent &e : events)
    if (processes.try_emplace(e.group, firstProcess + processes.size()).second)
      add(R"({"ph":"M","name":"process_name","pid":)" + std::to_string(processes[e.group]) +
          R"(,"args":{"name":")" + quoted(kernel.name) + ", workgroup " + std::to_string(e.group) +
          "\"}}");
  uint64_t number = 0;
  for (const TimelineEvent &e : events) {
    const Names::Name &name = names.of(e.inst);
    auto time = [](uint64_t cycles) {
      char text[32];
      std::snprintf(text, sizeof text, "%.3f", static_cast<double>(cycles) / 1000);
      return std::string(text);
    };
    const std::string common =
        R"("name":")" + quoted(name.text) + R"(","cat":")" + lookOf(e.activity).name +
        R"(","pid":)" + std::to_string(processes[e.group]) + R"(,"tid":)" + std::to_string(e.wave);
    const std::string args =
        name.source.empty() ? "" : R"(,"args":{"source":")" + quoted(name.source) + "\"}";
    if (!isUnderWay(e)) {
      add("{\"ph\":\"X\"," + common + ",\"ts\":" + time(e.start) +
          ",\"dur\":" + time(e.end - e.start) + args + "}");
      continue;
    }
    const std::string id = ",\"id\":" + std::to_string(firstProcess << 32 | number++);
    add("{\"ph\":\"b\"," + common + id + ",\"ts\":" + time(e.start) + args + "}");
    add("{\"ph\":\"e\"," + common + id + ",\"ts\":" + time(e.end) + "}");
  }
  return out;
}

std::string timelineSvg(const std::vector<TimelineEvent> &events, const KernelCode &kernel) {
  constexpr double kWidth = 1200, kLeft = 90, kRow = 22, kBar = 14, kTop = 46;
  uint64_t end = 1;
  std::map<std::pair<uint64_t, unsigned>, std::vector<TimelineEvent>> rows;
  for (const TimelineEvent &e : events) {
    end = std::max(end, e.end);
    rows[{e.group, e.wave}].push_back(e);
  }
  auto x = [&](uint64_t cycles) {
    return kLeft + static_cast<double>(cycles) * (kWidth - kLeft - 10) / static_cast<double>(end);
  };
  const double height = kTop + kRow * static_cast<double>(rows.size()) + 24;
  flydsl::support::Svg svg(kWidth, height, {},
                           {{"font-family", "sans-serif"}, {"font-size", "11"}});
  svg.text(4, 14, kernel.name + ", " + std::to_string(end) + " cycles");
  double legend = kLeft;
  for (size_t k = 0; k <= static_cast<size_t>(Activity::Contention); ++k, legend += 90) {
    svg.rect(legend, 22, 10, 10,
             {{"fill", kLooks[k].colour}, {"stroke", "#999"}, {"stroke-width", "0.4"}});
    svg.text(legend + 14, 31, kLooks[k].name);
  }
  double y = kTop;
  for (const auto &[key, row] : rows) {
    svg.text(4, y + 11, std::to_string(key.first) + ": wave " + std::to_string(key.second));
    auto bar = [&](const TimelineEvent &e) {
      // The matrix unit hides what its wave does meanwhile: it is what a product is bound by.
      const bool thin = isUnderWay(e) && e.activity != Activity::MatrixUnderWay;
      const double lower = e.activity == Activity::LdsUnderWay ? 2.5 : 0;
      svg.rect(x(e.start), thin ? y + kBar + 0.5 + lower : y, std::max(0.05, x(e.end) - x(e.start)),
               thin ? 2.0 : kBar, {{"fill", lookOf(e.activity).colour}});
    };
    // Neighbours of one activity are one bar: a picture has no room for each instruction.
    for (size_t activity = 0; activity < std::size(kLooks); ++activity) {
      if (static_cast<Activity>(activity) == Activity::Matrix)
        continue; // what it issues to has a bar
      TimelineEvent run;
      bool any = false;
      for (const TimelineEvent &e : row) {
        if (e.activity != static_cast<Activity>(activity))
          continue;
        if (any && x(e.start) <= x(run.end) + 0.2) {
          run.end = std::max(run.end, e.end);
          continue;
        }
        if (any)
          bar(run);
        run = e;
        any = true;
      }
      if (any)
        bar(run);
    }
    y += kRow;
  }
  for (unsigned k = 0; k <= 4; ++k)
    svg.text(std::round(x(end * k / 4)), height - 8, std::to_string(end * k / 4),
             {{"text-anchor", "middle"}});
  return std::move(svg).finish();
}

} // namespace flyemu
