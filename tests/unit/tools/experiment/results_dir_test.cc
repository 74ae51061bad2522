// Tests that a results directory recognizes each file that an experiment writes there, and no
// other, and that reading it ends, whatever has taken the place of a file.
#include "tools/experiment/results_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "device/file/file.h"
#include "device/os/dir_lock.h"
#include "device/os/signal_guard.h"
#include "tests/unit/engines/failing_disk/failing_disk.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/cache/cache_rehearsal.h"
#include "tools/database/database_files.h"
#include "tools/experiment/cluster/claim.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/results.h"
#include "tools/experiment/results_files.h"
#include "tools/output/json_text.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using testing::HasSubstr;

const json kResults = {{"schema", "testbed-results/1"}, {"runs", json::array()}};

class ResultsDirTest : public testing::Test {
 protected:
  ResultsDirTest() {
    std::string pattern = testing::TempDir() + "results_dir_XXXXXX";
    path_ = ::mkdtemp(pattern.data());
    dir_.emplace(path_ + "/o");
    dir_->Create(Small(), {"full", {}, {}, {}});
    options_.engine_name = "btree";
    options_.threads = {1};
    options_.rehearsals_dir = path_ + "/o/rehearsals";
  }
  ~ResultsDirTest() override { fs::remove_all(path_); }

  std::string Place(const std::string& name) {
    const fs::path place = fs::path(path_) / "o" / name;
    fs::create_directories(place.parent_path());
    return place;
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(Place(name)) << text;
  }
  // Puts what is no regular file in the place of one.
  void Spoil(const std::string& name, bool pipe) {
    fs::remove(Place(name));
    if (pipe) {
      ASSERT_EQ(::mkfifo(Place(name).c_str(), 0600), 0);
    } else {
      fs::create_symlink("/dev/zero", Place(name));
    }
  }
  // Returns the path of the only file of a folder, relative to the results directory.
  std::string OnlyFileOf(const std::string& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(Place(folder))) {
      names.push_back(folder + "/" + entry.path().filename().string());
    }
    EXPECT_EQ(names.size(), 1u);
    return names.at(0);
  }
  void MakeDatabase(const std::string& name) {
    fs::create_directories(Place(name));
    WriteRecord(Place(name), {{"schema", kDatabaseSchema}, {"engine", "btree"}, {"loaded", true}});
  }
  // Returns the paths of everything but folders, relative to the results directory.
  std::vector<std::string> Files() const {
    std::vector<std::string> files;
    if (!fs::exists(path_ + "/o")) return files;
    for (const auto& entry : fs::recursive_directory_iterator(path_ + "/o")) {
      if (!entry.is_directory()) files.push_back(entry.path().lexically_relative(path_ + "/o"));
    }
    std::sort(files.begin(), files.end());
    return files;
  }

  std::string path_;
  std::optional<ResultsDir> dir_;
  RunOptions options_;
};

TEST_F(ResultsDirTest, WhatAnExperimentWritesIsRemoved) {
  for (const std::string& name : {std::string(), std::string("io=direct page-size=big"),
                                  std::string("a/\xff \xc3\xbc=1.5"), std::string(300, 'x')}) {
    Cell cell;
    cell.name = name;
    cell.round = name.empty() ? 1 : 1000;
    dir_->WriteCell(cell, kResults);
    fs::copy(dir_->CellFile(cell), dir_->CellFile(cell) + ".0123456789abcdef.new");
  }
  Cell failed;
  failed.name = "of a run that failed";
  const std::string failure = dir_->WriteFailure(failed, kResults);
  EXPECT_EQ(failure, Place(OnlyFileOf("failed")));
  for (const char* key :
       {"0123456789abcdef-1", "0123456789abcdef-1.2", "0123456789abcdef-1-01234567.10"}) {
    dir_->WriteLoad(key, kResults);
    MakeDatabase(std::string("databases/") + key);
    Write(std::string("claims/") + key, "");  // a killed process left it
    fs::copy(dir_->LoadFile(key), Place(std::string("claims/") + key + ".0123456789abcdef.json"));
  }
  Write("claims/header", "");
  Write("loads/0123456789abcdef-12.json.0123456789abcdef.new", "{\n \"");
  KeepRehearsals(options_, RehearsalsJson({{50, 1, 2, 3}}, 50));
  const std::string claim = "claims/" + CellKey(failed);
  for (const char* end : {".json", ".0123456789abcdef.json"}) {
    fs::copy(failure, Place(claim + end));
  }
  Write(claim + ".0123456789abcdef.json.0123456789abcdef.new", "{\n \"");
  Write("experiment.json.0123456789abcdef.new", "");
  MakeDatabase("databases/cell");
  // A run that was killed while it made a scratch device has left these files.
  fs::create_directory(Place(".testbed-scratch-0123456789abcdef"));
  Write(".testbed-scratch-0123456789abcdee.img", "");
  dir_.reset();  // gives the lock back
  ResultsDir(path_ + "/o").Remove();
  EXPECT_TRUE(fs::is_empty(path_ + "/o")) << testing::PrintToString(Files());
}

// A rename changes two directories, and either of them may have lost it after a power cut.
TEST_F(ResultsDirTest, AResultThatIsSetAsideHasADurableNameInBothFolders) {
  Cell cell;
  cell.name = "read again";
  dir_->WriteCell(cell, kResults);
  fs::create_directory(Place("set_aside"));
  FailingDisk disk(path_);
  disk.Fail({DiskCall::kSyncDirectory});  // fails none, and counts them
  dir_->SetAside(cell);
  EXPECT_EQ(disk.calls(), 2u);
  EXPECT_FALSE(dir_->HasCell(cell));
  EXPECT_TRUE(fs::exists(Place("set_aside/" + CellKey(cell) + ".1.json")));
}

TEST_F(ResultsDirTest, DatabasesThatNoProcessUsesHaveTheirRoom) {
  const fs::path databases = Place("databases");
  const auto add = [&](const std::string& name) {
    MakeDatabase(name);
    Write(name + "/db/btree.data", std::string(4096, 'x'));
    // The blocks of a file are counted, which some file systems allocate late.
    File::Open(Place(name + "/db/btree.data"), FileOptions())->Sync();
  };
  EXPECT_EQ(BytesOfDatabases(databases), 0u);
  add("databases/mine");
  EXPECT_EQ(BytesOfDatabases(databases), 0u) << "no experiment has made it";
  add("databases/0123456789abcdef-1");
  const uint64_t one = BytesOfDatabases(databases);
  EXPECT_GT(one, 0u);
  add("databases/cell");
  add("databases/testbed-n1-1/0123456789abcdef-2.2");
  EXPECT_EQ(BytesOfDatabases(databases), 3 * one);
  const DirLock used(databases / "testbed-n1-1", "--databases");
  EXPECT_EQ(BytesOfDatabases(databases), 2 * one);
}

// A task that a killed command has left on another host would write into results that are begun
// anew.
TEST_F(ResultsDirTest, WhatAProcessOnAnotherHostRunsIsLeftToIt) {
  dir_.reset();  // another host does not see the lock of the directory
  {
    const std::optional<Claim> claim = Claim::Try(Place("claims/round-1"));
    ASSERT_TRUE(claim.has_value());
    EXPECT_THAT(ErrorOf([this] { ResultsDir(path_ + "/o").Remove(); }), HasSubstr("runs round-1"));
    EXPECT_THAT(ErrorOf([this] { ResultsDir(path_ + "/o").Create(Small(), {"full", {}, {}, {}}); }),
                HasSubstr("runs round-1"));
  }
  EXPECT_TRUE(fs::exists(Place("experiment.json")));
  ResultsDir(path_ + "/o").Remove();
  EXPECT_TRUE(fs::is_empty(path_ + "/o")) << testing::PrintToString(Files());
}

// Once, processes of several hosts read and rewrote experiment.json in the same moment, and the
// choice of cells of one of them was lost.
TEST_F(ResultsDirTest, OneProcessAfterTheOtherChangesTheHeader) {
  dir_.reset();
  ResultsDir shared(path_ + "/o");
  PlanOptions options{"full", {}, {}, {}};
  options.only["io"] = {"direct"};
  shared.CreateShared(Small(), options);
  EXPECT_EQ(shared.ReadHeader()["only"].size(), 2u);
  const std::optional<Claim> other = Claim::Try(Place("claims/header"));
  ASSERT_TRUE(other.has_value());
  const SignalGuard signals;
  ::raise(SIGINT);  // otherwise it would wait
  options.only["io"] = {"buffered"};
  EXPECT_THROW(ResultsDir(path_ + "/o").CreateShared(Small(), options), Stopped);
  EXPECT_EQ(shared.ReadHeader()["only"].size(), 2u);
}

// Once, a host that had lost its claim on a load without knowing it replaced the document of that
// load, on which cells of another host had been measured.
TEST_F(ResultsDirTest, WhereResultsAreSharedTheFirstLoadOfAKeyCounts) {
  dir_.reset();
  ResultsDir shared(path_ + "/o");
  shared.CreateShared(Small(), {"full", {}, {}, {}});
  const std::string key = "0123456789abcdef-1";
  EXPECT_TRUE(shared.WriteLoad(key, kResults));
  json other = kResults;
  other["host"] = "n2";
  EXPECT_FALSE(shared.WriteLoad(key, other));
  EXPECT_EQ(shared.ReadLoad(key), kResults);
  EXPECT_TRUE(fs::is_empty(Place("claims")));
}

TEST_F(ResultsDirTest, ADirectoryWhoseCreationACrashEndedIsTaken) {
  const std::string header = path_ + "/o/experiment.json", left = header + ".0123456789abcdef.new";
  const auto create_anew = [this] {
    dir_.emplace(path_ + "/o");
    dir_->Create(Small(), {"full", {}, {}, {}});
  };
  fs::rename(header, left);
  Write("claims/header", "");
  EXPECT_NO_THROW(create_anew());
  EXPECT_EQ(Files(), std::vector<std::string>{"experiment.json"});
  fs::rename(header, left);
  Write("cells/notes.txt", "theirs");
  EXPECT_THAT(ErrorOf(create_anew), HasSubstr("is not empty and holds no experiment"));
  EXPECT_TRUE(fs::exists(left));
}

TEST_F(ResultsDirTest, WhatIsNoExperimentsStays) {
  const std::string results = JsonText(kResults);
  json cell = kResults;
  cell["cell"] = {{"name", "mine"}, {"round", 1}};
  json kept = {{"identity", "another"}, {"cache_rehearsal", json::object()}};
  for (const auto& [name, text] : std::map<std::string, std::string>{
           {"cells/mine-01234567.round-1.json", JsonText(cell)},
           {"cells/mine-01234567.round-01.json.0123456789abcdef.new", ""},
           {"cells/mine-01234567.round-1.json.new", JsonText(cell, 1)},
           {"experiment.json.new", "{\n \"text\": "},
           {"experiment.json.0123456789abcdef.new", "theirs"},
           {"cells/mine.json", results},
           {"loads/0123456789abcdef-01.json", results},
           {"loads/0123456789abcdef-1.02.json", results},
           {"loads/0123456789abcdef.json.bak", results},
           {"loads/0123456789ABCDEF-1.json", results},
           {"loads/mine.json", results},
           {"rehearsals/0123456789abcdef.json", JsonText(kept)},
           {"rehearsals/0123456789abcdef-1.json", JsonText(kept)},
           {".testbed-scratch-0123456789abcdef.img", "theirs"},
           {"notes.txt", "theirs"}}) {
    Write(name, text);
  }
  MakeDatabase("databases/mine");
  std::vector<std::string> before = Files();
  std::erase(before, "experiment.json");
  dir_.reset();
  ResultsDir(path_ + "/o").Remove();
  EXPECT_EQ(Files(), before);
}

TEST_F(ResultsDirTest, WhatIsNoRegularFileIsRefusedAndNotWaitedFor) {
  Cell cell = PlanCells(Small(), {"full", {}, {}, {}}).at(0);
  ASSERT_FALSE(cell.load_key.empty());
  for (const bool pipe : {true, false}) {
    Spoil("loads/" + cell.load_key + ".json", pipe);
    fs::remove(dir_->CellFile(cell));
    dir_->WriteCell(cell, kResults);
    EXPECT_THAT(ErrorOf([&] { dir_->ReadLoad(cell.load_key); }), HasSubstr("is no regular file"));
    EXPECT_THAT(ErrorOf([&] { ResultSet::Read(path_ + "/o"); }),
                HasSubstr(cell.load_key + ".json is no regular file"));
    Spoil(fs::path(dir_->CellFile(cell)).lexically_relative(path_ + "/o"), pipe);
    EXPECT_TRUE(dir_->HasCell(cell));
    EXPECT_THAT(ErrorOf([&] { dir_->ReadCell(cell); }), HasSubstr("is no regular file"));
    EXPECT_THAT(ErrorOf([&] { ResultSet::Read(path_ + "/o"); }),
                HasSubstr(dir_->CellFile(cell) + " is no regular file"));
  }
  for (const bool pipe : {true, false}) {
    Spoil("experiment.json", pipe);
    EXPECT_TRUE(dir_->Exists());
    const std::string refused = "o/experiment.json is no regular file";
    EXPECT_THAT(ErrorOf([&] { dir_->ReadHeader(); }), HasSubstr(refused));
    EXPECT_THAT(ErrorOf([&] { dir_->Create(Small(), {"full", {}, {}, {}}); }), HasSubstr(refused));
    EXPECT_THAT(ErrorOf([&] { dir_->Remove(); }), HasSubstr(refused));
  }
}

TEST_F(ResultsDirTest, ALoadIsNeededByTheFinishedCellsThatNameIt) {
  const std::string planned = "0123456789abcdef-1", second = planned + ".2";
  const auto needed = [&](const std::string& key) { return dir_->NeedsLoad(key, planned, 1); };
  Cell cell;
  cell.name = "a";
  EXPECT_FALSE(needed(planned));
  dir_->WriteCell(cell, kResults);
  EXPECT_FALSE(needed(planned)) << "the cell has a database of its own";
  cell.load_key = planned;
  dir_->WriteCell(cell, kResults);
  EXPECT_TRUE(needed(planned));
  EXPECT_FALSE(needed(second));
  EXPECT_FALSE(dir_->NeedsLoad(planned, planned, 2)) << "a round has loads of its own";
  EXPECT_EQ(LoadKeyOf(cell, dir_->ReadCell(cell)), planned);
  cell.load_key = second;
  dir_->WriteCell(cell, kResults);
  EXPECT_TRUE(needed(second));
  EXPECT_FALSE(needed(planned));
  EXPECT_EQ(LoadKeyOf(cell, dir_->ReadCell(cell)), second);
  json earlier = kResults;
  earlier["cell"] = {{"name", "a"}, {"round", 1}};
  std::ofstream(dir_->CellFile(cell)) << earlier;
  EXPECT_TRUE(needed(planned)) << "earlier versions named no load";
  EXPECT_FALSE(needed(second));
}

// A cell whose file a full disk or a copy has cut off counted as finished, and its figures were
// missing without a word.
TEST_F(ResultsDirTest, ADocumentThatIsCutOffIsNamed) {
  const Cell cell = PlanCells(Small(), {"full", {}, {}, {}}).at(0);
  const auto error_of_all = [this] { return ErrorOf([this] { ResultSet::Read(path_ + "/o"); }); };
  const auto relative = [this](const std::string& file) {
    return fs::path(file).lexically_relative(path_ + "/o").string();
  };
  const std::string again = " and run the experiment again";
  for (const std::string& text : {std::string(), std::string("{\n \"runs\": [\n"),
                                  std::string(100, '\0'), std::string("}")}) {
    Write(relative(dir_->FailureFile(cell)), text);
    EXPECT_THAT(error_of_all(), HasSubstr("are damaged: the file is empty, cut off or no JSON; "
                                          "remove " +
                                          dir_->FailureFile(cell)));
    dir_->WriteCell(cell, kResults);
    EXPECT_EQ(error_of_all(), "no error") << "it has removed the failure";
    Write("loads/" + cell.load_key + ".json", text);
    EXPECT_THAT(error_of_all(), HasSubstr("the results of load " + cell.load_key));
    EXPECT_THAT(error_of_all(), HasSubstr("remove " + dir_->LoadFile(cell.load_key)));
    fs::remove(dir_->LoadFile(cell.load_key));
    Write(relative(dir_->CellFile(cell)), text);
    EXPECT_TRUE(dir_->HasCell(cell));
    EXPECT_THAT(error_of_all(), HasSubstr("are damaged: the file is empty, cut off or no JSON; "
                                          "remove " +
                                          dir_->CellFile(cell) + again));
    fs::remove(dir_->CellFile(cell));
    EXPECT_EQ(error_of_all(), "no error");
  }
}

TEST_F(ResultsDirTest, ADamagedRehearsalIsNoneAndAnotherFileInItsPlaceIsRefused) {
  const json whole = RehearsalsJson({{50, 1, 2, 3}}, 50);
  KeepRehearsals(options_, whole);
  const std::string file = OnlyFileOf("rehearsals");
  ASSERT_EQ(KeptRehearsals(options_), whole);
  const auto with = [&](const char* pointer, const json& value) {
    json kept = {{"identity", RehearsalIdentity(options_)}, {"cache_rehearsal", whole}};
    kept[json::json_pointer(pointer)] = value;
    return JsonText(kept);
  };
  const json without = {{"identity", RehearsalIdentity(options_)}};
  for (const std::string& text :
       {std::string(), std::string("{"), std::string("[]"), JsonText(without),
        with("/cache_rehearsal", 5), with("/cache_rehearsal/chosen_pct", "half"),
        with("/cache_rehearsal/chosen_pct", 0), with("/cache_rehearsal/chosen_pct", -5),
        with("/cache_rehearsal/chosen_pct", 1e300), with("/cache_rehearsal/ended_pct", 5),
        with("/cache_rehearsal/rehearsals", json::object()),
        with("/cache_rehearsal/rehearsals/0", 5),
        with("/cache_rehearsal/rehearsals/0/own_mean", "much")}) {
    Write(file, text);
    EXPECT_TRUE(KeptRehearsals(options_).is_null()) << text;
  }
  for (const bool pipe : {true, false}) {
    Spoil(file, pipe);
    EXPECT_THAT(ErrorOf([&] { KeptRehearsals(options_); }),
                HasSubstr(file + " is no regular file; remove it"));
  }
}

// A name of an axis of plots is nothing that a cell was measured with.
TEST_F(ResultsDirTest, TheNumbersOfSeriesMayBeNamedLater) {
  Experiment named = Small();
  named.text.insert(named.text.find("title = "), "series = \"round\"\n");
  ASSERT_NE(named.text, Small().text);
  EXPECT_EQ(ErrorOf([&] { dir_->Create(named, {"full", {}, {}, {}}); }), "no error");
  named.text.insert(named.text.find("title = "), "about = \"other cells\"\n");
  EXPECT_THAT(ErrorOf([&] { dir_->Create(named, {"full", {}, {}, {}}); }),
              HasSubstr("another experiment"));
}

}  // namespace
}  // namespace testbed
