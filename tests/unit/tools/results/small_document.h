// A small results document that the tests of the store share: one run with a load, a measured phase
// of two operations and three seconds, and a settle step.
#ifndef TESTBED_TESTS_UNIT_TOOLS_RESULTS_SMALL_DOCUMENT_H_
#define TESTBED_TESTS_UNIT_TOOLS_RESULTS_SMALL_DOCUMENT_H_

#include <nlohmann/json.hpp>
#include <string>

namespace testbed {

inline nlohmann::json SmallOperation(const std::string& name, int count) {
  return {{"name", name},
          {"count", count},
          {"rate", count / 2.0},
          {"latency_us",
           {{"mean", 20.5}, {"p50", 10.0}, {"p99", 90.0}, {"p999", 99.0}, {"max", 100.0}}}};
}

inline nlohmann::json SmallPhase(const std::string& name, const std::string& kind,
                                 nlohmann::json operations) {
  return {
      {"name", name},
      {"kind", kind},
      {"seconds", 2.5},
      {"count", 100},
      {"rate", 40.0},
      {"user_bytes_written", 1000},
      {"partial", false},
      {"operations", std::move(operations)},
      {"series",
       {{{"end_seconds", 1.0}, {"operations", 50}, {"max_us", 80.0}},
        {{"end_seconds", 2.0},
         {"operations", 3},
         {"max_us", 1500000.0},
         {"background",
          {{{"name", "checkpoint"}, {"read_bytes", 0}, {"write_bytes", 4096}},
           {{"name", "eviction"}, {"read_bytes", 8192}, {"write_bytes", 100}}}}},
        {{"end_seconds", 2.5}, {"operations", 47}, {"max_us", 100.0}}}},
      {"account",
       {{"cpu_user_seconds", 0.5},
        {"cpu_system_seconds", 0.25},
        {"causes", {{{"name", "point-read"}, {"kernel", {{"reads", 30}, {"read_bytes", 122880}}}}}},
        {"other_threads",
         {{{"thread", "rsync"}, {"kind", "other-file"}, {"kernel", {{"reads", 7}}}}}},
        {"device",
         {{"reads", 57}, {"read_bytes", 500000}, {"writes", 3}, {"write_bytes", 2000}}}}}};
}

inline nlohmann::json SmallDocument(const std::string& label = "before") {
  using nlohmann::json;
  const json phases = {
      SmallPhase("insert", "load", json::array({SmallOperation("insert", 100)})),
      {{"name", "settle"},
       {"kind", "settle"},
       {"seconds", 0.1},
       {"account", {{"causes", json::array()}}}},
      SmallPhase("mixed", "measure",
                 json::array({SmallOperation("point-read", 60), SmallOperation("update", 40)}))};
  return {
      {"schema", "testbed-results/1"},
      {"testbed", "0.1.0"},
      {"command", {"--engine", "btree", "--label", label}},
      {"started", "2026-11-24T20:29:31Z"},
      {"label", label},
      {"host", "vm"},
      {"options",
       {{"engine", "btree"},
        {"page_size", 8192},
        {"seed", 42},
        {"mix", json::object()},
        {"workload", {"insert", "mixed"}},
        {"drop_caches", false}}},
      {"machine", {{"cpus", "2"}, {"kernel", "6.10"}, {"load", "0.30"}, {"cpu_governor", ""}}},
      {"not_in_force", json::array()},
      {"notes", json::array({"one note"})},
      {"partial", false},
      {"runs",
       json::array({{{"threads", 8},
                     {"load", 0},
                     {"repeat", 0},
                     {"seed", 42},
                     {"engine", {{"name", "btree"}, {"version", "1"}, {"effective", {{"a", "b"}}}}},
                     {"accounting", {{"grade", "B"}, {"kernel_account", true}}},
                     {"phases", phases}}})}};
}

}  // namespace testbed

#endif  // TESTBED_TESTS_UNIT_TOOLS_RESULTS_SMALL_DOCUMENT_H_
