// Tests that no part of a shipped finding is true or false by construction, and that each published
// finding is written out in full.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "engines/registry.h"
#include "tests/every_way.h"
#include "tests/unit/tools/experiment/engine_here.h"
#include "tests/unit/tools/release/every_release.h"
#include "tools/experiment/expression.h"
#include "tools/experiment/plan/plan.h"
#include "tools/experiment/verdict/resample.h"
#include "tools/experiment/verdict/verdict.h"
#include "workloads/random.h"

namespace testbed {
namespace {

using CellValues = std::vector<double>;

// The statement of a part over the planned cells of a scale, and searches for figures that make it
// false or true.
class PartSearch {
 public:
  PartSearch(const Experiment& e, const std::vector<Cell>& cells, const std::string& holds)
      : e_(e), cells_(cells), whole_(Make(holds)), random_(7), normal_(8) {
    for (const std::string& term : Conjuncts(holds)) AddTerm(term);
    for (size_t at = 0; at < holds.size(); ++at) {
      if (!std::isdigit(static_cast<unsigned char>(holds[at]))) continue;
      char* end = nullptr;
      literals_.push_back(std::strtod(holds.c_str() + at, &end));
      at = static_cast<size_t>(end - holds.c_str());
    }
  }

  // Returns the statements that "&&" joins into the text.
  static std::vector<std::string> Conjuncts(const std::string& text) {
    std::vector<size_t> ends;
    OutsideOfBrackets(text, [&](size_t at) {
      if (text.compare(at, 2, "&&") == 0) ends.push_back(at);
    });
    ends.push_back(text.size());
    std::vector<std::string> conjuncts;
    size_t begin = 0;
    for (size_t end : ends) {
      conjuncts.push_back(text.substr(begin, end - begin));
      begin = end + 2;
    }
    return conjuncts;
  }

  // Returns whether every label that the statement names has a cell at this scale.
  bool CanBeJudged() const {
    return std::all_of(
        whole_->selections().begin(), whole_->selections().end(),
        [&](const Selection& selection) { return UnplannedLabel(cells_, selection).empty(); });
  }

  // Returns whether some figures make the statement false. Each drawn figure of a run is a positive
  // number, or equal to another figure; the metrics are computed from them.
  bool CanBeFalse() {
    for (int trial = 0; trial < 300; ++trial) {
      std::map<size_t, Figures> runs;
      CellValues drawn = {0, 1, Any()};
      CellValues values;
      for (const Statement::Figure& figure : whole_->figures()) {
        const std::string& expression = e_.FindMetric(figure.metric)->expression;
        for (const std::string& name : FiguresNamed(expression)) {
          drawn.push_back(trial % 2 == 0 ? Any() : drawn[random_.Below(drawn.size())]);
          runs[figure.cell].try_emplace(name, drawn.back());
        }
        values.push_back(EvaluateFigures(expression, runs[figure.cell]));
      }
      if (std::any_of(values.begin(), values.end(), [](double v) { return !std::isfinite(v); })) {
        continue;
      }
      if (whole_->Evaluate(values) == 0) return true;
    }
    return false;
  }

  // Returns whether some metrics make the statement true. The search begins with any metrics, and
  // moves to metrics that violate the statement less.
  bool CanBeTrue() {
    for (int start = 0; start < 8; ++start) {
      CellValues values(whole_->figures().size());
      for (double& v : values) v = Any();
      double violation = Violation(values);
      for (int step = 0; step < 6000; ++step) {
        if (whole_->Evaluate(values) == 1) return true;
        const CellValues next = Moved(values);
        const double after = Violation(next);
        if (after > violation) continue;
        values = next;
        violation = after;
      }
    }
    return false;
  }

 private:
  // A term of the statement: left < right, left > right, left close to right, or any other term.
  struct Term {
    char kind;  // '<', '>', '=', '?'
    std::unique_ptr<Statement> all, left, right;
  };

  std::unique_ptr<Statement> Make(const std::string& expression) const {
    return std::make_unique<Statement>(
        expression, [&](const std::string& name) { return e_.FindMetric(name) != nullptr; },
        [&](const Selection& selection) {
          return MatchingGroups(cells_, selection.where,
                                [&](size_t i) { return cells_[i].runs(); });
        });
  }

  // Calls use(position) for each character outside of brackets.
  template <typename F>
  static void OutsideOfBrackets(const std::string& text, F use) {
    int depth = 0;
    for (size_t at = 0; at < text.size(); ++at) {
      depth += text[at] == '(' || text[at] == '[';
      depth -= text[at] == ')' || text[at] == ']';
      if (depth == 0) use(at);
    }
  }

  void AddTerm(const std::string& text) {
    Term term{'?', Make(text), nullptr, nullptr};
    const size_t within = text.find("within(");
    size_t comparison = std::string::npos;
    bool alternatives = false;
    OutsideOfBrackets(text, [&](size_t at) {
      const bool compares = text[at] == '<' || text[at] == '>' || text[at] == '=';
      if (compares && comparison == std::string::npos) comparison = at;
      alternatives = alternatives || text[at] == '|' || text[at] == '?' || text[at] == '!';
    });
    if (comparison != std::string::npos && !alternatives) {
      term.kind = text[comparison];
      const size_t length = comparison + 1 < text.size() && text[comparison + 1] == '=' ? 2 : 1;
      term.left = Make(text.substr(0, comparison));
      term.right = Make(text.substr(comparison + length));
    } else if (within != std::string::npos &&
               text.find_first_not_of(" \n") == within) {  // within(a, b, share)
      const std::string inside = text.substr(within + 7, text.rfind(')') - within - 7);
      std::vector<size_t> commas;
      OutsideOfBrackets(inside, [&](size_t at) {
        if (inside[at] == ',') commas.push_back(at);
      });
      if (commas.size() == 2) {
        term.kind = '=';
        term.left = Make(inside.substr(0, commas[0]));
        term.right = Make(inside.substr(commas[0] + 1, commas[1] - commas[0] - 1));
      }
    }
    terms_.push_back(std::move(term));
  }

  // Evaluates a term. `values` are in the order of the whole statement's figures, which may differ
  // from the order of the term's.
  double At(const Statement& statement, const CellValues& values) const {
    CellValues own;
    for (const Statement::Figure& figure : statement.figures()) {
      const auto& all = whole_->figures();
      const auto at = std::find(all.begin(), all.end(), figure) - all.begin();
      own.push_back(values[static_cast<size_t>(at)]);
    }
    return statement.Evaluate(own);
  }

  double Violation(const CellValues& values) const {
    double sum = 0;
    for (const Term& term : terms_) {
      if (At(*term.all, values) != 0) continue;
      sum += 0.01;
      if (term.kind == '?') {
        sum += 1;
        continue;
      }
      const double left = At(*term.left, values), right = At(*term.right, values);
      const double size = std::abs(left) + std::abs(right);
      const double apart = term.kind == '<'   ? left - right
                           : term.kind == '>' ? right - left
                                              : std::abs(left - right);
      if (std::isfinite(apart) && size > 0) sum += std::max(0.0, apart) / size;
    }
    return sum;
  }

  double Any() { return std::exp(std::log(1e-3) + random_.Unit() * std::log(1e9)); }

  CellValues Moved(CellValues values) {
    if (values.empty()) return values;
    // Mostly one figure is moved; sometimes all figures of a metric, as statements about groups
    // need.
    const size_t one = random_.Below(values.size());
    const bool group = random_.Below(4) == 0;
    const uint64_t how = random_.Below(6);
    const double factor = std::exp(normal_() * (how == 0 ? 0.03 : how == 1 ? 0.3 : 2));
    const double literal = literals_.empty() ? 1 : literals_[random_.Below(literals_.size())];
    const double other = values[random_.Below(values.size())];
    for (size_t i = 0; i < values.size(); ++i) {
      const bool moves =
          i == one || (group && whole_->figures()[i].metric == whole_->figures()[one].metric);
      if (!moves) continue;
      values[i] = how < 3 ? values[i] * factor : how == 3 ? literal : how == 4 ? other : Any();
    }
    return values;
  }

  const Experiment& e_;
  const std::vector<Cell>& cells_;
  const std::unique_ptr<Statement> whole_;
  std::vector<Term> terms_;
  CellValues literals_;
  Random random_;
  Normal normal_;
};

bool AllEnginesAreHere() { return std::all_of(Engines().begin(), Engines().end(), IsEngineHere); }

class ShippedFindingsTest : public testing::TestWithParam<std::string> {};

TEST_P(ShippedFindingsTest, EachPartCanBeTrueAndCanBeFalse) {
  const EveryRelease releases;
  const Experiment e = LoadExperiment(GetParam());
  std::map<std::string, std::vector<Cell>> plans;
  for (const char* scale : {"small", "full"}) {
    plans[scale] = PlanCells(e, {scale, {}, {}, {}, 1});
  }
  for (const Finding& finding : e.findings) {
    if (!finding.untestable.empty()) continue;
    for (const FindingPart& part : finding.parts) {
      if (!part.untestable.empty() || part.holds.empty()) continue;
      bool judged = false;
      for (const auto& [scale, cells] : plans) {
        PartSearch search(e, cells, part.holds);
        if (!search.CanBeJudged()) continue;
        judged = true;
        const std::string where = finding.id + " at " + scale + ": " + part.says;
        EXPECT_TRUE(search.CanBeFalse()) << where << " is true whatever is measured";
        // A term that cannot fail would make the part look like more than it is.
        for (const std::string& term : PartSearch::Conjuncts(part.holds)) {
          EXPECT_TRUE(PartSearch(e, cells, term).CanBeFalse())
              << where << ": of it, " << term << " is true whatever is measured";
        }
        EXPECT_TRUE(search.CanBeTrue()) << where << ": no figures were found that make it true";
        if (part.needs.empty()) continue;
        PartSearch setting(e, cells, part.needs);
        EXPECT_TRUE(setting.CanBeTrue() && setting.CanBeFalse()) << where << ": its setting";
      }
      EXPECT_TRUE(judged || !AllEnginesAreHere())
          << finding.id << ": " << part.says << " names cells that no scale has";
    }
  }
}

// Returns the selections of an expression of the experiment.
std::vector<Selection> SelectionsOf(const Experiment& e, const std::string& expression) {
  const Statement statement(
      expression, [&](const std::string& name) { return e.FindMetric(name) != nullptr; },
      [](const Selection&) { return Statement::Groups{{0}}; });
  return statement.selections();
}

// Expects that the scale has the cells of each part that it asks. Once, the verdict on a finding
// was "not judged at this scale" for a label in a list that small skips.
void ExpectJudged(const Experiment& e, const std::string& scale, const std::vector<Cell>& cells) {
  for (const Finding& finding : e.findings) {
    for (const FindingPart& part : finding.parts) {
      if (part.holds.empty() || !IsOneOf(e, scale, part.scales)) continue;
      for (const Selection& selection : SelectionsOf(e, part.holds)) {
        EXPECT_EQ(UnplannedLabel(cells, selection), "")
            << finding.id << " at " << scale << ": " << part.says;
      }
    }
  }
}

// A forgotten axis would make a comparison one of several cells, which is true whatever they are.
TEST_P(ShippedFindingsTest, EachSelectionNamesOneCellWhereOneIsNeededAndTheScaleHasIt) {
  const EveryRelease releases;
  const Experiment e = LoadExperiment(GetParam());
  std::vector<std::string> scales = {"tiny", "small", "full"};
  if (EveryWay()) scales.emplace_back("0.1");  // it plans the cells of full
  for (const std::string& scale : scales) {
    const std::vector<Cell> cells = PlanCells(e, {scale, {}, {}, {}, 1});
    EXPECT_NO_THROW(CheckSelections(e, scale, cells)) << scale;
    if (scale != "tiny" && AllEnginesAreHere()) ExpectJudged(e, scale, cells);
  }
}

// Returns the figures that the text gives with three digits or more. Versions, such as 2.4.9, and
// sizes of the setting, such as "1000 rows" and "100 M", are none.
std::set<std::string> FiguresGiven(const std::string& text) {
  const auto character = [&](size_t at) { return at < text.size() ? text[at] : '\0'; };
  const auto digit = [&](size_t at) {
    return std::isdigit(static_cast<unsigned char>(character(at))) != 0;
  };
  const auto letter = [&](size_t at) {
    return std::isalpha(static_cast<unsigned char>(character(at))) != 0 || character(at) == '_';
  };
  std::set<std::string> figures;
  for (size_t at = 0; at < text.size(); ++at) {
    if (!digit(at)) continue;
    const size_t begin = at;
    size_t digits = 0, dots = 0;
    for (; digit(at) || (character(at) == '.' && digit(at + 1)); ++at) {
      ++(digit(at) ? digits : dots);
    }
    const bool of_name = begin > 0 && letter(begin - 1);
    const bool setting =
        text.compare(at, 5, " rows") == 0 || (text.compare(at, 2, " M") == 0 && !letter(at + 2));
    if (digits >= 3 && dots <= 1 && !of_name && !setting) {
      figures.insert(text.substr(begin, at - begin));
    }
  }
  return figures;
}

TEST(FiguresGivenTest, LeavesOutVersionsNamesAndSettings) {
  EXPECT_EQ(FiguresGiven("8743 -> 15921.5, 0.672 (2.4.9, 4.3, rows_100, 100 M rows, 1000 rows, "
                         "500 MB, 42 GB), 207"),
            (std::set<std::string>{"0.672", "15921.5", "207", "500", "8743"}));
}

// Figures of a claim that no statement compares with, and why none does.
struct Unjudged {
  const char* finding;
  std::set<std::string> figures;
  const char* why;
};
std::vector<Unjudged> FiguresWithoutAStatement() {
  return {{"A1", {"309"}, "the bytes of an append are of the setting"},
          {"A3",
           {"1771", "1815", "370923966", "385104140", "656878594048", "699055440580"},
           "these commits are of the setting: `needs` asks for their mean, 1793"},
          {"A6", {"9.66"}, "it is the quotient of two others, which is judged"},
          {"B3",
           {"11.64", "11.75", "13.78", "15.83", "7.95"},
           "shares of functions of other programs, of which the order is asked"},
          {"C2", {"0.672", "0.842"}, "they lie between two others, of which the order is asked"},
          {"C3", {"128366"}, "it lies between two others, of which the order is asked"},
          {"D8", {"1051", "1053"}, "a few seconds of these are a share, which is judged"}};
}

// The findings that were published have these numbers, and each figure of a claim must be in the
// statement of a part that judges it. Once, a range stood in `published` of a part that judged
// another figure.
TEST(PublishedFindingsTest, EachIsThereOnceAndWithEachOfItsFigures) {
  const EveryRelease releases;
  std::map<std::string, int> found;
  for (const auto& [letter, last] :
       std::map<char, int>{{'A', 6}, {'B', 3}, {'C', 12}, {'D', 8}, {'E', 6}}) {
    for (int n = 1; n <= last; ++n) found[letter + std::to_string(n)] = 0;
  }
  for (const auto& [name, text] : ShippedExperiments()) {
    const Experiment e = LoadExperiment(name);
    for (const Finding& finding : e.findings) {
      if (!found.contains(finding.id)) continue;
      ++found[finding.id];
      std::set<std::string> shown, judged, unjudged;
      for (const FindingPart& part : finding.parts) {
        if (!part.stand_in.empty()) continue;
        EXPECT_NE(part.published, "") << finding.id << ": " << part.says;
        shown.merge(FiguresGiven(part.published + ", " + part.says));
        judged.merge(FiguresGiven(part.holds + ", " + part.needs));
      }
      for (const Unjudged& those : FiguresWithoutAStatement()) {
        if (those.finding == finding.id) unjudged = those.figures;
      }
      for (const std::string& figure : FiguresGiven(finding.claim)) {
        EXPECT_TRUE(shown.contains(figure)) << finding.id << ": " << figure << " is in no part";
        EXPECT_NE(judged.contains(figure), unjudged.contains(figure))
            << finding.id << ": " << figure << " must be in a statement or have a reason, not both";
      }
    }
  }
  for (const auto& [id, times] : found) EXPECT_EQ(times, 1) << id;
}

// A part that shows figures of more settings than it judges claims more than it tests.
TEST(ShippedReadSizeTest, TheStandInIsJudgedInEachBand) {
  const Experiment e = LoadExperiment("read-size");
  std::set<std::string> published, stand_in;
  for (const Finding& finding : e.findings) {
    if (finding.id != "C4") continue;
    for (const FindingPart& part : finding.parts) {
      for (const Selection& selection : SelectionsOf(e, part.holds)) {
        const std::vector<std::string>& labels = selection.where.at("readahead");
        (part.stand_in.empty() ? published : stand_in).insert(labels.begin(), labels.end());
      }
    }
  }
  EXPECT_EQ(published.size(), 5u);
  EXPECT_EQ(stand_in, published);
}

// The cells must have the settings of the published post. In an earlier version InnoDB used its
// doublewrite buffer, fractal read pages of 8k, and mmapv1's commits waited a third of 100 ms.
TEST(ShippedConcurrentInsertsTest, SettingsAreThoseOfThePost) {
  const Experiment e = LoadExperiment("concurrent-inserts");
  for (const std::string scale : {"small", "full"}) {
    for (const Cell& cell : PlanCells(e, {scale, {}, {}, {}, 1})) {
      if (!cell.planned()) continue;
      const auto option = [&](const std::string& name) {
        const auto found = cell.options.find(name);
        return found == cell.options.end() ? std::string() : found->second;
      };
      EXPECT_EQ(option("lazy-interval"), "300") << cell.name;
      if (option("engine") == "innodb") {
        EXPECT_EQ(option("engine-option.doublewrite"), "off") << cell.name;
      }
      if (option("engine") == "fractal") {
        EXPECT_EQ(option("page-size"), "64k") << cell.name;
      }
      const bool waits = option("engine") == "mmapv1" && option("durability") == "sync";
      EXPECT_EQ(option("engine-option.journal_commit_interval"), waits ? "2" : "") << cell.name;
    }
  }
}

// Everything was cached in the published measurements. Once, the number of documents was fixed:
// documents of many attributes were then larger than memory, and the rates of reading them were
// judged all the same.
TEST(ShippedNthAttributeTest, RatesAreJudgedWhereNothingIsReadFromTheDevice) {
  const Experiment e = LoadExperiment("nth-attribute");
  for (const char* scale : {"small", "full"}) {
    const std::vector<Cell> cells = PlanCells(e, {scale, {}, {}, {}, 1});
    const auto cells_of = [&](const std::string& expression) {
      const Statement statement(
          expression, [&](const std::string& name) { return e.FindMetric(name) != nullptr; },
          [&](const Selection& selection) {
            return MatchingGroups(cells, selection.where,
                                  [&](size_t i) { return cells[i].planned(); });
          });
      std::set<size_t> all;
      for (const Statement::Figure& figure : statement.figures()) all.insert(figure.cell);
      return all;
    };
    for (const Finding& finding : e.findings) {
      if (finding.id == "B4") continue;  // not of the post
      for (const FindingPart& part : finding.parts) {
        const std::string where = finding.id + " at " + scale + ": " + part.says;
        ASSERT_NE(part.needs.find("reads_per_query["), std::string::npos) << where;
        const std::set<size_t> judged = cells_of(part.holds), cached = cells_of(part.needs);
        EXPECT_FALSE(judged.empty()) << where;
        EXPECT_TRUE(std::includes(cached.begin(), cached.end(), judged.begin(), judged.end()))
            << where;
      }
    }
  }
}

// Once, memory after the 12th period was compared with the nodes of the load, of which a database
// that is cached holds many times as many by then.
TEST(ShippedLinkbenchTest, MemoryForTheDatabaseIsComparedWithItsSizeAtThatMoment) {
  const Experiment e = LoadExperiment("linkbench");
  const auto found = std::find_if(e.findings.begin(), e.findings.end(),
                                  [](const Finding& finding) { return finding.id == "E6"; });
  ASSERT_NE(found, e.findings.end());
  ASSERT_FALSE(found->parts.empty());
  const Statement statement(
      found->parts[0].holds, [&](const std::string& name) { return e.FindMetric(name) != nullptr; },
      [](const Selection&) { return Statement::Groups{{0}}; });
  EXPECT_FALSE(statement.figures().empty());
  for (const Statement::Figure& figure : statement.figures()) {
    EXPECT_TRUE(figure.metric.ends_with("_12")) << figure.metric;
  }
}

// Once, rates of a database that fits into memory, as with another --value-size, were judged as if
// it did not fit, and the other way round.
TEST(ShippedLinkbenchTest, RatesAreJudgedWhereTheDatabaseIsCachedOrNotAsThere) {
  const Experiment e = LoadExperiment("linkbench");
  size_t parts = 0;
  for (const Finding& finding : e.findings) {
    if (finding.id != "E2" && finding.id != "E3") continue;
    const std::string database = finding.id == "E2" ? "uncached" : "cached";
    for (const FindingPart& part : finding.parts) {
      ASSERT_NE(part.needs, "") << part.says;
      std::set<std::string> judged, sized;  // engines
      for (const Selection& selection : SelectionsOf(e, part.holds)) {
        judged.insert(selection.where.at("engine").begin(), selection.where.at("engine").end());
      }
      for (const Selection& selection : SelectionsOf(e, part.needs)) {
        EXPECT_EQ(selection.metric, "ram_share_2") << part.says;
        EXPECT_EQ(selection.where.at("database"), std::vector<std::string>{database}) << part.says;
        sized.insert(selection.where.at("engine").begin(), selection.where.at("engine").end());
      }
      EXPECT_EQ(sized, judged) << part.says;
      const bool larger = part.needs.find("> 1") != std::string::npos;
      EXPECT_EQ(larger, database == "uncached" || judged.contains("mmapv1")) << part.says;
      ++parts;
    }
  }
  EXPECT_EQ(parts, 20u);
}

// Once, a share that was predicted among those up to 90 % was compared with the best one up to 65 %
// where larger ones are measured, too.
TEST(ShippedCacheSplitTest, APredictionIsComparedWithEachFixedShareOfTheScale) {
  const Experiment e = LoadExperiment("cache-split");
  const Where predicted = {{"ratio", {"4"}}, {"compression", {"lz4"}}, {"hot", {"compressed"}}};
  for (const std::string scale : {"small", "full"}) {
    std::map<std::string, std::set<std::string>> compared;  // shares by engine
    for (const Finding& finding : e.findings) {
      if (finding.id != "predict") continue;
      for (const FindingPart& part : finding.parts) {
        if (!IsOneOf(e, scale, part.scales)) continue;
        for (const Selection& selection : SelectionsOf(e, part.holds)) {
          if (selection.metric != "qps") continue;
          const std::vector<std::string>& shares = selection.where.at("share");
          compared[selection.where.at("engine").at(0)].insert(shares.begin(), shares.end());
        }
      }
    }
    EXPECT_EQ(compared.size(), 2u) << scale;
    for (const Cell& cell : PlanCells(e, {scale, {}, {}, {}, 1})) {
      const auto shares = compared.find(cell.labels.at("engine"));
      const std::string& share = cell.labels.at("share");
      if (!cell.planned() || !Matches(cell.labels, predicted) || shares == compared.end()) continue;
      if (share.starts_with("auto")) continue;
      EXPECT_TRUE(shares->second.contains(share)) << scale << ": " << cell.name;
    }
  }
}

std::vector<std::string> Shipped() {
  std::vector<std::string> names;
  for (const auto& [name, text] : ShippedExperiments()) names.push_back(name);
  return names;
}
INSTANTIATE_TEST_SUITE_P(Experiments, ShippedFindingsTest, testing::ValuesIn(Shipped()),
                         [](const auto& info) {
                           std::string name = info.param;
                           for (char& c : name) c = c == '-' ? '_' : c;
                           return name;
                         });

// The search must find statements that cannot be false, and statements that cannot be true.
TEST(PartSearchTest, FindsWhatCannotFailOrCannotBe) {
  const Experiment e = ParseExperiment(R"toml(
name = "x"
title = "x"
[options]
workload = "insert,point-read"
engine = "btree"
rows = 1000
[scale.small]
[[axis]]
name = "io"
values = ["direct", "buffered"]
[metrics]
reads = "point_read.account.device.reads"
per_read = "point_read.account.device.reads / point_read.account.device.reads"
)toml",
                                       "x");
  const std::vector<Cell> cells = PlanCells(e, {"small", {}, {}, {}, 1});
  const auto search = [&](const char* holds) { return PartSearch(e, cells, holds); };
  EXPECT_FALSE(search("min(reads) >= 0").CanBeFalse());
  EXPECT_FALSE(search("max(per_read) < 1.5").CanBeFalse()) << "a metric that is always 1";
  EXPECT_TRUE(search("min(reads) > 0.01").CanBeFalse());
  EXPECT_FALSE(search("max(reads) < min(reads)").CanBeTrue());
  EXPECT_FALSE(search("reads[io=direct] < 5 && reads[io=direct] > 6").CanBeTrue());
  EXPECT_TRUE(search("within(reads[io=direct], 7322, 0.01) && reads[io=buffered] == 4096 && "
                     "sum(reads) > 11300")
                  .CanBeTrue());
}

}  // namespace
}  // namespace testbed
