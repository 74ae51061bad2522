#include "device/machine/resident_code.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>

#include "device/machine/memory_budget.h"

namespace testbed {
namespace {

TEST(ResidentCodeTest, TheCodeOfTheProgramAndItsLibrariesIsMapped) {
  const uint64_t code = ReadOwnCode();
  EXPECT_GT(code, 1u << 20);
  const std::optional<ProcessMemory> memory = ReadProcessMemory(::getpid());
  ASSERT_TRUE(memory.has_value());
  EXPECT_GE(memory->rss, code);
}

TEST(ResidentCodeTest, AProgramThatIsNotThereIsNoError) {
  ReadProgramFile("/there/is/no/such/program");
  ReadProgramFile("");
}

}  // namespace
}  // namespace testbed
