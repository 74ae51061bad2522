#include "tools/output/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace testbed {
namespace {

using testing::HasSubstr;
using testing::Not;

Table Small() {
  Table table("Title", {"phase", "one", "aside", "two", "steady"});
  table.Wide({"aside"});
  table.Row({"point-read", "111111", "222222", "333333", "yes"});
  return table;
}

TEST(TableTest, TheLineUnderItCountsAllColumnsThatAWideOneHas) {
  EXPECT_THAT(Small().Text(36), HasSubstr("  phase          one     two  steady\n"));
  EXPECT_THAT(Small().Text(36), Not(HasSubstr("more column")));
  EXPECT_THAT(Small().Text(30), HasSubstr("  (2 more columns with --wide)\n"));
  EXPECT_THAT(Small().Text(), HasSubstr("aside"));
}

TEST(TableTest, AKeptColumnIsLeftOutLast) {
  EXPECT_THAT(Small().Text(30), HasSubstr("  phase          one     two\n"));
  EXPECT_THAT(Small().Keep({"steady"}).Text(30), HasSubstr("  phase          one  steady\n"));
  EXPECT_THAT(Small().Keep({"steady"}).Text(1), HasSubstr("  phase       steady\n"));
}

TEST(TableTest, ALongTitleGoesOnInTheNextLine) {
  const Table table("A title of more than twenty", {"one"});
  EXPECT_EQ(table.Text(20), "A title of more than\n  twenty\n  one\n\n");
  EXPECT_EQ(table.Text(), "A title of more than twenty\n  one\n\n");
}

TEST(TableTest, OneOfAThingHasNoPlural) {
  EXPECT_EQ(Counted(0, "run"), "0 runs");
  EXPECT_EQ(Counted(1, "run"), "1 run");
  EXPECT_EQ(Counted(1234, "more run"), "1,234 more runs");
  EXPECT_EQ(Counted(1, "crash", "crashes"), "1 crash");
  EXPECT_EQ(Counted(2, "crash", "crashes"), "2 crashes");
  EXPECT_EQ(WithNoun("-1", "byte"), "-1 byte");
  EXPECT_EQ(WithNoun("-", "byte"), "- bytes") << "not known";
  EXPECT_THAT(Small().Wide({}).Text(43), HasSubstr("  (1 more column with --wide)\n"));
}

TEST(TableTest, AShareIsNeitherNothingNorAllUnlessItIs) {
  EXPECT_EQ(Percent(0), "0.0 %");
  EXPECT_EQ(Percent(5.6e-5), "<0.1 %");
  EXPECT_EQ(Percent(0.001), "0.1 %");
  EXPECT_EQ(Percent(0.1234), "12.3 %");
  EXPECT_EQ(Percent(0.9999), ">99.9 %");
  EXPECT_EQ(Percent(1), "100.0 %");
}

// GitHub makes "#2" a link to an issue, which then says that it was mentioned.
TEST(TableTest, ARunIsNoIssueInMarkdown) {
  Table table("Title", {"phase", "#"});
  table.Row({"point-read, 8 thr #2", "1"});
  const std::string text = table.Markdown(true);
  EXPECT_THAT(text, HasSubstr("| point-read, 8 thr #<!-- -->2 | 1 |\n"));
  EXPECT_THAT(text, HasSubstr("| phase | # |\n"));
}

// Terminals obey them: a report in Markdown is printed, too.
TEST(TableTest, MarkdownHasNoControls) {
  Table table("Title\x1b[2J", {"phase", "b\x07y"});
  table.Row({"a\r\nb | <c>", "\u009b2J"});
  const std::string text = table.Markdown(true);
  EXPECT_THAT(text, HasSubstr("### Title \\[2J\n"));
  EXPECT_THAT(text, HasSubstr("| phase | b y |\n"));
  EXPECT_THAT(text, HasSubstr("| a  b \\| &lt;c&gt; |  2J |\n"));
}

TEST(TableTest, OneLineHasNoControls) {
  EXPECT_EQ(OneLine("a\n\x1b[2J\x7f"), "a  [2J ");
  EXPECT_EQ(OneLine("\u009b2J \u00e4 \u2013"), " 2J \u00e4 \u2013");
  EXPECT_EQ(OneLine("\xc2"), "\xc2");
  EXPECT_EQ(SeveralLines("a\n\t\x1b[2J\n"), "a\n  [2J\n");
  EXPECT_EQ(Table("a\x1b[2J", {"one"}).Text(), "a [2J\n  one\n\n");
}

}  // namespace
}  // namespace testbed
