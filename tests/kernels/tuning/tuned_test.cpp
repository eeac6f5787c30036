// Tuned configurations: what `choose` and all that asks it gives, and which files are refused.
#include "support/structure.h"

#include <flydsl/host/product.h>
#include <flydsl/host/stats.h>
#include <flydsl/kernels/collective.h>
#include <flydsl/kernels/export.h>
#include <flydsl/kernels/gemm.h>
#include <flydsl/kernels/norm.h>
#include <flydsl/kernels/plan_set.h>
#include <flydsl/kernels/softmax.h>
#include <flydsl/kernels/tuning/tuned.h>

#include <fstream>
#include <iterator>

using namespace kernel_tests;

namespace {

/// Puts configurations in use until the end of a test.
class InUse {
public:
  explicit InUse(const fk::TunedConfigs &configs) { configs.use(); }
  ~InUse() { fk::TunedConfigs().use(); }
  InUse(const InUse &) = delete;
  InUse &operator=(const InUse &) = delete;
};

const fk::SoftmaxProblem kRows{.n = 640};

/// The configurations of a problem that `choose` does not give, the n-th of them.
template <class P> fk::ConfigOf<P> another(const P &problem, std::int64_t m, std::size_t n = 0) {
  const auto all = fk::configs(problem, m);
  REQUIRE(all.size() > n + 1);
  return all[n + 1];
}

std::string contentOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}
/// The digest of the file's format: FNV-1a with 64 bits.
std::string withEnd(const std::string &body, int entries) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char c : body)
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  char end[64];
  std::snprintf(end, sizeof end, "end %d %016llx\n", entries,
                static_cast<unsigned long long>(hash));
  return body + end;
}
/// What is said of a file whose only entry is this line.
std::string refusalOf(const std::string &line) {
  const ScratchFile file;
  write(file.path(), withEnd("flydsl tuned configurations, format 1\n" + line + "\n", 1));
  const std::string message = messageOf([&] { fk::TunedConfigs::read(file.path()); });
  if (message != "no error")
    expectPart(message, file.path() + ", line 2: ");
  return message;
}

} // namespace

TEST_CASE("a tuned configuration is chosen for its problem, rows and GPU") {
  const fx::Target target = here();
  const auto table = [&](std::int64_t m) { return fk::choose(kRows, m); };
  const fk::RowConfig own = table(64), first = another(kRows, 64), second = another(kRows, 64, 1);
  REQUIRE(table(50) == own);
  {
    const InUse inUse(fk::TunedConfigs().set(kRows, 64, first).set(kRows, 48, second));
    CHECK(fk::choose(kRows, 64) == first);
    CHECK(fk::choose(kRows, 49) == first);
    // Of two that serve, the one with fewer rows.
    CHECK(fk::choose(kRows, 48) == second);
    CHECK(fk::choose(kRows, 25) == second);
    CHECK(fk::choose(kRows, 24) == table(24));
    CHECK(fk::choose(kRows, 24) != second);
    CHECK(fk::choose(kRows, 65) == own);
    const fk::SoftmaxProblem longer{.n = 648};
    CHECK(fk::choose(longer, 64) == fk::choose(longer, 65));
    // The one that is chosen is the first to be measured, and that of the table is measured too.
    const auto all = fk::configs(kRows, 64);
    CHECK(all.front() == first);
    CHECK(std::count(all.begin(), all.end(), own) == 1);
    CHECK(std::count(all.begin(), all.end(), first) == 1);
  }
  CHECK(fk::choose(kRows, 64) == own);

  // Of another GPU.
  fk::TunedConfigs configs;
  fk::TunedEntry other = configs.set(kRows, 64, first).entries().front();
  CHECK(other.target == target.name());
  CHECK(other.compute_units == fx::product_in_hand(target)->compute_units);
  other.compute_units -= 1;
  {
    const InUse inUse(fk::TunedConfigs().set(other));
    CHECK(fk::choose(kRows, 64) == own);
  }
  // An entry takes the place of the one before.
  CHECK(configs.set(kRows, 64, second).entries().size() == 1);
  const InUse inUse(configs);
  CHECK(fk::choose(kRows, 64) == second);
}

TEST_CASE("calls, sets of plans and exported lists have tuned configurations", "[run]") {
  const fk::RowConfig own = fk::choose(kRows, 6), tuned = another(kRows, 6);
  Operands<fk::SoftmaxProblem> operands(kRows, own, 6);
  const fx::Stream stream;
  const auto traced = [&] {
    operands.fill(1);
    const std::uint64_t before = fx::stats().traces;
    fk::run(kRows, operands.args(), stream);
    stream.synchronize();
    return fx::stats().traces - before;
  };
  traced();
  const ScratchFile file;
  {
    const InUse inUse(fk::TunedConfigs().set(kRows, 6, tuned).set(kRows, 5000, tuned));
    // A call that was made before is made anew by the other plan, once.
    CHECK(traced() == 1);
    CHECK(traced() == 0);
    const fk::PlanSet<fk::SoftmaxProblem> set(kRows, 6000);
    CHECK(set.at(6).config() == tuned);
    CHECK(set.at(4).config() == tuned);
    CHECK(set.at(3).config() == own);
    CHECK(set.at(7).config() == own);
    // At the very row, also where not each is asked for.
    for (const std::int64_t rows : {2500, 2501, 5000, 5001}) {
      INFO(rows);
      CHECK(set.at(rows).config() == fk::choose(kRows, rows));
    }
    CHECK(fk::choose(kRows, 2501) == tuned);
    CHECK(fk::choose(kRows, 2500) != tuned);
    fk::ExportList().add(kRows, {6}).write(file.path(), {.archs = {here().name()}});
    fk::SoftmaxPlan::load(fx::load_aot(file.path()), kRows, fk::choose(kRows, 6));
  }
  CHECK(traced() == 0);
  // A file of plans that was made for other choices does not pass for one of these.
  CHECK_THROWS_AS(fk::SoftmaxPlan::load(fx::load_aot(file.path()), kRows, fk::choose(kRows, 6)),
                  fx::RuntimeError);
}

TEST_CASE("a file of tuned configurations gives what was written") {
  const fx::Target target = fx::Target::parse("gfx942");
  // Numbers that no short text has, enumerations, and structs in structs.
  const fk::NormProblem norm{.n = 200, .eps = 1.0 / 3e6, .quantise = fk::Quantisation::row};
  fk::NormProblem quantised = norm;
  quantised.y = fx::i8;
  const fk::GemmProblem product{
      .n = 64, .k = 512, .activation = fk::Activation::silu, .zeroed_workspace = true};
  fk::TunedConfigs all;
  all.set(quantised, 7, fk::choose(quantised, 7, target), 0.1, target)
      .set(product, 16, fk::choose(product, 16, target), 12.5, target);
  const ScratchFile file;
  all.write(file.path());
  const fk::TunedConfigs read = fk::TunedConfigs::read(file.path());
  REQUIRE(read.entries().size() == 2);
  CHECK(read.entries() == all.entries());
  expectPart(read.entries()[1].problem, "activation=silu");
  CHECK(read.entries()[1].compute_units == fx::default_product(target)->compute_units);
  const InUse inUse(read);
  const fk::GemmConfig other = fk::configs(product, 16, target).back();
  fk::TunedConfigs().set(quantised, 7, fk::choose(quantised, 7, target), 0, target).use();
  fk::TunedConfigs(read).set(product, 16, other, 0, target).use();
  CHECK(fk::choose(product, 16, target) == other);
  // Writing replaces the file as a whole.
  fk::TunedConfigs().write(file.path());
  CHECK(fk::TunedConfigs::read(file.path()).entries().empty());
}

TEST_CASE("files of tuned configurations that are wrong, stale or damaged are refused") {
  const fx::Target target = fx::Target::parse("gfx942");
  const fk::SoftmaxProblem problem{.n = 640};
  const ScratchFile file;
  fk::TunedConfigs()
      .set(problem, 64, fk::choose(problem, 64, target), 3, target)
      .write(file.path());
  const std::string good = contentOf(file.path());
  const auto said = [&](const std::string &content) {
    write(file.path(), content);
    return messageOf([&] { fk::TunedConfigs::read(file.path()).use(); });
  };
  CHECK(said(good) == "no error");
  fk::TunedConfigs().use();

  expectPart(said(""), "is no file of tuned configurations: its first line is not \"flydsl tuned");
  expectPart(said("{}\n"), "is no file of tuned configurations");
  std::string later = good;
  later.replace(later.find("format 1"), 8, "format 2");
  expectPart(said(later), "has format 2; this version of the library reads format 1");
  // Each end and each change of a byte is found.
  for (std::size_t bytes = 0; bytes < good.size(); ++bytes)
    if (said(good.substr(0, bytes)) == "no error")
      FAIL("the first " << bytes << " bytes are taken");
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string changed = good;
    changed[at] ^= 1;
    if (said(changed) == "no error")
      FAIL("byte " << at << " may be " << changed[at]);
  }
  expectPart(said(good.substr(0, good.size() - 1)), "is damaged: its last line");
  std::string digit = good;
  ++digit[digit.find("n=640") + 4];
  expectPart(said(digit), "is damaged: its last line is \"end 1 ");
  const std::string line =
      good.substr(good.find('\n') + 1, good.rfind("end") - good.find('\n') - 2);
  expectPart(
      said(withEnd("flydsl tuned configurations, format 1\n" + line + "\n" + line + "\n", 2)),
      "line 3: an earlier line is for the same problem, rows and GPU");
  std::string other = line;
  const std::size_t us = other.find(" us=");
  other.replace(us, other.find(' ', us + 1) - us, " us=77");
  write(file.path(),
        withEnd("flydsl tuned configurations, format 1\n" + line + "\n" + other + "\n", 2));
  std::vector<std::string> twice;
  const fk::TunedConfigs kept = fk::TunedConfigs::read(file.path(), twice);
  CHECK(twice.size() == 1);
  REQUIRE(kept.entries().size() == 1);
  CHECK(kept.entries()[0].microseconds != 77);
  expectPart(messageOf([] { fk::TunedConfigs::read("there-is-no-such-file"); }),
             "there is no file there-is-no-such-file");
  CHECK_THROWS_AS(fk::TunedConfigs().write("no-such-folder/tuned"), fx::RuntimeError);

  // Lines that are whole, and wrong.
  CHECK(refusalOf(line) == "no error");
  const auto with = [&](const std::string &from, const std::string &to) {
    std::string changed = line;
    REQUIRE(changed.find(from) != changed.npos);
    return refusalOf(changed.replace(changed.find(from), from.size(), to));
  };
  expectPart(with("softmax", "softmaxx"), "there is no family softmaxx; there are attention, ");
  expectPart(with("n=640", "n=0"), "softmax on gfx942: n is 0");
  expectPart(with("n=640", "width=640"), "width=640: expected FIELD=VALUE");
  expectPart(with("gfx942", "gfx000"), "gfx000");
  expectPart(with("m=64", "m=0"), "the rows are 0; they are 1 to 2147483647");
  expectPart(with("m=64", "rows=64"), "\"rows=64\" stands where m=NUMBER is expected");
  expectPart(with("units=304", "units=-1"), "the compute units are -1");
  expectPart(with("us=3", "us=nan"), "the time is not 0");
  expectPart(with(" | ", " "), "no \" | \" stands between a problem and its configuration");
  expectPart(with("block=", "lanes="), "the configuration does not say what block is; it was made");
  const std::size_t threads = line.find("threads=");
  expectPart(with(line.substr(threads, line.find(' ', threads) - threads), "threads=3"),
             "softmax on gfx942: threads=3 block=");
  expectPart(with("n=640", "n=640"), "no error");
  // The way out is named, and does what it says.
  expectPart(with("n=640", "n=0"), "--drop` leaves out what is refused");
  std::string wrong = line;
  wrong.replace(wrong.find("n=640"), 5, "n=0");
  write(file.path(),
        withEnd("flydsl tuned configurations, format 1\n" + wrong + "\n" + line + "\n", 2));
  std::vector<std::string> refused;
  CHECK(fk::TunedConfigs::read(file.path(), refused).entries().size() == 1);
  REQUIRE(refused.size() == 1);
  expectPart(refused[0], "line 2: softmax on gfx942: n is 0");
}

TEST_CASE("tuned configurations are those that choose may give") {
  const fx::Target target = fx::Target::parse("gfx942");
  fk::GemmProblem problem{.a = fx::bf16, .b = fx::bf16, .c = fx::bf16, .n = 512, .k = 4096};
  fk::GemmConfig config = fk::choose(problem, 64, target);
  config.split_k = 4;
  config.parts_sum = fk::PartsSum::last_block;
  REQUIRE(fk::supported(problem, config, target));
  fk::TunedConfigs tuned;
  expectPart(messageOf([&] { tuned.set(problem, 64, config, 1, target); }),
             "parts_sum is PartsSum::last_block, which is for a problem that promises");
  problem.zeroed_workspace = true;
  CHECK(tuned.set(problem, 64, config, 1, target).entries().size() == 1);
  // Ranks of a group may have different numbers of tokens.
  const fk::CollectiveProblem sum{};
  expectPart(messageOf([&] { tuned.set(sum, 64, fk::choose(sum, 64, target), 1, target); }),
             "its configurations are those of all ranks");
}
