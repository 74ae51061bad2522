#include "device/account/kernel_types.h"

#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <gtest/gtest.h>
#include <linux/btf.h>

#include <cstdarg>

#include "device/account/account_program.h"
#include "device/account/block_device.h"
#include "device/account/kernel_account.h"

namespace testbed {
namespace {

class KernelTypesTest : public testing::Test {
 protected:
  // Builds the type information of a small kernel:
  //   struct inner { u64 a; u32 b; };
  //   struct outer {
  //     u32 first;
  //     union { struct inner *link; struct { u32 x; u32 y; }; };
  //     const inner_t named;
  //     u32 bits : 3;
  //   };
  //   enum colour { RED, GREEN = 7 };  enum wide : u64 { HUGE_VALUE = 1 << 40 };
  //   typedef void (*btf_trace_event)(void *data, u32 n, const struct outer *o);
  void SetUp() override {
    btf* b = btf__new_empty();
    const int u32 = btf__add_int(b, "u32", 4, 0);
    const int u64 = btf__add_int(b, "u64", 8, 0);
    const int inner = btf__add_struct(b, "inner", 16);
    btf__add_field(b, "a", u64, 0, 0);
    btf__add_field(b, "b", u32, 64, 0);
    const int inner_pointer = btf__add_ptr(b, inner);
    const int pair = btf__add_struct(b, nullptr, 8);
    btf__add_field(b, "x", u32, 0, 0);
    btf__add_field(b, "y", u32, 32, 0);
    const int unnamed = btf__add_union(b, nullptr, 8);
    btf__add_field(b, "link", inner_pointer, 0, 0);
    btf__add_field(b, nullptr, pair, 0, 0);
    const int inner_t = btf__add_typedef(b, "inner_t", inner);
    const int constant = btf__add_const(b, inner_t);
    const int outer = btf__add_struct(b, "outer", 40);
    btf__add_field(b, "first", u32, 0, 0);
    btf__add_field(b, nullptr, unnamed, 64, 0);
    btf__add_field(b, "named", constant, 128, 0);
    btf__add_field(b, "bits", u32, 256, 3);
    btf__add_enum(b, "colour", 4);
    btf__add_enum_value(b, "RED", 0);
    btf__add_enum_value(b, "GREEN", 7);
    btf__add_enum64(b, "wide", 8, false);
    btf__add_enum64_value(b, "HUGE_VALUE", 1ull << 40);
    const int data = btf__add_ptr(b, 0);
    const int outer_pointer = btf__add_ptr(b, btf__add_const(b, outer));
    const int probe = btf__add_func_proto(b, 0);
    btf__add_func_param(b, "data", data);
    btf__add_func_param(b, "n", u32);
    btf__add_func_param(b, "o", outer_pointer);
    btf__add_typedef(b, "btf_trace_event", btf__add_ptr(b, probe));
    types_ = std::make_unique<KernelTypes>(b);
  }
  std::unique_ptr<KernelTypes> types_;
};

TEST_F(KernelTypesTest, FindsMembersAtAnyDepth) {
  auto at = [&](const char* member) {
    const auto found = types_->Find("outer", member);
    return found ? std::pair<uint32_t, uint32_t>{found->offset, found->size}
                 : std::pair<uint32_t, uint32_t>{~0u, 0};
  };
  using Place = std::pair<uint32_t, uint32_t>;
  EXPECT_EQ(at("first"), Place(0, 4));
  EXPECT_EQ(at("link"), Place(8, 8));
  EXPECT_EQ(at("x"), Place(8, 4));
  EXPECT_EQ(at("y"), Place(12, 4));
  EXPECT_EQ(at("named"), Place(16, 16));
  EXPECT_EQ(at("named.b"), Place(24, 4));
}

TEST_F(KernelTypesTest, SaysWhenThereIsNone) {
  EXPECT_FALSE(types_->Find("outer", "absent"));
  EXPECT_FALSE(types_->Find("outer", "a")) << "members of a named structure are not the outer's";
  EXPECT_FALSE(types_->Find("outer", "first.x"));
  EXPECT_FALSE(types_->Find("outer", "named."));
  EXPECT_FALSE(types_->Find("outer", "bits")) << "a bit field has no address";
  EXPECT_FALSE(types_->Find("absent", "first"));
  EXPECT_FALSE(types_->Find("colour", "RED"));
}

TEST_F(KernelTypesTest, FindsEnumeratorsAndArguments) {
  EXPECT_EQ(types_->Enumerator("RED"), 0);
  EXPECT_EQ(types_->Enumerator("GREEN"), 7);
  EXPECT_EQ(types_->Enumerator("HUGE_VALUE"), int64_t{1} << 40);
  EXPECT_FALSE(types_->Enumerator("BLUE"));
  EXPECT_EQ(types_->TracepointArgument("event", "outer"), 1);
  EXPECT_FALSE(types_->TracepointArgument("event", "inner"));
  EXPECT_FALSE(types_->TracepointArgument("absent", "outer"));
}

TEST_F(KernelTypesTest, AKernelWithoutWhatTheAccountNeedsIsRefusedByName) {
  std::string why;
  EXPECT_FALSE(AccountLayout::Resolve(*types_, &why));
  EXPECT_NE(why.find("struct bio has no member bi_bdev"), std::string::npos) << why;
}

TEST(RunningKernelTest, HasWhatTheAccountNeeds) {
  std::string why;
  const auto types = KernelTypes::Load(&why);
  if (types == nullptr) GTEST_SKIP() << why;
  const auto layout = AccountLayout::Resolve(*types, &why);
  ASSERT_TRUE(layout) << why;
  // Facts that hold on every kernel since 4.8.
  EXPECT_EQ(layout->bio_sector.size, 8u);
  EXPECT_EQ(layout->bio_size.size, 4u);
  EXPECT_EQ(layout->bio_size.offset, layout->bio_sector.offset + 8);
  EXPECT_EQ(layout->vec_page.offset, 0u);
  EXPECT_EQ(layout->op_discard, 3);
  EXPECT_NE(layout->meta_flag, layout->readahead_flag);
  EXPECT_EQ(types->TracepointArgument("block_rq_merge", "bio"), std::nullopt);
  EXPECT_TRUE(types->TracepointArgument("block_getrq", "bio"));
}

TEST(AccountProgramTest, AssemblesForLayoutsThatAreFarApart) {
  std::string why;
  const auto types = KernelTypes::Load(&why);
  if (types == nullptr) GTEST_SKIP() << why;
  auto layout = AccountLayout::Resolve(*types, &why);
  ASSERT_TRUE(layout) << why;
  const AccountEvent event = {"block_getrq", 0, false, 1, true};
  const size_t size = AssembleAccountProgram(*layout, {}, event).size();
  EXPECT_GT(size, 100u);
  EXPECT_LT(size, 4096u) << "the limit of old kernels";
  layout->inode_rdev.offset += 1000;  // too far away to be read together with the other fields
  EXPECT_GT(AssembleAccountProgram(*layout, {}, event).size(), size);
}

// A byte within a number lies at another address on a big-endian machine (s390x). Once, the program
// took the highest byte of KernelSlot::kind there for the kind of a call's file.
TEST(AccountProgramTest, LoadsWholeNumbers) {
  std::string why;
  const auto types = KernelTypes::Load(&why);
  if (types == nullptr) GTEST_SKIP() << why;
  const auto layout = AccountLayout::Resolve(*types, &why);
  ASSERT_TRUE(layout) << why;
  const AccountEvent event = {"block_getrq", 0, false, 1, true};
  for (const bpf_insn& instruction : AssembleAccountProgram(*layout, {}, event)) {
    EXPECT_NE(instruction.code, BPF_LDX | BPF_MEM | BPF_B);
  }
}

int PrintNothing(enum libbpf_print_level, const char*, va_list) { return 0; }

// A program that embeds the account may use libbpf itself, and have set the printer, which is the
// whole process's.
TEST(LibbpfTest, HasItsPrinterAfterAnAccountWasStarted) {
  const auto device = BlockDevice::Find(".");
  if (!device) GTEST_SKIP() << "the working directory lies on no block device";
  const libbpf_print_fn_t before = libbpf_set_print(&PrintNothing);
  (void)KernelAccount::Start(*device, nullptr);  // may fail
  EXPECT_TRUE(libbpf_set_print(before) == &PrintNothing);
}

}  // namespace
}  // namespace testbed
