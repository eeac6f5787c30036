// Runs a language model from the files of Hugging Face's transformers, config.json and
// model.safetensors, with the kernels of this library. README.md has the commands; `decoder --help`
// lists the options.
#include "check.h"
#include "common/cli.h"

#include <regex>
#include <sstream>

using namespace decoder;

namespace {

struct Options {
  std::string model, check;
  std::vector<std::string> prompts;
  int device = 0, tokens = 16;
  EngineOptions engine;
};

void declare(CLI::App &app, Options &o) {
  const auto whole = [&](const char *name, int &value, int least, int most, const char *help) {
    app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
  };
  CLI::Option *model = app.add_option("--model", o.model, "the model's folder");
  app.add_option("--check", o.check,
                 "a model's folder with what transformers computed; compares and exits with 0 if "
                 "all is right")
      ->excludes(model);
  app.add_option("--prompt", o.prompts,
                 "tokens to go on with, as 3,14,15; several are several sequences")
      ->allow_extra_args(false)
      ->check(CLI::Validator(
          [](const std::string &text) {
            const bool right = std::regex_match(text, std::regex("[0-9]{1,9}(,[0-9]{1,9})*"));
            return right ? "" : text + " is no list of tokens such as 3,14,15";
          },
          ""));
  whole("--tokens", o.tokens, 1, 1 << 20, "tokens to add to each prompt");
  whole("--chunk", o.engine.prompt, 1, 1 << 16, "tokens of prompts that are taken together");
  whole("--expand-from", o.engine.expandFrom, 0, 1 << 20,
        "tokens of a prompt from which on latent attention makes keys and values of heads; 0: from "
        "where it is less work");
  app.add_option("--temperature", o.engine.sampling.temperature, "0: the most likely token")
      ->check(CLI::Range(0.0, 100.0));
  whole("--top-k", o.engine.sampling.topK, 1, 1 << 20,
        "tokens to choose from, if there is a temperature");
  app.add_option("--seed", o.engine.sampling.seed, "equal seeds give equal tokens");
  whole("--device", o.device, 0, 1023, "the number of the device");
}

std::vector<int> tokensOf(const std::string &prompt) {
  std::istringstream text(prompt);
  std::vector<int> tokens;
  for (std::string token; std::getline(text, token, ',');)
    tokens.push_back(std::stoi(token));
  return tokens;
}

/// Goes on with all prompts together, and prints a line of tokens for each.
void generate(const Options &options, Engine &engine, std::vector<std::vector<int>> texts) {
  std::vector<std::span<const int>> tokens(texts.begin(), texts.end());
  for (int step = 0; step < options.tokens; ++step) {
    engine.run(tokens);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      texts[i].push_back(engine.token(int(i)));
      tokens[i] = std::span(texts[i]).last(1);
    }
  }
  for (const std::vector<int> &text : texts) {
    for (int token : text)
      std::printf("%d ", token);
    std::puts("");
  }
}

int run(Options &options) {
  fx::Device(options.device).make_current();
  const bool checks = !options.check.empty();
  const std::string &folder = checks ? options.check : options.model;
  if (folder.empty() || checks == !options.prompts.empty())
    throw std::runtime_error("--check FOLDER, or --model FOLDER with a --prompt or more");
  const Config config = Config::read(folder + "/config.json");
  const SafeTensors weights = SafeTensors::readModel(folder);
  const Model model(config, weights);

  std::vector<Expected> expected;
  std::vector<std::vector<int>> prompts;
  std::size_t longest = 0;
  if (checks) {
    expected = readExpected(folder, model);
    for (const Expected &of : expected)
      longest = std::max(longest, of.prompt.size() + of.generated.size());
  } else {
    for (const std::string &prompt : options.prompts) {
      prompts.push_back(tokensOf(prompt));
      longest = std::max(longest, prompts.back().size() + std::size_t(options.tokens));
    }
  }
  if (longest > std::size_t(model.context))
    throw std::runtime_error("a sequence gets " + std::to_string(longest) +
                             " tokens; the model was made for " + std::to_string(model.context));
  options.engine.context = int(longest);
  options.engine.batch = int(checks ? expected.size() : prompts.size());
  samples::Plans plans;
  std::optional<Engine> made;
  try {
    made.emplace(model, plans, options.engine);
  } catch (const fx::Error &error) { // of a kernel, by its own names of sizes
    throw std::runtime_error(error.what() + ("\n" + folder) +
                             "/config.json, which the sizes are from, has " + config.sizes());
  }
  Engine &engine = *made;
  std::printf("%s on %s; %d layers, %zu KB on the device, a step is a graph of %zu kernels\n",
              std::string(model.row.type).c_str(), fx::Device::current().str().c_str(),
              int(model.layers), engine.memory() >> 10, engine.kernels());
  if (checks)
    return Checker(model, engine, expected).run() ? 0 : 1;
  generate(options, engine, std::move(prompts));
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  return samples::main(argc, argv, "decoder",
                       "Goes on with tokens by a language model in Hugging Face's files.", declare,
                       run);
}
