// What a host is refused for before it runs a block.
#include "tools/experiment/cluster/host_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "device/os/sys_file.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/cluster/claim.h"

namespace testbed {
namespace {

using testing::HasSubstr;

// Looks at moments one after the other, and then at the last one again.
std::function<HostMoment()> Seen(std::vector<HostMoment> moments) {
  return [moments, at = size_t{0}]() mutable {
    const HostMoment& seen = moments[std::min(at, moments.size() - 1)];
    ++at;
    return seen;
  };
}

TEST(HostCheckTest, ABusyHostIsRefusedUnlessItComesToRest) {
  const HostMoment idle{.foreign_cpu = 0.01, .steal = 0.0};
  const HostMoment busy{.foreign_cpu = 0.4, .steal = 0.0};
  EXPECT_EQ(WhyBusy({}, Seen({idle}), 5), "");
  EXPECT_THAT(WhyBusy({}, Seen({busy}), 5), HasSubstr("loaded: other programs use 40 %"));
  EXPECT_EQ(WhyBusy({}, Seen({busy, busy, idle}), 5), "");
  EXPECT_THAT(WhyBusy({}, Seen({busy, busy, idle}), 2), HasSubstr("loaded"));
  EXPECT_EQ(WhyBusy({.load = false}, Seen({busy}), 5), "");
  EXPECT_EQ(WhyBusy({}, Seen({HostMoment{}}), 5), "");  // a /proc that tells nothing
}

// A host whose disk others read and write was fit as long as its processors were idle.
TEST(HostCheckTest, AHostWhoseDiskIsBusyIsRefused) {
  const HostMoment idle{.in_flight = 0.02}, busy{.in_flight = 0.5};
  EXPECT_EQ(WhyBusy({}, Seen({idle}), 5), "");
  EXPECT_THAT(WhyBusy({}, Seen({busy}), 5), HasSubstr("0.5 requests in flight at the disk"));
  EXPECT_EQ(WhyBusy({}, Seen({busy, idle}), 5), "");
  EXPECT_EQ(WhyBusy({.load = false}, Seen({busy}), 5), "");
}

TEST(HostCheckTest, AThrottledHostIsRefused) {
  EXPECT_THAT(WhyBusy({}, Seen({{.steal = 0.2}}), 1), HasSubstr("the hypervisor takes 20 %"));
  EXPECT_THAT(WhyBusy({}, Seen({{.throttled = 3}}), 1), HasSubstr("too hot"));
  EXPECT_THAT(WhyBusy({}, Seen({{.cap = {1'200'000, 3'600'000}}}), 1),
              HasSubstr("1200 of 3600 MHz"));
  EXPECT_EQ(WhyBusy({}, Seen({{.cap = {3'600'000, 3'600'000}}}), 1), "");
  EXPECT_EQ(WhyBusy({.throttle = false}, Seen({{.steal = 0.2, .throttled = 3}}), 1), "");
}

// Once, only the first processor was looked at.
TEST(HostCheckTest, TheProcessorThatIsCappedMostDecides) {
  std::string cpus = testing::TempDir() + "host_check_XXXXXX";
  ASSERT_NE(::mkdtemp(cpus.data()), nullptr);
  const auto set = [&](int cpu, int capped, int full) {
    const std::string at = cpus + "/cpu" + std::to_string(cpu) + "/cpufreq";
    std::filesystem::create_directories(at);
    std::ofstream(at + "/scaling_max_freq") << capped << '\n';
    std::ofstream(at + "/cpuinfo_max_freq") << full << '\n';
  };
  EXPECT_EQ(LowestCap(cpus, 4).full_khz, 0u) << "a kernel that tells nothing";
  set(0, 5'000'000, 5'000'000);
  set(2, 3'000'000, 3'000'000);  // a slower kind of processor, which has its full frequency
  FrequencyCap cap = LowestCap(cpus, 4);
  EXPECT_EQ(cap.capped_khz, cap.full_khz);
  set(3, 4'000'000, 5'000'000);
  cap = LowestCap(cpus, 4);
  EXPECT_EQ(cap.capped_khz, 4'000'000u);
  EXPECT_EQ(cap.full_khz, 5'000'000u);
  EXPECT_EQ(LowestCap(cpus, 3).capped_khz, LowestCap(cpus, 3).full_khz);
  std::filesystem::remove_all(cpus);
}

TEST(HostCheckTest, AHostOfAnotherKindIsRefused) {
  HostFacts host;
  host.cpu_model = "Fast 1";
  host.cpus = host.cpus_online = 8;
  host.memory_bytes = (uint64_t{64} << 30) - (400 << 20);
  host.kernel = "6.1.0";
  host.file_system = "xfs";
  HostFacts other = host;
  other.memory_bytes -= 100 << 20;  // firmware keeps a little more
  EXPECT_EQ(WhyAnotherKind(KindOf(other), KindOf(host), "n1"), "");
  other.cpu_model = "Slow 1";
  EXPECT_THAT(
      WhyAnotherKind(KindOf(other), KindOf(host), "n1"),
      HasSubstr("another kind than n1, which ran the first block: its processor is Slow 1, not "
                "Fast 1"));
  other = host;
  other.memory_bytes /= 2;
  EXPECT_THAT(WhyAnotherKind(KindOf(other), KindOf(host), "n1"), HasSubstr("memory is 32 GiB"));
  other = host;
  other.file_system = "ext4";
  EXPECT_THAT(WhyAnotherKind(KindOf(other), KindOf(host), "n1"), HasSubstr("file system is ext4"));
}

// A host with a hard disk was of the kind of one with flash, if their processors were equal.
TEST(HostCheckTest, AHostWithAnotherDiskIsRefused) {
  using Queue = std::vector<std::pair<std::string, std::string>>;
  const auto first = KindOfDisks({"Fast 980"}, Queue{{"scheduler", "none"}, {"rotational", "0"}});
  const auto why = [&](const std::vector<std::string>& models, const Queue& queue) {
    return WhyAnotherKind(KindOfDisks(models, queue), first, "n1");
  };
  // Runs set the readahead themselves.
  EXPECT_EQ(why({"Fast 980", "Fast 980"},
                {{"read_ahead_kb", "4096"}, {"rotational", "0"}, {"scheduler", "none"}}),
            "");
  EXPECT_THAT(why({"Slow 10"}, {{"scheduler", "none"}, {"rotational", "0"}}),
              HasSubstr("its disk is Slow 10, not Fast 980"));
  EXPECT_THAT(why({"Fast 980"}, {{"scheduler", "none"}, {"rotational", "1"}}),
              HasSubstr("its disk's rotational is 1, not 0"));
  EXPECT_THAT(why({"Fast 980"}, {{"scheduler", "bfq"}, {"rotational", "0"}}),
              HasSubstr("its disk's scheduler is bfq, not none"));
  EXPECT_THAT(why({""}, {{"scheduler", "none"}, {"rotational", "0"}}),
              HasSubstr("its disk is unknown, not Fast 980"));
}

TEST(HostCheckTest, TheFirstHostTellsTheDiskUnderItsDatabases) {
  std::string out = testing::TempDir() + "host_check_XXXXXX";
  ASSERT_NE(::mkdtemp(out.data()), nullptr);
  EXPECT_EQ(WhyRefused(out, out, {.load = false, .throttle = false, .kind = true}), "");
  const auto first =
      nlohmann::json::parse(ReadSmallFile(out + "/hosts/first.json").value_or("null"));
  if (const std::optional<BlockDevice> device = BlockDevice::Find(out)) {
    for (const auto& [name, value] : device->QueueSettings()) {
      if (name == "read_ahead_kb") continue;
      EXPECT_EQ(first.at("kind").value("disk's " + name, ""), value) << name;
    }
  }
  std::filesystem::remove_all(out);
}

// The command looks every few seconds, and the next task of an array starts at once. Where that one
// found the host at rest, the refusal was lost, and the block before was started nowhere else.
TEST(HostCheckTest, ARefusalIsKnownUntilItIsForgotten) {
  std::string out = testing::TempDir() + "host_check_XXXXXX";
  ASSERT_NE(::mkdtemp(out.data()), nullptr);
  const HostChecks of_kind{.load = false, .throttle = false, .kind = true};
  EXPECT_EQ(WhyRefused(out, out, of_kind), "");
  EXPECT_TRUE(RefusedHosts(out).empty());
  const std::string first = out + "/hosts/first.json";
  const std::string own = ReadSmallFile(first).value_or("");
  std::ofstream(first) << R"({"schema": "testbed-host/1", "host": "n0", "kind": {"kernel": "2"}})";
  EXPECT_THAT(WhyRefused(out, out, of_kind), HasSubstr("another kind than n0"));
  std::ofstream(first) << own;
  EXPECT_EQ(WhyRefused(out, out, of_kind), "");
  ASSERT_EQ(RefusedHosts(out).count(NodeName()), 1u);
  EXPECT_THAT(RefusedHosts(out).at(NodeName()), HasSubstr("another kind than n0"));
  ForgetRefusals(out);
  EXPECT_TRUE(RefusedHosts(out).empty());
  std::filesystem::remove_all(out);
}

// Once, the file of a host called "first" was also that of the first host, so that this host
// decided its own kind.
TEST(HostCheckTest, AHostCalledFirstIsNotTheOneThatDecidesTheKind) {
  std::string out = testing::TempDir() + "host_check_XXXXXX";
  ASSERT_NE(::mkdtemp(out.data()), nullptr);
  std::filesystem::create_directory(out + "/hosts");
  const std::string first =
      R"({"schema": "testbed-host/1", "host": "n0", "kind": {"kernel": "2"}})";
  std::ofstream(out + "/hosts/first.json") << first;
  ::setenv("SLURMD_NODENAME", "first", 1);
  EXPECT_THAT(WhyRefused(out, out, {.load = false, .throttle = false, .kind = true}),
              HasSubstr("another kind than n0"));
  ::unsetenv("SLURMD_NODENAME");
  EXPECT_EQ(ReadSmallFile(out + "/hosts/first.json").value_or(""), first);
  EXPECT_EQ(RefusedHosts(out).count("first"), 1u);
  ForgetRefusals(out);
  EXPECT_TRUE(RefusedHosts(out).empty());
  EXPECT_EQ(ReadSmallFile(out + "/hosts/first.json").value_or(""), first);
  std::filesystem::remove_all(out);
}

// A host that died in its first cell had all hosts of another kind refused for ever.
TEST(HostCheckTest, AFirstHostThatFinishedNothingIsForgotten) {
  std::string out = testing::TempDir() + "host_check_XXXXXX";
  ASSERT_NE(::mkdtemp(out.data()), nullptr);
  for (const char* part : {"/hosts", "/cells", "/claims"}) {
    std::filesystem::create_directory(out + part);
  }
  const std::string first = out + "/hosts/first.json";
  std::ofstream(first) << R"({"schema": "testbed-host/1", "host": "n0", "kind": {"kernel": "2"}})";
  const HostChecks of_kind{.load = false, .throttle = false, .kind = true};
  EXPECT_THAT(WhyRefused(out, out, of_kind), HasSubstr("another kind than n0"));
  {
    const std::optional<Claim> claim = Claim::Try(out + "/claims/round-1");
    ASSERT_TRUE(claim.has_value());
    ForgetFirst(out);
    EXPECT_TRUE(std::filesystem::exists(first)) << "it runs a block";
  }
  std::ofstream(out + "/cells/one.json") << "{}";
  ForgetFirst(out);
  EXPECT_TRUE(std::filesystem::exists(first)) << "it has finished a cell";
  std::filesystem::remove(out + "/cells/one.json");
  ForgetFirst(out);
  EXPECT_FALSE(std::filesystem::exists(first));
  EXPECT_EQ(WhyRefused(out, out, of_kind), "");
  EXPECT_TRUE(std::filesystem::exists(first)) << "this host is the first now";
  ForgetFirst(out + "/none");  // results that nobody has begun
  std::filesystem::remove_all(out);
}

TEST(HostCheckTest, ListsOfChecks) {
  EXPECT_TRUE(ParseHostChecks("load,kind").kind);
  EXPECT_FALSE(ParseHostChecks("load,kind").throttle);
  EXPECT_FALSE(ParseHostChecks("none").load);
  EXPECT_THAT(ErrorOf([] { (void)ParseHostChecks("load,moon"); }),
              HasSubstr("load, throttle and kind"));
}

}  // namespace
}  // namespace testbed
