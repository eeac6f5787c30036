// What an Executable says is read from its code object and from how that was made.
#include "jit/compile/disassemble.h"
#include "jit/launch/executable_state.h"

FLYDSL_NAMESPACE_BEGIN

Executable::Executable(std::shared_ptr<const detail::ExecutableState> state)
    : state_(std::move(state)) {}
Executable::~Executable() = default;
Executable::Executable(const Executable &) = default;
Executable &Executable::operator=(const Executable &) = default;

const std::string &Executable::name() const { return state_->facts.name; }
const std::string &Executable::target() const { return state_->object->target; }
std::span<const std::uint8_t> Executable::binary() const { return state_->object->bytes; }
unsigned Executable::registers() const { return state_->kernel->vgprs; }
unsigned Executable::accumulation_registers() const { return state_->kernel->agprs; }
unsigned Executable::scalar_registers() const { return state_->kernel->sgprs; }
std::size_t Executable::shared_bytes() const { return state_->kernel->ldsBytes; }
std::size_t Executable::scratch_bytes() const { return state_->kernel->scratchBytes; }
unsigned Executable::spills() const {
  return state_->kernel->vgprSpills + state_->kernel->sgprSpills;
}
std::size_t Executable::code_size() const { return state_->kernel->codeBytes; }
unsigned Executable::max_block() const { return state_->facts.maxBlock; }

const std::string &Executable::ir_hash() const { return state_->irHash; }
CacheTier Executable::cache_tier() const { return state_->tier; }
const char *Executable::cache_tier_name() const { return jit::tierName(state_->tier); }
double Executable::trace_milliseconds() const { return state_->traceMilliseconds; }
double Executable::compile_milliseconds() const { return state_->compileMilliseconds; }

const std::string &Executable::print_ir() const { return state_->ir; }
std::string Executable::isa() const { return jit::disassemble(*state_->object); }
std::string Executable::summary() const { return jit::summary(*state_->object); }

FLYDSL_NAMESPACE_END
