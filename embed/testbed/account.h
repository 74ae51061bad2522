// The ledger as a library, target testbed::account. A program charges the IO that it causes to
// operations of its own: the calls at the file level and, with root, the block requests at the
// kernel level.
//
//   const OpKind kLookUp = DefineOp("look-up", Ground::kForeground);
//   const LedgerCounts before = Ledger::Get().Counts();
//   {
//     IoScope scope(kLookUp);  // what this thread reads and writes is charged to look-up
//     file->Read(offset, buffer, n);
//   }
//   const LedgerCounts cost = Ledger::Get().Counts() - before;
//   const FileCounts calls = cost.ops[kLookUp.id].FileTotal();
//
// The file level counts the calls that go through File (device/file/file.h). The kernel level
// counts every block request of the thread, however it was made. It begins when a KernelAccount is
// started (device/account/kernel_account.h) for the device that the files are on
// (device/account/block_device.h). Ledger::Configure, which attaches the account and detaches it,
// must not be called while a database of this library is open, because its threads work in scopes
// of their own.
//
// A request is charged to the thread that submits it to the block layer. What other threads submit
// for the program is charged to no operation, and is in LedgerCounts::foreign by their names: the
// kernel's write-back of the page cache (kworker), the threads of io_uring (iou-sqp, and iou-wrk
// for what a file system cannot start without waiting), and a thread of the program that has not
// called the ledger yet, by an IoScope for example.
//
// Public here: Ledger, AccountDepth, IoScope, IoTask, CallMark, LedgerCounts, FileCounts,
// BlockCounts, OpKind, Ground, DefineOp, OpName, FileKind, File, FileOptions, KernelAccount,
// BlockDevice and Error, with their public members as their headers describe them. All of them are
// in namespace testbed.
#ifndef TESTBED_ACCOUNT_H_
#define TESTBED_ACCOUNT_H_

// The macros of the headers below stay within this one (device/os/mutex.h).
#define TESTBED_MARKS_BEGIN
#include "device/os/mutex.h"
#undef TESTBED_MARKS_BEGIN

#include "device/account/block_device.h"
#include "device/account/counts.h"
#include "device/account/kernel_account.h"
#include "device/account/ledger.h"
#include "device/account/operations.h"
#include "device/error.h"
#include "device/file/file.h"

#define TESTBED_MARKS_END
#include "device/os/mutex.h"
#undef TESTBED_MARKS_END

#endif  // TESTBED_ACCOUNT_H_
