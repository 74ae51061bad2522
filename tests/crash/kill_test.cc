// Tests kill -9 at random moments with fractal, innodb, lmdb, mdbx, mmapv1, pebble, rocksdb, sqlite
// and wiredtiger. What an engine acknowledged as durable must be found afterwards, and only whole
// transactions. The engine's own check, if it has one, must find no fault before and after
// recovery. A kill loses only the memory of the process: what was written stays in the page cache.
// TESTBED_CRASH_ROUNDS sets the kills of each way.
//
// btree_crash_test.cc kills btree, and `testbed crashtest` the servers of mysql and postgres
// (tools/nightly.sh). bf-tree promises nothing over a crash; log and null have no rows to read.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "tests/crash/killed_engine.h"

namespace testbed {
namespace {

constexpr uint32_t kIntervalMs = 50;
// The time by which a commit may be durable later than promised. A busy machine may run the syncing
// thread late; lazy_age_test.cc tests that it runs in time.
constexpr uint32_t kSlackMs = 500;

enum class Loss : uint8_t {
  kNothing,   // a commit that has returned is in the page cache, if not on the device
  kInterval,  // commits of the last lazy interval may be lost
  kAny,       // any commits may be lost, but each only as a whole
};

struct Way {
  std::string engine;
  std::string variant = {};  // behind the engine and the durability in the test's name
  Durability durability;
  Loss loss = Loss::kNothing;
  std::optional<IoMode> io = std::nullopt;
  std::map<std::string, std::string> extra = {};
  int rounds = 5;
  uint64_t longest_value = 3000;
  // A setting of 0 is the default of the engine.
  uint64_t cache_bytes = 0;
  uint32_t page_size = 0;
  const char* compression = nullptr;

  std::string Name() const {
    return engine + "_" + DurabilityName(durability) + (variant.empty() ? "" : "_" + variant);
  }
};

class KillTest : public testing::TestWithParam<Way> {
 protected:
  void SetUp() override {
    const Way& way = GetParam();
    const auto& engines = Engines();
    if (std::none_of(engines.begin(), engines.end(),
                     [&](const EngineInfo& info) { return info.name == way.engine; })) {
      GTEST_SKIP() << "this build has no " << way.engine;
    }
    killed_.emplace(way.engine);
    EngineOptions& options = killed_->options;
    options.durability = way.durability;
    options.lazy_interval_ms = kIntervalMs;
    if (way.io) options.io = *way.io;
    if (way.cache_bytes != 0) options.cache_bytes = way.cache_bytes;
    if (way.page_size != 0) options.page_size = way.page_size;
    if (way.compression != nullptr) options.compression = way.compression;
    options.extra = way.extra;
    killed_->longest_value = way.longest_value;
    if (way.loss == Loss::kInterval) {
      killed_->durable_after = std::chrono::milliseconds(kIntervalMs + kSlackMs);
    } else if (way.loss == Loss::kAny) {
      killed_->durable_after.reset();
    }
    const std::optional<std::string> refusal = InChild([this]() -> std::string {
      try {
        killed_->Open();
        return "";
      } catch (const Error& e) {
        if (e.kind() != Error::kUsage) throw;
        return e.what();
      }
    });
    ASSERT_TRUE(refusal);
    if (!refusal->empty()) GTEST_SKIP() << *refusal;
  }

  void ExpectSound(const std::string& when) {
    if (FindEngine(GetParam().engine).check) killed_->ExpectSound(when);
  }

  std::optional<KilledEngine> killed_;
};

TEST_P(KillTest, AcknowledgedCommitsSurvive) {
  constexpr uint64_t kLeastRows = 50;
  std::mt19937_64 random(301);
  uint64_t rows = 0;  // rounds go on until there are some, however slow the disk is
  const char* const set = ::getenv("TESTBED_CRASH_ROUNDS");
  const int least = set != nullptr ? std::atoi(set) : GetParam().rounds;
  for (int round = 0; (round < least || rows <= kLeastRows) && round < 25 * least; ++round) {
    killed_->RunAndKill(std::chrono::microseconds(random() % 200'000));
    ExpectSound("before recovery");
    rows = killed_->ExpectWhole();
    ExpectSound("after recovery");
    if (HasFailure()) return;
  }
  EXPECT_GT(rows, kLeastRows);
}

using Extra = std::map<std::string, std::string>;

// Caches, logs and files are small, so that checkpoints, flushes and compactions are killed too.
void AddFractal(std::vector<Way>* ways) {
  Way fractal{.engine = "fractal", .durability = Durability::kSync};
  fractal.extra = {{"node_size", "64k"},
                   {"fanout", "4"},
                   {"checkpoint_period", "15"},
                   {"cleaner_period", "10"},
                   {"log_segment", "1M"}};
  fractal.longest_value = 1500;
  fractal.cache_bytes = 2 << 20;
  fractal.page_size = 4096;
  fractal.compression = "lz4";
  ways->push_back(fractal);
  fractal.durability = Durability::kLazy;
  fractal.loss = Loss::kInterval;
  ways->push_back(fractal);
  fractal.durability = Durability::kNone;
  fractal.loss = Loss::kAny;
  ways->push_back(fractal);
}

void AddInnodb(std::vector<Way>* ways) {
  ways->push_back({.engine = "innodb", .durability = Durability::kSync, .rounds = 3});
  ways->push_back(
      {.engine = "innodb", .durability = Durability::kLazy, .loss = Loss::kInterval, .rounds = 2});
}

void AddLmdbAndMdbx(std::vector<Way>* ways) {
  for (const char* engine : {"lmdb", "mdbx"}) {
    Extra extra = {{"map_size", "4G"}, {"writemap", "off"}};
    for (const Durability durability : {Durability::kSync, Durability::kLazy, Durability::kNone}) {
      ways->push_back({.engine = engine, .durability = durability, .extra = extra});
    }
    extra["writemap"] = "on";
    ways->push_back(
        {.engine = engine, .variant = "writemap", .durability = Durability::kSync, .extra = extra});
  }
}

void AddMmapv1(std::vector<Way>* ways) {
  Way mmapv1{.engine = "mmapv1", .durability = Durability::kLazy, .loss = Loss::kInterval};
  mmapv1.extra = {{"small_files", "on"},
                  {"first_file_size", "1M"},
                  {"journal_file_size", "1M"},
                  {"sync_delay", "0.05"}};
  ways->push_back(mmapv1);
  mmapv1.durability = Durability::kSync;
  mmapv1.loss = Way{}.loss;
  mmapv1.extra["journal_commit_interval"] = "4";
  ways->push_back(mmapv1);
  mmapv1.variant = "24";
  mmapv1.extra["generation"] = "2.4";
  ways->push_back(mmapv1);
}

// pebble is loaded in the children alone, since its library does not survive a fork.
void AddPebbleRocksdbAndWiredtiger(std::vector<Way>* ways) {
  Way pebble{.engine = "pebble"};
  pebble.extra = {{"memtable_size", "256k"}};
  Way rocksdb{.engine = "rocksdb"};
  rocksdb.extra = {{"write_buffer_size", "64k"}};
  Way wiredtiger{.engine = "wiredtiger"};
  wiredtiger.extra = {{"checkpoint_log_bytes", "1M"}, {"log_file_max", "512k"}};
  wiredtiger.longest_value = 700;
  wiredtiger.cache_bytes = 2 << 20;
  for (Way way : {pebble, rocksdb, wiredtiger}) {
    way.durability = Durability::kSync;
    for (const IoMode io : {IoMode::kBuffered, IoMode::kDirect, IoMode::kMmap}) {
      way.io = io;
      way.variant = IoModeName(io);
      ways->push_back(way);
    }
    way.io = IoMode::kBuffered;
    way.variant = "";
    way.durability = Durability::kLazy;
    way.loss = Loss::kInterval;
    way.rounds = 4;
    ways->push_back(way);
  }
}

void AddSqlite(std::vector<Way>* ways) {
  constexpr Durability kSync = Durability::kSync, kNone = Durability::kNone;
  const std::pair<Durability, const char*> journals[] = {
      {kSync, "wal"},      {Durability::kLazy, "wal"}, {kNone, "wal"},   {kSync, "delete"},
      {kSync, "truncate"}, {kSync, "persist"},         {kNone, "delete"}};
  for (const auto& [durability, journal] : journals) {
    ways->push_back({.engine = "sqlite",
                     .variant = journal,
                     .durability = durability,
                     .extra = {{"journal", journal}, {"checkpoint_log_bytes", "256k"}}});
  }
}

// Each run of the tests kills libraries in one IO mode: what they have written is in the page cache
// in each. The nightly run has the others.
std::vector<Way> Ways(bool nightly) {
  std::vector<Way> ways;
  for (auto* const add : {AddFractal, AddInnodb, AddLmdbAndMdbx, AddMmapv1,
                          AddPebbleRocksdbAndWiredtiger, AddSqlite}) {
    add(&ways);
  }
  std::erase_if(ways, [&](const Way& way) {
    return (way.variant == "direct" || way.variant == "mmap") != nightly;
  });
  return ways;
}

// An engine that joins this build, or that is left out above, would be killed nowhere. The engines
// that other tests add have no files.
TEST(KillTestWays, EachEngineThatPromisesDurabilityIsKilledInEachRun) {
  std::set<std::string> killed = {"btree"};  // btree_crash_test.cc
  for (const Way& way : Ways(false)) {
    if (way.durability == Durability::kSync) killed.insert(way.engine);
  }
  for (const EngineInfo& info : Engines()) {
    const Capabilities& can = info.capabilities;
    const bool promises =
        can.persistent && can.reads && can.transactions &&
        std::count(can.durabilities.begin(), can.durabilities.end(), Durability::kSync) > 0;
    if (!promises || can.server || info.files.empty()) continue;
    EXPECT_TRUE(killed.contains(info.name)) << info.name;
  }
}

std::string WayName(const testing::TestParamInfo<Way>& info) { return info.param.Name(); }

INSTANTIATE_TEST_SUITE_P(Engines, KillTest, testing::ValuesIn(Ways(false)), WayName);
INSTANTIATE_TEST_SUITE_P(EveryWay, KillTest, testing::ValuesIn(Ways(true)), WayName);

}  // namespace
}  // namespace testbed
