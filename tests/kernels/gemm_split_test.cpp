// Products whose K is shared by blocks. The last of them to arrive adds the parts.
#include "support/product.h"

#include "blocks/products/split_k_rules.h"
#include "gemm/gemm_params.h"

#include <sstream>

using namespace kernel_tests;
using fk::PartsSum;
using fk::impl::PartFlags;

namespace {

/// A small tile whose parts are added in the same launch.
GemmConfig oneLaunch(const GemmProblem &problem, int split) {
  GemmConfig config = small(problem);
  config.split_k = split;
  config.parts_sum = PartsSum::last_block;
  return config;
}
/// The same with a second kernel.
GemmConfig twoLaunches(GemmConfig config) {
  config.parts_sum = PartsSum::kernel;
  return config;
}

/// A call of one problem with a workspace that the caller has.
class Call {
public:
  Call(const GemmProblem &problem, std::int64_t m)
      : problem_(problem), m_(m), values_(Values::random(problem, m)),
        a_(Operand::input(problem.a, m, problem.k, values_.a)), b_(prepared(problem, values_.b)),
        c_(Operand::output(problem.c, m, problem.n)) {}
  fk::GemmArgs args(const fx::TensorArg &workspace) const {
    return {
        .a = a_.tensor(), .b = preparedArg(problem_, b_), .c = c_.tensor(), .workspace = workspace};
  }
  void expectRight() const {
    const Reference expected = reference(problem_, m_, values_);
    expectWithin(c_.values(), expected.c, expected.bound);
  }
  bool right() const {
    const Reference expected = reference(problem_, m_, values_);
    const std::vector<double> got = c_.values();
    for (std::size_t i = 0; i < got.size(); ++i)
      if (!(std::fabs(got[i] - expected.c[i]) <= expected.bound[i]))
        return false;
    return true;
  }
  std::int64_t m() const { return m_; }

private:
  GemmProblem problem_;
  std::int64_t m_;
  Values values_;
  Operand a_, b_, c_;
};

} // namespace

TEST_CASE("products whose parts are added in one launch", "[run]") {
  for (GemmProblem problem : typed())
    for (int split : {2, 3, 14, 16}) {
      problem.n = 70;
      problem.k = 128 * (split == 3 ? 12 : split == 14 ? 14 : 16) / problem.a.bytes();
      problem.scale_b = Scales::per_row;
      problem.activation = Activation::relu;
      const GemmConfig config = oneLaunch(problem, split);
      expectProduct(problem, config, 37, {.c = 2});
      // The parts are added in the same order.
      const Values values = Values::random(problem, 37);
      CHECK(product(problem, config, 37, values) ==
            product(problem, twoLaunches(config), 37, values));
    }
  // Gated pairs, and waves that share K inside of a block.
  GemmProblem problem{
      .n = 80, .k = 512, .bias = true, .activation = Activation::silu, .gated = true};
  GemmConfig config = oneLaunch(problem, 4);
  config.tile_n = 128;
  expectProduct(problem, config, 20);
  problem = {.n = 72, .k = 1024};
  config = oneLaunch(problem, 2);
  config.tile_m = config.tile_n = 16;
  config.loop = fk::GemmLoop::registers;
  config.waves_k = 4;
  expectProduct(problem, config, 9);
  problem.rounding = fk::Rounding::stochastic;
  const Values values = Values::random(problem, 9);
  CHECK(product(problem, config, 9, values, {}, 7) ==
        product(problem, twoLaunches(config), 9, values, {}, 7));
}

TEST_CASE("waves that take the steps of a part in turn read nothing of other parts", "[run]") {
  // Parts of one step to two rounds and one step of four waves. Row 16 of the weights lies after the
  // last part of row 0, and each part after the one before it.
  GemmConfig config;
  for (GemmProblem problem : typed())
    for (int steps : {1, 3, 5, 6, 9}) {
      config = small(problem);
      config.tile_m = config.tile_n = 16;
      config.loop = fk::GemmLoop::registers;
      config.waves_k = 4;
      config.split_k = 2;
      problem.n = 32;
      problem.k = std::int64_t(2) * steps * config.tile_k;
      expectProduct(problem, config, 9);
      if (problem.a == fx::i8)
        continue;
      // What is not finite stays in its row, and is never multiplied by the zeros past an end.
      Values values = Values::random(problem, 9);
      const double huge = problem.c == fx::f32 || problem.a == fx::f16 ? INFINITY : NAN;
      for (double &one : values.a)
        one = std::fabs(one) + 0.125;
      for (std::int64_t row : {4, 20})
        for (std::int64_t column : {std::int64_t(0), problem.k / 2})
          values.b[std::size_t(row * problem.k + column)] = huge;
      const std::vector<double> c = product(problem, config, 9, values);
      for (std::int64_t i = 0; i < 9; ++i)
        for (std::int64_t j = 0; j < problem.n; ++j) {
          INFO("c(" << i << ", " << j << "), steps " << steps);
          const double got = c[std::size_t(i * problem.n + j)];
          if (j == 4 || j == 20)
            CHECK((std::isnan(huge) ? std::isnan(got) : got == INFINITY));
          else
            CHECK(std::isfinite(got));
        }
    }
}

TEST_CASE("a product whose parts are added in one launch: another run, a graph, a file", "[run]") {
  const GemmProblem problem{.n = 96, .k = 512, .bias = true, .activation = Activation::silu};
  expectStructure(problem, oneLaunch(problem, 4), 33);
}

TEST_CASE("calls of different sizes share a workspace whose flags stay zero", "[run]") {
  // The flags are the last bytes, whatever the call; plans of other problems may share it, too.
  const GemmProblem narrow{.n = 64, .k = 512}, wide{.c = fx::f32, .n = 200, .k = 256};
  const fk::GemmPlan two(narrow, oneLaunch(narrow, 2)), four(wide, oneLaunch(wide, 4));
  const std::int64_t most = 70;
  const std::size_t bytes = std::max(fk::workspace_bytes(narrow, two.config(), most),
                                     fk::workspace_bytes(wide, four.config(), most));
  CHECK(fk::workspace_bytes(narrow, two.config(), most) ==
        2 * 70 * 64 * 4 + PartFlags::bytes(3)); // room for as many as any product has
  CHECK(PartFlags::bytes(3) == PartFlags::bytes(PartFlags::kRoom));
  CHECK(PartFlags::bytes(PartFlags::kRoom + 1) == PartFlags::bytes(3) + PartFlags::kBytes);
  fx::DeviceArray<std::uint8_t> workspace({bytes + 5}); // no multiple of a flag
  workspace.fill(0);
  const fx::Stream stream;
  for (std::int64_t m : {5, 70, 33, 1, 64}) {
    const Call first(narrow, m), second(wide, m);
    two(first.args(workspace.tensor()), stream);
    four(second.args(workspace.tensor()), stream);
    stream.synchronize();
    INFO(m << " rows");
    first.expectRight();
    second.expectRight();
  }
}

TEST_CASE("blocks of different tiles count themselves in different cache lines", "[run]") {
  // They wait for each other at a line.
  GemmProblem problem{.n = 64, .k = 256};
  const GemmConfig config = oneLaunch(problem, 4);
  const std::int64_t rows = 5 * config.tile_m;
  const auto counters = countersOf(problem, config, rows);
  REQUIRE(counters.size() == 1);
  CHECK(counters[0]["globalAtomicGroups"] == 4);
  CHECK(counters[0]["globalAtomicBytes"] >= 5 * 4 * 128);
}

TEST_CASE("a workspace whose flags are not zero is found out", "[flags]") {
  const GemmProblem problem{.n = 64, .k = 256};
  const fk::GemmPlan plan(problem, oneLaunch(problem, 2));
  const Call call(problem, 8);
  const std::size_t bytes = fk::workspace_bytes(problem, plan.config(), 8);
  fx::DeviceArray<std::uint8_t> workspace({bytes});
  workspace.fill(1);
  const std::string message = messageOf([&] {
    const fx::Stream stream;
    plan(call.args(workspace.tensor()), stream);
    stream.synchronize();
  });
  INFO(message);
  CHECK(message.find("trap") != std::string::npos);
}

namespace {

/// The code of a kernel. Instructions can be taken out of it.
class Code {
public:
  explicit Code(const fx::Executable &code)
      : name_(code.name()), image_(code.hsaco().begin(), code.hsaco().end()) {
    std::istringstream text(code.isa());
    for (std::string line; std::getline(text, line);)
      if (const std::size_t comment = line.find("// "); comment != std::string::npos) {
        std::string name;
        std::istringstream(line) >> name;
        lines_.push_back({name, std::stoull(line.substr(comment + 3), nullptr, 16)});
      }
  }
  /// The places of instructions whose names begin so.
  std::vector<std::size_t> find(const std::string &begin) const {
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < lines_.size(); ++i)
      if (lines_[i].name.starts_with(begin))
        places.push_back(i);
    return places;
  }
  /// The image without the instruction at a place.
  std::vector<std::uint8_t> without(std::size_t place) const {
    std::vector<std::uint8_t> image = image_;
    const std::uint32_t nop = 0xbf800000; // s_nop 0
    for (std::uint64_t at = lines_[place].address; at < lines_[place + 1].address; at += 4)
      std::memcpy(&image[fileOffset(at)], &nop, sizeof(nop));
    return image;
  }
  const std::vector<std::uint8_t> &image() const { return image_; }
  const std::string &name() const { return name_; }

private:
  struct Line {
    std::string name;
    std::uint64_t address;
  };
  template <class T> T field(std::size_t at) const {
    T value;
    std::memcpy(&value, &image_[at], sizeof(value));
    return value;
  }
  /// Where an address is in the file, by the program headers of ELF.
  std::size_t fileOffset(std::uint64_t address) const {
    const auto first = field<std::uint64_t>(32);
    for (std::size_t i = 0; i < field<std::uint16_t>(56); ++i) {
      const std::size_t header = first + i * field<std::uint16_t>(54);
      const auto offset = field<std::uint64_t>(header + 8),
                 start = field<std::uint64_t>(header + 16),
                 size = field<std::uint64_t>(header + 32);
      if (field<std::uint32_t>(header) == 1 && address >= start && address < start + size)
        return offset + address - start;
    }
    throw fx::Error("an address outside of the code");
  }
  std::string name_;
  std::vector<std::uint8_t> image_;
  std::vector<Line> lines_;
};

/// A product of 16 parts and three tiles side by side. The end of a part shares a cache line with
/// the start of the next one, so that a cache may have that from before it was written.
class WeakCall {
public:
  WeakCall() : plan_(kProblem, oneLaunch(kProblem, 16)), code_(plan_.executables().at(0)) {}
  const Code &code() const { return code_; }
  /// Whether code of the kernel gives the right result.
  bool right(const std::vector<std::uint8_t> &image) const {
    hipModule_t module;
    hipFunction_t function;
    REQUIRE(HIP(hipModuleLoadData)(&module, image.data()) == hipSuccess);
    REQUIRE(HIP(hipModuleGetFunction)(&function, module, code_.name().c_str()) == hipSuccess);
    const Call call(kProblem, kRows);
    const std::size_t bytes = fk::workspace_bytes(kProblem, plan_.config(), kRows);
    fx::DeviceArray<std::uint8_t> workspace({bytes});
    workspace.fill(0);
    const fk::GemmArgs args = call.args(workspace.tensor());
    const std::int64_t memory = fx::strided<0>(workspace.tensor()).address;
    const fk::impl::GemmSplitParams<fx::OnHost> params{
        .a = {.address = fx::strided<1>(args.a).address, .stride = {kProblem.k}},
        .b = {.address = fx::strided<0>(args.b.tensor()).address, .stride = {}},
        .c = {.address = fx::strided<1>(args.c).address, .stride = {kProblem.n}},
        .scaleA = {},
        .scaleB = {},
        .bias = {},
        .groupScales = {},
        .groupZeros = {},
        .workspace = {.address = memory, .stride = {}},
        .flags = {.address = memory + PartFlags::place(std::int64_t(bytes), kTiles), .stride = {}},
        .seed = 0,
        .m = kRows,
        .scaleC = {},
        .residual = {},
        .rows = {},
        .seedMemory = {}};
    fx::ArgPack pack;
    fx::ArgTraits<fk::impl::GemmSplitParams<fx::OnDevice>>::pack(pack, params);
    std::size_t size = pack.byteCount();
    void *packed[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, const_cast<std::byte *>(pack.bytes()),
                      HIP_LAUNCH_PARAM_BUFFER_SIZE, &size, HIP_LAUNCH_PARAM_END};
    REQUIRE(HIP(hipModuleLaunchKernel)(function, 16 * kTiles, 1, 1,
                                       unsigned(plan_.config().threads), 1, 1, 0, nullptr, nullptr,
                                       packed) == hipSuccess);
    REQUIRE(HIP(hipDeviceSynchronize)() == hipSuccess);
    const bool result = call.right();
    REQUIRE(HIP(hipModuleUnload)(module) == hipSuccess);
    return result;
  }

private:
  static constexpr int kRows = 29, kTiles = 3;
  static inline const GemmProblem kProblem{.c = fx::f32, .n = 150, .k = 1024};
  fk::GemmPlan plan_;
  Code code_;
};

} // namespace

TEST_CASE("each fence between the blocks of a tile is needed", "[fences]") {
  // On caches that show one that is missing, in an order in which some tile ends while blocks of
  // its neighbour are still to come: what a block has written goes on to memory before it is
  // counted, after all of its waves are there; what the others wrote is read anew; and the other
  // waves of the last block wait for the one that counts.
  const WeakCall call;
  CHECK(call.right(call.code().image()));
  const auto only = [&](const char *name) {
    const std::vector<std::size_t> places = call.code().find(name);
    REQUIRE(places.size() == 1);
    return places[0];
  };
  CHECK_FALSE(call.right(call.code().without(only("buffer_wbl2"))));
  CHECK_FALSE(call.right(call.code().without(only("buffer_inv"))));
  const std::vector<std::size_t> barriers = call.code().find("s_barrier");
  const auto behind = std::lower_bound(barriers.begin(), barriers.end(), only("global_atomic_add"));
  CHECK_FALSE(call.right(call.code().without(*(behind - 1))));
  CHECK_FALSE(call.right(call.code().without(*behind)));
}
