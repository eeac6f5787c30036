// Examples of docs/debugging.md: kernels with a mistake, one a word on the command line. The
// program prints the error that it gets.
#include <flydsl/flydsl.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>

namespace fx = flydsl;
using fx::_;

namespace {

// region: rank
const fx::Kernel wrong_rank{"wrong_rank", [](fx::Tensor x) {
  auto tile = fx::flat_divide(x, {8, 8})(_, _, fx::block_idx().x, 0);
  tile(0, 0) = 1;
}};
// endregion

// region: shapes
const fx::Kernel wrong_shape{"wrong_shape", [](fx::Tensor) {
  auto atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
  auto four = fx::make_rmem_tensor(4, fx::f32), eight = fx::make_rmem_tensor(8, fx::f32);
  four.fill(0);
  fx::copy(atom, four, eight);
}};
// endregion

// region: print
const fx::Kernel prints{"prints", [](fx::Tensor x) {
  auto tile = fx::flat_divide(x, {4})(_, fx::thread_idx().x);
  std::printf("while tracing: a tile is %s\n", tile.layout().str().c_str());
}};
// endregion

// region: printf
const fx::Kernel halves{"halves", [](fx::Tensor x) {
  auto i = fx::thread_idx().x;
  fx::Numeric half = x(i) / 2;
  fx::if_(i < 3, [&] { fx::printf("x({}) is {}, its half {}\n", i, x(i), half); });
  x(i) = half;
}};
// endregion

// region: race
const fx::Kernel no_barrier{"no_barrier", [](fx::Tensor x) {
  auto tid = fx::thread_idx().x;
  auto s = fx::SharedAllocator().allocate<fx::Array<fx::Float32, 128>>().view();
  s(tid) = x(tid);
  x(tid) = s(127 - tid); // a barrier is missing before this
}};
// endregion

// region: bounds
const fx::Kernel past_the_end{"past_the_end", [](fx::Tensor x) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  x(i) = x(i) + 1; // 100 elements, 128 threads
}};
// endregion

// region: init
const fx::Kernel not_filled{"not_filled", [](fx::Tensor x) {
  auto tid = fx::thread_idx().x;
  auto s = fx::SharedAllocator().allocate<fx::Array<fx::Float32, 64>>().view();
  fx::if_(tid < 63, [&] { s(tid) = x(tid); });
  fx::gpu::barrier();
  x(tid) = s(tid);
}};
// endregion

// region: sync
const fx::Kernel lonely_barrier{"lonely_barrier", [](fx::Tensor x) {
  auto tid = fx::thread_idx().x;
  fx::if_(x(tid) > 0, [&] { fx::gpu::barrier(); }); // for some of 128 threads
  x(tid) = 0;
}};
// endregion

// region: unwritten
const fx::Kernel not_zeroed{"not_zeroed", [](fx::Tensor x) {
  auto sum = fx::make_rmem_tensor(1, fx::f32);
  for (fx::Int32 k : fx::range(100))
    sum(0) += x(k); // to what does the first round add?
  x(0) = sum(0);
}};
// endregion

const fx::Kernel twice{"twice", [](fx::Tensor x, fx::Tensor y) {
  auto i = fx::block_idx().x * 64 + fx::thread_idx().x;
  y(i) = x(i) + x(i);
}};

// region: save
/// Writes the code object of `twice` for 128 floats.
void save(const char *path) {
  float *unknown = nullptr;
  auto x =
      fx::tensor(unknown, {128}).mark_layout_static(); // the kernel's arguments are pointers alone
  auto compiled = twice(x, x).compile({.block = 64, .arch = "gfx942"});
  std::ofstream file(path, std::ios::binary);
  for (std::uint8_t byte : compiled.hsaco())
    file.put(char(byte));
}
// endregion

void run(const std::string &what) {
  auto x = fx::DeviceArray<float>::from_host(std::vector<float>(100, 1.5f), {100});
  auto y = fx::DeviceArray<float>::random({128}, 1);
  // region: launch
  fx::Stream stream;
  if (what == "rank")
    wrong_rank(x).launch({.block = 64, .stream = stream});
  if (what == "bounds")
    past_the_end(x).launch({.grid = 2, .block = 64, .stream = stream});
  // ...
  // endregion
  if (what == "unwritten")
    not_zeroed(x).launch({.block = 64, .stream = stream});
  if (what == "shapes")
    wrong_shape(x).launch({.block = 64, .stream = stream});
  if (what == "print")
    prints(x).launch({.block = 2, .stream = stream});
  if (what == "printf")
    halves(x).launch({.block = 64, .stream = stream});
  if (what == "race")
    no_barrier(y).launch({.block = 128, .stream = stream});
  if (what == "init")
    not_filled(y).launch({.block = 64, .stream = stream});
  if (what == "sync")
    lonely_barrier(y).launch({.block = 128, .stream = stream});
  stream.synchronize();
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 3 && std::string(argv[1]) == "save") {
    save(argv[2]);
    return 0;
  }
  // region: catch
  try {
    run(argc > 1 ? argv[1] : "");
  } catch (const fx::TraceError &error) { // the kernel is wrong, or its call
    std::printf("%s\n", error.what());
  } catch (const fx::RuntimeError &error) { // HIP, or the emulator, refused
    std::printf("%s\n", error.what());
  }
  // endregion
}
