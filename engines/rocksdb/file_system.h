// A RocksDB FileSystem whose files do their IO through device/File, so that the IO mode is enforced
// and each call is counted where every other engine's is. Directory operations (listing, renaming,
// locking, deleting) go to RocksDB's own POSIX file system.
//
// Kinds: *.sst and *.blob are data, *.log is the log, everything else (MANIFEST, CURRENT, OPTIONS,
// IDENTITY, their *.dbtmp forerunners and RocksDB's information log LOG*) is meta.
//
// Modes: RocksDB says per file whether it wants direct IO or a mapping (use_direct_reads,
// use_direct_io_for_flush_and_compaction, allow_mmap_reads), and that is what it gets. It never
// writes its log with direct IO. Hints that RocksDB gives on access patterns are not followed: data
// files keep the advice that the run asked for, whoever reads them.
#ifndef TESTBED_ENGINES_ROCKSDB_FILE_SYSTEM_H_
#define TESTBED_ENGINES_ROCKSDB_FILE_SYSTEM_H_

#include <rocksdb/file_system.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "device/file/file.h"

namespace testbed {

FileKind RocksdbFileKind(const std::string& path);

class RocksdbFileSystem : public rocksdb::FileSystemWrapper {
 public:
  // `buffered` and `mmap` are the advice for data files in those modes.
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
#if ROCKSDB_MAJOR >= 9
  void SupportedOps(int64_t& supported) override;
#endif

  // Bytes written to log files since the file system was made.
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
