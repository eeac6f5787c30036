// A winner is one JSON text, in a file or in an entry of the fleet's cache. Whatever
// it says is checked before it is used.
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

/// What a file or an entry of a winner holds.
std::string textOf(const Json &identity, const Config &winner, double milliseconds) {
  const Json json = {
      {"identity", identity}, {"config", toJson(winner)}, {"milliseconds", milliseconds}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The key of a winner in the fleet's cache.
cache::Key keyOf(const Json &identity) {
  return cache::KeyBuilder()
      .add("winner", identity.dump(-1, ' ', false, Json::error_handler_t::replace))
      .finish();
}

cache::Blob blobOf(std::string_view text) { return {{text.begin(), text.end()}, {}}; }

/// More bytes than any winner has.
constexpr std::uint64_t kMaxWinnerBytes = 1 << 20;

} // namespace

/// Throws an exception for what is no winner for `wanted` among `configs`.
static Config winnerIn(const Json &json, const Json &wanted, const std::vector<Config> &configs) {
  if (json.at("identity") != wanted)
    throw Error("it is for something else");
  Config config = fromJson(json.at("config"));
  if (std::find(configs.begin(), configs.end(), config) == configs.end())
    throw Error("its configuration " + config.str() + " is none of those to choose from");
  return config;
}

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
    return winnerIn(Json::parse(*file.bytes), wanted, configs);
  } catch (const std::exception &error) {
    support::log().warn("autotune {}: {} is not used: {}", support::printable(identity.name), path,
                        support::printable(error.what()));
    return std::nullopt;
  }
}

std::string writeWinner(const WinnerDirectory &directory, const WinnerIdentity &identity,
                        const Config &winner, double milliseconds) {
  const Json wanted = identityJson(identity);
  if (std::string problem = support::distrust(directory.path, directory.trust); !problem.empty())
    return problem;
  support::WriteOptions options = support::ownOptions(directory.trust);
  options.ours = !directory.trust.anybody;
  const std::string path = pathOf(directory, wanted, identity.name);
  const std::string problem =
      support::writeFile(path, textOf(wanted, winner, milliseconds), options);
  return problem.empty() ? problem : path + ": " + problem;
}

/// Takes a winner of the fleet's into `winner`, if it is one for `identity`.
static cache::RemoteTier::Accept acceptInto(std::optional<Config> &winner, const Json &identity,
                                            const std::vector<Config> &configs) {
  return [&](const cache::Blob &blob) -> std::string {
    try {
      if (blob.metadata.size() > kMaxWinnerBytes)
        throw Error("it is longer than any winner");
      winner = winnerIn(Json::parse(blob.metadata), identity, configs);
      return {};
    } catch (const std::exception &error) {
      return error.what();
    }
  };
}

std::optional<Config> loadSharedWinner(cache::RemoteTier &fleet, const WinnerIdentity &identity,
                                       const std::vector<Config> &configs) {
  const Json wanted = identityJson(identity);
  std::optional<Config> winner;
  (void)fleet.load(cache::RemoteTier::Kind::winner, keyOf(wanted),
                   acceptInto(winner, wanted, configs));
  return winner;
}

std::optional<Config> searchOnce(cache::RemoteTier &fleet, const WinnerIdentity &identity,
                                 const std::vector<Config> &configs,
                                 const std::function<AutotuneResult()> &search) {
  const Json wanted = identityJson(identity);
  std::optional<Config> winner;
  const auto make = [&] {
    const AutotuneResult found = search();
    return blobOf(textOf(wanted, found.config, found.milliseconds));
  };
  bool made = false;
  (void)fleet.loadOrMake(cache::RemoteTier::Kind::winner, keyOf(wanted),
                         acceptInto(winner, wanted, configs), make, made);
  return made ? std::nullopt : winner;
}

void storeSharedWinner(cache::RemoteTier &fleet, const WinnerIdentity &identity,
                       const AutotuneResult &found) {
  const Json wanted = identityJson(identity);
  fleet.store(cache::RemoteTier::Kind::winner, keyOf(wanted),
              blobOf(textOf(wanted, found.config, found.milliseconds)));
}

} // namespace flydsl::jit
