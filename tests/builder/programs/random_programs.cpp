// random_programs COUNT SEED [DEPTH]: kernels of random expressions, branches and loops, each compiled and
// run, and compared with what the host computes of the same rows. Integers and floats must be equal to the
// bit, but for the sign of a zero and the bits of a NaN. A program that is wrong is printed after it has
// been made small; the seed makes it again.
#include "generate.h"
#include "trace.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace fx = flydsl;
using namespace programs;

namespace {

constexpr int kRows = 256, kBlock = 64, kOutputs = 12;

/// Floats as the bits of f64, integers extended.
bool isRight(std::int64_t found, const Value &expected, Kind kind) {
  if (!isFloat(kind))
    return found == expected.number;
  const auto real = std::bit_cast<double>(found);
  return std::isnan(expected.real) || real == expected.real;
}

struct Mistake {
  std::size_t program, row;
  std::int64_t found;
};

/// The first program whose result is wrong in some row. Rows in which a program has no meaning are passed
/// over.
std::optional<Mistake> mistakeOf(const std::vector<Node> &all, const std::vector<Row> &rows) {
  std::vector<std::int64_t> numbers;
  for (const Row &row : rows)
    numbers.insert(numbers.end(), row.begin(), row.end());
  const auto outputs = static_cast<std::int64_t>(all.size());
  fx::DeviceArray<std::int64_t> in({kRows, kInputs}), out({kRows, outputs});
  in.copy_from(numbers);
  out.poison();
  const fx::Kernel kernel{"random_programs", [&](fx::Tensor in, fx::Tensor out) {
                            auto i = fx::block_idx().x * kBlock + fx::thread_idx().x;
                            for (std::size_t k = 0; k < all.size(); ++k) {
                              const fx::Numeric value = traced(all[k], in, i);
                              out(i, int(k)) = isFloat(all[k]->kind)
                                                   ? value.to(fx::f64).bitcast(fx::i64)
                                                   : value.to(fx::i64);
                            }
                          }};
  kernel(in, out).launch({.grid = kRows / kBlock, .block = kBlock});
  const auto found = out.to_host();
  for (std::size_t k = 0; k < all.size(); ++k)
    for (std::size_t row = 0; row < rows.size(); ++row) {
      const std::optional<Value> expected = valueOf(all[k], rows[row]);
      const std::int64_t result = found[row * all.size() + k];
      if (expected && !isRight(result, *expected, all[k]->kind))
        return Mistake{k, row, result};
    }
  return std::nullopt;
}

void report(const Node &program, const std::vector<Row> &rows, const Mistake &mistake) {
  const Value expected = *valueOf(program, rows[mistake.row]);
  if (isFloat(program->kind))
    std::printf("found %.17g, expected %.17g, of the row", std::bit_cast<double>(mistake.found),
                expected.real);
  else
    std::printf("found %lld, expected %lld, of the row", static_cast<long long>(mistake.found),
                static_cast<long long>(expected.number));
  for (std::int64_t number : rows[mistake.row])
    std::printf(" %lld", static_cast<long long>(number));
  std::printf(", by\n%s", text(program).c_str());
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 3) {
    std::fprintf(stderr, "random_programs COUNT SEED [DEPTH]\n");
    return 2;
  }
  const long count = std::atol(argv[1]);
  const unsigned long long first = std::strtoull(argv[2], nullptr, 10);
  const int depth = argc > 3 ? std::atoi(argv[3]) : 5;
  try {
    for (long i = 0; i < count; ++i) {
      Random random(first + static_cast<unsigned long long>(i));
      std::vector<Node> all;
      for (int k = 0; k < kOutputs; ++k)
        all.push_back(randomProgram(random, depth));
      const std::vector<Row> rows = randomRows(random, kRows);
      const auto mistake = mistakeOf(all, rows);
      if (!mistake)
        continue;
      std::printf("seed %llu, program %zu is wrong; made small: ",
                  first + static_cast<unsigned long long>(i), mistake->program);
      const Node small = smallest(all[mistake->program], [&](const Node &tried) {
        return mistakeOf({tried}, rows).has_value();
      });
      report(small, rows, *mistakeOf({small}, rows));
      return 1;
    }
  } catch (const std::exception &error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  std::printf("%ld kernels of %d programs are right\n", count, kOutputs);
  return 0;
}
