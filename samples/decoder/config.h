// config.json of a model: typed keys, which are asked for by their names.
//
// A key that the program does not know may change what the model computes. So a file with one is
// refused, unless the key is in the list of those that do not matter here.
#pragma once

#include "safetensors.h"

#include <cmath>
#include <initializer_list>
#include <optional>
#include <utility>

namespace decoder {

/// Keys that say nothing about what a model computes from tokens with given weights.
inline constexpr std::string_view kNoMatter[] = {
    "_name_or_path",
    "architectures",
    "attention_dropout",
    "bos_token_id",
    "cache_implementation",
    "dtype",
    "eos_token_id",
    "hidden_dropout",
    "initializer_range",
    "max_window_layers",
    "model_type",
    "output_router_logits",
    "pad_token_id",
    "pretraining_tp",
    "resid_pdrop",
    "router_aux_loss_coef",
    "torch_dtype",
    "transformers_version",
    "use_cache",
    "router_jitter_noise",
    "num_nextn_predict_layers",
    "aux_loss_alpha",
    "ep_size",
    "seq_aux",
    // What state spaces are begun with, in what pieces transformers computes them, and its types.
    "chunk_size",
    "mamba_ssm_cache_dtype",
    "mtp_layers_block_type",
    "num_logits_to_keep",
    "rescale_prenorm_residual",
    "residual_in_fp32",
    "time_step_floor",
    "time_step_max",
    "time_step_min",
    "time_step_rank",
    "use_mamba_kernels",
};

/// Keys that some models have other names for.
struct OtherName {
  std::string_view key, other;
};
inline constexpr OtherName kOtherNames[] = {
    {"max_position_embeddings", "model_max_length"}, // Kimi Linear
    {"n_group", "num_expert_group"},
    {"n_shared_experts", "num_shared_experts"},
    {"norm_topk_prob", "moe_renormalize"},
    {"num_experts_per_tok", "num_experts_per_token"},
    {"scoring_func", "moe_router_activation_func"},
};

class Config {
public:
  /// An object of JSON; messages call it by the name.
  Config(nlohmann::json values, std::string name)
      : values_(std::move(values)), name_(std::move(name)) {}
  static Config parse(std::string_view text, const std::string &name) {
    return {parseJson(withoutInfinities(text), name), name};
  }
  static Config read(const std::string &path) {
    const std::vector<std::uint8_t> bytes = readFile(path);
    return parse(std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size()),
                 path);
  }
  /// The object of a key, as a config of its own that is checked by itself.
  std::optional<Config> object(const std::string &key) const {
    const nlohmann::json *found = find(key);
    if (found && !found->is_object())
      refuse(key, *found, "an object is expected");
    return found ? std::optional(Config(*found, name_ + ": " + key)) : std::nullopt;
  }

  /// The sizes that the file has, as key=value.
  std::string sizes() const {
    std::string all;
    for (const auto &[key, value] : values_.items())
      if (value.is_number_integer() && std::ranges::find(kNoMatter, key) == std::end(kNoMatter))
        all += (all.empty() ? "" : ", ") + key + "=" + value.dump();
    return all;
  }
  /// Whether there is a key whose value is not null.
  bool has(const std::string &key) const { return find(key); }
  /// A whole number; without `otherwise` the key must be there.
  std::int64_t whole(const std::string &key, std::int64_t least, std::int64_t most,
                     std::optional<std::int64_t> otherwise = {}) const {
    const nlohmann::json *found = find(key, otherwise.has_value());
    if (!found)
      return *otherwise;
    if (!found->is_number_integer() || *found < least || *found > most)
      refuse(key, *found,
             "a whole number from " + std::to_string(least) + " to " + std::to_string(most) +
                 " is expected");
    return found->get<std::int64_t>();
  }
  double real(const std::string &key, double least, double most,
              std::optional<double> otherwise = {}) const {
    const nlohmann::json *found = find(key, otherwise.has_value());
    if (!found)
      return *otherwise;
    if (!found->is_number() || !(found->get<double>() >= least && found->get<double>() <= most))
      refuse(key, *found,
             "a number from " + std::to_string(least) + " to " + std::to_string(most) +
                 " is expected");
    return found->get<double>();
  }
  bool flag(const std::string &key, bool otherwise) const {
    const nlohmann::json *found = find(key, true);
    if (found && !found->is_boolean())
      refuse(key, *found, "true or false is expected");
    return found ? found->get<bool>() : otherwise;
  }
  std::string word(const std::string &key, std::optional<std::string> otherwise = {}) const {
    const nlohmann::json *found = find(key, otherwise.has_value());
    if (found && !found->is_string())
      refuse(key, *found, "a text is expected");
    return found ? found->get<std::string>() : *otherwise;
  }
  /// Texts, any number of them; empty if the key is not there.
  std::vector<std::string> words(const std::string &key) const {
    const nlohmann::json *found = find(key);
    if (!found)
      return {};
    const auto isText = [](const nlohmann::json &value) { return value.is_string(); };
    if (!found->is_array() || !std::ranges::all_of(*found, isText))
      refuse(key, *found, "a list of texts is expected");
    return found->get<std::vector<std::string>>();
  }
  /// The same, `count` of them if the key is there.
  std::vector<std::string> words(const std::string &key, std::size_t count) const {
    std::vector<std::string> found = words(key);
    if (has(key) && found.size() != count)
      refuse(key, found, std::to_string(count) + " texts are expected");
    return found;
  }
  /// From where to where a number is kept; without the key, and where a side has no limit, 0.
  std::pair<double, double> limits(const std::string &key) const {
    const nlohmann::json *found = find(key);
    if (!found)
      return {};
    // As transformers writes an infinity.
    static const nlohmann::json infinity{{"__float__", "Infinity"}};
    const auto fits = [](const nlohmann::json &value) {
      return value == infinity || (value.is_number() && value >= 0.0 && value <= 1e30);
    };
    if (!found->is_array() || found->size() != 2 || !std::ranges::all_of(*found, fits) ||
        (*found)[0] == infinity || ((*found)[1] != infinity && (*found)[1] <= (*found)[0]))
      refuse(key, *found, "two numbers from 0 on are expected, the second above the first");
    return {(*found)[0].get<double>(), (*found)[1] == infinity ? 0 : (*found)[1].get<double>()};
  }
  /// `count` numbers.
  std::vector<double> reals(const std::string &key, std::size_t count, double least,
                            double most) const {
    const nlohmann::json *found = find(key, false);
    const auto fits = [&](const nlohmann::json &value) {
      return value.is_number() && value >= least && value <= most;
    };
    if (!found->is_array() || found->size() != count || !std::ranges::all_of(*found, fits))
      refuse(key, *found,
             std::to_string(count) + " numbers from " + std::to_string(least) + " to " +
                 std::to_string(most) + " are expected");
    return found->get<std::vector<double>>();
  }
  /// Keys of parts that the model does not have.
  void ignore(std::initializer_list<const char *> keys) const {
    for (const char *key : keys)
      find(key);
  }
  /// Whole numbers, any number of them; none if the key is not there.
  std::vector<std::int64_t> wholes(const std::string &key, std::int64_t least,
                                   std::int64_t most) const {
    const nlohmann::json *found = find(key);
    if (!found)
      return {};
    const auto fits = [&](const nlohmann::json &value) {
      return value.is_number_integer() && value >= least && value <= most;
    };
    if (!found->is_array() || !std::ranges::all_of(*found, fits))
      refuse(key, *found,
             "whole numbers from " + std::to_string(least) + " to " + std::to_string(most) +
                 " are expected");
    return found->get<std::vector<std::int64_t>>();
  }
  /// Refuses a key with another value than the one that this program is made for, which is also
  /// that of a file without the key.
  void expect(const std::string &key, const nlohmann::json &value) const {
    if (const nlohmann::json *found = find(key); found && *found != value)
      refuse(key, *found, "this program runs models with " + value.dump());
  }
  /// Refuses a file with a key that was not asked for.
  void expectAllKnown() const {
    for (const auto &[key, value] : values_.items())
      if (!value.is_null() && !known_.contains(key) &&
          std::ranges::find(kNoMatter, key) == std::end(kNoMatter))
        refuse(key, value, "this program does not know the key");
  }
  [[noreturn]] void refuse(const std::string &key, const nlohmann::json &value,
                           const std::string &why) const {
    throw FileError(name_ + ": " + written(key) + " is " + value.dump() + "; " + why);
  }

private:
  /// JSON has no infinity. Python's json writes one as a word all the same, and newer transformers as
  /// an object, which the word becomes here.
  static std::string withoutInfinities(std::string_view text) {
    constexpr std::string_view word = "Infinity", object = R"({"__float__":"Infinity"})";
    std::string made;
    bool inString = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (inString && text[i] == '\\' && i + 1 < text.size()) {
        made += text[i++];
      } else if (text[i] == '"') {
        inString = !inString;
      } else if (!inString && text.substr(i).starts_with(word)) {
        made += object;
        i += word.size() - 1;
        continue;
      }
      made += text[i];
    }
    return made;
  }
  const nlohmann::json *find(const std::string &key, bool optional = true) const {
    const nlohmann::json *found = value(key);
    for (const OtherName &name : kOtherNames)
      if (name.key == key)
        if (const nlohmann::json *other = value(std::string(name.other))) {
          if (found && *found != *other)
            refuse(std::string(name.other), *other, key + " is " + found->dump());
          found = other;
        }
    if (!found && !optional)
      throw FileError(name_ + " has no key " + key);
    return found;
  }
  /// The name that the file has for a key.
  std::string written(const std::string &key) const {
    for (const OtherName &name : kOtherNames)
      if (name.key == key && !value(key) && value(std::string(name.other)))
        return std::string(name.other);
    return key;
  }
  const nlohmann::json *value(const std::string &key) const {
    known_.insert(key);
    const auto found = values_.find(key);
    return found != values_.end() && !found->is_null() ? &*found : nullptr;
  }

  nlohmann::json values_;
  std::string name_;
  mutable std::set<std::string> known_;
};

} // namespace decoder
