// Times from the start of a process to its first launched kernel, on any device. A child process
// reports when it reached each step. Also prints the memory that a loaded kernel takes.
//   bench_startup [runs]
#include <flydsl/flydsl.h>
#include <flydsl/stats.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fx = flydsl;

namespace {

double now() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return double(t.tv_sec) * 1e3 + double(t.tv_nsec) / 1e6;
}

auto makeShift(const std::string &name) {
  return fx::Kernel{name, [](fx::Tensor x, fx::Tensor y, fx::Float32 by) {
                      auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
                      y(i) = x(i) + by;
                    }};
}

/// Prints one line per step: its name, and the milliseconds since the parent started this process.
int child(double asked) {
  const double inMain = now();
  std::vector<std::pair<std::string, double>> steps{{"libraries loaded", inMain - asked}};
  fx::Device::current();
  steps.emplace_back("device found", now() - asked);
  auto x = fx::DeviceArray<float>::random({64}, 1);
  steps.emplace_back("array filled", now() - asked);
  auto subscription = fx::on_event([&](const fx::EventInfo &event) {
    using Kind = fx::EventInfo::Kind;
    const char *name = event.kind == Kind::traced       ? "traced (with MLIR's context)"
                       : event.kind == Kind::disk_hit   ? "found in the cache on disk"
                       : event.kind == Kind::remote_hit ? "found in the fleet's cache"
                       : event.kind == Kind::loaded     ? "loaded on the device"
                                                        : "compiled";
    steps.emplace_back(name, now() - asked);
  });
  fx::Stream stream;
  makeShift("startup")(x, x, 1.0f).launch({.block = 64, .stream = stream});
  steps.emplace_back("launched", now() - asked);
  stream.synchronize();
  for (const auto &[name, at] : steps)
    std::printf("%s\t%.3f\n", name.c_str(), at);
  return 0;
}

/// Prints the median of each step over some runs of a program that prints such lines.
void table(const char *title, const std::vector<std::string> &command, int runs) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<double>> times;
  for (int run = 0; run <= runs; ++run) { // the first run is not counted, because it fills caches
    int ends[2];
    if (pipe(ends) != 0)
      std::exit(1);
    const std::string asked = std::to_string(now());
    const pid_t pid = fork();
    if (pid == 0) {
      dup2(ends[1], 1);
      std::vector<char *> arguments;
      for (const std::string &text : command)
        arguments.push_back(const_cast<char *>(text.c_str()));
      arguments.push_back(const_cast<char *>(asked.c_str()));
      arguments.push_back(nullptr);
      execv(arguments[0], arguments.data());
      _exit(127);
    }
    close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    char line[256];
    while (std::fgets(line, sizeof line, out)) {
      char *tab = std::strchr(line, '\t');
      if (!tab || run == 0)
        continue;
      const std::string name(line, tab);
      if (!times.count(name))
        order.push_back(name);
      times[name].push_back(std::atof(tab + 1));
    }
    std::fclose(out);
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) {
      std::printf("%s failed\n", command[0].c_str());
      std::exit(1);
    }
  }
  std::printf("%s\n", title);
  double before = 0;
  for (const std::string &name : order) {
    std::vector<double> &all = times[name];
    std::sort(all.begin(), all.end());
    const double median = all[all.size() / 2];
    std::printf("  %-32s %8.2f ms  (+%.2f)\n", name.c_str(), median, median - before);
    before = median;
  }
}

/// The resident memory of this process in bytes.
double resident() {
  long pages = 0, ignored = 0;
  if (FILE *file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &ignored, &pages) != 2)
      pages = 0;
    std::fclose(file);
  }
  return double(pages) * double(sysconf(_SC_PAGESIZE));
}

int memory() {
  auto x = fx::DeviceArray<float>::random({64}, 1);
  auto run = [&](int from, int to) {
    static std::vector<decltype(makeShift(""))> kernels;
    for (int i = from; i < to; ++i) {
      kernels.push_back(makeShift("kernel_" + std::to_string(i)));
      kernels.back()(x, x, 1.0f).launch({.block = 64});
    }
    fx::Device::current().synchronize();
  };
  run(0, 100); // allocators and contexts reach their size
  const double before = resident();
  run(100, 500);
  std::printf("memory held per loaded kernel, device included: %.1f KiB\n",
              (resident() - before) / 400 / 1024);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 3 && std::strcmp(argv[1], "child") == 0)
    return child(std::atof(argv[2]));
  if (argc == 2 && std::strcmp(argv[1], "memory") == 0)
    return memory();
  const int runs = argc > 1 ? std::atoi(argv[1]) : 9;
  const std::string self = argv[0];
  const std::string folder = self.substr(0, self.rfind('/') + 1);
  char directory[] = "/tmp/flydsl-startup-XXXXXX";
  if (!mkdtemp(directory))
    return 1;
  setenv("FLYDSL_RUNTIME_CACHE_DIR", directory, 1);
  table("just in time, from the disk cache", {self, "child"}, runs);
  setenv("FLYDSL_RUNTIME_ENABLE_CACHE", "0", 1);
  table("just in time, compiled", {self, "child"}, runs);
  const std::string file = std::string(directory) + "/shift.flyaot";
  makeShift("startup")(fx::tensor(static_cast<float *>(nullptr), {64}),
                       fx::tensor(static_cast<float *>(nullptr), {64}), 0.0f)
      .export_aot(file, {.block = 64, .archs = {"gfx942"}});
  table("ahead of time", {folder + "bench_startup_aot", file}, runs);
  unsetenv("FLYDSL_RUNTIME_ENABLE_CACHE");
  return std::system((self + " memory && rm -rf " + directory).c_str()) == 0 ? 0 : 1;
}
