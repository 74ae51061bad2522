// Tests which bytes count against which phase of a results document.
#include "tools/statistics/document_cells.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace testbed {
namespace {

using nlohmann::json;

// Returns a phase in which the device wrote these bytes. The user wrote 100 bytes, unless it is a
// settle.
json PhaseThatWrote(const std::string& name, const std::string& kind, double bytes) {
  json phase = {{"name", name},
                {"kind", kind},
                {"account",
                 {{"causes", json::array()},
                  {"engine", json::object()},
                  {"device", {{"reads", 0}, {"writes", 1}, {"write_bytes", bytes}}}}}};
  if (kind == "settle") return phase;
  phase["count"] = 10;
  phase["user_bytes_written"] = 100;
  const json latency = {{"mean", 1.0}};
  phase["operations"] = json::array({{{"name", name}, {"count", 10}, {"latency_us", latency}}});
  return phase;
}

json DocumentOf(const json& phases) {
  json document;
  document["runs"] = json::array({{{"threads", 1}, {"phases", phases}}});
  return document;
}

// An engine that leaves its pages to the settle looked as if it wrote less than one that does not.
TEST(DocumentCellsTest, WhatASettleWroteIsInTheAmplificationOfThePhaseBeforeIt) {
  const json phases = json::array(
      {PhaseThatWrote("insert", "load", 300), PhaseThatWrote("settle", "settle", 200),
       PhaseThatWrote("settle", "settle", 50), PhaseThatWrote("update", "measure", 700)});
  const auto amplification = [](const json& of, size_t cell) {
    return CellsOf(DocumentOf(of)).at(cell).samples.at("write_amplification").at(0).value;
  };
  EXPECT_DOUBLE_EQ(amplification(phases, 0), 5.5);
  EXPECT_DOUBLE_EQ(amplification(phases, 1), 7);
  json without = phases;
  without[1]["account"].erase("device");
  const std::vector<DocumentCell> cells = CellsOf(DocumentOf(without));
  EXPECT_FALSE(cells.at(0).samples.contains("write_amplification")) << "its settle is not known";
  EXPECT_TRUE(cells.at(0).samples.contains("device_write_bytes"));
  EXPECT_DOUBLE_EQ(amplification(without, 1), 7);
}

}  // namespace
}  // namespace testbed
