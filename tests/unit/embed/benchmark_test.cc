// Tests benchmarks of one's own whose threads end early: by an error, or without opening the
// database. They end with a sentence, and leave no database behind. Tests their counters, too.
#include "embed/testbed/benchmark.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tests/own_dir.h"

namespace testbed {
namespace {

constexpr char kRefused[] = "the benchmark refuses to begin";

class OwnBenchmarkTest : public testing::Test {
 protected:
  OwnBenchmarkTest() { std::filesystem::current_path(dir_.path()); }
  ~OwnBenchmarkTest() override { std::filesystem::current_path(before_); }

  // Returns google-benchmark's report, in JSON, on the benchmark of this name.
  static std::string Run(const std::string& name) {
    std::ostringstream out, errors;
    benchmark::JSONReporter reporter;
    reporter.SetOutputStream(&out);
    reporter.SetErrorStream(&errors);
    EXPECT_EQ(benchmark::RunSpecifiedBenchmarks(&reporter, "^" + name + "/"), 1u);
    return out.str() + errors.str();
  }
  static bool Has(const std::string& text, const std::string& words) {
    return text.find(words) != std::string::npos;
  }
  bool IsEmpty() const { return std::filesystem::is_empty(dir_.path()); }

  const std::filesystem::path before_ = std::filesystem::current_path();
  const OwnDir dir_;
};

int refusing_thread = -1;

// Writes a row in each operation, but for the thread that refuses.
void WriteRow(BenchmarkRun& run) {
  if (run.state().thread_index() == refusing_thread) throw Error(Error::kRun, kRefused);
  run.Open();
  run.Measure([&run] { run.session().Put(run.table(), "ada", "1815"); });
}

TEST_F(OwnBenchmarkTest, AThreadThatFailsBeforeItOpensEndsTheOthers) {
  RegisterBenchmarkOn("btree", "AnyThreadFails", WriteRow)->Threads(4)->Iterations(1);
  // The benchmark is whole after a call that failed, so the order has calls that succeed between.
  for (const int thread : {0, -1, 1, -1, 3, 0}) {
    refusing_thread = thread;
    const std::string report = Run("AnyThreadFails");
    EXPECT_EQ(Has(report, kRefused), thread >= 0) << thread << ": " << report;
    EXPECT_EQ(Has(report, "file_writes"), thread < 0) << thread << ": " << report;
    EXPECT_TRUE(IsEmpty()) << thread;
  }
}

// The name of an engine need not be that of a variable, as bf-tree is not; clang-format puts the
// blanks. A pair may be registered twice.
TESTBED_BENCHMARK(no - such - engine, WriteRow)->Iterations(1);
TESTBED_BENCHMARK(btree, WriteRow)->Iterations(1);
TESTBED_BENCHMARK(btree, WriteRow)->Iterations(2);

TEST_F(OwnBenchmarkTest, AMacroTakesTheNameOfAnyEngine) {
  refusing_thread = -1;
  const std::string report = Run("WriteRow/no-such-engine");
  EXPECT_TRUE(Has(report, "--engine no-such-engine is not known")) << report;
  EXPECT_TRUE(IsEmpty());
}

TEST_F(OwnBenchmarkTest, AMacroMayRegisterAPairSeveralTimes) {
  refusing_thread = -1;
  for (const char* iterations : {"1", "2"}) {
    const std::string report = Run(std::string("WriteRow/btree/iterations:") + iterations);
    EXPECT_TRUE(Has(report, "file_writes")) << report;
  }
  EXPECT_TRUE(IsEmpty());
}

// A JoiningAccount has counted one read less than none, as where the threads of an operation joined
// a waiting request of another.
class JoiningAccount : public KernelAccount {
 public:
  explicit JoiningAccount(OpKind op) : op_(op) {}
  void Attach(ThreadLedger*, int) override {}
  void Detach(ThreadLedger*, int) override {}
  void RegisterFile(uint64_t, uint64_t, FileKind) override {}
  bool RegisterJournal(uint64_t, uint64_t) override { return true; }
  void AddCounts(LedgerCounts* counts) const override { --counts->ops[op_.id].kernel[0].reads; }

 private:
  const OpKind op_;
};

void JoinRequests(BenchmarkRun& run) {
  run.Open();
  // The call counts from Open on, when this account had not begun.
  static JoiningAccount account(DefineOp("JoinRequests", Ground::kForeground));
  Ledger::Get().Configure(AccountDepth::kKernel, &account);
  run.Measure([] {});
}

// Once, the benchmark had 18,446,744,073,709,551,615 reads.
TEST_F(OwnBenchmarkTest, ANumberOfRequestsMayBeBelowNone) {
  RegisterBenchmarkOn("btree", "JoinRequests", JoinRequests)->Iterations(1);
  const std::string report = Run("JoinRequests");
  Ledger::Get().Configure(AccountDepth::kFile, nullptr);
  EXPECT_TRUE(Has(report, "\"kernel_reads\": -1.0")) << report;
  EXPECT_TRUE(IsEmpty());
}

void OpenOnOthers(BenchmarkRun& run) {
  if (run.state().thread_index() > 0) run.Open();
}

// Each was a crash or wrong figures: a session that outlived its engine, or twice the iterations.
TEST_F(OwnBenchmarkTest, CallsInAnotherOrderAreErrors) {
  struct Wrong {
    const char* name;
    void (*function)(BenchmarkRun&);
    const char* sentence;
  };
  const Wrong all[] = {
      {"MeasuresFirst", [](BenchmarkRun& run) { run.Measure([] {}); }, "calls Open before"},
      {"UsesASessionFirst",
       [](BenchmarkRun& run) { run.session().Put(run.table(), "ada", "1815"); },
       "calls Open before"},
      {"OpensTwice",
       [](BenchmarkRun& run) {
         run.Open();
         run.Open();
       },
       "calls Open once"},
      {"MeasuresTwice",
       [](BenchmarkRun& run) {
         run.Open();
         run.Measure([] {});
         run.Measure([] {});
       },
       "calls Measure once"}};
  for (const Wrong& wrong : all) {
    RegisterBenchmarkOn("btree", wrong.name, wrong.function)->Iterations(1);
    const std::string report = Run(wrong.name);
    EXPECT_TRUE(Has(report, wrong.sentence)) << wrong.name << ": " << report;
    EXPECT_TRUE(IsEmpty()) << wrong.name;
  }
}

TEST_F(OwnBenchmarkTest, AFunctionThatReturnsBeforeItMeasuresIsAnError) {
  RegisterBenchmarkOn("btree", "FirstDoesNotOpen", OpenOnOthers)->Threads(3)->Iterations(1);
  const std::string report = Run("FirstDoesNotOpen");
  EXPECT_TRUE(Has(report, "the benchmark's function returned before it measured")) << report;
  EXPECT_TRUE(IsEmpty());
}

}  // namespace
}  // namespace testbed
