// The trace event format of Chrome ("Trace Event Format", chromium.org/developers): processes are
// launches, threads are waves. Pushed ranges are duration events (B, E), which nest; ranges of
// tokens are asynchronous ones (b, e), which need not; marks are instants (i).
#include <flydsl/kernel/ktrace.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

FLYDSL_NAMESPACE_BEGIN
namespace ktrace {
namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else {
      out += c;
    }
  }
  return out + '"';
}

/// JSON has no infinities and no NaN; those are strings.
template <class T> std::string numberText(T value) {
  if (!std::isfinite(value))
    return quoted(std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
  char text[40];
  std::snprintf(text, sizeof text, "%.*g", sizeof(T) == 4 ? 9 : 17, static_cast<double>(value));
  return text;
}

std::string payloadText(const Payload &payload) {
  return std::visit(
      [](const auto &value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::monostate>)
          return {};
        else if constexpr (std::is_same_v<T, bool>)
          return value ? "true" : "false";
        else if constexpr (std::is_floating_point_v<T>)
          return numberText(value);
        else
          return std::to_string(value);
      },
      payload);
}

class Writer {
public:
  explicit Writer(std::uint64_t origin) : origin_(origin) {}

  void launch(const Launch &launch, std::size_t number) {
    const std::string process = "\"pid\":" + std::to_string(number + 1);
    std::string name =
        launch.kernel + " on device " + std::to_string(launch.device) + " (" + launch.target + ")";
    if (launch.dropped)
      name += ", " + std::to_string(launch.dropped) + " events dropped";
    add("\"ph\":\"M\",\"name\":\"process_name\"," + process +
        ",\"args\":{\"name\":" + quoted(name) + "}");
    std::size_t begin = 0;
    for (unsigned thread = 1; begin < launch.events.size(); ++thread) {
      const Event &first = launch.events[begin];
      std::size_t end = begin;
      while (end < launch.events.size() && launch.events[end].block == first.block &&
             launch.events[end].wave == first.wave)
        ++end;
      wave(launch, begin, end, process + ",\"tid\":" + std::to_string(thread));
      begin = end;
    }
  }

  std::string text() const {
    return "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[" + out_ + "]}\n";
  }

private:
  void wave(const Launch &launch, std::size_t begin, std::size_t end, const std::string &where) {
    const Event &first = launch.events[begin];
    add("\"ph\":\"M\",\"name\":\"thread_name\"," + where + ",\"args\":{\"name\":" +
        quoted("block (" + std::to_string(first.block[0]) + ", " + std::to_string(first.block[1]) +
               ", " + std::to_string(first.block[2]) + ") wave " + std::to_string(first.wave) +
               ", die " + std::to_string(first.die) + " engine " + std::to_string(first.engine) +
               " unit " + std::to_string(first.compute_unit)) +
        "}");
    std::size_t pushed = 0;
    std::map<std::size_t, const Event *> started;
    const std::uint64_t last = launch.events[end - 1].ticks;
    for (std::size_t i = begin; i < end; ++i) {
      const Event &event = launch.events[i];
      switch (event.kind) {
      case Kind::mark:
        put("i", launch, event.name, event.ticks, where + ",\"s\":\"t\"", event.payload);
        break;
      case Kind::range_push:
        ++pushed;
        put("B", launch, event.name, event.ticks, where, event.payload);
        break;
      case Kind::range_pop:
        if (pushed) { // else its push came before the events that found room
          --pushed;
          put("E", launch, {}, event.ticks, where, event.payload);
        }
        break;
      case Kind::range_start:
        started[i] = &event;
        put("b", launch, event.name, event.ticks, where + asynchronous(i), event.payload);
        break;
      case Kind::range_stop:
        if (event.start && started.erase(*event.start))
          put("e", launch, event.name, event.ticks, where + asynchronous(*event.start),
              event.payload);
        break;
      }
    }
    for (; pushed; --pushed)
      put("E", launch, {}, last, where, {});
    for (auto [i, event] : started)
      put("e", launch, event->name, last, where + asynchronous(i), {});
  }

  static std::string asynchronous(std::size_t event) {
    return ",\"cat\":\"range\",\"id\":" + std::to_string(event);
  }

  void put(const char *phase, const Launch &launch, std::string_view name, std::uint64_t ticks,
           const std::string &where, const Payload &payload) {
    const double microseconds =
        static_cast<double>(ticks - origin_) * launch.nanoseconds_per_tick / 1000;
    char time[40];
    std::snprintf(time, sizeof time, "%.3f", microseconds);
    std::string event = std::string("\"ph\":\"") + phase + "\",\"ts\":" + time + "," + where;
    if (!name.empty())
      event += ",\"name\":" + quoted(name);
    if (payload.index())
      event += ",\"args\":{\"payload\":" + payloadText(payload) + "}";
    add(event);
  }

  void add(const std::string &event) {
    out_ += out_.empty() ? "\n{" : ",\n{";
    out_ += event + "}";
  }

  std::uint64_t origin_;
  std::string out_;
};

} // namespace

std::string chrome_trace(const std::vector<Launch> &launches) {
  std::uint64_t origin = UINT64_MAX;
  for (const Launch &launch : launches)
    for (const Event &event : launch.events)
      origin = std::min(origin, event.ticks);
  Writer writer(origin);
  for (std::size_t i = 0; i < launches.size(); ++i)
    writer.launch(launches[i], i);
  return writer.text();
}

} // namespace ktrace
FLYDSL_NAMESPACE_END
