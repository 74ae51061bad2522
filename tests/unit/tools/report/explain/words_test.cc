// Tests that `testbed explain` knows the words that reports print beside their columns.
#include "tools/report/explain/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "device/account/operations.h"
#include "device/error.h"
#include "tests/unit/tools/results/small_document.h"
#include "tools/experiment/verdict/verdict.h"
#include "tools/report/figures.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Expects that the word has an explanation of its own, under `name` where that is another.
void ExpectExplained(const std::string& word, const std::string& name = "") {
  SCOPED_TRACE(word);
  std::string text;
  EXPECT_NO_THROW(text = ExplainText(word));
  EXPECT_THAT(text, HasSubstr("  " + (name.empty() ? word : name) + ": "));
}

TEST(WordMeaningsTest, HaveTheWordsThatAUserAskedFor) {
  for (const char* word : {"closure", "grade", "settle", "verify", "ledger", "padding",
                           "foreground share", "all operations", "others"}) {
    ExpectExplained(word);
  }
  ExpectExplained("DISCARDED", "discarded, not written");
  ExpectExplained("other files", "other files of the run");
}

// Once, the text said that the whole interval lies within the margin
// (tools/statistics/comparison.h).
TEST(WordMeaningsTest, SameIsWhatTheTestsOfTheMarginSay) {
  EXPECT_THAT(ExplainText("same"), HasSubstr("  same: Two one-sided tests"));
}

TEST(WordMeaningsTest, HaveTheCausesAndTheKindsOfFiles) {
  for (size_t i = 0; i < kFixedOps; ++i) {
    ExpectExplained(OpName(OpKind{static_cast<uint8_t>(i)}));
  }
  for (size_t i = 0; i < kFileKinds; ++i) {
    ExpectExplained(FileKindName(static_cast<FileKind>(i)));
  }
}

TEST(WordMeaningsTest, HaveTheClassesOfWrittenBytes) {
  json document = SmallDocument();
  json& phase = document["runs"][0]["phases"][0];
  json& cause = phase["account"]["causes"][0];
  cause["name"] = "flush";
  for (size_t i = 0; i < kFileKinds; ++i) {
    cause["kernel_by_kind"][FileKindName(static_cast<FileKind>(i))] = {{"write_bytes", 4096}};
  }
  phase["account"]["engine"] = {{"log_payload_bytes", 600}};
  const json thread = {{"thread", "kworker"}, {"kind", "data"}, {"kernel", {{"write_bytes", 1}}}};
  phase["account"]["other_threads"].push_back(thread);
  const std::vector<WriteClass> classes = WriteClasses(phase);
  EXPECT_EQ(classes.size(), 11u);
  double sum = 0;
  for (const WriteClass& c : classes) sum += c.bytes;
  EXPECT_EQ(sum, 4096.0 * kFileKinds + 1) << "each byte is in one class";
  for (const WriteClass& c : classes) {
    ExpectExplained(c.name, c.name == "data by flush" ? "data by ..." : "");
  }
}

TEST(WordMeaningsTest, HaveTheVerdicts) {
  for (int i = 0; i <= PartVerdict::kUntestable; ++i) {
    ExpectExplained(OutcomeName(static_cast<PartVerdict::Outcome>(i)));
  }
  for (int i = 0; i <= Verdict::kNotAtScale; ++i) {
    Verdict verdict;
    verdict.kind = static_cast<Verdict::Kind>(i);
    const std::string text = VerdictText(verdict);
    EXPECT_TRUE(std::any_of(
        WordMeanings().begin(), WordMeanings().end(),
        [&](const ColumnMeaning& m) { return m.column.size() > 3 && text.starts_with(m.column); }))
        << text;
  }
}

TEST(WordMeaningsTest, AnUnknownWordIsRefusedWithAGuess) {
  const auto error = [](const std::string& word) -> std::string {
    try {
      return ExplainText(word);
    } catch (const Error& e) {
      return e.what();
    }
  };
  EXPECT_EQ(error("torn-page protectipn"),
            "no table, column or word is called torn-page protectipn; did you mean 'torn-page "
            "protection'?; `testbed explain` explains all");
  EXPECT_THAT(error("data by"), HasSubstr("  data by ...: "));
  EXPECT_THAT(error("xyzzy"), HasSubstr("called xyzzy; `testbed explain` explains all"));
}

}  // namespace
}  // namespace testbed
