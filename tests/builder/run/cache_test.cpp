// What accesses say to caches, and loads into scalar registers: the
// instructions, and their results.
#include "emulated_targets.h"
#include "run.h"

#include <flydsl/kernel/bounded.h>
#include <flydsl/kernel/wave_memory.h>

#include <catch2/catch.hpp>

#include <sstream>

namespace fx = flydsl;
using Catch::Contains;
using fx::rocdl::CacheBit;
using fx::rocdl::CacheControl;

namespace {

/// The first instruction whose name begins so and whose line has `with`: its name, and what it says
/// after its operands.
std::string instructionOf(const fx::Executable &code, const std::string &name,
                          const std::string &with = {}) {
  std::istringstream lines(code.isa());
  std::string line;
  while (std::getline(lines, line)) {
    line = line.substr(0, line.find("//"));
    std::istringstream words(line);
    std::string first, word, text;
    words >> first;
    if (first.rfind(name, 0) != 0 || line.find(with) == std::string::npos)
      continue;
    while (words >> word)
      if (word == "glc" || word == "slc" || word == "dlc" || word == "nt" || word == "sc0" ||
          word == "sc1" || word.rfind("th:", 0) == 0 || word.rfind("scope:", 0) == 0)
        text += (text.empty() ? "" : " ") + word;
    return text;
  }
  return "no " + name;
}

template <class Body> fx::Executable compiled(const Body &body, const char *target) {
  const fx::Kernel kernel{"cached", body};
  const fx::TensorArg nothing(nullptr, fx::i32, std::array<std::int64_t, 1>{256});
  return kernel(nothing, nothing).compile({.block = 64, .arch = target});
}

/// Four numbers of a lane from x to y.
void move(const fx::CopyOp &op, const fx::Tensor &x, const fx::Tensor &y) {
  auto atom = fx::make_copy_atom(op, fx::i32);
  auto tid = fx::thread_idx().x;
  auto r = fx::make_rmem_tensor(4, fx::i32);
  fx::copy(atom, fx::flat_divide(x, 4)(fx::_, tid), r);
  fx::copy(atom, r, fx::flat_divide(y, 4)(fx::_, tid));
}

} // namespace

TEST_CASE("a copy that is not temporal has the bits of LLVM's guide on each target") {
  // LLVM's AMDGPU guide, "Memory Model", rows "nontemporal" of the targets' tables.
  struct Row {
    const char *target, *load, *store;
  };
  for (const Row &row :
       {Row{"gfx90a", "glc slc", "glc slc"}, Row{"gfx942", "nt", "nt"}, Row{"gfx950", "nt", "nt"},
        Row{"gfx1100", "slc dlc", "glc slc dlc"}, Row{"gfx1201", "th:TH_LOAD_NT", "th:TH_STORE_NT"},
        Row{"gfx1250", "th:TH_LOAD_NT", "th:TH_STORE_NT"}}) {
    INFO(row.target);
    const fx::Executable universal = compiled(
        [](fx::Tensor x, fx::Tensor y) {
          move(fx::UniversalCopy(128, fx::CachePolicy::non_temporal), x, y);
        },
        row.target);
    CHECK(instructionOf(universal, "global_load") == row.load);
    CHECK(instructionOf(universal, "global_store") == row.store);
    const fx::Executable buffer = compiled(
        [](fx::Tensor x, fx::Tensor y) {
          move(fx::rocdl::BufferCopy(128, fx::CachePolicy::non_temporal),
               fx::rocdl::make_buffer_tensor(x), fx::rocdl::make_buffer_tensor(y));
        },
        row.target);
    CHECK(instructionOf(buffer, "buffer_load") == row.load);
    if (std::string(row.target) != "gfx1100") // one atom loads and stores; its bits are the load's
      CHECK(instructionOf(buffer, "buffer_store") == row.store);
  }
}

TEST_CASE("two branches may load alike with different policies") {
  for (const char *target : kEmulatorTargets) {
    INFO(target);
    const fx::Executable both = compiled(
        [](fx::Tensor x, fx::Tensor y) {
          const fx::Tensor from = fx::rocdl::make_buffer_tensor(x),
                           to = fx::rocdl::make_buffer_tensor(y);
          fx::if_(
              fx::block_idx().x == 0,
              [&] { move(fx::rocdl::BufferCopy(128, fx::CachePolicy::non_temporal), from, to); },
              [&] { move(fx::rocdl::BufferCopy(128, fx::CachePolicy::cached), from, to); });
        },
        target);
    const std::string isa = both.isa();
    const auto first = isa.find("buffer_load");
    REQUIRE(first != std::string::npos);
    CHECK(isa.find("buffer_load", first + 1) != std::string::npos);
  }
}

TEST_CASE("copies without a policy have no bits") {
  for (const char *target : kEmulatorTargets) {
    INFO(target);
    const fx::Executable plain =
        compiled([](fx::Tensor x,
                    fx::Tensor y) { move(fx::UniversalCopy(128, fx::CachePolicy::cached), x, y); },
                 target);
    CHECK(instructionOf(plain, "global_load") == "");
    CHECK(instructionOf(plain, "global_store") == "");
  }
}

TEST_CASE("cache bits by their names are those of the assembly") {
  struct Row {
    const char *target;
    CacheControl cache;
    const char *load;
  };
  for (const Row &row :
       {Row{"gfx90a", CacheBit::glc, "glc"}, Row{"gfx90a", CacheBit::slc, "slc"},
        Row{"gfx942", CacheBit::sc0 | CacheBit::sc1, "sc0 sc1"},
        Row{"gfx950", CacheBit::nt | CacheBit::sc1, "nt sc1"}, Row{"gfx1100", CacheBit::dlc, "dlc"},
        Row{"gfx1100", CacheBit::glc | CacheBit::slc, "glc slc"},
        Row{"gfx1201", CacheBit::th_ht, "th:TH_LOAD_HT"},
        Row{"gfx1201", CacheBit::th_nt_rt, "th:TH_LOAD_NT_RT"},
        Row{"gfx1201", CacheBit::th_rt_nt, "th:TH_LOAD_RT_NT"},
        Row{"gfx1201", CacheBit::th_nt_ht, "th:TH_LOAD_NT_HT"},
        Row{"gfx1201", CacheBit::scope_se, "scope:SCOPE_SE"},
        Row{"gfx1201", CacheBit::th_nt | CacheBit::scope_dev, "th:TH_LOAD_NT scope:SCOPE_DEV"},
        Row{"gfx1250", CacheControl(fx::CachePolicy::non_temporal) | CacheBit::scope_sys,
            "th:TH_LOAD_NT scope:SCOPE_SYS"}}) {
    INFO(row.target << " " << row.load);
    const fx::Executable code = compiled(
        [&](fx::Tensor x, fx::Tensor y) {
          move(fx::rocdl::BufferCopy(128, row.cache), fx::rocdl::make_buffer_tensor(x),
               fx::rocdl::make_buffer_tensor(y));
        },
        row.target);
    CHECK(instructionOf(code, "buffer_load") == row.load);
  }
}

TEST_CASE("copies into LDS have a cache policy") {
  struct Row {
    const char *target;
    CacheControl cache;
    const char *bits;
  };
  for (const Row &row : {Row{"gfx942", {}, ""}, Row{"gfx90a", CacheBit::glc, "glc"},
                         Row{"gfx942", fx::CachePolicy::non_temporal, "nt"},
                         Row{"gfx950", CacheBit::sc0 | CacheBit::nt, "sc0 nt"}}) {
    INFO(row.target << " " << row.bits);
    const fx::Executable code = compiled(
        [&](fx::Tensor x, fx::Tensor y) {
          auto shared = fx::SharedAllocator().allocate(256).recast(fx::i32);
          auto atom = fx::make_copy_atom(fx::rocdl::BufferCopyLDS(32, row.cache), fx::i32);
          auto buffer = fx::rocdl::make_buffer_tensor(x);
          auto tid = fx::thread_idx().x;
          fx::copy(atom, fx::flat_divide(buffer, 1)(fx::_, tid),
                   fx::make_view(shared, fx::make_layout(1, 1)));
          fx::gpu::barrier();
          y(tid) = fx::make_view(shared, fx::make_layout(64, 1))(tid);
        },
        row.target);
    CHECK(instructionOf(code, "buffer_load", "lds") == row.bits);
  }
  const fx::Executable global = compiled(
      [&](fx::Tensor x, fx::Tensor y) {
        auto shared = fx::SharedAllocator().allocate(256).recast(fx::i32);
        auto atom = fx::make_copy_atom(
            fx::rocdl::GlobalLoadAsyncLDS(32, fx::CachePolicy::non_temporal), fx::i32);
        auto tid = fx::thread_idx().x;
        fx::copy(atom, fx::flat_divide(x, 1)(fx::_, tid),
                 fx::make_view(shared, fx::make_layout(1, 1)));
        fx::gpu::barrier();
        y(tid) = fx::make_view(shared, fx::make_layout(64, 1))(tid);
      },
      "gfx950");
  CHECK(instructionOf(global, "global_load_lds") == "nt");
}

TEST_CASE("loads of bounded memory without an atom have a cache policy") {
  // As of a copy: LLVM's AMDGPU guide, "Memory Model", rows "nontemporal".
  struct Row {
    const char *target, *bits;
    int bytes; // of a lane's load to shared memory
  };
  for (const Row &row :
       {Row{"gfx90a", "glc slc", 4}, Row{"gfx942", "nt", 4}, Row{"gfx950", "nt", 4},
        Row{"gfx950", "nt", 16}, Row{"gfx1100", "slc dlc", 0}, Row{"gfx1250", "th:TH_LOAD_NT", 0}})
    for (const fx::CachePolicy cache : {fx::CachePolicy::non_temporal, fx::CachePolicy::cached}) {
      INFO(row.target << ", " << row.bytes << " bytes to LDS");
      const std::string bits = cache == fx::CachePolicy::cached ? "" : row.bits;
      const fx::Executable code = compiled(
          [&](fx::Tensor x, fx::Tensor y) {
            const fx::Pointer view = fx::bounded(x, fx::Int64(1024)).iter();
            const fx::Int32 tid(fx::thread_idx().x);
            const fx::Vector four = fx::bounded_load(view, {tid * 16}, fx::i32, 4, cache);
            y(tid) = four[0] + four[3];
            if (row.bytes) {
              const fx::Tensor shared =
                  fx::SharedAllocator().tensor(fx::i32, fx::make_layout(256), 16); // (256)
              fx::bounded_load_to_shared(view, {tid * row.bytes}, shared.iter(), row.bytes, cache);
              fx::gpu::wait_for({.loads = 0});
              fx::gpu::barrier();
              y(tid + 64) = shared(tid);
            }
          },
          row.target);
      CHECK(instructionOf(code, "buffer_load") == bits);
      if (row.bytes)
        CHECK(instructionOf(code, "buffer_load", " lds") == bits);
    }
  const fx::Executable global = compiled(
      [](fx::Tensor x, fx::Tensor y) {
        const fx::Tensor shared =
            fx::SharedAllocator().tensor(fx::i32, fx::make_layout(256), 16); // (256)
        const fx::Int32 tid(fx::thread_idx().x);
        fx::copy(fx::make_copy_atom(fx::CopyToShared(128, fx::CachePolicy::non_temporal), fx::i32),
                 fx::flat_divide(x, 4)(fx::_, tid),
                 fx::make_view(shared.iter(), fx::make_layout(4)));
        fx::gpu::wait_for({.loads = 0});
        fx::gpu::barrier();
        y(tid) = shared(tid);
      },
      "gfx950");
  CHECK(instructionOf(global, "global_load_lds") == "nt");
}

TEST_CASE("cache policies that can't be are refused by their names") {
  auto refuse = [](const CacheControl &cache, const char *target, const std::string &message) {
    CHECK_THROWS_WITH(
        compiled([&](fx::Tensor, fx::Tensor) { (void)fx::rocdl::BufferCopy(32, cache); }, target),
        Contains("cache_test.cpp:") && Contains(message));
  };
  refuse(CacheBit::nt, "gfx1201",
         "there is no cache bit nt on gfx1201, which has th_nt, th_ht, th_nt_rt, th_rt_nt, "
         "th_nt_ht, scope_se, scope_dev, scope_sys");
  refuse(CacheBit::glc, "gfx942", "there is no cache bit glc on gfx942, which has sc0, nt, sc1");
  refuse(CacheBit::dlc, "gfx90a", "there is no cache bit dlc on gfx90a, which has glc, slc");
  refuse(CacheBit::scope_dev, "gfx1100",
         "there is no cache bit scope_dev on gfx1100, which has glc, slc, dlc");
  refuse(CacheBit::th_nt | CacheBit::th_ht, "gfx1201",
         "the cache bit th_ht stands in the place of another one");
  refuse(CacheBit::scope_se | CacheBit::scope_sys, "gfx1250",
         "the cache bit scope_sys stands in the place of another one");
  CHECK_THROWS_WITH(
      compiled([](fx::Tensor, fx::Tensor) { (void)fx::rocdl::BufferCopy(32, 4); }, "gfx942"),
      Contains("the cache bits 4 have 4, which is no bit of gfx942; it has sc0, nt, sc1"));
  CHECK_THROWS_WITH(compiled(
                        [](fx::Tensor x, fx::Tensor) {
                          fx::rocdl::raw_buffer_load(fx::rocdl::make_buffer_ptr(x.iter()),
                                                     fx::Int32(0), fx::i32, {.aux = 32});
                        },
                        "gfx1100"),
                    Contains("the cache bits 32 have 32, which is no bit of gfx1100"));
  CHECK_THROWS_WITH(fx::rocdl::BufferCopy(32, CacheBit::nt),
                    Contains("outside of a kernel, say which") && Contains(".on(\"gfx942\")"));
  CHECK_THROWS_WITH(compiled(
                        [](fx::Tensor x, fx::Tensor y) {
                          auto shared =
                              fx::make_view(fx::SharedAllocator().allocate(16).recast(fx::i32),
                                            fx::make_layout(4, 1));
                          move(fx::UniversalCopy(128, fx::CachePolicy::non_temporal), shared, y);
                        },
                        "gfx942"),
                    Contains("a copy that is not temporal reads or writes global memory"));
}

TEST_CASE("an atom with a policy for a named target is made outside of a kernel") {
  const CacheControl cache = CacheControl(fx::CachePolicy::non_temporal).on("gfx942");
  CHECK(cache.auxiliary() == 2);
  CHECK(CacheControl(CacheBit::sc1).on("gfx950").auxiliary() == 16);
  CHECK((CacheBit::th_ht | CacheBit::scope_sys).on("gfx1201").auxiliary() == 26);
  const fx::TiledCopy copy = fx::make_tiled_copy_tv(
      fx::make_copy_atom(fx::rocdl::BufferCopy(128, cache), fx::f32),
      fx::make_ordered_layout({8, 8}, {1, 0}), fx::make_ordered_layout({1, 4}, {0, 1}));
  CHECK_THAT(copy.str(), Contains("buffer_copy<128, cache = 2>"));
}

TEST_CASE("copies with a policy move what the others do") {
  const auto x = fx::DeviceArray<int>::random({256}, 1);
  fx::DeviceArray<int> y({256});
  const fx::Kernel stream{"stream", [](fx::Tensor x, fx::Tensor y) {
                            move(fx::UniversalCopy(128, fx::CachePolicy::non_temporal), x, y);
                          }};
  y.poison();
  stream(x, y).launch({1, 64});
  CHECK(y.to_host() == x.to_host());
  const fx::Kernel buffers{"buffers", [](fx::Tensor x, fx::Tensor y) {
                             move(fx::rocdl::BufferCopy(128, fx::CachePolicy::non_temporal),
                                  fx::rocdl::make_buffer_tensor(x),
                                  fx::rocdl::make_buffer_tensor(y));
                           }};
  y.poison();
  buffers(x, y).launch({1, 64});
  CHECK(y.to_host() == x.to_host());
}

TEST_CASE("values that all lanes share are loaded once, into scalar registers") {
  const fx::Kernel shared{"shared", [](fx::Tensor x, fx::Tensor y) {
                            auto tid = fx::thread_idx().x;
                            auto block = fx::block_idx().x;
                            auto buffer = fx::rocdl::make_buffer_ptr(x.iter());
                            auto four = fx::rocdl::s_buffer_load(buffer, block * 16, fx::i32, 4);
                            auto one = fx::rocdl::s_load(x, block + 8);
                            auto wide = fx::rocdl::s_load(x.iter() + 16, fx::i64);
                            auto halves =
                                fx::rocdl::s_buffer_load(buffer, fx::Int32(0), fx::i16, 4);
                            y(block * 64 + tid) = four[0] + four[3] * 10 + one * 100 +
                                                  wide.to(fx::i32) * 1000 +
                                                  halves[2].to(fx::i32) * 10000;
                          }};
  std::vector<int> values(64);
  for (int i = 0; i < 64; ++i)
    values[static_cast<std::size_t>(i)] = i;
  fx::DeviceArray<int> x({64}), y({128});
  x.copy_from(values);
  shared(x, y).launch({2, 64});
  const auto out = y.to_host();
  for (int block = 0; block < 2; ++block)
    for (int lane = 0; lane < 64; ++lane)
      REQUIRE(out[static_cast<std::size_t>(block * 64 + lane)] ==
              4 * block + (4 * block + 3) * 10 + (block + 8) * 100 + 16 * 1000 + 1 * 10000);
  for (const char *target : kEmulatorTargets) {
    INFO(target);
    const fx::Executable code = shared(x, y).compile({.block = 64, .arch = target});
    CHECK(instructionOf(code, "s_buffer_load_") == "");
    CHECK(instructionOf(code, "buffer_load") == "no buffer_load");
    CHECK(instructionOf(code, "global_load") == "no global_load");
  }
}

TEST_CASE("scalar loads are refused where they can't be") {
  auto refuse = [](const char *message, auto body) {
    CHECK_THROWS_WITH(compiled(body, "gfx942"), Contains("cache_test.cpp:") && Contains(message));
  };
  refuse("s_buffer_load takes the pointer of make_buffer_ptr", [](fx::Tensor x, fx::Tensor) {
    (void)fx::rocdl::s_buffer_load(x.iter(), fx::Int32(0), fx::i32);
  });
  refuse("s_buffer_load at offset 6; it reads words", [](fx::Tensor x, fx::Tensor) {
    (void)fx::rocdl::s_buffer_load(fx::rocdl::make_buffer_ptr(x.iter()), fx::Int32(6), fx::i32);
  });
  refuse("s_buffer_load of 3 x i32; it moves", [](fx::Tensor x, fx::Tensor) {
    (void)fx::rocdl::s_buffer_load(fx::rocdl::make_buffer_ptr(x.iter()), fx::Int32(0), fx::i32, 3);
  });
  refuse("s_load of i16; it moves",
         [](fx::Tensor x, fx::Tensor) { (void)fx::rocdl::s_load(x.iter(), fx::i16); });
  refuse("s_load of i8; it moves", [](fx::Tensor x, fx::Tensor) {
    (void)fx::rocdl::s_load(fx::make_view(x.iter().recast(fx::i8), fx::make_layout(16)), 3);
  });
  refuse("s_load reads global memory", [](fx::Tensor, fx::Tensor) {
    (void)fx::rocdl::s_load(fx::SharedAllocator().allocate(16), fx::i32);
  });
  refuse("a buffer's offset has 32 bits, not i64", [](fx::Tensor x, fx::Tensor) {
    (void)fx::rocdl::s_buffer_load(fx::rocdl::make_buffer_ptr(x.iter()), fx::Int64(0), fx::i32);
  });
}
