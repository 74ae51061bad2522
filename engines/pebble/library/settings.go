package main

import (
	"fmt"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
)

// Settings is what the engine asks for, as JSON. docs/engines/pebble.md says where the engine's values are from.
type Settings struct {
	CacheBytes              int64  `json:"cache_bytes"`
	CacheForMemtables       int64  `json:"cache_for_memtables"` // of these bytes
	BlockBytes              int    `json:"block_bytes"`
	IndexBlockBytes         int    `json:"index_block_bytes"`
	Compression             string `json:"compression"`
	BloomBits               int    `json:"bloom_bits"`
	LastLevelFilter         bool   `json:"last_level_filter"`
	MemtableBytes           uint64 `json:"memtable_bytes"`
	MemtableStop            int    `json:"memtable_stop"`
	Level0Trigger           int    `json:"level0_trigger"`
	Level0Stop              int    `json:"level0_stop"`
	BaseLevelBytes          int64  `json:"base_level_bytes"`
	TargetFileBytes         int64  `json:"target_file_bytes"`
	Compactions             int    `json:"compactions"`
	BytesPerSync            int    `json:"bytes_per_sync"`
	LogBytesPerSync         int    `json:"log_bytes_per_sync"`
	MaxOpenFiles            int    `json:"max_open_files"`
	DisableLog              bool   `json:"disable_log"`
	Sync                    bool   `json:"sync"` // of each commit
	NoCreate                bool   `json:"no_create"`
	DisableCompactions      bool   `json:"disable_compactions"`
	ColumnarBlocks          bool   `json:"columnar_blocks"`
	CompactionDebtPerThread uint64 `json:"compaction_debt_per_thread"`
}

// events counts what Pebble tells of its background work.
type events struct {
	stalls atomic.Int64
	errors atomic.Int64
	last   atomic.Pointer[string] // the last error of a flush or compaction
}

// A logger hears only what Pebble cannot go on after.
type logger struct{ db *database }

func (logger) Infof(string, ...interface{})  {}
func (logger) Errorf(string, ...interface{}) {}

// Fatalf is called for a commit that failed, which the commit itself reports, and for what must never be.
func (l logger) Fatalf(format string, arguments ...interface{}) {
	if l.db.failed() == nil {
		l.db.fs.fatal(fmt.Sprintf(format, arguments...))
	}
}

func (s *Settings) compression() *sstable.CompressionProfile {
	switch s.Compression {
	case "snappy":
		return sstable.SnappyCompression
	case "zstd":
		return sstable.ZstdCompression
	case "minlz":
		return sstable.MinLZCompression
	}
	return sstable.NoCompression
}

func (s *Settings) options(db *database) *pebble.Options {
	o := &pebble.Options{
		BytesPerSync:                s.BytesPerSync,
		WALBytesPerSync:             s.LogBytesPerSync,
		DisableWAL:                  s.DisableLog,
		DisableAutomaticCompactions: s.DisableCompactions,
		ErrorIfNotExists:            s.NoCreate,
		FS:                          db.fs,
		FormatMajorVersion:          pebble.FormatNewest,
		L0CompactionThreshold:       s.Level0Trigger,
		L0StopWritesThreshold:       s.Level0Stop,
		LBaseMaxBytes:               s.BaseLevelBytes,
		Logger:                      logger{db},
		MaxOpenFiles:                s.MaxOpenFiles,
		MemTableSize:                s.MemtableBytes,
		MemTableStopWritesThreshold: s.MemtableStop,
		CompactionConcurrencyRange:  func() (int, int) { return 1, s.Compactions },
		EventListener: &pebble.EventListener{
			BackgroundError: func(err error) {
				text := err.Error()
				db.events.last.Store(&text)
				db.events.errors.Add(1)
			},
			DataCorruption:  func(pebble.DataCorruptionInfo) {}, // the read of the block returns the error
			WriteStallBegin: func(pebble.WriteStallBeginInfo) { db.events.stalls.Add(1) },
			FlushBegin:      func(pebble.FlushInfo) { db.balance.note() },
			FlushEnd:        func(pebble.FlushInfo) { db.balance.note() },
		},
	}
	o.Experimental.EnableColumnarBlocks = func() bool { return s.ColumnarBlocks }
	if s.CompactionDebtPerThread > 0 {
		o.Experimental.CompactionDebtConcurrency = s.CompactionDebtPerThread
	}
	o.TargetFileSizes[0] = s.TargetFileBytes
	for i := range o.Levels {
		level := &o.Levels[i]
		level.BlockSize = s.BlockBytes
		level.IndexBlockSize = s.IndexBlockBytes
		level.Compression = s.compression
		level.FilterPolicy = pebble.NoFilterPolicy
		if s.BloomBits > 0 && (s.LastLevelFilter || i < len(o.Levels)-1) {
			level.FilterPolicy = bloom.FilterPolicy(s.BloomBits)
		}
	}
	o.EnsureDefaults()
	return o
}
