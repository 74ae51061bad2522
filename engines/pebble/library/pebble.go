// Command pebble is the library of testbed's engine pebble: CockroachDB's LSM tree behind a few C functions, built
// with -buildmode=c-shared (tools/setup/build_pebble.sh). The engine loads it when it opens its first database, because
// Go's runtime starts threads when it is loaded, and these do not survive a fork.
//
// Calls may come from any thread; calls on one session or iterator come from one thread at a time. A call that reads
// does its IO on the thread that called. Flushes, compactions and the writing of the log run on Go's own threads.
package main

/*
#include <stdlib.h>
#include <string.h>
#include "interface.h"
*/
import "C"

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/cgo"
	"runtime/debug"
	"unsafe"

	"github.com/cockroachdb/errors"
	"github.com/cockroachdb/pebble/v2"
)

func main() {}

// A database is an open database with what it needs around it.
type database struct {
	*pebble.DB
	fs      *hostFS
	options *pebble.Options
	write   *pebble.WriteOptions
	events  events
	balance *balance
}

// A session has the writes of a transaction, and holds the values that its last call returned.
type session struct {
	db      *database
	batch   *pebble.Batch // null: nothing is written; indexed once it is read
	closers []io.Closer   // of the values
	pins    runtime.Pinner
}

// An iterator walks the rows between two bounds.
type iterator struct {
	*pebble.Iterator
	pins runtime.Pinner
}

// viewOf returns bytes of C as a slice, which must not be kept.
func viewOf(b C.PebbleBytes) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(b.data)), int(b.size))
}

// lend gives bytes to C, which stay where they are until `pins` is unpinned.
func lend(bytes []byte, pins *runtime.Pinner) C.PebbleBytes {
	if len(bytes) == 0 {
		return C.PebbleBytes{}
	}
	first := unsafe.SliceData(bytes)
	pins.Pin(first)
	return C.PebbleBytes{data: (*C.char)(unsafe.Pointer(first)), size: C.size_t(len(bytes))}
}

func report(err error, sentence **C.char) C.PebbleCode {
	if err == nil {
		return C.PEBBLE_OK
	}
	*sentence = C.CString(err.Error())
	if pebble.IsCorruptionError(err) {
		return C.PEBBLE_CORRUPTION
	}
	return C.PEBBLE_IO
}

// guard turns a panic of Pebble into an error. It is deferred by each exported function.
func guard(code *C.PebbleCode, sentence **C.char) {
	if cause := recover(); cause != nil {
		err, ok := cause.(error)
		if !ok {
			err = errors.Newf("%v", cause)
		}
		*code = report(err, sentence)
	}
}

// failed returns the failure after which the database commits nothing.
func (db *database) failed() error {
	if failure := db.fs.failure.Load(); failure != nil {
		return failure
	}
	return nil
}

//export pebble_interface
func pebble_interface() C.int { return C.PEBBLE_INTERFACE }

// pebble_version gives the version of the Pebble that was built in and that of Go, in memory from malloc.
//
//export pebble_version
func pebble_version() *C.char {
	version := "unknown"
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/cockroachdb/pebble/v2" {
				version = module.Version[1:]
			}
		}
	}
	return C.CString(version + " " + runtime.Version())
}

// pebble_open opens the database in `dir`, and makes it when it does not exist. `settings` is the JSON of a Settings.
//
//export pebble_open
func pebble_open(dir, settings C.PebbleBytes, host *C.PebbleHost, opened *C.uintptr_t, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	var wanted Settings
	if err := json.Unmarshal(viewOf(settings), &wanted); err != nil {
		return report(err, sentence)
	}
	path := string(viewOf(dir))
	db := &database{fs: newHostFS(host), write: pebble.NoSync}
	if wanted.Sync {
		db.write = pebble.Sync
	}
	db.options = wanted.options(db)
	cache := pebble.NewCache(wanted.CacheBytes)
	defer cache.Unref()
	db.options.Cache = cache
	db.balance = newBalance(cache, wanted.CacheForMemtables)
	var err error
	if db.DB, err = pebble.Open(path, db.options); err != nil {
		return report(err, sentence)
	}
	if err = db.failed(); err != nil {
		_ = db.DB.Close()
		return report(err, sentence)
	}
	db.balance.start(db.DB)
	*opened = C.uintptr_t(cgo.NewHandle(db))
	return C.PEBBLE_OK
}

// pebble_close closes the database, whose sessions and iterators must be closed.
//
//export pebble_close
func pebble_close(handle C.uintptr_t, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	db := cgo.Handle(handle).Value().(*database)
	cgo.Handle(handle).Delete()
	db.balance.stop()
	err := db.DB.Close()
	if failure := db.failed(); failure != nil {
		err = failure
	}
	return report(err, sentence)
}

// pebble_failed reports the failure after which the database commits nothing, and PEBBLE_OK without one.
//
//export pebble_failed
func pebble_failed(handle C.uintptr_t, sentence **C.char) C.PebbleCode {
	return report(cgo.Handle(handle).Value().(*database).failed(), sentence)
}

//export pebble_new_session
func pebble_new_session(handle C.uintptr_t) C.uintptr_t {
	return C.uintptr_t(cgo.NewHandle(&session{db: cgo.Handle(handle).Value().(*database)}))
}

//export pebble_end_session
func pebble_end_session(handle C.uintptr_t) {
	s := cgo.Handle(handle).Value().(*session)
	cgo.Handle(handle).Delete()
	s.release()
	s.drop()
}

// release gives back the values that the last call returned.
func (s *session) release() {
	s.pins.Unpin()
	for _, closer := range s.closers {
		_ = closer.Close()
	}
	clear(s.closers)
	s.closers = s.closers[:0]
}

// reader returns what the session reads: the newest commits, and the writes of its transaction.
func (s *session) reader() (pebble.Reader, error) {
	if s.batch == nil {
		return s.db.DB, nil
	}
	return s.batch, s.index()
}

// get looks a key up. Found bytes belong to C until release.
func (s *session) get(reader pebble.Reader, key C.PebbleBytes, value *C.PebbleBytes) (bool, error) {
	found, closer, err := reader.Get(viewOf(key))
	if err != nil {
		if errors.Is(err, pebble.ErrNotFound) {
			err = nil
		}
		return false, err
	}
	s.closers = append(s.closers, closer)
	*value = lend(found, &s.pins)
	return true, nil
}

// drop forgets the writes of the transaction.
func (s *session) drop() {
	if s.batch != nil {
		_ = s.batch.Close()
		s.batch = nil
	}
}

// index makes the writes of the transaction readable. A transaction that does not read after its writes never pays
// for an index of them.
func (s *session) index() error {
	if s.batch == nil || s.batch.Indexed() {
		return nil
	}
	indexed := s.db.NewIndexedBatch()
	if err := indexed.Apply(s.batch, nil); err != nil {
		return err
	}
	_ = s.batch.Close()
	s.batch = indexed
	return nil
}

//export pebble_get
func pebble_get(handle C.uintptr_t, key C.PebbleBytes, value *C.PebbleBytes, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	s := cgo.Handle(handle).Value().(*session)
	s.release()
	reader, err := s.reader()
	if err != nil {
		return report(err, sentence)
	}
	found, err := s.get(reader, key, value)
	if err != nil {
		return report(err, sentence)
	}
	if !found {
		return C.PEBBLE_NOT_FOUND
	}
	return C.PEBBLE_OK
}

// pebble_multi_get looks `count` keys up. It sets values[i].data to null for a key that is not there, and to bytes that
// are not null for one that is. Pebble has no such call; this one crosses the border between the languages once.
//
//export pebble_multi_get
func pebble_multi_get(handle C.uintptr_t, keys *C.PebbleBytes, count C.size_t, values *C.PebbleBytes, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	s := cgo.Handle(handle).Value().(*session)
	s.release()
	reader, err := s.reader()
	if err != nil {
		return report(err, sentence)
	}
	results := unsafe.Slice(values, int(count))
	for i, key := range unsafe.Slice(keys, int(count)) {
		results[i] = C.PebbleBytes{}
		found, err := s.get(reader, key, &results[i])
		if err != nil {
			return report(err, sentence)
		}
		if found && results[i].data == nil {
			results[i].data = key.data // of an empty value, whose bytes nobody reads
		}
	}
	return C.PEBBLE_OK
}

func (s *session) pending() *pebble.Batch {
	if s.batch == nil {
		s.batch = s.db.NewBatch()
	}
	return s.batch
}

// pebble_put and pebble_erase write in the session's transaction, which pebble_commit commits.
//
//export pebble_put
func pebble_put(handle C.uintptr_t, key, value C.PebbleBytes, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	s := cgo.Handle(handle).Value().(*session)
	return report(s.pending().Set(viewOf(key), viewOf(value), nil), sentence)
}

//export pebble_erase
func pebble_erase(handle C.uintptr_t, key C.PebbleBytes, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	s := cgo.Handle(handle).Value().(*session)
	return report(s.pending().Delete(viewOf(key), nil), sentence)
}

// pebble_commit commits the writes, and sets *bytes to the bytes of their log record. It ends the transaction also
// when it fails.
//
//export pebble_commit
func pebble_commit(handle C.uintptr_t, bytes *C.uint64_t, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	s := cgo.Handle(handle).Value().(*session)
	s.release()
	defer s.drop()
	if s.batch == nil || s.batch.Empty() {
		return C.PEBBLE_OK
	}
	if err := s.db.failed(); err != nil {
		return report(err, sentence)
	}
	*bytes = C.uint64_t(s.batch.Len())
	err := s.batch.Commit(s.db.write)
	if failure := s.db.failed(); failure != nil {
		err = failure
	}
	return report(err, sentence)
}

//export pebble_rollback
func pebble_rollback(handle C.uintptr_t) {
	s := cgo.Handle(handle).Value().(*session)
	s.release()
	s.drop()
}

// pebble_new_iterator makes an iterator over the rows with lower <= key < upper that are committed now, and those that
// the session's transaction has written.
//
//export pebble_new_iterator
func pebble_new_iterator(handle C.uintptr_t, lower, upper C.PebbleBytes, made *C.uintptr_t, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	s := cgo.Handle(handle).Value().(*session)
	bounds := &pebble.IterOptions{LowerBound: viewOf(lower), UpperBound: viewOf(upper)} // copied by Pebble
	reader, err := s.reader()
	if err != nil {
		return report(err, sentence)
	}
	it, err := reader.NewIter(bounds)
	if err != nil {
		return report(err, sentence)
	}
	*made = C.uintptr_t(cgo.NewHandle(&iterator{Iterator: it}))
	return C.PEBBLE_OK
}

//export pebble_end_iterator
func pebble_end_iterator(handle C.uintptr_t) {
	it := cgo.Handle(handle).Value().(*iterator)
	cgo.Handle(handle).Delete()
	it.pins.Unpin()
	_ = it.Close()
}

// valueHere returns the value of the row on which the iterator stands after a move that has found it, and else
// PEBBLE_NOT_FOUND, unless an error ended the move.
func (it *iterator) valueHere(found bool, sentence **C.char) ([]byte, C.PebbleCode) {
	if !found {
		if err := it.Error(); err != nil {
			return nil, report(err, sentence)
		}
		return nil, C.PEBBLE_NOT_FOUND
	}
	value, err := it.ValueAndErr()
	return value, report(err, sentence)
}

// pebble_move moves the iterator, and returns PEBBLE_NOT_FOUND when there is no row.
//
//export pebble_move
func pebble_move(handle C.uintptr_t, move C.PebbleMove, key C.PebbleBytes, row, value *C.PebbleBytes, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	it := cgo.Handle(handle).Value().(*iterator)
	it.pins.Unpin()
	var found bool
	switch move {
	case C.PEBBLE_FIRST:
		found = it.First()
	case C.PEBBLE_LAST:
		found = it.Last()
	case C.PEBBLE_NEXT:
		found = it.Next()
	case C.PEBBLE_PREV:
		found = it.Prev()
	case C.PEBBLE_SEEK:
		found = it.SeekGE(viewOf(key))
	case C.PEBBLE_SEEK_FOR_PREV:
		// The first key behind `key` is itself and a zero byte.
		found = it.SeekLT(append(append([]byte{}, viewOf(key)...), 0))
	case C.PEBBLE_STAY:
		found = it.Valid()
	}
	bytes, code := it.valueHere(found, sentence)
	if code != C.PEBBLE_OK {
		return code
	}
	*row = lend(it.Key(), &it.pins)
	*value = lend(bytes, &it.pins)
	return C.PEBBLE_OK
}

// pebble_next_rows moves the iterator on by up to `most` rows, and copies them to `buffer` while they fit: the key, then
// the value, with their lengths in sizes[2*i] and sizes[2*i+1]. It returns PEBBLE_NOT_FOUND when there is no further row
// behind those. A row that does not fit is none of them; the iterator stands on it then, and *stands is 1: it is the
// first row of the next call.
//
//export pebble_next_rows
func pebble_next_rows(handle C.uintptr_t, most C.uint32_t, buffer *C.char, room C.size_t, sizes, rows *C.uint32_t, stands *C.int, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	it := cgo.Handle(handle).Value().(*iterator)
	it.pins.Unpin()
	to := unsafe.Slice((*byte)(unsafe.Pointer(buffer)), int(room))
	lengths := unsafe.Slice(sizes, 2*int(most))
	*rows = 0
	for *rows < most {
		found := true
		if *stands == 0 {
			found = it.Next()
		}
		*stands = 0
		value, code := it.valueHere(found, sentence)
		if code != C.PEBBLE_OK {
			return code
		}
		key := it.Key()
		if len(key)+len(value) > len(to) {
			*stands = 1
			return C.PEBBLE_OK
		}
		copy(to, key)
		copy(to[len(key):], value)
		to = to[len(key)+len(value):]
		lengths[2**rows], lengths[2**rows+1] = C.uint32_t(len(key)), C.uint32_t(len(value))
		*rows++
	}
	return C.PEBBLE_OK
}

// pebble_sync_log makes all commits durable.
//
//export pebble_sync_log
func pebble_sync_log(handle C.uintptr_t, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	db := cgo.Handle(handle).Value().(*database)
	err := db.failed()
	if err == nil && !db.options.DisableWAL {
		err = db.LogData(nil, pebble.Sync)
	}
	if failure := db.failed(); failure != nil {
		err = failure
	}
	return report(err, sentence)
}

// pebble_flush writes the memtables to tables.
//
//export pebble_flush
func pebble_flush(handle C.uintptr_t, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	db := cgo.Handle(handle).Value().(*database)
	err := db.failed()
	if err == nil {
		err = db.Flush()
	}
	if failure := db.failed(); failure != nil {
		err = failure
	}
	return report(err, sentence)
}

// pebble_compact compacts all rows between the keys.
//
//export pebble_compact
func pebble_compact(handle C.uintptr_t, from, to C.PebbleBytes, sentence **C.char) (code C.PebbleCode) {
	defer guard(&code, sentence)
	db := cgo.Handle(handle).Value().(*database)
	err := db.Compact(context.Background(), viewOf(from), viewOf(to), true)
	if failure := db.failed(); failure != nil {
		err = failure
	}
	return report(err, sentence)
}

// pebble_settings gives the options in force, in the format of Pebble's OPTIONS file, in memory from malloc.
//
//export pebble_settings
func pebble_settings(handle C.uintptr_t) *C.char {
	return C.CString(cgo.Handle(handle).Value().(*database).options.String())
}

// A Counters is what pebble_counters gives, as JSON.
type Counters struct {
	Hits             int64  `json:"hits"`
	Misses           int64  `json:"misses"`
	CacheBytes       int64  `json:"cache_bytes"`
	MemtableBytes    uint64 `json:"memtable_bytes"`
	LogBytesIn       uint64 `json:"log_bytes_in"`
	LogBytesWritten  uint64 `json:"log_bytes_written"`
	Flushes          int64  `json:"flushes"`
	FlushBytes       uint64 `json:"flush_bytes"`
	Compactions      int64  `json:"compactions"`
	CompactionRead   uint64 `json:"compaction_read_bytes"`
	CompactionWrite  uint64 `json:"compaction_write_bytes"`
	RunningJobs      int64  `json:"running_jobs"`
	ObsoleteFiles    int64  `json:"obsolete_files"`
	WriteStalls      int64  `json:"write_stalls"`
	Tables           int64  `json:"tables"`
	Sublevels        int32  `json:"level0_sublevels"`
	ReadAmp          int    `json:"read_amplification"`
	FilterHits       int64  `json:"filter_hits"`
	FilterMisses     int64  `json:"filter_misses"`
	BackgroundError  string `json:"background_error"`
	BackgroundErrors int64  `json:"background_errors"`
}

// pebble_counters gives a Counters as JSON, in memory from malloc.
//
//export pebble_counters
func pebble_counters(handle C.uintptr_t) *C.char {
	db := cgo.Handle(handle).Value().(*database)
	m := db.Metrics()
	var flushed, read, compacted uint64
	var tables int64
	for i := range m.Levels {
		level := &m.Levels[i]
		flushed += level.TableBytesFlushed
		read += level.TableBytesRead
		compacted += level.TableBytesCompacted
		tables += level.TablesCount
	}
	counters := Counters{
		Hits: m.BlockCache.Hits, Misses: m.BlockCache.Misses, CacheBytes: m.BlockCache.Size,
		MemtableBytes: m.MemTable.Size + m.MemTable.ZombieSize,
		LogBytesIn:    m.WAL.BytesIn, LogBytesWritten: m.WAL.BytesWritten,
		Flushes: m.Flush.Count, FlushBytes: flushed,
		Compactions: m.Compact.Count, CompactionRead: read, CompactionWrite: compacted,
		RunningJobs:   m.Compact.NumInProgress + m.Flush.NumInProgress,
		ObsoleteFiles: m.Table.ObsoleteCount,
		WriteStalls:   db.events.stalls.Load(),
		Tables:        tables, Sublevels: m.Levels[0].Sublevels, ReadAmp: m.ReadAmp(),
		FilterHits: m.Filter.Hits, FilterMisses: m.Filter.Misses,
		BackgroundErrors: db.events.errors.Load(),
	}
	if last := db.events.last.Load(); last != nil {
		counters.BackgroundError = *last
	}
	text, err := json.Marshal(counters)
	if err != nil {
		text = fmt.Appendf(nil, "{\"background_error\": %q}", err.Error())
	}
	return C.CString(string(text))
}
