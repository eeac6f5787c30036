// Program flow, waits, messages, hardware registers: SOPP, SOPK's register access, SOP1's jumps.
#include "emulator/exec/scalar.h"
#include "emulator/exec/tables.h"

#include <chrono>
#include <iterator>

namespace flyemu {

namespace {
void branchIf(Wave &w, const Inst &i, bool taken) {
  if (taken)
    w.ip = &i + 1 + i.offset;
}

uint32_t modeBits(const Wave &w) {
  const Mode &m = w.mode;
  return m.rest | m.round32 | m.round64 << 2 | m.denorm32 << 4 | m.denorm64 << 6 |
         uint32_t(m.dx10Clamp) << 8 | uint32_t(m.ieee) << 9 | uint32_t(m.fp16Ovfl) << 23;
}

void setModeBits(Wave &w, uint32_t x) {
  Mode &m = w.mode;
  m.round32 = x & 3;
  m.round64 = x >> 2 & 3;
  m.denorm32 = x >> 4 & 3;
  m.denorm64 = x >> 6 & 3;
  if (w.target->family != Family::Gfx12) {
    m.dx10Clamp = x >> 8 & 1;
    m.ieee = x >> 9 & 1;
  }
  m.fp16Ovfl = x >> 23 & 1;
  m.rest = x & ~uint32_t(0x8003ff);
  w.plainFloat = (x & 255) == 0xf0;
}

constexpr unsigned kRegMode = 1, kRegStatus = 2, kRegHwId = 4, kRegLdsAlloc = 6,
                   kRegShMemBases = 15, kRegXccId = 20;

uint32_t hardwareRegister(Wave &w, unsigned id) {
  switch (id) {
  case kRegMode:
    return modeBits(w);
  case kRegStatus:
    return w.scc | uint32_t(w.exec() == 0) << 9 | uint32_t(w.vcc() == 0) << 10;
  case kRegHwId:
    return w.index;
  case kRegLdsAlloc:
    return (w.ldsSize + 511) / 512 << 12;
  case kRegShMemBases:
    return static_cast<uint32_t>(kPrivateAperture >> 48 | kSharedAperture >> 48 << 16);
  case kRegXccId:
    return 0;
  default:
    throw WaveFault{"hardware register " + std::to_string(id) +
                    " is not part of the emulated state"};
  }
}

void getRegister(Wave &w, const Inst &i) {
  unsigned imm = static_cast<uint16_t>(i.offset), size = (imm >> 11) + 1;
  uint32_t x = hardwareRegister(w, imm & 63) >> (imm >> 6 & 31);
  writeScalar<uint32_t>(w, i.dst, size == 32 ? x : x & ((1u << size) - 1));
}

void setRegister(Wave &w, const Inst &i, uint32_t value) {
  unsigned imm = static_cast<uint16_t>(i.offset), size = (imm >> 11) + 1, offset = imm >> 6 & 31,
           id = imm & 63;
  if (id != kRegMode)
    throw WaveFault{"writing hardware register " + std::to_string(id) +
                    " is not part of the emulated state"};
  uint32_t field = (size == 32 ? ~0u : (1u << size) - 1) << offset;
  setModeBits(w, (modeBits(w) & ~field) | (value << offset & field));
}

uint64_t clockTicks() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
}

constexpr auto kNothing = [](Wave &, const Inst &) {};
constexpr auto kEnd = [](Wave &w, const Inst &) { w.halt(Stop::End); };

constexpr OpDef kOps[] = {
    plain("s_nop", Class::Other, kNothing),
    plain("s_endpgm", Class::Other, kEnd),
    plain("s_endpgm_saved", Class::Other, kEnd),
    plain("s_branch", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, true); }),
    plain("s_cbranch_scc0", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, !w.scc); }),
    plain("s_cbranch_scc1", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, w.scc); }),
    plain("s_cbranch_vccz", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, w.vcc() == 0); }),
    plain("s_cbranch_vccnz", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, w.vcc() != 0); }),
    plain("s_cbranch_execz", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, w.exec() == 0); }),
    plain("s_cbranch_execnz", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, w.exec() != 0); }),
    plain("s_cbranch_cdbgsys", Class::Branch, kNothing),
    plain("s_cbranch_cdbguser", Class::Branch, kNothing),
    plain("s_cbranch_cdbgsys_or_user", Class::Branch, kNothing),
    plain("s_cbranch_cdbgsys_and_user", Class::Branch, kNothing),
    plain("s_getpc_b64", Class::Salu, [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.dst, w.pcOf(w.ip)); }),
    plain("s_setpc_b64", Class::Branch, [](Wave &w, const Inst &i) { w.jump(read64(w, i.src[0])); }, Type::B64),
    plain("s_swappc_b64", Class::Branch, [](Wave &w, const Inst &i) {
      uint64_t target = read64(w, i.src[0]);
      writeScalar<uint64_t>(w, i.dst, w.pcOf(w.ip));
      w.jump(target);
    }, Type::B64),
    plain("s_call_b64", Class::Branch, [](Wave &w, const Inst &i) {
      writeScalar<uint64_t>(w, i.dst, w.pcOf(w.ip));
      branchIf(w, i, true);
    }),
    plain("s_getreg_b32", Class::Salu, getRegister),
    plain("s_setreg_b32", Class::Salu, [](Wave &w, const Inst &i) { setRegister(w, i, w.s[i.dst.index]); }),
    plain("s_setreg_imm32_b32", Class::Salu, [](Wave &w, const Inst &i) { setRegister(w, i, i.src[1].value); }),
    plain("s_round_mode", Class::Other, [](Wave &w, const Inst &i) {
      setModeBits(w, (modeBits(w) & ~15u) | (static_cast<uint32_t>(i.offset) & 15));
    }),
    plain("s_denorm_mode", Class::Other, [](Wave &w, const Inst &i) {
      setModeBits(w, (modeBits(w) & ~0xf0u) | (static_cast<uint32_t>(i.offset) & 15) << 4);
    }),

    // Memory operations complete when they are issued, so waits have nothing to wait for.
    plain("s_waitcnt", Class::Other, kNothing),
    plain("s_waitcnt_vscnt", Class::Other, kNothing),
    plain("s_waitcnt_vmcnt", Class::Other, kNothing),
    plain("s_waitcnt_expcnt", Class::Other, kNothing),
    plain("s_waitcnt_lgkmcnt", Class::Other, kNothing),
    plain("s_waitcnt_depctr", Class::Other, kNothing),
    plain("s_wait_loadcnt", Class::Other, kNothing),
    plain("s_wait_storecnt", Class::Other, kNothing),
    plain("s_wait_samplecnt", Class::Other, kNothing),
    plain("s_wait_bvhcnt", Class::Other, kNothing),
    plain("s_wait_expcnt", Class::Other, kNothing),
    plain("s_wait_dscnt", Class::Other, kNothing),
    plain("s_wait_kmcnt", Class::Other, kNothing),
    plain("s_wait_loadcnt_dscnt", Class::Other, kNothing),
    plain("s_wait_storecnt_dscnt", Class::Other, kNothing),
    plain("s_wait_alu", Class::Other, kNothing),
    plain("s_wait_idle", Class::Other, kNothing),
    plain("s_wait_event", Class::Other, kNothing),
    plain("s_delay_alu", Class::Other, kNothing),
    plain("s_clause", Class::Other, kNothing),
    plain("s_version", Class::Other, kNothing),
    plain("s_code_end", Class::Other, [](Wave &, const Inst &) { throw WaveFault{"ran past the end of the code"}; }),
    plain("s_set_inst_prefetch_distance", Class::Other, kNothing),
    plain("s_setprio", Class::Other, kNothing),
    plain("s_wakeup", Class::Other, kNothing),
    plain("s_icache_inv", Class::Other, kNothing),
    plain("s_incperflevel", Class::Other, kNothing),
    plain("s_decperflevel", Class::Other, kNothing),
    plain("s_ttracedata", Class::Other, kNothing),
    plain("s_ttracedata_imm", Class::Other, kNothing),
    plain("s_sethalt", Class::Other, [](Wave &, const Inst &i) {
      if (i.offset & 1)
        throw WaveFault{"the kernel halted the wave (s_sethalt)"};
    }),
    plain("s_sleep", Class::Other, [](Wave &w, const Inst &) { w.halt(Stop::Yield); }),
    plain("s_sleep_var", Class::Other, [](Wave &w, const Inst &) { w.halt(Stop::Yield); }, Type::B32),
    plain("s_barrier", Class::Other, [](Wave &w, const Inst &) { w.halt(Stop::Barrier); }),
    // The workgroup's split barrier: arrival is counted when the wave waits, which it does after every signal.
    plain("s_barrier_signal", Class::Other, [](Wave &w, const Inst &i) {
      if (static_cast<int32_t>(read32(w, i.src[0])) != -1)
        throw WaveFault{"a named barrier"};
    }, Type::B32),
    plain("s_barrier_wait", Class::Other, [](Wave &w, const Inst &i) {
      if (i.offset != -1)
        throw WaveFault{"a named barrier"};
      w.halt(Stop::Barrier);
    }),
    plain("s_trap", Class::Other, [](Wave &, const Inst &i) {
      throw WaveFault{"the kernel trapped (s_trap " + std::to_string(i.offset & 255) + ")"};
    }),
    plain("s_sendmsg", Class::Message, [](Wave &, const Inst &i) {
      unsigned id = static_cast<unsigned>(i.offset) & 15;
      if (id != 3 && id != 0 && (i.offset & 0xff) != 3) // deallocation of registers has no effect here
        throw WaveFault{"message " + std::to_string(id) + " has no receiver"};
    }),
    plain("s_memtime", Class::Smem, [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.sdst, clockTicks()); }),
    plain("s_memrealtime", Class::Smem,
          [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.sdst, clockTicks() / 10); }),
    plain("s_sendmsg_rtn_b64", Class::Message, [](Wave &w, const Inst &i) {
      if (read32(w, i.src[0]) != 0x83)
        throw WaveFault{"message " + std::to_string(read32(w, i.src[0])) + " has no receiver"};
      writeScalar<uint64_t>(w, i.dst, clockTicks() / 10);
    }, Type::B32),
};
} // namespace

OpTable tableControl() { return {std::begin(kOps), std::end(kOps)}; }

uint32_t readSpecial(const Wave &w, unsigned code) {
  switch (code) {
  case 251:
    return w.vcc() == 0;
  case 252:
    return w.exec() == 0;
  case 253:
    return w.scc;
  case 235:
  case 236:
    return static_cast<uint32_t>(kSharedAperture);
  case 237:
  case 238:
    return static_cast<uint32_t>(kPrivateAperture);
  default:
    throw WaveFault{"scalar operand " + std::to_string(code) +
                    " is not part of the emulated state"};
  }
}

void initMode(Wave &w, uint32_t bits) { setModeBits(w, bits); }

} // namespace flyemu
