// Tests what private servers have in common: a server ends with its owner, also when its start
// fails, and only a new database that is testbed's is removed.
#include "engines/sql/server_home.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "device/error.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// A server that tells its id, makes its socket's file, and sleeps.
class SleepingServer : public ServerHome {
 public:
  SleepingServer(const std::string& dir, bool is_new, bool fails)
      : ServerHome(dir, is_new, SIGTERM) {
    MayDiscard();
    fs::create_directories(cluster());
    std::ofstream(cluster() + "/socket");  // a killed server left it
    HoldCluster();
    ServerCommand command;
    command.words = {"/bin/sh", "-c", "echo $$; touch socket; exec sleep 600"};
    command.directory = cluster();
    command.output = log();
    Launch(command, "socket");
    while (!HasSocket("socket")) WaitAMoment();
    Messages() >> pid;
    if (fails) throw Failure(SaysFull("error number 28"), Error::kCorruption, "it fails");
  }
  bool IsHeld() const { return ::access((ShortCluster() + "/socket").c_str(), F_OK) == 0; }
  static inline pid_t pid = 0;
};

class ServerHomeTest : public testing::Test {
 protected:
  ServerHomeTest() {
    std::string pattern = testing::TempDir() + "server_home_XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
    SleepingServer::pid = 0;
  }
  ~ServerHomeTest() override { fs::remove_all(dir_); }
  static bool Runs() { return SleepingServer::pid > 0 && ::kill(SleepingServer::pid, 0) == 0; }
  std::string dir_;
};

TEST_F(ServerHomeTest, AServerEndsWithItsOwnerAndItsDatabaseStaysIfItIsKept) {
  std::ofstream(dir_ + "/server.log") << "0\n";  // an earlier start left it
  {
    SleepingServer server(dir_, true, false);
    EXPECT_TRUE(Runs());
    EXPECT_TRUE(server.IsHeld());
    server.Keep();
  }
  EXPECT_GT(SleepingServer::pid, 0);
  EXPECT_FALSE(Runs());
  EXPECT_TRUE(fs::exists(dir_ + "/cluster/socket"));
  { const SleepingServer again(dir_, false, false); }
  EXPECT_FALSE(Runs());
  EXPECT_TRUE(fs::exists(dir_ + "/cluster/socket")) << "the database was not new";
}

TEST_F(ServerHomeTest, AStartThatFailsLeavesNoServerAndNoNewDatabase) {
  try {
    const SleepingServer server(dir_, true, true);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kIo) << "the disk is full";
  }
  EXPECT_GT(SleepingServer::pid, 0);
  EXPECT_FALSE(Runs());
  EXPECT_FALSE(fs::exists(dir_ + "/cluster"));
  EXPECT_FALSE(fs::exists(dir_ + "/server.log"));
}

// The file may be somebody else's.
TEST_F(ServerHomeTest, AStartThatFailsLeavesWhatTheFileOfMessagesHad) {
  std::ofstream(dir_ + "/server.log") << "theirs\n";
  EXPECT_THROW(SleepingServer(dir_, true, true), Error);
  EXPECT_GT(SleepingServer::pid, 0);
  std::ifstream file(dir_ + "/server.log");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "theirs\n");
}

TEST_F(ServerHomeTest, FilesInThePlaceOfANewDatabaseStay) {
  fs::create_directory(dir_ + "/cluster");
  std::ofstream(dir_ + "/cluster/theirs") << "x";
  EXPECT_THROW(SleepingServer(dir_, true, false), Error);
  EXPECT_TRUE(fs::exists(dir_ + "/cluster/theirs"));
  EXPECT_EQ(SleepingServer::pid, 0);
}

}  // namespace
}  // namespace testbed
