// The engine's layers and tokens beside those of double precision.
#pragma once

#include "engine.h"

namespace llama {

/// A text and what the model adds to it.
struct Text {
  std::vector<int> tokens;
  std::size_t prompt; ///< tokens
  int sequence = -1;  ///< while it is on the device
  bool ended = false;
};

class Checker {
public:
  Checker(const Model &model, Engine &engine) : model_(model), engine_(engine) {}

  /// Runs the first tokens, `most` of them, and compares what each layer gives.
  void layers(std::vector<int> tokens, int most);
  /// Compares the tokens of a text from `from` on. Where two logits are closer than rounding allows,
  /// either is right: the text is then cut behind the reference's token, to go on from there. Returns
  /// whether it was cut.
  bool text(Text &text, std::size_t from);
  /// Prints what was found, and returns whether all was right.
  bool report() const;

private:
  const Model &model_;
  Engine &engine_;
  bool right_ = true;
  std::size_t equal_ = 0, near_ = 0;
};

} // namespace llama
