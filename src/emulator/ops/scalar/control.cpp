// Program flow, waits, messages, hardware registers: SOPP, SOPK's register access, SOP1's jumps.
#include "emulator/core/dispatch.h"
#include "emulator/core/group.h"
#include "emulator/core/hardware_register.h"
#include "emulator/ops/scalar/scalar.h"
#include "emulator/ops/tables.h"

#include <bit>
#include <iterator>
#include <string>
#include <utility>

namespace flyemu {

namespace {
void branchIf(Wave &w, const Inst &i, bool taken) {
  if (taken)
    w.ip = &i + 1 + i.offset;
}

uint32_t fieldMask(unsigned imm) {
  const unsigned size = (imm >> 11) + 1, offset = imm >> 6 & 31;
  return (size == 32 ? ~0u : (1u << size) - 1) << offset;
}

void getRegister(Wave &w, const Inst &i) {
  const unsigned imm = static_cast<uint16_t>(i.offset);
  const uint32_t field = fieldMask(imm);
  writeScalar<uint32_t>(w, i.dst,
                        (readHardwareRegister(w, imm & 63, field) & field) >> (imm >> 6 & 31));
}

void setRegister(Wave &w, const Inst &i, uint32_t value) {
  const unsigned imm = static_cast<uint16_t>(i.offset);
  writeHardwareRegister(w, imm & 63, fieldMask(imm), value << (imm >> 6 & 31));
}

/// MODE's stack pointer of divergent branches: the four-register slot that the next fork uses.
constexpr unsigned kStackShift = 29;
constexpr uint32_t kSkipVectors = 1u << 28;
unsigned stackSlot(const Wave &w) { return w.mode.rest >> kStackShift; }
void setStackSlot(Wave &w, unsigned slot) {
  w.mode.rest = (w.mode.rest & ~(7u << kStackShift)) | (slot & 7) << kStackShift;
}

/// A fork: the smaller side goes first, the other one's lanes and address are put on the stack
/// (CDNA3 ISA, S_CBRANCH_I_FORK).
void fork(Wave &w, uint64_t condition, uint64_t target) {
  const uint64_t exec = w.exec(), pass = condition & exec, fail = ~condition & exec;
  if (pass == exec)
    return w.jump(target);
  if (fail == exec)
    return;
  const bool passLater = std::popcount(fail) < std::popcount(pass);
  const unsigned slot = stackSlot(w) * 4;
  w.setS64(slot, passLater ? pass : fail);
  w.setS64(slot + 2, passLater ? target : w.pcOf(w.ip));
  setStackSlot(w, stackSlot(w) + 1);
  w.setExec(passLater ? fail : pass);
  if (!passLater)
    w.jump(target);
}

void join(Wave &w, const Inst &i) {
  if (stackSlot(w) == (read32(w, i.src[0]) & 7))
    return;
  setStackSlot(w, stackSlot(w) - 1);
  const unsigned slot = stackSlot(w) * 4;
  w.setExec(w.s64(slot));
  w.jump(w.s64(slot + 2));
}

bool isVector(const Inst &i) {
  if (!i.op)
    return false;
  const Class c = i.op->cls;
  return c == Class::Valu || c == Class::Mfma || c == Class::VmemRead || c == Class::VmemWrite ||
         c == Class::Lds;
}

/// While VSKIP is on, vector instructions have no effect. This handler runs the wave until VSKIP is
/// off, however long its slice is.
void setVectorSkip(Wave &w, const Inst &i) {
  const bool on = read32(w, i.src[0]) >> (read32(w, i.src[1]) & 31) & 1;
  const bool was = w.mode.rest & kSkipVectors;
  w.mode.rest = on ? w.mode.rest | kSkipVectors : w.mode.rest & ~kSkipVectors;
  if (was || !on)
    return;
  for (unsigned left = kDefaultSlice; w.mode.rest & kSkipVectors;) {
    if (w.stop != Stop::None || --left == 0)
      throw WaveFault{w.stop == Stop::None
                          ? "too many instructions with vector instructions skipped"
                          : "the wave stopped with vector instructions skipped"};
    const Inst &next = *w.ip;
    w.current = &next;
    w.ip += next.dwords;
    if (!isVector(next))
      next.fn(w, next);
    if (w.stop == Stop::End)
      return;
  }
}

void sendMessage(Wave &, const Inst &i) {
  const unsigned id = static_cast<unsigned>(i.offset) & 15;
  if (id != 3 && id != 0) // deallocation of registers has no effect here
    throw WaveFault{"message " + std::to_string(id) + " has no receiver"};
}

constexpr int32_t kGroupBarrier = -1, kClusterBarrier = -3; // LLVM, SIDefines.h, Barrier

/// The barrier of the wave's cluster.
Cluster &clusterOf(const Wave &w) {
  if (!w.group->cluster)
    throw WaveFault{"the barrier of a cluster, in a launch without clusters"};
  return *w.group->cluster;
}

/// The barrier that an instruction names: by a constant, or by M0, which has its number in bits 0 to
/// 5 and from bit 16 on its members (LLVM, "s.barrier.signal.var").
struct NamedPlace {
  int32_t number;
  unsigned members;
};
NamedPlace barrierOf(const Wave &w, const Inst &i) {
  const uint32_t x = read32(w, i.src[0]);
  const bool m0 = i.src[0].kind == Kind::Sgpr && i.src[0].index == w.target->m0;
  if (m0)
    return {static_cast<int32_t>(x & 63), x >> 16 & 127};
  return {static_cast<int32_t>(x), 0};
}
/// That one, which is a named barrier of gfx1250.
NamedPlace namedBarrierOf(const Wave &w, const Inst &i) {
  const NamedPlace place = barrierOf(w, i);
  if (!w.target->isGfx1250())
    throw WaveFault{"a named barrier"};
  if (place.number < 0)
    throw WaveFault{"barrier " + std::to_string(place.number) + ", which is no named one"};
  return place;
}

/// The workgroup's split barrier. A wave waits after every signal, so the barrier itself acts when
/// the wave waits. The number of signals is counted for s_get_barrier_state.
/// True for the first of the workgroup's waves.
bool signal(Wave &w, const Inst &i) {
  if (barrierOf(w, i).number != kGroupBarrier) {
    const NamedPlace place = namedBarrierOf(w, i);
    return w.group->named.signal(static_cast<unsigned>(place.number), place.members);
  }
  unsigned &signals = w.group->barrierSignals;
  const bool first = signals == 0;
  signals = (signals + 1) % static_cast<unsigned>(w.group->waves.size());
  return first;
}

/// What s_sendmsg_rtn asks for (LLVM, SIDefines.h, SendMsg::Id).
constexpr std::pair<uint32_t, const char *> kReturned[] = {{0x80, "the doorbell"},
                                                           {0x81, "the draw's number"},
                                                           {0x82, "the trap handler's memory"},
                                                           {0x83, "the real time"},
                                                           {0x84, "permission to save the wave"},
                                                           {0x85, "the trap handler's address"},
                                                           {0x86, "the trap handler's address"},
                                                           {0x87, "the shader engine's number"}};

constexpr uint32_t kMessageRealTime = 0x83;
uint64_t returnedMessage(const Wave &w, const Inst &i) {
  const uint32_t id = i.src[0].value;
  if (id == kMessageRealTime)
    return realTime(w);
  std::string what = "message " + std::to_string(id);
  for (const auto &[number, text] : kReturned)
    if (number == id)
      what += ", " + std::string(text) + ",";
  throw WaveFault{what + " has no receiver"};
}

constexpr auto kNothing = [](Wave &, const Inst &) {};
constexpr auto kEnd = [](Wave &w, const Inst &) { w.halt(Stop::End); };

constexpr OpDef kOps[] = {
    plain("s_nop", Class::Other, kNothing),
    plain("s_endpgm", Class::Other, kEnd),
    plain("s_endpgm_saved", Class::Other, kEnd),
    plain("s_branch", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, true); }),
    plain("s_cbranch_scc0", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, !w.scc); })
        .flows(Flow::BranchScc),
    plain("s_cbranch_scc1", Class::Branch, [](Wave &w, const Inst &i) { branchIf(w, i, w.scc); })
        .flows(Flow::BranchScc),
    plain("s_cbranch_vccz", Class::Branch,
          [](Wave &w, const Inst &i) { branchIf(w, i, w.vcc() == 0); })
        .flows(Flow::BranchVcc),
    plain("s_cbranch_vccnz", Class::Branch,
          [](Wave &w, const Inst &i) { branchIf(w, i, w.vcc() != 0); })
        .flows(Flow::BranchVcc),
    plain("s_cbranch_execz", Class::Branch,
          [](Wave &w, const Inst &i) { branchIf(w, i, w.exec() == 0); })
        .flows(Flow::BranchExec),
    plain("s_cbranch_execnz", Class::Branch,
          [](Wave &w, const Inst &i) { branchIf(w, i, w.exec() != 0); })
        .flows(Flow::BranchExec),
    plain("s_cbranch_cdbgsys", Class::Branch, kNothing),
    plain("s_cbranch_cdbguser", Class::Branch, kNothing),
    plain("s_cbranch_cdbgsys_or_user", Class::Branch, kNothing),
    plain("s_cbranch_cdbgsys_and_user", Class::Branch, kNothing),
    plain(
        "s_getpc_b64", Class::Salu,
        [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.dst, w.pcOf(w.ip)); }, Type::None,
        Type::None, Type::B64)
        .flows(Flow::Defines),
    plain(
        "s_add_pc_i64", Class::Branch,
        [](Wave &w, const Inst &i) { w.jump(w.pcOf(w.ip) + read64(w, i.src[0])); }, Type::B64)
        .flows(Flow::Jump),
    plain(
        "s_get_shader_cycles_u64", Class::Salu,
        [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.dst, clockTicks(w)); }, Type::None,
        Type::None, Type::B64)
        .flows(Flow::Defines),
    plain(
        "s_setpc_b64", Class::Branch, [](Wave &w, const Inst &i) { w.jump(read64(w, i.src[0])); },
        Type::B64)
        .flows(Flow::Jump),
    plain(
        "s_swappc_b64", Class::Branch,
        [](Wave &w, const Inst &i) {
          uint64_t target = read64(w, i.src[0]);
          writeScalar<uint64_t>(w, i.dst, w.pcOf(w.ip));
          w.jump(target);
        },
        Type::B64, Type::None, Type::B64)
        .flows(Flow::Jump),
    plain(
        "s_call_b64", Class::Branch,
        [](Wave &w, const Inst &i) {
          writeScalar<uint64_t>(w, i.dst, w.pcOf(w.ip));
          branchIf(w, i, true);
        },
        Type::None, Type::None, Type::B64)
        .flows(Flow::Defines),
    plain("s_getreg_b32", Class::Salu, getRegister).flows(Flow::Defines),
    plain("s_setreg_b32", Class::Salu,
          [](Wave &w, const Inst &i) { setRegister(w, i, w.s[i.dst.index]); })
        .flows(Flow::None),
    plain("s_setreg_imm32_b32", Class::Salu,
          [](Wave &w, const Inst &i) {
            setRegister(w, i, i.src[1].value);
            if (const auto banks = w.target->registerBanks ? banksSetBy(i) : std::nullopt)
              w.useBanks(*banks);
          })
        .with(Trait::SetsBanks)
        .flows(Flow::None),
    plain("s_round_mode", Class::Other,
          [](Wave &w, const Inst &i) {
            setModeBits(w, (modeBits(w) & ~15u) | (static_cast<uint32_t>(i.offset) & 15));
          }),
    plain("s_denorm_mode", Class::Other,
          [](Wave &w, const Inst &i) {
            setModeBits(w, (modeBits(w) & ~0xf0u) | (static_cast<uint32_t>(i.offset) & 15) << 4);
          }),

    // Memory operations complete when they are issued, so waits have nothing to wait for. What
    // would be under way is the wait check's matter.
    plain("s_waitcnt", Class::Other, kNothing).waitsBy(WaitForm::Packed),
    plain("s_waitcnt_vscnt", Class::Other, kNothing).waitsFor(WaitCounter::Store),
    plain("s_waitcnt_vmcnt", Class::Other, kNothing).waitsFor(WaitCounter::Load),
    plain("s_waitcnt_expcnt", Class::Other, kNothing),
    plain("s_waitcnt_lgkmcnt", Class::Other, kNothing).waitsFor({WaitCounter::Ds, WaitCounter::Km}),
    plain("s_waitcnt_depctr", Class::Other, kNothing),
    plain("s_wait_loadcnt", Class::Other, kNothing).waitsFor(WaitCounter::Load),
    plain("s_wait_storecnt", Class::Other, kNothing).waitsFor(WaitCounter::Store),
    plain("s_wait_samplecnt", Class::Other, kNothing),
    plain("s_wait_bvhcnt", Class::Other, kNothing),
    plain("s_wait_expcnt", Class::Other, kNothing),
    plain("s_wait_dscnt", Class::Other, kNothing).waitsFor(WaitCounter::Ds),
    plain("s_wait_kmcnt", Class::Other, kNothing).waitsFor(WaitCounter::Km),
    plain("s_wait_loadcnt_dscnt", Class::Other, kNothing).waitsFor({WaitCounter::Load, WaitCounter::Ds}),
    plain("s_wait_storecnt_dscnt", Class::Other, kNothing).waitsFor({WaitCounter::Store, WaitCounter::Ds}),
    plain("s_wait_asynccnt", Class::Other, kNothing).waitsFor(WaitCounter::Async),
    plain("s_wait_tensorcnt", Class::Other, kNothing).waitsFor(WaitCounter::Tensor),
    // Translations of addresses never wait here.
    plain("s_wait_xcnt", Class::Other, kNothing),
    plain("s_set_vgpr_msb", Class::Other,
          [](Wave &w, const Inst &i) { w.useBanks(*banksSetBy(i)); })
        .with(Trait::SetsBanks),
    plain("s_wait_alu", Class::Other, kNothing),
    plain("s_wait_idle", Class::Other, kNothing).waitsBy(WaitForm::Idle),
    plain("s_wait_event", Class::Other, kNothing),
    plain("s_delay_alu", Class::Other, kNothing),
    plain("s_clause", Class::Other, kNothing),
    plain("s_version", Class::Other, kNothing),
    plain("s_code_end", Class::Other,
          [](Wave &, const Inst &) { throw WaveFault{"ran past the end of the code"}; }),
    plain("s_set_inst_prefetch_distance", Class::Other, kNothing),
    plain("s_inst_prefetch", Class::Other, kNothing),
    plain("s_setprio", Class::Other, kNothing),
    plain("s_setprio_inc_wg", Class::Other, kNothing),
    plain("s_wakeup", Class::Other, kNothing),
    plain("s_icache_inv", Class::Other, kNothing),
    plain("s_incperflevel", Class::Other, kNothing),
    plain("s_decperflevel", Class::Other, kNothing),
    plain("s_ttracedata", Class::Other, kNothing),
    plain("s_ttracedata_imm", Class::Other, kNothing),
    plain("s_sethalt", Class::Other,
          [](Wave &, const Inst &i) {
            if (i.offset & 1)
              throw WaveFault{"the kernel halted the wave (s_sethalt)"};
          }),
    plain("s_sleep", Class::Other, [](Wave &w, const Inst &) { w.halt(Stop::Yield); }),
    plain(
        "s_sleep_var", Class::Other, [](Wave &w, const Inst &) { w.halt(Stop::Yield); }, Type::B32)
        .flows(Flow::None),
    plain("s_barrier", Class::Other, [](Wave &w, const Inst &) { w.halt(Stop::Barrier); })
        .with({Trait::Barrier, Trait::Signals}),
    plain(
        "s_barrier_signal", Class::Other,
        [](Wave &w, const Inst &i) {
          if (barrierOf(w, i).number == kClusterBarrier)
            clusterOf(w).signal(w.group->rank);
          else
            signal(w, i);
        },
        Type::B32)
        .with(Trait::Signals)
        .flows(Flow::None),
    plain(
        "s_barrier_signal_isfirst", Class::Other,
        [](Wave &w, const Inst &i) { w.scc = signal(w, i); }, Type::B32)
        .with(Trait::Signals)
        .flows(Flow::None),
    plain(
        "s_get_barrier_state", Class::Other,
        [](Wave &w, const Inst &i) {
          const auto members = static_cast<unsigned>(w.group->waves.size());
          const uint32_t state =
              barrierOf(w, i).number == kGroupBarrier
                  ? 1u | members << 4 | w.group->barrierSignals << 16
                  : w.group->named.state(static_cast<unsigned>(namedBarrierOf(w, i).number));
          writeScalar<uint32_t>(w, i.dst, state);
        },
        Type::B32)
        .with(Trait::CountsAsScalar)
        .flows(Flow::Defines),
    plain("s_barrier_wait", Class::Other,
          [](Wave &w, const Inst &i) {
            if (i.offset == kClusterBarrier) {
              (void)clusterOf(w);
              ++w.group->clusterWaits[w.index];
              return w.halt(Stop::Yield);
            }
            if (i.offset > 0 && w.target->isGfx1250()) {
              w.group->named.wait(w.index);
              return w.halt(Stop::Yield);
            }
            if (i.offset != kGroupBarrier)
              throw WaveFault{"a named barrier"};
            w.halt(Stop::Barrier);
          })
        .with(Trait::Barrier),
    plain(
        "s_barrier_init", Class::Other,
        [](Wave &w, const Inst &i) {
          const NamedPlace place = namedBarrierOf(w, i);
          w.group->named.init(static_cast<unsigned>(place.number), place.members);
        },
        Type::B32)
        .flows(Flow::None),
    plain(
        "s_barrier_join", Class::Other,
        [](Wave &w, const Inst &i) {
          w.group->named.join(w.index, static_cast<unsigned>(namedBarrierOf(w, i).number));
        },
        Type::B32)
        .flows(Flow::None),
    plain("s_trap", Class::Other,
          [](Wave &, const Inst &i) {
            throw WaveFault{"the kernel trapped (s_trap " + std::to_string(i.offset & 255) + ")"};
          }),
    plain("s_sendmsg", Class::Message, sendMessage),
    plain("s_sendmsghalt", Class::Message,
          [](Wave &w, const Inst &i) {
            sendMessage(w, i);
            throw WaveFault{"the kernel halted the wave (s_sendmsghalt)"};
          }),
    plain("s_setkill", Class::Other,
          [](Wave &w, const Inst &i) {
            if (i.offset & 1)
              w.halt(Stop::End);
          }),
    plain("s_setvskip", Class::Salu, setVectorSkip, Type::B32, Type::B32).flows(Flow::None),
    plain(
        "s_cbranch_g_fork", Class::Branch,
        [](Wave &w, const Inst &i) { fork(w, read64(w, i.src[0]), read64(w, i.src[1])); },
        Type::B64, Type::B64)
        .flows(Flow::None),
    plain("s_cbranch_i_fork", Class::Branch,
          [](Wave &w, const Inst &i) { fork(w, w.s64(i.dst.index), w.pcOf(&i + 1 + i.offset)); })
        .flows(Flow::None),
    plain("s_cbranch_join", Class::Branch, join, Type::B32).flows(Flow::None),
    // gfx11: a loop over the halves of a wave of 64 (RDNA ISA manuals). The
    // scalar keeps the other half's EXEC.
    plain("s_subvector_loop_begin", Class::Branch,
          [](Wave &w, const Inst &i) {
            uint32_t *exec = &w.s[kExec], *saved = &w.s[i.dst.index];
            if (exec[0] == 0 && exec[1] == 0) {
              branchIf(w, i, true);
            } else if (exec[0] == 0) {
              *saved = exec[0];
            } else {
              *saved = exec[1];
              exec[1] = 0;
            }
          })
        .flows(Flow::None),
    plain("s_subvector_loop_end", Class::Branch,
          [](Wave &w, const Inst &i) {
            uint32_t *exec = &w.s[kExec], *saved = &w.s[i.dst.index];
            if (exec[1] != 0) {
              exec[0] = *saved;
            } else if (*saved != 0) {
              exec[1] = *saved;
              *saved = exec[0];
              exec[0] = 0;
              branchIf(w, i, true);
            }
          })
        .flows(Flow::None),
    // All registers that code names exist from the start, so an allocation always succeeds.
    plain(
        "s_alloc_vgpr", Class::Other, [](Wave &w, const Inst &) { w.scc = 1; }, Type::B32)
        .flows(Flow::None),
    plain(
        "s_memtime", Class::Smem,
        [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.scalarData, clockTicks(w)); }, Type::None,
        Type::None, Type::B64)
        .flows(Flow::Defines),
    plain(
        "s_memrealtime", Class::Smem,
        [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.scalarData, realTime(w)); }, Type::None,
        Type::None, Type::B64)
        .flows(Flow::Defines),
    plain(
        "s_sendmsg_rtn_b32", Class::Message,
        [](Wave &w,
           const Inst &
               i) { writeScalar<uint32_t>(w, i.dst, static_cast<uint32_t>(returnedMessage(w, i))); },
        Type::B32)
        .with({Trait::NumberSource, Trait::CountsAsScalar})
        .flows(Flow::Defines),
    plain(
        "s_sendmsg_rtn_b64", Class::Message,
        [](Wave &w, const Inst &i) { writeScalar<uint64_t>(w, i.dst, returnedMessage(w, i)); },
        Type::B32, Type::None, Type::B64)
        .with({Trait::NumberSource, Trait::CountsAsScalar})
        .flows(Flow::Defines),
};
} // namespace

OpTable tableControl() { return {std::begin(kOps), std::end(kOps)}; }

} // namespace flyemu
