// Clusters of workgroups (gfx1250): where a workgroup is in one, its barrier, and tiles that memory
// sends to several workgroups at once.
#include "error_of.h"
#include "run.h"

#include <flydsl/kernel/atomic.h>
#include <flydsl/rocdl/async_copy.h>
#include <flydsl/rocdl/intrinsics.h>
#include <flydsl/rocdl/schedule.h>
#include <flydsl/rocdl/tensor_mover.h>

#include <catch2/catch.hpp>

namespace fx = flydsl;

namespace {
constexpr int kBlock = 64, kTile = 16;

bool hasClusters() { return fx::Device::current().target().has(fx::feature::clusters); }

/// Of each workgroup: block_idx, its place in the cluster, the cluster's extents, its number.
const fx::Kernel places{"places", [](fx::Tensor out, fx::Int32 columns, fx::Int32 rows) {
                          auto [x, y, z] = fx::block_idx();
                          auto [cx, cy, cz] = fx::rocdl::cluster_workgroup_id();
                          auto [dx, dy, dz] = fx::rocdl::cluster_dim();
                          const fx::Int32 found[] = {
                              x,  y,  z,  cx, cy,
                              cz, dx, dy, dz, fx::rocdl::cluster_workgroup_flat_id()};
                          auto group = x + columns * (y + rows * z);
                          fx::if_(fx::thread_idx().x == 0, [&] {
                            for (int k = 0; k < 10; ++k)
                              out(group, k) = found[k];
                          });
                        }};

/// Each workgroup of a cluster adds its number to the cluster's sum, and all read it after a barrier.
const fx::Kernel sums{
    "sums", [](fx::Tensor sum, fx::Tensor out, fx::Int32 members) {
      auto group = fx::block_idx().x;
      auto cluster = group / members;
      fx::if_(fx::thread_idx().x == 0,
              [&] { fx::atomic(fx::AtomicOp::add, sum.iter() + cluster, group); });
      fx::rocdl::cluster_barrier();
      fx::if_(fx::thread_idx().x == 0, [&] { out(group) = fx::atomic_load(sum.iter() + cluster); });
    }};

/// All workgroups of a cluster load the numbers of their cluster, each lane its own, by one request.
const fx::Kernel shared_loads{
    "shared_loads", [](fx::Tensor x, fx::Tensor out, fx::Constexpr<int> members) {
      auto tid = fx::thread_idx().x;
      auto group = fx::block_idx().x;
      auto lds = fx::SharedAllocator().tensor(fx::i32, fx::make_layout(kBlock));
      fx::rocdl::cluster_load_async_to_lds(x.iter() + (group / members * kBlock + tid),
                                           lds.iter() + tid, 4, fx::Int32((1 << members) - 1));
      fx::rocdl::s_wait_asynccnt(0);
      fx::gpu::barrier();
      out(group, tid) = lds(kBlock - 1 - tid);
    }};

/// The same into registers: each lane loads elements of its cluster's row.
const fx::Kernel shared_values{
    "shared_values", [](fx::Tensor x, fx::Tensor out, fx::Constexpr<std::array<int, 2>> shape) {
      const auto [members, count] = shape.value();
      const fx::Int32 tid = fx::thread_idx().x, group = fx::block_idx().x,
                      first = group / members * (kBlock * count) + tid * count;
      const fx::Vector values =
          fx::rocdl::cluster_load(x.iter() + first, count, fx::Int32((1 << members) - 1));
      for (int i = 0; i < count; ++i)
        out(group, tid * count + i) = values.at(i);
    }};

/// Workgroups of a cluster along x and y.
struct Extent {
  int rows = 1, columns = 1;
};

/// C(i, j) = A(i) + B(j), of tiles: the workgroups of a row of the cluster load one tile of A, those of
/// a column one of B.
const fx::Kernel crossed{
    "crossed", [](fx::Tensor A, fx::Tensor B, fx::Tensor C, fx::Constexpr<Extent> cluster) {
      auto [i, j, unused] = fx::block_idx();
      auto [row, column, none] = fx::rocdl::cluster_workgroup_id();
      // Workgroups are counted along x first.
      std::int32_t every_column = 0;
      for (int k = 0; k < cluster->columns; ++k)
        every_column |= 1 << (k * cluster->rows);
      auto same_row = fx::Int32(every_column) << row,
           same_column = fx::Int32((1 << cluster->rows) - 1) << (column * cluster->rows);
      fx::SharedAllocator shared;
      auto sA = shared.tensor(fx::f32, fx::make_layout({kTile, kTile}, {kTile + 4, 1})),
           sB = shared.tensor(fx::f32, fx::make_layout({kTile, kTile}, {kTile, 1}));
      fx::rocdl::tensor_load_to_lds(A, {i, 0}, sA, {.workgroups = same_row});
      fx::rocdl::tensor_load_to_lds(B, {0, j}, sB, {.workgroups = same_column});
      fx::rocdl::s_wait_tensorcnt(0);
      fx::rocdl::cluster_barrier();
      for (int e = 0; e < kTile * kTile; e += kBlock) {
        auto place = fx::thread_idx().x + e, r = place / kTile, c = place % kTile;
        C(i * kTile + r, j * kTile + c) = sA(r, c) + sB(r, c);
      }
    }};
} // namespace

TEST_CASE("clusters: each workgroup knows its place, in the grid and in its cluster") {
  if (!hasClusters()) {
    fx::DeviceArray<std::int32_t> out({1, 10});
    CHECK_THAT(errorOf([&] { places(out, 1, 1).launch({.grid = 1, .block = kBlock}); }),
               Catch::Contains("there is no cluster_workgroup_id on") &&
                   Catch::Contains("cluster_test.cpp:"));
    return;
  }
  const fx::Dim3 grid = {4, 6, 2};
  const std::array<std::int64_t, 3> clusters[] = {{1, 1, 1}, {2, 1, 1}, {4, 2, 2}, {1, 6, 2}};
  for (const auto &size : clusters) {
    fx::DeviceArray<std::int32_t> out({48, 10});
    out.poison();
    places(out, 4, 6).launch(
        {.grid = grid, .block = kBlock, .cluster = {size[0], size[1], size[2]}});
    const std::vector<std::int32_t> found = out.to_host();
    unsigned wrong = 0;
    for (std::int64_t group = 0; group < 48; ++group) {
      const std::int64_t id[] = {group % 4, group / 4 % 6, group / 24};
      std::int64_t flat = 0;
      for (int axis = 2; axis >= 0; --axis)
        flat = flat * size[std::size_t(axis)] + id[axis] % size[std::size_t(axis)];
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::int32_t *of = found.data() + group * 10 + axis;
        wrong += of[0] != id[axis];
        wrong += of[3] != id[axis] % size[axis];
        wrong += of[6] != size[axis];
      }
      wrong += found[std::size_t(group * 10 + 9)] != flat;
    }
    CAPTURE(size[0], size[1], size[2]);
    CHECK(wrong == 0);
  }
}

TEST_CASE("clusters: their barrier holds all workgroups") {
  if (!hasClusters())
    return;
  for (int members : {1, 2, 16}) {
    const int groups = 32;
    fx::DeviceArray<std::int32_t> sum({groups / members}), out({groups});
    sum.fill(0);
    out.fill(-1);
    const auto cluster = fx::Dim3{members};
    if (members == 1)
      continue; // without clusters there is no barrier of one
    sums(sum, out, members).launch({.grid = groups, .block = kBlock, .cluster = cluster});
    const auto found = out.to_host();
    for (int group = 0; group < groups; ++group) {
      const int first = group / members * members;
      CHECK(found[std::size_t(group)] == members * first + members * (members - 1) / 2);
    }
  }
}

TEST_CASE("clusters: a copy to LDS comes to all workgroups that ask for it") {
  if (!hasClusters())
    return;
  const int members = 4, groups = 8;
  auto x = fx::DeviceArray<std::int32_t>::random({groups / members * kBlock}, 5);
  fx::DeviceArray<std::int32_t> out({groups, kBlock});
  out.fill(-1);
  shared_loads(x, out, members).launch({.grid = groups, .block = kBlock, .cluster = {members}});
  const auto from = x.to_host(), found = out.to_host();
  unsigned wrong = 0;
  for (int group = 0; group < groups; ++group)
    for (int i = 0; i < kBlock; ++i)
      wrong += found[std::size_t(group * kBlock + i)] !=
               from[std::size_t(group / members * kBlock + kBlock - 1 - i)];
  CHECK(wrong == 0);
}

template <class T> void checkSharedValues(int count) {
  const int members = 4, groups = 8;
  std::vector<T> from(std::size_t(groups / members * kBlock * count));
  for (std::size_t i = 0; i < from.size(); ++i)
    from[i] = static_cast<T>(i * 7 % 251);
  const auto x = fx::DeviceArray<T>::from_host(from, {std::int64_t(from.size())});
  fx::DeviceArray<T> out({groups, kBlock * count});
  shared_values(x, out, std::array{members, count})
      .launch({.grid = groups, .block = kBlock, .cluster = members});
  fx::Device::current().synchronize();
  const std::vector<T> found = out.to_host();
  unsigned wrong = 0;
  for (int group = 0; group < groups; ++group)
    for (int i = 0; i < kBlock * count; ++i)
      wrong += found[std::size_t(group * kBlock * count + i)] !=
               from[std::size_t(group / members * kBlock * count + i)];
  CHECK(wrong == 0);
}

TEST_CASE("clusters: elements come to the registers of all workgroups that ask for them") {
  if (!hasClusters()) {
    fx::DeviceArray<std::int32_t> x({kBlock}), out({1, kBlock});
    CHECK_THAT(errorOf([&] {
                 shared_values(x, out, std::array{1, 1}).launch({.grid = 1, .block = kBlock});
               }),
               Catch::Contains("cluster_load") && Catch::Contains("gfx1250") &&
                   Catch::Contains("cluster_test.cpp:"));
    return;
  }
  checkSharedValues<std::int32_t>(1);
  checkSharedValues<float>(2);
  checkSharedValues<std::int16_t>(8);
  checkSharedValues<std::uint8_t>(4);
  fx::DeviceArray<std::int16_t> x({1024}), out({8, 1024});
  CHECK_THAT(
      errorOf([&] {
        shared_values(x, out, std::array{4, 1}).launch({.grid = 8, .block = kBlock, .cluster = 4});
      }),
      Catch::Contains(
          "cluster_load of 1 elements of i16; it loads 4, 8 or 16 bytes of each lane") &&
          Catch::Contains("cluster_test.cpp:"));
}

TEST_CASE("clusters: a tile comes to all workgroups that ask for it") {
  if (!hasClusters())
    return;
  const int M = 4 * kTile, N = 4 * kTile;
  auto A = fx::DeviceArray<float>::random({M, kTile}, 3),
       B = fx::DeviceArray<float>::random({kTile, N}, 4);
  fx::DeviceArray<float> C({M, N});
  for (const Extent &cluster : {Extent{2, 2}, Extent{4, 1}, Extent{1, 4}, Extent{4, 4}}) {
    C.poison();
    crossed(A, B, C, cluster)
        .launch({.grid = {4, 4}, .block = kBlock, .cluster = {cluster.rows, cluster.columns}});
    const auto a = A.to_host(), b = B.to_host(), c = C.to_host();
    unsigned wrong = 0;
    for (int m = 0; m < M; ++m)
      for (int n = 0; n < N; ++n)
        wrong += c[std::size_t(m * N + n)] !=
                 a[std::size_t(m * kTile + n % kTile)] + b[std::size_t(m % kTile * N + n)];
    CHECK(wrong == 0);
  }
}

TEST_CASE("clusters: a launch that is no whole number of clusters is refused at the call") {
  fx::DeviceArray<std::int32_t> out({48});
  const fx::Kernel plain{"plain", [](fx::Tensor numbers) {
                           fx::if_(fx::thread_idx().x == 0,
                                   [&] { numbers(fx::block_idx().x) = 1; });
                         }};
  const auto launch = [&](const fx::Dim3 &grid, const fx::Dim3 &cluster) {
    return errorOf([&] {
      plain(out).launch({.grid = grid, .block = kBlock, .cluster = cluster});
      fx::Device::current().synchronize();
    });
  };
  if (!hasClusters()) {
    CHECK_THAT(launch(2, 2), Catch::Contains("has no clusters; leave .cluster out") &&
                                 Catch::Contains("cluster_test.cpp:"));
    return;
  }
  CHECK_THAT(launch(3, 2), Catch::Contains("is no whole number of clusters of workgroups") &&
                               Catch::Contains("cluster_test.cpp:"));
  CHECK_THAT(launch({4, 8}, {4, 8}), Catch::Contains("has more than 16 workgroups"));
  CHECK_THAT(launch(4, 0), Catch::Contains("has a dimension below 1"));
  CHECK(launch(4, 2) == "no error");
}
