// Runs each fuzz target (tests/fuzz/fuzz_target.h) on its seeds, and for a moment on changed seeds
// and on random bytes. TESTBED_FUZZ_SECONDS sets the time of each target (default 1),
// TESTBED_FUZZ_SEED the seed of the random numbers (default 1).
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "engines/btree/page/node.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/paths.h"

namespace testbed {
namespace {

constexpr size_t kLongest = 4096;

double Setting(const char* name, double otherwise) {
  const char* set = ::getenv(name);
  return set != nullptr ? std::atof(set) : otherwise;
}

std::string CorpusOf(const std::string& target) {
  return SourceDir() + "/tests/fuzz/corpus/" + target;
}

// Returns the seeds of a target by name.
std::vector<std::string> Seeds(const std::string& target) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(CorpusOf(target))) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> seeds;
  for (const auto& path : paths) {
    std::ifstream in(path, std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  return seeds;
}

// Makes inputs from seeds, as libFuzzer's mutators do.
class Mutator {
 public:
  explicit Mutator(std::vector<std::string> seeds) : seeds_(std::move(seeds)) {}

  std::string Next() {
    if (seeds_.empty() || random_() % 8 == 0) return RandomBytes(kLongest);
    std::string input = Any();
    for (uint64_t changes = 1 + random_() % 6; changes > 0; --changes) Change(&input);
    input.resize(std::min(input.size(), kLongest));
    return input;
  }

 private:
  void Change(std::string* input) {
    if (input->empty()) return void(*input = RandomBytes(64));
    const size_t at = random_() % input->size();
    const size_t length = std::min<size_t>(1 + random_() % 32, input->size() - at);
    switch (random_() % 6) {
      case 0:
        (*input)[at] = static_cast<char>((*input)[at] ^ 1 << random_() % 8);
        break;
      case 1:
        (*input)[at] = static_cast<char>(random_());
        break;
      case 2:
        input->erase(at, length);
        break;
      case 3:
        input->insert(at, RandomBytes(32));
        break;
      case 4:
        input->insert(at, input->substr(random_() % input->size(), length));
        break;
      default: {
        const std::string other = Any();
        if (!other.empty()) input->replace(at, length, other.substr(random_() % other.size(), 64));
      }
    }
  }
  const std::string& Any() { return seeds_[random_() % seeds_.size()]; }
  std::string RandomBytes(size_t most) {
    std::string bytes(random_() % most, '\0');
    for (char& byte : bytes) byte = static_cast<char>(random_());
    return bytes;
  }

  const std::vector<std::string> seeds_;
  std::mt19937_64 random_{static_cast<uint64_t>(Setting("TESTBED_FUZZ_SEED", 1))};
};

class FuzzTest : public testing::TestWithParam<FuzzTarget> {};

// The input is kept in a file while the target runs, because a target that finds something ends the
// process.
TEST_P(FuzzTest, SurvivesSeedsAndChangedSeeds) {
  const FuzzTarget target = GetParam();
  const std::vector<std::string> seeds = Seeds(target.name);
  ASSERT_FALSE(seeds.empty()) << "no seeds in " << CorpusOf(target.name);
  const std::string kept = std::string("fuzz-input-") + target.name;
  const auto run = [&](const std::string& input) {
    std::ofstream(kept, std::ios::binary | std::ios::trunc) << input;
    target.run(input);
  };
  for (const std::string& seed : seeds) run(seed);
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::duration<double>(Setting("TESTBED_FUZZ_SECONDS", 1));
  Mutator mutator(seeds);
  do run(mutator.Next());
  while (std::chrono::steady_clock::now() < end);
  std::filesystem::remove(kept);
}

INSTANTIATE_TEST_SUITE_P(Targets, FuzzTest, testing::ValuesIn(FuzzTargets()),
                         [](const auto& target) { return std::string(target.param.name); });

TEST(FuzzSeedsTest, EachFolderOfTheCorpusBelongsToATarget) {
  for (const auto& entry : std::filesystem::directory_iterator(CorpusOf("."))) {
    EXPECT_TRUE(std::any_of(FuzzTargets().begin(), FuzzTargets().end(), [&](const FuzzTarget& t) {
      return entry.path().filename() == t.name;
    })) << entry.path();
  }
}

}  // namespace
}  // namespace testbed
