#include "emulator/hip/rtc/rtc_program.h"

#include "emulator/hip/rtc/compat_headers.h"
#include "emulator/hip/rtc/rtc_error.h"
#include "emulator/hip/rtc/rtc_options.h"
#include "emulator/hip/rtc/toolchain.h"
#include "emulator/loader/elf_file.h"
#include "target/isa_version.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace flyemu::hip {

namespace fs = std::filesystem;

namespace {

/// The variables by which a code object says the symbols of the name expressions: each holds the
/// address of one.
constexpr const char *kNameVariable = "__flydsl_name_";
/// ELF's R_AMDGPU_ABS64 and R_AMDGPU_RELATIVE64 (LLVM's AMDGPUUsage, "Relocation Records").
constexpr uint32_t kAbsolute64 = 3, kRelative64 = 13;

/// A folder of our own that goes with the object.
class ScratchFolder {
public:
  ScratchFolder() {
    std::error_code error;
    fs::path parent = fs::temp_directory_path(error);
    if (error)
      parent = "/tmp";
    std::string pattern = parent / "flydsl-hiprtc-XXXXXX";
    if (!::mkdtemp(pattern.data()))
      throw RtcError(HIPRTC_ERROR_INTERNAL_ERROR,
                     "no folder can be made in " + parent.string() + ": " + std::strerror(errno));
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
  }
  ScratchFolder(const ScratchFolder &) = delete;
  const fs::path &path() const { return path_; }

private:
  fs::path path_;
};

void write(const fs::path &path, std::string_view text) {
  fs::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(text.data(), static_cast<std::streamsize>(text.size()));
  file.close();
  if (!file)
    throw RtcError(HIPRTC_ERROR_INTERNAL_ERROR, path.string() + " cannot be written");
}

/// A line marker, after which messages of the compiler speak of line 1 of \p name.
std::string lineMarker(std::string_view name) {
  std::string result = "# 1 \"";
  for (char c : name) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"\n";
}

/// A relative path that stays in its folder.
bool staysInside(const fs::path &name) {
  return !name.empty() && name.is_relative() && name.has_filename() &&
         std::find(name.begin(), name.end(), "..") == name.end();
}

} // namespace

RtcProgram::RtcProgram(std::string source, std::string name, std::vector<Header> headers)
    : source_(std::move(source)), name_(std::move(name)), headers_(std::move(headers)) {
  for (const Header &header : headers_)
    if (!staysInside(header.name))
      throw RtcError(HIPRTC_ERROR_INVALID_INPUT,
                     "'" + header.name +
                         "' is no name that a header can have here: it must be a "
                         "relative path without '..'");
}

void RtcProgram::addName(const std::string &expression) {
  std::lock_guard lock(mutex_);
  if (tried_)
    throw RtcError(HIPRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION,
                   "'" + expression +
                       "' comes after hiprtcCompileProgram; name expressions come before");
  if (expression.find_first_of("\n\r") != std::string::npos || expression.empty())
    throw RtcError(HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
                   "a name expression is one line that is not empty");
  if (std::find(expressions_.begin(), expressions_.end(), expression) == expressions_.end())
    expressions_.push_back(expression);
}

void RtcProgram::writeFiles(const fs::path &folder, unsigned isaVersion) const {
  for (const CompatHeader &header : compatHeaders())
    write(folder / "compat/hip" / header.name, header.text);
  for (const Header &header : headers_)
    write(folder / "headers" / header.name, header.text);
  // A program of hipRTC has HIP's device functions without an include. The constant is what the device
  // library asks for the processor; installations have it for the processors of their time only.
  write(folder / "prelude.h", "#include <hip/hip_runtime.h>\n#include <hip/hip_fp16.h>\n"
                              "extern \"C\" __constant__ const int __oclc_ISA_version "
                              "__attribute__((used, weak)) = " +
                                  std::to_string(isaVersion) + ";\n#define __HIPCC_RTC__ 1\n");
  std::string text = lineMarker(name_) + source_ + "\n";
  for (size_t i = 0; i < expressions_.size(); ++i)
    text += lineMarker("the name expression " + expressions_[i]) +
            "extern \"C\" __device__ const void *const " + kNameVariable + std::to_string(i) +
            " __attribute__((used)) = (const void *)(" + expressions_[i] + ");\n";
  write(folder / "program.hip", text);
}

void RtcProgram::compile(const std::vector<std::string> &options, const std::string &deviceTarget) {
  std::lock_guard lock(mutex_);
  if (tried_)
    throw RtcError(HIPRTC_ERROR_INVALID_PROGRAM,
                   "the program was compiled before; make another one to compile it again");
  try {
    const RtcOptions parsed = RtcOptions::parse(options, deviceTarget);
    tried_ = true;
    const ScratchFolder scratch;
    const fs::path &folder = scratch.path();
    const fs::path output = folder / "program.co", headers = findHipHeaders(),
                   library = findDeviceLibrary();
    writeFiles(folder, flydsl::detail::isaVersion(parsed.machine->processor->name));
    std::vector<std::string> command{
        findClang(),
        "-x",
        "hip",
        "--cuda-device-only",
        "--no-gpu-bundle-output",
        "--offload-arch=" + parsed.target,
        "-nogpulib",
        "-D__HIP_PLATFORM_AMD__=1",
        std::string("-D__AMDGCN_WAVEFRONT_SIZE=") + (parsed.wave64 ? "64" : "32"),
        "-O3",
        "-std=c++17",
        "-mcode-object-version=" + std::to_string(parsed.codeObjectVersion),
        "-I" + (folder / "headers").string(),
        "-I" + (folder / "compat").string(),
        "-include",
        folder / "prelude.h"};
    if (headers != "/usr/include") // which Clang looks in after the C++ library's own
      command.push_back("-I" + headers.string());
    if (!library.empty()) {
      const auto on = [](bool value) { return value ? "_on" : "_off"; };
      for (const std::string &name :
           {std::string("ockl"), std::string("ocml"),
            std::string("oclc_wavefrontsize64") + on(parsed.wave64),
            "oclc_abi_version_" + std::to_string(parsed.codeObjectVersion) + "00",
            std::string("oclc_correctly_rounded_sqrt") + on(parsed.exactSqrt),
            std::string("oclc_daz_opt") + on(parsed.flushDenormals),
            std::string("oclc_finite_only") + on(parsed.finiteOnly),
            std::string("oclc_unsafe_math") + on(parsed.unsafeMath)})
        if (const fs::path file = library / (name + ".bc"); fs::exists(file))
          for (const std::string &word :
               {std::string("-Xclang"), std::string("-mlink-builtin-bitcode"),
                std::string("-Xclang"), file.string()})
            command.push_back(word);
    }
    command.insert(command.end(), parsed.rest.begin(), parsed.rest.end());
    command.insert(command.end(), {folder / "program.hip", "-o", output});

    const ChildResult run = runChild(command, folder / "messages");
    log_ = run.output;
    std::ifstream file(output, std::ios::binary);
    if (!run.succeeded || !file) {
      if (library.empty())
        log_ +=
            "note: ROCm's device library (rocm-device-libs) is not installed; functions such as "
            "sinf and printf need it\n";
      throw RtcError(HIPRTC_ERROR_COMPILATION, "the program does not compile:\n" + log_);
    }
    code_ = {std::istreambuf_iterator<char>(file), {}};
    readNames();
  } catch (const RtcError &error) {
    code_.clear();
    if (error.result() != HIPRTC_ERROR_COMPILATION)
      log_ += std::string("error: ") + error.what() + "\n";
    throw;
  }
}

void RtcProgram::readNames() {
  const auto elf = loader::ElfFile::parse({code_.data(), code_.size()});
  const auto &symbols = elf.symbols();
  auto symbolAt = [&](uint64_t address) -> std::string {
    for (const loader::ElfSymbol &symbol : symbols)
      if (symbol.defined && symbol.value == address && !symbol.name.starts_with(kNameVariable))
        return std::string(symbol.name);
    return {};
  };
  for (size_t i = 0; i < expressions_.size(); ++i) {
    const std::string variable = kNameVariable + std::to_string(i);
    for (const loader::ElfSymbol &symbol : symbols) {
      if (symbol.name != variable)
        continue;
      for (const loader::ElfRelocation &relocation : elf.relocations()) {
        if (relocation.offset != symbol.value)
          continue;
        if (relocation.type == kRelative64)
          lowered_[expressions_[i]] = symbolAt(static_cast<uint64_t>(relocation.addend));
        else if (relocation.type == kAbsolute64 && relocation.symbol < symbols.size())
          lowered_[expressions_[i]] = symbols[relocation.symbol].name;
      }
    }
  }
}

std::string RtcProgram::log() const {
  std::lock_guard lock(mutex_);
  return log_;
}

std::string RtcProgram::code() const {
  std::lock_guard lock(mutex_);
  if (code_.empty())
    throw RtcError(HIPRTC_ERROR_INVALID_PROGRAM,
                   tried_ ? "the program has no code, because it did not compile"
                          : "the program has no code before hiprtcCompileProgram");
  return code_;
}

const char *RtcProgram::loweredName(const std::string &expression) const {
  std::lock_guard lock(mutex_);
  if (code_.empty())
    throw RtcError(HIPRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION,
                   tried_ ? "the program has no lowered names, because it did not compile"
                          : "the program has no lowered names before hiprtcCompileProgram");
  const auto found = lowered_.find(expression);
  if (found == lowered_.end() || found->second.empty())
    throw RtcError(
        HIPRTC_ERROR_NAME_EXPRESSION_NOT_VALID,
        "'" + expression +
            (std::find(expressions_.begin(), expressions_.end(), expression) == expressions_.end()
                 ? "' was not given to hiprtcAddNameExpression"
                 : "' is no kernel and no variable of the device"));
  return found->second.c_str();
}

} // namespace flyemu::hip
