#include "emulator/core/named_barriers.h"

#include "emulator/core/wave.h"

namespace flyemu {

void NamedBarriers::begin(unsigned barriers, size_t waves) {
  count_ = barriers;
  barriers_ = {};
  waves_.assign(waves, {});
}

NamedBarriers::Barrier &NamedBarriers::at(unsigned number) {
  if (number == 0 || number > count_)
    throw WaveFault{"named barrier " + std::to_string(number) +
                    ", of a kernel whose descriptor has " + std::to_string(count_) + ", from 1 on"};
  return barriers_[number];
}

void NamedBarriers::init(unsigned number, unsigned members) {
  Barrier &barrier = at(number);
  if (members)
    barrier.members = members;
  barrier.signals = 0;
}

bool NamedBarriers::signal(unsigned number, unsigned members) {
  Barrier &barrier = at(number);
  if (members)
    barrier.members = members;
  if (!barrier.members)
    throw WaveFault{"a signal at named barrier " + std::to_string(number) +
                    ", which no s_barrier_init gave its members"};
  const bool isFirst = barrier.signals == 0;
  if (++barrier.signals >= barrier.members) {
    barrier.signals = 0;
    ++barrier.rounds;
  }
  return isFirst;
}

void NamedBarriers::join(unsigned wave, unsigned number) {
  waves_[wave].joined = number;
  waves_[wave].seen = number ? at(number).rounds : 0;
}

void NamedBarriers::wait(unsigned wave) {
  if (!waves_[wave].joined)
    throw WaveFault{"a wait at a named barrier by a wave that has joined none: on hardware it does "
                    "not wait"};
  waves_[wave].waits = true;
}

bool NamedBarriers::hasPassed(unsigned wave) {
  if (wave >= waves_.size() || !waves_[wave].waits || !isPassed(waves_[wave]))
    return false;
  waves_[wave].waits = false;
  waves_[wave].seen = barriers_[waves_[wave].joined].rounds;
  return true;
}

uint32_t NamedBarriers::state(unsigned number) const {
  if (number == 0 || number > count_)
    return 0;
  return 1u | barriers_[number].members << 4 | barriers_[number].signals << 16;
}

std::string NamedBarriers::describe(unsigned wave) const {
  const unsigned number = waves_[wave].joined;
  return "a wave waits at named barrier " + std::to_string(number) +
         " for ever: " + std::to_string(barriers_[number].signals) + " of " +
         std::to_string(barriers_[number].members) + " members have signalled";
}

} // namespace flyemu
