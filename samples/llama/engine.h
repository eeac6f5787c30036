// The engine: a model on a device, and sequences that are continued token by token.
//
// All plans are made and all memory is allocated when it starts. Sequences share a cache of pages;
// one may begin or end while others go on (continuous batching). A step of all sequences is a graph
// that was captured once: its kernels read what changes, such as tokens and positions, from memory.
#pragma once

#include "model.h"
#include "plans.h"

#include <flydsl/device_array.h>
#include <flydsl/graph.h>

#include <functional>
#include <optional>
#include <span>

namespace llama {

struct EngineOptions {
  int batch = 1;     ///< sequences at a time
  int context = 256; ///< tokens of a sequence, at most
  int prompt = 64;   ///< tokens of a prompt that are taken together
};

class Engine {
public:
  Engine(const Model &model, Plans &plans, const EngineOptions &options);

  /// Begins a sequence with at least one token, and gives its number: 0 to batch - 1. Throws
  /// std::runtime_error if there is no room.
  int begin(std::span<const int> tokens);
  /// Ends it: its place and its pages are free.
  void end(int sequence);
  /// One token more for each sequence that goes on: `tokens` has one for each number, and what it
  /// has for others is not used.
  void step(std::span<const int> tokens);
  /// What the model gave for the token after a sequence's last one.
  std::span<const float> logits(int sequence) const;
  /// Tokens of a sequence.
  int length(int sequence) const { return sequences_[static_cast<std::size_t>(sequence)].length; }

  /// Called after each layer of a prompt with the rows' numbers; for --check.
  std::function<void(std::int64_t layer, std::span<const float> rows)> afterLayer;

  std::size_t memory() const { return memory_; }        ///< bytes on the device
  std::size_t kernels() const { return step_->size(); } ///< of a step
  double hostSeconds() const { return hostSeconds_; } ///< of the last step, until it was given away

private:
  using Bytes = flydsl::DeviceArray<std::uint8_t>;
  using Numbers = flydsl::DeviceArray<float>;
  using Halves = flydsl::DeviceArray<flydsl::half_t>;
  using Integers = flydsl::DeviceArray<std::int32_t>;

  /// A product with weights that are on the device, for prompts and for steps.
  struct Product {
    flydsl::kernels::GgmlWeight weight;
    Bytes b;
    std::optional<Bytes> up;
    flydsl::kernels::GgmlGemmPlan prompt, step;
    std::int64_t column; ///< of its result, where several products fill a row
  };
  struct DeviceLayer {
    Numbers attentionNorm, mlpNorm;
    std::vector<Product> qkv; ///< one, or one for each if their formats differ
    Product output, gateUp, down;
    Halves k, v; ///< the cache
  };
  struct Sequence {
    int length = 0; ///< tokens; 0: free
    std::vector<std::int32_t> pages;
  };
  /// The plans that depend on the number of rows alone.
  struct Common {
    flydsl::kernels::GgmlRowsPlan embed;
    flydsl::kernels::NormPlan norm, add;
    flydsl::kernels::RopePlan rope;
    Common(const Model &model, const flydsl::kernels::GgmlWeight &embedding, Plans &plans,
           std::int64_t m);
  };

  Product product(Plans &plans, std::span<const Matrix *const> matrices, const Matrix *up,
                  flydsl::DType a, std::int64_t column);
  template <class T> flydsl::DeviceArray<T> upload(std::span<const T> values);
  template <class T> flydsl::DeviceArray<T> room(const flydsl::Extents &shape);
  void grow(Sequence &sequence, int tokens);
  /// Puts the model's kernels for m rows into the stream; the numbers of row `from` on become logits
  /// from row `to` on.
  void forward(bool prompt, int sequence, std::int64_t m, std::int64_t from, std::int64_t to);
  void attend(const DeviceLayer &layer, bool prompt, int sequence, std::int64_t m);
  void multiply(const Product &product, bool prompt, const flydsl::TensorArg &a,
                const flydsl::TensorArg &c);
  void readLayer(std::int64_t layer, std::int64_t m);

  const Model &model_;
  EngineOptions options_;
  std::int64_t pagesOfSequence_, rows_;
  std::size_t memory_ = 0;
  double hostSeconds_ = 0;
  flydsl::Stream stream_;

  std::vector<Sequence> sequences_;
  std::vector<std::int32_t> freePages_;
  std::vector<DeviceLayer> layers_;
  std::optional<Product> logitsOf_; ///< and the embedding, if they are one
  std::optional<Bytes> embedding_;
  std::optional<Common> ofPrompt_, ofStep_;
  std::optional<flydsl::kernels::AttentionPlan> attention_;
  std::optional<flydsl::kernels::DecodePlan> decode_;
  std::optional<Numbers> finalNorm_, cos_, sin_, x_, y_, qkv_, delta_, inner_, logits_;
  std::optional<Halves> q_, attended_;
  std::optional<Bytes> workspace_;
  // What changes from step to step, in one array, so that one copy brings it: tokens, positions and
  // places in the cache of rows; lengths and tables of pages of sequences.
  std::vector<std::int32_t> inputs_;
  std::optional<Integers> deviceInputs_;
  std::int32_t *input(int section, std::int64_t at = 0);
  flydsl::TensorArg deviceInput(int section, const flydsl::Extents &shape, std::int64_t at = 0);
  std::vector<float> hostLogits_;
  std::optional<flydsl::Graph> step_;
};

} // namespace llama
