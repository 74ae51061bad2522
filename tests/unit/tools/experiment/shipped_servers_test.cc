// Tests that the shipped experiments take servers as engines when they are asked to, and judge on
// them what was published for InnoDB. The programs of the servers are stand-ins, which a plan only
// looks for.
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/unit/tools/experiment/small_experiment.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan/cell_engine.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/verdict/again.h"
#include "tools/experiment/verdict/verdict.h"

namespace testbed {
namespace {

namespace fs = std::filesystem;

// Makes each server that a script can fetch look fetched while an object lives.
class EveryServer {
 public:
  EveryServer() : directory_(testing::TempDir() + "servers_" + std::to_string(::getpid())) {
    fs::remove_all(directory_);
    for (const EngineInfo& info : Engines()) {
      if (info.servers == nullptr) continue;
      for (const ServerChoice& server : info.servers()) {
        const std::string release = server.name.substr(server.name.find('@') + 1);
        const bool is_postgres = info.name == "postgres";
        const fs::path bin =
            directory_ / ((is_postgres ? "postgres-" : "mariadb-") + release) / "bin";
        Make(bin / "mysqld", release);
        Make(bin / "initdb", release);
        Make(bin / "postgres", release);
      }
    }
    ::setenv("TESTBED_CACHE_DIR", directory_.c_str(), 1);
  }
  EveryServer(const EveryServer&) = delete;
  EveryServer& operator=(const EveryServer&) = delete;
  ~EveryServer() {
    ::unsetenv("TESTBED_CACHE_DIR");
    fs::remove_all(directory_);
  }

 private:
  static void Make(const fs::path& program, const std::string& release) {
    fs::create_directories(program.parent_path());
    std::ofstream(program) << "#!/bin/sh\necho 'postgres (PostgreSQL) " << release << "'\n";
    fs::permissions(program, fs::perms::owner_all);
  }

  const fs::path directory_;
};

// The axis of each experiment that has the servers.
const std::map<std::string, std::string> kAxisOfServers = {{"read-size", "engine"},
                                                           {"linkbench", "engine"},
                                                           {"insert-benchmark", "engine"},
                                                           {"concurrent-inserts", "engine"},
                                                           {"log-writes", "log"}};

bool HasServers() {
  std::set<std::string> names;
  for (const EngineInfo& info : Engines()) names.insert(info.name);
  return names.contains("mysql") && names.contains("postgres");
}

std::vector<Cell> Planned(const Experiment& e, const std::string& scale, const Where& only) {
  PlanOptions options;
  options.scale = scale;
  options.rounds = 1;
  options.only = only;
  options.may_run_none = true;  // a server of the distribution may not be installed
  return PlanCells(e, options);
}

// Returns the values of servers whose programs a script fetches, by their labels.
std::vector<std::string> FetchedLabels(const Axis& axis) {
  std::vector<std::string> labels;
  for (const AxisValue& value : axis.values) {
    if (!value.asked) continue;
    if (value.options.at("engine").find('@') != std::string::npos) labels.push_back(value.label);
  }
  return labels;
}

TEST(ShippedServersTest, ServersRunWhenTheyAreAskedForAndOnlyThen) {
  for (const auto& [name, axis_name] : kAxisOfServers) {
    const Experiment e = LoadExperiment(name);
    const Axis& axis = *e.FindAxis(axis_name);
    std::set<std::string> asked;
    for (const AxisValue& value : axis.values) {
      if (value.asked) asked.insert(value.label);
    }
    for (const char* label :
         {"mariadb-10.1", "mariadb-10.2", "mariadb", "postgres", "postgres-18"}) {
      EXPECT_TRUE(asked.contains(label)) << name << " " << label;
    }
    for (const char* scale : {"tiny", "small"}) {
      for (const Cell& cell : Planned(e, scale, {})) {
        EXPECT_FALSE(asked.contains(cell.labels.at(axis_name))) << name << " " << cell.name;
      }
    }
  }
}

// A wrong option would have the cells left out, with a sentence that nobody reads before a sweep.
TEST(ShippedServersTest, EachServerHasCellsThatRun) {
  if (!HasServers()) GTEST_SKIP() << "an engine of servers is not in this build";
  const EveryServer servers;
  for (const auto& [name, axis_name] : kAxisOfServers) {
    const Experiment e = LoadExperiment(name);
    std::set<std::string> reasons;
    for (const Skip& skip : e.skips) reasons.insert(skip.why);
    for (const std::string& label : FetchedLabels(*e.FindAxis(axis_name))) {
      size_t runs = 0;
      for (const Cell& cell : Planned(e, "small", {{axis_name, {label}}})) {
        runs += cell.runs();
        EXPECT_TRUE(cell.runs() || reasons.contains(cell.skipped))
            << name << ", " << cell.name << ": " << cell.skipped;
      }
      EXPECT_GT(runs, 0u) << name << " " << label;
    }
  }
}

// A load takes longer than the reads.
TEST(ShippedServersTest, HandlerAndSelectReadOneDatabaseOfAServer) {
  if (!HasServers()) GTEST_SKIP() << "an engine of servers is not in this build";
  const EveryServer servers;
  const Experiment e = LoadExperiment("read-size");
  const Where only = {{"engine", {"mariadb-10.1", "mariadb-10.1-sql", "mariadb-10.2"}},
                      {"page-size", {"8k"}},
                      {"keys", {"half"}},
                      {"clients", {"40"}}};
  std::map<std::string, std::string> loads;  // by label
  for (const Cell& cell : Planned(e, "small", only)) {
    if (cell.runs()) loads[cell.labels.at("engine")] = cell.load_key;
  }
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_NE(loads["mariadb-10.1"], "");
  EXPECT_EQ(loads["mariadb-10.1"], loads["mariadb-10.1-sql"]);
  EXPECT_NE(loads["mariadb-10.1"], loads["mariadb-10.2"]) << "files of another version";
}

// The first cells of log-writes are those of other ways of writing, which no server has.
TEST(ShippedServersTest, AServerThatIsNotHereNamesTheScriptThatFetchesIt) {
  if (!HasServers()) GTEST_SKIP() << "an engine of servers is not in this build";
  ::setenv("TESTBED_CACHE_DIR", "/nowhere", 1);
  for (const auto& [name, axis_name] : kAxisOfServers) {
    const Experiment e = LoadExperiment(name);
    PlanOptions options;
    options.scale = "small";
    options.only[axis_name] = {"mariadb-10.1"};
    const std::string why = ErrorOf([&] { PlanCells(e, options); });
    EXPECT_NE(why.find("experiment " + name + " cannot run: "), std::string::npos) << why;
    EXPECT_NE(why.find("tools/setup/fetch_mariadb.sh 10.1.23"), std::string::npos) << why;
  }
  ::unsetenv("TESTBED_CACHE_DIR");
}

// Each host plans the same cells, whichever servers it has.
TEST(ShippedServersTest, AServerThatIsNotHereIsPlannedForAnotherMachine) {
  if (!HasServers()) GTEST_SKIP() << "an engine of servers is not in this build";
  const Experiment e = LoadExperiment("read-size");
  PlanOptions options;
  options.scale = "small";
  options.rounds = 1;
  options.any_machine = true;
  options.only["engine"] = {"mariadb-10.1", "postgres-18"};
  std::vector<std::string> with, without;
  {
    const EveryServer servers;
    for (const Cell& cell : PlanCells(e, options)) with.push_back(cell.name + cell.skipped);
  }
  ::setenv("TESTBED_CACHE_DIR", "/nowhere", 1);
  for (const Cell& cell : PlanCells(e, options)) {
    without.push_back(cell.name + cell.skipped);
    if (!cell.runs() || cell.labels.at("engine") != "mariadb-10.1") continue;
    const std::string missing = MissingHere(cell);
    EXPECT_NE(missing.find("tools/setup/fetch_mariadb.sh 10.1.23"), std::string::npos) << missing;
  }
  ::unsetenv("TESTBED_CACHE_DIR");
  EXPECT_EQ(with, without);
  // A wrong option is refused for each machine.
  options.set["engine-option.conflict_wait_ms"] = "much";
  options.may_run_none = true;
  for (const Cell& cell : PlanCells(e, options)) EXPECT_FALSE(cell.runs()) << cell.name;
}

// Returns whether each label that the part selects has a cell.
bool HasItsCells(const Experiment& e, const std::vector<Cell>& cells, const FindingPart& part) {
  const Statement statement(
      part.holds, [&](const std::string& metric) { return e.FindMetric(metric) != nullptr; },
      [](const Selection&) { return Statement::Groups{{0}}; });
  const std::vector<Selection>& selections = statement.selections();
  return std::all_of(selections.begin(), selections.end(), [&](const Selection& selection) {
    return UnplannedLabel(cells, selection).empty();
  });
}

// Each part about InnoDB that the scale asks can be judged on the fetched servers.
TEST(ShippedServersTest, WhatWasPublishedForInnodbIsJudgedOnEach) {
  if (!HasServers()) GTEST_SKIP() << "an engine of servers is not in this build";
  const EveryServer servers;
  for (const auto& [name, axis_name] : kAxisOfServers) {
    const Experiment e = LoadExperiment(name);
    Where only;
    for (const AxisValue& value : e.FindAxis(axis_name)->values) {
      only[axis_name].push_back(value.label);
    }
    const std::vector<std::string> fetched = FetchedLabels(*e.FindAxis(axis_name));
    const auto is_fetched = [&](const auto& label) {
      return std::find(fetched.begin(), fetched.end(), label.second) != fetched.end();
    };
    const std::vector<Cell> cells = Planned(e, "small", only);
    for (const Again& again : e.again) {
      if (!std::all_of(again.instead.begin(), again.instead.end(), is_fetched)) continue;
      for (const Finding& finding : FindingsAgain(e, again, nullptr)) {
        for (const FindingPart& part : finding.parts) {
          if (!IsOneOf(e, "small", part.scales)) continue;
          // Some parts compare with an engine whose library this machine may lack.
          const bool others = part.holds.find("mmapv1") != std::string::npos ||
                              part.holds.find("fractal") != std::string::npos;
          EXPECT_TRUE(others || HasItsCells(e, cells, part)) << finding.id << ": " << part.says;
        }
      }
    }
  }
}

// Before MariaDB 10.3 testbed keeps secondary indexes as tables, whose changes InnoDB does not
// buffer. What was published of inserts into an InnoDB with secondary indexes says nothing of them.
TEST(ShippedServersTest, InsertsWithIndexesAreJudgedOnServersThatKeepThem) {
  for (const char* name : {"concurrent-inserts", "insert-benchmark"}) {
    const Experiment e = LoadExperiment(name);
    std::set<std::string> judged;
    for (const Again& again : e.again) {
      for (const auto& [replaced, label] : again.instead) judged.insert(label);
    }
    EXPECT_TRUE(judged.contains("mariadb")) << name;
    for (const char* label : {"mariadb-10.1", "mariadb-10.2"}) {
      EXPECT_FALSE(judged.contains(label)) << name << " " << label;
    }
  }
}

TEST(ShippedServersTest, TheFindingsOfInnodbAreJudgedByHandlerAndBySelect) {
  const Experiment e = LoadExperiment("read-size");
  const auto ids = [&](const std::string& name) {
    std::vector<std::string> all;
    for (const Again& again : e.again) {
      if (again.name != name) continue;
      for (const Finding& finding : FindingsAgain(e, again, nullptr)) all.push_back(finding.id);
    }
    return all;
  };
  for (const std::string server : {"mariadb-10.1", "mariadb-10.2", "mariadb"}) {
    std::vector<std::string> by_handler, by_select;
    for (const char* id : {"C1", "C2", "C3", "C9", "C10"}) {
      by_handler.push_back(std::string(id) + "." + server);
      if (id != std::string("C9")) by_select.push_back(std::string(id) + "." + server + "-sql");
    }
    EXPECT_EQ(ids(server), by_handler);
    EXPECT_EQ(ids(server + "-sql"), by_select);
  }
  for (const AxisValue& value : e.FindAxis("engine")->values) {
    const auto access = value.options.find("engine-option.access");
    if (!value.asked || access == value.options.end()) continue;
    EXPECT_EQ(access->second, value.label.ends_with("-sql") ? "select" : "handler") << value.label;
  }
}

}  // namespace
}  // namespace testbed
