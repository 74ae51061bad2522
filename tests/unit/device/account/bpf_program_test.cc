#include "device/account/bpf_program.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace testbed {
namespace {

TEST(BpfAssemblerTest, EncodesEachFormOfInstruction) {
  BpfAssembler code;
  code.Move(R6, R1);
  code.Move(R0, -1);
  code.Load(BpfAssembler::k32, R2, R10, -8);
  code.Store(BpfAssembler::k64, R10, -16, R3);
  code.StoreValue(BpfAssembler::k16, R10, -20, 7);
  code.AtomicAdd(R9, 48, R1);
  code.Compute(BpfAssembler::kAdd, R4, 12);
  code.Compute(BpfAssembler::kShiftRight, R4, R5);
  code.Call(BPF_FUNC_map_lookup_elem);
  code.Exit();
  const std::vector<bpf_insn> p = code.Finish();
  ASSERT_EQ(p.size(), 10u);
  // The opcodes come from the specification of the instruction set.
  const uint8_t opcodes[] = {0xbf, 0xb7, 0x61, 0x7b, 0x6a, 0xdb, 0x07, 0x7f, 0x85, 0x95};
  for (size_t i = 0; i < p.size(); ++i) EXPECT_EQ(p[i].code, opcodes[i]) << i;
  EXPECT_EQ(p[0].dst_reg, R6);
  EXPECT_EQ(p[0].src_reg, R1);
  EXPECT_EQ(p[1].imm, -1);
  EXPECT_EQ(p[2].off, -8);
  EXPECT_EQ(p[2].src_reg, R10);
  EXPECT_EQ(p[3].src_reg, R3);
  EXPECT_EQ(p[4].imm, 7);
  EXPECT_EQ(p[5].off, 48);
  EXPECT_EQ(p[5].imm, BPF_ADD);
  EXPECT_EQ(p[8].imm, BPF_FUNC_map_lookup_elem);
}

TEST(BpfAssemblerTest, WideConstantsTakeTwoInstructions) {
  BpfAssembler code;
  code.Move64(R3, 0x0123456789abcdef);
  code.LoadMap(R1, 5);
  code.LoadMapValue(R2, 6);
  const std::vector<bpf_insn> p = code.Finish();
  ASSERT_EQ(p.size(), 6u);
  EXPECT_EQ(p[0].code, 0x18);
  EXPECT_EQ(static_cast<uint32_t>(p[0].imm), 0x89abcdefu);
  EXPECT_EQ(static_cast<uint32_t>(p[1].imm), 0x01234567u);
  EXPECT_EQ(p[2].src_reg, BPF_PSEUDO_MAP_FD);
  EXPECT_EQ(p[2].imm, 5);
  EXPECT_EQ(p[4].src_reg, BPF_PSEUDO_MAP_VALUE);
  EXPECT_EQ(p[4].imm, 6);
}

TEST(BpfAssemblerTest, JumpsCountFromTheNextInstruction) {
  BpfAssembler code;
  const BpfAssembler::Label back = code.NewLabel();
  const BpfAssembler::Label out = code.NewLabel();
  code.Bind(back);
  code.JumpIf(BpfAssembler::kEq, R1, 3, out);    // 0
  code.JumpIf(BpfAssembler::kNe, R1, R2, back);  // 1
  code.Move64(R3, 1);                            // 2, 3
  code.Jump(out);                                // 4
  code.Move(R0, 1);                              // 5
  code.Bind(out);
  code.Exit();  // 6
  const std::vector<bpf_insn> p = code.Finish();
  EXPECT_EQ(p[0].off, 5);
  EXPECT_EQ(p[0].imm, 3);
  EXPECT_EQ(p[1].off, -2);
  EXPECT_EQ(p[1].src_reg, R2);
  EXPECT_EQ(p[4].off, 1);
}

TEST(BpfAssemblerTest, RefusesLabelsWithoutAPlace) {
  BpfAssembler unbound;
  unbound.Jump(unbound.NewLabel());
  EXPECT_THROW(unbound.Finish(), std::logic_error);

  BpfAssembler at_the_end;
  const BpfAssembler::Label end = at_the_end.NewLabel();
  at_the_end.Jump(end);
  at_the_end.Bind(end);
  EXPECT_THROW(at_the_end.Finish(), std::logic_error);

  BpfAssembler far;
  const BpfAssembler::Label away = far.NewLabel();
  far.Jump(away);
  for (int i = 0; i < 40000; ++i) far.Move(R0, 0);
  far.Bind(away);
  far.Exit();
  EXPECT_THROW(far.Finish(), std::logic_error);
}

}  // namespace
}  // namespace testbed
