// Atoms outside of kernels, and what of them is the kernel's.
#include "trace_text.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>

namespace fx = flydsl;
using namespace trace_test;

/// The message with which making an atom is refused; empty if it is made.
template <class Make> static std::string refusal(Make make) {
  try {
    make();
  } catch (const fx::TraceError &e) {
    return e.what();
  }
  return "";
}

TEST_CASE("a refused atom says why in words") {
  const std::string message = refusal([] { fx::rocdl::BufferCopyLDS(64); });
  CHECK_THAT(message, Catch::Contains("moves 32 bits, or 128 on gfx950, not 64"));
  CHECK_THAT(message, Catch::Contains("atom_spec_test.cpp"));
  CHECK_THAT(message, !Catch::Contains("!fly"));
  CHECK_THAT(refusal([] { fx::UniversalFMA(fx::DType()); }),
             Catch::Contains("without an element type"));
  const fx::CopyAtom atom = fx::make_copy_atom(fx::UniversalCopy32b(), fx::f32);
  CHECK_THAT(refusal([&] { fx::make_copy_atom(fx::CopyOp(atom.handle()), fx::f32); }),
             Catch::Contains("expected an instruction, got !fly.copy_atom<"));
}

TEST_CASE("several threads make atoms at once outside of kernels") {
  std::atomic<int> made = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        auto mma = fx::make_tiled_mma(fx::make_mma_atom(fx::rocdl::MFMA(16, 16, 16, fx::f16)),
                                      fx::make_layout({1 + i % 4, 1, 1}, {1, 0, 0}));
        made += mma.threads() == 64 * (1 + i % 4);
        refused += refusal([] { fx::rocdl::MFMA(16, 16, 5, fx::f32); }).find("16x16x5") !=
                   std::string::npos;
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  CHECK(made == 200);
  CHECK(refused == 200);
}

TEST_CASE("a tiled mma of an atom with state gives the atom with its state") {
  const std::string ir = traceText(
      [] {
        fx::MmaAtom atom =
            fx::make_mma_atom(fx::rocdl::MFMAScale(16, 16, 128, fx::f8E4M3FN, fx::f8E4M3FN))
                .set_value("scale_a", 0x7f7f7f7f);
        fx::TiledMma mma = fx::make_tiled_mma(atom, fx::make_layout({1, 1, 1}, {0, 0, 0}));
        CHECK(mma.mma_atom().shape_mnk() == fx::make_shape(16, 16, 128));
      },
      {}, false, {64, 1, 1}, {}, "gfx950");
  CHECK_IR(ir, "fly.atom.set_value", "fly.make_tiled_mma", "fly.get_mma_atom");
}

TEST_CASE("fast-math flags are of arithmetic on floats") {
  const std::string ir = traceText(
      [](fx::Float16 x, fx::Int32 n) {
        fx::FastMathScope scope(fx::FastMath::nnan);
        fx::Numeric wide = x.to(fx::f32);
        fx::Vector::of({wide, wide}).reduce(fx::Reduction::add);
        fx::Vector::of({n, n}).reduce(fx::Reduction::add);
        fx::printf("{} {}\n", wide + wide, n + n);
      },
      {scalarArg(fx::f16), scalarArg(fx::i32)});
  INFO(ir);
  CHECK(countOf(ir, "fastmath") == 2);
  CHECK_IR(ir, "arith.extf", "vector.reduction <add>", "fastmath<reassoc,nnan>",
           "vector.reduction <add>", "arith.addf", "fastmath<nnan>");
}
