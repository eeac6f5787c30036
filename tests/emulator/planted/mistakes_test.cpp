// Mistakes that are planted, a row each: which check names it, what its line says, and that the same
// kernel without the mistake gives no finding. FLYDSL_EMULATOR_CHECK says which rows are run: those of
// one check, or with "all" every one. docs/emulator.md has the rows as a table.
#include <flydsl/emulator.h>

#include <catch2/catch.hpp>
#include <hip/hip_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#define HIP_OK(call) REQUIRE((call) == hipSuccess)

namespace {

constexpr size_t kOutBytes = 8192, kBytes = 4096;

std::string environment(const char *name, const char *otherwise) {
  const char *value = std::getenv(name);
  return value && *value ? value : otherwise;
}
std::string target() { return environment("FLYDSL_EMULATOR_ARCH", "gfx942"); }

/// The arrays that each kernel takes, fresh for each launch, and the module.
struct Fixture {
  hipModule_t module = nullptr;
  int *out = nullptr, *unset = nullptr, *zeros = nullptr;

  Fixture() {
    std::ifstream file(std::string(PLANTED) + "/mistakes." + target() + ".co", std::ios::binary);
    REQUIRE(file);
    const std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
    HIP_OK(hipModuleLoadData(&module, image.data()));
    out = allocate(kOutBytes);
    unset = allocate(kBytes);
    zeros = allocate(kBytes);
    HIP_OK(hipMemset(out, 0, kOutBytes));
    HIP_OK(hipMemset(zeros, 0, kBytes));
    HIP_OK(hipDeviceSynchronize());
  }
  ~Fixture() { (void)hipDeviceReset(); } // a fault has lost the device

  static int *allocate(size_t bytes) {
    void *memory = nullptr;
    HIP_OK(hipMalloc(&memory, bytes));
    return static_cast<int *>(memory);
  }
  hipFunction_t kernel(const std::string &name) const {
    hipFunction_t function = nullptr;
    INFO(name);
    HIP_OK(hipModuleGetFunction(&function, module, name.c_str()));
    return function;
  }
  void launch(const std::string &name, unsigned grid, unsigned block, unsigned lds = 0,
              hipStream_t stream = nullptr) {
    void *arguments[] = {&out, &unset, &zeros};
    HIP_OK(hipModuleLaunchKernel(kernel(name), grid, 1, 1, block, 1, 1, lds, stream, arguments,
                                 nullptr));
  }
  /// Writes `block` words from out + at on.
  void writeAt(int at, unsigned block, hipStream_t stream = nullptr) {
    void *arguments[] = {&out, &unset, &zeros, &at};
    HIP_OK(hipModuleLaunchKernel(kernel("write_at"), 1, 1, 1, block, 1, 1, 0, stream, arguments,
                                 nullptr));
  }
};

struct Streams {
  hipStream_t a = nullptr, b = nullptr;
  hipEvent_t event = nullptr;
  Streams() {
    HIP_OK(hipStreamCreateWithFlags(&a, hipStreamNonBlocking));
    HIP_OK(hipStreamCreateWithFlags(&b, hipStreamNonBlocking));
    HIP_OK(hipEventCreate(&event));
  }
  void order() const {
    HIP_OK(hipEventRecord(event, a));
    HIP_OK(hipStreamWaitEvent(b, event, 0));
  }
};

/// The shape of a launch.
struct Shape {
  unsigned grid, block, lds = 0;
};

struct Mistake {
  const char *text;             ///< what it is, for the page
  const char *check;            ///< "fault" where none is needed
  const char *says;             ///< what its line says, for the page
  const char *kernel = nullptr; ///< NAME of NAME_wrong and NAME_right; null if the host makes it
  Shape shape = {1, 64};
  void (*host)(Fixture &, bool right) = nullptr;
  std::vector<std::string> targets = {}; ///< empty: all
};

void pool(Fixture &f, bool right) {
  REQUIRE(flydslEmulatorAddSuballocation(f.out, 1024) == 0);
  REQUIRE(flydslEmulatorAddSuballocation(f.out + 512, 1024) == 0);
  f.writeAt(right ? 192 : 193, 64);
}
void freed(Fixture &f, bool right) {
  int *const memory = f.out;
  if (right)
    f.writeAt(0, 64);
  HIP_OK(hipDeviceSynchronize());
  HIP_OK(hipFree(memory));
  if (!right)
    f.writeAt(0, 64);
}
void twoStreams(Fixture &f, bool right) {
  Streams s;
  f.writeAt(0, 64, s.a);
  if (right)
    s.order();
  f.writeAt(0, 64, s.b);
}
void copyAndKernel(Fixture &f, bool right) {
  Streams s;
  HIP_OK(hipMemcpyAsync(f.zeros, f.out + 1024, 256, hipMemcpyDeviceToDevice, s.a));
  if (right)
    s.order();
  f.launch("copy_words", 1, 64, 0, s.b);
}

const std::vector<std::string> kWritesBack = {"gfx942", "gfx950"}; ///< stores stay in a die's L2
const std::vector<std::string> kLoadsToLds = {"gfx942", "gfx950"}; ///< global_load_lds_dword

const std::vector<Mistake> &mistakes() {
  static const std::vector<Mistake> rows = {
      {"a barrier is missing between a wave's write and another wave's read of LDS",
       "race",
       "write and read of LDS byte",
       "lds_without_barrier",
       {1, 256}},
      {"LDS is written again while other waves still read it",
       "race",
       "read and write of LDS byte",
       "lds_overwritten",
       {1, 256}},
      {"a barrier is missing between two waves of a workgroup, in global memory",
       "race",
       "are not ordered by a barrier of the workgroup",
       "global_without_barrier",
       {1, 256}},
      {"all lanes add to one word without an atomic operation",
       "race",
       "lanes of one wave store different values",
       "lanes_add_to_one_word",
       {1, 32}},
      {"two workgroups write the same words",
       "race",
       "write and write of global memory",
       "groups_write_one_word",
       {2, 64}},
      {"split-K: the last workgroup adds up parts after a relaxed counter",
       "race",
       "are not ordered by a",
       "split_k_without_fence",
       {8, 64}},
      {"split-K: the counter's scope is the workgroup",
       "race",
       "are not ordered by a",
       "split_k_of_small_scope",
       {8, 64}},
      {"split-K: the counter does not acquire, so that caches may be stale",
       "race",
       "are not ordered by an acquire of device scope",
       "split_k_without_acquire",
       {8, 64}},
      {"split-K: the counter does not release, so that the parts stay in a die's L2",
       "race",
       "are not ordered by a release of device scope",
       "split_k_without_release",
       {8, 64},
       nullptr,
       kWritesBack},
      {"a flag between workgroups without fences: the other one's L2 is stale",
       "race",
       "write and read of global memory",
       "flag_without_fence",
       {2, 64}},
      {"LDS is read that no instruction has written",
       "init",
       "read of LDS byte 400, which was never written",
       "lds_never_written",
       {1, 256}},
      {"device memory is read that no one has written", "init",
       "bytes of memory that was never written", "memory_never_written"},
      {"an atomic operation on memory that no one has written", "init",
       "atomic operation on 4 bytes of memory that was never written",
       "atomic_on_memory_never_written"},
      {"a register is stored that no instruction has written", "init",
       "a register that was never written is used as stored data", "register_never_written"},
      {"a branch depends on a register that no instruction has written", "init",
       "a branch is decided by a value that was never written", "branch_never_decided"},
      {"a barrier in a branch that not all lanes take",
       "sync",
       "barrier in divergent code",
       "barrier_in_a_branch",
       {1, 128}},
      {"waves wait at different barriers",
       "sync",
       "meet at different barriers",
       "different_barriers",
       {1, 128}},
      {"a wave ends while others wait at a barrier",
       "sync",
       "has ended while others wait at a barrier",
       "wave_that_ends_before_a_barrier",
       {1, 128}},
      {"a loaded register is used before a wait for it", "wait",
       "is read before the load into it has landed", "load_without_wait"},
      {"LDS is read before a wait for the load to it",
       "wait",
       "is read while a load to it is under way",
       "load_to_lds_without_wait",
       {1, 64},
       nullptr,
       kLoadsToLds},
      {"an access past the end of a workgroup's LDS", "memory",
       "LDS access of 4 bytes at 1024 of 1024", "lds_past_its_end"},
      {"an access past the dynamic LDS that the launch gives",
       "memory",
       "LDS access of 4 bytes at 256 of 256",
       "dynamic_lds_past_its_end",
       {1, 64, 256}},
      {"an access past the end of an array in LDS, in a kernel of this library", "memory",
       "which belongs to no array: it is 0 bytes past the end of the 256 bytes of shared memory",
       "lds_neighbour"},
      {"an atomic operation in LDS at an address that is no multiple of its size", "memory",
       "misaligned atomic of 4 bytes at LDS byte", "misaligned_lds_atomic"},
      {"a scalar load at an address that is no multiple of 4", "memory",
       "scalar access to dwords at an address that is no multiple of 4", "misaligned_scalar_load"},
      {"memory is used after it was freed",
       "memory",
       "of a freed allocation",
       nullptr,
       {1, 64},
       freed},
      {"an access past the end of an allocation", "fault", "bytes past the end of allocation",
       "memory_past_its_end"},
      {"an atomic operation at an address that is no multiple of its size", "fault",
       "misaligned atomic", "misaligned_atomic"},
      {"a buffer descriptor that is larger than its memory", "fault",
       "bytes past the end of allocation", "buffer_larger_than_its_memory"},
      {"an access past the end of a part that a pool gave out",
       "fault",
       "0 bytes past the end of the 1024 bytes at",
       nullptr,
       {1, 64},
       pool},
      {"kernels in two streams write the same memory, and no event orders them",
       "streams",
       "writes and kernel 'write_at' in stream",
       nullptr,
       {1, 64},
       twoStreams},
      {"a copy and a kernel in two streams that no event orders",
       "streams",
       "a copy from device memory to device memory in stream",
       nullptr,
       {1, 64},
       copyAndKernel},
  };
  return rows;
}

struct Outcome {
  int64_t findings;
  std::string newest; ///< or the fault's text
  bool faulted;
};

Outcome run(const Mistake &m, bool right) {
  Fixture f;
  const int64_t before = flydslEmulatorFindings(0, nullptr, 0);
  if (m.host)
    m.host(f, right);
  else
    f.launch(m.kernel + std::string(right ? "_right" : "_wrong"), m.shape.grid, m.shape.block,
             m.shape.lds);
  Outcome result = {};
  if (hipDeviceSynchronize() != hipSuccess) {
    result.faulted = true;
    result.newest = flydslEmulatorErrorText();
    return result;
  }
  char text[4096] = "";
  result.findings = flydslEmulatorFindings(0, text, sizeof text) - before;
  result.newest = text;
  return result;
}

/// Whether a row's mistake is a fault: without a check, or with the one that keeps freed memory.
bool faults(const Mistake &m) { return m.check == std::string("fault") || m.host == &freed; }

template <class Body> void eachRow(Body body) {
  int rows = 0;
  for (const Mistake &m : mistakes()) {
    if (!m.targets.empty() && std::ranges::find(m.targets, target()) == m.targets.end())
      continue;
    INFO(target() << ": " << m.text);
    rows += body(m);
  }
  REQUIRE(rows > 0);
}

/// Markdown's row of a mistake.
std::string rowOf(const Mistake &m) {
  const std::string check =
      m.check == std::string("fault") ? "none: a fault" : "`" + std::string(m.check) + "`";
  return "| " + std::string(m.text) + " | " + check + " | `" + m.says + "` |";
}

} // namespace

TEST_CASE("each planted mistake is named by its check", "[.wrong]") {
  const std::string checks = environment("FLYDSL_EMULATOR_CHECK", "fault");
  eachRow([&](const Mistake &m) {
    if (checks != "all" && checks != m.check)
      return false;
    const Outcome found = run(m, /*right=*/false);
    INFO(found.newest);
    CHECK(found.faulted == faults(m));
    CHECK((found.faulted || found.findings > 0));
    if (checks != "all") // where several checks find something, the newest is another one's
      CHECK_THAT(found.newest, Catch::Contains(m.says));
    return true;
  });
}

TEST_CASE("without its check a planted mistake gives no finding", "[.off]") {
  eachRow([](const Mistake &m) {
    if (m.check == std::string("fault"))
      return false;
    CHECK(run(m, /*right=*/false).findings == 0);
    return true;
  });
}

TEST_CASE("what has no mistake gives no finding, with all checks", "[.right]") {
  eachRow([](const Mistake &m) {
    const Outcome found = run(m, /*right=*/true);
    INFO(found.newest);
    CHECK_FALSE(found.faulted);
    CHECK(found.findings == 0);
    return true;
  });
}

TEST_CASE("the rows for the page of the emulator, printed", "[.rows]") {
  for (const Mistake &m : mistakes())
    std::printf("%s\n", rowOf(m).c_str());
  SUCCEED();
}

TEST_CASE("the page of the emulator has a row for each planted mistake") {
  std::ifstream file(std::string(SOURCE) + "/docs/emulator.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const Mistake &m : mistakes())
    CHECK_THAT(page, Catch::Contains("\n" + rowOf(m) + "\n"));
}
