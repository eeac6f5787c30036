// Runs a language model from a GGUF file with the kernels of this library alone. README.md says how
// to get a model; `llama --help` lists the options.
#include "check.h"
#include "common/cli.h"
#include "engines.h"
#include "tokenizer.h"

#include <chrono>
#include <cstdio>
#include <fstream>

using namespace llama;

namespace {

struct Options {
  std::string model, plans, prompts;
  std::vector<std::string> texts;
  int device = 0, devices = 1, tokens = 64;
  bool check = false, chat = false, quiet = false;
  EngineOptions engine;
  bool streams() const { return !quiet && engine.batch == 1; }
};

void declare(CLI::App &app, Options &o) {
  const auto whole = [&](const char *name, int &value, int least, int most, const char *help) {
    app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str();
  };
  app.add_option("--model", o.model, "the model's file")->required();
  app.add_option("--prompt", o.texts, "a text to go on with; several are several sequences")
      ->allow_extra_args(false);
  app.add_option("--prompts", o.prompts, "a file with a text in each line");
  app.add_flag("--chat", o.chat, "each text is a question to a model of the form <|im_start|>");
  whole("--tokens", o.tokens, 1, 1 << 20, "tokens to add to each text, at most");
  whole("--batch", o.engine.batch, 1, 256, "sequences at a time");
  whole("--context", o.engine.context, 16, 1 << 20, "tokens of a sequence, at most");
  whole("--chunk", o.engine.prompt, 1, 4096, "tokens of a text that are taken together");
  app.add_option("--temperature", o.engine.sampling.temperature, "0: the most likely token")
      ->check(CLI::Range(0.0, 100.0));
  whole("--top-k", o.engine.sampling.topK, 1, 1 << 20, "tokens to choose from, if there is a temperature");
  app.add_option("--top-p", o.engine.sampling.topP, "the fewest of them that together are so likely")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  app.add_option("--seed", o.engine.sampling.seed, "equal seeds give equal texts");
  whole("--device", o.device, 0, 1023, "the number of the device, or of the first one");
  app.add_option("--tp", o.devices, "devices that share each layer")
      ->check(CLI::IsMember({1, 2, 4, 8}))
      ->capture_default_str();
  app.add_flag("--check", o.check, "compares layers and tokens with double precision");
  app.add_flag("--quiet", o.quiet, "prints no text");
  if (Plans::kCompiles)
    app.add_option("--export", o.plans, "writes the compiled plans to a file, for llama-aot");
  else
    app.add_option("--aot", o.plans, "the plans, which llama --export wrote")->required();
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Goes on with texts, and takes the time.
class Program {
public:
  Program(const Options &options, const Tokenizer &tokenizer, Engines &engines)
      : options_(options), tokenizer_(tokenizer), engines_(engines),
        at_(std::size_t(options.engine.batch)) {}

  /// As many texts at a time as the engine has places; the next one begins where one has ended.
  void run(std::vector<Text> &texts) {
    std::vector<int> input(at_.size());
    for (std::size_t next = 0;;) {
      for (; next < texts.size() && active_ < at_.size(); ++next)
        if (!texts[next].ended)
          begin(texts[next]);
      if (!active_)
        return;
      for (std::size_t i = 0; i < at_.size(); ++i)
        input[i] = at_[i] ? at_[i]->tokens.back() : 0;
      const double start = now();
      engines_.step(input);
      stepSeconds_ += now() - start;
      hostSeconds_ = std::min(hostSeconds_, engines_.first().hostSeconds());
      ++steps_;
      for (std::size_t i = 0; i < at_.size(); ++i)
        if (at_[i])
          take(int(i));
    }
  }
  /// Compares what was made with double precision. Where a text is cut after a token of the
  /// reference's, the engine goes on from there.
  bool check(const Model &model, std::vector<Text> &texts) {
    Checker checker(model, engines_);
    checker.layers(texts[0].tokens, options_.engine.prompt);
    for (bool again = true; again; run(texts)) {
      again = false;
      for (Text &text : texts)
        if (text.checked < text.tokens.size()) {
          text.ended = !checker.text(text) || isWhole(text);
          again |= !text.ended;
        }
    }
    return checker.report();
  }
  void report() const {
    std::printf("\n%zu tokens of prompts in %.2f s; %zu steps, %zu tokens, %.3f s a step (%.1f "
                "tokens/s): %zu kernels as a graph, which the host gave away in %.3f ms at best\n",
                promptTokens_, promptSeconds_, steps_, tokens_,
                stepSeconds_ / double(std::max<std::size_t>(steps_, 1)),
                double(tokens_) / (stepSeconds_ + promptSeconds_), engines_.first().kernels(),
                steps_ ? 1000 * hostSeconds_ : 0.0);
  }

private:
  bool isWhole(const Text &text) const {
    return text.tokens.back() == tokenizer_.end() ||
           text.tokens.size() - text.prompt >= std::size_t(options_.tokens) ||
           text.tokens.size() > std::size_t(options_.engine.context);
  }
  void begin(Text &text) {
    const double start = now();
    const int sequence = engines_.begin(text.tokens);
    promptSeconds_ += now() - start;
    promptTokens_ += text.tokens.size();
    at_[std::size_t(sequence)] = &text;
    ++active_;
    take(sequence);
  }
  /// Chooses the next token of a text, and ends it if that is the last.
  void take(int sequence) {
    Text &text = *at_[std::size_t(sequence)];
    text.tokens.push_back(engines_.token(sequence));
    ++tokens_;
    if (options_.streams()) {
      std::fputs(tokenizer_.bytes(text.tokens.back()).c_str(), stdout);
      std::fflush(stdout);
    }
    text.ended = isWhole(text);
    if (text.ended) {
      engines_.end(sequence);
      at_[std::size_t(sequence)] = nullptr;
      --active_;
    }
  }

  const Options &options_;
  const Tokenizer &tokenizer_;
  Engines &engines_;
  std::vector<Text *> at_; ///< of each place
  std::size_t active_ = 0, promptTokens_ = 0, steps_ = 0, tokens_ = 0;
  double promptSeconds_ = 0, stepSeconds_ = 0;
  double hostSeconds_ = 1e9; ///< of the step that was given away the fastest
};

int run(Options &options) {
  if (!options.prompts.empty()) {
    std::ifstream file(options.prompts);
    if (!file)
      throw FileError(options.prompts + ": can't be opened");
    for (std::string line; std::getline(file, line);)
      options.texts.push_back(line);
  }
  if (options.texts.empty())
    options.texts.push_back("The capital of France is");
  std::vector<fx::Device> devices;
  for (int i = 0; i < options.devices; ++i)
    devices.push_back(fx::Device(options.device + i));
  const Gguf file = Gguf::read(options.model);
  const Model model(file);
  const Tokenizer tokenizer(file);
  if (tokenizer.size() > model.vocabulary)
    throw FileError("the tokenizer has more tokens than the model");
  if (options.engine.context > model.context)
    throw FileError("--context " + std::to_string(options.engine.context) +
                    ": the model was made for " + std::to_string(model.context) + " tokens");
  const double start = now();
#ifdef PLANS_FROM_FILE
  Plans plans(options.plans);
  Engines engines(model, plans, options.engine, devices);
#else
  Plans plans;
  Engines engines(model, plans, options.engine, devices);
  if (!options.plans.empty())
    plans.write(options.plans);
#endif
  const std::string others =
      options.devices > 1 ? " and the next " + std::to_string(options.devices - 1) : "";
  std::printf("%s%s; %d layers, %zu MB on the device; ready in %.1f s\n",
              devices[0].str().c_str(), others.c_str(), int(model.layers),
              engines.first().memory() >> 20, now() - start);

  std::vector<Text> texts;
  for (const std::string &words : options.texts) {
    const std::vector<int> tokens = tokenizer.encode(
        options.chat
            ? "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by "
              "Hugging Face<|im_end|>\n<|im_start|>user\n" +
                  words + "<|im_end|>\n<|im_start|>assistant\n"
            : words);
    texts.push_back({tokens, tokens.size(), tokens.size()});
    if (options.streams() && options.texts.size() == 1)
      std::printf("%s", words.c_str());
  }
  Program program(options, tokenizer, engines);
  program.run(texts);
  if (!options.quiet && !options.streams())
    for (const Text &text : texts) {
      for (int token : text.tokens)
        std::fputs(tokenizer.bytes(token).c_str(), stdout);
      std::puts("");
    }
  program.report();
  return !options.check || program.check(model, texts) ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  return samples::main(argc, argv, "llama", "Goes on with texts by a language model from a GGUF file.",
                       declare, run);
}
