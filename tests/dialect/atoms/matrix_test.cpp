// Every matrix atom of the device's target is run: fragments are filled by the atom's thread-value
// layouts, the atom is called once, and the result, read by C's layout, must be the product.
#include "formats.h"
#include "matrix_cases.h"

#include <catch2/catch.hpp>

#include <map>
#include <random>
#include <sstream>

namespace fx = flydsl;
using fx::_;
using namespace atoms_test;

namespace {

/// The thread's values of an operand whose elements' codes lie column-major in 32-bit words (two
/// for each f64).
fx::Tensor fragment(const fx::Tensor &codes, const fx::Layout &tv, fx::DType type) {
  auto tid = fx::thread_idx().x;
  const int count = int(fx::size(tv, 1).value()), bits = type.bits();
  const int words = (count * bits + 31) / 32, per = bits == 64 ? 2 : 1;
  fx::Tensor memory = fx::make_rmem_tensor(words, fx::i32);
  memory.fill(0);
  for (int v = 0; v < count; ++v) {
    fx::Int32 at(fx::crd2idx(fx::make_coord(tid, v), tv));
    for (int half = 0; half < per; ++half) {
      fx::Numeric code = codes(at * per + half);
      const int bit = v * bits + 32 * half, word = bit / 32, shift = bit % 32;
      memory(word) = fx::Numeric(memory(word)) | (shift ? code << shift : code);
      if (shift + std::min(bits, 32) > 32)
        memory(word + 1) =
            fx::Numeric(memory(word + 1)) | (code.to(fx::u32) >> (32 - shift)).to(fx::i32);
    }
  }
  fx::Tensor values = fx::make_rmem_tensor(count, type);
  values.store(memory.load().bitcast(type));
  return values;
}

/// The product of one call, by the atom's layouts.
void product(const fx::MmaAtom &atom, const Case &c, const fx::Tensor &A, const fx::Tensor &B,
             const fx::Tensor &C, const fx::Tensor &D, const fx::Tensor &scales) {
  auto tid = fx::thread_idx().x;
  auto rA = fragment(A, atom.layout_A_tv(), c.a), rB = fragment(B, atom.layout_B_tv(), c.b),
       rC = fragment(C, atom.layout_C_tv(), c.acc);
  auto rD = fx::make_fragment_like(rC);
  if (c.scaled)
    fx::mma_atom_call(
        atom.set_value("scale_a", scales(tid, 0)).set_value("scale_b", scales(tid, 1)), rD, rA, rB,
        rC);
  else
    fx::mma_atom_call(atom, rD, rA, rB, rC);
  auto words = rD.load().bitcast(fx::i32);
  const int bits = c.acc.bits(), per = bits == 64 ? 2 : 1;
  for (int v = 0; v < int(fx::size(atom.layout_C_tv(), 1).value()); ++v) {
    fx::Int32 at(fx::crd2idx(fx::make_coord(tid, v), atom.layout_C_tv()));
    for (int half = 0; half < per; ++half) {
      const int bit = v * bits + 32 * half;
      fx::Numeric word = words[bit / 32];
      D(at * per + half) = bits == 16 ? (word >> (bit % 32)) & 0xffff : word;
    }
  }
}

auto kernelOf(const Case &c, const std::string &arch) {
  return fx::Kernel{
      "atom", [c, arch](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::Tensor D, fx::Tensor scales) {
        product(atomOf(c, arch), c, A, B, C, D, scales);
      }};
}

/// Random integers whose products and sums are exact in all types of the case.
struct Operands {
  std::vector<int> a, b, c;
  std::vector<std::int32_t> codesA, codesB, codesC;
};
Operands randomOperands(const Case &c, std::mt19937 &random) {
  const int most = c.acc.bits() == 16 ? 2 : 4;
  auto make = [&](fx::DType type, int count, std::vector<std::int32_t> &codes) {
    std::vector<int> values(static_cast<std::size_t>(count));
    const bool natural = type.is_integer() && !type.is_signed();
    for (int &v : values) {
      v = std::uniform_int_distribution<int>(natural ? 0 : -most,
                                             natural ? 2 * most : most)(random);
      const std::uint64_t code = encode(type, v);
      codes.push_back(static_cast<std::int32_t>(code));
      if (type.bits() == 64)
        codes.push_back(static_cast<std::int32_t>(code >> 32));
    }
    return values;
  };
  Operands made;
  made.a = make(c.a, c.m * c.k, made.codesA);
  made.b = make(c.b, c.n * c.k, made.codesB);
  made.c = make(c.acc, c.m * c.n, made.codesC);
  return made;
}

/// Elements of D that differ from the reference.
int wrongElements(const Case &c, unsigned seed) {
  std::mt19937 random(seed);
  const Operands host = randomOperands(c, random);
  const int threads = fx::Device::current().warp_size();
  // The lane that holds a scale: matrix_layouts.h has it from outside, as lane = row + rows * block.
  // On gfx1250 a lane holds those of a row, each in a byte (the sources of matrix_layouts/rdna.cpp).
  const int blocks = c.k / 32;
  const bool byRows = fx::Device::current().arch() == "gfx1250";
  std::vector<std::int32_t> scales(std::size_t(threads) * 2);
  for (auto &s : scales)
    for (int byte = 0; byte < (byRows ? 4 : 1); ++byte)
      s |= (127 + std::uniform_int_distribution<int>(-2, 2)(random)) << (8 * byte);
  const auto scaleOf = [&](int operand, int row, int rows, int block) {
    const int lane = byRows ? row : row + rows * block;
    return (scales[std::size_t(lane * 2 + operand)] >> (byRows ? 8 * block : 0) & 0xff) - 127;
  };
  const auto kernel = kernelOf(c, fx::Device::current().arch());
  auto array = [](const std::vector<std::int32_t> &v, fx::DeviceArray<int>::Shape shape) {
    return fx::DeviceArray<int>::from_host(v, std::move(shape));
  };
  auto count = [](const std::vector<std::int32_t> &v) { return std::int64_t(v.size()); };
  auto A = array(host.codesA, {count(host.codesA)}), B = array(host.codesB, {count(host.codesB)}),
       C = array(host.codesC, {count(host.codesC)}), S = array(scales, {threads, 2});
  fx::DeviceArray<int> D({count(host.codesC)});
  D.poison();
  kernel(A, B, C, D, S).launch({.grid = 1, .block = threads});
  fx::Device::current().synchronize();
  const auto d = D.to_host();
  int wrong = 0;
  const int per = c.acc.bits() == 64 ? 2 : 1;
  for (int i = 0; i < c.m; ++i)
    for (int j = 0; j < c.n; ++j) {
      double sum = host.c[std::size_t(i + j * c.m)];
      for (int k = 0; k < c.k; ++k) {
        double p = double(host.a[std::size_t(i + k * c.m)]) * host.b[std::size_t(j + k * c.n)];
        if (c.scaled) {
          const int block = k / 32;
          p = std::ldexp(p, scaleOf(0, i, c.m, block) + scaleOf(1, j, c.n, block));
        }
        sum += p;
      }
      const std::size_t at = std::size_t(i + j * c.m) * std::size_t(per);
      std::uint64_t code = static_cast<std::uint32_t>(d[at]);
      if (per == 2)
        code |= std::uint64_t(static_cast<std::uint32_t>(d[at + 1])) << 32;
      wrong += !(decode(c.acc, code) == sum);
    }
  CHECK((!c.scaled || (byRows ? blocks == 4 : blocks * c.m == threads)));
  return wrong;
}

} // namespace

TEST_CASE("every matrix atom of the target multiplies by its layouts") {
  const auto cases = casesOf(fx::Device::current().arch());
  REQUIRE(!cases.empty());
  unsigned seed = 1;
  for (const Case &c : cases) {
    CAPTURE(c.text());
    CHECK(wrongElements(c, seed++) == 0);
  }
}

TEST_CASE("gfx1250's matrix atoms become one instruction each") {
  if (fx::Device::current().arch() != "gfx942")
    return; // once is enough
  for (const Case &c : casesOf("gfx1250")) {
    CAPTURE(c.text());
    const fx::TensorArg words = fx::tensor(static_cast<int *>(nullptr), {4096}),
                        scales = fx::tensor(static_cast<int *>(nullptr), {32, 2});
    const std::string isa = kernelOf(c, "gfx1250")(words, words, words, words, scales)
                                .compile({.block = 32, .arch = "gfx1250"})
                                .isa();
    std::size_t count = 0;
    for (std::size_t at = isa.find("v_wmma"); at != isa.npos; at = isa.find("v_wmma", at + 1))
      ++count;
    CHECK(count == 1);
    const std::string shape =
        std::to_string(c.m) + "x" + std::to_string(c.n) + "x" + std::to_string(c.k);
    CHECK_THAT(isa, Catch::Contains(c.scaled ? "v_wmma_scale_f32_" + shape : shape));
  }
}

TEST_CASE("an instruction that the target lacks is refused with those that it has") {
  const std::string arch = fx::Device::current().arch();
  const bool rdna = arch.starts_with("gfx1");
  auto messageOf = [&](auto body) -> std::string {
    const fx::Kernel kernel{"refused", [&](fx::Tensor) { body(); }};
    try {
      kernel(fx::tensor(static_cast<float *>(nullptr), {1})).compile();
    } catch (const fx::TraceError &e) {
      CHECK(e.where().line > 0);
      return e.what();
    }
    return "no error";
  };
  const std::string of_other = messageOf([&] {
    if (rdna)
      fx::rocdl::MFMA(16, 16, 16, fx::f16);
    else if (arch == "gfx950")
      fx::rocdl::MFMA(16, 16, 8, fx::f32); // XF32
    else
      fx::rocdl::MFMA(16, 16, 32, fx::f16);
  });
  CHECK_THAT(of_other, Catch::Contains("not on " + arch));
  CHECK_THAT(of_other, Catch::Contains(arch == "gfx1250" ? "f16, f16 -> f32: 16x16x32"
                                       : rdna            ? "f16, f16 -> f32: 16x16x16"
                                                         : "f16, f16 -> f32: 32x32x8, 16x16x16"));
  CHECK_THAT(messageOf([&] {
               if (rdna)
                 fx::rocdl::WMMA(16, 16, 8, fx::f16);
               else
                 fx::rocdl::MFMA(16, 16, 5, fx::f16);
             }),
             Catch::Contains("f16, f16 -> f32: "));
  if (arch != "gfx950") {
    CHECK_THAT(messageOf([] { fx::rocdl::MFMAScale(16, 16, 128, fx::f4E2M1FN, fx::f4E2M1FN); }),
               Catch::Contains("but on gfx950"));
    CHECK_THAT(messageOf([] { fx::rocdl::LDSReadTrans(16, 64); }),
               Catch::Contains("but on gfx950"));
  }
  if (arch != "gfx1250")
    CHECK_THAT(messageOf([] { fx::rocdl::WMMAScale(16, 16, 128, fx::f4E2M1FN, fx::f4E2M1FN); }),
               Catch::Contains("but on gfx1250"));
}
