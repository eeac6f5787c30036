#include "run.h"

#include "emulator/core/dispatch.h"
#include "emulator/core/program.h"
#include "emulator/core/weak_memory.h"
#include "emulator/hip/device/memory.h"
#include "emulator/hip/launch/launch_services.h"
#include "emulator/hip/launch/occupancy.h"
#include "emulator/hip/report/estimate.h"
#include "emulator/loader/loaded_code.h"
#include "emulator/loader/offload_bundle.h"
#include "emulator/observe/memory_times.h"
#include "emulator/observe/run_dispatch.h"
#include "emulator/observe/timeline.h"
#include "support/text.h"
#include "target/products.h"

#include <cstdio>
#include <cstring>
#include <fstream>
#include <optional>
#include <stdexcept>

namespace flyemu::tool {
namespace {

using hip::Allocation;
using hip::DeviceMemory;
using hip::LaunchMemory;
using hip::MemoryKind;

constexpr uint64_t kCapacity = uint64_t(1)
                               << 38; // no limit of its own; the host's memory is the limit

std::shared_ptr<loader::LoadedCode> load(const std::string &file, const std::string &target) {
  std::vector<uint8_t> bytes = readWholeFile(file);
  loader::ByteView image(bytes.data(), bytes.size());
  loader::TargetId device = loader::deviceTarget(target);
  std::vector<uint8_t> expanded;
  if (loader::isOffloadBundle(image))
    image = loader::selectFromBundle(image, device, expanded);
  return loader::LoadedCode::load(image, device);
}

/// Allocates the buffers in the address space, and keeps the bytes that the kernel gets for each
/// argument.
class Arguments {
public:
  Arguments(const std::vector<std::string> &texts, DeviceMemory &space) {
    for (const std::string &text : texts) {
      Argument argument = parseArgument(text);
      std::vector<uint8_t> passed = argument.bytes;
      uint64_t address = 0;
      if (argument.isBuffer) {
        address = space.allocate(MemoryKind::Device, 0, argument.bytes.size(), 0);
        if (!address)
          throw std::runtime_error("no memory for '" + text + "'");
        std::memcpy(reinterpret_cast<void *>(address), argument.bytes.data(),
                    argument.bytes.size());
        if (!argument.isPoison)
          space.noteWritten(address, argument.bytes.size());
        passed.resize(sizeof(address));
        std::memcpy(passed.data(), &address, sizeof(address));
      }
      addresses_.push_back(address);
      passed_.push_back(std::move(passed));
      arguments_.push_back(std::move(argument));
    }
  }

  /// The kernarg segment; checks number and sizes against the metadata.
  std::vector<uint8_t> pack(const loader::KernelNotes &kernel) {
    std::vector<void *> values;
    for (const loader::KernelParameter &expected : kernel.arguments) {
      if (expected.isHidden())
        continue;
      size_t i = values.size();
      std::string which = "argument " + std::to_string(i) +
                          (expected.name.empty() ? "" : " (" + expected.name + ")");
      if (i >= passed_.size())
        throw std::invalid_argument(which + " of " + kernel.name + " is not given");
      if (passed_[i].size() != expected.size)
        throw std::invalid_argument(which + " of " + kernel.name + " has " +
                                    std::to_string(expected.size) + " bytes, not " +
                                    std::to_string(passed_[i].size()));
      values.push_back(passed_[i].data());
    }
    if (values.size() != passed_.size())
      throw std::invalid_argument(kernel.name + " takes " + std::to_string(values.size()) +
                                  " arguments, not " + std::to_string(passed_.size()));
    return loader::packArguments(kernel, values.data());
  }

  void deliverAll() {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      if (arguments_[i].sink.empty())
        continue;
      auto *data = reinterpret_cast<uint8_t *>(addresses_[i]);
      deliver(arguments_[i].sink, {data, data + arguments_[i].bytes.size()}, static_cast<int>(i));
    }
  }

private:
  std::vector<Argument> arguments_;
  std::vector<std::vector<uint8_t>> passed_;
  std::vector<uint64_t> addresses_;
};

const loader::CodeKernel &kernelOf(const loader::LoadedCode &code, const std::string &name) {
  if (const loader::CodeKernel *kernel = code.findKernel(name))
    return *kernel;
  std::string known;
  for (const auto &entry : code.kernels())
    known += " " + entry.first;
  throw std::invalid_argument("no kernel '" + name + "'; there are:" + known);
}

/// Those of the product that is asked for, or else of the target's default.
const hip::DeviceFigures *figuresFor(const RunOptions &options) {
  if (options.part.empty())
    return hip::findDeviceFigures(options.target);
  const flydsl::detail::ProductRow *product = flydsl::detail::findProduct(options.part);
  if (!product || product->processor != options.target) {
    std::string known;
    for (const flydsl::detail::ProductRow &row : flydsl::detail::productsOf(options.target))
      flydsl::support::appendItem(known, row.name);
    throw std::invalid_argument("--part " + options.part + " is none of " + options.target +
                                "'s products: " + known);
  }
  return &hip::figuresOf(*product);
}

void printCounters(const DispatchResult &result, const loader::KernelNotes &kernel,
                   const RunOptions &options, const hip::DeviceFigures *info) {
  forEachCounter(result.counters, [](const char *name, uint64_t value, const char *) {
    std::printf("%-28s %llu\n", name, static_cast<unsigned long long>(value));
  });
  if (!info)
    return;
  const hip::Estimate guess = hip::estimate(result.counters, result.timing, result.sample, *info,
                                            kernel, options.shape, options.warmLastCache);
  std::printf("estimate: %.0f cycles (%.2f us) on %s, bound by %s; %u workgroups a unit, "
              "%.3g waves a SIMD\n",
              guess.cycles, guess.microseconds, info->product->name.data(), guess.bound,
              guess.groupsPerUnit, guess.wavesPerSimd);
  std::printf("parts in cycles:");
  for (const hip::EstimatePart &part : guess.parts)
    std::printf(" %s %.0f", part.name, part.cycles);
  std::printf("\n");
}

void writeTimeline(const std::string &path, const DispatchResult &result,
                   const KernelCode &kernel) {
  std::ofstream file(path, std::ios::trunc);
  if (path.ends_with(".svg"))
    file << timelineSvg(result.timeline, kernel);
  else
    file << "[\n" << chromeTrace(result.timeline, kernel, 0) << "]\n";
  file.flush();
  if (!file)
    throw std::runtime_error("cannot write " + path);
}

} // namespace

int run(const RunOptions &options) {
  const hip::DeviceFigures *figures = figuresFor(options);
  auto code = load(options.file, options.target);
  const loader::CodeKernel &kernel = kernelOf(*code, options.kernel);
  DeviceMemory space(1, kCapacity, options.checks != kCheckNone, options.checks & kCheckInit);
  for (const MemoryRange &range : code->ranges()) {
    Allocation segment;
    segment.base = range.base;
    segment.size = range.size;
    segment.kind = MemoryKind::Image;
    segment.writable = range.writable;
    space.add(segment);
  }
  Arguments arguments(options.arguments, space);
  std::vector<uint8_t> kernarg = arguments.pack(kernel.metadata);
  loader::fillHiddenArguments(kernel.metadata, options.shape, kernarg);
  size_t size = kernarg.size();
  kernarg.resize(size + 64);

  LaunchMemory memory(space, 0);
  memory.addRange({reinterpret_cast<uint64_t>(kernarg.data()), kernarg.size(), false});
  Dispatch dispatch;
  const KernelCode ready = kernel.ready();
  dispatch.kernel = &ready;
  dispatch.grid = options.shape.grid;
  dispatch.block = options.shape.block;
  dispatch.dynamicLds = options.shape.dynamicLds;
  dispatch.cluster = options.shape.cluster;
  dispatch.kernarg = reinterpret_cast<uint64_t>(kernarg.data());
  dispatch.kernargSize = static_cast<uint32_t>(size);
  Options how;
  how.threads = options.threads;
  how.checks = options.checks;
  how.landLate = options.landLate.value_or(options.checks & kCheckWait);
  how.products = options.products;
  std::optional<WeakMemory> caches;
  if (options.weakMemory)
    how.weakMemory = &caches.emplace(*ready.program->target);
  how.timelineGroups = options.timeline.empty() ? 0 : options.timelineBlocks;
  how.order = options.order;
  how.slice = options.slice;
  how.counters = options.counters;
  how.dies = figures ? static_cast<unsigned>(figures->dies()) : 0;
  if (figures) {
    setMemory(how, *figures->product, options.warmLastCache);
    const uint64_t threads = uint64_t(dispatch.block[0]) * dispatch.block[1] * dispatch.block[2];
    dispatch.residentGroups = static_cast<uint64_t>(figures->computeUnits) *
                              static_cast<uint64_t>(hip::residentWorkgroups(
                                  *figures, kernel.metadata, threads, dispatch.dynamicLds));
  }
  if (options.limit)
    how.instructionLimit = options.limit;
  if (options.trace)
    how.trace = [](const std::string &line) { std::printf("%s\n", line.c_str()); };
  how.timeLimit = std::chrono::seconds(options.timeout);
  how.notice = [](const std::string &text) {
    std::fprintf(stderr, "notice: %s; --timeout SECONDS ends such a launch\n", text.c_str());
  };
  hip::DeviceHeap heap(space, 0);
  hip::LaunchServices services(kernel.metadata, heap, kernarg, memory, dispatch, how);

  DispatchResult result = runDispatch(dispatch, memory, how);
  services.finish();
  for (const Finding &finding : result.findings)
    std::fprintf(stderr, "check: %s\n", finding.message.c_str());
  if (!result.ok) {
    std::fprintf(stderr, "fault: %s\n", result.fault.message.c_str());
    return 1;
  }
  arguments.deliverAll();
  if (!options.timeline.empty())
    writeTimeline(options.timeline, result, ready);
  if (options.counters)
    printCounters(result, kernel.metadata, options, figures);
  return result.findings.empty() ? 0 : 1;
}

int list(const std::string &file, const std::string &target) {
  auto code = load(file, target);
  std::printf("code object version %u for %s\n", code->version(), code->target().str().c_str());
  for (const auto &entry : code->kernels()) {
    const loader::KernelNotes &kernel = entry.second.metadata;
    std::printf("%s: %u VGPRs (%u of them AGPRs), %u SGPRs, %u spills, LDS %u, scratch %u, "
                "at most %u work-items\n",
                kernel.name.c_str(), kernel.vgprCount, kernel.agprCount, kernel.sgprCount,
                kernel.vgprSpills + kernel.sgprSpills, kernel.groupSegmentSize,
                kernel.privateSegmentSize, kernel.maxFlatWorkgroupSize);
    for (const loader::KernelParameter &argument : kernel.arguments)
      if (!argument.isHidden())
        std::printf("  +%-4u %2u bytes  %-16s %s\n", argument.offset, argument.size,
                    argument.valueKind.c_str(), argument.name.c_str());
  }
  return 0;
}

} // namespace flyemu::tool
