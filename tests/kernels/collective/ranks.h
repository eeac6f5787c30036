// The ranks of a group in one process, and what a collective must give them.
#pragma once

#include "host/operand_values.h"
#include "support/message.h"

#include <flydsl/host/device_array.h>
#include <flydsl/host/graph.h>
#include <flydsl/host/stream.h>
#include <flydsl/kernels/collective.h>

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace collective_tests {

namespace fx = flydsl;
namespace fk = fx::kernels;
using fk::CollectiveConfig;
using fk::CollectiveKind;
using fk::CollectiveProblem;
using fk::CollectiveStages;
using kernel_tests::expectPart;
using kernel_tests::messageOf;
using Bytes = std::vector<std::uint8_t>;

/// Memory of a device, as an operand of any type.
struct Vector {
  fx::DeviceArray<std::uint8_t> memory;
  fx::DType type;
  Vector(fx::DType type, std::int64_t count) : memory({count * type.bytes()}), type(type) {
    memory.poison();
  }
  fx::TensorArg tensor() const {
    return {memory.data(), type,
            fx::Extents{static_cast<std::int64_t>(memory.size()) / type.bytes()}};
  }
};

/// Elements of x and of y on a rank.
inline std::int64_t elementsOfX(const CollectiveProblem &problem, std::int64_t m) {
  return problem.kind == CollectiveKind::all_gather ? m / problem.ranks : m;
}
inline std::int64_t elementsOfY(const CollectiveProblem &problem, std::int64_t m) {
  return problem.kind == CollectiveKind::reduce_scatter ? m / problem.ranks : m;
}

/// x of a rank: other values for each `seed`.
inline Bytes valuesOf(const CollectiveProblem &problem, std::int64_t m, int rank,
                      std::uint64_t seed) {
  const auto values = fk::host::randomValues(problem.type, elementsOfX(problem, m),
                                             seed * 8 + static_cast<std::uint64_t>(rank));
  return fk::host::encode(problem.type, values);
}

/// What is left of values after a way by codes of 8 bits, by OCP's "Microscaling Formats (MX)
/// Specification" 1.0, with scales that are rounded up.
inline std::vector<float> arrived(const CollectiveProblem &problem, std::vector<float> values) {
  if (!problem.wire)
    return values;
  const float most = problem.wire == fx::f8E4M3FN ? 448 : 57344; // table 1 of the specification
  for (std::size_t first = 0; first < values.size(); first += 32) {
    float largest = 0;
    for (std::size_t i = first; i < first + 32; ++i)
      largest = std::max(largest, std::fabs(values[i]));
    int exponent = -127;
    while (exponent < 127 && std::ldexp(most, exponent) < largest)
      ++exponent;
    std::vector<double> scaled;
    for (std::size_t i = first; i < first + 32; ++i)
      scaled.push_back(std::ldexp(static_cast<double>(values[i]), -exponent));
    const std::vector<double> codes =
        fk::host::decode(problem.wire, fk::host::encode(problem.wire, scaled));
    for (std::size_t i = 0; i < 32; ++i)
      values[first + i] = static_cast<float>(std::ldexp(codes[i], exponent));
  }
  return values;
}

/// y of a rank, by the definition: sums in f32 in the order of the ranks, rounded once. `stages` makes
/// a difference where values are rounded on their way.
inline Bytes expectedOf(const CollectiveProblem &problem, const std::vector<Bytes> &x, int rank,
                        int root, CollectiveStages stages = CollectiveStages::one) {
  const auto part = [&](const Bytes &all, int number) {
    const auto size = static_cast<std::ptrdiff_t>(all.size()) / problem.ranks;
    return Bytes(all.begin() + number * size, all.begin() + (number + 1) * size);
  };
  const auto sum = [&] {
    std::vector<float> total;
    for (const Bytes &one : x) {
      const std::vector<double> given = fk::host::decode(problem.type, one);
      const std::vector<float> values = arrived(problem, {given.begin(), given.end()});
      total.resize(values.size());
      for (std::size_t i = 0; i < values.size(); ++i)
        total[i] = &one == &x.front() ? values[i] : total[i] + values[i];
    }
    if (stages != CollectiveStages::one)
      total = arrived(problem, total);
    return fk::host::encode(problem.type, std::vector<double>(total.begin(), total.end()));
  };
  Bytes all;
  switch (problem.kind) {
  case CollectiveKind::all_reduce:
    return sum();
  case CollectiveKind::reduce_scatter:
    return part(sum(), rank);
  case CollectiveKind::broadcast:
    return x[static_cast<std::size_t>(root)];
  case CollectiveKind::all_gather:
    for (const Bytes &one : x)
      all.insert(all.end(), one.begin(), one.end());
    return all;
  case CollectiveKind::all_to_all:
    for (const Bytes &one : x) {
      const Bytes own = part(one, rank);
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
  return {};
}

/// A group whose ranks are devices of this process, each with a stream.
class GroupRanks {
public:
  explicit GroupRanks(int size, const fx::GroupOptions &options = {.capacity = 1 << 20}) {
    std::vector<fx::Device> devices = fx::Device::all();
    devices.resize(static_cast<std::size_t>(size), fx::Device(0));
    groups = fx::Group::of(devices, options);
    for (const fx::Group &group : groups) {
      group.device().make_current();
      streams.emplace_back(group.device());
    }
    fx::Device(0).make_current();
  }
  ~GroupRanks() { fx::Device(0).make_current(); }

  int size() const { return static_cast<int>(groups.size()); }
  const fx::Group &group(int rank) const { return groups[static_cast<std::size_t>(rank)]; }
  const fx::Stream &stream(int rank) const { return streams[static_cast<std::size_t>(rank)]; }
  /// Calls `work` with each rank, on its device.
  template <class F> void each(const F &work) const {
    for (int rank = 0; rank < size(); ++rank) {
      group(rank).device().make_current();
      work(rank);
    }
    fx::Device(0).make_current();
  }
  void synchronize() const {
    for (const fx::Stream &stream : streams)
      stream.synchronize();
  }
  /// Calls `call` with each rank and its stream, and waits for all of them.
  template <class F> void run(const F &call) const {
    each([&](int rank) { call(rank, stream(rank)); });
    synchronize();
  }
  /// A graph of `call` for each rank.
  template <class F> std::vector<fx::Graph> captured(const F &call) const {
    std::vector<fx::Graph> graphs;
    each([&](int rank) {
      graphs.push_back(
          fx::Graph::capture(stream(rank), [&](const fx::Stream &stream) { call(rank, stream); }));
    });
    return graphs;
  }
  /// Launches the graphs of all ranks, and waits for them.
  void run(const std::vector<fx::Graph> &graphs) const {
    run([&](int rank, const fx::Stream &stream) {
      graphs[static_cast<std::size_t>(rank)].launch(stream);
    });
  }

  std::vector<fx::Group> groups;
  std::vector<fx::Stream> streams;
};

/// The ranks of a collective, each with its operands.
class Ranks : public GroupRanks {
public:
  explicit Ranks(const CollectiveProblem &problem, std::int64_t m,
                 const fx::GroupOptions &options = {.capacity = 1 << 20})
      : GroupRanks(problem.ranks, options), problem_(problem), m_(m) {
    each([&](int) {
      x.emplace_back(problem.type, elementsOfX(problem, m));
      y.emplace_back(problem.type, elementsOfY(problem, m));
    });
  }

  /// The operands of a rank.
  fk::CollectiveArgs args(int rank, int root = 0) const {
    const auto at = static_cast<std::size_t>(rank);
    return {.x = x[at].tensor(), .y = y[at].tensor(), .group = &groups[at], .root = root};
  }
  /// New values for all x; returns them.
  std::vector<Bytes> fill(std::uint64_t seed) {
    std::vector<Bytes> all;
    for (int rank = 0; rank < size(); ++rank) {
      all.push_back(valuesOf(problem_, m_, rank, seed));
      x[static_cast<std::size_t>(rank)].memory.copy_from(all.back());
    }
    return all;
  }
  /// Whether each y is what `values` give.
  bool isRight(const std::vector<Bytes> &values, int root = 0,
               CollectiveStages stages = CollectiveStages::one) const {
    bool right = true;
    for (int rank = 0; rank < size(); ++rank)
      right &= y[static_cast<std::size_t>(rank)].memory.to_host() ==
               expectedOf(problem_, values, rank, root, stages);
    return right;
  }

  std::vector<Vector> x, y;

private:
  CollectiveProblem problem_;
  std::int64_t m_;
};

} // namespace collective_tests
