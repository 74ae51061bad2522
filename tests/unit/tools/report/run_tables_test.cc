// Tests the tables of a run: which requests of the device are its own, and which percentiles are
// told.
#include "tools/report/run_tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/tools/results/small_document.h"
#include "tools/statistics/estimate.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Returns SmallDocument with what the tables read besides.
json TablesDocument() {
  json document = SmallDocument();
  for (json& phase : document["runs"][0]["phases"]) {
    phase.update({{"verified", 0}, {"wrong", 0}, {"steady", {{"rate", nullptr}}}});
    for (json& cause : phase["account"]["causes"]) cause["ground"] = "foreground";
  }
  return document;
}

std::string TextOf(const json& document, const std::string& title) {
  for (const Table& table : RunTables(document)) {
    const std::string text = table.empty() ? "" : table.Text(SIZE_MAX);
    if (text.starts_with(title)) return text;
  }
  ADD_FAILURE() << "there is no table " << title;
  return "";
}

TEST(RunTablesTest, WritesOfOtherProgramsAreNoLogWrites) {
  json document = TablesDocument();
  json& account = document["runs"][0]["phases"][2]["account"];
  account["log"] = {{"bytes", 700}};
  EXPECT_THAT(TextOf(document, "Log writes"), HasSubstr(" 0.030 ")) << "of the device";
  account["other_threads"][0]["kernel"]["writes"] = 2;
  EXPECT_THAT(TextOf(document, "Log writes"),
              testing::AllOf(HasSubstr(" 0.010 "), Not(HasSubstr(" 0.030 "))));
}

TEST(RunTablesTest, RepeatsTellAPercentileOfEnoughOperations) {
  const auto known = [](int least) {
    json document = SmallDocument();
    document["runs"].push_back(document["runs"][0]);
    document["runs"][1]["load"] = 1;
    for (const auto& [run, count] : {std::pair(0, 5000), std::pair(1, least)}) {
      document["runs"][static_cast<size_t>(run)]["phases"][2]["operations"][0]["count"] = count;
    }
    for (const Repeated& repeated : Repeats(document)) {
      if (repeated.name == "mixed point-read, 8 thr") return repeated.p99_us.n;
    }
    return size_t{77};
  };
  EXPECT_EQ(known(1000), 2u);
  EXPECT_EQ(known(999), 0u) << "a run of it tells none";
}

}  // namespace
}  // namespace testbed
