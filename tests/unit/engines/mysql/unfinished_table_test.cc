// Tests what is done about the files of a table that an older MariaDB was making when it was
// killed: those of no other table may be touched.
#ifdef TESTBED_HAVE_MYSQL
#include "engines/mysql/unfinished_table.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "device/error.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;
namespace unfinished_table = mysql::unfinished_table;

class UnfinishedTableTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_NE(::mkdtemp(directory_.data()), nullptr);
    fs::create_directories(directory_ + "/cluster/s");
    Write("db.opt", "");
    WriteTable("old");
  }
  void TearDown() override { fs::remove_all(directory_); }

  void Write(const std::string& name, const std::string& text) const {
    std::ofstream(directory_ + "/cluster/s/" + name, std::ios::binary) << text;
  }
  void WriteTable(const std::string& name) const {
    Write(name + ".frm", "definition");
    Write(name + ".ibd", std::string(65536, 'p'));
  }
  std::set<std::string> Files() const {
    std::set<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory_ + "/cluster/s")) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  bool HasNote() const { return fs::exists(directory_ + "/" + unfinished_table::kFile); }
  void Note() const { unfinished_table::Note(directory_, "s", "`s`.`what?\nelse`"); }
  void RemoveBrokenFiles() const { unfinished_table::RemoveBrokenFiles(directory_, "s"); }
  // Repairs on a server that knows the noted table, or does not, or is lost.
  std::vector<std::string> Repair(const Error* answer) const {
    std::vector<std::string> said;
    unfinished_table::Repair(directory_, "s", [&](const std::string& sql) {
      said.push_back(sql);
      if (answer != nullptr && sql.starts_with("SELECT")) throw Error(*answer);
    });
    return said;
  }

  const std::set<std::string> before_ = {"db.opt", "old.frm", "old.ibd"};
  const Error unknown_{Error::kCorruption, "doesn't exist in engine"};
  std::string directory_ = testing::TempDir() + "unfinished_table_XXXXXX";
};

TEST_F(UnfinishedTableTest, FilesThatNoServerOpensAreRemovedBeforeItStarts) {
  for (const std::string& rows : {std::string(), std::string(65536, '\0'), std::string("short")}) {
    Note();
    Write("new@003f.frm", "definition cut of");
    if (!rows.empty()) Write("new@003f.ibd", rows);
    RemoveBrokenFiles();
    EXPECT_EQ(Files(), before_);
    EXPECT_TRUE(Repair(nullptr).empty()) << "nothing is left to ask for";
    EXPECT_FALSE(HasNote());
  }
}

TEST_F(UnfinishedTableTest, FilesThatAreNoTableToTheServerAreRemovedByName) {
  Note();
  WriteTable("new");
  RemoveBrokenFiles();
  EXPECT_TRUE(Files().contains("new.ibd")) << "the server may know it";
  const std::vector<std::string> said = Repair(&unknown_);
  EXPECT_EQ(said, (std::vector<std::string>{"SELECT 1 FROM `s`.`what?\nelse` LIMIT 1",
                                            "DROP TABLE IF EXISTS `s`.`what?\nelse`"}));
  EXPECT_EQ(Files(), before_);
  EXPECT_FALSE(HasNote());
}

TEST_F(UnfinishedTableTest, ATableThatTheServerHasStays) {
  Note();
  WriteTable("new");
  RemoveBrokenFiles();
  EXPECT_EQ(Repair(nullptr).size(), 1u);
  EXPECT_TRUE(Files().contains("new.frm"));
  EXPECT_TRUE(Files().contains("new.ibd"));
  EXPECT_FALSE(HasNote());
}

// A power cut may bring a note back that was removed, after the table and others were made.
TEST_F(UnfinishedTableTest, ANoteThatCameBackRemovesNothing) {
  Note();
  WriteTable("new");
  WriteTable("newer");
  Write("newer.ibd", std::string(65536, '\0'));
  RemoveBrokenFiles();
  Repair(&unknown_);
  for (const char* name : {"new.frm", "new.ibd", "newer.frm", "newer.ibd"}) {
    EXPECT_TRUE(Files().contains(name)) << name;
  }
  EXPECT_FALSE(HasNote());
}

TEST_F(UnfinishedTableTest, WithoutANoteOrAServerNothingIsRemoved) {
  Write("new.frm", "x");
  RemoveBrokenFiles();
  EXPECT_TRUE(Repair(&unknown_).empty());
  EXPECT_TRUE(Files().contains("new.frm"));
  fs::remove(directory_ + "/cluster/s/new.frm");
  Note();
  WriteTable("new");
  const Error lost(Error::kIo, "the connection is lost", 5);
  EXPECT_THROW(Repair(&lost), Error);
  EXPECT_TRUE(Files().contains("new.ibd"));
  EXPECT_TRUE(HasNote());
  unfinished_table::Forget(directory_);
  unfinished_table::Forget(directory_);
  EXPECT_FALSE(HasNote());
}

}  // namespace
}  // namespace testbed
#endif
