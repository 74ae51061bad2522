#include <xxhash.h>

#include <cstring>
#include <filesystem>

#include "device/error.h"
#include "engines/btree/page/meta.h"
#include "engines/btree/page/page.h"
#include "engines/btree/pool/page_file.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/scratch_files.h"

namespace testbed::btree {
namespace {

constexpr uint32_t kPageSize = 4096;
constexpr size_t kSumBytes = sizeof(uint64_t);

void Store(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string Contents(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// Calls `action`. It may refuse the bytes, but must not report an error of the system. Returns
// whether it took them.
template <typename Action>
bool Attempt(const Action& action) {
  try {
    action();
    return true;
  } catch (const Error& e) {
    Require(e.kind() == Error::kCorruption || e.kind() == Error::kUsage, e.what());
    return false;
  }
}

void UseSuperblock(FuzzInput* input) {
  const ScratchDir dir;
  const std::string path = DataPath(dir.path());
  std::string page(kPageSize << input->Below(5), '\0');
  const auto page_size = static_cast<uint32_t>(page.size());
  FormatSuperblock(page.data(), page_size, 17, input->Below(2) == 0);
  bool changed = false;
  for (uint32_t changes = input->Below(4); changes > 0; --changes) {
    const uint32_t at = input->Below(input->Below(4) == 0 ? page_size : 64);
    const auto change = static_cast<char>(input->Byte());
    page[at] = static_cast<char>(page[at] ^ change);
    changed = true;
  }
  const bool stamped = input->Below(2) == 0;
  if (stamped) StampPage(page.data(), page_size);
  Store(path,
        std::string_view(page).substr(0, input->Below(4) == 0 ? input->Below(70000) : page.size()));
  SuperblockFields fields;
  const bool taken = Attempt([&] { fields = CheckSuperblock(path, dir.path(), page_size); });
  if (taken && !stamped) Require(fields.database == 17, "a superblock with another database");
  Require(taken || changed || std::filesystem::file_size(path) < page_size, "a superblock refused");
}

// Reads a checkpoint file whose checksum is right. When it is accepted, the same must be read after
// it was written again.
void UseCheckpoint(FuzzInput* input) {
  const ScratchDir dir;
  CheckpointState state;
  state.database = 17;
  state.sequence = input->Below(70000);
  state.redo = input->Below(70000);
  state.space.pages = input->Below(4000);
  state.space.words.resize((state.space.pages + 63) / 64);
  for (uint64_t& word : state.space.words) word = input->Byte() * 0x0101010101010101ull;
  WriteCheckpoint(dir.path(), kPageSize, state);
  const int which = static_cast<int>(state.sequence % 2);
  const std::string path = CheckpointPath(dir.path(), which);
  std::string bytes = Contents(path);
  for (uint32_t changes = input->Below(4); changes > 0; --changes) {
    bytes[input->Below(input->Below(2) == 0 ? 64 : static_cast<uint32_t>(bytes.size()))] =
        static_cast<char>(input->Byte());
  }
  if (input->Below(4) == 0)
    bytes.resize(kSumBytes + input->Below(static_cast<uint32_t>(bytes.size())));
  const uint64_t checksum = XXH3_64bits(bytes.data() + kSumBytes, bytes.size() - kSumBytes);
  std::memcpy(bytes.data(), &checksum, kSumBytes);
  Store(path, bytes);
  const CheckpointFile file = InspectCheckpoint(dir.path(), which);
  Attempt([&] { (void)ReadCheckpoint(dir.path(), 17); });
  if (!file.fault.empty()) return;
  Require(file.state.space.words.size() == (file.state.space.pages + 63ull) / 64,
          "pages without bits");
  Attempt([&] {
    Space space(kPageSize, [](uint32_t) {});
    space.Restore(file.state.space);
  });
  const ScratchDir other;
  WriteCheckpoint(other.path(), file.page_size, file.state);
  const CheckpointFile again =
      InspectCheckpoint(other.path(), static_cast<int>(file.state.sequence % 2));
  Require(again.fault.empty() && again.state.space.words == file.state.space.words &&
              again.state.redo == file.state.redo,
          "a checkpoint says something else when it is written again");
}

}  // namespace

// Reads any bytes as the superblock and as the checkpoint files.
TESTBED_FUZZ_TARGET(metadata) {
  FuzzInput input(bytes);
  input.Below(2) == 0 ? UseSuperblock(&input) : UseCheckpoint(&input);
}

}  // namespace testbed::btree
