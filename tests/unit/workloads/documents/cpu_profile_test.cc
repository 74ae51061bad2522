// Tests the parser of perf's report, and what its functions are counted as.
#include "workloads/documents/cpu_profile.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>

namespace testbed {
namespace {

TEST(CpuProfileTest, AReportIsReadTheMostSamplesFirst) {
  const auto functions = ParsePerfReport(
      "     3.20%  [kernel.kallsyms]  [k] clear_page_erms                  \n"
      "            |          \n"
      "\n"
      "    15.83%  libc.so.6  [.] cfree@GLIBC_2.2.5   \n"
      "    11.64%  testbed    [.] operator new(unsigned long)");
  ASSERT_EQ(functions.size(), 3u);
  EXPECT_EQ(functions[0].name, "cfree@GLIBC_2.2.5");
  EXPECT_EQ(functions[0].program, "libc.so.6");
  EXPECT_DOUBLE_EQ(functions[0].share, 0.1583);
  EXPECT_EQ(functions[1].name, "operator new(unsigned long)");
  EXPECT_EQ(functions[2].name, "clear_page_erms");
  EXPECT_TRUE(ParsePerfReport("").empty());
  EXPECT_TRUE(ParsePerfReport("Error: no samples\n").empty());
}

TEST(CpuProfileTest, AllocationIsKnownByItsNames) {
  for (const char* name : {"malloc", "free", "cfree@GLIBC_2.2.5", "_int_malloc", "__libc_malloc",
                           "__GI___libc_free", "_int_free.constprop.0", "_Znwm", "_ZdlPvm"}) {
    EXPECT_TRUE(IsAllocation({name, "libc.so.6", 0})) << name;
  }
  EXPECT_TRUE(IsAllocation({"0x000000000001b3c0", "libtcmalloc_minimal.so.4.5.10", 0}));
  for (const char* name : {"freelist", "memcpy", "bson_iter_next", "_ZN4free3fooEv", ""}) {
    EXPECT_FALSE(IsAllocation({name, "testbed", 0})) << name;
  }
}

// Engines compare their keys with functions of the C library. Once, these counted as reading
// attributes, and so did libbson's functions that make the answer.
TEST(CpuProfileTest, ReadingAttributesIsNeitherComparingKeysNorWriting) {
  for (const char* name : {"bson_iter_next", "bson_iter_key_len", "0x0000000000018a2f"}) {
    EXPECT_TRUE(ReadsAttributes({name, "libbson-1.0.so.0.0.0", 0})) << name;
  }
  for (const char* name : {"bson_append_int64", "bson_reinit", "bson_get_data"}) {
    EXPECT_FALSE(ReadsAttributes({name, "libbson-1.0.so.0.0.0", 0})) << name;
  }
  for (const char* name : {"__memcmp_avx2_movbe", "__strlen_avx2", "memcmp", "strlen"}) {
    EXPECT_FALSE(ReadsAttributes({name, "libc.so.6", 0})) << name;
  }
  for (const char* name :
       {"_ZN7testbed12_GLOBAL__N_19BsonCodec5MatchESt17basic_string_viewIcSt11char_traitsIcEEll",
        "_ZN8nlohmann16json_abi_v3_11_26detail13binary_readerE",
        "_ZNK11flexbuffers9ReferenceixEm"}) {
    EXPECT_TRUE(ReadsAttributes({name, "testbed", 0})) << name;
  }
  for (const char* name :
       {"_ZN7testbed12_GLOBAL__N_19BsonCodec7ProjectEv", "_ZN11flexbuffers7Builder6FinishEv",
        "_ZN7testbed12_GLOBAL__N_19CborCodec7PutHeadEhmPNSt7__cxx1112basic_stringIcEE",
        "_ZN7testbed5btree4Tree3GetEv", "0x000000000001b3c0", ""}) {
    EXPECT_FALSE(ReadsAttributes({name, "testbed", 0})) << name;
  }
}

TEST(CpuProfileTest, FindsTheFunctionThatHadTheProcessorOrSaysWhyNot) {
  CpuProfile profile;
  volatile uint64_t sum = 0;
  const clock_t start = clock();
  while (clock() - start < CLOCKS_PER_SEC / 2) sum = sum + 1;
  const auto functions = profile.Stop();
  if (functions.empty()) {
    EXPECT_FALSE(profile.why().empty());
  } else {
    EXPECT_GT(functions[0].share, 0);
    EXPECT_LE(functions[0].share, 1);
  }
}

}  // namespace
}  // namespace testbed
