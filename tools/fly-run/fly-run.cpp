// fly-run: calls a host function of a module that FlyDSL wrote, with arguments from the command
// line.
#include "argument.h"
#include "command_line.h"

#include <flydsl/host/program.h>

#include <algorithm>

using namespace flydsl;

namespace {

struct Options {
  std::string file, function;
  std::vector<std::string> arguments;
  bool list = false, trusted = false;
};

void list(const Program &program) {
  for (const std::string &name : program.functions()) {
    std::string types;
    for (const std::string &type : program.parameters(name))
      types += (types.empty() ? "" : ", ") + type;
    std::printf("%s(%s)\n", tools::shown(name).c_str(), tools::shown(types).c_str());
  }
}

/// The function that is meant where none is named.
std::string onlyFunction(const Program &program, const Options &options) {
  const std::vector<std::string> names = program.functions();
  if (names.size() == 1)
    return names.front();
  std::string all;
  for (const std::string &name : names)
    all += (all.empty() ? "" : ", ") + name;
  throw CLI::ValidationError(options.file + " has several functions, --function names one: " + all);
}

/// Streams are the tool's; every other parameter takes an --arg.
bool isStream(const std::string &type) { return type == "!gpu.async.token"; }

void checkCount(const std::string &function, const std::vector<std::string> &parameters,
                std::size_t given) {
  std::size_t taken = 0;
  std::string types;
  for (const std::string &type : parameters)
    if (!isStream(type)) {
      ++taken;
      types += (types.empty() ? "" : ", ") + type;
    }
  if (given != taken)
    throw Error(function + " takes " + std::to_string(taken) + " --arg, and " +
                std::to_string(given) + (given == 1 ? " was" : " were") + " given: (" + types +
                ")");
}

int run(const Options &options) {
  const Program program = load_program(options.file, {.trusted = options.trusted});
  if (options.list) {
    list(program);
    return 0;
  }
  const std::string function =
      options.function.empty() ? onlyFunction(program, options) : options.function;
  std::vector<tools::Argument> given;
  for (const std::string &text : options.arguments)
    given.emplace_back(text);
  const std::vector<std::string> parameters = program.parameters(function);
  checkCount(function, parameters, given.size());
  const Stream stream;
  std::vector<AnyArg> arguments;
  std::size_t next = 0;
  for (const std::string &type : parameters)
    arguments.push_back(isStream(type) ? AnyArg(stream) : given[next++].onDevice());
  program.call(function, arguments);
  stream.synchronize();
  for (std::size_t i = 0; i < given.size(); ++i)
    given[i].deliver(i);
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  Options options;
  CLI::App app("Calls a host function of a module of FlyDSL on the current device.", "fly-run");
  app.add_option("FILE", options.file,
                 "a module as text or bytecode: what FLYDSL_DUMP_IR=1 writes as 00_origin.mlir")
      ->required();
  app.add_option("--function", options.function, "the function; else the only one of the module");
  app.add_option("--arg", options.arguments, "an argument, in the order of the parameters")
      ->allow_extra_args(false);
  app.add_flag("--list", options.list, "shows the functions and the types of their parameters");
  app.add_flag("--trusted", options.trusted,
               "reads bytecode in this process; else fly-opt reads it, which a damaged one may "
               "crash");
  app.footer(tools::kArgumentForms);
  return tools::runTool(app, argc, argv, [&] { return run(options); });
}
