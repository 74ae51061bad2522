#include "tools/ab/session.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "engines/elsewhere.h"
#include "tools/ab/answers.h"
#include "tools/ab/load.h"
#include "tools/ab/measured_time.h"
#include "tools/ab/turns/schedule.h"
#include "tools/output/progress.h"
#include "tools/report/report.h"
#include "tools/run/run_checks.h"
#include "tools/run/surroundings.h"
#include "tools/statistics/looks.h"
#include "tools/statistics/sentence.h"

namespace testbed {
namespace {

using nlohmann::json;

class AbSession {
 public:
  AbSession(const AbOptions& options, const std::vector<std::string>& command_line);
  json Run();

 private:
  void Check();
  void PrepareMachine();
  void MakePlaces();
  bool Again() const;
  Load::Turn TurnOf(int number) const;
  void Add(LoadResult load);
  void Fail(const std::string& sentence);
  void Say(const std::string& what);
  double Elapsed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

  const AbOptions& options_;
  // placed_ are the options with the directory of each side's database.
  AbOptions placed_;
  json document_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  RunOptions machine_;  // options that Surroundings is made with
  std::unique_ptr<Surroundings> surroundings_;
  std::vector<std::unique_ptr<DatabaseDir>> dirs_;
  ProgressLine progress_;
  std::string so_far_;  // the answer after the last load
  LoadTimes times_;
  bool device_left_out_ = false;
  bool threads_mixed_ = false;
};

// Returns a note on sides whose threads the kernel account does not tell apart. In slices the sides
// at rest ask for little, so that the figures stay.
std::string MixedThreadsNote(const AbOptions& options) {
  return fmt::format(
      "kernel_*, device_* and write_amplification {}: engines of several sides have threads called "
      "{}, which the account of the kernel tells by these names alone; --way rounds counts each "
      "side alone",
      options.way == Way::kDuet ? "are left out"
                                : "may count what a side at rest asks of the device",
      fmt::join(SharedThreads(options.sides), ", "));
}

AbSession::AbSession(const AbOptions& options, const std::vector<std::string>& command_line)
    : options_(options), placed_(options), progress_("ab", options.common.progress()) {
  json fail_if = json::array(), sides = json::array();
  for (const Condition& condition : options.fail_if) fail_if.push_back(ConditionText(condition));
  for (const AbSide& side : options.sides) {
    sides.push_back({{"label", side.label},
                     {"settings", side.text},
                     {"environment", side.environment},
                     {"options", side.options.ToJson()},
                     {"threads", side.options.threads[0]}});
    if (!side.words.empty()) sides.back()["words"] = side.words;
  }
  document_ = {{"schema", kAbSchema},
               {"testbed", TESTBED_VERSION},
               {"command", command_line},
               {"started", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))},
               {"workload", options.measured()},
               {"way", WayName(*options.way)},
               {"assumes", WayAssumes(*options.way)},
               {"until", options.until},
               {"time_seconds", options.time_ends() ? json(options.seconds()) : json()},
               {"slice_seconds", options.in_slices() ? json(options.slice_seconds) : json()},
               {"fail_if", std::move(fail_if)},
               {"sides", std::move(sides)},
               {"loads", 0},
               {"samples", json::array()},
               {"runs", json::array()},
               {"errors", json::array()}};
}

// Refuses what any side's engine or workloads do not accept, before anything is loaded.
void AbSession::Check() {
  for (const AbSide& side : options_.sides) {
    const auto dataset = std::make_shared<const Dataset>(side.options.data);
    try {
      CheckRun(side.options, dataset);
    } catch (const Error& e) {
      throw Error(e.kind(), fmt::format("side {}: {}", side.label, e.what()));
    }
  }
  placed_.ResolveKinds();
}

// Checks the settings of the machine, each side's memory among them, and makes the scratch device.
void AbSession::PrepareMachine() {
  machine_ = options_.sides.front().options;
  // The budget is tried with the largest --ram of the sides that it can bound. The budget does not
  // bound a server that runs already; CheckServerMemory reports that for each side.
  machine_.ram_bytes = 0;
  for (const AbSide& side : options_.sides) {
    if (WorksElsewhere(side.options.engine_name, side.options.engine)) continue;
    machine_.ram_bytes = std::max(machine_.ram_bytes, side.options.ram_bytes);
  }
  machine_.engine = {};
  machine_.quiet = options_.common.quiet;
  machine_.scratch_bytes = options_.common.scratch_bytes;
  for (const AbSide& side : options_.sides) {
    if (options_.common.scratch_auto) machine_.scratch_bytes += side.options.scratch_bytes;
  }
  surroundings_ = std::make_unique<Surroundings>(machine_, &document_);
  for (const AbSide& side : options_.sides) {
    CheckServerMemory(side.options, side.label, &document_);
  }
  // The rows and the workload are the same on all sides.
  const auto dataset = std::make_shared<const Dataset>(machine_.data);
  const std::string note = SameValuesNote(options_.sides.front().options, dataset);
  if (!note.empty()) document_["notes"].push_back(note);
}

// Finds each side's directory, checks the space that they have, and tries each engine there.
void AbSession::MakePlaces() {
  for (AbSide& side : placed_.sides) {
    if (!surroundings_->scratch_path().empty()) {
      side.options.dir = surroundings_->scratch_path() + "/" + side.label;
    }
    dirs_.push_back(std::make_unique<DatabaseDir>(side.options));
  }
  const std::string where = ExistingDirectory(dirs_.front()->path());
  CheckSpaceOfSides(options_.sides, where);
  for (const AbSide& side : options_.sides) {
    try {
      TryEngineOptions(side.options, where);
    } catch (const Error& e) {
      throw Error(e.kind(), fmt::format("side {}: {}", side.label, e.what()));
    }
  }
  document_.update(MachineJson(where, surroundings_->exclusive_device()));
}

// Returns whether another load is to be made.
bool AbSession::Again() const {
  const int loads = document_["loads"];
  if (StopRequested() || !document_["errors"].empty()) return false;
  if (loads == 0) return true;
  if (IsAnswered(document_) || !MayStillTell(document_)) return false;
  if (options_.loads > 0 && loads >= options_.loads) return false;
  if (options_.time_ends() && Elapsed() + NextLoadSeconds(options_, times_) > options_.seconds())
    return false;
  return NextLook(loads) != 0;
}

Load::Turn AbSession::TurnOf(int number) const {
  Load::Turn turn{number, 0, std::nullopt};
  if (options_.loads == 0) {
    turn.spread = times_.spread;
  } else if (options_.time_ends()) {
    turn.seconds = (options_.seconds() - Elapsed()) / (options_.loads - number);
  } else {
    turn.seconds = options_.seconds() / options_.loads;
  }
  return turn;
}

void AbSession::Say(const std::string& what) {
  const int loads = document_["loads"];
  std::string most =
      options_.time_ends() ? fmt::format(" of at most {:.0f}", options_.seconds()) : "";
  if (options_.time_ends() && loads == 0 && Elapsed() > options_.seconds()) {
    most += ", but the first load is finished";
  }
  progress_.Say(fmt::format("load {}, {}; {}{:.0f} s{}", loads + 1, what,
                            so_far_.empty() ? "" : so_far_ + "; ", Elapsed(), most));
}

// Adds an error that no single side has caused. It ends the comparison.
void AbSession::Fail(const std::string& sentence) {
  document_["errors"].push_back({{"sentence", sentence}, {"exit_code", 1}});
}

void AbSession::Add(LoadResult load) {
  times_.load_seconds += load.load_seconds;
  times_.measured_seconds += load.measured_seconds;
  if (load.device_left_out && !std::exchange(device_left_out_, true)) {
    document_["notes"].push_back(
        "device_* and write_amplification are left out: in a duet both sides use the device at "
        "once, "
        "and without the account of the kernel nobody knows whose requests are whose");
  }
  if (load.threads_mixed && !std::exchange(threads_mixed_, true)) {
    document_["notes"].push_back(MixedThreadsNote(options_));
  }
  for (auto [name, values] : {std::pair("samples", &load.samples), std::pair("runs", &load.runs),
                              std::pair("errors", &load.errors), std::pair("notes", &load.notes)}) {
    for (json& value : *values) document_[name].push_back(std::move(value));
  }
  if (!load.whole) return;
  const int loads = document_["loads"].get<int>() + 1;
  times_.loads = loads;
  times_.seconds = Elapsed();
  if (options_.in_slices()) times_.spread = SpreadOf(document_["samples"]);
  document_["loads"] = loads;
  document_["seconds_per_load"] =
      options_.loads > 0 ? Elapsed() / loads : NextLoadSeconds(options_, times_);
  so_far_.clear();
  for (const AbAnswer& answer : AskedAnswers(document_)) {
    so_far_ += fmt::format("{}{} of {} {}", so_far_.empty() ? "" : ", ", answer.metric.name,
                           answer.side, EffectText(answer.answer));
  }
  if (const std::string text = ShortTimeText(options_, times_); !text.empty()) {
    so_far_ += (so_far_.empty() ? "" : "; ") + text;
  }
}

json AbSession::Run() {
  Check();
  document_["asked"] = placed_.Asked();
  PrepareMachine();
  MakePlaces();
  begin_ = std::chrono::steady_clock::now();
  Schedule schedule(static_cast<int>(options_.sides.size()),
                    Mix64(options_.common.data.seed ^ static_cast<uint64_t>(std::time(nullptr))));
  for (int number = 0; Again(); ++number) {
    Load load(placed_, *surroundings_, &dirs_, TurnOf(number), &schedule,
              [this](const std::string& what) { Say(what); });
    try {
      Add(load.Run());
    } catch (const std::exception& e) {
      if (number == 0) throw;
      Fail(SentenceOf(e));
    }
  }
  progress_.Clear();
  surroundings_->Finish(&document_);
  document_["seconds"] = Elapsed();
  document_["partial"] = StopRequested();
  const bool failed = !document_["errors"].empty();
  document_["answered"] = !failed && IsAnswered(document_);
  // The sentence says how much time an answer needs. It is left out after a stop or a failure,
  // which ended the loads before the time did, and without a whole load, whose length it needs.
  if (times_.loads > 0 && !failed && !document_["partial"].get<bool>()) {
    const std::string text = ShortTimeText(options_, times_);
    if (!text.empty()) document_["time_too_short"] = text;
  }
  document_["answers"] = AnswersJson(document_);
  document_["judgements"] = JudgementsJson(document_);
  return std::move(document_);
}

}  // namespace

json ExecuteAb(const AbOptions& options, const std::vector<std::string>& command_line) {
  return AbSession(options, command_line).Run();
}

}  // namespace testbed
