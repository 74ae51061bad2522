// This header has the kinds of operations and of files by which the ledger counts
// (device/account/ledger.h).
//
//   const OpKind kPointRead = DefineOp("point-read", Ground::kForeground);
#ifndef TESTBED_DEVICE_ACCOUNT_OPERATIONS_H_
#define TESTBED_DEVICE_ACCOUNT_OPERATIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace testbed {

// FileKind says what a block belongs to. A file opened through device/file/file.h has one of the
// first six kinds. Only the kernel level sees the other three.
enum class FileKind : uint8_t {
  kData,         // pages, tables, sorted runs
  kLog,          // write-ahead log
  kBinaryLog,    // a server's log of changes, which replicas read
  kDoublewrite,  // torn-page protection
  kTemp,         // spill and scratch files
  kMeta,         // an engine's own catalogue: manifest, superblock, turtle file
  kOtherFile,    // a file that did not go through device/file/file.h
  kFsJournal,    // the file system's journal or log
  kFsMetadata,   // the file system's own blocks outside its journal
  kCount
};
inline constexpr size_t kFileKinds = static_cast<size_t>(FileKind::kCount);
const char* FileKindName(FileKind kind);  // "data", "log", ... as in JSON and tables

// The user asks for foreground operations. The engine, the harness or the kernel do background
// operations on their behalf.
enum class Ground : uint8_t { kForeground, kBackground };

// An OpKind is a kind of operation that IO can be charged to. It is a small index, so that counters
// are arrays.
struct OpKind {
  uint8_t id = 0;
  friend bool operator==(OpKind a, OpKind b) { return a.id == b.id; }
};
inline constexpr size_t kMaxOps = 48;

// These kinds always exist. IO outside any scope is charged to kUnscoped.
inline constexpr OpKind kUnscoped{0};
inline constexpr OpKind kOpen{1};   // opening, creating, recovering, closing a database
inline constexpr OpKind kFlush{2};  // writing a full memtable
inline constexpr OpKind kCompaction{3};
inline constexpr OpKind kCheckpoint{4};
inline constexpr OpKind kEviction{5};   // writing back a page to make room in the engine's cache
inline constexpr OpKind kLogWrite{6};   // work of an engine's own log thread
inline constexpr OpKind kSettle{7};     // the named step that ends a phase
inline constexpr OpKind kWriteback{8};  // the kernel writing dirty pages back
inline constexpr size_t kFixedOps = 9;

// Returns the kind with this name, and defines it if it is new; an existing kind keeps its ground.
// Throws Error (kUsage) when kMaxOps kinds exist. The four functions below are thread-safe and take
// a lock, so hot paths call none of them.
OpKind DefineOp(std::string_view name, Ground ground);
std::string OpName(OpKind op);
Ground OpGround(OpKind op);
// Returns all kinds, in the order of their ids.
std::vector<OpKind> DefinedOps();

}  // namespace testbed

#endif  // TESTBED_DEVICE_ACCOUNT_OPERATIONS_H_
