// Tests the names of releases, the table of those that can be built, and what is sent to the
// program of a release.
#include "tools/release/release.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "tests/paths.h"
#include "tests/unit/tools/release/every_release.h"
#include "tools/release/release_process.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string WhyNot(const std::string& engine, const std::string& release) {
  try {
    FindRelease(engine, release);
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    return e.what();
  }
  return "";
}

TEST(ReleaseTest, TheFirstAtEndsTheEnginesName) {
  EXPECT_EQ(SplitRelease("rocksdb").engine, "rocksdb");
  EXPECT_EQ(SplitRelease("rocksdb").release, "");
  EXPECT_EQ(SplitRelease("rocksdb@10.4.2").engine, "rocksdb");
  EXPECT_EQ(SplitRelease("rocksdb@10.4.2").release, "10.4.2");
  EXPECT_EQ(SplitRelease("rocksdb@/opt/a@b").release, "/opt/a@b");
  EXPECT_EQ(SplitRelease("rocksdb@/opt/a:b").release, "/opt/a:b");
  EXPECT_EQ(SplitRelease("postgres:postgres@15").engine, "postgres:postgres@15");
  EXPECT_EQ(SplitRelease("postgres:postgres@15").release, "");
  EXPECT_EQ(SplitRelease("@1").engine, "");
}

TEST(ReleaseTest, EachReleaseOfTheTableHasAHashOf64Digits) {
  std::ifstream in(SourceDir() + "/tools/setup/engine_releases");
  ASSERT_TRUE(in.good());
  std::set<std::string> names, hashes;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::vector<std::string> row{std::istream_iterator<std::string>(words), {}};
    ASSERT_EQ(row.size(), 7u) << line;
    EXPECT_THAT(row[2], testing::MatchesRegex("20[0-9][0-9]-[01][0-9]")) << line;
    EXPECT_THAT(row[3], testing::AnyOf("crate", "sdist")) << line;
    EXPECT_EQ(row[6].size(), 64u) << line;
    EXPECT_EQ(row[6].find_first_not_of("0123456789abcdef"), std::string::npos) << line;
    EXPECT_TRUE(names.insert(row[0] + "@" + row[1]).second) << line;
    EXPECT_TRUE(hashes.insert(row[6]).second) << line;
  }
  EXPECT_EQ(names.size(), KnownReleases().size());
  for (const KnownRelease& known : KnownReleases()) {
    EXPECT_TRUE(names.contains(known.engine + "@" + known.release));
  }
}

TEST(ReleaseTest, AReleaseThatIsNotInstalledIsRefusedWithWhatToDo) {
  ASSERT_EQ(setenv("TESTBED_RELEASES", "/nonexistent", 1), 0);
  EXPECT_TRUE(InstalledReleases().empty());
  EXPECT_THAT(WhyNot("rocksdb", "10.4.2"), HasSubstr("tools/build_engine.sh rocksdb 10.4.2"));
  EXPECT_THAT(WhyNot("rocksdb", "latest"), HasSubstr("tools/build_engine.sh rocksdb 11.8.1"));
  EXPECT_THAT(WhyNot("rocksdb", "/opt/r"), HasSubstr("tools/build_engine.sh rocksdb /opt/r"));
  EXPECT_THAT(WhyNot("rocksdb", "10.4"), HasSubstr("6.20.3, 6.28.2"));
  EXPECT_THAT(WhyNot("rocksdb", ""), HasSubstr("6.20.3, 6.28.2"));
  EXPECT_THAT(WhyNot("lmdb", "0.9.70"), HasSubstr("tools/build_engine.sh lmdb 0.9.70"));
  EXPECT_THAT(WhyNot("btree", "1"), HasSubstr("btree has no releases"));
  unsetenv("TESTBED_RELEASES");
}

// Only a small regular file is read as a description: a pipe would make each listing of releases
// wait.
TEST(ReleaseTest, AFolderWhoseDescriptionIsNoSmallFileHoldsNoRelease) {
  const EveryRelease installed;
  const std::vector<EngineRelease> all = InstalledReleases();
  ASSERT_GE(all.size(), 2u);
  const auto description = [&all](size_t i) {
    return std::filesystem::path(all[i].program).replace_filename("release.json");
  };
  std::ofstream(description(0), std::ios::app) << std::string(2 << 20, ' ');
  EXPECT_EQ(InstalledReleases().size(), all.size() - 1);
  std::filesystem::remove(description(1));
  ASSERT_EQ(::mkfifo(description(1).c_str(), 0600), 0);
  EXPECT_EQ(InstalledReleases().size(), all.size() - 2);
}

void SetOtherPhases(RunOptions* o) {
  o->phase_seconds = o->phase_rates = {3};
  o->phase_curves = {"1..5"};
  o->phase_popular = {2};
}

void SetOtherData(RunOptions* o) {
  o->data = {.rows = 5,
             .order = KeyOrder::kRandom,
             .key_size = 24,
             .value_size = 9,
             .compressibility = 0.25,
             .indexes = 2,
             .seed = 1ull << 63,
             .keys_file = "k",
             .fields = 3,
             .value_sizes = ValueSizes::kUniform,
             .least_value = 1,
             .most_value = 17};
}

// Returns options in which every setting that a run in a child reads differs from its default.
RunOptions OtherOptions() {
  RunOptions o;
  o.engine_name = "rocksdb";
  o.dir = "d";
  o.fresh = o.reuse = o.cache_auto = o.cache_most = o.strict = o.drop_caches = o.readahead_model =
      true;
  o.exclusive_device = o.quiet = o.at_once = true;
  o.ram_bytes = 1 << 30;
  o.cache_pct = 12.5;
  o.read_iops = o.databases = 3;
  o.workloads = {"mixed"};
  SetOtherPhases(&o);
  o.threads = {1, 2};
  o.operations = o.queue_depth = 9;
  o.seconds = o.warmup = 0.1;
  o.rate = 1.5;
  o.arrivals = Arrivals::kExponential;
  o.find_rate = "p99 < 5ms";
  o.verify_every = 5;
  o.consume = Consume::kNone;
  o.added_delay_ns = 4;
  o.account = AccountDepth::kFile;
  o.live.report_interval = 2;
  o.live.live = true;
  o.live.metrics.emplace();
  o.record_file = "a.trace";
  SetOtherData(&o);
  o.engine = {.create = false,
              .replace = true,
              .io = IoMode::kMmap,
              .file_advice = Advice::kRandom,
              .mmap_advice = Advice::kRandom,
              .page_size = 4096,
              .cache_bytes = 1,
              .most_cache_bytes = 2,
              .ram_bytes = 3,
              .durability = Durability::kSync,
              .lazy_interval_ms = 5,
              .compression = "zstd",
              .extra = {{"options", "a=b;c={d=1}"}}};
  o.workload = {.rows_per_transaction = 2,
                .distribution = Distribution::kZipfian,
                .zipf_theta = 0.5,
                .hot_fraction = 0.1,
                .hot_probability = 0.3,
                .hit_ratio = 0.75,
                .scan_rows = 3,
                .mix = {{"update", 2}},
                .extra = {{"x", "y"}},
                .seed = 9,
                .directory = "w"};
  return o;
}

TEST(ReleaseTest, EveryOptionThatIsSentArrives) {
  // The keys are read when the run is sent.
  const std::string keys = testing::TempDir() + "release_test_keys_" + std::to_string(::getpid());
  std::ofstream(keys) << "pear\n";
  RunOptions other = OtherOptions();
  other.data.keys_file = keys;
  const json line = SentRun(other, RunPlan());
  EXPECT_EQ(SentRun(ReadSentOptions(json::parse(line.dump())), RunPlan()), line);
  const json plain = SentRun(RunOptions(), RunPlan())["options"].flatten();
  const json tried = line["options"].flatten();
  for (const auto& [name, value] : tried.items()) {
    EXPECT_FALSE(plain.contains(name) && plain[name] == value) << name << " is not tried";
  }
  std::filesystem::remove(keys);
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The parent of a run reads its pipe to the end, which a program that the run has started, such as
// perf, would put off.
TEST(ReleaseTest, ProgramsThatAnExecutedRunStartsDoNotInheritItsPipes) {
  int in[2], out[2];
  ASSERT_EQ(::pipe(in), 0);
  ASSERT_EQ(::pipe(out), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // it has both ends of its pipe, which never ends
    ExecuteSentRun({kExecuteRun, std::to_string(in[0]), std::to_string(out[1])});
  }
  const std::string proc = "/proc/" + std::to_string(child);
  // The process takes its name just before it waits for its first line.
  while (TextOf(proc + "/comm") != "testbed\n") {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it has ended";
  }
  for (const int fd : {in[0], out[1]}) {
    const std::string about = TextOf(proc + "/fdinfo/" + std::to_string(fd));
    const size_t flags = about.find("flags:");
    ASSERT_NE(flags, std::string::npos) << about;
    EXPECT_NE(std::stoul(about.substr(flags + 6), nullptr, 8) & O_CLOEXEC, 0u) << about;
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  for (const int fd : {in[0], in[1], out[0], out[1]}) ::close(fd);
}

// The program may wait for a server, and the signal may reach its parent alone.
TEST(ReleaseTest, AStopIsPassedOnToTheProgramThatChecksTheOptions) {
  const EveryRelease installed;
  const EngineRelease release = InstalledReleases().front();
  const std::string began = release.program + ".began";
  std::filesystem::remove(release.program);
  std::ofstream(release.program) << "#!/bin/sh\n: > '" << began << "'\nexec sleep 1000000\n";
  std::filesystem::permissions(release.program, std::filesystem::perms::owner_all);
  const pid_t child = ::fork();
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    const SignalGuard signals;
    RunOptions options;
    options.engine_name = release.engine;
    options.release = release.release;
    try {
      CheckByRelease(options, "");
    } catch (const std::exception&) {
      ::_exit(1);
    }
    ::_exit(StopRequested() ? 0 : 2);
  }
  while (!std::filesystem::exists(began)) {
    ASSERT_EQ(::waitpid(child, nullptr, WNOHANG), 0) << "it has ended";
  }
  ::kill(child, SIGTERM);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(ReleaseTest, ARunThatIsNotWholeIsAnError) {
  json line = SentRun(RunOptions(), RunPlan());
  line["options"]["data"].erase("rows");
  EXPECT_THROW(ReadSentOptions(line), Error);
}

}  // namespace
}  // namespace testbed
