#include "workloads/insert_benchmark/sort.h"

#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "device/os/temporary_dir.h"

namespace testbed {

IbSorter::IbSorter(std::string path, size_t entry_size, size_t entries_in_memory)
    : path_(std::move(path)),
      entry_size_(entry_size),
      memory_(std::max<size_t>(entries_in_memory, 1)) {}

bool IbSorter::Less(const Entry& a, const Entry& b) const {
  return std::memcmp(a.bytes, b.bytes, entry_size_) < 0;
}

void IbSorter::Sort() {
  std::sort(entries_.begin(), entries_.end(),
            [this](const Entry& a, const Entry& b) { return Less(a, b); });
}

void IbSorter::Add(const Entry& entry) {
  if (entries_.size() == memory_) Spill();
  if (entries_.capacity() == 0) entries_.reserve(memory_);
  entries_.push_back(entry);
  ++size_;
}

void IbSorter::Spill() {
  if (file_ == nullptr) {
    FileOptions options;
    options.kind = FileKind::kTemp;
    options.create = FileOptions::kMustCreate;
    options.advice = Advice::kSequential;
    // The name is random, so that no other file is overwritten.
    const std::string path = path_ + "." + RandomName();
    file_ = File::Open(path, options);
    ::unlink(path.c_str());
  }
  Sort();
  file_->Write(spilled_ * sizeof(Entry), entries_.data(), entries_.size() * sizeof(Entry));
  runs_.push_back({spilled_, spilled_ + entries_.size(), {}, 0});
  spilled_ += entries_.size();
  entries_.clear();
}

void IbSorter::Finish() {
  if (runs_.empty()) return Sort();
  if (!entries_.empty()) Spill();
  // This memory is released for the buffers of the runs.
  entries_ = {};
  const auto after = [this](const Run* a, const Run* b) {
    return Less(b->buffer[b->next], a->buffer[a->next]);
  };
  for (Run& run : runs_) {
    if (Fill(&run)) heap_.push_back(&run);
  }
  std::make_heap(heap_.begin(), heap_.end(), after);
}

// Reads the next part of a run. Returns false at the end of the run.
bool IbSorter::Fill(Run* run) {
  constexpr size_t kLeast = 200;  // entries; about 4 KiB
  const size_t n = std::min<uint64_t>(std::max(kLeast, memory_ / runs_.size()), run->end - run->at);
  run->buffer.resize(n);
  run->next = 0;
  if (n == 0) return false;
  file_->Read(run->at * sizeof(Entry), run->buffer.data(), n * sizeof(Entry));
  // The file is never synced, so only this check finds out that the system could not write its
  // pages back, which makes the entries wrong.
  file_->CheckWriteBack();
  run->at += n;
  return true;
}

bool IbSorter::Next(Entry* entry) {
  if (runs_.empty()) {
    if (next_ == entries_.size()) return false;
    *entry = entries_[next_++];
    return true;
  }
  if (heap_.empty()) return false;
  const auto after = [this](const Run* a, const Run* b) {
    return Less(b->buffer[b->next], a->buffer[a->next]);
  };
  std::pop_heap(heap_.begin(), heap_.end(), after);
  Run* const run = heap_.back();
  *entry = run->buffer[run->next++];
  if (run->next < run->buffer.size() || Fill(run)) {
    std::push_heap(heap_.begin(), heap_.end(), after);
  } else {
    heap_.pop_back();
  }
  return true;
}

}  // namespace testbed
