// ir_fuzz SECONDS SEED FOLDER: mutates the .mlir files under FOLDER, token by token, and runs each
// result. The current case is kept in ir_fuzz.last, so that a crash leaves its input behind.
// ir_fuzz corpus FOLDER OUT: writes the modules one by one, as libFuzzer's first inputs.
#include "ir_target.h"

#include <array>
#include <cctype>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace {

using Tokens = std::vector<std::string>;

/// Comments go; runs of letters or digits, blanks, and single characters are tokens.
Tokens tokenize(const std::string &text) {
  Tokens tokens;
  for (size_t i = 0; i < text.size();) {
    if (text.compare(i, 2, "//") == 0) {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    auto kind = [&](size_t at) {
      auto c = static_cast<unsigned char>(text[at]);
      return std::isdigit(c) ? 1 : std::isalpha(c) || c == '_' ? 2 : std::isspace(c) ? 3 : 0;
    };
    size_t end = i + 1;
    if (int k = kind(i))
      while (end < text.size() && kind(end) == k)
        ++end;
    tokens.push_back(text.substr(i, end - i));
    i = end;
  }
  return tokens;
}

/// The modules of a file, one per `// -----`.
void addSeeds(const std::filesystem::path &file, std::vector<Tokens> &seeds) {
  std::ifstream in(file);
  std::stringstream all;
  all << in.rdbuf();
  std::string text = all.str();
  for (size_t at = 0; at < text.size();) {
    size_t end = std::min(text.find("// -----", at), text.size());
    seeds.push_back(tokenize(text.substr(at, end - at)));
    at = end == text.size() ? end : text.find('\n', end);
    if (at == std::string::npos)
      break;
  }
}

std::vector<Tokens> seedsUnder(const char *folder) {
  std::vector<Tokens> seeds;
  for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().extension() == ".mlir")
      addSeeds(entry.path(), seeds);
  return seeds;
}

std::string join(const Tokens &tokens) {
  std::string text;
  for (const std::string &token : tokens)
    text += token;
  return text;
}

bool writeCorpus(const char *folder, const std::string &out) {
  size_t n = 0;
  bool good = true;
  for (const Tokens &seed : seedsUnder(folder)) {
    std::ofstream file(out + "/" + std::to_string(n++) + ".mlir", std::ios::binary);
    good &= static_cast<bool>((file << join(seed)).flush());
  }
  return good && n > 0;
}

class Mutator {
public:
  Mutator(const std::vector<Tokens> &seeds, unsigned seed) : seeds_(seeds), random_(seed) {}

  std::string next() {
    Tokens tokens = pick(seeds_);
    for (size_t n = 1 + below(4); n > 0 && !tokens.empty(); --n)
      mutate(tokens);
    return join(tokens);
  }

private:
  size_t below(size_t n) { return std::uniform_int_distribution<size_t>(0, n - 1)(random_); }
  template <class T> const typename T::value_type &pick(const T &from) {
    return from[below(from.size())];
  }

  void mutate(Tokens &tokens) {
    static const std::array<const char *, 22> kValues = {"0",
                                                         "1",
                                                         "-1",
                                                         "2",
                                                         "7",
                                                         "63",
                                                         "64",
                                                         "65",
                                                         "16",
                                                         "2147483648",
                                                         "9223372036854775807",
                                                         "-9223372036854775808",
                                                         "?",
                                                         "*",
                                                         "(4,8)",
                                                         "?{i64}",
                                                         "?{div=8}",
                                                         "1E0",
                                                         "2E1E0",
                                                         "()",
                                                         "((2,2),3)",
                                                         ""};
    size_t at = below(tokens.size());
    switch (below(6)) {
    case 0:
    case 1: // a number, everywhere in the module, so that types stay in step
    {
      std::string old = tokens[at];
      if (!std::isdigit(static_cast<unsigned char>(old[0])))
        return;
      const std::string value = pick(kValues);
      for (std::string &token : tokens)
        if (token == old)
          token = value;
      return;
    }
    case 2:
      tokens[at] = pick(kValues);
      return;
    case 3:
      tokens[at] = pick(tokens);
      return;
    case 4:
      tokens.erase(tokens.begin() + static_cast<long>(at));
      return;
    default:
      if (const Tokens &other = pick(seeds_); !other.empty())
        tokens.insert(tokens.begin() + static_cast<long>(at), pick(other));
    }
  }

  const std::vector<Tokens> &seeds_;
  std::mt19937 random_;
};

} // namespace

int main(int argc, char **argv) {
  if (argc == 2) { // one kept input
    std::ifstream in(argv[1]);
    std::stringstream all;
    all << in.rdbuf();
    flydsl::fuzz::runIR(all.str());
    return 0;
  }
  if (argc == 4 && std::string(argv[1]) == "corpus")
    return writeCorpus(argv[2], argv[3]) ? 0 : 1;
  if (argc != 4) {
    std::fprintf(stderr,
                 "usage: ir_fuzz SECONDS SEED FOLDER | ir_fuzz corpus FOLDER OUT | ir_fuzz FILE\n");
    return 2;
  }
  const std::vector<Tokens> seeds = seedsUnder(argv[3]);
  if (seeds.empty()) {
    std::fprintf(stderr, "no .mlir files under %s\n", argv[3]);
    return 2;
  }
  Mutator mutator(seeds, static_cast<unsigned>(std::atoi(argv[2])));
  auto end = std::chrono::steady_clock::now() + std::chrono::seconds(std::atoi(argv[1]));
  size_t cases = 0;
  for (; std::chrono::steady_clock::now() < end; ++cases) {
    std::string text = mutator.next();
    std::ofstream("ir_fuzz.last", std::ios::trunc) << text;
    flydsl::fuzz::runIR(text);
  }
  std::filesystem::remove("ir_fuzz.last");
  std::printf("%zu cases from %zu seeds\n", cases, seeds.size());
  return 0;
}
