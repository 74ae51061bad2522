// The fixtures of the conformance suite. Every test runs for each engine of this build that keeps
// data and has what the test is about. An engine joins by its entry in the registry.
//
//   class ScanTest : public AnyIoModeTest {
//    public:
//     static bool IsFor(const EngineCase& c) { return FindEngine(c.engine).capabilities.scans; }
//   };
//   TEST_P(ScanTest, FindsEveryRow) { Open(); ... }
//   TESTBED_FOR_EVERY_ENGINE(ScanTest);
//
// The cases of a suite that its CaseChoice names are its instance "Engines", which each run of the
// tests includes. All other cases are the instance "EveryWay", which only the nightly run includes
// (tests/every_way.h). One test in the suite tests one claim of engines/engine.h.
#ifndef TESTBED_TESTS_ENGINE_ENGINE_TEST_H_
#define TESTBED_TESTS_ENGINE_ENGINE_TEST_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "engines/engine.h"
#include "engines/registry.h"

namespace testbed {

inline constexpr uint64_t kMiB = 1 << 20;

struct EngineCase {
  std::string engine;
  IoMode io;
  std::string compression = "none";
  // A value of EngineInfo::variants; or "name=value" of another option, for the nightly run.
  std::string variant = "";
  // Returns whether the tables are in MyRocks, which keeps no indexes and has private servers only.
  bool IsMyRocks() const { return variant == "server=rocksdb"; }
  // Returns whether the server is an old MariaDB, which no distribution has. It keeps no indexes.
  bool IsOldMariadb() const { return variant.starts_with("server=mariadb@"); }
  // Returns whether the server is a PostgreSQL before 12. It keeps no indexes, and before 11 its
  // segments of the log have one size.
  bool IsOldPostgres() const {
    return variant.starts_with("server=postgres@9.") || variant.starts_with("server=postgres@10.");
  }
};
void PrintTo(const EngineCase& c, std::ostream* out);
const std::vector<EngineCase>& EngineCases();
std::string EngineCaseName(const testing::TestParamInfo<EngineCase>& info);

// The choice of the cases of a suite that are part of each run of the tests. Each engine is tested
// in one IO mode at least, which differs from suite to suite. Options that choose another server or
// access, such as access=select, are for the nightly run only.
struct CaseChoice {
  bool own_modes = false;      // each IO mode and compression of the engines of this project
  bool library_modes = false;  // each IO mode of the other engines
  bool variants = false;       // each variant, such as innodb by SQL, and each compression
};

enum class TestRun { kEach, kNightlyOnly };

// Returns the cases of the named suite for which `is_for` returns true and that belong to `run`. A
// case belongs to one of the two runs, to the same one in each process.
std::vector<EngineCase> CasesOf(const std::string& suite, const CaseChoice& choice,
                                bool (*is_for)(const EngineCase&), TestRun run);

// The parameters of a suite's two instances.
template <typename Suite>
auto InEachRun(const std::string& suite) {
  return testing::ValuesIn(CasesOf(suite, Suite::kChoice, &Suite::IsFor, TestRun::kEach));
}
template <typename Suite>
auto InNightlyRun(const std::string& suite) {
  return testing::ValuesIn(CasesOf(suite, Suite::kChoice, &Suite::IsFor, TestRun::kNightlyOnly));
}

#define TESTBED_FOR_EVERY_ENGINE(suite)                                               \
  GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(suite);                               \
  INSTANTIATE_TEST_SUITE_P(Engines, suite, InEachRun<suite>(#suite), EngineCaseName); \
  INSTANTIATE_TEST_SUITE_P(EveryWay, suite, InNightlyRun<suite>(#suite), EngineCaseName)

class EngineTest : public testing::TestWithParam<EngineCase> {
 public:
  // A suite that needs another choice hides this member by one of its own.
  static constexpr CaseChoice kChoice = {.own_modes = true};
  // Returns whether the engine of the case has what the suite tests.
  static bool IsFor(const EngineCase&) { return true; }

 protected:
  EngineTest();
  ~EngineTest() override;
  void SetUp() override;  // skips a case of direct IO where the file system has none

  const EngineInfo& info() const { return FindEngine(GetParam().engine); }
  // Opens the test's database with options_, then the table "default" and a session. Close closes
  // all of them.
  void Open();
  void Close();
  void Reopen() {
    Close();
    Open();
  }

  // Gives the log of an engine of this project small segments. With durability sync all segments
  // are filled with zeros when the database is made, so a copy of the database has all of them.
  void WithSmallLog();

  // Get and Put use session_. Get returns kAbsent when the table has no such row.
  std::string Get(TableId table, std::string_view key);
  std::string Get(std::string_view key) { return Get(table_, key); }
  void Put(std::string_view key, std::string_view value) { session_->Put(table_, key, value); }
  // Returns the rows in the order of a cursor, "key=value" each.
  std::vector<std::string> Rows(TableId table);

  // Returns the number of rows that a test makes into one, when it needs bytes or pages rather than
  // rows. Each row of a server, and of innodb, takes a statement of SQL, which costs more than the
  // bytes of the row.
  uint64_t RowsInOne() const {
    return info().capabilities.server || info().name == "innodb" ? 4 : 1;
  }

  // Inserts rows 0..count-1, RowKey(i) with RowValue(i, size), in transactions of 100.
  void Load(uint64_t count, size_t value_size);

  static inline const std::string kAbsent = "(absent)";

  std::string dir_;  // removed at the end with all that is in it
  EngineOptions options_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Session> session_;
  TableId table_ = 0;
};

// The base of tests to which the IO mode makes no difference, such as tests of what sessions see of
// each other's writes, and of how cursors move. Each test runs in one IO mode of each engine.
class AnyIoModeTest : public EngineTest {
 public:
  static constexpr CaseChoice kChoice = {};
};

// RowKey and RowValue return a key and a value that tell which row they belong to. The value does
// not compress.
std::string RowKey(uint64_t row);
std::string RowValue(uint64_t row, size_t size);

// Runs `body`, which must throw an Error of this kind, and returns the error's sentence.
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

// Returns the files in `dir` that an engine has opened through the file layer as this kind.
std::vector<std::string> FilesOfKind(const std::string& dir, FileKind kind);

}  // namespace testbed

#endif  // TESTBED_TESTS_ENGINE_ENGINE_TEST_H_
