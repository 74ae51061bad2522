#include "workloads/measure/runner.h"

#include <sys/prctl.h>

#include <algorithm>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

#include "device/error.h"
#include "device/os/mutex.h"
#include "device/os/thread.h"
#include "workloads/measure/arrivals/thread_rates.h"
#include "workloads/measure/clock.h"
#include "workloads/measure/gate.h"
#include "workloads/measure/interval_surroundings.h"
#include "workloads/measure/open_loop.h"
#include "workloads/measure/operation_quota.h"
#include "workloads/measure/worker.h"
#include "workloads/trace/trace_recorder.h"

namespace testbed {
namespace {

constexpr size_t kBatch = 64;

// The state that the threads of a phase share.
class Phase {
 public:
  Phase(Engine& engine, Workload& workload, const PhaseOptions& options)
      : engine_(engine),
        workload_(workload),
        options_(options),
        extra_(workload.extra_threads()),
        threads_(options.threads * workload.threads_per_client() + extra_),
        quota_(options.operations, (threads_ - extra_) * options.queue_depth, workload.uneven()),
        clients_left_(threads_ - extra_),
        clock_(Clock::Get()),
        performer_(engine, workload, options),
        gate_(threads_, options.slices != nullptr) {
    for (int t = 0; t < threads_; ++t) {
      workers_.push_back(std::make_unique<Worker>());
      for (size_t k = 0; k < workload_.ops().size(); ++k) {
        workers_.back()->ops.push_back(std::make_unique<Worker::Op>());
      }
    }
  }

  PhaseResult Run();

 private:
  // One of the clients whose reads a thread keeps in flight.
  struct Lane {
    std::unique_ptr<Client> client;
    uint64_t left = 0;  // operations that the client has not started yet
    size_t prepared = 0, at = 0;
    uint64_t begin = 0;  // start of the operation in flight, in ticks
    IoTask task;
  };
  void ThreadMain(int t);
  template <bool kRated>
  uint64_t Loop(Client& client, Worker& worker, int t, OpenLoop& open);
  std::vector<Lane> MakeLanes(Session& session, int t);
  bool StartNext(ReadQueue& queue, std::vector<Lane>& lanes, uint32_t lane, Worker& worker);
  void QueueLoop(ReadQueue& queue, std::vector<Lane>& lanes, Worker& worker, int t);
  // Returns whether a client goes on that has prepared nothing. It waits for others, and rests when
  // they do; or the phase ends for all, because the others would soon have nothing left either.
  bool GoesOn(const Client& client, int t) {
    const bool waits = client.Waits();
    if (waits && gate_.Halted()) gate_.Rest(t);
    if (!waits && !workload_.EndedBecause().empty()) gate_.Stop();
    return waits;
  }
  void AwaitStart(int t);
  void NoteEnded() {
    const LockGuard lock(mutex_);
    ++ended_;
    changed_.notify_all();
  }
  // Returns the number of thread t among the threads of all tasks.
  int NumberInAllTasks(int t) const { return options_.task * threads_ + t; }
  OpenLoop NewOpenLoop(int t, Worker* worker) const;
  void Report();
  void RunSlices();
  std::vector<std::thread> StartThreads();
  void EndThreads(std::vector<std::thread>* threads);
  void AwaitReady();
  // Throws what a thread failed with, if one did.
  void ThrowFailure() {
    const LockGuard lock(mutex_);
    if (failure_) std::rethrow_exception(failure_);
  }
  void AwaitThreads(double seconds);
  bool AskedToStop() const { return options_.stop != nullptr && options_.stop(); }
  Interval Sample(double seconds) {
    Interval interval = sampler_.Sample(seconds);
    surroundings_->Sample(&interval);
    return interval;
  }
  bool Stopping() const { return gate_.Stopping(); }
  Engine& engine_;
  Workload& workload_;
  const PhaseOptions& options_;
  const int extra_;    // threads in addition to those of the clients
  const int threads_;  // all of them
  OperationQuota quota_;
  const ThreadRates rates_{workload_, options_, threads_, extra_};
  std::atomic<int> clients_left_;
  const Clock& clock_;
  const Performer performer_;
  std::vector<std::unique_ptr<Worker>> workers_;
  Gate gate_;
  Mutex mutex_;
  CondVar changed_;
  int ready_ GUARDED_BY(mutex_) = 0;
  int ended_ GUARDED_BY(mutex_) = 0;  // threads whose operations have ended
  int done_ GUARDED_BY(mutex_) = 0;   // threads that have also given back what they had
  bool started_ GUARDED_BY(mutex_) = false;
  std::exception_ptr failure_ GUARDED_BY(mutex_);
  uint64_t start_ = 0;  // ticks
  int64_t began_ns_ = 0;
  std::vector<Interval> series_;
  IntervalSampler sampler_{workers_, options_.interval_buckets};
  std::optional<IntervalSurroundings> surroundings_;  // made when the phase begins
  CpuUse cpu_begin_;
};

OpenLoop Phase::NewOpenLoop(int t, Worker* worker) const {
  std::optional<ArrivalTimes> arrivals;
  if (!workload_.timed() && rates_.Of(t).Mean() > 0) {
    // The threads of all tasks get the starts that threads of a single process would get.
    arrivals.emplace(options_.arrivals, rates_.Of(t), NumberInAllTasks(t),
                     options_.tasks * threads_, options_.seed);
  }
  return {clock_, start_, std::move(arrivals), worker};
}

// Returns how many operations the thread was asked for and has not performed.
template <bool kRated>
uint64_t Phase::Loop(Client& client, Worker& worker, int t, OpenLoop& open) {
  const uint64_t quota = quota_.Of(t);
  const std::vector<OpKind>& ops = workload_.ops();
  ThreadLedger* const ledger =
      options_.account != AccountDepth::kOff ? &Ledger::ThisThread() : nullptr;
  TraceClient* const trace = options_.recorder != nullptr ? &options_.recorder->client(t) : nullptr;
  uint32_t until_check = options_.verify_every;
  uint64_t done = 0, claimed = 0;  // claimed are prepared operations that the client may perform
  uint64_t begin = worker.start;   // between batches, the end of the last operation
  while (done < quota && !Stopping()) {
    const uint64_t preparing = kRated || !options_.latency ? clock_.Now() : begin;
    if (trace != nullptr) trace->Rest();
    const size_t n = client.Generate(std::min<uint64_t>(kBatch, quota - done));
    begin = clock_.Now();
    worker.preparing += begin - preparing;
    if constexpr (kRated) open.AddOwnWork(preparing, begin);
    if (n == 0 && !GoesOn(client, t)) return 0;
    if (n == 0) begin = clock_.Now();  // the wait for others is no operation's time
    for (size_t i = 0; i < n; ++i) {
      if constexpr (kRated) begin = open.Await([&] { return client.DueNs(i); }, gate_);
      if (gate_.Halted()) {
        gate_.Rest(t);
        if (Stopping()) break;
        begin = clock_.Now();
      }
      if (claimed == 0) claimed = quota_.Claim(kRated ? 1 : n - i);
      if (claimed-- == 0) return 0;  // other clients perform what is left
      if constexpr (kRated) open.Begins();
      const size_t k = client.OpOf(i);
      client.set_to_verify(until_check == 1);
      if (trace != nullptr) trace->Begin(k, clock_.ToNs(begin - start_));
      const bool answered = performer_.Perform(client, i, ops[k], ledger);
      if (trace != nullptr) trace->End();
      Worker::Op& op = *worker.ops[k];
      ++done;
      if (!answered) [[unlikely]] {
        if constexpr (kRated) open.Record(begin, begin, nullptr);  // it has no latency
        begin = performer_.NoteUnanswered(begin, &op);
        continue;
      }
      op.count.Add(1);
      if (options_.latency || kRated) {
        const uint64_t end = clock_.Now();
        const bool tells = until_check != 1 || !performer_.IsLengthened(client, op);
        if (tells) op.latency.Record(clock_.ToNs(end - begin));
        if constexpr (kRated) open.Record(begin, end, tells ? &op : nullptr);
        begin = end;
      }
      if (until_check != 0 && --until_check == 0) {
        until_check = options_.verify_every;
        performer_.Check(client, i, &worker);
        const uint64_t checked = clock_.Now();
        if constexpr (kRated) open.AddOwnWork(begin, checked);
        begin = checked;
      }
      if (kRated && quota_.IsUsedUp()) gate_.Stop();  // clients that wait have nothing left
    }
  }
  return workload_.EndedBecause().empty() ? quota_.Left(quota - done) : 0;
}

std::vector<Phase::Lane> Phase::MakeLanes(Session& session, int t) {
  std::vector<Lane> lanes(static_cast<size_t>(options_.queue_depth));
  int number = t * options_.queue_depth;
  for (Lane& lane : lanes) {
    lane.left = quota_.Of(number);
    lane.client = workload_.NewClient(session, number++, threads_ * options_.queue_depth);
    lane.client->set_consume(options_.consume);
    lane.client->set_verifies_all(options_.verify_every == 1);
    lane.client->set_is_over([this] { return Stopping() || quota_.IsUsedUp(); });
  }
  return lanes;
}

// Starts the lane's next operation. Returns false when the lane's operations are done, or the
// thread must rest or stop.
bool Phase::StartNext(ReadQueue& queue, std::vector<Lane>& lanes, uint32_t number, Worker& worker) {
  constexpr size_t kLaneBatch = 16;  // small, as other reads of the thread wait for Generate
  Lane& lane = lanes[number];
  if (lane.left == 0 || gate_.Halted()) return false;
  if (++lane.at >= lane.prepared) {
    lane.at = 0;
    const uint64_t preparing = clock_.Now();
    lane.prepared = lane.client->Generate(std::min<uint64_t>(kLaneBatch, lane.left));
    if (lane.prepared == 0) return false;
    worker.preparing += clock_.Now() - preparing;
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

void Phase::QueueLoop(ReadQueue& queue, std::vector<Lane>& lanes, Worker& worker, int t) {
  uint32_t in_flight = 0, until_check = options_.verify_every;
  // The kernel takes up a buffered read again while the thread waits for any read, so a request of
  // the read may come when no look-up runs. Such requests are charged to the kind of the reads.
  IoTask any_read;
  any_read.Begin(workload_.ops()[0]);
  const IoTask::Work waiting(options_.account != AccountDepth::kOff ? &any_read : nullptr);
  const auto start_all = [&] {
    for (uint32_t i = 0; i < lanes.size(); ++i) in_flight += StartNext(queue, lanes, i, worker);
  };
  start_all();
  while (true) {
    if (in_flight == 0) {
      // The reads in flight end before the thread rests, and new ones are started afterwards.
      if (!gate_.Halted() || Stopping()) break;
      gate_.Rest(t);
      start_all();
      continue;
    }
    bool found;
    std::string_view value;
    const uint32_t number = queue.Finish(&found, &value);
    Lane& lane = lanes[number];
    Worker::Op& op = *worker.ops[lane.client->OpOf(lane.at)];
    const bool account = options_.account != AccountDepth::kOff;
    {
      const IoTask::Work work(account ? &lane.task : nullptr);
      lane.client->TakeAnswer(lane.at, found, value);
      if (options_.added_delay_ns != 0) clock_.Spin(options_.added_delay_ns);
    }
    if (options_.latency) op.latency.Record(clock_.ToNs(clock_.Now() - lane.begin));
    if (account) lane.task.End();
    op.count.Add(1);
    if (until_check != 0 && --until_check == 0) {
      until_check = options_.verify_every;
      performer_.Check(*lane.client, lane.at, &worker);
    }
    if (!StartNext(queue, lanes, number, worker)) --in_flight;
  }
}

void Phase::AwaitStart(int t) {
  const LockGuard lock(mutex_);
  if (++ready_ == threads_) changed_.notify_all();
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return started_; });
}

void Phase::ThreadMain(int t) {
  Worker& worker = *workers_[static_cast<size_t>(t)];
  bool waited = false, ended = false;
  try {
    prctl(PR_SET_TIMERSLACK, 1000);
    auto session =
        options_.loads ? engine_.NewSession() : engine_.NewClientSession(NumberInAllTasks(t));
    if (options_.recorder != nullptr) session = options_.recorder->Wrap(std::move(session), t);
    std::vector<Lane> lanes = MakeLanes(*session, t);
    std::unique_ptr<ReadQueue> queue;
    if (options_.queue_depth > 1) {
      queue = session->NewReadQueue(static_cast<uint32_t>(options_.queue_depth));
      if (queue == nullptr) {
        throw Error(Error::kUsage, engine_.name() +
                                       " cannot keep reads in flight the way it reads "
                                       "here; leave out --queue-depth");
      }
    } else {
      worker.session = session.get();
    }
    AwaitStart(t);
    waited = true;
    gate_.Rest(t);
    worker.start = clock_.Now();
    OpenLoop open = NewOpenLoop(t, &worker);
    uint64_t left = 0;
    if (queue != nullptr) {
      QueueLoop(*queue, lanes, worker, t);
    } else if (rates_.Of(t).Mean() > 0 || workload_.timed()) {
      left = Loop<true>(*lanes[0].client, worker, t, open);
    } else {
      Loop<false>(*lanes[0].client, worker, t, open);
    }
    worker.end = open.End(gate_);
    if (t < threads_ - extra_ && --clients_left_ == 0 && extra_ > 0) gate_.Stop();
    NoteEnded();
    ended = true;
    workload_.knows_due_times() ? open.NoteUndoneOf(lanes[0].client.get(), left, worker.end)
                                : open.NoteUndone(left, worker.end);
    for (const Lane& lane : lanes) worker.totals += lane.client->totals();
  } catch (...) {
    worker.end = clock_.Now();
    gate_.Stop();
    const LockGuard lock(mutex_);
    if (!failure_) failure_ = std::current_exception();
  }
  if (!waited) AwaitStart(t);
  if (!ended) NoteEnded();
  gate_.Leave(t);
  const LockGuard lock(mutex_);
  ++done_;
  changed_.notify_all();
}

// Runs on the main thread: wakes each second for the series and the progress callback, and ends the
// phase in time.
void Phase::Report() {
  double next = 1, last_seconds = 0;
  const uint64_t total = options_.operations != 0 ? options_.operations : workload_.operations();
  const double seconds = workload_.operations() == 0 ? options_.seconds : 0;
  UniqueLock lock(mutex_);
  while (ended_ < threads_) {
    const double now = static_cast<double>(clock_.ToNs(clock_.Now() - start_)) / 1e9;
    if ((seconds > 0 && now >= seconds) || AskedToStop()) gate_.Stop();
    if (now >= next) {
      lock.unlock();
      Interval interval = Sample(now);
      if (options_.progress) {
        // `total` is of the clients: a thread in addition to them goes on until they end.
        const uint64_t done = PerformedBy(workers_, static_cast<size_t>(threads_ - extra_));
        double fraction = total != 0 ? static_cast<double>(done) / static_cast<double>(total) : -1;
        if (seconds > 0) fraction = std::max(fraction, now / seconds);
        options_.progress({now, &interval,
                           static_cast<double>(interval.operations) / (now - last_seconds),
                           std::min(fraction, 1.0)});
      }
      series_.push_back(std::move(interval));
      last_seconds = now;
      next = static_cast<double>(static_cast<int64_t>(now) + 1);  // skips seconds that a stop took
      lock.lock();
      continue;
    }
    double wait = std::min(next - now, 0.1);
    if (seconds > now) wait = std::min(wait, seconds - now);  // later, the last thread wakes it
    changed_.wait_for(mutex_, std::chrono::duration<double>(wait));
  }
  // Samples the rest of the last second, so that the series adds up to the phase.
  series_.push_back(Sample(static_cast<double>(clock_.ToNs(clock_.Now() - start_)) / 1e9));
}

// Waits until all threads have ended, the phase stops, or `seconds` have passed.
void Phase::AwaitThreads(double seconds) {
  const uint64_t end = clock_.Now() + clock_.FromNs(static_cast<uint64_t>(seconds * 1e9));
  const LockGuard lock(mutex_);
  while (done_ < threads_ && !Stopping()) {
    const auto left = static_cast<int64_t>(end - clock_.Now());
    if (left <= 0) return;
    if (AskedToStop()) return gate_.Stop();
    const double wait = static_cast<double>(clock_.ToNs(static_cast<uint64_t>(left))) / 1e9;
    changed_.wait_for(mutex_, std::chrono::duration<double>(std::min(wait, 0.1)));
  }
}

// Runs on the main thread in place of Report.
void Phase::RunSlices() {
  double worked = 0;
  while (!Stopping()) {
    const std::optional<double> granted = options_.slices->Next();
    if (!granted || AskedToStop()) break;
    Sample(worked);  // leaves out what the device and the machine did during the rest
    options_.slices->Begins();
    gate_.Open();
    AwaitThreads(*granted);
    const double seconds = gate_.Close();
    options_.slices->Ends();
    worked += seconds;
    series_.push_back(Sample(worked));
    options_.slices->Done(series_.back(), sampler_.latency(), seconds);
    const LockGuard lock(mutex_);
    if (done_ == threads_) break;
  }
  gate_.Stop();
  const LockGuard lock(mutex_);
  changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return done_ == threads_; });
}

// Ends the threads after an error of the main thread, those too that rest, or wait for the begin.
void Phase::EndThreads(std::vector<std::thread>* threads) {
  gate_.Stop();
  {
    const LockGuard lock(mutex_);
    if (!started_) start_ = clock_.Now();
    started_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : *threads) thread.join();
}

// Starts the threads of the phase. When the system cannot make all of them, ends those that it made
// and throws the Error.
std::vector<std::thread> Phase::StartThreads() {
  std::vector<std::thread> threads;
  try {
    for (int t = 0; t < threads_; ++t) {
      threads.push_back(
          StartThread("client " + std::to_string(t + 1) + " of " + std::to_string(threads_),
                      [this, t] { ThreadMain(t); }));
    }
    return threads;
  } catch (const Error&) {
    EndThreads(&threads);
    throw;
  }
}

// Lets the threads begin once all of them are ready.
void Phase::AwaitReady() {
  {
    const LockGuard lock(mutex_);
    changed_.wait(mutex_, [this]() REQUIRES(mutex_) { return ready_ == threads_; });
  }
  if (options_.before_start) options_.before_start();
  const LockGuard lock(mutex_);
  surroundings_.emplace(options_.account, options_.device, options_.budget);
  cpu_begin_ = ReadCpuUse();
  began_ns_ = static_cast<int64_t>(Clock::Monotonic());
  start_ = clock_.Now();
  started_ = true;
  changed_.notify_all();
}

PhaseResult Phase::Run() {
  workload_.OpenClientTables(engine_, options_.threads);
  if (options_.recorder != nullptr) options_.recorder->MakeClients(threads_);
  std::vector<std::thread> threads = StartThreads();
  PhaseResult result;
  try {
    AwaitReady();
    options_.slices != nullptr ? RunSlices() : Report();
    result.cpu_end = ReadCpuUse();
  } catch (...) {
    // This error may come from reading counters: an engine asks its server for them, which may be
    // lost.
    EndThreads(&threads);
    ThrowFailure();  // a client's error says more
    throw;
  }
  for (std::thread& thread : threads) thread.join();
  ThrowFailure();

  uint64_t end = start_;
  for (OpKind op : workload_.ops()) result.ops.push_back({op, 0, {}, {}, {}});
  for (int t = 0; t < threads_; ++t) {
    const Worker& worker = *workers_[static_cast<size_t>(t)];
    end = std::max(end, worker.end);
    const uint64_t ns = options_.slices != nullptr
                            ? gate_.WorkedNs(t)
                            : clock_.ToNs(worker.end - std::min(start_, worker.end));
    AddWorker(worker, static_cast<double>(ns) / 1e9, &result);
    if (!rates_.Shares(t)) result.extra_operations += result.thread_operations.back();
  }
  AddUndone(workers_, &result);
  if (!options_.loads) {
    AddAddresses(engine_.ServerAddresses(), workers_, static_cast<size_t>(NumberInAllTasks(0)),
                 &result);
  }
  if (result.unanswered() != 0 && workload_.writes()) result.totals.rows_unknown = true;
  result.seconds = static_cast<double>(clock_.ToNs(end - start_)) / 1e9;
  if (options_.slices != nullptr) result.seconds = series_.empty() ? 0 : series_.back().end_seconds;
  result.began_ns = began_ns_;
  result.cpu_begin = cpu_begin_;
  result.partial = AskedToStop();
  if (result.partial && options_.recorder != nullptr) options_.recorder->GiveUp();
  result.knows_undone = !workload_.timed() || workload_.knows_due_times();
  result.ended_because = workload_.EndedBecause();
  result.series = std::move(series_);
  return result;
}

}  // namespace

PhaseResult RunPhase(Engine& engine, Workload& workload, const PhaseOptions& options) {
  return Phase(engine, workload, options).Run();
}

}  // namespace testbed
