#include "emulator/observe/lds_banks.h"

#include <algorithm>
#include <bit>
#include <iterator>

namespace flyemu {

namespace {
/// No LDS has more dwords. Accesses beyond them count as distinct.
constexpr uint32_t kMostDwords = 1 << 17;
} // namespace

void LdsBanks::touch(unsigned lane, uint64_t address, unsigned bytes, bool write, bool atomic) {
  const uint64_t first = address / 4, last = (address + bytes - 1) / 4;
  const uint64_t bit = uint64_t(1) << lane;
  const bool again = lanes_ & bit;
  runs_.push_back({static_cast<uint32_t>(first), static_cast<uint32_t>(last - first + 1),
                   again ? last_[lane] : 0});
  last_[lane] = static_cast<uint32_t>(runs_.size());
  lanes_ |= bit;
  pair_ |= again;
  write_ |= write;
  atomic_ |= atomic;
  bytes_ = std::max(bytes_, bytes);
  end_ = std::max(end_, static_cast<uint32_t>(std::min<uint64_t>(last + 1, kMostDwords)));
}

const LdsService &LdsBanks::service(const Machine &machine) {
  if (machine_ != &machine) {
    machine_ = &machine;
    known_ = {};
  }
  const LdsAccess access = atomic_  ? LdsAccess::Atomic
                           : pair_  ? (write_ ? LdsAccess::WritePair : LdsAccess::ReadPair)
                           : write_ ? LdsAccess::Write
                                    : LdsAccess::Read;
  const unsigned dwords = std::min((pair_ ? 2 : 1) * ((bytes_ + 3) / 4), 4u);
  const LdsService *&known = known_[static_cast<size_t>(access)][dwords - 1];
  if (!known)
    known = &ldsService(machine, access, dwords);
  return *known;
}

LdsBanks::Counted &LdsBanks::kept(const LdsService &service, uint32_t base) {
  uint64_t hash = lanes_ ^ reinterpret_cast<uintptr_t>(&service);
  const size_t n = runs_.size();
  for (const size_t some : {size_t(0), n / 4, n / 2, n - 1})
    hash = (hash ^ (runs_[some].first - base) ^ hash >> 29) * 0x9e3779b97f4a7c15u;
  return counted_[hash >> 32 & (kCounted - 1)];
}

bool LdsBanks::isLike(const Counted &counted, const LdsService &service, uint32_t base) const {
  if (counted.lanes != lanes_ || counted.service != &service || counted.runs.size() != runs_.size())
    return false;
  uint32_t difference = 0;
  for (size_t i = 0; i < runs_.size(); ++i)
    difference |= ((runs_[i].first - base) ^ counted.runs[i].first) |
                  (runs_[i].count ^ counted.runs[i].count) | (runs_[i].next ^ counted.runs[i].next);
  return !difference;
}

BankCycles LdsBanks::take(const Machine &machine) {
  const LdsService &service = this->service(machine);
  BankCycles cycles;
  if (end_ == kMostDwords) {
    cycles = count(service);
  } else {
    // Which dwords share a bank, and which are the same, is left by a distance of whole rounds of banks.
    const uint32_t base = runs_[0].first / service.banks * service.banks;
    Counted &counted = kept(service, base);
    if (!isLike(counted, service, base)) {
      counted = {.lanes = lanes_, .service = &service, .runs = runs_, .cycles = count(service)};
      for (Run &run : counted.runs)
        run.first -= base;
    }
    cycles = counted.cycles;
  }
  runs_.clear();
  lanes_ = 0;
  end_ = 0;
  bytes_ = 0;
  write_ = atomic_ = pair_ = false;
  return cycles;
}

BankCycles LdsBanks::count(const LdsService &service) {
  if (seen_.size() < end_)
    seen_.resize(end_);
  BankCycles cycles;
  for (const uint64_t phase : service.phases) {
    uint64_t left = phase & lanes_;
    if (!left)
      continue;
    if (++phase_ == 0) { // once in 2^32 phases
      std::fill(seen_.begin(), seen_.end(), 0);
      phase_ = 1;
    }
    uint8_t perBank[64] = {};
    for (; left; left &= left - 1)
      for (uint32_t at = last_[static_cast<size_t>(std::countr_zero(left))]; at;) {
        const Run &run = runs_[at - 1];
        for (uint32_t d = run.first, past = d + run.count; d != past; ++d) {
          const bool known = d < end_;
          perBank[d & (service.banks - 1)] += !known || seen_[d] != phase_;
          if (known)
            seen_[d] = phase_;
        }
        at = run.next;
      }
    const unsigned most = *std::max_element(std::begin(perBank), std::end(perBank));
    cycles.active += most;
    cycles.conflicts += most - 1;
  }
  return cycles;
}

} // namespace flyemu
