// Tests what testbed knows of the versions of PostgreSQL: which settings and arguments they take,
// where their statistics are, and which release a name means.
#ifdef TESTBED_HAVE_POSTGRES
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "device/error.h"
#include "engines/postgres/settings.h"
#include "engines/postgres/versions.h"
#include "engines/registry.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

TEST(PostgresVersionTest, IsWhatTheProgramSays) {
  EXPECT_EQ(postgres::ParseVersion("postgres (PostgreSQL) 15.20 (Debian 15.20-0+deb12u1)"), 150020);
  EXPECT_EQ(postgres::ParseVersion("postgres (PostgreSQL) 9.6.24\n"), 90624);
  EXPECT_EQ(postgres::ParseVersion("18.6"), 180006);
  EXPECT_EQ(postgres::ParseVersion("postgres (PostgreSQL) 19beta1"), 190000);
  for (const char* none : {"", "15", "9.6", "no", "15.", ".1", "1000.1"}) {
    EXPECT_EQ(postgres::ParseVersion(none), 0) << none;
  }
  EXPECT_EQ(postgres::VersionName(90624), "9.6.24");
  EXPECT_EQ(postgres::VersionName(150020), "15.20");
  EXPECT_EQ(postgres::MajorName(90624), "9.6");
  EXPECT_EQ(postgres::MajorName(100023), "10");
}

TEST(PostgresVersionTest, AReleaseIsNamedInFullOrByItsMajorVersion) {
  const std::vector<postgres::Release>& all = postgres::Releases();
  for (size_t i = 0; i < all.size(); ++i) {
    const postgres::Version version = postgres::ParseVersion(all[i].name);
    EXPECT_GE(version, postgres::kOldestVersion) << all[i].name;
    EXPECT_EQ(postgres::FindRelease(all[i].name), &all[i]);
    EXPECT_EQ(postgres::FindRelease(postgres::MajorName(version)), &all[i]) << "one of each major";
    if (i > 0) {
      EXPECT_GT(version, postgres::ParseVersion(all[i - 1].name));
    }
    EXPECT_THAT(postgres::ReleaseNames(), HasSubstr("postgres@" + all[i].name));
  }
  EXPECT_EQ(postgres::FindRelease(""), nullptr);
  EXPECT_EQ(postgres::FindRelease("18.5"), nullptr);
}

// A server ends when it meets an option that it does not know.
TEST(PostgresVersionTest, SettingsAreThoseThatTheVersionHas) {
  const std::vector<std::string> newest = {"jit=off", "shared_memory_type=mmap", "io_method=sync",
                                           "dynamic_shared_memory_type=mmap"};
  const auto fitted = [&](postgres::Version version) {
    std::vector<std::string> settings = newest;
    postgres::FitConfiguration(version, &settings);
    return settings;
  };
  const std::vector<std::string> of_17 = {"jit=off", "shared_memory_type=mmap",
                                          "dynamic_shared_memory_type=mmap"};
  const std::vector<std::string> of_11 = {"jit=off", "dynamic_shared_memory_type=mmap"};
  const std::vector<std::string> of_10 = {"dynamic_shared_memory_type=mmap"};
  EXPECT_EQ(fitted(180006), newest);
  EXPECT_EQ(fitted(170011), of_17);
  EXPECT_EQ(fitted(120022), of_17);
  EXPECT_EQ(fitted(110022), of_11);
  EXPECT_EQ(fitted(100023), of_10);
  EXPECT_EQ(fitted(90624), of_10);
}

TEST(PostgresVersionTest, ArgumentsOfInitdbAreThoseThatTheVersionHas) {
  using Words = std::vector<std::string>;
  constexpr uint64_t kSegment = 16 << 20;
  EXPECT_EQ(postgres::InitDbArguments(100023, kSegment, true), Words{"--data-checksums"});
  EXPECT_EQ(postgres::InitDbArguments(100023, kSegment, false), Words{});
  EXPECT_EQ(postgres::InitDbArguments(150019, kSegment, true),
            (Words{"--wal-segsize=16", "--data-checksums"}));
  EXPECT_EQ(postgres::InitDbArguments(170011, kSegment, false), Words{"--wal-segsize=16"});
  EXPECT_EQ(postgres::InitDbArguments(180006, kSegment, false),
            (Words{"--wal-segsize=16", "--no-data-checksums"}))
      << "it turns them on unasked";
}

TEST(PostgresVersionTest, StatisticsAreWhereTheVersionHasThem) {
  EXPECT_THAT(postgres::WriteStatistics(160015), HasSubstr("FROM pg_stat_bgwriter"));
  EXPECT_THAT(postgres::WriteStatistics(160015), Not(HasSubstr("pg_stat_checkpointer")));
  EXPECT_THAT(postgres::WriteStatistics(170011), HasSubstr("FROM pg_stat_checkpointer"));
  EXPECT_THAT(postgres::WriteStatistics(170011), HasSubstr("num_timed + num_requested"));
  EXPECT_THAT(postgres::WriteStatistics(170011),
              HasSubstr("backend_type NOT IN ('checkpointer', 'background writer')"))
      << "workers of autovacuum write, too, as buffers_backend has it before version 17";
  EXPECT_THAT(postgres::WriteStatistics(180006), HasSubstr("num_done"));
  EXPECT_EQ(postgres::LogStatistics(120022), "");
  EXPECT_THAT(postgres::LogStatistics(140024), HasSubstr("wal_sync"));
  EXPECT_THAT(postgres::LogStatistics(180006), Not(HasSubstr("wal_sync")));
  EXPECT_EQ(postgres::FlushOfStatistics(140024), "");
  EXPECT_EQ(postgres::FlushOfStatistics(150019), "SELECT pg_stat_force_next_flush()");
  EXPECT_EQ(postgres::HashOf(100023, "a"), "hashtext('a')");
  EXPECT_EQ(postgres::HashOf(120022, "a"), "hashtextextended('a', 0)");
}

// Stand-ins for programs, which say their version.
class PostgresProgramsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_NE(::mkdtemp(directory_.data()), nullptr); }
  void TearDown() override { fs::remove_all(directory_); }
  // Returns a new directory of programs, to which the option `programs` of the engine leads.
  std::string Programs(const std::string& says) {
    const std::string dir = directory_ + "/" + std::to_string(++made_);
    fs::create_directory(dir);
    for (const char* name : {"initdb", "postgres"}) {
      const std::string program = dir + "/" + name;
      std::ofstream(program) << "#!/bin/sh\necho '" << says << "'\n";
      fs::permissions(program, fs::perms::owner_all);
    }
    return dir;
  }
  EngineOptions Options(const std::string& says) {
    EngineOptions options = DefaultEngineOptions(FindEngine("postgres"));
    options.cache_bytes = 64 << 20;
    options.extra = {{"programs", Programs(says)}, {"checkpoint_log_bytes", "64M"}};
    return options;
  }
  static std::string Refusal(const EngineOptions& options) {
    try {
      (void)postgres::MakeSettings(options);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      return error.what();
    }
    return "";
  }

  std::string directory_ = testing::TempDir() + "postgres_programs_XXXXXX";
  int made_ = 0;
};

TEST_F(PostgresProgramsTest, TheConfigurationFollowsTheVersion) {
  const postgres::Settings newest = postgres::MakeSettings(Options("postgres (PostgreSQL) 18.6"));
  EXPECT_EQ(newest.version, 180006);
  EXPECT_THAT(newest.server, Contains("io_method=sync"));
  EXPECT_THAT(newest.server, Contains("max_wal_size=128MB")) << "4 segments * 1.9, rounded up";
  const postgres::Settings oldest = postgres::MakeSettings(Options("postgres (PostgreSQL) 9.6.24"));
  EXPECT_THAT(oldest.server, Not(Contains(StartsWith("io_method="))));
  EXPECT_THAT(oldest.server, Not(Contains(StartsWith("jit="))));
  EXPECT_THAT(oldest.server, Contains("max_wal_size=192MB")) << "4 segments * 2.9, rounded up";
}

// What the user names comes after the run's own choice, so the server takes it.
TEST_F(PostgresProgramsTest, TheUserCanChooseAnotherMethodOfIo) {
  EngineOptions options = Options("postgres (PostgreSQL) 18.6");
  options.extra["server_option"] = "io_method=worker";
  const std::vector<std::string> server = postgres::MakeSettings(options).server;
  const auto at = [&](const std::string& option) {
    return std::find(server.begin(), server.end(), option) - server.begin();
  };
  EXPECT_LT(at("io_method=sync"), at("io_method=worker"));
  EXPECT_LT(at("io_method=worker"), static_cast<ptrdiff_t>(server.size()));
}

// The effective settings are looked up by these names.
TEST_F(PostgresProgramsTest, AnOptionOfTheServerHasOneNameInAnySpelling) {
  EngineOptions options = Options("postgres (PostgreSQL) 18.6");
  options.extra["server_option"] = "Commit-Delay=7;DateStyle=ISO, DMY";
  const std::vector<std::string> server = postgres::MakeSettings(options).server;
  EXPECT_THAT(server, Contains("commit_delay=7"));
  EXPECT_THAT(server, Contains("datestyle=ISO, DMY")) << "a value stays as it is";
}

// A session sets them when it begins, so the server's values would be without effect.
TEST_F(PostgresProgramsTest, ASettingOfTheRunsSessionsIsNotTakenForTheServer) {
  const std::string setup = postgres::SessionSetup({});
  for (const std::string name :
       {"enable_seqscan", "enable_bitmapscan", "enable_sort", "max_parallel_workers_per_gather",
        "default_transaction_isolation", "client_min_messages", "plan_cache_mode"}) {
    EXPECT_THAT(setup, HasSubstr(name));
    EngineOptions options = Options("postgres (PostgreSQL) 18.6");
    options.extra["server_option"] = name + "=1";
    EXPECT_THAT(Refusal(options), HasSubstr("server_option=" + name + "=1: the run's own options"));
  }
}

TEST_F(PostgresProgramsTest, OthersThanTheVersionsThatItWorksWithAreRefused) {
  EXPECT_THAT(Refusal(Options("postgres (PostgreSQL) 9.5.25")),
              HasSubstr("it takes a PostgreSQL of version 9.6 or later, and this one is 9.5.25"));
  EXPECT_THAT(Refusal(Options("mariadbd  Ver 10.11.19-MariaDB")),
              HasSubstr("to --version this postgres says: mariadbd"));
  EngineOptions options = Options("postgres (PostgreSQL) 10.23");
  options.extra["wal_segment_size"] = "1M";
  EXPECT_THAT(Refusal(options), HasSubstr("PostgreSQL 10.23 has segments of 16M"));
  options = Options("postgres (PostgreSQL) 18.6");
  options.extra["server"] = "postgres@18.6";
  EXPECT_THAT(Refusal(options),
              HasSubstr("server postgres@18.6 names the programs; give one of them"));
}

}  // namespace
}  // namespace testbed
#endif
