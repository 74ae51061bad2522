// A program that charges its own IO to its own operations: it writes records to a file, reads some
// of them back, and prints what each of the two cost.
//
//   own_operations FILE
//
// As root it counts the requests at the block device as well, by a kernel account.
#include <testbed/account.h>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

using namespace testbed;

namespace {

constexpr size_t kRecord = 512, kRecords = 4096, kLookUps = 100;

void Import(const std::string& path, OpKind import) {
  FileOptions options;
  options.create = FileOptions::kTruncate;
  const auto file = File::Open(path, options);
  const std::vector<char> batch(64 * kRecord, 'x');
  for (size_t i = 0; i < kRecords; i += 64) {
    IoScope scope(import);  // each batch is an operation
    file->Write(i * kRecord, batch.data(), batch.size());
    file->Sync();
  }
}

void LookUp(const std::string& path, OpKind look_up) {
  const auto file = File::Open(path, FileOptions());
  char record[kRecord];
  for (size_t i = 0; i < kLookUps; ++i) {
    IoScope scope(look_up);
    file->Read(i * 37 % kRecords * kRecord, record, kRecord);
  }
}

// Counts the requests at the block device under `path` while it lives, where the machine supports
// that and the user may do it.
class DeviceCounts {
 public:
  explicit DeviceCounts(const std::string& path) {
    if (const auto device = BlockDevice::Find(path))
      account_ = KernelAccount::Start(*device, &why_);
    if (account_ != nullptr) Ledger::Get().Configure(AccountDepth::kKernel, account_.get());
  }
  ~DeviceCounts() { Ledger::Get().Configure(AccountDepth::kFile, nullptr); }
  bool counts() const { return account_ != nullptr; }
  const std::string& why_not() const { return why_; }

 private:
  std::string why_ = "no block device lies under the file";
  std::unique_ptr<KernelAccount> account_;
};

void Print(OpKind op, const LedgerCounts::Op& counts, bool at_device) {
  const FileCounts calls = counts.FileTotal();
  std::cout << OpName(op) << ": " << counts.operations << " operations, " << calls.reads
            << " reads of " << calls.read_bytes << " bytes, " << calls.writes << " writes of "
            << calls.write_bytes << " bytes, " << calls.syncs << " syncs\n";
  if (!at_device) return;
  const BlockCounts blocks = counts.KernelTotal();
  std::cout << "  at the device: " << blocks.reads << " reads of " << blocks.read_bytes
            << " bytes, " << blocks.writes << " writes of " << blocks.write_bytes << " bytes\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::cerr << "give the file to write\n", 2;
  try {
    const OpKind import = DefineOp("import", Ground::kForeground);
    const OpKind look_up = DefineOp("look-up", Ground::kForeground);
    File::Open(argv[1], {.create = FileOptions::kTruncate});
    const DeviceCounts device(argv[1]);
    const LedgerCounts before = Ledger::Get().Counts();
    Import(argv[1], import);
    LookUp(argv[1], look_up);
    const LedgerCounts cost = Ledger::Get().Counts() - before;
    for (const OpKind op : {import, look_up}) Print(op, cost.ops[op.id], device.counts());
    if (!device.counts()) std::cerr << "the device is not counted: " << device.why_not() << '\n';
  } catch (const Error& error) {
    return std::cerr << error.what() << '\n', error.kind() == Error::kUsage ? 2 : 1;
  }
}
