#include "tools/ab/sample.h"

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "tools/report/figures.h"
#include "tools/statistics/metrics.h"

namespace testbed {
namespace {

using nlohmann::json;

// Adds the numbers in `counts`, their names behind the prefix, to *flat.
void AddCounts(const std::string& prefix, const json& counts, json* flat) {
  for (const auto& [name, value] : counts.items()) {
    if (!value.is_number() || name == "cache_bytes") continue;
    json& sum = (*flat)[prefix + name];
    sum = sum.is_null() ? value : json(sum.get<double>() + value.get<double>());
  }
}

// Returns whether requests of a thread outside the run are for the side's own files, as those of
// kernel threads that write its pages back. The journal and the metadata of a file system serve all
// sides that have their files on it.
bool IsForFilesOfTheSide(const json& thread) {
  const std::string kind = thread.value("kind", "");
  return !IsOfOtherProgram(thread) && kind != "fs-journal" && kind != "fs-metadata";
}

json FlatRest(const json& rest) {
  json flat = json::object();
  const json all = FlatCounters(rest.at("account"));
  for (const auto& [name, value] : all.items()) {
    if (value != 0) flat[name] = value;
  }
  flat["seconds"] = rest.at("seconds");
  return flat;
}

// Erases the members of *object that begin with the prefix. Returns whether there were any.
bool EraseAll(const std::string& prefix, json* object) {
  bool any = false;
  for (auto at = object->begin(); at != object->end();) {
    const bool wanted = at.key().starts_with(prefix);
    any = any || wanted;
    at = wanted ? object->erase(at) : std::next(at);
  }
  return any;
}

// Returns how many operations tell each percentile, by its name in `metrics`, where these are not
// all that the phase counts: some are in no latency, or were due and had not begun.
json ToldJson(const json& phase,
              const std::map<std::string, std::map<std::string, double>>& metrics) {
  json told = json::object();
  for (const json& operation : phase.at("operations")) {
    const auto name = operation.at("name").get<std::string>();
    const std::string kind = metrics.contains(name) ? name + "." : "";
    for (const auto& [prefix, latency] :
         {std::pair("", "latency_us"), std::pair("intended_", "latency_from_intended_us")}) {
      const auto of = operation.find(latency);
      if (of == operation.end() || !of->contains("count")) continue;
      if (of->at("count") == operation.value("count", json())) continue;
      for (const char* figure : {"p50", "p99", "p999"}) {
        told[kind + prefix + figure] = of->at("count");
      }
    }
  }
  return told;
}

}  // namespace

json FlatCounters(const json& account) {
  json flat = json::object();
  const json none = json::object();
  for (const json& cause : account.at("causes")) {
    AddCounts("file_", cause.value("file", none), &flat);
    AddCounts("kernel_", cause.value("kernel", none), &flat);
    AddCounts("wire_", cause.value("wire", none), &flat);
  }
  for (const json& thread : account.value("other_threads", json::array())) {
    if (IsForFilesOfTheSide(thread)) AddCounts("kernel_", thread.value("kernel", none), &flat);
  }
  const json engine = account.at("engine");
  AddCounts("device_", account.value("device", none), &flat);
  AddCounts("", engine, &flat);
  AddCounts("engine.", engine.value("more", none), &flat);
  for (const char* name :
       {"cpu_user_seconds", "cpu_system_seconds", "context_switches", "major_faults"}) {
    AddCounts("", {{name, account.at(name)}}, &flat);
  }
  return flat;
}

json SampleJson(const SamplePlace& place, const json& phase, size_t kinds) {
  json metrics = json::object();
  const auto by_kind = MetricsOf(phase, kinds);
  for (const auto& [kind, own] : by_kind) {
    for (const auto& [name, value] : own) {
      metrics[kind.empty() ? name : kind + "." + name] = value;
    }
  }
  json sample = {{"side", place.side},
                 {"load", place.load},
                 {"block", place.block},
                 {"seconds", phase.at("seconds")},
                 {"count", phase.at("count")},
                 {"metrics", std::move(metrics)},
                 {"counters", FlatCounters(phase.at("account"))}};
  const double charged = ChargedOperations(phase);
  if (charged != phase.at("count").get<double>()) {
    sample["charged"] = static_cast<uint64_t>(charged);
  }
  if (json told = ToldJson(phase, by_kind); !told.empty()) sample["told"] = std::move(told);
  if (phase.contains("rest")) sample["rest"] = FlatRest(phase["rest"]);
  return sample;
}

void LeaveOutThreads(const std::set<std::string>& names, json* account) {
  const auto threads = account->find("other_threads");
  if (threads == account->end()) return;
  json kept = json::array();
  for (const json& thread : *threads) {
    if (!names.contains(thread.at("thread").get<std::string>())) kept.push_back(thread);
  }
  *threads = std::move(kept);
}

bool LeaveOutSharedDevice(const json& account, json* sample) {
  EraseAll("device_", &(*sample)["counters"]);
  if (sample->contains("rest")) EraseAll("device_", &(*sample)["rest"]);
  if (account.contains("other_threads")) return false;
  json& metrics = (*sample)["metrics"];
  const bool of_user = metrics.erase("write_amplification") > 0;
  return EraseAll("device_", &metrics) || of_user;
}

void LeaveOutRequests(json* sample) {
  for (const char* part : {"metrics", "counters", "rest"}) {
    if (!sample->contains(part)) continue;
    EraseAll("kernel_", &(*sample)[part]);
    EraseAll("device_", &(*sample)[part]);
  }
  (*sample)["metrics"].erase("write_amplification");
}

}  // namespace testbed
