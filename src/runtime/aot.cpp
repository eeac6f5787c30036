// Loading and launching kernels that were compiled ahead of time.
#include "runtime/aot_file.h"
#include "runtime/current_driver.h"
#include "runtime/device_info.h"
#include "runtime/per_device.h"
#include "runtime/tensor_words.h"
#include "support/exiting.h"
#include "support/file.h"
#include "support/text.h"

#include <flydsl/host/aot.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>

FLYDSL_NAMESPACE_BEGIN
using namespace flydsl::runtime;

namespace detail {

/// One code, loaded on the devices that asked for it. Entries appear and stay.
struct AotLoaded {
  explicit AotLoaded(AotCode code) : code(std::move(code)) {}
  const AotCode code;
  PerDevice<LoadedKernel> on{kMaxDevices};

  bool takes(const ArgPack &pack) const {
    return pack.sameTypes(code.words.data(), code.words.size());
  }
  bool takes(const Dim3 &block) const { return !code.facts.block[0] || block == madeFor(); }
  /// The workgroup size that it was compiled for; 0: any.
  Dim3 madeFor() const {
    const auto &made = code.facts.block;
    return made[0] ? Dim3(made[0], made[1], made[2]) : Dim3(0);
  }
};

/// A mark or an argument of a code, as far as its kind decides how a call is packed.
struct AotItem {
  enum class Kind { isThere, isLeftOut, argument } kind;
  DType dtype = {}; ///< of a scalar
  bool isMark() const { return kind != Kind::argument; }
  bool operator==(const AotItem &) const = default;
};

/// The codes of one variant of a kernel, in the order of the file. They differ in target, workgroup
/// size, tensor types and which of the optional arguments are there; their scalars are the same.
struct AotEntry {
  std::string kernel, variant;
  /// What the codes take, each form once.
  std::vector<std::vector<AotItem>> forms;
  std::vector<std::unique_ptr<AotLoaded>> codes;
  std::mutex mutex; ///< held while a code is loaded, so that each is loaded once

  /// What a call at the place goes on with; null past the end, or where its form is none.
  const AotItem *itemAt(const AotPlace &place) const {
    return place.form < forms.size() && place.at < forms[place.form].size()
               ? &forms[place.form][place.at]
               : nullptr;
  }
  /// Steps over a mark, in another form if only that has it there. False if none has.
  bool stepOver(AotPlace &place, AotItem::Kind mark) const;

  std::string title() const { return aotTitle(kernel, variant); }
  std::vector<std::string> targets() const {
    std::vector<std::string> targets;
    for (const auto &loaded : codes)
      targets.push_back(loaded->code.facts.target.id());
    return targets;
  }
  const LoadedKernel &load(const ArgPack &pack, const LaunchConfig &config, int device,
                           const std::source_location &where);
  const AotCode &nearest(const ArgPack &pack) const;
  /// Throws TraceError where no code takes arguments of these types.
  void expectTypes(const ArgPack &pack, const std::source_location &where) const;
  /// The one workgroup size that the codes for these arguments were made for; zeros where there
  /// are several, or one takes any.
  std::array<unsigned, 3> onlyBlock(const ArgPack &pack) const;
};

struct AotState {
  /// The variants of each kernel by their names, and these by the kernels' names.
  std::map<std::string, std::map<std::string, AotEntry>> kernels;
  std::vector<const AotLoaded *> inOrder; ///< all codes in the order of the file
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
  case f16:
    return put.operator()<f16>();
  case bf16:
    return put.operator()<bf16>();
  case f32:
    return put.operator()<f32>();
  case f64:
    return put.operator()<f64>();
  default:
    return pack.fail("a number where the kernel takes none");
  }
}

void packReal(ArgPack &pack, DType dtype, double value) {
  using enum DType::Kind;
  switch (dtype.kind()) {
  case f16:
    return packScalar<f16>(pack, value);
  case bf16:
    return packScalar<bf16>(pack, value);
  case f32:
    return packScalar<f32>(pack, value);
  case f64:
    return packScalar<f64>(pack, value);
  default:
    return pack.fail("a floating-point number where the kernel takes none");
  }
}

} // namespace detail

using detail::AotEntry;
using detail::AotLoaded;
using detail::AotState;

namespace {

using detail::AotItem;
using detail::AotPlace;

std::vector<AotItem> itemsOf(const std::vector<std::uint64_t> &words) {
  std::vector<AotItem> items;
  for (std::size_t at = 1; at < words.size();) {
    const std::uint64_t head = words[at];
    if (head == kPresenceHead)
      items.push_back({words[at + 1] ? AotItem::Kind::isThere : AotItem::Kind::isLeftOut});
    else if ((head & 15) == ArgPack::scalarTag)
      items.push_back(
          {AotItem::Kind::argument, DType(static_cast<DType::Kind>(field(head, kDtypeAt, 0xff)))});
    else
      items.push_back({AotItem::Kind::argument});
    at += argumentWords(head);
  }
  return items;
}

AotModule open(std::span<const std::uint8_t> bytes, const std::string &what,
               const std::source_location &where) {
  auto state = support::makeOutlivingExit<AotState>();
  try {
    for (AotCode &code : decodeAot(bytes)) {
      AotEntry &entry = state->kernels[code.kernel][code.variant];
      entry.kernel = code.kernel;
      entry.variant = code.variant;
      std::vector<AotItem> form = itemsOf(code.words);
      if (std::ranges::find(entry.forms, form) == entry.forms.end())
        entry.forms.push_back(std::move(form));
      entry.codes.push_back(std::make_unique<AotLoaded>(std::move(code)));
      state->inOrder.push_back(entry.codes.back().get());
    }
  } catch (const RuntimeError &error) {
    throw RuntimeError(what + ": " + error.what(), 0, where);
  }
  return AotModule(std::move(state));
}

std::string joined(const std::vector<std::string> &names) {
  return support::joined(names, [](const std::string &name) {
    return name.empty() ? std::string("(no name)") : name;
  });
}

template <class Map> std::vector<std::string> namesOf(const Map &map) {
  std::vector<std::string> names;
  for (const auto &[name, value] : map)
    names.push_back(name);
  return names;
}

/// The variants of a kernel by their names.
std::map<std::string, AotEntry> &variantsOf(AotState &state, const std::string &kernel,
                                            const std::source_location &where) {
  auto found = state.kernels.find(kernel);
  if (found == state.kernels.end())
    throw RuntimeError("no kernel " + kernel +
                           " among the compiled ones: " + joined(namesOf(state.kernels)),
                       0, where);
  return found->second;
}

} // namespace

AotModule load_aot(const std::string &path, std::source_location where) {
  support::FileContents file = support::readAll(path, kMaxAotBytes);
  if (!file.bytes)
    throw RuntimeError("can't read " + path + ": " + file.problem, 0, where);
  return open(*file.bytes, path, where);
}

AotModule load_aot(std::span<const unsigned char> bytes, std::source_location where) {
  return open(bytes, "compiled kernels in memory", where);
}

AotModule::AotModule(std::shared_ptr<AotState> state) : state_(std::move(state)) {}

std::vector<std::string> AotModule::kernels() const { return namesOf(state_->kernels); }

std::vector<std::string> AotModule::variants(const std::string &kernel,
                                             std::source_location where) const {
  return namesOf(variantsOf(*state_, kernel, where));
}

std::vector<AotInfo> AotModule::contents() const {
  std::vector<AotInfo> all;
  for (const AotLoaded *loaded : state_->inOrder) {
    const AotCode &code = loaded->code;
    AotInfo &info = all.emplace_back();
    info.kernel = code.kernel;
    info.variant = code.variant;
    info.symbol = code.facts.name;
    info.target = code.facts.target.id();
    info.block = loaded->madeFor();
    info.shared_bytes = code.facts.sharedBytes;
    for (const detail::ArgType &type : detail::typesOf(code.words))
      if (!saysGiven(type)) // its type follows
        info.arguments.push_back(type.str());
  }
  return all;
}

AotKernel AotModule::kernel(const std::string &name, std::source_location where) const {
  std::map<std::string, AotEntry> &variants = variantsOf(*state_, name, where);
  if (variants.size() > 1)
    throw RuntimeError("kernel " + name + " has " + std::to_string(variants.size()) +
                           " variants; name one of them, as in kernel(\"" + name + "\", \"" +
                           variants.rbegin()->first + "\"): " + joined(namesOf(variants)),
                       0, where);
  return AotKernel(std::shared_ptr<AotEntry>(state_, &variants.begin()->second));
}

AotKernel AotModule::kernel(const std::string &name, const std::string &variant,
                            std::source_location where) const {
  std::map<std::string, AotEntry> &variants = variantsOf(*state_, name, where);
  auto found = variants.find(variant);
  if (found == variants.end())
    throw RuntimeError("no variant " + variant + " of kernel " + name +
                           " among the compiled ones: " + joined(namesOf(variants)),
                       0, where);
  return AotKernel(std::shared_ptr<AotEntry>(state_, &found->second));
}

AotKernel::AotKernel(std::shared_ptr<AotEntry> kernel) : kernel_(std::move(kernel)) {}

const std::string &AotKernel::name() const { return kernel_->kernel; }

const std::string &AotKernel::variant() const { return kernel_->variant; }

std::vector<std::string> AotKernel::targets() const { return kernel_->targets(); }

bool AotEntry::stepOver(AotPlace &place, AotItem::Kind mark) const {
  const auto hasIt = [&](std::size_t form) {
    const AotItem *item = itemAt({form, place.at});
    return item && item->kind == mark;
  };
  std::size_t form = place.form;
  if (!hasIt(form)) { // of those that began as this call did
    for (form = 0; form < forms.size(); ++form)
      if (place.form < forms.size() && hasIt(form) &&
          std::ranges::equal(std::span(forms[form]).first(place.at),
                             std::span(forms[place.form]).first(place.at)))
        break;
    if (form == forms.size())
      return false;
  }
  place = {form, place.at + 1};
  return true;
}

void AotKernel::packPresence(ArgPack &pack, AotPlace &place, bool isThere) const {
  if (!isThere)
    pack.beginArgument();
  if (kernel_->stepOver(place, isThere ? AotItem::Kind::isThere : AotItem::Kind::isLeftOut))
    return pack.presence(isThere);
  const AotItem *item = kernel_->itemAt(place);
  const bool isOptional = item && item->isMark();
  if (isThere && !isOptional)
    return; // a value for an argument that every call gives
  if (isThere)
    pack.beginArgument();
  pack.fail(isThere ? "it is given, and the kernel was exported only for calls that leave it out"
            : isOptional ? "it is left out, and the kernel was exported only for calls that give it"
                         : "it is left out, and the kernel takes no optional argument there");
  place.form = kernel_->forms.size(); // what follows is compared with nothing
}

DType AotKernel::nextParameter(ArgPack &pack, AotPlace &place) const {
  const AotItem *item = kernel_->itemAt(place);
  if (item && item->isMark()) [[unlikely]] {
    if (kernel_->stepOver(place, AotItem::Kind::isThere)) {
      pack.presence(true);
    } else {
      pack.fail("it is given, and the kernel was exported only for calls that leave it out");
      place.form = kernel_->forms.size();
    }
    item = kernel_->itemAt(place);
  }
  if (!item || item->isMark())
    return {};
  ++place.at;
  return item->dtype;
}

DType AotKernel::parameter(std::size_t index) const {
  for (const AotItem &item : kernel_->forms.front())
    if (!item.isMark() && index-- == 0)
      return item.dtype;
  return {};
}

/// The code that agrees with the most arguments, counted from the first one.
const AotCode &AotEntry::nearest(const ArgPack &pack) const {
  const std::vector<detail::ArgType> given = pack.types();
  const AotCode *best = nullptr;
  std::size_t most = 0;
  for (const auto &loaded : codes) {
    const std::vector<detail::ArgType> made = detail::typesOf(loaded->code.words);
    std::size_t same = 0;
    while (same < std::min(given.size(), made.size()) && detail::sameType(given[same], made[same]))
      ++same;
    if (!best || same > most) {
      best = &loaded->code;
      most = same;
    }
  }
  return *best;
}

void AotEntry::expectTypes(const ArgPack &pack, const std::source_location &where) const {
  for (const auto &loaded : codes)
    if (loaded->takes(pack))
      return;
  refuseTypes(title(), pack, nearest(pack).words, where);
}

std::array<unsigned, 3> AotEntry::onlyBlock(const ArgPack &pack) const {
  std::array<unsigned, 3> only{};
  for (const auto &loaded : codes) {
    if (!loaded->takes(pack))
      continue;
    const std::array<unsigned, 3> &block = loaded->code.facts.block;
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
  expectTypes(pack, where);
  AotLoaded *fitting = nullptr;
  for (const auto &loaded : codes) {
    if (!loaded->takes(pack))
      continue;
    if (!runsOn(loaded->code.facts.target, arch))
      continue;
    const bool blockFits = loaded->takes(config.block);
    if (!fitting || blockFits)
      fitting = loaded.get();
    if (blockFits)
      break;
  }
  if (!fitting)
    throw RuntimeError("kernel " + title() + ": no code for " + arch + "; there is code for " +
                           joined(targets()),
                       0, where);
  checkBlock(config.block, fitting->code.facts, where);
  std::lock_guard<std::mutex> lock(mutex);
  if (const LoadedKernel *made = fitting->on.find(device))
    return *made;
  return fitting->on.publish(device,
                             std::make_unique<LoadedKernel>(fitting->code.image, nullptr,
                                                            fitting->code.facts, device, where));
}

void AotKernel::launch(ArgPack &pack, const LaunchConfig &config,
                       const std::source_location &where) const {
  if (pack.error()) [[unlikely]]
    refusePack(kernel_->title(), pack, where);
  if (!givesBlock(config)) [[unlikely]] {
    if (const std::array<unsigned, 3> only = kernel_->onlyBlock(pack); only[0])
      return launch(pack, withBlock(config, only), where);
    kernel_->expectTypes(pack, where);
    LaunchFacts facts;
    facts.name = kernel_->title();
    checkBlock(config.block, facts, where);
  }
  const int device = deviceOf(config.stream, driver());
  // A code that is loaded on the device runs there.
  for (const auto &loaded : kernel_->codes)
    if (const LoadedKernel *kernel = loaded->on.find(device))
      if (loaded->takes(config.block) && loaded->takes(pack)) [[likely]] {
        if (!loaded->code.facts.block[0])
          checkBlock(config.block, loaded->code.facts, where);
        return kernel->launch(config, pack, where);
      }
  kernel_->load(pack, config, device, where).launch(config, pack, where);
}

FLYDSL_NAMESPACE_END
