// Loads into LDS that bypass the registers: what they become, and rings of several stages.
#include "run.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <sstream>

namespace fx = flydsl;
using fx::_;

namespace {
constexpr int kBlock = 256;
using Ring = fx::Kernel<void(fx::Tensor, fx::Tensor, fx::Int32)>;

/// How a ring is made: with a variable for each stage, with stages in one variable, in dynamic
/// memory or behind one another in one phase of an overlay; with a stage that the loop computes, or
/// with a barrier that orders memory.
enum class Style { apart, oneVariable, dynamicMemory, inOverlay, computedStage, orderingBarrier };
/// An instruction that loads `width` floats a lane into LDS, from a buffer or from global memory.
struct Load {
  const char *name;
  int width;
  bool fromBuffer;
  fx::CopyOp (*op)();
};
const Load narrow = {"BufferCopyLDS(32)", 1, true, [] { return fx::rocdl::BufferCopyLDS(32); }};
const std::vector<Load> wide = {
    {"BufferCopyLDS(128)", 4, true, [] { return fx::rocdl::BufferCopyLDS(128); }},
    {"BufferLoadAsyncLDS(128)", 4, true, [] { return fx::rocdl::BufferLoadAsyncLDS(128); }},
    {"GlobalLoadAsyncLDS(128)", 4, false, [] { return fx::rocdl::GlobalLoadAsyncLDS(128); }},
};

/// The tiles of a ring in LDS.
class Places {
public:
  Places(int stages, int width, Style style)
      : layout_(fx::make_layout({width, kBlock})),
        shared_(style == Style::dynamicMemory ? fx::SharedPlacement::dynamic
                                              : fx::SharedPlacement::static_) {
    const fx::Layout all = fx::make_layout({width, kBlock, stages});
    if (style == Style::apart || style == Style::orderingBarrier)
      for (int s = 0; s < stages; ++s)
        tiles_.push_back(shared_.tensor(fx::f32, layout_));
    else if (style == Style::inOverlay)
      tiles_.push_back(shared_.overlay({{fx::f32, fx::make_layout(16)}, {fx::f32, all}})[1]);
    else
      tiles_.push_back(shared_.tensor(fx::f32, all));
  }
  /// The tile of a stage that is known while tracing.
  fx::Tensor at(int stage) const {
    return tiles_.size() > 1 ? tiles_[std::size_t(stage)] : tiles_[0](_, _, stage);
  }
  fx::Tensor at(const fx::Numeric &stage) const { return tiles_[0](_, _, fx::Int32(stage)); }

private:
  fx::Layout layout_;
  fx::SharedAllocator shared_;
  std::vector<fx::Tensor> tiles_;
};

/// The sum of tiles of (width, kBlock) floats, where each thread reads what its mirror image
/// among the threads loaded. `stages - 1` tiles are under way while one is read, and as many are
/// loaded after the last one that is read.
Ring ring(int stages, Load load, Style style = Style::apart) {
  return {"ring", [=](fx::Tensor x, fx::Tensor y, fx::Int32 tiles) {
            const Places places(stages, load.width, style);
            auto tid = fx::thread_idx().x;
            auto source = load.fromBuffer ? fx::rocdl::make_buffer_tensor(x).iter() : x.iter();
            auto atom = fx::make_copy_atom(load.op(), fx::f32);
            auto fill = [&](const fx::Tensor &tile, const fx::Numeric &number) {
              auto from = source + (number * kBlock + tid) * load.width;
              fx::copy(atom, fx::make_view(from, fx::make_layout(load.width)), tile(_, tid));
            };
            auto sum = fx::make_rmem_tensor(load.width, fx::f32);
            sum.fill(0.0f);
            auto step = [&](const fx::Tensor &read, const fx::Tensor &filled,
                            const fx::Numeric &number) {
              // This wave's loads of the stage have landed, its reads of the one before are done;
              // behind the barrier, all waves'.
              fx::rocdl::s_waitcnt({.vmcnt = stages - 2, .lgkmcnt = 0});
              if (style == Style::orderingBarrier)
                fx::gpu::barrier();
              else
                fx::rocdl::s_barrier();
              fill(filled, number + (stages - 1));
              sum.store(sum.load() + read(_, kBlock - 1 - tid).load());
            };
            for (int s = 0; s < stages - 1; ++s)
              fill(places.at(s), fx::Int32(s));
            if (style == Style::computedStage)
              for (fx::Int32 k : fx::range(0, tiles))
                step(places.at(k % stages), places.at((k + (stages - 1)) % stages), k);
            else
              for (fx::Int32 k : fx::range(0, tiles, stages))
                for (int s = 0; s < stages; ++s)
                  step(places.at(s), places.at((s + stages - 1) % stages), k + s);
            fx::copy(fx::make_copy_atom(fx::UniversalCopy(32 * load.width), fx::f32), sum,
                     fx::make_view(y.iter() + tid * load.width, fx::make_layout(load.width)));
          }};
}

std::vector<std::string> linesOf(const Ring &kernel, const char *target) {
  float *none = nullptr;
  const auto compiled = kernel(fx::tensor(none, {4096}), fx::tensor(none, {4096}), 8)
                            .compile({.block = kBlock, .arch = target});
  std::vector<std::string> lines;
  std::istringstream isa(compiled.isa());
  for (std::string line; std::getline(isa, line);)
    lines.push_back(line.substr(0, line.find("//")));
  return lines;
}

/// The waits for memory, as "vmcnt(2)", in their order.
std::vector<std::string> waitsForMemory(const std::vector<std::string> &lines) {
  std::vector<std::string> waits;
  for (const std::string &line : lines)
    if (const std::size_t at = line.find("vmcnt("); at != std::string::npos)
      waits.push_back(line.substr(at, line.find(')', at) + 1 - at));
  return waits;
}

/// How many instructions there are whose text holds all words; behind the first branch, which is
/// where the loop is, or anywhere.
enum class Where { inLoop, anywhere };
int countOf(const std::vector<std::string> &lines, Where where,
            std::initializer_list<const char *> words) {
  int count = 0;
  bool isThere = where == Where::anywhere;
  for (const std::string &line : lines) {
    count += isThere && std::ranges::all_of(words, [&](const char *word) {
               return line.find(word) != std::string::npos;
             });
    isThere |= line.find("s_cbranch") != std::string::npos;
  }
  return count;
}

void checkRing(int stages, const Load &load, const char *target, Style style = Style::apart) {
  INFO(load.name << ", " << stages << " stages on " << target << ", style " << int(style));
  const auto lines = linesOf(ring(stages, load, style), target);
  CHECK(waitsForMemory(lines) ==
        std::vector<std::string>(std::size_t(stages), "vmcnt(" + std::to_string(stages - 2) + ")"));
  CHECK(countOf(lines, Where::inLoop, {"s_barrier"}) == stages);
  CHECK(countOf(lines, Where::inLoop, {"_load_", "lds"}) == stages);
  CHECK(countOf(lines, Where::inLoop, {"v_readfirstlane"}) == 0);
  CHECK(countOf(lines, Where::anywhere, {"v_readfirstlane"}) == 1);
}

/// What `ring` adds up, over all tiles.
std::vector<float> mirrored(const std::vector<float> &x, int tiles, int width) {
  std::vector<float> sum(std::size_t(kBlock * width));
  for (int t = 0; t < tiles; ++t)
    for (int thread = 0; thread < kBlock; ++thread)
      for (int v = 0; v < width; ++v)
        sum[std::size_t(thread * width + v)] +=
            x[std::size_t((t * kBlock + kBlock - 1 - thread) * width + v)];
  return sum;
}

/// The instructions that the current device has.
std::vector<Load> loadsHere() {
  const fx::Target target = fx::Device::current().target();
  std::vector<Load> loads;
  if (target.has(fx::feature::buffer_to_lds))
    loads.push_back(narrow);
  if (target.has(fx::feature::buffer_to_lds_wide))
    loads.insert(loads.end(), wide.begin(), wide.end());
  return loads;
}
} // namespace

TEST_CASE("a ring of loads into LDS waits where its author says, and nowhere else") {
  for (int stages : {2, 3, 4, 8})
    for (const Load &load : wide)
      checkRing(stages, load, "gfx950");
  checkRing(4, narrow, "gfx942");
  checkRing(4, narrow, "gfx90a");
}

TEST_CASE("stages in one variable, in dynamic memory and in an overlay need no other waits") {
  for (const Style style : {Style::oneVariable, Style::dynamicMemory, Style::inOverlay})
    for (const Load &load : wide)
      checkRing(4, load, "gfx950", style);
}

TEST_CASE("rings that make the compiler wait for all loads") {
  // It can't tell which of the loads under way writes what is read if the loop computes the stage,
  // and a barrier that orders memory is for loads into LDS too.
  for (const Style style : {Style::computedStage, Style::orderingBarrier}) {
    const auto waits = waitsForMemory(linesOf(ring(4, wide[1], style), "gfx950"));
    CHECK(std::count(waits.begin(), waits.end(), "vmcnt(0)") > 0);
  }
}

TEST_CASE("a ring of loads into LDS gives what it should") {
  constexpr int stages = 4, tiles = 8;
  for (const Load &load : loadsHere()) {
    INFO(load.name);
    const int elements = kBlock * load.width;
    auto x = fx::DeviceArray<float>::random({(tiles + stages) * elements}, 5);
    fx::DeviceArray<float> y({elements});
    for (const Style style : {Style::apart, Style::oneVariable, Style::dynamicMemory,
                              Style::inOverlay, Style::computedStage, Style::orderingBarrier}) {
      INFO("style " << int(style));
      y.poison();
      const std::size_t dynamic =
          style == Style::dynamicMemory ? std::size_t(stages * elements) * sizeof(float) : 0;
      ring(stages, load, style)(x, y, tiles).launch({.grid = 1, .block = kBlock, .smem = dynamic});
      CHECK(y.to_host() == mirrored(x.to_host(), tiles, load.width));
    }
  }
}

TEST_CASE("lanes that a predicate leaves out change no other lane's place in LDS") {
  constexpr int first = 5; // lanes from here on load; the hardware counts from lane 0 all the same
  for (const Load &load : loadsHere()) {
    INFO(load.name);
    const int elements = kBlock * load.width;
    const fx::Kernel some{
        "some_lanes", [load](fx::Tensor x, fx::Tensor y) {
          auto tid = fx::thread_idx().x;
          auto stage =
              fx::SharedAllocator().tensor(fx::f32, fx::make_layout({load.width, kBlock}))(_, tid);
          stage.fill(-1.0f);
          fx::gpu::barrier();
          auto source = load.fromBuffer ? fx::rocdl::make_buffer_tensor(x).iter() : x.iter();
          auto pred = fx::make_rmem_tensor(1, fx::boolean);
          pred(0) = tid % 64 >= first;
          fx::copy(fx::make_copy_atom(load.op(), fx::f32),
                   fx::make_view(source + tid * load.width, fx::make_layout(load.width)), stage,
                   {.pred = pred});
          fx::rocdl::s_waitcnt({.vmcnt = 0});
          fx::gpu::barrier();
          fx::make_view(y.iter() + tid * load.width, fx::make_layout(load.width))
              .store(stage.load());
        }};
    auto x = fx::DeviceArray<float>::random({elements}, 6);
    fx::DeviceArray<float> y({elements});
    y.poison();
    some(x, y).launch({.grid = 1, .block = kBlock});
    std::vector<float> expected = x.to_host();
    for (int i = 0; i < elements; ++i)
      if (i / load.width % 64 < first)
        expected[std::size_t(i)] = -1.0f;
    CHECK(y.to_host() == expected);
  }
}

TEST_CASE("destinations of lanes that are not one behind the other are refused") {
  const auto errorOf = [](int pitch) -> std::string {
    const fx::Kernel kernel{
        "padded", [pitch](fx::Tensor x) {
          auto tid = fx::thread_idx().x;
          auto s = fx::SharedAllocator().tensor(fx::f32, fx::make_layout({1, 64}, {1, pitch}));
          auto from =
              fx::make_view(fx::rocdl::make_buffer_tensor(x).iter() + tid, fx::make_layout(1));
          fx::copy(fx::make_copy_atom(fx::rocdl::BufferCopyLDS(32), fx::f32), from, s(_, tid));
        }};
    try {
      kernel(fx::tensor(static_cast<float *>(nullptr), {64}))
          .compile({.block = 64, .arch = "gfx942"});
    } catch (const fx::CompileError &error) {
      return error.what();
    }
    return "no error";
  };
  CHECK(errorOf(1) == "no error");
  CHECK_THAT(errorOf(2), Catch::Contains("lds_dma_test.cpp:") &&
                             Catch::Contains("those of lane 1 lie 4 bytes after those of lane 0; "
                                             "its destination is 8 bytes after it"));
}
