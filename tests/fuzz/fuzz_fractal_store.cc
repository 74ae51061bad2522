#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "device/error.h"
#include "engines/fractal/cache/meta.h"
#include "engines/fractal/check.h"
#include "engines/fractal/node/codec.h"
#include "engines/fractal/node/wire.h"
#include "engines/fractal/store.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed::fractal {
namespace {

constexpr int kRows = 400;

std::string KeyOf(uint32_t i) { return "key" + std::to_string(i * 7919 % 10007); }

StoreOptions SmallStore() {
  StoreOptions options;
  options.page_size = 4096;
  options.cache_bytes = 256 << 10;
  options.node_size = 16 << 10;
  options.fanout = 4;
  options.durability = Durability::kNone;
  options.cleaner_period_ms = 0;
  options.log.segment_bytes = 64 << 10;
  return options;
}

void Put(Store* store, Tree* tree, const std::string& key, const std::string& value, bool erase) {
  StoreClient client(store);
  const RowWrite write{erase, tree->table(), key, value};
  client.Commit({&write, 1});
}

const std::vector<FileImage>& SmallDatabase() {
  static const std::vector<FileImage> files = [] {
    const ScratchDir dir;
    {
      const auto store = Store::Open(dir.path(), SmallStore());
      Tree* const tree = store->OpenTable("t");
      for (uint32_t i = 0; i < kRows; ++i)
        Put(store.get(), tree, KeyOf(i), std::string(i % 300, 'v'), false);
      for (uint32_t i = 0; i < kRows; i += 7) Put(store.get(), tree, KeyOf(i), {}, true);
    }
    return ReadFiles(dir.path());
  }();
  return files;
}

// Changes parts of a data file, and corrects the checksums that other parts have of them.
class Forger {
 public:
  explicit Forger(std::vector<FileImage>* files)
      : data_(FindFile(files, DataPath("").substr(1))), bytes_(data_->used) {
    bytes_.resize(data_->size);
  }
  ~Forger() { data_->used = bytes_; }
  Forger(const Forger&) = delete;
  Forger& operator=(const Forger&) = delete;

  void Change(const std::string& dir, FuzzInput* input) {
    {
      const auto file = File::Open(DataPath(dir), {});
      header_ = ReadHeader(file.get());
      std::string why;
      Require(ReadTable(file.get(), header_, &tables_, &blocks_, &why), why);
    }
    for (const auto& [block, place] : blocks_) order_.push_back(block);
    std::sort(order_.begin(), order_.end());
    for (uint32_t changes = 1 + input->Below(4); changes > 0; --changes) {
      switch (input->Below(4)) {
        case 0:
          ChangeHeader(input);
          break;
        case 1:
          ChangeTable(input);
          break;
        default:
          ChangeNode(input);
      }
    }
    SealTable();
    SealHeader();
  }

 private:
  void ChangeHeader(FuzzInput* input) {
    uint64_t* const fields[] = {&header_.node_size,  &header_.number,       &header_.replay_from,
                                &header_.next_block, &header_.table_offset, &header_.table_bytes,
                                &header_.database,   &header_.log_id};
    uint64_t* const field = fields[input->Below(std::size(fields))];
    *field = input->Below(2) == 0 ? input->Below(1 << 20) : *field + input->Below(9000) - 4500;
    if (input->Below(8) == 0) header_.fanout = input->Below(300);
  }
  void ChangeTable(FuzzInput* input) {
    if (input->Below(4) == 0) {
      TableEntry& entry = tables_[input->Below(static_cast<uint32_t>(tables_.size()))];
      input->Below(2) == 0 ? void(entry.id = input->Below(5000)) : void(entry.root = Block(input));
      return;
    }
    BlockPlace& place = blocks_[Block(input)];
    switch (input->Below(4)) {
      case 0:
        place.offset = input->Below(1 << 20);
        break;
      case 1:
        place.bytes = input->Below(1 << 17);
        break;
      case 2:
        place.header_bytes = input->Below(1 << 17);
        break;
      default:
        place = blocks_[Block(input)];
    }
  }
  // Changes a node's header, and makes its checksum right, in the entry of the table too.
  void ChangeNode(FuzzInput* input) {
    const BlockId block = Block(input);
    BlockPlace& place = blocks_[block];
    if (place.header_bytes < 16 || place.offset + place.header_bytes > bytes_.size()) return;
    char* const node = bytes_.data() + place.offset;
    for (uint32_t changes = 1 + input->Below(4); changes > 0; --changes) {
      node[8 + input->Below(place.header_bytes - 8)] = static_cast<char>(input->Byte());
    }
    const uint64_t checksum = Checksum({node + 8, place.header_bytes - 8}, block);
    std::memcpy(node, &checksum, sizeof checksum);
    place.header_checksum = checksum;
  }
  BlockId Block(FuzzInput* input) {
    return order_[input->Below(static_cast<uint32_t>(order_.size()))];
  }
  void SealTable() {
    std::string table = SerializeTables(tables_);
    Append(uint64_t{blocks_.size()}, &table);
    for (const auto& [block, place] : blocks_) {
      Append(block, &table);
      Append(place.offset, &table);
      Append(place.bytes, &table);
      Append(place.header_bytes, &table);
      Append(place.header_checksum, &table);
    }
    if (header_.table_bytes > bytes_.size() || header_.table_bytes < table.size() ||
        header_.table_offset > bytes_.size() - header_.table_bytes) {
      return;
    }
    table.resize(header_.table_bytes);
    bytes_.replace(header_.table_offset, table.size(), table);
    header_.table_checksum = Checksum(table, 0);
  }
  void SealHeader() {
    const ScratchDir dir;
    {
      FileOptions options;
      options.create = FileOptions::kTruncate;
      WriteHeader(File::Open(dir.path() + "/header", options).get(), header_);
    }
    std::ifstream in(dir.path() + "/header", std::ios::binary);
    const std::string slots{std::istreambuf_iterator<char>(in), {}};
    const size_t at = header_.number % 2 * kHeaderSlot;
    bytes_.replace(at, kHeaderSlot, slots.substr(at, kHeaderSlot));
  }

  FileImage* const data_;
  std::string bytes_;
  Header header_;
  std::vector<TableEntry> tables_;
  BlockTable::Blocks blocks_;
  std::vector<BlockId> order_;
};

template <typename Step>
void Attempt(const Step& step) {
  try {
    step();
  } catch (const Error&) {
  }
}

void Use(const std::string& dir, FuzzInput* input) {
  StoreOptions options = SmallStore();
  options.create = false;
  options.node_size = options.fanout = 0;
  Attempt([&] {
    const auto store = Store::Open(dir, options);
    Tree* const tree = store->OpenTable("t");
    StoreClient client(store.get());
    for (int i = 0; i < 40; ++i) {
      const std::string key = KeyOf(input->Below(kRows + 50));
      std::string value;
      Attempt([&] { client.Get(tree, key, &value); });
      if (i % 4 == 0) {
        Attempt(
            [&] { Put(store.get(), tree, key, std::string(input->Below(900), 'w'), i % 8 == 0); });
      }
    }
    Attempt([&] { store->Checkpoint(); });
  });
}

}  // namespace

// Forges the header, the translation table and nodes of a database, with right checksums. Checking,
// opening, reading and writing the database must come to their ends, with errors or without.
TESTBED_FUZZ_TARGET(fractal_store) {
  FuzzInput input(bytes);
  std::vector<FileImage> files = SmallDatabase();
  const ScratchDir dir;
  WriteFiles(files, dir.path());
  Forger(&files).Change(dir.path(), &input);
  WriteFiles(files, dir.path());
  Attempt([&] { (void)InspectDatabase(dir.path(), InspectOptions()); });
  Use(dir.path(), &input);
}

}  // namespace testbed::fractal
