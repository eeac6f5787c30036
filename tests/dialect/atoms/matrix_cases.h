// The matrix atoms of each target.
#pragma once

#include <flydsl/flydsl.h>

#include <array>
#include <sstream>
#include <string>
#include <vector>

namespace atoms_test {

struct Case {
  int m, n, k;
  flydsl::DType a, b, acc;
  bool scaled = false;
  std::string text() const {
    std::ostringstream s;
    s << (scaled ? "scaled " : "") << m << "x" << n << "x" << k << " " << a.name() << ", "
      << b.name() << " -> " << acc.name();
    return s.str();
  }
};

inline std::vector<Case> pairs(std::vector<flydsl::DType> types,
                               std::vector<std::array<int, 3>> shapes, bool scaled = false) {
  std::vector<Case> cases;
  for (const auto &s : shapes)
    for (flydsl::DType a : types)
      for (flydsl::DType b : types)
        cases.push_back({s[0], s[1], s[2], a, b, flydsl::f32, scaled});
  return cases;
}

inline void append(std::vector<Case> &to, const std::vector<Case> &more) {
  to.insert(to.end(), more.begin(), more.end());
}

/// What the manuals say that a target has, sparse instructions apart. Of those of several blocks,
/// the product of one A, which the blocks share, with the B of all blocks; f64 has no such form.
inline std::vector<Case> casesOf(const std::string &arch) {
  using namespace flydsl;
  std::vector<Case> c;
  const bool cdna3 = arch == "gfx942", cdna4 = arch == "gfx950";
  if (arch == "gfx90a" || cdna3 || cdna4) {
    c = {{32, 32, 2, f32, f32, f32},   {16, 16, 4, f32, f32, f32},  {16, 16, 4, f64, f64, f64},
         {32, 32, 8, f16, f16, f32},   {16, 16, 16, f16, f16, f32}, {32, 32, 8, bf16, bf16, f32},
         {16, 16, 16, bf16, bf16, f32}};
    for (auto [k, type] : {std::pair(1, f32), {4, f16}, {4, bf16}, {4, i8}})
      for (int m : {32, 16, 4})
        c.push_back({m, 64, k, type, type, type == i8 ? i32 : f32});
    if (arch == "gfx90a")
      append(c, {{32, 64, 2, bf16, bf16, f32},
                 {16, 64, 2, bf16, bf16, f32},
                 {4, 64, 2, bf16, bf16, f32}});
    if (arch == "gfx90a")
      append(c, {{32, 32, 4, bf16, bf16, f32},
                 {16, 16, 8, bf16, bf16, f32},
                 {32, 32, 8, i8, i8, i32},
                 {16, 16, 16, i8, i8, i32}});
    else
      append(c, {{32, 32, 16, i8, i8, i32}, {16, 16, 32, i8, i8, i32}});
    if (cdna3) {
      append(c, {{32, 32, 4, f32, f32, f32}, {16, 16, 8, f32, f32, f32}});
      append(c, pairs({f8E4M3FNUZ, f8E5M2FNUZ}, {{32, 32, 16}, {16, 16, 32}}));
    }
    if (cdna4) {
      append(c, {{32, 32, 16, f16, f16, f32},
                 {16, 16, 32, f16, f16, f32},
                 {32, 32, 16, bf16, bf16, f32},
                 {16, 16, 32, bf16, bf16, f32},
                 {32, 32, 32, i8, i8, i32},
                 {16, 16, 64, i8, i8, i32}});
      append(c, pairs({f8E4M3FN, f8E5M2}, {{32, 32, 16}, {16, 16, 32}}));
      append(c, pairs({f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN},
                      {{32, 32, 64}, {16, 16, 128}}, true));
    }
  } else if (arch.starts_with("gfx11") || arch.starts_with("gfx120")) {
    c = {{16, 16, 16, f16, f16, f32},
         {16, 16, 16, bf16, bf16, f32},
         {16, 16, 16, f16, f16, f16},
         {16, 16, 16, bf16, bf16, bf16}};
    std::vector<DType> bytes{i8, u8}, nibbles{i4, u4};
    for (const auto &types : {bytes, nibbles})
      for (DType a : types)
        for (DType b : types)
          c.push_back({16, 16, 16, a, b, i32});
    if (arch.starts_with("gfx120")) {
      append(c, {{16, 16, 32, i4, i4, i32}, {16, 16, 32, u4, i4, i32}});
      append(c, pairs({f8E4M3FN, f8E5M2}, {{16, 16, 16}}));
    }
  } else if (arch == "gfx1250") {
    c = {{16, 16, 4, f32, f32, f32},    {16, 16, 32, f16, f16, f32},    {16, 16, 32, f16, f16, f16},
         {16, 16, 32, bf16, bf16, f32}, {16, 16, 32, bf16, bf16, bf16}, {16, 16, 64, i8, u8, i32}};
    append(c, pairs({f8E4M3FN, f8E5M2}, {{16, 16, 64}, {16, 16, 128}}));
    for (const Case &f8 : pairs({f8E4M3FN, f8E5M2}, {{16, 16, 64}, {16, 16, 128}}))
      c.push_back({f8.m, f8.n, f8.k, f8.a, f8.b, f16});
    append(c, pairs({f8E4M3FN, f8E5M2, f6E2M3FN, f6E3M2FN, f4E2M1FN}, {{16, 16, 128}}, true));
  }
  return c;
}

inline flydsl::MmaAtom atomOf(const Case &c, const std::string &arch) {
  if (c.scaled && arch == "gfx1250")
    return flydsl::make_mma_atom(flydsl::rocdl::WMMAScale(c.m, c.n, c.k, c.a, c.b, c.acc));
  if (arch.starts_with("gfx1"))
    return flydsl::make_mma_atom(flydsl::rocdl::WMMA(c.m, c.n, c.k, c.a, c.b, c.acc));
  return flydsl::make_mma_atom(c.scaled ? flydsl::rocdl::MFMAScale(c.m, c.n, c.k, c.a, c.b, c.acc)
                                        : flydsl::rocdl::MFMA(c.m, c.n, c.k, c.a, c.b, c.acc));
}

} // namespace atoms_test
