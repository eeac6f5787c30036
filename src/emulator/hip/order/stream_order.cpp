#include "emulator/hip/order/stream_order.h"

#include "emulator/hip/device/device.h"
#include "emulator/hip/module/module.h"
#include "emulator/hip/report/log.h"
#include "emulator/observe/findings.h"

#include <sstream>

namespace flyemu::hip {
namespace {
constexpr size_t kMostTold = 64;

/// Takes out what belongs to no allocation, such as a launch's arguments, and the heap of kernels,
/// whose own atomic operations order it.
void keepKnown(TouchedBytes &bytes, const DeviceMemory &space) {
  constexpr uint64_t kPage = TouchedBytes::kPage;
  for (auto &[number, page] : bytes.pages()) {
    const uint64_t start = number * kPage;
    TouchedPage known;
    bool all = false;
    space.eachIn(start, start + kPage, [&](const Allocation &a) {
      if (a.kind == MemoryKind::KernelHeap)
        return;
      const uint64_t from = a.base > start ? a.base - start : 0,
                     to = std::min(a.base + a.size - start, kPage);
      all |= to - from == kPage;
      known.mark(from, to, 0);
    });
    if (all)
      continue;
    for (unsigned kind = 0; kind < kTouchKinds; ++kind) // `whole` pages are of one allocation
      if (auto &touched = page.kinds[kind])
        for (unsigned i = 0; i < TouchedPage::kWords; ++i)
          touched->word(i) &= known.word(i);
  }
}

std::string nameOf(const Stream &stream) {
  std::string name = stream.number() ? "stream " + std::to_string(stream.number())
                                     : std::string("the default stream");
  if (Runtime::get().deviceCount() > 1)
    name += " of device " + std::to_string(stream.device().index());
  return name;
}

bool isWrite(TouchKind kind) { return kind == TouchKind::Write || kind == TouchKind::AtomicWrite; }

std::string where(const ConflictSide &side) {
  if (side.inst == TouchedPage::kNone || !side.by->function)
    return "";
  return "; the first instruction of " + side.by->what + " that " +
         (isWrite(side.kind) ? "writes" : "reads") + " thereabouts is " +
         placeText(side.by->function->kernel->ready(), side.inst);
}

/// What would have ordered two operations; the first was submitted first.
std::string remedy(const Position &a, const Position &b) {
  if (a.submission == b.submission)
    return "no edge of the graph leads from one to the other: hipGraphAddDependencies, or in a "
           "capture hipEventRecord after the one and hipStreamWaitEvent before the other, makes "
           "one";
  const Submission &first = *a.submission, &second = *b.submission;
  auto upTo = [&](const Clock &clock) {
    return first.stream < clock.size() ? clock[first.stream] : 0;
  };
  std::string text;
  if (upTo(second.before) > upTo(second.host))
    text = second.name + " waits for an earlier place of " + first.name +
           ", where the event was recorded too early; ";
  else if (first.isDefault || second.isDefault)
    text = "a stream made with hipStreamNonBlocking and the default stream do not wait for each "
           "other; ";
  return text + "hipStreamWaitEvent in " + second.name + " for an event recorded in " + first.name +
         " after the first operation orders them, and so does hipStreamSynchronize of " +
         first.name + " before the second one is submitted";
}

std::string who(const ConflictSide &side) {
  const Position &p = side.by->position;
  return side.by->what + " in " + (p.steps ? "a graph that runs in " : "") + p.submission->name;
}

void tell(const Conflict &conflict) {
  Runtime &runtime = Runtime::get();
  const std::string message = describe(conflict, runtime.space());
  log(ReportLevel::Error, "check: " + message);
  runtime.device(conflict.now.by->position.submission->device).history.noteFinding(message);
}
} // namespace

std::string describe(const Conflict &conflict, const DeviceMemory &space) {
  const ConflictSide *a = &conflict.before, *b = &conflict.now;
  if (b->by->position.isSubmittedBefore(a->by->position))
    std::swap(a, b);
  return who(*a) + (isWrite(a->kind) ? " writes" : " reads") + " and " + who(*b) +
         (isWrite(b->kind) ? " writes" : " reads") +
         " the same memory, and nothing orders them: " + space.describe(conflict.address) +
         where(*a) + where(*b) + "; " + remedy(a->by->position, b->by->position);
}

void StreamOrder::takeNumber(Stream &stream) {
  if (stream.point.stream == StreamPoint::kNone)
    stream.point.stream = streams_++;
}

SubmissionRef StreamOrder::submit(Stream &stream,
                                  const std::vector<std::shared_ptr<Stream>> &others) {
  auto made = std::make_shared<Submission>();
  std::lock_guard lock(mutex_);
  takeNumber(stream);
  StreamPoint &point = stream.point;
  join(point.clock, host_);
  for (const auto &other : others)
    join(point.clock, other->point.clock);
  made->stream = point.stream;
  made->index = ++point.index;
  made->serial = ++serial_;
  made->device = stream.device().index();
  made->name = nameOf(stream);
  made->before = point.clock;
  made->host = host_;
  made->isDefault = stream.number() == 0;
  point.clock = made->after();
  pending_.emplace(made->serial, made);
  return made;
}

void StreamOrder::began(const SubmissionRef &operation) {
  std::lock_guard lock(mutex_);
  join(begun_, operation->after());
}

void StreamOrder::ended(const SubmissionRef &operation) {
  std::vector<Conflict> races;
  {
    std::lock_guard lock(mutex_);
    pending_.erase(operation->serial);
    races = judged();
  }
  for (const Conflict &race : races)
    tell(race);
}

Clock StreamOrder::pointOf(const Stream &stream,
                           const std::vector<std::shared_ptr<Stream>> &others) const {
  std::lock_guard lock(mutex_);
  Clock result = stream.point.clock;
  for (const auto &other : others)
    join(result, other->point.clock);
  return result;
}

void StreamOrder::wait(Stream &stream, const SubmissionRef &forThis) {
  std::lock_guard lock(mutex_);
  join(stream.point.clock, forThis->after());
}

void StreamOrder::addEdge(Clock from, const SubmissionRef &to) {
  edges_.push_back({std::move(from), to});
}

void StreamOrder::waitLate(const SubmissionRef &operation, const SubmissionRef &forThis) {
  std::lock_guard lock(mutex_);
  addEdge(forThis->after(), operation);
}

void StreamOrder::sawMemory(const SubmissionRef &operation) {
  std::lock_guard lock(mutex_);
  Clock from = begun_;
  join(from, host_);
  addEdge(std::move(from), operation);
}

void StreamOrder::left(const Stream &stream, Stream &heir) {
  std::lock_guard lock(mutex_);
  join(heir.point.clock, stream.point.clock);
}

void StreamOrder::hostReached(const Clock &clock) {
  std::lock_guard lock(mutex_);
  reachedLocked(clock);
}

void StreamOrder::hostReached(const SubmissionRef &operation) {
  std::lock_guard lock(mutex_);
  reachedLocked(operation->after());
}

void StreamOrder::reachedLocked(const Clock &clock) {
  join(host_, clock);
  std::erase_if(edges_, [&](const Edge &e) { // what they say of later operations, the host knows
    if (!e.to->isIn(host_))
      return false;
    join(host_, e.from);
    return pending_.empty() && suspects_.empty();
  });
  history_.forget([&](const Submission &s) {
    return s.isIn(host_) && std::all_of(pending_.begin(), pending_.end(), [&](const auto &one) {
             return s.isIn(one.second->before);
           });
  });
}

bool StreamOrder::reaches(const Submission &earlier, const Submission &later) const {
  if (earlier.comesBefore(later))
    return true;
  Clock clock = later.after();
  std::vector<bool> used(edges_.size());
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = 0; i < edges_.size(); ++i)
      if (!used[i] && edges_[i].to->isIn(clock)) {
        used[i] = grown = true;
        join(clock, edges_[i].from);
      }
  }
  return earlier.isIn(clock);
}

void StreamOrder::touched(const ToucherRef &by, TouchedBytes &&bytes, const DeviceMemory &space) {
  keepKnown(bytes, space);
  std::lock_guard lock(mutex_);
  history_.add(by, std::move(bytes),
               [&](const ToucherRef &other, const Conflict *conflict, bool talks) {
                 const SubmissionRef &a = by->position.submission, &b = other->position.submission;
                 if (talks && a != b) {
                   addEdge(a->after(), b);
                   addEdge(b->after(), a);
                 } else if (conflict && !talks) {
                   suspects_.push_back({*conflict, serial_});
                 }
               });
}

void StreamOrder::allocated(uint64_t base, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  history_.forget(base, bytes);
}

std::vector<Conflict> StreamOrder::judged() {
  std::vector<Conflict> races;
  std::erase_if(suspects_, [&](const Suspect &s) {
    if (!pending_.empty() && pending_.begin()->first <= s.upTo)
      return false;
    // The names are put in the order of submission, whichever has ended first.
    const bool swapped =
        s.conflict.now.by->position.isSubmittedBefore(s.conflict.before.by->position);
    const Toucher &a = *(swapped ? s.conflict.now : s.conflict.before).by,
                  &b = *(swapped ? s.conflict.before : s.conflict.now).by;
    const Submission &x = *a.position.submission, &y = *b.position.submission;
    if (&x != &y && (reaches(x, y) || reaches(y, x)))
      return true;
    if (told_.size() < kMostTold && told_.insert({a.what, x.name, b.what, y.name}).second)
      races.push_back(s.conflict);
    return true;
  });
  return races;
}

} // namespace flyemu::hip
