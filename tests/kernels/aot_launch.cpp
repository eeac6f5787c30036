// Launches plans from a file that fly-kernels wrote. It links libflydsl_kernels_runtime alone: no
// compiler is in this process.
#include <flydsl/host/device_array.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/plan_set.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/tuning/tuned.h>
#include <flydsl/rocdl/matrix_products.h>

#include <cmath>
#include <cstdio>

namespace fx = flydsl;
namespace fk = flydsl::kernels;

namespace {

/// Whether the rows of y are sums to 1, and in the order of x.
bool isSoftmax(const std::vector<float> &x, const std::vector<float> &y, std::size_t n) {
  for (std::size_t row = 0; row < y.size(); row += n) {
    double sum = 0, expected = 0;
    for (std::size_t i = row; i < row + n; ++i)
      expected += std::exp(double(x[i]));
    for (std::size_t i = row; i < row + n; ++i) {
      sum += y[i];
      if (std::fabs(y[i] - std::exp(double(x[i])) / expected) > 1e-6)
        return false;
    }
    if (std::fabs(sum - 1) > 1e-5)
      return false;
  }
  return !y.empty();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  try {
    const std::int64_t m = 5, n = 200;
    const fk::SoftmaxProblem problem{.x = fx::f32, .y = fx::f32, .n = n};
    const fx::AotModule file = fx::load_aot(argv[1]);
    const auto plan = fk::SoftmaxPlan::load(file, problem, fk::choose(problem, m));
    auto x = fx::DeviceArray<float>::random({m, n}, 1);
    fx::DeviceArray<float> y({m, n});
    const fx::Stream stream;
    plan({.x = x, .y = y}, stream);
    stream.synchronize();
    if (!isSoftmax(x.to_host(), y.to_host(), std::size_t(n))) {
      std::puts("the softmax is wrong");
      return 1;
    }
    // What a target has is known without a compiler, too.
    const fx::Target target = fx::Device::current().target();
    for (const auto &product : fx::rocdl::matrix_products(target, fx::f16, fx::f16))
      if (product.lanes != target.wave_size()) {
        std::printf("%s is no product of %s\n", std::string(product.name).c_str(),
                    target.name().c_str());
        return 1;
      }
    if (fx::rocdl::matrix_products(target, fx::f16, fx::f16).empty()) {
      std::puts("there are no matrix instructions");
      return 1;
    }
    // What is not in the file is said so.
    const fk::NormProblem other{.n = 4096};
    try {
      (void)fk::NormPlan::load(file, other, fk::choose(other, m));
      std::puts("a plan that is not in the file was loaded");
      return 1;
    } catch (const fx::RuntimeError &error) {
      std::printf("%s\n", error.what());
    }
    // Tuned configurations are chosen here, too.
    const fk::RowConfig own = fk::choose(problem, m), tuned = fk::configs(problem, m).back();
    fk::TunedConfigs().set(problem, m, tuned).use();
    const bool isChosen = own != tuned && fk::choose(problem, m) == tuned;
    fk::TunedConfigs().use();
    const auto set = fk::PlanSet<fk::SoftmaxProblem>::load(file, problem, m);
    if (!isChosen || fk::choose(problem, m) != own || set.at(m).config() != own) {
      std::puts("what is chosen is not what was tuned");
      return 1;
    }
    std::printf("PASS on %s\n", fx::Device::current().str().c_str());
    return 0;
  } catch (const fx::Error &error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
