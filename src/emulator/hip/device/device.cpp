#include "emulator/hip/device/device.h"

#include "emulator/hip/graph/graph.h"
#include "emulator/hip/module/module.h"
#include "emulator/hip/order/stream_order.h"
#include "emulator/matrix/simd_level.h"
#include "support/env_variables.h"
#include "support/text.h"
#include "target/products.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>
#include <unordered_map>

namespace flyemu::hip {
namespace {

std::string variable(const char *name) {
  const char *text = std::getenv(name);
  return text ? text : "";
}

bool readNumber(const std::string &text, uint64_t &value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 18)
    return false;
  value = std::stoull(text);
  return true;
}

/// Bytes: a number of MiB, or one followed by M, G or T.
bool readMemory(std::string text, uint64_t &bytes) {
  unsigned shift = 20;
  if (!text.empty() && std::string_view("MGT").find(text.back()) != std::string_view::npos) {
    shift = text.back() == 'M' ? 20 : text.back() == 'G' ? 30 : 40;
    text.pop_back();
  }
  constexpr uint64_t kMost = uint64_t(1) << 50;
  uint64_t number = 0;
  if (!readNumber(text, number) || number == 0 || number > kMost >> shift)
    return false;
  bytes = number << shift;
  return true;
}

/// "gfx90a, gfx942": the processors that a device can have.
std::string knownProcessors() {
  return flydsl::support::joined(supportedTargets());
}

/// "MI300X, MI325X": the products of a processor, or of all.
std::string knownProducts(const std::string &processor = "") {
  std::string names;
  for (const DeviceFigures &figures : allDeviceFigures())
    if (processor.empty() || figures.name() == processor)
      flydsl::support::appendItem(names, figures.product->name);
  return names;
}

uint64_t hostMemory() {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && size > 0 ? uint64_t(pages) * size : uint64_t(4) << 30;
}

/// Why a device cannot be \p asked, an id whose processor is \p processor; empty if it can. A
/// device has the features of the real part, so an id may name them but not ask for others.
std::string wrongFeatures(const std::string &asked, const std::string &processor) {
  loader::TargetId id;
  if (asked.find(':') == asked.npos ||
      (loader::parseTargetId(asked, id) && isCompatible(id, loader::deviceTarget(processor))))
    return "";
  return "FLYDSL_EMULATOR_ARCH=" + asked + ": the emulator's " + processor + " is " +
         loader::deviceTarget(processor).str();
}

thread_local int currentIndex = 0;

} // namespace

Configuration Configuration::fromEnvironment() {
  namespace env = flydsl::support::env;
  Configuration result;
  // Each wrong variable is reported, and then there is no device.
  auto refuse = [&](const std::string &error) {
    result.error += (result.error.empty() ? "" : "; ") + error;
  };
  auto readInto = [&](const auto &variable, auto &value) {
    try {
      value = static_cast<std::remove_reference_t<decltype(value)>>(variable.get());
    } catch (const std::exception &error) {
      refuse(error.what());
    }
  };
  readInto(env::kEmulatorDevices, result.devices);
  readInto(env::kEmulatorHip, result.hipMajor);
  readInto(env::kEmulatorThreads, result.threads);
  readInto(env::kEmulatorInstructionLimit, result.instructionLimit);
  uint64_t seconds = 0;
  readInto(env::kEmulatorTimeout, seconds);
  result.timeLimit = std::chrono::seconds(seconds);
  readInto(env::kEmulatorCounters, result.counters);
  readInto(env::kEmulatorLaunchBlocking, result.launchBlocking);
  env::EmulatorLog log;
  readInto(env::kEmulatorLog, log);
  result.memoryBytes = hostMemory() >> 21 << 20;
  if (std::string text = variable("FLYDSL_EMULATOR_MEMORY");
      !text.empty() && !readMemory(text, result.memoryBytes))
    refuse("FLYDSL_EMULATOR_MEMORY=" + text +
           " is no number of MiB from 1 to 2^30, nor one followed by M, G or T");
  if (const SimdChoice &simd = simdChoice(); !simd.error.empty())
    refuse(simd.error);
  std::string checks = variable("FLYDSL_EMULATOR_CHECK");
  if (const auto named = checksNamed(checks))
    result.checks = *named;
  else
    refuse("FLYDSL_EMULATOR_CHECK=" + checks +
           " is no list of memory, race, race-same, init, sync, wait, streams, all, none");
  if (const std::string text = variable("FLYDSL_EMULATOR_ORDER"); !text.empty()) {
    if (const auto order = orderNamed(text))
      result.order = *order;
    else
      refuse("FLYDSL_EMULATOR_ORDER=" + text + " is none of " + kOrderNames);
  }
  readInto(env::kEmulatorSlice, result.slice);
  result.trace = variable("FLYDSL_EMULATOR_TRACE");
  readInto(env::kEmulatorTraceBlocks, result.traceBlocks);
  env::EmulatorMemoryModel model{};
  readInto(env::kEmulatorMemoryModel, model);
  result.weakMemory = model == env::EmulatorMemoryModel::weak;
  env::EmulatorMatrix matrix{};
  readInto(env::kEmulatorMatrix, matrix);
  result.products = matrix == env::EmulatorMatrix::none   ? Products::None
                    : matrix == env::EmulatorMatrix::fast ? Products::Fast
                                                          : Products::Exact;
  env::EmulatorLastCache lastCache{};
  readInto(env::kEmulatorLastCache, lastCache);
  result.warmLastCache = lastCache == env::EmulatorLastCache::warm;
  env::EmulatorLanding landing{};
  readInto(env::kEmulatorLanding, landing);
  result.landLate = landing == env::EmulatorLanding::late ||
                    (!env::kEmulatorLanding.given() && result.checks & kCheckWait);

  // ARCH names the compiler's target, which the emulator may be unable to run. A product says of
  // which processor it is.
  std::string asked = variable("FLYDSL_EMULATOR_ARCH");
  const std::string named = variable("FLYDSL_EMULATOR_PRODUCT");
  const flydsl::detail::ProductRow *product =
      named.empty() ? nullptr : flydsl::detail::findProduct(named);
  if (!named.empty() && !product)
    refuse("FLYDSL_EMULATOR_PRODUCT=" + named + " is none of " + knownProducts());
  if (product && asked.empty())
    asked = product->processor;
  const std::string compiled = variable("ARCH"),
                    compiledFor = compiled.substr(0, compiled.find(':'));
  if (asked.empty() && findDeviceFigures(compiledFor))
    asked = compiledFor;
  result.processor = asked.empty() ? defaultMachine().name() : asked.substr(0, asked.find(':'));
  result.figures = findDeviceFigures(result.processor);
  if (!result.figures)
    refuse("FLYDSL_EMULATOR_ARCH=" + asked + ": the emulator does not run this target; it runs " +
           knownProcessors());
  else if (const std::string wrong = wrongFeatures(asked, result.processor); !wrong.empty())
    refuse(wrong);
  if (product && result.figures && product->processor != result.processor)
    refuse("FLYDSL_EMULATOR_PRODUCT=" + named + " is a " + std::string(product->processor) +
           ", and FLYDSL_EMULATOR_ARCH says " + result.processor + ", which is " +
           knownProducts(result.processor));
  else if (product && result.figures)
    result.figures = &figuresOf(*product);
  return result;
}

Device::Device(int index, const Configuration &configuration, DeviceMemory &space)
    : heap(space, index),
      caches(configuration.weakMemory
                 ? std::make_unique<WeakMemory>(*findMachine(configuration.processor))
                 : nullptr),
      index_(index), configuration_(configuration), space_(space),
      target_(loader::deviceTarget(configuration.processor)),
      defaultStream_(std::make_shared<Stream>(*this, hipStreamDefault, 0)) {}

StreamRef Device::createStream(unsigned flags, int priority) {
  std::lock_guard lock(mutex_);
  auto stream = std::make_shared<Stream>(*this, flags, priority, ++streamsMade_);
  streams_.push_back(stream);
  return stream;
}

void Device::destroyStream(const StreamRef &stream) {
  if (StreamOrder *order = Runtime::get().order(); order && stream->isBlocking())
    order->left(*stream, *defaultStream_);
  std::lock_guard lock(mutex_);
  std::erase(streams_, stream);
}

std::vector<StreamRef> Device::streams() const {
  std::lock_guard lock(mutex_);
  return streams_;
}

void Device::restartAfterFork() {
  defaultStream_->restart();
  for (const StreamRef &stream : streams())
    stream->restart();
}

std::vector<CompletionRef> Device::implicitDependencies(const Stream &stream) {
  std::vector<CompletionRef> result;
  for (const StreamRef &other : implicitStreams(stream))
    if (CompletionRef last = other->last(); last && !last->done())
      result.push_back(std::move(last));
  return result;
}

std::vector<StreamRef> Device::implicitStreams(const Stream &stream) {
  if (&stream != defaultStream_.get())
    return stream.isBlocking() ? std::vector{defaultStream_} : std::vector<StreamRef>();
  std::vector<StreamRef> result = streams();
  std::erase_if(result, [](const StreamRef &other) { return !other->isBlocking(); });
  return result;
}

void Device::synchronize() {
  StreamOrder *order = Runtime::get().order();
  const std::vector<StreamRef> all = streams();
  Clock reached;
  if (order)
    reached = order->pointOf(*defaultStream_, all);
  defaultStream_->drain();
  for (const StreamRef &stream : all)
    stream->drain();
  if (order)
    order->hostReached(reached);
}

void Device::requireHealthy() const {
  if (fault() == hipSuccess)
    return;
  std::lock_guard lock(mutex_);
  if (hipError_t status = fault(); status != hipSuccess)
    throw DeviceLost(status, faultText_);
}

void Device::noteFault(hipError_t status, const std::string &text) {
  std::lock_guard lock(mutex_);
  if (fault() != hipSuccess)
    return;
  faultText_ = text;
  fault_.store(status, std::memory_order_release);
}

void Device::reset() {
  synchronize();
  std::vector<StreamRef> gone;
  {
    std::lock_guard lock(mutex_);
    gone.swap(streams_);
  }
  for (const StreamRef &stream : gone)
    Runtime::get().streams.take(stream.get());
  space_.releaseAll(index_);
  std::lock_guard lock(mutex_);
  faultText_.clear();
  fault_.store(hipSuccess);
}

Runtime &Runtime::get() {
  static Runtime *runtime = new Runtime;
  return *runtime;
}

Runtime::Runtime() : configuration_(Configuration::fromEnvironment()) {
  int count = configuration_.error.empty() ? configuration_.devices : 0;
  if (!configuration_.error.empty())
    log(ReportLevel::Error, configuration_.error);
  space_ = std::make_unique<DeviceMemory>(count, configuration_.memoryBytes,
                                          configuration_.checks != kCheckNone,
                                          configuration_.checks & kCheckInit);
  if (configuration_.checks & kCheckStreams) {
    order_ = std::make_unique<StreamOrder>();
    space_->onAllocation = [this](uint64_t base, uint64_t bytes) {
      order_->allocated(base, bytes);
    };
  }
  for (int i = 0; i < count; ++i)
    devices_.push_back(std::make_unique<Device>(i, configuration_, *space_));
  restartAfterFork([] {
    for (const auto &device : get().devices_)
      device->restartAfterFork();
  });
}

Runtime::~Runtime() = default;

void Runtime::requireDevices() const {
  if (devices_.empty())
    throw LoggedError(hipErrorNoDevice, configuration_.error.empty()
                                            ? "FLYDSL_EMULATOR_DEVICES=0 asks for no device"
                                            : configuration_.error);
}

Device &Runtime::device(int index) {
  requireDevices();
  if (index < 0 || index >= deviceCount())
    fail(hipErrorInvalidDevice,
         "device " + std::to_string(index) + " of " + std::to_string(deviceCount()));
  return *devices_[index];
}

Device &Runtime::currentDevice() { return device(currentIndex); }

void Runtime::synchronizeAll() {
  for (const std::unique_ptr<Device> &device : devices_)
    device->synchronize();
}

StreamRef Runtime::stream(hipStream_t handle) {
  // 1 is the legacy default stream's explicit handle in newer headers.
  if (!handle || handle == reinterpret_cast<hipStream_t>(1))
    return currentDevice().defaultStreamRef();
  if (handle == hipStreamPerThread) {
    thread_local std::unordered_map<Device *, StreamRef> own;
    StreamRef &stream = own[&currentDevice()];
    if (!stream)
      stream = currentDevice().createStream(hipStreamDefault, 0);
    return stream;
  }
  return streams.get(handle, "stream");
}

int currentDeviceIndex() { return currentIndex; }
void setCurrentDeviceIndex(int index) { currentIndex = index; }

} // namespace flyemu::hip
