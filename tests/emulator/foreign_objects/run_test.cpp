// Code objects that other compilers made, launched through the HIP functions and compared with
// references in double precision. The manifests beside the objects say how to launch each of them.
#include "formats.h"
#include "references.h"

#include <catch2/catch.hpp>
#include <hip/hip_runtime_api.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <fstream>

namespace foreign {
namespace {

using nlohmann::json;
using Codes = std::vector<std::uint64_t>;

#define HIP_OK(call) REQUIRE((call) == hipSuccess)

std::string targetOfDevice() {
  hipDeviceProp_t properties;
  HIP_OK(hipGetDeviceProperties(&properties, 0));
  const std::string name = properties.gcnArchName;
  return name.substr(0, name.find(':'));
}

/// A device array that is gone at the end.
class Memory {
public:
  explicit Memory(const std::vector<std::uint8_t> &bytes) : size_(bytes.size()) {
    HIP_OK(hipMalloc(&data_, size_));
    HIP_OK(hipMemcpy(data_, bytes.data(), size_, hipMemcpyHostToDevice));
  }
  ~Memory() { (void)hipFree(data_); }
  Memory(const Memory &) = delete;
  void *data() const { return data_; }
  std::vector<std::uint8_t> read() const {
    std::vector<std::uint8_t> bytes(size_);
    HIP_OK(hipMemcpy(bytes.data(), data_, size_, hipMemcpyDeviceToHost));
    return bytes;
  }

private:
  void *data_ = nullptr;
  std::size_t size_;
};

/// A buffer of the manifest: what it holds before the launch, on the host and on the device.
struct Buffer {
  const Format *format;
  Codes codes;
  std::unique_ptr<Memory> memory;
};

/// A number that looks random, of a buffer's name and an element's place (splitmix64).
std::uint64_t mixed(const std::string &name, std::uint64_t n) {
  std::uint64_t x = n + 1;
  for (char c : name)
    x = x * 257 + static_cast<unsigned char>(c);
  x *= 0x9e3779b97f4a7c15;
  x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
  x = (x ^ x >> 27) * 0x94d049bb133111eb;
  return x ^ x >> 31;
}

Buffer bufferOf(const std::string &name, const json &spec) {
  Buffer buffer{&formatOf(spec.at("type").get<std::string>()), {}, nullptr};
  const Format &format = *buffer.format;
  buffer.codes.resize(spec.at("count").get<std::size_t>());
  const auto fill = spec.at("fill").get<std::string>();
  for (std::size_t n = 0; n < buffer.codes.size(); ++n) {
    const std::uint64_t random = mixed(name, n);
    if (fill == "integers") {
      const std::int64_t from = spec.at("from"), to = spec.at("to");
      const auto places = static_cast<std::uint64_t>(to - from + 1);
      const auto value = static_cast<int>(from + static_cast<std::int64_t>(random % places));
      buffer.codes[n] =
          encode(format, format.kind == Format::Exponent ? std::ldexp(1.0, value) : value);
    } else if (fill == "fractions") { // every fourth small, for what is below the normal numbers
      const double from = spec.at("from"), to = spec.at("to");
      const double value =
          from + (to - from) * static_cast<double>(random >> 40) / static_cast<double>(1 << 24);
      buffer.codes[n] = encode(format, n % 4 ? value : std::ldexp(value, -14));
    } else if (fill == "poison") {
      buffer.codes[n] = 0xa5a5a5a5a5a5a5a5 >> (64 - format.bits);
    } else {
      REQUIRE(fill == "zeros");
    }
  }
  buffer.memory = std::make_unique<Memory>(pack(format, buffer.codes));
  return buffer;
}

/// Launches as the entry says; the arguments keep their order.
void launch(const json &entry, std::map<std::string, Buffer> &buffers) {
  const std::string path =
      std::string(FOREIGN_OBJECTS) + "/" + entry.at("object").get<std::string>();
  hipModule_t module = nullptr;
  HIP_OK(hipModuleLoad(&module, path.c_str()));
  hipFunction_t function = nullptr;
  HIP_OK(hipModuleGetFunction(&function, module, entry.at("kernel").get<std::string>().c_str()));
  std::vector<std::vector<std::uint32_t>> arguments; // as 32-bit words
  for (const json &argument : entry.at("arguments")) {
    std::uint64_t word = 0;
    if (argument.contains("words")) {
      arguments.push_back(argument["words"].get<std::vector<std::uint32_t>>());
      continue;
    }
    if (argument.contains("i32"))
      word = static_cast<std::uint32_t>(argument["i32"].get<int>());
    else if (argument.contains("f32"))
      word = encode(formatOf("f32"), argument["f32"].get<double>());
    else if (const json &buffer = argument.at("buffer"); !buffer.is_null())
      word = reinterpret_cast<std::uint64_t>(buffers.at(buffer.get<std::string>()).memory->data());
    arguments.push_back({static_cast<std::uint32_t>(word), static_cast<std::uint32_t>(word >> 32)});
  }
  std::vector<void *> pointers;
  for (std::vector<std::uint32_t> &argument : arguments)
    pointers.push_back(argument.data());
  const auto grid = entry.at("grid").get<std::array<unsigned, 3>>(),
             block = entry.at("block").get<std::array<unsigned, 3>>();
  HIP_OK(hipModuleLaunchKernel(function, grid[0], grid[1], grid[2], block[0], block[1], block[2],
                               entry.at("shared").get<unsigned>(), nullptr, pointers.data(),
                               nullptr));
  const hipError_t status = hipDeviceSynchronize();
  if (status != hipSuccess)
    (void)hipDeviceReset();
  else
    HIP_OK(hipModuleUnload(module));
  REQUIRE(status == hipSuccess);
}

void runEntry(const json &entry) {
  std::map<std::string, Buffer> buffers;
  Values values;
  Expected expected;
  for (const auto &[name, spec] : entry.at("buffers").items()) {
    const Buffer &buffer = buffers[name] = bufferOf(name, spec);
    for (std::uint64_t code : buffer.codes)
      values[name].push_back(decode(*buffer.format, code));
    expected[name].resize(buffer.codes.size());
  }
  const auto sizes = entry.at("sizes").get<Sizes>();
  reference(entry.at("reference").get<std::string>(),
            {sizes, values,
             [&](const std::string &name, double value) {
               const Format &format = *buffers.at(name).format;
               return decode(format, encode(format, value));
             },
             expected});

  launch(entry, buffers);

  const double tolerance = entry.at("tolerance");
  std::size_t compared = 0;
  for (const auto &[name, buffer] : buffers) {
    const Codes after = unpack(*buffer.format, buffer.memory->read());
    std::size_t wrong = 0;
    std::string first;
    for (std::size_t n = 0; n < buffer.codes.size(); ++n) {
      const std::optional<double> &want = expected[name][n];
      const double got = decode(*buffer.format, after[n]);
      compared += want.has_value();
      const bool same = want ? std::fabs(got - *want) <= tolerance * std::max(1.0, std::fabs(*want))
                             : after[n] == buffer.codes[n];
      if (!same && !wrong++)
        first = "element " + std::to_string(n) + " is " + std::to_string(got) + ", not " +
                (want ? std::to_string(*want) : "what it was");
    }
    INFO(name << ": " << first);
    CHECK(wrong == 0);
  }
  CHECK(compared > 0);
}

} // namespace

TEST_CASE("objects of other compilers compute what their source says") {
  const std::string target = targetOfDevice();
  int ran = 0;
  for (const char *compiler : {"triton", "hip", "flydsl"}) {
    std::ifstream file(std::string(FOREIGN_OBJECTS) + "/" + compiler + "/manifest.json");
    REQUIRE(file);
    for (const json &entry : json::parse(file)) {
      if (entry.at("target") != target)
        continue;
      ++ran;
      DYNAMIC_SECTION(compiler << " " << entry.at("name").get<std::string>()) { runEntry(entry); }
    }
  }
  CHECK(ran > 15);
}

} // namespace foreign
