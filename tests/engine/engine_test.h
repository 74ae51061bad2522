// What the conformance suite is made of: every test runs for each engine of this build that keeps
// data and finds it again, in each IO mode that it has. An engine joins by standing in the
// registry.
//
//   class ScanTest : public EngineTest {};
//   TEST_P(ScanTest, FindsEveryRow) { Open(); ... }
//   TESTBED_FOR_EVERY_ENGINE(ScanTest);
//
// One test in the suite is one claim of engines/engine.h.
#ifndef TESTBED_TESTS_ENGINE_ENGINE_TEST_H_
#define TESTBED_TESTS_ENGINE_ENGINE_TEST_H_

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "engines/engine.h"
#include "engines/registry.h"

namespace testbed {

struct EngineCase {
  std::string engine;
  IoMode io;
  std::string compression = "none";
  std::string variant = "";  // of EngineInfo::variants
};
void PrintTo(const EngineCase& c, std::ostream* out);
std::vector<EngineCase> EngineCases();
std::string EngineCaseName(const testing::TestParamInfo<EngineCase>& info);

#define TESTBED_FOR_EVERY_ENGINE(suite)                 \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite); \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, testing::ValuesIn(EngineCases()), EngineCaseName)

class EngineTest : public testing::TestWithParam<EngineCase> {
 protected:
  EngineTest();
  ~EngineTest() override;
  void SetUp() override;  // skips direct IO where the file system has none

  const EngineInfo& info() const { return FindEngine(GetParam().engine); }
  // Opens the test's database with options_; the session and the table "default" go with it.
  void Open();
  void Close();
  void Reopen() {
    Close();
    Open();
  }

  // Reads through the session, for comparison with what is expected.
  std::string Get(TableId table, std::string_view key);  // kAbsent when there is none
  std::string Get(std::string_view key) { return Get(table_, key); }
  void Put(std::string_view key, std::string_view value) { session_->Put(table_, key, value); }
  // Rows as a cursor walks them, "key=value" each.
  std::vector<std::string> Rows(TableId table);

  // Inserts rows 0..count-1, RowKey(i) with RowValue(i, size), in transactions of 100.
  void Load(uint64_t count, size_t value_size);

  static inline const std::string kAbsent = "(absent)";

  std::string dir_;  // empty at the start; removed with all in it at the end
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

// A key and value that say which row they belong to; the value does not compress away.
std::string RowKey(uint64_t row);
std::string RowValue(uint64_t row, size_t size);

// Runs `body`, which must throw Error of this kind; returns the sentence.
template <typename Body>
std::string ErrorOf(Error::Kind kind, Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), kind) << e.what();
    EXPECT_EQ(std::string(e.what()).find('\n'), std::string::npos) << "not one line: " << e.what();
    return e.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

// Files in `dir` that an engine opened through the file layer as this kind.
std::vector<std::string> FilesOfKind(const std::string& dir, FileKind kind);

}  // namespace testbed

#endif  // TESTBED_TESTS_ENGINE_ENGINE_TEST_H_
