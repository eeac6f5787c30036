// The host's parts of samples/llama: files from outside, tokens, and the choice of tokens.
#include "llama_model.h"
#include "model.h"
#include "tokenizer.h"

#include <catch2/catch.hpp>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace llama;
namespace fk = flydsl::kernels;

namespace {

std::vector<std::uint8_t> madeModel(fk::GgmlFormat format) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("flydsl-llama-" + std::to_string(getpid()) + ".gguf");
  makeModel(path.string(), format);
  std::ifstream file(path, std::ios::binary);
  std::vector<std::uint8_t> bytes{std::istreambuf_iterator<char>(file), {}};
  std::filesystem::remove(path);
  return bytes;
}
/// "right", or why the file is refused. Anything else than FileError fails the test.
std::string answer(std::vector<std::uint8_t> bytes) {
  try {
    const Gguf file(std::move(bytes));
    const Model model(file);
    const Tokenizer tokenizer(file);
    return "right";
  } catch (const FileError &error) {
    return error.what();
  }
}
/// The place of a text in a file.
std::size_t placeOf(const std::vector<std::uint8_t> &bytes, const std::string &text) {
  const auto found = std::search(bytes.begin(), bytes.end(), text.begin(), text.end());
  REQUIRE(found != bytes.end());
  return std::size_t(found - bytes.begin());
}

} // namespace

TEST_CASE("a made model of each format is read") {
  for (std::uint32_t type = 0; type < 64; ++type)
    if (const auto format = fk::ggml_format(type)) {
      INFO(fk::ggml_block(*format).name);
      CHECK(answer(madeModel(*format)) == "right");
    }
}

TEST_CASE("a file that is cut anywhere is refused") {
  const std::vector<std::uint8_t> bytes = madeModel(fk::GgmlFormat::q8_0);
  const std::size_t header = placeOf(bytes, "blk.1.ffn_down.weight") + 64;
  for (std::size_t size = 0; size < bytes.size(); size += size < header ? 1 : 4099) {
    INFO("cut at " << size);
    if (answer({bytes.begin(), bytes.begin() + std::ptrdiff_t(size)}) == "right")
      FAIL("a file that is cut is taken for a model");
  }
  SUCCEED();
}

TEST_CASE("a file with any changed byte is refused or read, and nothing else happens") {
  const std::vector<std::uint8_t> bytes = madeModel(fk::GgmlFormat::q8_0);
  const std::size_t header = placeOf(bytes, "blk.1.ffn_down.weight") + 64;
  int refused = 0;
  for (std::size_t i = 0; i < header; ++i)
    for (std::uint8_t change : {0x01, 0x80, 0xff}) {
      std::vector<std::uint8_t> changed = bytes;
      changed[i] ^= change;
      refused += answer(std::move(changed)) != "right";
      i += i > 400 ? 6 : 0; // lengths and kinds of every key and tensor come by
    }
  CHECK(refused > 100);
}

TEST_CASE("what is wrong with a file is said") {
  const std::vector<std::uint8_t> bytes = madeModel(fk::GgmlFormat::q4_0);
  const auto with = [&](std::size_t at, auto value) {
    std::vector<std::uint8_t> changed = bytes;
    std::memcpy(&changed[at], &value, sizeof value);
    return answer(std::move(changed));
  };
  CHECK(with(0, 'X') == "at byte 0: this is no GGUF file: it does not begin with GGUF");
  CHECK(with(4, std::uint32_t(1)) == "at byte 8: version 1; versions 2 and 3 are read");
  CHECK(with(8, std::uint64_t(1) << 60).find("1152921504606846976 tensors, for which") !=
        std::string::npos);
  CHECK(with(24, ~std::uint64_t(0)).find("a text of 18446744073709551615 bytes") !=
        std::string::npos);
  const std::size_t key = placeOf(bytes, "llama.block_count");
  CHECK(with(key, 'x') == "the file has no key llama.block_count");
  CHECK(with(key + 21, std::uint32_t(0)) ==
        "the key llama.block_count is 0; a whole number from 1 to 1000 is expected");
  CHECK(with(key + 21, std::uint32_t(3)) == "the file has no tensor blk.2.attn_norm.weight");
  const std::size_t tensor = placeOf(bytes, "blk.0.attn_q.weight") + 19;
  CHECK(with(tensor, std::uint32_t(9)).find("has 9 extents; 1 to 4") != std::string::npos);
  CHECK(with(tensor + 4, std::int64_t(-32))
            .find("has an extent of -32; a tensor has 1 to 2^40 weights") != std::string::npos);
  CHECK(with(tensor + 20, std::uint32_t(16)).find("is of ggml's type 16; this program reads F32") !=
        std::string::npos);
  CHECK(with(tensor + 24, std::uint64_t(1) << 63).find("which is outside of the file") !=
        std::string::npos);
  const auto renamed = [&](const std::string &from, const std::string &to) {
    std::vector<std::uint8_t> changed = bytes;
    std::copy(to.begin(), to.end(), changed.begin() + std::ptrdiff_t(placeOf(bytes, from)));
    return answer(std::move(changed));
  };
  CHECK(renamed("blk.1.attn_k.weight", "blk.0")
            .find("the tensor blk.0.attn_k.weight comes a second time") != std::string::npos);
  CHECK(renamed("tokenizer.ggml.merges", "tokenizer.ggml.tokens")
            .find("the key tokenizer.ggml.tokens comes a second time") != std::string::npos);
  CHECK(renamed("tokenizer.ggml.model", "general.architecture")
            .find("the key general.architecture comes a second time") != std::string::npos);
  const std::size_t norm = placeOf(bytes, "output_norm.weight") + 18;
  CHECK(with(norm + 12, std::uint32_t(1)) ==
        "the tensor output_norm.weight is not a vector of 256 numbers of type F32");
  CHECK(with(norm + 4, std::int64_t(255)) ==
        "the tensor output_norm.weight is not a vector of 256 numbers of type F32");
  CHECK(with(tensor + 4, std::int64_t(1) << 40).find("; a tensor has 1 to 2^40 weights") !=
        std::string::npos);
  const std::size_t merges = placeOf(bytes, "tokenizer.ggml.merges") + 21;
  CHECK(with(merges + 4, std::uint32_t(9)).find("a value of kind 9 in an array") !=
        std::string::npos);
  CHECK(with(merges + 8, std::uint64_t(1) << 61)
            .find("2305843009213693952 elements of an array, for which the file has") !=
        std::string::npos);
  CHECK(with(placeOf(bytes, "tokenizer.ggml.eos_token_id") + 31, std::uint32_t(1 << 20))
            .find("the key tokenizer.ggml.eos_token_id is 1.04858e+06; a whole number from 0 to") !=
        std::string::npos);
  CHECK(with(placeOf(bytes, "scaling.type") + 24, 'y') ==
        "the model's rotation is scaled (yone); this program has no scaling");
  CHECK(with(placeOf(bytes, "smollm"), 'x') ==
        "the tokenizer cuts words as xmollm; this program has smollm and gpt-2");
}

TEST_CASE("a text becomes tokens as the tables say") {
  const Gguf file(madeModel(fk::GgmlFormat::q8_0));
  const Tokenizer tokenizer(file);
  // Texts, and what Hugging Face's package tokenizers 0.23.3 makes of them with the same tables:
  // BPE after Digits(individual_digits) and ByteLevel(add_prefix_space = false).
  const std::vector<std::pair<std::string, std::vector<int>>> texts = {
#include "llama_tokens.inc"
  };
  for (const auto &[text, tokens] : texts) {
    INFO(text);
    CHECK(tokenizer.encode(text) == tokens);
    std::string back;
    for (int token : tokens)
      back += tokenizer.bytes(token);
    CHECK(back == text);
  }
  CHECK(tokenizer.encode("a<|end|>b") == std::vector{97, 263, 98});
  CHECK(tokenizer.end() == 263);
}
