// An op of ggml: when the backend computes it, and how.
#pragma once

#include "kernel_table.h"
#include "scratch.h"
#include "traced.h"

#include <span>

namespace flydsl_ggml {

/// What an op computes with.
struct Run {
  const fx::Stream &stream;
  const fx::Target &target;
  Scratch *scratch = nullptr; ///< null where no op is run
  std::int64_t codebooks = 0; ///< the address of the tables that blocks are read by; 0 there, too
  int wave = target.wave_size(); ///< lanes

  /// What a body captures is part of its kernel's name; the block and the wave are added here.
  void operator()(Launch what, const Body &body) const {
    what.name += "_b" + std::to_string(what.block) + "w" + std::to_string(wave);
    what.codebooks = codebooks;
    launch(stream, what, body);
  }
  /// Launches a thread for each of `total` indices. Int 0 of the launch is their number, the ints of
  /// `what` follow.
  void threads(std::int64_t total, Launch what,
               const std::function<void(const Traced &, const fx::UInt32 &index)> &body) const {
    what.i.insert(what.i.begin(), static_cast<std::int32_t>(total));
    what.grid = ceilDiv(total, what.block);
    (*this)(std::move(what), [block = what.block, body](const Traced &p) {
      const fx::UInt32 index = threadOfGrid(block);
      fx::exit_if(index >= p.i[0].to(fx::u32));
      body(p, index);
    });
  }
};

/// An op. `supports` is asked for tensors whose types every kernel knows and whose numbers of elements
/// fit 32 bits; `run` puts the work into the stream and throws the errors of a launch.
struct Op {
  ggml_op op;
  bool (*supports)(const ggml_tensor *op);
  void (*run)(const Run &run, const ggml_tensor *op);
};

/// The ops of each file.
std::span<const Op> elementwiseOps();
std::span<const Op> copyOps();
std::span<const Op> rowOps();
std::span<const Op> orderOps();
std::span<const Op> ropeOps();
std::span<const Op> productOps();
std::span<const Op> attentionOps();
std::span<const Op> cellOps();
std::span<const Op> sequenceOps();
std::span<const Op> trainingOps();
std::span<const Op> deepseekOps();
std::span<const Op> upscaleOps();

/// None if the backend does not have it.
const Op *findOp(ggml_op op);

} // namespace flydsl_ggml
