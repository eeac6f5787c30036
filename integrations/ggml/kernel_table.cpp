#include "kernel_table.h"

#include "codebooks.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <unordered_map>

namespace flydsl_ggml {
namespace {

template <int N> using KernelOf = fx::Kernel<void(Params<fx::OnDevice, N>)>;

template <int N> const KernelOf<N> &kernelOf(const std::string &name, const Body &body) {
  static std::mutex mutex;
  static auto &kernels = *new std::unordered_map<std::string, KernelOf<N>>;
  const std::lock_guard lock(mutex);
  const auto found = kernels.find(name);
  if (found != kernels.end())
    return found->second;
  return kernels
      .emplace(name, KernelOf<N>("ggml_" + name,
                                 [body](Params<fx::OnDevice, N> p) {
                                   const TracedCodebooks scope(p.codebooks);
                                   body({p.x.data(), p.i.data(), p.f.data()});
                                 }))
      .first->second; // references into an unordered_map stay valid
}

template <int N> void launchOf(const fx::Stream &stream, const Launch &what, const Body &body) {
  Params<fx::OnHost, N> params{};
  std::copy(what.x.begin(), what.x.end(), params.x.begin());
  std::copy(what.i.begin(), what.i.end(), params.i.begin());
  std::copy(what.f.begin(), what.f.end(), params.f.begin());
  params.codebooks = what.codebooks;
  kernelOf<N>(what.name, body)(params).launch(
      {.grid = what.grid, .block = what.block, .stream = stream, .allow_empty = true});
}

} // namespace

void launch(const fx::Stream &stream, const Launch &what, const Body &body) {
  if (what.x.size() > kOperands || what.i.size() > kInts || what.f.size() > kFloats)
    throw std::logic_error("kernel " + what.name + " has more parameters than a launch takes");
  if (what.x.size() <= 2)
    launchOf<2>(stream, what, body);
  else if (what.x.size() <= 4)
    launchOf<4>(stream, what, body);
  else
    launchOf<kOperands>(stream, what, body);
}

} // namespace flydsl_ggml
