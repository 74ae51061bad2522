#include "device/account/bpf_program.h"

#include <limits>
#include <stdexcept>

namespace testbed {

BpfAssembler::Label BpfAssembler::NewLabel() {
  labels_.push_back(kUnbound);
  return {labels_.size() - 1};
}

void BpfAssembler::Bind(Label label) { labels_.at(label.id) = code_.size(); }

void BpfAssembler::Emit(uint8_t code, uint8_t to, uint8_t from, int offset, int32_t value) {
  bpf_insn instruction = {};
  instruction.code = code;
  instruction.dst_reg = to;
  instruction.src_reg = from;
  instruction.off = static_cast<int16_t>(offset);  // fits: the stack and structures are small
  instruction.imm = value;
  code_.push_back(instruction);
}

void BpfAssembler::EmitJump(uint8_t code, uint8_t left, uint8_t right, int32_t value,
                            Label target) {
  uses_.push_back({code_.size(), target.id});
  Emit(code, left, right, 0, value);
}

void BpfAssembler::Move(BpfRegister to, BpfRegister from) {
  Emit(BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void BpfAssembler::Move(BpfRegister to, int32_t value) {
  Emit(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}

void BpfAssembler::Move64(BpfRegister to, uint64_t value) {
  Emit(BPF_LD | BPF_IMM | BPF_DW, to, 0, 0, static_cast<int32_t>(value));
  Emit(0, 0, 0, 0, static_cast<int32_t>(value >> 32));
}

void BpfAssembler::Compute(Alu operation, BpfRegister to, BpfRegister from) {
  Emit(BPF_ALU64 | operation | BPF_X, to, from, 0, 0);
}

void BpfAssembler::Compute(Alu operation, BpfRegister to, int32_t value) {
  Emit(BPF_ALU64 | operation | BPF_K, to, 0, 0, value);
}

void BpfAssembler::Load(Size size, BpfRegister to, BpfRegister base, int offset) {
  Emit(BPF_LDX | BPF_MEM | size, to, base, offset, 0);
}

void BpfAssembler::Store(Size size, BpfRegister base, int offset, BpfRegister from) {
  Emit(BPF_STX | BPF_MEM | size, base, from, offset, 0);
}

void BpfAssembler::StoreValue(Size size, BpfRegister base, int offset, int32_t value) {
  Emit(BPF_ST | BPF_MEM | size, base, 0, offset, value);
}

void BpfAssembler::AtomicAdd(BpfRegister base, int offset, BpfRegister value) {
  Emit(BPF_STX | BPF_ATOMIC | BPF_DW, base, value, offset, BPF_ADD);
}

void BpfAssembler::LoadMap(BpfRegister to, int map_fd) {
  Emit(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_FD, 0, map_fd);
  Emit(0, 0, 0, 0, 0);
}

void BpfAssembler::LoadMapValue(BpfRegister to, int map_fd) {
  Emit(BPF_LD | BPF_IMM | BPF_DW, to, BPF_PSEUDO_MAP_VALUE, 0, map_fd);
  Emit(0, 0, 0, 0, 0);
}

void BpfAssembler::JumpIf(Condition condition, BpfRegister left, BpfRegister right, Label target) {
  EmitJump(BPF_JMP | condition | BPF_X, left, right, 0, target);
}

void BpfAssembler::JumpIf(Condition condition, BpfRegister left, int32_t right, Label target) {
  EmitJump(BPF_JMP | condition | BPF_K, left, 0, right, target);
}

void BpfAssembler::Jump(Label target) { EmitJump(BPF_JMP | BPF_JA, 0, 0, 0, target); }

void BpfAssembler::Call(int32_t helper) { Emit(BPF_JMP | BPF_CALL, 0, 0, 0, helper); }

void BpfAssembler::Exit() { Emit(BPF_JMP | BPF_EXIT, 0, 0, 0, 0); }

std::vector<bpf_insn> BpfAssembler::Finish() const {
  std::vector<bpf_insn> program = code_;
  for (const Use& use : uses_) {
    const size_t target = labels_.at(use.label);
    if (target == kUnbound || target >= program.size()) {
      throw std::logic_error("BPF label " + std::to_string(use.label) + " is used but not bound");
    }
    const int64_t distance =
        static_cast<int64_t>(target) - static_cast<int64_t>(use.instruction) - 1;
    if (distance < std::numeric_limits<int16_t>::min() ||
        distance > std::numeric_limits<int16_t>::max()) {
      throw std::logic_error("BPF jump is too far");
    }
    program[use.instruction].off = static_cast<int16_t>(distance);
  }
  return program;
}

}  // namespace testbed
