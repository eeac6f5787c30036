// Configurations: named values that are read by their type and printed as text.
#include <flydsl/detail/dtype_names.h>
#include <flydsl/host/autotune.h>

#include <charconv>

FLYDSL_NAMESPACE_BEGIN

const Config::Value &Config::find(const std::string &name) const {
  for (const Entry &entry : entries_)
    if (entry.name == name)
      return entry.value;
  throw Error("no value " + name + " in the configuration " + str());
}

template <class T>
static const T &typed(const Config::Value &value, const std::string &name, const char *type) {
  if (const T *held = std::get_if<T>(&value))
    return *held;
  throw Error("the value " + name + " of a configuration is no " + type);
}

std::int64_t Config::integer(const std::string &name) const {
  return typed<std::int64_t>(find(name), name, "integer");
}
bool Config::flag(const std::string &name) const { return typed<bool>(find(name), name, "flag"); }
double Config::real(const std::string &name) const {
  return typed<double>(find(name), name, "real number");
}
const std::string &Config::text(const std::string &name) const {
  return typed<std::string>(find(name), name, "text");
}

/// The shortest text from which the same number is read: an eps of 1e-7 is not 0.000000.
static std::string shortest(double value) {
  char digits[32]; // the longest of them has 24
  return {digits, std::to_chars(digits, digits + sizeof digits, value).ptr};
}

std::string Config::str() const {
  std::string all;
  for (const Entry &entry : entries_) {
    all += (all.empty() ? "" : " ") + entry.name + "=";
    if (const auto *i = std::get_if<std::int64_t>(&entry.value))
      all += std::to_string(*i);
    else if (const auto *b = std::get_if<bool>(&entry.value))
      all += *b ? "true" : "false";
    else if (const auto *d = std::get_if<double>(&entry.value))
      all += shortest(*d);
    else
      all += std::get<std::string>(entry.value);
  }
  return all;
}

namespace detail {

void failField(const std::string &name, const Config &config, const char *expected) {
  throw Error("the value " + name + " of the configuration " + config.str() + " is not " +
              expected);
}

DType dtypeNamed(const std::string &name, const Config &config) {
  const std::string &text = config.text(name);
  if (const std::optional<DType> type = dtypeCalled(text))
    return *type;
  failField(name, config, "the name of a dtype, such as f16");
}

void expectAllTaken(const Config &config, std::size_t taken) {
  if (config.entries().size() != taken)
    throw Error("the configuration " + config.str() + " has " +
                std::to_string(config.entries().size()) + " values, where the struct has " +
                std::to_string(taken) + " fields");
}

} // namespace detail

FLYDSL_NAMESPACE_END
