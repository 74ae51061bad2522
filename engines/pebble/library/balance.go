package main

import "github.com/cockroachdb/pebble/v2"

// A balance keeps the block cache at the size that was asked for. Pebble takes the memory of memtables out of the cache
// that it is given, so that cache has room for them. But the first memtable of an open database has 256 KiB, and each
// later one twice as much, up to the full size. Blocks would fill the room that memtables do not take yet, and a
// database that is only read would have a larger cache than was asked for. So the balance reserves that room.
type balance struct {
	db       *pebble.DB
	cache    *pebble.Cache
	room     int64         // of memtables in the cache, in bytes
	reserved int64         // bytes of the room that the balance has reserved
	release  func()        // gives the reserved bytes back; nil when there are none
	changed  chan struct{} // holds a mark when memtables were made or given up
	end      chan struct{} // closed by stop
	ended    chan struct{} // closed by run
}

func newBalance(cache *pebble.Cache, room int64) *balance {
	return &balance{
		cache:   cache,
		room:    room,
		changed: make(chan struct{}, 1),
		end:     make(chan struct{}),
		ended:   make(chan struct{}),
	}
}

// note tells that memtables were made or given up. It does not wait, because Pebble calls it with its locks held.
func (b *balance) note() {
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// start begins to balance the cache of an open database.
func (b *balance) start(db *pebble.DB) {
	b.db = db
	b.adjust()
	go b.run()
}

// stop ends what start began. The database is still open.
func (b *balance) stop() {
	close(b.end)
	<-b.ended
}

func (b *balance) run() {
	defer close(b.ended)
	for {
		select {
		case <-b.end:
			return
		case <-b.changed:
			b.adjust()
		}
	}
}

// adjust reserves what memtables do not take of their room.
func (b *balance) adjust() {
	m := b.db.Metrics()
	unused := max(0, b.room-int64(m.MemTable.Size+m.MemTable.ZombieSize))
	if unused == b.reserved {
		return
	}
	// The old reservation is given back first, because both at once would drive blocks out.
	if b.release != nil {
		b.release()
		b.release = nil
	}
	if unused > 0 {
		b.release = b.cache.Reserve(int(unused))
	}
	b.reserved = unused
}
