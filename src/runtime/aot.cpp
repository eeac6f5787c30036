// Loading and launching kernels that were compiled ahead of time.
#include "runtime/aot_file.h"
#include "runtime/device_info.h"
#include "runtime/hip_error.h"
#include "runtime/tensor_words.h"

#include <flydsl/aot.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace detail {

/// One variant, loaded on the devices that asked for it. Entries appear and stay.
struct AotLoaded {
  static constexpr int maxDevices = 64;
  AotVariant variant;
  std::atomic<const LoadedKernel *> on[maxDevices] = {};
  std::vector<std::unique_ptr<LoadedKernel>> owned;
};

struct AotState {
  std::vector<std::unique_ptr<AotLoaded>> variants;
  std::mutex mutex; ///< guards `owned` and the making of what is in `on`
};

void packInteger(ArgPack &pack, DType dtype, std::int64_t value, bool above63) {
  auto put = [&]<DType::Kind K>() {
    if (above63)
      packScalar<K>(pack, static_cast<std::uint64_t>(value));
    else
      packScalar<K>(pack, value);
  };
  using enum DType::Kind;
  switch (dtype.kind()) {
  case boolean:
    return put.operator()<boolean>();
  case i8:
    return put.operator()<i8>();
  case i16:
    return put.operator()<i16>();
  case i32:
    return put.operator()<i32>();
  case i64:
    return put.operator()<i64>();
  case u8:
    return put.operator()<u8>();
  case u16:
    return put.operator()<u16>();
  case u32:
    return put.operator()<u32>();
  case u64:
    return put.operator()<u64>();
  case f32:
    return put.operator()<f32>();
  case f64:
    return put.operator()<f64>();
  default:
    return pack.fail("a number where the kernel takes none");
  }
}

void packReal(ArgPack &pack, DType dtype, double value) {
  if (dtype == f32)
    packScalar<DType::Kind::f32>(pack, value);
  else if (dtype == f64)
    packScalar<DType::Kind::f64>(pack, value);
  else
    pack.fail("a floating-point number where the kernel takes none");
}

} // namespace detail

using detail::AotLoaded;
using detail::AotState;

namespace {

AotModule open(std::span<const std::uint8_t> bytes, const std::string &what,
               const std::source_location &where) {
  auto state = std::make_shared<AotState>();
  try {
    for (AotVariant &variant : decodeAot(bytes)) {
      auto loaded = std::make_unique<AotLoaded>();
      loaded->variant = std::move(variant);
      state->variants.push_back(std::move(loaded));
    }
  } catch (const RuntimeError &error) {
    throw RuntimeError(what + ": " + error.what(), 0, where);
  }
  return AotModule(std::move(state));
}

template <class Range> std::string joined(const Range &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text;
}

} // namespace

AotModule load_aot(const std::string &path, std::source_location where) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw RuntimeError("can't open " + path, 0, where);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  if (file.bad())
    throw RuntimeError("can't read " + path, 0, where);
  return open(bytes, path, where);
}

AotModule load_aot(std::span<const unsigned char> bytes, std::source_location where) {
  return open(bytes, "compiled kernels in memory", where);
}

AotModule::AotModule(std::shared_ptr<AotState> state) : state_(std::move(state)) {}

std::vector<std::string> AotModule::kernels() const {
  std::vector<std::string> names;
  for (const auto &loaded : state_->variants)
    names.push_back(loaded->variant.facts.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

AotKernel AotModule::kernel(const std::string &name, std::source_location where) const {
  const std::vector<std::string> names = kernels();
  if (!std::binary_search(names.begin(), names.end(), name))
    throw RuntimeError("no kernel " + name + " among the compiled ones: " + joined(names), 0,
                       where);
  return AotKernel(state_, name);
}

AotKernel::AotKernel(std::shared_ptr<AotState> state, std::string name)
    : state_(std::move(state)), name_(std::move(name)) {}

std::vector<std::string> AotKernel::targets() const {
  std::vector<std::string> targets;
  for (const auto &loaded : state_->variants)
    if (loaded->variant.facts.name == name_)
      targets.push_back(loaded->variant.facts.target);
  return targets;
}

DType AotKernel::parameter(std::size_t index) const {
  // Variants of a kernel differ in target, workgroup size and tensor types; their scalars are the
  // same.
  for (const auto &loaded : state_->variants) {
    const AotVariant &variant = loaded->variant;
    if (variant.facts.name != name_)
      continue;
    for (std::size_t at = 1, i = 0; at < variant.words.size(); ++i) {
      const std::uint64_t head = variant.words[at];
      const bool scalar = (head & 15) == ArgPack::scalarTag;
      if (i == index)
        return scalar ? DType(static_cast<DType::Kind>(field(head, dtypeAt, 0xff))) : DType();
      at += scalar ? 1 : tensorWords(head);
    }
    break;
  }
  return {};
}

void AotKernel::launch(ArgPack &pack, const LaunchConfig &config,
                       const std::source_location &where) const {
  const std::string who = "kernel " + name_ + ": ";
  if (pack.error())
    throw TraceError(who + "argument " + std::to_string(pack.errorArgument()) + ": " + pack.error(),
                     where);
  const HipFunctions &functions = hip();
  const int device = deviceOf(config.stream, functions);
  if (device >= AotLoaded::maxDevices)
    throw RuntimeError("device " + std::to_string(device) + " is over the limit of devices", 0,
                       where);

  AotLoaded *fitting = nullptr;
  bool typesFit = false;
  for (const auto &loaded : state_->variants) {
    const AotVariant &variant = loaded->variant;
    if (variant.facts.name != name_ || variant.words.size() != pack.words() ||
        std::memcmp(variant.words.data() + 1, pack.word() + 1, (pack.words() - 1) * 8) != 0)
      continue;
    typesFit = true;
    const auto &block = variant.facts.block;
    if (block[0] && config.block != Dim3(block[0], block[1], block[2]) && fitting)
      continue;
    if (runsOn(variant.facts.target, deviceInfo(device).archFull)) {
      fitting = loaded.get();
      if (!block[0] || config.block == Dim3(block[0], block[1], block[2]))
        break;
    }
  }
  if (!typesFit)
    throw TraceError(who + "the arguments are of other types than it was compiled for", where);
  if (!fitting)
    throw RuntimeError(who + "no code for " + deviceInfo(device).archFull + "; there is code for " +
                           joined(targets()),
                       0, where);
  checkBlock(config.block, fitting->variant.facts, where);
  const LoadedKernel *kernel = fitting->on[device].load(std::memory_order_acquire);
  if (!kernel) {
    std::lock_guard<std::mutex> lock(state_->mutex);
    kernel = fitting->on[device].load(std::memory_order_relaxed);
    if (!kernel) {
      fitting->owned.push_back(std::make_unique<LoadedKernel>(
          fitting->variant.image, nullptr, fitting->variant.facts, device, where));
      kernel = fitting->owned.back().get();
      fitting->on[device].store(kernel, std::memory_order_release);
    }
  }
  if (functions.deviceCount > 1) {
    DeviceScope scope(device);
    kernel->launch(config, pack.bytes(), pack.byteCount(), where);
  } else {
    kernel->launch(config, pack.bytes(), pack.byteCount(), where);
  }
}

FLYDSL_NAMESPACE_END
