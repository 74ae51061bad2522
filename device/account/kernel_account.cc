#include "device/account/kernel_account.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <utility>

#include "device/account/account_program.h"
#include "device/account/block_device.h"
#include "device/account/thread_kinds.h"

namespace testbed {
namespace {

// This is the inode of the first pid namespace, which the kernel fixes (include/linux/proc_ns.h).
constexpr uint64_t kInitialPidNamespace = 0xEFFFFFFC;

uint64_t LoadRelaxed(const uint64_t& value) { return __atomic_load_n(&value, __ATOMIC_RELAXED); }

BlockCounts LoadCounts(const BlockCounts& from) {
  return {LoadRelaxed(from.reads),       LoadRelaxed(from.read_bytes), LoadRelaxed(from.writes),
          LoadRelaxed(from.write_bytes), LoadRelaxed(from.flushes),    LoadRelaxed(from.readahead)};
}

// A Handle is a file descriptor that closes itself.
class Handle {
 public:
  Handle() = default;
  explicit Handle(int fd) : fd_(fd) {}
  Handle(Handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Handle() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

// Keeps libbpf from printing while it lives. The printer is the whole process's: a program that
// embeds the account may have set its own.
class QuietLibbpf {
 public:
  QuietLibbpf() : before_(libbpf_set_print(nullptr)) {}
  QuietLibbpf(const QuietLibbpf&) = delete;
  QuietLibbpf& operator=(const QuietLibbpf&) = delete;
  ~QuietLibbpf() { libbpf_set_print(before_); }

 private:
  const libbpf_print_fn_t before_;
};

// A slot table says which process uses which slot. Forked children share this memory, so that no
// two processes take one slot.
struct SlotOwners {
  std::atomic<int32_t> pid[KernelAccount::kMostThreads];  // 0 if the slot is free
  std::atomic<uint32_t> used;     // slots from this number on never had an owner
  std::atomic<uint64_t> refused;  // threads that got no slot
  std::atomic<bool> lacks_files;  // a file found no room
};

// Returns the key of the entry that counts the requests of this class for which the hash had no
// room.
ForeignKey OverflowKey(uint32_t kind) {
  ForeignKey key = {};
  std::memcpy(key.thread, kForeignOverflow, sizeof key.thread);
  key.kind = kind;
  return key;
}

// Returns whether the kernel's own threads have this name.
bool IsKernelsOwn(const std::string& sort) {
  return sort == "kworker" || sort == "jbd2" || sort == "xfsaild";
}

class BpfAccount : public KernelAccount {
 public:
  explicit BpfAccount(size_t threads)
      : threads_(static_cast<uint32_t>(std::clamp<size_t>(threads, 1, kMostThreads))) {}
  ~BpfAccount() override {
    programs_.clear();  // stops counting before the slots go
    if (slots_ != nullptr) ::munmap(slots_, threads_ * sizeof(KernelSlot));
    if (owners_ != nullptr) ::munmap(owners_, sizeof *owners_);
  }

  // Returns false and sets *why to a sentence when the account cannot start.
  bool Init(const BlockDevice& device, std::string* why);
  void Attach(ThreadLedger* thread, int tid) override;
  void Detach(ThreadLedger* thread, int tid) override;
  uint64_t Refused() const override { return owners_->refused.load(); }
  void Serve(const ThreadLedger& client, int tid) override;
  void Unserve(int tid) override;
  void RegisterFile(uint64_t dev, uint64_t inode, FileKind kind) override;
  void ForgetFile(uint64_t dev, uint64_t inode) override;
  bool LacksFiles() const override { return owners_->lacks_files.load(); }
  bool LacksNames() const override;
  bool RegisterJournal(uint64_t first_sector, uint64_t sectors) override;
  void AddCounts(LedgerCounts* counts) const override;
  std::vector<Program> Programs() const override;

 private:
  struct Loaded {
    std::string tracepoint;
    Handle program, link;
  };
  bool CreateMaps(std::string* why);
  bool LoadPrograms(const BlockDevice& device, std::string* why);
  bool LoadProgram(const AccountLayout& layout, const AccountTarget& target,
                   const AccountEvent& event, std::string* why);
  // Returns a slot that now belongs to this process, or nothing when all are in use.
  std::optional<uint32_t> ClaimSlot();
  // Removes from tids_ the threads of the slot, whose process was killed before it detached them.
  void ForgetThreadsOf(uint32_t slot);
  void AddForeign(LedgerCounts* counts) const;
  JournalSectors Journal() const;

  const uint32_t threads_;  // number of slots
  Handle slots_map_, tids_, files_, journal_, foreign_;
  KernelSlot* slots_ = nullptr;
  SlotOwners* owners_ = nullptr;
  std::vector<Loaded> programs_;
};

// Returns the sentence for the kernel's refusal of `what` with errno `code`.
std::string RefusalOf(const char* what, int code) {
  if (code == EPERM || code == EACCES) {
    return "counting block requests in the kernel needs root (CAP_BPF and CAP_PERFMON), and BPF "
           "not "
           "locked down";
  }
  return std::string("the kernel refuses ") + what +
         ", which counting block requests needs: " + std::strerror(code);
}

bool BpfAccount::CreateMaps(std::string* why) {
  LIBBPF_OPTS(bpf_map_create_opts, mapped, .map_flags = BPF_F_MMAPABLE);
  LIBBPF_OPTS(bpf_map_create_opts, sparse, .map_flags = BPF_F_NO_PREALLOC);
  slots_map_ = Handle(bpf_map_create(BPF_MAP_TYPE_ARRAY, "testbed_slots", sizeof(uint32_t),
                                     sizeof(KernelSlot), threads_, &mapped));
  if (slots_map_.get() < 0) {
    *why = RefusalOf("a BPF map", errno);
    return false;
  }
  tids_ = Handle(bpf_map_create(BPF_MAP_TYPE_HASH, "testbed_tids", sizeof(uint32_t),
                                sizeof(uint32_t), 4 * threads_, nullptr));
  // Only user space adds files to this map, so the kernel need not allocate their entries in
  // advance.
  files_ = Handle(bpf_map_create(BPF_MAP_TYPE_HASH, "testbed_files", sizeof(FileKey),
                                 sizeof(uint32_t), kMostFiles, &sparse));
  journal_ = Handle(bpf_map_create(BPF_MAP_TYPE_ARRAY, "testbed_journal", sizeof(uint32_t),
                                   sizeof(JournalSectors), 1, nullptr));
  foreign_ = Handle(bpf_map_create(BPF_MAP_TYPE_HASH, "testbed_foreign", sizeof(ForeignKey),
                                   sizeof(BlockCounts), kMostNames, nullptr));
  for (const Handle* map : {&tids_, &files_, &journal_, &foreign_}) {
    if (map->get() < 0) {
      *why = RefusalOf("a BPF map", errno);
      return false;
    }
  }
  for (uint32_t kind = 0; kind <= kUnclassedIo; ++kind) {
    const ForeignKey key = OverflowKey(kind);
    const BlockCounts zero;
    bpf_map_update_elem(foreign_.get(), &key, &zero, BPF_ANY);
  }
  void* slots = ::mmap(nullptr, threads_ * sizeof(KernelSlot), PROT_READ | PROT_WRITE, MAP_SHARED,
                       slots_map_.get(), 0);
  void* owners = ::mmap(nullptr, sizeof(SlotOwners), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (slots != MAP_FAILED) slots_ = static_cast<KernelSlot*>(slots);
  if (owners != MAP_FAILED) owners_ = static_cast<SlotOwners*>(owners);
  if (slots_ != nullptr && owners_ != nullptr) return true;
  *why = RefusalOf("a mapping of a BPF map", errno);
  return false;
}

bool BpfAccount::LoadProgram(const AccountLayout& layout, const AccountTarget& target,
                             const AccountEvent& event, std::string* why) {
  const std::vector<bpf_insn> code = AssembleAccountProgram(layout, target, event);
  // The kernel lets only GPL-compatible programs call the helpers that read kernel memory.
  Handle program(bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "testbed_account", "GPL", code.data(),
                               code.size(), nullptr));
  if (program.get() < 0) {
    *why = RefusalOf("the program for tracepoint", errno) + " (" + event.tracepoint + ")";
    return false;
  }
  Handle link(bpf_raw_tracepoint_open(event.tracepoint.c_str(), program.get()));
  if (link.get() < 0) {
    *why = RefusalOf("the tracepoint", errno) + " (" + event.tracepoint + ")";
    return false;
  }
  programs_.push_back({event.tracepoint, std::move(program), std::move(link)});
  return true;
}

bool BpfAccount::LoadPrograms(const BlockDevice& device, std::string* why) {
  const std::unique_ptr<KernelTypes> types = KernelTypes::Load(why);
  if (types == nullptr) return false;
  const std::optional<AccountLayout> layout = AccountLayout::Resolve(*types, why);
  if (!layout) return false;
  AccountTarget target;
  target.device = device.dev();
  target.volume = device.volume_dev();
  target.maps = {slots_map_.get(), tids_.get(), files_.get(), journal_.get(), foreign_.get()};
  struct stat ns;
  if (::stat("/proc/self/ns/pid", &ns) != 0) {
    *why = "/proc is not mounted, without which threads cannot be told apart in the kernel";
    return false;
  }
  if (ns.st_ino != kInitialPidNamespace) {
    target.pid_namespace_dev = KernelDev(ns.st_dev);
    target.pid_namespace_inode = ns.st_ino;
  }
  struct Event {
    const char* tracepoint;
    int32_t requests;
    bool is_request, bytes;
  };
  static constexpr Event kByRequest[] = {{"block_getrq", 1, false, true},
                                         {"block_bio_backmerge", 0, false, true},
                                         {"block_bio_frontmerge", 0, false, true},
                                         {"block_rq_merge", -1, true, false}};
  static constexpr Event kByBio[] = {{"block_bio_queue", 1, false, true}};
  // Only a device with a request queue has the directory "mq", of hardware queue contexts.
  const bool by_request = std::filesystem::exists(device.sysfs() + "/mq");
  const Event* const events = by_request ? kByRequest : kByBio;
  for (size_t i = 0; i < (by_request ? std::size(kByRequest) : std::size(kByBio)); ++i) {
    const Event& event = events[i];
    const std::optional<int> argument =
        types->TracepointArgument(event.tracepoint, event.is_request ? "request" : "bio");
    if (!argument) {
      *why = std::string("this kernel has no tracepoint ") + event.tracepoint +
             ", which counting block requests needs";
      return false;
    }
    if (!LoadProgram(*layout, target,
                     {event.tracepoint, *argument, event.is_request, event.requests, event.bytes},
                     why)) {
      return false;
    }
  }
  return true;
}

bool BpfAccount::Init(const BlockDevice& device, std::string* why) {
  const QuietLibbpf quiet;  // `why` says more than libbpf's messages on standard error
  return CreateMaps(why) && LoadPrograms(device, why);
}

std::optional<uint32_t> BpfAccount::ClaimSlot() {
  const int32_t me = ::getpid();
  for (uint32_t i = 0; i < threads_; ++i) {
    int32_t owner = owners_->pid[i].load();
    // A process that was killed left its slots taken.
    const bool dead = owner != 0 && owner != me && ::kill(owner, 0) != 0 && errno == ESRCH;
    if ((owner != 0 && !dead) || !owners_->pid[i].compare_exchange_strong(owner, me)) continue;
    if (dead) ForgetThreadsOf(i);
    for (uint32_t used = owners_->used.load();
         used <= i && !owners_->used.compare_exchange_weak(used, i + 1);) {
    }
    return i;
  }
  return std::nullopt;
}

void BpfAccount::ForgetThreadsOf(uint32_t slot) {
  std::vector<uint32_t> gone;
  uint32_t tid, next, value;
  const void* previous = nullptr;
  while (bpf_map_get_next_key(tids_.get(), previous, &next) == 0) {
    tid = next;
    previous = &tid;
    if (bpf_map_lookup_elem(tids_.get(), &tid, &value) == 0 && value == slot) gone.push_back(tid);
  }
  for (uint32_t key : gone) bpf_map_delete_elem(tids_.get(), &key);
}

void BpfAccount::Attach(ThreadLedger* thread, int tid) {
  const std::optional<uint32_t> index = ClaimSlot();
  if (!index) {
    ++owners_->refused;
    return;
  }
  KernelSlot* slot = &slots_[*index];
  slot->op.store(thread->op().id, std::memory_order_relaxed);
  slot->kind.store(0, std::memory_order_relaxed);
  const uint32_t key = static_cast<uint32_t>(tid);
  if (bpf_map_update_elem(tids_.get(), &key, &*index, BPF_ANY) != 0) {
    owners_->pid[*index].store(0);
    ++owners_->refused;
    return;
  }
  thread->kernel = slot;
}

void BpfAccount::Detach(ThreadLedger* thread, int tid) {
  if (thread->kernel < slots_ || thread->kernel >= slots_ + threads_) return;
  const uint32_t key = static_cast<uint32_t>(tid);
  bpf_map_delete_elem(tids_.get(), &key);
  // The slot's counts stay: AddCounts sums over all slots that ever had an owner.
  owners_->pid[thread->kernel - slots_].store(0);
}

void BpfAccount::Serve(const ThreadLedger& client, int tid) {
  if (client.kernel < slots_ || client.kernel >= slots_ + threads_) return;
  const uint32_t key = static_cast<uint32_t>(tid);
  const uint32_t slot = static_cast<uint32_t>(client.kernel - slots_);
  if (bpf_map_update_elem(tids_.get(), &key, &slot, BPF_ANY) != 0) ++owners_->refused;
}

void BpfAccount::Unserve(int tid) {
  const uint32_t key = static_cast<uint32_t>(tid);
  bpf_map_delete_elem(tids_.get(), &key);
}

void BpfAccount::RegisterFile(uint64_t dev, uint64_t inode, FileKind kind) {
  const FileKey key = {KernelDev(dev), inode};
  const uint32_t value = static_cast<uint32_t>(kind);
  if (bpf_map_update_elem(files_.get(), &key, &value, BPF_ANY) != 0) owners_->lacks_files = true;
}

void BpfAccount::ForgetFile(uint64_t dev, uint64_t inode) {
  const FileKey key = {KernelDev(dev), inode};
  bpf_map_delete_elem(files_.get(), &key);
}

// LacksNames looks only at the classes whose requests AddForeign assigns to the run or to another
// program by the thread's name. The file or the sector has assigned the requests of other classes.
bool BpfAccount::LacksNames() const {
  for (const uint32_t kind :
       {static_cast<uint32_t>(FileKind::kOtherFile), kUnclassedFlush, kUnclassedIo}) {
    const ForeignKey key = OverflowKey(kind);
    BlockCounts found;
    if (bpf_map_lookup_elem(foreign_.get(), &key, &found) == 0 && found != BlockCounts{}) {
      return true;
    }
  }
  return false;
}

JournalSectors BpfAccount::Journal() const {
  JournalSectors journal = {};
  const uint32_t key = 0;
  bpf_map_lookup_elem(journal_.get(), &key, &journal);
  return journal;
}

bool BpfAccount::RegisterJournal(uint64_t first_sector, uint64_t sectors) {
  JournalSectors journal = Journal();
  const uint64_t end = first_sector + sectors;
  for (JournalSectors::Range& range : journal.ranges) {
    const bool free = range.end == 0;
    if (!free && range.end != first_sector && range.first != end) continue;
    range =
        free ? JournalSectors::Range{first_sector, end}
             : JournalSectors::Range{std::min(range.first, first_sector), std::max(range.end, end)};
    const bool first = journal.bounds.end == 0;
    journal.bounds.first = first ? first_sector : std::min(journal.bounds.first, first_sector);
    journal.bounds.end = std::max(journal.bounds.end, end);
    const uint32_t key = 0;
    return bpf_map_update_elem(journal_.get(), &key, &journal, BPF_ANY) == 0;
  }
  return false;
}

void BpfAccount::AddForeign(LedgerCounts* counts) const {
  const bool journal_known = Journal().bounds.end != 0;
  ForeignKey key, next;
  const void* previous = nullptr;
  while (bpf_map_get_next_key(foreign_.get(), previous, &next) == 0) {
    key = next;
    previous = &key;
    BlockCounts found;
    if (bpf_map_lookup_elem(foreign_.get(), &key, &found) != 0 || found == BlockCounts{}) continue;
    const std::string sort =
        SortOfThread({key.thread, ::strnlen(key.thread, sizeof(ForeignKey::thread))});
    FileKind kind = static_cast<FileKind>(key.kind);
    if (key.kind == kUnclassedFlush) {
      // A flush by a thread of the run's library is counted with the library's writes, not as
      // another program's.
      kind = IsKernelsOwn(sort) ? FileKind::kFsJournal
                                : KindOfThreads(sort).value_or(FileKind::kOtherFile);
    } else if (key.kind == kUnclassedIo) {
      kind = KindOfThreads(sort).value_or(FileKind::kOtherFile);
    } else if (kind == FileKind::kOtherFile && KindOfThreads(sort)) {
      kind = FileKind::kMeta;  // the run's library made the file and nobody registered it
    } else if (kind == FileKind::kFsMetadata && sort == "jbd2" && !journal_known) {
      kind = FileKind::kFsJournal;
    }
    auto same = std::find_if(
        counts->foreign.begin(), counts->foreign.end(),
        [&](const LedgerCounts::Foreign& f) { return f.thread == sort && f.kind == kind; });
    if (same == counts->foreign.end()) {
      counts->foreign.push_back({sort, kind, found});
    } else {
      same->counts += found;
    }
  }
}

void BpfAccount::AddCounts(LedgerCounts* counts) const {
  const uint32_t used = owners_->used.load();
  for (uint32_t i = 0; i < used; ++i) {
    const KernelSlot& slot = slots_[i];
    for (size_t op = 0; op < kMaxOps; ++op) {
      for (size_t kind = 0; kind < kFileKinds; ++kind) {
        counts->ops[op].kernel[kind] += LoadCounts(slot.counts[op][kind]);
      }
    }
  }
  AddForeign(counts);
}

std::vector<KernelAccount::Program> BpfAccount::Programs() const {
  std::vector<Program> programs;
  for (const Loaded& loaded : programs_) {
    bpf_prog_info info = {};
    uint32_t size = sizeof info;
    if (bpf_obj_get_info_by_fd(loaded.program.get(), &info, &size) != 0) continue;
    programs.push_back({loaded.tracepoint, info.run_cnt, info.run_time_ns, info.recursion_misses});
  }
  return programs;
}

}  // namespace

std::unique_ptr<KernelAccount> KernelAccount::Start(const BlockDevice& device, std::string* why,
                                                    size_t threads) {
  std::string ignored;
  if (why == nullptr) why = &ignored;
  if (device.devices().size() > 1) {
    *why = "the file system sends its requests to " + std::to_string(device.devices().size()) +
           " devices, and the kernel account counts those of one";
    return nullptr;
  }
  auto account = std::make_unique<BpfAccount>(threads);
  if (!account->Init(device, why)) return nullptr;
  return account;
}

}  // namespace testbed
