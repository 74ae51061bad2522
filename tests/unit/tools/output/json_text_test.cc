#include "tools/output/json_text.h"

#include <gtest/gtest.h>

#include <string>

namespace testbed {
namespace {

TEST(JsonTextTest, EveryNameComesBack) {
  const std::string names[] = {"plain",
                               "gr\xc3\xbcn \xe2\x82\xac \xf0\x9f\x98\x80",
                               "nu\xff"
                               "x",
                               "\\xff",
                               "\\x5cxff",
                               "\\\\xff",
                               "\\\xff",
                               "\\x5\xff",
                               "\\x\xff",
                               "\xff\\xff",
                               "\xc3",
                               "\xe2\x82",
                               "\xed\xa0\x80",
                               "\xc0\xaf",
                               "\xf4\x90\x80\x80",
                               "\xe0\x80\xaf",
                               std::string("a\0b", 3),
                               "\\xFF",
                               "line\nline"};
  for (const std::string& name : names) {
    const nlohmann::json document = {{"dir", name}, {name, {1, name, nullptr}}};
    EXPECT_EQ(ParseJson(JsonText(document)), document) << JsonText(document);
    EXPECT_EQ(ParseJson(JsonText(document, 1)), document);
  }
  for (unsigned a = 0; a < 256; ++a) {
    for (unsigned b = 0; b < 256; ++b) {
      const nlohmann::json name = std::string{static_cast<char>(a), static_cast<char>(b), 'x'};
      ASSERT_EQ(ParseJson(JsonText(name)), name) << a << " " << b;
    }
  }
}

TEST(JsonTextTest, OnlyWhatMustBeIsEscaped) {
  EXPECT_EQ(JsonText("nu\xff"
                     "x"),
            R"("nu\\xffx")");
  EXPECT_EQ(JsonText("\\xff"), R"("\\x5cxff")");
  EXPECT_EQ(JsonText("gr\xc3\xbcn\\name\\x"), "\"gr\xc3\xbcn\\\\name\\\\x\"");
  EXPECT_TRUE(ParseJson("{").is_discarded());
}

}  // namespace
}  // namespace testbed
