#include "engines/bf_tree/tree.h"

#include <sstream>

#include "device/error.h"

namespace testbed::bf_tree {

template <typename Call>
bool Tree::Run(const char* doing, const Call& call) const {
  host_->ThrowIfDead();
  BfError error;
  const BfCode code = call(&error);
  if (code == BF_OK || code == BF_NOT_FOUND) [[likely]]
    return code == BF_OK;
  Fail(doing, code, error);
}

void Tree::Fail(const char* doing, BfCode code, const BfError& error) const {
  const std::string sentence = std::string("bf-tree, ") + doing + ": " + error.text;
  if (code == BF_REFUSED) throw Error(Error::kUsage, sentence);
  host_->Die(Error(Error::kRun, sentence));  // has no effect if a failed read was the first reason
  host_->ThrowIfDead();
  throw Error(Error::kRun, sentence);
}

Tree::Tree(Host* host, const Settings& settings, bool from_snapshot)
    : calls_(Library::Get().calls()),
      host_(host),
      longest_record_(settings.library.max_record_bytes) {
  const std::string path = host_->PathOf(from_snapshot ? kSnapshot : kLeaves);
  BfError error;
  const BfCode code = calls_.bf_open(ToBytes(path), from_snapshot ? 1 : 0, &settings.library,
                                     host_->functions(), &tree_, &error);
  if (code == BF_OK) return;
  host_->ThrowIfDead();
  const std::string text = error.text;
  const bool no_room = text.find("CircularBufferSize") != std::string::npos;
  throw Error(from_snapshot && !no_room ? Error::kCorruption : Error::kUsage,
              "bf-tree cannot open " + path + ": " + text +
                  (no_room ? "; give it a larger --cache-pct" : ""));
}

// After a panic the library's memory must not be touched, so the library is told only to forget the
// tree.
Tree::~Tree() {
  BfError error;
  calls_.bf_close(tree_, host_->dead() ? 1 : 0, &error);
}

bool Tree::Get(std::string_view key, std::string* buffer, std::string_view* value) const {
  if (buffer->size() < longest_record_) buffer->resize(longest_record_);
  size_t size = 0;
  if (!Run("reading a row", [&](BfError* error) {
        return calls_.bf_get(tree_, ToBytes(key), buffer->data(), buffer->size(), &size, error);
      })) {
    return false;
  }
  *value = Decoded(std::string_view(buffer->data(), size));
  return true;
}

void Tree::Put(std::string_view key, std::string_view value) const {
  Run("putting a row",
      [&](BfError* error) { return calls_.bf_put(tree_, ToBytes(key), ToBytes(value), error); });
}

void Tree::Erase(std::string_view key) const {
  Run("erasing a row", [&](BfError* error) { return calls_.bf_erase(tree_, ToBytes(key), error); });
}

void Tree::Scan(std::string_view start, std::string_view end, uint32_t most, Rows* rows) const {
  rows->Reserve(most, longest_record_);
  uint32_t count = 0;
  int ended = 0;
  Run("scanning rows", [&](BfError* error) {
    return calls_.bf_scan(tree_, ToBytes(start), ToBytes(end), most, longest_record_,
                          rows->buffer(), rows->room(), rows->sizes(), &count, &ended, error);
  });
  rows->Take(count, ended != 0);
}

void Tree::Snapshot() const {
  const std::string path = host_->PathOf(kNew);
  Run("writing a snapshot",
      [&](BfError* error) { return calls_.bf_snapshot(tree_, ToBytes(path), error); });
}

std::vector<std::pair<std::string, std::string>> Tree::EffectiveSettings() const {
  std::vector<std::pair<std::string, std::string>> settings;
  std::istringstream lines(calls_.bf_settings(tree_));
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find_first_not_of(' ');
    const size_t colon = line.find(": ");
    if (begin != 4 || colon == std::string::npos || !line.ends_with(',')) continue;
    settings.emplace_back(line.substr(begin, colon - begin),
                          line.substr(colon + 2, line.size() - colon - 3));
  }
  return settings;
}

}  // namespace testbed::bf_tree
