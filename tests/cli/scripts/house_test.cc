// Tests that what lists parts of the tree lists all of them: the jobs of the nightly run, the
// picture of docs/architecture.md, the index of the documents, and the table of experiments; that
// the files whose changes the tests must notice are there; that the jobs can ask git about their
// tree; and that a release has one number wherever it is named.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/paths.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

using Words = std::set<std::string>;

std::string TextOf(const std::string& name) {
  std::ifstream in(fs::path(SourceDir()) / name);
  EXPECT_TRUE(in.good()) << name;
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

// Returns the words of a text, which have letters, digits and the characters of `more`.
Words WordsOf(std::string text, const std::string& more) {
  std::replace_if(
      text.begin(), text.end(),
      [&](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) == 0 &&
               more.find(c) == std::string::npos;
      },
      ' ');
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), std::istream_iterator<std::string>()};
}

// Returns the words of what the pattern's group matches, wherever it does.
Words Matched(const std::string& text, const std::string& pattern, const std::string& more) {
  Words all;
  const std::regex regex(pattern);
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) {
    all.merge(WordsOf((*at)[1], more));
  }
  return all;
}

// Returns the names of the experiments that come with testbed.
Words NamesOfExperiments() {
  Words names;
  for (const auto& entry : fs::directory_iterator(fs::path(SourceDir()) / "tools/experiments")) {
    if (entry.path().extension() == ".toml") names.insert(entry.path().stem().string());
  }
  return names;
}

class NightlyJobsTest : public testing::Test {
 protected:
  const std::string jobs_ = TextOf(".github/workflows/nightly.yml");
};

TEST_F(NightlyJobsTest, EachPartHasAJob) {
  Words parts = Matched(TextOf("tools/nightly.sh"), "\nparts=\\(([^)]*)\\)", "-");
  ASSERT_GT(parts.size(), 10u);
  // The jobs leave these parts out: their compilers are newer than those of the jobs' Debian.
  for (const char* part : {"pebble", "bf-tree"}) EXPECT_EQ(parts.erase(part), 1u) << part;
  EXPECT_EQ(Matched(jobs_, "part: (\\[[^\\]]*\\]|\"[^\"]*\"|[a-z-]+)", "-"), parts);
}

TEST_F(NightlyJobsTest, EachShippedExperimentHasAJob) {
  const Words experiments = NamesOfExperiments();
  ASSERT_GT(experiments.size(), 10u);
  EXPECT_EQ(Matched(jobs_, "experiments: \"([^\"]*)\"", "-"), experiments);
}

TEST_F(NightlyJobsTest, EachReleaseHasAJob) {
  Words releases;
  std::istringstream lines(TextOf("tools/setup/engine_releases"));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string engine, release;
    if (!line.starts_with('#') && words >> engine >> release) {
      releases.insert(engine + "@" + release);
    }
  }
  ASSERT_GT(releases.size(), 10u);
  EXPECT_EQ(Matched(jobs_, "releases: \"([^\"]*)\"", "@."), releases);
}

// Returns how often the text has the word.
int Count(const std::string& text, const std::string& word) {
  int count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

// Git refuses a tree of another owner, which a checkout in a container is.
TEST(WorkflowsTest, GitTrustsEachCheckout) {
  for (const char* file : {".github/workflows/ci.yml", ".github/workflows/nightly.yml"}) {
    const std::string jobs = TextOf(file);
    EXPECT_GT(Count(jobs, "uses: actions/checkout@"), 0) << file;
    EXPECT_EQ(Count(jobs, "uses: actions/checkout@"), Count(jobs, "--add safe.directory")) << file;
  }
}

// Once, no job had a browser, so that each skipped the tests of the page, and was green.
TEST(WorkflowsTest, TestsOfThePageAndOfOtherProgramsAreNotSkipped) {
  const std::string change = TextOf(".github/workflows/ci.yml");
  const std::string nightly = TextOf(".github/workflows/nightly.yml");
  for (const char* package : {"chromium", "python3-pandas", "python3-matplotlib"}) {
    EXPECT_GT(Count(change, package), 0) << package;
    EXPECT_GT(Count(nightly, package), 0) << package;
  }
  for (const char* package : {"prometheus", "libbenchmark-tools", "python3-scipy"}) {
    EXPECT_GT(Count(nightly, package), 0) << package;
  }
}

// Changes of a file that was renamed would be tried no more.
TEST(RoomsOfMutantsTest, FilesAndTheFoldersOfTheirTestsAreThere) {
  const std::string rooms = TextOf("tests/mutants/rooms.toml");
  const fs::path source = SourceDir();
  const Words files = Matched(rooms, "files = \\[([^\\]]*)\\]", "/_.");
  EXPECT_GT(files.size(), 20u);
  for (const std::string& file : files) EXPECT_TRUE(fs::is_regular_file(source / file)) << file;
  for (const std::string& folder : Matched(rooms, "unit = \\[([^\\]]*)\\]", "/_")) {
    EXPECT_TRUE(fs::is_directory(source / "tests/unit" / folder)) << folder;
  }
}

// A folder of files that are no code of the floor is no room of it.
TEST(ArchitectureTest, ThePictureHasEachRoomOfEachFloor) {
  const std::string page = TextOf("docs/architecture.md");
  for (const char* floor : {"device", "engines", "workloads", "tools"}) {
    Words rooms;
    for (const auto& entry : fs::directory_iterator(fs::path(SourceDir()) / floor)) {
      if (!entry.is_directory()) continue;
      const bool has_code = std::any_of(
          fs::recursive_directory_iterator(entry.path()), fs::recursive_directory_iterator(),
          [](const auto& file) { return file.path().extension() == ".cc"; });
      if (has_code) rooms.insert(entry.path().filename().string());
    }
    // Two folders beside the engines are no engines (tools/lint/floors.py).
    if (std::string(floor) == "engines") {
      for (const char* common : {"sql", "data_file"}) EXPECT_EQ(rooms.erase(common), 1u);
    }
    EXPECT_EQ(Matched(page, std::string("\n") + floor + "/ .*   +(.*)\n", "_"), rooms) << floor;
  }
}

TEST(DocumentsTest, TheIndexLinksEachPage) {
  const fs::path docs = fs::path(SourceDir()) / "docs";
  const std::string index = TextOf("docs/README.md");
  int pages = 0;
  for (const fs::path& folder : {docs, docs / "engines"}) {
    for (const auto& entry : fs::directory_iterator(folder)) {
      const std::string page = fs::relative(entry.path(), docs).string();
      if (entry.path().extension() != ".md" || page == "README.md") continue;
      ++pages;
      EXPECT_GT(Count(index, "(" + page + ")"), 0) << "docs/README.md does not link " << page;
    }
  }
  EXPECT_GT(pages, 20);
}

TEST(DocumentsTest, TheTableOfExperimentsHasEachThatIsShipped) {
  const std::string page = TextOf("docs/experiments.md");
  const size_t begin = page.find("\n| experiment | what it asks |");
  ASSERT_NE(begin, std::string::npos);
  const std::string table = page.substr(begin, page.find("\n\n", begin) - begin);
  EXPECT_EQ(Matched(table, "\n\\| (`[^|]*) \\|", "-"), NamesOfExperiments());
}

// A library of another version would be built, and called the version of the engine.
TEST(ReleasesTest, TheScriptBuildsTheBfTreeThatTheEngineNames) {
  const Words version =
      Matched(TextOf("engines/bf_tree/library.h"), "kVersion\\[\\] = \"([0-9.]+)\";", ".");
  EXPECT_EQ(version.size(), 1u);
  const std::string link = "\\(https://github\\.com/microsoft/bf-tree\\) ([0-9.]*[0-9])";
  EXPECT_EQ(Matched(TextOf("tools/setup/build_bf_tree.sh"), "\nversion=([0-9.]+)\n", "."), version);
  EXPECT_EQ(Matched(TextOf("engines/bf_tree/library/Cargo.lock"),
                    "\nname = \"bf-tree\"\nversion = \"([0-9.]+)\"", "."),
            version);
  EXPECT_EQ(Matched(TextOf("docs/engines/bf_tree.md"), link, "."), version);
  EXPECT_EQ(Matched(TextOf("THIRD_PARTY.md"), link, "."), version);
}

}  // namespace
}  // namespace testbed
