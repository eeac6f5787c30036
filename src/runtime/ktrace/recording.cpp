#include "runtime/ktrace/recording.h"

#include "runtime/loaded_kernel.h"
#include "support/env_variables.h"
#include "support/file.h"
#include "support/log.h"
#include "support/text.h"
#include "target/processors.h"

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>

namespace flydsl::runtime {
namespace {

namespace record = support::ktrace;

/// The constant clock counts 100 million a second on every processor (LLVM, AMDGPUUsage,
/// s_memrealtime; AMD's ISA documents, S_MEMREALTIME and MSG_RTN_GET_REALTIME).
constexpr double kNanosecondsPerTick = 10;

/// More records than a wave of a kernel that ends would make.
constexpr std::uint64_t kMostRecordsPerWave = 1 << 16;

const detail::Processor &processorOf(const std::string &target) {
  const detail::Processor *found = detail::findProcessor(target.substr(0, target.find(':')));
  if (!found)
    throw RuntimeError("ktrace: the target " + target + " is not known");
  return *found;
}

std::uint64_t blocksOf(const LaunchConfig &config) {
  return static_cast<std::uint64_t>(config.grid.x) * static_cast<std::uint64_t>(config.grid.y) *
         static_cast<std::uint64_t>(config.grid.z);
}

/// Which blocks record: all, or the one that FLYDSL_KTRACE_BLOCKS names.
void chooseBlocks(record::Header &header, const LaunchConfig &config, const SourceLocation &where) {
  const std::optional<std::string> only = support::env::kKtraceBlocks.get();
  if (!only || only->empty()) {
    header.blockCount = static_cast<std::uint32_t>(blocksOf(config));
    return;
  }
  long long x = 0, y = 0, z = 0;
  char more = 0;
  if (std::sscanf(only->c_str(), "%lld,%lld,%lld%c", &x, &y, &z, &more) != 3)
    throw RuntimeError(
        "FLYDSL_KTRACE_BLOCKS is x,y,z, the numbers of one block, not '" + *only + "'", 0, where);
  const Dim3 &g = config.grid;
  if (x < 0 || y < 0 || z < 0)
    throw RuntimeError(
        "FLYDSL_KTRACE_BLOCKS: a block has no negative number, as in '" + *only + "'", 0, where);
  // A launch without that block records nothing.
  const bool isThere = x < g.x && y < g.y && z < g.z;
  header.firstBlock = isThere ? static_cast<std::uint32_t>((z * g.y + y) * g.x + x) : 0;
  header.blockCount = isThere ? 1 : 0;
}

} // namespace

Recording::Recording(const LaunchFacts &facts, const LaunchConfig &config, int device,
                     const SourceLocation &where)
    : facts_(facts), config_(config), device_(device), where_(where) {
  const int lanes = facts.target.wave_size();
  const std::int64_t threads = config.block.x * config.block.y * config.block.z;
  header_.wavesPerBlock = static_cast<std::uint32_t>((threads + lanes - 1) / lanes);
  if (blocksOf(config) > UINT32_MAX)
    throw RuntimeError("ktrace: a grid of 2^32 blocks or more can't be recorded", 0, where);
  chooseBlocks(header_, config, where);
  const std::uint64_t waves = std::uint64_t(header_.blockCount) * header_.wavesPerBlock;
  const std::uint64_t room = support::env::kKtraceBufferBytes.get().bytes / sizeof(record::Record);
  const std::uint64_t perWave = waves ? std::min(room / waves, kMostRecordsPerWave) : 0;
  header_.recordsPerWave = static_cast<std::uint32_t>(perWave);
  regions_ = static_cast<std::size_t>(perWave * waves * sizeof(record::Record));
  const std::size_t bytes = sizeof(header_) + regions_;
  const Driver &used = driver();
  check(used.allocate(&buffer_, bytes),
        "allocating " + std::to_string(bytes) + " bytes for the events of kernel " + facts.name,
        where);
  // The copy and the fill are on the default stream, for which the launch's stream may not wait.
  Status status = used.fill(buffer_, 0, bytes);
  if (status == 0)
    status = used.copyToDevice(buffer_, &header_, sizeof header_);
  if (status == 0)
    status = used.synchronizeStream(nullptr);
  if (status != 0) {
    (void)used.release(buffer_);
    check(status, "clearing the buffer for the events of kernel " + facts.name, where);
  }
}

Recording::~Recording() {
  if (const Driver *used = driverToLetGo())
    (void)used->release(buffer_);
}

ktrace::Launch Recording::read() const {
  ktrace::Launch launch;
  launch.kernel = facts_.name;
  launch.target = facts_.target.id();
  launch.device = device_;
  launch.grid = config_.grid;
  launch.block = config_.block;
  launch.nanoseconds_per_tick = kNanosecondsPerTick;
  std::vector<record::Record> records(regions_ / sizeof(record::Record));
  record::Header after;
  const Driver &used = driver();
  const std::string doing = "reading the events of kernel " + facts_.name;
  check(used.copyToHost(&after, buffer_, sizeof after), doing, where_);
  if (!records.empty())
    check(
        used.copyToHost(records.data(), static_cast<std::byte *>(buffer_) + sizeof after, regions_),
        doing, where_);
  decodeEvents(launch, after, records, facts_.eventNames);
  return launch;
}

void Recording::finish() {
  const Driver &used = driver();
  check(used.synchronizeStream(config_.stream.native()),
        "waiting for kernel " + facts_.name + ", which records events", where_);
  const ktrace::Launch launch = read();
  if (launch.dropped)
    support::log().warn(
        "kernel {}: {} events of a launch found no room: each wave has {} records; "
        "FLYDSL_KTRACE_BUFFER_BYTES makes more room, FLYDSL_KTRACE_BLOCKS records one block",
        facts_.name, launch.dropped, header_.recordsPerWave);
  if (deliver(launch))
    return;
  static std::atomic<unsigned> number{0};
  const std::string directory = support::env::kKtraceDumpDir.get().value_or(".");
  const std::string path =
      (std::filesystem::path(directory) /
       (support::fileName(facts_.name) + "_" + std::to_string(number++) + ".ktrace.json"))
          .string();
  if (std::string problem = support::writeFile(path, ktrace::chrome_trace({launch}));
      !problem.empty())
    throw RuntimeError("can't write " + path + ": " + problem, 0, where_);
}

void decodeEvents(ktrace::Launch &launch, const record::Header &header,
                  std::span<const record::Record> records, std::span<const std::string> names) {
  launch.dropped = header.dropped;
  const detail::Processor &processor = processorOf(launch.target);
  const bool isGfx9 = detail::isCdna(processor.family);
  const std::uint64_t waves = std::uint64_t(header.blockCount) * header.wavesPerBlock;
  for (std::uint64_t wave = 0; wave < waves; ++wave) {
    const std::uint64_t number = header.firstBlock + wave / header.wavesPerBlock;
    const std::size_t firstEvent = launch.events.size();
    for (std::uint64_t i = 0; i < header.recordsPerWave; ++i) {
      const record::Record &r = records[wave * header.recordsPerWave + i];
      if (r.event == 0)
        break;
      ktrace::Event event;
      event.kind = static_cast<ktrace::Kind>(r.event >> record::kKindBit & 7);
      const std::uint32_t name = r.event & record::kNameMask;
      if (event.kind > ktrace::Kind::range_stop || name == 0 ||
          (event.kind != ktrace::Kind::range_pop && name > names.size()))
        throw RuntimeError("ktrace: kernel " + launch.kernel +
                           " wrote a record that is none; does it write past the end of a tensor?");
      if (event.kind != ktrace::Kind::range_pop)
        event.name = names[name - 1];
      event.ticks = r.clock;
      if (r.event >> record::kHasPayloadBit)
        switch (static_cast<record::PayloadType>(r.event >> record::kPayloadTypeBit & 7)) {
        case record::PayloadType::uint64:
          event.payload = r.payload;
          break;
        case record::PayloadType::int64:
          event.payload = static_cast<std::int64_t>(r.payload);
          break;
        case record::PayloadType::float32:
          event.payload = std::bit_cast<float>(static_cast<std::uint32_t>(r.payload));
          break;
        case record::PayloadType::float64:
          event.payload = std::bit_cast<double>(r.payload);
          break;
        case record::PayloadType::boolean:
          event.payload = r.payload != 0;
          break;
        }
      if (event.kind == ktrace::Kind::range_stop && r.start && r.start <= i)
        event.start = firstEvent + r.start - 1;
      const auto x = static_cast<std::uint64_t>(launch.grid.x),
                 y = static_cast<std::uint64_t>(launch.grid.y);
      event.block = {static_cast<std::int64_t>(number % x),
                     static_cast<std::int64_t>(number / x % y),
                     static_cast<std::int64_t>(number / x / y)};
      event.wave = static_cast<unsigned>(wave % header.wavesPerBlock);
      event.die = r.die;
      // HW_ID of gfx9: CU_ID in bits 8 to 11, SE_ID in 13 to 15 (gc_9_4_2_sh_mask.h). HW_ID1 of
      // later ones: WGP_ID in bits 10 to 13, SE_ID in 18 to 20 (RDNA3's ISA document).
      event.compute_unit = r.hardwareId >> (isGfx9 ? 8 : 10) & 15;
      event.engine = r.hardwareId >> (isGfx9 ? 13 : 18) & 7;
      launch.events.push_back(std::move(event));
    }
  }
}

} // namespace flydsl::runtime
