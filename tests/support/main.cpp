// The entry point that all Catch2 programs share; Catch2's implementation is compiled here once.
// TEST_PART=I/N runs of the cases that the command line chooses each N-th, from the I-th on (0 is the first).
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

struct Part {
  unsigned index = 0, count = 0;
};

bool parsePart(std::string_view text, Part &part) {
  const char *end = text.data() + text.size();
  auto index = std::from_chars(text.data(), end, part.index);
  if (index.ec != std::errc() || index.ptr == end || *index.ptr != '/')
    return false;
  auto count = std::from_chars(index.ptr + 1, end, part.count);
  return count.ec == std::errc() && count.ptr == end && part.index < part.count;
}

/// A name as Catch2's command line takes it, whatever its characters.
std::string quoted(const std::string &name) {
  std::string text = "\"";
  for (char c : name) {
    if (c == '"' || c == '\\' || c == ',') // a comma ends a name even between quotes
      text += '\\';
    text += c;
  }
  return text + "\",";
}

} // namespace

int main(int argc, char **argv) {
  Catch::Session session;
  if (int status = session.applyCommandLine(argc, argv))
    return status;
  const char *text = std::getenv("TEST_PART");
  if (!text)
    return session.run();
  Part part;
  if (!parsePart(text, part)) {
    std::fprintf(stderr, "TEST_PART is %s; it has to be I/N with I below N\n", text);
    return 2;
  }
  std::vector<std::string> names;
  unsigned place = 0;
  const Catch::Config &config = session.config();
  for (const Catch::TestCase &testCase :
       Catch::filterTests(Catch::getAllTestCasesSorted(config), config.testSpec(), config))
    if (place++ % part.count == part.index)
      names.push_back(quoted(testCase.name));
  if (names.empty()) {
    std::printf("none of the %u chosen cases is in part %s\n", place, text);
    return 0;
  }
  Catch::ConfigData chosen = session.configData();
  chosen.testsOrTags = names;
  session.useConfigData(chosen);
  return session.run();
}
