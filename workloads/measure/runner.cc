#include "workloads/measure/runner.h"

#include <sys/prctl.h>
#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/machine/host_activity.h"
#include "engines/null/null_engine.h"
#include "workloads/measure/clock.h"
#include "workloads/rows/point_read.h"

namespace testbed {
namespace {

constexpr size_t kBatch = 64;

// The counters that one thread updates while it runs, aligned so that threads share no cache line.
struct alignas(128) Worker {
  struct Op {
    Histogram latency, intended;
    Counter count;
  };
  std::vector<std::unique_ptr<Op>> ops;
  Counter verified, wrong;
  uint64_t start = 0, end = 0;  // ticks
  uint64_t backlog_ns = 0;
  Client::Totals totals;
  std::string first_wrong;
};

// The state that the threads of a phase share.
class Phase {
 private:
  // One of the clients whose reads a thread keeps in flight.
  struct Lane {
    std::unique_ptr<Client> client;
    uint64_t left = 0;  // operations that the client has not started yet
    size_t prepared = 0, at = 0;
    uint64_t begin = 0;  // start of the operation in flight, in ticks
    IoTask task;
  };

 public:
  Phase(Engine& engine, Workload& workload, const PhaseOptions& options)
      : engine_(engine),
        workload_(workload),
        options_(options),
        threads_(options.threads * workload.threads_per_client()),
        clock_(Clock::Get()) {
    for (int t = 0; t < threads_; ++t) {
      workers_.push_back(std::make_unique<Worker>());
      for (size_t k = 0; k < workload_.ops().size(); ++k) {
        workers_.back()->ops.push_back(std::make_unique<Worker::Op>());
      }
    }
  }

  PhaseResult Run();

 private:
  void ThreadMain(int t);
  template <bool kRated>
  void Loop(Client& client, Worker& worker, int t, uint64_t quota);
  std::vector<Lane> MakeLanes(Session& session, int t);
  bool StartNext(ReadQueue& queue, std::vector<Lane>& lanes, uint32_t lane);
  void QueueLoop(ReadQueue& queue, std::vector<Lane>& lanes, Worker& worker);
  void AwaitStart(int t);
  uint64_t AwaitIntended(uint64_t intended);
  // Returns a thread's operations per second; 0 means no limit.
  double RateOf(int t) const {
    const double own = workload_.ThreadRate(t, threads_);
    return own > 0 ? own : options_.rate / threads_;
  }
  void Check(Client& client, Worker& worker, size_t i);
  void Report();
  Interval Sample(double seconds);
  bool Stopping() const { return stop_.load(std::memory_order_relaxed); }
  // Returns how many operations client `t` performs. With a queue depth above 1 each thread has
  // several clients.
  uint64_t Quota(int t) const {
    if (options_.operations == 0) return UINT64_MAX;
    const auto n = static_cast<uint64_t>(threads_ * options_.queue_depth);
    return options_.operations / n + (static_cast<uint64_t>(t) < options_.operations % n);
  }

  Engine& engine_;
  Workload& workload_;
  const PhaseOptions& options_;
  const int threads_;
  const Clock& clock_;
  const OpKind verify_ = VerifyOp();
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  int ready_ = 0, done_ = 0;
  bool started_ = false;
  uint64_t start_ = 0;  // ticks
  std::exception_ptr failure_;
  std::vector<Interval> series_;
  std::vector<HistogramCounts> last_latency_;  // at the last sample, by kind of operation
  std::vector<uint64_t> last_counts_;
  DeviceStats last_device_;
  HostActivity last_host_;
  CpuUse cpu_begin_;
};

// Sleeps until shortly before the intended start, then spins: a sleep overruns by some
// microseconds, and the harness's lateness must not count as the engine's latency.
uint64_t Phase::AwaitIntended(uint64_t intended) {
  constexpr uint64_t kSpinNs = 8000;
  while (true) {
    const uint64_t now = clock_.Now();
    if (static_cast<int64_t>(now - intended) >= 0) return now;
    if (Stopping()) return now;
    const uint64_t left = clock_.ToNs(intended - now);
    if (left > kSpinNs) {
      const uint64_t ns = std::min<uint64_t>(left - kSpinNs, 100000000);
      timespec pause{0, static_cast<long>(ns)};
      nanosleep(&pause, nullptr);
    }
  }
}

void Phase::Check(Client& client, Worker& worker, size_t i) {
  worker.verified.Add(1);
  {
    const IoScope scope(verify_);
    if (client.Verify(i)) return;
  }
  if (worker.wrong.Get() == 0) {
    worker.first_wrong = engine_.name() + " answered a " + OpName(workload_.ops()[client.OpOf(i)]) +
                         " wrongly: the value found is not the one that belongs to the key";
  }
  worker.wrong.Add(1);
}

template <bool kRated>
void Phase::Loop(Client& client, Worker& worker, int t, uint64_t quota) {
  const std::vector<OpKind>& ops = workload_.ops();
  ThreadLedger& ledger = Ledger::ThisThread();
  const bool account = options_.account != AccountDepth::kOff;
  std::optional<ArrivalTimes> arrivals;
  if constexpr (kRated) arrivals.emplace(options_.arrivals, RateOf(t), t, threads_, options_.seed);
  uint32_t until_check = options_.verify_every;
  uint64_t done = 0;
  while (done < quota && !Stopping()) {
    const size_t n = client.Generate(std::min<uint64_t>(kBatch, quota - done));
    if (n == 0) {
      // The other clients would soon run out too.
      if (!workload_.EndedBecause().empty()) stop_.store(true, std::memory_order_relaxed);
      break;
    }
    uint64_t begin = clock_.Now();
    for (size_t i = 0; i < n; ++i) {
      uint64_t intended = 0;
      if constexpr (kRated) {
        intended = start_ + clock_.FromNs(arrivals->Next());
        begin = AwaitIntended(intended);
      }
      if (Stopping()) break;
      const size_t k = client.OpOf(i);
      if (account) {
        IoScope scope(ops[k], ledger);
        client.Execute(i);
      } else {
        client.Execute(i);
      }
      Worker::Op& op = *worker.ops[k];
      op.count.Add(1);
      if (options_.latency || kRated) {
        const uint64_t end = clock_.Now();
        op.latency.Record(clock_.ToNs(end - begin));
        if constexpr (kRated) {
          op.intended.Record(clock_.ToNs(end - std::min(intended, begin)));
          worker.backlog_ns = clock_.ToNs(begin - std::min(intended, begin));
        }
        begin = end;
      }
      ++done;
      if (until_check != 0 && --until_check == 0) {
        until_check = options_.verify_every;
        Check(client, worker, i);
        begin = clock_.Now();
      }
    }
  }
}

std::vector<Phase::Lane> Phase::MakeLanes(Session& session, int t) {
  std::vector<Lane> lanes(static_cast<size_t>(options_.queue_depth));
  int number = t * options_.queue_depth;
  for (Lane& lane : lanes) {
    lane.left = Quota(number);
    lane.client = workload_.NewClient(session, number++, threads_ * options_.queue_depth);
    lane.client->set_consume(options_.consume);
  }
  return lanes;
}

// Starts the lane's next operation. Returns false when the lane's operations are done or the phase
// ends.
bool Phase::StartNext(ReadQueue& queue, std::vector<Lane>& lanes, uint32_t number) {
  constexpr size_t kLaneBatch = 16;  // small, since the thread's other reads wait during Generate
  Lane& lane = lanes[number];
  if (lane.left == 0 || Stopping()) return false;
  if (++lane.at >= lane.prepared) {
    lane.at = 0;
    lane.prepared = lane.client->Generate(std::min<uint64_t>(kLaneBatch, lane.left));
    if (lane.prepared == 0) return false;
  }
  --lane.left;
  const Client::Request request = lane.client->RequestOf(lane.at);
  IoTask* task = nullptr;
  if (options_.account != AccountDepth::kOff) {
    task = &lane.task;
    task->Begin(workload_.ops()[lane.client->OpOf(lane.at)]);
  }
  lane.begin = clock_.Now();
  queue.Start(number, request.table, request.key, task);
  return true;
}

void Phase::QueueLoop(ReadQueue& queue, std::vector<Lane>& lanes, Worker& worker) {
  uint32_t in_flight = 0, until_check = options_.verify_every;
  for (uint32_t i = 0; i < lanes.size(); ++i) in_flight += StartNext(queue, lanes, i);
  while (in_flight > 0) {
    bool found;
    std::string_view value;
    const uint32_t number = queue.Finish(&found, &value);
    Lane& lane = lanes[number];
    Worker::Op& op = *worker.ops[lane.client->OpOf(lane.at)];
    const bool account = options_.account != AccountDepth::kOff;
    {
      const IoTask::Work work(account ? &lane.task : nullptr);
      lane.client->TakeAnswer(lane.at, found, value);
    }
    if (options_.latency) op.latency.Record(clock_.ToNs(clock_.Now() - lane.begin));
    if (account) lane.task.End();
    op.count.Add(1);
    if (until_check != 0 && --until_check == 0) {
      until_check = options_.verify_every;
      Check(*lane.client, worker, lane.at);
    }
    if (!StartNext(queue, lanes, number)) --in_flight;
  }
}

void Phase::AwaitStart(int t) {
  std::unique_lock lock(mutex_);
  if (++ready_ == threads_) changed_.notify_all();
  changed_.wait(lock, [this] { return started_; });
}

void Phase::ThreadMain(int t) {
  Worker& worker = *workers_[static_cast<size_t>(t)];
  bool waited = false;
  try {
    prctl(PR_SET_TIMERSLACK, 1000);
    std::unique_ptr<Session> session = engine_.NewSession();
    std::vector<Lane> lanes = MakeLanes(*session, t);
    std::unique_ptr<ReadQueue> queue;
    if (options_.queue_depth > 1) {
      queue = session->NewReadQueue(static_cast<uint32_t>(options_.queue_depth));
      if (queue == nullptr) {
        throw Error(Error::kUsage, engine_.name() +
                                       " cannot keep reads in flight the way it reads "
                                       "here; leave out --queue-depth");
      }
    }
    AwaitStart(t);
    waited = true;
    worker.start = clock_.Now();
    if (queue != nullptr) {
      QueueLoop(*queue, lanes, worker);
    } else if (RateOf(t) > 0) {
      Loop<true>(*lanes[0].client, worker, t, Quota(t));
    } else {
      Loop<false>(*lanes[0].client, worker, t, Quota(t));
    }
    worker.end = clock_.Now();
    for (const Lane& lane : lanes) worker.totals += lane.client->totals();
  } catch (...) {
    worker.end = clock_.Now();
    stop_.store(true);
    std::lock_guard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  if (!waited) AwaitStart(t);
  std::lock_guard lock(mutex_);
  ++done_;
  changed_.notify_all();
}

Interval Phase::Sample(double seconds) {
  const size_t kinds = workload_.ops().size();
  Interval interval{};
  interval.end_seconds = seconds;
  interval.counts.resize(kinds);
  interval.max_latency_ns.resize(kinds);
  last_latency_.resize(kinds);
  last_counts_.resize(kinds);
  HistogramCounts all;
  for (size_t k = 0; k < kinds; ++k) {
    HistogramCounts latency;
    uint64_t count = 0;
    for (const auto& worker : workers_) {
      latency.Add(worker->ops[k]->latency);
      count += worker->ops[k]->count.Get();
    }
    HistogramCounts delta = latency.Since(last_latency_[k]);
    interval.max_latency_ns[k] = delta.max_ns();
    interval.counts[k] = count - std::exchange(last_counts_[k], count);
    interval.operations += interval.counts[k];
    last_latency_[k] = std::move(latency);
    all.Add(delta);
  }
  interval.p50_ns = all.Percentile(0.5);
  interval.p99_ns = all.Percentile(0.99);
  interval.max_ns = all.max_ns();
  if (options_.device != nullptr) {
    const DeviceStats now = options_.device->Stats();
    const DeviceStats d = now - last_device_;
    interval.device_reads = d.reads;
    interval.device_read_bytes = d.read_bytes;
    interval.device_writes = d.writes;
    interval.device_write_bytes = d.write_bytes;
    last_device_ = now;
  }
  const HostActivity host = ReadHostActivity();
  interval.host_context_switches = host.context_switches - last_host_.context_switches;
  interval.host_user_seconds = host.user_seconds - last_host_.user_seconds;
  interval.host_system_seconds = host.system_seconds - last_host_.system_seconds;
  interval.resident_bytes = ProcessResidentBytes();
  last_host_ = host;
  return interval;
}

// Runs on the main thread: wakes each second for the series and the progress callback, and ends the
// phase in time.
void Phase::Report() {
  uint64_t operations = 0;
  double next = 1, last_seconds = 0;
  const uint64_t total = options_.operations != 0 ? options_.operations : workload_.operations();
  const double seconds = workload_.operations() == 0 ? options_.seconds : 0;
  std::unique_lock lock(mutex_);
  while (done_ < threads_) {
    const double now = static_cast<double>(clock_.ToNs(clock_.Now() - start_)) / 1e9;
    if ((seconds > 0 && now >= seconds) || (options_.stop != nullptr && options_.stop())) {
      stop_.store(true, std::memory_order_relaxed);
    }
    if (now >= next) {
      lock.unlock();
      Interval interval = Sample(now);
      operations += interval.operations;
      if (options_.progress) {
        double fraction =
            total != 0 ? static_cast<double>(operations) / static_cast<double>(total) : -1;
        if (seconds > 0) fraction = std::max(fraction, now / seconds);
        options_.progress({now, operations,
                           static_cast<double>(interval.operations) / (now - last_seconds),
                           std::min(fraction, 1.0)});
      }
      series_.push_back(std::move(interval));
      last_seconds = now;
      next += 1;
      lock.lock();
      continue;
    }
    double wait = std::min(next - now, 0.1);
    if (seconds > 0) wait = std::min(wait, std::max(0.0, seconds - now));
    changed_.wait_for(lock, std::chrono::duration<double>(wait));
  }
  // Samples the rest of the last second, so that the series adds up to the phase.
  series_.push_back(Sample(static_cast<double>(clock_.ToNs(clock_.Now() - start_)) / 1e9));
}

PhaseResult Phase::Run() {
  workload_.OpenClientTables(engine_, options_.threads);
  std::vector<std::thread> threads;
  for (int t = 0; t < threads_; ++t) threads.emplace_back([this, t] { ThreadMain(t); });
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ready_ == threads_; });
    if (options_.device != nullptr) last_device_ = options_.device->Stats();
    last_host_ = ReadHostActivity();
    cpu_begin_ = ReadCpuUse();
    start_ = clock_.Now();
    started_ = true;
    changed_.notify_all();
  }
  Report();
  const CpuUse cpu_end = ReadCpuUse();
  for (std::thread& thread : threads) thread.join();
  if (failure_) std::rethrow_exception(failure_);

  PhaseResult result;
  uint64_t end = start_;
  for (OpKind op : workload_.ops()) result.ops.push_back({op, 0, {}, {}});
  for (const auto& worker : workers_) {
    end = std::max(end, worker->end);
    for (size_t k = 0; k < worker->ops.size(); ++k) {
      result.ops[k].count += worker->ops[k]->count.Get();
      result.ops[k].latency.Add(worker->ops[k]->latency);
      result.ops[k].intended.Add(worker->ops[k]->intended);
    }
    uint64_t operations = 0;
    for (const auto& op : worker->ops) operations += op->count.Get();
    result.thread_operations.push_back(operations);
    result.thread_seconds.push_back(
        static_cast<double>(clock_.ToNs(worker->end - std::min(start_, worker->end))) / 1e9);
    result.totals += worker->totals;
    result.verified += worker->verified.Get();
    result.wrong += worker->wrong.Get();
    if (result.first_wrong.empty()) result.first_wrong = worker->first_wrong;
    result.backlog_seconds =
        std::max(result.backlog_seconds, static_cast<double>(worker->backlog_ns) / 1e9);
  }
  result.seconds = static_cast<double>(clock_.ToNs(end - start_)) / 1e9;
  result.cpu_begin = cpu_begin_;
  result.cpu_end = cpu_end;
  result.partial = options_.stop != nullptr && options_.stop();
  result.ended_because = workload_.EndedBecause();
  result.series = std::move(series_);
  return result;
}

}  // namespace

OpKind VerifyOp() {
  static const OpKind op = DefineOp("verify", Ground::kBackground);
  return op;
}

PhaseResult RunPhase(Engine& engine, Workload& workload, const PhaseOptions& options) {
  return Phase(engine, workload, options).Run();
}

double HarnessCostNs(const PhaseOptions& options, std::shared_ptr<const Dataset> dataset,
                     WorkloadOptions draws) {
  draws.extra.clear();  // options of other workloads
  EngineOptions null_options;
  null_options.extra["value_size"] = std::to_string(dataset->options().value_size);
  std::unique_ptr<Engine> engine = NullEngineInfo().open("", null_options);
  auto workload = MakePointRead(std::move(dataset), draws);
  PhaseOptions calibration;
  calibration.operations = 200000;
  calibration.verify_every = 0;
  calibration.latency = options.latency;
  calibration.account = options.account;
  calibration.consume = options.consume;
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const PhaseResult result = RunPhase(*engine, *workload, calibration);
    best = std::min(best, result.seconds * 1e9 / static_cast<double>(result.operations()));
  }
  return best;
}

}  // namespace testbed
