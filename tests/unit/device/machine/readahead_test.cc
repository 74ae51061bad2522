#include "device/machine/readahead.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <stdexcept>

#include "device/error.h"
#include "device/os/signal_guard.h"
#include "device/os/sys_file.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// The tests use plain files in place of /sys/block and /run.
class ReadaheadTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = fs::current_path() / "readahead_test_XXXXXX";
    directory_ = mkdtemp(pattern.data());
    places_.sys_block = directory_ + "/block";
    places_.boot_id = directory_ + "/boot_id";
    places_.state_directories = {directory_ + "/run", directory_ + "/var"};
    fs::create_directories(places_.sys_block + "/disk/queue");
    Write(Knob(), "2560\n");
    Write(places_.sys_block + "/disk/diskseq", "7\n");
    Write(places_.boot_id, "boot-one\n");
  }
  void TearDown() override { fs::remove_all(directory_); }

  static void Write(const std::string& path, const std::string& text) {
    std::ofstream(path) << text;
  }
  std::string Knob() const { return places_.sys_block + "/disk/queue/read_ahead_kb"; }
  uint64_t Kb() const { return ReadNumber(Knob()).value_or(9999); }
  bool NoteLeft() const {
    return fs::exists(directory_ + "/run/readahead-disk") ||
           fs::exists(directory_ + "/var/readahead-disk");
  }
  // Sets the readahead to 16 KiB in a child process, which then calls `end`.
  void InChild(const std::function<void()>& end) {
    const pid_t child = fork();
    if (child == 0) {
      const rlimit no_core = {0, 0};
      setrlimit(RLIMIT_CORE, &no_core);
      if (freopen("/dev/null", "w", stderr) == nullptr) _exit(1);
      const SignalGuard signals;
      const ReadaheadGuard guard("disk", 16, places_);
      if (Kb() != 16) _exit(1);
      end();
      _exit(2);
    }
    waitpid(child, nullptr, 0);
  }

  std::string directory_;
  ReadaheadPlaces places_;
};

TEST_F(ReadaheadTest, SetsAndPutsBack) {
  {
    const ReadaheadGuard guard("disk", 4, places_);
    EXPECT_EQ(Kb(), 4u);
    EXPECT_EQ(guard.previous_kb(), 2560u);
    EXPECT_TRUE(NoteLeft());
  }
  EXPECT_EQ(Kb(), 2560u);
  EXPECT_FALSE(NoteLeft());
  try {
    const ReadaheadGuard guard("disk", 0, places_);
    EXPECT_EQ(Kb(), 0u);
    throw std::runtime_error("a run that fails");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(Kb(), 2560u);
  EXPECT_FALSE(NoteLeft());
  EXPECT_TRUE(ReadaheadGuard::RestoreStale(places_).empty());
}

TEST_F(ReadaheadTest, SignalsAndExitPutBack) {
  for (const auto& end :
       std::vector<std::function<void()>>{[] { raise(SIGSEGV); }, [] { abort(); }, [] { exit(1); },
                                          [] {
                                            raise(SIGINT);
                                            usleep(300'000);
                                            raise(SIGINT);
                                          }}) {
    Write(Knob(), "2560\n");
    InChild(end);
    EXPECT_EQ(Kb(), 2560u);
    EXPECT_FALSE(NoteLeft());
  }
}

TEST_F(ReadaheadTest, AfterSigkillTheNextRunPutsBack) {
  InChild([] { kill(getpid(), SIGKILL); });
  EXPECT_EQ(Kb(), 16u);
  const auto sentences = ReadaheadGuard::RestoreStale(places_);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_EQ(sentences[0],
            "put the readahead of disk back from 16 to 2560 KiB, set by a killed run");
  EXPECT_EQ(Kb(), 2560u);
  EXPECT_FALSE(NoteLeft());
}

TEST_F(ReadaheadTest, ANewGuardStartsFromWhatWasBeforeTheKilledOne) {
  InChild([] { kill(getpid(), SIGKILL); });
  {
    const ReadaheadGuard guard("disk", 64, places_);
    EXPECT_EQ(guard.previous_kb(), 2560u);
    EXPECT_EQ(Kb(), 64u);
  }
  EXPECT_EQ(Kb(), 2560u);
}

TEST_F(ReadaheadTest, WhatIsNoLongerOursIsLeftAlone) {
  InChild([] { kill(getpid(), SIGKILL); });
  Write(Knob(), "512\n");
  auto sentences = ReadaheadGuard::RestoreStale(places_);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences[0].find("changed to 512 KiB since"), std::string::npos) << sentences[0];
  EXPECT_EQ(Kb(), 512u);
  EXPECT_FALSE(NoteLeft());

  InChild([] { kill(getpid(), SIGKILL); });
  Write(places_.sys_block + "/disk/diskseq", "8\n");
  sentences = ReadaheadGuard::RestoreStale(places_);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences[0].find("detached"), std::string::npos) << sentences[0];
  EXPECT_EQ(Kb(), 16u);

  InChild([] { kill(getpid(), SIGKILL); });
  Write(places_.boot_id, "boot-two\n");
  sentences = ReadaheadGuard::RestoreStale(places_);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_NE(sentences[0].find("restarted"), std::string::npos) << sentences[0];
  EXPECT_FALSE(NoteLeft());

  InChild([] { kill(getpid(), SIGKILL); });
  fs::remove_all(places_.sys_block + "/disk");
  sentences = ReadaheadGuard::RestoreStale(places_);
  ASSERT_EQ(sentences.size(), 1u);
  EXPECT_FALSE(NoteLeft());
}

TEST_F(ReadaheadTest, ADeviceHasOneGuardAtATime) {
  const ReadaheadGuard guard("disk", 16, places_);
  EXPECT_TRUE(ReadaheadGuard::RestoreStale(places_).empty()) << "its owner lives";
  try {
    const ReadaheadGuard second("disk", 64, places_);
    FAIL() << "two guards on one device";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    EXPECT_NE(std::string(e.what()).find(std::to_string(getpid())), std::string::npos) << e.what();
  }
  EXPECT_EQ(Kb(), 16u);
}

// The lock decides whether a note's guard lives. A guard in another process namespace has a process
// number that no process has here.
TEST_F(ReadaheadTest, ALockedNoteIsOfALivingGuardWhateverItsNumber) {
  InChild([] { kill(getpid(), SIGKILL); });
  const int held = open((directory_ + "/run/readahead-disk").c_str(), O_RDONLY);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  EXPECT_TRUE(ReadaheadGuard::RestoreStale(places_).empty());
  EXPECT_THROW(ReadaheadGuard("disk", 64, places_), Error);
  EXPECT_EQ(Kb(), 16u);
  EXPECT_TRUE(NoteLeft());
  close(held);
  EXPECT_EQ(ReadaheadGuard::RestoreStale(places_).size(), 1u);
  EXPECT_EQ(Kb(), 2560u);
}

// A note decides what root writes to /sys.
TEST_F(ReadaheadTest, ANoteOfAnotherUserIsNotBelieved) {
  if (geteuid() != 0) GTEST_SKIP() << "only root can give a file to another user";
  InChild([] { kill(getpid(), SIGKILL); });
  const std::string note = directory_ + "/run/readahead-disk";
  ASSERT_EQ(chown(note.c_str(), 65534, 65534), 0);
  EXPECT_TRUE(ReadaheadGuard::RestoreStale(places_).empty());
  EXPECT_EQ(Kb(), 16u);
  EXPECT_TRUE(NoteLeft());
  ASSERT_EQ(chown(note.c_str(), 0, 0), 0);
  EXPECT_EQ(ReadaheadGuard::RestoreStale(places_).size(), 1u);
  EXPECT_EQ(Kb(), 2560u);
}

TEST_F(ReadaheadTest, ADirectoryThatOthersMayWriteToKeepsNoNote) {
  fs::create_directories(directory_ + "/run");
  fs::permissions(directory_ + "/run", fs::perms::all);
  {
    const ReadaheadGuard guard("disk", 16, places_);
    EXPECT_TRUE(fs::exists(directory_ + "/var/readahead-disk"));
  }
  fs::permissions(directory_ + "/var", fs::perms::all);
  EXPECT_THROW(ReadaheadGuard("disk", 16, places_), Error);
  EXPECT_EQ(Kb(), 2560u);
}

TEST_F(ReadaheadTest, TellsWhenSomeoneChangedItDuringTheRun) {
  ReadaheadGuard guard("disk", 16, places_);
  Write(Knob(), "128\n");
  EXPECT_NE(guard.Restore().find("changed to 128 KiB by someone"), std::string::npos);
  EXPECT_EQ(Kb(), 2560u);
  EXPECT_EQ(guard.Restore(), "");
}

TEST_F(ReadaheadTest, ADeviceDetachedDuringTheRunIsLeftAlone) {
  ReadaheadGuard guard("disk", 16, places_);
  Write(places_.sys_block + "/disk/diskseq", "8\n");
  Write(Knob(), "1280\n");
  EXPECT_EQ(guard.Restore(), "");
  EXPECT_EQ(Kb(), 1280u);
  EXPECT_FALSE(NoteLeft());
}

TEST_F(ReadaheadTest, KeepsItsNoteInTheFirstPlaceThatCanBeWritten) {
  Write(directory_ + "/file", "");
  places_.state_directories[0] = directory_ + "/file/run";  // not even root can make this directory
  {
    const ReadaheadGuard guard("disk", 16, places_);
    EXPECT_TRUE(fs::exists(directory_ + "/var/readahead-disk"));
  }
  places_.state_directories = {directory_ + "/file/run"};
  EXPECT_THROW(ReadaheadGuard("disk", 16, places_), Error);
  EXPECT_EQ(Kb(), 2560u);
}

TEST_F(ReadaheadTest, AnUnfinishedNoteMeansThatNothingWasSet) {
  fs::create_directories(directory_ + "/run");
  const std::string note = directory_ + "/run/readahead-disk";
  Write(note, "boot boot-one\ndiskseq 7\npid 1\nsta");
  EXPECT_TRUE(ReadaheadGuard::RestoreStale(places_).empty());
  EXPECT_TRUE(fs::exists(note)) << "its writer may be at work";
  EXPECT_THROW(ReadaheadGuard("disk", 16, places_), Error);
  fs::last_write_time(note, fs::last_write_time(note) - std::chrono::minutes(1));
  EXPECT_TRUE(ReadaheadGuard::RestoreStale(places_).empty());
  EXPECT_FALSE(fs::exists(note));
  EXPECT_EQ(Kb(), 2560u);
}

TEST_F(ReadaheadTest, BadValuesAndDevicesAreErrors) {
  EXPECT_THROW(ReadaheadGuard("disk", 6, places_), Error);
  EXPECT_THROW(ReadaheadGuard("disk", uint64_t{1} << 40, places_), Error);
  EXPECT_THROW(ReadaheadGuard("none", 16, places_), Error);
  EXPECT_THROW(ReadaheadGuard::Under("/proc", 16, places_), Error);
  EXPECT_EQ(Kb(), 2560u);
  EXPECT_FALSE(NoteLeft());
}

}  // namespace
}  // namespace testbed
