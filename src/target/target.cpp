// Parsing, printing and comparing targets.
#include "target/processors.h"

#include <flydsl/error.h>

#include <algorithm>
#include <cctype>

FLYDSL_NAMESPACE_BEGIN

[[noreturn]] static void refuse(std::string_view text, const std::string &why) {
  throw CompileError("unknown target '" + std::string(text) + "': " + why +
                     "; supported targets: " + detail::processorNames());
}

const detail::Processor &Target::processor() const {
  if (!processor_)
    throw CompileError("no target is given; name one of: " + detail::processorNames());
  return *processor_;
}

Target Target::parse(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  std::string_view rest = lower;
  for (std::string_view triple : {"amdgcn-amd-amdhsa--", "amdgcn-amd-amdhsa-"})
    if (rest.starts_with(triple)) {
      rest.remove_prefix(triple.size());
      break;
    }

  std::size_t colon = std::min(rest.find(':'), rest.size());
  std::string_view name = rest.substr(0, colon);
  rest.remove_prefix(colon);
  Target target;
  target.processor_ = detail::findProcessor(name);
  if (!target.processor_)
    refuse(text, name.empty() ? "no processor named"
                              : "not a processor that kernels can be compiled for");
  const detail::Switches &switches = target.processor_->switches;
  while (!rest.empty()) {
    rest.remove_prefix(1);
    std::size_t end = std::min(rest.find(':'), rest.size());
    std::string_view feature = rest.substr(0, end);
    rest.remove_prefix(end);
    char sign = feature.empty() ? '\0' : feature.back();
    if (sign != '+' && sign != '-')
      refuse(text, "a feature is written name+ or name-");
    feature.remove_suffix(1);
    bool isSramecc = feature == "sramecc";
    bool allowed = isSramecc ? switches.sramecc : feature == "xnack" && switches.xnack;
    if (!allowed)
      refuse(text, target.name() + " has no switchable feature '" + std::string(feature) + "'");
    Toggle &toggle = isSramecc ? target.sramecc_ : target.xnack_;
    if (toggle != Toggle::any)
      refuse(text, "feature '" + std::string(feature) + "' is given twice");
    toggle = sign == '+' ? Toggle::on : Toggle::off;
  }
  return target;
}

std::vector<Target> Target::all() {
  std::vector<Target> targets;
  for (const detail::Processor &processor : detail::processors())
    targets.push_back(parse(processor.name));
  return targets;
}

std::string Target::name() const { return std::string(processor().name); }
Vendor Target::vendor() const { return processor().vendor; }
Family Target::family() const { return processor().family; }
int Target::wave_size() const { return processor().waveSize; }
std::size_t Target::lds_bytes() const { return processor().ldsBytes; }
int Target::max_block_size() const { return processor().maxBlockSize; }
bool Target::has(Feature feature) const { return processor().features.has(feature); }

std::string Target::id() const {
  std::string text = name();
  if (sramecc_ != Toggle::any)
    text += sramecc_ == Toggle::on ? ":sramecc+" : ":sramecc-";
  if (xnack_ != Toggle::any)
    text += xnack_ == Toggle::on ? ":xnack+" : ":xnack-";
  return text;
}

bool Target::runs_on(const Target &device) const {
  auto compatible = [](Toggle code, Toggle hardware) {
    return code == Toggle::any || hardware == Toggle::any || code == hardware;
  };
  return &processor() == &device.processor() && compatible(sramecc_, device.sramecc_) &&
         compatible(xnack_, device.xnack_);
}

FLYDSL_NAMESPACE_END
