// Tests which directories InspectedDir refuses to a user who may not read all of them.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "device/error.h"
#include "tools/inspect/inspect_dir.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Returns the sentence with which a check refuses the directory; an empty string when it does not.
std::string RefusalOf(const std::string& dir) {
  try {
    const InspectedDir found(dir, "check", [](const EngineInfo& e) { return e.check != nullptr; });
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// The engine called the log damaged. A file that is not the engine's is not read.
TEST(InspectedDirTest, AFileThatThisUserMayNotReadIsNoDamage) {
  std::string dir = fs::current_path() / "inspected_dir_test_XXXXXX";
  ASSERT_NE(::mkdtemp(dir.data()), nullptr);
  const std::string segment = dir + "/db/btree.log/log-000001", notes = dir + "/db/notes";
  fs::create_directories(dir + "/db/btree.log");
  for (const std::string& file : {dir + "/db/btree.data", segment, notes}) {
    std::ofstream(file) << "bytes";
  }
  for (const char* part : {"", "/db", "/db/btree.log"}) {
    fs::permissions(dir + part, fs::perms(0755));
  }
  fs::permissions(dir + "/db/btree.data", fs::perms(0644));
  for (const std::string& file : {segment, notes}) fs::permissions(file, fs::perms::none);
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (::chdir(dir.c_str()) != 0 || (::geteuid() == 0 && ::setuid(kNobody) != 0)) ::_exit(2);
    const std::string refusal = RefusalOf("db");
    ::_exit(refusal.starts_with("db/btree.log/log-000001 cannot be read") ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  fs::permissions(segment, fs::perms(0644));
  EXPECT_EQ(RefusalOf(dir), "");
  fs::remove_all(dir);
}

}  // namespace
}  // namespace testbed
