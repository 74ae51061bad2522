#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <vector>

#include "tests/cli/command.h"
#include "tests/paths.h"

namespace testbed {
namespace {

struct BadValue {
  const char* option;
  const char* value;
  const char* others = "";  // further options without which another error would come first
};

const BadValue kBadValues[] = {
    {"--engine", "nosuch"},
    {"--server", "mariadb"},
    {"--server", "''"},
    {"--connect", "mysql://me@localhost/"},
    {"--connect", "''"},
    {"--task", "3/3"},
    {"--task", "first"},
    {"--task-address", "n1"},
    {"--task-timeout", "0"},
    {"--dir", "/proc/version"},
    {"--io", "fast"},
    {"--page-size", "3k"},
    {"--page-size", "-1"},
    {"--page-size", "8q"},
    {"--readahead", "5k"},
    {"--file-advice", "maybe"},
    {"--mmap-advice", "maybe"},
    {"--ram", "1M"},
    {"--ram", "much"},
    {"--cache-pct", "0"},
    {"--cache-pct", "101"},
    {"--cache-pct", "' 20'"},
    {"--cache-pct", "0x14"},
    {"--cache-pct", "auto:"},
    {"--cache-size", "900G"},
    {"--durability", "perhaps"},
    {"--lazy-interval", "0"},
    {"--compression", "nosuch"},
    {"--read-iops", "many"},
    {"--engine-option", "nosuch=1"},
    {"--engine-option", "nosuch"},
    {"--workload-option", "nosuch=1"},
    {"--workload-option", "nosuch"},
    {"--scratch", "1k"},
    {"--scratch", "1G,ntfs"},
    {"--scratch", "auto,ntfs"},
    {"--scratch", "automatic"},
    {"--rows", "0"},
    {"--databases", "0"},
    {"--rows", "1.5"},
    {"--db-ratio", "-4"},
    {"--key-size", "4"},
    {"--value-size", "x"},
    {"--value-size", "10x8"},
    {"--value-size", "1x100"},
    {"--value-size", "1000x1M"},
    {"--value-size", "100-"},
    {"--value-size", "100-100"},
    {"--value-size", "1000-100"},
    {"--value-size", "0-65M"},
    {"--value-size", "10x100-1000"},
    {"--value-size", "0-0"},
    {"--value-size", "row"},
    {"--value-size", "column"},
    {"--value-size", "column", "--keys paths:/usr/share"},
    {"--compressibility", "2"},
    {"--key-order", "best"},
    {"--keys", "/nonexistent"},
    {"--keys", "/dev/zero"},
    {"--keys", "/proc/self/mem"},
    {"--keys", "word"},
    {"--keys", "words,places"},
    {"--keys", "paths:"},
    {"--keys", "paths:/nonexistent"},
    {"--keys", "paths:/proc/version"},
    {"--keys", "paths:/proc/sys"},
    {"--indexes", "4"},
    {"--seed", "abc"},
    {"--workload", "nosuch"},
    {"--workload", "'insert 60s'"},
    {"--workload", "'insert,point-read 60'"},
    {"--workload", "'insert,point-read @ fast'"},
    {"--threads", "0"},
    {"--threads", "1,,8"},
    {"--threads", "8,1,8"},
    {"--queue-depth", "0"},
    {"--seconds", "0"},
    {"--record", "-"},
    {"--speed", "fast"},
    {"--operations", "0"},
    {"--warmup", "-1"},
    {"--rate", "0"},
    {"--arrivals", "late"},
    {"--find-rate", "fast"},
    {"--find-rate", "'p99 < 5'"},
    {"--find-rate", "'p100 < 5ms'"},
    {"--rows-per-transaction", "0"},
    {"--distribution", "normal"},
    {"--zipf-theta", "-1"},
    {"--zipf-theta", "5"},
    {"--hot-fraction", "0"},
    {"--hot-probability", "1.5"},
    {"--hit-ratio", "2"},
    {"--hit-ratio", "0.5", "--key-size 8 --workload insert,multi-get"},
    {"--scan-rows", "0"},
    {"--mix", "point-read"},
    {"--mix", "fly=3", "--workload insert,mixed"},
    {"--mix", "update=0", "--workload insert,mixed"},
    {"--mix", "update=1,point-read=3,update=2", "--workload insert,mixed"},
    {"--verify", "some"},
    {"--verify-every", "-1"},
    {"--consume", "all"},
    {"--repeat", "0"},
    {"--repeat-runs", "0"},
    {"--account", "deep"},
    {"--added-delay", "-1"},
    {"--json", "/nonexistent/x.json"},
    {"--json", "''"},
    {"--csv", "/nonexistent/x.csv"},
    {"--csv-series", "/nonexistent/x.csv"},
    {"--report-interval", "0"},
    {"--label", "''"},
    {"--dir", "''"},
    {"--out", "''"},
    {"--save", "''"},
    {"--rounds", "0"},
};

using BadInputTest = CommandTest;

TEST_F(BadInputTest, ACommandThatLacksAWordSaysWhich) {
  ExpectRefused(Run("compare"),
                "testbed compare needs FILES (the results file of the base and the one");
  ExpectRefused(Run("compare one.json"), "testbed compare needs FILES (");
  ExpectRefused(Run("report"),
                "testbed report needs RESULTS (results and comparisons that --json wrote");
  ExpectRefused(Run("scratch"), "testbed scratch needs a command: clean");
  ExpectRefused(Run("advise"), "testbed advise needs --engine (");
  ExpectRefused(Run("findings"), "testbed findings needs RESULTS (");
  ExpectRefused(Run("experiment"), "testbed experiment needs WHAT (");
}

TEST_F(BadInputTest, EachBadValueGetsOneSentenceThatNamesTheOption) {
  for (const BadValue& bad : kBadValues) {
    SCOPED_TRACE(std::string(bad.option) + " " + bad.value);
    std::string arguments = std::string(bad.others) + " " + bad.option + " " + bad.value;
    if (std::string(bad.option) != "--engine") arguments += " --engine btree";
    const CommandResult result = Run(arguments);
    ExpectRefused(result, bad.option);
    EXPECT_TRUE(DirectoryIsEmpty());
  }
}

TEST_F(BadInputTest, ARefusedTextIsToldAsItWasGiven) {
  ExpectRefused(Run("--engine btree --keys ''"), "--keys '' is not accepted; it takes a file or");
  ExpectRefused(Run("--engine btree --label ''"), "--label '' is not accepted; it takes 1 to 200");
  ExpectRefused(Run("--engine btree --label " + std::string(201, 'x')),
                "--label of 201 bytes is not accepted; it takes 1 to 200 bytes");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// A sentence named a part of the value, which the option would not take alone, or no unit.
TEST_F(BadInputTest, ARefusalNamesTheWholeValueAndTheUnit) {
  const std::string btree = "--engine btree ";
  ExpectRefused(Run(btree + "--threads 1,x"),
                "--threads 1,x is not accepted; it takes a whole number from 1 to 1000, or");
  ExpectRefused(Run(btree + "--workload insert,mixed --mix update=x"),
                "--mix update=x is not accepted; it takes operation=share pairs with");
  ExpectRefused(Run(btree + "--scratch 1G,zfs"), "--scratch 1G,zfs is not accepted; it takes auto");
  ExpectRefused(Run(btree + "--lazy-interval 1s"), "it takes a whole number of milliseconds from");
  ExpectRefused(Run(btree + "--seconds 1h"), "it takes a number of seconds from 0.1 to 10000000");
}

// "it accepts none" would read as if the option took no value.
TEST_F(BadInputTest, AnOnlyValueIsNamedWithItsOption) {
  if (!HasEngine("lmdb")) GTEST_SKIP() << "this build has no lmdb";
  ExpectRefused(Run("--engine lmdb --compression lz4 --rows 10"),
                "lmdb cannot honour --compression lz4; it accepts --compression none");
}

// Reading a pipe or a device would never end, or never begin, so both are refused as inputs.
TEST_F(BadInputTest, WhatIsNoRegularFileIsNoInput) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo.json").c_str(), 0600), 0);
  for (const char* file : {"fifo.json", "/dev/zero", "/proc/self/mem", "/proc/kmsg"}) {
    for (const char* command :
         {"report {}", "compare {} {}", "results add {} --store s.db", "history add {} --commit c",
          "ab --engine btree --a @{} --b cache-pct=9", "trace info {}",
          "trace scale {} --share 0.1 -o o", "trace import --format csv {} -o o",
          "--engine null --workload replay-load:{}"}) {
      std::string arguments = command;
      for (size_t at; (at = arguments.find("{}")) != std::string::npos;) {
        arguments.replace(at, 2, file);
      }
      SCOPED_TRACE(arguments);
      ExpectRefused(Run(arguments), file);
    }
  }
}

// A pipe or device of the right name does not make a directory one of an experiment's results.
TEST_F(BadInputTest, WhatIsNoRegularFileIsNoExperiment) {
  std::ofstream(directory_ / "mine.toml") << "name = \"mine\"\ntitle = \"One cell\"\n"
                                             "[options]\nengine = \"null\"\noperations = 9\n"
                                             "[scale.small]\n[[axis]]\nname = \"threads\"\n"
                                             "values = [1]\n[metrics]\nqps = \"measured.rate\"\n";
  ASSERT_EQ(Run("experiment plan mine.toml").code, 0);
  for (const bool pipe : {true, false}) {
    std::filesystem::remove_all(directory_ / "d");
    std::filesystem::create_directory(directory_ / "d");
    const std::filesystem::path file = directory_ / "d/experiment.json";
    if (pipe) {
      ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
    } else {
      std::filesystem::create_symlink("/dev/zero", file);
    }
    for (const char* command :
         {"report d", "report d --csv", "report d --command", "report d --html p.html",
          "report d --svg plots", "results add d --store s.db", "findings d",
          "findings d --markdown", "experiment mine.toml --out d",
          "experiment mine.toml --out d --fresh"}) {
      SCOPED_TRACE(command);
      ExpectRefused(Run(command), "d/experiment.json is no regular file");
    }
  }
}

// A trace is renamed when it is whole, so root could replace even /dev/null by it.
TEST_F(BadInputTest, WhatIsNoRegularFileIsNoTrace) {
  ASSERT_EQ(::mkfifo((directory_ / "fifo").c_str(), 0600), 0);
  ExpectRefused(Run("--engine null --operations 9 --record fifo"), "fifo");
  EXPECT_TRUE(std::filesystem::is_fifo(directory_ / "fifo"));
}

TEST_F(BadInputTest, EveryOptionThatTakesAValueIsTriedAbove) {
  std::set<std::string> tried;
  for (const BadValue& bad : kBadValues) tried.insert(bad.option);
  // An option that takes a value has a line in --help such as "  --io MODE   ...".
  std::istringstream help(Run("--help").out);
  int options = 0;
  for (std::string line; std::getline(help, line);) {
    std::istringstream words(line);
    std::string option, type;
    words >> option >> type;
    if (!option.starts_with("--") || type.empty() ||
        !std::isupper(static_cast<unsigned char>(type[0])) || type.size() < 2 ||
        !std::isupper(static_cast<unsigned char>(type[1]))) {
      if (!(option.starts_with("--") && (type == "N" || type == "S"))) continue;
    }
    ++options;
    EXPECT_TRUE(tried.contains(option)) << "no bad value is tried for " << option;
  }
  EXPECT_GT(options, 30);
}

// A shell makes an empty name of a variable that is not set.
TEST_F(BadInputTest, AnEmptyNameOfADirectoryIsRefused) {
  for (const char* command :
       {"experiment read-size --out ''",
        "experiment read-size --out=", "experiment read-size --on slurm --databases ''",
        "advise --engine btree --out ''", "doctor --dir ''", "scratch clean --dir ''",
        "history show --store ''", "report x.json --svg ''", "report x.json --png ''",
        "results export --csv '' --benchmark b.json"}) {
    SCOPED_TRACE(command);
    ExpectRefused(Run(command), " '' is not accepted; it takes the name of a directory");
  }
  ExpectRefused(Run("report x.json --html ''"), "--html '' is not accepted");
  // Once, an experiment with an empty --on ran here, one with empty --host-checks ran on a host of
  // any kind, and an empty --where exported all results.
  ExpectRefused(Run("experiment read-size --on ''"), "--on '' is not accepted; it takes slurm,");
  ExpectRefused(Run("experiment read-size --on slurm --host-checks ''"),
                "--host-checks '' is not accepted; it takes a list of load, throttle and kind, or");
  ExpectRefused(Run("results export --csv t --where ''"), "--where '' is not accepted");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(BadInputTest, ANumberOutOfItsRangeAndAnOptionGivenTwiceGetASentence) {
  ExpectRefused(Run("experiment read-size --rounds 1.5"),
                "--rounds 1.5 is not accepted; it takes a whole number from 1 to 1000");
  for (const char* command : {"experiment read-size", "advise --engine btree"}) {
    ExpectRefused(Run(std::string(command) + " --report-interval 0"),
                  "--report-interval 0 is not accepted; it takes a number of seconds from 1");
  }
  ExpectRefused(Run("experiment read-size --shuffle -1"),
                "--shuffle -1 is not accepted; it takes a whole number from 1");
  ExpectRefused(Run("tree d --levels 0"),
                "--levels 0 is not accepted; it takes a whole number from 1 to 16");
  ExpectRefused(Run("trace scale a.trace --share 2 -o b.trace"),
                "--share 2 is not accepted; it takes a number from 1e-09 to 0.999999");
  ExpectRefused(Run("--engine btree --seconds 1 --seconds 2"),
                "--seconds is given 2 times; give it once");
  ExpectRefused(Run("doctor --dir a --dir b"), "--dir is given 2 times; give it once");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(BadInputTest, UnknownOptionsAndCommandsAreNamed) {
  ExpectRefused(Run("--engine btree --nosuch 3"), "--nosuch");
  ExpectRefused(Run("nosuch"), "nosuch");
  ExpectRefused(Run("--engin btree"), "did you mean --engine?");
  ExpectRefused(Run("repot file"), "did you mean report?");
  ExpectRefused(Run("experiment read-size --dir x"), "--dir");
  ExpectRefused(Run("experiment read-sise"), "did you mean read-size?");
  ExpectRefused(Run("experiment read-size --set page-sise=4k"), "did you mean --page-size?");
  // Once, these options were taken, and did nothing.
  for (const char* option : {"dir=d", "json=x.json", "live=true", "fresh=true", "csv=x.csv"}) {
    SCOPED_TRACE(option);
    ExpectRefused(Run(std::string("experiment read-size --set ") + option),
                  "no cell of an experiment has this option");
  }
  ExpectRefused(Run("advise"), "--engine");
  ExpectRefused(Run(""), "--engine");
  // advise does not see options that stand before it: it would advise for the default memory.
  ExpectRefused(Run("--ram 1G advise --engine btree"), "--ram stands before advise");
  ExpectRefused(Run("--wide report x.json"), "--wide stands before report");
}

TEST_F(BadInputTest, ACrashtestTakesNoOptionThatItIgnoresAndDoesNotOfferIt) {
  const std::string crashtest = "crashtest --engine btree ", help = Run("crashtest --help").out;
  ExpectRefused(Run(crashtest + "--reuse"), "takes no --reuse");
  ExpectRefused(Run(crashtest + "--reuse --dir d"), "takes no --reuse");
  ExpectRefused(Run(crashtest + "--read-iops 10"), "takes no --read-iops");
  ExpectRefused(Run(crashtest + "--readahead 4k"), "takes no --readahead");
  ExpectRefused(Run(crashtest + "--strict"), "takes no --strict");
  const std::string url = "mysql://me@localhost/";
  ExpectRefused(Run(crashtest + "--connect " + url), "takes no --connect");
  ExpectRefused(Run(crashtest + "--engine-option connect=" + url), "takes no --connect");
  for (const char* share : {"most", "auto", "auto:20"}) {
    ExpectRefused(Run(crashtest + "--cache-pct " + share), "--cache-pct takes a number");
  }
  // A crash test commits with --durability sync unless told otherwise.
  ExpectRefused(Run(crashtest + "--lazy-interval 50"), "--lazy-interval is for --durability lazy");
  ExpectRefused(Run(crashtest + "--file-advice random --io direct"), "--file-advice random is for");
  ExpectRefused(Run(crashtest + "--cache-size 16M --cache-pct 20"),
                "--cache-size and --cache-pct both decide the size of the engine's cache");
  for (const char* crashes : {"--power-cuts", "--disk-cuts", "--disk-errors"}) {
    ExpectRefused(Run(crashtest + "--dir d " + crashes + " 1"), "leave out --dir");
  }
  for (const char* refused :
       {"--reuse", "--readahead", "--read-iops", "--strict", "--connect", "rehearsals"}) {
    EXPECT_EQ(help.find(refused), std::string::npos) << refused;
  }
  EXPECT_NE(help.find("--fresh"), std::string::npos);
  std::istringstream words(help);
  std::string one_line;
  for (std::string word; words >> word;) one_line += word + " ";
  EXPECT_NE(one_line.find("nothing limits the memory of the process"), std::string::npos) << help;
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(BadInputTest, CombinationsThatCannotBeAreRefused) {
  ExpectRefused(Run("--engine btree --reuse"), "--dir");
  ExpectRefused(Run("--engine btree --reuse --fresh --dir x"), "--fresh");
  ExpectRefused(Run("--engine btree --scratch 1G --dir x"), "--dir");
  ExpectRefused(Run("--engine btree --ram 0"), "--cache-size");
  ExpectRefused(Run("--engine btree --workload point-read"), "--reuse");
  ExpectRefused(Run("--engine btree --workload insert --mix update=1"), "mixed");
  for (const char* with : {"btree --io mmap", "btree --databases 2", "btree --rate 100",
                           "btree --workload insert,mixed", "null"}) {
    ExpectRefused(Run(std::string("--queue-depth 8 --engine ") + with), "--queue-depth");
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The rows of a file of keys, and their order, follow from the file.
TEST_F(BadInputTest, OtherRowsThanThoseOfAFileOfKeysAreRefused) {
  std::ofstream(directory_ / "keys") << "one\ntwo\nthree\n";
  const std::string keys = "--engine btree --ram 64M --dir d --keys keys ";
  ExpectRefused(Run(keys + "--rows 2"), "--rows 2 is not the number of keys in --keys keys");
  for (const char* order : {"random", "permuted", "sequential"}) {
    ExpectRefused(Run(keys + "--key-order " + order), "--key-order asks for one");
  }
  // ycsb-d has no --mix that could be left out.
  ExpectRefused(Run(keys + "--workload ycsb-load,ycsb-d"), "--workload ycsb-d inserts rows");
  ExpectRefused(Run(keys + "--workload insert,mixed --mix insert=1"), "--workload mixed inserts");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "d"));
  const CommandResult same = Run(keys + "--rows 3 --workload insert --threads 1 --quiet");
  EXPECT_EQ(same.code, 0) << same.err;
}

// The pages of an engine that maps its files can only be dropped while it is closed.
TEST_F(BadInputTest, CachesOfMappedFilesAreNotDroppedBetweenPhasesOfOneOpenDatabase) {
  const std::string rest = " --ram 64M --rows 1000 --drop-caches --workload ";
  ExpectRefused(Run("--engine mmapv1" + rest + "'insert, point-read 1s'"), "--drop-caches closes");
  ExpectRefused(Run("--engine mmapv1" + rest + "insert,settle,point-read"),
                "before each phase, and settle, and a length");
  EXPECT_TRUE(DirectoryIsEmpty());
}

// Databases without a table would still take their parts of the memory, and a row and its index
// entries would be in different databases.
TEST_F(BadInputTest, DatabasesThatWouldHoldNothingAreRefused) {
  const std::string two = "--engine btree --rows 1000 --databases 2 ";
  for (const char* with :
       {"", "--indexes 2", "--workload ycsb-load,ycsb-a", "--workload sysbench-load", "--dir d",
        "--workload concurrent-inserts --workload-option shared=on"}) {
    const CommandResult refused = Run(two + with);
    ExpectRefused(refused, "--databases 2 gives each database a part of the memory");
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

// Once, the size of this number of rows wrapped around, and the scratch device was made for the
// remainder.
TEST_F(BadInputTest, MoreRowsThanADeviceHoldsAreRefused) {
  for (const char* scratch : {"", " --scratch auto"}) {
    ExpectRefused(
        Run(std::string("--engine btree --ram 64M --rows 18446744073709551615") + scratch),
        "--rows 18446744073709551615 of 416 bytes each are more than any device holds");
    ExpectRefused(Run(std::string("--engine btree --ram 1024T --db-ratio 10000") + scratch),
                  "--db-ratio 10000 of --ram 1024T is more than any device holds");
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(BadInputTest, TheMostOfNoMemoryOrBesideASizeIsRefused) {
  for (const char* engine : {"btree", "mmapv1"}) {
    const std::string most = std::string("--cache-pct most --rows 1000 --engine ") + engine;
    ExpectRefused(Run(most + " --ram 0"), "--cache-pct most divides --ram");
  }
  ExpectRefused(Run("--engine btree --cache-pct most --cache-size 16M"),
                "--cache-pct most divides --ram");
  ExpectRefused(Run("--engine btree --cache-pct most:50"), "most");
  // ib.x builds indexes, so it cannot be performed again on the same database.
  ExpectRefused(Run("--engine btree --ram 64M --rows 1000 --cache-pct auto --workload ib.i0,ib.x"),
                "--cache-pct auto performs a workload several times, and --workload ib.x writes");
  ASSERT_EQ(Run("--engine btree --dir d --workload insert --rows 1000 --ram 64M").code, 0);
  const CommandResult reuse =
      Run("--engine btree --dir d --reuse --workload mixed --rows 1000 --ram 64M --cache-pct most");
  ExpectRefused(reuse, "mixed changes the database");
  std::filesystem::remove_all(directory_ / "d");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(BadInputTest, WhatAnEngineWithoutACacheCannotHonourIsRefused) {
  for (const char* engine : {"null", "log", "mmapv1"}) {
    ExpectRefused(Run(std::string("--engine ") + engine + " --cache-size 16M"),
                  "has no cache of its own, so --cache-size has no meaning");
  }
  if (Run("list").out.find("lmdb") == std::string::npos) GTEST_SKIP() << "no lmdb in this build";
  for (const char* option : {"--io direct", "--io buffered", "--page-size 8k", "--cache-size 16M",
                             "--cache-pct auto", "--mmap-advice willneed", "--key-size 512"}) {
    const std::string name = std::string(option).substr(0, std::string(option).find(' '));
    ExpectRefused(Run(std::string("--engine lmdb ") + option), name);
  }
  EXPECT_TRUE(DirectoryIsEmpty());
}

// The load would fail at the first long key.
TEST_F(BadInputTest, KeysThatAnEngineCannotHoldAreRefusedBeforeTheLoad) {
  if (!HasEngine("lmdb")) GTEST_SKIP() << "no lmdb in this build";
  const std::string lmdb = "--engine lmdb --ram 64M --dir d ";
  ExpectRefused(Run(lmdb + "--rows 100 --key-size 508 --indexes 1"),
                "the entries of --indexes have 516");
  std::ofstream(directory_ / "keys") << "short\n" << std::string(600, 'k') << "\n";
  ExpectRefused(Run(lmdb + "--keys keys"), "--keys asks for 600");
  ExpectRefused(Run(lmdb + "--keys keys --hit-ratio 0.5"), "--keys asks for 601");
  EXPECT_FALSE(std::filesystem::exists(directory_ / "d"));
}

TEST_F(BadInputTest, AMissingDatabaseToReuseIsNamedAndNotMade) {
  ExpectRefused(Run("--engine btree --reuse --dir nosuch --workload point-read"), "nosuch");
  EXPECT_TRUE(DirectoryIsEmpty());
}

TEST_F(BadInputTest, ADirectoryThatIsNotOursIsLeftAlone) {
  std::filesystem::create_directory(directory_ / "mine");
  std::ofstream(directory_ / "mine" / "letter") << "dear";
  ExpectRefused(Run("--engine btree --fresh --dir mine"), "mine");
  EXPECT_EQ(Read(directory_ / "mine" / "letter"), "dear");
}

}  // namespace
}  // namespace testbed
