// RocksdbFileSystem is a RocksDB FileSystem whose files do their IO through testbed::File
// (device/file/file.h), which enforces the IO mode and counts each call as it does for every
// engine. Directory operations (listing, renaming, locking, deleting) go to RocksDB's own POSIX
// file system; the account forgets a file that loses its last name by one (NameLoss).
//
// Kinds of file: *.sst and *.blob are data, *.log is the log, everything else is meta (MANIFEST,
// CURRENT, OPTIONS, IDENTITY, the *.dbtmp files that are renamed to these, and RocksDB's
// information log LOG*).
//
// IO modes: RocksDB requests direct IO or a mapping for each file that it opens (use_direct_reads,
// use_direct_io_for_flush_and_compaction, allow_mmap_reads) and gets it, except that a file read
// front to back is never mapped. RocksDB never writes its log with direct IO. The hints that
// RocksDB gives on access patterns are ignored: data files keep the advice of the run.
//
// Thread-safe. Its functions return a bad IOStatus when the file layer throws.
#ifndef TESTBED_ENGINES_ROCKSDB_FILE_SYSTEM_H_
#define TESTBED_ENGINES_ROCKSDB_FILE_SYSTEM_H_

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "device/file/file.h"
#include "engines/rocksdb/versions.h"

namespace testbed {

// Returns the kind of a file of RocksDB, by its name.
FileKind RocksdbFileKind(const std::string& path);

class RocksdbFileSystem : public RocksdbFileSystemBase {
 public:
  // `buffered` is the advice for data files in buffered mode, and `mmap` that for data files in
  // mmap mode.
  RocksdbFileSystem(Advice buffered, Advice mmap);

  static const char* kClassName() { return "TestbedFileSystem"; }
  const char* Name() const override { return kClassName(); }

  rocksdb::IOStatus NewSequentialFile(const std::string& path, const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSSequentialFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewRandomAccessFile(const std::string& path,
                                        const rocksdb::FileOptions& options,
                                        std::unique_ptr<rocksdb::FSRandomAccessFile>* result,
                                        rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                    std::unique_ptr<rocksdb::FSWritableFile>* result,
                                    rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReopenWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                                       std::unique_ptr<rocksdb::FSWritableFile>* result,
                                       rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus ReuseWritableFile(const std::string& path, const std::string& old_path,
                                      const rocksdb::FileOptions& options,
                                      std::unique_ptr<rocksdb::FSWritableFile>* result,
                                      rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewDirectory(const std::string& path, const rocksdb::IOOptions& options,
                                 std::unique_ptr<rocksdb::FSDirectory>* result,
                                 rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus NewLogger(const std::string& path, const rocksdb::IOOptions& options,
                              std::shared_ptr<rocksdb::Logger>* result,
                              rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus DeleteFile(const std::string& path, const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  rocksdb::IOStatus RenameFile(const std::string& from, const std::string& to,
                               const rocksdb::IOOptions& options,
                               rocksdb::IODebugContext* debug) override;
  void SupportedOps(int64_t& supported) override;

  // Returns the number of bytes written to log files since this object was made.
  uint64_t log_bytes() const { return log_bytes_.load(std::memory_order_relaxed); }

 private:
  testbed::FileOptions DeviceOptions(const std::string& path, IoMode mode) const;
  rocksdb::IOStatus OpenWritable(const std::string& path, const rocksdb::FileOptions& options,
                                 testbed::FileOptions::Create create, bool append,
                                 std::unique_ptr<rocksdb::FSWritableFile>* result);

  const Advice buffered_advice_;
  const Advice mmap_advice_;
  std::atomic<uint64_t> log_bytes_{0};
};

}  // namespace testbed

#endif  // TESTBED_ENGINES_ROCKSDB_FILE_SYSTEM_H_
