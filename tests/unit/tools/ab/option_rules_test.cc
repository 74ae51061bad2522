// Tests that each option of a run has its place in a comparison.
#include "tools/ab/option_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "device/error.h"
#include "tools/ab/side.h"
#include "tools/option_check.h"

namespace testbed {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

// Returns the error for a side that gives the option a value which no option takes; "" when there
// is no error.
std::string ToldOfOption(const std::string& name) {
  try {
    ParseSide("b", name + "=no,such=value", {});
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), Error::kUsage);
    return e.what();
  }
  return "";
}

TEST(AbOptionRulesTest, EachOptionOfARunIsInOneRule) {
  for (const std::string& name : RunOptionNames()) {
    int rules = 0;
    for (const OptionRule& rule : OptionRules()) {
      rules += static_cast<int>(std::count(rule.names.begin(), rule.names.end(), name));
    }
    EXPECT_EQ(rules, 1) << "--" << name << " is an option of a run; tools/ab/option_rules.cc says "
                        << "whether a side of ab takes it";
  }
  for (const OptionRule& rule : OptionRules()) {
    for (const std::string name : rule.names) EXPECT_TRUE(IsRunOption(name)) << name;
  }
  EXPECT_GT(RunOptionNames().size(), 60u);
  EXPECT_EQ(FindOptionRule("no-such"), nullptr);
}

TEST(AbOptionRulesTest, ASideTakesWhatItsRuleSays) {
  for (const std::string& name : RunOptionNames()) {
    const OptionRule* rule = FindOptionRule(name);
    ASSERT_NE(rule, nullptr) << name;
    const std::string told = ToldOfOption(name);
    if (rule->use == OptionUse::kRefused) {
      EXPECT_EQ(told, std::string("--b: ") + rule->why);
      EXPECT_THAT(told, AnyOf(HasSubstr("leave "), HasSubstr("give ")));
    } else if (rule->use == OptionUse::kCommon) {
      EXPECT_THAT(told, HasSubstr(name + " is the same for all sides, " + rule->why));
    } else {
      EXPECT_THAT(told, Not(HasSubstr("all sides"))) << name;
      EXPECT_THAT(told, Not(HasSubstr(rule->why))) << name;
    }
  }
}

}  // namespace
}  // namespace testbed
