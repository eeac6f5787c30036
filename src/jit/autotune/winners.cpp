// A winner is one JSON file. Whatever it says is checked before it is used.
#include "jit/autotune/winners.h"

#include "support/file.h"
#include "support/log.h"
#include "support/text.h"

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
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
std::string pathOf(const WinnerDirectory &directory, const Json &identity,
                   const std::string &name) {
  std::string readable;
  for (char c : name.substr(0, 40))
    readable += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  const std::string text = identity.dump(-1, ' ', false, Json::error_handler_t::replace);
  char digest[17];
  std::snprintf(digest, sizeof digest, "%016llx",
                static_cast<unsigned long long>(XXH3_64bits(text.data(), text.size())));
  return directory.path + "/" + readable + "-" + digest + ".json";
}

/// More bytes than any winner has.
constexpr std::uint64_t kMaxWinnerBytes = 1 << 20;

} // namespace

std::optional<Config> readWinner(const WinnerDirectory &directory, const WinnerIdentity &identity,
                                 const std::vector<Config> &configs) {
  const Json wanted = identityJson(identity);
  const std::string path = pathOf(directory, wanted, identity.name);
  try {
    if (std::string problem = support::distrust(directory.path, directory.trust); !problem.empty())
      throw Error(problem);
    support::FileContents file = support::readAll(path, kMaxWinnerBytes, directory.trust);
    if (file.absent)
      return std::nullopt;
    if (!file.bytes)
      throw Error(file.problem);
    const Json json = Json::parse(*file.bytes);
    if (json.at("identity") != wanted)
      throw Error("it is for something else");
    Config config = fromJson(json.at("config"));
    if (std::find(configs.begin(), configs.end(), config) == configs.end())
      throw Error("its configuration " + config.str() + " is none of those to choose from");
    return config;
  } catch (const std::exception &error) {
    support::log().warn("autotune {}: {} is not used: {}", support::printable(identity.name), path,
                        support::printable(error.what()));
    return std::nullopt;
  }
}

std::string writeWinner(const WinnerDirectory &directory, const WinnerIdentity &identity,
                        const Config &winner, double milliseconds) {
  const Json wanted = identityJson(identity);
  const Json json = {
      {"identity", wanted}, {"config", toJson(winner)}, {"milliseconds", milliseconds}};
  if (std::string problem = support::distrust(directory.path, directory.trust); !problem.empty())
    return problem;
  support::WriteOptions options = support::ownOptions(directory.trust);
  options.ours = !directory.trust.anybody;
  const std::string path = pathOf(directory, wanted, identity.name);
  const std::string problem = support::writeFile(
      path, json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n", options);
  return problem.empty() ? problem : path + ": " + problem;
}

} // namespace flydsl::jit
