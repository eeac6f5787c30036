// Parts that the samples share besides the library: integer options `--name value`, and errors as a
// message and an exit status.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <initializer_list>
#include <map>
#include <stdexcept>
#include <string>

namespace samples {

class Options {
public:
  Options(int argc, char **argv, std::initializer_list<const char *> known) {
    for (int i = 1; i < argc; i += 2) {
      const std::string name = argv[i];
      bool found = false;
      for (const char *option : known)
        found |= name == std::string("--") + option;
      if (!found)
        throw std::invalid_argument("unknown option " + name + list(known));
      if (i + 1 == argc)
        throw std::invalid_argument(name + " needs a value");
      char *end = nullptr;
      const long long value = std::strtoll(argv[i + 1], &end, 10);
      if (*end || value < 1)
        throw std::invalid_argument(name + " " + argv[i + 1] + ": a positive integer is needed");
      values_[name.substr(2)] = value;
    }
  }
  std::int64_t get(const std::string &name, std::int64_t otherwise) const {
    auto found = values_.find(name);
    return found == values_.end() ? otherwise : found->second;
  }

private:
  static std::string list(std::initializer_list<const char *> known) {
    std::string text = known.size() ? "; the options are" : "; there are no options";
    for (const char *option : known)
      text += std::string(option == *known.begin() ? " --" : ", --") + option + " N";
    return text;
  }
  std::map<std::string, std::int64_t> values_;
};

/// Runs a sample. Returns the sample's own exit status, or 2 after an error's message.
template <class Run>
int main(int argc, char **argv, std::initializer_list<const char *> known, Run run) {
  try {
    return run(Options(argc, argv, known));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "%s: %s\n", argv[0], error.what());
    return 2;
  }
}

} // namespace samples
