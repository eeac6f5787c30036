#include "text/fields.h"

#include <flydsl/detail/dtype_names.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <sstream>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::text {
namespace {

/// The text, which names a type if the field's default does.
std::string typeOr(const Config::Entry &field, const std::string &old, const std::string &text) {
  if (flydsl::detail::dtypeCalled(text) || !flydsl::detail::dtypeCalled(old))
    return text;
  std::string names;
  for (const DType type : flydsl::detail::kAllDTypes)
    names += (names.empty() ? "" : ", ") + std::string(type.name());
  throw Error(field.name + "=" + text + ": expected one of " + names);
}

/// A value in the type that the field's default has.
Config::Value valueOf(const Config::Entry &field, const Enumerations &enumerations,
                      const std::string &text) {
  if (const auto found = enumerations.find(field.name); found != enumerations.end())
    return enumeratorNamed(field.name, found->second, text);
  return std::visit(
      [&]<class T>([[maybe_unused]] const T &old) -> Config::Value {
        if constexpr (std::is_same_v<T, bool>) {
          if (text != "true" && text != "false")
            throw Error(field.name + "=" + text + ": true or false is expected");
          return text == "true";
        } else if constexpr (std::is_same_v<T, double>) {
          char *end = nullptr;
          const double value = std::strtod(text.c_str(), &end);
          if (text.empty() || *end)
            throw Error(field.name + "=" + text + ": a number is expected");
          return value;
        } else if constexpr (std::is_same_v<T, std::int64_t>) {
          return numberOf(field.name, text);
        } else {
          return typeOr(field, old, text);
        }
      },
      field.value);
}

} // namespace

std::int64_t numberOf(const std::string &field, const std::string &text) {
  char *end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (text.empty() || *end)
    throw Error(field + "=" + text + ": a number is expected");
  if (errno == ERANGE)
    throw Error(field + "=" + text + ": a number of 64 bits is expected");
  return value;
}

Config changed(const Config &config, const Enumerations &enumerations,
               std::span<const std::string> words) {
  std::vector<Config::Entry> entries = config.entries();
  for (const std::string &word : words) {
    const std::size_t equal = word.find('=');
    const std::string name = word.substr(0, equal);
    const auto field = std::find_if(entries.begin(), entries.end(),
                                    [&](const auto &entry) { return entry.name == name; });
    if (equal == std::string::npos || field == entries.end())
      throw Error(word + ": expected FIELD=VALUE, with a field of " + shown(config, enumerations));
    field->value = valueOf(*field, enumerations, word.substr(equal + 1));
  }
  return Config(std::move(entries));
}

std::vector<std::string> wordsOf(const std::string &text) {
  std::vector<std::string> words;
  std::istringstream parts(text);
  for (std::string word; parts >> word;)
    words.push_back(word);
  return words;
}

} // namespace kernels::text
FLYDSL_NAMESPACE_END
