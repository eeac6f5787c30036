// The counters of the process as text for Prometheus: names, help and units are one table.
#include <flydsl/host/stats.h>

#include <charconv>
#include <string_view>

FLYDSL_NAMESPACE_BEGIN

namespace {

/// One counter: a count, or a time, which Prometheus wants in seconds.
struct Metric {
  std::string_view name, help;
  std::uint64_t Stats::*count = nullptr;
  double Stats::*milliseconds = nullptr;
};

constexpr Metric kMetrics[] = {
    {"flydsl_traces_total", "Kernels traced.", &Stats::traces},
    {"flydsl_compiles_total", "Code objects generated.", &Stats::compiles},
    {"flydsl_memory_hits_total", "Code objects found in memory.", &Stats::memory_hits},
    {"flydsl_disk_hits_total", "Code objects read from a cache directory.", &Stats::disk_hits},
    {"flydsl_failures_total", "Traces and compiles that ended in an error.", &Stats::failures},
    {"flydsl_loads_total", "Modules loaded on a device.", &Stats::loads},
    {"flydsl_compiled_bytes_total", "Bytes of the code objects that were generated.",
     &Stats::bytes_compiled},
    {"flydsl_disk_read_bytes_total", "Bytes of the code objects that were read from disk.",
     &Stats::bytes_from_disk},
    {"flydsl_trace_seconds_total", "Time in tracing kernels.", nullptr, &Stats::trace_milliseconds},
    {"flydsl_compile_seconds_total", "Time in compiling kernels.", nullptr,
     &Stats::compile_milliseconds},
    {"flydsl_disk_seconds_total", "Time in reading code objects from disk.", nullptr,
     &Stats::disk_milliseconds},
    {"flydsl_load_seconds_total", "Time in loading modules.", nullptr, &Stats::load_milliseconds},
    {"flydsl_remote_hits_total", "Code objects and winners that the fleet's cache had.",
     &Stats::remote_hits},
    {"flydsl_remote_misses_total", "Code objects and winners that the fleet's cache did not have.",
     &Stats::remote_misses},
    {"flydsl_remote_stores_total", "Code objects and winners given to the fleet's cache.",
     &Stats::remote_stores},
    {"flydsl_remote_rejected_total", "Entries of the fleet's cache that were not taken.",
     &Stats::remote_rejected},
    {"flydsl_remote_failures_total", "Requests of the fleet's cache that failed.",
     &Stats::remote_failures},
    {"flydsl_remote_skipped_total", "Requests of the fleet's cache not sent after failures.",
     &Stats::remote_skipped},
    {"flydsl_remote_read_bytes_total", "Bytes of entries read from the fleet's cache.",
     &Stats::bytes_from_remote},
    {"flydsl_remote_seconds_total", "Time in requests of the fleet's cache, waiting included.",
     nullptr, &Stats::remote_milliseconds},
};
static_assert(sizeof kMetrics / sizeof *kMetrics * sizeof(std::uint64_t) == sizeof(Stats),
              "each counter has a row");

/// The shortest text that reads back as the number, whatever the locale is.
void append(std::string &text, auto number) {
  char digits[32];
  text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
}

} // namespace

std::string prometheus_text(const Stats &stats) {
  std::string text;
  for (const Metric &metric : kMetrics) {
    text.append("# HELP ").append(metric.name).append(" ").append(metric.help);
    text.append("\n# TYPE ").append(metric.name).append(" counter\n");
    text.append(metric.name).append(" ");
    if (metric.count)
      append(text, stats.*metric.count);
    else
      append(text, stats.*metric.milliseconds / 1000);
    text += '\n';
  }
  return text;
}

FLYDSL_NAMESPACE_END
