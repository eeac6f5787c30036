// Wave instructions per second of one core of the emulator, by class, and a launch of many small
// workgroups.
#include "../tests/emulator/ops/waves/wave_test.h"
#include "../tests/support/assemble.h"

#include "emulator/core/dispatch.h"
#include "emulator/core/touched_bytes.h"
#include "emulator/core/written_bytes.h"
#include "emulator/observe/run_dispatch.h"
#include "emulator/ops/decode_program.h"

#include <benchmark/benchmark.h>

#include <optional>
#include <string>
#include <vector>

using namespace flyemu;

namespace {
constexpr unsigned kUnroll = 32, kLoops = 2000;

/// Device memory that the host has written.
class WrittenMemory : public test::TestMemory {
public:
  void add(const void *p, uint64_t bytes) {
    TestMemory::add(p, bytes);
    written_ = std::make_shared<WrittenBytes>(reinterpret_cast<uint64_t>(p), bytes);
    written_->mark(reinterpret_cast<uint64_t>(p), bytes);
  }
  std::shared_ptr<WrittenBytes> written(uint64_t address) const override {
    return written_->contains(address) ? written_ : nullptr;
  }

private:
  std::shared_ptr<WrittenBytes> written_;
};

/// A kernel that runs `text` kUnroll * kLoops times. s[2:3] contains the address of `memory`,
/// s[4:7] a buffer of it. By lane, v1 contains 16 * lane, v8 4 * lane, v9 2 * lane, v12 20 * lane,
/// v13 1024 * lane, and v[14:15] the address of dword `lane`.
struct Looped {
  std::vector<uint32_t> words;
  struct alignas(4096) Page { // device memory begins on a page
    uint8_t bytes[4096];
  };
  std::vector<Page> memory = std::vector<Page>(16);
  KernelCode kernel;
  WrittenMemory map;
  Dispatch launch;

  explicit Looped(const std::string &text) {
    std::string code =
        "v_and_b32 v1, 63, v0\nv_lshlrev_b32 v8, 2, v1\nv_lshlrev_b32 v1, 4, v1\nv_mov_b32 v2, "
        "1.0\nv_mov_b32 v3, 2.0\n"
        "v_lshrrev_b32 v9, 1, v8\nv_lshlrev_b32 v13, 6, v1\nv_add_u32 v12, v1, v8\n"
        "v_mov_b32 v14, s2\nv_mov_b32 v15, s3\nv_add_co_u32 v14, vcc, v14, v8\n"
        "v_addc_co_u32 v15, vcc, 0, v15, vcc\n"
        "s_mov_b32 s4, s2\ns_and_b32 s5, s3, 0xffff\ns_mov_b32 s6, 0x10000\ns_mov_b32 s7, "
        "0x20000\n"
        // Every register and every byte of LDS that is read has a value.
        "ds_write_b128 v1, v[0:3]\nds_write_b128 v1, v[0:3] offset:1024\ns_mov_b32 s22, 1\n"
        "s_mov_b32 m0, 2048\nscratch_store_dword off, v2, off\n"
        "s_movk_i32 s20, " +
        std::to_string(kLoops) + "\nagain:\n";
    for (unsigned k = 0; k < kUnroll; ++k)
      code += text + "\n";
    code += "s_sub_u32 s20, s20, 1\ns_cmp_lg_u32 s20, 0\ns_cbranch_scc1 again\ns_endpgm\n";
    words = test::assemble("gfx942", code);
    kernel.name = "looped";
    kernel.program = decodeProgram("gfx942", words.data(), words.size() * 4);
    kernel.entry = reinterpret_cast<uint64_t>(words.data());
    KernelDescriptor &d = kernel.descriptor;
    d.groupSegmentFixedSize = 4096;
    d.properties = 1 << 3 | 1 << 1;
    d.privateSegmentFixedSize = 16;
    d.rsrc2 = 4 << 1 | 1;
    d.rsrc1 = 0xf0 << 12;
    d.rsrc3 = 63;
    map.add(memory.data()->bytes, memory.size() * sizeof(Page));
    launch.kernel = &kernel;
    launch.block = {64, 1, 1};
    launch.kernarg = reinterpret_cast<uint64_t>(memory.data());
    launch.kernargSize = 8;
  }
};

void run(benchmark::State &state, const char *text, bool counters = false, unsigned checks = 0,
         Products products = Products::Exact) {
  Looped l(text);
  Options options;
  options.threads = 1;
  options.counters = counters;
  options.checks = checks;
  options.landLate = checks & kCheckWait;
  options.products = products;
  for (auto _ : state) {
    std::optional<TouchedBytes> touched;
    if (checks & kCheckStreams)
      options.touched = &touched.emplace();
    if (!runDispatch(l.launch, l.map, options).ok)
      state.SkipWithError("the wave faulted");
  }
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * kUnroll * kLoops);
}

void decode(benchmark::State &state) {
  Looped l("v_fma_f32 v4, v1, v2, v3");
  for (auto _ : state)
    benchmark::DoNotOptimize(decodeProgram("gfx942", l.words.data(), l.words.size() * 4));
  state.SetItemsProcessed(static_cast<int64_t>(state.iterations()) * static_cast<int64_t>(kUnroll));
}
} // namespace

BENCHMARK_CAPTURE(run, salu, "s_add_u32 s21, s20, s22");
BENCHMARK_CAPTURE(run, v_mov, "v_mov_b32 v4, v1");
BENCHMARK_CAPTURE(run, v_add_u32, "v_add_u32 v4, v1, v2");
BENCHMARK_CAPTURE(run, v_add_f32, "v_add_f32 v4, v2, v3");
BENCHMARK_CAPTURE(run, v_fma_f32, "v_fma_f32 v4, v1, v2, v3");
BENCHMARK_CAPTURE(run, v_pk_fma_f32, "v_pk_fma_f32 v[4:5], v[2:3], v[2:3], v[6:7]");
BENCHMARK_CAPTURE(run, v_lshl_add_u64, "v_lshl_add_u64 v[4:5], v[2:3], 2, v[6:7]");
BENCHMARK_CAPTURE(run, v_cmp_lt_f32, "v_cmp_lt_f32 vcc, v2, v3");
BENCHMARK_CAPTURE(run, v_cndmask, "v_cndmask_b32 v4, v2, v3, vcc");
BENCHMARK_CAPTURE(run, v_exp_f32, "v_exp_f32 v4, v2");
BENCHMARK_CAPTURE(run, v_dpp, "v_add_f32_dpp v4, v2, v3 row_shr:1 row_mask:0xf bank_mask:0xf");
BENCHMARK_CAPTURE(run, mfma_32x32x8_f16,
                  "v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], v[16:31]");
BENCHMARK_CAPTURE(run, mfma_16x16x32_fp8,
                  "v_mfma_f32_16x16x32_fp8_fp8 v[16:19], v[4:5], v[6:7], v[16:19]");
BENCHMARK_CAPTURE(run, mfma_32x32x2_f32, "v_mfma_f32_32x32x2_f32 v[16:31], v4, v6, v[16:31]");
BENCHMARK_CAPTURE(run, mfma_32x32x8_f16_fast,
                  "v_mfma_f32_32x32x8_f16 v[16:31], v[4:5], v[6:7], v[16:31]", false, 0,
                  Products::Fast);
BENCHMARK_CAPTURE(run, mfma_16x16x32_fp8_fast,
                  "v_mfma_f32_16x16x32_fp8_fp8 v[16:19], v[4:5], v[6:7], v[16:19]", false, 0,
                  Products::Fast);
// The same with counters or checks; their cost is the ratio to the figures above.
constexpr unsigned kAll = kCheckMemory | kCheckRace | kCheckInit | kCheckSync | kCheckWait;
BENCHMARK_CAPTURE(run, salu_counted, "s_add_u32 s21, s20, s22", true);
BENCHMARK_CAPTURE(run, salu_checked, "s_add_u32 s21, s20, s22", false, kAll);
BENCHMARK_CAPTURE(run, v_add_f32_counted, "v_add_f32 v4, v2, v3", true);
BENCHMARK_CAPTURE(run, v_add_f32_checked, "v_add_f32 v4, v2, v3", false, kAll);
BENCHMARK_CAPTURE(run, ds_read_b128_counted, "ds_read_b128 v[4:7], v1", true);
BENCHMARK_CAPTURE(run, global_load_dwordx4_counted, "global_load_dwordx4 v[4:7], v1, s[2:3]", true);
BENCHMARK(decode);

namespace {
/// Accesses to memory, by what lanes do. Each is run plainly and with all checks.
struct Access {
  const char *name, *text;
};
constexpr Access kAccesses[] = {
    {"ds_read_b128", "ds_read_b128 v[4:7], v1"},
    {"ds_read_b128/20_apart", "ds_read_b128 v[4:7], v12"},
    {"ds_read_b64/16_apart", "ds_read_b64 v[4:5], v1"},
    {"ds_read_b32", "ds_read_b32 v4, v8"},
    {"ds_read_b32/20_apart", "ds_read_b32 v4, v12"},
    {"ds_read2_b32", "ds_read2_b32 v[4:5], v8 offset0:0 offset1:64"},
    {"ds_read_u16", "ds_read_u16 v4, v9"},
    {"ds_write_b128", "ds_write_b128 v1, v[0:3]"},
    {"ds_write_b64/16_apart", "ds_write_b64 v1, v[2:3]"},
    {"ds_write_b32", "ds_write_b32 v8, v2"},
    {"ds_write2_b32", "ds_write2_b32 v8, v2, v3 offset0:0 offset1:64"},
    {"ds_write_b16", "ds_write_b16 v9, v2"},
    {"ds_add_u32", "ds_add_u32 v8, v2"},
    {"global_load_dwordx4", "global_load_dwordx4 v[4:7], v1, s[2:3]"},
    {"global_load_dwordx4/1024_apart", "global_load_dwordx4 v[4:7], v13, s[2:3]"},
    {"global_load_dword", "global_load_dword v4, v8, s[2:3]"},
    {"global_load_dword/16_apart", "global_load_dword v4, v1, s[2:3]"},
    {"global_load_ushort", "global_load_ushort v4, v9, s[2:3]"},
    {"global_store_dwordx4", "global_store_dwordx4 v1, v[0:3], s[2:3]"},
    {"global_store_dword", "global_store_dword v8, v2, s[2:3]"},
    {"global_store_dword/16_apart", "global_store_dword v1, v2, s[2:3]"},
    {"global_store_dword/1024_apart", "global_store_dword v13, v2, s[2:3]"},
    {"global_store_short", "global_store_short v9, v2, s[2:3]"},
    {"global_atomic_add", "global_atomic_add v8, v2, s[2:3]"},
    {"flat_load_dword", "flat_load_dword v4, v[14:15]\ns_waitcnt vmcnt(0) lgkmcnt(0)"},
    {"buffer_load_dwordx4", "buffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen"},
    {"buffer_store_dword", "buffer_store_dword v2, v8, s[4:7], 0 offen"},
    {"global_load_lds_dword", "global_load_lds_dword v8, s[2:3]"},
    {"scratch_load_dword", "scratch_load_dword v4, off, off"},
    {"scratch_store_dword", "scratch_store_dword off, v2, off"},
    {"s_load_dwordx4", "s_load_dwordx4 s[24:27], s[2:3], 0x0\ns_waitcnt lgkmcnt(0)"},
};

void registerAccesses() {
  const std::string prefix = "access/";
  for (const Access &access : kAccesses) {
    auto add = [&](const char *kind, unsigned checks) {
      benchmark::RegisterBenchmark(
          (prefix + access.name + kind).c_str(),
          [&access, checks](benchmark::State &state) { run(state, access.text, false, checks); });
    };
    add("/plain", 0);
    add("/checked", kAll);
    add("/waits", kCheckWait);
    add("/streams", kCheckStreams);
  }
}
} // namespace

int main(int argc, char **argv) {
  registerAccesses();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
