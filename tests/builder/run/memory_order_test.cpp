// Atomic accesses with an order and a scope: the instructions that they
// become, and what other threads see.
#include "run.h"

#include <flydsl/kernel/clock.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <sstream>

namespace fx = flydsl;

namespace {
constexpr int kBlock = 256; // several waves, so that a block's scope is more than a wave's

/// The instructions of a kernel that reach memory, wait for it, or care for its caches, each as its
/// name and what it says of caches. The loads of arguments and the waits for them are left out.
std::vector<std::string> memoryInstructions(const fx::Executable &code) {
  std::vector<std::string> found;
  std::istringstream lines(code.isa());
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line.substr(0, line.find("//")));
    std::string name, word, text;
    words >> name;
    const auto begins = [&](const char *prefix) { return name.rfind(prefix, 0) == 0; };
    if (!begins("global_") && !begins("buffer_") && !begins("s_wait"))
      continue;
    if (begins("s_wait_alu") || begins("s_wait_kmcnt"))
      continue;
    text = name;
    while (words >> word) {
      if (begins("s_wait") && word != "null,")
        text += " " + word;
      else if (word == "glc" || word == "sc0" || word == "sc1" || word.rfind("scope:", 0) == 0)
        text += " " + word;
    }
    if (const std::size_t arguments = text.find(" lgkmcnt(0)"); arguments != std::string::npos)
      text.erase(arguments);
    if (text != "s_waitcnt")
      found.push_back(text);
  }
  return found;
}

/// LLVM's AMDGPU guide, "Memory Model": what follows an acquiring load, and what stands before a
/// releasing store, with the bits of the access itself.
struct Row {
  const char *target;
  fx::MemoryScope scope;
  std::vector<std::string> acquire, release;
};
const fx::MemoryScope block = fx::MemoryScope::block, agent = fx::MemoryScope::agent,
                      everything = fx::MemoryScope::system;
const std::vector<Row> rows = {
    {"gfx90a", block, {"global_load_dword", "s_waitcnt vmcnt(0)"}, {"global_store_dword"}},
    {"gfx90a",
     agent,
     {"global_load_dword glc", "s_waitcnt vmcnt(0)", "buffer_wbinvl1_vol"},
     {"s_waitcnt vmcnt(0)", "global_store_dword"}},
    {"gfx90a",
     everything,
     {"global_load_dword glc", "s_waitcnt vmcnt(0)", "buffer_invl2", "buffer_wbinvl1_vol"},
     {"buffer_wbl2", "s_waitcnt vmcnt(0)", "global_store_dword"}},
    {"gfx942", block, {"global_load_dword sc0", "s_waitcnt vmcnt(0)"}, {"global_store_dword sc0"}},
    {"gfx942",
     agent,
     {"global_load_dword sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"},
     {"buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "global_store_dword sc1"}},
    {"gfx942",
     everything,
     {"global_load_dword sc0 sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc0 sc1"},
     {"buffer_wbl2 sc0 sc1", "s_waitcnt vmcnt(0)", "global_store_dword sc0 sc1"}},
    {"gfx950",
     agent,
     {"global_load_dword sc1", "s_waitcnt vmcnt(0)", "buffer_inv sc1"},
     {"buffer_wbl2 sc1", "s_waitcnt vmcnt(0)", "global_store_dword sc1"}},
    {"gfx1100",
     block,
     {"global_load_b32 glc", "s_waitcnt vmcnt(0)", "buffer_gl0_inv"},
     {"s_waitcnt_vscnt 0x0", "global_store_b32"}},
    {"gfx1100",
     agent,
     {"global_load_b32 glc", "s_waitcnt vmcnt(0)", "buffer_gl1_inv", "buffer_gl0_inv"},
     {"s_waitcnt_vscnt 0x0", "global_store_b32"}},
    {"gfx1201",
     block,
     {"global_load_b32 scope:SCOPE_SE", "s_wait_loadcnt 0x0", "global_inv scope:SCOPE_SE"},
     {"s_wait_storecnt 0x0", "global_store_b32 scope:SCOPE_SE"}},
    {"gfx1201",
     agent,
     {"global_load_b32 scope:SCOPE_DEV", "s_wait_loadcnt 0x0", "global_inv scope:SCOPE_DEV"},
     {"s_wait_storecnt 0x0", "global_store_b32 scope:SCOPE_DEV"}},
    {"gfx1201",
     everything,
     {"global_load_b32 scope:SCOPE_SYS", "s_wait_loadcnt 0x0", "global_inv scope:SCOPE_SYS"},
     {"global_wb scope:SCOPE_SYS", "s_wait_storecnt 0x0", "global_store_b32 scope:SCOPE_SYS"}},
};

template <class Body>
std::vector<std::string> instructionsOf(const Body &body, const char *target) {
  const fx::Kernel kernel{"ordered", body};
  const fx::TensorArg nothing(nullptr, fx::i32, std::array<std::int64_t, 1>{4});
  return memoryInstructions(kernel(nothing, nothing).compile({.block = kBlock, .arch = target}));
}

bool isStore(const std::string &instruction) {
  return instruction.find("_store_") != std::string::npos;
}

/// Whether `part` stands in `all` in one piece.
bool contains(const std::vector<std::string> &all, const std::vector<std::string> &part) {
  return std::search(all.begin(), all.end(), part.begin(), part.end()) != all.end();
}

std::string joined(const std::vector<std::string> &lines) {
  std::string text;
  for (const std::string &line : lines)
    text += line + "; ";
  return text;
}
} // namespace

TEST_CASE(
    "a release waits for the cache that it writes back, also where the wave has stored nothing") {
  for (const Row &row : rows) {
    if (row.release.size() < 3)
      continue; // no cache is written back
    INFO(row.target << " scope " << static_cast<int>(row.scope));
    const auto release = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor) {
          fx::atomic_store(flag.iter(), 1, fx::MemoryOrder::release, row.scope);
        },
        row.target);
    INFO("release: " << joined(release));
    CHECK(release == row.release);
    const auto add = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor) {
          fx::atomic(fx::AtomicOp::add, flag.iter(), 1, fx::MemoryOrder::acq_rel, row.scope);
        },
        row.target);
    INFO("add: " << joined(add));
    CHECK(contains(add, {row.release[0], row.release[1]}));
  }
}

TEST_CASE("a release at the beginning of a loop waits for the stores of the turn before") {
  for (const Row &row : rows) {
    INFO(row.target << " scope " << static_cast<int>(row.scope));
    const auto loop = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor data) {
          for (fx::Int32 i : fx::range(fx::Int32(flag(0)))) {
            fx::atomic_store(flag.iter(), i, fx::MemoryOrder::release, row.scope);
            data(i) = data(i + 1);
          }
        },
        row.target);
    INFO("loop: " << joined(loop));
    CHECK(contains(loop, row.release));
  }
}

TEST_CASE("a barrier at the beginning of a loop waits for the stores of the turn before") {
  // The wait of a release of the block's scope, which stands before a barrier.
  const std::pair<const char *, const char *> targets[] = {{"gfx1100", "s_waitcnt_vscnt 0x0"},
                                                           {"gfx1201", "s_wait_storecnt 0x0"},
                                                           {"gfx1250", "s_wait_storecnt 0x0"}};
  for (const auto &[target, wait] : targets) {
    INFO(target);
    const auto loop = instructionsOf(
        [](fx::Tensor flag, fx::Tensor data) {
          for (fx::Int32 i : fx::range(fx::Int32(flag(0)))) {
            fx::gpu::barrier();
            data(i) = data(i + 1);
          }
        },
        target);
    INFO("loop: " << joined(loop));
    CHECK(contains(loop, {wait}));
  }
  // Without a store in the loop there is nothing to wait for.
  for (const auto &[target, wait] : targets) {
    INFO(target);
    const auto loop = instructionsOf(
        [](fx::Tensor flag, fx::Tensor data) {
          fx::Var<fx::Int32> sum(0);
          for (fx::Int32 i : fx::range(fx::Int32(flag(0)))) {
            fx::gpu::barrier();
            sum += fx::Int32(data(i));
          }
          data(0) = sum;
        },
        target);
    INFO("loop: " << joined(loop));
    CHECK_FALSE(contains(loop, {wait}));
  }
}

TEST_CASE("an acquire and a release become what the memory model of the target asks for") {
  for (const Row &row : rows) {
    INFO(row.target << " scope " << static_cast<int>(row.scope));
    const auto acquire = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor data) {
          fx::Numeric seen = fx::atomic_load(flag.iter(), fx::MemoryOrder::acquire, row.scope);
          data(0) = seen;
        },
        row.target);
    std::vector<std::string> expected = row.acquire;
    INFO("acquire: " << joined(acquire) << " expected " << joined(expected));
    CHECK(contains(acquire, expected));
    CHECK(isStore(acquire.back()));
    CHECK(acquire.size() == expected.size() + 1);

    const auto release = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor data) {
          data(0) = 1;
          fx::atomic_store(flag.iter(), 2, fx::MemoryOrder::release, row.scope);
        },
        row.target);
    INFO("release: " << joined(release) << " expected " << joined(row.release));
    CHECK(isStore(release.front()));
    CHECK(release.size() == row.release.size() + 1);
    CHECK(contains(release, row.release));
  }
}

TEST_CASE("a fence and relaxed accesses order as accesses with an order do") {
  for (const Row &row : rows) {
    if (row.scope == fx::MemoryScope::block)
      continue; // a fence waits for LDS and other memories too
    INFO(row.target << " scope " << static_cast<int>(row.scope));
    const auto acquire = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor data) {
          fx::Numeric seen = fx::atomic_load(flag.iter(), fx::MemoryOrder::relaxed, row.scope);
          fx::fence(fx::MemoryOrder::acquire, row.scope);
          data(0) = seen;
        },
        row.target);
    const std::vector<std::string> invalidates(row.acquire.begin() + 2, row.acquire.end());
    INFO("acquire: " << joined(acquire));
    CHECK(contains(acquire, invalidates));
    CHECK(isStore(acquire.back()));
    const auto release = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor data) {
          data(0) = 1;
          fx::fence(fx::MemoryOrder::release, row.scope);
          fx::atomic_store(flag.iter(), 2, fx::MemoryOrder::relaxed, row.scope);
        },
        row.target);
    INFO("release: " << joined(release));
    CHECK(contains(release, row.release));
  }
}

TEST_CASE("a read-modify-write of both orders has what both ask for") {
  for (const Row &row : rows) {
    INFO(row.target << " scope " << static_cast<int>(row.scope));
    const auto both = instructionsOf(
        [&row](fx::Tensor flag, fx::Tensor data) {
          data(1) = 1;
          data(0) =
              fx::atomic(fx::AtomicOp::add, flag.iter(), 2, fx::MemoryOrder::acq_rel, row.scope);
        },
        row.target);
    INFO(joined(both));
    const std::vector<std::string> before(row.release.begin(), row.release.end() - 1),
        after(row.acquire.begin() + 1, row.acquire.end());
    const auto add = std::find_if(both.begin(), both.end(), [](const std::string &instruction) {
      return instruction.find("atomic_add") != std::string::npos;
    });
    REQUIRE(add != both.end());
    CHECK(contains({both.begin(), add}, before));
    CHECK(contains({add, both.end()}, after));
  }
}

TEST_CASE("the last block that arrives sees what all blocks have written") {
  constexpr int blocks = 24, lanes = 64;
  const fx::Kernel sum{"last_block", [](fx::Tensor parts, fx::Tensor arrived, fx::Tensor total) {
                         auto b = fx::block_idx().x;
                         fx::if_(fx::thread_idx().x == 0, [&] {
                           parts(b) = (b + 1) * 3;
                           auto before = fx::atomic(fx::AtomicOp::add, arrived.iter(), 1,
                                                    fx::MemoryOrder::acq_rel);
                           fx::if_(before == blocks - 1, [&] {
                             fx::Var<fx::Int32> all{fx::Int32(0)};
                             for (fx::Int32 i : fx::range(0, blocks))
                               all += parts(i);
                             total(0) = all;
                           });
                         });
                       }};
  fx::DeviceArray<std::int32_t> parts({blocks}), arrived({1}), total({1});
  arrived.fill(0);
  total.fill(-1);
  sum(parts, arrived, total).launch({blocks, lanes});
  CHECK(total.to_host()[0] == 3 * blocks * (blocks + 1) / 2);
}

TEST_CASE("pairs of 16-bit floats are added in one step") {
  const fx::Kernel add{"packed", [](fx::Tensor x, fx::Tensor old) {
                         fx::Pointer pair = x.iter() + 2;
                         fx::Vector both = fx::Vector::splat(1.5f, 2, fx::f16);
                         fx::Vector before = fx::atomic(fx::AtomicOp::add, pair, both);
                         fx::if_(fx::thread_idx().x == 0,
                                 [&] { old(0) = before[0].to(fx::f32) + before[1].to(fx::f32); });
                       }};
  fx::DeviceArray<fx::half_t> x({4});
  fx::DeviceArray<float> old({1});
  x.fill(fx::half_t(2.0f));
  add(x.assume_aligned(8), old).launch({1, 64});
  const auto values = x.to_host();
  CHECK(float(values[1]) == 2.0f);
  CHECK(float(values[2]) == 2.0f + 64 * 1.5f);
  CHECK(float(values[3]) == 2.0f + 64 * 1.5f);
  for (const char *target : {"gfx90a", "gfx942", "gfx950", "gfx1201"})
    CHECK(add(x.assume_aligned(8), old)
              .compile({.block = 64, .arch = target})
              .isa()
              .find("pk_add_f16") != std::string::npos);
}

// Eight bytes at a multiple of eight are accessed at once, as hardware does it: no half of a number is seen.
TEST_CASE("a thread sees all of a number of 64 bits that another block writes") {
  constexpr int kTurns = 400000;
  const fx::Kernel kernel{"halves", [](fx::Pointer word, fx::Tensor halves) {
                            const fx::Boolean isWriter(fx::block_idx().x == 0);
                            fx::if_(fx::thread_idx().x == 3, [&] { // one lane of a wave
                              for (fx::Int32 turn : fx::range(fx::Int32(kTurns)))
                                fx::if_(
                                    isWriter,
                                    [&] {
                                      fx::atomic_store(word, fx::Int64(0) - (turn & 1).to(fx::i64),
                                                       fx::MemoryOrder::relaxed,
                                                       fx::MemoryScope::system);
                                    },
                                    [&] {
                                      const fx::Numeric seen = fx::atomic_load(
                                          word, fx::MemoryOrder::relaxed, fx::MemoryScope::system);
                                      fx::if_((seen != 0) & (seen != -1), [&] { halves(0) = seen; });
                                    });
                            });
                          }};
  fx::DeviceArray<std::int64_t> word({1}), halves({1});
  word.copy_from(std::vector<std::int64_t>{0});
  halves.copy_from(std::vector<std::int64_t>{0});
  kernel(word.data(), halves).launch({2, 64});
  CHECK(halves.to_host()[0] == 0);
}

TEST_CASE("addresses come back as the memory that they are") {
  const fx::Kernel move{"move", [](std::array<fx::Tensor, 3> from, fx::Pointer to) {
                          auto i = fx::thread_idx().x;
                          for (int k = 0; k < 3; ++k) {
                            fx::Numeric address = (from[k].iter() + i).address();
                            fx::Pointer again = fx::Pointer::from_address(address, fx::f32);
                            (to + (k * 64 + i)).store(again.load());
                          }
                        }};
  std::array<fx::DeviceArray<float>, 3> from = {
      fx::DeviceArray<float>({64}), fx::DeviceArray<float>({64}), fx::DeviceArray<float>({64})};
  fx::DeviceArray<float> to({192});
  for (int k = 0; k < 3; ++k) {
    std::vector<float> values(64);
    for (int i = 0; i < 64; ++i)
      values[i] = static_cast<float>(100 * k + i);
    from[k].copy_from(values);
  }
  move(from, to.data()).launch({1, 64});
  const auto moved = to.to_host();
  for (int i = 0; i < 192; ++i)
    CHECK(moved[i] == static_cast<float>(100 * (i / 64) + i % 64));
}

TEST_CASE("a pointer argument that is null or badly aligned is refused") {
  const fx::Kernel store{"store", [](fx::Pointer to) { to.store(1.0f); }};
  float *none = nullptr;
  CHECK_THROWS_WITH(store(none).launch({1, 64}), Catch::Contains("the pointer is null"));
  CHECK_THROWS_WITH(store(reinterpret_cast<float *>(0x1002)).launch({1, 64}),
                    Catch::Contains("the pointer is not aligned to its elements"));
  const fx::DeviceArray<std::uint8_t> memory({8});
  for (fx::DType type : {fx::f4E2M1FN, fx::f6E3M2FN, fx::DType()})
    CHECK_THROWS_WITH(store(fx::PointerArg(memory.data(), type)).launch({1, 64}),
                      Catch::Contains("a pointer's elements take whole bytes") &&
                          Catch::Contains("memory_order_test.cpp:"));
}

// LLVM takes the answer of a clock for no load, and relies on the wait of the barrier after it.
TEST_CASE("a clock that a loop reads before a barrier is waited for") {
  for (const char *target : {"gfx942", "gfx1100"}) {
    const fx::Kernel kernel{"timed", [](fx::Tensor count, fx::Tensor data) {
                              auto thread = fx::thread_idx().x;
                              const fx::Int32 last(data(0));
                              for (fx::Int32 i : fx::range(fx::Int32(count(0)))) {
                                const auto time = fx::gpu::steady_clock();
                                fx::gpu::barrier();
                                fx::if_(i == last, [&] { data(thread) = time.to(fx::i32); });
                              }
                            }};
    const fx::TensorArg nothing(nullptr, fx::i32, std::array<std::int64_t, 1>{4});
    const std::string isa =
        kernel(nothing, nothing).compile({.block = kBlock, .arch = target}).isa();
    const std::size_t clock = std::min(isa.find("s_memrealtime"), isa.find("s_sendmsg_rtn"));
    INFO(target << "\n" << isa);
    REQUIRE(clock != std::string::npos);
    const std::size_t wait = isa.find("lgkmcnt(0)", clock), store = isa.find("global_store", clock);
    CHECK(wait < store);
    CHECK(store != std::string::npos);
  }
}
