// Tests what testbed says of options of a MariaDB server that the server takes in its own way.
#ifdef TESTBED_HAVE_MYSQL
#include "engines/sql/mariadb_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/sql/server_options.h"

namespace testbed {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;

const std::map<std::string, std::string> kVariables = {{"autocommit", "OFF"},
                                                       {"innodb_adaptive_flushing", "OFF"},
                                                       {"innodb_adaptive_hash_index", "OFF"},
                                                       {"innodb_change_buffering", "all"},
                                                       {"innodb_io_capacity", "100"},
                                                       {"innodb_io_capacity_max", "100"},
                                                       {"innodb_max_dirty_pages_pct", "70.000000"},
                                                       {"innodb_purge_threads", "32"},
                                                       {"innodb_spin_wait_delay", "8"},
                                                       {"max_allowed_packet", "67108864"},
                                                       {"skip_name_resolve", "ON"},
                                                       {"version", "11.8.3-MariaDB"}};

// Returns the sentence by which the option is refused; empty when it is taken.
std::string Refusal(const std::vector<std::string>& given,
                    const std::vector<std::string>& arguments = {}) {
  try {
    mariadb::CheckServerOptions("mysql", arguments, given, kVariables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::kUsage);
    return error.what();
  }
  return "";
}

TEST(MariadbSettingsTest, StatusIsToldAsFarAsTheServerHasIt) {
  EngineCounters counters;
  mariadb::AddStatus({{"log_writes", 3}, {"checkpoint_age", 7}, {"deadlocks", 1}},
                     {"log_writes", "ibuf_merges"}, &counters);
  EXPECT_THAT(counters.more, ElementsAre(Pair("log_writes", 3u)));
  EXPECT_THAT(counters.now, ElementsAre(Pair("checkpoint_age", 7u)));
}

TEST(ServerOptionsTest, NamesHaveOneSpellingWhateverTheirHyphensAndLetters) {
  const auto parse = [](const std::string& text, char joint) {
    return ParseServerOptions("mysql", text, joint, "it takes NAME=VALUE",
                              [](std::string_view name) { return name == "data-dir"; });
  };
  EXPECT_THAT(parse("Log_Bin-Index=A-b_C;x=", '-'), ElementsAre("log-bin-index=A-b_C", "x="));
  EXPECT_THAT(parse("Log_Bin-Index=A-b_C", '_'), ElementsAre("log_bin_index=A-b_C"));
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"x=1;Data_Dir=/tmp",
            "server_option=Data_Dir=/tmp: the run's own options or --engine-option of that name "
            "decide it"},
           {"x=1;y", "server_option=y: it takes NAME=VALUE"},
           {"=1", "server_option==1: it takes NAME=VALUE"},
           {"x=1;", "server_option=: it takes NAME=VALUE"}}) {
    try {
      parse(text, '-');
      ADD_FAILURE() << text << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), Error::kUsage);
      EXPECT_EQ(error.what(), "mysql cannot honour --engine-option " + why);
    }
  }
}

TEST(MariadbSettingsTest, AnOptionIsTakenByItsWholeNameAlone) {
  for (const char* name : {"innodb-spin-wait", "innodb-spin", "loose-innodb-spin-wait",
                           "skip-innodb-spin-wait-delay", "maximum-innodb-spin-wait-delay"}) {
    EXPECT_THAT(Refusal({std::string("--") + name + "=8"}),
                HasSubstr("whole name alone, innodb_spin_wait_delay"))
        << name;
  }
  EXPECT_THAT(Refusal({"--skip-innodb-adaptive-flushing=1"}),
              HasSubstr("server_option=skip-innodb-adaptive-flushing=1"));
  for (const char* taken :
       {"innodb-spin-wait-delay=8", "loose-innodb-spin-wait-delay=8", "skip-name-resolve=1",
        "loose-innodb-typo-option=7", "plugin-load-add=x", "innodb=ON"}) {
    EXPECT_EQ(Refusal({std::string("--") + taken}), "") << taken;
  }
}

TEST(MariadbSettingsTest, AValueThatTheServerReplacesIsRefused) {
  EXPECT_THAT(Refusal({"--innodb-purge-threads=99"}),
              HasSubstr("innodb_purge_threads=99: the server has replaced it by 32"));
  EXPECT_THAT(Refusal({"--loose-innodb-adaptive-flushing=1"}), HasSubstr("replaced it by OFF"));
  EXPECT_EQ(Refusal({"--innodb-purge-threads=99", "--innodb-purge-threads=32"}), "");
  EXPECT_EQ(Refusal({"--autocommit=0", "--max-allowed-packet=64M", "--innodb-change-buffering=ALL",
                     "--innodb-max-dirty-pages-pct=70"}),
            "");
  const std::vector<std::string> arguments = {"--innodb-io-capacity=1000",
                                              "--innodb-purge-threads=4"};
  EXPECT_THAT(Refusal({"--innodb-io-capacity-max=100"}, arguments),
              HasSubstr("innodb_io_capacity=1000: the server has replaced it by 100"));
  EXPECT_EQ(Refusal({}, arguments), "") << "nobody gave an option";
}

// A server of 11.0 or later may have been set otherwise than by the method, and while it runs.
TEST(MariadbSettingsTest, TheVariableThatIsInForceSaysWhetherDataFilesAreOpenedDirectly) {
  const auto told = [](const std::map<std::string, std::string>& variables) {
    const mariadb::DataFileIo io = mariadb::DataFileIoOf(variables);
    return io.variable + " = " + io.value + (io.is_direct ? ": direct" : ": buffered");
  };
  EXPECT_EQ(told({{"innodb_flush_method", "O_DIRECT_NO_FSYNC"}}),
            "innodb_flush_method = O_DIRECT_NO_FSYNC: direct");
  EXPECT_EQ(told({{"innodb_flush_method", "fsync"}}), "innodb_flush_method = fsync: buffered");
  EXPECT_EQ(told({{"innodb_flush_method", "O_DIRECT"}, {"innodb_data_file_buffering", "ON"}}),
            "innodb_data_file_buffering = ON: buffered");
  EXPECT_EQ(told({{"innodb_flush_method", "O_DSYNC"}, {"innodb_data_file_buffering", "OFF"}}),
            "innodb_data_file_buffering = OFF: direct");
}

TEST(MariadbSettingsTest, AllVariablesOfTheStorageEngineAreTold) {
  const auto told = mariadb::ToldVariables(
      kVariables, "innodb_", {"--max-allowed-packet=67108864", "--loose-innodb-nosuch=1"},
      {"--autocommit=0", "--loose-innodb-typo-option=7"});
  for (const char* name : {"innodb_adaptive_flushing", "innodb_spin_wait_delay", "version",
                           "max_allowed_packet", "autocommit"}) {
    EXPECT_THAT(told, Contains(Pair(std::string(name), kVariables.at(name)))) << name;
  }
  EXPECT_THAT(told, Contains(Pair("innodb_typo_option", "not a variable of this server")));
  EXPECT_THAT(told, Not(Contains(Pair("innodb_nosuch", testing::_)))) << "nobody gave it";
  EXPECT_THAT(told, Not(Contains(Pair("skip_name_resolve", testing::_))));
}

}  // namespace
}  // namespace testbed
#endif
