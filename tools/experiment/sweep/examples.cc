#include "tools/experiment/sweep/examples.h"

#include <algorithm>
#include <iterator>

namespace testbed {
namespace {

constexpr char kAllExamples[] =
    "  testbed experiment list\n"
    "  testbed experiment show read-size\n"
    "      what it is about, its axes, scales and findings\n"
    "  testbed experiment plan read-size --scale small\n"
    "      the cells that would run\n"
    "  sudo testbed experiment read-size --scale tiny\n"
    "      runs it, prints its tables and verdicts, keeps everything in ./testbed-read-size-tiny;\n"
    "      the same command again goes on where it was interrupted\n"
    "  testbed experiment read-size --only engine=btree,rocksdb --only io=mmap --set seconds=5\n"
    "  testbed experiment mine.toml\n"
    "  testbed experiment read-size --on slurm:nvme --databases /local --out /shared/read-size\n"
    "      its rounds as tasks of Slurm, each on a node for itself\n"
    "  testbed findings testbed-read-size-tiny\n";

struct WordExamples {
  const char *word, *examples;
};

constexpr WordExamples kWordExamples[] = {
    {"list",
     "  testbed experiment list\n"
     "      the shipped experiments, each with its title and findings\n"},
    {"show",
     "  testbed experiment show read-size\n"
     "      what it is about, its axes, scales and findings\n"
     "  testbed experiment show mine.toml\n"},
    {"plan",
     "  testbed experiment plan read-size --scale small\n"
     "      the cells that would run\n"
     "  testbed experiment plan read-size --only engine=btree,rocksdb --set seconds=5\n"},
    {"cells",
     "  testbed experiment cells read-size --scale tiny\n"
     "      the keys of its cells and blocks, and what is finished in ./testbed-read-size-tiny\n"
     "  testbed experiment cells /shared/read-size\n"
     "      those of results that are there, by the settings that they have\n"},
    {"run",
     "  testbed experiment run read-size --rounds 4 --out /shared/read-size --block round-1\n"
     "      one block of cells; other hosts may run the others at the same time\n"
     "  testbed experiment run /shared/read-size --block round-2 --databases /local\n"
     "      a block of results that are there, with its databases on this host's own disk\n"},
};

}  // namespace

std::string ExperimentExamples(const std::string& word) {
  const auto* const found = std::find_if(std::begin(kWordExamples), std::end(kWordExamples),
                                         [&](const WordExamples& one) { return word == one.word; });
  return std::string("\nExamples:\n") +
         (found == std::end(kWordExamples) ? kAllExamples : found->examples);
}

}  // namespace testbed
