package main

/*
#include <stdlib.h>
#include "interface.h"

// A function in Go cannot call a pointer to a function in C, so these do.
static inline int host_open(const PebbleHost* h, PebbleBytes path, PebbleOpen how, PebblePurpose purpose, void** file) {
  return h->open_file(h->context, path, how, purpose, file);
}
static inline void host_close(const PebbleHost* h, void* file) { h->close_file(file); }
static inline int host_size(const PebbleHost* h, void* file, uint64_t* bytes) { return h->size(file, bytes); }
static inline int host_read(const PebbleHost* h, void* file, uint64_t offset, void* buffer, size_t n, size_t* done) {
  return h->read(file, offset, buffer, n, done);
}
static inline int host_write(const PebbleHost* h, void* file, uint64_t offset, const void* data, size_t n) {
  return h->write(file, offset, data, n);
}
static inline int host_sync(const PebbleHost* h, void* file, int metadata) { return h->sync(file, metadata); }
static inline int host_start_write_back(const PebbleHost* h, void* file, uint64_t n) {
  return h->start_write_back(file, n);
}
static inline int host_allocate(const PebbleHost* h, void* file, uint64_t offset, uint64_t n) {
  return h->allocate(file, offset, n);
}
static inline int host_prefetch(const PebbleHost* h, void* file, uint64_t offset, uint64_t n) {
  return h->prefetch(file, offset, n);
}
static inline int host_sync_directory(const PebbleHost* h, PebbleBytes path) {
  return h->sync_directory(h->context, path);
}
static inline void host_fatal(const PebbleHost* h, PebbleBytes sentence) { h->fatal(h->context, sentence); }
*/
import "C"

import (
	"io"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"github.com/cockroachdb/errors/oserror"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// A hostFS is the file system that Pebble works on. Files are the host's; directories, names and the lock are those
// of vfs.Default.
//
// Pebble ends the process when its log or manifest cannot be written, and tries again for ever when a table cannot.
// So hostFS keeps failed changes from it: the first failed one is the failure of the database, which each later
// commit reports, and from then on nothing on disk changes. Files that are made afterwards are in memory alone, from
// which Pebble reads them back. So the files stay as a crash at that moment would have left them, and no thread of
// Pebble waits for ever. A table that was being written then is given up, and Pebble writes it again, to memory.
type hostFS struct {
	vfs.FS
	host    *C.PebbleHost
	failure atomic.Pointer[os.PathError]
	memory  *vfs.MemFS // files that were made after the failure
}

var _ vfs.FS = (*hostFS)(nil)

func newHostFS(host *C.PebbleHost) *hostFS {
	return &hostFS{FS: vfs.Default, host: host, memory: vfs.NewMem()}
}

// createInMemory makes a file after the failure. It does not fail.
func (fs *hostFS) createInMemory(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if err := fs.memory.MkdirAll(fs.memory.PathDir(name), 0o755); err != nil {
		return nil, err
	}
	return fs.memory.Create(name, category)
}

func (fs *hostFS) dead() bool { return fs.failure.Load() != nil }

// changed takes the result of a change of the files. It keeps the first failure.
func (fs *hostFS) changed(call, path string, err error) {
	if err != nil {
		fs.failure.CompareAndSwap(nil, &os.PathError{Op: call, Path: path, Err: err})
	}
}

// fatal ends the process with a sentence.
func (fs *hostFS) fatal(sentence string) { C.host_fatal(fs.host, bytesOf(sentence)) }

func errorOf(code C.int) error {
	if code == 0 {
		return nil
	}
	return syscall.Errno(code)
}

func bytesOf(s string) C.PebbleBytes {
	return C.PebbleBytes{data: (*C.char)(unsafe.Pointer(unsafe.StringData(s))), size: C.size_t(len(s))}
}

func purposeOf(category vfs.DiskWriteCategory) C.PebblePurpose {
	switch category {
	case "pebble-memtable-flush":
		return C.PEBBLE_FLUSH
	case "pebble-compaction", "pebble-blob-file-rewrite":
		return C.PEBBLE_COMPACTION
	}
	return C.PEBBLE_OTHER
}

func (fs *hostFS) open(name string, how C.PebbleOpen, purpose C.PebblePurpose) (vfs.File, error) {
	var file unsafe.Pointer
	code := C.host_open(fs.host, bytesOf(name), how, purpose, &file)
	if code != 0 {
		return nil, &os.PathError{Op: "open", Path: name, Err: syscall.Errno(code)}
	}
	return &hostFile{fs: fs, name: name, file: file}, nil
}

func (fs *hostFS) Create(name string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if !fs.dead() {
		file, err := fs.open(name, C.PEBBLE_CREATE, purposeOf(category))
		if err == nil {
			return file, nil
		}
		fs.failure.CompareAndSwap(nil, err.(*os.PathError))
	}
	return fs.createInMemory(name, category)
}

func (fs *hostFS) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	if fs.dead() {
		if file, err := fs.memory.Open(name); err == nil {
			return file, nil
		}
	}
	how := C.PebbleOpen(C.PEBBLE_READ)
	for _, option := range options {
		if option == vfs.SequentialReadsOption { // of compactions and long scans
			how = C.PEBBLE_READ_AHEAD
		}
	}
	return fs.open(name, how, C.PEBBLE_OTHER)
}

func (fs *hostFS) OpenReadWrite(name string, _ vfs.DiskWriteCategory, _ ...vfs.OpenOption) (vfs.File, error) {
	return nil, &os.PathError{Op: "open", Path: name, Err: syscall.ENOTSUP}
}

func (fs *hostFS) OpenDir(name string) (vfs.File, error) {
	return &hostDirectory{fs: fs, name: name}, nil
}

func (fs *hostFS) ReuseForWrite(from, to string, category vfs.DiskWriteCategory) (vfs.File, error) {
	if fs.dead() {
		return fs.createInMemory(to, category)
	}
	if err := fs.FS.Rename(from, to); err != nil {
		fs.changed("rename", from, err)
		return fs.createInMemory(to, category)
	}
	file, err := fs.open(to, C.PEBBLE_REUSE, purposeOf(category))
	if err != nil {
		fs.failure.CompareAndSwap(nil, err.(*os.PathError))
		return fs.createInMemory(to, category)
	}
	return file, nil
}

func (fs *hostFS) Remove(name string) error {
	if fs.dead() {
		_ = fs.memory.Remove(name)
		return nil
	}
	return fs.FS.Remove(name)
}

func (fs *hostFS) RemoveAll(name string) error {
	if fs.dead() {
		return nil
	}
	return fs.FS.RemoveAll(name)
}

func (fs *hostFS) Rename(from, to string) error {
	if fs.dead() {
		_ = fs.memory.Rename(from, to)
		return nil
	}
	err := fs.FS.Rename(from, to)
	if err == nil || oserror.IsNotExist(err) {
		return err
	}
	fs.changed("rename", from, err)
	return nil
}

func (fs *hostFS) Link(from, to string) error {
	if fs.dead() {
		return nil
	}
	return fs.FS.Link(from, to)
}

func (fs *hostFS) Stat(name string) (vfs.FileInfo, error) {
	if fs.dead() {
		if info, err := fs.memory.Stat(name); err == nil {
			return info, nil
		}
	}
	return fs.FS.Stat(name)
}

func (fs *hostFS) Unwrap() vfs.FS { return fs.FS }

// A hostFile is a file of the host. One thread at a time writes it, from its start on.
type hostFile struct {
	fs     *hostFS
	name   string
	file   unsafe.Pointer
	offset uint64 // of the next Read or Write
}

func (f *hostFile) Close() error {
	C.host_close(f.fs.host, f.file)
	f.file = nil
	return nil
}

func (f *hostFile) ReadAt(p []byte, offset int64) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	var done C.size_t
	code := C.host_read(f.fs.host, f.file, C.uint64_t(offset), unsafe.Pointer(&p[0]), C.size_t(len(p)), &done)
	if code != 0 {
		return int(done), &os.PathError{Op: "read", Path: f.name, Err: syscall.Errno(code)}
	}
	if int(done) < len(p) {
		return int(done), io.EOF
	}
	return int(done), nil
}

func (f *hostFile) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, int64(f.offset))
	f.offset += uint64(n)
	if n > 0 && err == io.EOF {
		err = nil
	}
	return n, err
}

func (f *hostFile) Write(p []byte) (int, error) {
	if len(p) > 0 && !f.fs.dead() {
		code := C.host_write(f.fs.host, f.file, C.uint64_t(f.offset), unsafe.Pointer(&p[0]), C.size_t(len(p)))
		f.fs.changed("write", f.name, errorOf(code))
	}
	f.offset += uint64(len(p))
	return len(p), f.givenUp()
}

// givenUp returns the failure of the database when the file is a table, since Pebble reads the
// bytes of a table back. It returns nil for a log or a manifest, which Pebble does not read back.
func (f *hostFile) givenUp() error {
	failure := f.fs.failure.Load()
	if failure == nil || strings.HasSuffix(f.name, ".log") || strings.Contains(f.name, "MANIFEST") {
		return nil
	}
	return failure
}

func (f *hostFile) WriteAt([]byte, int64) (int, error) {
	return 0, &os.PathError{Op: "write", Path: f.name, Err: syscall.ENOTSUP}
}

// Preallocate is a hint: a file that could not be allocated grows as it is written.
func (f *hostFile) Preallocate(offset, length int64) error {
	if !f.fs.dead() {
		C.host_allocate(f.fs.host, f.file, C.uint64_t(offset), C.uint64_t(length))
	}
	return nil
}

func (f *hostFile) sync(metadata C.int) error {
	if !f.fs.dead() {
		f.fs.changed("fsync", f.name, errorOf(C.host_sync(f.fs.host, f.file, metadata)))
	}
	return f.givenUp()
}

func (f *hostFile) Sync() error     { return f.sync(1) }
func (f *hostFile) SyncData() error { return f.sync(0) }

func (f *hostFile) SyncTo(length int64) (bool, error) {
	if !f.fs.dead() {
		code := C.host_start_write_back(f.fs.host, f.file, C.uint64_t(length))
		f.fs.changed("sync_file_range", f.name, errorOf(code))
	}
	return false, nil
}

func (f *hostFile) Prefetch(offset, length int64) error {
	return errorOf(C.host_prefetch(f.fs.host, f.file, C.uint64_t(offset), C.uint64_t(length)))
}

// A hostInfo tells what Pebble asks of an open file.
type hostInfo struct {
	name string
	size int64
}

func (i hostInfo) Name() string           { return i.name }
func (i hostInfo) Size() int64            { return i.size }
func (i hostInfo) Mode() os.FileMode      { return 0o644 }
func (i hostInfo) ModTime() time.Time     { return time.Time{} }
func (i hostInfo) IsDir() bool            { return false }
func (i hostInfo) Sys() any               { return nil }
func (i hostInfo) DeviceID() vfs.DeviceID { return vfs.DeviceID{} }

func (f *hostFile) Stat() (vfs.FileInfo, error) {
	var size C.uint64_t
	if err := errorOf(C.host_size(f.fs.host, f.file, &size)); err != nil {
		return nil, &os.PathError{Op: "stat", Path: f.name, Err: err}
	}
	return hostInfo{name: f.name, size: int64(size)}, nil
}

func (f *hostFile) Fd() uintptr { return vfs.InvalidFd }

// A hostDirectory is a directory that is opened to be synced.
type hostDirectory struct {
	vfs.File // null: nothing else is called on a directory
	fs       *hostFS
	name     string
}

func (d *hostDirectory) Close() error { return nil }
func (d *hostDirectory) Sync() error {
	if !d.fs.dead() {
		d.fs.changed("fsync", d.name, errorOf(C.host_sync_directory(d.fs.host, bytesOf(d.name))))
	}
	return nil
}
func (d *hostDirectory) SyncData() error              { return d.Sync() }
func (d *hostDirectory) SyncTo(int64) (bool, error)   { return false, nil }
func (d *hostDirectory) Stat() (vfs.FileInfo, error)  { return d.fs.FS.Stat(d.name) }
func (d *hostDirectory) Fd() uintptr                  { return vfs.InvalidFd }
func (d *hostDirectory) Preallocate(_, _ int64) error { return nil }
func (d *hostDirectory) Prefetch(_, _ int64) error    { return nil }
