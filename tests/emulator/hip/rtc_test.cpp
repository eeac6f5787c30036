// hipRTC: programs in HIP C++ are compiled by the system's Clang and run on the emulator.
#include "support.h"

#include <cstring>
#include <hip/hiprtc.h>
#include <utility>

namespace {

using Strings = std::vector<const char *>;

/// A program, destroyed at the end.
struct Program {
  hiprtcProgram handle = nullptr;
  explicit Program(const char *source, const char *name = "program.cu",
                   std::vector<std::pair<const char *, const char *>> headers = {}) {
    Strings names, texts;
    for (const auto &[include, text] : headers) {
      names.push_back(include);
      texts.push_back(text);
    }
    REQUIRE(hiprtcCreateProgram(&handle, source, name, static_cast<int>(headers.size()),
                                texts.data(), names.data()) == HIPRTC_SUCCESS);
  }
  ~Program() { (void)hiprtcDestroyProgram(&handle); }
  Program(const Program &) = delete;

  hiprtcResult compile(Strings options = {}) {
    return hiprtcCompileProgram(handle, static_cast<int>(options.size()), options.data());
  }
  std::string log() const {
    size_t size = 0;
    REQUIRE(hiprtcGetProgramLogSize(handle, &size) == HIPRTC_SUCCESS);
    REQUIRE(size > 0);
    std::string text(size, 'x');
    REQUIRE(hiprtcGetProgramLog(handle, text.data()) == HIPRTC_SUCCESS);
    REQUIRE(text.back() == '\0');
    text.pop_back();
    return text;
  }
  std::vector<char> code() const {
    size_t size = 0;
    REQUIRE(hiprtcGetCodeSize(handle, &size) == HIPRTC_SUCCESS);
    REQUIRE(size > 0);
    std::vector<char> bytes(size);
    REQUIRE(hiprtcGetCode(handle, bytes.data()) == HIPRTC_SUCCESS);
    return bytes;
  }
  const char *lowered(const char *expression) const {
    const char *name = nullptr;
    REQUIRE(hiprtcGetLoweredName(handle, expression, &name) == HIPRTC_SUCCESS);
    REQUIRE(name);
    return name;
  }
};

/// A program's code, loaded, and unloaded at the end.
struct Loaded {
  hipModule_t handle = nullptr;
  explicit Loaded(const Program &program) {
    std::vector<char> code = program.code();
    HIP_OK(hipModuleLoadData(&handle, code.data()));
  }
  ~Loaded() { (void)hipModuleUnload(handle); }
  hipFunction_t function(const char *name) const {
    hipFunction_t result = nullptr;
    HIP_OK(hipModuleGetFunction(&result, handle, name));
    return result;
  }
};

} // namespace

TEST_CASE("A sum of vectors that hipRTC compiles is right, log and code have their sizes",
          "[.rtc]") {
  Program program(R"(
extern "C" __global__ void add(float *sum, const float *a, const float *b, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    sum[i] = a[i] + b[i] + FACTOR * sinf(0.0f);
})");
  INFO(program.log());
  REQUIRE(program.compile({"-DFACTOR=2.0f"}) == HIPRTC_SUCCESS);
  CHECK(program.log().find("error") == std::string::npos);
  Loaded module(program);
  constexpr int kCount = 1000;
  DeviceBuffer<float> sum(kCount), a(kCount), b(kCount);
  std::vector<float> left(kCount), right(kCount);
  for (int i = 0; i < kCount; ++i) {
    left[i] = static_cast<float>(i);
    right[i] = static_cast<float>(7 * i + 1);
  }
  a.write(left);
  b.write(right);
  HIP_OK(launch1D(module.function("add"), 4, 256, nullptr, sum.data, a.data, b.data, kCount));
  HIP_OK(hipDeviceSynchronize());
  const std::vector<float> result = sum.read();
  for (int i = 0; i < kCount; ++i)
    REQUIRE(result[i] == left[i] + right[i]);
}

TEST_CASE("Name expressions have the symbols of instances of templates and of variables",
          "[.rtc]") {
  Program program(R"(
namespace shapes {
template <class T, int N> __global__ void scale(T *values) { values[threadIdx.x] *= N; }
__constant__ int table[64];
}
__device__ int counter;
extern "C" __global__ void look(int *values) {
  values[threadIdx.x] = shapes::table[threadIdx.x];
  atomicAdd(&counter, 1);
})");
  for (const char *expression :
       {"shapes::scale<int, 3>", "&shapes::scale<float, 5>", "&shapes::table", "&counter", "look"})
    REQUIRE(hiprtcAddNameExpression(program.handle, expression) == HIPRTC_SUCCESS);
  const hiprtcResult compiled = program.compile();
  INFO(program.log());
  REQUIRE(compiled == HIPRTC_SUCCESS);
  CHECK(std::string(program.lowered("shapes::scale<int, 3>")) == "_ZN6shapes5scaleIiLi3EEEvPT_");
  CHECK(std::string(program.lowered("&shapes::scale<float, 5>")) == "_ZN6shapes5scaleIfLi5EEEvPT_");
  CHECK(std::string(program.lowered("&counter")) == "counter");
  CHECK(std::string(program.lowered("look")) == "look");

  Loaded module(program);
  DeviceBuffer<int> values(64);
  std::vector<int> numbers(64);
  for (int i = 0; i < 64; ++i)
    numbers[i] = i * i;
  hipDeviceptr_t table = nullptr;
  size_t size = 0;
  HIP_OK(hipModuleGetGlobal(&table, &size, module.handle, program.lowered("&shapes::table")));
  REQUIRE(size == sizeof(int) * 64);
  HIP_OK(hipMemcpy(table, numbers.data(), size, hipMemcpyHostToDevice));
  HIP_OK(launch1D(module.function("look"), 1, 64, nullptr, values.data));
  HIP_OK(launch1D(module.function(program.lowered("shapes::scale<int, 3>")), 1, 64, nullptr,
                  values.data));
  HIP_OK(hipDeviceSynchronize());
  const std::vector<int> result = values.read();
  for (int i = 0; i < 64; ++i)
    REQUIRE(result[i] == 3 * i * i);
}

TEST_CASE("The log of a program that does not compile names its file and its line", "[.rtc]") {
  Program program("// a comment\n__global__ void kernel(int *a) {\n  *a = nothing;\n}\n",
                  "broken.cu");
  CHECK(program.compile() == HIPRTC_ERROR_COMPILATION);
  CHECK(program.log().find("broken.cu:3:8: error: use of undeclared identifier 'nothing'") !=
        std::string::npos);
  size_t size = 0;
  CHECK(hiprtcGetCodeSize(program.handle, &size) == HIPRTC_ERROR_INVALID_PROGRAM);
}

TEST_CASE("A name expression that is none of the program's is an error that names it", "[.rtc]") {
  Program program("__global__ void kernel(int *a) { *a = 1; }");
  REQUIRE(hiprtcAddNameExpression(program.handle, "kernels<int>") == HIPRTC_SUCCESS);
  CHECK(program.compile() == HIPRTC_ERROR_COMPILATION);
  CHECK(program.log().find("the name expression kernels<int>:1:") != std::string::npos);
}

TEST_CASE("Headers given to hiprtcCreateProgram are found by their names", "[.rtc]") {
  const char *source = R"(
#include "values.h"
#include <deep/er/more.h>
extern "C" __global__ void kernel(int *a) { *a = kValue + kMore; })";
  Program program(
      source, "program.cu",
      {{"values.h", "#pragma once\nconstexpr int kValue = 40;\n"},
       {"deep/er/more.h", "#include \"values.h\"\nconstexpr int kMore = kValue / 20;\n"}});
  const hiprtcResult compiled = program.compile();
  INFO(program.log());
  REQUIRE(compiled == HIPRTC_SUCCESS);
  Loaded module(program);
  DeviceBuffer<int> value(1);
  HIP_OK(launch1D(module.function("kernel"), 1, 1, nullptr, value.data));
  HIP_OK(hipDeviceSynchronize());
  CHECK(value.read()[0] == 42);

  // A name that leaves the folder would write over a file of the user's.
  for (const char *name : {"../values.h", "/tmp/values.h", "a/../../b.h", ""}) {
    hiprtcProgram handle = nullptr;
    const char *text = "";
    CHECK(hiprtcCreateProgram(&handle, source, nullptr, 1, &text, &name) ==
          HIPRTC_ERROR_INVALID_INPUT);
    CHECK(handle == nullptr);
  }
}

TEST_CASE("hipRTC compiles for the device's target unless an option names another", "[.rtc]") {
  const char *source =
      "extern \"C\" __global__ void kernel(int *a) { *a = __AMDGCN_WAVEFRONT_SIZE; }";
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const std::string arch = properties.gcnArchName;
  for (const std::string &option : {std::string(), "--offload-arch=" + arch,
                                    "--gpu-architecture=" + arch.substr(0, arch.find(':'))}) {
    Program program(source);
    const hiprtcResult compiled =
        option.empty() ? program.compile() : program.compile({option.c_str(), "-O1"});
    INFO(option << program.log());
    REQUIRE(compiled == HIPRTC_SUCCESS);
    Loaded module(program);
    DeviceBuffer<int> value(1);
    HIP_OK(launch1D(module.function("kernel"), 1, 1, nullptr, value.data));
    HIP_OK(hipDeviceSynchronize());
    CHECK(value.read()[0] == properties.warpSize);
  }
  // Code for another processor compiles, and does not load here.
  Program other(source);
  REQUIRE(other.compile({arch.starts_with("gfx12") ? "--offload-arch=gfx942"
                                                   : "--offload-arch=gfx1201"}) == HIPRTC_SUCCESS);
  hipModule_t module = nullptr;
  CHECK(hipModuleLoadData(&module, other.code().data()) == hipErrorNoBinaryForGpu);
}

TEST_CASE("Options that hipRTC cannot take are refused", "[.rtc]") {
  for (const Strings &options : {Strings{"--offload-arch=gfx803"}, Strings{"--offload-arch="},
                                 Strings{"-fgpu-rdc"}, Strings{"-S"}, Strings{"-o", "elsewhere"},
                                 Strings{"-oelsewhere"}, Strings{"-mcode-object-version=6"},
                                 Strings{"--offload-arch=gfx942", "--offload-arch=gfx950"}}) {
    Program program("__global__ void kernel() {}");
    INFO(options[0]);
    CHECK(program.compile(options) == HIPRTC_ERROR_INVALID_OPTION);
    CHECK(program.log().starts_with("error: "));
    // Nothing was compiled, so that the program may be compiled with options that are right.
    CHECK(program.compile() == HIPRTC_SUCCESS);
  }
  Program program("__global__ void kernel() {}");
  CHECK(program.compile({"-fnot-an-option"}) == HIPRTC_ERROR_COMPILATION);
  CHECK(program.log().find("-fnot-an-option") != std::string::npos);
}

TEST_CASE("Wrong uses of hipRTC are errors", "[.rtc]") {
  size_t size = 0;
  char buffer[16];
  const char *name = nullptr;
  int number = 0;
  CHECK(hiprtcCompileProgram(nullptr, 0, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcGetCode(nullptr, buffer) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcDestroyProgram(nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  hiprtcProgram none = nullptr;
  CHECK(hiprtcDestroyProgram(&none) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcCreateProgram(nullptr, "", "", 0, nullptr, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcCreateProgram(&none, nullptr, "", 0, nullptr, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcCreateProgram(&none, "", "", 1, nullptr, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcCreateProgram(&none, "", "", -1, nullptr, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcVersion(nullptr, &number) == HIPRTC_ERROR_INVALID_INPUT);
  auto wild = reinterpret_cast<hiprtcProgram>(buffer);
  CHECK(hiprtcGetCodeSize(wild, &size) == HIPRTC_ERROR_INVALID_PROGRAM);

  Program program("extern \"C\" __global__ void kernel() {}");
  CHECK(hiprtcGetCodeSize(program.handle, &size) == HIPRTC_ERROR_INVALID_PROGRAM);
  CHECK(hiprtcGetCode(program.handle, buffer) == HIPRTC_ERROR_INVALID_PROGRAM);
  CHECK(hiprtcGetCodeSize(program.handle, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcGetProgramLog(program.handle, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(program.log().empty());
  CHECK(hiprtcAddNameExpression(program.handle, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  CHECK(hiprtcAddNameExpression(program.handle, "a\nb") == HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
  REQUIRE(hiprtcAddNameExpression(program.handle, "kernel") == HIPRTC_SUCCESS);
  CHECK(hiprtcGetLoweredName(program.handle, "kernel", &name) ==
        HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION);
  CHECK(hiprtcCompileProgram(program.handle, 1, nullptr) == HIPRTC_ERROR_INVALID_INPUT);
  const char *options[] = {nullptr};
  CHECK(hiprtcCompileProgram(program.handle, 1, options) == HIPRTC_ERROR_INVALID_INPUT);
  REQUIRE(program.compile() == HIPRTC_SUCCESS);
  CHECK(program.compile() == HIPRTC_ERROR_INVALID_PROGRAM);
  CHECK(hiprtcAddNameExpression(program.handle, "kernel") ==
        HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION);
  CHECK(hiprtcGetLoweredName(program.handle, "others", &name) ==
        HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID);
  CHECK(name == nullptr);

  hiprtcProgram gone = nullptr;
  REQUIRE(hiprtcCreateProgram(&gone, "", nullptr, 0, nullptr, nullptr) == HIPRTC_SUCCESS);
  hiprtcProgram copy = gone;
  REQUIRE(hiprtcDestroyProgram(&gone) == HIPRTC_SUCCESS);
  CHECK(gone == nullptr);
  CHECK(hiprtcDestroyProgram(&copy) == HIPRTC_ERROR_INVALID_PROGRAM);
}

TEST_CASE("hipRTC's version is HIP's, and its results have names", "[.rtc]") {
  int major = 0, minor = -1, version = 0;
  REQUIRE(hiprtcVersion(&major, &minor) == HIPRTC_SUCCESS);
  HIP_OK(hipRuntimeGetVersion(&version));
  CHECK(major == version / 10'000'000);
  CHECK(minor == version / 100'000 % 100);
  CHECK(std::string(hiprtcGetErrorString(HIPRTC_ERROR_COMPILATION)) == "HIPRTC_ERROR_COMPILATION");
  CHECK(std::string(hiprtcGetErrorString(static_cast<hiprtcResult>(77))) ==
        "Invalid HIPRTC error code");
}

// With FLYDSL_EMULATOR_CLANG=/nothing/clang: the reason is in the log too.
TEST_CASE("Without a Clang a program of hipRTC does not compile, and its log says why",
          "[.rtc-none]") {
  Program program("__global__ void kernel() {}");
  CHECK(program.compile() == HIPRTC_ERROR_INTERNAL_ERROR);
  CHECK(program.log().find("FLYDSL_EMULATOR_CLANG=/nothing/clang is no program") !=
        std::string::npos);
}
