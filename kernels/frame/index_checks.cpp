#include "frame/index_checks.h"

#include "frame/arguments.h"

#include <string>

FLYDSL_NAMESPACE_BEGIN
namespace kernels {

IndexError::IndexError(const std::string &message, Place place, SourceLocation where)
    : RuntimeError(message, 0, std::move(where)), place_(std::move(place)) {}
IndexError::~IndexError() = default;

namespace impl {
namespace {

std::string listed(const std::vector<std::int64_t> &index) {
  std::string text = "[";
  for (std::size_t i = 0; i < index.size(); ++i)
    text += (i ? ", " : "") + std::to_string(index[i]);
  return text + "]";
}

/// "from 0 to 63, the blocks of the cache"
std::string rangeOf(const IndexRule &rule, std::int64_t low, std::int64_t end) {
  const std::string none = rule.orNone ? "-1" : "";
  if (low < 0)
    low = 0;
  if (end <= low)
    return (rule.orNone ? none : "of nothing") + std::string(", because there are no ") +
           rule.meaning;
  return (rule.orNone ? none + " or " : none) + "from " + std::to_string(low) + " to " +
         std::to_string(end - 1) + ", " + rule.meaning;
}

} // namespace

IndexChecks::IndexChecks(std::string_view family, std::vector<IndexRule> rules)
    : family_(family), rules_(std::move(rules)) {
  if (Device::count() == 0)
    return;
  const auto where = std::source_location::current();
  const std::lock_guard lock(mutex_);
  makeReport(where);
  wordsOf(Device::current(where).ordinal(), where);
}

void IndexChecks::makeReport(const std::source_location &where) {
  if (report_)
    return;
  report_.emplace(kReportWords * sizeof(std::int64_t), where);
  words_ = static_cast<std::int64_t *>(report_->data(where));
}

DeviceArray<std::int64_t> &IndexChecks::wordsOf(int device, const std::source_location &where) {
  const auto found = devices_.find(device);
  if (found != devices_.end() && !found->second.gone())
    return found->second;
  const Device current = Device::current(where);
  Device(device, where).make_current(where);
  DeviceArray<std::int64_t> words(
      {static_cast<std::int64_t>(kIndexLanesAt) + kIndexLanes * kIndexWays}, where);
  words.fill(0, where);
  current.make_current(where);
  return devices_.insert_or_assign(device, std::move(words)).first->second;
}

IndexTicket IndexChecks::begin(StreamRef stream, IndexCheckParams<OnHost> &params,
                               const std::source_location &where) {
  const int device = stream.device() >= 0 ? stream.device() : Device::current(where).ordinal();
  const std::lock_guard lock(mutex_);
  makeReport(where);
  const std::int64_t ticket = ++calls_;
  const std::int64_t words = address(wordsOf(device, where).data());
  const std::int64_t lane =
      words + (static_cast<std::int64_t>(kIndexLanesAt) + ticket % kIndexLanes * kIndexWays) * 8;
  params.lane = lane;
  params.words = words;
  params.ticket = ticket;
  params.report = address(report_->data(where));
  return {.lane = lane, .ticket = ticket};
}

void IndexChecks::expectNone(const std::source_location &where) {
  std::int64_t *words = words_;
  if (!words)
    return;
  const std::atomic_ref<std::int64_t> state(words[kReportState]);
  if (state.load(std::memory_order_acquire) == 0) [[likely]]
    return;
  const std::lock_guard lock(mutex_);
  if (state.load(std::memory_order_acquire) == 0)
    return; // another thread has told it meanwhile
  std::array<std::int64_t, kReportWords> report;
  for (std::size_t i = 0; i < kReportWords; ++i)
    report[i] = std::atomic_ref<std::int64_t>(words[i]).load(std::memory_order_relaxed);
  state.store(0, std::memory_order_release);
  const std::int64_t failures = report[kReportFailures] - told_;
  told_ = report[kReportFailures];
  report[kReportFailures] = failures;
  fail(report, where);
}

void IndexChecks::fail(const std::array<std::int64_t, kReportWords> &report,
                       const std::source_location &where) const {
  const std::string head = std::string(family_) + ": ",
                    more = report[kReportFailures] > 1
                               ? "; " + std::to_string(report[kReportFailures]) +
                                     " calls of the plan failed since it was last asked"
                               : "",
                    tail = "; the call wrote nothing" + more;
  if (report[kReportKey] == kFullKey)
    throw IndexError(head +
                         "so many calls of the plan failed that the next ones can't be told "
                         "from them; make the plan anew" +
                         more,
                     {}, where);
  const IndexRule &rule = rules_.at(static_cast<std::size_t>(report[kReportKey] / 2));
  const bool isTable = rule.kind == IndexKind::pages;
  const auto indexOf = [&](std::int64_t place) -> std::vector<std::int64_t> {
    if (isTable)
      return {place / report[kReportOther], place % report[kReportOther]};
    if (rule.columns)
      return {place / rule.columns, place % rule.columns};
    return {place};
  };
  const IndexError::Place place{rule.argument, indexOf(report[kReportPlace]), report[kReportValue]};
  std::string text = place.argument + listed(place.index) + " is " + std::to_string(place.value);
  if (report[kReportKey] % 2)
    text +=
        ", as " + place.argument + listed(indexOf(report[kReportOther])) + " is; no two are equal";
  else if (rule.kind == IndexKind::worklist)
    text += report[kReportEnd] - report[kReportLow] == 1
                ? "; for these lengths of sequences it is " + std::to_string(report[kReportLow])
                : ", which is not the sequence of that worker's first unit; the worklist was made "
                  "for other lengths of sequences";
  else if (rule.kind == IndexKind::rising && report[kReportValue] < report[kReportLow] &&
           report[kReportPlace] > 0)
    text += ", after " + std::to_string(report[kReportLow]) + "; the numbers do not fall";
  else if (rule.slots) {
    const std::int64_t padding = report[kReportEnd] - 1;
    text += "; it is slot << 24 | token, with a slot below " +
            std::to_string(padding >> kTokenBitsOfIds) + " and a token below " +
            std::to_string(padding & kTokensOfIds) + ", or " + std::to_string(padding) +
            " for padding";
  } else
    text += "; it is " + rangeOf(rule, report[kReportLow], report[kReportEnd]);
  throw IndexError(head + text + tail, place, where);
}

} // namespace impl
} // namespace kernels
FLYDSL_NAMESPACE_END
