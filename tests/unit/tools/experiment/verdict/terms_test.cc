#include "tools/experiment/verdict/terms.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tools/experiment/expression.h"

namespace testbed {
namespace {

std::string Text(const Term& term) {
  if (term.kind == Term::kOne) return term.text;
  std::string text;
  for (const Term& part : term.parts) {
    text += (text.empty() ? "" : term.kind == Term::kAll ? " AND " : " OR ") + Text(part);
  }
  return "{" + text + "}";
}
std::string TermsText(const std::string& expression) { return Text(TermsOf(expression)); }

TEST(TermsTest, AreFoundByTheFormOfTheText) {
  EXPECT_EQ(TermsText("a > b"), "a > b");
  EXPECT_EQ(TermsText("(a > b && b>c)"), "{a > b AND b>c}");
  EXPECT_EQ(TermsText("(a > b) && (b > c || d)"), "{a > b AND {b > c OR d}}");
  EXPECT_EQ(TermsText("a > max(b, c)"), "{a>(b) AND a>(c)}");
  EXPECT_EQ(TermsText("a >= 0.9 * max(b, f(c, d))"), "{a>=0.9 * (b) AND a>=0.9 * (f(c, d))}");
  EXPECT_EQ(TermsText("max(b, c) < a"), "{a>(b) AND a>(c)}");
  EXPECT_EQ(TermsText("min(b, c) >= a"), "{(b)>=a AND (c)>=a}");
  EXPECT_EQ(TermsText("min(b, c) > max(d, e)"),
            "{{(b)>(d) AND (c)>(d)} AND {(b)>(e) AND (c)>(e)}}");
  EXPECT_EQ(TermsText("a > min(b, c)"), "{a>(b) OR a>(c)}");
  EXPECT_EQ(TermsText("max(b, c) > a"), "{(b)>a OR (c)>a}");
  EXPECT_EQ(TermsText("within(a, b, 0.1)"),
            "{(a) >= (b) - (0.1) * abs(b) AND (a) <= (b) + (0.1) * abs(b)}");
  EXPECT_EQ(TermsText("argmax(a, b, c, 4, 8, 16) == 8"), "{b >= a AND b >= c}");
  for (const char* one : {"a == max(b, c)", "a > max(b, c) + 1", "a > b * max(c, d)", "max(b) > a",
                          "a > b ? c > d && e : f", "abs(a - b) < c", "a != b", "x(a && b)"}) {
    EXPECT_EQ(TermsText(one), one);
  }
}

TEST(TermsTest, MeanTogetherWhatTheStatementMeans) {
  const auto is_metric = [](const std::string& name) { return name.size() == 1; };
  const auto cells_of = [](const Selection& s) {
    return Statement::Groups{{static_cast<size_t>(s.metric[0])}};
  };
  const auto truth = [](const auto& self, const Term& term, const double** value) -> bool {
    if (term.kind == Term::kOne) return *(*value)++ != 0;
    size_t n = 0;
    for (const Term& part : term.parts) n += self(self, part, value);
    return term.kind == Term::kAll ? n == term.parts.size() : n != 0;
  };
  for (const char* text :
       {"a > b && b > c", "a > max(b, c, d)", "a < min(b, c)", "max(a, b) >= 2 * min(c, d)",
        "min(a, b) > max(c, d) || within(a, d, 0.5)", "(a > b || b > c) && (c <= d)",
        "argmax(a, b, c, 1, 2, 3) == 2", "within(max(a, b), min(c, d), 1 / 3)"}) {
    const Statement statement(text, is_metric, cells_of);
    const size_t count = statement.CellsOfTerms().size();
    int trues = 0;
    for (int i = 0; i < 625; ++i) {
      std::vector<double> values;
      for (int n = i, k = 0; k < 4; ++k, n /= 5) values.push_back(1.0 + n % 5);
      values.resize(statement.figures().size());
      const bool whole = statement.Evaluate(values) != 0;
      const std::vector<double> terms = statement.EvaluateTerms(values);
      ASSERT_EQ(terms.size(), count);
      const double* first = terms.data();
      const bool joined = truth(truth, statement.terms(), &first);
      // With equal figures argmax returns the first label, whereas its terms accept any.
      if (std::string(text).starts_with("argmax") && values[0] == values[1]) continue;
      ASSERT_EQ(joined, whole) << text << " of " << testing::PrintToString(values);
      trues += whole;
    }
    EXPECT_GT(trues, 0) << text;
    EXPECT_LT(trues, 625) << text;
  }
}

// A conjunction that is true in few draws is not false for sure: one of its terms must be.
TEST(TermsTest, OneTermDecides) {
  const auto all = [](double a, double b) { return std::vector<Certainty>{{a, a}, {b, b}}; };
  const Term both = TermsOf("a > b && b > c"), either = TermsOf("a > b || b > c");
  EXPECT_TRUE(TrueForSure(both, all(0.96, 0.97)));
  EXPECT_FALSE(TrueForSure(both, all(0.96, 0.9)));
  EXPECT_TRUE(FalseForSure(both, all(0.5, 0.02)));
  EXPECT_FALSE(FalseForSure(both, all(0.5, 0.03))) << "one of two, so 2.25 %";
  EXPECT_FALSE(FalseForSure(both, all(0.2, 0.2)));
  EXPECT_TRUE(FalseForSure(either, all(0.04, 0.04)));
  EXPECT_FALSE(FalseForSure(either, all(0.04, 0.2)));
  EXPECT_TRUE(TrueForSure(either, all(0.98, 0.2)));
  EXPECT_FALSE(TrueForSure(either, all(0.96, 0.9)));
}

// Once, a statement with such terms was said to have none that is true for sure, though each of
// them is by itself.
TEST(TermsTest, TheDecisiveTermIsNamedWithTheShareThatIsAskedOfIt) {
  const auto all = [](const std::vector<double>& shares) {
    std::vector<Certainty> certainties;
    for (double share : shares) certainties.push_back({share, share});
    return certainties;
  };
  const Term either = TermsOf("within(a, b, 0.1) || within(a, c, 0.1)");
  const std::vector<Certainty> four = all({0.96, 1, 0.967, 0.9996});
  EXPECT_FALSE(TrueForSure(either, four));
  DecisiveTerm term = Decisive(either, true, four);
  EXPECT_EQ(term.text, "(a) >= (c) - (0.1) * abs(c)") << "the second alternative is the surer one";
  EXPECT_EQ(term.share, 0.967);
  EXPECT_DOUBLE_EQ(term.asked, 0.9775);
  EXPECT_TRUE(TrueForSure(either, all({0.96, 1, 0.978, 0.9996})));
  const Term both = TermsOf("a > b && b > c");
  term = Decisive(both, true, all({0.97, 0.93}));
  EXPECT_EQ(term.text, "b > c");
  EXPECT_DOUBLE_EQ(term.asked, 0.955);
  term = Decisive(both, false, all({0.03, 0.04}));
  EXPECT_EQ(term.text, "a > b") << "one of them must be false, and this one is nearer to it";
  EXPECT_EQ(term.share, 0.03);
  EXPECT_NEAR(term.asked, 0.0225, 1e-12);
  EXPECT_EQ(Decisive(both, true, {{0.99, 0.97}, {0.96, 0.98}}).share, 0.96) << "the less sure way";
}

// The cells are equal, with three rounds and noise of 3 %. A statement that asserts several things
// at once must rarely be called false, or true.
TEST(TermsTest, MuchAtOnceIsNotFalseByNumber) {
  const auto is_metric = [](const std::string& name) { return name.size() == 1; };
  const auto cells_of = [](const Selection& s) {
    return Statement::Groups{{static_cast<size_t>(s.metric[0] - 'a')}};
  };
  Normal normal(7);
  for (const char* text : {"a > b && b > c && c > d && d > e", "a > max(b, c, d, e)",
                           "within(a, b, 0.001)", "min(a, b) > max(c, d)"}) {
    const Statement statement(text, is_metric, cells_of);
    constexpr int kExperiments = 400;
    int falses = 0, trues = 0, by_share = 0;
    for (int i = 0; i < kExperiments; ++i) {
      std::vector<Measured> figures;
      for (const Statement::Figure& figure : statement.figures()) {
        figures.push_back({figure.cell, {}});
        for (int round = 0; round < 3; ++round) {
          figures.back().rounds.push_back(100 * (1 + 0.03 * normal()));
        }
      }
      std::vector<Certainty> certainties = CertaintiesOf(
          figures,
          [&](const auto& drawn) {
            std::vector<double> values = statement.EvaluateTerms(drawn);
            values.push_back(statement.Evaluate(drawn));
            return values;
          },
          1, 1000);
      const Certainty whole = certainties.back();
      certainties.pop_back();
      by_share += whole.FalseAt(SureAtLook());
      falses += FalseForSure(statement.terms(), certainties);
      trues += TrueForSure(statement.terms(), certainties);
    }
    EXPECT_LE(falses, kExperiments / 20 + 13) << text;  // 3 standard errors
    EXPECT_LE(trues, kExperiments / 20 + 13) << text;
    EXPECT_GT(by_share, falses) << text;
  }
}

}  // namespace
}  // namespace testbed
