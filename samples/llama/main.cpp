// Runs a language model from a GGUF file with the kernels of this library alone. README.md says how
// to get a model; `llama --help` lists the options.
#include "check.h"
#include "engine.h"
#include "make_model.h"
#include "sampling.h"
#include "tokenizer.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <fstream>

namespace fx = flydsl;
namespace fk = flydsl::kernels;
using namespace llama;

namespace {

struct Options {
  std::string model, make, format = "Q4_1", plans, prompts;
  std::vector<std::string> texts;
  int device = 0, tokens = 64;
  bool check = false, chat = false, quiet = false;
  EngineOptions engine;
  Sampling sampling;
};

void printHelp() {
  std::printf("llama --model FILE [options]\n"
              "  --prompt TEXT        a text to go on with; several are several sequences\n"
              "  --prompts FILE       a text in each line\n"
              "  --chat               each text is a question to a model of the form <|im_start|>\n"
              "  --tokens N           tokens to add to each text, at most (64)\n"
              "  --batch N            sequences at a time (1)\n"
              "  --context N          tokens of a sequence, at most (256)\n"
              "  --chunk N            tokens of a text that are taken together (64)\n"
              "  --temperature X      0: the most likely token (0); --top-k N (40), --top-p X "
              "(0.95), --seed N\n"
              "  --device N           the device (0)\n"
              "  --check              compares layers and tokens with double precision\n"
              "  --quiet              prints no text\n"
              "  %s FILE        %s\n"
              "llama --make-model FILE --format NAME   writes a small random model\n",
              Plans::compiles ? "--export" : "--aot   ",
              Plans::compiles ? "writes the compiled plans, for llama-aot"
                              : "the plans, which llama --export wrote");
}

Options parse(int argc, char **argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    const auto text = [&]() -> std::string {
      if (i + 1 == argc)
        throw std::invalid_argument(name + " needs a value");
      return argv[++i];
    };
    const auto number = [&](double least, double most) {
      const std::string value = text();
      char *end = nullptr;
      const double x = std::strtod(value.c_str(), &end);
      if (value.empty() || *end || !(x >= least && x <= most))
        throw std::invalid_argument(name + " " + value + ": a number from " +
                                    std::to_string(least) + " to " + std::to_string(most));
      return x;
    };
    const auto whole = [&](int least, int most) { return int(number(least, most)); };
    if (name == "--model")
      options.model = text();
    else if (name == "--make-model")
      options.make = text();
    else if (name == "--format")
      options.format = text();
    else if (name == (Plans::compiles ? "--export" : "--aot"))
      options.plans = text();
    else if (name == "--prompt")
      options.texts.push_back(text());
    else if (name == "--prompts")
      options.prompts = text();
    else if (name == "--chat")
      options.chat = true;
    else if (name == "--check")
      options.check = true;
    else if (name == "--quiet")
      options.quiet = true;
    else if (name == "--tokens")
      options.tokens = whole(1, 1 << 20);
    else if (name == "--batch")
      options.engine.batch = whole(1, 256);
    else if (name == "--context")
      options.engine.context = whole(16, 1 << 20);
    else if (name == "--chunk")
      options.engine.prompt = whole(1, 4096);
    else if (name == "--temperature")
      options.sampling.temperature = number(0, 100);
    else if (name == "--top-k")
      options.sampling.topK = whole(1, 1 << 20);
    else if (name == "--top-p")
      options.sampling.topP = number(0, 1);
    else if (name == "--seed")
      options.sampling.seed = std::uint64_t(number(0, 1e15));
    else if (name == "--device")
      options.device = whole(0, 1023);
    else
      throw std::invalid_argument("unknown option " + name + "; --help lists them");
  }
  if (!options.prompts.empty()) {
    std::ifstream file(options.prompts);
    if (!file)
      throw std::invalid_argument(options.prompts + ": can't be opened");
    for (std::string line; std::getline(file, line);)
      options.texts.push_back(line);
  }
  if (options.texts.empty())
    options.texts.push_back("The capital of France is");
  return options;
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Figures {
  double promptSeconds = 0, stepSeconds = 0;
  double hostSeconds = 1e9; ///< of the step that was given away the fastest
  std::size_t promptTokens = 0, steps = 0, tokens = 0;
};

class Program {
public:
  Program(const Options &options, const Tokenizer &tokenizer, Engine &engine)
      : options_(options), tokenizer_(tokenizer), engine_(engine) {}

  /// Goes on with all texts; as many at a time as the engine has places, and the next one begins
  /// where one has ended.
  void run(std::vector<Text> &texts) {
    std::size_t next = 0, active = 0;
    std::vector<Text *> at(std::size_t(options_.engine.batch));
    std::vector<int> input(at.size());
    for (;;) {
      while (next < texts.size() && active < at.size()) {
        Text &text = texts[next++];
        if (text.ended)
          continue;
        const double start = now();
        text.sequence = engine_.begin(text.tokens);
        figures_.promptSeconds += now() - start;
        figures_.promptTokens += text.tokens.size();
        at[std::size_t(text.sequence)] = &text;
        ++active;
        take(text, at, active);
      }
      if (!active)
        return;
      for (std::size_t i = 0; i < at.size(); ++i)
        input[i] = at[i] ? at[i]->tokens.back() : 0;
      const double start = now();
      engine_.step(input);
      figures_.stepSeconds += now() - start;
      figures_.hostSeconds = std::min(figures_.hostSeconds, engine_.hostSeconds());
      ++figures_.steps;
      for (Text *text : std::vector(at))
        if (text)
          take(*text, at, active);
    }
  }
  const Figures &figures() const { return figures_; }

private:
  /// Chooses the next token of a text, and ends it if that is the last.
  void take(Text &text, std::vector<Text *> &at, std::size_t &active) {
    const std::uint64_t draw = text.tokens.size() << 16 | std::uint64_t(text.sequence);
    const int token = choose(options_.sampling, engine_.logits(text.sequence), draw);
    text.tokens.push_back(token);
    ++figures_.tokens;
    if (!options_.quiet && options_.engine.batch == 1) {
      std::fputs(tokenizer_.bytes(token).c_str(), stdout);
      std::fflush(stdout);
    }
    if (token != tokenizer_.end() &&
        text.tokens.size() - text.prompt < std::size_t(options_.tokens) &&
        text.tokens.size() <= std::size_t(options_.engine.context))
      return;
    engine_.end(text.sequence);
    at[std::size_t(text.sequence)] = nullptr;
    --active;
    text.ended = true;
  }

  const Options &options_;
  const Tokenizer &tokenizer_;
  Engine &engine_;
  Figures figures_;
};

int run(const Options &options) {
  if (!options.make.empty()) {
    for (std::uint32_t type = 0; type < 64; ++type)
      if (const auto format = fk::ggml_format(type);
          format && fk::ggml_block(*format).name == options.format) {
        makeModel(options.make, *format);
        return 0;
      }
    throw std::invalid_argument("--format " + options.format + ": unknown");
  }
  fx::Device(options.device).make_current();
  const Gguf file = Gguf::read(options.model);
  const Model model(file);
  const Tokenizer tokenizer(file);
  if (tokenizer.size() > model.vocabulary)
    throw FileError("the tokenizer has more tokens than the model");
  const double start = now();
  Plans plans(options.plans);
  Engine engine(model, plans, options.engine);
  std::printf("%s; %d layers, %zu MB on the device; %d plans, ready in %.1f s\n",
              fx::Device::current().str().c_str(), int(model.layers), engine.memory() >> 20,
              plans.count(), now() - start);

  std::vector<Text> texts;
  for (const std::string &words : options.texts) {
    const std::vector<int> tokens = tokenizer.encode(
        options.chat
            ? "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
              "Hugging Face<|im_end|>\n<|im_start|>user\n" +
                  words + "<|im_end|>\n<|im_start|>assistant\n"
            : words);
    texts.push_back({tokens, tokens.size()});
    if (!options.quiet && options.engine.batch == 1 && options.texts.size() == 1)
      std::printf("%s", words.c_str());
  }
  Program program(options, tokenizer, engine);
  program.run(texts);
  if (!options.quiet && options.engine.batch > 1)
    for (const Text &text : texts) {
      for (int token : text.tokens)
        std::fputs(tokenizer.bytes(token).c_str(), stdout);
      std::puts("");
    }
  const Figures &figures = program.figures();
  std::printf(
      "\n%zu tokens of prompts in %.2f s; %zu steps, %zu tokens, %.3f s a step (%.1f tokens/s): "
      "%zu kernels as a graph, which the host gave away in %.3f ms at best\n",
      figures.promptTokens, figures.promptSeconds, figures.steps, figures.tokens,
      figures.stepSeconds / double(std::max<std::size_t>(figures.steps, 1)),
      double(figures.tokens) / (figures.stepSeconds + figures.promptSeconds), engine.kernels(),
      figures.steps ? 1000 * figures.hostSeconds : 0.0);
  if (!options.check)
    return 0;

  Checker checker(model, engine);
  checker.layers(texts[0].tokens, options.engine.prompt);
  std::vector<std::size_t> checked;
  for (const Text &text : texts)
    checked.push_back(text.prompt);
  for (bool again = true; again;) {
    again = false;
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (checked[i] < texts[i].tokens.size()) {
        Text &text = texts[i];
        const bool cut = checker.text(text, checked[i]);
        checked[i] = text.tokens.size();
        text.ended = !cut || checked[i] - text.prompt >= std::size_t(options.tokens) ||
                     text.tokens.back() == tokenizer.end();
        again |= !text.ended;
      }
    if (again)
      program.run(texts);
  }
  return checker.report() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  try {
    if (argc < 2 || !std::strcmp(argv[1], "--help")) {
      printHelp();
      return argc < 2 ? 2 : 0;
    }
    return run(parse(argc, argv));
  } catch (const std::exception &error) {
    std::fprintf(stderr, "llama: %s\n", error.what());
    return 2;
  }
}
