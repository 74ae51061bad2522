#include "tools/release/release_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>

#include "device/error.h"
#include "device/os/child_process.h"
#include "device/os/signal_guard.h"
#include "tools/output/json_text.h"
#include "tools/release/build_info.h"
#include "tools/release/release.h"
#include "tools/run/run_checks.h"
#include "tools/run/run_process.h"
#include "workloads/keys/key_source.h"
#include "workloads/trace/known_trace.h"

namespace testbed {
namespace {

using nlohmann::json;

template <typename Visit>
void VisitEngine(EngineOptions& o, const Visit& visit) {
  visit("create", o.create);
  visit("replace", o.replace);
  visit("io", o.io);
  visit("file_advice", o.file_advice);
  visit("mmap_advice", o.mmap_advice);
  visit("page_size", o.page_size);
  visit("cache_bytes", o.cache_bytes);
  visit("most_cache_bytes", o.most_cache_bytes);
  visit("ram_bytes", o.ram_bytes);
  visit("durability", o.durability);
  visit("lazy_interval_ms", o.lazy_interval_ms);
  visit("compression", o.compression);
  visit("extra", o.extra);
}

template <typename Visit>
void VisitData(DatasetOptions& o, const Visit& visit) {
  visit("rows", o.rows);
  visit("order", o.order);
  visit("key_size", o.key_size);
  visit("value_size", o.value_size);
  visit("compressibility", o.compressibility);
  visit("indexes", o.indexes);
  visit("seed", o.seed);
  visit("keys_file", o.keys_file);
  visit("fields", o.fields);
  visit("value_sizes", o.value_sizes);
  visit("least_value", o.least_value);
  visit("most_value", o.most_value);
}

template <typename Visit>
void VisitWorkload(WorkloadOptions& o, const Visit& visit) {
  visit("rows_per_transaction", o.rows_per_transaction);
  visit("distribution", o.distribution);
  visit("zipf_theta", o.zipf_theta);
  visit("hot_fraction", o.hot_fraction);
  visit("hot_probability", o.hot_probability);
  visit("hit_ratio", o.hit_ratio);
  visit("scan_rows", o.scan_rows);
  visit("mix", o.mix);
  visit("extra", o.extra);
  visit("seed", o.seed);
  visit("directory", o.directory);
}

// Visits the options that a run in a child process reads. Only the parent uses the others.
template <typename Visit>
void VisitRun(RunOptions& o, const Visit& visit) {
  visit("engine_name", o.engine_name);
  visit("dir", o.dir);
  visit("reuse", o.reuse);
  visit("fresh", o.fresh);
  visit("ram_bytes", o.ram_bytes);
  visit("cache_pct", o.cache_pct);
  visit("cache_auto", o.cache_auto);
  visit("cache_most", o.cache_most);
  visit("strict", o.strict);
  visit("read_iops", o.read_iops);
  visit("databases", o.databases);
  visit("workloads", o.workloads);
  visit("phase_seconds", o.phase_seconds);
  visit("phase_rates", o.phase_rates);
  visit("phase_curves", o.phase_curves);
  visit("phase_popular", o.phase_popular);
  visit("at_once", o.at_once);
  visit("threads", o.threads);
  visit("queue_depth", o.queue_depth);
  visit("operations", o.operations);
  visit("seconds", o.seconds);
  visit("warmup", o.warmup);
  visit("rate", o.rate);
  visit("arrivals", o.arrivals);
  visit("find_rate", o.find_rate);
  visit("verify_every", o.verify_every);
  visit("consume", o.consume);
  visit("added_delay_ns", o.added_delay_ns);
  visit("drop_caches", o.drop_caches);
  visit("readahead_model", o.readahead_model);
  visit("exclusive_device", o.exclusive_device);
  visit("account", o.account);
  visit("quiet", o.quiet);
  visit("record_file", o.record_file);
  visit("report_interval", o.live.report_interval);
  visit("live", o.live.live);
}

struct Write {
  json* j;
  template <typename T>
  void operator()(const char* name, const T& value) const {
    (*j)[name] = value;
  }
  template <typename T>
  void operator()(const char* name, const std::optional<T>& value) const {
    (*j)[name] = value ? json(*value) : json();
  }
};

struct Read {
  const json* j;
  template <typename T>
  void operator()(const char* name, T& value) const {
    j->at(name).get_to(value);
  }
  template <typename T>
  void operator()(const char* name, std::optional<T>& value) const {
    const json& found = j->at(name);
    value = found.is_null() ? std::nullopt : std::optional<T>(found.get<T>());
  }
};

json OptionsJson(RunOptions options) {
  json j, engine, data, workload;
  VisitRun(options, Write{&j});
  VisitEngine(options.engine, Write{&engine});
  VisitData(options.data, Write{&data});
  VisitWorkload(options.workload, Write{&workload});
  j["engine"] = std::move(engine);
  j["data"] = std::move(data);
  j["workload"] = std::move(workload);
  j["metrics"] = options.live.metrics.has_value();  // the parent listens, the child reports
  return j;
}

// The plan that a line holds, and the limits that the plan points to.
struct SentPlan {
  RunPlan plan;
  std::unique_ptr<MemoryBudget> budget;
  std::unique_ptr<ReadLimit> read_limit;
};

SentPlan ReadPlan(const json& j) {
  SentPlan sent;
  RunPlan& plan = sent.plan;
  j.at("phases").get_to(plan.phases);
  j.at("threads").get_to(plan.threads);
  j.at("repeat").get_to(plan.repeat);
  j.at("label").get_to(plan.label);
  j.at("engine_dir").get_to(plan.engine_dir);
  j.at("exclusive_device").get_to(plan.exclusive_device);
  j.at("in_slices").get_to(plan.in_slices);
  plan.population = j.at("population");
  const json& phases = j.at("writing_phases");
  plan.writing_phases = phases.is_null() ? std::nullopt : std::optional(phases.get<uint64_t>());
  j.at("loader").get_to(plan.loader);
  if (const std::string path = j.at("budget"); !path.empty()) {
    sent.budget = MemoryBudget::Attach(path);
    plan.budget = sent.budget.get();
  }
  if (const std::string path = j.at("read_limit"); !path.empty()) {
    sent.read_limit = ReadLimit::Attach(path, j.at("read_limit_own"));
    plan.read_limit = sent.read_limit.get();
  }
  return sent;
}

void Send(int fd, const json& line) { WriteAll(fd, JsonText(line) + "\n"); }

json ErrorLine(const std::string& sentence, int code) {
  return {{"run",
           {{"phases", json::array()}, {"error", {{"sentence", sentence}, {"exit_code", code}}}}},
          {"ended", true}};
}

void ServeCheck(const RunOptions& options, const std::string& where, int to_parent) {
  PassesStopsOn(::getppid());
  try {
    CheckRun(options, std::make_shared<const Dataset>(options.data));
    if (!where.empty()) TryEngineOptions(options, where);
    Send(to_parent, {{"accepted", true}});
  } catch (const Error& e) {
    Send(to_parent, {{"refused", e.what()}});
  }
}

// Makes the keys and the trace of the parent those of this process.
void TakeInputs(const json& line, const RunOptions& options) {
  const LentKeys keys{line.at("keys").get<std::string>(), line.at("keys_hash").get<uint64_t>()};
  if (!keys.file.empty()) BorrowKeys(options.data.keys_file, keys);
  KnowTrace(TraceOf(options), line.at("trace").get<std::string>());
}

void Serve(ParentLines* parent, int to_parent) {
  const json line = parent->Await();
  const auto refuse = [&](const std::string& sentence) {
    if (line.contains("check")) return Send(to_parent, {{"refused", sentence}});
    Send(to_parent, ErrorLine(sentence, 2));
  };
  if (line.value("build", "") != ThisBuild().id()) {
    const std::optional<EngineRelease> own = OwnRelease();
    return refuse(own ? OfAnotherBuild(own->engine, own->release)
                      : OfAnotherBuild("ENGINE", "RELEASE"));
  }
  const RunOptions options = ReadSentOptions(line);
  try {
    TakeInputs(line, options);
  } catch (const Error& e) {
    return refuse(e.what());
  }
  if (line.contains("check")) return ServeCheck(options, line["check"], to_parent);
  const SentPlan sent = ReadPlan(line.at("plan"));
  ServeRun(options, sent.plan, parent, to_parent);
}

}  // namespace

json SentRun(const RunOptions& options, const RunPlan& plan) {
  const LentKeys keys = LendKeys(options.data.keys_file);
  return {{"build", ThisBuild().id()},
          {"options", OptionsJson(options)},
          {"keys", keys.file},
          {"keys_hash", keys.hash},
          {"trace", KnownTrace(TraceOf(options))},
          {"plan",
           {{"phases", plan.phases},
            {"threads", plan.threads},
            {"repeat", plan.repeat},
            {"label", plan.label},
            {"engine_dir", plan.engine_dir},
            {"exclusive_device", plan.exclusive_device},
            {"in_slices", plan.in_slices},
            {"population", plan.population},
            {"writing_phases", plan.writing_phases ? json(*plan.writing_phases) : json()},
            {"loader", plan.loader},
            {"budget", plan.budget == nullptr ? "" : plan.budget->path()},
            {"read_limit", plan.read_limit == nullptr ? "" : plan.read_limit->path()},
            {"read_limit_own", plan.read_limit != nullptr && plan.read_limit->own()}}}};
}

RunOptions ReadSentOptions(const json& line) {
  RunOptions options;
  try {
    const json& j = line.at("options");
    VisitRun(options, Read{&j});
    VisitEngine(options.engine, Read{&j.at("engine")});
    VisitData(options.data, Read{&j.at("data")});
    VisitWorkload(options.workload, Read{&j.at("workload")});
    if (j.at("metrics").get<bool>()) options.live.metrics.emplace();
  } catch (const json::exception& e) {
    throw Error(Error::kRun, fmt::format("the run that was sent is not whole: {}", e.what()));
  }
  return options;
}

void ExecuteRunProgram(const std::string& program, int from_parent, int to_parent) {
  for (const int fd : {from_parent, to_parent}) ::fcntl(fd, F_SETFD, 0);
  const std::string in = std::to_string(from_parent), out = std::to_string(to_parent);
  ::execl(program.c_str(), "testbed", kExecuteRun, in.c_str(), out.c_str(), nullptr);
  const Error failed = Error::Io("execute", program, errno);
  Send(to_parent, ErrorLine(failed.what(), 1));
  ::_exit(0);
}

void CheckByRelease(const RunOptions& options, const std::string& where) {
  const EngineRelease release = FindRelease(options.engine_name, options.release);
  json line = SentRun(options, RunPlan());
  line["check"] = where;
  Pipe out, in;
  const pid_t child = ForkChild();
  if (child == 0) ExecuteRunProgram(release.program, in.reader(), out.writer());
  in.CloseReader();
  out.CloseWriter();
  Send(in.writer(), line);
  const json answer = ParentLines(out.reader()).Await();
  // The child may wait for a server, and the signal may have reached this process alone.
  if (StopRequested()) ::kill(child, SIGTERM);
  in.CloseWriter();
  out.CloseReader();
  AwaitChild(child);
  if (answer.value("accepted", false) || StopRequested()) return;
  if (answer.value("end", false)) {
    throw Error(Error::kUsage,
                fmt::format("the program of {}@{}, {}, gave no answer; link it anew by "
                            "`tools/build_engine.sh {} {}`",
                            release.engine, release.release, release.program, release.engine,
                            release.release));
  }
  const json about = answer.value("run", json::object()).value("error", json::object());
  throw Error(Error::kUsage, answer.value("refused", about.value("sentence", "")));
}

void ExecuteSentRun(const std::vector<std::string>& words) {
  if (words.size() != 3) {
    throw Error(Error::kUsage, fmt::format("{} is for testbed itself, which executes a run of "
                                           "another release by it; give --engine NAME@RELEASE",
                                           kExecuteRun));
  }
  const int in = std::atoi(words[1].c_str()), out = std::atoi(words[2].c_str());
  // The pipes came through one execve(2), and must not come through another: the parent takes the
  // end of the pipe for the end of the run.
  for (const int fd : {in, out}) ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  // Gives the process its name back: after the execve(2) of kThisProgram the kernel calls it "exe".
  ::prctl(PR_SET_NAME, "testbed");
  ParentLines parent(in);
  Serve(&parent, out);
  std::fflush(nullptr);
  ::_exit(0);  // as a forked child ends: destructors would find the account of the run gone
}

}  // namespace testbed
