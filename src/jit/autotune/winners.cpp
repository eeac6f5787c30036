#include "jit/autotune/winners.h"

#include "support/log.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <xxhash.h>

namespace flydsl::jit {
namespace {

using Json = nlohmann::ordered_json;

Json toJson(const Config &config) {
  Json json = Json::object();
  for (const Config::Entry &entry : config.entries())
    std::visit([&](const auto &value) { json[entry.name] = value; }, entry.value);
  return json;
}

/// Throws Error for a value that no configuration has.
Config fromJson(const Json &json) {
  std::vector<Config::Entry> entries;
  for (const auto &[name, value] : json.items()) {
    if (value.is_boolean())
      entries.emplace_back(name, Config::Value(value.get<bool>()));
    else if (value.is_number_integer())
      entries.emplace_back(name, Config::Value(value.get<std::int64_t>()));
    else if (value.is_number())
      entries.emplace_back(name, Config::Value(value.get<double>()));
    else if (value.is_string())
      entries.emplace_back(name, Config::Value(value.get<std::string>()));
    else
      throw Error("the value of " + name + " is neither number, flag nor text");
  }
  return Config(std::move(entries));
}

Json identityJson(const WinnerIdentity &identity) {
  Json json = {{"name", identity.name},
               {"key", toJson(identity.key)},
               {"device", identity.deviceName},
               {"arch", identity.arch},
               {"compute_units", identity.computeUnits}};
  if (!identity.library.empty())
    json["library"] = identity.library;
  return json;
}

/// A readable start and a digest of the whole identity.
std::string fileName(const Json &identity, const std::string &name) {
  std::string readable;
  for (char c : name.substr(0, 40))
    readable += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  const std::string text = identity.dump();
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return readable + "-" + digest + ".json";
}

} // namespace

std::optional<Config> readWinner(const std::string &directory, const WinnerIdentity &identity,
                                 const std::vector<Config> &configs) {
  const Json wanted = identityJson(identity);
  const std::filesystem::path path =
      std::filesystem::path(directory) / fileName(wanted, identity.name);
  std::ifstream file(path);
  if (!file)
    return std::nullopt;
  try {
    const Json json = Json::parse(file);
    if (json.at("identity") != wanted)
      throw Error("it is for something else");
    Config config = fromJson(json.at("config"));
    if (std::find(configs.begin(), configs.end(), config) == configs.end())
      throw Error("its configuration " + config.str() + " is none of those to choose from");
    return config;
  } catch (const std::exception &error) {
    support::log().warn("autotune {}: {} is not used: {}", identity.name, path.string(),
                        error.what());
    return std::nullopt;
  }
}

std::string writeWinner(const std::string &directory, const WinnerIdentity &identity,
                        const Config &winner, double milliseconds) {
  const Json wanted = identityJson(identity);
  const Json json = {
      {"identity", wanted}, {"config", toJson(winner)}, {"milliseconds", milliseconds}};
  std::error_code code;
  std::filesystem::create_directories(directory, code);
  const std::filesystem::path path =
      std::filesystem::path(directory) / fileName(wanted, identity.name);
  const std::filesystem::path beside = path.string() + "." + std::to_string(std::random_device()());
  {
    std::ofstream file(beside);
    file << json.dump(2) << "\n";
    file.flush();
    if (!file)
      return "can't write " + beside.string();
  }
  std::filesystem::rename(beside, path, code);
  if (code) {
    std::filesystem::remove(beside, code);
    return "can't rename to " + path.string();
  }
  return {};
}

} // namespace flydsl::jit
