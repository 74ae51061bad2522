// Tests `testbed compare` on two directories of a sweep, one with other figures.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "tests/cli/command.h"

namespace testbed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

class CompareDirectoriesTest : public CommandTest {
 protected:
  // Runs a sweep of two cells in three rounds into "a", whose rates become 1000, 1010 and 990, of
  // loads too, and copies it to "b", in which the rates of the 4k cell are a tenth lower.
  void Sweep() {
    const CommandResult result =
        Run("--engine btree --page-size 4k,8k --ram 64M --rows 500 --operations 100 --threads 1 "
            "--warmup 0 --account file --rounds 3 --out a --quiet");
    ASSERT_EQ(result.code, 0) << result.err;
    const auto set = [](json& document, json& phase) {
      const size_t round = document["options"]["seed"].get<size_t>() % 3;
      phase["rate"] = std::vector<double>{1000, 1010, 990}.at(round);
    };
    Change("a/cells", set);
    Change("a/loads", set);
    fs::copy(directory_ / "a", directory_ / "b", fs::copy_options::recursive);
    Change("b/cells", [](json& document, json& phase) {
      if (document["cell"]["labels"]["page-size"] != "4k") return;
      phase["rate"] = phase["rate"].get<double>() * 0.9;
    });
  }
  // Changes the phases that have a rate, of all documents in the folder.
  void Change(const std::string& folder, const std::function<void(json&, json&)>& change) {
    for (const auto& file : fs::directory_iterator(directory_ / folder)) {
      json document = json::parse(Read(file.path()));
      for (json& run : document["runs"]) {
        for (json& phase : run["phases"]) {
          if (phase.contains("rate")) change(document, phase);
        }
      }
      std::ofstream(file.path()) << document;
    }
  }
};

TEST_F(CompareDirectoriesTest, TheCellThatGotSlowerIsToldAndNoOther) {
  Sweep();
  const CommandResult slower =
      Run("compare a b --metric rate --fail-if 'rate < -3%' --json c.json");
  EXPECT_EQ(slower.code, 1) << slower.out << slower.err;
  EXPECT_EQ(slower.out.find("differs"), std::string::npos) << slower.out;
  EXPECT_NE(slower.out.find("page-size=4k: point-read, 1 thr: the second is slower by 10 % ("),
            std::string::npos)
      << slower.out;
  EXPECT_NE(slower.out.find("rate < -3 %: holds in page-size=4k: point-read, 1 thr\n"),
            std::string::npos)
      << slower.out;
  const json document = Json("c.json");
  EXPECT_EQ(document["schema"], "testbed-compare/1");
  EXPECT_EQ(document["exit_code"], 1);
  size_t told = 0;
  for (const json& answer : document["answers"]) {
    told += answer["answer"] == "slower" || answer["answer"] == "faster";
    if (answer["answer"] != "slower") continue;
    EXPECT_EQ(answer["cell"], "page-size=4k: point-read, 1 thr");
  }
  EXPECT_EQ(told, 1u) << document;
  EXPECT_EQ(document["answers"].size(), 4u) << "two cells, and the load of each";
  EXPECT_EQ(Run("compare a b --fail-if 'rate < -50%'").code, 0);
  EXPECT_EQ(Run("compare a b --fail-if 'rate < -10%'").code, 3);
  const std::string csv = Run("compare a b --metric rate --csv").out;
  EXPECT_EQ(csv.find("cell,metric,first,second,"), 0u) << csv;
  EXPECT_NE(csv.find("\n\"page-size=4k: point-read, 1 thr\",rate,"), std::string::npos) << csv;
}

TEST_F(CompareDirectoriesTest, ADirectoryAgainstItselfTellsNothing) {
  Sweep();
  const CommandResult same = Run("compare a a --metric all --fail-if 'rate < -50%' --json c.json");
  EXPECT_EQ(same.code, 0) << same.out << same.err;
  const json document = Json("c.json");
  EXPECT_GT(document["answers"].size(), 20u);
  for (const json& answer : document["answers"]) {
    EXPECT_TRUE(answer["answer"] == "same" || answer["answer"] == "cannot be told") << answer;
  }
  EXPECT_EQ(document["differences"], json::array());
  fs::remove_all(directory_ / "b");
  fs::copy(directory_ / "a", directory_ / "b", fs::copy_options::recursive);
  for (const auto& file : fs::directory_iterator(directory_ / "b/cells")) {
    if (file.path().string().find("8k") != std::string::npos) fs::remove(file);
  }
  const CommandResult fewer = Run("compare a b");
  EXPECT_NE(fewer.out.find("only in the first: page-size=8k\n"), std::string::npos) << fewer.out;
}

TEST_F(CompareDirectoriesTest, WhatCannotBeComparedGetsOneSentence) {
  Sweep();
  fs::create_directory(directory_ / "empty");
  ExpectRefused(Run("compare a empty"), "empty holds no results of an experiment");
  ExpectRefused(Run("compare a b --ignore io"),
                "--ignore io names no axis of a or b; their axes are page-size");
  ExpectRefused(Run("compare a b --ignore ''"), "--ignore");
  ExpectRefused(Run("compare a nothing"), "nothing cannot be read");
  const fs::path cell = fs::directory_iterator(directory_ / "b/cells")->path();
  const std::string name = "b/cells/" + cell.filename().string();
  ExpectRefused(Run("compare a " + name),
                "a is a directory and " + name + " is not; give two files");
  ExpectRefused(Run("compare " + name + " " + name + " --ignore page-size"),
                "--ignore belongs to two directories");
  ExpectRefused(Run("compare a b --json " + name), "--json " + name);
  fs::resize_file(cell, 100);
  ExpectRefused(Run("compare a b"), name + " is not a results file of this version: it is cut off");
  std::ofstream(directory_ / "empty/experiment.json") << "{}";
  ExpectRefused(Run("compare empty a"), "empty holds no results of an experiment");
}

}  // namespace
}  // namespace testbed
