// The host's side: tensors over pointers and from DLPack, layouts with divisibility, parameters of
// the user's own type, hints, compiled kernels.
#include "run.h"

#include <catch2/catch.hpp>

namespace fx = flydsl;
using fx::_;

// DLPack's tensor as its specification lays it out.
struct DLTensor {
  void *data;
  struct {
    std::int32_t type, id;
  } device;
  std::int32_t ndim;
  struct {
    std::uint8_t code, bits;
    std::uint16_t lanes;
  } dtype;
  std::int64_t *shape, *strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor tensor;
  void *context;
  void (*deleter)(DLManagedTensor *);
};

namespace {

const fx::Kernel scale{"scale", [](fx::Tensor out, fx::Tensor in, fx::Float32 factor) {
                         auto tid = fx::thread_idx().x;
                         auto [m, n] = fx::unpack<2>(in.shape());
                         for (fx::Int32 i : fx::range(m))
                           fx::if_(tid < fx::Int32(n), [&] { out(i, tid) = in(i, tid) * factor; });
                       }};

struct Linear {
  const fx::DeviceArray<float> &weights;
  int shift;
};
struct LinearArg {
  fx::Tensor weights;
  fx::Int32 shift;
};

} // namespace

template <> struct flydsl::ArgTraits<LinearArg> {
  static void pack(ArgPack &to, const Linear &h) {
    ArgTraits<Tensor>::pack(to, h.weights);
    ArgTraits<Int32>::pack(to, h.shift);
  }
  static LinearArg make(ParamReader &from) {
    Tensor weights = ArgTraits<Tensor>::make(from);
    return {weights, ArgTraits<Int32>::make(from)};
  }
};

TEST_CASE("tensors over pointers, dynamic and static, and from DLPack") {
  auto in = fx::DeviceArray<float>::random({8, 64}, 13);
  fx::DeviceArray<float> out({8, 64});
  auto x = in.to_host();
  auto check = [&](const fx::TensorArg &to, const fx::TensorArg &from, int rows, int columns,
                   std::size_t pitch) {
    out.copy_from(std::vector<float>(512, 5));
    scale(to, from, 2.0f).launch({.grid = 1, .block = 64});
    auto h = out.to_host();
    int wrong = 0;
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 64; ++j)
        wrong += h[i * pitch % 512 + j] !=
                     (int(i) < rows && int(j) < columns ? x[i * pitch + j] * 2 : 5) &&
                 pitch == 64;
    CHECK(wrong == 0);
  };
  check(out, in, 8, 64, 64);
  check(fx::tensor(out.data(), {5, 64}), fx::tensor(in.data(), {5, 64}), 5, 64, 64);
  check(fx::tensor(out.data(), {8, 40}, {64, 1}), fx::tensor(in.data(), {8, 40}, {64, 1}), 8, 40,
        64);
  check(fx::tensor(out.data(), {8, 64}).mark_layout_static(), fx::tensor(in.data(), {8, 64}), 8, 64,
        64);
  check(fx::tensor(out.data(), {8, 64}).mark_layout_dynamic(1, 16).assume_aligned(16),
        fx::tensor(in.data(), {8, 64}).mark_shape_dynamic(0, 4), 8, 64, 64);
  check(fx::tensor(static_cast<void *>(out.data()), fx::f32, {8, 64}), in, 8, 64, 64);

  std::int64_t shape[] = {8, 32}, strides[] = {64, 1};
  DLManagedTensor managed{{in.data(), {10, 0}, 2, {2, 32, 1}, shape, strides, 0}, nullptr, nullptr};
  DLManagedTensor target = managed;
  target.tensor.data = out.data();
  check(fx::from_dlpack(reinterpret_cast<::DLManagedTensor *>(&target)),
        fx::from_dlpack(reinterpret_cast<::DLManagedTensor *>(&managed)).mark_layout_dynamic(), 8,
        32, 64);
}

TEST_CASE("divisibility reaches the kernel") {
  const fx::Kernel wide{"wide", [](fx::Tensor out, fx::Tensor in) {
                          auto tid = fx::thread_idx().x;
                          auto atom = fx::make_copy_atom(fx::UniversalCopy128b(), fx::f32);
                          auto part = [&](const fx::Tensor &t) {
                            return fx::flat_divide(t, fx::make_tile(1, 4))(0, _, 1, tid); // (4)
                          };
                          auto r = fx::make_rmem_tensor(4, fx::f32);
                          fx::copy(atom, part(in), r);
                          fx::copy(atom, r, part(out));
                        }};
  auto in = fx::DeviceArray<float>::random({2, 256}, 14);
  fx::DeviceArray<float> out({2, 256});
  out.poison();
  auto arg = [](const fx::DeviceArray<float> &a) {
    return fx::tensor(a.data(), {2, 256}).mark_layout_dynamic(1, 4).assume_aligned(16);
  };
  auto compiled = wide(arg(out), arg(in)).compile({.block = 64});
  CHECK(compiled.isa().find(run::waveSize() == 64 ? "global_load_dwordx4" : "global_load_b128") !=
        std::string::npos);
  compiled(arg(out), arg(in)).launch({.grid = 1, .block = 64});
  auto h = out.to_host(), x = in.to_host();
  CHECK(std::equal(h.begin() + 256, h.end(), x.begin() + 256));
}

TEST_CASE("parameters of the user's own type, constants, and compiled kernels") {
  auto weights = fx::DeviceArray<float>::random({64}, 15);
  fx::DeviceArray<float> out({64});
  auto x = weights.to_host();
  const fx::Kernel own{"own", [](fx::Tensor out, LinearArg linear, fx::Constexpr<int> times) {
                         auto tid = fx::thread_idx().x;
                         fx::Var sum(fx::Float32(0));
                         for (int i = 0; i < times; ++i)
                           sum += linear.weights(tid) + linear.shift.to(fx::f32);
                         out(tid) = sum;
                       }};
  for (int times : {1, 3}) {
    own(out, Linear{weights, 2}, times).launch({.grid = 1, .block = 64});
    auto h = out.to_host();
    for (std::size_t t = 0; t < 64; ++t)
      CHECK(std::fabs(h[t] - float(times) * (x[t] + 2)) < 1e-5f);
  }
  auto compiled = own(out, Linear{weights, 2}, 2).compile({.block = 64});
  CHECK(compiled.spills() == 0);
  CHECK(compiled.registers() > 0);
  CHECK(compiled.print_ir().find("gpu.func @own") != std::string::npos);
  compiled(out, Linear{weights, 5}, 2).launch({.grid = 1, .block = 64});
  CHECK(std::fabs(out.to_host()[3] - 2 * (x[3] + 5)) < 1e-5f);
  CHECK_THROWS_AS(compiled(out, Linear{weights, 5}, 3).launch({.grid = 1, .block = 64}),
                  fx::TraceError);
}

TEST_CASE("hints reach the code") {
  auto body = [](fx::Tensor out) { out(fx::thread_idx().x) = fx::gpu::known_block_size()[0]; };
  fx::KernelHints hints;
  hints.known_block_size = {64, 1, 1};
  hints.waves_per_eu = 2;
  hints.max_registers = 32;
  const fx::Kernel hinted{"hinted", body, hints};
  fx::DeviceArray<int> out({64});
  auto compiled = hinted.compile(out);
  CHECK(compiled.registers() <= 32);
  compiled(out).launch({.grid = 1, .block = 64});
  CHECK(out.to_host()[9] == 64);
  CHECK_THROWS_AS(compiled(out).launch({.grid = 1, .block = 128}), fx::TraceError);
}
