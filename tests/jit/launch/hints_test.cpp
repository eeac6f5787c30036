// Hints of kernels that reach LLVM: attributes of functions, and LLVM's own options.
#include <flydsl/flydsl.h>

#include <catch2/catch.hpp>

#include <atomic>
#include <limits>
#include <thread>

namespace fx = flydsl;

namespace {
/// Loads, matrix products and stores, which schedulers order as they are told to.
std::string isaOf(fx::KernelHints hints, const char *arch = "gfx942") {
  const fx::Kernel kernel{"hinted",
                          [](fx::Tensor a, fx::Tensor b, fx::Tensor c) {
                            auto tid = fx::thread_idx().x;
                            std::vector<fx::Numeric> loaded;
                            for (int i = 0; i < 16; ++i)
                              loaded.push_back(a(tid + 64 * i) * b(tid * 3 + i));
                            for (int i = 0; i < 16; ++i)
                              c(tid + 64 * i) = loaded[std::size_t(i)] +
                                                loaded[std::size_t(i * 7 % 16)] * b(tid + i);
                          },
                          hints};
  float *none = nullptr;
  auto memory = fx::tensor(none, {4096});
  return kernel(memory, memory, memory).compile({.block = 64, .arch = arch}).isa();
}

std::string refusal(fx::KernelHints hints, const char *arch = "gfx942") {
  try {
    isaOf(hints, arch);
  } catch (const fx::TraceError &error) {
    CHECK_THAT(error.where().file, Catch::EndsWith("hints_test.cpp"));
    return error.what();
  }
  return "no error";
}
} // namespace

TEST_CASE("an option of LLVM's changes the code of its kernel, and is put back") {
  const std::string plain = isaOf({});
  const std::string other = isaOf({.llvm_options = {{"enable-misched", "false"}}});
  CHECK(other != plain);
  CHECK(isaOf({}) == plain);
  CHECK(isaOf({.llvm_options = {{"enable-misched", "false"}}}) == other);
  CHECK(isaOf({.llvm_options = {{"enable-misched", "true"}}}) == plain);
}

TEST_CASE("kernels with options and without are compiled at the same time") {
  const std::string plain = isaOf({}),
                    other = isaOf({.llvm_options = {{"enable-misched", "false"}}});
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int round = 0; round < 3; ++round) {
        const bool isPlain = (i + round) % 2;
        const std::string isa =
            isPlain ? isaOf({}) : isaOf({.llvm_options = {{"enable-misched", "false"}}});
        wrong += isa != (isPlain ? plain : other);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(wrong == 0);
}

TEST_CASE("options that LLVM does not take are refused") {
  CHECK_THAT(refusal({.llvm_options = {{"enable-mischeed", "false"}}}),
             Catch::Contains("LLVM has no option enable-mischeed; did you mean enable-misched?"));
  CHECK_THAT(refusal({.llvm_options = {{"enable-misched", "sometimes"}}}),
             Catch::Contains("LLVM's option enable-misched does not take 'sometimes'"));
  CHECK_THAT(refusal({.llvm_options = {{"print-after-all", "true"}}}),
             Catch::Contains("print-after-all changes no code; FLYDSL_DUMP_IR=1"));
  CHECK(isaOf({}) == isaOf({.llvm_options = {{"enable-misched", "true"}}}));
}

TEST_CASE("an attribute changes the code of its kernel") {
  const std::string plain = isaOf({});
  CHECK(isaOf({.attributes = {{"amdgpu-sched-strategy", "max-ilp"}}}) != plain);
  CHECK(isaOf({.attributes = {{"amdgpu-sched-strategy", "iterative-ilp"}}}) != plain);
  CHECK(isaOf({}) == plain);
}

TEST_CASE("denormal numbers are flushed if a kernel's attribute says so") {
  const float least = std::numeric_limits<float>::min(); // that is no denormal number
  for (const bool flush : {false, true}) {
    fx::KernelHints hints;
    if (flush)
      hints.attributes = {{"denormal-fp-math-f32", "preserve-sign"}};
    const fx::Kernel halve{"halve", [](fx::Tensor x) { x(0) = x(0) * 0.5f; }, hints};
    auto x = fx::DeviceArray<float>::from_host(std::vector{least}, {1});
    halve(x).launch({.block = 1});
    CHECK(x.to_host()[0] == (flush ? 0.0f : least / 2));
  }
}

TEST_CASE("attributes that would be passed over are refused") {
  CHECK_THAT(refusal({.attributes = {{"amdgpu-wavelimiter", "true"}}}),
             Catch::Contains("there is no attribute amdgpu-wavelimiter of kernels; there are "
                             "denormal-fp-math, ") &&
                 Catch::Contains("amdgpu-wave-limiter"));
  CHECK_THAT(refusal({.attributes = {{"denormal-fp-math-f32", "flush"}}}),
             Catch::Contains("takes ieee, preserve-sign or positive-zero, not 'flush'"));
  CHECK_THAT(refusal({.attributes = {{"amdgpu-agpr-alloc", "0"}}}, "gfx1201"),
             Catch::Contains("amdgpu-agpr-alloc means nothing on gfx1201"));
  CHECK_THAT(refusal({.attributes = {{"amdgpu-max-num-workgroups", "4,4"}}}),
             Catch::Contains("takes three numbers with commas between them, not '4,4'"));
}

TEST_CASE("the number of XCDs of a device") {
  const fx::Device device = fx::Device::current();
  REQUIRE(device.arch() == "gfx942");
  CHECK(device.compute_units() == 304); // MI300X: 8 dies of 38
  CHECK(device.xcds() == 8);
}
