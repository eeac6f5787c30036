// Text to tokens and back, by the byte-pair tables of a GGUF file (tokenizer.ggml.model "gpt2").
//
// A text is cut into words, each word into bytes, and neighbours are joined in the order of the
// file's list of merges. How text is cut is what tokenizer.ggml.pre names: "gpt-2" is GPT-2's
// expression, "smollm" the same after each digit was made a word of its own. Characters outside of
// ASCII are letters, digits or spaces as the C library's table of Unicode says.
#pragma once

#include "gguf.h"

#include <string_view>
#include <unordered_map>

namespace llama {

class Tokenizer {
public:
  /// Throws FileError if the tables are not there or don't fit each other.
  explicit Tokenizer(const Gguf &file);

  /// The tokens of a text. Names of control tokens, such as <|im_start|>, become those.
  std::vector<int> encode(std::string_view text) const;
  /// The bytes that a token stands for; those of a control token are empty.
  const std::string &bytes(int token) const { return bytes_[static_cast<std::size_t>(token)]; }
  int size() const { return static_cast<int>(bytes_.size()); }
  /// Ends a text; -1 if there is no such token.
  int end() const { return end_; }
  /// The token of that name, or -1.
  int find(const std::string &name) const;

private:
  void encodeWord(std::string_view word, std::vector<int> &tokens) const;
  void encodeText(std::string_view text, std::vector<int> &tokens) const;

  bool digitsAlone_ = false;
  int end_ = -1;
  std::vector<std::string> bytes_;
  std::unordered_map<std::string, int> tokens_;  // by their names in the file
  std::unordered_map<std::string, int> control_; // likewise
  std::unordered_map<std::string, int> ranks_;   // of "left right"
  std::string letters_[256];                     // the character by which the tables name a byte
};

} // namespace llama
