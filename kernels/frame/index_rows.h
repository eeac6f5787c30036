// What a family says of the numbers in device memory that its kernels find memory by: a row for each
// argument. From the rows of a plan comes the kernel that looks at them (frame/index_checks_kernel.h).
#pragma once

#include <flydsl/dtype.h>
#include <flydsl/params.h>

#include <array>
#include <cstddef>
#include <cstdint>

FLYDSL_NAMESPACE_BEGIN
namespace kernels::impl {

/// What must hold of an argument's numbers.
enum class IndexKind : std::uint8_t {
  within, ///< each is from 0 to below `end`
  /// Starts of sequences and the end of the last: from 0 to below `end`, none below the one before
  /// it, and none more than `most` above it.
  rising,
  /// Rows of a cache's page table: those that hold the keys of their sequence are from 0 to below
  /// `end`. The numbers of other pages are not looked at, because no kernel reads them.
  pages,
  worklist, ///< the worklist of the sequences' lengths
};

/// An id of a place has the token in so many bits, and the slot above them.
inline constexpr int kTokenBitsOfIds = 24;
inline constexpr std::int64_t kTokensOfIds = (1 << kTokenBitsOfIds) - 1;

/// A row as the code of the check sees it: constants of the trace.
struct IndexRule {
  const char *argument; ///< the field of Args
  IndexKind kind = IndexKind::within;
  const char *meaning = ""; ///< what the numbers up to `end` are, for the message
  DType dtype = i32;
  bool orNone = false;   ///< -1 stands for none, too
  bool distinct = false; ///< no two are equal, except -1
  int columns = 0;       ///< IndexKind::within: of a matrix; 0: a vector
  /// IndexKind::within: each is slot << 24 | token, both below those of the largest number, which is
  /// padding's.
  bool slots = false;
  /// IndexKind::pages: tokens of a page.
  int page = 1;
  /// Where kernels begin to read the keys of a window: at a multiple of so many.
  int align = 1;
  bool window = false; ///< a sequence's first queries do not see all keys before them
  /// IndexKind::worklist: keys of a unit, blocks that share the units, and queries of a sequence.
  int unit = 0, workers = 0, queries = 1;
};

/// A row in one call. An argument that a call leaves out has the count 0.
template <class Side> struct IndexValuesOf {
  Param<Side, Int64> address = 0;
  Param<Side, Int64> count = 0; ///< numbers; IndexKind::pages and IndexKind::worklist: sequences
  Param<Side, Int64> end = 0;   ///< the first number that is too large
  Param<Side, Int64> most = INT64_C(1) << 40; ///< IndexKind::rising
  Param<Side, Int64> stride = 0, columns = 0; ///< IndexKind::pages: of the table
  /// IndexKind::pages and IndexKind::worklist: keys of each sequence, i32
  Param<Side, Int64> lengths = 0;
  /// IndexKind::pages with a window: where the queries of each sequence start, i32; 0: each has
  /// `queries`.
  Param<Side, Int64> starts = 0, queries = 1;
  Param<Side, Int64> before = -1; ///< keys of a window before a query; negative: all
};
using IndexValues = IndexValuesOf<OnHost>;

/// The most rows of a family.
inline constexpr std::size_t kMostIndexRows = 4;

/// The run-time arguments of the kernel that checks.
template <class Side> struct IndexCheckParams {
  Param<Side, Int64> lane, words; ///< addresses of the lane and of the words of the device
  Param<Side, Int64> ticket;      ///< the call's number
  Param<Side, Int64> report;      ///< the address of the report
  std::array<IndexValuesOf<Side>, kMostIndexRows> rows;
};

/// A row of a family: what must hold, and where the numbers of a call are.
template <class Problem, class Args> struct IndexRowOf {
  IndexRule rule;
  IndexValues (*values)(const Problem &problem, const Args &args);
};

/// What a check leaves in pinned memory for the host, in words of 64 bits.
enum IndexReportWord : std::size_t {
  kReportState,    ///< 1: there is a report; the host sets it to 0
  kReportKey,      ///< row and kind
  kReportPlace,    ///< the place of the wrong number
  kReportValue,    ///< the number
  kReportLow,      ///< it should be from here
  kReportEnd,      ///< to below this
  kReportOther,    ///< the place of the number that it is equal to; of a table, its columns
  kReportFailures, ///< calls that failed so far
  kReportWords,
};
/// The key of a report: of a number that is wrong by itself, of two that are equal, and of a plan
/// that has no place left to mark a failed call.
constexpr std::int64_t wrongKey(std::size_t row) { return static_cast<std::int64_t>(2 * row); }
constexpr std::int64_t equalKey(std::size_t row) { return static_cast<std::int64_t>(2 * row + 1); }
inline constexpr std::int64_t kFullKey = 120;

/// How failed calls are marked in device memory. Each call of a plan has a number, its ticket. The
/// check of a call that fails puts the ticket into its lane, and the call's kernels end where their
/// lane has their ticket. Calls do not share a mark, so calls in several streams and graphs that are
/// replayed do not stop one another, and nothing has to be reset before a call. A lane whose places
/// are full gets kStopped in its first, which stops all calls of the lane; the checks of those report
/// it.
inline constexpr std::int64_t kIndexLanes = 1024, kIndexWays = 8, kIndexStopped = -1;
/// Words before the lanes: a lock for the report, and the number of calls that failed.
enum IndexWord : std::size_t { kIndexLock, kIndexFailures, kIndexLanesAt = 8 };

/// The threads of the block that checks, and what a file calls kernels that end where they are
/// marked.
inline constexpr int kIndexThreads = 1024;
inline constexpr const char *kCheckedVariant = "checked";

/// What the kernels of a checked call take besides their own arguments: the address of the call's
/// lane, and the call's number.
template <class Side> struct IndexTicketParams { Param<Side, Int64> lane = 0, ticket = 0; };
using IndexTicket = IndexTicketParams<OnHost>;

} // namespace kernels::impl
FLYDSL_NAMESPACE_END
