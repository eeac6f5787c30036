// Times from the start of a process to its first launched kernel: told to use the emulator, told
// nothing where no GPU is, with LLVM's shared libraries, compiled anew, and compiled ahead of time.
// All are measured in turns, so that their ratios hold on a busy machine too. A child process
// reports when it reached each step, and what processor time that took it and its threads. Also
// prints the memory that a loaded kernel takes.
//   bench_startup [runs]
#include "startup_steps.h"

#include <flydsl/flydsl.h>
#include <flydsl/host/stats.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace fx = flydsl;

namespace {

auto makeShift(const std::string &name) {
  return fx::Kernel{name, [](fx::Tensor x, fx::Tensor y, fx::Float32 by) {
                      auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
                      y(i) = x(i) + by;
                    }};
}

int child(double asked) {
  bench::Steps steps(asked);
  steps.reach("libraries loaded");
  fx::Device::current();
  steps.reach("device found");
  auto x = fx::DeviceArray<float>::random({64}, 1);
  steps.reach("array filled");
  auto subscription = fx::on_event([&](const fx::EventInfo &event) {
    using Kind = fx::EventInfo::Kind;
    steps.reach(event.kind == Kind::traced       ? "traced (with MLIR's context)"
                : event.kind == Kind::disk_hit   ? "found in the cache on disk"
                : event.kind == Kind::remote_hit ? "found in the fleet's cache"
                : event.kind == Kind::loaded     ? "loaded on the device"
                                                 : "compiled");
  });
  fx::Stream stream;
  makeShift("startup")(x, x, 1.0f).launch({.block = 64, .stream = stream});
  steps.reach("launched");
  stream.synchronize();
  steps.reach("finished");
  steps.print();
  return 0;
}

using Environment = std::vector<std::pair<const char *, std::string>>;

/// One way to a first kernel.
struct Way {
  const char *title;
  std::vector<std::string> command;
  Environment environment; ///< what is set; an empty text: unset
  struct Step {
    std::string name;
    std::vector<double> wall, cpu; ///< milliseconds, of each run
  };
  std::vector<Step> steps = {};

  Step &step(const std::string &name) {
    for (Step &s : steps)
      if (s.name == name)
        return s;
    return steps.emplace_back(Step{name, {}, {}});
  }
};

/// Runs the program once; its lines are `name TAB wall TAB cpu`.
void run(Way &way, bool counts) {
  int ends[2];
  if (pipe(ends) != 0)
    std::exit(1);
  const std::string asked = std::to_string(bench::now(CLOCK_MONOTONIC));
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 1);
    for (const auto &[name, value] : way.environment)
      value.empty() ? unsetenv(name) : setenv(name, value.c_str(), 1);
    std::vector<char *> arguments;
    for (const std::string &text : way.command)
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
    char *tab = std::strchr(line, '\t'), *second = tab ? std::strchr(tab + 1, '\t') : nullptr;
    if (!second || !counts)
      continue;
    Way::Step &step = way.step(std::string(line, tab));
    step.wall.push_back(std::atof(tab + 1));
    step.cpu.push_back(std::atof(second + 1));
  }
  std::fclose(out);
  int status = 0;
  waitpid(pid, &status, 0);
  if (status != 0) {
    std::printf("%s: %s failed\n", way.title, way.command[0].c_str());
    std::exit(1);
  }
}

double medianOf(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

/// The median of each step, and the whole beside that of the first way.
void print(const Way &way, const Way &first) {
  std::printf("%s\n  %-32s %12s %12s\n", way.title, "", "ms", "ms of CPU");
  double wall = 0, cpu = 0;
  for (const Way::Step &step : way.steps) {
    const double nextWall = medianOf(step.wall), nextCpu = medianOf(step.cpu);
    std::printf("  %-32s %6.2f +%5.2f %6.2f +%5.2f\n", step.name.c_str(), nextWall, nextWall - wall,
                nextCpu, nextCpu - cpu);
    wall = nextWall;
    cpu = nextCpu;
  }
  std::printf("  processor time beside the first: %.2f\n", cpu / medianOf(first.steps.back().cpu));
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
  const std::string file = std::string(directory) + "/shift.flyaot";
  makeShift("startup")(fx::tensor(static_cast<float *>(nullptr), {64}),
                       fx::tensor(static_cast<float *>(nullptr), {64}), 0.0f)
      .export_aot(file, {.block = 64, .archs = {"gfx942"}});
  const std::pair<const char *, std::string> emulator{"FLYDSL_RUNTIME_KIND", "emulator"};
  std::vector<Way> ways{
      {"from the cache on disk, told to use the emulator", {self, "child"}, {emulator}},
      {"from the cache on disk, told nothing", {self, "child"}, {{"FLYDSL_RUNTIME_KIND", ""}}},
      {"compiled", {self, "child"}, {emulator, {"FLYDSL_RUNTIME_ENABLE_CACHE", "0"}}},
      {"ahead of time", {folder + "bench_startup_aot", file}, {emulator}}};
  const std::string other = folder + "../lib/shared";
  if (access((other + "/libflydsl.so").c_str(), R_OK) == 0)
    ways.push_back({"from the cache on disk, with LLVM's shared libraries",
                    {self, "child"},
                    {emulator,
                     {"LD_LIBRARY_PATH", other},
                     {"FLYDSL_EMULATOR_LIBRARY", folder + "../lib/libflydsl_emulator.so"}}});
  for (int at = 0; at <= runs; ++at) // the first run fills caches
    for (Way &way : ways)
      run(way, at > 0);
  for (const Way &way : ways)
    print(way, ways.front());
  return std::system((self + " memory && rm -rf " + directory).c_str()) == 0 ? 0 : 1;
}
