// The host's parts of samples/decoder: files from outside, what they say of a model, angles of
// rotary position embedding, and sequences in pages.
#include "common/sequences.h"
#include "decoder/model.h"

#include <catch2/catch.hpp>

using namespace decoder;

namespace {

using nlohmann::json;

const std::string kModels = DECODER_MODELS;

/// A file of safetensors with this header and so many bytes of data.
std::vector<std::uint8_t> file(const std::string &header, std::size_t data) {
  std::vector<std::uint8_t> bytes(8);
  const std::uint64_t length = header.size();
  std::memcpy(bytes.data(), &length, 8);
  bytes.insert(bytes.end(), header.begin(), header.end());
  bytes.resize(bytes.size() + data);
  return bytes;
}
/// "right", or why a file is refused. Anything else than FileError fails the test.
std::string answer(std::vector<std::uint8_t> bytes) {
  try {
    const SafeTensors tensors(std::move(bytes), "file");
    return "right";
  } catch (const FileError &error) {
    return error.what();
  }
}
std::string answer(const json &header, std::size_t data) {
  return answer(file(header.dump(), data));
}
json tensor(const char *type, const json &shape, const json &offsets) {
  return {{"dtype", type}, {"shape", shape}, {"data_offsets", offsets}};
}

json configOf(const std::string &model) {
  const std::vector<std::uint8_t> text = readFile(kModels + "/" + model + "/config.json");
  return json::parse(text.begin(), text.end());
}
/// What is said of a model with another config.
std::string said(const std::string &model, const json &config) {
  try {
    const SafeTensors weights = SafeTensors::read(kModels + "/" + model + "/model.safetensors");
    const Model read(Config(config, "config"), weights);
    return "right";
  } catch (const FileError &error) {
    return error.what();
  }
}
/// The same with some keys changed.
std::string saidWith(const std::string &model, const json &changes) {
  json config = configOf(model);
  config.update(changes);
  return said(model, config);
}
/// A config in which a key has another value is refused: with the value, or the part of it that is
/// wrong, and why.
void expectRefused(const std::string &model, const std::string &key, const json &value,
                   const std::string &why, const json &wrong = nullptr) {
  CHECK(saidWith(model, {{key, value}}) ==
        "config: " + key + " is " + (wrong.is_null() ? value : wrong).dump() + "; " + why);
}
bool endsWith(const std::string &text, const std::string &end) { return text.ends_with(end); }
/// A config with these changes does not fit the file of weights; the sentence ends so.
void expectMisfit(const std::string &model, const json &changes, const std::string &end) {
  INFO(changes.dump());
  CHECK(endsWith(saidWith(model, changes), end));
}

} // namespace

TEST_CASE("a file of tensors is read as it was written") {
  const json header{{"__metadata__", {{"format", "pt"}}},
                    {"b", tensor("F32", {1}, {4, 8})},
                    {"a", tensor("BF16", {2, 1}, {0, 4})},
                    {"none", tensor("F32", {0, 3}, {8, 8})}};
  std::vector<std::uint8_t> bytes = file(header.dump(), 8);
  const std::uint16_t a[] = {0x3f80, 0xc000}; // 1 and -2
  const float b = 0.1f;
  std::memcpy(bytes.data() + bytes.size() - 8, a, 4);
  std::memcpy(bytes.data() + bytes.size() - 4, &b, 4);
  const SafeTensors tensors(bytes, "file");
  const std::int64_t two[] = {2, 1}, one[] = {1}, none[] = {0, 3};
  CHECK(tensors.floats("a", two) == Floats{1, -2});
  CHECK(tensors.bf16("a", two).size() == 4);
  CHECK(tensors.floats("b", one) == Floats{0.1f});
  CHECK_THROWS_WITH(tensors.expectAllUsed(),
                    "file has the tensor none, which this program does not use");
  CHECK(tensors.floats("none", none).empty());
  CHECK_NOTHROW(tensors.expectAllUsed());
  CHECK_THROWS_WITH(tensors.floats("c", one), "file has no tensor c");
  CHECK_THROWS_WITH(tensors.floats("a", one), "file has a of shape [2, 1]; [1] is expected");
}

TEST_CASE("matrices of more bits are rounded to BF16, and others are refused") {
  const json header{{"f16", tensor("F16", {2}, {0, 4})},
                    {"f32", tensor("F32", {2}, {4, 12})},
                    {"i32", tensor("I32", {1}, {12, 16})}};
  std::vector<std::uint8_t> bytes = file(header.dump(), 16);
  const std::uint16_t halves[] = {0x3c00, 0xc100}; // 1 and -2.5
  const float floats[] = {1.5f, 1 + 0x1.8p-8f};    // the second between two numbers of BF16
  std::memcpy(bytes.data() + bytes.size() - 16, halves, 4);
  std::memcpy(bytes.data() + bytes.size() - 12, floats, 8);
  const SafeTensors tensors(bytes, "file");
  const auto made = [&](const char *name) {
    const std::int64_t two[] = {2};
    const auto of = tensors.bf16(name, two);
    return std::vector<std::uint8_t>(of.begin(), of.end());
  };
  CHECK(made("f16") == std::vector<std::uint8_t>{0x80, 0x3f, 0x20, 0xc0});
  CHECK(!tensors.rounded());
  CHECK(made("f32") == std::vector<std::uint8_t>{0xc0, 0x3f, 0x81, 0x3f});
  CHECK(tensors.rounded());
  const std::int64_t one[] = {1};
  CHECK_THROWS_WITH(tensors.bf16("i32", one),
                    "file has i32 in I32; this program takes weights in BF16, F16 or F32");
}

TEST_CASE("a model in several files is read as one, and what is wrong with their index is said") {
  const std::string folder = std::filesystem::temp_directory_path() / "decoder_test_files";
  const std::string index = folder + "/model.safetensors.index.json";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const auto write = [&](const std::string &name, const std::vector<std::uint8_t> &bytes) {
    std::ofstream(folder + "/" + name, std::ios::binary)
        .write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
  };
  const auto read = [&](const json &text) -> std::string {
    std::ofstream(index) << text.dump();
    try {
      const SafeTensors all = SafeTensors::readModel(folder);
      const std::int64_t one[] = {1};
      return all.floats("a", one) == Floats{1} && all.floats("b", one) == Floats{2} ? "right"
                                                                                    : "wrong";
    } catch (const FileError &error) {
      return error.what();
    }
  };
  const auto oneFloat = [&](const char *name, float value) {
    std::vector<std::uint8_t> bytes = file(json{{name, tensor("F32", {1}, {0, 4})}}.dump(), 4);
    std::memcpy(bytes.data() + bytes.size() - 4, &value, 4);
    return bytes;
  };
  write("1.safetensors", oneFloat("a", 1));
  write("2.safetensors", oneFloat("b", 2));
  const auto map = [](const json &files) { return json{{"weight_map", files}}; };
  CHECK(read(map({{"a", "1.safetensors"}, {"b", "2.safetensors"}})) == "right");
  CHECK(read(map({{"a", "2.safetensors"}, {"b", "2.safetensors"}})) ==
        index + " has a in " + folder + "/2.safetensors, which does not have it");
  CHECK(read(map({{"b", "2.safetensors"}})) == index + " has no tensor a");
  write("2.safetensors",
        file(json{{"b", tensor("F32", {1}, {0, 4})}, {"c", tensor("F32", {0}, {4, 4})}}.dump(), 4));
  CHECK(read(map({{"a", "1.safetensors"}, {"b", "2.safetensors"}})) ==
        index + " does not have c of " + folder + "/2.safetensors");
  CHECK(read(map({{"a", "3.safetensors"}})) == folder + "/3.safetensors: can't be opened");
  CHECK(read(map({{"a", "../1.safetensors"}})) ==
        index + " has a in \"../1.safetensors\"; a file of the same folder is expected");
  CHECK(read(map({{"a", 1}})) == index + " has a in 1; a file of the same folder is expected");
  CHECK(read(json{{"metadata", 1}}) ==
        index + " has no weight_map, which names the file of each tensor");
  std::filesystem::remove_all(folder);
}

TEST_CASE("what is wrong with a file of tensors is said") {
  CHECK(answer({1, 2, 3}) == "file has 3 bytes; its header's length alone is 8");
  std::vector<std::uint8_t> bytes = file("{}", 0);
  CHECK(answer(bytes) == "right");
  bytes[0] = 3;
  CHECK(answer(bytes) == "file has a header of 3 bytes, and after its length 2 bytes");
  std::fill_n(bytes.begin(), 8, 0xff);
  CHECK(answer(bytes) ==
        "file has a header of 18446744073709551615 bytes, and after its length 2 bytes");
  CHECK(answer(file("{\"a\": ", 0)).starts_with("file's header is no JSON: "));
  CHECK(answer(file("[]", 0)) == "file's header is no object of JSON");
  CHECK(answer(file(R"({"a": {"dtype": "U8", "dtype": "F32"}})", 0)) ==
        "file's header has the name dtype twice");
  CHECK(answer(json{{"a", 1}}, 0) == "file has a without dtype");
  CHECK(answer(json{{"a", tensor("F33", {1}, {0, 4})}}, 4) ==
        "file has a of type F33, which this program does not know");
  CHECK(answer(json{{"a", tensor("F32", "x", {0, 4})}}, 4) == "file has a without shape");
  CHECK(answer(json{{"a", tensor("F32", {-1}, {0, 4})}}, 4) ==
        "file has a with an extent of -1; a whole number is expected");
  CHECK(answer(json{{"a", tensor("F32", {1.5}, {0, 4})}}, 4) ==
        "file has a with an extent of 1.5; a whole number is expected");
  CHECK(answer(json{{"a", tensor("F32", {1ll << 40, 1ll << 40}, {0, 4})}}, 4) ==
        "file has a of shape [1099511627776, 1099511627776], more than there are bytes");
  CHECK(answer(json{{"a", tensor("F32", {1}, json::array({0}))}}, 4) ==
        "file has a with data_offsets [0]; two are expected");
  CHECK(answer(json{{"a", tensor("F32", {1}, {0, 4})}}, 3) == "file has a in bytes 0 to 4 of 3");
  CHECK(answer(json{{"a", tensor("F32", {1}, {4, 0})}}, 4) == "file has a in bytes 4 to 0 of 4");
  CHECK(answer(json{{"a", tensor("F32", {2}, {0, 4})}}, 4) ==
        "file has a in 4 bytes; its shape [2] of F32 has 8");
  CHECK(answer(json{{"a", tensor("F32", {2}, {0, 8})}, {"b", tensor("F32", {1}, {4, 8})}}, 8) ==
        "file has b and a in the same bytes");
  CHECK(answer(json{{"a", tensor("F32", {1}, {4, 8})}}, 8) ==
        "file has 4 bytes before a that belong to no tensor");
  CHECK(answer(json{{"a", tensor("F32", {1}, {0, 4})}}, 8) ==
        "file has 4 bytes at its end that belong to no tensor");
}

TEST_CASE("a file of tensors that is cut anywhere is refused") {
  const std::vector<std::uint8_t> bytes = readFile(kModels + "/llama/model.safetensors");
  for (std::size_t size = 0; size < bytes.size(); size += size < 4096 ? 7 : 997) {
    INFO("cut at " << size);
    if (answer({bytes.begin(), bytes.begin() + std::ptrdiff_t(size)}) == "right")
      FAIL("a file that is cut is taken for whole");
  }
  CHECK(answer(bytes) == "right");
}

TEST_CASE("a header with any changed byte is refused or read, and nothing else happens") {
  const std::vector<std::uint8_t> bytes = readFile(kModels + "/llama_yarn/model.safetensors");
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), 8);
  int refused = 0;
  for (std::size_t i = 0; i < 8 + length; i += 3)
    for (std::uint8_t change : {0x01, 0x80}) {
      std::vector<std::uint8_t> changed = bytes;
      changed[i] ^= change;
      refused += answer(std::move(changed)) != "right";
    }
  CHECK(refused > 100);
}

TEST_CASE("each model of the folder is read") {
  for (const char *model :
       {"llama", "llama_linear", "llama_llama3", "llama_yarn", "one_token", "qwen3", "gemma2",
        "gemma3", "mixtral", "qwen3_moe", "gpt_oss", "glm4_moe", "deepseek_v3", "qwen3_next",
        "minimax_m2", "mamba2", "nemotron_h", "nemotron_h_moe", "kimi_linear"}) {
    INFO(model);
    CHECK(said(model, configOf(model)) == "right");
  }
}

TEST_CASE("a model that this program does not have is refused with a sentence") {
  CHECK(saidWith("llama", {{"model_type", "mamba"}})
            .starts_with("config: model_type is \"mamba\"; this program has llama, qwen3"));
  CHECK(saidWith("llama", {{"qk_layernorm", true}}) ==
        "config: qk_layernorm is true; this program does not know the key");
  CHECK(saidWith("llama", {{"qk_layernorm", nullptr}}) == "right");
  CHECK(saidWith("llama", {{"hidden_act", "relu"}}) ==
        "config: hidden_act is \"relu\"; this program has silu, gelu_pytorch_tanh and "
        "relu2");
  CHECK(saidWith("gemma2", {{"use_bidirectional_attention", true}}) ==
        "config: use_bidirectional_attention is true; this program runs models with false");
  CHECK(saidWith("gemma3", {{"attn_logit_softcapping", 50.0}}) ==
        "config: attn_logit_softcapping is 50.0; this program does not know the key");
  CHECK(saidWith("llama", {{"num_key_value_heads", 3}}) ==
        "config: num_key_value_heads is 3; it divides num_attention_heads, 4");
  CHECK(saidWith("llama", {{"num_hidden_layers", 0}}) ==
        "config: num_hidden_layers is 0; a whole number from 1 to 1000 is expected");
  CHECK(saidWith("llama", {{"hidden_size", "32"}}) ==
        "config: hidden_size is \"32\"; a whole number from 1 to 1048576 is expected");
  CHECK(saidWith("llama", {{"rms_norm_eps", nullptr}}) == "config has no key rms_norm_eps");
  CHECK(saidWith("llama", {{"tie_word_embeddings", 1}}) ==
        "config: tie_word_embeddings is 1; true or false is expected");
  CHECK(saidWith("qwen3", {{"layer_types", {"full_attention", "linear_attention"}}}) ==
        "config: layer_types is \"linear_attention\"; this program has full_attention and "
        "sliding_attention");
  CHECK(saidWith("qwen3", {{"layer_types", {"full_attention"}}}) ==
        "config: layer_types is [\"full_attention\"]; 2 texts are expected");
  CHECK(saidWith("qwen3", {{"layer_types", nullptr}, {"use_sliding_window", true}}) ==
        "config: use_sliding_window is true; layer_types says of which layers then");
  const json rope{{"rope_theta", 1e4}, {"rope_type", "spiral"}};
  CHECK(saidWith("llama", {{"rope_parameters", rope}}) ==
        "config: rope_parameters: rope_type is \"spiral\"; this program has default, linear, "
        "llama3, yarn, dynamic and longrope");
  const json unknown{{"rope_theta", 1e4}, {"rope_type", "default"}, {"twist", 3}};
  CHECK(saidWith("llama", {{"rope_parameters", unknown}}) ==
        "config: rope_parameters: twist is 3; this program does not know the key");
}

TEST_CASE("a model whose files don't fit each other is refused with a sentence") {
  CHECK(endsWith(saidWith("llama", {{"num_hidden_layers", 3}}),
                 "model.safetensors has no tensor model.layers.2.input_layernorm.weight"));
  CHECK(endsWith(saidWith("llama", {{"num_hidden_layers", 1}}),
                 "model.safetensors has the tensor model.layers.1.input_layernorm.weight, which "
                 "this program does not use"));
  CHECK(endsWith(saidWith("llama", {{"intermediate_size", 32}}),
                 "has model.layers.0.mlp.gate_proj.weight of shape [64, 32]; [32, 32] is "
                 "expected"));
  CHECK(endsWith(saidWith("llama", {{"attention_bias", true}}),
                 "has no tensor model.layers.0.self_attn.q_proj.bias"));
  CHECK(endsWith(saidWith("llama", {{"mlp_bias", true}}),
                 "has no tensor model.layers.0.mlp.gate_proj.bias"));
  expectRefused("mixtral", "mlp_bias", true, "this program runs models with false");
  CHECK(endsWith(saidWith("llama_llama3", {{"attention_bias", false}}),
                 ".bias, which this program does not use"));
  CHECK(endsWith(saidWith("qwen3", {{"model_type", "llama"}}),
                 "self_attn.k_norm.weight, which this program does not use"));
}

TEST_CASE("what a mixture does not have here is refused with a sentence") {
  expectMisfit("qwen3_moe", {{"decoder_sparse_step", 2}},
               "has no tensor model.layers.0.mlp.gate_proj.weight");
  expectMisfit("qwen3_moe", {{"mlp_only_layers", {1}}},
               "has no tensor model.layers.1.mlp.gate_proj.weight");
  expectRefused("qwen3_moe", "mlp_only_layers", {2}, "whole numbers from 0 to 1 are expected");
  expectRefused("mixtral", "mlp_only_layers", {1}, "this program does not know the key");
  expectRefused("qwen3_moe", "num_experts", 7, "this program runs models with 8");
  expectRefused("qwen3_moe", "num_experts_per_tok", 9, "a whole number from 1 to 8 is expected");
  expectRefused("glm4_moe", "n_group", 3, "it divides n_routed_experts, 8");
  expectRefused("glm4_moe", "topk_group", 2, "a whole number from 1 to 1 is expected");
  expectMisfit("glm4_moe", {{"n_shared_experts", 2}},
               "mlp.shared_experts.gate_proj.weight of shape [16, 32]; [32, 32] is expected");
  expectMisfit("mixtral", {{"num_local_experts", 3}},
               "mlp.gate.weight of shape [4, 32]; [3, 32] is expected");
  expectMisfit("glm4_moe", {{"first_k_dense_replace", 0}},
               "has no tensor model.layers.0.mlp.gate.weight");
  expectMisfit("glm4_moe", {{"use_qk_norm", false}},
               "self_attn.k_norm.weight, which this program does not use");
}

TEST_CASE("what latent attention does not have here is refused with a sentence") {
  expectRefused("deepseek_v3", "head_dim", 16, "this program runs models with 64");
  expectRefused("deepseek_v3", "num_key_value_heads", 1, "this program runs models with 2");
  CHECK(saidWith("deepseek_v3", {{"kv_lora_rank", nullptr}}) == "config has no key kv_lora_rank");
  expectRefused("deepseek_v3", "qk_head_dim", 64, "this program runs models with 96");
  CHECK(saidWith("deepseek_v3", {{"partial_rotary_factor", 0.5}}) ==
        "config: partial_rotary_factor is 32; all of qk_rope_head_dim rotates");
  expectRefused("deepseek_v3", "scoring_func", "softmax",
                "this program runs models with \"sigmoid\"");
  expectMisfit("deepseek_v3", {{"q_lora_rank", nullptr}},
               "has no tensor model.layers.0.self_attn.q_proj.weight");
  expectMisfit("deepseek_v3", {{"kv_lora_rank", 64}},
               "kv_a_proj_with_mqa.weight of shape [192, 32]; [128, 32] is expected");
}

TEST_CASE("what linear attention does not have here is refused with a sentence") {
  CHECK(saidWith("qwen3_next",
                 {{"layer_types", {"linear_attention", "full_attention", "sliding_attention"}}}) ==
        "config: layer_types is \"sliding_attention\"; this program has full_attention and "
        "linear_attention");
  expectRefused("qwen3_next", "use_sliding_window", true, "this program runs models with false");
  CHECK(saidWith("qwen3_next", {{"linear_num_key_heads", 3}}) ==
        "config: linear_num_value_heads is 2; it is a multiple of linear_num_key_heads, 3");
  CHECK(saidWith("qwen3_next", {{"linear_key_head_dim", nullptr}}) ==
        "config has no key linear_key_head_dim");
  expectRefused("qwen3_next", "hidden_act", "gelu_pytorch_tanh",
                "the convolutions of this program have silu");
  expectMisfit("qwen3_next", {{"linear_value_head_dim", 32}},
               "in_proj_qkvz.weight of shape [320, 32]; [384, 32] is expected");
  expectMisfit("qwen3_next", {{"shared_expert_intermediate_size", 16}},
               "shared_expert.gate_proj.weight of shape [24, 32]; [16, 32] is expected");
  // Without layer_types, each fourth layer sees all tokens, or as many as the file says.
  expectMisfit("qwen3_next", {{"layer_types", nullptr}},
               "has no tensor model.layers.1.linear_attn.in_proj_qkvz.weight");
  CHECK(saidWith("qwen3_next", {{"layer_types", nullptr}, {"full_attention_interval", 2}}) ==
        "right");
}

TEST_CASE("what decays of channels do not have here is refused with a sentence") {
  expectRefused("kimi_linear", "mla_use_nope", false, "this program runs models with true");
  expectRefused("kimi_linear", "hidden_act", "gelu_pytorch_tanh",
                "this program runs models with \"silu\"");
  expectRefused("kimi_linear", "moe_router_activation_func", "softmax",
                "this program runs models with \"sigmoid\"");
  expectRefused("kimi_linear", "use_full_rank_output_gate", true,
                "this program does not know the key");
  expectRefused("kimi_linear", "mlp_layer_types", {"dense", "moe"},
                "this program has dense and sparse", "moe");
  CHECK(saidWith("kimi_linear", {{"num_experts_per_tok", 3}}) ==
        "config: num_experts_per_token is 2; num_experts_per_tok is 3");
  expectMisfit("kimi_linear", {{"linear_num_heads", 2}},
               "self_attn.conv1d.weight of shape [384, 1, 4]; [768, 1, 4] is expected");
  expectMisfit("kimi_linear", {{"mlp_layer_types", {"sparse", "sparse"}}},
               "has no tensor model.layers.0.mlp.gate.weight");
  // As the published file has it.
  const json linear{{"head_dim", 128}, {"num_heads", 1}, {"short_conv_kernel_size", 4}};
  json numbers = linear;
  numbers.update(json{{"full_attn_layers", {2}}, {"kda_layers", {1}}});
  const json published{{"layer_types", nullptr},
                       {"linear_attn_config", numbers},
                       {"linear_conv_kernel_dim", nullptr},
                       {"linear_head_dim", nullptr},
                       {"linear_num_heads", nullptr},
                       {"mlp_layer_types", nullptr},
                       {"first_k_dense_replace", 1},
                       {"mla_use_nope", true},
                       {"rope_theta", 10000.0}};
  CHECK(saidWith("kimi_linear", published) == "right");
  const auto withLayers = [&](const json &all, const json &deltas) {
    json changed = published;
    changed["linear_attn_config"].update(json{{"full_attn_layers", all}, {"kda_layers", deltas}});
    return saidWith("kimi_linear", changed);
  };
  expectRefused("kimi_linear", "layer_types", nullptr,
                "it or linear_attn_config says what each layer is");
  const std::string at = "config: linear_attn_config: ";
  CHECK(withLayers({2}, {2}) == at + "kda_layers is 2; each layer is there once");
  CHECK(withLayers({2}, json::array()) ==
        at + "kda_layers is []; it or full_attn_layers has layer 1");
}

TEST_CASE("what state spaces do not have here is refused with a sentence") {
  CHECK(saidWith("nemotron_h",
                 {{"layers_block_type", {"linear_attention", "conv", "full_attention", "mlp"}}}) ==
        "config: layers_block_type is \"conv\"; this program has linear_attention, "
        "full_attention, mlp and moe");
  CHECK(saidWith("nemotron_h",
                 {{"layers_block_type", nullptr}, {"hybrid_override_pattern", "M-C"}}) ==
        "config: hybrid_override_pattern is \"C\"; this program has linear_attention, "
        "full_attention, mlp and moe");
  expectMisfit("nemotron_h", {{"layers_block_type", nullptr}, {"hybrid_override_pattern", "MEMM"}},
               "has no tensor model.layers.1.mixer.gate.weight");
  expectRefused("nemotron_h", "num_hidden_layers", 3, "this program runs models with 4");
  // The letters of older files mean the same.
  CHECK(saidWith("nemotron_h",
                 {{"layers_block_type", nullptr}, {"hybrid_override_pattern", "M-*M"}}) == "right");
  expectMisfit("nemotron_h", {{"layers_block_type", nullptr}, {"hybrid_override_pattern", "M**M"}},
               "has no tensor model.layers.1.mixer.q_proj.weight");
  expectRefused("mamba2", "use_bias", true, "this program runs models with false");
  expectRefused("mamba2", "hidden_act", "gelu_pytorch_tanh",
                "this program runs models with \"silu\"");
  expectRefused("mamba2", "n_groups", 3, "it divides the heads, 4");
  CHECK(saidWith("mamba2", {{"expand", 3}}) ==
        "config: expand is 3.0; times hidden_size it is num_heads times head_dim, 64");
  const std::string limits = "; two numbers from 0 on are expected, the second above the first";
  for (const nlohmann::json &wrong :
       {nlohmann::json{1.0, 0.5}, nlohmann::json{-1.0, 0.5}, nlohmann::json{0.5},
        nlohmann::json{{{"__float__", "Infinity"}}, 1.0}})
    CHECK(saidWith("mamba2", {{"time_step_limit", wrong}}) ==
          "config: time_step_limit is " + wrong.dump() + limits);
  expectMisfit(
      "mamba2", {{"use_conv_bias", false}},
      "has the tensor backbone.layers.0.mixer.conv1d.bias, which this program does not use");
}

TEST_CASE("an infinity is read as Python and as transformers write it") {
  const auto limits = [](const char *text) { return Config::parse(text, "c").limits("l"); };
  CHECK(limits(R"({"l": [0.5, Infinity], "\"Infinity": "Infinity"})") == std::pair(0.5, 0.0));
  CHECK(limits(R"({"l": [0.5, {"__float__": "Infinity"}]})") == std::pair(0.5, 0.0));
  CHECK(limits(R"({"l": [0.25, 2]})") == std::pair(0.25, 2.0));
  CHECK_THROWS_AS(limits(R"({"l": [0, -Infinity]})"), FileError);
}

TEST_CASE("C, B and x of state spaces are in the place of q, k and v") {
  const SafeTensors file = SafeTensors::read(kModels + "/mamba2/model.safetensors");
  const Model model(Config(configOf("mamba2"), "config"), file);
  // Rows of gates and x, 64 each, of B and C, 256 each, and of 4 steps.
  const std::int64_t ofAll[] = {644, 32}, ofTaps[] = {576, 1, 4}, ofBias[] = {576};
  const Floats all = file.floats("backbone.layers.0.mixer.in_proj.weight", ofAll),
               taps = file.floats("backbone.layers.0.mixer.conv1d.weight", ofTaps),
               bias = file.floats("backbone.layers.0.mixer.conv1d.bias", ofBias);
  const DeltaWeights &weights = *model.layer[0].delta;
  const auto mixed = [&](std::int64_t row) {
    return float(reinterpret_cast<const fx::bfloat16_t *>(
        weights.mixed.bytes.data())[row * weights.mixed.columns + 7]);
  };
  // The numbers of channels of C, B and x here, and in the file.
  for (const auto &[here, there] :
       {std::pair(0, 320), {255, 575}, {256, 64}, {511, 319}, {512, 0}, {575, 63}}) {
    CHECK(mixed(here) == all[std::size_t((64 + there) * 32 + 7)]);
    CHECK(weights.taps[std::size_t(here * 4 + 3)] == taps[std::size_t(there * 4 + 3)]);
    CHECK(weights.convBias[std::size_t(here)] == bias[std::size_t(there)]);
  }
  CHECK(weights.a[2] < 0);
}

TEST_CASE("rows in groups of heads, and a shared expert that is filled up") {
  const SafeTensors file = SafeTensors::read(kModels + "/qwen3_next/model.safetensors");
  const Model model(Config(configOf("qwen3_next"), "config"), file);
  const auto at = [](const Matrix &matrix, std::int64_t row, std::int64_t column) {
    return float(reinterpret_cast<const fx::bfloat16_t *>(
        matrix.bytes.data())[row * matrix.columns + column]);
  };
  // Of each of two heads, 32 rows of q and then 32 of its gate.
  const std::int64_t ofQ[] = {128, 32};
  const Floats q = file.floats("model.layers.1.self_attn.q_proj.weight", ofQ);
  const HeadWeights &heads = *model.layer[1].heads;
  for (std::int64_t head : {0, 1})
    for (std::int64_t row : {0, 31}) {
      CHECK(at(heads.q, 32 * head + row, 5) == q[std::size_t((64 * head + row) * 32 + 5)]);
      CHECK(at(*heads.gate, 32 * head + row, 5) == q[std::size_t((64 * head + 32 + row) * 32 + 5)]);
    }
  // One head of q and k: 128 rows of q, 128 of k, then 32 of v and 32 of gates.
  const std::int64_t ofAll[] = {320, 32};
  const Floats all = file.floats("model.layers.0.linear_attn.in_proj_qkvz.weight", ofAll);
  const DeltaWeights &delta = *model.layer[0].delta;
  CHECK(delta.mixed.rows == 288);
  CHECK(at(delta.mixed, 287, 1) == all[287 * 32 + 1]);
  CHECK(at(delta.gate, 3, 1) == all[291 * 32 + 1]);
  // A shared expert of 24 is one of 16 and half of another one.
  CHECK(model.experts.shared == 2);
  const std::int64_t ofDown[] = {32, 24};
  const Floats down = file.floats("model.layers.0.mlp.shared_expert.down_proj.weight", ofDown);
  const Matrix &last = model.layer[0].experts->down.back(),
               &lastUp = model.layer[0].experts->gateUp.back();
  CHECK(at(last, 9, 7) == down[9 * 24 + 16 + 7]);
  CHECK(at(last, 9, 8) == 0);
  CHECK(at(lastUp, 7, 0) != 0);
  CHECK(at(lastUp, 8, 31) == 0);
}

TEST_CASE("latent attention's matrices by heads, and shared experts that are several") {
  const SafeTensors file = SafeTensors::read(kModels + "/deepseek_v3/model.safetensors");
  const Model model(Config(configOf("deepseek_v3"), "config"), file);
  const Latent &latent = model.latent;
  const std::int64_t each = latent.plain + latent.value,
                     shape[] = {model.heads * each, latent.keys};
  const Floats raw = file.floats("model.layers.0.self_attn.kv_b_proj.weight", shape);
  const LatentWeights &weights = *model.layer[0].latent;
  const auto at = [](const Matrix &matrix, std::int64_t row, std::int64_t column) {
    return float(reinterpret_cast<const fx::bfloat16_t *>(
        matrix.bytes.data())[row * matrix.columns + column]);
  };
  for (std::int64_t head : {0, 1})
    for (std::int64_t key = 0; key < latent.keys; key += 5) {
      const auto wanted = [&](std::int64_t row) {
        return raw[std::size_t((head * each + row) * latent.keys + key)];
      };
      CHECK(at(weights.absorb[std::size_t(head)], key, 3) == wanted(3));
      CHECK(at(weights.expand[std::size_t(head)], 2, key) == wanted(latent.plain + 2));
    }
  // Two shared experts of 16: the second has the second half of the columns.
  const std::int64_t ofDown[] = {32, 32};
  const Floats down = file.floats("model.layers.1.mlp.shared_experts.down_proj.weight", ofDown);
  CHECK(model.experts.shared == 2);
  CHECK(at(model.layer[1].experts->down.back(), 7, 4) == down[7 * 32 + 16 + 4]);
}

TEST_CASE("a window of all layers, and gates and ups in turns") {
  json config = configOf("mixtral");
  config["sliding_window"] = 8;
  const SafeTensors weights = SafeTensors::read(kModels + "/mixtral/model.safetensors");
  const Model windows(Config(config, "config"), weights);
  CHECK(windows.mixing == std::vector(2, Mixing::window));

  const SafeTensors file = SafeTensors::read(kModels + "/gpt_oss/model.safetensors");
  const Model gptOss(Config(configOf("gpt_oss"), "config"), file);
  const std::int64_t shape[] = {8, 32, 32}; // (experts, width, gates and ups)
  const Floats raw = file.floats("model.layers.1.mlp.experts.gate_up_proj", shape);
  const Matrix &expert = gptOss.layer[1].experts->gateUp[3];
  REQUIRE(expert.rows == 32);
  const auto *made = reinterpret_cast<const fx::bfloat16_t *>(expert.bytes.data());
  for (std::size_t row = 0; row < 32; ++row)
    for (std::size_t column = 0; column < 32; ++column) {
      const std::size_t from = row < 16 ? 2 * row : 2 * (row - 16) + 1; // gates, then ups
      CHECK(float(made[row * 32 + column]) == raw[(3 * 32 + column) * 32 + from]);
    }
}

TEST_CASE("older files name rotations in other keys") {
  json config = configOf("llama_llama3");
  json scaling = config["rope_parameters"];
  config.erase("rope_parameters");
  config["rope_theta"] = scaling["rope_theta"];
  scaling.erase("rope_theta");
  scaling["type"] = scaling["rope_type"];
  scaling.erase("rope_type");
  config["rope_scaling"] = scaling;
  const SafeTensors weights = SafeTensors::read(kModels + "/llama_llama3/model.safetensors");
  const Model older(Config(config, "config"), weights),
      newer(Config(configOf("llama_llama3"), "config"), weights);
  CHECK(older.rope.frequencies == newer.rope.frequencies);

  config = configOf("gemma3");
  config.erase("rope_parameters");
  config["rope_theta"] = 1e6;
  config["rope_local_base_freq"] = 1e4;
  const SafeTensors gemma = SafeTensors::read(kModels + "/gemma3/model.safetensors");
  const Model two(Config(config, "config"), gemma);
  CHECK(two.rope.frequencies[1] == Approx(std::pow(1e6, -1.0 / 16)));
  CHECK(two.windowRope.frequencies[1] == Approx(std::pow(1e4, -1.0 / 16)));
}

TEST_CASE("rotations of longer texts, up to where they are those of the model") {
  const auto model = [](const json &rope) {
    json config = configOf("llama");
    config["rope_parameters"] = rope;
    return Sizes(Config(config, "config"));
  };
  const std::vector<double> twos(16, 2), threes(16, 3);
  const Rope plain = model({{"rope_type", "default"}, {"rope_theta", 1e4}}).rope;
  const Sizes dynamic = model({{"rope_type", "dynamic"}, {"rope_theta", 1e4}, {"factor", 2.0}});
  CHECK(dynamic.rope.frequencies == plain.frequencies);
  CHECK(dynamic.context == 64);
  const Sizes longer = model({{"rope_type", "longrope"},
                              {"rope_theta", 1e4},
                              {"factor", 4.0},
                              {"original_max_position_embeddings", 16},
                              {"short_factor", twos},
                              {"long_factor", threes}});
  for (std::size_t i = 0; i < 16; ++i)
    CHECK(longer.rope.frequencies[i] == Approx(plain.frequencies[i] / 2));
  CHECK(longer.rope.factor == Approx(std::sqrt(1.5))); // 1 + log 4 / log 16
  CHECK(longer.context == 16);
  CHECK(saidWith("llama", {{"rope_parameters",
                            {{"rope_type", "longrope"},
                             {"rope_theta", 1e4},
                             {"short_factor", {1.0}},
                             {"long_factor", threes}}}}) ==
        "config: rope_parameters: short_factor is [1.0]; 16 numbers from 0.000001 to "
        "1000000.000000 are expected");
  CHECK(saidWith(
            "llama",
            {{"rope_parameters",
              {{"rope_type", "default"}, {"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}}}}) ==
        "config: rope_parameters: partial_rotary_factor is 0.5; all elements of llama's heads "
        "rotate");
}

TEST_CASE("sequences share pages, and give them back") {
  samples::Sequences sequences(2, 5, 2); // 3 pages each
  CHECK(sequences.pages() == 6);
  CHECK(sequences.unused() == 0);
  std::set<std::int32_t> slots;
  for (int position = 0; position < 5; ++position)
    for (int number : {0, 1}) {
      const auto place = sequences.append(number);
      CHECK(place.position == position);
      CHECK(place.pageOfSequence == position / 2);
      CHECK(place.slot == place.page * 2 + position % 2);
      CHECK(slots.insert(place.slot).second);
    }
  CHECK(sequences.unused() == std::nullopt);
  CHECK_THROWS_WITH(sequences.append(0), "sequence 0 has 5 tokens, the most");
  sequences.end(0);
  CHECK(sequences.unused() == 0);
  CHECK(sequences.append(0).position == 0);
}
