// Tests which latencies a page sets side by side of documents whose mixes differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/tools/results/small_document.h"
#include "tools/html/page_data.h"
#include "tools/html/plot_files.h"

namespace testbed {
namespace {

using nlohmann::json;

// Returns an operation with this p99, whose slowest took a microsecond longer.
json Operation(const std::string& name, double p99) {
  json operation = SmallOperation(name, 5000);
  operation["latency_us"]["p99"] = p99;
  operation["latency_us"]["max"] = p99 + 1;
  operation["latency_ns_histogram"] = json::array({json::array({p99 * 1000, 5000})});
  return operation;
}

// Returns SmallDocument with these operations in the phase that measures.
json WithOperations(const json& operations) {
  json document = SmallDocument();
  document["runs"][0]["phases"][2]["operations"] = operations;
  return document;
}

// Returns what a function of the page says of the phase that measures, of all documents.
json Compared(const std::vector<json>& documents, const std::string& call) {
  PageData data;
  for (const json& document : documents) data.AddDocument("run.json", document);
  const std::string says = EvaluateOnPage(
      data.Json(),
      "var mixed = testbed.comparisonGroups(data.documents)[1]; JSON.stringify(" + call + ");");
  return json::parse(says);
}

constexpr char kTails[] =
    "mixed.members.map(function (m) { return testbed.tailOf(m, testbed.commonKind(mixed)); })";

// Once, the first operation of each document was compared, whatever its kind.
TEST(SideBySideTest, LatenciesAreOfAKindThatAllHave) {
  const std::vector<json> documents = {
      WithOperations(json::array({Operation("point-read", 10), Operation("update", 50)})),
      WithOperations(json::array({Operation("update", 70), Operation("point-read", 20)})),
      WithOperations(json::array({Operation("scan", 900), Operation("point-read", 30)}))};
  EXPECT_EQ(Compared(documents, "[testbed.commonKind(mixed), testbed.hasOtherKinds(mixed)]"),
            json::array({"point-read", true}));
  EXPECT_EQ(Compared(documents, kTails), json::parse("[10, 20, 30]"));
  EXPECT_EQ(Compared(documents,
                     "testbed.groupCurves(mixed, testbed.theme('light')).map(function (one) {"
                     "  return one.curve[0][1]; })"),
            json::parse("[11, 21, 31]"))
      << "the slowest of the point reads";
}

// Once, before/run.json and after/run.json were both called "run", and a plot told the figures of
// one of them.
TEST(SideBySideTest, FilesOfOneNameAreToldApart) {
  PageData data;
  for (const char* path : {"before/run.json", "after/run.json", "other.json", "after/run.json"}) {
    data.AddDocument(path, SmallDocument());
  }
  const std::string names = EvaluateOnPage(
      data.Json(),
      "JSON.stringify(testbed.comparisonGroups(data.documents)[1].members.map(function (m) {"
      "  return m.name; }));");
  EXPECT_EQ(json::parse(names),
            json::array({"before/run", "after/run (2)", "other", "after/run (4)"}));
}

TEST(SideBySideTest, WithoutACommonKindNoLatenciesAreCompared) {
  const std::vector<json> documents = {WithOperations(json::array({Operation("point-read", 10)})),
                                       WithOperations(json::array({Operation("update", 70)}))};
  EXPECT_EQ(Compared(documents, "testbed.commonKind(mixed)"), "");
  EXPECT_EQ(Compared(documents, kTails), json::parse("[null, null]"));
  EXPECT_EQ(Compared(documents, "testbed.groupCurves(mixed, testbed.theme('light'))"),
            json::array());
  EXPECT_EQ(Compared(documents,
                     "testbed.latencyPlot(testbed.groupCurves(mixed, testbed.theme('light')),"
                     " testbed.theme('light'), 760)"),
            json());
}

}  // namespace
}  // namespace testbed
