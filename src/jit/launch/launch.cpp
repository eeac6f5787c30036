// The way of a call: signature, table, launch; and the slow way in, once per signature and device.
#include "jit/launch/build.h"
#include "jit/launch/choose_target.h"
#include "jit/launch/kernel_state.h"
#include "jit/launch/load.h"
#include "runtime/device_info.h"
#include "support/env_variables.h"
#include "support/exiting.h"
#include "support/log.h"
#include "target/from_environment.h"

FLYDSL_NAMESPACE_BEGIN

bool compile_only() { return support::env::kCompileOnly.get(); }

namespace detail {
using namespace flydsl::runtime;

class BoundExecutable {
public:
  /// `starts`: where the words of each parameter begin.
  BoundExecutable(std::shared_ptr<const ExecutableState> executable, const ArgPack &pack,
                  std::span<const std::uint16_t> starts)
      : executable(std::move(executable)), block(pack.block()), entry(pack, kMaxDevices),
        starts(starts.begin(), starts.end()) {}
  /// The same code, whose calls give the parameters that are kept.
  BoundExecutable(const BoundExecutable &whole, std::span<const bool> kept)
      : executable(whole.executable), block(whole.block),
        entry(wordsOf(whole, kept), 0, kMaxDevices) {}
  // Devices are not counted here: what is compiled only may never meet one.
  const std::shared_ptr<const ExecutableState> executable;
  const std::uint64_t block; ///< the workgroup size that it was compiled for, as a word; 0: any
  jit::SignatureEntry entry;
  const std::vector<std::uint16_t> starts; ///< none if its parameters are not known apart

private:
  static std::vector<std::uint64_t> wordsOf(const BoundExecutable &whole,
                                            std::span<const bool> kept) {
    const std::span<const std::uint64_t> all = whole.entry.words();
    std::vector<std::uint64_t> words{all[0]}; // the workgroup's
    if (whole.starts.size() != kept.size())
      throw Error("kernel " + whole.executable->facts.name +
                  ": it was compiled by a program that was made with an earlier release of the "
                  "library, and its constants can't be told from its other parameters; make the "
                  "program anew");
    for (std::size_t i = 0; i < kept.size(); ++i) {
      const std::size_t end = i + 1 < kept.size() ? whole.starts[i + 1] : all.size();
      if (kept[i])
        words.insert(words.end(), all.begin() + whole.starts[i],
                     all.begin() + static_cast<std::ptrdiff_t>(end));
    }
    return words;
  }
};

std::shared_ptr<KernelState> makeKernel(KernelSpec spec) {
  return support::makeOutlivingExit<KernelState>(std::move(spec));
}

namespace {

constexpr std::uint64_t kNoBlock = 0;

/// The workgroup size as a signature word; what is over 16 bits can't be a block and is refused
/// before it is used.
std::uint64_t blockWord(const Dim3 &b) {
  return static_cast<std::uint64_t>(b.x) | static_cast<std::uint64_t>(b.y) << 16 |
         static_cast<std::uint64_t>(b.z) << 32;
}

/// Whether every extent is 1 or more, and fits the word. As an unsigned number, an extent below 1
/// wraps to a large one.
bool plausible(const Dim3 &b) {
  return ((static_cast<std::uint64_t>(b.x) - 1) | (static_cast<std::uint64_t>(b.y) - 1) |
          (static_cast<std::uint64_t>(b.z) - 1)) < 0x8000;
}

/// Checks the workgroup size before anything is compiled. No target stands for any.
void checkBlockFor(const KernelSpec &spec, const Dim3 &block, const Target &target,
                   const std::source_location &where) {
  LaunchFacts facts;
  facts.name = spec.name;
  facts.target = target;
  facts.block = spec.hints.known_block_size;
  for (unsigned &extent : facts.block)
    if (facts.block[0] && !extent)
      extent = 1;
  checkBlock(block, facts, where);
}

std::array<unsigned, 3> extents(const Dim3 &b) {
  return {static_cast<unsigned>(b.x), static_cast<unsigned>(b.y), static_cast<unsigned>(b.z)};
}

/// Loads for a signature that has no kernel on `device` yet; traces and compiles unless that was
/// done before, for another device or by compile().
const LoadedKernel &prepare(KernelState &kernel, ArgPack &pack, const LaunchConfig &config,
                            int device, const std::source_location &where) {
  const Target target = detail::resolveTarget(deviceInfo(device).archFull);
  checkBlockFor(kernel.spec, config.block, target, where);
  const KernelState::Built executable =
      kernel.build(pack, extents(config.block), target, /*withIr=*/false);
  checkBlock(config.block, executable->facts, where);
  return kernel.table.insert(pack, driver().deviceCount)
      .publish(device, jit::load(*executable, device, where));
}

} // namespace

void launch(KernelState &kernel, ArgPack &pack, const LaunchConfig &config,
            const std::source_location &where) {
  if (pack.error()) [[unlikely]]
    refusePack(kernel.spec.name, pack, where);
  if (!plausible(config.block)) [[unlikely]] {
    if (const auto &known = kernel.spec.hints.known_block_size; !givesBlock(config) && known[0])
      return launch(kernel, pack, withBlock(config, known), where);
    checkBlockFor(kernel.spec, config.block, {}, where);
  }
  pack.setBlock(blockWord(config.block));
  // A signature that is in the table was launched before: its device exists, its block was checked.
  if (jit::SignatureEntry *entry = kernel.table.find(pack)) [[likely]] {
    const int device = deviceOf(config.stream, driver());
    if (const LoadedKernel *loaded = entry->loaded(device)) [[likely]]
      return loaded->launch(config, pack, where);
  }
  if (compile_only()) {
    CompileConfig only;
    only.block = config.block;
    support::log().info("{}", compile(kernel, pack, only, where).summary());
    return;
  }
  const int device = deviceOf(config.stream, driver());
  prepare(kernel, pack, config, device, where).launch(config, pack, where);
}

Executable compile(KernelState &kernel, ArgPack &pack, const CompileConfig &config,
                   const std::source_location &where) {
  if (pack.error() && !pack.nullOnly())
    refusePack(kernel.spec.name, pack, where);
  Dim3 block = config.block;
  if (const auto &known = kernel.spec.hints.known_block_size; block == Dim3(0) && known[0])
    block = Dim3(known[0], known[1] ? known[1] : 1, known[2] ? known[2] : 1);
  const bool any = block == Dim3(0);
  const Target target = jit::chooseTarget(config.arch, where);
  if (!any)
    checkBlockFor(kernel.spec, block, target, where);
  pack.setBlock(any ? kNoBlock : blockWord(block));
  const KernelState::Built executable =
      kernel.build(pack, any ? std::array<unsigned, 3>{0, 0, 0} : extents(block), target,
                   /*withIr=*/true);
  if (config.load)
    (void)jit::load(*executable, deviceOf({}, driver()), where);
  return Executable(executable);
}

std::shared_ptr<BoundExecutable> bindSignature(const Executable &executable, const ArgPack &pack) {
  return bindSignature(executable, pack, {});
}

std::shared_ptr<BoundExecutable> bindSignature(const Executable &executable, const ArgPack &pack,
                                               std::span<const std::uint16_t> starts) {
  return support::makeOutlivingExit<BoundExecutable>(ExecutableAccess::state(executable), pack,
                                                     starts);
}

std::shared_ptr<BoundExecutable> bindConstants(const BoundExecutable &executable,
                                               std::span<const bool> kept) {
  return support::makeOutlivingExit<BoundExecutable>(executable, kept);
}

void launchBound(BoundExecutable &bound, ArgPack &pack, const LaunchConfig &config,
                 const std::source_location &where) {
  if (pack.error() || !bound.entry.sameTypes(pack)) [[unlikely]]
    refuseTypes(bound.executable->facts.name, pack, bound.entry.words(), where);
  if (bound.block == kNoBlock || !plausible(config.block) || blockWord(config.block) != bound.block)
      [[unlikely]] {
    if (const auto &made = bound.executable->facts.block; !givesBlock(config) && made[0])
      return launchBound(bound, pack, withBlock(config, made), where);
    checkBlock(config.block, bound.executable->facts, where);
  }
  const int device = deviceOf(config.stream, driver());
  const LoadedKernel *loaded = bound.entry.loaded(device);
  if (!loaded) [[unlikely]]
    loaded = &bound.entry.publish(device, jit::load(*bound.executable, device, where));
  loaded->launch(config, pack, where);
}

} // namespace detail
FLYDSL_NAMESPACE_END
