// Tests what a comparison's document says, and its exit code.
#include "tools/ab/answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/tools/ab/comparison_documents.h"
#include "tools/ab/ab_report.h"

namespace testbed {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

const AbAnswer& Find(const std::vector<AbAnswer>& answers, const std::string& metric) {
  for (const AbAnswer& answer : answers) {
    if (answer.metric.name == metric) return answer;
  }
  throw std::out_of_range(metric);
}

TEST(AbAnswersTest, ADifferenceIsToldAndComesFirst) {
  const json document = Comparison(8, 0.9, 0.002);
  EXPECT_TRUE(IsAnswered(document));
  EXPECT_EQ(Find(AbAnswers(document), "rate").answer.outcome, Outcome::kLess);
  EXPECT_TRUE(AbReportText(document).starts_with("b is slower by 10 %")) << AbReportText(document);
  EXPECT_EQ(AbExitCode(document), 0);
}

TEST(AbAnswersTest, EqualSidesAreTheSame) {
  const json document = Comparison(8, 1, 0.001);
  EXPECT_TRUE(IsAnswered(document));
  EXPECT_EQ(Find(AbAnswers(document), "rate").answer.outcome, Outcome::kSame);
}

TEST(AbAnswersTest, ATimeThatWasTooShortIsToldWithTheAnswer) {
  json document = Comparison(1, 0.5, 0.001);
  document["time_too_short"] = "the first load of the sides took 14 s of the 30 s of --time";
  const std::string text = AbReportText(document);
  const size_t at = text.find("the first load of the sides took 14 s of the 30 s of --time\n");
  ASSERT_NE(at, std::string::npos) << text;
  EXPECT_LT(at, text.find("\n\n")) << text;
  EXPECT_LT(text.find("cannot be told from 1 load"), at) << text;
}

TEST(AbAnswersTest, OneLoadAnswersNothing) {
  json document = Comparison(1, 0.5, 0.001);
  EXPECT_FALSE(IsAnswered(document));
  document["command"] = {"ab", "--a", "", "--b", "io=direct threads=2", "--loads", "1", "--quiet"};
  const std::string command = "  testbed ab --a '' --b 'io=direct threads=2' --quiet --loads 5\n";
  EXPECT_THAT(AbReportText(document), HasSubstr("cannot be told from 1 load"));
  EXPECT_THAT(AbReportText(document),
              HasSubstr("5 loads of each side would be enough, where they agree:\n" + command));
  // The --time that ended the comparison would end the repeated command, too.
  document["command"] = {"ab", "--a", "", "--b", "io=direct threads=2", "--time", "3s", "--quiet"};
  document["seconds_per_load"] = 3.1;
  const std::string longer =
      "  testbed ab --a '' --b 'io=direct threads=2' --quiet --time 20s --loads 5\n";
  EXPECT_THAT(AbReportText(document), HasSubstr(longer));
  document.erase("seconds_per_load");
  document["command"] = {"ab", "--a", "", "--b", "io=direct threads=2", "--loads", "1", "--quiet"};
  // More loads would not help a side that fails, and a user who stopped knows what to do.
  json stopped = document;
  stopped["partial"] = true;
  EXPECT_THAT(AbReportText(stopped), Not(HasSubstr(command)));
  document["errors"] = {{{"side", "b"}, {"sentence", "it died"}}};
  EXPECT_THAT(AbReportText(document), Not(HasSubstr(command)));
}

TEST(AbAnswersTest, ASmallChangeOfACountIsFoundAtOnce) {
  const json document = Comparison(3, 1, 0.05, 1.001);
  const Answer asks = Find(AbAnswers(document), "engine_asks").answer;
  EXPECT_EQ(asks.outcome, Outcome::kMore);
  EXPECT_NEAR(asks.effect, 1.001, 1e-6);
}

// Counters that are also metrics have rows in the table of metrics, and are not named again.
TEST(AbAnswersTest, NamesTheCountersThatMovedAndNoMetric) {
  json document = Comparison(8, 1, 0.001);
  for (json& sample : document["samples"]) {
    const int count = sample["side"] == "b" ? 200 : 100;
    for (const char* metric : {"block_requests", "file_reads", "kernel_write_bytes", "device_reads",
                               "wire_round_trips", "wire_sent_bytes"}) {
      sample["counters"][metric] = count;
    }
  }
  const std::vector<Moved> moved = MovedCounters(document);
  ASSERT_EQ(moved.size(), 1u);
  EXPECT_EQ(moved[0].counter, "context_switches");
  EXPECT_NEAR(moved[0].answer.effect, 2, 1e-6);
}

// An operation without an answer has caused its part of the counts, in the counters as in the
// metrics.
TEST(AbAnswersTest, CountersAreDividedByOperationsWithoutAnAnswerToo) {
  json document = Comparison(8, 1, 0.001);
  for (json& sample : document["samples"]) {
    if (sample["side"] == "b") sample["charged"] = 200;
  }
  EXPECT_TRUE(MovedCounters(document).empty());
}

// An engine that does not count something has not counted 0 of it. A counter that a side has in
// some samples was 0 in the others.
TEST(AbAnswersTest, ACounterThatOneEngineLacksHasNotMoved) {
  json document = Comparison(8, 1, 0.001);
  for (json& sample : document["samples"]) {
    if (sample["side"] == "a") sample["counters"]["block_hits"] = 200;
    if (sample["side"] == "b" || sample["load"] == 0) sample["counters"]["syncs"] = 500;
  }
  std::vector<std::string> names;
  for (const Moved& moved : MovedCounters(document)) names.push_back(moved.counter);
  EXPECT_THAT(names, testing::ElementsAre("syncs", "context_switches"));
}

TEST(AbAnswersTest, AMetricOfOneSideIsShownAndNamesTheOther) {
  json document = Comparison(8, 1, 0.001);
  for (json& sample : document["samples"]) {
    if (sample["side"] == "b") sample["metrics"].erase("engine_asks");
  }
  const AbAnswer asks = Find(AbAnswers(document), "engine_asks");
  EXPECT_EQ(asks.answer.reason, Reason::kNoValues);
  EXPECT_THAT(AbReportText(document),
              testing::ContainsRegex("engine_asks +3\\.00 +- +- +cannot be told"));
  document["fail_if"] = {"engine_asks > 1 %"};
  EXPECT_THAT(AbReportText(document),
              HasSubstr("b against a: cannot be told: engine_asks was not measured on b\n"));
  EXPECT_EQ(AbExitCode(document), 125);
}

// A comparison must not wait for more loads to decide a metric that is not measured. It waits for
// one that is.
TEST(AbAnswersTest, MoreLoadsTellNothingOfWhatIsNotMeasured) {
  json document = LoadsApart(4, 0.97, 0.05);
  document["fail_if"] = {"rate < -3 %"};
  EXPECT_TRUE(MayStillTell(document));
  document["fail_if"] = {"wire_round_trips > 1 %"};
  EXPECT_FALSE(MayStillTell(document)) << "the rate is not what is asked about";
  EXPECT_FALSE(IsAnswered(document));
  document["fail_if"] = {"wire_round_trips > 1 %", "rate < -3 %"};
  EXPECT_TRUE(MayStillTell(document));
  document["fail_if"] = {"wire_round_trips > 1 %", "rate < -60 %"};
  EXPECT_FALSE(MayStillTell(document)) << "the rate is judged";
  document["loads"] = 2;
  EXPECT_TRUE(MayStillTell(document));
}

// When the user has set the rate, the answer on the rate tells nothing.
TEST(AbAnswersTest, AtASetRateTheLatencyIsWhatIsAsked) {
  json document = Comparison(8, 1, 0.0001);
  for (json& sample : document["samples"]) {
    const int load = sample["load"];
    sample["metrics"]["p99"] = load % 2 == 0 || sample["side"] == "a" ? 100 : 110;
  }
  EXPECT_TRUE(IsAnswered(document));
  document["asked"] = {"p99"};
  EXPECT_FALSE(IsAnswered(document));
  EXPECT_FALSE(Find(AbAnswers(document), "rate").asked);
  for (json& sample : document["samples"]) {
    if (sample["side"] == "b") sample["metrics"]["p99"] = 150;
  }
  EXPECT_TRUE(IsAnswered(document));
  EXPECT_TRUE(AbReportText(document).starts_with("p99 of b is higher by 50 %"))
      << AbReportText(document);
}

// Returns the lines of a report above the first empty one, which are the answer.
std::string TopOf(const json& document) {
  const std::string text = AbReportText(document);
  return text.substr(0, text.find("\n\n"));
}

// The metrics of slices leave out the rest between them, so an answer is wrong by the work that a
// side puts off until its rest.
TEST(AbAnswersTest, WorkAtRestThatTheMetricsLeaveOutIsToldWithTheAnswer) {
  const std::string left_out = "in the rests between its slices, which the metrics leave out";
  json document = Comparison(4, 1, 0.001);
  const auto rests = [&](double cpu) {
    for (json& sample : document["samples"]) {
      const bool b = sample["side"] == "b";
      sample["metrics"]["cpu_us"] = 1000;
      sample["counters"] = {{"cpu_user_seconds", 0.09}, {"cpu_system_seconds", 0.01}};
      sample["rest"] = {{"seconds", 0.2}};
      if (b) sample["rest"]["cpu_system_seconds"] = cpu;
      // Before its first slice a side waits until the other side is loaded. That is no rest.
      if (sample["block"] == 0) sample["rest"]["cpu_user_seconds"] = 5;
      // A load that one side did not finish counts for no answer.
      if (sample["load"] == 3) sample["rest"]["cpu_user_seconds"] = 5;
    }
    document["loads"] = 3;
  };
  rests(0.0009);
  EXPECT_THAT(AbReportText(document), Not(HasSubstr(left_out)));
  rests(0.0011);
  EXPECT_THAT(TopOf(document), HasSubstr("\nside b did 1.1 % of its cpu_us " + left_out));
  EXPECT_THAT(TopOf(document), Not(HasSubstr("side a did")));
  rests(0);
  for (json& sample : document["samples"]) {
    if (sample["side"] == "b") continue;
    sample["counters"].update({{"block_requests", 300}, {"block_hits", 200}});
    sample["rest"].update({{"block_requests", 100}, {"block_hits", 100}, {"device_reads", 70}});
    sample["rest"].update({{"file_writes", 3}, {"wire_sent_bytes", 1}});
    sample["rest"]["kernel_read_bytes"] = 4096;
    sample["metrics"].update({{"engine_misses", 1}, {"device_reads", 1}});
  }
  // The sentence names no metric without an answer, and none of the device, which works for other
  // sides while this one rests.
  EXPECT_THAT(TopOf(document), HasSubstr("\nside a did 25 % of its engine_asks " + left_out));
  for (json& sample : document["samples"]) {
    for (const char* name : {"file_writes", "kernel_read_bytes", "wire_sent_bytes"}) {
      sample["metrics"][name] = 1;
    }
  }
  EXPECT_THAT(TopOf(document),
              HasSubstr("\nside a did 25 % of its engine_asks, 100 % of its file_writes, 100 % of "
                        "its kernel_read_bytes, 100 % of its wire_sent_bytes " +
                        left_out));
}

// The misses of an engine that does not count what its cache is asked for are the blocks that it
// read, at rest as in the metric.
TEST(AbAnswersTest, BlocksThatAreReadAtRestAreMissesOfAnEngineThatCountsNoRequests) {
  json document = Comparison(4, 1, 0.001);
  for (json& sample : document["samples"]) {
    const bool b = sample["side"] == "b";
    sample["metrics"]["engine_misses"] = 3;
    sample["counters"] = {{"block_reads", 300}};
    // Side a counts requests. What it reads ahead at rest is no miss.
    if (!b) sample["counters"].update({{"block_requests", 900}, {"block_hits", 600}});
    sample["rest"] = {{"seconds", 0.2}, {"block_reads", 100}};
  }
  EXPECT_THAT(TopOf(document), HasSubstr("\nside b did 25 % of its engine_misses in the rests"));
  EXPECT_THAT(TopOf(document), Not(HasSubstr("side a did")));
}

// Without a warm-up the first slice follows the load. Once, the table had the wait between them.
TEST(AbAnswersTest, TheWaitForTheLoadsOfOthersIsNoRest) {
  json document = Comparison(3, 1, 0.001);
  for (json& sample : document["samples"]) {
    const double wait = sample["block"] == 0 ? 60 : 0;
    sample["rest"] = {{"seconds", 0.2 + wait}, {"cpu_user_seconds", 0.02 + wait}};
  }
  const Table table = RestOfAb(document);
  ASSERT_FALSE(table.empty());
  EXPECT_THAT(table.Text(), HasSubstr(" 0.100 ")) << "processors";
  for (json& sample : document["samples"]) sample["block"] = 0;
  EXPECT_TRUE(RestOfAb(document).empty());
}

// Once, the table had 0 reads and writes of the files of an engine that calls the system itself,
// and 0 requests without the kernel's account.
TEST(AbAnswersTest, AtRestALevelThatWasNotCountedIsNotKnown) {
  json document = Comparison(3, 1, 0.001);
  for (json& sample : document["samples"]) {
    sample["rest"] = {{"seconds", 0.5}};
    if (sample["side"] == "a") continue;
    sample["counters"].update({{"file_reads", 7}, {"file_writes", 0}});
    sample["rest"]["file_reads"] = 15;
  }
  using Row = std::vector<std::string>;
  // A load has three rests, between its four slices.
  EXPECT_THAT(RestOfAb(document).rows(),
              testing::ElementsAre(Row{"a", "4.50", "0", "-", "-", "-", "-"},
                                   Row{"b", "4.50", "0", "30.0", "0", "-", "-"}));
}

// The answer must say that a setting was not in force: a side with more memory than --ram is not
// the side that the user wanted to measure.
TEST(AbAnswersTest, ASettingThatIsNotInForceIsToldWithTheAnswer) {
  const std::string of_b = "side b: --ram is not enforced, caches may hold more: a server";
  const std::string of_all = "--readahead is not in force: only root may";
  json document = Comparison(4, 1, 0.001);
  document["notes"] = {of_b, "something else", of_all};
  document["not_in_force"] = {{{"option", "ram"}, {"why", "a server"}, {"side", "b"}},
                              {{"option", "readahead"}, {"why", "only root may"}}};
  EXPECT_THAT(TopOf(document), testing::StartsWith("the same within"));
  EXPECT_THAT(TopOf(document), testing::EndsWith("\n" + of_b + "\n" + of_all));
  const std::string text = AbReportText(document);
  EXPECT_EQ(text.find(of_b), text.rfind(of_b));
  EXPECT_THAT(text, HasSubstr("\nsomething else\n"));
  for (const AbWords::Saying& said : WordsOfAb(document, AbAnswers(document)).sentences) {
    EXPECT_EQ(said.alarm, said.text.find("--") != std::string::npos) << said.text;
  }
}

// With one --ram and direct IO, one engine may hold half of what another holds.
TEST(AbAnswersTest, EnginesThatHeldUnequalMemoryAreToldWithTheAnswer) {
  json document = Comparison(4, 1, 0.001);
  const auto hold = [&document](int mib_of_b) {
    for (json& sample : document["samples"]) {
      const int mib = sample["side"] == "b" ? mib_of_b : 100;
      sample["metrics"]["memory_held"] = mib << 20;
    }
  };
  hold(80);
  EXPECT_THAT(TopOf(document), Not(HasSubstr("held memory"))) << "sides of one engine";
  document["sides"][1]["options"]["engine"] = "btree";
  EXPECT_THAT(TopOf(document),
              testing::EndsWith("\nsides of different engines held memory more than 10 % apart: a "
                                "100M, b 80M"));
  hold(91);
  EXPECT_THAT(TopOf(document), Not(HasSubstr("held memory")));
  for (json& sample : document["samples"]) {
    if (sample["side"] == "b") sample["metrics"].erase("memory_held");
  }
  EXPECT_THAT(TopOf(document), Not(HasSubstr("held memory"))) << "it is not known";
}

TEST(AbAnswersTest, AnErrorOfNoSideIsTold) {
  json document = Comparison(4, 1, 0.001);
  document["errors"] = {{{"sentence", "the disk is gone"}, {"exit_code", 1}}};
  EXPECT_THAT(AbReportText(document), HasSubstr("the comparison failed: the disk is gone"));
  EXPECT_EQ(AbExitCode(document), 1);
}

TEST(AbAnswersTest, TheLoadsThatCountMakeTheEffect) {
  bool some_wait = false;
  for (const int loads : {3, 8, 11}) {
    json document = Comparison(loads, 0.9, 0.01);
    document.erase("seconds");  // the comparison goes on
    const std::vector<SideEffects> sides = RateByLoad(document);
    ASSERT_EQ(sides.size(), 1u);
    EXPECT_EQ(sides[0].side, "b");
    ASSERT_EQ(sides[0].loads.size(), static_cast<size_t>(loads));
    const Answer answer = Find(AbAnswers(document), "rate").answer;
    int counted = 0;
    double sum = 0;
    for (const LoadEffect& load : sides[0].loads) {
      if (!load.counted) continue;
      ++counted;
      sum += std::log(load.effect);
    }
    EXPECT_EQ(counted, answer.loads_a);
    EXPECT_NEAR(sum / counted, std::log(answer.effect), 1e-12);
    some_wait = some_wait || counted < loads;
  }
  EXPECT_TRUE(some_wait) << "loads that wait for the next look are not in this test";
}

TEST(AbAnswersTest, NoLoadWaitsWhenTheComparisonHasEnded) {
  json document = Comparison(11, 0.9, 0.01);
  EXPECT_EQ(Find(AbAnswers(document), "rate").answer.loads_a, 11);
  for (const LoadEffect& load : RateByLoad(document)[0].loads) EXPECT_TRUE(load.counted);
  document.erase("seconds");
  EXPECT_EQ(Find(AbAnswers(document), "rate").answer.loads_a, 10);
}

// A disturbance stretches a slice of side b to nine times its length. The load then did 400
// operations in 0.3 s, and its rate is that quotient, not the mean of its slices' rates.
TEST(AbAnswersTest, TheRateOfALoadIsItsOperationsByItsSeconds) {
  json document = Comparison(4, 1, 0);
  for (json& sample : document["samples"]) {
    const bool stretched = sample["side"] == "b" && sample["block"] == 0;
    const double seconds = sample["side"] == "a" ? 0.1 : stretched ? 0.225 : 0.025;
    sample["seconds"] = seconds;
    sample["metrics"] = {{"rate", 100 / seconds},
                         {"mean", 1e6 * seconds / 100},
                         {"update.rate", 50 / seconds},
                         {"cpu_us", 3}};
  }
  const std::vector<AbAnswer> answers = AbAnswers(document);
  EXPECT_NEAR(Find(answers, "rate").answer.a, 1000, 1e-6);
  EXPECT_NEAR(Find(answers, "rate").answer.b, 400 / 0.3, 1e-6);
  EXPECT_NEAR(Find(answers, "update.rate").answer.b, 200 / 0.3, 1e-6);
  EXPECT_NEAR(Find(answers, "mean").answer.b, 0.3e6 / 400, 1e-6);
  EXPECT_NEAR(Find(answers, "rate").answer.effect * Find(answers, "mean").answer.effect, 1, 1e-9);
  EXPECT_EQ(Find(answers, "cpu_us").answer.outcome, Outcome::kSame);
}

// At a set rate the user asks about the p99 of each kind of operation. With several of them the
// chance grows that one seems to differ, so they are corrected together.
TEST(AbAnswersTest, SeveralMetricsThatItWasMadeForAreCorrectedTogether) {
  json document = Comparison(8, 1, 0.001);
  for (json& sample : document["samples"]) {
    const int load = sample["load"];
    const double one = load % 2 == 0 ? 0.02 : -0.02, other = load / 2 % 2 == 0 ? 0.02 : -0.02;
    const bool b = sample["side"] == "b";
    sample["metrics"]["update.p99"] = 100 * std::exp(one + (b ? 0.0317 + other : 0));
    sample["metrics"]["point-read.p99"] = 100 * std::exp(b ? one : other);
  }
  document["asked"] = {"update.p99"};
  const Answer alone = Find(AbAnswers(document), "update.p99").answer;
  EXPECT_EQ(alone.outcome, Outcome::kMore);
  ASSERT_GT(alone.p, 0.025) << "two at this level are not told";
  document["asked"] = {"point-read.p99", "update.p99"};
  EXPECT_NE(Find(AbAnswers(document), "update.p99").answer.outcome, Outcome::kMore);
  EXPECT_NEAR(Find(AbAnswers(document), "update.p99").answer.p, 2 * alone.p, 1e-9);
  EXPECT_FALSE(IsAnswered(document));
  // A metric that the user asks for is tested by itself.
  document["asked"] = {"rate"};
  document["fail_if"] = {"update.p99 > 1 %", "point-read.p99 > 1 %"};
  EXPECT_EQ(Find(AbAnswers(document), "update.p99").answer.outcome, Outcome::kMore);
}

// The latency of updates doubles on side b; that of reads stays, and so does the rate.
TEST(AbAnswersTest, EachKindOfOperationIsAnsweredApart) {
  json document = Comparison(8, 1, 0.001);
  for (json& sample : document["samples"]) {
    const double near = 1 + 0.001 * sample["load"].get<int>();
    sample["metrics"]["update.p99"] = (sample["side"] == "b" ? 200 : 100) * near;
    sample["metrics"]["point-read.p99"] = 50 * near;
    sample["metrics"]["point-read.rate"] = 500 * near;
  }
  const std::vector<AbAnswer> answers = AbAnswers(document);
  const AbAnswer update = Find(answers, "update.p99"), read = Find(answers, "point-read.p99");
  EXPECT_EQ(update.answer.outcome, Outcome::kMore);
  EXPECT_NEAR(update.answer.effect, 2, 1e-6);
  EXPECT_EQ(read.answer.outcome, Outcome::kSame);
  EXPECT_FALSE(update.asked);
  // The metric of a kind of operations has the resolution of the general metric.
  EXPECT_EQ(update.metric.resolution, FindMetric("p99")->resolution);
  EXPECT_TRUE(Find(answers, "point-read.rate").metric.speed);
  EXPECT_THROW(Find(answers, "p99"), std::out_of_range);
  std::vector<std::string> last;
  for (const AbAnswer& answer : answers) last.push_back(answer.metric.name);
  last.erase(last.begin(), last.end() - 3);
  EXPECT_THAT(last, testing::ElementsAre("point-read.rate", "point-read.p99", "update.p99"));

  document["fail_if"] = {"update.p99 > 20 %", "point-read.p99 > 20 %"};
  const std::vector<Judged> judged = JudgeConditions(document);
  ASSERT_EQ(judged.size(), 2u);
  EXPECT_EQ(judged[0].condition.metric, "point-read.p99");
  EXPECT_EQ(judged[0].judgement, Judgement::kDoesNotHold);
  EXPECT_EQ(judged[1].judgement, Judgement::kHolds);
  EXPECT_TRUE(Find(AskedAnswers(document), "update.p99").asked);
  EXPECT_THAT(AbReportText(document), HasSubstr("b against a: update.p99 of b is higher by"));
  EXPECT_EQ(AbExitCode(document), 3);
}

TEST(AbAnswersTest, ARateOfOneKindIsNamed) {
  json document = Comparison(8, 1, 0.001);
  for (json& sample : document["samples"]) {
    sample["metrics"]["update.rate"] = sample["side"] == "b" ? 80 : 100;
  }
  document["fail_if"] = {"update.rate < -3 %"};
  EXPECT_THAT(AbReportText(document), HasSubstr("b against a: update.rate of b is slower by 20 %"));
}

TEST(AbAnswersTest, CountersBeyondThoseShownAreCounted) {
  json document = Comparison(8, 1, 0.001);
  EXPECT_THAT(AbReportText(document), Not(HasSubstr("that moved furthest")));
  EXPECT_THAT(AbReportText(document), HasSubstr("What moved with it in the slices, per operation"));
  for (json& sample : document["samples"]) {
    for (int counter = 0; counter < 14; ++counter) {
      sample["counters"]["counter" + std::to_string(counter)] =
          (sample["side"] == "b" ? 103 + counter : 100);
    }
  }
  // 15 counters moved: the one that doubles, and 14 others.
  EXPECT_THAT(AbReportText(document),
              HasSubstr("(facts, not causes): the 12 of 15 that moved furthest"));
}

TEST(AbAnswersTest, SamplesOfALoadThatIsNotWholeAnswerNothing) {
  json document = Comparison(8, 1, 0.001);
  document["samples"].push_back({{"side", "b"},
                                 {"load", 8},
                                 {"block", 0},
                                 {"seconds", 1},
                                 {"count", 1},
                                 {"metrics", {{"rate", 1}}},
                                 {"counters", json::object()}});
  EXPECT_EQ(Find(AbAnswers(document), "rate").answer.outcome, Outcome::kSame);
}

// The 99.9th percentile of 200 latencies is the slowest of them. That of 800 latencies of the same
// distribution is slower, so the report must tell the numbers.
TEST(AbAnswersTest, PercentilesOfShortSlicesAreTold) {
  json document = Comparison(4, 1, 0.001);
  for (json& sample : document["samples"]) {
    sample["metrics"].update({{"p99", 100}, {"p999", 200}});
    sample["count"] = 2000;
  }
  const std::string of_p999 = "\np999: the slices of most loads had too few operations for such";
  EXPECT_THAT(AbReportText(document), HasSubstr(of_p999));
  for (json& sample : document["samples"]) sample["count"] = 200;
  EXPECT_THAT(AbReportText(document),
              HasSubstr("\np99, p999: the slices of most loads had too few"));
  for (json& sample : document["samples"]) sample["count"] = 20000;
  EXPECT_THAT(AbReportText(document), Not(HasSubstr("too few operations")));
  for (const int few : {2, 3}) {
    for (json& sample : document["samples"]) {
      sample["count"] = sample["load"].get<int>() < few ? 200 : 20000;
    }
    EXPECT_EQ(AbReportText(document).find("too few operations") != std::string::npos, few == 3)
        << "half of the loads are not most of them";
  }
}

// The runs of rounds are short, too. Runs of 2 s at 400 and 600 operations a second have 800 and
// 1200 latencies.
TEST(AbAnswersTest, PercentilesOfShortRunsAreTold) {
  json document = Comparison(4, 1, 0.001);
  document["slice_seconds"] = nullptr;
  for (json& sample : document["samples"]) {
    sample.update({{"count", 2000}, {"seconds", 2.0}});
    sample["block"] = sample["block"] == 0 ? -1 : 0;
    sample["metrics"].update({{"update.p99", 100}, {"update.rate", 400}});
    sample["metrics"].update({{"insert.p99", 100}, {"insert.rate", 600}});
  }
  auto& samples = document["samples"].get_ref<json::array_t&>();
  std::erase_if(samples, [](const json& sample) { return sample["block"] != -1; });
  EXPECT_THAT(AbReportText(document),
              HasSubstr("\nupdate.p99: the runs of most loads had too few operations for such a "
                        "percentile, which then rises with the rate of a side; give longer runs "
                        "(--seconds"));
  for (json& sample : samples) sample["metrics"]["p99"] = 100;
  EXPECT_THAT(AbReportText(document), HasSubstr("\nupdate.p99: the runs")) << "2000 tell it";
  for (json& sample : samples) sample["told"] = {{"p99", 999}};
  EXPECT_THAT(AbReportText(document), HasSubstr("\np99, update.p99: the runs"))
      << "the others kept rows for their check";
  for (json& sample : samples) {
    sample.erase("told");
    sample["count"] = 500;
  }
  EXPECT_THAT(AbReportText(document), HasSubstr("\np99, update.p99: the runs"));
}

TEST(AbAnswersTest, PercentilesOfAClosedLoopSayWhatTheyLeaveOut) {
  json document = Comparison(4, 1, 0.001);
  EXPECT_THAT(AbReportText(document), Not(HasSubstr("closed loop"))) << "there are none";
  for (json& sample : document["samples"]) sample["metrics"]["update.p99"] = 100;
  EXPECT_THAT(AbReportText(document), HasSubstr("\nclosed loop: each client begins its next"));
  for (json& sample : document["samples"]) sample["metrics"]["update.intended_p99"] = 100;
  EXPECT_THAT(AbReportText(document), Not(HasSubstr("closed loop"))) << "they have a rate";
}

TEST(AbAnswersTest, FiguresOfTheOtherSideAreShownWhenOneFailed) {
  json document = Comparison(1, 1, 0);
  document["loads"] = 0;
  auto& samples = document["samples"].get_ref<json::array_t&>();
  std::erase_if(samples, [](const json& sample) { return sample["side"] == "b"; });
  document["errors"] = {{{"side", "b"}, {"sentence", "it died"}}};
  for (json& sample : samples) sample["metrics"]["p50"] = 77;
  const std::string text = AbReportText(document);
  EXPECT_THAT(text, testing::StartsWith("cannot be told: no load was finished by all sides\n"));
  EXPECT_THAT(text, testing::ContainsRegex("rate +1000 +-"));
  EXPECT_THAT(text, testing::ContainsRegex("p50 +77\\.0 +-"));
  // A slice that was stretched to a second slows the whole: 400 operations in 1.6 s.
  samples[0]["seconds"] = 1;
  samples[0]["metrics"]["rate"] = 100;
  for (size_t i = 1; i < samples.size(); ++i) samples[i]["metrics"]["rate"] = 500;
  EXPECT_THAT(AbReportText(document), testing::ContainsRegex("rate +250 +-"));
}

}  // namespace
}  // namespace testbed
