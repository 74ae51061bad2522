// A BpfAssembler assembles a BPF program from instructions by name and jumps to labels.
//
// The programs of the kernel account are some hundred instructions that depend on the running
// kernel's structure layouts. They are assembled at run time, so the machine needs no compiler.
//
//   BpfAssembler code;
//   auto out = code.NewLabel();
//   code.Load(BpfAssembler::k64, R6, R1, 0);
//   code.JumpIf(BpfAssembler::kEq, R6, 0, out);
//   ...
//   code.Bind(out);
//   code.Move(R0, 0);
//   code.Exit();
//   std::vector<bpf_insn> program = code.Finish();
//
// Registers (linux/Documentation/bpf/standardization/instruction-set.rst): R0 holds results. R1 to
// R5 hold arguments, and a call destroys them. R6 to R9 survive calls. R10 points to the end of a
// stack of 512 bytes. Not thread-safe.
#ifndef TESTBED_DEVICE_ACCOUNT_BPF_PROGRAM_H_
#define TESTBED_DEVICE_ACCOUNT_BPF_PROGRAM_H_

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace testbed {

enum BpfRegister : uint8_t { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10 };

class BpfAssembler {
 public:
  enum Size : uint8_t { k8 = BPF_B, k16 = BPF_H, k32 = BPF_W, k64 = BPF_DW };
  enum Condition : uint8_t {  // all comparisons are unsigned
    kEq = BPF_JEQ,
    kNe = BPF_JNE,
    kLess = BPF_JLT,
    kGreater = BPF_JGT,
    kGreaterEq = BPF_JGE,
    kAnyBit = BPF_JSET,
  };
  enum Alu : uint8_t {
    kAdd = BPF_ADD,
    kSub = BPF_SUB,
    kMul = BPF_MUL,
    kAnd = BPF_AND,
    kShiftRight = BPF_RSH,
  };
  struct Label {
    size_t id;
  };

  // Returns a label that jumps may use before it is bound.
  Label NewLabel();
  // Makes the label point to the next instruction.
  void Bind(Label label);

  // Each of these appends one instruction (Move64, LoadMap and LoadMapValue one of double length).
  // Offsets are in bytes and must fit 16 bits.
  void Move(BpfRegister to, BpfRegister from);
  void Move(BpfRegister to, int32_t value);  // the value is sign-extended to 64 bits
  void Move64(BpfRegister to, uint64_t value);
  void Compute(Alu operation, BpfRegister to, BpfRegister from);
  void Compute(Alu operation, BpfRegister to, int32_t value);
  void Load(Size size, BpfRegister to, BpfRegister base, int offset);
  void Store(Size size, BpfRegister base, int offset, BpfRegister from);
  void StoreValue(Size size, BpfRegister base, int offset, int32_t value);
  void AtomicAdd(BpfRegister base, int offset, BpfRegister value);  // adds 64 bits
  void LoadMap(BpfRegister to, int map_fd);       // loads the map, as an argument of helpers
  void LoadMapValue(BpfRegister to, int map_fd);  // loads the address of an array map's element 0
  void JumpIf(Condition condition, BpfRegister left, BpfRegister right, Label target);
  void JumpIf(Condition condition, BpfRegister left, int32_t right, Label target);
  void Jump(Label target);
  void Call(int32_t helper);  // `helper` is a BPF_FUNC_...
  void Exit();

  // Returns the program with its jumps resolved. Throws std::logic_error when a jump uses a label
  // that is not bound to an instruction, or is farther than 16 bits can say.
  std::vector<bpf_insn> Finish() const;

 private:
  static constexpr size_t kUnbound = ~size_t{0};
  struct Use {  // a jump whose distance Finish() fills in
    size_t instruction, label;
  };
  void Emit(uint8_t code, uint8_t to, uint8_t from, int offset, int32_t value);
  void EmitJump(uint8_t code, uint8_t left, uint8_t right, int32_t value, Label target);

  std::vector<bpf_insn> code_;
  std::vector<size_t> labels_;  // by Label::id: index of the instruction, or kUnbound
  std::vector<Use> uses_;
};

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_BPF_PROGRAM_H_
