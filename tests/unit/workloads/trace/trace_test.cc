// Tests the file of a trace: what is written is read again, and what is damaged is refused with a
// sentence.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "device/file/file_faults.h"
#include "engines/null/null_engine.h"
#include "tests/unit/engines/failing_new.h"
#include "tests/unit/workloads/lying_engine.h"
#include "workloads/trace/trace_client.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/trace_recorder.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

class TraceTest : public testing::Test {
 protected:
  void TearDown() override {
    std::filesystem::remove(path_);
    std::filesystem::remove(path_ + ".new");
  }

  // Writes a trace of `clients` clients with `operations` puts each, one a microsecond.
  void WritePuts(uint32_t clients, uint64_t operations) {
    TraceWriter writer(path_);
    TraceFacts facts;
    facts.kinds = {"update"};
    facts.tables = {{7, "default", {}, {}}};
    facts.clients = clients;
    for (uint32_t i = 0; i < clients; ++i) {
      TraceClient client(writer, i);
      for (uint64_t n = 0; n < operations; ++n) {
        client.Begin(0, n * 1000 + i);
        client.Put(7, Key(i, n), n % 1000);
        client.End();
        client.Rest();
      }
      client.Finish();
      facts.operations += operations;
      facts.last_ns = std::max(facts.last_ns, client.last_ns());
    }
    writer.Finish(facts);
  }
  static std::string Key(uint32_t client, uint64_t n) {
    return "client" + std::to_string(client) + "key" + std::to_string(n);
  }

  std::string Contents() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void Replace(const std::string& bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
  }
  // Returns the sentence with which the trace is refused; "" when all of it can be read.
  std::string Refusal() const {
    try {
      const TraceFile file(path_);
      file.CheckBlocks();
      TraceStream stream(file, AllClients(file));
      TraceOperation operation;
      while (stream.Next(&operation)) {
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      return error.what();
    }
    return "";
  }

  const std::string path_ = testing::TempDir() + "trace_test_" + std::to_string(::getpid());
};

TEST_F(TraceTest, OperationsOfAllClientsComeBackInTheOrderOfTheirStarts) {
  constexpr uint64_t kOperations = 30000;  // several blocks a client
  WritePuts(3, kOperations);
  const TraceFile file(path_);
  EXPECT_GT(file.blocks().size(), 6u);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
  TraceStream stream(file, AllClients(file));
  TraceOperation operation;
  for (uint64_t n = 0; n < kOperations; ++n) {
    for (uint32_t client = 0; client < 3; ++client) {
      ASSERT_TRUE(stream.Next(&operation));
      ASSERT_EQ(operation.client, client);
      ASSERT_EQ(operation.start_ns, n * 1000 + client);
      ASSERT_EQ(operation.calls.size(), 1u);
      ASSERT_EQ(operation.calls[0].kind, TraceCallKind::kPut);
      ASSERT_EQ(operation.calls[0].table, 7u);
      ASSERT_EQ(operation.calls[0].key, Key(client, n));
      ASSERT_EQ(operation.calls[0].number, n % 1000);
    }
  }
  EXPECT_FALSE(stream.Next(&operation));
}

// Each thread of a replay by keys reads all of the trace. With copies of their own, as many threads
// as clients would take the square of that many blocks.
TEST_F(TraceTest, ReadersOfABlockShareItsBytes) {
  WritePuts(2, 30000);
  const TraceFile file(path_);
  ASSERT_GT(file.blocks().size(), 2u);
  std::shared_ptr<const std::string> one = file.Read(0);
  const std::string bytes = *one;
  EXPECT_EQ(file.Read(0).get(), one.get());
  EXPECT_NE(file.Read(1).get(), one.get());
  const std::weak_ptr<const std::string> last = one;
  one.reset();
  EXPECT_TRUE(last.expired()) << "the file keeps no block that nobody reads";
  EXPECT_EQ(*file.Read(0), bytes);
}

TEST_F(TraceTest, EachCallOfASessionIsRecordedOnce) {
  EngineOptions options;
  options.extra["value_size"] = "40";
  const std::unique_ptr<Engine> engine = NullEngineInfo().open("", options);
  TraceRecorder recorder(
      path_, *engine, "mixed",
      {DefineOp("read", Ground::kForeground), DefineOp("scan", Ground::kForeground)});
  const TableId table = recorder.engine().OpenTable("default");
  recorder.MakeClients(1);
  {
    const std::unique_ptr<Session> session = recorder.Wrap(engine->NewSession(), 0);
    std::string_view value;
    session->Get(table, "checks an answer", &value);  // outside of an operation
    recorder.client(0).Begin(0, 5);
    session->Begin();
    session->Get(table, "k1", &value);
    const std::vector<std::string_view> keys = {"k2", "k3"};
    std::vector<FoundRow> rows;
    session->MultiGet(table, keys, &rows);
    session->Put(table, "k4", "12345");
    session->Erase(table, "k5");
    session->Commit();
    recorder.client(0).End();
  }
  recorder.Finish();
  const TraceFile file(path_);
  EXPECT_EQ(file.facts().workload, "mixed");
  EXPECT_EQ(file.facts().operations, 1u);
  TraceStream stream(file, {0});
  TraceOperation operation;
  ASSERT_TRUE(stream.Next(&operation));
  using enum TraceCallKind;
  std::vector<std::pair<TraceCallKind, std::string>> calls;
  for (const TraceCall& call : operation.calls) calls.emplace_back(call.kind, call.key);
  EXPECT_THAT(calls, ElementsAre(Pair(kBegin, ""), Pair(kGet, "k1"), Pair(kMultiGet, "k2"),
                                 Pair(kPut, "k4"), Pair(kErase, "k5"), Pair(kCommit, "")));
  EXPECT_EQ(operation.keys.at(1), "k3");
  EXPECT_EQ(operation.calls[3].number, 5u);
  EXPECT_EQ(operation.calls[1].answer.size, 40u);
}

TEST_F(TraceTest, StepsOfACursorAreOneCallForEachRunOfThem) {
  {
    TraceWriter writer(path_);
    TraceClient client(writer, 0);
    client.Begin(0, 0);
    const uint32_t cursor = client.OpenCursor(0);
    client.Seek(TraceCallKind::kSeek, cursor, "a");
    client.AskValue(cursor);
    client.AskValue(cursor);  // asked again: the same value
    for (int i = 0; i < 5; ++i) {
      client.Step(cursor, true);
      client.AskValue(cursor);
    }
    client.Step(cursor, true);  // past the last row that the operation wants
    client.Step(cursor, false);
    client.CloseCursor(cursor);
    client.End();
    client.Finish();
    TraceFacts facts;
    facts.kinds = {"scan"};
    facts.tables = {{0, "default", {}, {}}};
    facts.clients = 1;
    facts.operations = 1;
    writer.Finish(facts);
  }
  const TraceFile file(path_);
  TraceStream stream(file, {0});
  TraceOperation operation;
  ASSERT_TRUE(stream.Next(&operation));
  using enum TraceCallKind;
  std::vector<std::pair<TraceCallKind, uint64_t>> calls;
  for (const TraceCall& call : operation.calls) calls.emplace_back(call.kind, call.number);
  EXPECT_THAT(calls, ElementsAre(Pair(kOpenCursor, 0), Pair(kSeek, 0), Pair(kValue, 0),
                                 Pair(kNextValues, 5), Pair(kNext, 1), Pair(kPrev, 1),
                                 Pair(kCloseCursor, 0)));
}

TEST_F(TraceTest, ATraceThatIsCutOffIsRefusedWhereverTheCutIs) {
  WritePuts(1, 100);
  const std::string whole = Contents();
  for (size_t size = 0; size < whole.size(); size += size < 60 ? 1 : 97) {
    Replace(whole.substr(0, size));
    const std::string refusal = Refusal();
    EXPECT_THAT(refusal, testing::AnyOf(HasSubstr("is cut off"), HasSubstr("is no trace"))) << size;
    EXPECT_THAT(refusal, HasSubstr(path_));
  }
  Replace(whole);
  EXPECT_EQ(Refusal(), "");
}

TEST_F(TraceTest, AChangedByteIsFoundWhereverItIs) {
  WritePuts(2, 100);
  const std::string whole = Contents();
  for (size_t at = 0; at < whole.size(); at += 3) {
    if (at >= 12 && at < 16) continue;  // zeros that nothing reads
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x10);
    Replace(changed);
    EXPECT_NE(Refusal(), "") << at;
  }
}

TEST_F(TraceTest, AReadThatFailsIsNoDamage) {
  WritePuts(1, 10);
  const TraceFile file(path_);
  FileFaults::Set(0, UINT64_MAX, EIO);
  try {
    const TraceStream stream(file, AllClients(file));
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kIo) << error.what();
    EXPECT_EQ(error.code(), EIO);
    EXPECT_THAT(error.what(), testing::Not(HasSubstr("damaged")));
  }
  FileFaults::Clear();
}

TEST_F(TraceTest, AnotherVersionAndAnotherFileAreNamed) {
  WritePuts(1, 10);
  std::string bytes = Contents();
  bytes[8] = 9;
  Replace(bytes);
  EXPECT_THAT(Refusal(), HasSubstr("has version 9, and this testbed reads version 1"));
  Replace("hello, this is a text of another kind");
  EXPECT_THAT(Refusal(), HasSubstr("is no trace"));
  std::filesystem::remove(path_);
  EXPECT_THAT(Refusal(), HasSubstr("cannot be opened"));
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  EXPECT_THAT(Refusal(), HasSubstr("is no regular file"));
}

TEST_F(TraceTest, ARecordingThatDoesNotEndLeavesNoFile) {
  {
    TraceWriter writer(path_);
    EXPECT_TRUE(std::filesystem::exists(path_ + ".new"));
  }
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

// Returns the sentence with which `record` fails; "" when it does not.
template <typename Record>
std::string WhyNotRecorded(const Record& record) {
  TraceWriter writer("");
  TraceClient client(writer, 0);
  client.Begin(0, 0);
  try {
    record(client);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kRun);
    return error.what();
  }
  return "";
}

TEST_F(TraceTest, WhatNoReaderWouldTakeIsNotRecorded) {
  const std::string longest(kMostTraceKey, 'k'), longer = longest + 'k';
  const std::vector<std::string_view> keys = {"a", longer};
  EXPECT_EQ(WhyNotRecorded([&](TraceClient& c) { c.Put(1, longest, kMostTraceValue); }), "");
  EXPECT_THAT(WhyNotRecorded([&](TraceClient& c) { c.Erase(1, longer); }), HasSubstr("a key of"));
  EXPECT_THAT(WhyNotRecorded([&](TraceClient& c) { c.Seek(TraceCallKind::kSeek, 0, longer); }),
              HasSubstr("a key of"));
  EXPECT_THAT(
      WhyNotRecorded([&](TraceClient& c) { c.MultiGet(1, keys, std::vector<FoundRow>(2)); }),
      HasSubstr("a key of"));
  EXPECT_THAT(WhyNotRecorded([&](TraceClient& c) { c.Put(1, "a", kMostTraceValue + 1); }),
              HasSubstr("a value of"));
  EXPECT_THAT(WhyNotRecorded([&](TraceClient& c) {
                for (uint32_t i = 0; i <= kMostTraceCursors; ++i) c.OpenCursor(1);
              }),
              HasSubstr("1024 cursors"));
  size_t recorded = 0;
  EXPECT_THAT(WhyNotRecorded([&](TraceClient& c) {
                for (; recorded < kMostBlockBytes; recorded += longest.size()) c.Erase(1, longest);
              }),
              HasSubstr("more than 256 MB"));
  EXPECT_GT(recorded, kMostBlockBytes - kMostBlockBytes / 100);
}

// A load from the trace would make room for a value of that size.
TEST_F(TraceTest, AnAnswerOfImpossibleSizeIsRefused) {
  for (const uint64_t size : {kMostTraceValue, kMostTraceValue + 1, UINT64_MAX - 2}) {
    TraceWriter writer(path_);
    TraceFacts facts;
    facts.kinds = {"point-read"};
    facts.tables = {{0, "default", {}, {}}};
    facts.clients = 1;
    facts.operations = 1;
    TraceClient client(writer, 0);
    client.Begin(0, 0);
    client.Get(0, "a", {TraceAnswer::kFound, size});
    client.End();
    client.Finish();
    writer.Finish(facts);
    EXPECT_EQ(Refusal().empty(), size == kMostTraceValue) << Refusal();
  }
}

// A thousand buffers of the usual size would take as much memory as --ram has by default.
TEST_F(TraceTest, TheBuffersOfManyClientsAreSmaller) {
  for (const bool many : {false, true}) {
    LyingEngine engine;
    TraceRecorder recorder(path_, engine, "w", {DefineOp("read", Ground::kForeground)});
    recorder.engine().OpenTable("default");
    recorder.MakeClients(many ? 1000 : 100);
    TraceClient& client = recorder.client(0);
    for (uint64_t n = 0; n < 1000; ++n) {
      client.Begin(0, n);
      client.Get(0, Key(0, n) + std::string(80, 'k'), true, 10);
      client.End();
      client.Rest();
    }
    recorder.Finish();
    const TraceFile file(path_);
    EXPECT_EQ(file.facts().operations, 1000u);
    EXPECT_EQ(file.blocks().size() > 1, many) << file.blocks().size();
  }
}

// The destructor of a cursor records its end, and must not throw.
TEST_F(TraceTest, ACursorWhoseEndCannotBeRecordedFailsItsOperation) {
  LyingEngine engine;
  TraceRecorder recorder(path_, engine, "w", {DefineOp("read", Ground::kForeground)});
  const TableId table = recorder.engine().OpenTable("default");
  recorder.MakeClients(1);
  const std::unique_ptr<Session> session = recorder.Wrap(engine.NewSession(), 0);
  recorder.client(0).Begin(0, 0);
  std::unique_ptr<Cursor> cursor = session->NewCursor(table);
  cursor->First();
  FailingNew::Set(0);
  cursor.reset();
  EXPECT_TRUE(FailingNew::Clear());
  EXPECT_THROW(recorder.client(0).End(), std::bad_alloc);
}

TEST_F(TraceTest, ARecordingWithoutOperationsLeavesTheTraceThatWasThere) {
  WritePuts(1, 10);
  {
    LyingEngine engine;
    TraceRecorder recorder(path_, engine, "w", {DefineOp("read", Ground::kForeground)});
    recorder.MakeClients(2);
    recorder.Finish();
  }
  EXPECT_EQ(TraceFile(path_).facts().operations, 10u);
  EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
}

TEST_F(TraceTest, TablesThatATraceCannotNameAreRefused) {
  LyingEngine engine;
  TraceRecorder recorder("", engine, "w", {});
  for (size_t i = 0; i < kMostTraceTables; ++i) recorder.engine().OpenTable(std::to_string(i));
  EXPECT_NO_THROW(recorder.engine().OpenTable("7"));
  EXPECT_THROW(recorder.engine().OpenTable("one more"), Error);
}

TEST_F(TraceTest, AFullDiskIsAnErrorOfTheRecording) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  std::filesystem::create_symlink("/dev/full", path_ + ".new");
  EXPECT_THROW(WritePuts(1, 100000), Error);
}

}  // namespace
}  // namespace testbed
