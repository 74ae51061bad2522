#include "device/account/account_program.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "device/account/bpf_program.h"

namespace testbed {
namespace {

using Asm = BpfAssembler;
using Member = KernelTypes::Member;

// While a program runs, a request's class is a FileKind or one of the two values below.
constexpr int32_t kFlush = kUnclassedFlush;
constexpr int32_t kKindOfCall = kUnclassedIo;

constexpr int32_t kOperationMask = 0xff;  // the kernel's REQ_OP_MASK
constexpr int32_t kWriteBit = 1;          // the bit of the operation that op_is_write() tests
// These low bits of page->mapping say that it does not point to an address_space
// (FOLIO_MAPPING_FLAGS).
constexpr int32_t kMappingFlags = 3;
constexpr int32_t kTailBit = 1;  // the bit of page->compound_head that marks a tail page

constexpr int32_t Code(FileKind kind) { return static_cast<int32_t>(kind); }

Asm::Size LoadSize(uint32_t bytes) {
  switch (bytes) {
    case 1:
      return Asm::k8;
    case 2:
      return Asm::k16;
    case 4:
      return Asm::k32;
    default:
      return Asm::k64;
  }
}

// Returns where on the stack a member lies whose structure begins at `base`.
constexpr int At(int base, size_t member) { return base + static_cast<int>(member); }

// Writes one program. The methods below emit its instructions; what they say of registers and jumps
// is what these instructions do. Registers: R6 holds a kernel pointer, and later the bytes; R7 the
// bio's flags; R8 the class; R9 a second pointer, and later the counts.
class Writer {
 public:
  Writer(const AccountLayout& layout, const AccountTarget& target, const AccountEvent& event)
      : layout_(layout), target_(target), event_(event) {}
  std::vector<bpf_insn> Write();

 private:
  // These are the parts of the stack, as offsets from its end. Each part is aligned to 8 bytes.
  static constexpr int kKey = -32, kKeySize = 32;  // for keys of maps and results of helpers
  static constexpr int kZeros = -80;               // for a BlockCounts of zeros
  static constexpr int kBio = -240, kBioSize = 160;
  static constexpr int kBdev = -320, kBdevSize = 80;
  static constexpr int kWork = -400, kWorkSize = 80;
  static_assert(kZeros + static_cast<int>(sizeof(BlockCounts)) <= kKey);

  struct OnStack {
    int offset;
    Asm::Size size;
  };
  // Copies members of the structure at `base` (R6 to R9) to the stack, in one read if they lie
  // close together.
  std::vector<OnStack> Read(BpfRegister base, const std::vector<Member>& members, int area,
                            int area_size, Asm::Label failed);
  void ReadBytes(BpfRegister base, uint32_t offset, uint32_t size, int to, Asm::Label failed);
  void Get(BpfRegister to, OnStack from) { code_.Load(from.size, to, R10, from.offset); }
  void PointTo(BpfRegister to, int stack) {
    code_.Move(to, R10);
    code_.Compute(Asm::kAdd, to, stack);
  }
  void Lookup(int map);

  void Filter();
  void Classify();
  void ClassifyByJournal(Asm::Label not_journal);
  void ClassifyByPage(Asm::Label by_flag);
  void FindSlot();
  void CountInSlot();
  void FindForeign();
  void Count();

  const AccountLayout& layout_;
  const AccountTarget& target_;
  const AccountEvent& event_;
  BpfAssembler code_;
  Asm::Label out_ = code_.NewLabel();
  Asm::Label classed_ = code_.NewLabel();
  Asm::Label foreign_ = code_.NewLabel();
  Asm::Label count_ = code_.NewLabel();
  OnStack bdev_dev_{}, sector_{}, size_{}, vecs_{};
};

void Writer::ReadBytes(BpfRegister base, uint32_t offset, uint32_t size, int to,
                       Asm::Label failed) {
  PointTo(R1, to);
  code_.Move(R2, static_cast<int32_t>(size));
  code_.Move(R3, base);
  if (offset != 0) code_.Compute(Asm::kAdd, R3, static_cast<int32_t>(offset));
  code_.Call(BPF_FUNC_probe_read_kernel);
  code_.JumpIf(Asm::kNe, R0, 0, failed);
}

std::vector<Writer::OnStack> Writer::Read(BpfRegister base, const std::vector<Member>& members,
                                          int area, int area_size, Asm::Label failed) {
  uint32_t begin = ~0u, end = 0;
  for (const Member& m : members) {
    begin = std::min(begin, m.offset / 8 * 8);  // keeps each member aligned on the stack
    end = std::max(end, m.offset + m.size);
  }
  std::vector<OnStack> places;
  if (end - begin <= static_cast<uint32_t>(area_size)) {
    ReadBytes(base, begin, end - begin, area, failed);
    for (const Member& m : members) {
      places.push_back({static_cast<int>(area + (m.offset - begin)), LoadSize(m.size)});
    }
    return places;
  }
  for (const Member& m : members) {
    ReadBytes(base, m.offset, m.size, area, failed);
    places.push_back({area, LoadSize(m.size)});
    area += 8;
  }
  return places;
}

// Sets R0 to the address of the value of the key at kKey, or to null.
void Writer::Lookup(int map) {
  code_.LoadMap(R1, map);
  PointTo(R2, kKey);
  code_.Call(BPF_FUNC_map_lookup_elem);
}

// Jumps to out_ unless the event is to be counted: a read, write or flush on the target's device.
// Sets R7 to the bio's flags.
void Writer::Filter() {
  code_.Load(Asm::k64, R6, R1, static_cast<int>(8 * event_.argument));
  if (event_.is_request) {
    Get(R6, Read(R6, {layout_.request_bio}, kWork, kWorkSize, out_)[0]);
    code_.JumpIf(Asm::kEq, R6, 0, out_);
  }
  const auto bio = Read(
      R6,
      {layout_.bio_bdev, layout_.bio_flags, layout_.bio_sector, layout_.bio_size, layout_.bio_vecs},
      kBio, kBioSize, out_);
  sector_ = bio[2];
  size_ = bio[3];
  vecs_ = bio[4];
  Get(R6, bio[0]);
  code_.JumpIf(Asm::kEq, R6, 0, out_);
  const auto bdev = Read(R6, {layout_.bdev_disk, layout_.bdev_dev}, kBdev, kBdevSize, out_);
  bdev_dev_ = bdev[1];
  Get(R6, bdev[0]);
  const auto disk = Read(R6, {layout_.disk_major, layout_.disk_minor}, kWork, kWorkSize, out_);
  Get(R1, disk[0]);
  code_.JumpIf(Asm::kNe, R1, static_cast<int32_t>(target_.device >> 20), out_);
  Get(R1, disk[1]);
  code_.JumpIf(Asm::kNe, R1, static_cast<int32_t>(target_.device & 0xfffff), out_);

  Get(R7, bio[1]);
  code_.Move(R1, R7);
  code_.Compute(Asm::kAnd, R1, kOperationMask);
  code_.JumpIf(Asm::kEq, R1, layout_.op_discard, out_);  // the device counts discards apart
  code_.JumpIf(Asm::kEq, R1, layout_.op_secure_erase, out_);
  code_.JumpIf(Asm::kGreaterEq, R1, layout_.op_passthrough, out_);  // a command of a driver
}

void Writer::ClassifyByJournal(Asm::Label not_journal) {
  auto range = [](size_t i) {
    return static_cast<int>(offsetof(JournalSectors, ranges) + i * sizeof(JournalSectors::Range));
  };
  code_.LoadMapValue(R9, target_.maps.journal);
  Get(R1, sector_);
  code_.Load(Asm::k64, R2, R9, offsetof(JournalSectors, bounds.first));
  code_.JumpIf(Asm::kLess, R1, R2, not_journal);
  code_.Load(Asm::k64, R2, R9, offsetof(JournalSectors, bounds.end));
  code_.JumpIf(Asm::kGreaterEq, R1, R2, not_journal);
  const Asm::Label journal = code_.NewLabel();
  for (size_t i = 0; i < kMaxJournalRanges; ++i) {
    const Asm::Label next = code_.NewLabel();
    code_.Load(Asm::k64, R2, R9, range(i));
    code_.JumpIf(Asm::kLess, R1, R2, next);
    code_.Load(Asm::k64, R2, R9, static_cast<int>(range(i) + 8));
    code_.JumpIf(Asm::kLess, R1, R2, journal);
    code_.Bind(next);
  }
  code_.Jump(not_journal);
  code_.Bind(journal);
  code_.Move(R8, Code(FileKind::kFsJournal));
  code_.Jump(classed_);
}

void Writer::ClassifyByPage(Asm::Label by_flag) {
  Get(R6, vecs_);
  code_.JumpIf(Asm::kEq, R6, 0, by_flag);
  Get(R6, Read(R6, {layout_.vec_page}, kWork, kWorkSize, by_flag)[0]);
  code_.JumpIf(Asm::kEq, R6, 0, by_flag);
  std::vector<Member> of_page = {layout_.page_mapping};
  if (layout_.page_head) of_page.push_back(*layout_.page_head);
  const auto page = Read(R6, of_page, kWork, kWorkSize, by_flag);
  if (layout_.page_head) {
    const Asm::Label is_head = code_.NewLabel(), is_tail = code_.NewLabel();
    Get(R6, page[1]);
    code_.JumpIf(Asm::kAnyBit, R6, kTailBit, is_tail);
    code_.Jump(is_head);
    code_.Bind(is_tail);
    code_.Compute(Asm::kSub, R6, kTailBit);
    Read(R6, of_page, kWork, kWorkSize, by_flag);
    code_.Bind(is_head);
  }
  Get(R6, page[0]);
  code_.JumpIf(Asm::kEq, R6, 0, by_flag);
  code_.JumpIf(Asm::kAnyBit, R6, kMappingFlags, by_flag);
  Get(R9, Read(R6, {layout_.mapping_host}, kWork, kWorkSize, by_flag)[0]);
  code_.JumpIf(Asm::kEq, R9, 0, by_flag);
  const auto inode =
      Read(R9, {layout_.inode_sb, layout_.inode_mapping, layout_.inode_number, layout_.inode_rdev},
           kWork, kWorkSize, by_flag);
  // A page of no file (slab memory) may hold anything where a file's page has its mapping, so the
  // program believes that pointer only if the inode points back to the mapping.
  Get(R1, inode[1]);
  code_.JumpIf(Asm::kNe, R1, R6, by_flag);
  const Asm::Label metadata = code_.NewLabel(), other_file = code_.NewLabel();
  Get(R2, bdev_dev_);
  Get(R1, inode[3]);
  code_.JumpIf(Asm::kEq, R1, R2, metadata);
  Get(R1, inode[2]);
  code_.Store(Asm::k64, R10, At(kKey, offsetof(FileKey, inode)), R1);
  Get(R9, inode[0]);
  const auto sb = Read(R9, {layout_.sb_dev}, kWork, kWorkSize, by_flag);
  // Direct IO from memory that maps a file of another file system is not IO of that file.
  Get(R1, sb[0]);
  Get(R2, bdev_dev_);
  code_.JumpIf(Asm::kNe, R1, R2, by_flag);
  code_.Store(Asm::k64, R10, At(kKey, offsetof(FileKey, dev)), R1);
  Lookup(target_.maps.files);
  code_.JumpIf(Asm::kEq, R0, 0, other_file);
  code_.Load(Asm::k32, R8, R0, 0);
  code_.JumpIf(Asm::kLess, R8, static_cast<int32_t>(kFileKinds), classed_);
  code_.Bind(other_file);
  code_.Move(R8, Code(FileKind::kOtherFile));
  code_.Jump(classed_);
  code_.Bind(metadata);
  code_.Move(R8, Code(FileKind::kFsMetadata));
  code_.Jump(classed_);
}

// Sets R8 to the class of the request.
void Writer::Classify() {
  code_.Move(R8, Code(FileKind::kOtherFile));
  Get(R1, bdev_dev_);
  code_.Move64(R2, target_.volume);
  code_.JumpIf(Asm::kNe, R1, R2, classed_);
  const Asm::Label not_empty = code_.NewLabel(), not_journal = code_.NewLabel();
  const Asm::Label by_flag = code_.NewLabel();
  Get(R1, size_);
  code_.JumpIf(Asm::kNe, R1, 0, not_empty);
  code_.Move(R8, kFlush);
  code_.Jump(classed_);
  code_.Bind(not_empty);
  ClassifyByJournal(not_journal);
  code_.Bind(not_journal);
  code_.Move(R1, R7);
  code_.Compute(Asm::kAnd, R1, kOperationMask);
  code_.JumpIf(Asm::kGreater, R1, kWriteBit, by_flag);  // such a request has no pages
  ClassifyByPage(by_flag);
  code_.Bind(by_flag);
  code_.Move(R8, Code(FileKind::kFsMetadata));
  code_.Move64(R1, layout_.meta_flag);
  code_.JumpIf(Asm::kAnyBit, R7, R1, classed_);
  code_.Move(R8, kKindOfCall);
  code_.Bind(classed_);
}

// Sets R9 to the slot of the current thread. Jumps to foreign_ when the thread has none.
void Writer::FindSlot() {
  Get(R6, size_);
  if (target_.pid_namespace_inode == 0) {
    code_.Call(BPF_FUNC_get_current_pid_tgid);
  } else {
    code_.Move64(R1, target_.pid_namespace_dev);
    code_.Move64(R2, target_.pid_namespace_inode);
    PointTo(R3, kKey);
    code_.Move(R4, sizeof(bpf_pidns_info));
    code_.Call(BPF_FUNC_get_ns_current_pid_tgid);
    code_.JumpIf(Asm::kNe, R0, 0, foreign_);  // the thread is in another pid namespace
    code_.Load(Asm::k32, R0, R10, At(kKey, offsetof(bpf_pidns_info, pid)));
  }
  code_.Store(Asm::k32, R10, kKey, R0);
  Lookup(target_.maps.tids);
  code_.JumpIf(Asm::kEq, R0, 0, foreign_);
  code_.Load(Asm::k32, R1, R0, 0);
  code_.Store(Asm::k32, R10, kKey, R1);
  Lookup(target_.maps.slots);
  code_.JumpIf(Asm::kEq, R0, 0, foreign_);
  code_.Move(R9, R0);
}

// Moves R9 from the slot to the slot's counts of the running operation and the class.
void Writer::CountInSlot() {
  const Asm::Label classed = code_.NewLabel(), no_call = code_.NewLabel();
  const Asm::Label known_op = code_.NewLabel(), loaded = code_.NewLabel();
  if (event_.requests != 0) {
    const Asm::Label write = code_.NewLabel(), done = code_.NewLabel();
    code_.Move(R1, event_.requests);
    code_.JumpIf(Asm::kAnyBit, R7, kWriteBit, write);
    code_.AtomicAdd(R9, offsetof(KernelSlot, reads), R1);
    code_.Jump(done);
    code_.Bind(write);
    code_.AtomicAdd(R9, offsetof(KernelSlot, writes), R1);
    code_.Bind(done);
  }
  constexpr int32_t kKinds = static_cast<int32_t>(kFileKinds);
  code_.JumpIf(Asm::kLess, R8, kKinds, classed);
  // The lowest byte of KernelSlot::kind holds the kind of the call's reads. The next byte holds
  // that of its writes where it differs, and else 0 (MixedCallMark).
  code_.Load(Asm::k32, R8, R9, offsetof(KernelSlot, kind));
  code_.Move(R1, R7);
  code_.Compute(Asm::kAnd, R1, kWriteBit);
  code_.Compute(Asm::kMul, R1, 0xff00);  // the mask of the second byte, or 0 for a read
  code_.Compute(Asm::kAnd, R1, R8);
  code_.Compute(Asm::kShiftRight, R1, 8);
  code_.Compute(Asm::kAnd, R8, 0xff);
  code_.JumpIf(Asm::kEq, R1, 0, loaded);
  code_.Move(R8, R1);
  code_.Bind(loaded);
  code_.JumpIf(Asm::kEq, R8, 0, no_call);
  code_.Compute(Asm::kSub, R8, 1);
  code_.JumpIf(Asm::kLess, R8, kKinds, classed);
  code_.Bind(no_call);
  code_.Move(R8, Code(FileKind::kOtherFile));
  code_.Bind(classed);
  code_.Load(Asm::k32, R1, R9, offsetof(KernelSlot, op));
  code_.JumpIf(Asm::kLess, R1, static_cast<int32_t>(kMaxOps), known_op);
  code_.Move(R1, kUnscoped.id);
  code_.Bind(known_op);
  code_.Compute(Asm::kMul, R1, static_cast<int32_t>(kFileKinds * sizeof(BlockCounts)));
  code_.Compute(Asm::kMul, R8, static_cast<int32_t>(sizeof(BlockCounts)));
  code_.Compute(Asm::kAdd, R1, R8);
  code_.Compute(Asm::kAdd, R9, R1);
  code_.Compute(Asm::kAdd, R9, static_cast<int32_t>(offsetof(KernelSlot, counts)));
  code_.Jump(count_);
}

uint64_t Word(const char* bytes) {
  uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return word;
}

// Sets R9 to the counts of the current thread's name and the class. Makes them if there are none.
void Writer::FindForeign() {
  const Asm::Label named = code_.NewLabel(), found = code_.NewLabel();
  PointTo(R1, kKey);
  code_.Move(R2, sizeof(ForeignKey::thread));
  code_.Call(BPF_FUNC_get_current_comm);
  // All kernel workers get one name: with the ever new numbers in theirs they would fill the hash.
  code_.Load(Asm::k64, R1, R10, kKey);
  code_.Move64(R2, Word("kworker/"));
  code_.JumpIf(Asm::kNe, R1, R2, named);
  code_.Move64(R2, Word("kworker\0"));
  code_.Store(Asm::k64, R10, kKey, R2);
  code_.StoreValue(Asm::k64, R10, kKey + 8, 0);
  code_.Bind(named);
  code_.Store(Asm::k32, R10, At(kKey, offsetof(ForeignKey, kind)), R8);
  code_.StoreValue(Asm::k32, R10, At(kKey, offsetof(ForeignKey, unused)), 0);
  Lookup(target_.maps.foreign);
  code_.JumpIf(Asm::kNe, R0, 0, found);

  for (size_t i = 0; i < sizeof(BlockCounts); i += 8) {
    code_.StoreValue(Asm::k64, R10, static_cast<int>(kZeros + i), 0);
  }
  code_.LoadMap(R1, target_.maps.foreign);
  PointTo(R2, kKey);
  PointTo(R3, kZeros);
  code_.Move(R4, BPF_NOEXIST);  // keeps the counts that another processor may just have made
  code_.Call(BPF_FUNC_map_update_elem);
  Lookup(target_.maps.foreign);
  code_.JumpIf(Asm::kNe, R0, 0, found);

  code_.Move64(R1, Word(kForeignOverflow));
  code_.Store(Asm::k64, R10, kKey, R1);
  code_.StoreValue(Asm::k64, R10, kKey + 8, 0);
  Lookup(target_.maps.foreign);
  code_.JumpIf(Asm::kEq, R0, 0, out_);
  code_.Bind(found);
  code_.Move(R9, R0);
}

// Adds the request to the BlockCounts at R9.
void Writer::Count() {
  const Asm::Label write = code_.NewLabel();
  code_.Move(R1, event_.requests);
  code_.JumpIf(Asm::kAnyBit, R7, kWriteBit, write);
  if (event_.bytes) code_.AtomicAdd(R9, offsetof(BlockCounts, read_bytes), R6);
  if (event_.requests != 0) {
    const Asm::Label speculative = code_.NewLabel();
    code_.AtomicAdd(R9, offsetof(BlockCounts, reads), R1);
    code_.Move64(R2, layout_.readahead_flag);
    code_.JumpIf(Asm::kAnyBit, R7, R2, speculative);
    code_.Jump(out_);
    code_.Bind(speculative);
    code_.AtomicAdd(R9, offsetof(BlockCounts, readahead), R1);
  }
  code_.Jump(out_);
  code_.Bind(write);
  if (event_.bytes) code_.AtomicAdd(R9, offsetof(BlockCounts, write_bytes), R6);
  if (event_.requests != 0) {
    code_.AtomicAdd(R9, offsetof(BlockCounts, writes), R1);
    code_.JumpIf(Asm::kNe, R6, 0, out_);
    code_.AtomicAdd(R9, offsetof(BlockCounts, flushes), R1);
  }
}

std::vector<bpf_insn> Writer::Write() {
  Filter();
  Classify();
  FindSlot();
  CountInSlot();
  code_.Bind(foreign_);
  FindForeign();
  code_.Bind(count_);
  Count();
  code_.Bind(out_);
  code_.Move(R0, 0);
  code_.Exit();
  return code_.Finish();
}

}  // namespace

std::optional<AccountLayout> AccountLayout::Resolve(const KernelTypes& types, std::string* why) {
  AccountLayout layout{};
  std::string missing;
  auto member = [&](Member* to, const char* structure, const char* name) {
    const std::optional<Member> found = types.Find(structure, name);
    if (found && (found->size == 4 || found->size == 8)) {
      *to = *found;
    } else if (missing.empty()) {
      missing = std::string("struct ") + structure + " has no member " + name + " as known";
    }
  };
  auto value = [&](const char* name) -> int64_t {
    const std::optional<int64_t> found = types.Enumerator(name);
    if (!found && missing.empty()) missing = std::string("there is no ") + name;
    return found.value_or(0);
  };
  member(&layout.bio_bdev, "bio", "bi_bdev");
  member(&layout.bio_flags, "bio", "bi_opf");
  member(&layout.bio_sector, "bio", "bi_iter.bi_sector");
  member(&layout.bio_size, "bio", "bi_iter.bi_size");
  member(&layout.bio_vecs, "bio", "bi_io_vec");
  member(&layout.vec_page, "bio_vec", "bv_page");
  layout.page_head = types.Find("page", "compound_head");
  // The members of a folio lie on its first page; kernel versions declare `mapping` in either type.
  member(&layout.page_mapping, types.Find("page", "mapping") ? "page" : "folio", "mapping");
  member(&layout.mapping_host, "address_space", "host");
  member(&layout.inode_sb, "inode", "i_sb");
  member(&layout.inode_mapping, "inode", "i_mapping");
  member(&layout.inode_number, "inode", "i_ino");
  member(&layout.inode_rdev, "inode", "i_rdev");
  member(&layout.sb_dev, "super_block", "s_dev");
  member(&layout.bdev_disk, "block_device", "bd_disk");
  member(&layout.bdev_dev, "block_device", "bd_dev");
  member(&layout.disk_major, "gendisk", "major");
  member(&layout.disk_minor, "gendisk", "first_minor");
  member(&layout.request_bio, "request", "bio");
  layout.op_discard = static_cast<int32_t>(value("REQ_OP_DISCARD"));
  layout.op_secure_erase = static_cast<int32_t>(value("REQ_OP_SECURE_ERASE"));
  layout.op_passthrough = static_cast<int32_t>(value("REQ_OP_DRV_IN"));
  layout.meta_flag = 1ull << value("__REQ_META");
  layout.readahead_flag = 1ull << value("__REQ_RAHEAD");
  if (missing.empty()) return layout;
  *why = "this kernel's block layer is not one that testbed knows (" + missing +
         "; Linux 5.12 and later are known)";
  return std::nullopt;
}

std::vector<bpf_insn> AssembleAccountProgram(const AccountLayout& layout,
                                             const AccountTarget& target,
                                             const AccountEvent& event) {
  return Writer(layout, target, event).Write();
}

}  // namespace testbed
