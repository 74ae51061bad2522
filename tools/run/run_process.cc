#include "tools/run/run_process.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/page_cache.h"
#include "device/os/allocator.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "engines/registry.h"
#include "tools/live/live_view.h"
#include "tools/output/json_text.h"
#include "tools/output/progress.h"
#include "tools/output/table.h"
#include "tools/release/release.h"
#include "tools/release/release_process.h"
#include "tools/run/tasks/task_group.h"

namespace testbed {
using nlohmann::json;

void WriteAll(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    done += static_cast<size_t>(n);
  }
}

namespace {

// Writes the text, without blocking, if the reader is not behind. Returns whether it was written.
bool WriteUnlessBehind(int fd, const std::string& text) {
  constexpr int kBehind = 8192;  // bytes that the reader has not taken; a pipe has room for 65536
  int waiting = 0;
  if (::ioctl(fd, FIONREAD, &waiting) != 0 || waiting > kBehind || text.size() > kBehind * 3) {
    return false;
  }
  WriteAll(fd, text);
  return true;
}

}  // namespace

void ServeRun(const RunOptions& options, const RunPlan& plan, ParentLines* parent, int to_parent) {
  PassesStopsOn(::getppid());
  SettleAllocator(options.ram_bytes);
  RunTalk talk;
  talk.report = [&](const json& line) {
    WriteAll(to_parent, JsonText(line) + "\n");
    // The child waits: it must not change the database, or measure, while the parent writes the
    // database's record.
    if (line.contains("loaded")) parent->Await();
  };
  talk.offer = [&](const json& line) {
    return WriteUnlessBehind(to_parent, JsonText(line) + "\n");
  };
  talk.await = [&] { return parent->Await(); };
  talk.report({{"run", ExecuteRun(options, plan, &StopOfAnyTask, talk)}, {"ended", true}});
}

json ParentLines::Await() {
  json end_of_run = {{"end", true}};
  size_t end;
  while ((end = text_.find('\n')) == std::string::npos) {
    pollfd ready{fd_, POLLIN, 0};
    if (StopRequested()) return end_of_run;
    if (::poll(&ready, 1, 100) <= 0) continue;
    char bytes[4096];
    const ssize_t n = ::read(fd_, bytes, sizeof bytes);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return end_of_run;
    text_.append(bytes, static_cast<size_t>(n));
  }
  json line = ParseJson(std::string_view(text_).substr(0, end));
  text_.erase(0, end + 1);
  return line;
}

namespace {

// Returns one sentence about the death of a child that did not end by itself.
std::string WhatEnded(const RunOptions& options, const RunPlan& plan, int status,
                      const std::string& phase_under_way, size_t n) {
  std::string where, kept;
  if (!phase_under_way.empty()) where = " in phase " + phase_under_way;
  if (n != 0) {
    kept =
        fmt::format("; {} before it {} kept", Counted(n, "finished phase"), n == 1 ? "is" : "are");
  }
  if (plan.budget != nullptr && plan.budget->OomKilled() && IsInMemory(plan.engine_dir)) {
    return fmt::format(
        "{} because the database is on a tmpfs, whose files are memory and count in --ram {}{}; "
        "{}{}",
        EndedByKernelText(status), ShortSize(options.ram_bytes), where,
        MoreMemoryText(options, plan), kept);
  }
  if (plan.budget != nullptr && plan.budget->OomKilled()) {
    return fmt::format("{} because it needed more than --ram {}{}; {}{}", EndedByKernelText(status),
                       ShortSize(options.ram_bytes), where, MoreMemoryText(options, plan), kept);
  }
  if (plan.budget != nullptr && plan.budget->AnyKilled()) {
    return fmt::format(
        "{} because memory outside of --ram {} ran out{}: that of the machine, of a container or "
        "of a cgroup around testbed; give a smaller --ram{}",
        EndedByKernelText(status), ShortSize(options.ram_bytes), where, kept);
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("the run was ended by signal {} ({}){}{}", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)), where, kept);
  }
  return fmt::format("the run ended without a result, with exit code {}{}{}", WEXITSTATUS(status),
                     where, kept);
}

bool EndedByStopSignal(int status) {
  if (!WIFSIGNALED(status)) return false;
  const int signal = WTERMSIG(status);
  return signal == SIGTERM || signal == SIGINT || signal == SIGHUP;
}

// Adds to the error of a run that the kernel ended a process of it for want of memory. The engine
// may be a server that the kernel ended, and the error then tells only what its client saw.
void NoteWantOfMemory(const RunOptions& options, const RunPlan& plan, json* document) {
  if (!document->contains("error") || plan.budget == nullptr || !plan.budget->OomKilled()) return;
  json& error = (*document)["error"];
  error["out_of_memory"] = true;
  std::string sentence = error["sentence"];
  if (sentence.find("--ram") != std::string::npos) return;
  sentence += fmt::format(
      "; the kernel had ended a process of the run because it needed more than --ram {}: {}",
      ShortSize(options.ram_bytes), MoreMemoryText(options, plan));
  error["sentence"] = sentence;
}

// Runs the plan in the child process, and ends the process.
[[noreturn]] void BeTheChild(const RunOptions& options, const RunPlan& plan, int to_parent,
                             int from_parent) {
  ParentLines parent(from_parent);
  ServeRun(options, plan, &parent, to_parent);
  ::close(to_parent);
  // The child must not run destructors: they would undo settings that belong to the parent.
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace

std::string EndedByKernelText(int status) {
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) {
    return "the kernel ended the run (signal 9)";
  }
  return fmt::format("the kernel ended a process of the run (the run then ended {})",
                     WIFSIGNALED(status) ? fmt::format("by signal {}, {}", WTERMSIG(status),
                                                       ::strsignal(WTERMSIG(status)))
                                         : fmt::format("with exit code {}", WEXITSTATUS(status)));
}

std::string MoreMemoryText(const RunOptions& options, const RunPlan& plan) {
  if (IsInMemory(plan.engine_dir)) {
    return "give a --dir on a disk, or a --ram that holds the database too";
  }
  if (!FindEngine(options.engine_name).capabilities.cache) return "give a larger --ram";
  return fmt::format("give a larger --ram or a smaller --cache-{}",
                     options.cache_bytes ? "size" : "pct");
}

// Collects the lines that a child sends.
class RunProcess::Lines {
 public:
  Lines(const RunOptions& options, const RunPlan& plan, LiveView* live,
        std::function<void()> loaded)
      : progress_(plan.label, options.progress()),
        live_(live),
        name_({plan.label, options.EngineWithRelease(), plan.threads}),
        document_({{"threads", plan.threads}, {"repeat", plan.repeat}}),
        loaded_(std::move(loaded)) {}

  // Takes the next bytes of the child's output; the last, incomplete line waits for its rest.
  void Take(const char* bytes, size_t n) {
    text_.append(bytes, n);
    size_t begin = 0;
    for (size_t end; (end = text_.find('\n', begin)) != std::string::npos; begin = end + 1) {
      TakeLine(ParseJson(std::string_view(text_).substr(begin, end - begin)));
    }
    text_.erase(0, begin);
  }
  bool ended() const { return ended_; }
  const std::string& phase_under_way() const { return under_way_; }
  const json& phases() const { return phases_; }
  json Document() const {
    json document = document_;
    document["phases"] = phases_;
    return document;
  }

  // Prints how long the phase has lasted, when the child has printed no progress line for long.
  void SayIfSilent() {
    if (live_ != nullptr) live_->Idle();
    if (under_way_.empty()) return;
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - began_;
    progress_.SayIfSilent(fmt::format("{} for {:.0f} s", under_way_, passed.count()));
  }

  bool ready = false;  // the child waits for a slice
  std::vector<json> slices;

 private:
  void TakeLine(json line) {
    if (!line.is_object()) return;
    if (line.contains("run")) document_ = std::move(line["run"]);
    if (line.contains("begins")) {
      under_way_ = line["begins"];
      began_ = std::chrono::steady_clock::now();
      if (live_ != nullptr) live_->Begin(name_, under_way_);
    }
    if (line.contains("second") && live_ != nullptr) live_->Second(ParseSecond(line["second"]));
    if (line.contains("loaded")) loaded_();
    if (line.contains("ready")) ready = true;
    if (line.contains("slice")) slices.push_back(std::move(line["slice"]));
    if (line.contains("phase")) {
      under_way_.clear();
      phases_.push_back(std::move(line["phase"]));
    }
    ended_ = line.contains("ended");
  }

  ProgressLine progress_;  // made before the fork, to share the time of the last line
  LiveView* const live_;
  const LiveView::RunName name_;
  std::chrono::steady_clock::time_point began_;  // begin of the phase under way
  json document_;
  const std::function<void()> loaded_;
  json phases_ = json::array();
  std::string text_, under_way_;
  bool ended_ = false;
};

RunProcess::RunProcess(const RunOptions& options, const RunPlan& plan, RunWatch watch,
                       const RunStart& start)
    : options_(options), plan_(plan), watch_(std::move(watch)) {
  if (!options.release.empty()) release_ = FindRelease(options.engine_name, options.release);
  lines_ = std::make_unique<Lines>(options, plan, watch_.live, [this] {
    if (watch_.loaded) watch_.loaded();
    Answer({{"noted", true}});
  });
  const bool executes = release_ || start.execute;
  // This may throw, and no destructor would end the child then.
  const json run = executes ? SentRun(options, plan) : json();
  Pipe out, in;
  child_ = ForkChild();
  if (child_ == 0) {
    out.CloseReader();
    in.CloseWriter();
    if (options.live.live) Screen::LeaveToParent();
    for (const auto& [name, value] : start.environment) ::setenv(name.c_str(), value.c_str(), 1);
    if (executes) {
      ExecuteRunProgram(release_ ? release_->program : kThisProgram, in.reader(), out.writer());
    }
    BeTheChild(options, plan, out.writer(), in.reader());
  }
  out.CloseWriter();
  in.CloseReader();
  from_child_ = out.TakeReader();
  to_child_ = in.TakeWriter();
  if (executes) Answer(run);
}

RunProcess::~RunProcess() {
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    AwaitChild(child_);
  }
  if (from_child_ >= 0) ::close(from_child_);
  if (to_child_ >= 0) ::close(to_child_);
}

void RunProcess::AwaitAny(const std::vector<RunProcess*>& runs, int milliseconds) {
  std::vector<pollfd> fds;
  for (const RunProcess* run : runs) fds.push_back({run->from_child_, POLLIN, 0});
  ::poll(fds.data(), fds.size(), milliseconds);
}

bool RunProcess::Take(int milliseconds) {
  if (StopRequested()) Stop();
  pollfd ready{from_child_, POLLIN, 0};
  if (::poll(&ready, 1, milliseconds) <= 0) {
    lines_->SayIfSilent();
    return true;
  }
  char buffer[65536];
  const ssize_t n = ::read(from_child_, buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return true;
  if (n <= 0) return false;
  const size_t before = lines_->phases().size();
  lines_->Take(buffer, static_cast<size_t>(n));
  if (!told_to_stop_ && watch_.enough && lines_->phases().size() != before &&
      watch_.enough(lines_->phases())) {
    Stop();
  }
  return true;
}

// A signal that is sent to this process alone does not reach the child, so the child is sent
// another. A child that somebody has stopped (SIGSTOP) would never take it, so it is continued.
void RunProcess::Stop() {
  if (child_ <= 0 || std::exchange(told_to_stop_, true)) return;
  ::kill(child_, SIGTERM);
  ::kill(child_, SIGCONT);
}

bool RunProcess::ready() const { return lines_->ready; }

std::vector<json> RunProcess::TakeSlices() { return std::exchange(lines_->slices, {}); }

bool RunProcess::IsStopped() const {
  std::ifstream file(fmt::format("/proc/{}/stat", child_));
  std::string stat;
  std::getline(file, stat);
  // The state is behind the program's name, which may hold anything but ends with the last bracket.
  const size_t name_end = stat.rfind(") ");
  return name_end != std::string::npos && stat.compare(name_end + 2, 1, "T") == 0;
}

void RunProcess::GrantSlice(double seconds) {
  lines_->ready = false;
  Answer({{"slice", seconds}});
}

void RunProcess::EndSlices() {
  lines_->ready = false;
  Answer({{"end", true}});
}

void RunProcess::Answer(const json& line) { WriteAll(to_child_, JsonText(line) + "\n"); }

json RunProcess::Finish() {
  while (Take(100)) {
  }
  const int status = AwaitChild(std::exchange(child_, -1));
  json document = lines_->Document();
  if (release_ && document.contains("engine")) document["engine"]["release"] = release_->ToJson();
  const bool asked = told_to_stop_ || StopRequested() || document.value(kStoppedByTask, false);
  document.erase(kStoppedByTask);
  std::string why;
  if (!lines_->ended() || !WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    document.erase("population");
    document.erase("writing_phases");
    document["partial"] = true;
    // A child that executes its program anew has no signal handlers at first, so a stop signal may
    // kill it. That is no error when this process was asked to stop.
    if (!asked || !EndedByStopSignal(status)) {
      why = WhatEnded(options_, plan_, status, lines_->phase_under_way(), lines_->phases().size());
    }
  } else if (document.value("partial", false) && !asked && !document.contains("error")) {
    // Nobody asked this process to stop. Without an error the run would pass for one that the user
    // has ended.
    why =
        "a signal that was sent to its process alone (SIGTERM, SIGINT or SIGHUP) stopped the run "
        "before its end";
  }
  if (!why.empty()) document["error"] = {{"sentence", why}, {"exit_code", 1}};
  NoteWantOfMemory(options_, plan_, &document);
  return document;
}

json ExecuteRunInChild(const RunOptions& options, const RunPlan& plan, const RunWatch& watch) {
  return RunProcess(options, plan, watch).Finish();
}

}  // namespace testbed
