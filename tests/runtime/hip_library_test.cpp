// Each case runs in a child process, because a process loads one HIP library for its whole life.
#include "runtime/current_driver.h"
#include "runtime/hip/hip_functions.h"

#include <flydsl/error.h>

#include <catch2/catch.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {
/// Runs `body` in a child; the text that it returns, or its exception's.
std::string inChild(const std::function<std::string()> &body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    std::string text;
    try {
      text = body();
    } catch (const std::exception &error) {
      text = std::string("error: ") + error.what();
    }
    ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<std::size_t>(n));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(WIFEXITED(status));
  return text;
}

std::string load() {
  const auto &driver = flydsl::runtime::driver();
  return driver.path + " devices " + std::to_string(driver.deviceCount);
}
} // namespace

TEST_CASE("the emulator's library is the one that the environment names") {
  std::string text = inChild([] {
    setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
    setenv("FLYDSL_EMULATOR_LIBRARY", FAKE_HIP_LIBRARY, 1);
    return load();
  });
  CHECK_THAT(text, Catch::EndsWith("libfake_hip.so devices 2"));
}

TEST_CASE("a library without a device, and one that is not there, are named in the error") {
  std::string text = inChild([] {
    setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
    setenv("FLYDSL_EMULATOR_LIBRARY", FAKE_HIP_LIBRARY, 1);
    setenv("FAKE_HIP_NO_DEVICE", "1", 1);
    return load();
  });
  CHECK_THAT(
      text, Catch::StartsWith("error: no device to run on (FLYDSL_RUNTIME_KIND=emulator); tried:"));
  CHECK_THAT(text, Catch::Contains("libfake_hip.so: reports no device"));
  text = inChild([] {
    setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
    setenv("FLYDSL_EMULATOR_LIBRARY", "/nowhere/libx.so", 1);
    return load();
  });
  CHECK_THAT(text, Catch::Contains("/nowhere/libx.so"));
}

TEST_CASE("the error says which of the emulator's variables leave no device, and why") {
  const auto refused = [](const char *name, const char *value) {
    return inChild([&] {
      setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
      setenv("FLYDSL_EMULATOR_LIBRARY", EMULATOR_LIBRARY, 1);
      setenv("FLYDSL_EMULATOR_LOG", "off", 1);
      setenv(name, value, 1);
      return load();
    });
  };
  CHECK_THAT(refused("FLYDSL_EMULATOR_CHECK", "races"),
             Catch::StartsWith("error: no device to run on") &&
                 Catch::Contains("reports no device (hipErrorNoDevice: FLYDSL_EMULATOR_CHECK=races "
                                 "is no list of memory, race"));
  CHECK_THAT(refused("FLYDSL_EMULATOR_ARCH", "gfx803"),
             Catch::Contains("FLYDSL_EMULATOR_ARCH=gfx803: the emulator does not run this target; "
                             "it runs gfx90a, gfx942"));
  CHECK_THAT(refused("FLYDSL_EMULATOR_ARCH", "gfx942:xnack+"),
             Catch::Contains("FLYDSL_EMULATOR_ARCH=gfx942:xnack+: the emulator's gfx942 is "
                             "gfx942:sramecc+:xnack-"));
  CHECK_THAT(refused("FLYDSL_EMULATOR_PRODUCT", "MI400"),
             Catch::Contains("FLYDSL_EMULATOR_PRODUCT=MI400 is none of MI210, MI250X, MI300X"));
  setenv("FLYDSL_EMULATOR_ARCH", "gfx942", 1);
  CHECK_THAT(refused("FLYDSL_EMULATOR_PRODUCT", "MI355X"),
             Catch::Contains("FLYDSL_EMULATOR_PRODUCT=MI355X is a gfx950, and "
                             "FLYDSL_EMULATOR_ARCH says gfx942, which is MI300X, MI325X"));
  unsetenv("FLYDSL_EMULATOR_ARCH");
  CHECK_THAT(refused("FLYDSL_EMULATOR_PRODUCT", "rx7900xtx"), Catch::EndsWith("devices 1"));
  CHECK_THAT(refused("FLYDSL_EMULATOR_ORDER", "sideways"),
             Catch::Contains("FLYDSL_EMULATOR_ORDER=sideways is none of forwards"));
  CHECK_THAT(refused("FLYDSL_EMULATOR_DEVICES", "0"),
             Catch::Contains("FLYDSL_EMULATOR_DEVICES=0 asks for no device"));
  CHECK_THAT(refused("FLYDSL_EMULATOR_ARCH", "gfx942:sramecc+"), Catch::EndsWith("devices 1"));
  // Two wrong ones are both told.
  setenv("FLYDSL_EMULATOR_MEMORY", "lots", 1);
  CHECK_THAT(refused("FLYDSL_EMULATOR_CHECK", "races"),
             Catch::Contains("FLYDSL_EMULATOR_MEMORY=lots is no number of MiB") &&
                 Catch::Contains("FLYDSL_EMULATOR_CHECK=races"));
  unsetenv("FLYDSL_EMULATOR_MEMORY");
}

TEST_CASE("a failed load is tried again") {
  std::string text = inChild([] {
    setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
    setenv("FLYDSL_EMULATOR_LIBRARY", "/nowhere/libx.so", 1);
    try {
      load();
    } catch (const flydsl::RuntimeError &) {
      setenv("FLYDSL_EMULATOR_LIBRARY", FAKE_HIP_LIBRARY, 1);
      return load();
    }
    return std::string("loaded");
  });
  CHECK_THAT(text, Catch::EndsWith("devices 2"));
}

TEST_CASE("an unknown kind of runtime is an error") {
  std::string text = inChild([] {
    setenv("FLYDSL_RUNTIME_KIND", "cuda", 1);
    return load();
  });
  CHECK(text == "error: FLYDSL_RUNTIME_KIND=cuda: expected hip or emulator");
}

TEST_CASE("a library that is no HIP is told by what it lacks") {
  std::string text = inChild([] {
    setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
    setenv("FLYDSL_EMULATOR_LIBRARY", "libm.so.6", 1);
    return load();
  });
  CHECK_THAT(text, Catch::Contains("libm.so.6: lacks hipGetErrorName"));
}

TEST_CASE("of more devices than a process uses, the first ones are used") {
  std::string text = inChild([] {
    setenv("FLYDSL_RUNTIME_KIND", "emulator", 1);
    setenv("FLYDSL_EMULATOR_LIBRARY", FAKE_HIP_LIBRARY, 1);
    setenv("FAKE_HIP_DEVICES", "100", 1);
    return load();
  });
  CHECK_THAT(text, Catch::EndsWith("libfake_hip.so devices " +
                                   std::to_string(flydsl::runtime::kMaxDevices)));
}

TEST_CASE("a machine without a file of a GPU is known by its folder of devices") {
  char name[] = "/tmp/flydsl-devices-XXXXXX";
  REQUIRE(mkdtemp(name));
  const std::filesystem::path folder = name;
  CHECK_FALSE(flydsl::runtime::hasDeviceFiles(folder));
  std::ofstream(folder / "tty") << "";
  CHECK_FALSE(flydsl::runtime::hasDeviceFiles(folder));
  for (const char *device : {"kfd", "dri", "dxg"}) {
    std::ofstream(folder / device) << "";
    CHECK(flydsl::runtime::hasDeviceFiles(folder));
    std::filesystem::remove(folder / device);
  }
  std::filesystem::remove_all(folder);
  CHECK_FALSE(flydsl::runtime::hasDeviceFiles(folder));
}

TEST_CASE("HIP is not opened where the machine has no GPU, unless it is asked for") {
  if (flydsl::runtime::hasDeviceFiles("/dev")) {
    WARN("this machine has files of a GPU: there is nothing to see");
    return;
  }
  auto tried = [](const char *kind) {
    return inChild([kind] {
      setenv("FLYDSL_RUNTIME_KIND", kind, 1);
      setenv("FLYDSL_EMULATOR_LIBRARY", "/nowhere/libx.so", 1);
      return load();
    });
  };
  const std::string any = tried(""), hip = tried("hip");
  CHECK_THAT(any, Catch::Contains("not opened, because there is no /dev/kfd") &&
                      Catch::Contains("FLYDSL_RUNTIME_KIND=hip") &&
                      !Catch::Contains("libamdhip64"));
  CHECK_THAT(hip, Catch::Contains("libamdhip64.so") && !Catch::Contains("not opened"));
}

TEST_CASE("a launch names its arguments as HIP does") {
  CHECK(flydsl::runtime::kArgumentBuffer == HIP_LAUNCH_PARAM_BUFFER_POINTER);
  CHECK(flydsl::runtime::kArgumentBytes == HIP_LAUNCH_PARAM_BUFFER_SIZE);
}
