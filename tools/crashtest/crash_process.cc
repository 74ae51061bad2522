#include "tools/crashtest/crash_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "device/os/thread.h"
#include "tools/crashtest/crash_model.h"
#include "tools/output/table.h"

namespace testbed {
namespace {

// Stores the duration of its scope, in microseconds.
class Timed {
 public:
  explicit Timed(std::atomic<uint64_t>* us) : us_(us) {}
  ~Timed() {
    const auto spent = std::chrono::steady_clock::now() - begin_;
    us_->store(static_cast<uint64_t>(
        std::chrono::duration_cast<std::chrono::microseconds>(spent).count()));
  }

 private:
  std::atomic<uint64_t>* us_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

CrashShared* CrashShared::New() {
  void* memory = ::mmap(nullptr, sizeof(CrashShared), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw Error::Io("mmap of", "shared memory", errno);
  auto* shared = new (memory) CrashShared();
  shared->open_us = shared->close_us = shared->checkpoint_us = 20000;
  return shared;
}

void CrashShared::Delete() { ::munmap(this, sizeof *this); }

std::vector<uint64_t> CrashShared::Acknowledged(int writers) const {
  std::vector<uint64_t> all;
  for (int w = 0; w < writers; ++w) all.push_back(acknowledged[w].load());
  return all;
}

void CrashShared::StartRound() {
  failure[0] = '\0';
  for (auto* flag : {&ready, &stop, &closing, &closed, &fails, &writer_failed, &refused}) {
    flag->store(false);
  }
  for (auto& commits : checkpointed) commits.store(0);
  rows = unacknowledged = 0;
}

// The parent kills the client when it sees `writer_failed`, so the sentence is written first.
void CrashShared::NoteFailure(const char* what) {
  if (fails.exchange(true)) return;
  std::snprintf(failure, kMessage, "%s", what);
  writer_failed.store(true);
}

void CrashShared::StartDatabase() {
  for (int w = 0; w < kMaxWriters; ++w) {
    begun[w].store(0);
    acknowledged[w].store(0);
  }
}

void CrashShared::NoteCheckpoint(const std::vector<uint64_t>& commits) {
  for (size_t w = 0; w < commits.size(); ++w) checkpointed[w].store(commits[w]);
}

void CrashShared::AddCheckpointed(std::vector<uint64_t>* promised) const {
  for (size_t w = 0; w < promised->size(); ++w) {
    (*promised)[w] = std::max((*promised)[w], checkpointed[w].load());
  }
}

void CrashShared::PromiseOnly(const std::vector<uint64_t>& commits) {
  for (size_t w = 0; w < commits.size(); ++w) acknowledged[w].store(commits[w]);
}

void CrashSleep(double ms) {
  const auto ns = static_cast<uint64_t>(ms * 1e6);
  timespec pause{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  ::nanosleep(&pause, nullptr);
}

bool HasEnded(pid_t child) {
  siginfo_t info{};
  ::waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOHANG | WNOWAIT);
  return info.si_pid != 0;
}

std::optional<int> AwaitEnd(pid_t child, uint32_t longest_ms) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(longest_ms);
  while (!HasEnded(child)) {
    if (std::chrono::steady_clock::now() >= limit) {
      ::kill(child, SIGKILL);
      AwaitChild(child);
      return std::nullopt;
    }
    CrashSleep(1);
  }
  return AwaitChild(child);
}

std::string WrongEnd(int status, CrashCause cause) {
  const bool device = cause == CrashCause::kDevice;
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    if (signal == SIGKILL && cause != CrashCause::kNone) return "";
    if (device && (signal == SIGABRT || signal == SIGBUS)) return "";
    return fmt::format("ended by signal {}", signal);
  }
  const int code = WEXITSTATUS(status);
  if (device && code != 0) return "";
  return fmt::format("ended by itself with exit code {}", code);
}

std::unique_ptr<Engine> CrashProcess::Open() {
  EngineOptions options = options_.run.engine;
  options.create = !exists_;
  Timed timed(&shared_->open_us);
  return OpenEngine(info_.name, dir_, options);
}

// Records a client's failure for the parent. Only the first one is kept, and none after the test
// has cut the power.
void CrashProcess::WriterFailed(const char* what) {
  if (!shared_->power_is_cut.load()) shared_->NoteFailure(what);
}

void CrashProcess::WriterThread(Engine& engine, const CrashTables& tables, int w) {
  const std::unique_ptr<Session> session = engine.NewSession();
  ClientModel model(w, options_.rows_per_transaction);
  model.SkipTo(shared_->acknowledged[w].load());
  while (!shared_->stop.load()) {
    if (model.transactions() % 8 == 3) {
      PerformCrashWrites(session.get(), tables, model.Junk(), false);
    }
    const std::vector<CrashWrite>& writes = model.Next();
    shared_->begun[w].store(model.transactions());
    PerformCrashWrites(session.get(), tables, writes, true);
    shared_->acknowledged[w].store(model.transactions());
  }
}

void CrashProcess::CheckpointThread(Engine& engine) {
  for (uint64_t i = 0; !shared_->stop.load(); ++i) {
    {
      Timed timed(&shared_->checkpoint_us);
      shared_->checkpoints.fetch_add(1);
      const std::vector<uint64_t> before = shared_->Acknowledged(options_.writers);
      i % 4 == 1 ? engine.Flush() : i % 8 == 3 ? engine.Settle() : engine.Checkpoint();
      if (i % 4 != 1) shared_->NoteCheckpoint(before);  // a flush makes nothing durable
    }
    CrashSleep(1);
  }
}

void CrashProcess::Write(CrashPlace place, const std::vector<int>& clients) {
  std::unique_ptr<Engine> engine = Open();
  const CrashTables tables(engine.get());
  shared_->ready.store(true);
  std::vector<std::thread> threads;
  const auto start = [&threads, this](const auto& work) {
    try {
      threads.push_back(StartThread("a writer", [work, this] {
        try {
          work();
        } catch (const Stopped&) {
          shared_->stopped_by_user.store(true);
        } catch (const std::exception& e) {
          WriterFailed(SentenceOf(e));
        }
      }));
    } catch (const Error& e) {
      WriterFailed(e.what());
    }
  };
  for (const int w : clients) {
    start([&engine, &tables, w, this] { WriterThread(*engine, tables, w); });
  }
  if (place == CrashPlace::kCheckpoint) start([&engine, this] { CheckpointThread(*engine); });
  for (std::thread& thread : threads) thread.join();
  shared_->closing.store(true);
  {
    Timed timed(&shared_->close_us);
    engine.reset();
  }
  shared_->closed.store(!shared_->writer_failed.load() && !shared_->power_is_cut.load());
  while (true) CrashSleep(1000);  // until the parent kills this process
}

// Runs the engine's own check on the files, which no process has open. Throws Error (kCorruption)
// when it finds a fault.
void CrashProcess::CheckFiles(const char* when) {
  if (!info_.check) return;
  const Inspection found = info_.check(dir_, InspectOptions());
  if (found.faults.count == 0) return;
  Fail(fmt::format("the engine's check finds {} {}, first: {}",
                   Counted(found.faults.count, "fault"), when, found.faults.kept.front().Text()));
}

void CrashProcess::VerifyOpen(Engine* engine) {
  const CrashTables tables(engine);
  const std::unique_ptr<Session> session = engine->NewSession();
  std::vector<ClientModel> clients;
  for (int w = 0; w < options_.writers; ++w) {
    const uint64_t acknowledged = shared_->acknowledged[w].load();
    const uint64_t begun = shared_->begun[w].load();
    const uint64_t last = LastTransaction(session.get(), tables, w);
    if (last < acknowledged) {
      Fail(
          fmt::format("transaction {} of client {} was acknowledged, and the last one that is "
                      "there is {}",
                      acknowledged, w, last));
    }
    if (last > begun) {
      Fail(fmt::format("transaction {} of client {} is there, and the last that it began is {}",
                       last, w, begun));
    }
    clients.emplace_back(w, options_.rows_per_transaction);
    clients.back().SkipTo(last);
    shared_->unacknowledged += last - acknowledged;
    shared_->acknowledged[w].store(last);  // a commit that was seen must not be lost later
    shared_->begun[w].store(last);
  }
  shared_->rows = CompareWithModels(session.get(), tables, clients);
}

void CrashProcess::Verify(bool close) {
  shared_->rows = shared_->unacknowledged = 0;
  if (exists_) CheckFiles("after the crash");
  std::unique_ptr<Engine> engine;
  try {
    engine = Open();
  } catch (const Stopped&) {
    throw;
  } catch (const Error&) {
    // The engine may refuse a database whose creation was interrupted, as long as it throws an
    // Error.
    if (!exists_) ::_exit(kNotCreated);
    throw;
  }
  VerifyOpen(engine.get());
  if (!close) {
    shared_->verified.store(true);
    ::_exit(0);
  }
  engine.reset();
  CheckFiles("after recovery and a clean close");
  shared_->verified.store(true);
}

}  // namespace testbed
