#include "emulator/ops/refused.h"

namespace flyemu {

namespace {
struct Refusal {
  std::string_view beginning; ///< of base mnemonics
  bool (*isOf)(const Machine &);
  const char *why;
};

bool isGfx1250(const Machine &machine) { return machine.isGfx1250(); }
bool isBefore(const Machine &machine) { return !machine.isGfx1250(); }

constexpr Refusal kRefusals[] = {
    {"s_barrier_init", isBefore, "a named barrier, whose numbers are reserved on RDNA4"},
    {"s_barrier_join", isBefore, "a named barrier, whose numbers are reserved on RDNA4"},
    {"global_load_tr_", isGfx1250,
     "a transposing load of gfx1250, whose order of elements is not known here"},
    {"s_buffer_", isGfx1250,
     "scalar memory through a buffer descriptor of gfx1250 is not emulated"},
};
} // namespace

const char *refusalOf(std::string_view mnemonic, const Machine &machine) {
  for (const Refusal &refusal : kRefusals)
    if (mnemonic.starts_with(refusal.beginning) && refusal.isOf(machine))
      return refusal.why;
  return nullptr;
}

} // namespace flyemu
