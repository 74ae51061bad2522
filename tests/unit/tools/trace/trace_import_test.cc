#include "tools/trace/trace_import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>
#include <set>
#include <sstream>
#include <streambuf>
#include <string>
#include <string_view>
#include <vector>

#include "device/error.h"
#include "tests/paths.h"
#include "tools/trace/trace_info.h"
#include "workloads/trace/trace_client.h"
#include "workloads/trace/trace_file.h"
#include "workloads/trace/trace_format.h"
#include "workloads/trace/trace_writer.h"

namespace testbed {
namespace {

using testing::HasSubstr;

class TraceImportTest : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& path : {path_, path_ + ".small"}) std::filesystem::remove(path);
  }
  uint64_t Import(const std::string& text, ImportOptions options = {}) {
    options.from = "input";
    std::istringstream in(text);
    return ImportTrace(in, options, path_);
  }
  std::string Refusal(const std::string& text, ImportOptions options = {}) {
    try {
      Import(text, options);
    } catch (const Error& error) {
      EXPECT_FALSE(std::filesystem::exists(path_));
      EXPECT_FALSE(std::filesystem::exists(path_ + ".new"));
      return error.what();
    }
    return "";
  }
  std::vector<TraceOperation> Operations(const std::string& path) {
    const TraceFile file(path);
    TraceStream stream(file, AllClients(file));
    std::vector<TraceOperation> all;
    for (TraceOperation operation; stream.Next(&operation);) all.push_back(operation);
    return all;
  }

  const std::string path_ = testing::TempDir() + "trace_import_" + std::to_string(::getpid());
};

constexpr char kTwitterText[] =
    "0,q:q:1:8WTfjZU14ee,17,213,4,get,0\n"
    "0,yDqF:3q:1AJrrJ1nnCJKKrnGx1A,27,27,5,get,0\n"
    "3,q:q:1:8WTfjZU14ee,17,0,4,get,0\n"
    "5,q:q:1:8WTfjZU14ee,17,300,4,set,86400\n"
    "6,gone,4,0,4,delete,0\n";

TEST_F(TraceImportTest, TwittersLinesBecomeGetsPutsAndErases) {
  EXPECT_EQ(Import(kTwitterText, {.format = ImportOptions::kTwitter, .clients = 1}), 5u);
  const std::vector<TraceOperation> all = Operations(path_);
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0].calls[0].key, "q:q:1:8WTfjZU14ee");
  EXPECT_EQ(all[0].calls[0].answer.size, 213u);
  EXPECT_EQ(all[2].calls[0].answer.state, TraceAnswer::kUnknown);
  EXPECT_EQ(all[2].start_ns, 3000000000u);
  EXPECT_EQ(all[3].calls[0].kind, TraceCallKind::kPut);
  EXPECT_EQ(all[3].calls[0].number, 300u);
  EXPECT_EQ(all[4].calls[0].kind, TraceCallKind::kErase);
}

TEST_F(TraceImportTest, AKeyOfTwitterMayHaveCommasAndQuotes) {
  const ImportOptions twitter{.format = ImportOptions::kTwitter, .clients = 1};
  Import("0,a,b:c,5,10,3,get,0\n1,\"q,2,7,3,set,60\n", twitter);
  const std::vector<TraceOperation> all = Operations(path_);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].calls[0].key, "a,b:c");
  EXPECT_EQ(all[0].calls[0].answer.size, 10u);
  EXPECT_EQ(all[1].calls[0].key, "\"q");
  EXPECT_EQ(all[1].calls[0].number, 7u);
  std::filesystem::remove(path_);
  EXPECT_THAT(Refusal("0,a,b:c,6,10,3,get,0\n", twitter), HasSubstr("has 8 columns, not the 7"))
      << "the size is not that of the key, so the line is of another format";
}

TEST_F(TraceImportTest, HashedKeysKeepTheirLengthAndTellNothing) {
  Import(kTwitterText,
         {.format = ImportOptions::kTwitter, .clients = 1, .hash_keys = true, .hash_seed = 7});
  const std::vector<TraceOperation> all = Operations(path_);
  EXPECT_EQ(all[0].calls[0].key.size(), 17u);
  EXPECT_EQ(all[0].calls[0].key, all[2].calls[0].key);
  EXPECT_NE(all[0].calls[0].key, "q:q:1:8WTfjZU14ee");
  EXPECT_NE(all[0].calls[0].key.substr(0, 8), all[1].calls[0].key.substr(0, 8));
  EXPECT_EQ(all[4].calls[0].key.size(), 8u) << "short keys become longer, so that they differ";
}

// A hash of each part over the whole key would take seconds here, and minutes in a larger file.
TEST_F(TraceImportTest, HashesOfLongKeysDifferInAllParts) {
  constexpr size_t kKeys = 100;
  std::string text = "key\n";
  for (size_t i = 0; i < kKeys; ++i) {
    text += std::string(kMostTraceKey - 3, 'k') + std::to_string(100 + i) + "\n";
  }
  Import(text, {.clients = 1, .hash_keys = true, .hash_seed = 7});
  const std::vector<TraceOperation> all = Operations(path_);
  ASSERT_EQ(all.size(), kKeys);
  for (size_t at = 0; at < kMostTraceKey; at += 8) {
    std::set<std::string_view> parts;
    for (const TraceOperation& operation : all) {
      ASSERT_EQ(operation.calls[0].key.size(), kMostTraceKey);
      parts.insert(operation.calls[0].key.substr(at, 8));
    }
    ASSERT_EQ(parts.size(), kKeys) << "at byte " << at;
  }
}

TEST_F(TraceImportTest, ColumnsOfACsvFileAreFoundByName) {
  EXPECT_EQ(Import("key,ignored,operation,value_size,time,table\r\n"
                   "\"a,b\",x,put,10,100.5,t1\r\n"
                   "\"say \"\"c\"\"\",x,get,,101,t2\r\n",
                   {.clients = 1}),
            2u);
  const std::vector<TraceOperation> all = Operations(path_);
  EXPECT_EQ(all[0].calls[0].key, "a,b");
  EXPECT_EQ(all[1].calls[0].key, "say \"c\"");
  EXPECT_EQ(all[1].start_ns, 500000000u);
  EXPECT_EQ(TraceFile(path_).facts().tables[1].name, "t2");
}

// When a trace in milliseconds is taken for one in seconds, its replay takes a thousand times as
// long.
TEST_F(TraceImportTest, TimesHaveTheirUnit) {
  EXPECT_THAT(Refusal("key,time\na,0\nb,1700000000000\n"), HasSubstr("or their --time-unit: ms"));
  Import("key,time\na,1500\nb,2500\n", {.clients = 1, .time_unit = 1e-3});
  EXPECT_EQ(Operations(path_)[1].start_ns, 1000000000u);
  Import("key,time\na,1700000000000000000\nb,1700000002000000000\n",
         {.clients = 1, .time_unit = 1e-9});
  EXPECT_NEAR(static_cast<double>(Operations(path_)[1].start_ns), 2e9, 1000);
}

// A column with a wrong name must not be left out silently: all lines would then be gets.
TEST_F(TraceImportTest, ColumnsThatAreNotUsedAreTold) {
  std::string unused;
  Import("ts,key,op\n1,a,set\n", {.unused = &unused});
  EXPECT_EQ(unused,
            "columns that are not used: ts, op; without a column time all operations begin at "
            "once; without a column operation all are gets");
  Import("time,key,operation,ttl\n1,a,get,5\n", {.unused = &unused});
  EXPECT_EQ(unused, "columns that are not used: ttl");
  unused.clear();
  Import("key\na\n", {.unused = &unused});
  EXPECT_EQ(unused, "") << "nothing was left out";
}

// Spreadsheet programs write a byte order mark.
TEST_F(TraceImportTest, AMarkOfUtf8BeforeTheHeaderIsLeftOut) {
  EXPECT_EQ(Import("\xef\xbb\xbfkey,time\na,1\n"), 1u);
  EXPECT_EQ(Operations(path_)[0].calls[0].key, "a");
}

TEST_F(TraceImportTest, ATimeBeforeThatOfTheFirstLineCountsAsEqual) {
  Import("key,time\na,5\nb,3\nc,1000000005\n", {.clients = 1});
  const std::vector<TraceOperation> all = Operations(path_);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_LT(all[1].start_ns, 10u);
  EXPECT_EQ(all[2].start_ns, 1000000000000000000u);
}

// A file of another kind may have no end of a line at all.
class EndlessLine : public std::streambuf {
 public:
  uint64_t given() const { return given_; }

 protected:
  int_type underflow() override {
    constexpr uint64_t kMost = 64 << 20;
    if (given_ >= kMost) return traits_type::eof();
    given_ += bytes_.size();
    setg(bytes_.data(), bytes_.data(), bytes_.data() + bytes_.size());
    return traits_type::to_int_type(bytes_[0]);
  }

 private:
  std::string bytes_ = std::string(1 << 16, 'k');
  uint64_t given_ = 0;
};

TEST_F(TraceImportTest, ALineWithoutEndIsRefusedWhileItIsRead) {
  for (const ImportOptions::Format format : {ImportOptions::kCsv, ImportOptions::kTwitter}) {
    EndlessLine line;
    std::istream in(&line);
    std::string refusal;
    try {
      ImportTrace(in, {.format = format, .from = "input"}, path_);
    } catch (const Error& error) {
      refusal = error.what();
    }
    EXPECT_THAT(refusal, HasSubstr("input line 1: is longer than 1 MB"));
    EXPECT_LE(line.given(), 2u << 20);
  }
  const std::string longest(kMostTraceKey, 'k');
  EXPECT_EQ(Import("key\n" + longest + "\n" + longest), 2u) << "with and without its end";
}

// A reader holds one block for each client, and an import has one buffer for each client.
TEST_F(TraceImportTest, TheBlocksOfManyClientsAreSmaller) {
  std::string text = "key,client\n";
  for (int i = 0; i < 3000; ++i) text += std::to_string(i % 100) + std::string(20, 'k') + ",one\n";
  for (int i = 0; i < 5000; ++i) text += "k,client" + std::to_string(i) + "\n";
  const auto largest = [](const std::string& path) {
    uint32_t most = 0;
    const TraceFile file(path);
    for (const BlockEntry& block : file.blocks()) most = std::max(most, block.raw_bytes);
    return most;
  };
  Import(text, {.clients = 16});
  EXPECT_GT(largest(path_), 64u << 10);
  Import(text, {.clients = 1000});
  EXPECT_GT(TraceFile(path_).facts().clients, 900u);
  EXPECT_LT(largest(path_), 20u << 10);
  ScaleTrace(path_, 0.999, path_ + ".small");
  EXPECT_LT(largest(path_ + ".small"), 20u << 10);
}

TEST_F(TraceImportTest, LinesOfOneTimeKeepTheirOrderWhateverTheirClients) {
  for (const char* head : {"key,client,time\n", "key,client\n"}) {
    std::string text = head;
    for (int i = 0; i < 200; ++i) {
      text += std::to_string(i) + ",c" + std::to_string(i * 7 % 13);
      text +=
          std::string_view(head).ends_with("time\n") ? "," + std::to_string(i / 50) + "\n" : "\n";
    }
    Import(text);
    const std::vector<TraceOperation> all = Operations(path_);
    ASSERT_EQ(all.size(), 200u);
    for (size_t i = 0; i < 200; ++i) EXPECT_EQ(all[i].calls[0].key, std::to_string(i)) << head;
  }
}

// The lines of one nanosecond take the next ones, too.
TEST_F(TraceImportTest, LinesOfTheNextTimeComeBehindThoseOfTheTimeBefore) {
  std::string text = "key,client,time\n";
  for (int i = 0; i < 40; ++i) {
    text += std::to_string(i) + ",c" + std::to_string(i) + "," +
            std::to_string(i < 20 ? 1000 : 981 + i) + "\n";
  }
  Import(text, {.time_unit = 1e-9});
  EXPECT_GT(TraceFile(path_).facts().clients, 5u);
  const std::vector<TraceOperation> all = Operations(path_);
  ASSERT_EQ(all.size(), 40u);
  for (size_t i = 0; i < 40; ++i) EXPECT_EQ(all[i].calls[0].key, std::to_string(i));
}

TEST_F(TraceImportTest, ATraceHasTheClientsThatHaveOperations) {
  Import("key,client\na,x\nb,y\na,x\n", {.clients = 16});
  EXPECT_EQ(TraceFile(path_).facts().clients, 2u);
  Import("key\na\nb\n", {.clients = 16});
  EXPECT_EQ(TraceFile(path_).facts().clients, 1u);
}

// Clients that share a client of the trace would wait for each other in its replay.
TEST_F(TraceImportTest, AsManyClientsAsTheTraceMayHaveShareNone) {
  std::string text = "key,client\n";
  for (int i = 0; i < 48; ++i) {
    text += "k" + std::to_string(i % 16) + ",c" + std::to_string(i % 16) + "\n";
  }
  Import(text, {.clients = 16});
  EXPECT_EQ(TraceFile(path_).facts().clients, 16u);
  std::vector<std::set<std::string>> keys(16);
  for (const TraceOperation& operation : Operations(path_)) {
    keys.at(operation.client).emplace(operation.calls.at(0).key);
  }
  for (const std::set<std::string>& of_client : keys) EXPECT_EQ(of_client.size(), 1u);
  for (int i = 0; i < 100; ++i) text += "more,d" + std::to_string(i) + "\n";
  Import(text, {.clients = 16});
  EXPECT_EQ(TraceFile(path_).facts().clients, 16u) << "further ones are folded onto these";
}

TEST_F(TraceImportTest, WrongLinesAreNamed) {
  EXPECT_THAT(Refusal("key,operation\na,get\nb,fly\n"), HasSubstr("input line 3: 'fly' is no"));
  EXPECT_THAT(Refusal("key,time\na,yesterday\n"), HasSubstr("line 2: 'yesterday' is no time"));
  EXPECT_THAT(Refusal("key,time\na\n"), HasSubstr("has 1 column, and the header 2"));
  EXPECT_THAT(Refusal("key,operation\na,get\nb,set\n"),
              HasSubstr("line 3: writes a value of unknown"));
  EXPECT_THAT(Refusal("key,operation,value_size\na,set,\n"), HasSubstr("a column value_size"));
  EXPECT_THAT(Refusal("name\na\n"), HasSubstr("no header with a column key"));
  EXPECT_THAT(Refusal("key\n\"a\n"), HasSubstr("a quote that does not end"));
  EXPECT_THAT(Refusal("key\n\"a\"b\n"), HasSubstr("line 2: has a quote"));
  EXPECT_THAT(Refusal("key\n\"a\"b\n"), HasSubstr("or text behind it in its cell"));
  EXPECT_THAT(Refusal("key,\"time\na,1\n"), HasSubstr("line 1: has a quote that does not end"));
  EXPECT_THAT(Refusal("key,time,key\na,1,b\n"), HasSubstr("line 1: names the column key twice"));
  EXPECT_THAT(Refusal(""), HasSubstr("input line 1: is no header"));
  // The first times are in microseconds. Then a time is 0, as its program had no clock.
  EXPECT_THAT(Refusal("key,time\na,1700000000000000\n"), HasSubstr("give times in seconds"));
  EXPECT_THAT(Refusal("key,time\na,0\nb,1700000000\n"), HasSubstr("line 3: its time is more than"));
  EXPECT_THAT(Refusal("key\n"), HasSubstr("holds no operations"));
  EXPECT_THAT(Refusal("key,table\na,x\xe9\n"),
              HasSubstr("input names the table x\\xe9, which is no UTF-8 text"));
  std::string many = "key,table\n";
  for (int i = 0; i <= 2 * 4096; ++i) many += "k,t" + std::to_string(i / 2) + "\n";
  EXPECT_THAT(Refusal(many), HasSubstr("names more tables than a trace may have, which is 4096"));
  EXPECT_THAT(Refusal("1,2\n", {.format = ImportOptions::kTwitter}), HasSubstr("not the 7"));
}

// Traces that db_bench of RocksDB 7.8 made; they are seeds of the fuzz target, too.
std::string RocksdbTrace(const std::string& name) {
  std::ifstream in(SourceDir() + "/tests/fuzz/corpus/trace/" + name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {}).substr(1);
}

TEST_F(TraceImportTest, RocksdbsTracesHaveTheOperationsThatDbBenchCounts) {
  Import(RocksdbTrace("rocksdb-mixgraph"), {.format = ImportOptions::kRocksdb});
  // mixgraph: 30 operations ( Gets:19 Puts:8 Seek:3 )
  const nlohmann::json info = TraceInfo(TraceFile(path_));
  EXPECT_EQ(info["calls"]["get"], 19);
  EXPECT_EQ(info["calls"]["put"], 8);
  EXPECT_EQ(info["calls"]["seek"], 3);
  EXPECT_EQ(info["operations"], 30);
  EXPECT_EQ(info["sizes"]["key_bytes"]["p50"], 16);
  EXPECT_EQ(info["tables"][0]["name"], "default");
  std::filesystem::remove(path_);
  EXPECT_EQ(Import(RocksdbTrace("rocksdb-multi-get"), {.format = ImportOptions::kRocksdb}), 10u);
  const std::vector<TraceOperation> all = Operations(path_);
  EXPECT_EQ(all[0].calls.size(), 1u);
  EXPECT_EQ(all[0].keys.size(), 4u);
}

TEST_F(TraceImportTest, DamagedTracesOfRocksdbAreRefused) {
  const ImportOptions rocksdb{.format = ImportOptions::kRocksdb};
  const std::string whole = RocksdbTrace("rocksdb-multi-get");
  EXPECT_THAT(Refusal(whole.substr(0, whole.size() - 40), rocksdb), HasSubstr("ends within it"));
  EXPECT_THAT(Refusal("key,time\n", rocksdb), HasSubstr("is no trace of RocksDB"));
  EXPECT_THAT(Refusal("", rocksdb), HasSubstr("is no trace of RocksDB"));
  // The record of the end has no payload. A file without it ends with a whole record.
  constexpr size_t kEndBytes = 13;
  EXPECT_THAT(Refusal(whole.substr(0, whole.size() - kEndBytes), rocksdb),
              HasSubstr("the record that ends a trace is missing"));
  std::string old = whole;
  old[old.find("0.2")] = '7';
  EXPECT_THAT(Refusal(old, rocksdb), HasSubstr("another version than 0.2"));
  std::string changed = whole;
  changed[whole.size() - 13 - 20] = '\xff';
  (void)Refusal(changed, rocksdb);  // any other byte is a key, or is refused
}

// A record of RocksDB's trace: time, kind, bytes of the payload, payload.
std::string RocksdbRecord(uint8_t kind, const std::string& payload) {
  std::string record(8, '\0');
  record += static_cast<char>(kind);
  for (int i = 0; i < 4; ++i) record += static_cast<char>((payload.size() >> (8 * i)) & 0xff);
  return record + payload;
}

// Returns the payload of a get of a key of `bytes` bytes: a bit map of the parts that follow, the
// column family, and the key.
std::string RocksdbGet(size_t bytes) {
  std::string payload(1, static_cast<char>(1 << 2 | 1 << 3));
  payload.append(7 + 4, '\0');
  for (size_t left = bytes; left != 0; left >>= 7) {
    payload += static_cast<char>((left & 0x7f) | (left >> 7 != 0 ? 0x80 : 0));
  }
  return payload + std::string(bytes, 'k');
}

TEST_F(TraceImportTest, AKeyThatNoTraceHoldsIsRefusedWithTheLimit) {
  constexpr uint8_t kBegin = 1, kEnd = 2, kGet = 4;
  const std::string head = RocksdbRecord(kBegin, "feedcafedeadbeef\tTrace Version: 0.2\t");
  const auto of_rocksdb = [&](size_t bytes) {
    return head + RocksdbRecord(kGet, RocksdbGet(bytes)) + RocksdbRecord(kEnd, "");
  };
  const ImportOptions rocksdb{.format = ImportOptions::kRocksdb};
  EXPECT_EQ(Import(of_rocksdb(kMostTraceKey), rocksdb), 1u);
  std::filesystem::remove(path_);
  EXPECT_THAT(Refusal(of_rocksdb(kMostTraceKey + 1), rocksdb),
              HasSubstr("input record 2: has a key of 65,537 bytes, and a trace holds keys of "
                        "65,536 at most"));
  EXPECT_THAT(Refusal("key\n" + std::string(kMostTraceKey + 1, 'k') + "\n"),
              HasSubstr("input line 2: has a key of 65,537 bytes, and a trace holds keys of"));
  EXPECT_THAT(Refusal("key,operation,value_size\nk,set,2000000000\n"),
              HasSubstr("has a value of 2,000,000,000 bytes, and a trace holds values of"));
}

TEST_F(TraceImportTest, AShareOfTheKeysHasAllTheirOperations) {
  std::string text = "key\n";
  for (int i = 0; i < 20000; ++i) text += "key" + std::to_string(i % 2000) + "\n";
  Import(text);
  const uint64_t kept = ScaleTrace(path_, 0.1, path_ + ".small");
  EXPECT_NEAR(static_cast<double>(kept), 2000, 400);
  EXPECT_EQ(kept % 10, 0u);
  const nlohmann::json info = TraceInfo(TraceFile(path_ + ".small"));
  EXPECT_EQ(info["operations"], kept);
  EXPECT_EQ(info["keys"]["different"], static_cast<double>(kept) / 10);
  EXPECT_NE(TraceInfoText(info).find("Working set"), std::string::npos);
}

// Each multi-get has sixteen keys: by their first keys alone nearly all keys would stay.
TEST_F(TraceImportTest, AShareOfTheKeysIsTakenOutOfMultiGets) {
  constexpr size_t kOperations = 500, kEach = 16;
  {
    TraceWriter writer(path_);
    TraceClient client(writer, 0);
    for (size_t i = 0; i < kOperations; ++i) {
      std::vector<std::string> texts;
      for (size_t k = 0; k < kEach; ++k) texts.push_back(std::to_string((i * kEach + k) % 2000));
      const std::vector<std::string_view> keys(texts.begin(), texts.end());
      client.Begin(0, i);
      client.MultiGet(0, keys, std::vector<FoundRow>(kEach));
      client.End();
      client.Begin(1, i);  // a transaction is kept or left out as a whole
      client.Call(TraceCallKind::kBegin);
      client.MultiGet(0, keys, std::vector<FoundRow>(kEach));
      client.Call(TraceCallKind::kCommit);
      client.End();
      client.Rest();
    }
    client.Finish();
    TraceFacts facts;
    facts.workload = "multi-get";
    facts.clients = 1;
    facts.operations = client.operations();
    facts.last_ns = client.last_ns();
    facts.kinds = {"multi-get", "transaction"};
    facts.tables = {{.id = 0, .name = "main", .index_of = {}, .parts = {}}};
    facts.calls = client.calls();
    writer.Finish(facts);
  }
  ScaleTrace(path_, 0.1, path_ + ".small");
  std::set<std::string> different;
  size_t multi_gets = 0, kept = 0, transactions = 0;
  for (const TraceOperation& operation : Operations(path_ + ".small")) {
    if (operation.kind == 1) {
      ++transactions;
      EXPECT_EQ(operation.keys.size(), kEach);
      continue;
    }
    ++multi_gets;
    ASSERT_EQ(operation.calls.size(), 1u);
    EXPECT_FALSE(operation.keys.empty());
    EXPECT_EQ(operation.calls[0].number, operation.keys.size());
    for (const TraceAnswer& answer : operation.answers) {
      EXPECT_EQ(answer.state, TraceAnswer::kAbsent);
    }
    kept += operation.keys.size();
    for (const std::string_view key : operation.keys) different.emplace(key);
  }
  EXPECT_NEAR(static_cast<double>(different.size()), 200, 60);
  EXPECT_EQ(kept, different.size() * (kOperations * kEach / 2000)) << "all accesses to these keys";
  EXPECT_GT(multi_gets, kOperations / 2) << "four of five have a key of the share";
  EXPECT_LT(multi_gets, kOperations);
  EXPECT_GT(transactions, 0u);
  EXPECT_LT(transactions, kOperations / 4) << "about a tenth begins with a key of the share";
}

// Once, a scaled trace had steps of cursors that it did not open, and its replay called it damaged.
TEST_F(TraceImportTest, ATraceWhoseOperationsNeedEachOtherIsNotScaled) {
  for (const bool has_cursor : {true, false}) {
    {
      TraceWriter writer(path_);
      TraceClient client(writer, 0);
      client.Begin(0, 0);
      const uint32_t cursor = has_cursor ? client.OpenCursor(0) : 0;
      if (has_cursor) client.Seek(TraceCallKind::kSeek, cursor, "a");
      if (!has_cursor) client.Call(TraceCallKind::kBegin);
      client.End();
      client.Begin(0, 1);
      if (has_cursor) client.Step(cursor, true);
      if (!has_cursor) client.Call(TraceCallKind::kCommit);
      client.End();
      client.Finish();
      TraceFacts facts;
      facts.clients = 1;
      facts.operations = client.operations();
      facts.kinds = {"scan"};
      facts.tables = {{.id = 0, .name = "main", .index_of = {}, .parts = {}}};
      facts.calls = client.calls();
      writer.Finish(facts);
    }
    std::string refusal;
    try {
      ScaleTrace(path_, 0.5, path_ + ".small");
    } catch (const Error& error) {
      refusal = error.what();
    }
    EXPECT_THAT(refusal, HasSubstr("goes on from one operation to the next")) << has_cursor;
    EXPECT_FALSE(std::filesystem::exists(path_ + ".small"));
  }
}

// The working set of scans is that of their first rows alone.
TEST_F(TraceImportTest, RowsToWhichCursorsStepAreSaidToBeLeftOut) {
  {
    TraceWriter writer(path_);
    TraceClient client(writer, 0);
    for (uint64_t i = 0; i < 3; ++i) {
      client.Begin(0, i);
      const uint32_t cursor = client.OpenCursor(0);
      client.Seek(TraceCallKind::kSeek, cursor, "a");
      for (int step = 0; step < 5; ++step) client.Step(cursor, true);
      client.CloseCursor(cursor);
      client.End();
    }
    client.Finish();
    TraceFacts facts;
    facts.clients = 1;
    facts.operations = client.operations();
    facts.kinds = {"scan"};
    facts.tables = {{.id = 0, .name = "main", .index_of = {}, .parts = {}}};
    facts.calls = client.calls();
    writer.Finish(facts);
  }
  const nlohmann::json scans = TraceInfo(TraceFile(path_));
  EXPECT_EQ(scans["keys"]["rows_stepped_to"], 15);
  EXPECT_THAT(TraceInfoText(scans), HasSubstr("cursors"));
  Import("key\na\nb\n");
  EXPECT_THAT(TraceInfoText(TraceInfo(TraceFile(path_))), testing::Not(HasSubstr("cursors")));
}

TEST_F(TraceImportTest, TheBusiestSecondIsThatOfAllClients) {
  Import("key,time,client\na,0.5,x\nb,1.1,x\nc,1.2,y\nd,1.9,x\ne,2.0,y\nf,7,y\n");
  EXPECT_EQ(TraceInfo(TraceFile(path_))["busiest_second"], 3);
}

// Lines of one time are a nanosecond apart in the trace.
TEST_F(TraceImportTest, OperationsThatBeginAtOnceHaveNoRate) {
  std::string text = "key\n";
  for (int i = 0; i < 1000; ++i) text += std::to_string(i % 500) + "\n";
  Import(text);
  ScaleTrace(path_, 0.5, path_ + ".small");
  for (const std::string& path : {path_, path_ + ".small"}) {
    const nlohmann::json info = TraceInfo(TraceFile(path));
    EXPECT_TRUE(info["seconds"].is_null()) << info;
    EXPECT_TRUE(info["per_second"].is_null()) << info;
    EXPECT_TRUE(info["operations_by_kind"][0]["per_second"].is_null()) << info;
    EXPECT_EQ(TraceInfoText(info).find("busiest"), std::string::npos);
  }
}

TEST_F(TraceImportTest, TheMeanOfWholeSecondsIsNotAboveTheBusiestSecond) {
  for (const int seconds : {2, 3, 10}) {
    std::string text = "key,time\n";
    for (int i = 0; i < 100 * seconds; ++i) {
      text += std::to_string(i % 50) + "," + std::to_string(i / 100) + "\n";
    }
    Import(text);
    ScaleTrace(path_, 0.5, path_ + ".small");
    const nlohmann::json info = TraceInfo(TraceFile(path_));
    EXPECT_EQ(info["seconds"], seconds);
    EXPECT_EQ(info["per_second"], 100);
    EXPECT_EQ(info["operations_by_kind"][0]["per_second"], 100);
    for (const std::string& path : {path_, path_ + ".small"}) {
      const nlohmann::json figures = TraceInfo(TraceFile(path));
      EXPECT_LE(figures["per_second"].get<double>(), figures["busiest_second"].get<double>());
    }
  }
  Import("key,time\na,0\nb,0.5\nc,2.5\n");
  EXPECT_EQ(TraceInfo(TraceFile(path_))["seconds"], 2.5) << "a finer clock";
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// A process tells only the peak of its memory. The shorter trace sets the peak first, so the longer
// trace raises it only when its figures take more memory.
TEST_F(TraceImportTest, FiguresOfALongTraceTakeNoMoreMemory) {
  constexpr int kOperations = 150000;
  const auto peak_after = [this](int operations_of_second) {
    std::string text = "key,time\n";
    for (int i = 0; i < kOperations; ++i) {
      const int second = 100000 + i / operations_of_second;  // texts of equal lengths
      text += std::to_string(i % 100) + "," + std::to_string(second) + "\n";
    }
    Import(text);
    EXPECT_EQ(TraceInfo(TraceFile(path_))["busiest_second"], operations_of_second);
    rusage use{};
    ::getrusage(RUSAGE_SELF, &use);
    return use.ru_maxrss;  // kB
  };
  const auto of_one_second = peak_after(kOperations);
  EXPECT_LT(peak_after(1), of_one_second + 4000) << "kB";
}
#endif

}  // namespace
}  // namespace testbed
