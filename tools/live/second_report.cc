#include "tools/live/second_report.h"

#include <algorithm>
#include <utility>

namespace testbed {
namespace {

using nlohmann::json;

json FileJson(const FileCounts& c) {
  return {c.reads, c.read_bytes, c.writes, c.write_bytes, c.syncs};
}

json BlockJson(const BlockCounts& c) { return {c.reads, c.read_bytes, c.writes, c.write_bytes}; }

FileCounts ParseFile(const json& j) {
  return {j.at(0).get<uint64_t>(), j.at(1).get<uint64_t>(), j.at(2).get<uint64_t>(),
          j.at(3).get<uint64_t>(), j.at(4).get<uint64_t>()};
}

BlockCounts ParseBlock(const json& j) {
  return {j.at(0).get<uint64_t>(), j.at(1).get<uint64_t>(), j.at(2).get<uint64_t>(),
          j.at(3).get<uint64_t>()};
}

// Returns the entry of the list with this name, which is added if it is not there.
template <typename Entry>
Entry& Named(std::vector<Entry>* list, const std::string& name) {
  for (Entry& entry : *list) {
    if (entry.name == name) return entry;
  }
  Entry& added = list->emplace_back();
  added.name = name;
  return added;
}

}  // namespace

void SecondReport::Append(const SecondReport& next) {
  phase = next.phase;
  seconds = next.seconds;
  fraction = next.fraction;
  length += next.length;
  operations += next.operations;
  for (const auto value : {&SecondReport::p50_us, &SecondReport::p99_us, &SecondReport::p999_us,
                           &SecondReport::max_us}) {
    this->*value = std::max(this->*value, next.*value);
  }
  for (const Operation& operation : next.by_operation) {
    Operation& mine = Named(&by_operation, operation.name);
    mine.count += operation.count;
    mine.max_us = std::max(mine.max_us, operation.max_us);
  }
  for (const Cause& cause : next.causes) {
    Cause& mine = Named(&causes, cause.name);
    mine.ground = cause.ground;
    mine.file += cause.file;
    mine.kernel += cause.kernel;
  }
  counts_files = next.counts_files;
  counts_in_kernel = next.counts_in_kernel;
  if (device && next.device) {
    *device += *next.device;
  } else if (next.device) {
    device = next.device;
  }
  const std::optional<Memory> before = std::exchange(memory, next.memory);
  if (memory && before) {
    memory->limit_hits += before->limit_hits;
    memory->refaults += before->refaults;
  }
  resident_bytes = next.resident_bytes;
  joined = true;
  ended = next.ended;
}

json SecondJson(const SecondReport& second) {
  json j = {{"phase", second.phase},
            {"seconds", second.seconds},
            {"length", second.length},
            {"fraction", second.fraction},
            {"operations", second.operations},
            {"us", {second.p50_us, second.p99_us, second.p999_us, second.max_us}},
            {"counts_files", second.counts_files},
            {"counts_in_kernel", second.counts_in_kernel},
            {"resident_bytes", second.resident_bytes},
            {"joined", second.joined},
            {"ended", second.ended},
            {"by_operation", json::array()},
            {"causes", json::array()}};
  for (const SecondReport::Operation& o : second.by_operation) {
    j["by_operation"].push_back({{"name", o.name}, {"count", o.count}, {"max_us", o.max_us}});
  }
  for (const SecondReport::Cause& c : second.causes) {
    j["causes"].push_back({{"name", c.name},
                           {"ground", c.ground},
                           {"file", FileJson(c.file)},
                           {"kernel", BlockJson(c.kernel)}});
  }
  if (second.device) j["device"] = BlockJson(*second.device);
  if (second.memory) {
    const SecondReport::Memory& m = *second.memory;
    j["memory"] = {m.limit, m.process, m.page_cache, m.kernel, m.limit_hits, m.refaults};
  }
  return j;
}

SecondReport ParseSecond(const json& j) {
  SecondReport second;
  second.phase = j.at("phase");
  second.seconds = j.at("seconds");
  second.length = j.at("length");
  second.fraction = j.at("fraction");
  second.operations = j.at("operations");
  const json& us = j.at("us");
  second.p50_us = us.at(0);
  second.p99_us = us.at(1);
  second.p999_us = us.at(2);
  second.max_us = us.at(3);
  second.counts_files = j.at("counts_files");
  second.counts_in_kernel = j.at("counts_in_kernel");
  second.resident_bytes = j.at("resident_bytes");
  second.joined = j.at("joined");
  second.ended = j.at("ended");
  for (const json& o : j.at("by_operation")) {
    second.by_operation.push_back({o.at("name"), o.at("count"), o.at("max_us")});
  }
  for (const json& c : j.at("causes")) {
    second.causes.push_back(
        {c.at("name"), c.at("ground"), ParseFile(c.at("file")), ParseBlock(c.at("kernel"))});
  }
  if (j.contains("device")) second.device = ParseBlock(j.at("device"));
  if (j.contains("memory")) {
    const json& m = j.at("memory");
    second.memory = {m.at(0).get<uint64_t>(), m.at(1).get<uint64_t>(), m.at(2).get<uint64_t>(),
                     m.at(3).get<uint64_t>(), m.at(4).get<uint64_t>(), m.at(5).get<uint64_t>()};
  }
  return second;
}

}  // namespace testbed
