// Tests which users and directories can have a scratch device, and that the doctor says the same.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string>

#include "device/error.h"
#include "device/file/page_cache.h"
#include "device/machine/host.h"
#include "device/machine/scratch.h"
#include "tools/inspect/doctor.h"

namespace testbed {
namespace {

using testing::HasSubstr;

TEST(ScratchAvailableTest, RootThatMayNotMountIsToldWhatItLacks) {
  const std::string first = "         0          0 4294967295\n";
  const std::string all = "Name:\ttestbed\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffffffff\n";
  EXPECT_EQ(ScratchDevice::WhyNoRights(all, first), "");
  EXPECT_EQ(ScratchDevice::WhyNoRights(all, kUidMapOfFirst), "");
  const std::string no_sys_admin =
      "Name:\ttestbed\nCapPrm:\t000001ffffffffff\nCapEff:\t000001ffffdfffff\n";
  EXPECT_THAT(ScratchDevice::WhyNoRights(no_sys_admin, first),
              HasSubstr("--scratch needs the capability CAP_SYS_ADMIN"));
  for (const char* map : {"         0       1000          1\n", "0 100000 65536\n", ""}) {
    EXPECT_THAT(ScratchDevice::WhyNoRights(all, map),
                HasSubstr("this root is one of a user namespace alone"));
  }
}

// Direct IO, which kernels since 6.6 accept there, is no sign of a device.
TEST(ScratchAvailableTest, ADirectoryInMemoryIsRefusedAndTheDoctorSaysSo) {
  const std::string memory = "/dev/shm";
  if (!IsInMemory(memory)) GTEST_SKIP() << memory << " is on no tmpfs here";
  EXPECT_FALSE(IsInMemory("/proc"));
  EXPECT_FALSE(IsInMemory("/no/such/path"));
  std::string why;
  EXPECT_FALSE(ScratchDevice::Available(&why, memory));
  EXPECT_THAT(why, HasSubstr("a scratch device in " + std::filesystem::canonical(memory).string() +
                             " would be memory"));
  ScratchOptions options;
  options.directory = memory;
  options.bytes = ScratchDevice::MinimumBytes(options.file_system);
  try {
    ScratchDevice::Create(options);
    FAIL();
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_EQ(std::string(e.what()), why);
  }
  std::map<std::string, Check> checks;
  for (const Check& check : Doctor(memory)) checks[check.name] = check;
  EXPECT_EQ(checks["scratch"].state, Check::State::kMissing);
  EXPECT_EQ(checks["scratch"].found, why);
  EXPECT_EQ(checks["direct IO"].state, Check::State::kMissing);
  EXPECT_THAT(checks["account"].found, HasSubstr("grade C: "));
}

}  // namespace
}  // namespace testbed
