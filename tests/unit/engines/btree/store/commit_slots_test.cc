#include "engines/btree/store/commit_slots.h"

#include <gtest/gtest.h>

namespace testbed::btree {
namespace {

TEST(CommitSlotsTest, TheRedoPointIsTheEndOrTheLeastBegin) {
  CommitSlots slots;
  CommitSlots::Slot a, b;
  slots.Add(&a);
  slots.Add(&b);
  EXPECT_EQ(slots.RedoPoint([] { return Lsn{70}; }), 70u);
  slots.Begin(&a, 50);
  slots.Begin(&b, 60);
  EXPECT_EQ(slots.RedoPoint([] { return Lsn{70}; }), 50u);
  slots.End(&a);
  EXPECT_EQ(slots.RedoPoint([] { return Lsn{70}; }), 60u);
  slots.Remove(&b);
  slots.Remove(&a);
  EXPECT_EQ(slots.RedoPoint([] { return Lsn{70}; }), 70u);
}

// The commits have records before and behind the end that was read, and clear their slots before these
// are looked at. A later commit of the same thread takes nothing back.
TEST(CommitSlotsTest, ACommitThatEndsMeanwhileIsBehindTheRedoPoint) {
  CommitSlots slots;
  CommitSlots::Slot a, b;
  slots.Add(&a);
  slots.Add(&b);
  slots.Begin(&a, 50);
  slots.Begin(&b, 40);
  const Lsn redo = slots.RedoPoint([&] {
    slots.End(&a);
    slots.End(&b);
    slots.Begin(&a, 80);
    slots.End(&a);
    return Lsn{70};
  });
  EXPECT_EQ(redo, 40u);
  EXPECT_EQ(slots.RedoPoint([] { return Lsn{90}; }), 90u);
}

}  // namespace
}  // namespace testbed::btree
