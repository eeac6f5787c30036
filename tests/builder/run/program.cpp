// A user's program with a printf in a kernel, a missing barrier, a missing wait, and a tile that is
// too large for a buffer.
#include <flydsl/flydsl.h>

#include <cstdio>
#include <string>
#include <vector>

namespace fx = flydsl;

static void print() {
  const fx::Kernel speak{"speak", [](fx::Tensor in) {
                           auto lane = fx::thread_idx().x, block = fx::block_idx().x;
                           fx::Numeric x = in(lane);
                           fx::if_(lane < 2, [&] {
                             fx::printf("block {} lane {}: {} {} {}%\n", block, lane, fx::Int8(7),
                                        x, lane == 0);
                           });
                         }};
  fx::DeviceArray<float> in({64});
  in.copy_from(std::vector<float>(64, 2.5f));
  speak(in).launch({.grid = 2, .block = 64});
  fx::Stream().synchronize();
  in.to_host();
  std::puts("done");
}

static void race() {
  const fx::Kernel reverse{"reverse", [](fx::Tensor out, fx::Tensor in) {
                             auto tid = fx::thread_idx().x;
                             fx::SharedAllocator shared;
                             auto tile = shared.allocate<fx::Array<fx::Float32, 128>>().view();
                             tile(tid) = in(tid);
                             // The barrier between these two is missing.
                             out(tid) = tile(127 - tid);
                           }};
  auto in = fx::DeviceArray<float>::random({128}, /*seed=*/1);
  fx::DeviceArray<float> out({128});
  reverse(out, in).launch({.grid = 1, .block = 128});
  out.to_host();
}

/// Two phases on the same bytes, with or without the barrier between them.
static void overlay(bool hasBarrier) {
  const fx::Kernel phases{"phases", [hasBarrier](fx::Tensor out, fx::Tensor in) {
                            auto tid = fx::thread_idx().x;
                            fx::SharedAllocator shared;
                            auto [floats, words] = shared.overlay(
                                {{fx::f32, fx::make_layout(128)}, {fx::i32, fx::make_layout(128)}});
                            floats(tid) = in(tid);
                            fx::gpu::barrier();
                            fx::Numeric opposite = floats(127 - tid);
                            if (hasBarrier)
                              fx::gpu::barrier();
                            words(tid) = tid;
                            fx::gpu::barrier();
                            out(tid) = opposite + words(127 - tid).to(fx::f32);
                          }};
  auto in = fx::DeviceArray<float>::random({128}, /*seed=*/1);
  fx::DeviceArray<float> out({128});
  phases(out, in).launch({.grid = 1, .block = 128});
  out.to_host();
  std::puts("done");
}

/// Two loads by inline assembly, which the compiler puts no wait behind. The wait of the author
/// lets `pending` of them be under way; he forgets it if that is negative.
static void assemblyLoads(int pending) {
  const fx::Kernel loads{"loads", [pending](fx::Tensor out, fx::Tensor in) {
                           auto tid = fx::thread_idx().x;
                           auto load = [&](const fx::Pointer &from) {
                             return fx::rocdl::inline_asm("global_load_dword $0, $1, off", "=v,v",
                                                          fx::f32, {from}, true);
                           };
                           auto a = load(in.iter() + tid);
                           auto b = load(in.iter() + (tid + 64));
                           if (pending < 0) {
                             out(tid) = a + b;
                             return;
                           }
                           const std::string wait =
                               "s_waitcnt vmcnt(" + std::to_string(pending) + ")";
                           auto landed = fx::rocdl::inline_asm_struct(
                               wait.c_str(), "=v,=v,0,1", {fx::f32, fx::f32}, {a, b}, true);
                           out(tid) = landed[0] + landed[1];
                         }};
  auto in = fx::DeviceArray<float>::random({128}, /*seed=*/1);
  fx::DeviceArray<float> out({64});
  loads(out, in).launch({.grid = 1, .block = 64});
  const auto x = in.to_host(), sums = out.to_host();
  bool right = true;
  for (std::size_t i = 0; i < 64; ++i)
    right &= sums[i] == x[i] + x[i + 64];
  std::puts(right ? "right" : "wrong");
}

static void largeTile() {
  const fx::Kernel part{"part", [](fx::Tensor a) {
                          auto tile = fx::flat_divide(a, fx::make_tile(4, 64))(fx::_, fx::_, 0, 0);
                          auto buffer = fx::rocdl::make_buffer_tensor(tile); // (4, 64)
                          buffer(3, fx::thread_idx().x) = 1;
                        }};
  fx::DeviceArray<float> memory({64});
  part(fx::tensor(memory.data(), {4, 64}, {std::int64_t(1) << 29, 1}))
      .launch({.grid = 1, .block = 64});
  memory.to_host();
}

/// A fragment that half of the threads write, read by all of them, or by those alone.
static void unwritten(bool agrees) {
  const fx::Kernel kernel{"unwritten", [agrees](fx::Tensor x) {
                            auto i = fx::thread_idx().x;
                            auto sums = fx::make_rmem_tensor(1, fx::f32);
                            fx::if_(i < 32, [&] { sums(0) = x(i) + 1; });
                            if (agrees)
                              fx::if_(i < 32, [&] { x(i) = sums(0) * 2; });
                            else
                              x(i) = sums(0) * 2;
                          }};
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(64, 1), {64});
  fx::Stream stream;
  kernel(x).launch({.block = 64, .stream = stream});
  stream.synchronize();
  std::printf("done\n");
}

/// The same of elements of 6 bits: 16 of them lie in three words.
static void unwritten6(bool agrees) {
  const fx::Kernel kernel{"unwritten6", [agrees](fx::Tensor x) {
                            auto i = fx::thread_idx().x;
                            auto halves = fx::make_rmem_tensor(5, fx::f6E2M3FN);
                            auto fill = [&] {
                              for (int k = 0; k < 5; ++k)
                                halves(k) = (x(i) + float(k)).to(fx::f6E2M3FN);
                            };
                            auto use = [&] { x(i) = halves(4).to(fx::f32) * 2; };
                            fx::if_(i < 32, fill);
                            if (agrees)
                              fx::if_(i < 32, use);
                            else
                              use();
                          }};
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(64, 1), {64});
  fx::Stream stream;
  kernel(x).launch({.block = 64, .stream = stream});
  stream.synchronize();
  const bool right = x.to_host()[0] == 10;
  std::printf(right ? "done\n" : "wrong\n");
}

/// Three arrays of shared memory. The threads of the second access it `by` elements from where they
/// should.
static void neighbour(const std::string &what, int by) {
  const fx::Kernel kernel{"neighbour", [what](fx::Tensor x, fx::Int32 by) {
                            fx::SharedAllocator shared;
                            auto before = shared.tensor(fx::f32, fx::make_layout(64));
                            auto middle = shared.tensor(fx::f32, fx::make_layout(60));
                            auto after = shared.tensor(fx::f32, fx::make_layout(64));
                            auto i = fx::thread_idx().x;
                            before(i) = 1;
                            after(i) = 3;
                            fx::if_(i < 60, [&] { middle(i) = 2; });
                            fx::gpu::barrier();
                            auto pointer = middle.iter() + by;
                            auto moved = fx::make_view(pointer, fx::make_layout(60));
                            fx::if_(i < 60, [&] {
                              if (what == "read")
                                x(i) = moved(i);
                              else if (what == "write")
                                moved(i) = 4;
                              else
                                fx::atomic(fx::AtomicOp::add, pointer + i, fx::Float32(1.0f),
                                           "workgroup");
                            });
                            fx::gpu::barrier();
                            x(64 + i) = before(63 - i) + after(63 - i);
                          }};
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(128, 0), {128});
  fx::Stream stream;
  kernel(x, by).launch({.block = 64, .stream = stream});
  stream.synchronize();
  std::printf("done\n");
}

/// Two arrays of shared memory between which no gap fits: they fill gfx942's, or dynamic memory comes
/// after them.
static void noGap(bool isFull) {
  const fx::Kernel kernel{"no_gap", [isFull](fx::Tensor x) {
                            fx::SharedAllocator shared;
                            const int count = isFull ? 8192 : 64;
                            auto one = shared.tensor(fx::f32, fx::make_layout(count));
                            auto two = shared.tensor(fx::f32, fx::make_layout(count));
                            auto i = fx::thread_idx().x;
                            one(i) = 1;
                            two(i) = 2;
                            if (!isFull) {
                              auto three =
                                  fx::make_view(fx::get_dyn_shared(fx::f32), fx::make_layout(64));
                              three(i) = one(i);
                            }
                            x(i) = one(i) + two(i);
                          }};
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(64, 0), {64});
  kernel(x).launch({.block = 64, .smem = isFull ? 0u : 256u});
  std::printf(x.to_host()[63] == 3 ? "done\n" : "wrong\n");
}

int main(int argc, char **argv) {
  try {
    const std::string what = argc > 1 ? argv[1] : "";
    if (what == "race")
      race();
    else if (what == "overlay" || what == "overlay-race")
      overlay(what == "overlay");
    else if (what == "assembly")
      assemblyLoads(std::stoi(argv[2]));
    else if (what == "unwritten" || what == "unwritten-guarded")
      unwritten(what == "unwritten-guarded");
    else if (what == "unwritten6" || what == "unwritten6-guarded")
      unwritten6(what == "unwritten6-guarded");
    else if (what == "neighbour")
      neighbour(argv[2], std::stoi(argv[3]));
    else if (what == "no-gap")
      noGap(std::string(argv[2]) == "full");
    else if (what == "large")
      largeTile();
    else
      print();
  } catch (const fx::Error &error) {
    std::printf("%s\n", error.what());
  }
}
