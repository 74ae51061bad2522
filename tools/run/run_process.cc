#include "tools/run/run_process.h"

#include <fmt/format.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

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

// Collects the lines that a child sends, one JSON object each: {"run": ..., "begins": NAME} before
// each phase, {"phase": ...} after it, {"loaded": true} when the database is loaded and at rest,
// and {"run": ..., "ended": true} as the last line.
class RunOfChild {
 public:
  RunOfChild(const RunPlan& plan, std::function<void()> loaded)
      : document_({{"threads", plan.threads}, {"repeat", plan.repeat}}),
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

 private:
  void TakeLine(json line) {
    if (!line.is_object()) return;
    if (line.contains("run")) document_ = std::move(line["run"]);
    if (line.contains("begins")) under_way_ = line["begins"];
    if (line.contains("loaded")) loaded_();
    if (line.contains("phase")) {
      under_way_.clear();
      phases_.push_back(std::move(line["phase"]));
    }
    ended_ = line.contains("ended");
  }

  json document_;
  const std::function<void()> loaded_;
  json phases_ = json::array();
  std::string text_, under_way_;
  bool ended_ = false;
};

// Reads the child's lines until it closes the pipe. A signal sent to this process's id does not
// reach the child, so a request to stop is forwarded as SIGTERM, and so is the answer of `enough`.
void ReadAll(int fd, pid_t child, const std::function<bool(const json&)>& enough, RunOfChild* run) {
  std::vector<char> buffer(65536);
  bool told = false;
  size_t phases = 0;
  while (true) {
    pollfd ready{fd, POLLIN, 0};
    if (::poll(&ready, 1, 100) <= 0) {
      if (StopRequested() && !std::exchange(told, true)) ::kill(child, SIGTERM);
      continue;
    }
    const ssize_t n = ::read(fd, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return;
    run->Take(buffer.data(), static_cast<size_t>(n));
    const bool another = std::exchange(phases, run->phases().size()) != run->phases().size();
    if (!told && enough && another && enough(run->phases())) {
      told = true;
      ::kill(child, SIGTERM);
    }
  }
}

// Makes malloc return freed memory to the system. Memory that the allocator keeps serves neither
// the engine's cache nor the page cache, and could make the kernel kill a run with a budget. There
// is one arena for each CPU, not glibc's eight, since memory that a thread frees stays with its
// arena. Large blocks are always mapped one by one: by default glibc raises the threshold, to up to
// 32 MB, when such a block is freed, and keeps later blocks below it.
void SettleAllocator() {
  constexpr int kLargeBlock = 256 << 10;
  ::mallopt(M_ARENA_MAX, static_cast<int>(std::max(1L, ::sysconf(_SC_NPROCESSORS_ONLN))));
  ::mallopt(M_MMAP_THRESHOLD, kLargeBlock);
}

// Returns one sentence about the death of a child that did not end by itself.
std::string WhatEnded(const RunOptions& options, const RunPlan& plan, int status,
                      const RunOfChild& run) {
  std::string where, kept;
  if (!run.phase_under_way().empty()) where = " in phase " + run.phase_under_way();
  if (const size_t n = run.phases().size(); n != 0) {
    kept = fmt::format("; {} finished phase{} before it {} kept", n, n == 1 ? "" : "s",
                       n == 1 ? "is" : "are");
  }
  if (plan.budget != nullptr && plan.budget->OomKilled()) {
    return fmt::format(
        "the kernel ended the run (signal 9) because it needed more than --ram {}{}; give a larger "
        "--ram or a smaller --cache-pct{}",
        ShortSize(options.ram_bytes), where, kept);
  }
  if (WIFSIGNALED(status)) {
    return fmt::format("the run was ended by signal {} ({}){}{}", WTERMSIG(status),
                       ::strsignal(WTERMSIG(status)), where, kept);
  }
  return fmt::format("the run ended without a result{}{}", where, kept);
}

}  // namespace

json ExecuteRunInChild(const RunOptions& options, const RunPlan& plan, const RunWatch& watch) {
  // The child sends its lines through pipe_fds. The parent answers {"loaded": true} with one byte
  // through noted_fds, when watch.loaded has returned.
  int pipe_fds[2], noted_fds[2];
  if (::pipe(pipe_fds) != 0) throw Error::Io("pipe", "", errno);
  if (::pipe(noted_fds) != 0) throw Error::Io("pipe", "", errno);
  const pid_t child = ForkChild();
  if (child == 0) {
    ::close(pipe_fds[0]);
    ::close(noted_fds[1]);
    SettleAllocator();
    const auto report = [&](const json& line) {
      WriteAll(pipe_fds[1], JsonText(line) + "\n");
      // The child waits: it must not change the database, or measure, while the parent writes the
      // database's record.
      char noted;
      while (line.contains("loaded") && ::read(noted_fds[0], &noted, 1) < 0 && errno == EINTR) {
      }
    };
    json document = ExecuteRun(options, plan, &StopRequested, report);
    document.erase("phases");  // the parent has them
    report({{"run", std::move(document)}, {"ended", true}});
    ::close(pipe_fds[1]);
    // The child must not run destructors: they would undo settings that belong to the parent.
    std::fflush(nullptr);
    ::_exit(0);
  }
  ::close(pipe_fds[1]);
  ::close(noted_fds[0]);
  RunOfChild run(plan, [&] {
    if (watch.loaded) watch.loaded();
    WriteAll(noted_fds[1], "n");
  });
  std::exception_ptr failure;
  try {
    ReadAll(pipe_fds[0], child, watch.enough, &run);
  } catch (...) {
    failure = std::current_exception();
    ::kill(child, SIGKILL);
  }
  ::close(pipe_fds[0]);
  ::close(noted_fds[1]);
  const int status = AwaitChild(child);
  if (failure) std::rethrow_exception(failure);
  json document = run.Document();
  if (run.ended() && WIFEXITED(status) && WEXITSTATUS(status) == 0) return document;
  document.erase("population");
  document["partial"] = true;
  document["error"] = {{"sentence", WhatEnded(options, plan, status, run)}, {"exit_code", 1}};
  return document;
}

}  // namespace testbed
