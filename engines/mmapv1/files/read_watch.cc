// This file has ReadWatch: after a read, it checks whether the read has met pages that are older
// than what was written last.
#include "engines/mmapv1/files/files.h"

namespace testbed::mmapv1 {

ReadWatch::ReadWatch(const Files& files) : files_(files) {
  if (files.AnyMayBeOld()) Files::watch_ = this;
}

ReadWatch::~ReadWatch() { Files::watch_ = nullptr; }

void ReadWatch::Ask() const { more_ ? files_.CheckWriteBack() : read_->CheckWriteBack(); }

void Files::Note(ReadWatch* watch, uint32_t slot, uint64_t ofs, uint64_t n) const {
  DataFile* const file = files_[slot].get();
  if (file == watch->read_ || !file->MayBeOld(ofs, n)) return;
  watch->more_ = watch->read_ != nullptr;
  watch->read_ = file;
}

void Files::CheckWriteBack() const {
  for (int32_t n = kNsFile; n >= 0; n = n == kNsFile ? count() - 1 : n - 1) {
    if (file(n).AnyMayBeOld()) file(n).CheckWriteBack();
  }
}

}  // namespace testbed::mmapv1
