#include "engines/sql/mariadb_pages.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "device/os/signal_guard.h"

namespace testbed::mariadb {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// This is how many bytes of log the checkpoint itself may write after the log that it covers.
constexpr uint64_t kOfCheckpoint = 64;

// A LogWatch tells whether other sessions write to the log.
class LogWatch {
 public:
  explicit LogWatch(uint64_t end) { Restart(end); }
  void Restart(uint64_t end) {
    end_ = end;
    since_ = steady_clock::now();
  }
  // Takes the present end of the log. Returns whether more log was written than checkpoints
  // themselves write.
  bool Moves(uint64_t end) {
    if (end <= end_ + kOfCheckpoint) return false;
    Restart(end);
    return true;
  }
  bool AtRestFor(milliseconds time) const { return steady_clock::now() - since_ >= time; }

 private:
  uint64_t end_ = 0;
  steady_clock::time_point since_;
};

// A WriteProgress tells whether the server's checkpoint and its dirty pages make progress.
class WriteProgress {
 public:
  explicit WriteProgress(const PageState& state)
      : checkpoint_(state.checkpoint), least_dirty_(state.dirty_pages) {}
  // Takes the present state. Returns whether there was no progress for `patience`.
  bool Stalls(const PageState& state, milliseconds patience) {
    const auto now = steady_clock::now();
    const bool better = state.checkpoint > checkpoint_ || state.dirty_pages < least_dirty_;
    checkpoint_ = std::max(checkpoint_, state.checkpoint);
    least_dirty_ = std::min(least_dirty_, state.dirty_pages);
    if (better) since_ = now;
    return !better && now - since_ >= patience;
  }

 private:
  uint64_t checkpoint_, least_dirty_;
  steady_clock::time_point since_ = steady_clock::now();
};

// Makes the page cleaner write each dirty page at once.
void Hurry(bool sets_low_water_mark, ChangedVariables* changed) {
  changed->Set("innodb_io_capacity_max", "1000000");
  changed->Set("innodb_io_capacity", "1000000");
  // The low-water mark is changed first. Otherwise the server would lower it to the new percentage
  // by itself, and not raise it again.
  if (sets_low_water_mark) changed->Set("innodb_max_dirty_pages_pct_lwm", "0");
  changed->Set("innodb_max_dirty_pages_pct", "0.001");
}

}  // namespace

PageState PageStateOf(const std::map<std::string, uint64_t>& status) {
  const auto number = [&status](const char* name) {
    const auto it = status.find(name);
    return it == status.end() ? uint64_t{0} : it->second;
  };
  return {.log_end = number("lsn_current"),
          .checkpoint = number("lsn_last_checkpoint"),
          .dirty_pages = number("buffer_pool_pages_dirty")};
}

void WritePages(const std::string& engine, const Ask& ask, const std::function<PageState()>& look,
                const PageWriting& how) {
  constexpr milliseconds kPoll(20);
  PageState state = look();
  const uint64_t wanted = state.log_end;
  LogWatch log(wanted);
  WriteProgress progress(state);
  std::optional<ChangedVariables> changed;
  const bool nobody_writes = how.has_statement && how.at_rest == milliseconds(0);
  while (state.dirty_pages != 0 || state.checkpoint + kOfCheckpoint < wanted) {
    bool others_write = false;
    // The log also stands still while sessions wait for page writes. So it counts as at rest only
    // when no page is dirty.
    const bool pause = state.dirty_pages == 0 && log.AtRestFor(how.at_rest);
    if (nobody_writes || (how.has_statement && pause)) {
      ask(kCheckpointNow);
      state = look();
      log.Restart(state.log_end);
    } else {
      std::this_thread::sleep_for(kPoll);
      state = look();
      others_write = log.Moves(state.log_end);
    }
    if (others_write && state.checkpoint >= wanted) return;
    if (others_write && StopRequested()) {
      throw Stopped(fmt::format("while {} took a checkpoint", engine));
    }
    if (!changed && !nobody_writes &&
        (others_write || !how.has_statement || state.dirty_pages != 0)) {
      // An older server, which lacks the statement, has a low-water mark that is low enough.
      Hurry(how.has_statement, &changed.emplace(engine, ask));
    }
    if (!progress.Stalls(state, how.patience)) continue;
    throw Error(
        Error::kRun,
        fmt::format("{} has not written all pages that were changed before log sequence number "
                    "{}: for {} s the server has told of a checkpoint at {} and {} dirty pages",
                    engine, wanted, how.patience.count() / 1000, state.checkpoint,
                    state.dirty_pages));
  }
}

}  // namespace testbed::mariadb
