// Loading and launching kernels that were compiled ahead of time.
#include "runtime/aot_file.h"
#include "runtime/current_driver.h"
#include "runtime/device_info.h"
#include "runtime/per_device.h"
#include "runtime/tensor_words.h"
#include "support/exiting.h"
#include "support/file.h"

#include <flydsl/aot.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace detail {

/// One variant, loaded on the devices that asked for it. Entries appear and stay.
struct AotLoaded {
  explicit AotLoaded(AotVariant variant) : variant(std::move(variant)) {}
  const AotVariant variant;
  PerDevice<LoadedKernel> on{kMaxDevices};

  bool takes(const ArgPack &pack) const {
    return pack.sameTypes(variant.words.data(), variant.words.size());
  }
  bool takes(const Dim3 &block) const {
    const auto &made = variant.facts.block;
    return !made[0] || block == Dim3(made[0], made[1], made[2]);
  }
};

/// A kernel's variants, in the order of the file. They differ in target, workgroup size and tensor
/// types; their scalars are the same.
struct AotEntry {
  std::string name;
  std::vector<DType> parameters; ///< none for a tensor
  std::vector<std::unique_ptr<AotLoaded>> variants;
  std::mutex mutex; ///< held while a variant is loaded, so that each is loaded once

  std::vector<std::string> targets() const {
    std::vector<std::string> targets;
    for (const auto &loaded : variants)
      targets.push_back(loaded->variant.facts.target);
    return targets;
  }
  const LoadedKernel &load(const ArgPack &pack, const LaunchConfig &config, int device,
                           const std::source_location &where);
  const AotVariant &nearest(const ArgPack &pack) const;
  /// The one workgroup size that the variants for these arguments were made for; zeros where there
  /// are several, or one takes any.
  std::array<unsigned, 3> onlyBlock(const ArgPack &pack) const;
};

struct AotState {
  std::map<std::string, AotEntry> kernels;
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

using detail::AotEntry;
using detail::AotLoaded;
using detail::AotState;

namespace {

std::vector<DType> parametersOf(const std::vector<std::uint64_t> &words) {
  std::vector<DType> parameters;
  for (std::size_t at = 1; at < words.size();) {
    const std::uint64_t head = words[at];
    const bool scalar = (head & 15) == ArgPack::scalarTag;
    parameters.push_back(scalar ? DType(static_cast<DType::Kind>(field(head, dtypeAt, 0xff)))
                                : DType());
    at += scalar ? 1 : tensorWords(head);
  }
  return parameters;
}

AotModule open(std::span<const std::uint8_t> bytes, const std::string &what,
               const std::source_location &where) {
  auto state = support::makeOutlivingExit<AotState>();
  try {
    for (AotVariant &variant : decodeAot(bytes)) {
      AotEntry &kernel = state->kernels[variant.facts.name];
      kernel.name = variant.facts.name;
      if (kernel.variants.empty())
        kernel.parameters = parametersOf(variant.words);
      kernel.variants.push_back(std::make_unique<AotLoaded>(std::move(variant)));
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
  support::FileContents file = support::readAll(path, maxAotBytes);
  if (!file.bytes)
    throw RuntimeError("can't read " + path + ": " + file.problem, 0, where);
  return open(*file.bytes, path, where);
}

AotModule load_aot(std::span<const unsigned char> bytes, std::source_location where) {
  return open(bytes, "compiled kernels in memory", where);
}

AotModule::AotModule(std::shared_ptr<AotState> state) : state_(std::move(state)) {}

std::vector<std::string> AotModule::kernels() const {
  std::vector<std::string> names;
  for (const auto &[name, kernel] : state_->kernels)
    names.push_back(name);
  return names;
}

AotKernel AotModule::kernel(const std::string &name, std::source_location where) const {
  auto found = state_->kernels.find(name);
  if (found == state_->kernels.end())
    throw RuntimeError("no kernel " + name + " among the compiled ones: " + joined(kernels()), 0,
                       where);
  return AotKernel(std::shared_ptr<AotEntry>(state_, &found->second));
}

AotKernel::AotKernel(std::shared_ptr<AotEntry> kernel) : kernel_(std::move(kernel)) {}

const std::string &AotKernel::name() const { return kernel_->name; }

std::vector<std::string> AotKernel::targets() const { return kernel_->targets(); }

DType AotKernel::parameter(std::size_t index) const {
  return index < kernel_->parameters.size() ? kernel_->parameters[index] : DType();
}

/// The variant that agrees with the most arguments, counted from the first one.
const AotVariant &AotEntry::nearest(const ArgPack &pack) const {
  const std::vector<detail::ArgType> given = pack.types();
  const AotVariant *best = nullptr;
  std::size_t most = 0;
  for (const auto &loaded : variants) {
    const std::vector<detail::ArgType> made = detail::typesOf(loaded->variant.words);
    std::size_t same = 0;
    while (same < std::min(given.size(), made.size()) && detail::sameType(given[same], made[same]))
      ++same;
    if (!best || same > most) {
      best = &loaded->variant;
      most = same;
    }
  }
  return *best;
}

std::array<unsigned, 3> AotEntry::onlyBlock(const ArgPack &pack) const {
  std::array<unsigned, 3> only{};
  for (const auto &loaded : variants) {
    if (!loaded->takes(pack))
      continue;
    const std::array<unsigned, 3> &block = loaded->variant.facts.block;
    if (!block[0] || (only[0] && only != block))
      return {};
    only = block;
  }
  return only;
}

/// The first launch of these types and this block on the device.
const LoadedKernel &AotEntry::load(const ArgPack &pack, const LaunchConfig &config, int device,
                                   const std::source_location &where) {
  const std::string &arch = deviceInfo(device).archFull;
  AotLoaded *fitting = nullptr;
  bool typesFit = false;
  for (const auto &loaded : variants) {
    if (!loaded->takes(pack))
      continue;
    typesFit = true;
    if (!runsOn(loaded->variant.facts.target, arch))
      continue;
    const bool blockFits = loaded->takes(config.block);
    if (!fitting || blockFits)
      fitting = loaded.get();
    if (blockFits)
      break;
  }
  if (!typesFit)
    refuseTypes(name, pack, nearest(pack).words, where);
  if (!fitting)
    throw RuntimeError("kernel " + name + ": no code for " + arch + "; there is code for " +
                           joined(targets()),
                       0, where);
  checkBlock(config.block, fitting->variant.facts, where);
  std::lock_guard<std::mutex> lock(mutex);
  if (const LoadedKernel *made = fitting->on.find(device))
    return *made;
  return fitting->on.publish(device,
                             std::make_unique<LoadedKernel>(fitting->variant.image, nullptr,
                                                            fitting->variant.facts, device, where));
}

void AotKernel::launch(ArgPack &pack, const LaunchConfig &config,
                       const std::source_location &where) const {
  if (pack.error()) [[unlikely]]
    refusePack(name(), pack, where);
  if (!givesBlock(config)) [[unlikely]] {
    if (const std::array<unsigned, 3> only = kernel_->onlyBlock(pack); only[0])
      return launch(pack, withBlock(config, only), where);
    KernelFacts facts;
    facts.name = name();
    checkBlock(config.block, facts, where);
  }
  const int device = deviceOf(config.stream, driver());
  // A variant that is loaded on the device runs there.
  for (const auto &loaded : kernel_->variants)
    if (const LoadedKernel *kernel = loaded->on.find(device))
      if (loaded->takes(config.block) && loaded->takes(pack)) [[likely]] {
        if (!loaded->variant.facts.block[0])
          checkBlock(config.block, loaded->variant.facts, where);
        return kernel->launch(config, pack, where);
      }
  kernel_->load(pack, config, device, where).launch(config, pack, where);
}

FLYDSL_NAMESPACE_END
